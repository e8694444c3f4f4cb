"""`hsmdc dispatch`: plan a case, compare the scenarios, sweep a parameter, roll over days, hedge against outcomes."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hsmdc.cli.common import Force, Quiet, check_distinct, check_folder, check_output, progress_bar
from hsmdc.cli.dispatch_report import percent, print_hedge, print_scenarios, print_schedule, print_sweep

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

    from hsmdc.dispatch import Case
    from hsmdc.dispatch.case import Profiles


_RISK_LEVEL = 0.9


class Scale(StrEnum):
    """How a trace's IT power becomes the base load."""

    to_base = "to-base"
    none = "none"


class GpuPower(StrEnum):
    """Whose power per busy GPU counts under a trace."""

    trace = "trace"
    case = "case"


class Method(StrEnum):
    """Proof or heuristic."""

    milp = "milp"
    heuristic = "heuristic"


def dispatch(
    case: Annotated[
        str, typer.Argument(help="Shipped case (see --list) or path to a .toml file.", show_default=False)
    ] = "",
    scenario: Annotated[str, typer.Option(help="Scenario to plan: S1 … S6.")] = "S6",
    scenarios: Annotated[
        str | None, typer.Option(help="Compare scenarios instead: all, or a list such as S1,S4,S6.")
    ] = None,
    trace: Annotated[
        list[Path] | None,
        typer.Option(
            help="Facility trace (netCDF) that gives base load and PUE by slot; given several times, one "
            "schedule is hedged against all of them, such as years of other seeds."
        ),
    ] = None,
    day: Annotated[
        str | None,
        typer.Option(
            help="Local day, such as 2018-07-04: of the trace, or without one of the case's profile file."
        ),
    ] = None,
    scale: Annotated[
        Scale,
        typer.Option(help="to-base: scale the trace's mean to base_it_kw; none: take its MW as they are."),
    ] = Scale.to_base,
    gpu_power: Annotated[
        GpuPower, typer.Option(help="Power of a busy GPU: that of the trace's nodes, or the case's.")
    ] = GpuPower.trace,
    execute: Annotated[
        Path | None, typer.Option(help="With --trace: simulate the planned day and write its trace here.")
    ] = None,
    sweep: Annotated[
        str | None,
        typer.Option(
            help="Sensitivities instead: segments, gpus, renewables, a list of these, all, or a key such as "
            "battery.energy_kwh with --values."
        ),
    ] = None,
    values: Annotated[
        str | None,
        typer.Option(help="Values for one --sweep, such as 1024,1280,2048. [default: the paper's]"),
    ] = None,
    window: Annotated[
        int | None,
        typer.Option(min=1, help="Roll over a case of several days, planning this many days at once."),
    ] = None,
    outcomes: Annotated[
        int | None,
        typer.Option(min=1, help="Hedge one schedule against this many drawn outcomes of price, wind, PV."),
    ] = None,
    risk_weight: Annotated[
        float, typer.Option(help="When hedging: weight of CVaR in the cost, 0 … 1.")
    ] = 0.0,
    risk_level: Annotated[
        float, typer.Option(help="When hedging: CVaR is the mean of the worst 1 − this.")
    ] = _RISK_LEVEL,
    slot: Annotated[
        int | None,
        typer.Option(help="Cut the slots to this many minutes: 60, 30 or 15. [default: the case's]"),
    ] = None,
    method: Annotated[Method, typer.Option(help="milp proves a gap; heuristic is quick.")] = Method.milp,
    gap: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            help="Relative gap at which to stop. [default: 1e-5, S3 5e-4; sweeps 1e-4; rolling, hedging 1e-3]",
        ),
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(min=0.0, help="Seconds per solve; then the best schedule so far, with its gap."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the solver and of drawn outcomes.")] = 0,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="netCDF file for the result.")] = None,
    figures: Annotated[Path | None, typer.Option(help="Folder for figures (PNG).")] = None,
    show_list: Annotated[bool, typer.Option("--list", help="List the shipped cases and exit.")] = False,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Plan a day of LLM pre-training at least cost.

    Checkpoints stay whole, and every GPU mode can run; grid, renewables and battery follow.

    \b
    Examples:
      hsmdc dispatch aidc-2048 -o schedule.nc --figures figures/
      hsmdc dispatch aidc-2048 --scenarios all
      hsmdc dispatch aidc-2048 --sweep all --figures figures/
      hsmdc dispatch mine.toml --trace year.nc --day 2018-07-04 --execute day.nc -o schedule.nc
      hsmdc dispatch caiso-2022-07-20-3d --window 2 --gap 0.001 -o three-days.nc
      hsmdc dispatch caiso-2022-04-14 --outcomes 10 --risk-weight 0.5 -o hedged.nc
      hsmdc dispatch caiso-2022-04-14 --day 2022-07-21
      hsmdc dispatch mine.toml --trace a.nc --trace b.nc --trace c.nc --day 2018-07-04
    """
    if show_list or not case:
        _list_cases(asked=show_list)
        return
    _check_choice(
        scenarios=scenarios,
        sweep=sweep,
        window=window,
        outcomes=outcomes,
        trace=trace,
        execute=execute,
        values=values,
        figures=figures,
        heuristic=method is Method.heuristic or None,
        risk=True if risk_weight or risk_level != _RISK_LEVEL else None,
    )
    _check_files([output, execute], [Path(case), *(trace or [])], force=force)
    if figures is not None:
        check_folder(
            figures, _figure_names(sweep=sweep is not None, execute=execute is not None), force=force
        )
    from hsmdc.dispatch import load_case

    loaded = load_case(case, day=day if trace is None else None)
    if slot is not None:
        loaded = loaded.with_slot_h(slot / 60)
    traces = _open(trace)
    coupling: dict[str, Any] = {
        "trace": traces[0] if traces else None,
        "day": day if trace else None,
        "scale": scale.value,
        "gpu_power": gpu_power.value,
    }
    limits = {"time_limit_s": time_limit, "seed": seed} | ({} if gap is None else {"gap": gap})
    drawn: dict[str, Any] = {}
    if scenarios is not None:
        result = _compare(loaded, scenarios, coupling | limits | {"method": method.value}, quiet=quiet)
    elif sweep is not None:
        options = coupling | limits | {"method": method.value}
        result, drawn = _sweep(loaded, scenario, sweep, values, options, quiet=quiet)
    elif window is not None:
        result = _roll(loaded, scenario, window, limits | {"method": method.value}, quiet=quiet)
    elif outcomes is not None or len(traces) > 1:
        loaded, drawn_profiles = _outcomes(loaded, outcomes, traces, coupling, seed)
        risk = {"risk_weight": risk_weight, "risk_level": risk_level}
        result = _hedge(loaded, drawn_profiles, {"scenario": scenario} | risk | limits, quiet=quiet)
    else:
        result = _plan(loaded, scenario, coupling | limits | {"method": method.value}, quiet=quiet)
    if execute is not None:
        executed = _execute(result, traces[0], execute, seed, force=force, quiet=quiet)
        drawn |= {} if figures is None else {"execution": _execution_figure(result, executed)}
    _write(result, drawn, output, figures, force=force, quiet=quiet)


def _list_cases(*, asked: bool) -> None:
    from hsmdc.dispatch import preset_names

    if not asked:
        typer.echo(
            "Give a case: one of these, or a path that ends in .toml. See hsmdc dispatch --help.", err=True
        )
    for name in preset_names():
        typer.echo(name)
    if not asked:
        raise typer.Exit(2)


def _check_choice(**given: Any) -> None:
    from hsmdc.errors import ConfigError

    modes = [f"--{name}" for name in ("scenarios", "sweep", "window", "outcomes") if given[name] is not None]
    if len(modes) > 1:
        raise ConfigError(f"{' and '.join(modes)} exclude each other; give one")
    several = given["trace"] is not None and len(given["trace"]) > 1
    if several and modes:
        raise ConfigError(
            f"several traces are outcomes to hedge against; leave {modes[0]} out, or give one trace"
        )
    hedging = several or given["outcomes"] is not None
    for name, useless in (
        ("--values", given["values"] is not None and given["sweep"] is None and "are for --sweep"),
        (
            "--figures",
            given["scenarios"] is not None and given["figures"] is not None and "draws no --scenarios",
        ),
        ("--method heuristic", hedging and given["heuristic"] and "cannot hedge against outcomes"),
        (
            "--risk-weight and --risk-level",
            not hedging and given["risk"] and "are for --outcomes or several traces",
        ),
    ):
        if useless:
            raise ConfigError(f"{name} {useless}; leave it out")
    if given["execute"] is not None and (given["trace"] is None or several or modes):
        raise ConfigError(
            "--execute simulates a plan made on a trace; give --trace, and one scenario to plan"
        )
    if given["window"] is not None and given["trace"] is not None:
        raise ConfigError("--window takes the case's own profiles; leave --trace out")


def _check_files(written: list[Path | None], read: list[Path], *, force: bool) -> None:
    """Refuse, before any work is done, outputs that cannot be written or would replace what is read."""
    from hsmdc.errors import InputError

    outputs = [path for path in written if path is not None]
    if len({path.resolve() for path in outputs}) < len(outputs):
        raise InputError(f"--output and --execute both name {outputs[0]}; give them names of their own")
    for path in outputs:
        for source in read:
            check_distinct(path, source)
        check_output(path, force=force)


def _figure_names(*, sweep: bool, execute: bool) -> list[str]:
    names = ["sensitivity"] if sweep else ["balance", "gpus_and_modes", "progress", "modes"]
    return [f"{name}.png" for name in names + ["execution"] * execute]


def _open(paths: list[Path] | None) -> list[xr.Dataset]:
    from hsmdc.traces import open_trace

    return [open_trace(path) for path in paths or []]


def _plan(case: Case, scenario: str, options: dict[str, Any], *, quiet: bool) -> xr.Dataset:
    from hsmdc.dispatch import solve

    with progress_bar("planning", quiet=quiet):
        schedule = solve(case, scenario, **options)
    if not quiet:
        print_schedule(schedule)
    return schedule


def _compare(case: Case, scenarios: str, options: dict[str, Any], *, quiet: bool) -> xr.Dataset:
    from hsmdc.dispatch import SCENARIOS, solve
    from hsmdc.dispatch.comparison import compare
    from hsmdc.dispatch.scenarios import scenario_named

    names = list(SCENARIOS) if scenarios == "all" else [name.strip() for name in scenarios.split(",")]
    chosen = [scenario_named(name) for name in names]
    schedules = []
    with progress_bar("scenarios", quiet=quiet) as tick:
        for done, one in enumerate(chosen):
            schedules.append(solve(case, one, **options))
            tick(done + 1, len(chosen))
    table = compare(schedules)
    if not quiet:
        print_scenarios(case, table, coupled=options["trace"] is not None)
    return table


def _sweep(
    case: Case, scenario: str, sweep: str, values: str | None, options: dict[str, Any], *, quiet: bool
) -> tuple[xr.Dataset, dict[str, Any]]:
    import xarray as xr

    from hsmdc.dispatch import couple
    from hsmdc.dispatch import sweep as run_sweep
    from hsmdc.dispatch.figures import sensitivity_figure
    from hsmdc.dispatch.sensitivity import DEFAULT_VALUES

    names = list(DEFAULT_VALUES) if sweep == "all" else [name.strip() for name in sweep.split(",")]
    points = _numbers(values, names)
    trace = options.pop("trace")
    coupling = {key: options.pop(key) for key in ("day", "scale", "gpu_power")}
    case = case if trace is None else couple(case, trace, **coupling)
    tables = []
    for name in names:
        with progress_bar(name, quiet=quiet) as tick:
            tables.append(run_sweep(case, name, points, scenario=scenario, progress=tick, **options))
        if not quiet:
            print_sweep(tables[-1])
    result = tables[0] if len(tables) == 1 else xr.merge([_prefixed(table) for table in tables])
    return result, {"sensitivity": sensitivity_figure(tables)}


def _numbers(values: str | None, names: list[str]) -> list[float] | None:
    from hsmdc.errors import ConfigError

    if values is None:
        return None
    if len(names) > 1:
        raise ConfigError("--values belong to one --sweep; name one parameter")
    try:
        return [float(value) for value in values.split(",")]
    except ValueError:
        raise ConfigError(
            f"--values {values!r} must be numbers with commas between, such as 1024,1280"
        ) from None


def _prefixed(table: xr.Dataset) -> xr.Dataset:
    """One sweep among several: dimension and variables carry the parameter's name."""
    parameter = table.attrs["parameter"]
    renamed = table.rename({name: f"{parameter}_{name}" for name in table.data_vars})
    return renamed.rename({"value": parameter}).drop_attrs()


def _roll(case: Case, scenario: str, window: int, options: dict[str, Any], *, quiet: bool) -> xr.Dataset:
    from hsmdc.dispatch import roll

    with progress_bar("rolling", quiet=quiet) as tick:
        schedule = roll(case, scenario, window_days=window, progress=tick, **options)
    if not quiet:
        print_schedule(schedule)
        for day, (gap, seconds) in enumerate(
            zip(schedule["window_gap"].to_numpy(), schedule["window_solve_s"].to_numpy(), strict=True)
        ):
            typer.echo(f"  window from day {day + 1}: gap {percent(gap)}, {seconds:.1f} s")
    return schedule


def _outcomes(
    case: Case, count: int | None, traces: list[xr.Dataset], coupling: dict[str, Any], seed: int
) -> tuple[Case, list[Profiles]]:
    """Drawn outcomes, around the day of a trace if there is one; or one outcome for each of several traces."""
    from hsmdc.dispatch import couple, perturbed_profiles, profiles_from_traces

    options = {key: value for key, value in coupling.items() if key != "trace"}
    if len(traces) > 1:
        return profiles_from_traces(case, traces, **options)
    if traces:
        case = couple(case, traces[0], **options)
    return case, perturbed_profiles(case, count or 1, seed=seed)


def _hedge(case: Case, outcomes: list[Profiles], options: dict[str, Any], *, quiet: bool) -> xr.Dataset:
    from hsmdc.dispatch import solve_stochastic

    with progress_bar("hedging", quiet=quiet):
        schedule = solve_stochastic(case, outcomes, **({"gap": 1e-3} | options))
    if not quiet:
        print_hedge(schedule)
    return schedule


def _execute(
    schedule: xr.Dataset, trace: xr.Dataset, path: Path, seed: int, *, force: bool, quiet: bool
) -> xr.Dataset:
    """Simulate the planned day on the trace's own facility, write it, and say how well plan and day agree."""
    from hsmdc.dispatch import commit, compare_execution
    from hsmdc.dispatch.coupling import trace_config
    from hsmdc.errors import InputError
    from hsmdc.simulation import simulate
    from hsmdc.traces import save_trace

    config = trace_config(trace)
    if config is None:
        raise InputError(
            "the trace carries no configuration, so its facility cannot be simulated; make it with simulate"
        )
    hours = float(schedule.attrs["slot_h"]) * schedule.sizes["slot"]
    jobs = commit(schedule, trace)
    start = schedule["time"].to_numpy()[0]
    executed = simulate(config, jobs=jobs, start=start, duration=f"{hours:g}h", seed=seed)
    save_trace(executed, path, force=force)
    compared = compare_execution(schedule, executed)
    if not quiet:
        typer.echo(
            f"Executed: {float(compared['executed_mwh']):.3f} MWh of training in {len(jobs)} jobs, planned "
            f"{float(compared['planned_mwh']):.3f} MWh ({float(compared['energy_error']):+.2%}); trace in {path}"
        )
    return executed


def _execution_figure(schedule: xr.Dataset, executed: xr.Dataset) -> Figure:
    """Plan and day at one minute, and ten minutes of its busiest slot at 100 ms."""
    from hsmdc.dispatch.figures import execution_figure
    from hsmdc.transient import resolve

    busiest = schedule["time"].to_numpy()[int(schedule["train_power_kw"].to_numpy().argmax())]
    return execution_figure(
        schedule, executed, resolve(executed, start=busiest, duration="10min", step="100ms")
    )


def _write(
    result: xr.Dataset,
    drawn: dict[str, Any],
    output: Path | None,
    folder: Path | None,
    *,
    force: bool,
    quiet: bool,
) -> None:
    from hsmdc.dispatch.figures import save_figures, schedule_figures
    from hsmdc.dispatch.result import case_of, save_schedule

    if output is not None:
        save_schedule(result, output, force=force)
        _say(f"Result in {output}", quiet=quiet)
    if folder is None:
        return
    if "grid_kw" in result:
        drawn = schedule_figures(case_of(result), result) | drawn
    if drawn:
        paths = save_figures(drawn, folder)
        _say(f"Figures in {folder}: {', '.join(path.name for path in paths)}", quiet=quiet)


def _say(text: str, *, quiet: bool) -> None:
    if not quiet:
        typer.echo(text)

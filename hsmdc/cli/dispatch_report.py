"""What `hsmdc dispatch` prints: a schedule in words, the scenario table, sweeps, the hedge."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    import xarray as xr

    from hsmdc.dispatch import Case


def percent(gap: float) -> str:
    """A gap in words."""
    return "not proven" if math.isinf(gap) else f"{gap:.4%}"


def print_schedule(schedule: xr.Dataset) -> None:
    """A schedule: cost, energies, proof, and the runs of each task."""
    attrs = schedule.attrs
    value = {name: float(schedule[name]) for name in schedule.data_vars if schedule[name].ndim == 0}
    typer.echo(f"Case {attrs['case_name']}, scenario {attrs['scenario']} ({attrs['scenario_mechanism']})")
    if attrs["profiles_source"]:
        typer.echo(f"  {attrs['profiles_source']}")
    typer.echo(
        f"  cost {value['cost_usd']:,.2f} USD   grid {value['grid_mwh']:.3f} MWh   curtailed "
        f"{value['curtailed_mwh']:.3f} MWh   battery {value['battery_mwh']:.3f} MWh"
    )
    typer.echo(
        f"  renewable use {value['renewable_use']:.2%}   green share {value['green_share']:.2%}   "
        f"site {value['min_kw']:,.1f} … {value['peak_kw']:,.1f} kW   most GPUs {value['peak_gpu']:,.0f}"
    )
    typer.echo(
        f"  {attrs['method']}: {attrs['status']}, gap {percent(value['gap'])}, {value['solve_s']:.1f} s"
    )
    for index, name in enumerate(schedule["task"].to_numpy()):
        typer.echo(f"  {name}: {_runs_in_words(schedule, index)}")


def _runs_in_words(schedule: xr.Dataset, task: int) -> str:
    """Such as "0–3 h 1280 GPUs"; runs in a row on as many GPUs are joined."""
    slot_h = float(schedule.attrs["slot_h"])
    stretches: list[list[float]] = []
    for run in range(schedule.sizes["run"]):
        if int(schedule["run_task"][run]) != task:
            continue
        start = float(schedule["run_start_slot"][run]) * slot_h
        end, gpus = start + float(schedule["run_slots"][run]) * slot_h, float(schedule["run_gpus"][run])
        if stretches and stretches[-1][1:] == [start, gpus]:
            stretches[-1][1] = end
        else:
            stretches.append([start, end, gpus])
    return "; ".join(f"{start:g}–{end:g} h {gpus:.0f} GPUs" for start, end, gpus in stretches)


# Variable, heading, factor, digits, width.
_TABLE = (
    ("cost_usd", "cost USD", 1.0, 2, 9),
    ("grid_mwh", "grid MWh", 1.0, 3, 9),
    ("curtailed_mwh", "curt. MWh", 1.0, 3, 10),
    ("battery_mwh", "batt. MWh", 1.0, 3, 10),
    ("renewable_use", "RE use %", 100.0, 2, 9),
    ("green_share", "green %", 100.0, 2, 8),
    ("peak_kw", "peak kW", 1.0, 1, 9),
    ("peak_gpu", "peak GPU", 1.0, 0, 9),
)

Published = dict[tuple[str, str], tuple[float, str]]


def print_scenarios(case: Case, table: xr.Dataset, *, coupled: bool) -> None:
    """The scenarios side by side; below each, the published figures where the case has them."""
    from hsmdc.dispatch.published import published_scenarios

    known = published_scenarios(case)
    columns = (known[name].tolist() for name in ("scenario", "variable", "published", "basis"))
    lookup: Published = (
        {}
        if coupled
        else {(s, v): (float(value), basis) for s, v, value, basis in zip(*columns, strict=True)}
    )
    typer.echo(f"Scenarios of case {case.name}" + (": ours, below it the published figure" if lookup else ""))
    headings = "".join(f"{title:>{width}}  " for _, title, _, _, width in _TABLE)
    typer.echo(f"{'':<6}{headings}{'gap':>8}{'bound USD':>11}")
    for index, name in enumerate(table["scenario"].to_numpy()):
        typer.echo(_scenario_line(table, index, str(name)))
        if lookup:
            typer.echo(_published_line(lookup, str(name)))
    if lookup:
        typer.echo(
            "f: fitted, the figure (or figures that imply it) shaped the case's reconstructed inputs; h: held out."
        )


def _scenario_line(table: xr.Dataset, index: int, name: str) -> str:
    cells = "".join(
        f"{float(table[key][index]) * scale:>{width}.{digits}f}  " for key, _, scale, digits, width in _TABLE
    )
    gap, bound = float(table["gap"][index]), float(table["bound_usd"][index])
    return f"{name:<6}{cells}{_rounded(gap):>8}{'none' if math.isinf(bound) else f'{bound:.2f}':>11}"


def _rounded(gap: float) -> str:
    if math.isinf(gap):
        return "unproven"
    return "0" if gap < 1e-9 else f"{gap:.0e}"


def _published_line(lookup: Published, name: str) -> str:
    cells = []
    for key, _, scale, digits, width in _TABLE:
        value, basis = lookup.get((name, key), (math.nan, " "))
        cells.append(
            f"{'' if math.isnan(value) else format(value * scale, f'.{digits}f'):>{width}} {basis[0]}"
        )
    return f"{'paper':<6}{''.join(cells)}".rstrip()


def print_sweep(table: xr.Dataset) -> None:
    """A sensitivity, one line per value, with the published figure where there is one."""
    from hsmdc.dispatch.published import published_sensitivities

    known = published_sensitivities(table)
    typer.echo(table.attrs["title"])
    typer.echo(f"{'value':>10}  {'cost USD':>10}  {'green %':>8}  {'curtailed MWh':>13}  {'gap':>8}")
    for index, value in enumerate(table["value"].to_numpy()):
        if int(table["feasible"][index]) > 0:
            cost, green, cut, gap = (
                float(table[key][index]) for key in ("cost_usd", "green_share", "curtailed_mwh", "gap")
            )
            line = f"{value:>10g}  {cost:>10.2f}  {green * 100:>8.2f}  {cut:>13.3f}  {_rounded(gap):>8}"
        else:
            line = f"{value:>10g}  {_without_figures(table, index)}"
        typer.echo(line + _published_words(known[known["value"] == value]))


def _without_figures(table: xr.Dataset, index: int) -> str:
    reason = str(table["reason"].to_numpy()[index])
    if int(table["feasible"][index]) < 0:
        return f"not known: {reason}"
    return f"infeasible: {reason.partition('cannot be met: ')[2] or reason}"


def _published_words(rows: Any) -> str:
    scale = {
        "green_share": (100.0, "green %"),
        "cost_usd": (1.0, "USD"),
        "curtailed_mwh": (1.0, "MWh curtailed"),
    }
    words = []
    for row in rows.itertuples():
        if row.variable == "feasible":
            words.append(f"infeasible ({row.basis})")
        else:
            factor, unit = scale[row.variable]
            words.append(f"{row.published * factor:g} {unit} ({row.basis})")
    return f"   [paper: {', '.join(words)}]" if words else ""


def print_hedge(schedule: xr.Dataset) -> None:
    """Expected cost, CVaR and the value of the stochastic solution, then the runs."""
    value = {name: float(schedule[name]) for name in schedule.data_vars if schedule[name].ndim == 0}
    attrs = schedule.attrs
    typer.echo(
        f"Case {attrs['case_name']}, scenario {attrs['scenario']}, {schedule.sizes['outcome']} outcomes"
    )
    typer.echo(
        f"  expected cost {value['expected_cost_usd']:,.2f} USD   CVaR at {attrs['risk_level']:g} "
        f"{value['cvar_usd']:,.2f} USD   weight of CVaR {attrs['risk_weight']:g}"
    )
    typer.echo(
        f"  objective {value['objective_usd']:,.2f} USD, gap {percent(value['objective_gap'])}, "
        f"{value['solve_s']:.1f} s"
    )
    typer.echo(
        f"  schedule made for the mean outcome: {value['deterministic_objective_usd']:,.2f} USD; "
        f"value of the stochastic solution {value['value_of_stochastic_solution_usd']:,.2f} USD"
    )
    for index, name in enumerate(schedule["task"].to_numpy()):
        typer.echo(f"  {name}: {_runs_in_words(schedule, index)}")

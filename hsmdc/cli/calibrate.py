"""`hsmdc calibrate occupancy|profile|jobs|telemetry`: parameters from data."""

from pathlib import Path
from typing import Annotated

import typer

from hsmdc.cli.common import Force, Quiet, check_output, write_text

app = typer.Typer(no_args_is_help=True, help="Find parameters from data.", rich_markup_mode=None)

_Output = Annotated[
    Path | None, typer.Option("--output", "-o", help="TOML file to write; left out, printed.")
]


@app.command()
def occupancy(
    config: Annotated[str, typer.Argument(help="Preset name or TOML file.")],
    utilization: Annotated[float, typer.Option(help="Target mean share of nodes in use.")],
    start: Annotated[str | None, typer.Option(help="First minute, UTC. [default: 2018-01-01]")] = None,
    duration: Annotated[
        str | None, typer.Option(help="Length of the trial runs: 365D, 30D … [default: 365D]")
    ] = None,
    seed: Annotated[int, typer.Option(help="Master seed.")] = 0,
    quiet: Quiet = False,
) -> None:
    """Find the base rate λ0 for a target occupancy.

    \b
    Example:
      hsmdc calibrate occupancy nlr-colocation-10mw --utilization 0.6 --seed 1
    """
    from hsmdc.calibration import fit_occupancy

    fit = fit_occupancy(config, utilization, start=start, duration=duration, seed=seed)
    if quiet:
        typer.echo(repr(fit.base_rate))
    else:
        typer.echo(
            f"base_rate {fit.base_rate:.8g} arrival events per minute: occupancy {fit.occupancy:.5f} "
            f"(target {utilization:g}) in {fit.runs} runs"
        )


@app.command()
def profile(
    reference: Annotated[
        str,
        typer.Option(
            help="Shipped reference, or a .csv, .nc or .parquet file of hourly IT power against time (UTC)."
        ),
    ],
    base: Annotated[
        str, typer.Option(help="Configuration that gives nodes, rated power, cooling.")
    ] = "paper",
    occupancy: Annotated[
        float | None,
        typer.Option(help="Mean share of nodes in use over a file's period; needed with a file."),
    ] = None,
    jobs_per_day: Annotated[
        float | None, typer.Option(help="Jobs per day over a file's period; needed with a file.")
    ] = None,
    column: Annotated[str | None, typer.Option(help="Power column of a file.")] = None,
    allow_missing: Annotated[
        bool, typer.Option("--allow-missing", help="Leave NaN and missing steps of a file out of the fit.")
    ] = False,
    output: _Output = None,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Calibrate a whole preset to a year of power.

    Finds arrivals, jobs and the minute residual, in a minute or two.

    \b
    Examples:
      hsmdc calibrate profile --reference nlr-colocation-10mw -o nlr.toml
      hsmdc calibrate profile --reference mw.csv --base site.toml --occupancy 0.55 --jobs-per-day 4200 -o mine.toml
    """
    check_output(output, force=force)
    from hsmdc.calibration import fit_profile
    from hsmdc.calibration.profile import user_reference
    from hsmdc.config import dump_toml
    from hsmdc.validation import load_reference

    target = load_reference(reference, utilization=occupancy, column=column, allow_missing=allow_missing)
    fit = fit_profile(base, user_reference(target, occupancy, jobs_per_day))
    write_text(output, dump_toml(fit.tree), force=force)
    if output is not None and not quiet:
        typer.echo(f"{output}: calibrated to {target.title}")
        for name, value in fit.record.items():
            typer.echo(f"  {name.replace('_', ' ')}: {value:.5g}")


@app.command()
def jobs(
    log: Annotated[Path, typer.Argument(help="Job log: SWF or CSV, may be gzipped.")],
    base: Annotated[
        str | None,
        typer.Option(help="Configuration the jobs go into; wider jobs are left out. [default: none]"),
    ] = None,
    utc_offset: Annotated[float, typer.Option(help="Local time of the site minus UTC, hours.")] = 0.0,
    batch_gap: Annotated[
        float, typer.Option(help="Jobs of one user this close after one another are a batch, seconds.")
    ] = 60.0,
    gpus_per_node: Annotated[int, typer.Option(help="For CSV logs that count GPUs, not nodes.")] = 8,
    output: _Output = None,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Fit arrivals and jobs to a job log.

    Finds durations, node counts, batches and the daily and weekly rhythm.

    \b
    Example:
      hsmdc calibrate jobs log.swf.gz --base nlr-colocation-10mw --utc-offset -8 -o mine.toml
    """
    check_output(output, force=force)
    from hsmdc.calibration import fit_jobs
    from hsmdc.config import load_config
    from hsmdc.jobs import read_jobs

    table = read_jobs(log, gpus_per_node=gpus_per_node)
    if base is not None:
        table = table.for_cluster(load_config(base).site.nodes)
    fit = fit_jobs(table, utc_offset_h=utc_offset, batch_gap_s=batch_gap)
    write_text(output, fit.to_toml(base), force=force)
    if output is not None and not quiet:
        typer.echo(f"{output}: fitted to {table.source}")
        for line in filter(None, [table.rejection_report()]):
            typer.echo(f"  {line}")
        for name, value in fit.goodness.items():
            typer.echo(f"  {name.replace('_', ' ')}: {value:.5g}")


@app.command()
def telemetry(
    trace: Annotated[
        Path | None,
        typer.Argument(help="CSV of time [s] and mean power per GPU [W]; left out, the shipped trace."),
    ] = None,
    base: Annotated[str, typer.Option(help="Configuration the workload goes into.")] = "nlr-colocation-10mw",
    name: Annotated[str, typer.Option(help="Name of the workload.")] = "fitted",
    nodes: Annotated[int, typer.Option(min=1, help="Nodes of the measured job.")] = 16,
    gpus_per_node: Annotated[int, typer.Option(min=1, help="GPUs of a node.")] = 4,
    other_w: Annotated[
        float, typer.Option(min=0, help="The rest of a node, added to its GPUs, watts.")
    ] = 252.0,
    sensor: Annotated[float, typer.Option(min=0, help="Running mean of the power sensor, seconds.")] = 1.0,
    output: _Output = None,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Fit a workload to the measured power of a training job.

    Finds the node chain and the phases before and after it.

    \b
    Examples:
      hsmdc calibrate telemetry -o lora-site.toml
      hsmdc calibrate telemetry job.csv --nodes 8 --gpus-per-node 8 --base site.toml -o mine.toml
    """
    check_output(output, force=force)
    from hsmdc.calibration import fit_telemetry
    from hsmdc.calibration.telemetry import read_telemetry
    from hsmdc.config import dump_toml, load_config

    seen = read_telemetry(trace, nodes=nodes, gpus_per_node=gpus_per_node, other_w=other_w, sensor_s=sensor)
    fit = fit_telemetry(seen, tdp_w=load_config(base).site.tdp_w, name=name)
    workload = fit.workload.model_dump(mode="json", exclude_none=True)
    tree = {"base": base, "node": {"mix": [{"share": 1.0, "workload": workload}]}}
    write_text(output, dump_toml(tree), force=force)
    if output is not None and not quiet:
        scores = fit.scores
        typer.echo(f"{output}: workload {name!r}, from {seen.source}")
        typer.echo(f"  W1 of power {scores.wasserstein_pu:.4f} of TDP")
        for words, (measured, simulated), unit in (
            ("step period", scores.period_s, "s"),
            ("dip below the low plateau", scores.dip_w, "W"),
            ("deepest dip of a minute below its median", tuple(100 * dip for dip in scores.dip_depth), "%"),
        ):
            typer.echo(f"  {words}: measured {measured:.2f} {unit}, simulated {simulated:.2f} {unit}")

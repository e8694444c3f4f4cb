"""`hsmdc simulate`: a facility's minutes to a netCDF trace."""

from pathlib import Path
from typing import Annotated

import typer

from hsmdc.cli.common import Force, Quiet, check_distinct, check_output, command_line


def simulate(
    config: Annotated[
        str, typer.Argument(help="Preset name or TOML file; `hsmdc presets` lists the presets.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Trace to write (netCDF).")],
    utilization: Annotated[
        float | None, typer.Option(help="Target mean share of nodes in use; λ0 is found for it.")
    ] = None,
    base_rate: Annotated[float | None, typer.Option(help="λ0, arrival events per minute, instead.")] = None,
    jobs: Annotated[
        Path | None, typer.Option(help="Job log to replay instead (SWF or CSV, may be .gz).")
    ] = None,
    gpus_per_node: Annotated[int, typer.Option(help="For CSV logs that count GPUs, not nodes.")] = 8,
    start: Annotated[
        str | None, typer.Option(help="First minute, UTC. [default: 2018-01-01, or the log's]")
    ] = None,
    duration: Annotated[
        str | None, typer.Option(help="Length: 365D, 1D, 6h … [default: 365D, or all of the log]")
    ] = None,
    seed: Annotated[int, typer.Option(help="Master seed; the same seed gives the same bytes.")] = 0,
    no_jobs: Annotated[
        bool, typer.Option("--no-jobs", help="Leave the job table out (no resolve later).")
    ] = False,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Simulate a facility at one minute and save the trace.

    \b
    Examples:
      hsmdc simulate nlr-colocation-10mw --utilization 0.6 --seed 1 -o year.nc
      hsmdc simulate site.toml --base-rate 2.5 --start 2028-01-01 --duration 366D -o leap.nc
      hsmdc simulate nlr-colocation-10mw --jobs log.swf.gz -o replay.nc
    """
    if jobs is not None:
        check_distinct(output, jobs)
    check_output(output, force=force)
    from hsmdc.jobs import read_jobs
    from hsmdc.simulation import simulate as run
    from hsmdc.traces import save_trace

    table = read_jobs(jobs, gpus_per_node=gpus_per_node) if jobs is not None else None
    trace = run(
        config,
        utilization=utilization,
        base_rate=base_rate,
        jobs=table,
        start=start,
        duration=duration,
        seed=seed,
    )
    trace.attrs["history"] = command_line()
    save_trace(trace, output, force=force, include_jobs=not no_jobs)
    if not quiet:
        power = trace["it_power"].values
        typer.echo(
            f"{output}: {power.size} minutes from {str(trace['time'].values[0])[:16]} UTC, seed {seed}"
        )
        typer.echo(
            f"  occupancy {trace.attrs['occupancy']:.4f}, {trace.attrs['jobs']} jobs{_rejected(trace)}"
        )
        typer.echo(
            f"  IT power mean {power.mean():.4f} MW, peak {power.max():.4f} MW, "
            f"peak-to-average {power.max() / power.mean():.3f}, PUE {trace.attrs['pue']:.3f}"
        )


def _rejected(trace: object) -> str:
    report = getattr(trace, "attrs", {}).get("rejected_jobs", "none")
    return "" if report == "none" else f"; {report}"

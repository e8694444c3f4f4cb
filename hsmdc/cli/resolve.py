"""`hsmdc resolve`: a window of a trace at a fine step."""

from pathlib import Path
from typing import Annotated

import typer

from hsmdc.cli.common import (
    Force,
    Quiet,
    check_distinct,
    check_figure,
    check_output,
    command_line,
    progress_bar,
    usable_cores,
)


def resolve(
    trace: Annotated[Path, typer.Argument(help="Trace with its job table, as `hsmdc simulate` writes it.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Window to write (netCDF, float32).")],
    start: Annotated[str | None, typer.Option(help="First label, UTC. [default: the trace's first]")] = None,
    duration: Annotated[
        str | None, typer.Option(help="Length: 10min, 1h, 1D … [default: to the end]")
    ] = None,
    step: Annotated[
        str, typer.Option(help="Length of a step: 1ms or more; it must divide the trace's step.")
    ] = "100ms",
    synchrony: Annotated[
        str | None,
        typer.Option(
            help="job: nodes of a job move together; node: each by itself. [default: as configured]"
        ),
    ] = None,
    sample: Annotated[str, typer.Option(help="mean over each step, or instant at its label.")] = "mean",
    minutes: Annotated[
        str,
        typer.Option(
            help="trace: keep the trace's minute means; free: let the nodes make them; auto: trace where the "
            "trace has a residual or meets its ceiling."
        ),
    ] = "auto",
    threads: Annotated[int, typer.Option(help="Threads; 0 takes all cores. The bytes do not change.")] = 0,
    figure: Annotated[
        Path | None, typer.Option(help="Also draw the window's first ten minutes (png, pdf, svg).")
    ] = None,
    metrics: Annotated[
        bool,
        typer.Option("--metrics", help="Also print ramps, swing, dips and 0.1-2.5 Hz of facility power."),
    ] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with an interrupted run.")] = False,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Resolve a window of a trace at 1 ms or more: the same jobs.

    \b
    Examples:
      hsmdc resolve year.nc --start 2018-07-04T12:00 --duration 1h -o window.nc
      hsmdc resolve year.nc --start 2018-07-04 --duration 1D --step 100ms --figure day.png -o day.nc
      hsmdc resolve year.nc --start 2018-07-04T12:00 --duration 1h --metrics -o window.nc
      hsmdc resolve year.nc --start 2018-07-04T12:00 --duration 1h --step 20ms --synchrony node -o fast.nc
    """
    from hsmdc.cli.grid_table import check_grid_window, grid_table
    from hsmdc.errors import InputError
    from hsmdc.traces import open_trace
    from hsmdc.transient.windowfile import save_window

    check_distinct(output, trace)
    check_output(output, force=force)
    check_figure(figure, force=force)
    if metrics:
        check_grid_window(step, duration)
    if threads < 0:
        raise InputError(f"--threads {threads}: must be 0 (all cores) or more")
    with open_trace(trace) as opened, progress_bar("resolving", quiet=quiet) as progress:
        written = save_window(
            opened,
            output,
            start=start,
            duration=duration,
            step=step,
            synchrony=synchrony,  # type: ignore[arg-type]  # checked where it is used
            sample=sample,  # type: ignore[arg-type]
            minutes=minutes,  # type: ignore[arg-type]
            threads=threads or usable_cores(),
            force=force,
            resume=resume,
            history=command_line(),
            progress=progress,
        )
    if not quiet:
        typer.echo(f"{output}: {written.steps} steps of {step}")
        typer.echo(
            f"  IT power mean {written.mean_mw:.4f} MW, lowest {written.lowest_mw:.4f}, "
            f"highest {written.highest_mw:.4f}"
        )
    if metrics:
        typer.echo(grid_table(output))
    if figure is not None:
        _draw(output, figure, quiet=quiet)


def _draw(path: Path, figure: Path, *, quiet: bool) -> None:
    from hsmdc.traces import open_trace
    from hsmdc.transient.figures import window_figure

    with open_trace(path) as window:
        window_figure(window.isel(time=slice(0, round(600 / window.attrs["step_s"]))), figure)
    if not quiet:
        typer.echo(f"{figure}: the first ten minutes")

"""`hsmdc ensemble`: Monte Carlo years."""

from pathlib import Path
from typing import Annotated

import typer

from hsmdc.cli.common import Force, Quiet, check_output, progress_bar


def ensemble(
    config: Annotated[str, typer.Argument(help="Preset name or TOML file.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="netCDF file of figures per member.")],
    members: Annotated[int, typer.Option(help="Number of runs.")] = 50,
    utilization: Annotated[
        float | None, typer.Option(help="Target occupancy of the first member; fixes λ0.")
    ] = None,
    base_rate: Annotated[float | None, typer.Option(help="λ0, arrival events per minute, instead.")] = None,
    start: Annotated[str | None, typer.Option(help="First minute, UTC. [default: 2018-01-01]")] = None,
    duration: Annotated[str | None, typer.Option(help="[default: 365D]")] = None,
    seed: Annotated[int, typer.Option(help="Master seed of the ensemble.")] = 0,
    threads: Annotated[int, typer.Option(help="Runs at a time; 0 takes all cores.")] = 0,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Simulate many years with one λ0 and keep peaks, ramps and load-duration curves of each.

    \b
    Example:
      hsmdc ensemble nlr-colocation-10mw --members 100 --utilization 0.6 -o hundred-years.nc
    """
    check_output(output, force=force)
    import os

    from hsmdc.ensemble import ensemble as run

    with progress_bar("simulating", quiet=quiet) as tick:
        found = run(
            config,
            members=members,
            utilization=utilization,
            base_rate=base_rate,
            start=start,
            duration=duration,
            seed=seed,
            threads=threads or len(os.sched_getaffinity(0)),
            progress=tick,
        )
    partial = output.with_name(output.name + ".part")
    found.to_netcdf(partial)
    partial.replace(output)
    if not quiet:
        peak, mean = found["facility_peak"], found["facility_mean"]
        typer.echo(f"{output}: {members} runs at λ0 = {found.attrs['base_rate']:.5g} per minute")
        typer.echo(
            f"  occupancy {float(found['occupancy'].mean()):.4f} ± {float(found['occupancy'].std()):.4f}"
        )
        typer.echo(
            f"  facility mean {float(mean.mean()):.4f} MW; peak {float(peak.mean()):.4f} MW on average,"
        )
        typer.echo(f"  {float(peak.quantile(0.95)):.4f} MW exceeded by one run in twenty")

"""`hsmdc ensemble`: Monte Carlo years."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hsmdc.cli.common import Force, Quiet, check_folder, command_line, progress_bar, usable_cores

if TYPE_CHECKING:
    import xarray as xr

_FILES = ("ensemble.nc", "members.csv")


def ensemble(
    config: Annotated[str, typer.Argument(help="Preset name or TOML file.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for ensemble.nc and members.csv.")],
    members: Annotated[int, typer.Option(help="Number of runs.")] = 50,
    utilization: Annotated[
        float | None, typer.Option(help="Target occupancy of the first member; fixes λ0.")
    ] = None,
    base_rate: Annotated[float | None, typer.Option(help="λ0, arrival events per minute, instead.")] = None,
    start: Annotated[str | None, typer.Option(help="First minute, UTC. [default: 2018-01-01]")] = None,
    duration: Annotated[
        str | None, typer.Option(help="Length of each run: 365D, 30D … [default: 365D]")
    ] = None,
    seed: Annotated[int, typer.Option(help="Master seed of the ensemble.")] = 0,
    threads: Annotated[int, typer.Option(help="Runs at a time; 0 takes all cores.")] = 0,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Simulate many years with one λ0; keep what varies.

    Of each run: peaks, means, ramps and the load-duration curve.

    \b
    Example:
      hsmdc ensemble nlr-colocation-10mw --members 100 --utilization 0.6 -o hundred-years/
    """
    check_folder(output, _FILES, force=force)
    from hsmdc.montecarlo import ensemble as run

    with progress_bar("simulating", quiet=quiet) as tick:
        found = run(
            config,
            members=members,
            utilization=utilization,
            base_rate=base_rate,
            start=start,
            duration=duration,
            seed=seed,
            threads=threads or usable_cores(),
            progress=tick,
        )
    for name, write in zip(_FILES, (_write_netcdf, _write_csv), strict=True):
        partial = output / f"{name}.part"
        write(found, partial)
        partial.replace(output / name)
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


def _write_netcdf(found: xr.Dataset, path: Path) -> None:
    found.assign_attrs(history=command_line()).to_netcdf(path)


def _write_csv(found: xr.Dataset, path: Path) -> None:
    scalars = [name for name in found.data_vars if found[name].dims == ("member",)]
    found[scalars].to_dataframe().to_csv(path)

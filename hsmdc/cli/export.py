"""`hsmdc export`: a trace for CSV, Parquet, OpenDSS, GridLAB-D, PSCAD or PSS/E."""

from pathlib import Path
from typing import Annotated

import typer

from hsmdc.cli.common import Force, Quiet, check_distinct, progress_bar

_FORMATS = "csv, parquet, opendss, gridlabd, pscad or psse"


def export(
    trace: Annotated[Path, typer.Argument(help="Trace file (netCDF).")],
    format: Annotated[str, typer.Option("--format", "-f", help=f"One of {_FORMATS}.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="File to write.")],
    variable: Annotated[
        list[str] | None, typer.Option(help="Variable to write; may be given more than once.")
    ] = None,
    power_factor: Annotated[
        float, typer.Option(help="Lagging power factor of the reactive power of gridlabd and psse.")
    ] = 1.0,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Write the series of a trace for another tool.

    Without --variable: every series (csv, parquet), every power (pscad), facility_power (the others).
    OpenDSS gets the values in kW and, beside them, a .dss file with the LoadShape that reads them.

    \b
    Examples:
      hsmdc export year.nc --format opendss -o x.csv
      hsmdc export window.nc --format pscad -o window.txt --variable facility_power
    """
    from hsmdc.export import export_trace
    from hsmdc.traces import open_trace

    check_distinct(output, trace)
    with open_trace(trace) as opened, progress_bar("export", quiet=quiet) as progress:
        written = export_trace(
            opened,
            output,
            format=format,  # type: ignore[arg-type]  # export_trace names what is allowed
            variables=variable,
            power_factor=power_factor,
            force=force,
            progress=progress,
        )
    if not quiet:
        for path in written:
            typer.echo(f"wrote {path}")

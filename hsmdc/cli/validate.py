"""`hsmdc validate`: score traces against a reference, judge the gates, write the report."""

from __future__ import annotations

import math
from collections.abc import Hashable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hsmdc.cli.common import Force, Progress, Quiet, check_folder, command_line, progress_bar

if TYPE_CHECKING:
    import xarray as xr

    from hsmdc.validation import Reference


def validate(
    traces: Annotated[
        list[Path] | None, typer.Argument(help="Trace files (netCDF) of any levels and seeds.")
    ] = None,
    battery: Annotated[
        str | None,
        typer.Option(
            help="Instead of files: simulate every level of the reference with this preset or TOML file."
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Years per level for --battery: seeds 1, 2, …")] = 5,
    reference: Annotated[
        str,
        typer.Option(help="Shipped reference, or a .csv, .nc or .parquet file of power against time (UTC)."),
    ] = "nlr-colocation-10mw",
    column: Annotated[str | None, typer.Option(help="Power column of a reference file.")] = None,
    utilization: Annotated[
        float | None, typer.Option(help="Mean share of busy nodes of a reference file, if it is known.")
    ] = None,
    allow_missing: Annotated[
        bool,
        typer.Option(
            "--allow-missing", help="Leave NaN and missing steps of a reference file out of the comparison."
        ),
    ] = False,
    gates: Annotated[
        str | None,
        typer.Option(help="Gates: a TOML file or a shipped set; chosen by the reference if not given."),
    ] = None,
    strict: Annotated[
        bool,
        typer.Option("--strict", help="Exit with status 1 when a gate fails, or none could be assessed."),
    ] = False,
    everything: Annotated[bool, typer.Option("--all", help="Also print scores that have no gate.")] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder for report.html, scores.nc and scores.csv.")
    ] = None,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Compare traces with a reference and judge every gate.

    Each score is the mean over the traces of a level, with its 95 % band. It is "fitted" where the calibration
    has used that value of the reference and "held out" where it has not. A reference file is compared over the
    time that it shares with the traces.

    \b
    Examples:
      hsmdc validate year.nc --reference nlr-colocation-10mw -o report/
      hsmdc validate *.nc --reference metered.csv --gates limits.toml --strict
      hsmdc validate --battery nlr-colocation-10mw --seeds 5 -o report/
    """
    from hsmdc.validation import load_gates, load_reference
    from hsmdc.validation import validate as judge

    files = traces or []
    _check_arguments(files, battery, output, force=force)
    target = load_reference(reference, utilization=utilization, column=column, allow_missing=allow_missing)
    chosen = load_gates(gates) if gates else None
    run = _Run()
    with progress_bar("validating", quiet=quiet) as tick:
        if battery is None:
            _score_files(run, files, target, tick)
        else:
            _score_battery(run, battery, seeds, target, tick)
    scores = judge(run.members, target, chosen)
    if not quiet:
        print_scores(scores, everything=everything)
    if output is not None:
        _write(output, scores, run, target, quiet=quiet)
    if strict and scores.attrs["verdict"] in ("fail", "not assessed"):
        raise typer.Exit(1)


class _Run:
    """What was scored, and the one trace the report shows."""

    def __init__(self) -> None:
        self.members: list[xr.Dataset] = []
        self.shown: xr.Dataset | None = None
        self._shown_is_compared = False

    def add(self, trace: xr.Dataset, target: Reference, *, level: float | None, alone: bool) -> None:
        from hsmdc.validation import score
        from hsmdc.validation.battery import RESAMPLES

        member = score(trace, target, utilization=level, resamples=RESAMPLES if alone else 0)
        self.members.append(member)
        first = self.shown is None
        compared = target.series_at(member.attrs["utilization"]) is not None
        if first or (compared and not self._shown_is_compared):
            self._shown_is_compared = compared
            self.shown = trace.drop_dims("job", errors="ignore").load()


def _check_arguments(files: list[Path], battery: str | None, output: Path | None, *, force: bool) -> None:
    from hsmdc.errors import InputError

    if bool(files) == (battery is not None):
        raise InputError("give trace files or --battery CONFIG, one of the two")
    if output is not None:
        check_folder(output, _OUTPUTS, force=force)


_OUTPUTS = ("report.html", "scores.nc", "scores.csv")


def _score_files(run: _Run, files: list[Path], target: Reference, tick: Progress) -> None:
    from hsmdc.errors import InputError
    from hsmdc.traces import open_trace

    levels: list[float] = []
    for path in files:
        with open_trace(path) as trace:
            levels.append(target.level_of(trace.attrs.get("utilization")))
    for done, path in enumerate(files):
        with open_trace(path) as trace:
            try:
                run.add(trace, target, level=None, alone=levels.count(levels[done]) == 1)
            except InputError as error:
                raise InputError(f"{path}: {error}") from error
        tick(done + 1, len(files))


def _score_battery(run: _Run, config: str, seeds: int, target: Reference, tick: Progress) -> None:
    """Simulate and score every level and seed, one year in memory at a time."""
    from hsmdc.config import load_config
    from hsmdc.errors import InputError
    from hsmdc.simulation import simulate

    if "occupancy" not in target.statistics:
        raise InputError(
            f"--battery needs to know how busy {target.name} is; give --utilization, its mean share of busy nodes"
        )
    resolved = load_config(config)
    runs = [(level, seed) for level in target.levels for seed in range(1, seeds + 1)]
    for done, (level, seed) in enumerate(runs):
        trace = simulate(
            resolved,
            utilization=target.statistic("occupancy", level),
            start=str(target.start.astype("datetime64[s]")),
            duration=f"{target.days}D",
            seed=seed,
        )
        run.add(trace, target, level=level, alone=seeds == 1)
        tick(done + 1, len(runs))


def print_scores(scores: xr.Dataset, *, everything: bool = False) -> None:
    """Print the table of scores with target, band, limit and verdict, then the count."""
    rows = scores.to_dataframe()
    judged = rows[rows["verdict"].isin(["pass", "fail"])]
    shown = rows[rows["verdict"] != "not assessed"] if everything else judged
    header = (
        "score",
        "level",
        "reference",
        "value",
        "95 % band",
        "limit",
        "paper's model",
        "basis",
        "verdict",
        "",
    )
    cells = [_cells(row) for row in shown.to_dict("records")]
    filled = [column for column in range(len(header)) if any(line[column] for line in cells)]
    table = [tuple(line[column] for column in filled) for line in (header, *cells)]
    widths = [max(len(line[column]) for line in table) for column in range(len(filled))]
    table.insert(1, tuple("-" * width for width in widths))
    typer.echo(f"{scores.attrs['reference_title']}; gates {scores.attrs['gates']}")
    if scores.attrs.get("period"):
        typer.echo(f"step by step: {scores.attrs['period']}")
    for line in table:
        typer.echo("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
    typer.echo(_count(scores))


def _cells(row: dict[Hashable, Any]) -> tuple[str, ...]:
    unit = "" if row["unit"] == "1" else f" [{row['unit']}]"
    band = "" if math.isnan(row["low"]) else f"{_number(row['low'])} … {_number(row['high'])}"
    return (
        f"{row['title']}{unit}",
        "all" if math.isnan(row["utilization"]) else f"{row['utilization']:.0%}",
        _number(row["reference"]),
        _number(row["value"]),
        band,
        row["limit"],
        row["paper"],
        row["role"].replace("_", " "),
        "FAIL" if row["verdict"] == "fail" else row["verdict"],
        row["note"],
    )


def _number(value: float) -> str:
    if math.isnan(value):
        return ""
    return f"{value:.4f}" if abs(value) < 100 else f"{value:.0f}"


def _count(scores: xr.Dataset) -> str:
    attrs = scores.attrs
    words = f"{attrs['passed']} gates pass, {attrs['failed']} fail"
    if not attrs["not_assessed"]:
        return words
    rows = scores.to_dataframe()
    reasons = rows.loc[rows["verdict"] == "not assessed", "note"].value_counts()
    listed = "; ".join(f"{why} ({count})" for why, count in reasons.items())
    return f"{words}, {attrs['not_assessed']} not assessed: {listed}"


def _write(folder: Path, scores: xr.Dataset, run: _Run, target: Reference, *, quiet: bool) -> None:
    from hsmdc.report import write_report

    write_scores(scores, folder)
    page = write_report(
        folder / "report.html",
        title=f"Validation against {target.title}",
        scores=scores,
        members=run.members,
        reference=target,
        trace=run.shown,
        command=command_line(),
        force=True,
    )
    if not quiet:
        typer.echo(f"report: {page}")


def write_scores(scores: xr.Dataset, folder: Path) -> None:
    """Write scores.nc and scores.csv into a folder, which is made if need be."""
    folder.mkdir(parents=True, exist_ok=True)
    scores.to_netcdf(folder / "scores.nc")
    scores.to_dataframe().to_csv(folder / "scores.csv", index=False)

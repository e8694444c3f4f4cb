"""`hsmdc demo`: the main job, end to end, in about a minute."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hsmdc.cli.common import Force, Quiet, check_folder, command_line

if TYPE_CHECKING:
    import xarray as xr

    from hsmdc.report import Section
    from hsmdc.validation import Reference

_PRESET = "nlr-colocation-10mw"
_CASE = "aidc-2048"
_FILES = ("year.nc", "window.nc", "dispatch.nc", "report.html", "scores.nc", "scores.csv")


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for everything the demo makes.")
    ] = Path("out"),
    seed: Annotated[int, typer.Option(help="Master seed.")] = 1,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Run all of it once, in about a minute, and write a report.

    A year at 60 %, an hour of it at 100 ms, validation, a day of LLM training planned on it.

    \b
    Example:
      hsmdc demo -o out
    """
    check_folder(output, _FILES, force=force)
    say = _speaker(quiet=quiet)
    say("1/5 a year of minutes at 60 % of the nodes …")
    year = _year(output, seed)
    say(
        f"    mean {float(year['it_power'].mean()):.3f} MW IT, {year.attrs['jobs']} jobs, PUE {year.attrs['pue']:.3f}"
    )
    say("2/5 an hour of it at 100 ms …")
    window = _window(output)
    say(f"    IT power {float(window.min()):.3f} … {float(window.max()):.3f} MW")
    say("3/5 against the reference …")
    verdict, scores, members, reference = _validate(output, year)
    say(f"    {verdict}")
    say("4/5 tomorrow's training, on this facility's day …")
    schedule = _dispatch(output, year)
    say(f"    cost {float(schedule['cost_usd']):.2f} USD, {_proof(schedule)}")
    say("5/5 the report …")
    from hsmdc.report import write_report

    page = write_report(
        output / "report.html",
        title="hsmdc demo: a year of an AI data centre",
        scores=scores,
        members=members,
        reference=reference,
        trace=year.drop_dims("job"),
        sections=[_window_section(output), _dispatch_section(schedule)],
        command=command_line(),
        force=True,
    )
    say(f"\nOpen {page} in a browser; year.nc, window.nc and dispatch.nc lie beside it.")


def _speaker(*, quiet: bool) -> Callable[[str], None]:
    def say(words: str) -> None:
        if not quiet:
            typer.echo(words)

    return say


def _year(folder: Path, seed: int) -> xr.Dataset:
    from hsmdc.simulation import simulate
    from hsmdc.traces import save_trace

    year = simulate(_PRESET, utilization=0.6034, seed=seed).assign_attrs(history=command_line())
    save_trace(year, folder / "year.nc", force=True)
    return year


def _window(folder: Path) -> xr.DataArray:
    from hsmdc.traces import open_trace
    from hsmdc.transient.windowfile import save_window

    with open_trace(folder / "year.nc") as year:
        save_window(
            year, folder / "window.nc", start="2018-07-04T12:00", duration="1h", step="100ms", force=True
        )
    with open_trace(folder / "window.nc") as window:
        power: xr.DataArray = window["it_power"].load()
    return power


def _validate(folder: Path, year: xr.Dataset) -> tuple[str, xr.Dataset, list[xr.Dataset], Reference]:
    from hsmdc.cli.validate import write_scores
    from hsmdc.validation import load_reference, score, validate

    reference = load_reference(_PRESET)
    members = [score(year, reference, utilization=0.6, resamples=200)]
    scores = validate(members, reference)
    write_scores(scores, folder)
    verdicts = scores["verdict"].values.astype(str)
    judged = {name: int((verdicts == name).sum()) for name in ("pass", "fail")}
    return (
        f"{judged['pass']} gates pass, {judged['fail']} fail (one seed of the 60 % level)",
        scores,
        members,
        reference,
    )


def _dispatch(folder: Path, year: xr.Dataset) -> xr.Dataset:
    from hsmdc.dispatch import load_case, save_schedule, solve

    schedule: xr.Dataset = solve(load_case(_CASE), "S6", trace=year, day="2018-07-04", time_limit_s=60.0)
    save_schedule(schedule, folder / "dispatch.nc", force=True)
    return schedule


def _proof(schedule: xr.Dataset) -> str:
    return f"{schedule.attrs['status']}, gap {float(schedule['gap']):.1e}"


def _window_section(folder: Path) -> Section:
    from hsmdc.report import Section
    from hsmdc.traces import open_trace
    from hsmdc.transient.figures import draw_window

    with open_trace(folder / "window.nc") as window:
        figure = draw_window(window.isel(time=slice(0, 6000)))
    return Section(
        "Ten minutes at 100 ms",
        ["The same jobs as in the year, resolved through the phases of synchronous training."],
        figures=[(figure, "IT and facility power from 4 July, 12:00 UTC.")],
    )


def _dispatch_section(schedule: xr.Dataset) -> Section:
    from hsmdc.dispatch.figures import balance_figure, gantt_figure
    from hsmdc.report import Section

    return Section(
        "A training day planned on this facility",
        [
            "Two LLM pre-training tasks scheduled for 4 July with the facility's own base load and PUE by hour: "
            "checkpoints, feasible parallel modes, wind, sun, price and battery.",
        ],
        facts=[
            ("cost", f"{float(schedule['cost_usd']):.2f} USD"),
            ("proof", _proof(schedule)),
        ],
        figures=[(balance_figure(schedule), "Power balance."), (gantt_figure(schedule), "GPUs and modes.")],
    )

"""The report people look at: one HTML file that opens offline, zooms and prints.

Everything is inside the file: figures as SVG, the year as 16-bit samples, style and script. Nothing is fetched.
"""

from __future__ import annotations

import os
import platform
import tomllib
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import xarray as xr

from hsmdc import __version__
from hsmdc import report_parts as parts
from hsmdc import report_words as words
from hsmdc.config import Config, load_config
from hsmdc.errors import InputError
from hsmdc.kernels.cooling import first_order_lag
from hsmdc.transient.onenode import simulate_node
from hsmdc.validation import Reference, figures
from hsmdc.validation.node_power import measured_node_power, sensor_density

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_STEP_S = 5.0
_BEFORE_S, _AFTER_S = 300.0, 3600.0

_READING = (
    "Value is the mean over the seeds of a level; the band is its 95 % confidence interval over seeds. Where there "
    "is one trace only, the band is the spread over its weeks drawn again, which counts the season as chance: it is "
    "much wider than the spread over seeds.",
    "Fitted: the calibration has used the reference's value. Held out: it has not. Empty: the gates do not say. "
    "Limits were stated before the scores were computed.",
)


class Section(NamedTuple):
    """A further section of a report, put after the comparison.

    Attributes
    ----------
    title : str
    text : sequence of str
        Paragraphs.
    facts : sequence of (name, value)
    figures : sequence of (Figure, caption)
    """

    title: str
    text: Sequence[str] = ()
    facts: Sequence[tuple[str, str]] = ()
    figures: Sequence[tuple[Figure, str]] = ()


def write_report(
    path: str | Path,
    *,
    title: str = "Load report",
    scores: xr.Dataset | None = None,
    members: Sequence[xr.Dataset] = (),
    reference: Reference | None = None,
    trace: xr.Dataset | None = None,
    sections: Sequence[Section] = (),
    command: str = "",
    force: bool = False,
) -> Path:
    """Write a self-contained HTML report.

    Parameters
    ----------
    path : str or Path
        The .html file.
    scores : Dataset, optional
        What `validate` returned.
    members : sequence of Dataset, optional
        What `score` made of the traces: the curves of the comparison figures. Needs `reference`.
    reference : Reference, optional
    trace : Dataset, optional
        The trace to zoom into, to put in numbers and to take the configuration from.
    sections : sequence of Section
        Further sections.
    command : str
        The command that made the report, for its provenance.
    force : bool
        Overwrite an existing file.

    Raises
    ------
    InputError
        The file exists (unless `force`), or there is nothing to report.
    """
    target = Path(path)
    if target.exists() and not force:
        raise InputError(f"{target} exists; pass force=True (--force) to overwrite it")
    if scores is None and trace is None and not sections:
        raise InputError("nothing to report: give scores, a trace or sections")
    body = "\n".join(_body(scores, members, reference, trace, sections, command))
    page = Template(_asset("report.html")).substitute(
        title=escape(title),
        version=__version__,
        created=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        style=_asset("report.css"),
        script=_asset("report.js"),
        body=body,
    )
    target.parent.mkdir(parents=True, exist_ok=True)
    _replace(target, page)
    return target


def _asset(name: str) -> str:
    return (files("hsmdc") / "assets" / name).read_text(encoding="utf-8")


def _replace(target: Path, page: str) -> None:
    """Write beside the target, then rename: an interrupted run leaves no half page under its name."""
    draft = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        draft.write_text(page, encoding="utf-8")
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


def _body(
    scores: xr.Dataset | None,
    members: Sequence[xr.Dataset],
    reference: Reference | None,
    trace: xr.Dataset | None,
    sections: Sequence[Section],
    command: str,
) -> Iterator[str]:
    yield _summary(scores, trace)
    if scores is not None:
        yield _gates(scores)
    if members and reference is not None:
        yield _comparison(members, reference)
    if trace is not None:
        yield _trace_section(trace)
    for extra in sections:
        images = [parts.figure_image(figure, caption) for figure, caption in extra.figures]
        table = parts.fact_table(extra.facts) if extra.facts else ""
        yield parts.section(extra.title, parts.paragraphs(extra.text), table, *images)
    yield _provenance(scores, trace, command)


def _summary(scores: xr.Dataset | None, trace: xr.Dataset | None) -> str:
    blocks: list[str] = []
    if scores is not None:
        line, kind = words.verdict_line(scores)
        blocks.append(f'<p class="verdict {kind}">{escape(line)}</p>')
        blocks.append(parts.paragraphs(words.agreement(scores)))
        failures = words.disagreements(scores)
        if failures:
            blocks.append("<p>What does not agree:</p>" + parts.bullets(failures))
        left_out = words.unassessed(scores)
        if left_out:
            blocks.append("<p>What could not be assessed:</p>" + parts.bullets(left_out))
    if trace is not None:
        blocks.append(f"<p>{escape(_trace_words(trace))}</p>")
        blocks.append(parts.fact_table(words.load_facts(trace)))
    return parts.section("Summary", *blocks)


def _trace_words(trace: xr.Dataset) -> str:
    attrs = trace.attrs
    occupancy = attrs.get("occupancy", attrs.get("utilization"))
    level = "" if occupancy is None else f" with {100 * float(occupancy):.1f} % of its nodes busy on average"
    seed = f", seed {attrs['seed']}" if "seed" in attrs else ""
    return f"The load shown below is one simulated facility{level}{seed}:"


def _gates(scores: xr.Dataset) -> str:
    reported = parts.score_table(scores, ["reported"])
    more = f'<details class="printed"><summary>Scores without a gate</summary>{reported}</details>'
    return parts.section(
        "Gates", parts.score_table(scores, ["pass", "fail"]), parts.paragraphs(_READING), more
    )


def _comparison(members: Sequence[xr.Dataset], reference: Reference) -> str:
    wanted: list[tuple[Callable[[Sequence[xr.Dataset], Reference], Figure], str]] = [
        (figures.marginals, "How power is distributed at every level, on a logarithmic scale."),
        (figures.autocorrelations, "Autocorrelation of hourly means over one week."),
        (figures.week_overlay, "One week of hourly means."),
        (figures.week_percentiles, "Median, 10th and 90th percentile over the weeks, by time of week."),
        (figures.load_duration, "Load-duration curves; points are the reference's figures."),
        (
            figures.ramp_sizes,
            "How often power changes by more than a given size: traces, and hourly means beside the reference.",
        ),
    ]
    drawn = [_drawn(partial(draw, members, reference), caption) for draw, caption in wanted]
    return parts.section("Comparison with the reference", *drawn)


def _drawn(draw: Callable[[], Figure], caption: str) -> str:
    """The figure, or a line that says why there is none."""
    try:
        return parts.figure_image(draw(), caption)
    except InputError as error:
        return parts.paragraphs([f"Not drawn: {caption} Reason: {error}."])


def _trace_section(trace: xr.Dataset) -> str:
    config = _config(trace)
    cooled = "hvac_power" in trace
    blocks = [
        parts.zoomable(trace),
        _drawn(lambda: figures.year_overview(trace), "Daily range and mean of the load."),
    ]
    if cooled:
        blocks.append(
            _drawn(lambda: figures.day_decomposition(trace), "The day of the widest swing, by use.")
        )
    if cooled and config is not None:
        caption = (
            "Cooling answers a step of IT load late and slowly: the time constants of this configuration."
        )
        blocks.append(parts.figure_image(_step_response(config), caption))
    if config is not None:
        blocks.append(_node_histogram(config))
    return parts.section("The load", *blocks)


def _node_histogram(config: Config) -> str:
    """Half an hour of one busy node of this configuration against a measured one."""
    measured = measured_node_power()
    node = simulate_node(config, duration="1800s", step="200ms", seed=1)
    workload = config.node.mix[0].workload.name
    model = sensor_density(node["node_power"].values, 0.2, config.site.tdp_w, measured.edges)
    figure = figures.node_histogram(
        model, measured.density, measured.edges, f"model, {workload}", measured.title
    )
    return parts.figure_image(
        figure,
        f"Power of one busy node, averaged over one second as a sensor does: the workload '{workload}' of this "
        "configuration beside a measured fine-tuning job. They are different workloads, and nothing in the "
        "comparison above depends on this layer.",
    )


def _config(trace: xr.Dataset) -> Config | None:
    text = trace.attrs.get("config")
    return load_config(tomllib.loads(text)) if text else None


def _step_response(config: Config) -> Figure:
    time_s = np.arange(-_BEFORE_S, _AFTER_S, _STEP_S)
    load = (time_s >= 0.0).astype(np.float64)
    responses = {}
    for name, part in (("air handling", config.cooling.hvac), ("chiller", config.cooling.chiller)):
        response = np.empty_like(load)
        first_order_lag(load, _STEP_S, part.tau_s, config.cooling.dead_time_s, 0.0, response)
        responses[f"{name}, τ = {part.tau_s:g} s"] = response
    return figures.step_response(time_s, responses, config.cooling.dead_time_s)


def _provenance(scores: xr.Dataset | None, trace: xr.Dataset | None, command: str) -> str:
    facts = [("hsmdc", __version__), ("Python, NumPy", f"{platform.python_version()}, {np.__version__}")]
    if command:
        facts.append(("command", command))
    if scores is not None:
        names = {
            "reference_title": "reference",
            "reference_source": "source of the reference",
            "gates": "gates",
        }
        facts += [(label, str(scores.attrs[key])) for key, label in names.items()]
    config = ""
    if trace is not None:
        facts += [(f"trace: {name}", str(value)) for name, value in trace.attrs.items() if name != "config"]
        text = trace.attrs.get("config")
        config = (
            f"<details><summary>Configuration (TOML)</summary><pre>{escape(text)}</pre></details>"
            if text
            else ""
        )
    return parts.section("Configuration and provenance", parts.fact_table(facts), config)

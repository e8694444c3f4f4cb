"""What a planner wants to know first, in plain words: verdicts and the load in numbers."""

import math
from collections.abc import Hashable
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from hsmdc.errors import InputError
from hsmdc.validation import metrics
from hsmdc.validation.style import level_name

_MOST_SENTENCES = 10
_SIZED_BY = ("mean_mw", "std_mw", "peak_to_average", "median_mw", "p90_mw")
_RAMP_SPANS_S = (60.0, 900.0, 3600.0)


def verdict_line(scores: xr.Dataset) -> tuple[str, str]:
    """One line on all gates, and its kind: pass, fail or part."""
    passed, failed = int(scores.attrs["passed"]), int(scores.attrs["failed"])
    open_gates = int(scores.attrs["not_assessed"])
    if not passed + failed:
        return "No gate could be assessed.", "part"
    line = f"{passed} of {passed + failed} gates pass"
    line += f"; {open_gates} more could not be assessed." if open_gates else "."
    return line, "fail" if failed else ("part" if open_gates else "pass")


def agreement(scores: xr.Dataset) -> list[str]:
    """Sentences on what was compared and how far the agreement reaches."""
    rows = scores.to_dataframe()
    judged = rows[rows["verdict"].isin(["pass", "fail"])]
    lines = [
        f"The traces were compared with: {scores.attrs['reference_title']}. A gate is a limit, stated beforehand, on "
        "how far one figure of the load may lie from the reference's."
    ]
    if scores.attrs.get("period"):
        lines.append(f"Compared step by step: {scores.attrs['period']}.")
    lines += _worst(judged)
    unseen = judged[judged["role"] == "held_out"]
    if len(unseen):
        good = int((unseen["verdict"] == "pass").sum())
        lines.append(
            f"Of {len(unseen)} gates on figures that the calibration has not used (held out), {good} pass. "
            "Gates marked fitted show how well the calibration reproduces what it was given, not what it predicts."
        )
    if scores.attrs.get("reference_caution"):
        lines.append(scores.attrs["reference_caution"])
    return lines


def _worst(judged: pd.DataFrame) -> list[str]:
    """The largest relative gap over the levels of each figure a planner sizes by."""
    gaps = []
    for metric in _SIZED_BY:
        rows = judged[(judged["metric"] == metric) & (judged["reference"] > 0) & judged["value"].notna()]
        if len(rows):
            gap = float((rows["value"] / rows["reference"] - 1).abs().max())
            gaps.append(f"{rows['title'].iloc[0]} {100 * gap:.1f} %")
    return [f"Largest gap to the reference at any level: {', '.join(gaps)}."] if gaps else []


def disagreements(scores: xr.Dataset) -> list[str]:
    """One sentence per gate that fails, by how much; the first `_MOST_SENTENCES` of them."""
    rows = scores.to_dataframe()
    sentences = [_disagreement(row) for row in rows[rows["verdict"] == "fail"].to_dict("records")]
    further = len(sentences) - _MOST_SENTENCES
    return sentences[:_MOST_SENTENCES] + ([f"{further} more; see the table of gates."] if further > 0 else [])


def _plain(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _disagreement(row: dict[Hashable, Any]) -> str:
    level = float(row["utilization"])
    where = "" if math.isnan(level) else f" at {level_name(level)}"
    value, target = float(row["value"]), float(row["reference"])
    if math.isnan(value):
        return f"{row['title']}{where}: {row['note']}."
    unit = "" if row["unit"] == "1" else f" {row['unit']}"
    limit = row["limit"] if "%" in row["limit"] else f"{row['limit']}{unit}"
    text = f"{row['title']}{where}: {_plain(value)}{unit}, limit {limit}"
    if math.isnan(target):
        return text + "."
    side = "above" if value > target else "below"
    if target == 0.0:
        return f"{text}; {abs(value):.3g}{unit} {side} the reference of 0."
    why = f" ({row['note']})" if row["note"] else ""
    return (
        f"{text}; {100 * abs(value / target - 1):.1f} % {side} the reference of {_plain(target)}{unit}{why}."
    )


def unassessed(scores: xr.Dataset) -> list[str]:
    """Why gates could not be assessed, each reason once."""
    rows = scores.to_dataframe()
    reasons: pd.Series = rows.loc[rows["verdict"] == "not assessed", "note"].value_counts()
    return [f"{count} gate{'s' if count > 1 else ''}: {why}" for why, count in reasons.items()]


def load_facts(trace: xr.Dataset) -> list[tuple[str, str]]:
    """The load in numbers: peak, mean, load factor, duration, ramps, PUE."""
    load = trace["facility_power"] if "facility_power" in trace else trace["it_power"]
    series = metrics.as_series(load)
    values = series.values
    peak = int(np.nanargmax(values))
    at = _minute(series.times[peak])
    mean = float(metrics.mean(values))
    exceeded = metrics.load_duration_curve(values, [0.01, 0.05, 0.5])
    days = values.size * series.step_s / 86400
    facts = [
        (
            "period",
            f"from {_minute(series.times[0])} UTC, {_span(days * 86400)}, step {_span(series.step_s)}",
        ),
        ("load", "whole facility" if load.name == "facility_power" else "IT only"),
        ("peak", f"{np.nanmax(values):.3f} MW at {at}"),
        ("mean", f"{mean:.3f} MW ({_plain(mean * days * 24)} MWh)"),
        ("load factor", f"{float(metrics.load_factor(values)):.3f}"),
        ("exceeded 1 %, 5 %, 50 % of the time", " / ".join(f"{v:.3f}" for v in exceeded) + " MW"),
    ]
    facts += _ramp_facts(series)
    facts += _grid_facts(series)
    if "facility_power" in trace:
        pue = float(trace["facility_power"].sum() / trace["it_power"].sum())
        facts.append(("PUE, energy-weighted", f"{pue:.3f}"))
    return facts


def _grid_facts(series: metrics.Series) -> list[tuple[str, str]]:
    """What the grid feels of a sub-second trace; nothing for a coarser or a very short one."""
    try:
        found = metrics.grid_summary(series.values, series.step_s)
    except InputError:
        return []
    ramps = [
        f"{float(ramp.max()):.3f} MW in {float(ramp['horizon']):g} s"
        for ramp in abs(found["ramp_mw"]).transpose("horizon", ...)
    ]
    swings = [f"{float(s):.3f} MW in {float(s['window']):g} s" for s in found["swing_mw"]]
    effective = math.sqrt(float(found["band_energy_mw2"]))
    return [
        ("changes exceeded 0.1 % of the time", ", ".join(ramps)),
        ("largest swing", ", ".join(swings)),
        (
            "oscillation, 0.1 to 2.5 Hz",
            f"{effective:.4f} MW RMS, period {float(found['dominant_period_s']):.2f} s",
        ),
        (
            "deepest dip within 10 s",
            f"{100 * float(found['dip_depth'].sel(window=10.0)):.1f} % of the median",
        ),
    ]


def _span(seconds: float) -> str:
    for size, unit in ((86400.0, "days"), (3600.0, "h"), (60.0, "min")):
        if seconds >= size:
            return f"{seconds / size:g} {unit}"
    return f"{seconds:g} s"


def _minute(time: np.datetime64) -> str:
    return str(time.astype("datetime64[m]")).replace("T", " ")


def _ramp_facts(series: metrics.Series) -> list[tuple[str, str]]:
    facts = []
    for span_s in _RAMP_SPANS_S:
        try:
            change = metrics.ramps(series.values, series.step_s, span_s)
        except InputError:
            continue  # a horizon below the step or beyond the trace has no ramps to report
        up, down = np.nanmax(change), np.nanmin(change)
        facts.append((f"largest change over {_span(span_s)}", f"{up:+.3f} / {down:+.3f} MW"))
    return facts

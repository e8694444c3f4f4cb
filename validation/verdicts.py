"""Rows of the battery's table: a score beside its target, its band and the verdict of its gate."""

import math
from typing import NamedTuple

import numpy as np
import xarray as xr
from scipy import stats

from .catalogue import SCORES
from .gates import Gate, Gates
from .references import Reference
from .series import Floats

CONFIDENCE = 0.95
"""Confidence of the bands around a score."""

PASS, FAIL, NOT_ASSESSED, REPORTED = "pass", "fail", "not assessed", "reported"


class Row(NamedTuple):
    """One score at one level; NaN where there is nothing, and then `note` says why."""

    metric: str
    utilization: float
    unit: str
    title: str
    reference: float
    value: float
    low: float
    high: float
    members: int
    limit: str
    role: str
    paper: str
    verdict: str
    note: str


def judged(
    metric: str,
    level: float,
    values: Floats,
    target: float,
    gate: Gate | None,
    band: tuple[float, float],
    mean_mw: float,
) -> Row:
    """The row of a score that was computed: the mean over members against the gate."""
    value, note = float(values.mean()), ""
    if gate is None:
        verdict = REPORTED
    elif gate.compares and math.isnan(target):
        verdict, note = NOT_ASSESSED, f"the reference gives no {metric} at utilization {level:g}"
    else:
        verdict = PASS if gate.holds(value, target, mean_mw) else FAIL
    return _row(
        metric, level, target, gate, value=value, band=band, members=values.size, verdict=verdict, note=note
    )


def unassessed(
    metric: str, level: float, target: float, gate: Gate | None, why: str, *, failed: bool = False
) -> Row:
    """The row of a score that could not be computed; `failed` when that is the trace's fault."""
    verdict = FAIL if failed and gate is not None else NOT_ASSESSED
    return _row(metric, level, target, gate, verdict=verdict, note=why)


def _row(
    metric: str,
    level: float,
    target: float,
    gate: Gate | None,
    *,
    verdict: str,
    value: float = math.nan,
    band: tuple[float, float] = (math.nan, math.nan),
    members: int = 0,
    note: str = "",
) -> Row:
    info = SCORES[metric]
    return Row(
        metric=metric,
        utilization=level,
        unit=info.unit,
        title=info.title,
        reference=target,
        value=value,
        low=max(band[0], info.least) if band[0] == band[0] else band[0],
        high=min(band[1], info.most) if band[1] == band[1] else band[1],
        members=members,
        limit=gate.words if gate else "",
        role=gate.role(level) if gate else "",
        paper=gate.paper_figure(level) if gate else "",
        verdict=verdict,
        note=note,
    )


def seed_band(values: Floats) -> tuple[float, float]:
    """Confidence band of the mean over independent members, by Student's t."""
    half = float(
        stats.t.ppf(0.5 + CONFIDENCE / 2, values.size - 1) * values.std(ddof=1) / math.sqrt(values.size)
    )
    return float(values.mean()) - half, float(values.mean()) + half


def as_dataset(rows: list[Row], reference: Reference, gates: Gates) -> xr.Dataset:
    """The table as a Dataset with dimension `row`, the verdict of the whole in the attributes."""
    columns = {name: ("row", _column([getattr(row, name) for row in rows])) for name in Row._fields}
    verdicts = [row.verdict for row in rows]
    return xr.Dataset(columns).assign_attrs(
        reference=reference.name,
        reference_title=reference.title,
        reference_source=reference.source,
        reference_caution=reference.caution,
        gates=gates.name,
        verdict=_overall(verdicts),
        passed=verdicts.count(PASS),
        failed=verdicts.count(FAIL),
        not_assessed=verdicts.count(NOT_ASSESSED),
        confidence=CONFIDENCE,
    )


def _column(values: list[object]) -> np.ndarray:
    return np.array(values, dtype=object) if isinstance(values[0], str) else np.array(values)


def _overall(verdicts: list[str]) -> str:
    if FAIL in verdicts:
        return FAIL
    if PASS not in verdicts:
        return NOT_ASSESSED
    return "pass, in part" if NOT_ASSESSED in verdicts else PASS

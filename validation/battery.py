"""The battery: many traces against one reference, a verdict per gate.

Traces are reduced to scores one at a time, so an iterable that simulates as it goes needs the memory of one
year. Every score is the mean over the members (seeds) of a level.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import cast

import numpy as np
import xarray as xr

from hsmdc.errors import InputError

from .catalogue import SCORES, of_group
from .gates import Gates, load_gates, shipped_gates
from .levels import r_squared, steepest_rise
from .references import Reference, load_reference
from .scoring import score
from .verdicts import Row, as_dataset, judged, seed_band, unassessed

Traces = xr.Dataset | Iterable[xr.Dataset] | Mapping[float, xr.Dataset | Iterable[xr.Dataset]]

RESAMPLES = 200
"""Bootstrap resamples behind the band of a trace that is alone at its level."""

OCCUPANCY_TOLERANCE = 0.001
"""Traces further than this from the reference's mean share of busy nodes get a note on their mean."""

_ACROSS = {
    "r2_mean": "mean_mw",
    "r2_std": "std_mw",
    "r2_peak_to_average": "peak_to_average",
    "peak_to_average_rise": "peak_to_average",
}


def validate(
    traces: Traces, reference: Reference | str | Path, gates: Gates | str | Path | None = None
) -> xr.Dataset:
    """Score traces against a reference and judge every gate.

    Parameters
    ----------
    traces : Dataset, iterable of Dataset, or mapping {utilization: Dataset or iterable}
        Traces, or what `score` made of them. An iterable is consumed one trace at a time.
    reference : Reference, name or path
    gates : Gates, name or path, optional
        The gates of the shipped reference, or "generic" for a user's own, if not given.

    Returns
    -------
    Dataset, dim `row`
        One row per score and level: `metric`, `utilization` (NaN across levels), `unit`, `reference`, `value`,
        `low` and `high` (95 % band of the mean over members), `members`, `limit`, `role` (fitted or held_out),
        `paper`, `verdict` (pass, fail, not assessed, reported) and `note`. Attributes: `verdict` of the
        whole, counts.

    Raises
    ------
    InputError
        No trace, or one that cannot be scored.
    """
    ref = reference if isinstance(reference, Reference) else load_reference(reference)
    chosen = _choose_gates(gates, ref)
    chosen.check_levels(ref.levels, ref.name)
    scored = _by_level(traces, ref)
    if not scored:
        raise InputError("no trace to validate")
    names = of_group("table", "queue", "series", "week", "trace")
    rows = [_level_row(name, level, scored, ref, chosen) for name in names for level in ref.levels]
    rows += [_across_row(name, rows, ref, chosen) for name in _ACROSS]
    kept = [row for row in rows if row.limit or not math.isnan(row.value)]
    members = [member for group in scored.values() for member in group]
    periods = sorted({str(member.attrs["period"]) for member in members} - {""})
    return as_dataset(kept, ref, chosen).assign_attrs(period="; ".join(periods))


def _choose_gates(gates: Gates | str | Path | None, reference: Reference) -> Gates:
    if isinstance(gates, Gates):
        return gates
    if gates is not None:
        return load_gates(gates)
    return load_gates(reference.name if reference.name in shipped_gates() else "generic")


def _by_level(traces: Traces, reference: Reference) -> dict[float, list[xr.Dataset]]:
    scored: dict[float, list[xr.Dataset]] = {}
    for utilization, trace, alone in _each(traces, reference):
        if _is_scored(trace):
            done = trace
        else:
            resamples = RESAMPLES if alone else 0
            done = score(trace, reference, utilization=utilization, resamples=resamples)
        scored.setdefault(_key(float(done.attrs["utilization"])), []).append(done)
    return scored


def _key(level: float) -> float:
    """NaN is not equal to itself; one object for it makes it a key."""
    return math.nan if math.isnan(level) else level


def _each(traces: Traces, reference: Reference) -> Iterator[tuple[float | None, xr.Dataset, bool]]:
    """Every trace with the utilisation given for it, and whether it is known to be alone at its level."""
    if isinstance(traces, xr.Dataset):
        yield None, traces, True
    elif isinstance(traces, Mapping):
        levels = cast(Mapping[float, xr.Dataset | Iterable[xr.Dataset]], traces)
        for utilization, members in levels.items():
            listed = [members] if isinstance(members, xr.Dataset) else members
            alone = isinstance(listed, Sequence) and len(listed) == 1
            for member in listed:
                yield float(utilization), member, alone
    else:
        known = [_level(trace, reference) for trace in traces] if isinstance(traces, Sequence) else []
        for trace in traces:
            yield None, trace, known.count(_level(trace, reference)) == 1


def _level(trace: xr.Dataset, reference: Reference) -> float:
    return _key(reference.level_of(trace.attrs.get("utilization")))


def _is_scored(trace: xr.Dataset) -> bool:
    return "metric" in trace.dims and "value" in trace


def _level_row(
    name: str, level: float, scored: dict[float, list[xr.Dataset]], reference: Reference, gates: Gates
) -> Row:
    gate = gates.find(name, level)
    target = reference.statistic(name, level)
    members = scored.get(_key(level), [])
    if not members:
        return unassessed(name, level, target, gate, f"no trace at utilization {level:g}")
    picked = [member.sel(metric=name) for member in members]
    target = _shared_target(picked, target)
    broken = next((one for one in picked if str(one["note"].item())), None)
    if broken is not None:
        why = str(broken["note"].item())
        return unassessed(name, level, target, gate, why, failed=bool(broken["failed"].item()))
    values = np.array([float(one["value"].item()) for one in picked])
    band = seed_band(values) if len(members) > 1 else _own_band(picked[0])
    load_mw = _shared_target(
        [member.sel(metric="mean_mw") for member in members], reference.statistic("mean_mw", level)
    )
    row = judged(name, level, values, target, gate, band, load_mw)
    return row._replace(note=row.note or _other_occupancy(name, members, reference, level))


def _shared_target(picked: list[xr.Dataset], whole: float) -> float:
    """The reference's value over the time that it shares with the members, else that of its whole period."""
    targets = np.array([float(one["target"].item()) for one in picked])
    known = targets[~np.isnan(targets)]
    return float(known.mean()) if known.size else whole


def _other_occupancy(name: str, members: list[xr.Dataset], reference: Reference, level: float) -> str:
    """Why the mean is off before anything else is: the traces are not as busy as the reference."""
    wanted = reference.statistic("occupancy", level)
    busy = float(np.mean([member.attrs["occupancy"] for member in members]))
    if name != "mean_mw" or not abs(busy - wanted) > OCCUPANCY_TOLERANCE:
        return ""
    return f"busy share {busy:.4f}, the reference's is {wanted:.4f}: simulate with --utilization {wanted:g}"


def _own_band(one: xr.Dataset) -> tuple[float, float]:
    """The bootstrap band of a single trace, NaN when it was scored without."""
    return (float(one["low"].item()), float(one["high"].item())) if "low" in one else (math.nan, math.nan)


def _across_row(name: str, rows: list[Row], reference: Reference, gates: Gates) -> Row:
    gate = gates.find(name, math.nan)
    source = [row for row in rows if row.metric == _ACROSS[name]]
    absent = [f"{row.utilization:g}" for row in source if math.isnan(row.value)]
    if absent or len(source) < 2:
        why = (
            f"needs the {SCORES[_ACROSS[name]].title} at every level; missing at {', '.join(absent)}"
            if absent
            else "one level only"
        )
        return unassessed(name, math.nan, math.nan, gate, why)
    ours = [row.value for row in source]
    theirs = [row.reference for row in source]
    value = r_squared(theirs, ours) if name.startswith("r2") else steepest_rise(reference.levels, ours)
    return judged(name, math.nan, np.array([value]), math.nan, gate, (math.nan, math.nan), math.nan)

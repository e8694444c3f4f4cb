"""Reduce one trace to its scores, so that a battery of twenty years never holds more than one.

A score that cannot be computed is absent with a note that says why; it is never a bare NaN.
"""

import math
from collections.abc import Callable, Mapping

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from hsmdc.errors import InputError

from . import bootstrap, temporal
from .catalogue import of_group
from .curves import curves
from .marginal import load_duration_distance, mean, percentile, wasserstein
from .pairing import Pair, pair_with, too_short
from .queueing import queue_statistics, random_sum
from .ramps import ramp_distance, ramp_percentiles, ramps
from .references import Reference
from .series import Floats, Series, as_series, averaged
from .spectrum import spectral_density, spectrum_distance
from .statistics import power_statistics

ACF_LAGS_S = 168 * 3600.0
"""Autocorrelations are compared over lags up to one week."""

_DAY_S = 86400.0


class _Collector:
    """Scores by name, the reason for each that is absent, and whether that reason is the trace's fault."""

    def __init__(self) -> None:
        self.values: dict[str, float] = {}
        self.targets: dict[str, float] = {}
        self.notes: dict[str, str] = {}
        self.failed: set[str] = set()
        self.bands: bootstrap.Bands = {}

    def add(self, name: str, compute: Callable[[], float]) -> None:
        """Compute a score; what it cannot be computed from becomes its note."""
        if name in self.failed:
            return
        try:
            self.values[name] = float(compute())
        except InputError as error:
            self.notes[name] = str(error)

    def update(self, values: Mapping[str, float]) -> None:
        self.values.update(values)

    def absent(self, names: list[str], why: str) -> None:
        """Scores that cannot be assessed."""
        self.notes.update(dict.fromkeys(names, why))

    def drop(self, names: list[str], why: str) -> None:
        """Take back scores that do not stand for what the reference gives."""
        for name in names:
            self.values.pop(name, None)
            self.bands.pop(name, None)
        self.failed.difference_update(names)
        self.absent(names, why)

    def fail(self, names: list[str], why: str) -> None:
        """Scores that are absent by the trace's own fault."""
        self.absent(names, why)
        self.failed.update(names)

    def table(self, names: list[str], *, with_bands: bool) -> xr.Dataset:
        """Value, note, fault and target of each score over `metric`; with its band also `low` and `high`."""
        nan = math.nan
        columns: dict[str, ArrayLike] = {
            "value": [self.values.get(name, nan) for name in names],
            "note": [self.notes.get(name, "") for name in names],
            "failed": [name in self.failed for name in names],
            "target": [self.targets.get(name, nan) for name in names],
        }
        if with_bands:
            offsets = np.array([self.bands.get(name, (nan, nan)) for name in names])
            columns["low"], columns["high"] = (np.asarray(columns["value"])[:, None] + offsets).T
        return xr.Dataset({key: ("metric", column) for key, column in columns.items()}, {"metric": names})


def score(
    trace: xr.Dataset,
    reference: Reference,
    *,
    utilization: float | None = None,
    seed: int | None = None,
    resamples: int = 0,
) -> xr.Dataset:
    """Score one trace against a reference.

    Parameters
    ----------
    trace : Dataset
        `it_power` [MW] against `time`; with a job table (`job_arrival`, `job_start`, `job_end`, `job_nodes`) also the
        queue and the variance of busy nodes are scored.
    reference : Reference
    utilization, seed : optional
        In place of the attributes of the trace.
    resamples : int
        Block-bootstrap resamples for a band around each score of this one trace; 0 for none.

    Returns
    -------
    Dataset
        `value`, `note` and `failed` by `metric` (value NaN exactly where there is a note; failed where the
        trace is at fault), `target` (the reference's value over the time both have; NaN: that of its table), `low`
        and `high` with `resamples`, and the curves that figures draw; attributes `utilization` (level of the
        reference), `seed`, `reference`, `period` (what was compared, in words) and `occupancy`, if the trace has it.

    Raises
    ------
    InputError
        No `it_power`, a trace that is empty or irregular in time, or that fits no level of the reference.
    """
    if "it_power" not in trace or trace["it_power"].dims != ("time",):
        raise InputError("a trace needs the variable 'it_power' [MW] with the one dimension 'time'")
    given = trace.attrs.get("utilization") if utilization is None else utilization
    level = reference.level_of(None if given is None else float(given))
    power = as_series(trace["it_power"])
    if np.isnan(power.values).all():
        raise InputError("the trace has no sample: every value of it_power is missing")
    found = _Collector()
    pair, unpaired = _pair_or_reason(power, reference, level)
    _score_table(found, power, reference, pair, resamples)
    _score_ramps(found, power)
    _score_jobs(found, trace, power, resamples)
    if why := too_short(power, reference):
        found.drop(of_group("queue"), why)
    if pair is None:
        found.absent(of_group("series"), unpaired)
    else:
        _score_series(found, pair, resamples)
    drawn = curves(_compared(power, reference, pair), _bin_edges(reference))
    _score_week(found, drawn, reference, level)
    scores = found.table(of_group("table", "queue", "series", "week", "trace"), with_bands=resamples > 0)
    actual_seed = trace.attrs.get("seed", "") if seed is None else seed
    return drawn.assign(scores.data_vars).assign_attrs(
        utilization=level,
        seed=str(actual_seed),
        reference=reference.name,
        step_s=power.step_s,
        period="" if pair is None else pair.words,
        occupancy=float(trace.attrs.get("occupancy", math.nan)),
    )


def _pair_or_reason(power: Series, reference: Reference, level: float) -> tuple[Pair | None, str]:
    try:
        return pair_with(power, reference, level), ""
    except InputError as error:
        return None, str(error)


def _compared(power: Series, reference: Reference, pair: Pair | None) -> Series:
    """The part of the trace that figures show: what the table was scored over."""
    if pair is None or not pair.shared or pair.theirs.step_s != reference.statistics_step_s:
        return power
    steps = round(pair.ours.values.size * pair.ours.step_s / power.step_s)
    first = int(np.searchsorted(power.times, pair.ours.start))
    return Series(power.values[first : first + steps], pair.ours.start, power.step_s)


def _score_table(
    found: _Collector, power: Series, reference: Reference, pair: Pair | None, resamples: int
) -> None:
    """Score the statistics of the table, over the time both have where the table is that of the series."""
    names = of_group("table")
    try:
        stepped = _table_series(found, power, reference, pair)
    except InputError as error:
        found.absent(names, str(error))
        return
    if float(mean(stepped.values)) <= 0.0:
        found.fail(names, "the trace has no load")
        return
    found.update(power_statistics(stepped.values))
    if resamples:
        found.bands |= bootstrap.table_bands(stepped, resamples)


def _table_series(found: _Collector, power: Series, reference: Reference, pair: Pair | None) -> Series:
    """The trace at the step of the reference's table, cut to what the table can be taken over again."""
    step_s = reference.statistics_step_s
    if pair is not None and pair.shared and pair.theirs.step_s == step_s:
        found.targets |= power_statistics(pair.theirs.values)
        return pair.ours
    if why := too_short(power, reference):
        raise InputError(why)
    if power.step_s > step_s:
        raise InputError(
            f"the trace's step of {power.step_s:g} s is coarser than the reference's {step_s:g} s"
        )
    return averaged(power, step_s)


def _score_ramps(found: _Collector, power: Series) -> None:
    change = ramps(power.values, power.step_s, power.step_s)
    found.add("ramp_up_p999_mw", lambda: float(percentile(change, 99.9)))
    found.add("ramp_down_p001_mw", lambda: float(percentile(change, 0.1)))


def _score_jobs(found: _Collector, trace: xr.Dataset, power: Series, resamples: int) -> None:
    variances = [name for name in of_group("trace") if name.startswith("variance_")]
    missing = [n for n in ("job_arrival", "job_start", "job_end", "job_nodes") if n not in trace]
    if missing:
        found.absent(of_group("queue") + variances, f"the trace has no job table (no {missing[0]})")
        return
    steps = power.values.shape[-1]
    days = steps * power.step_s / _DAY_S
    arrival, start = trace["job_arrival"].values, trace["job_start"].values
    try:
        queue = queue_statistics(arrival, start, days)
        parts = random_sum(start, trace["job_end"].values, trace["job_nodes"].values, steps, power.step_s)
    except InputError as error:
        found.absent(of_group("queue") + variances, str(error))
        return
    found.update({"jobs_queued": queue.jobs_queued, "jobs_per_day": queue.jobs_per_day})
    found.update({"jobs_unstarted": queue.jobs_unstarted})
    if queue.mean_wait_h is None:
        found.fail(["mean_wait_h"], "no job of the trace waited and started")
    else:
        found.update({"mean_wait_h": queue.mean_wait_h})
    terms = (parts.size_term, parts.concurrency_term, parts.remainder)
    found.update(dict(zip(variances, terms, strict=True)))
    if resamples:
        found.bands |= bootstrap.queue_bands(arrival, start, days, resamples)


def _bin_edges(reference: Reference) -> Floats:
    """Bins for the marginal of every level: from 0 to a little above the reference's highest peak."""
    top = float(reference.statistics["max_mw"].max())
    return np.linspace(0.0, 1.05 * top, 121)


def _score_series(found: _Collector, pair: Pair, resamples: int) -> None:
    """Score the distances to the reference's series, at its step."""
    ours, theirs = pair.ours, pair.theirs
    _score_pair(found, ours, theirs)
    if not pair.shared:
        found.absent(["correlation"], pair.words)
        return
    found.add("correlation", lambda: float(temporal.correlation(ours.values, theirs.values)))
    if resamples and not (found.failed or "correlation" in found.notes):
        lags = round(ACF_LAGS_S / theirs.step_s)
        found.bands |= bootstrap.pair_bands(ours, theirs, lags, resamples)


def _score_week(found: _Collector, drawn: xr.Dataset, reference: Reference, level: float) -> None:
    week = reference.week_percentiles
    if week is None or week.attrs["utilization"] != level:
        found.absent(
            of_group("week"), f"the reference has no percentiles by time of week at utilization {level:g}"
        )
    elif "week" not in drawn:
        found.absent(
            of_group("week"), "the trace has not every time of a week in steps that divide ten minutes"
        )
    else:
        ours, theirs = (part.sel(percentile=50.0) for part in (drawn["week"], week["power"]))
        both = ours.interp(minute_of_week=theirs["minute_of_week"])
        found.add("week_median_rms_mw", lambda: float(temporal.rms_distance(both.values, theirs.values)))


def _score_pair(found: _Collector, ours: Series, theirs: Series) -> None:
    x, y, step_s = ours.values, theirs.values, theirs.step_s
    if np.nanmax(x) == np.nanmin(x):
        found.fail(["acf_rms", "acf_l2", "correlation", "spectrum_db"], "the trace is constant")
    found.add("w1_mw", lambda: float(wasserstein(x, y)))
    found.add("load_duration_gap_mw", lambda: float(load_duration_distance(x, y)))
    found.add("acf_rms", lambda: float(temporal.rms_distance(*_acf_pair(x, y, step_s))))
    found.add("acf_l2", lambda: float(temporal.l2_distance(*_acf_pair(x, y, step_s))))
    found.add("ramp_w1_mw", lambda: float(ramp_distance(x, y, step_s, step_s)))
    found.add("ramp_p999_mw", lambda: _ramp_tail(x, step_s) - _ramp_tail(y, step_s))
    found.add("diurnal_rms_mw", lambda: _profile_gap(temporal.diurnal_profile, ours, theirs))
    found.add("weekly_rms_mw", lambda: _profile_gap(temporal.weekly_profile, ours, theirs))
    found.add("spectrum_db", lambda: _spectrum_gap(x, y, step_s))


def _acf_pair(x: Floats, y: Floats, step_s: float) -> tuple[Floats, Floats]:
    """Autocorrelations over lags 1…168 h; lag 0 is 1 on both sides and would only dilute the distance."""
    lags = round(ACF_LAGS_S / step_s)
    return temporal.autocorrelation(x, lags)[1:], temporal.autocorrelation(y, lags)[1:]


def _profile_gap(profile: Callable[[Series], Floats], ours: Series, theirs: Series) -> float:
    return float(temporal.rms_distance(profile(ours), profile(theirs)))


def _ramp_tail(x: Floats, step_s: float) -> float:
    return float(ramp_percentiles(x, step_s, step_s, 99.9))


def _spectrum_gap(x: Floats, y: Floats, step_s: float) -> float:
    segment_s = min(x.shape[-1], y.shape[-1]) // 8 * step_s
    return float(
        spectrum_distance(spectral_density(x, step_s, segment_s), spectral_density(y, step_s, segment_s))
    )

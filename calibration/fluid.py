"""Least-squares fit of the arrival profile and the job duration through the fluid limit of the facility.

The unknowns are the logarithms of the hour-of-week and week-of-year factors (both interpolated linearly) and of the
duration's median and sigma. The facility's busy nodes respond to them through the queue, so saturated hours inform
the fit only by when the queue empties, exactly as they should.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import least_squares
from scipy.special import ndtr

from hsmdc.kernels.fluid import fluid_fifo

Floats = npt.NDArray[np.float64]

STEP_MIN = 10
_STEP_H = STEP_MIN / 60
_STEPS_PER_HOUR = 60 // STEP_MIN
_STEPS_PER_WEEK = 7 * 24 * _STEPS_PER_HOUR
_HOURS = 168
_WEEKS = 53
_SURVIVAL_STEPS = (
    96  # 16 h: the longest job the fit resolves; the tail beyond is below 1e-4 for any fit of an hour
)
_MONDAY = np.datetime64("1970-01-05T00:00", "m")

# Weights, as standard deviations. A busy-node count of mean N made of jobs of a few nodes has variance of about
# `_DISPERSION`·N; the constants floor it where few nodes are busy and cover the reading error of a digitised curve.
_DISPERSION = 3.5
_HOURLY_FLOOR = 10.0
_MEDIAN_FLOOR = 8.0
_MEDIAN_OF_WEEKS = 1.57  # variance of a median over that of a mean, for normal scatter
_YEAR_QUANTILE_SD = 4.0
YEAR_QUANTILES = np.array([50, 60, 70, 75, 80, 85, 88, 90, 92, 93, 94, 95, 96, 97, 98, 99, 99.5])

# A smooth profile says little of how long jobs last; the scatter does, by how fast it forgets. The reference's own
# scatter is less than Poisson, so its memory is only a hint, and a weak prior catches what no data decides.
_MEMORY_SD = 0.015
_PRIOR_MEDIAN_H, _PRIOR_MEDIAN_SD = 1.5, 0.2
_PRIOR_SIGMA, _PRIOR_SIGMA_SD = 0.6, 0.1

# Smoothness, as weights of second differences of the logarithms.
_HOUR_SMOOTHNESS = 1.0
_WEEK_SMOOTHNESS = 5.0
# A week of the year that the series does not reach is taken to be like the others: smoothness alone would carry the
# trend of the last weeks on through the year (eight weeks that fell by a tenth gave a factor of 0.5 in December).
_UNSEEN_WEEK = 20.0
_LEAST_OF_WEEK_H = 12


class WeekCurves(NamedTuple):
    """Percentiles over the weeks of a year at another, unsaturated level."""

    load_ratio: float  # jobs per day at this level / at the level of the hourly series
    median: Floats  # busy nodes by 10 minutes from Monday 00:00, (1008,)
    year_quantiles: Floats  # busy nodes at YEAR_QUANTILES over all weeks and minutes


class FluidFit(NamedTuple):
    """The profile and duration found."""

    hour_of_week: Floats
    week_of_year: Floats
    median_h: float
    sigma: float
    busy: Floats  # fluid busy nodes by hour of the fitted series
    cost: float


class FluidModel:
    """Busy nodes by ten minutes as a function of the unknowns."""

    def __init__(self, start: np.datetime64, hours: int, capacity: float) -> None:
        steps = start + (np.arange(hours * _STEPS_PER_HOUR) * STEP_MIN + STEP_MIN // 2).astype(
            "timedelta64[m]"
        )
        self.start, self.capacity = start, capacity
        self.hour_of_week = (steps - _MONDAY).astype(np.float64) / 60 % _HOURS
        new_year = steps.astype("datetime64[Y]")
        self.hour_of_year = (steps - new_year.astype("datetime64[m]")).astype(np.float64) / 60
        following = (new_year[0] + 1).astype("datetime64[h]")
        self.year_h = float((following - new_year[0].astype("datetime64[h]")).astype(np.int64))
        edges = np.append(np.arange(_WEEKS) * float(_HOURS), self.year_h)
        self.week_centres = 0.5 * (edges[1:] + edges[:-1])
        self.scatter = np.random.default_rng(0).standard_normal(steps.size)

    def busy(self, unknowns: Floats) -> tuple[Floats, Floats]:
        """Queued busy nodes, and the inflow per step that made them."""
        inflow = self._offered(unknowns) * (_STEP_H / self._mean_h(unknowns))
        return self.through_queue(inflow, unknowns, self.capacity), inflow

    def through_queue(self, inflow: Floats, unknowns: Floats, capacity: float) -> Floats:
        """Busy nodes by step for an inflow [nodes per step] into a FIFO queue before `capacity` nodes."""
        busy = np.empty(inflow.size)
        fluid_fifo(inflow, self._survival(unknowns), capacity, busy)
        return busy

    def _offered(self, unknowns: Floats) -> Floats:
        centres = np.arange(_HOURS) + 0.5
        week = np.interp(self.hour_of_week, centres, np.exp(unknowns[:_HOURS]), period=_HOURS)
        year = np.interp(
            self.hour_of_year, self.week_centres, np.exp(unknowns[_HOURS:-2]), period=self.year_h
        )
        return np.asarray(week * year)

    def _survival(self, unknowns: Floats) -> Floats:
        age_h = np.arange(_SURVIVAL_STEPS) * _STEP_H
        with np.errstate(divide="ignore"):
            return np.asarray(1.0 - ndtr((np.log(age_h) - unknowns[-2]) / np.exp(unknowns[-1])))

    def _mean_h(self, unknowns: Floats) -> float:
        return float(self._survival(unknowns).sum() * _STEP_H)

    def weeks_of_year(self, known: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Which weeks of the year half a day or more is known of, (53,)."""
        hours = self.hour_of_year[::_STEPS_PER_HOUR][known]
        week = np.minimum((hours / _HOURS).astype(np.int64), _WEEKS - 1)
        return np.bincount(week, minlength=_WEEKS) >= _LEAST_OF_WEEK_H

    def whole_weeks(self, series: Floats) -> Floats:
        """The series as (weeks, steps of the week), Monday first, cut to whole weeks."""
        first = int(np.argmin(self.hour_of_week[:_STEPS_PER_WEEK]))
        weeks = (series.size - first) // _STEPS_PER_WEEK
        return series[first : first + weeks * _STEPS_PER_WEEK].reshape(weeks, _STEPS_PER_WEEK)


def fit_fluid(
    start: np.datetime64, hourly_busy: Floats, capacity: float, week: WeekCurves | None, max_runs: int = 30
) -> FluidFit:
    """Fit profile and duration to a year of hourly busy nodes and, if given, weekly curves at a lower level.

    Parameters
    ----------
    start : first hour, in the local time of the profile
    hourly_busy : float64 (hours,), at least eight weeks; NaN where unknown
    capacity : nodes
    """
    model = FluidModel(start, hourly_busy.size, capacity)
    known = np.isfinite(hourly_busy)
    seen = model.weeks_of_year(known)

    def misfit(unknowns: Floats) -> Floats:
        busy, inflow = model.busy(unknowns)
        hourly = busy.reshape(-1, _STEPS_PER_HOUR).mean(axis=1)
        weight = np.sqrt(_DISPERSION * np.maximum(hourly, 30.0) + _HOURLY_FLOOR**2)
        scatter = (hourly - hourly_busy) / weight
        clear = known & clear_hours(hourly, capacity)
        parts = [scatter[known], _roughness(unknowns, seen), _duration_hints(unknowns, scatter, clear)]
        if week is not None:
            parts.append(_week_misfit(model, inflow * week.load_ratio, unknowns, week))
        return np.concatenate(parts)

    solution = least_squares(
        misfit,
        _first_guess(model, hourly_busy, week),
        x_scale="jac",
        loss="soft_l1",
        f_scale=2.0,
        ftol=1e-4,
        max_nfev=max_runs,
    )
    busy, _ = model.busy(solution.x)
    return FluidFit(
        np.exp(solution.x[:_HOURS]),
        np.exp(solution.x[_HOURS:-2]),
        float(np.exp(solution.x[-2])),
        float(np.exp(solution.x[-1])),
        busy.reshape(-1, _STEPS_PER_HOUR).mean(axis=1),
        float(solution.cost),
    )


def _week_misfit(model: FluidModel, inflow: Floats, unknowns: Floats, week: WeekCurves) -> Floats:
    busy = model.through_queue(inflow, unknowns, model.capacity)
    weeks = model.whole_weeks(busy)
    median = np.median(weeks, axis=0)
    spread = _MEDIAN_OF_WEEKS * _DISPERSION * np.maximum(median, 20.0) / weeks.shape[0]
    scattered = busy + np.sqrt(_DISPERSION * busy) * model.scatter
    quantiles = np.percentile(scattered, YEAR_QUANTILES)
    return np.concatenate(
        [
            (median - week.median) / np.sqrt(spread + _MEDIAN_FLOOR**2),
            (quantiles - week.year_quantiles) / _YEAR_QUANTILE_SD,
        ]
    )


def clear_hours(busy: Floats, capacity: float) -> npt.NDArray[np.bool_]:
    """Hours whose scatter about the fluid curve is that of the jobs: neither near empty nor near full."""
    return (busy > 50.0) & (busy < 0.85 * capacity)


def _duration_hints(unknowns: Floats, scatter: Floats, clear: npt.NDArray[np.bool_]) -> Floats:
    both = clear[1:] & clear[:-1]
    memory = (
        float((scatter[1:] * scatter[:-1])[both].mean() / (scatter[clear] ** 2).mean()) if both.any() else 0.0
    )
    return np.array(
        [
            (memory - hourly_memory(float(np.exp(unknowns[-2])), float(np.exp(unknowns[-1])))) / _MEMORY_SD,
            (unknowns[-2] - np.log(_PRIOR_MEDIAN_H)) / _PRIOR_MEDIAN_SD,
            (unknowns[-1] - np.log(_PRIOR_SIGMA)) / _PRIOR_SIGMA_SD,
        ]
    )


def hour_covariance(median_h: float, sigma: float, lag_h: int) -> float:
    """Covariance of hourly means of busy nodes `lag_h` apart, over their variance at an instant, for Poisson starts:
    the share ρ of node-time beyond an age, averaged over two hours."""
    age_h = np.arange(0.0, 48.0, 1 / 60)
    with np.errstate(divide="ignore"):
        survival = 1.0 - ndtr(np.log(age_h / median_h) / sigma)
    beyond = survival[::-1].cumsum()[::-1] / survival.sum()
    minutes = np.arange(-59, 60)
    return float((60 - np.abs(minutes)) @ beyond[np.abs(60 * lag_h + minutes)] / 3600)


def hourly_memory(median_h: float, sigma: float) -> float:
    """Correlation of successive hourly means of busy nodes, for Poisson starts."""
    return hour_covariance(median_h, sigma, 1) / hour_covariance(median_h, sigma, 0)


def _roughness(unknowns: Floats, seen: npt.NDArray[np.bool_]) -> Floats:
    """Penalties: bent profiles, a week-of-year factor whose mean is not one, a last (part) week unlike its eve, a
    week without data unlike the mean of the others."""
    hours, weeks = unknowns[:_HOURS], unknowns[_HOURS:-2]
    around = np.append(hours, hours[:2])
    return np.concatenate(
        [
            _HOUR_SMOOTHNESS * np.diff(around, 2),
            _WEEK_SMOOTHNESS * np.diff(weeks[:-1], 2),
            [100.0 * weeks.mean(), 20.0 * (weeks[-1] - weeks[-2])],
            _UNSEEN_WEEK * (weeks[~seen] - weeks[seen].mean()),
        ]
    )


def _first_guess(model: FluidModel, hourly_busy: Floats, week: WeekCurves | None) -> Floats:
    """Busy nodes themselves, an hour early: what is held follows what arrives."""
    if week is not None:
        profile = week.median / week.load_ratio
        hours = profile.reshape(_HOURS, _STEPS_PER_HOUR).mean(axis=1)
    else:
        slot = model.hour_of_week[::_STEPS_PER_HOUR].astype(int)
        hours = np.array([np.nanmedian(hourly_busy[slot == hour]) for hour in range(_HOURS)])
    guess = np.log(np.maximum(np.roll(hours, -1), 10.0))
    return np.concatenate([guess, np.zeros(_WEEKS), [np.log(1.2), np.log(0.7)]])

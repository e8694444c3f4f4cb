"""The shape of the arrival rate over the year: the product of unit-mean periodic factors (paper eq. 2, extended).

Everything is evaluated at whole minutes of local time, `utc_offset_h` from UTC all year, so a change of clocks
neither repeats nor drops a minute. A leap year has its 29 February.
"""

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from hsmdc.config.sections import Arrivals

MINUTES_PER_DAY = 1440
MINUTES_PER_WEEK = 7 * MINUTES_PER_DAY
_MONDAY = np.datetime64("1970-01-05T00:00", "m")

Floats = npt.NDArray[np.float64]


def rate_shape(arrivals: Arrivals, utc_offset_h: float, start: np.datetime64, n_minutes: int) -> Floats:
    """λ(t)/λ0 for every minute.

    Parameters
    ----------
    start : first minute, UTC
    n_minutes : how many

    Returns
    -------
    float64 (n_minutes,), dimensionless. Each factor has mean one over its own period (day, week, calendar year).
    """
    local = start.astype("datetime64[m]") + np.timedelta64(round(utc_offset_h * 60), "m")
    shape = _periodic(week_curve(arrivals), int((local - _MONDAY).astype(int)), n_minutes)
    done = 0
    while done < n_minutes:
        here = local + np.timedelta64(done, "m")
        year = int(here.astype("datetime64[Y]").astype(int)) + 1970
        offset = int((here - _new_year(year)).astype(int))
        curve = year_curve(arrivals, year)
        take = min(curve.size - offset, n_minutes - done)
        shape[done : done + take] *= curve[offset : offset + take]
        done += take
    return shape


@lru_cache(maxsize=8)
def week_curve(arrivals: Arrivals) -> Floats:
    """Product of the factors that repeat within a week, by minute from Monday 00:00, (10080,)."""
    curve = np.ones(MINUTES_PER_WEEK)
    for values, repeats in (
        (arrivals.hour_of_day, 7),
        (arrivals.day_of_week, 1),
        (arrivals.hour_of_week, 1),
    ):
        if values is not None:
            edges = np.linspace(0, MINUTES_PER_WEEK // repeats, len(values) + 1)
            curve *= np.tile(factor_curve(values, edges, arrivals.interpolation), repeats)
    return _frozen(curve)


@lru_cache(maxsize=8)
def year_curve(arrivals: Arrivals, year: int) -> Floats:
    """Product of the factors that run over a calendar year, by minute from 1 January."""
    minutes = int((_new_year(year + 1) - _new_year(year)).astype(int))
    curve = np.ones(minutes)
    if arrivals.month is not None:
        curve *= factor_curve(arrivals.month, _month_edges(year), arrivals.interpolation)
    if arrivals.week_of_year is not None:
        edges = np.append(np.arange(53) * float(MINUTES_PER_WEEK), float(minutes))
        curve *= factor_curve(arrivals.week_of_year, edges, arrivals.interpolation)
    if arrivals.annual_amplitude:
        phase = (
            2 * np.pi * (np.arange(minutes) / minutes - arrivals.annual_peak_day * MINUTES_PER_DAY / minutes)
        )
        season = 1 + arrivals.annual_amplitude * np.cos(phase)
        curve *= season / season.mean()
    return _frozen(curve)


def factor_curve(values: tuple[float, ...], edges: Floats, interpolation: str) -> Floats:
    """One factor by minute over its period, scaled to unit mean.

    Parameters
    ----------
    values : one per cell
    edges : float64 (n + 1,), cell edges in minutes from 0 to the period
    interpolation : "step", or "linear" between cell centres, around the end of the period
    """
    centres = 0.5 * (edges[:-1] + edges[1:])
    minutes = np.arange(round(edges[-1])) + 0.5
    if interpolation == "linear":
        curve = np.interp(minutes, centres, values, period=edges[-1])
    else:
        curve = np.asarray(values)[np.searchsorted(edges, minutes, side="right") - 1]
    return np.asarray(curve / curve.mean())


def _periodic(curve: Floats, offset: int, n: int) -> Floats:
    return np.resize(np.roll(curve, -(offset % curve.size)), n)


def _new_year(year: int) -> np.datetime64:
    return np.datetime64(f"{year:04d}-01-01T00:00", "m")


def _month_edges(year: int) -> Floats:
    starts = np.arange(f"{year:04d}-01", f"{year + 1:04d}-02", dtype="datetime64[M]").astype("datetime64[m]")
    edges: Floats = (starts - starts[0]).astype(np.float64)
    return edges


def _frozen(curve: Floats) -> Floats:
    curve.flags.writeable = False
    return curve

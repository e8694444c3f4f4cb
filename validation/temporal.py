"""How power follows itself in time: autocorrelation, daily and weekly profile.

Time is the last axis; leading axes are members. Missing samples (NaN) are left out: a lagged product counts
only when both of its samples are there.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import fft

from hsmdc.errors import InputError

from .series import Floats, Series, averaged

_WEEK_S = 604800.0
_MONDAY = np.datetime64("1970-01-05", "ns")


def autocorrelation(values: ArrayLike, lags: int) -> Floats:
    """Autocorrelation at lags 0…`lags` samples, by FFT.

    The usual estimator that divides by n (Box and Jenkins), so it is positive definite without gaps. With
    gaps the lagged mean is over the pairs that are there, weighted by the same (n − k)/n.

    Parameters
    ----------
    values : array, shape (..., n)
    lags : int
        Largest lag, below n.

    Returns
    -------
    ndarray, shape (..., lags + 1)

    Raises
    ------
    InputError
        The series is constant, shorter than the lags, or has a lag without any pair.
    """
    x = np.asarray(values, dtype=np.float64)
    n = x.shape[-1]
    if not 0 <= lags < n:
        raise InputError(f"autocorrelation to lag {lags} needs more than {lags} samples; there are {n}")
    there = ~np.isnan(x)
    deviations = _deviations(x, there)
    products = _lagged_sums(deviations, lags)
    if not there.all():
        pairs = np.rint(_lagged_sums(there.astype(np.float64), lags))
        if (pairs == 0).any():
            raise InputError(
                "gaps leave an autocorrelation lag without any pair of samples; ask for fewer lags"
            )
        products *= (n - np.arange(lags + 1)) / pairs
    variance = products[..., :1]
    return np.asarray(products / variance)


def _deviations(x: Floats, there: NDArray[np.bool_]) -> Floats:
    if not there.any(axis=-1).all():
        raise InputError("the series has no sample: every value is missing")
    centred = np.where(there, x - np.nanmean(x, axis=-1, keepdims=True), 0.0)
    spread = np.abs(centred).max(axis=-1)
    level = np.nanmax(np.abs(x), axis=-1)
    if (spread <= 1e-12 * level).any():
        raise InputError("the autocorrelation of a constant series is not defined")
    return centred


def _lagged_sums(x: Floats, lags: int) -> Floats:
    size = fft.next_fast_len(x.shape[-1] + lags, real=True)
    power = np.abs(fft.rfft(x, size, axis=-1)) ** 2
    return np.asarray(fft.irfft(power, size, axis=-1)[..., : lags + 1])


def rms_distance(first: ArrayLike, second: ArrayLike) -> Floats:
    """Root-mean-square difference of two curves on the same points (last axis)."""
    gap = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    return np.asarray(np.sqrt(np.mean(gap**2, axis=-1)))


def l2_distance(first: ArrayLike, second: ArrayLike) -> Floats:
    """Euclidean distance of two curves on the same points (last axis)."""
    gap = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    return np.asarray(np.sqrt(np.sum(gap**2, axis=-1)))


def correlation(first: ArrayLike, second: ArrayLike) -> Floats:
    """Pearson correlation, sample by sample, over the samples both series have.

    Raises
    ------
    InputError
        One of the two is constant, or they share fewer than two samples.
    """
    a, b = np.broadcast_arrays(np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64))
    both = ~(np.isnan(a) | np.isnan(b))
    count = both.sum(axis=-1, keepdims=True)
    if (count < 2).any():
        raise InputError("a correlation needs at least two samples that both series have")
    x = np.where(both, a, 0.0)
    y = np.where(both, b, 0.0)
    x = np.where(both, x - x.sum(axis=-1, keepdims=True) / count, 0.0)
    y = np.where(both, y - y.sum(axis=-1, keepdims=True) / count, 0.0)
    scale = np.sqrt((x**2).sum(axis=-1) * (y**2).sum(axis=-1))
    level = np.maximum(np.nanmax(np.abs(a), axis=-1) * np.nanmax(np.abs(b), axis=-1), np.finfo(float).tiny)
    if (scale <= 1e-12 * level * count[..., 0]).any():
        raise InputError("the correlation with a constant series is not defined")
    return np.asarray((x * y).sum(axis=-1) / scale)


def profile(series: Series, period_s: float, bin_s: float = 3600.0) -> Floats:
    """Mean power by phase of a period that starts on a Monday 00:00 UTC, shape (..., bins).

    Parameters
    ----------
    series : Series
    period_s : float
        86400 for the diurnal profile, 604800 for the weekly one [s].
    bin_s : float
        Width of a bin [s].

    Raises
    ------
    InputError
        A bin has no sample: the series is too short or too coarse for this profile.
    """
    bins = round(period_s / bin_s)
    phase_s = (series.times - _MONDAY).astype(np.int64) / 1e9 % period_s
    which = np.minimum((phase_s / bin_s).astype(np.int64), bins - 1)
    rows = series.values.reshape(-1, series.values.shape[-1])
    means = [_binned_mean(row, which, bins) for row in rows]
    return np.reshape(means, (*series.values.shape[:-1], bins))


def weekly_percentiles(series: Series, q: ArrayLike, bin_s: float) -> Floats:
    """Percentiles over the weeks of one series, by time of week (0 = Monday 00:00 UTC).

    Parameters
    ----------
    series : Series, one-dimensional
        Its step must divide `bin_s`.
    q : array, shape (k,)
        Percentiles, 0…100.
    bin_s : float
        Width of a bin [s]; must divide a week.

    Returns
    -------
    ndarray, shape (k, 604800 / bin_s)

    Raises
    ------
    InputError
        A step or bin that does not divide, or a bin without a sample.
    """
    binned = averaged(series, bin_s)
    bins = round(_WEEK_S / bin_s)
    since_monday_s = (
        float((binned.start - _MONDAY).astype("timedelta64[ns]").astype(np.int64)) / 1e9 % _WEEK_S
    )
    lead = round(since_monday_s / bin_s)
    weeks = -(-(lead + binned.values.size) // bins)
    padded = np.full(weeks * bins, np.nan)
    padded[lead : lead + binned.values.size] = binned.values
    table = padded.reshape(weeks, bins)
    if np.isnan(table).all(axis=0).any():
        raise InputError("percentiles by time of week need at least one sample at every time of the week")
    return np.asarray(np.nanpercentile(table, np.asarray(q, dtype=np.float64), axis=0))


def _binned_mean(row: Floats, which: NDArray[np.int64], bins: int) -> Floats:
    there = ~np.isnan(row)
    count = np.bincount(which[there], minlength=bins)
    if (count == 0).any():
        raise InputError(f"the profile has no sample in bin {int(np.argmin(count))} of {bins}")
    return np.asarray(np.bincount(which[there], weights=row[there], minlength=bins) / count)


def diurnal_profile(series: Series) -> Floats:
    """Mean power by hour of day (UTC), shape (..., 24)."""
    return profile(series, 86400.0)


def weekly_profile(series: Series) -> Floats:
    """Mean power by hour of week (UTC, 0 = Monday 00:00), shape (..., 168)."""
    return profile(series, _WEEK_S)

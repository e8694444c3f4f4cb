"""How power is distributed, whatever its order in time: distance, tail, load-duration curve.

Time is the last axis; leading axes are members. NaN samples are left out; a series without any sample is
an error, never NaN.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hsmdc.errors import InputError

from .series import Floats


def wasserstein(first: ArrayLike, second: ArrayLike) -> Floats:
    """1-Wasserstein distance between two marginals, exact for unequal lengths.

    The area between the two quantile functions, in the unit of the input: how far values must move on
    average to turn one distribution into the other.

    Parameters
    ----------
    first, second : array, shape (..., n) and (..., m)
        Samples; leading axes broadcast. NaN are left out.

    Returns
    -------
    ndarray of the broadcast leading shape

    Raises
    ------
    InputError
        A series has no sample.
    """
    a = np.asarray(first, dtype=np.float64)
    b = np.asarray(second, dtype=np.float64)
    shape = np.broadcast_shapes(a.shape[:-1], b.shape[:-1])
    if not (_any_missing(a) or _any_missing(b)):
        return _sorted_distance(np.sort(a, axis=-1), np.sort(b, axis=-1))
    rows_a = np.broadcast_to(a, (*shape, a.shape[-1])).reshape(-1, a.shape[-1])
    rows_b = np.broadcast_to(b, (*shape, b.shape[-1])).reshape(-1, b.shape[-1])
    pairs = zip(rows_a, rows_b, strict=True)
    distances = [_sorted_distance(np.sort(present(x)), np.sort(present(y))) for x, y in pairs]
    return np.reshape(distances, shape)


def _sorted_distance(a: Floats, b: Floats) -> Floats:
    n, m = a.shape[-1], b.shape[-1]
    if n == 0 or m == 0:
        raise InputError("a distance needs at least one sample on both sides")
    if n == m:
        return np.asarray(np.abs(a - b).mean(axis=-1))
    # The quantile functions are constant between the merged break points i/n and j/m, kept as integers.
    # Both runs are sorted, so the stable sort only merges them; a break point met twice has no weight.
    edges = np.concatenate([np.arange(n, dtype=np.int64) * m, np.arange(m + 1, dtype=np.int64) * n])
    edges.sort(kind="stable")
    weights = np.diff(edges) / (n * m)
    steps = np.abs(a[..., edges[:-1] // m] - b[..., edges[:-1] // n])
    return np.asarray(steps @ weights)


def present(values: Floats) -> Floats:
    """The samples of one series that are there.

    Raises
    ------
    InputError
        None is.
    """
    kept = values[~np.isnan(values)]
    if kept.size == 0:
        raise InputError("the series has no sample: every value is missing")
    return kept


def _any_missing(values: Floats) -> bool:
    return bool(np.isnan(values).any())


def _need_samples(values: Floats) -> None:
    if values.shape[-1] == 0 or np.isnan(values).all(axis=-1).any():
        raise InputError("the series has no sample: every value is missing")


def mean(values: ArrayLike) -> Floats:
    """Mean of the samples that are there."""
    x = np.asarray(values, dtype=np.float64)
    _need_samples(x)
    return np.asarray(np.nanmean(x, axis=-1))


def standard_deviation(values: ArrayLike) -> Floats:
    """Population standard deviation (divisor n) of the samples that are there."""
    x = np.asarray(values, dtype=np.float64)
    _need_samples(x)
    return np.asarray(np.nanstd(x, axis=-1))


def percentile(values: ArrayLike, q: ArrayLike) -> Floats:
    """Percentiles by linear interpolation, shape (..., len(q)) or (...) for one q in 0…100."""
    x = np.asarray(values, dtype=np.float64)
    _need_samples(x)
    of = np.nanpercentile if _any_missing(x) else np.percentile
    levels = np.asarray(q, dtype=np.float64)
    found = np.asarray(of(x, levels, axis=-1))
    return np.moveaxis(found, 0, -1) if levels.ndim else found


def peak_to_average(values: ArrayLike) -> Floats:
    """Peak-to-average ratio: the largest sample over the mean.

    Raises
    ------
    InputError
        The mean is not positive, so the ratio has no meaning.
    """
    x = np.asarray(values, dtype=np.float64)
    average = mean(x)
    if (average <= 0.0).any():
        raise InputError("the peak-to-average ratio needs a positive mean load")
    return np.asarray(np.nanmax(x, axis=-1) / average)


def load_factor(values: ArrayLike) -> Floats:
    """Load factor: mean over peak, the inverse of the peak-to-average ratio."""
    return np.asarray(1.0 / peak_to_average(values))


def load_duration_curve(values: ArrayLike, exceedance: ArrayLike) -> Floats:
    """Load exceeded for a share `exceedance` (0…1) of the time, in the unit of the input."""
    return percentile(values, 100.0 * (1.0 - np.asarray(exceedance, dtype=np.float64)))


def load_duration_distance(first: ArrayLike, second: ArrayLike, points: int = 1001) -> Floats:
    """Largest vertical gap between two load-duration curves on `points` even exceedances.

    The mean gap is `wasserstein`; the largest one catches a tail that the mean hides.
    """
    exceedance = np.linspace(0.0, 1.0, points)
    gap = load_duration_curve(first, exceedance) - load_duration_curve(second, exceedance)
    return np.asarray(np.abs(gap).max(axis=-1))


def histogram_density(values: ArrayLike, edges: NDArray[np.float64]) -> Floats:
    """Probability density of the samples in bins; samples outside `edges` count in the total only."""
    x = present(np.asarray(values, dtype=np.float64).ravel())
    counts, _ = np.histogram(x, bins=edges)
    return np.asarray(counts / (x.size * np.diff(edges)))

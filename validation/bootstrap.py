"""Bands around the scores of a single trace, by resampling whole weeks.

With one seed there is no spread over seeds to look at, so the year is cut into weeks that are drawn again
with replacement (moving blocks with fixed places, Künsch 1989). A week keeps the daily and the weekly cycle
whole. Distances to a reference resample the same weeks on both sides; autocorrelations resample the lagged
products by the week their first sample is in, so no lag reaches across a seam.

Distances and maxima of a resampled year are biased (two resampled years differ more than the years they are
drawn from), so a band is the spread of the resamples about their own mean, laid around the score itself.
"""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from scipy import fft

from .marginal import wasserstein
from .ramps import whole_steps
from .series import Floats, Series
from .temporal import rms_distance

BLOCK_S = 7 * 86400.0
MIN_BLOCKS = 8
"""Fewer weeks than this say too little about the spread between weeks; there is no band then."""

Bands = dict[str, tuple[float, float]]
"""Offsets of the ends of a band from the score, by name of the score."""

_BINS = 4096
_TAILS = (2.5, 97.5)


def draw_weeks(blocks: int, resamples: int) -> NDArray[np.int64]:
    """Indices of the weeks of every resample, shape (resamples, blocks); the same on every call."""
    return np.random.default_rng(0).integers(blocks, size=(resamples, blocks))


def table_bands(power: Series, resamples: int) -> Bands:
    """Bands of the power statistics; percentiles to 1/4096 of the range of power."""
    weeks = _weeks(power)
    if weeks is None:
        return {}
    counts = _counts(weeks.shape[0], resamples)
    n = counts @ (~np.isnan(weeks)).sum(axis=1)
    mean = counts @ np.nansum(weeks, axis=1) / n
    square = counts @ np.nansum(weeks**2, axis=1) / n
    peak = np.where(counts > 0, np.nanmax(weeks, axis=1), -np.inf).max(axis=1)
    median, p90 = _resampled_percentiles(weeks, counts, n, (0.5, 0.9))
    return _offsets(
        mean_mw=mean,
        std_mw=np.sqrt(np.maximum(square - mean**2, 0.0)),
        peak_to_average=peak / mean,
        load_factor=mean / peak,
        max_mw=peak,
        median_mw=median,
        p90_mw=p90,
    )


def _weeks(power: Series) -> Floats | None:
    """Whole weeks, shape (weeks, samples); None when there are too few or one is empty."""
    samples = whole_steps(BLOCK_S, power.step_s, "block", 2**62)
    count = power.values.shape[-1] // samples
    if count < MIN_BLOCKS:
        return None
    weeks = power.values[: count * samples].reshape(count, samples)
    return None if np.isnan(weeks).all(axis=1).any() else weeks


def _counts(blocks: int, resamples: int) -> Floats:
    """How often each week is drawn, shape (resamples, blocks)."""
    drawn = draw_weeks(blocks, resamples) + blocks * np.arange(resamples)[:, None]
    return (
        np.bincount(drawn.ravel(), minlength=blocks * resamples).reshape(resamples, blocks).astype(np.float64)
    )


def _resampled_percentiles(
    weeks: Floats, counts: Floats, n: Floats, shares: tuple[float, ...]
) -> list[Floats]:
    """Percentiles of every resample from one histogram per week."""
    edges = np.linspace(np.nanmin(weeks), np.nanmax(weeks), _BINS + 1)
    histograms = np.stack([np.histogram(week, bins=edges)[0] for week in weeks])
    below = np.cumsum(counts @ histograms, axis=1)
    centres = (edges[:-1] + edges[1:]) / 2.0
    return [centres[np.argmax(below >= share * n[:, None], axis=1)] for share in shares]


def queue_bands(arrival_s: Floats, start_s: Floats, days: float, resamples: int) -> Bands:
    """Bands of the queue statistics; jobs belong to the week they arrive in."""
    blocks = int(days * 86400.0 // BLOCK_S)
    if blocks < MIN_BLOCKS:
        return {}
    week = (arrival_s // BLOCK_S).astype(np.int64)
    inside = (week >= 0) & (week < blocks)
    wait = (start_s - arrival_s)[inside]
    week = week[inside]
    counts = _counts(blocks, resamples)

    def per_resample(weights: Floats | None = None) -> Floats:
        return np.asarray(counts @ np.bincount(week, weights=weights, minlength=blocks))

    jobs = per_resample()
    late = wait > 0.0
    waited = per_resample(late.astype(np.float64))
    bands = _offsets(
        jobs_per_day=jobs / (blocks * BLOCK_S / 86400.0),
        jobs_queued=per_resample((late | np.isnan(wait)).astype(np.float64)) / jobs,
    )
    if (waited > 0).all():
        bands |= _offsets(mean_wait_h=per_resample(np.where(late, wait, 0.0)) / waited / 3600.0)
    return bands


def pair_bands(ours: Series, theirs: Series, acf_lags: int, resamples: int) -> Bands:
    """Bands of the distances between two series on the same labels."""
    x, y = _weeks(ours), _weeks(theirs)
    if x is None or y is None:
        return {}
    drawn = draw_weeks(x.shape[0], resamples)
    ramp_x, ramp_y = np.diff(x, axis=1), np.diff(y, axis=1)
    return _offsets(
        w1_mw=_resampled_distance(x, y, drawn),
        ramp_w1_mw=_resampled_distance(ramp_x, ramp_y, drawn),
        correlation=_resampled_correlation(x, y, _counts(x.shape[0], resamples)),
        acf_rms=_resampled_acf_distance(ours, theirs, acf_lags, resamples),
    )


def _resampled_distance(x: Floats, y: Floats, drawn: NDArray[np.int64]) -> Floats:
    return np.array([float(wasserstein(x[weeks].ravel(), y[weeks].ravel())) for weeks in drawn])


def _resampled_correlation(x: Floats, y: Floats, counts: Floats) -> Floats:
    both = ~(np.isnan(x) | np.isnan(y))
    x0 = np.where(both, x - np.nanmean(x), 0.0)
    y0 = np.where(both, y - np.nanmean(y), 0.0)
    n, sx, sy, sxx, syy, sxy = (
        counts @ term.sum(axis=1) for term in (both, x0, y0, x0 * x0, y0 * y0, x0 * y0)
    )
    covariance = sxy / n - sx * sy / n**2
    return np.asarray(covariance / np.sqrt((sxx / n - (sx / n) ** 2) * (syy / n - (sy / n) ** 2)))


def _resampled_acf_distance(ours: Series, theirs: Series, lags: int, resamples: int) -> Floats:
    curves = []
    for series in (ours, theirs):
        sums = _lagged_sums_by_week(series, lags)
        products = _counts(sums.shape[0], resamples) @ sums
        curves.append(products[:, 1:] / products[:, :1])
    return rms_distance(curves[0], curves[1])


def _lagged_sums_by_week(series: Series, lags: int) -> Floats:
    """Σ x(t) x(t + k) over the t of each week, shape (weeks, lags + 1); x has its mean removed, gaps are 0."""
    x = np.nan_to_num(series.values - np.nanmean(series.values))
    samples = whole_steps(BLOCK_S, series.step_s, "block", 2**62)
    weeks = x.size // samples
    padded = np.concatenate([x, np.zeros(lags)])
    reach = sliding_window_view(padded, samples + lags)[::samples][:weeks]
    size = fft.next_fast_len(samples + lags, real=True)
    week = fft.rfft(x[: weeks * samples].reshape(weeks, samples), size, axis=1)
    products = fft.irfft(fft.rfft(reach, size, axis=1) * week.conj(), size, axis=1)
    return np.asarray(products[:, : lags + 1])


def _offsets(**resampled: Floats) -> Bands:
    """Offsets of both ends of the band from the score."""
    bands = {}
    for name, values in resampled.items():
        low, high = np.percentile(values, _TAILS) - values.mean()
        bands[name] = (float(low), float(high))
    return bands

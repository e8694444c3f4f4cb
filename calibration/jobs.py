"""A site's jobs from its log: durations, node counts, batches and the rhythm of submissions.

The result is a fragment of a site configuration: the tables `arrivals` and `jobs`, with the log's own numbers, and
beside it how well each law fits.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import tomli_w
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import ndtr
from scipy.stats import spearmanr

from hsmdc.config.sections import Arrivals, Jobs
from hsmdc.errors import CalibrationError, InputError
from hsmdc.jobs import JobTable

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FEWEST_JOBS = 30
_LEAST_SIGMA = 0.05
_EM_STEPS, _EM_TOLERANCE = 2000, 1e-10
_BIN_LN = 0.005
_LARGEST_BATCH = 100_000
_HOUR_S, _DAY_S = 3600, 86_400
_FANO_BINS_PER_HOUR = 10


class LognormalMixture(NamedTuple):
    """Two lognormals of seconds, the shorter first; `long_weight` 0 leaves one."""

    mu: float
    sigma: float
    long_weight: float
    long_mu: float
    long_sigma: float
    log_likelihood: float


class Batches(NamedTuple):
    """Runs of jobs by one submitter, each within the gap of the one before."""

    start_s: Floats
    size: Ints
    one_width: NDArray[np.bool_]
    """Whether all jobs of the batch have one node count."""


@dataclass(frozen=True)
class JobsFit:
    """What `fit_jobs` found.

    Attributes
    ----------
    fragment : mapping
        Tables `arrivals` and `jobs` of a site configuration.
    goodness : mapping of name to number
        How well the laws fit, and the log's own means beside those of the laws.
    """

    fragment: Mapping[str, Any]
    goodness: Mapping[str, float]
    source: str

    def to_toml(self, base: str | None = None) -> str:
        """The fragment as TOML, on top of a `base` configuration if one is named."""
        notes = [f"# jobs of {self.source}, fitted by `hsmdc calibrate jobs`"]
        notes += [f"# {name} = {value:.6g}" for name, value in self.goodness.items()]
        head = {} if base is None else {"base": base}
        return "\n".join(notes) + "\n" + tomli_w.dumps({**head, **self.fragment})


def fit_jobs(table: JobTable, *, utc_offset_h: float = 0.0, batch_gap_s: float = 60.0) -> JobsFit:
    """Fit the laws of a site configuration to a job log.

    Durations: `fit_durations` (paper eq. 3). Node counts: their frequencies. Batches: geometric or zeta, whichever
    is likelier. Hour of the day and day of the week: batch starts per hour of that kind, where the log says when
    it began and covers every kind.

    Parameters
    ----------
    utc_offset_h : float
        Local time of the site minus UTC [h], for the hour and day factors.
    batch_gap_s : float
        Jobs of one submitter this close after one another are one batch [s].

    Raises
    ------
    CalibrationError
        Fewer than 30 jobs.
    InputError
        A gap that is negative, a UTC offset beyond 14 hours.
    """
    if len(table) < FEWEST_JOBS:
        raise CalibrationError(f"{table.source}: {len(table)} jobs; a fit needs {FEWEST_JOBS} or more")
    if not batch_gap_s >= 0:
        raise InputError(f"batch_gap_s = {batch_gap_s}: must be 0 or more")
    if not abs(utc_offset_h) <= 14:
        raise InputError(f"utc_offset_h = {utc_offset_h}: must lie between -14 and 14 hours")
    duration = fit_durations(table.duration_s)
    batches = find_batches(table, batch_gap_s)
    law, batch_goodness = _fit_batch_law(batches.size)
    span_min = max(float(table.arrival_s[-1] - table.arrival_s[0]) / 60.0, 1.0)
    sizes, counts = np.unique(table.nodes, return_counts=True)
    pmf = counts / counts.sum()
    arrivals = {
        # With the mean of the law, not of the log, the jobs per day come out right.
        "base_rate": len(table) / span_min / batch_goodness["batch_mean_of_law"],
        **_rhythm(table, batches.start_s, utc_offset_h),
        "batch": law,
        "shared_size": _shared_size(batches, pmf),
    }
    jobs = {
        "nodes": {"law": "empirical", "sizes": sizes.tolist(), "pmf": pmf.tolist()},
        "duration": _duration_section(duration, table.duration_s),
        "rank_correlation": _rank_correlation(table),
    }
    fragment = {
        "arrivals": Arrivals.model_validate(arrivals).model_dump(
            mode="json", exclude_none=True, exclude_unset=True
        ),
        "jobs": Jobs.model_validate(jobs).model_dump(mode="json", exclude_none=True, exclude_unset=True),
    }
    goodness = {
        "jobs": float(len(table)),
        "jobs_per_day": len(table) / span_min * 1440.0,
        **_duration_goodness(duration, table.duration_s),
        "node_hours_per_job": float((table.nodes * table.duration_s).mean() / _HOUR_S),
        **batch_goodness,
        "batch_start_fano_within_hours": fano_within_hours(batches.start_s),
    }
    return JobsFit(fragment, goodness, table.source)


# --- durations -------------------------------------------------------------------------------------------


def fit_durations(duration_s: Floats) -> LognormalMixture:
    """Maximum-likelihood mixture of two lognormals by expectation–maximisation, or one lognormal by BIC.

    The start is the split of least variance within its halves (two means). The likelihood has more maxima: a
    higher one on the LLNL Thunder log puts 18 % of the jobs on a spike at 36 s and overstates the mean by 60 %;
    from this start the components are the ones that carry the time.
    """
    x, share = _log_histogram(duration_s)
    single, double = _single(x, share), _em(x, share)
    # Three more parameters cost 1.5 ln n.
    gain = (double.log_likelihood - single.log_likelihood) * len(duration_s)
    return double if gain > 1.5 * np.log(len(duration_s)) else single


def _log_histogram(duration_s: Floats) -> tuple[Floats, Floats]:
    """Logarithms of the durations in narrow bins, and the share of the jobs in each."""
    cell = np.round(np.log(duration_s) / _BIN_LN).astype(np.int64)
    count = np.bincount(cell - cell.min())
    used = np.flatnonzero(count)
    return (used + cell.min()) * _BIN_LN, count[used] / len(duration_s)


def _single(x: Floats, share: Floats) -> LognormalMixture:
    mu = float(share @ x)
    sigma = max(float(np.sqrt(share @ (x - mu) ** 2)), _LEAST_SIGMA)
    likelihood = float(share @ _log_normal(x, mu, sigma))
    return LognormalMixture(mu, sigma, 0.0, mu, sigma, likelihood)


def _em(x: Floats, share: Floats) -> LognormalMixture:
    upper = (x > _two_means_split(x, share)).astype(np.float64)  # responsibility of the second component
    likelihood = -np.inf
    for _ in range(_EM_STEPS):
        parts = [_moments(x, share * (1.0 - upper)), _moments(x, share * upper)]
        logs = [np.log(max(w, 1e-300)) + _log_normal(x, mu, sigma) for w, mu, sigma in parts]
        total = np.logaddexp(*logs)
        previous, likelihood = likelihood, float(share @ total)
        upper = np.exp(logs[1] - total)
        if likelihood - previous < _EM_TOLERANCE:
            break
    short, long = sorted(parts, key=lambda part: part[1])
    return LognormalMixture(short[1], short[2], long[0], long[1], long[2], likelihood)


def _two_means_split(x: Floats, share: Floats) -> float:
    """The value whose cut leaves the least variance within the two sides (Otsu's criterion)."""
    below, moment = np.cumsum(share)[:-1], np.cumsum(share * x)[:-1]
    if not below.size:
        return float(x[0])
    between = (float(share @ x) * below - moment) ** 2 / (below * (1.0 - below))
    return float(x[int(np.argmax(between))])


def _moments(x: Floats, weight: Floats) -> tuple[float, float, float]:
    total = float(weight.sum())
    mean = float(weight @ x) / max(total, 1e-300)
    spread = float(np.sqrt(weight @ (x - mean) ** 2 / max(total, 1e-300)))
    return total, mean, max(spread, _LEAST_SIGMA)


def _log_normal(x: Floats, mu: float, sigma: float) -> Floats:
    logs: Floats = -0.5 * ((x - mu) / sigma) ** 2 - np.log(sigma * np.sqrt(2.0 * np.pi))
    return logs


def _duration_section(fit: LognormalMixture, duration_s: Floats) -> dict[str, float]:
    section = {
        "median_h": np.exp(fit.mu) / _HOUR_S,
        "sigma": fit.sigma,
        "long_fraction": fit.long_weight,
        "shortest_h": float(duration_s.min()) / _HOUR_S,
        "longest_h": min(max(float(duration_s.max()), float(duration_s.min()) + 1.0) / _HOUR_S, 8760.0),
    }
    if fit.long_weight > 0:
        section |= {"long_median_h": np.exp(fit.long_mu) / _HOUR_S, "long_sigma": fit.long_sigma}
    return {name: float(value) for name, value in section.items()}


def _duration_goodness(fit: LognormalMixture, duration_s: Floats) -> dict[str, float]:
    x = np.sort(np.log(duration_s))
    cdf = (1.0 - fit.long_weight) * ndtr((x - fit.mu) / fit.sigma)
    cdf += fit.long_weight * ndtr((x - fit.long_mu) / fit.long_sigma)
    # Of equal durations only the last stands for the empirical distribution function from the right.
    right = np.searchsorted(x, x, side="right") / len(x)
    left = np.searchsorted(x, x, side="left") / len(x)
    return {
        "duration_log_likelihood_per_job": fit.log_likelihood,
        "duration_kolmogorov_smirnov": float(np.maximum(np.abs(right - cdf), np.abs(left - cdf)).max()),
        "duration_mean_h": float(duration_s.mean()) / _HOUR_S,
        "duration_mean_of_law_h": _clipped_mean_h(fit, float(duration_s.min()), float(duration_s.max())),
    }


def _clipped_mean_h(fit: LognormalMixture, shortest_s: float, longest_s: float) -> float:
    """Mean of the law with what lies outside the support moved to its ends."""
    mean_s = 0.0
    for weight, mu, sigma in (
        (1.0 - fit.long_weight, fit.mu, fit.sigma),
        (fit.long_weight, fit.long_mu, fit.long_sigma),
    ):
        low, high = (np.log(shortest_s) - mu) / sigma, (np.log(longest_s) - mu) / sigma
        inside = np.exp(mu + 0.5 * sigma**2) * (ndtr(high - sigma) - ndtr(low - sigma))
        mean_s += weight * float(inside + shortest_s * ndtr(low) + longest_s * ndtr(-high))
    return mean_s / _HOUR_S


# --- batches ---------------------------------------------------------------------------------------------


def find_batches(table: JobTable, gap_s: float) -> Batches:
    """Runs of jobs by one submitter with gaps of at most `gap_s`; one submitter where the log names none."""
    user = np.zeros(len(table), dtype=np.int64) if table.user is None else table.user
    order = np.lexsort((table.arrival_s, user))
    arrival, nodes = table.arrival_s[order], table.nodes[order]
    new = np.ones(len(table), dtype=np.bool_)
    new[1:] = (np.diff(arrival) > gap_s) | (np.diff(user[order]) != 0)
    first = np.flatnonzero(new)
    size = np.diff(np.append(first, len(table)))
    one_width = np.minimum.reduceat(nodes, first) == np.maximum.reduceat(nodes, first)
    by_time = np.argsort(arrival[first], kind="stable")
    return Batches(arrival[first][by_time], size[by_time], one_width[by_time])


def _fit_batch_law(size: Ints) -> tuple[dict[str, Any], dict[str, float]]:
    mean = float(size.mean())
    largest = int(min(size.max(), _LARGEST_BATCH))
    geometric = _geometric_likelihood(size)
    goodness = {
        "batch_mean": mean,
        "batch_mean_of_law": mean,
        "batch_log_likelihood_geometric": geometric,
    }
    if largest == 1:
        return {"law": "geometric", "mean": 1.0}, goodness
    exponent, zeta, zeta_mean = _fit_zeta(size, largest)
    goodness |= {"batch_log_likelihood_zeta": zeta, "batch_zeta_exponent": exponent}
    if zeta <= geometric or exponent <= 1.0:
        return {"law": "geometric", "mean": mean}, goodness
    goodness["batch_mean_of_law"] = zeta_mean
    return {"law": "zeta", "exponent": exponent, "largest": largest}, goodness


def _geometric_likelihood(size: Ints) -> float:
    """Per batch; its maximum lies at the observed mean."""
    mean = float(size.mean())
    return float(-np.log(mean) + (mean - 1.0) * np.log1p(-1.0 / mean)) if mean > 1.0 else 0.0


def _fit_zeta(size: Ints, largest: int) -> tuple[float, float, float]:
    """Maximum-likelihood exponent of P(k) ∝ k^(−s), k ≤ largest; its likelihood per batch, and its mean."""
    log_k = np.log(np.arange(1.0, largest + 1.0))
    mean_log = float(np.log(np.minimum(size, largest)).mean())

    def loss(exponent: float) -> float:
        return float(exponent * mean_log + np.log(np.exp(-exponent * log_k).sum()))

    exponent = float(minimize_scalar(loss, bounds=(1.0, 20.0), method="bounded", options={"xatol": 1e-6}).x)
    weight = np.exp(-exponent * log_k)
    return exponent, -loss(exponent), float(weight @ np.exp(log_k) / weight.sum())


def _shared_size(batches: Batches, pmf: Floats) -> float:
    """Share of batches with one node count by intent: what independent draws give by chance is taken off."""
    several = batches.size > 1
    if not several.any():
        return 0.0
    sizes, counts = np.unique(batches.size[several], return_counts=True)
    chance = float(sum(n * (pmf**k).sum() for k, n in zip(sizes, counts, strict=True)) / counts.sum())
    observed = float(batches.one_width[several].mean())
    return float(np.clip((observed - chance) / (1.0 - chance), 0.0, 1.0)) if chance < 1.0 else 0.0


def fano_within_hours(start_s: Floats) -> float:
    """Variance to mean of the starts per tenth of an hour, within each hour: 1 for a Poisson process."""
    width = _HOUR_S / _FANO_BINS_PER_HOUR
    hours = int((start_s[-1] - start_s[0]) // _HOUR_S)
    if hours < 1:
        return float("nan")
    bins = ((start_s - start_s[0]) // width).astype(np.int64)
    count = np.bincount(bins, minlength=hours * _FANO_BINS_PER_HOUR)[: hours * _FANO_BINS_PER_HOUR]
    count = count.reshape(hours, _FANO_BINS_PER_HOUR)
    variance = count.var(axis=1, ddof=1).mean()
    return float(variance / count.mean())


# --- rhythm ----------------------------------------------------------------------------------------------


def _rhythm(table: JobTable, start_s: Floats, utc_offset_h: float) -> dict[str, list[float]]:
    if table.epoch is None:
        return {}
    epoch_s = float((table.epoch - np.datetime64("1970-01-01", "ns")) / np.timedelta64(1, "s"))
    local_s = start_s + epoch_s + utc_offset_h * _HOUR_S
    found: dict[str, list[float]] = {}
    hour = _factor(local_s, _HOUR_S, 24)
    if hour is not None:
        found["hour_of_day"] = hour
    # 1 January 1970 was a Thursday; three days later the weeks begin on Monday.
    day = _factor(local_s + 3 * _DAY_S, _DAY_S, 7)
    if day is not None:
        found["day_of_week"] = day
    return found


def _factor(local_s: Floats, cell_s: int, cells: int) -> list[float] | None:
    """Starts per time covered, by kind of cell, with unit mean; None where the log does not cover every kind."""
    first, last = local_s[0], local_s[-1]
    edges = np.arange(np.floor(first / cell_s), np.floor(last / cell_s) + 2) * cell_s
    covered = np.diff(np.clip(edges, first, last))
    kind = (edges[:-1] // cell_s).astype(np.int64) % cells
    exposure = np.bincount(kind, weights=covered, minlength=cells)
    if (exposure < cell_s).any():
        return None
    count = np.bincount((local_s // cell_s).astype(np.int64) % cells, minlength=cells)
    rate = count / exposure
    return [float(value) for value in rate / rate.mean()]


def _rank_correlation(table: JobTable) -> float:
    if table.nodes.min() == table.nodes.max() or table.duration_s.min() == table.duration_s.max():
        return 0.0
    return float(np.clip(spearmanr(table.nodes, table.duration_s).statistic, -0.99, 0.99))

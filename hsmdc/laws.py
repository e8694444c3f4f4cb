"""The laws a configuration names, as tables for the kernels: batch size, node count, duration, their means."""

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hsmdc.config.sections import (
    Batch,
    EmpiricalNodes,
    GeometricBatch,
    Jobs,
    LognormalDuration,
    Nodes,
    ZetaBatch,
)

Floats = npt.NDArray[np.float64]

_TAIL = 1e-12  # mass of the geometric tail that is cut off


class Law(NamedTuple):
    """A discrete law: value[i] with probability pmf[i]; cdf and guide serve inverse-CDF draws."""

    value: npt.NDArray[np.int32]
    pmf: Floats
    cdf: Floats
    guide: npt.NDArray[np.int32]

    def moment(self, power: int = 1) -> float:
        """E[value^power]."""
        return float(self.pmf @ self.value.astype(np.float64) ** power)


def law(value: npt.NDArray[np.int_], pmf: npt.NDArray[np.floating]) -> Law:
    """Tabulate a law; zero-probability entries are dropped so that no draw can land on one."""
    kept = pmf > 0
    value, share = value[kept], np.asarray(pmf[kept] / pmf[kept].sum(), np.float64)
    cdf = np.cumsum(share)
    cdf[-1] = 1.0  # rounding must never let a draw fall off the end
    cells = 1 << max(6, math.ceil(math.log2(4 * value.size)))
    guide = np.searchsorted(cdf, np.arange(cells) / cells, side="left")
    return Law(value.astype(np.int32), share, cdf, guide.astype(np.int32))


@lru_cache(maxsize=32)
def batch_law(batch: Batch) -> Law:
    """Jobs per arrival event."""
    if isinstance(batch, GeometricBatch):
        stay = 1.0 - 1.0 / batch.mean
        largest = 1 if stay == 0 else math.ceil(math.log(_TAIL) / math.log(stay)) + 1
        k = np.arange(1, largest + 1)
        return law(k, stay ** (k - 1.0))
    if isinstance(batch, ZetaBatch):
        k = np.arange(1, batch.largest + 1)
        return law(k, k ** -float(batch.exponent))
    return law(np.arange(1, len(batch.pmf) + 1), np.array(batch.pmf))


@lru_cache(maxsize=32)
def nodes_law(nodes: Nodes) -> Law:
    """Nodes per job."""
    if isinstance(nodes, EmpiricalNodes):
        return law(np.array(nodes.sizes), np.array(nodes.pmf))
    k = np.arange(nodes.largest.bit_length())
    exponent = nodes.linear * k + nodes.quadratic * k**2
    return law(1 << k, np.exp(exponent - exponent.max()))


@lru_cache(maxsize=32)
def duration_law(duration: LognormalDuration, tick_s: float = 60.0) -> Law:
    """Ticks held per job: the clipped mixture (paper eq. 3) rounded up to whole ticks."""
    shortest = max(1, math.ceil(duration.shortest_h * 3600 / tick_s))
    longest = max(shortest, math.ceil(duration.longest_h * 3600 / tick_s))
    ticks = np.arange(shortest, longest + 1)
    below = _mixture_cdf(duration, ticks * tick_s / 3600)
    below[-1] = 1.0
    return law(ticks, np.diff(below, prepend=0.0))


def _mixture_cdf(duration: LognormalDuration, hours: Floats) -> Floats:
    short = _normal_cdf(np.log(hours / duration.median_h) / duration.sigma)
    long = _normal_cdf(np.log(hours / duration.long_median_h) / duration.long_sigma)
    return np.asarray((1 - duration.long_fraction) * short + duration.long_fraction * long)


def _normal_cdf(z: Floats) -> Floats:
    # A few thousand values once a run: scipy.special would cost every run 26 MB and 0.17 s of import.
    return np.array([0.5 * math.erfc(-value / math.sqrt(2.0)) for value in z])


def copula_correlation(jobs: Jobs) -> float:
    """Pearson correlation of the Gaussian copula with the configured Spearman correlation."""
    return 2.0 * math.sin(math.pi * jobs.rank_correlation / 6.0)


def node_ticks_per_event(batch: Batch, jobs: Jobs, tick_s: float = 60.0) -> float:
    """Mean node·ticks one arrival event brings; exact for independent size and duration."""
    return (
        batch_law(batch).moment()
        * nodes_law(jobs.nodes).moment()
        * duration_law(jobs.duration, tick_s).moment()
    )

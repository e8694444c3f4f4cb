"""Tabulated laws against SciPy and by their moments."""

import numpy as np
import pytest
from scipy import integrate, stats

from hsmdc import laws
from hsmdc.config import load_config
from hsmdc.config.sections import (
    EmpiricalBatch,
    ExponentialNodes,
    GeometricBatch,
    LognormalDuration,
    ZetaBatch,
)


def test_batches() -> None:
    assert laws.batch_law(GeometricBatch(mean=1.0)).value.tolist() == [1]
    geometric = laws.batch_law(GeometricBatch(mean=2.5))
    assert geometric.moment() == pytest.approx(2.5, rel=1e-9)
    np.testing.assert_allclose(geometric.pmf[:20], stats.geom(0.4).pmf(np.arange(1, 21)), rtol=1e-9)
    zeta = laws.batch_law(ZetaBatch(law="zeta", exponent=2.5, largest=300))
    np.testing.assert_allclose(zeta.pmf, stats.zipfian(2.5, 300).pmf(zeta.value), rtol=1e-9)
    gap = laws.batch_law(EmpiricalBatch(law="empirical", pmf=(0.25, 0.0, 0.75)))
    assert gap.value.tolist() == [1, 3]
    assert gap.moment() == pytest.approx(2.5)


def test_node_counts_are_powers_of_two() -> None:
    law = laws.nodes_law(ExponentialNodes(law="exponential", linear=-0.5, quadratic=-0.1, largest=256))
    k = np.arange(9)
    np.testing.assert_array_equal(law.value, 2**k)
    weights = np.exp(-0.5 * k - 0.1 * k**2)
    np.testing.assert_allclose(law.pmf, weights / weights.sum(), rtol=1e-12)
    assert law.cdf[-1] == 1.0


def test_durations_are_the_clipped_mixture_rounded_up_to_ticks() -> None:
    duration = LognormalDuration(
        median_h=1.0,
        sigma=0.6,
        long_fraction=0.3,
        long_median_h=10.0,
        long_sigma=0.4,
        shortest_h=0.1,
        longest_h=30.0,
    )
    law = laws.duration_law(duration)
    r = np.random.default_rng(0)
    long = r.random(400_000) < 0.3
    hours = np.where(
        long, 10.0 * np.exp(0.4 * r.standard_normal(400_000)), np.exp(0.6 * r.standard_normal(400_000))
    )
    ticks = np.ceil(np.clip(hours, 0.1, 30.0) * 60)
    assert law.value.min() == 6
    assert law.value.max() == 1800
    assert law.moment() == pytest.approx(ticks.mean(), abs=5 * ticks.std() / 632)
    for q in (0.05, 0.5, 0.95):
        assert law.value[np.searchsorted(law.cdf, q)] == pytest.approx(np.quantile(ticks, q), rel=0.02, abs=1)
    # Against quadrature, unclipped: rounding up adds half a tick on average.
    free = LognormalDuration(median_h=1.0, sigma=0.6, longest_h=100.0)
    mean_h, _ = integrate.quad(lambda t: stats.lognorm(0.6).sf(t), 0, np.inf)
    assert laws.duration_law(free).moment() == pytest.approx(mean_h * 60 + 0.5, rel=1e-4)


def test_spearman_of_the_copula() -> None:
    jobs = load_config({"base": "paper", "jobs": {"rank_correlation": 0.5}}).jobs
    rho = laws.copula_correlation(jobs)
    z = np.random.default_rng(1).multivariate_normal([0, 0], [[1, rho], [rho, 1]], 200_000)
    assert stats.spearmanr(z).statistic == pytest.approx(0.5, abs=0.01)

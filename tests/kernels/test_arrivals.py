"""Compound-Poisson arrivals: the law of counts and marks, and what depends on the minute alone."""

import numpy as np
import pytest
from scipy import stats

from hsmdc import laws
from hsmdc.config.sections import (
    EmpiricalBatch,
    EmpiricalNodes,
    GeometricBatch,
    LognormalDuration,
    ZetaBatch,
)
from hsmdc.kernels import arrivals

SIZES = EmpiricalNodes(law="empirical", sizes=(1, 2, 8), pmf=(0.5, 0.3, 0.2))
HOURS = LognormalDuration(median_h=1.0, sigma=0.6, longest_h=12.0)
ONE = GeometricBatch(mean=1.0)


def draw(rate, *, seed=0, first=1000, batch=ONE, sizes=SIZES, hours=HOURS, copula=0.0, shared=0.0, room=None):
    b, n, d = laws.batch_law(batch), laws.nodes_law(sizes), laws.duration_law(hours)
    room = room or int(rate.sum() * b.moment() * 2 + 1000)
    columns = [np.zeros(room, np.int32) for _ in range(3)]
    count = arrivals.generate(
        np.uint64(seed), first, rate, b.value, b.cdf, b.guide, n.value, n.cdf, n.guide, d.value, d.cdf, d.guide,
        copula, shared, *columns,
    )  # fmt: skip
    return (count, *[column[:count] for column in columns])


def test_a_minute_depends_on_its_date_not_on_where_the_run_starts() -> None:
    rate = np.full(300, 3.0)
    _, arrival, nodes, duration = draw(rate, first=5000)
    _, later, later_nodes, later_duration = draw(rate[100:], first=5100)
    kept = arrival >= 100
    np.testing.assert_array_equal(arrival[kept] - 100, later)
    np.testing.assert_array_equal(nodes[kept], later_nodes)
    np.testing.assert_array_equal(duration[kept], later_duration)


def test_a_higher_rate_only_adds_jobs() -> None:
    def jobs(rate: float) -> list[tuple[int, int, int]]:
        _, *columns = draw(np.full(200, rate), batch=GeometricBatch(mean=2.0))
        return list(zip(*(c.tolist() for c in columns), strict=True))

    few, many = jobs(1.0), jobs(1.5)
    remaining = iter(many)
    assert len(few) < len(many)
    assert all(job in remaining for job in few)  # a subsequence, in order


def test_jobs_beyond_the_capacity_are_counted_not_written() -> None:
    rate = np.full(50, 2.0)
    count, arrival, *_ = draw(rate)
    fewer, kept, *_ = draw(rate, room=10)
    assert fewer == count > 10
    np.testing.assert_array_equal(kept, arrival[:10])


def test_no_rate_no_jobs() -> None:
    assert draw(np.zeros(100), room=10)[0] == 0


@pytest.mark.statistical
def test_event_counts_are_poisson_at_low_and_high_rates() -> None:
    # Chi-square of the counts against the Poisson law, one test per rate at 1e-4.
    for rate in (0.3, 4.0, 60.0):
        count, arrival, *_ = draw(np.full(20_000, rate), room=int(rate * 20_000 * 1.2 + 1000))
        seen = np.bincount(np.bincount(arrival, minlength=20_000))
        law = stats.poisson(rate)
        edges = np.unique(np.maximum(law.ppf(np.linspace(0.01, 0.99, 12)).astype(int), 1))
        cells = np.digitize(np.arange(seen.size), edges)
        got = np.bincount(cells, weights=seen, minlength=edges.size + 1)
        want = np.diff(np.concatenate([[0.0], law.cdf(edges - 1), [1.0]])) * 20_000
        assert stats.chisquare(got, want).pvalue > 1e-4
        assert count == arrival.size


@pytest.mark.statistical
@pytest.mark.parametrize(
    "batch",
    [
        GeometricBatch(mean=2.5),
        ZetaBatch(law="zeta", exponent=2.5, largest=100),
        EmpiricalBatch(law="empirical", pmf=(0.2, 0.0, 0.8)),
    ],
)
def test_batches_follow_their_law_and_inflate_the_variance(batch) -> None:
    # Counts per minute: mean λE[K], variance λE[K²]; each within 4.5 standard errors (7e-6 two-sided, 6 checks).
    tabulated = laws.batch_law(batch)
    n, rate = 40_000, 1.5
    _, arrival, *_ = draw(np.full(n, rate), batch=batch, room=int(n * rate * tabulated.moment() * 1.3 + 5000))
    counts = np.bincount(arrival, minlength=n).astype(float)
    mean, variance = rate * tabulated.moment(), rate * tabulated.moment(2)
    fourth = rate * tabulated.moment(4) + 3 * variance**2
    assert abs(counts.mean() - mean) < 4.5 * np.sqrt(variance / n)
    assert abs(counts.var() - variance) < 4.5 * np.sqrt((fourth - variance**2) / n)


@pytest.mark.statistical
def test_marks_follow_their_laws_and_are_independent() -> None:
    # Two chi-square tests at 1e-4; correlation within 4.5 standard errors.
    _, _, nodes, duration = draw(np.full(20_000, 5.0))
    for drawn, law in ((nodes, laws.nodes_law(SIZES)), (duration, laws.duration_law(HOURS))):
        index = np.searchsorted(law.value, drawn)
        cells = np.floor((law.cdf - law.pmf / 2) * 40).astype(int)  # merge rare values
        got = np.bincount(cells, weights=np.bincount(index, minlength=law.value.size))
        want = np.bincount(cells, weights=law.pmf * drawn.size)
        assert stats.chisquare(got[want > 0], want[want > 0]).pvalue > 1e-4
    assert abs(stats.spearmanr(nodes, duration).statistic) < 4.5 / np.sqrt(nodes.size)


@pytest.mark.statistical
def test_shared_sizes_and_rank_correlation() -> None:
    _, arrival, nodes, duration = draw(
        np.full(4000, 0.05), batch=EmpiricalBatch(law="empirical", pmf=(0.0, 0.0, 1.0)), shared=1.0
    )
    alone = np.unique(arrival)[np.bincount(arrival)[np.unique(arrival)] == 3]
    assert alone.size > 100
    assert all(np.unique(nodes[arrival == minute]).size == 1 for minute in alone)
    # Continuous marks would have Spearman 6/π·asin(ρ/2) = 0.583 at copula 0.6; three sizes are ties, which lower it.
    _, _, nodes, duration = draw(np.full(10_000, 2.0), copula=0.6)
    assert 0.40 < stats.spearmanr(nodes, duration).statistic < 0.60


def test_an_inverse_cdf_draw_never_falls_off_the_end() -> None:
    law = laws.law(np.arange(1, 8), np.full(7, 1 / 7))
    top = np.nextafter(1.0, 0.0)
    assert arrivals.table_draw(top, law.cdf, law.guide) == 6
    for u in np.linspace(1e-9, top, 500):
        assert arrivals.table_draw(u, law.cdf, law.guide) == np.searchsorted(law.cdf, u)

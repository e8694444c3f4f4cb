"""Queue statistics and the random-sum split, by hand and against a plain loop."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hsmdc.errors import InputError
from hsmdc.validation import metrics


def test_queue_statistics_by_hand():
    arrival = [0.0, 60.0, 120.0, 180.0]
    start = [0.0, 3660.0, 7320.0, np.nan]
    found = metrics.queue_statistics(arrival, start, days=2.0)
    assert found.jobs_per_day == 2.0
    assert found.jobs_queued == 0.75
    assert found.mean_wait_h == pytest.approx(1.5)
    assert found.jobs_unstarted == 1


def test_jobs_of_a_spin_up_do_not_count():
    found = metrics.queue_statistics([-60.0, 0.0], [600.0, 0.0], days=1.0)
    assert (found.jobs_per_day, found.jobs_queued, found.mean_wait_h) == (1.0, 0.0, None)


@pytest.mark.parametrize(
    ("arrival", "start", "message"),
    [
        ([], [], "at least one job"),
        ([np.nan], [1.0], "job 0 has no arrival"),
        ([0.0, 9.0], [0.0, 3.0], "job 1 starts"),
    ],
)
def test_a_damaged_job_table_is_an_error(arrival, start, message):
    with pytest.raises(InputError, match=message):
        metrics.queue_statistics(arrival, start, days=1.0)


jobs = st.lists(
    st.tuples(st.integers(-50, 1500), st.one_of(st.none(), st.integers(1, 900)), st.integers(1, 64)),
    min_size=1,
)


@settings(deadline=None)
@given(jobs)
def test_random_sum_equals_a_plain_loop(table):
    steps, step_s = 20, 60.0
    start = np.array([s for s, _, _ in table], dtype=float)
    end = np.array([np.nan if d is None else s + d for s, d, _ in table])
    nodes = [n for _, _, n in table]
    running = [
        [n for s, e, n in zip(start, end, nodes, strict=True) if s <= t * step_s and not e <= t * step_s]
        for t in range(steps)
    ]
    sizes = np.array([n for now in running for n in now], dtype=float)
    if sizes.size == 0:
        with pytest.raises(InputError, match="no job runs"):
            metrics.random_sum(start, end, nodes, steps, step_s)
        return
    found = metrics.random_sum(start, end, nodes, steps, step_s)
    count = np.array([len(now) for now in running])
    assert found.total == pytest.approx(np.var([sum(now) for now in running]), abs=1e-9)
    assert found.size_term == pytest.approx(count.mean() * sizes.var(), abs=1e-9)
    assert found.concurrency_term == pytest.approx(count.var() * sizes.mean() ** 2, abs=1e-9)
    assert found.size_term + found.concurrency_term + found.remainder == pytest.approx(found.total, abs=1e-9)


@pytest.mark.statistical
def test_random_sum_leaves_nothing_over_for_independent_sizes():
    """Poisson arrivals, infinite servers: the identity is exact in expectation.

    Remainder/total over 20 independent runs is compared with its own standard error; one test at five
    standard errors, error rate below 1e-3 by Student's t with 19 degrees of freedom.
    """
    rng = np.random.default_rng(7)
    shares = []
    for _ in range(20):
        n = 20_000
        start = np.sort(rng.uniform(0, 1e6, n)).round()
        end = start + rng.exponential(2000.0, n).round() + 1
        found = metrics.random_sum(start, end, rng.integers(1, 17, n), 16_000, 60.0)
        shares.append(found.remainder / found.total)
    assert abs(np.mean(shares)) < 5 * np.std(shares, ddof=1) / np.sqrt(20)
    assert np.std(shares) < 0.2


def test_a_job_that_never_ran_is_not_in_the_sum():
    with_it = metrics.random_sum([0.0, np.nan], [120.0, np.nan], [4, 99], 5, 60.0)
    without = metrics.random_sum([0.0], [120.0], [4], 5, 60.0)
    assert with_it == without

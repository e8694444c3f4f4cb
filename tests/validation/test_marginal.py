"""Marginal metrics against scipy, NumPy and hand-computed values."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from hsmdc.errors import InputError
from hsmdc.validation import metrics

LOADS = st.floats(-1e3, 1e3, width=32)


def samples(max_size: int = 40) -> st.SearchStrategy[np.ndarray]:
    return arrays(np.float64, st.integers(1, max_size), elements=LOADS)


@settings(deadline=None)
@given(samples(), samples())
def test_wasserstein_equals_scipy_for_unequal_lengths(a, b):
    assert metrics.wasserstein(a, b) == pytest.approx(stats.wasserstein_distance(a, b), rel=1e-9, abs=1e-9)


@settings(deadline=None)
@given(samples(), samples())
def test_wasserstein_is_symmetric(a, b):
    assert metrics.wasserstein(a, b) == pytest.approx(metrics.wasserstein(b, a), rel=1e-12, abs=1e-12)


@settings(deadline=None)
@given(samples(), st.integers(1, 5), st.randoms(use_true_random=False))
def test_wasserstein_is_zero_on_the_same_distribution(a, copies, random):
    repeated = list(np.tile(a, copies))
    random.shuffle(repeated)
    assert metrics.wasserstein(a, repeated) == pytest.approx(0.0, abs=1e-12)


@settings(deadline=None)
@given(samples(), st.floats(-50, 50, width=32))
def test_wasserstein_of_a_shift_is_the_shift(a, shift):
    assert metrics.wasserstein(a, a + shift) == pytest.approx(abs(shift), rel=1e-6, abs=1e-9)


def test_wasserstein_leaves_missing_samples_out():
    a = np.array([1.0, np.nan, 3.0])
    b = np.array([2.0, 2.0, np.nan, np.nan])
    assert metrics.wasserstein(a, b) == pytest.approx(1.0)


def test_wasserstein_over_members_equals_one_by_one():
    rng = np.random.default_rng(1)
    members = rng.normal(size=(3, 50))
    other = rng.normal(size=70)
    together = metrics.wasserstein(members, other)
    assert together.shape == (3,)
    np.testing.assert_allclose(together, [stats.wasserstein_distance(row, other) for row in members])
    members[1, 7] = np.nan
    with_gap = metrics.wasserstein(members, other)
    np.testing.assert_allclose(with_gap[[0, 2]], together[[0, 2]])
    assert with_gap[1] == pytest.approx(stats.wasserstein_distance(np.delete(members[1], 7), other))


@pytest.mark.parametrize("empty", [[], [np.nan, np.nan]])
def test_a_series_without_samples_is_an_error(empty):
    for call in (metrics.mean, metrics.standard_deviation, metrics.peak_to_average):
        with pytest.raises(InputError, match="no sample"):
            call(empty)
    with pytest.raises(InputError, match="sample"):
        metrics.wasserstein(empty, [1.0])


def test_peak_to_average_and_load_factor_by_hand():
    load = [[1.0, 2.0, 6.0, np.nan], [2.0, 2.0, 2.0, 2.0]]
    np.testing.assert_allclose(metrics.peak_to_average(load), [2.0, 1.0])
    np.testing.assert_allclose(metrics.load_factor(load), [0.5, 1.0])


def test_peak_to_average_of_no_load_is_an_error():
    with pytest.raises(InputError, match="positive mean"):
        metrics.peak_to_average([0.0, 0.0])


def test_percentiles_equal_numpy_with_and_without_gaps():
    x = np.random.default_rng(2).gamma(2.0, size=(2, 301))
    np.testing.assert_allclose(metrics.percentile(x, [10, 50, 99]), np.percentile(x, [10, 50, 99], axis=-1).T)
    x[0, 5] = np.nan
    np.testing.assert_allclose(metrics.percentile(x, 90.0), np.nanpercentile(x, 90.0, axis=-1))


def test_load_duration_curve_by_hand():
    curve = metrics.load_duration_curve([4.0, 1.0, 3.0, 2.0, 5.0], [0.0, 0.25, 0.5, 1.0])
    np.testing.assert_allclose(curve, [5.0, 4.0, 3.0, 1.0])


@settings(deadline=None)
@given(samples(), st.randoms(use_true_random=False))
def test_load_duration_curve_ignores_order(a, random):
    shuffled = list(a)
    random.shuffle(shuffled)
    grid = np.linspace(0, 1, 11)
    np.testing.assert_array_equal(
        metrics.load_duration_curve(a, grid), metrics.load_duration_curve(shuffled, grid)
    )


def test_largest_load_duration_gap_sees_a_tail_the_mean_hides():
    flat = np.ones(1000)
    spiked = flat.copy()
    spiked[0] = 11.0
    assert metrics.load_duration_distance(flat, spiked) == pytest.approx(10.0)
    assert metrics.wasserstein(flat, spiked) == pytest.approx(0.01)


def test_density_integrates_to_the_share_inside_the_edges():
    edges = np.linspace(0.0, 2.0, 5)
    density = metrics.histogram_density([0.1, 0.6, 1.9, 5.0], edges)
    assert np.sum(density * np.diff(edges)) == pytest.approx(0.75)

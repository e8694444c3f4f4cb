"""Autocorrelation, correlation and profiles against statsmodels, NumPy and hand-computed values."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.tsa.stattools import acf

from hsmdc.errors import InputError
from hsmdc.validation import metrics
from hsmdc.validation.series import Series

MONDAY = np.datetime64("2018-01-01", "ns")


def walk(n: int, seed: int = 0) -> np.ndarray:
    return 5.0 + np.random.default_rng(seed).normal(size=n).cumsum()


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**31), st.integers(3, 200), st.integers(1, 60))
def test_autocorrelation_equals_statsmodels(seed, n, lags):
    lags = min(lags, n - 1)
    x = walk(n, seed)
    np.testing.assert_allclose(metrics.autocorrelation(x, lags), acf(x, nlags=lags, fft=False), atol=1e-10)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**31), st.integers(30, 200))
def test_autocorrelation_starts_at_one_and_never_leaves_one(seed, n):
    curve = metrics.autocorrelation(walk(n, seed), n - 1)
    assert curve[0] == pytest.approx(1.0)
    assert np.abs(curve).max() <= 1.0 + 1e-12


def test_autocorrelation_with_gaps_uses_the_pairs_that_are_there():
    x = walk(120)
    x[[3, 50, 51, 52, 90]] = np.nan
    expected = acf(x, nlags=20, adjusted=True, fft=False, missing="conservative")
    weight = (120 - np.arange(21)) / 120
    # statsmodels divides lag 0 by the samples that are there; the ratio below is 1 at lag 0 in both.
    np.testing.assert_allclose(metrics.autocorrelation(x, 20), expected * weight, atol=1e-12)


def test_autocorrelation_over_members_equals_one_by_one():
    x = np.stack([walk(100, seed) for seed in range(3)])
    together = metrics.autocorrelation(x, 10)
    for row, curve in zip(x, together, strict=True):
        np.testing.assert_allclose(metrics.autocorrelation(row, 10), curve)


def test_autocorrelation_refuses_what_has_none():
    with pytest.raises(InputError, match="constant"):
        metrics.autocorrelation(np.full(50, 7.1), 5)
    with pytest.raises(InputError, match="more than 50 samples"):
        metrics.autocorrelation(walk(50), 50)
    sparse = np.full(40, np.nan)
    sparse[[0, 10]] = 1.0, 2.0
    with pytest.raises(InputError, match="without any pair"):
        metrics.autocorrelation(sparse, 5)


def test_distances_of_curves_by_hand():
    assert metrics.rms_distance([1.0, 2.0], [1.0, 4.0]) == pytest.approx(np.sqrt(2.0))
    assert metrics.l2_distance([1.0, 2.0], [1.0, 4.0]) == pytest.approx(2.0)


def test_correlation_equals_numpy_on_shared_samples():
    x, y = walk(80, 1), walk(80, 2)
    assert metrics.correlation(x, y) == pytest.approx(np.corrcoef(x, y)[0, 1])
    x[4], y[60] = np.nan, np.nan
    both = ~np.isnan(x) & ~np.isnan(y)
    assert metrics.correlation(x, y) == pytest.approx(np.corrcoef(x[both], y[both])[0, 1])


def test_correlation_with_a_constant_is_an_error():
    with pytest.raises(InputError, match="constant"):
        metrics.correlation(walk(20), np.full(20, 3.3))
    with pytest.raises(InputError, match="at least two"):
        metrics.correlation([1.0, np.nan], [np.nan, 2.0])


def test_profiles_follow_the_clock_not_the_start_of_the_trace():
    hours = np.arange(24 * 14)
    start = MONDAY + np.timedelta64(5, "h")
    power = ((hours + 5) % 168).astype(float)
    series = Series(power, start, 3600.0)
    np.testing.assert_allclose(metrics.weekly_profile(series), np.arange(168))
    expected_day = np.arange(168).reshape(7, 24).mean(axis=0)
    np.testing.assert_allclose(metrics.diurnal_profile(series), expected_day)


def test_profile_leaves_gaps_out_and_refuses_an_empty_bin():
    power = np.tile(np.arange(24.0), 2)
    power[3] = np.nan
    series = Series(power, MONDAY, 3600.0)
    np.testing.assert_allclose(metrics.diurnal_profile(series), np.arange(24.0))
    with pytest.raises(InputError, match="no sample in bin"):
        metrics.weekly_profile(series)


def test_profile_of_labels_before_1970():
    series = Series(np.arange(48.0) % 24, np.datetime64("1968-12-30T00:00", "ns"), 3600.0)
    np.testing.assert_allclose(metrics.diurnal_profile(series), np.arange(24.0))


def test_percentiles_by_time_of_week_by_hand():
    start = MONDAY + np.timedelta64(2, "D")
    hours = np.arange(24 * 19)
    week_number = (hours + 48) // 168
    series = Series(((hours + 48) % 168) + 1000.0 * week_number, start, 3600.0)
    median = metrics.weekly_percentiles(series, [50.0], 3600.0)[0]
    slots = np.arange(168.0)
    # Three weeks; Monday and Tuesday are missing from the first, so their median is that of two weeks.
    np.testing.assert_allclose(median[48:], slots[48:] + 1000.0)
    np.testing.assert_allclose(median[:48], slots[:48] + 1500.0)


def test_percentiles_by_time_of_week_need_a_week():
    with pytest.raises(InputError, match="every time of the week"):
        metrics.weekly_percentiles(Series(np.ones(100), MONDAY, 3600.0), [50.0], 3600.0)

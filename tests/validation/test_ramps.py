"""Ramps, swings and dips against hand-computed values."""

import numpy as np
import pytest

from hsmdc.errors import InputError
from hsmdc.validation import metrics


def test_ramps_at_a_horizon_by_hand():
    x = [1.0, 4.0, 2.0, 7.0]
    np.testing.assert_allclose(metrics.ramps(x, 60.0, 60.0), [3.0, -2.0, 5.0])
    np.testing.assert_allclose(metrics.ramps(x, 60.0, 120.0), [1.0, 3.0])


@pytest.mark.parametrize("horizon_s", [0.1, 1.0, 10.0, 60.0])
def test_sub_second_horizons_fit_a_tenth_of_a_second(horizon_s):
    x = np.arange(2000.0)
    np.testing.assert_allclose(metrics.ramps(x, 0.1, horizon_s), horizon_s / 0.1)


def test_a_missing_sample_takes_both_its_ramps_along():
    change = metrics.ramps([1.0, np.nan, 2.0, 5.0], 1.0, 1.0)
    np.testing.assert_array_equal(np.isnan(change), [True, True, False])
    assert metrics.ramp_percentiles([1.0, np.nan, 2.0, 5.0], 1.0, 1.0, 50.0) == pytest.approx(3.0)


def test_ramp_distance_sees_order_that_the_marginal_does_not():
    calm = np.repeat([0.0, 1.0], 50)
    restless = np.tile([0.0, 1.0], 50)
    assert metrics.wasserstein(calm, restless) == pytest.approx(0.0)
    assert metrics.ramp_distance(calm, restless, 1.0, 1.0) == pytest.approx(98 / 99, abs=1e-12)


@pytest.mark.parametrize(
    ("horizon_s", "message"), [(90.0, "whole multiple"), (0.0, "multiple"), (600.0, "fit")]
)
def test_a_horizon_that_does_not_fit_is_an_error(horizon_s, message):
    with pytest.raises(InputError, match=message):
        metrics.ramps(np.ones(10), 60.0, horizon_s)


def test_swing_by_window():
    x = np.concatenate([np.linspace(0.0, 1.0, 101), np.full(101, 3.0), [9.0]])
    np.testing.assert_allclose(metrics.swing(x, 1.0, 101.0), [0.98, 0.0])


def test_dip_depth_by_window_and_member():
    x = np.full((2, 20), 10.0)
    x[0, 3], x[1, 15] = 2.5, 9.0
    np.testing.assert_allclose(metrics.dip_depth(x, 0.1, 1.0), [[0.75, 0.0], [0.0, 0.1]])


def test_dip_depth_needs_load():
    with pytest.raises(InputError, match="positive median"):
        metrics.dip_depth(np.zeros(10), 0.1, 1.0)

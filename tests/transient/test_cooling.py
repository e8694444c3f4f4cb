"""Cooling inside a minute: the exact lag, against the lag's own kernel at the finer step."""

import numpy as np
import pytest
import xarray as xr

import hsmdc
from hsmdc.kernels.cooling import first_order_lag
from hsmdc.transient.finelag import FineLag
from hsmdc.transient.meancurve import MeanCurve


@pytest.mark.parametrize("dead_time_s", [0.0, 60.0, 90.0, 100.3])
@pytest.mark.parametrize("step_s", [0.5, 4.0])
def test_shape_is_the_lag_at_the_finer_step(dead_time_s: float, step_s: float) -> None:
    drive = np.random.default_rng(3).uniform(2.0, 7.0, 40)
    per_minute = round(60 / step_s)
    fine = np.empty(40 * per_minute)
    first_order_lag(np.repeat(drive, per_minute), step_s, 300.0, dead_time_s, drive[0], fine)
    lag = FineLag(drive, 60.0, step_s, 300.0, dead_time_s, instant=False)
    minutes = fine.reshape(40, -1)
    expected = minutes / minutes.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(lag.shape(0, 40), expected, rtol=1e-11)
    np.testing.assert_array_equal(lag.shape(7, 9), lag.shape(0, 40)[7:9])


def test_instants_run_into_one_another() -> None:
    """The state has no jumps, whatever the input does."""
    drive = np.repeat([2.0, 7.0], 10)
    lag = FineLag(drive, 60.0, 0.1, 300.0, 90.0, instant=True)
    means = np.empty(20)
    first_order_lag(drive, 60.0, 300.0, 90.0, drive[0], means)
    values = (lag.shape(0, 20) * means[:, None]).ravel()
    assert np.abs(np.diff(values)).max() < 5.0 * 0.1 / 300.0


def test_no_load_gives_no_shape() -> None:
    np.testing.assert_array_equal(
        FineLag(np.zeros(3), 60.0, 1.0, 300.0, 90.0, instant=False).shape(0, 3), 1.0
    )


def test_ripple_within_the_minute_does_not_reach_the_chiller(small_trace: xr.Dataset) -> None:
    """The window's own IT power through the lag at the fine step moves cooling by less than 3 % of the ripple."""
    window = hsmdc.resolve(small_trace, step="500ms", duration="1h", minutes="trace")
    it_mw = window["it_power"].values
    held = np.repeat(small_trace["it_power"].values[:60], 120)
    exact, minutes = np.empty(it_mw.size), np.empty(it_mw.size)
    for drive, out in ((it_mw, exact), (held, minutes)):
        first_order_lag(drive, 0.5, 300.0, 90.0, held[0], out)
    assert np.abs(exact - minutes).max() < 0.03 * np.abs(it_mw - held).max()


@pytest.mark.parametrize("steps", [1, 7, 600])
def test_mean_curve_has_its_means_and_no_seams(steps: int) -> None:
    means = np.random.default_rng(1).standard_normal(9)
    curve = MeanCurve(steps, instant=False).values(means[0], means[1:-1], means[-1])
    np.testing.assert_allclose(curve.mean(axis=1), means[1:-1], rtol=0, atol=1e-13)
    points = MeanCurve(1000, instant=True).values(means[0], means[1:-1], means[-1])
    assert np.abs(np.diff(points.ravel())).max() < 0.012 * np.abs(np.diff(means)).max() * 2

"""A resolved day keeps the law of the trace's minutes."""

import math

import numpy as np
import pytest
import xarray as xr

import hsmdc
from hsmdc.config import Config, load_config

SIGMA_MW, DECORRELATION_MIN = 0.065, 5.0


@pytest.fixture(scope="module")
def site() -> Config:
    return load_config(
        {"base": "paper", "residual": {"sigma_mw": SIGMA_MW, "decorrelation_min": DECORRELATION_MIN}}
    )


@pytest.fixture(scope="module")
def day(site: Config) -> xr.Dataset:
    return hsmdc.simulate(site, base_rate=1.5, duration="1D", seed=4)


@pytest.fixture(scope="module")
def unit_residual(site: Config, day: xr.Dataset) -> np.ndarray:
    """The residual of the resolved day's minute means in its own standard deviations."""
    window = hsmdc.resolve(day, step="100ms")
    minutes = window["it_power"].values.reshape(-1, 600).mean(axis=1)
    busy = day["busy_nodes"].values
    affine = (site.site.nodes * site.site.idle_w + busy * (site.site.busy_w - site.site.idle_w)) * 1e-6
    ceiling = site.site.saturation * site.site.rated_mw
    assert (affine + 4 * SIGMA_MW < ceiling).all(), "the day must stay clear of the ceiling"
    return np.asarray((minutes - affine) / (SIGMA_MW * np.sqrt(busy / site.site.nodes)))


def test_energy_of_the_day(day: xr.Dataset) -> None:
    for minutes in ("trace", "free"):
        window = hsmdc.resolve(day, step="1s", minutes=minutes)
        error = float(window["it_power"].mean() / day["it_power"].mean()) - 1.0
        assert abs(error) < (1e-12 if minutes == "trace" else 1e-3)


@pytest.mark.statistical
def test_variance_of_the_minutes(unit_residual: np.ndarray) -> None:
    """An AR(1) of n samples has a variance estimate with Var = 2/n·(1 + φ²)/(1 − φ²); 4 sigma (6e-5)."""
    phi = math.exp(-1.0 / DECORRELATION_MIN)
    error = math.sqrt(2.0 / unit_residual.size * (1 + phi**2) / (1 - phi**2))
    assert abs(np.mean(unit_residual**2) - 1.0) < 4 * error


@pytest.mark.statistical
def test_decorrelation_time_of_the_minutes(unit_residual: np.ndarray) -> None:
    phi = math.exp(-1.0 / DECORRELATION_MIN)
    found = np.sum(unit_residual[1:] * unit_residual[:-1]) / np.sum(unit_residual**2)
    assert abs(found - phi) < 4 * math.sqrt((1 - phi**2) / unit_residual.size)


def test_without_a_residual_the_nodes_make_the_minutes(day: xr.Dataset) -> None:
    """`auto` follows the configuration: no residual, nothing to keep to."""
    plain = hsmdc.simulate("paper", base_rate=1.5, duration="3h", seed=4)
    auto = hsmdc.resolve(plain, step="1s")
    assert auto.attrs["resolved_minutes"] == "free"
    assert hsmdc.resolve(day, step="1s", duration="1min").attrs["resolved_minutes"] == "trace"
    scatter = auto["it_power"].values.reshape(-1, 60).mean(axis=1) - plain["it_power"].values
    assert 0.002 < scatter.std() < 0.1


@pytest.mark.parametrize("step", ["100ms", "1s", "20s", "60s"])
def test_busy_and_queued_are_those_of_the_minutes(day: xr.Dataset, step: str) -> None:
    window = hsmdc.resolve(day, start="2018-01-01T09:00", duration="2h", step=step)
    minutes = day.sel(time=slice("2018-01-01T09:00", "2018-01-01T10:59"))
    for name in ("busy_nodes", "queued_jobs"):
        means = window[name].values.reshape(120, -1).mean(axis=1)
        np.testing.assert_allclose(means, minutes[name], rtol=0, atol=1e-9)


def test_a_trace_that_meets_its_ceiling_keeps_its_minutes(day: xr.Dataset) -> None:
    """Without a residual, too: free nodes know of no ceiling and would draw more than the trace says."""
    low = {"base": "paper", "residual": {"sigma_mw": 0.0}, "site": {"saturation": 0.2}}
    clipped = hsmdc.simulate(load_config(low), base_rate=1.5, duration="1D", seed=4)
    assert clipped["it_power"].values.max() == pytest.approx(2.0)
    assert day["it_power"].values.max() > 2.5
    window = hsmdc.resolve(clipped, start="2018-01-01T15:00", duration="3h", step="1s")
    assert window.attrs["resolved_minutes"] == "trace"
    minutes = window["it_power"].values.reshape(-1, 60).mean(axis=1)
    np.testing.assert_allclose(minutes, clipped["it_power"].values[15 * 60 : 18 * 60], rtol=1e-12)

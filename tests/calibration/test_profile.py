"""`fit_profile`: recovers a known site, reproduces the shipped preset, and refuses what it cannot use."""

import dataclasses

import numpy as np
import pytest
import xarray as xr

from hsmdc import laws, simulate
from hsmdc.calibration import fit_profile
from hsmdc.calibration.fluid import FluidModel, fit_fluid
from hsmdc.calibration.profile import _exponential_nodes, _hourly_means, user_reference
from hsmdc.config import load_config
from hsmdc.errors import CalibrationError, InputError
from hsmdc.kernels.fluid import fluid_fifo
from hsmdc.validation import load_reference
from hsmdc.validation.references import reference_from_series

NLR = "nlr-colocation-10mw"


def plain_fluid(inflow: np.ndarray, survival: np.ndarray, capacity: float) -> np.ndarray:
    """The fluid queue, one step and one age at a time."""
    started, busy, waiting = [], [], 0.0
    for step, arriving in enumerate(inflow):
        held = sum(started[step - age] * survival[age] for age in range(1, min(len(survival), step + 1)))
        waiting += arriving
        begins = min(waiting, max(capacity - held, 0.0))
        waiting -= begins
        started.append(begins)
        busy.append(held + begins)
    return np.array(busy)


def test_the_fluid_kernel_equals_plain_python() -> None:
    r = np.random.default_rng(0)
    inflow = r.exponential(30.0, 600)
    survival = np.exp(-np.arange(37) / 9.0)
    for capacity in (1e9, 320.0, 150.0):
        ours = np.empty(600)
        fluid_fifo(inflow, survival, capacity, ours)
        np.testing.assert_allclose(ours, plain_fluid(inflow, survival, capacity), rtol=1e-10)


def test_the_fluid_is_what_the_simulated_facility_wanders_about() -> None:
    config = load_config(NLR)
    trace = simulate({"base": NLR, "residual": {"sigma_mw": 0.0}}, utilization=0.6, duration="56D", seed=0)
    offered = trace.attrs["base_rate"] * laws.node_ticks_per_event(config.arrivals.batch, config.jobs)
    duration = config.jobs.duration
    unknowns = np.concatenate(
        [
            np.log(offered * np.array(config.arrivals.hour_of_week) / np.mean(config.arrivals.hour_of_week)),
            np.log(np.array(config.arrivals.week_of_year)) - np.log(np.mean(config.arrivals.week_of_year)),
            [np.log(duration.median_h), np.log(duration.sigma)],
        ]
    )
    busy, _ = FluidModel(np.datetime64("2018-01-01T00:00"), 56 * 24, 2840.0).busy(unknowns)
    hourly = trace["busy_nodes"].values.reshape(-1, 60).mean(axis=1)
    fluid = busy.reshape(-1, 6).mean(axis=1)
    assert np.corrcoef(hourly, fluid)[0, 1] > 0.99
    assert abs(hourly.mean() - fluid.mean()) < 0.01 * 2840


@pytest.fixture(scope="module")
def known_site() -> tuple[xr.Dataset, dict]:
    hour = np.arange(168)
    truth = {
        "base": "paper",
        "name": "known",
        "arrivals": {
            "interpolation": "linear",
            "hour_of_day": None,
            "day_of_week": None,
            "month": None,
            "annual_amplitude": 0.0,
            "hour_of_week": (
                1.0 + 0.5 * np.sin(2 * np.pi * hour / 24) + 0.2 * np.cos(2 * np.pi * hour / 168)
            ).tolist(),
            "batch": {"law": "geometric", "mean": 1.0},
        },
        "jobs": {
            "nodes": {"law": "exponential", "linear": 1.5, "quadratic": -0.5},
            "duration": {"median_h": 2.0, "sigma": 0.5, "long_fraction": 0.0, "longest_h": 24.0},
        },
        "scheduler": {"spin_up_days": 2.0},
    }
    return simulate(truth, utilization=0.5, duration="84D", seed=5), truth


@pytest.mark.slow
@pytest.mark.statistical
def test_recovers_a_known_site(known_site) -> None:
    trace, truth = known_site
    power = trace["it_power"].resample(time="1h").mean()
    jobs_per_day = float((trace["job_arrival"] >= 0).sum()) / 84
    reference = user_reference(
        reference_from_series(power, name="known", utilization=0.5), trace.attrs["occupancy"], jobs_per_day
    )
    fit = fit_profile({"base": "paper", "residual": {"sigma_mw": 0.05}}, reference)
    # Hourly power says nothing of the minutes, and this site did not begin empty: both stay those of the base.
    assert fit.config.residual.sigma_mw == 0.05
    assert fit.config.scheduler == load_config("paper").scheduler
    jobs, wanted = fit.config.jobs, load_config(truth).jobs
    # Node-hours per job are exact by construction; mean duration is what hourly data can tell.
    assert fit.record["mean_nodes"] * fit.record["mean_duration_h"] == pytest.approx(
        trace.attrs["occupancy"] * 2840 * 24 / jobs_per_day, rel=1e-3
    )
    assert fit.record["mean_duration_h"] == pytest.approx(
        laws.duration_law(wanted.duration).moment() / 60, rel=0.35
    )
    assert jobs.duration.long_fraction == 0.0
    profile = np.array(fit.config.arrivals.hour_of_week)
    shape = np.array(truth["arrivals"]["hour_of_week"])
    assert np.corrcoef(profile, shape)[0, 1] > 0.95
    again = (
        simulate(fit.config, utilization=0.5, duration="84D", seed=6)["it_power"].resample(time="1h").mean()
    )
    assert float(again.std()) == pytest.approx(float(power.std()), rel=0.05)
    assert np.corrcoef(again.values, power.values)[0, 1] > 0.9


@pytest.mark.slow
@pytest.mark.golden
def test_the_shipped_preset_is_what_the_command_finds() -> None:
    """Regenerate: hsmdc calibrate profile --reference nlr-colocation-10mw --force
    -o hsmdc/presets/nlr-colocation-10mw.toml"""
    found = fit_profile("paper", load_reference(NLR)).config
    shipped = load_config(NLR)
    # The least squares stop at a relative cost change of 1e-4, so last digits depend on the processor's rounding.
    np.testing.assert_allclose(found.arrivals.week_of_year, shipped.arrivals.week_of_year, rtol=0.02)
    np.testing.assert_allclose(
        found.arrivals.hour_of_week, shipped.arrivals.hour_of_week, rtol=0.1, atol=0.05
    )
    assert found.jobs.duration.median_h == pytest.approx(shipped.jobs.duration.median_h, rel=0.05)
    assert found.site == shipped.site
    assert found.scheduler == shipped.scheduler
    assert shipped.scheduler.spin_up_days == 0  # the reference began empty
    assert found.residual.sigma_mw == pytest.approx(shipped.residual.sigma_mw, rel=0.03)


@pytest.mark.parametrize(("mean", "dispersion"), [(4.3, 4.0), (3.0, 6.0), (20.0, 60.0), (4.0, 500.0)])
def test_node_laws_have_their_mean_and_as_near_a_spread_as_there_is(mean: float, dispersion: float) -> None:
    law = laws.nodes_law(_exponential_nodes(mean, dispersion))
    assert law.moment() == pytest.approx(mean, rel=1e-4)
    spread = law.moment(2) / law.moment()
    least, most = 1.3 * mean, 20 * mean
    if least < dispersion < most:
        assert spread == pytest.approx(dispersion, rel=1e-3)
    else:
        assert (spread > dispersion) == (dispersion <= least)


def test_a_reference_without_what_is_needed_is_refused() -> None:
    hours = xr.DataArray(
        np.full(168 * 9, 3.0),
        coords={"time": np.datetime64("2018-01-01", "ns") + np.arange(168 * 9) * np.timedelta64(1, "h")},
        dims="time",
        name="it_power",
    )
    bare = reference_from_series(hours, name="bare", utilization=0.5)
    with pytest.raises(InputError, match="does not say jobs_per_day"):
        fit_profile("paper", bare)
    unplaced = reference_from_series(hours, name="unplaced")
    with pytest.raises(InputError, match="does not say occupancy"):
        fit_profile("paper", user_reference(unplaced, None, 100.0))
    short = reference_from_series(hours[:500], name="short", utilization=0.5)
    with pytest.raises(InputError, match="at least eight weeks"):
        fit_profile("paper", user_reference(short, 0.5, 100.0))
    with pytest.raises(InputError, match=r"occupancy = 1\.5"):
        user_reference(bare, 1.5, 100.0)
    with pytest.raises(InputError, match="jobs_per_day = -1"):
        user_reference(bare, 0.5, -1.0)
    with pytest.raises(InputError, match="has its own occupancy"):
        user_reference(load_reference(NLR), 0.5, None)
    without = dataclasses.replace(load_reference(NLR), series={})
    with pytest.raises(InputError, match="no power series"):
        fit_profile("paper", without)


def site_hours(weeks: int, occupancy: float = 0.5, start: str = "2018-01-01") -> xr.DataArray:
    """Power of a facility of the configuration "paper" with a daily and a weekly wave."""
    site = load_config("paper").site
    hour = np.arange(weeks * 168)
    share = occupancy + 0.2 * np.sin(2 * np.pi * hour / 24) + 0.1 * np.sin(2 * np.pi * hour / 168)
    power = site.nodes * (site.idle_w + share * (site.busy_w - site.idle_w)) * 1e-6
    times = np.datetime64(start, "ns") + hour * np.timedelta64(1, "h")
    return xr.DataArray(power, coords={"time": times}, dims="time", name="it_power", attrs={"units": "MW"})


@pytest.mark.parametrize("given", [0.4, 0.6])
def test_an_occupancy_that_the_power_contradicts_is_refused(given: float) -> None:
    reference = reference_from_series(site_hours(9), name="odd", utilization=given)
    with pytest.raises(CalibrationError, match=r"says that 0\.500 of the nodes are busy.*--occupancy"):
        fit_profile("paper", user_reference(reference, given, 3000.0))


def test_gaps_keep_their_place_in_the_week() -> None:
    whole = site_hours(10)
    cut = np.r_[0:200, 260 : whole.size]
    hourly = _hourly_means(whole.isel(time=cut))
    assert np.isnan(hourly[200:260]).all()
    np.testing.assert_array_equal(hourly[cut], whole.values[cut])
    quarters = whole.isel(time=np.repeat(np.arange(whole.size), 4))
    times = whole["time"].values[0] + np.arange(quarters.size) * np.timedelta64(15, "m")
    np.testing.assert_allclose(_hourly_means(quarters.assign_coords(time=times)), whole.values)


def test_an_hour_of_the_week_that_is_never_seen_is_refused() -> None:
    whole = site_hours(10)
    with pytest.raises(InputError, match="no power at hour 5 after its start in any week"):
        _hourly_means(whole.where((np.arange(whole.size) % 168) != 5))


def test_weeks_without_data_are_like_the_others() -> None:
    """Load that falls through ten weeks says nothing of the other forty-two."""
    hour = np.arange(10 * 168)
    falling = 600.0 - 0.1 * hour + 150.0 * np.sin(2 * np.pi * hour / 24)
    fit = fit_fluid(np.datetime64("2018-01-01T00:00"), falling, 2840.0, None)
    weeks = fit.week_of_year / fit.week_of_year.mean()
    assert weeks[0] > 1.1
    np.testing.assert_allclose(weeks[14:50], 1.0, atol=0.05)

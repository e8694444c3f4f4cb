"""Monte Carlo years: members that depend on nothing but the seed and their number, and the figures kept of each."""

import warnings

import numpy as np
import pytest
import xarray as xr

import hsmdc
import hsmdc.config
from hsmdc.errors import ConfigError, InputError
from hsmdc.montecarlo import EXCEEDANCE, member_seed

NLR = "nlr-colocation-10mw"
RUN = {"base_rate": 6.0, "start": "2018-03-01", "duration": "4D", "seed": 3}


@pytest.fixture(scope="module")
def three() -> xr.Dataset:
    return hsmdc.ensemble(NLR, members=3, **RUN)


def resimulated(member: xr.Dataset) -> xr.Dataset:
    """The trace of a member, by its own seed."""
    seed = int(member["seed"])
    return hsmdc.simulate(NLR, base_rate=6.0, start="2018-03-01", duration="4D", seed=seed)


def test_more_members_change_none(three: xr.Dataset) -> None:
    five = hsmdc.ensemble(NLR, members=5, **RUN)
    xr.testing.assert_identical(five.isel(member=slice(3)).drop_attrs(), three.drop_attrs())


def test_threads_change_no_bit(three: xr.Dataset) -> None:
    xr.testing.assert_identical(hsmdc.ensemble(NLR, members=3, threads=2, **RUN), three)


def test_a_cluster_changes_no_bit(three: xr.Dataset) -> None:
    distributed = pytest.importorskip("distributed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of dask's own, on what the machine lacks
        cluster = distributed.LocalCluster(
            processes=False, n_workers=1, threads_per_worker=2, dashboard_address=None
        )
        with cluster, distributed.Client(cluster) as client:
            found = hsmdc.ensemble(NLR, members=3, client=client, **RUN)
    xr.testing.assert_identical(found, three)


def test_member_seeds_are_distinct_over_members_and_seeds() -> None:
    seeds = {member_seed(seed, member) for seed in (0, 1, 2, 2**64 - 1) for member in range(1000)}
    assert len(seeds) == 4000
    assert all(0 <= seed < 2**64 for seed in seeds)


def test_the_figures_are_those_of_the_members_trace(three: xr.Dataset) -> None:
    member = three.isel(member=1)
    trace = resimulated(member)
    assert float(member["occupancy"]) == trace.attrs["occupancy"]
    for name in ("it", "facility"):
        power = trace[f"{name}_power"].values
        np.testing.assert_array_equal(
            member[f"{name}_load_duration"], np.quantile(power, 1.0 - EXCEEDANCE), strict=False
        )
        assert float(member[f"{name}_mean"]) == power.mean()
        assert float(member[f"{name}_peak"]) == power.max()
        assert float(member[f"{name}_std"]) == power.std()
        assert float(member[f"{name}_energy"]) == pytest.approx(power.sum() / 60, rel=1e-15)
        assert float(member[f"{name}_load_factor"]) == power.mean() / power.max()
        for minutes in (1, 10, 60):
            ramps = power[minutes:] - power[:-minutes]
            assert float(member[f"{name}_steepest_rise_{minutes}min"]) == ramps.max()
            assert float(member[f"{name}_steepest_fall_{minutes}min"]) == ramps.min()


def test_load_duration_curves_fall_from_the_peak(three: xr.Dataset) -> None:
    curves = three["facility_load_duration"]
    assert (curves.diff("exceedance") <= 0).all()
    np.testing.assert_array_equal(curves.sel(exceedance=0.0), three["facility_peak"])


def test_one_base_rate_found_on_the_first_member_lets_the_occupancy_vary() -> None:
    run = {"start": "2018-03-01", "duration": "4D", "seed": 3}
    found = hsmdc.ensemble(NLR, members=6, utilization=0.4, **run)
    assert abs(float(found["occupancy"][0]) - 0.4) <= 0.0005
    assert len(np.unique(found["occupancy"])) == 6
    again = hsmdc.ensemble(NLR, members=6, base_rate=found.attrs["base_rate"], **run)
    xr.testing.assert_identical(again, found)


def test_it_says_what_it_ran(three: xr.Dataset) -> None:
    assert three.attrs["base_rate"] == 6.0
    assert three.attrs["seed"] == "3"
    assert three.attrs["minutes"] == 4 * 1440
    assert hsmdc.config.from_toml(three.attrs["config"]) == hsmdc.load_config(NLR)


def test_progress_counts_the_members() -> None:
    ticks: list[tuple[float, float]] = []
    hsmdc.ensemble(NLR, members=3, progress=lambda done, total: ticks.append((done, total)), **RUN)
    assert ticks == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"members": 0}, "members = 0 must be 1 or more"),
        ({"threads": 0}, "threads = 0 must be 1 or more"),
        ({"base_rate": float("nan")}, "base_rate = nan must be a positive number"),
        ({"base_rate": float("inf")}, "base_rate = inf must be a positive number"),
        ({"base_rate": None}, "has no arrivals.base_rate"),
        ({"utilization": 0.5}, "utilization and base_rate were given together"),
        ({"base_rate": None, "utilization": 1.0}, "must lie between 0 and 1"),
        ({"seed": -1}, "seed = -1 must be a whole number"),
        ({"duration": "0D"}, "longer than zero"),
    ],
)
def test_wrong_arguments_are_one_clear_error(arguments: dict, words: str) -> None:
    with pytest.raises(InputError, match=words):
        hsmdc.ensemble(NLR, **{"members": 2, **RUN, **arguments})


def test_an_unknown_preset_is_a_config_error() -> None:
    with pytest.raises(ConfigError, match="did you mean"):
        hsmdc.ensemble("nlr-colocation", members=1, base_rate=1.0)

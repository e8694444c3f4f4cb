"""Synthetic traces of a known law, so that scores can be checked without a simulator."""

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest
import xarray as xr

from hsmdc.validation import Reference, load_reference

MakeTrace = Callable[..., xr.Dataset]


@pytest.fixture(scope="session")
def nlr() -> Reference:
    return load_reference("nlr-colocation-10mw")


@pytest.fixture(scope="session")
def nlr_short(nlr: Reference) -> Reference:
    """The reference as if its table were of three days, so that short traces may be held against it."""
    return dataclasses.replace(nlr, days=3)


@pytest.fixture(scope="session")
def make_trace(nlr: Reference) -> MakeTrace:
    """Minutes that repeat the reference's own hours, with noise and an invented job table."""
    hours = nlr.series[0.6]

    def make(utilization: float = 0.6, seed: int = 1, *, days: int = 365, jobs: bool = True) -> xr.Dataset:
        rng = np.random.default_rng(seed)
        minutes = days * 1440
        power = np.repeat(hours.values[: days * 24], 60) + 0.05 * rng.standard_normal(minutes)
        times = np.datetime64("2018-01-01", "ns") + np.arange(minutes) * np.timedelta64(60, "s")
        trace = xr.Dataset(
            {"it_power": ("time", power)},
            coords={"time": times},
            attrs={"utilization": utilization, "seed": str(seed)},
        )
        return trace.assign(_job_table(rng, days)) if jobs else trace

    return make


def _job_table(rng: np.random.Generator, days: int) -> dict[str, tuple[str, np.ndarray]]:
    count = 200 * days
    arrival = np.sort(rng.integers(0, days * 1440, count)) * 60.0
    wait = np.where(rng.random(count) < 0.4486, rng.exponential(2.58 * 60, count).round() * 60.0, 0.0)
    return {
        "job_arrival": ("job", arrival),
        "job_start": ("job", arrival + wait),
        "job_end": ("job", arrival + wait + 3600.0),
        "job_nodes": ("job", rng.integers(1, 9, count)),
    }

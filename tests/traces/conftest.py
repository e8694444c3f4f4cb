"""A small trace with every variable, of any length and step."""

from collections.abc import Callable

import numpy as np
import pytest
import xarray as xr

from hsmdc.traces import trace_dataset


def make_trace(
    steps: int = 1000,
    *,
    first: int = 0,
    step_s: float = 60.0,
    start: str = "2018-01-01",
    dtype: str = "float64",
    jobs: bool = True,
) -> xr.Dataset:
    """Steps first … first + steps of one long trace: any cut of it has the same values."""
    i = np.arange(first, first + steps)
    it_power = (4.0 + np.sin(i / 50.0) + 0.01 * np.cos(i * 1.7)).astype(dtype)
    label = np.datetime64(start, "ns") + np.timedelta64(round(first * step_s * 1e9), "ns")
    table = {
        "job_arrival": np.array([-120.0, 0.0, 30.5]),
        "job_start": np.array([-60.0, 0.0, np.nan]),
        "job_end": np.array([600.0, np.nan, np.nan]),
        "job_nodes": np.array([1, 16, 256], dtype=np.int32),
    }
    return trace_dataset(
        start=label,
        step_s=step_s,
        series={
            "it_power": it_power,
            "hvac_power": 0.12 * it_power,
            "chiller_power": 0.18 * it_power,
            "auxiliary_power": np.full(steps, 0.5, dtype=dtype),
            "busy_nodes": i % 2840,
            "queued_jobs": i % 7,
            "ambient_temperature": 12.0 + i % 5,
        },
        jobs=table if jobs else None,
        attrs={"seed": 0, "base_rate": 2.25, "config": 'name = "λ0"\n', "unset": None},
    )


@pytest.fixture
def trace() -> Callable[..., xr.Dataset]:
    return make_trace

"""Traces with a few jobs, built by hand, for tests of the sub-second engine."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest
import xarray as xr

from hsmdc.config import Config, load_config, to_toml
from hsmdc.traces import trace_dataset

MakeTrace = Callable[..., xr.Dataset]


@pytest.fixture(scope="session")
def config() -> Config:
    return load_config("paper")


@pytest.fixture(scope="session")
def make_trace(config: Config) -> MakeTrace:
    """A trace of whole minutes from jobs (start_s, end_s, nodes); NaN for an end not reached."""

    def make(
        jobs: Sequence[tuple[float, float, int]], minutes: int, *, config: Config = config,
        residual_mw: np.ndarray | None = None, seed: int = 7,
    ) -> xr.Dataset:  # fmt: skip
        site = config.site
        start, end, nodes = (np.array(column) for column in zip(*jobs, strict=True))
        edges = 60.0 * np.arange(minutes + 1)
        until = np.nan_to_num(end, nan=1e12)
        busy = sum(
            n * np.diff(np.clip(edges, a, b)) / 60.0 for a, b, n in zip(start, until, nodes, strict=True)
        )
        it_mw = (site.nodes * site.idle_w + busy * (site.busy_w - site.idle_w)) * 1e-6
        if residual_mw is not None:
            it_mw = it_mw + residual_mw
        flat = np.ones(minutes)
        series = {
            "it_power": it_mw, "hvac_power": 0.12 * it_mw, "chiller_power": 0.18 * it_mw,
            "auxiliary_power": 0.5 * flat, "busy_nodes": busy, "queued_jobs": 0 * flat,
            "ambient_temperature": 12.0 * flat,
        }  # fmt: skip
        table = {"job_arrival": start - 5.0, "job_start": start, "job_end": end, "job_nodes": nodes}
        return trace_dataset(
            start=np.datetime64("2018-07-04T00:00"), step_s=60.0, series=series, jobs=table,
            attrs={"seed": str(seed), "config": to_toml(config)},
        )  # fmt: skip

    return make


@pytest.fixture(scope="session")
def small_trace(make_trace: MakeTrace) -> xr.Dataset:
    """Two hours; jobs that began before, begin or end on and off the minute, and outlast the trace."""
    jobs = [
        (-3000.0, 4200.0, 64), (-60.0, np.nan, 3), (0.0, 1800.0, 16), (600.0, 6000.0, 200), (1234.0, 3333.0, 2),
        (1800.0, 1860.0, 1), (3600.0, np.nan, 32), (5400.5, 5400.75, 8), (7140.0, np.nan, 5),
    ]  # fmt: skip
    residual = 0.05 * np.random.default_rng(1).standard_normal(120)
    return make_trace(jobs, 120, residual_mw=residual)

"""The sub-second engine beside a vectorised NumPy stepper of every node.

Run with `pytest benchmarks/test_transient.py`. Times are cpu seconds of one thread; `extra_info` of the stored
results holds simulated seconds per cpu second and nanoseconds per transition. A facility of 2840 nodes, 60 % busy.
"""

import time
from typing import Any

import numpy as np
import pytest
import xarray as xr

import hsmdc
from hsmdc.config import Config, load_config
from hsmdc.kernels.aggregate import deposit
from hsmdc.kernels.chain import STATE, advance
from hsmdc.nodes import NodeTables, node_tables, stationary_law
from hsmdc.transient.blocks import grid_of, make_units, placed_jobs

STEP_S = 0.1
BUSY_NODES = 1704


@pytest.fixture(scope="module")
def config() -> Config:
    return load_config("nlr-colocation-10mw")


@pytest.fixture(scope="module")
def week(config: Config) -> xr.Dataset:
    return hsmdc.simulate(config, utilization=0.6, duration="7D", seed=1)


@pytest.fixture(scope="module")
def day(week: xr.Dataset) -> xr.Dataset:
    """The day of the week whose mean occupancy is nearest to 60 %."""
    by_day = week["busy_nodes"].values.reshape(7, 1440).mean(axis=1)
    nearest = int(np.abs(by_day - BUSY_NODES).argmin())
    window = week["time"].values[nearest * 1440]
    return week.assign_attrs(chosen_start=str(window), chosen_share=by_day[nearest] / 2840)


@pytest.mark.benchmark(group="simulated seconds at 0.1 s", timer=time.process_time, min_rounds=3)
@pytest.mark.parametrize("synchrony", ["job", "node"])
def test_stream_a_day(benchmark: Any, day: xr.Dataset, synchrony: str) -> None:
    window = {"start": day.attrs["chosen_start"], "duration": "1D", "synchrony": synchrony}

    def run() -> None:
        for _ in hsmdc.stream(day, chunk="1h", **window):
            pass

    benchmark(run)
    benchmark.extra_info["simulated_s_per_cpu_s"] = 86400 / benchmark.stats["median"]
    benchmark.extra_info["busy_share"] = day.attrs["chosen_share"]


@pytest.mark.benchmark(group="simulated seconds at 0.1 s", timer=time.process_time, min_rounds=3)
def test_numpy_stepper_two_minutes(benchmark: Any, config: Config) -> None:
    benchmark(step_every_node, config, BUSY_NODES, 1200)
    benchmark.extra_info["simulated_s_per_cpu_s"] = 120 / benchmark.stats["median"]


@pytest.mark.benchmark(group="a window of ten minutes", min_rounds=3)
def test_short_window(benchmark: Any, day: xr.Dataset) -> None:
    benchmark(hsmdc.resolve, day, start=day.attrs["chosen_start"], duration="10min")


@pytest.mark.benchmark(group="transitions", timer=time.process_time, min_rounds=5)
@pytest.mark.parametrize("per_node", [False, True], ids=["jobs", "nodes"])
def test_transitions(benchmark: Any, config: Config, per_node: bool) -> None:
    tables = node_tables(config.node, config.site)._replace(per_node=per_node)
    units, steps, bins, expected = prepared(tables)
    transitions = 0

    def restart() -> tuple[tuple[Any, ...], dict[str, Any]]:
        return (units.copy(),), {}

    def run(moved: np.ndarray) -> None:
        nonlocal transitions
        deposit(
            moved, tables.states, tables.means, np.zeros(5, STATE), 0, steps * 10**8, 10**8, False, bins,
            60 * 10**9, expected,
        )  # fmt: skip
        transitions = int(moved["entries"].sum() - units["entries"].sum())

    benchmark.pedantic(run, setup=restart, rounds=10, warmup_rounds=1)
    benchmark.extra_info["ns_per_transition"] = benchmark.stats["median"] / transitions * 1e9


def prepared(tables: NodeTables) -> tuple[np.ndarray, int, np.ndarray, np.ndarray]:
    """About 560 jobs of the preset's sizes, walked to zero, and one empty block."""
    nodes = np.repeat([1, 2, 4, 8, 16, 32], [250, 140, 90, 50, 22, 8])
    begin = -np.linspace(10.0, 3600.0, len(nodes))
    jobs = placed_jobs(begin, np.full(len(nodes), np.nan), nodes, np.zeros(len(nodes), np.int64))
    units = make_units(jobs.records(slice(None), tables.phases, 1), tables, 1)
    advance(units, tables.states, 0)
    grid = grid_of(10**8, 60 * 10**9, tables.theta_per_s)
    bins = np.zeros((grid.block_steps + 1, 2), np.int64)
    return units, grid.block_steps, bins, np.zeros(grid.block_intervals + 1, np.int64)


def step_every_node(config: Config, nodes: int, steps: int) -> np.ndarray:
    """The usual way: every node, every step, as arrays over nodes."""
    rng = np.random.default_rng(1)
    workload = config.node.mix[0].workload
    law = stationary_law(workload, config.site)
    edges = np.cumsum(np.array(workload.transitions), axis=1)
    low, high = np.array([s.sojourn_s for s in workload.states]).T
    sign = np.array([1.0, 1.0, 0.0, -1.0, -1.0])
    from_, to = np.array([s.deviation for s in workload.states]).T
    noise = law.mean_w * np.array([s.noise for s in workload.states])
    keep = np.exp(-config.node.theta_per_s * STEP_S)
    kick = np.sqrt((1.0 - keep**2) / (2.0 * config.node.theta_per_s))
    state = rng.choice(5, nodes, p=law.time_share)
    left = rng.uniform(0.0, high[state])
    power = law.level_w[state]
    xi = np.zeros(nodes)
    total = np.empty(steps)
    for k in range(steps):
        left -= STEP_S
        moved = np.flatnonzero(left <= 0.0)
        picks = rng.random(len(moved))
        following = (picks[:, None] > edges[state[moved]]).sum(axis=1)
        state[moved] = following
        left[moved] += rng.uniform(low[following], high[following])
        power[moved] = law.mean_w * (
            1.0 - law.offset + sign[following] * rng.uniform(from_[following], to[following])
        )
        xi = keep * xi + noise[state] * kick * rng.standard_normal(nodes)
        total[k] = power.sum() + xi.sum()
    return total

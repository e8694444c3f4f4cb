"""One busy node, moment by moment."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hsmdc.blocks import NodeBlocks, grid_of, job_records, make_units
from hsmdc.config import Config, load_config, to_toml
from hsmdc.config.node import JobClass, NodeLayer, workload_names
from hsmdc.errors import InputError
from hsmdc.kernels import rng
from hsmdc.kernels.chain import NS_PER_S, STATE, STATES, path, scale_rows
from hsmdc.nodes import NodeTables, node_tables
from hsmdc.resolution import Sample
from hsmdc.timespan import Duration, Instant, parse_instant
from hsmdc.traces import trace_dataset
from hsmdc.window import fine_step_ns, whole_steps

Integers = NDArray[np.int64]

STATE_ATTRIBUTES = {
    "long_name": "state of the node at the beginning of the step",
    "flag_values": np.arange(len(STATES), dtype=np.int8),
    "flag_meanings": " ".join(STATES),
}


def simulate_node(
    config: "str | Path | Mapping[str, Any] | Config",
    *,
    duration: Duration = "60s",
    step: Duration = "20ms",
    seed: int = 0,
    workload: str | None = None,
    sample: Sample = "mean",
    phases: bool = False,
    start: Instant = "2018-01-01",
) -> xr.Dataset:
    """Power of one allocated node, with the state it is in.

    Parameters
    ----------
    config : preset name, path, mapping or Config
    duration : a whole number of steps
    step : 1 ms or more
    workload : name of one of the configuration's workloads, or of a workload preset; default the first of
        the configuration's mix
    sample : "mean" over each step, or the value at the "instant" of its label
    phases : begin with the job's set-up and end with its shut-down; otherwise the node trains throughout
    start : first label

    Returns
    -------
    Dataset over `time`: node_power [W] and state (0 … 4: ps, lc, ba, ci, ar; −1 outside the chain).

    Raises
    ------
    ConfigError, InputError
    """
    config = load_config(config)
    if sample not in ("mean", "instant"):
        raise InputError(f"sample = {sample!r}: must be mean or instant")
    step_ns = fine_step_ns(step)
    steps = whole_steps(duration, step_ns, "duration")
    layer = NodeLayer(theta_per_s=config.node.theta_per_s, mix=(_class_of(config, workload),))
    tables = node_tables(layer, config.site)
    grid = grid_of(step_ns, step_ns, layer.theta_per_s)
    # Without phases the node has been busy for a block before, so that its noise is stationary from the start.
    begin_s = 0.0 if phases else -grid.block_ns / NS_PER_S
    end_s = steps * step_ns / NS_PER_S if phases else np.inf
    jobs = job_records(np.array([begin_s]), np.array([end_s]), np.ones(1, np.int64), np.zeros(1, np.int64))
    if not phases:
        tables = tables._replace(phases=tables.phases[:0])
    blocks = NodeBlocks(jobs, tables, seed, grid, instant=sample == "instant", threads=1)
    power = [block.power_w for block in blocks.run(0, (steps - 1) // grid.block_steps)]
    data = trace_dataset(
        start=parse_instant(start),
        step_s=step_ns / NS_PER_S,
        series={"node_power": config.site.idle_w + np.concatenate(power)[:steps]},
        attrs={
            "title": f"Power of one node running {layer.mix[0].workload.name}",
            "seed": str(seed),
            "rng_scheme": rng.SCHEME,
            "workload": layer.mix[0].workload.name,
            "config": to_toml(config),
        },
    )
    labels = np.arange(steps, dtype=np.int64) * step_ns
    data["state"] = ("time", _states_at(jobs, tables, seed, labels), STATE_ATTRIBUTES)
    return data


def _class_of(config: Config, name: str | None) -> JobClass:
    mix = config.node.mix
    if name is None:
        return JobClass(workload=mix[0].workload)
    for job_class in mix:
        if job_class.workload.name == name:
            return JobClass(workload=job_class.workload)
    if name not in workload_names():
        known = sorted({*workload_names(), *(c.workload.name for c in mix)})
        raise InputError(f"no workload {name!r}; there are: {', '.join(known)}")
    return JobClass.model_validate({"workload": name})


def _states_at(jobs: NDArray[np.void], tables: NodeTables, seed: int, labels: Integers) -> NDArray[np.int8]:
    found = np.full(len(labels), -1, np.int8)
    units = make_units(jobs[jobs["chain_end"] > jobs["chain_begin"]], tables, seed)
    if len(units):
        times, states, _ = unit_path(units[0], tables, int(labels[-1]) + 1)
        inside = (labels >= units[0]["begin"]) & (labels < units[0]["end"])
        found[inside] = states[np.searchsorted(times, labels[inside], side="right") - 1]
    return found


def unit_path(unit: np.void, tables: NodeTables, until_ns: int) -> tuple[Integers, Integers, Integers]:
    """Beginnings [ns], states and levels above idle [nW] of a unit's sojourns that begin before a time."""
    rows = np.zeros(5, STATE)
    scale_rows(tables.states[unit["workload"]], unit["nodes"], rows)
    capacity = 1024
    while True:
        columns = [np.empty(capacity, np.int64) for _ in range(3)]
        count = path(unit, rows, until_ns, *columns)
        if count < capacity:
            times, states, levels = (column[:count] for column in columns)
            return times, states, levels
        capacity *= 4

"""One busy node, moment by moment."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hsmdc.config import Config, load_config, to_toml
from hsmdc.config.node import JobClass, NodeLayer, workload_names
from hsmdc.config.sections import Site
from hsmdc.errors import InputError
from hsmdc.kernels import rng
from hsmdc.kernels.chain import NS_PER_S, STATE, STATES, path, scale_rows
from hsmdc.nodes import NodeTables, node_tables
from hsmdc.seeds import check_seed
from hsmdc.timespan import Duration, Instant, parse_instant
from hsmdc.traces import trace_dataset
from hsmdc.transient.blocks import NodeBlocks, grid_of, make_units, placed_jobs
from hsmdc.transient.resolution import Sample
from hsmdc.transient.window import check_memory, fine_step_ns, whole_steps

Integers = NDArray[np.int64]

#: Power in parts and joined, labels, their place among the sojourns, the state.
_BYTES_PER_STEP = 40

STATE_ATTRIBUTES = {
    "long_name": "state of the node at the beginning of the step",
    "flag_values": np.arange(-1, len(STATES), dtype=np.int8),
    "flag_meanings": " ".join(["outside", *STATES]),
    "comment": "ps peak surge, lc light compute, ba base, ci checkpoint idle, ar all-reduce dip; "
    "outside: set-up and shut-down",
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
    check_memory(steps, _BYTES_PER_STEP, "shorten the duration or lengthen the step")
    layer = NodeLayer(theta_per_s=config.node.theta_per_s, mix=(_class_of(config, workload),))
    check_seed(seed)
    run = JobRun(layer, config.site, 1, step_ns, steps, seed, phases=phases)
    data = trace_dataset(
        start=parse_instant(start),
        step_s=step_ns / NS_PER_S,
        series={"node_power": run.power_w(instant=sample == "instant")},
        attrs={
            "title": f"Power of one node running {layer.mix[0].workload.name}",
            "seed": str(seed),
            "rng_scheme": rng.SCHEME,
            "workload": layer.mix[0].workload.name,
            "config": to_toml(config),
        },
    )
    data["state"] = ("time", run.states(), STATE_ATTRIBUTES)
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


class JobRun:
    """One job by itself on a step grid that begins with the window.

    Parameters
    ----------
    nodes : nodes of the job
    phases : the job begins and ends with the window; otherwise it trains throughout
    """

    def __init__(
        self, layer: NodeLayer, site: Site, nodes: int, step_ns: int, steps: int, seed: int, *, phases: bool
    ) -> None:
        self._tables = node_tables(layer, site)
        self._grid = grid_of(step_ns, step_ns, layer.theta_per_s)
        self._steps = steps
        self._seed = seed
        self._idle_w = nodes * site.idle_w
        # Without phases the job has run for a block before, so that its noise is stationary from the start.
        begin_s, end_s = -self._grid.block_ns / NS_PER_S, np.inf
        if phases:
            begin_s, end_s = 0.0, steps * step_ns / NS_PER_S
        else:
            self._tables = self._tables._replace(phases=self._tables.phases[:0])
        self._jobs = placed_jobs(
            np.array([begin_s]), np.array([end_s]), np.array([nodes]), np.zeros(1, np.int16)
        )

    def power_w(self, *, instant: bool = False) -> NDArray[np.float64]:
        """Power of the whole job, means over the steps or values at their beginnings [W]."""
        blocks = NodeBlocks(self._jobs, self._tables, self._seed, self._grid, instant=instant, threads=1)
        parts = [block.power_w for block in blocks.run(0, (self._steps - 1) // self._grid.block_steps)]
        power_w: NDArray[np.float64] = self._idle_w + np.concatenate(parts)[: self._steps]
        return power_w

    def states(self) -> NDArray[np.int8]:
        """State at the beginning of each step, −1 outside the chain."""
        labels = np.arange(self._steps, dtype=np.int64) * self._grid.step_ns
        found = np.full(len(labels), -1, np.int8)
        jobs = self._jobs.records(slice(None), self._tables.phases, self._seed)
        for unit in make_units(jobs, self._tables, self._seed):
            times, states, _ = unit_path(unit, self._tables, int(labels[-1]) + 1)
            inside = (labels >= unit["begin"]) & (labels < unit["end"])
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

"""The node layer in time blocks: power of all allocated nodes on a step grid, block after block.

Blocks lie on a fixed grid counted from the trace's first label, whatever part of it is asked for, and every
value depends only on its block, the one before, and the jobs. That is what makes a window a slice.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hsmdc.kernels.aggregate import deposit
from hsmdc.kernels.chain import NS_PER_S, NW_PER_W, RATE_PER_W2, STATE, UNIT, advance, enter
from hsmdc.kernels.noise import noise_block, noise_step
from hsmdc.kernels.phases import JOB, cut_chains, deposit_phases
from hsmdc.kernels.rng import NODE_NOISE, stream_key
from hsmdc.nodes import NodeTables

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Records = NDArray[np.void]

FOREVER = 2**62
#: e^(-40): what the noise forgets at a block's beginning is below the last bit of what it keeps.
_MEMORY = 40.0
#: Two int64 per step stay in a second-level cache of 1 MB, with room to spare.
_STEPS_PER_BLOCK = 16384
#: A short window at a coarse step must not pay for days.
_LONGEST_BLOCK_NS = 3600 * NS_PER_S


class Grid(NamedTuple):
    """Steps inside the intervals of a trace, and the blocks they are computed in."""

    step_ns: int
    interval_ns: int
    block_intervals: int

    @property
    def steps_per_interval(self) -> int:
        """Steps in one step of the trace."""
        return self.interval_ns // self.step_ns

    @property
    def block_steps(self) -> int:
        """Steps in a block."""
        return self.block_intervals * self.steps_per_interval

    @property
    def block_ns(self) -> int:
        """Length of a block [ns]."""
        return self.block_intervals * self.interval_ns


class Block(NamedTuple):
    """Allocated nodes' power above the idle floor [W], and its mean given which jobs run, by trace interval."""

    number: int
    power_w: Floats
    expected_w: Floats


@dataclass(frozen=True, slots=True)
class Jobs:
    """All jobs of a trace, by their beginning: 26 bytes each, for a year has millions.

    `index` is the job's place in the trace's table, to which its random numbers belong; begin and end are ns
    after the trace's first label.
    """

    index: NDArray[np.int32]
    nodes: NDArray[np.int32]
    workload: NDArray[np.int16]
    begin: Integers
    end: Integers

    def records(self, which: "slice | Integers", phases: Records, seed: int) -> Records:
        """Some of the jobs as the kernels take them, their chains cut out of their phases."""
        index = self.index[which]
        found = np.zeros(len(index), JOB)
        found["index"], found["nodes"], found["workload"] = index, self.nodes[which], self.workload[which]
        found["begin"], found["end"] = self.begin[which], self.end[which]
        cut_chains(found, phases, np.uint64(seed))
        return found


def placed_jobs(
    start_s: Floats,
    end_s: Floats,
    nodes: NDArray[np.integer],
    workload: NDArray[np.integer],
    within_s: tuple[float, float] = (-np.inf, np.inf),
) -> Jobs:
    """The jobs that run at some time of a span; an end not known lies beyond every window.

    Parameters
    ----------
    start_s, end_s : seconds after the trace's first label, float64 (jobs,); NaN where there is none
    nodes, workload : int (jobs,)
    within_s : the span
    """
    running = np.flatnonzero((start_s < within_s[1]) & ~(end_s <= within_s[0]))
    index = running[np.argsort(start_s[running], kind="stable")]
    ends_s = end_s[index]
    known = np.isfinite(ends_s)
    end = np.full(len(index), FOREVER)
    end[known] = np.rint(ends_s[known] * NS_PER_S)
    return Jobs(
        index.astype(np.int32),
        nodes[index].astype(np.int32),
        workload[index].astype(np.int16),
        np.rint(start_s[index] * NS_PER_S).astype(np.int64),
        end,
    )


def grid_of(step_ns: int, interval_ns: int, theta_per_s: float) -> Grid:
    """The block grid: as long as the cache allows, and never shorter than the noise's memory."""
    by_cache = min(_STEPS_PER_BLOCK * step_ns, _LONGEST_BLOCK_NS) // interval_ns
    by_memory = -(-int(_MEMORY / theta_per_s * NS_PER_S) // interval_ns)
    return Grid(step_ns, interval_ns, max(by_cache, by_memory, 1))


def make_units(jobs: Records, tables: NodeTables, seed: int) -> Records:
    """The units of the jobs that have a chain, each in its state at its own beginning."""
    jobs = jobs[jobs["chain_end"] > jobs["chain_begin"]]
    nodes = jobs["nodes"]
    counts = nodes if tables.per_node else np.ones(len(jobs), np.int64)
    owner = np.repeat(np.arange(len(jobs)), counts)
    first = np.repeat(np.cumsum(counts) - counts, counts)
    members = np.arange(len(owner)) - first + 1 if tables.per_node else np.zeros(len(owner), np.int64)
    units = np.zeros(len(owner), UNIT)
    units["nodes"] = 1 if tables.per_node else nodes
    for field, source in (("workload", "workload"), ("begin", "chain_begin"), ("end", "chain_end")):
        units[field] = jobs[source][owner]
    index = np.ascontiguousarray(jobs["index"][owner])
    enter(units, index, members, np.uint64(seed), tables.states, tables.shares)
    return units


class NodeBlocks:
    """Computes consecutive blocks of the node layer.

    Parameters
    ----------
    jobs : all jobs of the trace
    tables : the node layer
    seed : master seed of the trace
    grid : where the blocks lie
    instant : values at the beginnings of steps, not means over them
    threads : share the units among so many threads; the result is the same to the bit
    """

    def __init__(
        self, jobs: Jobs, tables: NodeTables, seed: int, grid: Grid, *, instant: bool, threads: int
    ) -> None:
        self._jobs = jobs
        self._tables = tables
        self._seed = seed
        self._grid = grid
        self._instant = instant
        self._threads = threads
        self._noise_key = np.uint64(stream_key(np.uint64(seed), NODE_NOISE))
        self._noise_step = noise_step(tables.theta_per_s, grid.step_ns / NS_PER_S)
        self._bins = np.zeros((threads, grid.block_steps + 1, 2), np.int64)
        self._expected = np.zeros((threads, grid.block_intervals + 1), np.int64)
        self._rows = np.zeros((threads, 5), STATE)

    def run(self, first: int, last: int) -> Iterator[Block]:
        """Yield blocks first … last; one before is computed for the noise it leaves behind."""
        start = max(first - 1, -1)
        jobs = self._running_at(start)
        units = self._units(jobs)
        advance(units, self._tables.states, start * self._grid.block_ns)
        carried = 0.0
        with ThreadPoolExecutor(self._threads) as pool:
            for number in range(start, last + 1):
                new = self._beginning_in(number)
                jobs = np.concatenate([jobs, new])
                units = np.concatenate([units, self._units(new)])
                self._deposit(pool, units, number)
                power_w, carried = self._collect(jobs, number, carried)
                if number >= first:
                    yield Block(number, power_w, self._expected_w())
                after_ns = (number + 1) * self._grid.block_ns
                jobs = jobs[jobs["end"] > after_ns]
                units = units[units["end"] > after_ns]

    def _running_at(self, number: int) -> Records:
        start_ns = number * self._grid.block_ns
        begun = np.searchsorted(self._jobs.begin, start_ns)
        running = np.flatnonzero(self._jobs.end[:begun] > start_ns)
        return self._jobs.records(running, self._tables.phases, self._seed)

    def _beginning_in(self, number: int) -> Records:
        edges_ns = [number * self._grid.block_ns, (number + 1) * self._grid.block_ns]
        first, last = np.searchsorted(self._jobs.begin, edges_ns)
        return self._jobs.records(slice(first, last), self._tables.phases, self._seed)

    def _units(self, jobs: Records) -> Records:
        return make_units(jobs, self._tables, self._seed)

    def _deposit(self, pool: ThreadPoolExecutor, units: Records, number: int) -> None:
        start_ns = number * self._grid.block_ns
        self._bins[:] = 0
        self._expected[:] = 0

        def share(part: int) -> None:
            deposit(
                units[part * len(units) // self._threads : (part + 1) * len(units) // self._threads],
                self._tables.states,
                self._tables.means,
                self._rows[part],
                start_ns,
                start_ns + self._grid.block_ns,
                self._grid.step_ns,
                self._instant,
                self._bins[part],
                self._grid.interval_ns,
                self._expected[part],
            )

        list(pool.map(share, range(self._threads)))

    def _collect(self, jobs: Records, number: int, carried: float) -> tuple[Floats, float]:
        total = np.cumsum(self._bins.sum(axis=0)[:-1], axis=0)
        power_nw = np.ascontiguousarray(total[:, 0])
        if len(self._tables.phases):
            start_ns = number * self._grid.block_ns
            deposit_phases(
                jobs, self._tables.phases, np.uint64(self._seed), start_ns,
                start_ns + self._grid.block_ns, self._grid.step_ns, self._instant, power_nw,
            )  # fmt: skip
        noise_w = np.empty(self._grid.block_steps)
        # Block -1 holds what ran before the first label; counting from it keeps step numbers positive.
        first_step = (number + 1) * self._grid.block_steps
        carried = noise_block(
            total[:, 1] * (1.0 / RATE_PER_W2), carried, self._noise_key, first_step, self._noise_step,
            self._instant, noise_w,
        )  # fmt: skip
        return power_nw / NW_PER_W + noise_w, carried

    def _expected_w(self) -> Floats:
        return np.cumsum(self._expected.sum(axis=0)[:-1]) / NW_PER_W

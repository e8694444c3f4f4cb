"""Sum of many units on a time grid, at the cost of one event per transition.

Power is kept as differences between neighbouring steps. A jump at fraction f of a step adds its part after
the jump, 1 − f, to that step and the rest to the next; running sums then give the exact mean over every step.
All sums are of integers, hence exact in any order.
"""

import numpy as np

from .chain import Integers, Records, lanes_of, level_of, next_state, scale_rows, sojourn
from .jit import kernel
from .rng import bits


@kernel()
def jump(power: Integers, at: int, step: int, by: "int | np.int64") -> None:
    """Add a jump `by` at time `at`, counted from the first step, to differences of step means."""
    k = at // step
    late = np.int64(np.float64(by) * (np.float64(at - k * step) / np.float64(step)))
    power[k] += by - late
    power[k + 1] += late


@kernel()
def deposit(units: Records, tables: Records, means: Integers, rows: Records, start: int, stop: int,
            step: int, instant: bool, bins: Integers, interval: int, expected: Integers) -> None:  # fmt: skip
    """Walk all units from `start` to `stop` [ns] and add their power and noise to one block.

    Parameters
    ----------
    units : UNIT[:], in their state at `start`; left in their state at `stop`
    tables : STATE[workload, 5]
    means : stationary mean power above idle by workload [nW per node]
    rows : STATE[5], scratch
    instant : sample at the beginnings of steps, not means over them
    bins : [steps + 1, 2], differences of power [nW] and of the variance rate of the noise
    interval : the grid of `expected` [ns]
    expected : [intervals + 1], differences of the mean power of the units that run
    """
    per_step = 1.0 / np.float64(step)
    for i in range(len(units)):
        unit = units[i]
        if unit.begin >= stop:
            continue
        nodes = unit.nodes
        lanes = lanes_of(nodes)
        scale_rows(tables[unit.workload], nodes, rows)
        path_key = unit.path_key
        deviation_key = unit.deviation_key
        clock = unit.clock
        state = np.uint64(unit.state)
        entries = unit.entries
        level = level_of(rows[state], deviation_key, entries, lanes)
        noise = rows[state].noise
        mean = means[unit.workload] * nodes
        born = max(unit.begin - start, 0)
        limit = min(unit.end, stop)
        _edge(bins, born, step, instant, level, noise)
        jump(expected, born, interval, mean)
        while clock < limit:
            draw = bits(path_key, entries)
            entries += 1
            state = next_state(rows[state], draw)
            row = rows[state]
            at = np.float64(clock - start) * per_step
            clock += sojourn(row, draw)
            next_level = level_of(row, deviation_key, entries, lanes)
            next_noise = row.noise
            whole = np.int64(at)
            after = at - np.float64(whole)
            k = np.uint64(whole)
            if instant and after > 0.0:
                after = np.float64(1.0)
            rise = next_level - level
            late = np.int64(np.float64(rise) * after)
            more = next_noise - noise
            more_late = np.int64(np.float64(more) * after)
            bins[k, 0] += rise - late
            bins[k, 1] += more - more_late
            bins[k + np.uint64(1), 0] += late
            bins[k + np.uint64(1), 1] += more_late
            level = next_level
            noise = next_noise
        unit.clock = clock
        unit.state = np.int64(state)
        unit.entries = entries
        if unit.end < stop:
            _edge(bins, unit.end - start, step, instant, -level, -noise)
            jump(expected, unit.end - start, interval, -mean)


@kernel()
def _edge(bins: Integers, at: int, step: int, instant: bool, level: np.int64, noise: np.int64) -> None:
    """A unit begins (or, with signs turned, ends) at `at`."""
    if instant:
        k = -(-at // step)
        bins[k, 0] += level
        bins[k, 1] += noise
    else:
        jump(bins[:, 0], at, step, level)
        jump(bins[:, 1], at, step, noise)


@kernel()
def deposit_piece(power: Integers, begin: int, end: int, first: float, last: float, step: int,
                  instant: bool) -> None:  # fmt: skip
    """Add a linear piece of power [nW] from (begin, first) to (end, last) to step values.

    Times are counted from the first step [ns] and may lie outside the block; each step gets the piece's exact
    mean over it, or its value at the step's beginning.
    """
    slope = (last - first) / np.float64(end - begin)
    for k in range(max(begin // step, 0), min(-(-end // step), len(power))):
        if instant:
            if begin <= k * step < end:
                power[k] += np.int64(np.rint(first + slope * np.float64(k * step - begin)))
        else:
            left = max(begin, k * step)
            right = min(end, (k + 1) * step)
            middle = first + slope * (0.5 * np.float64(left + right) - np.float64(begin))
            power[k] += np.int64(np.rint(middle * (np.float64(right - left) / np.float64(step))))


@kernel()
def deposit_events(at: Integers, by: Integers, step: int, held: Integers) -> None:
    """Add jumps `by` at times `at`, counted from the first step [ns], to differences of by·step.

    The running sum of `held` divided by `step` is then the exact mean of the counted quantity over each step.
    """
    for i in range(len(at)):
        k = at[i] // step
        late = by[i] * (at[i] - k * step)
        held[k] += by[i] * step - late
        held[k + 1] += late

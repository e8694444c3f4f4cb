"""The five-state semi-Markov node (paper section II-C, eq. 6): its law and its event-driven walk.

A *unit* is what walks one state path: a job whose nodes meet at barriers, or a single node. Time is counted
in whole nanoseconds and power in whole nanowatts above the idle floor, so that sums do not depend on their
order: any number of threads, any chunk and any window give the same bits.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .jit import kernel
from .rng import CHAIN_DEVIATION, CHAIN_ENTRY, CHAIN_PATH, bits, entity_key, stream_key, uniform

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Records = NDArray[np.void]
#: One element of Records: its fields are read as attributes, which only compiled code can do.
Record = Any

STATES = ("ps", "lc", "ba", "ci", "ar")
PS, LC, BA, CI, AR = range(5)
SIGNS = np.array([1.0, 1.0, 0.0, -1.0, -1.0])
#: Where each state may lead; no state has more than two successors.
SUCCESSORS = ((AR, AR), (PS, AR), (LC, AR), (BA, BA), (BA, CI))

NS_PER_S = 1_000_000_000
NW_PER_W = 1_000_000_000
#: Variance rates of the noise are counted in 1e-6 W²/s.
RATE_PER_W2 = 1_000_000

#: One state of one workload: 64 bytes, one cache line. Powers are per node.
STATE = np.dtype(
    (
        np.record,
        [
            ("threshold", "i8"),  # of 2^32: the chance of the first successor
            ("first", "i8"),
            ("second", "i8"),
            ("shortest", "i8"),  # sojourn [ns]
            ("width", "i8"),  # longest minus shortest sojourn [ns]
            ("level", "i8"),  # mean power above idle [nW]
            ("half_lane", "i8"),  # half of one lane unit of the deviation [nW]
            ("noise", "i8"),  # variance rate of the noise [1e-6 W²/s]
        ],
    )
)

UNIT = np.dtype(
    (
        np.record,
        [
            ("path_key", "u8"),
            ("deviation_key", "u8"),
            ("nodes", "i8"),
            ("workload", "i8"),
            ("begin", "i8"),  # the chain runs from begin to end [ns]
            ("end", "i8"),
            ("clock", "i8"),  # when the present sojourn ends [ns]
            ("state", "i8"),
            ("entries", "i8"),  # states entered so far, the first not counted
        ],
    )
)

#: A deviation is a sum of 16-bit lanes, four to a 64-bit draw. Up to MAX_LANES nodes the sum is exact; more
#: nodes take MAX_LANES lanes, scaled to the variance of the sum. The scaled sum differs from the exact law by
#: at most 0.0285·(1/16 − 1/n) < 0.0018 in distribution function (its excess kurtosis is −1.2/16, not −1.2/n).
MAX_LANES = 16
_LANE_TOP = 65535

_S16 = np.uint64(16)
_S32 = np.uint64(32)
_S48 = np.uint64(48)
_LANE = np.uint64(0xFFFF)
_SOJOURN_BITS = np.uint64(0x3FFFFF)
# The product of a 23-bit draw and a width stays inside 63 bits for widths below 2^40 ns (1100 s).
_SOJOURN_SHIFT = 23


# The two stationary vectors are set-up, once per workload: compiling a 5 by 5 solve would take four seconds.


def embedded_stationary(matrix: Floats) -> Floats:
    """Stationary vector of the embedded chain: balance equations and normalisation as one linear system.

    Not by eigenvectors, which the nearly periodic cycle would make unreliable (paper section II-C).
    """
    size = matrix.shape[0]
    system = matrix.T - np.eye(size)
    system[size - 1, :] = 1.0
    right = np.zeros(size)
    right[size - 1] = 1.0
    solved: NDArray[Any] = np.linalg.solve(system, right)
    return solved


def time_stationary(matrix: Floats, mean_sojourn_s: Floats) -> Floats:
    """Share of time in each state: the embedded vector weighted by mean sojourns."""
    weighted = embedded_stationary(matrix) * mean_sojourn_s
    share: Floats = weighted / weighted.sum()
    return share


@kernel()
def lanes_of(nodes: int) -> int:
    """Number of uniform lanes that make the sum of `nodes` deviations."""
    return min(nodes, MAX_LANES)


@kernel()
def scale_rows(states: Records, nodes: int, rows: Records) -> None:
    """Write into `rows` the table of one workload as a unit of `nodes` nodes sees it."""
    spread = math.sqrt(nodes / lanes_of(nodes))
    for s in range(5):
        rows[s] = states[s]
        rows[s].level = states[s].level * nodes
        rows[s].noise = states[s].noise * nodes
        rows[s].half_lane = np.int64(np.rint(states[s].half_lane * spread))


@kernel()
def _lane_sum(draw: np.uint64) -> np.int64:
    return np.int64((draw & _LANE) + ((draw >> _S16) & _LANE) + ((draw >> _S32) & _LANE) + (draw >> _S48))


@kernel()
def deviation(key: np.uint64, entry: int, lanes: int) -> np.int64:
    """Centred sum of `lanes` uniforms, in half lane units; the `entry`-th draw of the stream `key`."""
    total = np.int64(0)
    left = lanes
    counter = entry * (MAX_LANES // 4)
    while left >= 4:
        total += _lane_sum(bits(key, counter))
        counter += 1
        left -= 4
    if left > 0:
        total += _lane_sum(bits(key, counter) >> np.uint64(64 - 16 * left))
    return np.int64(2 * total - lanes * _LANE_TOP)


@kernel()
def level_of(row: Record, key: np.uint64, entry: int, lanes: int) -> np.int64:
    """Power of a unit above idle after its `entry`-th transition [nW]."""
    return np.int64(row.level + deviation(key, entry, lanes) * row.half_lane)


@kernel()
def next_state(row: Record, draw: np.uint64) -> np.uint64:
    """The successor that the upper 32 bits of `draw` choose.

    Unsigned, because an index that may be negative costs a comparison on the longest chain of the walk:
    1 ns of 8 per transition.
    """
    return np.uint64(row.first if np.int64(draw >> _S32) < row.threshold else row.second)


@kernel()
def sojourn(row: Record, draw: np.uint64) -> np.int64:
    """A uniform sojourn from the lower 22 bits of `draw` [ns]."""
    twice = 2 * np.int64(draw & _SOJOURN_BITS) + 1
    return np.int64(row.shortest + ((twice * row.width) >> _SOJOURN_SHIFT))


@kernel()
def enter(units: Records, jobs: Integers, members: Integers, seed: np.uint64, tables: Records,
          shares: Floats) -> None:  # fmt: skip
    """Give every unit its keys and start it in the stationary law.

    The sojourn met at a random instant is length-biased, density proportional to its length on
    [shortest, longest], and its residual is uniform on it; so the path is stationary from the first moment.

    Parameters
    ----------
    units : UNIT[:], with nodes, workload, begin and end set
    jobs : the job of each unit
    members : 0 for a unit that is a whole job, else the node's number within its job, from 1
    tables : STATE[workload, 5]
    shares : [workload, 5], share of time in each state
    """
    path_stream = stream_key(seed, CHAIN_PATH)
    deviation_stream = stream_key(seed, CHAIN_DEVIATION)
    entry_stream = stream_key(seed, CHAIN_ENTRY)
    for i in range(len(units)):
        unit = units[i]
        key = entity_key(entity_key(entry_stream, jobs[i]), members[i])
        unit.path_key = entity_key(entity_key(path_stream, jobs[i]), members[i])
        unit.deviation_key = entity_key(entity_key(deviation_stream, jobs[i]), members[i])
        pick = uniform(key, 0)
        state = 0
        while state < 4 and pick >= shares[unit.workload, state]:
            pick -= shares[unit.workload, state]
            state += 1
        low = np.float64(tables[unit.workload, state].shortest)
        high = low + np.float64(tables[unit.workload, state].width)
        met = math.sqrt(low * low + uniform(key, 1) * (high * high - low * low))
        unit.state = state
        unit.clock = unit.begin + np.int64(np.ceil(uniform(key, 2) * met))
        unit.entries = 0


@kernel()
def advance(units: Records, tables: Records, until: int) -> None:
    """Walk every unit through all transitions before `until` [ns], leaving no trace but its state."""
    for i in range(len(units)):
        unit = units[i]
        rows = tables[unit.workload]
        stop = min(until, unit.end)
        key = unit.path_key
        clock = unit.clock
        state = np.uint64(unit.state)
        entries = unit.entries
        while clock < stop:
            draw = bits(key, entries)
            state = next_state(rows[state], draw)
            clock += sojourn(rows[state], draw)
            entries += 1
        unit.clock = clock
        unit.state = np.int64(state)
        unit.entries = entries


@kernel()
def path(unit: Record, rows: Records, until: int, times: Integers, states: Integers,
         levels: Integers) -> int:  # fmt: skip
    """Write the path of one unit from its present state up to `until`, one row per sojourn.

    Returns the number of sojourns, at most `len(times)`; `times` holds their beginnings [ns].
    """
    lanes = lanes_of(unit.nodes)
    clock = unit.begin
    following = unit.clock
    state = np.uint64(unit.state)
    entries = unit.entries
    count = 0
    while clock < until and count < len(times):
        times[count] = clock
        states[count] = state
        levels[count] = level_of(rows[state], unit.deviation_key, entries, lanes)
        count += 1
        draw = bits(unit.path_key, entries)
        clock = following
        state = next_state(rows[state], draw)
        following += sojourn(rows[state], draw)
        entries += 1
    return count

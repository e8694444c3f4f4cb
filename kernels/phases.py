"""Job phases around the chain: set-up, loading, a linear ramp, shut-down; each a linear piece of power.

Everything here is a pure function of the job and the time, so any block can be computed alone.
"""

import numpy as np

from .aggregate import deposit_piece
from .chain import Floats, Integers, Record, Records
from .jit import kernel
from .rng import JOB_CLASS, JOB_PHASES, entity_key, stream_key, uniform

#: A job's allocation [begin, end) and within it the chain's share [chain_begin, chain_end), all ns.
JOB = np.dtype(
    (
        np.record,
        [
            ("index", "i8"),
            ("nodes", "i8"),
            ("workload", "i8"),
            ("begin", "i8"),
            ("end", "i8"),
            ("chain_begin", "i8"),
            ("chain_end", "i8"),
        ],
    )
)

#: One phase of one workload; `after` tells shut-down phases from start-up phases.
PHASE = np.dtype(
    (
        np.record,
        [
            ("workload", "i8"),
            ("after", "i8"),
            ("shortest", "i8"),  # [ns]
            ("width", "i8"),  # [ns]
            ("first", "f8"),  # power above idle per node at the beginning [nW]
            ("last", "f8"),  # … and at the end
        ],
    )
)


@kernel()
def class_draws(jobs: Integers, seed: np.uint64, out: Floats) -> None:
    """One uniform per job, by which its workload is chosen."""
    stream = stream_key(seed, JOB_CLASS)
    for i in range(len(jobs)):
        out[i] = uniform(entity_key(stream, jobs[i]), 0)


@kernel()
def _length(phase: Record, number: int, key: np.uint64) -> np.int64:
    return np.int64(phase.shortest + np.int64(np.float64(phase.width) * uniform(key, number)))


@kernel()
def cut_chains(jobs: Records, phases: Records, seed: np.uint64) -> None:
    """Set every job's chain_begin and chain_end; start-up has the first claim on a short job's time."""
    stream = stream_key(seed, JOB_PHASES)
    for i in range(len(jobs)):
        job = jobs[i]
        key = entity_key(stream, job.index)
        before = np.int64(0)
        after = np.int64(0)
        for p in range(len(phases)):
            if phases[p].workload == job.workload:
                if phases[p].after:
                    after += _length(phases[p], p, key)
                else:
                    before += _length(phases[p], p, key)
        job.chain_begin = min(job.begin + before, job.end)
        job.chain_end = max(job.end - after, job.chain_begin)


@kernel()
def deposit_phases(jobs: Records, phases: Records, seed: np.uint64, start: int, stop: int, step: int,
                   instant: bool, power: Integers) -> None:  # fmt: skip
    """Add the phases of all jobs to the step values of the block [start, stop) [nW above idle]."""
    stream = stream_key(seed, JOB_PHASES)
    for i in range(len(jobs)):
        job = jobs[i]
        if job.begin >= stop or job.end <= start:
            continue
        key = entity_key(stream, job.index)
        before = job.begin
        after = job.chain_end
        for p in range(len(phases)):
            if phases[p].workload != job.workload:
                continue
            length = _length(phases[p], p, key)
            begin = after if phases[p].after else before
            end = min(begin + length, job.end)
            if end > start and begin < stop and end > begin:
                first = phases[p].first * job.nodes
                last = phases[p].last * job.nodes
                reached = first + (last - first) * (np.float64(end - begin) / np.float64(length))
                deposit_piece(power, begin - start, end - start, first, reached, step, instant)
            if phases[p].after:
                after = end
            else:
                before = end

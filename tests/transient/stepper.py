"""The reference: every node stepped by itself through every short step, with its own random numbers.

Nothing here knows of events, sums or keys. A step's chain energy is exact; the noise takes the state at the
step's beginning and the mean of its two ends.
"""

import math

import numba
import numpy as np
from numpy.typing import NDArray

from hsmdc.config import Config
from hsmdc.nodes import stationary_law

Floats = NDArray[np.float64]


def table_of(config: Config) -> tuple[Floats, ...]:
    """Cumulative transitions, sojourns [s], deviations with sign and offset, noise [W/√s], time shares."""
    workload = config.node.mix[0].workload
    law = stationary_law(workload, config.site)
    sign = np.array([1.0, 1.0, 0.0, -1.0, -1.0])
    deviation = sign[:, None] * np.array([s.deviation for s in workload.states]) - law.offset
    return (
        np.cumsum(np.array(workload.transitions), axis=1),
        np.array([s.sojourn_s for s in workload.states]),
        law.mean_w * (1.0 + deviation),
        law.mean_w * np.array([s.noise for s in workload.states]),
        np.cumsum(law.time_share),
    )


@numba.njit
def step_nodes(rng, sizes, shared, steps, substeps, step_s, theta, edges, sojourns, levels, noise, shares):  # type: ignore[no-untyped-def]
    """Total power of all nodes, mean over each of `steps` steps, after a warm-up of 10 s [W]."""
    out = np.zeros(steps)
    dt = step_s / substeps
    warm = int(10.0 / dt)
    a = math.exp(-theta * dt)
    s = math.sqrt((1.0 - a * a) / (2.0 * theta))
    for size in sizes:
        members = size if shared else 1
        for _ in range(size // members):
            state = 0
            pick = rng.random()
            while pick > shares[state] and state < 4:
                state += 1
            length = 0.0
            while True:  # length-biased, by rejection
                length = sojourns[state, 0] + (sojourns[state, 1] - sojourns[state, 0]) * rng.random()
                if rng.random() * sojourns[state, 1] < length:
                    break
            left = rng.random() * length
            power = np.empty(members)
            xi = np.zeros(members)
            for m in range(members):
                power[m] = levels[state, 0] + (levels[state, 1] - levels[state, 0]) * rng.random()
            for k in range(warm + steps * substeps):
                total = 0.0
                sigma = noise[state]
                rest = dt
                while left < rest:
                    for m in range(members):
                        total += power[m] * left
                    rest -= left
                    pick = rng.random()
                    following = 0
                    while pick > edges[state, following] and following < 4:
                        following += 1
                    state = following
                    left = sojourns[state, 0] + (sojourns[state, 1] - sojourns[state, 0]) * rng.random()
                    for m in range(members):
                        power[m] = levels[state, 0] + (levels[state, 1] - levels[state, 0]) * rng.random()
                left -= rest
                for m in range(members):
                    before = xi[m]
                    xi[m] = a * before + sigma * s * rng.standard_normal()
                    total += power[m] * rest + 0.5 * (before + xi[m]) * dt
                if k >= warm:
                    out[(k - warm) // substeps] += total / step_s
    return out

"""Non-homogeneous compound-Poisson job arrivals (paper eq. 2 and the text below it).

Each minute owns a unit-rate Poisson process, keyed by the absolute minute: its events are those whose partial sums
of exponentials stay below λ(minute). Raising λ0 therefore only adds events and moves none, which makes mean
occupancy nearly monotone in λ0 and the search for it smooth (common random numbers).
Each event submits a batch; batch size, node count and duration are drawn by inverse CDF from tables.
"""

import math

import numpy as np

from .jit import kernel
from .rng import (
    ARRIVAL_EVENTS,
    BATCH_SIZE,
    JOB_DURATION,
    JOB_NODES,
    entity_key,
    normal_quantile,
    stream_key,
    uniform,
)

_SHARED = 0xFFFFFFFF  # the draw that decides whether a batch shares one node count
_SQRT_HALF = math.sqrt(0.5)


@kernel()
def table_draw(u: float, cdf: np.ndarray, guide: np.ndarray) -> int:
    """Index drawn by inverse CDF; `guide[i]` is the first index whose cdf reaches i / guide.size."""
    index = int(guide[int(u * guide.size)])
    while cdf[index] < u:
        index += 1
    return index


@kernel()
def _coupled(u_nodes: float, u_duration: float, copula: float) -> float:
    """The duration's uniform, given the size's, under a Gaussian copula."""
    z = copula * normal_quantile(u_nodes) + math.sqrt(1.0 - copula * copula) * normal_quantile(u_duration)
    return min(max(0.5 * math.erfc(-z * _SQRT_HALF), 1e-16), 1.0 - 1e-16)


@kernel()
def generate(
    seed: np.uint64,
    first_minute: int,
    rate: np.ndarray,
    batch_value: np.ndarray,
    batch_cdf: np.ndarray,
    batch_guide: np.ndarray,
    nodes_value: np.ndarray,
    nodes_cdf: np.ndarray,
    nodes_guide: np.ndarray,
    duration_value: np.ndarray,
    duration_cdf: np.ndarray,
    duration_guide: np.ndarray,
    copula: float,
    shared_size: float,
    arrival: np.ndarray,
    nodes: np.ndarray,
    duration: np.ndarray,
) -> int:
    """Draw every job that arrives in rate.size minutes.

    Parameters
    ----------
    seed : master seed
    first_minute : absolute minute of rate[0]; a minute's jobs depend on it, not on where the run starts
    rate : float64 (n_minutes,), λ in events per minute
    *_value, *_cdf, *_guide : the laws of batch size, node count and duration, as tables
    copula : correlation of the Gaussian copula between node count and duration; 0 for independence
    shared_size : probability that a batch shares one node count
    arrival, nodes, duration : integer arrays (capacity,), results; arrival in minutes from the first

    Returns
    -------
    The number of jobs drawn. Beyond the capacity they are counted but not stored: call again with larger arrays.
    """
    events_key = stream_key(seed, ARRIVAL_EVENTS)
    batch_key = stream_key(seed, BATCH_SIZE)
    nodes_key = stream_key(seed, JOB_NODES)
    duration_key = stream_key(seed, JOB_DURATION)
    capacity = arrival.size
    count = 0
    for minute in range(rate.size):
        here = entity_key(events_key, first_minute + minute)
        event = 0
        elapsed = -math.log(uniform(here, 0))
        while elapsed <= rate[minute]:
            event_key = entity_key(here, event)
            jobs = batch_value[table_draw(uniform(event_key ^ batch_key, 0), batch_cdf, batch_guide)]
            shared = shared_size > 0.0 and uniform(event_key ^ nodes_key, _SHARED) < shared_size
            for k in range(jobs):
                if count < capacity:
                    u_nodes = uniform(event_key ^ nodes_key, 0 if shared else k)
                    u_duration = uniform(event_key ^ duration_key, k)
                    if copula != 0.0:
                        u_duration = _coupled(u_nodes, u_duration, copula)
                    arrival[count] = minute
                    nodes[count] = nodes_value[table_draw(u_nodes, nodes_cdf, nodes_guide)]
                    duration[count] = duration_value[table_draw(u_duration, duration_cdf, duration_guide)]
                count += 1
            event += 1
            elapsed -= math.log(uniform(here, event))
    return count

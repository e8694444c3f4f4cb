"""From the node layer of a configuration to the tables that the kernels read, with its stationary law."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hsmdc.config.node import STATE_NAMES, NodeLayer, Workload
from hsmdc.config.sections import Site
from hsmdc.errors import InputError
from hsmdc.kernels.chain import (
    NS_PER_S,
    NW_PER_W,
    RATE_PER_W2,
    SIGNS,
    STATE,
    SUCCESSORS,
    embedded_stationary,
    time_stationary,
)
from hsmdc.kernels.phases import PHASE, class_draws

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
_LANE_UNITS = 65536


class StationaryLaw(NamedTuple):
    """The long-run law of one workload on one site; arrays are float64 (5,) over ps, lc, ba, ci, ar.

    `offset` is a share of `mean_w`; `level_w` are the mean powers of a node in the states [W].
    """

    embedded: Floats
    time_share: Floats
    mean_sojourn_s: Floats
    offset: float
    level_w: Floats
    mean_w: float


class NodeTables(NamedTuple):
    """What the kernels need of a node layer; the first axis of the arrays is the workload."""

    states: NDArray[np.void]
    shares: Floats
    means: Integers
    phases: NDArray[np.void]
    theta_per_s: float
    per_node: bool


def stationary_law(workload: Workload, site: Site) -> StationaryLaw:
    """Stationary vectors, recentring offset and state levels of a workload (paper eq. 6).

    A state's mean level is mean_w·(1 + sgn·δ̄ − offset) with offset = Σ share·sgn·δ̄, so that the
    time-weighted mean is mean_w whatever the table.

    Raises
    ------
    InputError
        A deviation takes the power of a state below zero.
    """
    matrix = np.array(workload.transitions, dtype=np.float64)
    sojourn = np.array([0.5 * (s.sojourn_s[0] + s.sojourn_s[1]) for s in workload.states])
    shift = SIGNS * np.array([0.5 * (s.deviation[0] + s.deviation[1]) for s in workload.states])
    share = time_stationary(matrix, sojourn)
    offset = float(share @ shift)
    mean_w = site.busy_w if workload.mean_tdp is None else workload.mean_tdp * site.tdp_w
    level = mean_w * (1.0 + shift - offset)
    half_width = np.array([0.5 * (s.deviation[1] - s.deviation[0]) for s in workload.states])
    lowest = level - mean_w * half_width
    if lowest.min() < 0:
        raise InputError(
            f"workload {workload.name!r}: power in state {STATE_NAMES[lowest.argmin()]} falls to "
            f"{lowest.min():.1f} W, below zero; its deviations are too large for its mean power"
        )
    return StationaryLaw(embedded_stationary(matrix), share, sojourn, offset, level, mean_w)


def node_tables(layer: NodeLayer, site: Site) -> NodeTables:
    """The kernels' tables of a node layer on a site."""
    workloads = [job_class.workload for job_class in layer.mix]
    laws = [stationary_law(workload, site) for workload in workloads]
    phases = [_phase_rows(i, w, laws[i].mean_w, site) for i, w in enumerate(workloads)]
    return NodeTables(
        states=np.array([_state_rows(w, law, site) for w, law in zip(workloads, laws, strict=True)], STATE),
        shares=np.array([law.time_share for law in laws]),
        means=np.array([round((law.mean_w - site.idle_w) * NW_PER_W) for law in laws], np.int64),
        phases=np.array([row for rows in phases for row in rows], PHASE),
        theta_per_s=layer.theta_per_s,
        per_node=layer.synchrony == "node",
    )


def _state_rows(workload: Workload, law: StationaryLaw, site: Site) -> list[tuple[int, ...]]:
    rows: list[tuple[int, ...]] = []
    for s, state in enumerate(workload.states):
        first, second = SUCCESSORS[s]
        shortest, longest = (round(t * NS_PER_S) for t in state.sojourn_s)
        spread_w = SIGNS[s] * law.mean_w * (state.deviation[1] - state.deviation[0])
        rows.append(
            (
                round(workload.transitions[s][first] * 2**32),
                first,
                second,
                shortest,
                longest - shortest,
                round((law.level_w[s] - site.idle_w) * NW_PER_W),
                round(spread_w * NW_PER_W / (2 * _LANE_UNITS)),
                round((state.noise * law.mean_w) ** 2 * RATE_PER_W2),
            )
        )
    return rows


def _phase_rows(number: int, workload: Workload, mean_w: float, site: Site) -> list[tuple[float, ...]]:
    def row(after: bool, duration_s: tuple[float, float], first_w: float, last_w: float) -> tuple[float, ...]:
        shortest, longest = (round(t * NS_PER_S) for t in duration_s)
        first_nw, last_nw = ((w - site.idle_w) * NW_PER_W for w in (first_w, last_w))
        return number, int(after), shortest, longest - shortest, first_nw, last_nw

    phases = workload.phases
    levels_w = [phase.level_tdp * site.tdp_w for phase in phases.before]
    rows = [row(False, p.duration_s, level, level) for p, level in zip(phases.before, levels_w, strict=True)]
    if phases.ramp_s > 0:
        start_w = levels_w[-1] if levels_w else site.idle_w
        rows.append(row(False, (phases.ramp_s, phases.ramp_s), start_w, mean_w))
    for phase in phases.after:
        level = phase.level_tdp * site.tdp_w
        rows.append(row(True, phase.duration_s, level, level))
    return rows


def workload_of_jobs(layer: NodeLayer, nodes: NDArray[np.integer], seed: int) -> NDArray[np.int16]:
    """The workload of each job: drawn by share among the classes that take its size, keyed by the job.

    Parameters
    ----------
    nodes : node count by job, int (jobs,)

    Returns
    -------
    Index into `layer.mix`, int16 (jobs,)
    """
    chosen = np.zeros(len(nodes), np.int16)
    if len(layer.mix) == 1:
        return chosen
    draws = np.empty(len(nodes))
    class_draws(np.arange(len(nodes)), np.uint64(seed), draws)
    smallest = np.array([c.smallest for c in layer.mix])
    largest = np.array([c.largest or np.iinfo(np.int64).max for c in layer.mix])
    for size in np.unique(nodes):
        weight = np.array([c.share for c in layer.mix]) * ((smallest <= size) & (size <= largest))
        edges = np.cumsum(weight)[:-1] / weight.sum()
        jobs = np.flatnonzero(nodes == size)
        chosen[jobs] = np.searchsorted(edges, draws[jobs], side="right")
    return chosen

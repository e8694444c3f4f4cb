"""Graphs whose paths are executions of a task: segments run in modes, pauses at checkpoints.

The paper's graph (Section IV-A) has a node per (slot boundary τ, segments done k). The order of segments does
not matter to power or GPUs, so k can leave the nodes and return as one row, Σ Δk·x = K: the *compact*
graph has a node per boundary. For 0/1 flows the two hold the same executions. The *full* graph is kept as
the cross-check. With restricted mode transitions both carry the mode that ran last in the node.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from hsmdc.dispatch.case import Case, Task
from hsmdc.dispatch.modes import effective_modes, feasible_modes
from hsmdc.dispatch.workload import tranche

Array = npt.NDArray[Any]

WAIT = -1
# A segment of exactly 2 h computed as 2.0000000001 h must not occupy a third slot.
CEIL_TOLERANCE = 1e-9


class Template(NamedTuple):
    """A run of `segments` segments in one mode, wherever it starts."""

    mode: int
    segments: int
    slots: int
    used_slots: float
    gpus: int


class Milestone(NamedTuple):
    """`segments` must be done at slot boundary `boundary`."""

    boundary: int
    segments: int


class Graph(NamedTuple):
    """Edges from `source` to `sink`; `template` is the index of the run, or WAIT for a pause or the end."""

    tail: Array
    head: Array
    start: Array
    template: Array
    nodes: int
    source: int
    sink: int


class TaskModel(NamedTuple):
    """What the schedule of one task may be: its modes, runs, milestones and rules."""

    name: str
    modes: pd.DataFrame
    templates: list[Template]
    milestones: list[Milestone]
    segment_gpu_hours: float
    first_slot: int
    waiting: bool
    allowed: Array | None


def power_shape(template: Template, rule: str) -> Array:
    """Share of the mode's power drawn in each slot of a run.

    `"full"` is the printed equation: the last slot counts whole. `"average"` spreads the energy evenly. `"last"`
    prorates the last slot to its used part, the only rule that gives the published powers.
    """
    if rule == "full":
        return np.ones(template.slots)
    if rule == "average":
        return np.full(template.slots, template.used_slots / template.slots)
    shape = np.ones(template.slots)
    shape[-1] = template.used_slots - (template.slots - 1)
    return shape


def run_templates(
    modes: pd.DataFrame, *, segments: int, segment_gpu_hours: float, slots: int, slot_h: float
) -> list[Template]:
    """Every run of 1 to `segments` segments that fits the horizon, in every mode.

    Over several days a run is cut at a day's worth of segments; longer ones are runs in a row.
    """
    runs = []
    for index, (gpus, pace) in enumerate(zip(modes["gpus"], modes["pace"], strict=True)):
        if pace <= 0:
            continue
        for dk in range(1, segments + 1):
            used = dk * segment_gpu_hours / (pace * slot_h)
            length = max(1, math.ceil(used - CEIL_TOLERANCE))
            if length > slots:
                break
            runs.append(Template(index, dk, length, min(used, float(length)), int(gpus)))
    return runs


def prune(runs: Sequence[Template]) -> list[Template]:
    """Drop the runs that can be split at a checkpoint, in the same mode, without taking longer.

    Not exact: a longer run prorates its last slot elsewhere, and where surplus renewables are penalised that can be
    worth something. It is the rule under which the published schedule comes out.
    """
    length = {(run.mode, run.segments): run.slots for run in runs}

    def splits(run: Template) -> bool:
        return any(
            length[run.mode, part] + length[run.mode, run.segments - part] == run.slots
            for part in range(1, run.segments // 2 + 1)
        )

    return [run for run in runs if not splits(run)]


def allowed_transitions(modes: pd.DataFrame, rule: str) -> Array | None:
    """Which mode may follow which, or None where any may.

    `"data-only"` keeps pipeline and tensor size, so that a checkpoint need not be resharded.
    """
    if rule == "any":
        return None
    shape = modes[["pipeline", "tensor"]].to_numpy()
    return np.asarray((shape[:, None, :] == shape[None, :, :]).all(axis=2))


def milestones(case: Case, task: Task) -> list[Milestone]:
    """The segments due by each day's deadline."""
    return [
        Milestone(case.deadline(task, day), (day + 1) * task.segments)
        for day in range(len(case.horizon.days))
    ]


def task_model(
    case: Case,
    task: Task,
    *,
    modes: pd.DataFrame | None = None,
    waiting: bool = True,
    first_slot: int = 0,
    due: list[Milestone] | None = None,
    segment_gpu_hours: float | None = None,
) -> TaskModel:
    """Modes, runs and rules of a task under the case's `[graph]` settings.

    Parameters
    ----------
    case, task
        The case and one of its tasks.
    modes
        Modes the task may use; by default the effective (or feasible) ones.
    waiting
        Whether the task may pause at a checkpoint.
    first_slot
        Boundary at which the task is free to start.
    due, segment_gpu_hours
        Milestones and work of a segment in place of the case's own, for a rolling window.
    """
    if modes is None:
        modes = (effective_modes if case.graph.modes == "effective" else feasible_modes)(case, task)
    due = milestones(case, task) if due is None else due
    work = tranche(case, task).segment_gpu_hours if segment_gpu_hours is None else segment_gpu_hours
    runs = run_templates(
        modes,
        segments=min(task.segments, due[-1].segments),
        segment_gpu_hours=work,
        slots=case.slots - first_slot,
        slot_h=case.horizon.slot_h,
    )
    if case.graph.edges == "pruned":
        runs = prune(runs)
    allowed = allowed_transitions(modes, case.graph.transitions)
    return TaskModel(task.name, modes, runs, due, work, first_slot, waiting, allowed)


def total_segments(model: TaskModel) -> int:
    """Segments the task must have done at its last milestone."""
    return model.milestones[-1].segments


def build_graph(model: TaskModel, *, progress: bool) -> Graph:
    """The graph of a task; `progress=True` is the paper's, `False` the compact one.

    In the compact graph the caller adds the rows Σ Δk·x for the milestones (see `model.py`).
    """
    first, last = model.first_slot, model.milestones[-1].boundary
    total = total_segments(model)
    ks = total + 1 if progress else 1
    ms = len(model.modes) + 1 if model.allowed is not None else 1
    node = np.arange((last - first + 1) * ks * ms).reshape(last - first + 1, ks, ms)
    sink = node.size
    parts = [
        _run_edges(model, node, index, run, progress=progress) for index, run in enumerate(model.templates)
    ]
    parts += [_wait_edges(model, node, progress=progress), _end_edges(model, node, sink)]
    tail, head, start, template = (
        np.concatenate(arrays).astype(np.int64) for arrays in zip(*parts, strict=True)
    )
    return Graph(tail, head, start + first, template, sink + 1, int(node[0, 0, 0]), sink)


Edges = tuple[Array, Array, Array, Array]


def _run_edges(model: TaskModel, node: Array, index: int, run: Template, *, progress: bool) -> Edges:
    boundaries, ks, _ = node.shape
    dk = run.segments if progress else 0
    starts, counts = np.arange(max(boundaries - run.slots, 0)), np.arange(max(ks - dk, 0))
    tau, k = np.repeat(starts, len(counts)), np.tile(counts, len(starts))
    if progress:
        keep = _meets(model, tau, tau + run.slots, k, k + dk)
        tau, k = tau[keep], k[keep]
    if model.allowed is None:
        before, after = np.zeros(1, dtype=int), 0
    else:
        before = np.flatnonzero(np.concatenate([[True], model.allowed[:, run.mode]]))
        after = run.mode + 1
    tails = node[tau[:, None], k[:, None], before[None, :]].ravel()
    heads = np.repeat(node[tau + run.slots, k + dk, after], len(before))
    return tails, heads, np.repeat(tau, len(before)), np.full(len(tails), index)


def _wait_edges(model: TaskModel, node: Array, *, progress: bool) -> Edges:
    boundaries, ks, ms = node.shape
    if not model.waiting:
        empty = np.empty(0, dtype=int)
        return empty, empty, empty, empty
    tau, k, m = (a.ravel() for a in np.meshgrid(*map(np.arange, (boundaries - 1, ks, ms)), indexing="ij"))
    if progress:
        keep = _meets(model, tau, tau + 1, k, k)
        tau, k, m = tau[keep], k[keep], m[keep]
    return node[tau, k, m], node[tau + 1, k, m], tau, np.full(len(tau), WAIT)


def _end_edges(model: TaskModel, node: Array, sink: int) -> Edges:
    """With waiting, idling to the last deadline covers an early end; without, the task ends where its work does."""
    boundaries = node.shape[0]
    first = boundaries - 1 if model.waiting else 0
    tails = node[first:, -1, :]
    start = np.repeat(np.arange(first, boundaries), tails.shape[1])
    return tails.ravel(), np.full(tails.size, sink), start, np.full(tails.size, WAIT)


def _meets(model: TaskModel, start: Array, end: Array, k: Array, k_end: Array) -> Array:
    """Which edges leave every milestone met: progress counts when a segment is complete."""
    ok = np.ones(len(start), dtype=bool)
    for boundary, due in model.milestones:
        b = boundary - model.first_slot
        ok &= ~((start < b) & (b < end) & (k < due)) & ~((end == b) & (k_end < due))
    return ok

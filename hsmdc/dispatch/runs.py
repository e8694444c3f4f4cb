"""Runs: what a schedule is made of. A run is some segments of a task, in one mode, over consecutive slots."""

from collections.abc import Iterable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hsmdc.dispatch.case import Case
from hsmdc.dispatch.graph import WAIT, TaskModel, Template, power_shape
from hsmdc.dispatch.model import DispatchModel, FixedLoad, IdealColumns

Array = npt.NDArray[Any]


class Run(NamedTuple):
    """`task` is the position in the case; `used_slots` the time the work takes, at most `slots`."""

    task: int
    start: int
    slots: int
    used_slots: float
    segments: float
    gpus: int
    pipeline: int
    tensor: int
    data: int

    @property
    def mode(self) -> str:
        """Pipeline × tensor × data."""
        return f"{self.pipeline}x{self.tensor}x{self.data}"

    @property
    def end(self) -> int:
        """Slot boundary at which the GPUs are free again."""
        return self.start + self.slots


def make_run(task: int, model: TaskModel, template: Template, start: int) -> Run:
    """The run of a template from a start slot."""
    mode = model.modes.iloc[template.mode]
    sizes = (int(mode[axis]) for axis in ("pipeline", "tensor", "data"))
    return Run(task, start, template.slots, template.used_slots, template.segments, template.gpus, *sizes)


def chosen_runs(models: list[TaskModel], model: DispatchModel, x: Array) -> list[Run]:
    """The runs whose edges carry flow, by task and start."""
    runs = []
    for task, (task_model, columns) in enumerate(zip(models, model.tasks, strict=True)):
        graph = columns.graph
        for edge in np.flatnonzero((x[columns.edges] > 0.5) & (graph.template != WAIT)):
            template = task_model.templates[graph.template[edge]]
            runs.append(make_run(task, task_model, template, int(graph.start[edge])))
    return sorted(runs, key=lambda run: (run.task, run.start))


def ideal_runs(case: Case, models: list[TaskModel], ideal: IdealColumns, x: Array) -> list[Run]:
    """The idealised benchmark's modes slot by slot, equal neighbours joined."""
    choice = ideal.combinations[np.argmax(x[ideal.columns], axis=1)]
    runs = []
    for task, model in enumerate(models):
        column = choice[:, task]
        edges = np.flatnonzero(np.diff(column, prepend=-2, append=-2))
        for start, end in pairwise(edges):
            if column[start] >= 0:
                mode = model.modes.iloc[int(column[start])]
                slots = int(end - start)
                work = slots * case.horizon.slot_h * mode["pace"]
                template = Template(int(column[start]), 0, slots, float(slots), int(mode["gpus"]))
                run = make_run(task, model, template, int(start))
                runs.append(run._replace(segments=work / model.segment_gpu_hours))
    return runs


def run_power_kw(case: Case, run: Run) -> Array:
    """IT power of a run in each of its slots [kW]."""
    template = Template(0, 0, run.slots, run.used_slots, run.gpus)
    return run.gpus * case.site.gpu_power_kw * power_shape(template, case.graph.partial_slot)


def task_loads(case: Case, runs: Iterable[Run]) -> tuple[Array, Array]:
    """GPUs and IT power [kW] per task and slot; runs beyond the horizon are cut."""
    gpus = np.zeros((len(case.task), case.slots), dtype=np.int64)
    it_kw = np.zeros((len(case.task), case.slots))
    for run in runs:
        end = min(run.end, case.slots)
        gpus[run.task, run.start : end] += run.gpus
        it_kw[run.task, run.start : end] += run_power_kw(case, run)[: end - run.start]
    return gpus, it_kw


def with_runs(case: Case, fixed: FixedLoad, runs: Iterable[Run]) -> FixedLoad:
    """The fixed load with the runs' added."""
    gpus, it_kw = task_loads(case, runs)
    return FixedLoad(fixed.gpus + gpus.sum(axis=0), fixed.it_kw + it_kw.sum(axis=0))

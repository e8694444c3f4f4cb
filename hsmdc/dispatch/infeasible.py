"""Why a case cannot be met, in words: which requirement, by how much, where. Found by elastic rows."""

from typing import Any

import numpy as np
import numpy.typing as npt

from hsmdc.dispatch.case import Case, Task
from hsmdc.dispatch.graph import TaskModel, total_segments
from hsmdc.dispatch.model import DispatchModel, FixedLoad, build_model, inference_load
from hsmdc.dispatch.modes import screened_modes, smallest_memory
from hsmdc.dispatch.scenarios import Scenario
from hsmdc.dispatch.solver import Options
from hsmdc.errors import InfeasibleError, SolverError

Array = npt.NDArray[Any]

_OPTIONS = Options(gap=1e-3, time_limit_s=20.0)


def require_modes(case: Case, models: list[TaskModel]) -> None:
    """Refuse a task that no mode can run, or that no mode can finish in time even alone.

    Raises
    ------
    InfeasibleError
        With the task, what is short and by how much.
    """
    for task, model in zip(case.task, models, strict=True):
        if not len(model.modes):
            raise InfeasibleError(_no_mode(case, task, fixed=model.waiting is False))
        last = model.milestones[-1]
        hours = (last.boundary - model.first_slot) * case.horizon.slot_h
        work = total_segments(model) * model.segment_gpu_hours
        fastest = model.modes.iloc[int(model.modes["pace"].to_numpy().argmax())]
        short = work - fastest["pace"] * hours
        if short > 1e-6 * work:
            raise InfeasibleError(
                f"task {task.name} cannot be finished by slot {last.boundary}: its fastest mode "
                f"({fastest['gpus']:.0f} GPUs) needs {work / fastest['pace']:.1f} h and has {hours:g} h; "
                f"{short:,.0f} of {work:,.0f} baseline GPU-hours are short. "
                "Move the deadline, take a smaller baseline (or daily_ratio, with baseline_efficiency) or more GPUs"
            )


def _no_mode(case: Case, task: Task, *, fixed: bool) -> str:
    table = screened_modes(case, task)
    if fixed and (table["reason"] == "").any():
        p, q, d = task.baseline
        row = table[(table["pipeline"] == p) & (table["tensor"] == q) & (table["data"] == d)]
        reason = row["reason"].iloc[0] if len(row) else "it exceeds max_pipeline or max_tensor of [memory]"
        return f"task {task.name} cannot run its baseline mode {list(task.baseline)}: {reason}"
    best = smallest_memory(case, task)
    if best["memory_gb"] > case.memory.usable_gb:
        return (
            f"task {task.name} fits no mode of {case.site.gpu_total} GPUs: the least memory per GPU is "
            f"{best['memory_gb']:.1f} GB, in mode {best['pipeline']:.0f}x{best['tensor']:.0f}x{best['data']:.0f} "
            f"({best['gpus']:.0f} GPUs, {best['gpus'] * best['memory_gb']:,.0f} GB in all), and usable are "
            f"{case.memory.usable_gb:g} GB. Raise memory.usable_gb, max_pipeline or gpu_total"
        )
    return f"task {task.name} has no feasible mode: {table['reason'].value_counts().index[0]}"


def explain_infeasible(
    case: Case, scenario: Scenario, models: list[TaskModel], fixed: FixedLoad | None = None
) -> InfeasibleError:
    """The requirement that cannot be met and by how much.

    Fewest baseline GPU-hours left undone under the given pool and power limit, then the smallest pool (or power
    limit) under which all could be done, and the slot that needs it.
    """
    words = shortfalls(case, models, fixed) or ["its rules contradict each other, though the pool suffices"]
    return InfeasibleError(_cannot(case, scenario, words))


def explain_unfound(
    case: Case, scenario: Scenario, models: list[TaskModel], fixed: FixedLoad | None = None
) -> SolverError:
    """Why the heuristic found nothing: what is short, or, where nothing is, that it may have missed a schedule."""
    words = shortfalls(case, models, fixed)
    if words:
        return InfeasibleError(_cannot(case, scenario, words))
    return SolverError("the heuristic found no schedule, though there may be one; take method 'milp'")


def shortfalls(case: Case, models: list[TaskModel], fixed: FixedLoad | None = None) -> list[str]:
    """What is short, in words; empty where all tasks can be done."""
    fixed = inference_load(case) if fixed is None else fixed
    given = _given_load(case, fixed)
    return [given] if given else [*_shortfall(case, models, fixed), *_missing_capacity(case, models, fixed)]


def _cannot(case: Case, scenario: Scenario, words: list[str]) -> str:
    subject = f"case {case.name or '(unnamed)'} with {case.site.gpu_total} GPUs, scenario {scenario.name},"
    return f"{subject} cannot be met: " + "; ".join(words)


def _given_load(case: Case, fixed: FixedLoad) -> str:
    """The base load alone may break a limit."""
    over = fixed.gpus - case.site.gpu_total
    if over.max() > 0:
        slot = int(over.argmax())
        return f"the given load needs {fixed.gpus[slot]:g} GPUs in slot {slot}, {over[slot]:g} more than the pool has"
    if case.site.power_max_kw is not None:
        base = case.pue * (case.base_it_kw + fixed.it_kw)
        slot = int(base.argmax())
        if base[slot] > case.site.power_max_kw:
            return (
                f"the base load alone draws {base[slot]:.1f} kW in slot {slot}, "
                f"{base[slot] - case.site.power_max_kw:.1f} kW above power_max_kw; raise it to allow any training"
            )
    return ""


def _elastic(case: Case, models: list[TaskModel], fixed: FixedLoad) -> DispatchModel:
    """The compact problem without a battery and without cost."""
    model = build_model(case, models, battery=None, fixed=fixed)
    model.problem.clear_cost()
    return model


def _shortfall(case: Case, models: list[TaskModel], fixed: FixedLoad) -> list[str]:
    model = _elastic(case, models, fixed)
    problem = model.problem
    columns = []
    for rows, task in zip(model.progress_rows, models, strict=True):
        undone = problem.columns(len(rows), cost=task.segment_gpu_hours)
        problem.put(rows, undone, 1.0)
        columns.append(undone)
    blocks = problem.columns(len(model.deferrable_rows), cost=1.0)
    problem.put(model.deferrable_rows, blocks, 1.0)
    outcome = problem.solve(_OPTIONS)
    if not len(outcome.x):
        return ["pool, power limit and continuity contradict each other whatever is left undone"]
    words = []
    for undone, task in zip(columns, models, strict=True):
        hours = outcome.x[undone].max() * task.segment_gpu_hours
        if hours > 1e-6:
            work = total_segments(task) * task.segment_gpu_hours
            words.append(f"{task.name} is {hours:,.0f} of {work:,.0f} baseline GPU-hours short")
    for block, hours in zip(case.deferrable, outcome.x[blocks], strict=True):
        if hours > 1e-6:
            words.append(f"{block.name} is {hours:,.0f} of {block.gpu_hours:,.0f} GPU-hours short")
    return words


def _missing_capacity(case: Case, models: list[TaskModel], fixed: FixedLoad) -> list[str]:
    model = _elastic(case, models, fixed)
    problem = model.problem
    extra_gpus = problem.columns(1, cost=1.0)
    problem.put(model.gpu_rows, extra_gpus, -1.0)
    cap_rows = model.power[0].cap_rows
    extra_kw = problem.columns(1, cost=1e-3, upper=np.inf if len(cap_rows) else 0.0)
    problem.put(cap_rows, extra_kw, -1.0)
    outcome = problem.solve(_OPTIONS)
    if not len(outcome.x):
        return []
    words = []
    gpus, kw = outcome.x[extra_gpus[0]], outcome.x[extra_kw[0]]
    if gpus > 0.5:
        slot = _busiest_slot(case, models, model, outcome.x)
        words.append(
            f"a pool of {case.site.gpu_total + gpus:,.0f} GPUs would do, {gpus:,.0f} more; "
            f"the bottleneck is slot {slot}"
        )
    if kw > 1e-3:
        words.append(
            f"a power_max_kw of {(case.site.power_max_kw or 0) + kw:,.1f} kW would do, {kw:,.1f} more"
        )
    return words


def _busiest_slot(case: Case, models: list[TaskModel], model: DispatchModel, x: Array) -> int:
    from hsmdc.dispatch.runs import chosen_runs, task_loads

    gpus, _ = task_loads(case, chosen_runs(models, model, x))
    return int(gpus.sum(axis=0).argmax())

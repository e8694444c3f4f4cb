"""An alternating exact shortest path: each task in turn against the others' schedule, from many starts.

With the other tasks fixed, a slot's cost depends on one task's power alone and the runs of a task do not overlap,
so its best schedule is a shortest path over (boundary, segments done), found exactly by dynamic programming.
Turns repeat until none improves. The result is an upper bound of the optimum; the battery enters at the end,
in the choice among the schedules found.
"""

import itertools
import time
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hsmdc.dispatch.case import Battery, Case
from hsmdc.dispatch.graph import TaskModel, power_shape, total_segments
from hsmdc.dispatch.model import FixedLoad
from hsmdc.dispatch.power import dispatch_power
from hsmdc.dispatch.runs import Run, make_run, with_runs
from hsmdc.errors import ConfigError

Array = npt.NDArray[Any]
Path = list[tuple[int, int]]

_FINALISTS = 5


class Found(NamedTuple):
    """The best schedule found and the wall time it took."""

    runs: list[Run]
    seconds: float


class _Candidate(NamedTuple):
    cost: float
    runs: list[Run]


class _Turn(NamedTuple):
    """A task's runs in arrays, one entry per template."""

    slots: Array
    segments: Array
    gpus: Array
    mode: Array
    full_kw: Array
    last_kw: Array


def alternate(
    case: Case,
    models: list[TaskModel],
    *,
    fixed: FixedLoad,
    battery: Battery | None = None,
    seed: int = 0,
    starts: int = 24,
    initial_kwh: float | None = None,
) -> Found | None:
    """Find a good schedule.

    Parameters
    ----------
    case, models, fixed
        As in `build_model`.
    battery, initial_kwh
        For the final choice among the best schedules found.
    seed, starts
        Starting points: task orders, shares of the pool for the first task, perturbed prices.

    Returns
    -------
    Found or None
        None if no start led to a schedule that keeps every limit.

    Raises
    ------
    ConfigError
        Restricted mode transitions.
    """
    if any(model.allowed is not None for model in models):
        raise ConfigError("the heuristic knows no restricted mode transitions; take method 'milp'")
    begun = time.perf_counter()
    rng = np.random.default_rng(seed)
    spread = _spread_deferrable(case, fixed)
    if not np.isfinite(_slot_cost(case, spread.it_kw, case.price_usd_per_kwh)).all():
        return None  # the given load alone breaks the power limit
    turns = [_turn(case, model) for model in models]
    orders = itertools.cycle(itertools.islice(itertools.permutations(range(len(models))), 6))
    found: dict[tuple[Run, ...], _Candidate] = {}
    for start in range(starts):
        candidate = _descend(case, models, turns, spread, next(orders), rng, plain=start < len(models))
        if candidate is not None:
            found[tuple(candidate.runs)] = candidate
    best = sorted(found.values(), key=lambda candidate: candidate.cost)[:_FINALISTS]
    if not best:
        return None

    def final_cost(candidate: _Candidate) -> float:
        load = with_runs(case, fixed, candidate.runs)
        return dispatch_power(case, battery, load, initial_kwh=initial_kwh).cost_usd

    return Found(min(best, key=final_cost).runs, time.perf_counter() - begun)


def _spread_deferrable(case: Case, fixed: FixedLoad) -> FixedLoad:
    """Fine-tuning spread evenly over its window while the tasks are placed; the final dispatch moves it."""
    gpus, it_kw = fixed.gpus.copy(), fixed.it_kw.copy()
    for block in case.deferrable:
        end = case.deadline(block, len(case.horizon.days) - 1)
        open_slots = max(
            end - block.release_slot, 1
        )  # none in a window before the release, with no hours due
        level = block.gpu_hours / (open_slots * case.horizon.slot_h)
        gpus[block.release_slot : end] += level
        it_kw[block.release_slot : end] += level * block.utilization * case.site.gpu_power_kw
    return FixedLoad(gpus, it_kw)


def _turn(case: Case, model: TaskModel) -> _Turn:
    shapes = [power_shape(run, case.graph.partial_slot) for run in model.templates]
    full = np.array([shape[0] if len(shape) > 1 else 1.0 for shape in shapes])
    gpus = np.array([run.gpus for run in model.templates])
    return _Turn(
        np.array([run.slots for run in model.templates]),
        np.array([run.segments for run in model.templates]),
        gpus,
        np.array([run.mode for run in model.templates]),
        full * gpus * case.site.gpu_power_kw,
        np.array([shape[-1] for shape in shapes]) * gpus * case.site.gpu_power_kw,
    )


def _descend(
    case: Case,
    models: list[TaskModel],
    turns: list[_Turn],
    fixed: FixedLoad,
    order: tuple[int, ...],
    rng: np.random.Generator,
    *,
    plain: bool,
) -> _Candidate | None:
    """One start: place the tasks in order, then take turns until none improves."""
    price = case.price_usd_per_kwh
    if not plain:
        price = price + rng.normal(0.0, 0.2 * price.std() + 1e-6, len(price))
    share = rng.uniform(0.3, 0.9)
    runs: dict[int, list[Run]] = {task: [] for task in order}
    for position, task in enumerate(order):
        alone = position == len(order) - 1
        placed = _best(
            case, models, turns, task, _others(case, fixed, runs, task), price, 1.0 if alone else share
        )
        if placed is None:
            return None
        runs[task] = placed
    cost = np.inf
    while True:
        for task in order:
            improved = _best(
                case, models, turns, task, _others(case, fixed, runs, task), case.price_usd_per_kwh, 1.0
            )
            if improved is None:
                return None
            runs[task] = improved
        load = with_runs(case, fixed, itertools.chain.from_iterable(runs.values()))
        now = float(_slot_cost(case, load.it_kw, case.price_usd_per_kwh).sum())
        if now >= cost - 1e-9:
            return _Candidate(now, sorted(itertools.chain.from_iterable(runs.values())))
        cost = now


def _others(case: Case, fixed: FixedLoad, runs: dict[int, list[Run]], task: int) -> FixedLoad:
    return with_runs(case, fixed, [run for other, placed in runs.items() if other != task for run in placed])


def _slot_cost(case: Case, it_kw: Array, price: Array) -> Array:
    """Cost of each slot without a battery [USD]; infinite above the site's power limit."""
    site = case.pue * (case.base_it_kw + it_kw)
    renewable = case.renewable_kw
    penalty = case.site.curtailment_usd_per_mwh / 1e3
    # With a price below −penalty it pays to curtail everything and buy.
    curtailed = np.where(price + penalty >= 0, np.maximum(renewable - site, 0.0), renewable)
    cost = price * (site - renewable + curtailed) + penalty * curtailed
    if case.site.power_max_kw is not None:
        cost = np.where(site > case.site.power_max_kw + 1e-9, np.inf, cost)
    return np.asarray(cost * case.horizon.slot_h)


def _best(
    case: Case,
    models: list[TaskModel],
    turns: list[_Turn],
    task: int,
    others: FixedLoad,
    price: Array,
    share: float,
) -> list[Run] | None:
    """The task's cheapest schedule against the others' load, or None if there is none."""
    cost = _start_costs(case, turns[task], others, price, share)
    path = _shortest_path(models[task], turns[task], cost)
    if path is None:
        return None
    return [make_run(task, models[task], models[task].templates[index], start) for index, start in path]


def _start_costs(case: Case, turn: _Turn, others: FixedLoad, price: Array, share: float) -> Array:
    """Added cost of every template at every start slot, infinite where a limit breaks: (templates, slots)."""
    before = _slot_cost(case, others.it_kw, price)
    idle = case.site.idle_gpu_usd_per_h * case.horizon.slot_h

    def added(kw: Array) -> Array:
        return np.stack([_slot_cost(case, others.it_kw + level, price) - before for level in kw])

    room = (case.site.gpu_total - others.gpus) * share + 1e-9
    blocked = np.where(turn.gpus[:, None] > room, np.inf, 0.0) - idle * turn.gpus[:, None]
    body, last = added(turn.full_kw) + blocked, added(turn.last_kw) + blocked
    slots = body.shape[1]
    cost = np.full(body.shape, np.inf)
    for index, length in enumerate(turn.slots):
        if length <= slots:
            windows = np.lib.stride_tricks.sliding_window_view(body[index], length)[:, : length - 1].sum(
                axis=1
            )
            cost[index, : slots - length + 1] = windows + last[index, length - 1 :]
    return cost


def _shortest_path(model: TaskModel, turn: _Turn, cost: Array) -> Path | None:
    first, end, total = model.first_slot, model.milestones[-1].boundary, total_segments(model)
    value = np.full((end + 1, total + 1), np.inf)
    choice = np.full((end + 1, total + 1), -1)
    value[end, total] = 0.0
    progress = np.arange(total + 1)
    target = progress[None, :] + turn.segments[:, None]
    reachable = target <= total
    target = np.minimum(target, total)
    for tau in range(end - 1, first - 1, -1):
        head = tau + turn.slots
        inside = head <= end
        onward = value[np.minimum(head, end)[:, None], target] + cost[:, tau, None]
        onward[~(reachable & inside[:, None])] = np.inf
        for boundary, due in model.milestones:
            crosses = (tau < boundary) & (boundary < head)
            onward[crosses[:, None] & (progress < due)] = np.inf
        if len(onward):
            choice[tau] = onward.argmin(axis=0)
            value[tau] = onward.min(axis=0)
        _idle(model, value, choice, tau, total)
        for boundary, due in model.milestones:
            if boundary == tau:
                value[tau, :due] = np.inf
    return _trace_back(model, turn, choice) if np.isfinite(value[first, 0]) else None


def _idle(model: TaskModel, value: Array, choice: Array, tau: int, total: int) -> None:
    """Waiting one slot, or, where pauses are forbidden, resting once all is done."""
    if model.waiting:
        wait = value[tau + 1] <= value[tau]
        value[tau, wait], choice[tau, wait] = value[tau + 1, wait], -1
    elif tau > model.first_slot:
        value[tau, total], choice[tau, total] = 0.0, -1


def _trace_back(model: TaskModel, turn: _Turn, choice: Array) -> Path:
    tau, k, path = model.first_slot, 0, []
    end, total = model.milestones[-1].boundary, total_segments(model)
    while tau < end and not (k == total and not model.waiting):
        index = int(choice[tau, k])
        if index < 0:
            tau += 1
            continue
        path.append((index, tau))
        tau, k = tau + int(turn.slots[index]), k + int(turn.segments[index])
    return path

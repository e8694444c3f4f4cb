"""Several days by a rolling window: plan some days ahead, keep the first, carry what runs past midnight.

State between windows: energy in the battery, segments done, and runs that hold GPUs into the next day. Each
day's tranche is due by its deadline; a task may work ahead within the window.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, get_args

import numpy as np
import numpy.typing as npt
import xarray as xr

from hsmdc.dispatch.case import Battery, Case
from hsmdc.dispatch.checker import require_valid
from hsmdc.dispatch.graph import Milestone, TaskModel, milestones, task_model
from hsmdc.dispatch.heuristic import alternate
from hsmdc.dispatch.infeasible import explain_infeasible, explain_unfound, require_modes
from hsmdc.dispatch.model import FixedLoad, build_model, inference_load
from hsmdc.dispatch.modes import baseline_mode
from hsmdc.dispatch.planner import Method, battery_of
from hsmdc.dispatch.power import PowerPlan, dispatch_power
from hsmdc.dispatch.result import Proof, schedule_dataset
from hsmdc.dispatch.runs import Run, chosen_runs, task_loads, with_runs
from hsmdc.dispatch.scenarios import Scenario, scenario_named
from hsmdc.dispatch.solver import Options, check_choice
from hsmdc.dispatch.workload import tranche
from hsmdc.errors import ConfigError, SolverError

Array = npt.NDArray[Any]
Progress = Callable[[float, float], None]


class _State(NamedTuple):
    """What a window leaves to the next: runs kept so far, energy, fine-tuning hours still to serve."""

    runs: list[Run]
    energy_kwh: float | None
    deferrable_h: tuple[float, ...]


class _Window(NamedTuple):
    """A window's case, its first slot in the horizon, its tasks and the load carried into it."""

    case: Case
    offset: int
    models: list[TaskModel]
    fixed: FixedLoad


class _Solved(NamedTuple):
    """A window's runs in its own slots, its power and its proof."""

    runs: list[Run]
    power: PowerPlan
    bound: float
    seconds: float
    status: str


def roll(
    case: Case,
    scenario: str | Scenario = "S6",
    *,
    window_days: int = 2,
    method: Method = "milp",
    gap: float = 1e-3,
    time_limit_s: float | None = None,
    seed: int = 0,
    threads: int = 1,
    progress: Progress | None = None,
) -> xr.Dataset:
    """Plan a horizon of several days day by day, looking `window_days` ahead.

    Parameters
    ----------
    case
        A case of several days.
    scenario
        One with continuous runs: any but S3.
    window_days
        Days planned at once, of which the first is kept.
    method, gap, time_limit_s, seed, threads
        As in `solve`, for each window.
    progress
        Called with (days done, days).

    Returns
    -------
    xarray.Dataset
        The schedule over the whole horizon as `solve` returns it, and over `window`: `window_cost_usd
        window_bound_usd window_gap window_solve_s`. A rolling plan has no bound for the whole horizon.

    Raises
    ------
    ConfigError
        Scenario S3, or a window of less than a day.
    SolverError
        If a window cannot be met, with the day it starts.
    """
    check_choice("method", method, get_args(Method))
    chosen = scenario_named(scenario)
    if chosen.modes == "ideal":
        raise ConfigError("scenario S3 is no executable schedule; roll S4 or S6")
    if window_days < 1:
        raise ConfigError(f"window_days = {window_days}: give at least one day")
    battery = battery_of(case, chosen)
    options = Options(gap, time_limit_s, seed, threads)
    state = _State([], None, tuple(block.gpu_hours for block in case.deferrable))
    plans: list[PowerPlan] = []
    solved: list[_Solved] = []
    days = len(case.horizon.days)
    for day in range(days):
        window = _window(case, chosen, state, day, window_days)
        result = _solve_window(window, chosen, battery, state.energy_kwh, method, options, day)
        state, kept = _keep_first_day(case, window, result, state, battery)
        plans.append(kept)
        solved.append(result)
        if progress is not None:
            progress(day + 1, days)
    return _assemble(case, chosen, battery, state.runs, plans, solved, method, options)


def _window(case: Case, scenario: Scenario, state: _State, day: int, window_days: int) -> _Window:
    lengths = case.horizon.days[day : day + window_days]
    offset = case.day_ends[day] - case.horizon.days[day]
    part = _slice(case, offset, lengths, state.deferrable_h)
    end = offset + sum(lengths)
    carried = [run for run in state.runs if run.end > offset]
    models = [
        _task_window(case, part, scenario, state.runs, index, offset, end) for index in range(len(case.task))
    ]
    gpus, it_kw = task_loads(case, carried)
    given = inference_load(part)
    fixed = FixedLoad(given.gpus + gpus.sum(axis=0)[offset:end], given.it_kw + it_kw.sum(axis=0)[offset:end])
    return _Window(part, offset, models, fixed)


def _slice(case: Case, offset: int, lengths: tuple[int, ...], deferrable_h: tuple[float, ...]) -> Case:
    """The case on the slots of a window; fine-tuning gets the window's share of its remaining hours."""
    end = offset + sum(lengths)
    raw = case.model_dump(exclude_none=True)
    raw["horizon"] |= {"slots": sum(lengths), "day_slots": lengths}
    raw["profiles"] = {
        key: value if isinstance(value, str) else value[offset:end] for key, value in raw["profiles"].items()
    }
    for block in raw["inference"]:
        if len(block["gpus"]) > 1:
            block["gpus"] = block["gpus"][offset:end]
    blocks = zip(case.deferrable, raw["deferrable"], deferrable_h, strict=True)
    raw["deferrable"] = [
        _window_block(case, block, table, hours, offset, end) for block, table, hours in blocks
    ]
    return case.replace(**raw)


def _window_block(
    case: Case, block: Any, table: dict[str, Any], hours: float, offset: int, end: int
) -> dict[str, Any]:
    last = case.deadline(block, len(case.horizon.days) - 1)
    begin, close = max(block.release_slot, offset), min(last, end)
    open_slots, left = max(close - begin, 0), max(last - max(block.release_slot, offset), 1)
    if close < last:  # the deadline stands in the last day of the horizon, beyond this window
        table = {key: value for key, value in table.items() if key != "deadline_slot"}
    share = hours * open_slots / left
    return table | {"gpu_hours": share, "release_slot": min(begin, end) - offset}


def _task_window(
    case: Case, part: Case, scenario: Scenario, runs: list[Run], index: int, offset: int, end: int
) -> TaskModel:
    task = case.task[index]
    mine = [run for run in runs if run.task == index]
    done = round(sum(run.segments for run in mine))
    first = max([run.end - offset for run in mine if run.end > offset], default=0)
    due = [
        Milestone(m.boundary - offset, max(m.segments - done, 0))
        for m in milestones(case, task)
        if offset < m.boundary <= end
    ]
    return task_model(
        part,
        task,
        modes=baseline_mode(part, task) if scenario.modes == "fixed" else None,
        waiting=scenario.waiting,
        first_slot=first,
        due=[m for m in due if m.boundary > first] or due[-1:],
        segment_gpu_hours=tranche(case, task).segment_gpu_hours,
    )


def _solve_window(
    window: _Window,
    scenario: Scenario,
    battery: Battery | None,
    energy_kwh: float | None,
    method: Method,
    options: Options,
    day: int,
) -> _Solved:
    try:
        require_modes(window.case, window.models)
        if method == "heuristic":
            runs, bound, seconds, status = _by_heuristic(window, scenario, battery, energy_kwh, options)
        else:
            runs, bound, seconds, status = _by_milp(window, scenario, battery, energy_kwh, options)
    except SolverError as error:
        raise type(error)(f"window from day {day + 1}: {error}") from None
    load = with_runs(window.case, window.fixed, runs)
    return _Solved(
        runs, dispatch_power(window.case, battery, load, initial_kwh=energy_kwh), bound, seconds, status
    )


def _by_milp(
    window: _Window, scenario: Scenario, battery: Battery | None, energy_kwh: float | None, options: Options
) -> tuple[list[Run], float, float, str]:
    model = build_model(
        window.case, window.models, battery=battery, fixed=window.fixed, initial_kwh=energy_kwh
    )
    outcome = model.problem.solve(options)
    if outcome.status == "infeasible":
        raise explain_infeasible(window.case, scenario, window.models, window.fixed)
    if outcome.status == "no solution":
        raise SolverError(
            f"no schedule was found within {options.time_limit_s:g} s; allow more time or a wider gap"
        )
    return chosen_runs(window.models, model, outcome.x), outcome.bound, outcome.seconds, outcome.status


def _by_heuristic(
    window: _Window, scenario: Scenario, battery: Battery | None, energy_kwh: float | None, options: Options
) -> tuple[list[Run], float, float, str]:
    found = alternate(
        window.case,
        window.models,
        fixed=window.fixed,
        battery=battery,
        seed=options.seed,
        initial_kwh=energy_kwh,
    )
    if found is None:
        raise explain_unfound(window.case, scenario, window.models, window.fixed)
    return found.runs, -np.inf, found.seconds, "heuristic"


def _keep_first_day(
    case: Case, window: _Window, result: _Solved, state: _State, battery: Battery | None
) -> tuple[_State, PowerPlan]:
    length = window.case.horizon.days[0]
    kept = [run._replace(start=run.start + window.offset) for run in result.runs if run.start < length]
    power = result.power.first(length)
    served = power.deferrable_gpus.sum(axis=1) * case.horizon.slot_h
    hours = tuple(float(h) for h in np.maximum(np.asarray(state.deferrable_h) - served, 0.0))
    energy = float(power.energy_kwh[-1]) if battery is not None else None
    return _State(sorted([*state.runs, *kept]), energy, hours), power


def _assemble(
    case: Case,
    scenario: Scenario,
    battery: Battery | None,
    runs: list[Run],
    plans: list[PowerPlan],
    solved: list[_Solved],
    method: Method,
    options: Options,
) -> xr.Dataset:
    plan = PowerPlan.joined(plans)
    plan = plan._replace(cost_usd=_cost(case, battery, runs, plan))
    status = "optimal" if all(s.status == "optimal" for s in solved) else solved[-1].status
    seconds = sum(s.seconds for s in solved)
    proof = Proof(status, f"rolling window, {method}", -np.inf, seconds, 0, 0, 0, options.seed)
    schedule = schedule_dataset(case, scenario, battery, runs, plan, proof)
    require_valid(case, schedule)
    costs = np.array([s.power.cost_usd for s in solved])
    bounds = np.array([s.bound for s in solved])
    gaps = np.maximum(costs - bounds, 0) / np.maximum(np.abs(costs), 1e-9)
    return schedule.assign(
        window_cost_usd=("window", costs, {"units": "USD"}),
        window_bound_usd=("window", bounds, {"units": "USD"}),
        window_gap=("window", gaps, {"units": "1", "long_name": "gap proven in each window"}),
        window_solve_s=("window", np.array([s.seconds for s in solved]), {"units": "s"}),
    )


def _cost(case: Case, battery: Battery | None, runs: list[Run], plan: PowerPlan) -> float:
    """Cost of the days kept; the windows' costs overlap."""
    hours = case.horizon.slot_h
    energy = float(case.price_usd_per_kwh @ plan.grid_kw)
    curtailed = float(plan.curtailed_kw.sum()) * case.site.curtailment_usd_per_mwh / 1e3
    throughput = 0.0 if battery is None else battery.throughput_usd_per_mwh / 1e3
    cycled = float((plan.charge_kw + plan.discharge_kw).sum()) * throughput
    held = with_runs(case, inference_load(case), runs).gpus + plan.deferrable_gpus.sum(axis=0)
    idle = float((case.site.gpu_total - held).sum()) * case.site.idle_gpu_usd_per_h
    return (energy + curtailed + cycled + idle) * hours

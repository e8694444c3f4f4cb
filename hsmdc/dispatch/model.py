"""The dispatch problem as columns and rows: task flows, GPU pool, power balance, battery, simple blocks.

Equations by the paper's Sections IV-A (flows), IV-B (GPUs and power), IV-C (balance and battery) and IV-D (cost).
"""

import math
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hsmdc.dispatch.case import Battery, Case
from hsmdc.dispatch.graph import WAIT, Graph, TaskModel, build_graph, power_shape
from hsmdc.dispatch.solver import Problem
from hsmdc.errors import ConfigError

Array = npt.NDArray[Any]

_MOST_COMBINATIONS = 20_000


class PowerInputs(NamedTuple):
    """What the grid, the weather and the rest of the site do in each slot."""

    renewable_kw: Array
    price_usd_per_kwh: Array
    base_it_kw: Array
    pue: Array


class FixedLoad(NamedTuple):
    """GPUs held and IT power drawn by what is not up for decision, per slot."""

    gpus: Array
    it_kw: Array


class LoadTerms(NamedTuple):
    """IT power of the decision columns: `it_kw` of `column` in `slot`."""

    slot: Array
    column: Array
    it_kw: Array


class TaskColumns(NamedTuple):
    """A task's graph and the columns of its edges."""

    graph: Graph
    edges: Array


class IdealColumns(NamedTuple):
    """Of the idealised benchmark: one column per slot and combination of modes (−1 for none)."""

    combinations: Array
    columns: Array


class PowerColumns(NamedTuple):
    """Columns of the power side, one per slot; empty where there is no battery."""

    grid: Array
    curtailed: Array
    charge: Array
    discharge: Array
    energy: Array
    cap_rows: Array


class DispatchModel(NamedTuple):
    """The problem and where its columns are."""

    problem: Problem
    tasks: list[TaskColumns]
    ideal: IdealColumns | None
    deferrable: list[Array]
    power: list[PowerColumns]
    gpu_rows: Array
    progress_rows: list[Array]
    deferrable_rows: Array


def power_inputs(case: Case) -> PowerInputs:
    """The case's own profiles."""
    return PowerInputs(case.renewable_kw, case.price_usd_per_kwh, case.base_it_kw, case.pue)


def inference_load(case: Case) -> FixedLoad:
    """GPUs and IT power of the inference blocks."""
    gpus = np.zeros(case.slots)
    it_kw = np.zeros(case.slots)
    for block in case.inference:
        held = np.broadcast_to(np.asarray(block.gpus, dtype=float), (case.slots,))
        gpus += held
        it_kw += held * block.utilization * case.site.gpu_power_kw
    return FixedLoad(gpus, it_kw)


def build_model(
    case: Case,
    models: list[TaskModel],
    *,
    battery: Battery | None,
    fixed: FixedLoad,
    full_graph: bool = False,
    ideal: bool = False,
    scenarios: list[PowerInputs] | None = None,
    weights: Array | None = None,
    initial_kwh: float | None = None,
    with_deferrable: bool = True,
) -> DispatchModel:
    """Assemble the dispatch problem.

    Parameters
    ----------
    case
        The case; its slots, pool, costs and simple blocks.
    models
        One per task; empty to dispatch power alone for a given load.
    battery
        The battery, or None.
    fixed
        Load that is given: inference, runs carried over, or the whole schedule.
    full_graph
        The paper's (τ, k) graph in place of the compact one.
    ideal
        Modes chosen freely in every slot, no continuity (scenario S3).
    scenarios, weights
        Power inputs that share the training schedule and their weights in the cost; by default the case's.
    with_deferrable
        Whether fine-tuning is up for decision; if not, it is part of `fixed`.
    initial_kwh
        Energy in the battery at the start, by default that of the case. It returns to the case's initial energy.
    """
    problem = Problem()
    slots = np.arange(case.slots)
    free_gpus = np.maximum(case.site.gpu_total - fixed.gpus, 0.0)
    gpu_rows = problem.rows(case.slots, upper=free_gpus)
    problem.offset = case.site.idle_gpu_usd_per_h * case.horizon.slot_h * float(free_gpus.sum())
    tasks: list[TaskColumns] = []
    progress: list[Array] = []
    loads: list[LoadTerms] = []
    combos = None
    if ideal:
        combos, load = _add_ideal(problem, case, models, fixed)
        loads.append(load)
    else:
        for model in models:
            columns, load, rows = _add_task(problem, case, model, gpu_rows, full_graph=full_graph)
            tasks.append(columns)
            progress.append(rows)
            loads.append(load)
    blocks = range(len(case.deferrable) if with_deferrable else 0)
    served = np.array([case.deferrable[i].gpu_hours for i in blocks])
    block_rows = problem.rows(len(blocks), lower=served, upper=served)
    deferrable = [_add_deferrable(problem, case, i, block_rows[i], gpu_rows, loads) for i in blocks]
    if not loads:
        loads.append(LoadTerms(slots[:0], slots[:0], np.empty(0)))
    load = LoadTerms(*(np.concatenate(parts) for parts in zip(*loads, strict=True)))
    scenarios = scenarios or [power_inputs(case)]
    weights = np.ones(1) if weights is None else weights
    power = [
        _add_power(problem, case, inputs, weight, load, fixed, battery, initial_kwh)
        for inputs, weight in zip(scenarios, weights, strict=True)
    ]
    return DispatchModel(problem, tasks, combos, deferrable, power, gpu_rows, progress, block_rows)


def _add_task(
    problem: Problem, case: Case, model: TaskModel, gpu_rows: Array, *, full_graph: bool
) -> tuple[TaskColumns, LoadTerms, Array]:
    """One unit of flow from start to end, and the segments done by each milestone."""
    graph = build_graph(model, progress=full_graph)
    edges = problem.columns(len(graph.tail), upper=1.0, integer=True)
    supply = np.zeros(graph.nodes)
    supply[graph.source], supply[graph.sink] = 1.0, -1.0
    flow = problem.rows(graph.nodes, lower=supply, upper=supply)
    problem.put(flow[graph.tail], edges, 1.0)
    problem.put(flow[graph.head], edges, -1.0)
    rows = np.empty(0, dtype=np.int64)
    if not full_graph:
        rows = _add_progress(problem, model, graph, edges)
    slot, column, gpus, it_kw = edge_loads(case, model, graph, edges)
    problem.put(gpu_rows[slot], column, gpus)
    _add_idle_cost(problem, case, column, gpus)
    return TaskColumns(graph, edges), LoadTerms(slot, column, it_kw), rows


def _add_progress(problem: Problem, model: TaskModel, graph: Graph, edges: Array) -> Array:
    """Σ Δk·x over the runs that end by a milestone: at least what is due then, exactly the total at the last."""
    runs = graph.template != WAIT
    segments = np.array([run.segments for run in model.templates], dtype=float)
    lengths = np.array([run.slots for run in model.templates])
    dk, end = segments[graph.template[runs]], graph.start[runs] + lengths[graph.template[runs]]
    due = np.array([m.segments for m in model.milestones], dtype=float)
    upper = np.full(len(due), np.inf)
    upper[-1] = due[-1]
    rows = problem.rows(len(due), lower=due, upper=upper)
    for row, milestone in zip(rows, model.milestones, strict=True):
        inside = end <= milestone.boundary
        problem.put(row, edges[runs][inside], dk[inside])
    return rows


def edge_loads(case: Case, model: TaskModel, graph: Graph, edges: Array) -> tuple[Array, Array, Array, Array]:
    """Slot, column, GPUs and IT power [kW] of every slot of every run."""
    slots, columns, gpus, powers = [], [], [], []
    for index, run in enumerate(model.templates):
        mine = graph.template == index
        n = int(mine.sum())
        offsets = np.arange(run.slots)
        slots.append((graph.start[mine][:, None] + offsets).ravel())
        columns.append(np.repeat(edges[mine], run.slots))
        gpus.append(np.full(n * run.slots, run.gpus, dtype=float))
        kw = run.gpus * case.site.gpu_power_kw * power_shape(run, case.graph.partial_slot)
        powers.append(np.tile(kw, n))
    if not slots:
        empty = np.empty(0)
        return empty.astype(np.int64), empty.astype(np.int64), empty, empty
    return np.concatenate(slots), np.concatenate(columns), np.concatenate(gpus), np.concatenate(powers)


def _add_idle_cost(problem: Problem, case: Case, column: Array, gpus: Array) -> None:
    """A GPU of the pool that nothing holds loses its opportunity value; holding one saves it."""
    if case.site.idle_gpu_usd_per_h:
        problem.add_cost(column, -case.site.idle_gpu_usd_per_h * case.horizon.slot_h * gpus)


def _add_ideal(
    problem: Problem, case: Case, models: list[TaskModel], fixed: FixedLoad
) -> tuple[IdealColumns, LoadTerms]:
    """A combination of modes per slot; slots are coupled by the work totals alone."""
    combinations = _combinations(models)
    gpus = sum(_picked(model, "gpus", combinations[:, j]) for j, model in enumerate(models))
    fits = np.asarray(gpus)[None, :] <= case.site.gpu_total - fixed.gpus[:, None]
    n = len(combinations)
    columns = problem.columns(case.slots * n, upper=fits.ravel(), integer=True).reshape(case.slots, n)
    one = problem.rows(case.slots, lower=1.0, upper=1.0)
    problem.put(one[:, None], columns, 1.0)
    for j, model in enumerate(models):
        work = _picked(model, "pace", combinations[:, j]) * case.horizon.slot_h
        due = [m.segments * model.segment_gpu_hours for m in model.milestones]
        rows = problem.rows(len(due), lower=due)
        for row, milestone in zip(rows, model.milestones, strict=True):
            problem.put(row, columns[: milestone.boundary], work)
    slot = np.repeat(np.arange(case.slots), n)
    _add_idle_cost(problem, case, columns.ravel(), np.tile(gpus, case.slots))
    load = LoadTerms(slot, columns.ravel(), np.tile(gpus * case.site.gpu_power_kw, case.slots))
    return IdealColumns(combinations, columns), load


def _combinations(models: list[TaskModel]) -> Array:
    """Mode of each task (−1 for none where it may pause) in every combination: (combinations, tasks)."""
    choices = [range(-1 if model.waiting else 0, len(model.modes)) for model in models]
    count = math.prod(len(choice) for choice in choices)
    if count > _MOST_COMBINATIONS:
        raise ConfigError(
            f"scenario S3 combines the modes of all tasks: {count:,} combinations are too many "
            f"(at most {_MOST_COMBINATIONS:,}); compare the other scenarios, or fewer tasks"
        )
    return np.array(list(product(*choices)), dtype=np.int64).reshape(-1, len(models))


def _picked(model: TaskModel, key: str, choice: Array) -> Array:
    """A mode's figure for each choice, 0 where none runs."""
    return np.append(model.modes[key].to_numpy(dtype=float), 0.0)[choice]


def _add_deferrable(
    problem: Problem, case: Case, index: int, row: int, gpu_rows: Array, loads: list[LoadTerms]
) -> Array:
    """GPUs of a fine-tuning block: any number up to its limit, its GPU-hours served within its window."""
    block = case.deferrable[index]
    slots = np.arange(case.slots)
    end = case.deadline(block, len(case.horizon.days) - 1)
    open_slots = (slots >= block.release_slot) & (slots < end)
    columns = problem.columns(case.slots, upper=np.where(open_slots, block.gpus_max, 0.0))
    problem.put(row, columns, case.horizon.slot_h)
    problem.put(gpu_rows, columns, 1.0)
    _add_idle_cost(problem, case, columns, np.ones(case.slots))
    loads.append(LoadTerms(slots, columns, np.full(case.slots, block.utilization * case.site.gpu_power_kw)))
    return columns


def _add_power(
    problem: Problem,
    case: Case,
    inputs: PowerInputs,
    weight: float,
    load: LoadTerms,
    fixed: FixedLoad,
    battery: Battery | None,
    initial_kwh: float | None,
) -> PowerColumns:
    """grid − curtailed + discharge − charge − PUE·training = PUE·(base + fixed) − renewable, in each slot."""
    hours = case.horizon.slot_h
    given = inputs.pue * (inputs.base_it_kw + fixed.it_kw)
    balance = problem.rows(case.slots, lower=given - inputs.renewable_kw, upper=given - inputs.renewable_kw)
    problem.put(balance[load.slot], load.column, -inputs.pue[load.slot] * load.it_kw)
    grid = problem.columns(case.slots, cost=weight * hours * inputs.price_usd_per_kwh)
    curtailed = problem.columns(
        case.slots, upper=inputs.renewable_kw, cost=weight * hours * case.site.curtailment_usd_per_mwh / 1e3
    )
    problem.put(balance, grid, 1.0)
    problem.put(balance, curtailed, -1.0)
    none = np.empty(0, dtype=np.int64)
    cap = none
    if case.site.power_max_kw is not None:
        cap = problem.rows(case.slots, upper=case.site.power_max_kw - given)
        problem.put(cap[load.slot], load.column, inputs.pue[load.slot] * load.it_kw)
    if battery is None:
        return PowerColumns(grid, curtailed, none, none, none, cap)
    cost = weight * hours * battery.throughput_usd_per_mwh / 1e3
    flows = _add_battery(problem, case, battery, balance, inputs, cost, initial_kwh)
    return PowerColumns(grid, curtailed, *flows, cap)


def _add_battery(
    problem: Problem,
    case: Case,
    battery: Battery,
    balance: Array,
    inputs: PowerInputs,
    cost: float,
    initial_kwh: float | None,
) -> tuple[Array, Array, Array]:
    """Energy by charge and discharge, back at its initial value at the end."""
    hours, n = case.horizon.slot_h, case.slots
    charge = problem.columns(n, upper=battery.power_kw, cost=cost)
    discharge = problem.columns(n, upper=battery.power_kw, cost=cost)
    home = battery.soc_initial * battery.energy_kwh
    lower = np.full(n, battery.soc_min * battery.energy_kwh)
    upper = np.full(n, battery.soc_max * battery.energy_kwh)
    lower[-1] = upper[-1] = home
    energy = problem.columns(n, lower=lower, upper=upper)
    start = np.zeros(n)
    start[0] = home if initial_kwh is None else initial_kwh
    rows = problem.rows(n, lower=start, upper=start)
    problem.put(rows, energy, 1.0)
    problem.put(rows[1:], energy[:-1], -1.0)
    problem.put(rows, charge, -battery.efficiency_charge * hours)
    problem.put(rows, discharge, hours / battery.efficiency_discharge)
    problem.put(balance, discharge, 1.0)
    problem.put(balance, charge, -1.0)
    if not exclusive_by_cost(case, battery, inputs):
        mode = problem.columns(n, upper=1.0, integer=True)
        for flow, sign, limit in ((charge, -1.0, 0.0), (discharge, 1.0, battery.power_kw)):
            cap = problem.rows(n, upper=limit)
            problem.put(cap, flow, 1.0)
            problem.put(cap, mode, sign * battery.power_kw)
    return charge, discharge, energy


def exclusive_by_cost(case: Case, battery: Battery, inputs: PowerInputs) -> bool:
    """Whether charging and discharging at once can never pay, so that no binaries are needed.

    Cycling 1 kWh costs c·(1 + η) and burns 1 − η, with η the round trip. A burnt kWh is worth at most the curtailment
    it avoids or the negative price it earns.
    """
    round_trip = battery.efficiency_charge * battery.efficiency_discharge
    worth = max(case.site.curtailment_usd_per_mwh / 1e3, -float(inputs.price_usd_per_kwh.min()))
    return battery.throughput_usd_per_mwh / 1e3 * (1 + round_trip) > worth * (1 - round_trip)


def power_cost(
    case: Case, battery: Battery | None, inputs: PowerInputs, columns: PowerColumns
) -> tuple[Array, Array]:
    """Columns of a power side and what each costs per kW [USD], unweighted."""
    hours = case.horizon.slot_h
    cycling = 0.0 if battery is None else hours * battery.throughput_usd_per_mwh / 1e3
    costs = [
        hours * inputs.price_usd_per_kwh,
        np.full(case.slots, hours * case.site.curtailment_usd_per_mwh / 1e3),
        np.full(len(columns.charge) + len(columns.discharge), cycling),
    ]
    ids = (columns.grid, columns.curtailed, columns.charge, columns.discharge)
    return np.concatenate(ids), np.concatenate(costs)

"""An independent check of a schedule: every rule recomputed from case and Dataset, with no graph and no solver.

It shares only the descriptor arithmetic (`workload`, `modes`) with the code it checks.
"""

import math
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import xarray as xr

from hsmdc.dispatch.case import Case
from hsmdc.dispatch.modes import feasible_modes
from hsmdc.dispatch.workload import tranche
from hsmdc.errors import SolverError

Array = npt.NDArray[Any]

TOLERANCE = 1e-5


def check_schedule(case: Case, schedule: xr.Dataset) -> list[str]:
    """All rules the schedule breaks, in words; empty where it keeps every one.

    Checked: runs against modes, work and time; continuity of each task's path and its milestones; progress, GPUs and
    powers against the runs; GPU pool and power limit; power balance; battery; cost.

    Parameters
    ----------
    case
        The case the schedule was made for.
    schedule
        Dataset of `solve`.
    """
    faults: list[str] = []
    for index in range(len(case.task)):
        faults += _task_faults(case, schedule, index)
    faults += _load_faults(case, schedule)
    faults += _limit_faults(case, schedule)
    faults += _balance_faults(case, schedule)
    faults += _battery_faults(case, schedule)
    faults += _cost_faults(case, schedule)
    return faults


def require_valid(case: Case, schedule: xr.Dataset) -> None:
    """Raise if the schedule breaks a rule.

    Raises
    ------
    SolverError
        With the first three faults.
    """
    faults = check_schedule(case, schedule)
    if faults:
        raise SolverError("the schedule found breaks its own rules: " + "; ".join(faults[:3]))


class _Run(NamedTuple):
    start: int
    slots: int
    used_slots: float
    segments: float
    gpus: int
    key: tuple[int, int, int]

    @property
    def end(self) -> int:
        return self.start + self.slots


def _runs(schedule: xr.Dataset, index: int) -> list[_Run]:
    names = ("start_slot", "slots", "used_slots", "segments", "gpus", "pipeline", "tensor", "data")
    columns = [schedule[f"run_{name}"].to_numpy()[schedule["run_task"].to_numpy() == index] for name in names]
    return sorted(
        _Run(int(start), int(slots), float(used), float(dk), int(gpus), (int(p), int(q), int(d)))
        for start, slots, used, dk, gpus, p, q, d in zip(*columns, strict=True)
    )


def _task_faults(case: Case, schedule: xr.Dataset, index: int) -> list[str]:
    name = case.task[index].name
    runs, modes = _runs(schedule, index), _modes(case, index)
    ideal = schedule.attrs["scenario_modes"] == "ideal"
    faults = []
    for run in runs:
        broken = _run_faults(case, index, run, modes, ideal)
        faults += [f"{name}, run of slot {run.start}: {fault}" for fault in broken]
    return faults + _path_faults(case, schedule, index, runs) + _progress_faults(case, schedule, index, runs)


Modes = dict[tuple[int, int, int], tuple[int, float]]


def _modes(case: Case, index: int) -> Modes:
    """GPUs and pace of every feasible mode."""
    columns = ("pipeline", "tensor", "data", "gpus", "pace")
    table = feasible_modes(case, case.task[index])
    rows = zip(*(table[column].tolist() for column in columns), strict=True)
    return {(p, q, d): (gpus, pace) for p, q, d, gpus, pace in rows}


def _run_faults(case: Case, index: int, run: _Run, modes: Modes, ideal: bool) -> list[str]:
    task = case.task[index]
    if run.key not in modes:
        return [f"{run.key} is no feasible mode"]
    gpus, pace = modes[run.key]
    faults = []
    if gpus != run.gpus:
        faults.append(f"holds {run.gpus} GPUs in {run.key}")
    hours = run.segments * tranche(case, task).segment_gpu_hours / pace
    used = run.used_slots * case.horizon.slot_h
    if not math.isclose(hours, used, rel_tol=TOLERANCE):
        faults.append(f"its work takes {hours:.4f} h, not {used:.4f}")
    if not run.used_slots - TOLERANCE <= run.slots < run.used_slots + 1 - TOLERANCE:
        faults.append(f"it holds {run.slots} slots for {run.used_slots:.4f}")
    if not ideal and abs(run.segments - round(run.segments)) > TOLERANCE:
        faults.append("it ends between checkpoints")
    return faults


def _path_faults(case: Case, schedule: xr.Dataset, index: int, runs: list[_Run]) -> list[str]:
    name = case.task[index].name
    faults = []
    if any(later.start < earlier.end for earlier, later in pairwise(runs)):
        faults.append(f"{name}: two runs overlap")
    if runs and (runs[0].start < 0 or runs[-1].end > case.slots):
        faults.append(f"{name}: a run leaves the horizon")
    pauses = any(later.start > earlier.end for earlier, later in pairwise(runs)) or (
        runs and runs[0].start > 0
    )
    if schedule.attrs["scenario_checkpoint"] != "wait" and pauses:
        faults.append(f"{name}: it pauses, which scenario {schedule.attrs['scenario']} forbids")
    ideal = schedule.attrs["scenario_modes"] == "ideal"
    if case.graph.transitions == "data-only" and not ideal and len({run.key[:2] for run in runs}) > 1:
        faults.append(f"{name}: pipeline or tensor size changes, which transitions forbids")
    return faults


def _progress_faults(case: Case, schedule: xr.Dataset, index: int, runs: list[_Run]) -> list[str]:
    task = case.task[index]
    total = task.segments * len(case.horizon.days)
    done = sum(run.segments for run in runs)
    faults = []
    if schedule.attrs["scenario_modes"] == "ideal":
        if done < total * (1 - TOLERANCE):
            faults.append(f"{task.name}: {done:.4f} of {total} segments' work is done")
    else:
        if abs(done - total) > TOLERANCE:
            faults.append(f"{task.name}: {done:g} segments are done, {total} are due")
        for day in range(len(case.horizon.days)):
            deadline, due = case.deadline(task, day), task.segments * (day + 1)
            reached = sum(run.segments for run in runs if run.end <= deadline)
            if reached < due - TOLERANCE:
                faults.append(f"{task.name}: {reached:g} of {due} segments are done by slot {deadline}")
    ideal = schedule.attrs["scenario_modes"] == "ideal"
    progress = [sum(_reached(run, slot, ideal) for run in runs) / total for slot in range(case.slots)]
    if not np.allclose(np.minimum(progress, 1), schedule["progress"][index], atol=TOLERANCE):
        faults.append(f"{task.name}: progress does not follow from the runs")
    return faults


def _reached(run: _Run, slot: int, ideal: bool) -> float:
    """Segments of a run done by the end of a slot; outside the benchmark only whole ones count."""
    elapsed = min(max(slot + 1 - run.start, 0), run.used_slots)
    done = run.segments * elapsed / run.used_slots
    return done if ideal else math.floor(done + 1e-9)


def _load_faults(case: Case, schedule: xr.Dataset) -> list[str]:
    rule = case.graph.partial_slot
    faults = []
    for index, task in enumerate(case.task):
        gpus, kw = np.zeros(case.slots), np.zeros(case.slots)
        for run in _runs(schedule, index):
            full = run.gpus * case.site.gpu_power_kw
            for offset in range(min(run.slots, case.slots - run.start)):
                used = min(max(run.used_slots - offset, 0.0), 1.0)
                share = {"full": 1.0, "average": run.used_slots / run.slots, "last": used}[rule]
                gpus[run.start + offset] += run.gpus
                kw[run.start + offset] += full * share
        if not np.array_equal(gpus, schedule["gpus"][index]):
            faults.append(f"{task.name}: GPUs per slot do not follow from the runs")
        if not np.allclose(kw, schedule["task_power_kw"][index], atol=1e-4):
            faults.append(f"{task.name}: power per slot does not follow from the runs")
    it_kw = (
        _inference(case) * case.site.gpu_power_kw + case.base_it_kw + schedule["task_power_kw"].sum("task")
    )
    for index, block in enumerate(case.deferrable):
        it_kw = (
            it_kw + schedule["deferrable_gpus"][index].to_numpy() * block.utilization * case.site.gpu_power_kw
        )
    if not np.allclose(schedule["site_power_kw"], case.pue * it_kw, atol=1e-3):
        faults.append("site power is not PUE times the IT power")
    return faults


def _inference(case: Case, *, held: bool = False) -> Array:
    total = np.zeros(case.slots)
    for block in case.inference:
        total = total + np.asarray(block.gpus) * (1.0 if held else block.utilization)
    return total


def _limit_faults(case: Case, schedule: xr.Dataset) -> list[str]:
    faults = []
    held = schedule["gpus"].sum("task").to_numpy() + _inference(case, held=True)
    held = held + schedule["deferrable_gpus"].sum("block").to_numpy()
    over = np.flatnonzero(held > case.site.gpu_total + TOLERANCE)
    if len(over):
        faults.append(f"slot {over[0]}: {held[over[0]]:g} GPUs held, the pool has {case.site.gpu_total}")
    limit = case.site.power_max_kw
    site = schedule["site_power_kw"].to_numpy()
    if limit is not None and (site > limit + 1e-3).any():
        faults.append(f"slot {int(site.argmax())}: {site.max():.1f} kW exceed the site's {limit:g}")
    for index, block in enumerate(case.deferrable):
        gpus = schedule["deferrable_gpus"][index].to_numpy()
        end = case.deadline(block, len(case.horizon.days) - 1)
        served = gpus.sum() * case.horizon.slot_h
        outside = gpus[: block.release_slot].sum() + gpus[end:].sum()
        if (
            abs(served - block.gpu_hours) > 1e-3
            or outside > TOLERANCE
            or gpus.max() > block.gpus_max + TOLERANCE
        ):
            faults.append(f"{block.name}: {served:.2f} of {block.gpu_hours:g} GPU-hours served by its rules")
    return faults


def _balance_faults(case: Case, schedule: xr.Dataset) -> list[str]:
    grid, cut, charge, discharge, site = (
        schedule[name].to_numpy()
        for name in ("grid_kw", "curtailed_kw", "charge_kw", "discharge_kw", "site_power_kw")
    )
    faults = []
    residual = case.renewable_kw - cut + grid + discharge - site - charge
    worst = int(np.abs(residual).argmax())
    if abs(residual[worst]) > 1e-3:
        faults.append(f"slot {worst}: power balance is off by {residual[worst]:.4f} kW")
    if min(grid.min(), cut.min(), charge.min(), discharge.min()) < 0:
        faults.append("a power is negative")
    if (cut > case.renewable_kw + 1e-3).any():
        faults.append(f"slot {int((cut - case.renewable_kw).argmax())}: more is curtailed than available")
    return faults


def _battery_faults(case: Case, schedule: xr.Dataset) -> list[str]:
    charge, discharge, energy = (
        schedule[name].to_numpy() for name in ("charge_kw", "discharge_kw", "state_of_charge_kwh")
    )
    if not schedule.attrs["scenario_battery"]:
        return ["the battery is used, which the scenario forbids"] if (charge + discharge).max() > 0 else []
    battery = case.battery
    if battery is None:
        return ["the case has no battery"]
    home = battery.soc_initial * battery.energy_kwh
    gain = battery.efficiency_charge * charge - discharge / battery.efficiency_discharge
    expected = schedule.attrs.get("initial_kwh", home) + np.cumsum(gain) * case.horizon.slot_h
    faults = []
    if not np.allclose(energy, expected, atol=1e-3):
        faults.append("state of charge does not follow from charge and discharge")
    low, high = battery.soc_min * battery.energy_kwh, battery.soc_max * battery.energy_kwh
    if energy.min() < low - 1e-3 or energy.max() > high + 1e-3:
        faults.append(f"state of charge leaves {low:g} … {high:g} kWh")
    if abs(energy[-1] - home) > 1e-3:
        faults.append("the battery does not return to its initial energy")
    if max(charge.max(), discharge.max()) > battery.power_kw + 1e-3:
        faults.append(f"battery power exceeds {battery.power_kw:g} kW")
    if (np.minimum(charge, discharge) > 1e-3).any():
        faults.append("the battery charges and discharges at once")
    return faults


def _cost_faults(case: Case, schedule: xr.Dataset) -> list[str]:
    hours = case.horizon.slot_h
    energy = schedule["grid_kw"].to_numpy() @ np.asarray(case.profiles.price_usd_per_mwh)
    curtailed = schedule["curtailed_kw"].sum().item() * case.site.curtailment_usd_per_mwh
    cycled = (schedule["charge_kw"] + schedule["discharge_kw"]).sum().item()
    battery = cycled * case.battery.throughput_usd_per_mwh if case.battery is not None else 0.0
    idle = schedule["idle_gpu_hours"].item() * case.site.idle_gpu_usd_per_h
    cost = (energy + curtailed + battery) * hours / 1e3 + idle
    if not math.isclose(cost, schedule["cost_usd"].item(), rel_tol=1e-6, abs_tol=1e-4):
        return [f"cost is {cost:.4f} USD by its parts, {schedule['cost_usd'].item():.4f} as stated"]
    return []

"""The schedule as a Dataset: one registry of variables documents, checks and annotates it; netCDF in and out."""

import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import xarray as xr

from hsmdc import __version__
from hsmdc.dispatch.case import Battery, Case
from hsmdc.dispatch.model import inference_load
from hsmdc.dispatch.power import PowerPlan
from hsmdc.dispatch.runs import Run, task_loads
from hsmdc.dispatch.scenarios import Scenario
from hsmdc.dispatch.solver import Outcome
from hsmdc.errors import InputError

Array = npt.NDArray[Any]


class Variable(NamedTuple):
    """Dimensions, unit and meaning of a variable of the schedule."""

    dims: tuple[str, ...]
    unit: str
    long_name: str


SLOT, TASK, RUN, BLOCK = ("slot",), ("task", "slot"), ("run",), ("block", "slot")
VARIABLES = {
    "base_it_kw": Variable(SLOT, "kW", "IT power that is not training"),
    "inference_power_kw": Variable(SLOT, "kW", "IT power of inference"),
    "train_power_kw": Variable(SLOT, "kW", "IT power of pre-training, mean over the slot"),
    "deferrable_power_kw": Variable(SLOT, "kW", "IT power of deferrable fine-tuning"),
    "pue": Variable(SLOT, "1", "facility power over IT power"),
    "cooling_kw": Variable(SLOT, "kW", "cooling power, where a trace gave its share; part of the site power"),
    "site_power_kw": Variable(SLOT, "kW", "facility power of the site"),
    "pv_kw": Variable(SLOT, "kW", "available PV power"),
    "wind_kw": Variable(SLOT, "kW", "available wind power"),
    "grid_kw": Variable(SLOT, "kW", "power bought from the grid"),
    "curtailed_kw": Variable(SLOT, "kW", "renewable power curtailed"),
    "charge_kw": Variable(SLOT, "kW", "battery charging power"),
    "discharge_kw": Variable(SLOT, "kW", "battery discharging power"),
    "state_of_charge_kwh": Variable(SLOT, "kWh", "energy in the battery at the end of the slot"),
    "price_usd_per_mwh": Variable(SLOT, "USD/MWh", "grid price"),
    "task_power_kw": Variable(TASK, "kW", "IT power of a task, mean over the slot"),
    "gpus": Variable(TASK, "1", "GPUs held by a task"),
    "mode": Variable(TASK, "", "pipeline x tensor x data of the running mode; empty where none runs"),
    "progress": Variable(
        TASK, "1", "share of the horizon's work done by the end of the slot, counted at checkpoints"
    ),
    "waiting": Variable(TASK, "1", "1 where the task pauses before its work is complete"),
    "deferrable_gpus": Variable(BLOCK, "1", "GPUs of a fine-tuning block"),
    "run_task": Variable(RUN, "1", "position of the run's task"),
    "run_start_slot": Variable(RUN, "1", "first slot of the run"),
    "run_slots": Variable(RUN, "1", "slots for which the run holds its GPUs"),
    "run_used_slots": Variable(RUN, "1", "slots the run's work takes"),
    "run_segments": Variable(RUN, "1", "checkpoint segments completed by the run"),
    "run_gpus": Variable(RUN, "1", "GPUs of the run"),
    "run_pipeline": Variable(RUN, "1", "pipeline-parallel size"),
    "run_tensor": Variable(RUN, "1", "tensor-parallel size"),
    "run_data": Variable(RUN, "1", "data-parallel size"),
    "cost_usd": Variable((), "USD", "operating cost over the horizon"),
    "grid_mwh": Variable((), "MWh", "energy bought from the grid"),
    "curtailed_mwh": Variable((), "MWh", "renewable energy curtailed"),
    "battery_mwh": Variable((), "MWh", "energy charged plus discharged"),
    "renewable_use": Variable((), "1", "share of the available renewable energy that is used"),
    "green_share": Variable((), "1", "1 − grid energy over site energy"),
    "peak_kw": Variable((), "kW", "highest facility power of a slot"),
    "min_kw": Variable((), "kW", "lowest facility power of a slot"),
    "peak_gpu": Variable((), "1", "most GPUs held in a slot"),
    "idle_gpu_hours": Variable((), "h", "GPU-hours of the pool that nothing held"),
    "bound_usd": Variable((), "USD", "proven lower bound of the cost; −inf where the method proves none"),
    "gap": Variable((), "1", "(cost − bound) / |cost|; inf where the method proves none"),
    "solve_s": Variable((), "s", "wall time of the solve"),
}


class Proof(NamedTuple):
    """How the schedule was found and how good it is known to be."""

    status: str
    method: str
    bound_usd: float
    seconds: float
    nodes: int
    columns: int
    rows: int
    seed: int

    @classmethod
    def of(cls, outcome: Outcome, method: str, seed: int) -> "Proof":
        """What a solver's outcome proves."""
        size = (outcome.nodes, outcome.columns, outcome.rows)
        return cls(outcome.status, method, outcome.bound, outcome.seconds, *size, seed)


def schedule_dataset(
    case: Case, scenario: Scenario, battery: Battery | None, runs: list[Run], power: PowerPlan, proof: Proof
) -> xr.Dataset:
    """Assemble the Dataset of a schedule; see `VARIABLES`."""
    values = (
        _slot_values(case, runs, power)
        | _task_values(case, runs, whole=scenario.modes != "ideal")
        | _run_values(runs)
    )
    values |= _summary(case, values, power, proof)
    if not case.profiles.cooling_share:
        values.pop("cooling_kw")
    dataset = xr.Dataset(
        {name: (VARIABLES[name].dims, value, _attrs(name)) for name, value in values.items()},
        coords=_coords(case),
    )
    dataset.attrs = _global_attrs(case, scenario, battery, proof)
    return dataset


def _attrs(name: str) -> dict[str, str]:
    variable = VARIABLES[name]
    attrs = {"long_name": variable.long_name}
    if variable.unit:
        attrs["units"] = variable.unit
    return attrs


def _slot_values(case: Case, runs: list[Run], power: PowerPlan) -> dict[str, Array]:
    train = task_loads(case, runs)[1].sum(axis=0)
    inference = inference_load(case).it_kw
    utilization = np.array([block.utilization for block in case.deferrable])
    deferrable = utilization @ power.deferrable_gpus * case.site.gpu_power_kw
    it_kw = case.base_it_kw + inference + train + deferrable
    cooling = np.asarray(case.profiles.cooling_share or (0.0,) * case.slots) * it_kw
    return {
        "base_it_kw": case.base_it_kw,
        "inference_power_kw": inference,
        "train_power_kw": train,
        "deferrable_power_kw": np.broadcast_to(deferrable, (case.slots,)).astype(float),
        "pue": case.pue,
        "cooling_kw": cooling,
        "site_power_kw": case.pue * it_kw,
        "pv_kw": np.asarray(case.profiles.pv_kw),
        "wind_kw": np.asarray(case.profiles.wind_kw),
        "grid_kw": power.grid_kw,
        "curtailed_kw": power.curtailed_kw,
        "charge_kw": power.charge_kw,
        "discharge_kw": power.discharge_kw,
        "state_of_charge_kwh": power.energy_kwh,
        "price_usd_per_mwh": np.asarray(case.profiles.price_usd_per_mwh),
        "deferrable_gpus": power.deferrable_gpus,
    }


def _task_values(case: Case, runs: list[Run], *, whole: bool) -> dict[str, Array]:
    gpus, it_kw = task_loads(case, runs)
    modes = np.full(gpus.shape, "", dtype=object)
    done = np.zeros(gpus.shape)
    for run in runs:
        modes[run.task, run.start : run.end] = run.mode
        reached = segments_done(run, whole=whole)
        end = min(run.end, case.slots)
        done[run.task, run.start : end] += np.diff(reached, prepend=0.0)[: end - run.start]
    total = np.array([task.segments * len(case.horizon.days) for task in case.task], dtype=float)
    progress = np.minimum(np.cumsum(done, axis=1) / total[:, None], 1.0)
    before = np.concatenate([np.zeros((len(total), 1)), progress[:, :-1]], axis=1)
    return {
        "task_power_kw": it_kw,
        "gpus": gpus,
        "mode": modes.astype(str),
        "progress": progress,
        "waiting": ((gpus == 0) & (before < 1 - 1e-9)).astype(np.int8),
    }


def segments_done(run: Run, *, whole: bool) -> Array:
    """Segments of a run done by the end of each of its slots; `whole` counts those that reached their checkpoint."""
    share = np.minimum(np.arange(1, run.slots + 1) / run.used_slots, 1.0)
    return np.floor(share * run.segments + 1e-9) if whole else share * run.segments


_RUN_FIELDS = ("task", "start_slot", "slots", "used_slots", "segments", "gpus", "pipeline", "tensor", "data")


def _run_values(runs: list[Run]) -> dict[str, Array]:
    columns = zip(*runs, strict=True) if runs else ([] for _ in _RUN_FIELDS)
    values = {}
    for field, column in zip(_RUN_FIELDS, columns, strict=True):
        kind = np.float64 if field in ("used_slots", "segments") else np.int64
        values[f"run_{field}"] = np.array(column, dtype=kind)
    return values


def _summary(case: Case, values: dict[str, Array], power: PowerPlan, proof: Proof) -> dict[str, Any]:
    mwh = case.horizon.slot_h / 1e3
    renewable = case.renewable_kw.sum()
    held = values["gpus"].sum(axis=0) + inference_load(case).gpus + power.deferrable_gpus.sum(axis=0)
    gap = (power.cost_usd - proof.bound_usd) / max(abs(power.cost_usd), 1e-9)
    return {
        "cost_usd": power.cost_usd,
        "grid_mwh": power.grid_kw.sum() * mwh,
        "curtailed_mwh": power.curtailed_kw.sum() * mwh,
        "battery_mwh": (power.charge_kw + power.discharge_kw).sum() * mwh,
        "renewable_use": 1 - power.curtailed_kw.sum() / renewable if renewable else 1.0,
        "green_share": 1 - power.grid_kw.sum() / values["site_power_kw"].sum(),
        "peak_kw": values["site_power_kw"].max(),
        "min_kw": values["site_power_kw"].min(),
        "peak_gpu": held.max(),
        "idle_gpu_hours": (case.site.gpu_total - held).sum() * case.horizon.slot_h,
        "bound_usd": proof.bound_usd,
        "gap": max(gap, 0.0),
        "solve_s": proof.seconds,
    }


def _coords(case: Case) -> dict[str, Any]:
    hours = np.arange(case.slots) * case.horizon.slot_h
    coords: dict[str, Any] = {
        "slot": np.arange(case.slots),
        "task": np.array([task.name for task in case.task], dtype=str),
        "block": np.array([block.name for block in case.deferrable], dtype=str),
        "hour": (
            SLOT,
            hours,
            {"long_name": "start of the slot, from the start of the horizon", "units": "h"},
        ),
    }
    if case.profiles.start:
        start = pd.Timestamp(case.profiles.start)
        start = start.tz_convert("UTC").tz_localize(None) if start.tz is not None else start
        times = start.as_unit("ns") + pd.to_timedelta(hours, unit="h").as_unit("ns")
        coords["time"] = (SLOT, times, {"long_name": "start of the slot"})
    return coords


def _global_attrs(case: Case, scenario: Scenario, battery: Battery | None, proof: Proof) -> dict[str, Any]:
    return {
        "title": f"Dispatch of case {case.name}, scenario {scenario.name}",
        "case_name": case.name,
        "case": case.to_toml(),
        "profiles_source": case.profiles.source,
        "scenario": scenario.name,
        "scenario_mechanism": scenario.mechanism,
        "scenario_battery": int(battery is not None),
        "scenario_checkpoint": scenario.checkpoint,
        "scenario_modes": scenario.modes,
        "slot_h": case.horizon.slot_h,
        "status": proof.status,
        "method": proof.method,
        "solver_nodes": proof.nodes,
        "solver_columns": proof.columns,
        "solver_rows": proof.rows,
        "seed": proof.seed,
        "version": __version__,
    }


def save_schedule(schedule: xr.Dataset, path: str | Path, *, force: bool = False) -> None:
    """Write a schedule to netCDF-4, to a temporary name first.

    Raises
    ------
    InputError
        If the file exists and `force` is not given.
    """
    path = Path(path)
    if path.exists() and not force:
        raise InputError(f"{path} exists; give another name, or force to overwrite it")
    part = path.with_name(path.name + ".part")
    schedule.to_netcdf(part, engine="netcdf4", format="NETCDF4")
    os.replace(part, path)


def open_schedule(path: str | Path) -> xr.Dataset:
    """Read a schedule written by `save_schedule`.

    Raises
    ------
    InputError
        If the file is missing or holds no schedule.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"schedule file {path} does not exist")
    try:
        with xr.open_dataset(path, engine="netcdf4") as dataset:
            schedule = dataset.load()
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read as netCDF: {error}") from None
    absent = [name for name in ("grid_kw", "gpus", "run_gpus") if name not in schedule]
    if absent:
        raise InputError(f"{path} is no schedule: variable {absent[0]!r} is missing")
    return schedule


def case_of(schedule: xr.Dataset) -> Case:
    """The resolved case a schedule was made for, from its attributes.

    Raises
    ------
    InputError
        The Dataset carries no case.
    """
    import tomllib

    from hsmdc.dispatch.case import build_case

    if "case" not in schedule.attrs:
        raise InputError("the Dataset carries no attribute 'case'; pass a schedule returned by solve")
    return build_case(tomllib.loads(schedule.attrs["case"]), schedule.attrs.get("case_name", ""))


def schedule_runs(schedule: xr.Dataset) -> list[Run]:
    """The runs of a schedule."""
    columns = [schedule[f"run_{field}"].to_numpy() for field in _RUN_FIELDS]
    return [
        Run(int(task), int(start), int(slots), float(used), float(segments), *(int(size) for size in sizes))
        for task, start, slots, used, segments, *sizes in zip(*columns, strict=True)
    ]

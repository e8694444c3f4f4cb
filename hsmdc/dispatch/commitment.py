"""The schedule goes back to the simulator: runs as jobs on nodes, and the executed day beside the plan."""

import numpy as np
import numpy.typing as npt
import xarray as xr

from hsmdc.dispatch.coupling import trace_config
from hsmdc.dispatch.result import case_of
from hsmdc.errors import InputError
from hsmdc.jobs import JobTable

Array = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


def commit(
    schedule: xr.Dataset, trace: xr.Dataset | None = None, *, gpus_per_node: int | None = None
) -> JobTable:
    """The schedule's runs as a job table for `simulate(config, jobs=…)`.

    A run becomes one job that arrives at its first slot and holds ⌈GPUs / GPUs per node⌉ nodes until its work
    is done, within its last slot. (With `partial_slot = "full"` the plan pays for the whole last slot, and the
    job holds it.)

    Parameters
    ----------
    schedule
        Dataset of `solve`.
    trace
        The trace the plan was coupled to. It gives the instant of the first slot where the schedule has none, and is
        refused if its facility has fewer nodes than the plan holds.
    gpus_per_node
        By default that of the case.

    Returns
    -------
    JobTable
        Arrivals count from the first slot; `epoch` is its instant, so `simulate` with any `start` places them right.

    Raises
    ------
    InputError
        If the plan holds more nodes than the facility has, or is the idealised benchmark S3.
    """
    if schedule.attrs["scenario_modes"] == "ideal":
        raise InputError("scenario S3 is an idealised benchmark, no executable schedule; commit S4 or S6")
    case = case_of(schedule)
    per_node = case.site.gpus_per_node if gpus_per_node is None else gpus_per_node
    slot_s = case.horizon.slot_h * 3600
    nodes = np.ceil(schedule["run_gpus"].to_numpy() / per_node).astype(np.int64)
    held = "run_slots" if case.graph.partial_slot == "full" else "run_used_slots"
    _require_nodes(schedule, nodes, trace)
    return JobTable.from_arrays(
        schedule["run_start_slot"].to_numpy() * slot_s,
        nodes,
        schedule[held].to_numpy() * slot_s,
        source=f"dispatch of {schedule.attrs['case_name']}, {schedule.attrs['scenario']}",
        epoch=_first_instant(schedule, trace),
    )


def _first_instant(schedule: xr.Dataset, trace: xr.Dataset | None) -> np.datetime64 | None:
    if "time" in schedule.coords:
        return np.datetime64(schedule["time"].to_numpy()[0], "ns")
    if trace is not None:
        return np.datetime64(trace["time"].to_numpy()[0], "ns")
    return None


def _require_nodes(schedule: xr.Dataset, nodes: Integers, trace: xr.Dataset | None) -> None:
    config = trace_config(trace) if trace is not None else None
    if config is None:
        return
    starts, slots = schedule["run_start_slot"].to_numpy(), schedule["run_slots"].to_numpy()
    held = np.zeros(schedule.sizes["slot"], dtype=np.int64)
    for start, length, count in zip(starts, slots, nodes, strict=True):
        held[start : start + length] += count
    if held.max() > config.site.nodes:
        raise InputError(
            f"the plan holds {held.max()} nodes in slot {int(held.argmax())}, but the facility of the trace has "
            f"{config.site.nodes}; give more gpus_per_node or a larger facility"
        )


def compare_execution(schedule: xr.Dataset, executed: xr.Dataset) -> xr.Dataset:
    """Plan and execution side by side.

    Parameters
    ----------
    schedule
        Dataset of `solve`.
    executed
        Facility trace of `simulate(config, jobs=commit(schedule, …))` that covers the plan, with no other jobs.

    Returns
    -------
    xarray.Dataset
        Over `slot`: planned and executed training power [kW] and GPUs; scalars: their energies [MWh] and the relative
        `energy_error`. Executed training power is the IT power above that of idle nodes.

    Raises
    ------
    InputError
        If the trace carries no configuration or does not cover the plan.
    """
    case = case_of(schedule)
    per_slot = _steps_per_slot(executed, case.horizon.slot_h)
    power_kw = executed_training(schedule, executed)[1].reshape(-1, per_slot).mean(axis=1)
    busy = _covered(schedule, executed)["busy_nodes"].to_numpy().astype(float)
    gpus = busy.reshape(-1, per_slot).mean(axis=1) * case.site.gpus_per_node
    planned_kw = schedule["train_power_kw"].to_numpy()
    mwh = case.horizon.slot_h / 1e3
    planned_mwh, executed_mwh = planned_kw.sum() * mwh, power_kw.sum() * mwh
    return xr.Dataset(
        {
            "planned_power_kw": ("slot", planned_kw, {"units": "kW"}),
            "executed_power_kw": ("slot", power_kw, {"units": "kW"}),
            "planned_gpus": ("slot", schedule["gpus"].sum("task").to_numpy(), {"units": "1"}),
            "executed_gpus": ("slot", gpus, {"units": "1"}),
            "planned_mwh": ((), planned_mwh, {"units": "MWh"}),
            "executed_mwh": ((), executed_mwh, {"units": "MWh"}),
            "energy_error": ((), executed_mwh / planned_mwh - 1, {"units": "1"}),
        },
        coords={"slot": schedule["slot"], "hour": schedule["hour"]},
    )


def executed_training(schedule: xr.Dataset, executed: xr.Dataset) -> tuple[Array, Array]:
    """Hours from the start of the plan and training power [kW] at each step of the executed trace.

    Training power is the IT power above that of idle nodes.

    Raises
    ------
    InputError
        The executed trace carries no configuration.
    """
    config = trace_config(executed)
    if config is None:
        raise InputError("the executed trace carries no configuration; pass a Dataset made by simulate")
    part = _covered(schedule, executed)
    times = part["time"].to_numpy()
    hours: Array = (times - times[0]) / np.timedelta64(1, "h")
    idle_mw = config.site.nodes * config.site.idle_w * 1e-6
    power_kw: Array = (part["it_power"].to_numpy().astype(float) - idle_mw) * 1e3
    return hours, power_kw


def _steps_per_slot(executed: xr.Dataset, slot_h: float) -> int:
    times = executed["time"].to_numpy()
    return round(slot_h * 3600 / float((times[1] - times[0]) / np.timedelta64(1, "s")))


def _covered(schedule: xr.Dataset, executed: xr.Dataset) -> xr.Dataset:
    """The stretch of the executed trace that the plan covers."""
    times = executed["time"].to_numpy()
    first = _first_instant(schedule, executed) or np.datetime64(times[0])
    steps = _steps_per_slot(executed, float(schedule.attrs["slot_h"])) * schedule.sizes["slot"]
    begin = int(np.searchsorted(times, first))
    if begin >= len(times) or times[begin] != first or begin + steps > len(times):
        raise InputError(
            f"the executed trace runs from {times[0]} to {times[-1]} and does not cover the plan from {first}"
        )
    return executed.isel(time=slice(begin, begin + steps))

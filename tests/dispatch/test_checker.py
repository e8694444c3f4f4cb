"""The checker catches every kind of corruption; a checker that never complains proves nothing."""

from collections.abc import Callable

import numpy as np
import pytest
import xarray as xr

from hsmdc.dispatch import check_schedule
from hsmdc.dispatch.case import Case
from hsmdc.dispatch.checker import require_valid
from hsmdc.errors import SolverError


def shifted(name: str, index: tuple[int, ...], by: float) -> Callable[[xr.Dataset], xr.Dataset]:
    def corrupt(schedule: xr.Dataset) -> xr.Dataset:
        values = schedule[name].to_numpy().copy()
        values[index] += by
        return schedule.assign({name: (schedule[name].dims, values)})

    return corrupt


CORRUPTIONS: list[tuple[str, Callable[[xr.Dataset], xr.Dataset], str]] = [
    ("mode", shifted("run_pipeline", (0,), 2), "is no feasible mode"),
    ("gpus of a run", shifted("run_gpus", (0,), 4), "GPUs in"),
    ("used time", shifted("run_used_slots", (3,), 0.2), "its work takes"),
    ("held time", shifted("run_slots", (3,), 1), "it holds"),
    ("segments", shifted("run_segments", (0,), 0.5), "it ends between checkpoints"),
    ("total work", shifted("run_segments", (0,), 1), "segments are done"),
    ("overlap", shifted("run_start_slot", (1,), -1), "two runs overlap"),
    ("beyond the end", shifted("run_start_slot", (-1,), 3), "a run leaves the horizon"),
    ("progress", shifted("progress", (0, 4), 0.1), "progress does not follow"),
    ("gpus per slot", shifted("gpus", (0, 4), 32), "GPUs per slot do not follow"),
    ("pool", shifted("gpus", (0, 0), 32), "the pool has 2048"),
    ("task power", shifted("task_power_kw", (1, 4), 1.0), "power per slot does not follow"),
    ("site power", shifted("site_power_kw", (4,), 1.0), "site power is not PUE"),
    ("balance", shifted("grid_kw", (4,), 1.0), "power balance is off by 1.0000 kW"),
    ("negative power", shifted("curtailed_kw", (4,), -1.0), "a power is negative"),
    ("too much curtailed", shifted("curtailed_kw", (0,), 1e4), "more is curtailed than available"),
    ("energy", shifted("state_of_charge_kwh", (4,), 10.0), "state of charge does not follow"),
    ("energy bound", shifted("state_of_charge_kwh", (4,), 1e3), "state of charge leaves"),
    ("final energy", shifted("state_of_charge_kwh", (23,), 5.0), "does not return to its initial energy"),
    ("battery power", shifted("charge_kw", (4,), 500.0), "battery power exceeds 300 kW"),
    ("cost", shifted("cost_usd", (), 1.0), "cost is"),
]


@pytest.mark.parametrize(
    ("corrupt", "words"), [row[1:] for row in CORRUPTIONS], ids=[row[0] for row in CORRUPTIONS]
)
def test_corruption_is_caught(
    aidc: Case, schedules: dict[str, xr.Dataset], corrupt: Callable[[xr.Dataset], xr.Dataset], words: str
) -> None:
    faults = check_schedule(aidc, corrupt(schedules["S6"]))
    assert any(words in fault for fault in faults), faults


def test_charging_and_discharging_at_once(aidc: Case, schedules: dict[str, xr.Dataset]) -> None:
    broken = shifted("charge_kw", (4,), 50.0)(shifted("discharge_kw", (4,), 50.0)(schedules["S6"]))
    assert "the battery charges and discharges at once" in check_schedule(aidc, broken)


def test_a_pause_breaks_a_scenario_without_checkpoints(aidc: Case, schedules: dict[str, xr.Dataset]) -> None:
    posing = schedules["S6"].assign_attrs(scenario="S5", scenario_checkpoint="none")
    assert any("it pauses, which scenario S5 forbids" in fault for fault in check_schedule(aidc, posing))


def test_a_battery_breaks_a_scenario_without_one(aidc: Case, schedules: dict[str, xr.Dataset]) -> None:
    posing = schedules["S6"].assign_attrs(scenario_battery=0)
    assert "the battery is used, which the scenario forbids" in check_schedule(aidc, posing)


def test_unfinished_ideal_work(aidc: Case, schedules: dict[str, xr.Dataset]) -> None:
    ideal = schedules["S3"]
    short = ideal.isel(run=np.arange(ideal.sizes["run"] - 3))
    assert any("segments' work is done" in fault for fault in check_schedule(aidc, short))


def test_late_work_breaks_a_deadline(aidc: Case, schedules: dict[str, xr.Dataset]) -> None:
    tasks = [task.model_dump(exclude_none=True) | {"deadline_slot": 20} for task in aidc.task]
    faults = check_schedule(aidc.replace(task=tasks), schedules["S6"])
    assert any("segments are done by slot 20" in fault for fault in faults)


def test_require_valid_raises(aidc: Case, schedules: dict[str, xr.Dataset]) -> None:
    require_valid(aidc, schedules["S6"])
    with pytest.raises(SolverError, match="breaks its own rules"):
        require_valid(aidc, shifted("grid_kw", (4,), 1.0)(schedules["S6"]))

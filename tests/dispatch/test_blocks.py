"""Simple blocks beside pre-training: inference, deferrable fine-tuning, and the worth of idle GPUs."""

import numpy as np
import pytest
import xarray as xr

from hsmdc.dispatch import solve
from hsmdc.dispatch.case import Case


def test_inference_runs_as_it_comes(aidc: Case) -> None:
    gpus = tuple(float(64 * (slot % 3)) for slot in range(24))
    case = aidc.replace(inference=[{"name": "chat", "gpus": gpus, "utilization": 0.5}])
    schedule = solve(case, "S4", gap=1e-3)
    assert schedule["inference_power_kw"].to_numpy() == pytest.approx(np.array(gpus) * 0.5 * 0.4)
    held = schedule["gpus"].sum("task").to_numpy() + gpus
    assert held.max() <= 2048
    site = 1.25 * (300 + np.array(gpus) * 0.2 + schedule["train_power_kw"].to_numpy())
    assert schedule["site_power_kw"].to_numpy() == pytest.approx(site)


def test_fine_tuning_goes_where_power_is_cheap(aidc: Case) -> None:
    """Fixed training leaves 768 GPUs free; 1,000 GPU-hours go into surplus and the cheapest hours of the window."""
    block = {"name": "lora", "gpu_hours": 1000.0, "gpus_max": 400.0, "release_slot": 6, "deadline_slot": 20}
    schedule = solve(aidc.replace(deferrable=[block]), "S1")
    gpus = schedule["deferrable_gpus"].to_numpy()[0]
    assert gpus.sum() == pytest.approx(1000.0)
    assert gpus.max() <= 400 + 1e-9
    assert gpus[:6].sum() + gpus[20:].sum() == pytest.approx(0.0)
    plain = solve(aidc, "S1")
    curtailed = plain["curtailed_kw"].to_numpy()
    assert gpus[curtailed > 1].sum() > 0.9 * 1000
    assert float(schedule.cost_usd) < float(plain.cost_usd), "taking surplus saves the cost of curtailing it"


def test_fine_tuning_is_exact_in_a_two_slot_case(aidc: Case) -> None:
    """No renewables: all fine-tuning falls into the cheaper slots up to its limit, by hand."""
    price = (*(10.0,) * 4, *(50.0,) * 20)
    case = aidc.replace(
        profiles={"pv_kw": (0.0,) * 24, "wind_kw": (0.0,) * 24, "price_usd_per_mwh": price},
        deferrable=[{"name": "lora", "gpu_hours": 500.0, "gpus_max": 100.0}],
    )
    gpus = solve(case, "S1")["deferrable_gpus"].to_numpy()[0]
    assert gpus[:4] == pytest.approx([100.0] * 4)
    assert gpus[4:].sum() == pytest.approx(100.0)


def test_idle_gpus_cost_their_worth(aidc: Case, schedules: dict[str, xr.Dataset]) -> None:
    """S1 leaves 768 of 2048 GPUs idle all day: 24·768 h at 0.01 USD."""
    case = aidc.replace(site={"idle_gpu_usd_per_h": 0.01})
    schedule = solve(case, "S1")
    assert float(schedule.idle_gpu_hours) == 24 * 768
    assert float(schedule.cost_usd) - float(schedules["S1"].cost_usd) == pytest.approx(24 * 768 * 0.01)


def test_worth_of_idle_gpus_changes_the_schedule(aidc: Case, schedules: dict[str, xr.Dataset]) -> None:
    """Where idling costs more than energy, GPUs are held that need not be."""
    schedule = solve(aidc.replace(site={"idle_gpu_usd_per_h": 0.05}), "S6", method="heuristic")
    assert float(schedule.idle_gpu_hours) < 0.9 * float(schedules["S6"].idle_gpu_hours)


def test_heuristic_serves_blocks_too(aidc: Case) -> None:
    block = {"name": "lora", "gpu_hours": 1000.0, "gpus_max": 200.0}
    case = aidc.replace(deferrable=[block], inference=[{"name": "chat", "gpus": (32.0,)}])
    schedule = solve(case, "S6", method="heuristic")
    assert schedule["deferrable_gpus"].sum().item() == pytest.approx(1000.0)


def test_case_of_fine_tuning_alone(aidc: Case) -> None:
    case = aidc.replace(task=[], deferrable=[{"name": "lora", "gpu_hours": 1000.0, "gpus_max": 200.0}])
    schedule = solve(case, "S6")
    assert schedule.sizes["task"] == 0
    assert schedule["deferrable_gpus"].sum().item() == pytest.approx(1000.0)


def test_binaries_where_burning_energy_could_pay(aidc: Case) -> None:
    """Free cycling and dear curtailment: without binaries the battery would charge and discharge at once."""
    case = aidc.replace(battery={"throughput_usd_per_mwh": 0.0})
    schedule = solve(case, "S5")
    assert (np.minimum(schedule["charge_kw"], schedule["discharge_kw"]) <= 1e-6).all()
    assert float(schedule.cost_usd) < 447.23

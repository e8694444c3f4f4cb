"""The names that others call, used as they are written down: one short run through all of them."""

from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import hsmdc

NLR = "nlr-colocation-10mw"


@pytest.fixture(scope="module")
def config() -> object:
    return hsmdc.load_config(NLR)


@pytest.fixture(scope="module")
def trace(config) -> xr.Dataset:
    return hsmdc.simulate(config, utilization=0.6, start="2018-07-02", duration="3D", seed=1)


def test_simulate_again_with_its_own_base_rate(config, trace: xr.Dataset) -> None:
    again = hsmdc.simulate(
        config, base_rate=trace.attrs["base_rate"], start="2018-07-02", duration="3D", seed=1
    )
    np.testing.assert_array_equal(again["facility_power"], trace["facility_power"])
    assert set(trace.data_vars) >= {
        "it_power",
        "hvac_power",
        "chiller_power",
        "auxiliary_power",
        "facility_power",
        "busy_nodes",
        "queued_jobs",
        "ambient_temperature",
        "job_arrival",
        "job_start",
        "job_end",
        "job_nodes",
    }


def test_replay(config, tmp_path: Path) -> None:
    fields = ["1", "0", "-1", "600", "8", *["-1"] * 13]
    (tmp_path / "x.swf").write_text("; MaxNodes: 64\n" + " ".join(fields) + "\n")
    replay = hsmdc.simulate(config, jobs=hsmdc.read_jobs(tmp_path / "x.swf"))
    assert replay["busy_nodes"].values.tolist() == [8.0] * 10


def test_windows(trace: xr.Dataset, config) -> None:
    window = hsmdc.resolve(trace, start="2018-07-04T12:00", duration="10min", step="100ms")
    assert window.sizes["time"] == 6000
    parts = hsmdc.stream(trace, start="2018-07-04T12:00", duration="10min", step="100ms", chunk="3min")
    streamed = np.concatenate([part["it_power"].values for part in parts])
    np.testing.assert_array_equal(streamed, window["it_power"].values)
    node = hsmdc.simulate_node(config, duration="60s", step="20ms", seed=1)
    assert node.sizes["time"] == 3000
    assert node["node_power"].attrs["units"] == "W"


def test_files(trace: xr.Dataset, tmp_path: Path) -> None:
    hsmdc.save_trace(trace, tmp_path / "t.nc")
    with hsmdc.open_trace(tmp_path / "t.nc") as read:
        xr.testing.assert_identical(read.load(), trace)
    written = hsmdc.export_trace(trace, tmp_path / "t.csv", format="csv")
    assert all(Path(path).is_file() for path in written)


def test_schedule_fifo() -> None:
    start = hsmdc.schedule_fifo(np.array([0, 1]), np.array([4, 4]), np.array([10, 5]), 6)
    assert start.tolist() == [0, 10]


def test_ensemble(config) -> None:
    runs = hsmdc.ensemble(config, members=2, base_rate=5.0, duration="1D")
    assert runs.sizes["member"] == 2


def test_calibration(config) -> None:
    from hsmdc.calibration import fit_jobs, fit_occupancy, fit_profile, fit_telemetry

    fit = fit_occupancy(config, 0.5, start="2018-07-02", duration="3D", seed=0)
    assert abs(fit.occupancy - 0.5) <= 0.0005
    assert abs(fit_occupancy(NLR, 0.5, start="2018-07-02", duration="3D").base_rate - fit.base_rate) < 1e-12
    assert all(callable(f) for f in (fit_jobs, fit_profile, fit_telemetry))


def test_validation(trace: xr.Dataset) -> None:
    from hsmdc.validation import load_reference, metrics, validate

    assert float(metrics.wasserstein(np.zeros(3), np.ones(5))) == 1.0
    scores = validate([trace], load_reference(NLR))
    xr.testing.assert_identical(scores, validate(trace, NLR))


def test_dispatch(trace: xr.Dataset) -> None:
    from hsmdc.dispatch import (
        commit,
        effective_modes,
        feasible_modes,
        load_case,
        run_scenarios,
        solve,
        sweep,
    )

    case = load_case("aidc-2048")
    table = run_scenarios(case)
    assert table["scenario"].values.tolist() == ["S1", "S2", "S3", "S4", "S5", "S6"]
    assert {"cost_usd", "grid_mwh", "curtailed_mwh", "battery_mwh", "renewable_use", "green_share"} <= set(
        table
    )
    assert {"peak_kw", "peak_gpu", "gap", "solve_s"} <= set(table)
    first, second = (task.name for task in case.task)
    assert (len(feasible_modes(case, first)), len(feasible_modes(case, second))) == (135, 111)
    assert (len(effective_modes(case, first)), len(effective_modes(case, second))) == (12, 21)
    schedule = solve(case, scenario="S6", trace=trace, day="2018-07-04")
    assert {"train_power_kw", "site_power_kw", "grid_kw", "curtailed_kw", "charge_kw"} <= set(schedule)
    assert {"discharge_kw", "state_of_charge_kwh", "gpus", "mode", "progress", "waiting"} <= set(schedule)
    jobs = commit(schedule, trace)
    executed = hsmdc.simulate(NLR, jobs=jobs, start="2018-07-04", duration="1D")
    assert float(executed["busy_nodes"].max()) > 0
    assert sweep(case, "gpus", [1280, 2048]).sizes

"""The telemetry fit: the shipped measured job, a synthetic one with known answers, and bad input."""

from importlib import resources
from pathlib import Path

import numpy as np
import pytest

import hsmdc
from hsmdc.calibration import fit_telemetry
from hsmdc.calibration.telemetry import (
    Telemetry,
    TelemetryFit,
    find_steps,
    read_telemetry,
    score_workload,
    simulated_telemetry,
)
from hsmdc.config import to_toml
from hsmdc.config.node import Workload
from hsmdc.errors import CalibrationError, InputError
from hsmdc.validation import metrics

TDP_W = 3520.0


@pytest.fixture(scope="module")
def measured() -> Telemetry:
    return read_telemetry()


@pytest.fixture(scope="module")
def fit() -> TelemetryFit:
    preset = hsmdc.load_config({"base": "paper", "node": {"mix": [{"workload": "finetune-lora"}]}})
    workload = preset.node.mix[0].workload
    return fit_telemetry(name=workload.name, description=workload.description)


def test_the_preset_is_what_the_fit_gives(fit: TelemetryFit) -> None:
    """`fit_telemetry` on the shipped trace regenerates it; the last digit may differ by machine."""
    shipped = resources.files("hsmdc") / "presets" / "nodes" / "finetune-lora.toml"
    for line, again in zip(
        shipped.read_text("utf-8").splitlines(), to_toml(fit.workload).splitlines(), strict=True
    ):
        try:
            assert float(again.strip(" ,").split("= ")[-1]) == pytest.approx(
                float(line.strip(" ,").split("= ")[-1]), rel=0.02, abs=0.002
            )
        except ValueError:
            assert line == again


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_fit_meets_the_measured_job(fit: TelemetryFit, measured: Telemetry, seed: int) -> None:
    scores = score_workload(fit.workload, measured, tdp_w=TDP_W, seed=seed)
    assert scores.wasserstein_pu <= 0.01
    assert scores.period_s[1] == pytest.approx(scores.period_s[0], rel=0.02)
    assert scores.period_s[0] == pytest.approx(10.43, abs=0.01)


def test_dips_are_as_deep_as_measured(fit: TelemetryFit, measured: Telemetry) -> None:
    """Both depths, each the mean over ten half hours: sampling error 1 %."""
    runs = [score_workload(fit.workload, measured, tdp_w=TDP_W, seed=seed) for seed in range(10, 20)]
    for name in ("dip_w", "dip_depth"):
        found = np.array([getattr(run, name) for run in runs])
        assert found[:, 1].mean() == pytest.approx(found[0, 0], rel=0.05), name


def test_one_node_through_the_sensor_stays_near(fit: TelemetryFit, measured: Telemetry) -> None:
    """One node scatters more than the mean of sixteen, still within 0.03 of per-unit power."""
    steps = find_steps(measured)
    training = (measured.time_s > steps.rise_s[0]) & (measured.time_s < steps.fall_s[-1])
    alone = simulated_telemetry(fit.workload, measured._replace(nodes=1), tdp_w=TDP_W, seed=3)
    assert metrics.wasserstein(measured.node_w[training] / TDP_W, alone.node_w / TDP_W) <= 0.03


def test_a_simulated_job_is_found_again(fit: TelemetryFit, measured: Telemetry) -> None:
    """A fit to a simulation of the fitted workload: the same levels and lengths."""
    again = fit_telemetry(
        simulated_telemetry(fit.workload, measured, tdp_w=TDP_W, seed=9), tdp_w=TDP_W
    ).workload
    for name, length_error in (("ps", 0.02), ("lc", 0.05), ("ba", 0.05)):
        found, truth = getattr(again, name), getattr(fit.workload, name)
        assert np.mean(found.sojourn_s) == pytest.approx(np.mean(truth.sojourn_s), rel=length_error)
        assert np.mean(found.deviation) == pytest.approx(np.mean(truth.deviation), abs=0.006)
    assert again.mean_tdp == pytest.approx(fit.workload.mean_tdp, abs=0.004)


def test_start_up_and_shut_down_become_phases(fit: TelemetryFit) -> None:
    phases: Workload = fit.workload
    before = phases.phases.before
    assert [round(p.level_tdp, 2) for p in before[:2]] == [0.16, 0.22]
    assert sum(np.mean(p.duration_s) for p in before) == pytest.approx(313, abs=5)
    assert phases.phases.after


def test_a_flat_trace_has_no_steps() -> None:
    time_s = np.arange(0.0, 600.0, 0.2)
    with pytest.raises(CalibrationError, match=r"shows 0 steps .* a fit needs 20"):
        fit_telemetry(Telemetry(time_s, np.where(time_s < 300, 400.0, 2500.0), 4, 1.0, "flat"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("time_s,gpu_w\n0.0,abc\n1.0,5\n", "not a CSV of time"),
        ("time_s,gpu_w\n0.0,5.0\n", "two or more rows"),
        ("time_s,gpu_w\n0.0,5.0\n0.0,6.0\n", "rising time"),
        ("time_s,gpu_w\n0.0,5.0\n1.0,nan\n", "finite power"),
    ],
)
def test_bad_files(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=words):
        read_telemetry(path)
    with pytest.raises(InputError, match="no telemetry file"):
        read_telemetry(tmp_path / "absent.csv")

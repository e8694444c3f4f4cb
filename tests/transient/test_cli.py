"""`hsmdc resolve` and `hsmdc node` as a user meets them."""

import re
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from typer.testing import CliRunner

import hsmdc
from hsmdc import cli
from hsmdc.cli.app import app
from hsmdc.transient.windowfile import save_window


@pytest.fixture
def trace_file(small_trace: xr.Dataset, tmp_path: Path) -> Path:
    path = tmp_path / "trace.nc"
    hsmdc.save_trace(small_trace, path)
    return path


def run(*arguments: object) -> str:
    result = CliRunner().invoke(app, [str(a) for a in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_resolve_writes_the_window_in_single_precision(
    trace_file: Path, small_trace: xr.Dataset, tmp_path: Path
) -> None:
    out, figure = tmp_path / "w.nc", tmp_path / "w.png"
    printed = run(
        "resolve", trace_file, "--start", "2018-07-04T00:30", "--duration", "20min", "--threads", 2, "-o", out,
        "--figure", figure,
    )  # fmt: skip
    assert "12000 steps of 100ms" in printed
    assert figure.read_bytes().startswith(b"\x89PNG")
    expected = hsmdc.resolve(small_trace, start="2018-07-04T00:30", duration="20min")
    with hsmdc.open_trace(out) as window:
        assert window["it_power"].dtype == np.float32
        np.testing.assert_array_equal(window["it_power"], expected["it_power"].astype(np.float32))
        assert "float32" in window.attrs["precision"]
        assert window.attrs["resolved_synchrony"] == "job"
        made, resolved = window.attrs["history"].splitlines()
        assert made == small_trace.attrs["history"]
        assert resolved.startswith("hsmdc ")


def test_node_writes_and_draws(tmp_path: Path) -> None:
    out, figure = tmp_path / "n.nc", tmp_path / "n.svg"
    printed = run(
        "node", "paper", "--duration", "2s", "-o", out, "--figure", figure, "--workload", "checkpoint-heavy"
    )
    assert "checkpoint-heavy: 100 steps of 0.02 s" in printed
    assert "<svg" in figure.read_text()
    with hsmdc.open_trace(out) as node:
        assert set(node.data_vars) == {"node_power", "state"}
        assert node.attrs["history"].startswith("hsmdc ")


def test_node_shares_of_time_add_up_with_phases() -> None:
    printed = run("node", "paper", "--workload", "finetune-lora", "--duration", "10min", "--phases")
    shares = [float(number) for number in re.findall(r"\d\.\d{3}", printed.split("share of time:")[1])]
    assert "set-up and shut-down" in printed
    assert sum(shares) == pytest.approx(1.0, abs=0.003)
    assert "set-up" not in run("node", "paper", "--duration", "10s")


def test_metrics_of_a_window(trace_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "w.nc"
    printed = run("resolve", trace_file, "--duration", "10min", "--metrics", "-o", out)
    with hsmdc.open_trace(out) as window:
        power_mw = window["facility_power"].values.astype(float)
    for steps, horizon in ((1, "0.1 s"), (10, "1 s"), (100, "10 s"), (600, "60 s")):
        low, high = np.percentile(power_mw[steps:] - power_mw[:-steps], [0.1, 99.9])
        line = next(line for line in printed.splitlines() if re.search(rf"ramp over +{horizon} ", line))
        assert f"{low:+.4f} MW (0.1 %)" in line
        assert f"{high:+.4f} MW (99.9 %)" in line
    minutes = power_mw.reshape(10, 600)
    swing_mw = np.diff(np.percentile(minutes, [1, 99], axis=1), axis=0).max()
    dip = (1 - minutes.min(axis=1) / np.median(minutes, axis=1)).max()
    assert f"swing (p99 - p1) {swing_mw:.4f} MW, dip below the median {100 * dip:.1f} %" in printed
    assert re.search(r"0\.1-2\.5 Hz +variance .* MW² \(.* MW rms\), strongest at a period of", printed)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["resolve", "{trace}", "--step", "1s", "--metrics", "-o", "w.nc"], "need a step of 0.2 s or less"),
        (["resolve", "{trace}", "--duration", "30s", "--metrics", "-o", "w.nc"], "needs 60 s or more"),
        (["resolve", "absent.nc", "-o", "w.nc"], "error: no trace file absent.nc"),
        (["resolve", "{trace}", "--step", "5min", "-o", "w.nc"], "longer than the trace's own step"),
        (["resolve", "{trace}", "--start", "2020-01-01", "-o", "w.nc"], "outside the trace"),
        (["resolve", "{trace}", "--threads", "-1", "-o", "w.nc"], "must be 0 (all cores) or more"),
        (["resolve", "{trace}", "-o", "{trace}"], "is the file to be read"),
        (["resolve", "{trace}", "-o", "{trace}", "--force"], "is the file to be read"),
        (["node", "paper", "--step", "100us"], "must be 1ms or more"),
        (["node", "paper", "--workload", "mining"], "no workload 'mining'"),
    ],
)
def test_mistakes_are_one_line_and_status_2(
    trace_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    arguments: list[str], words: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["hsmdc", *(a.replace("{trace}", str(trace_file)) for a in arguments)])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 2
    shown = capsys.readouterr().err
    assert words in shown
    assert len(shown.strip().splitlines()) == 1
    assert not Path("w.nc").exists()


def test_an_interrupted_window_is_taken_up(small_trace: xr.Dataset, tmp_path: Path) -> None:
    """Killed after its second stretch, resumed: the same data as in one go."""
    window = {"duration": "2h", "step": "10ms"}
    whole, broken = tmp_path / "whole.nc", tmp_path / "broken.nc"
    save_window(small_trace, whole, **window)

    class Killed(Exception):
        pass

    def kill(done: float, total: float) -> None:
        if done > total / 2:
            raise Killed

    with pytest.raises(Killed):
        save_window(small_trace, broken, progress=kill, **window)
    assert not broken.exists()
    done: list[float] = []
    save_window(small_trace, broken, resume=True, progress=lambda d, _: done.append(d), **window)
    assert done[0] > 262144
    with hsmdc.open_trace(whole) as a, hsmdc.open_trace(broken) as b:
        xr.testing.assert_identical(a, b)

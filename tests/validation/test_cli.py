"""`hsmdc validate` as a stranger meets it."""

import io
import re
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pytest
import xarray as xr

from hsmdc.cli import main
from hsmdc.traces import save_trace, trace_dataset


@pytest.fixture(scope="module")
def year_nc(make_trace, tmp_path_factory) -> Path:
    made = make_trace()
    trace = trace_dataset(
        start=made["time"].values[0],
        step_s=60.0,
        series={"it_power": made["it_power"].values},
        jobs={name: made[name].values for name in ("job_arrival", "job_start", "job_end", "job_nodes")},
        attrs=made.attrs,
    )
    path = tmp_path_factory.mktemp("traces") / "year.nc"
    save_trace(trace, path)
    return path


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


def run(*arguments: object) -> Done:
    """The command line in this process: what it prints and its exit status."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", ["hsmdc", "validate", *map(str, arguments)])
        try:
            main()
        except SystemExit as stop:
            return Done(int(stop.code or 0), out.getvalue(), err.getvalue())
    return Done(0, out.getvalue(), err.getvalue())


def test_it_prints_the_table_and_writes_the_report(year_nc, tmp_path):
    done = run(year_nc, "-o", tmp_path / "out")
    assert (done.returncode, done.stderr) == (0, "")
    assert "standard deviation [MW]" in done.stdout
    assert re.search(r"not assessed: .*no trace at utilization 0\.2 \(7\)", done.stdout)
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["report.html", "scores.csv", "scores.nc"]
    frame = pd.read_csv(tmp_path / "out" / "scores.csv")
    with xr.open_dataset(tmp_path / "out" / "scores.nc") as scores:
        assert scores.sizes["row"] == len(frame)
        assert scores.attrs["verdict"] == "fail"


def test_strict_mode_exits_with_one_when_a_gate_fails(year_nc):
    done = run(year_nc, "--strict", "--quiet")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")


def test_strict_mode_exits_with_zero_when_all_pass(year_nc, tmp_path):
    gates = tmp_path / "gates.toml"
    gates.write_text('name = "a"\ntitle = "A"\n[[gate]]\nmetric = "w1_mw"\nkind = "at_most"\nlimit = 5.0\n')
    done = run(year_nc, "--strict", "--gates", gates)
    assert done.returncode == 0
    assert "1 gates pass, 0 fail" in done.stdout


def test_strict_mode_exits_with_one_when_nothing_could_be_assessed(year_nc, tmp_path):
    gates = tmp_path / "gates.toml"
    gates.write_text(
        'name = "a"\ntitle = "A"\n[[gate]]\nmetric = "w1_mw"\nkind = "at_most"\nlimit = 5.0\nutilization = [0.2]\n'
    )
    assert run(year_nc, "--strict", "--gates", gates).returncode == 1


def test_a_users_reference_file_is_the_yardstick(year_nc, tmp_path, nlr):
    table = nlr.series[0.6].to_series().rename("power_kw").mul(1e3).rename_axis("time").reset_index()
    table.to_csv(tmp_path / "metered.csv", index=False)
    done = run(year_nc, "--reference", tmp_path / "metered.csv", "--all")
    assert done.returncode == 0
    assert done.stdout.startswith("metered; gates generic")
    assert "W1 of power [MW]" in done.stdout
    assert "step by step: 2018-01-01 to 2018-12-31, 8760 steps of 1 h" in done.stdout
    assert "paper's model" not in done.stdout  # a user's gates name none
    assert "held out" not in done.stdout  # nobody said what was fitted


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give trace files or --battery CONFIG, one of the two"),
        (["absent.nc"], "no trace file absent.nc"),
        (["YEAR", "--reference", "nlr"], "no reference 'nlr'"),
        (["YEAR", "--gates", "none.toml"], "no gates 'none.toml'"),
        (["YEAR", "--battery", "paper"], "one of the two"),
        (["--battery", "no-such-preset"], "no-such-preset"),
    ],
)
def test_bad_input_is_one_line_and_status_two(year_nc, arguments, message):
    done = run(*[year_nc if word == "YEAR" else word for word in arguments])
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr


def test_what_exists_is_not_overwritten_unasked(year_nc, tmp_path):
    (tmp_path / "scores.csv").write_text("mine")
    done = run(year_nc, "-o", tmp_path)
    assert done.returncode == 2
    assert "already holds scores.csv; use --force" in done.stderr
    assert run(year_nc, "-o", tmp_path, "--force", "--quiet").returncode == 0


def test_a_battery_needs_occupancies_to_aim_at(tmp_path, nlr):
    table = nlr.series[0.6].to_series().rename("power_mw").rename_axis("time").reset_index()
    table.to_csv(tmp_path / "metered.csv", index=False)
    done = run("--battery", "paper", "--reference", tmp_path / "metered.csv")
    assert done.returncode == 2
    assert "give --utilization, its mean share of busy nodes" in done.stderr


def test_help_shows_an_example():
    done = run("--help")
    assert done.returncode == 0
    assert "hsmdc validate year.nc --reference nlr-colocation-10mw -o report/" in done.stdout


@pytest.mark.slow
def test_the_shipped_preset_passes_the_whole_battery(tmp_path):
    """The one command of the README: four levels, five seeds, every gate."""
    done = run("--battery", "nlr-colocation-10mw", "--seeds", "5", "--strict", "-o", tmp_path / "out")
    assert done.returncode == 0, done.stdout
    assert "39 gates pass, 0 fail" in done.stdout
    frame = pd.read_csv(tmp_path / "out" / "scores.csv")
    assert set(frame.loc[frame["limit"].notna(), "verdict"]) == {"pass"}
    assert (frame.loc[frame["utilization"].notna() & frame["limit"].notna(), "members"] == 5).all()
    assert (tmp_path / "out" / "report.html").stat().st_size < 8_000_000

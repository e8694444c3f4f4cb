"""The file: exact round trip, conformance, and what happens to files that exist or cannot be written."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import netCDF4
import numpy as np
import pytest
import xarray as xr

from hsmdc import tracefile
from hsmdc.errors import InputError
from hsmdc.traces import TraceWriter, open_trace, save_trace

Make = Callable[..., xr.Dataset]


@pytest.mark.parametrize(
    ("step_s", "start", "dtype", "unit"),
    [
        (60.0, "2018-01-01", "float64", "seconds since 2018-01-01 00:00:00"),
        (3600.0, "2028-02-29T12:00", "float32", "seconds since 2028-02-29 12:00:00"),
        (0.1, "2018-07-04T12:00", "float32", "milliseconds since 2018-07-04 12:00:00"),
        (0.02, "2018-01-01T00:00:00.5", "float64", "milliseconds since 2018-01-01 00:00:00"),
        (0.000125, "2018-01-01", "float64", "microseconds since 2018-01-01 00:00:00"),
        (1e-7, "2018-01-01", "float64", "nanoseconds since 2018-01-01 00:00:00"),
    ],
)
def test_what_is_opened_is_identical_to_what_was_saved(
    trace: Make, tmp_path: Path, step_s: float, start: str, dtype: str, unit: str
) -> None:
    ds = trace(500, step_s=step_s, start=start, dtype=dtype)
    save_trace(ds, tmp_path / "t.nc")
    with open_trace(tmp_path / "t.nc") as opened:
        xr.testing.assert_identical(ds, opened)
        assert opened.attrs == ds.attrs
        assert {k: type(v) for k, v in opened.attrs.items()} == {k: type(v) for k, v in ds.attrs.items()}
        assert {k: v.dtype for k, v in opened.variables.items()} == {
            k: v.dtype for k, v in ds.variables.items()
        }
        assert opened["time"].encoding["units"] == unit


def test_job_times_stay_seconds_however_the_file_is_opened(trace: Make, tmp_path: Path) -> None:
    save_trace(trace(), tmp_path / "t.nc")
    with xr.open_dataset(tmp_path / "t.nc") as plain:
        assert plain["job_start"].dtype == np.float64
        np.testing.assert_array_equal(plain["job_start"].values, [-60.0, 0.0, np.nan])
    with netCDF4.Dataset(tmp_path / "t.nc") as raw:
        assert raw["time"].dtype == np.int64
        assert raw["time"][:3].tolist() == [0, 60, 120]
        assert raw["job_nodes"][:].tolist() == [1, 16, 256]


def test_a_full_range_seed_survives(trace: Make, tmp_path: Path) -> None:
    ds = trace(10).assign_attrs(seed=2**63 - 1)
    save_trace(ds, tmp_path / "t.nc")
    with open_trace(tmp_path / "t.nc") as opened:
        assert opened.attrs["seed"] == 2**63 - 1


def test_long_traces_are_saved_in_blocks_with_the_same_values(
    trace: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hsmdc.traces._BLOCK_STEPS", 300)
    monkeypatch.setattr(tracefile, "CHUNK_STEPS", 128)
    save_trace(trace(1000), tmp_path / "t.nc")
    with open_trace(tmp_path / "t.nc") as opened:
        xr.testing.assert_identical(trace(1000), opened)
        save_trace(opened, tmp_path / "again.nc")
    with open_trace(tmp_path / "again.nc") as again:
        xr.testing.assert_identical(trace(1000), again)


@pytest.mark.slow
@pytest.mark.parametrize("step_s", [60.0, 0.1])
def test_the_file_conforms_to_cf(trace: Make, tmp_path: Path, step_s: float) -> None:
    checker = shutil.which("compliance-checker", path=str(Path(sys.executable).parent))
    if checker is None:
        pytest.skip("compliance-checker is not installed")
    save_trace(trace(step_s=step_s), tmp_path / "t.nc")
    options = ["-t", "cf:1.11", "-c", "strict", "-f", "json", "-o", "-"]
    run = subprocess.run(
        [checker, *options, str(tmp_path / "t.nc")],
        capture_output=True,
        text=True,
        check=False,
    )
    report = json.loads(run.stdout[run.stdout.index("{") :])["cf:1.11"]
    checks = [check for level in ("high", "medium", "low") for check in report[f"{level}_priorities"]]
    assert [(c["name"], c["msgs"]) for c in checks if c["value"][0] < c["value"][1]] == []
    assert report["scored_points"] == report["possible_points"]


def test_the_job_table_can_be_left_out(trace: Make, tmp_path: Path) -> None:
    save_trace(trace(), tmp_path / "t.nc", include_jobs=False)
    with open_trace(tmp_path / "t.nc") as opened:
        assert "job" not in opened.dims
        xr.testing.assert_identical(opened, trace(jobs=False))


def test_an_existing_file_is_kept_unless_forced(trace: Make, tmp_path: Path) -> None:
    path = tmp_path / "t.nc"
    path.write_text("precious")
    with pytest.raises(InputError, match=r"t.nc exists; .*--force"):
        save_trace(trace(), path)
    assert path.read_text() == "precious"
    save_trace(trace(), path, force=True)
    with open_trace(path) as opened:
        assert opened.sizes["time"] == 1000


@pytest.mark.parametrize(
    ("place", "message"),
    [("absent/t.nc", "no folder .*absent; create it first"), ("", "is a folder; give the name of a file")],
)
def test_an_unusable_path_is_one_clear_error(trace: Make, tmp_path: Path, place: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        save_trace(trace(), tmp_path / place)


def test_a_folder_that_may_not_be_written_is_one_clear_error(
    trace: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Permissions do not bind the administrator, so the answer of the system is replaced.
    monkeypatch.setattr("os.access", lambda *_: False)
    with pytest.raises(InputError, match=r"cannot write into folder .*permission denied"):
        save_trace(trace(), tmp_path / "t.nc")


def test_a_failing_disk_is_one_clear_error_and_leaves_nothing(
    trace: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise RuntimeError("NetCDF: HDF error")

    monkeypatch.setattr(TraceWriter, "_write_labels", full)
    with pytest.raises(InputError, match=r"cannot write .*is the disk full"):
        save_trace(trace(), tmp_path / "t.nc")
    assert list(tmp_path.iterdir()) == []


def test_variables_that_a_trace_file_cannot_hold_are_named(trace: Make, tmp_path: Path) -> None:
    ds = trace(10).assign_coords(site="A").assign(label=("time", list("abcdefghij")))
    with pytest.raises(InputError, match="drop or convert site, label"):
        save_trace(ds, tmp_path / "t.nc")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("content", "message"), [(None, "no trace file"), (b"not netCDF", "is not a readable netCDF file")]
)
def test_what_cannot_be_opened_is_one_clear_error(
    tmp_path: Path, content: bytes | None, message: str
) -> None:
    path = tmp_path / "t.nc"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        open_trace(path)


def test_a_netcdf_file_that_is_no_trace_is_refused(tmp_path: Path) -> None:
    xr.Dataset({"x": ("y", [1.0])}).to_netcdf(tmp_path / "t.nc")
    with pytest.raises(InputError, match="is not a trace"):
        open_trace(tmp_path / "t.nc")


def test_a_file_cut_short_is_refused(trace: Make, tmp_path: Path) -> None:
    path = tmp_path / "t.nc"
    save_trace(trace(), path)
    path.write_bytes(path.read_bytes()[:5000])
    with pytest.raises(InputError, match="is not a readable netCDF file"):
        open_trace(path)

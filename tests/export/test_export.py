"""Each format is read back by a small reader written from the format's description, not from the writer."""

import csv
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import hsmdc
from hsmdc import export
from hsmdc.errors import InputError
from hsmdc.export import FORMATS, export_trace
from hsmdc.traces import trace_dataset

STEPS = 300
Make = Callable[..., xr.Dataset]


@pytest.fixture
def trace() -> Make:
    def make(step_s: float = 60.0, start: str = "2018-02-28T23:00", dtype: str = "float64") -> xr.Dataset:
        it_power = (4.0 + np.random.default_rng(1).standard_normal(STEPS)).astype(dtype)
        return trace_dataset(
            start=np.datetime64(start),
            step_s=step_s,
            series={
                "it_power": it_power,
                "hvac_power": 0.12 * it_power,
                "chiller_power": 0.18 * it_power,
                "auxiliary_power": np.full(STEPS, 0.5, dtype=dtype),
                "busy_nodes": np.arange(STEPS),
                "ambient_temperature": np.linspace(-3.0, 30.0, STEPS),
            },
            jobs={"job_arrival": np.zeros(2), "job_nodes": np.ones(2, dtype=np.int64)},
            attrs={"seed": 7},
        )

    return make


@pytest.fixture(autouse=True)
def _short_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "_BLOCK_STEPS", 128)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(("step_s", "digits"), [(60.0, 0), (0.1, 3)])
def test_csv(trace: Make, tmp_path: Path, dtype: str, step_s: float, digits: int) -> None:
    ds = trace(step_s, dtype=dtype)
    assert export_trace(ds, tmp_path / "x.csv", format="csv") == [tmp_path / "x.csv"]
    with (tmp_path / "x.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == [
        "time_utc", "it_power_mw", "hvac_power_mw", "chiller_power_mw", "auxiliary_power_mw",
        "facility_power_mw", "busy_nodes", "ambient_temperature_degc",
    ]  # fmt: skip
    times = [datetime.fromisoformat(row["time_utc"]) for row in rows]
    assert times == [datetime(2018, 2, 28, 23) + timedelta(seconds=step_s * i) for i in range(STEPS)]
    assert {len(row["time_utc"].partition(".")[2]) for row in rows} == {digits}
    for column, name in (("facility_power_mw", "facility_power"), ("busy_nodes", "busy_nodes")):
        read = np.array([row[column] for row in rows]).astype(ds[name].dtype)
        np.testing.assert_array_equal(read, ds[name].values)


def test_parquet(trace: Make, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    ds = trace(0.1)
    export_trace(ds, tmp_path / "x.parquet", format="parquet")
    table = parquet.read_table(tmp_path / "x.parquet")
    assert table.schema.metadata[b"seed"] == b"7"
    assert table.num_rows == STEPS
    frame = table.to_pandas()
    assert str(frame["time_utc"].dt.tz) == "UTC"
    np.testing.assert_array_equal(frame["time_utc"].dt.tz_localize(None).to_numpy(), ds["time"].values)
    np.testing.assert_array_equal(frame["it_power_mw"].to_numpy(), ds["it_power"].values)


def test_parquet_without_pyarrow_says_how_to_get_it(
    trace: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(InputError, match=r"pip install 'hsmdc\[parquet\]'"):
        export_trace(trace(), tmp_path / "x.parquet", format="parquet")


def test_opendss(trace: Make, tmp_path: Path) -> None:
    ds = trace()
    written = export_trace(ds, tmp_path / "my site.csv", format="opendss")
    assert written == [tmp_path / "my site.csv", tmp_path / "my site.dss"]
    (command,) = [text for text in written[1].read_text().splitlines() if not text.startswith("!")]
    found = re.fullmatch(
        r'New LoadShape\.(\w+) npts=(\d+) sinterval=(\S+) mult=\(file="(.+)"\) UseActual=yes', command
    )
    assert found is not None
    assert found.groups() == ("my_site", str(STEPS), "60", "my site.csv")
    kilowatts = [float(text) for text in (tmp_path / found[4]).read_text().splitlines()]
    np.testing.assert_allclose(kilowatts, ds["facility_power"].values * 1e3, rtol=1e-15)


@pytest.mark.parametrize("step_s", [60.0, 0.1])
def test_opendss_itself_draws_the_power_of_the_trace(trace: Make, tmp_path: Path, step_s: float) -> None:
    dss = pytest.importorskip("opendssdirect")
    ds = trace(step_s)
    _, command = export_trace(ds, tmp_path / "site.csv", format="opendss")
    for text in (
        "Clear",
        "New Circuit.test basekv=69 pu=1 MVAsc3=1e6",
        f'Redirect "{command}"',
        "New Load.site bus1=sourcebus kV=69 kW=1 pf=1 model=1 duty=site vminpu=0.1",
        f"Set mode=duty number=1 stepsize={step_s}s",
    ):
        dss.Text.Command(text)
    drawn = []
    for _ in range(50):
        dss.Solution.Solve()
        dss.Circuit.SetActiveElement("Load.site")
        drawn.append(sum(dss.CktElement.Powers()[::2]))
    np.testing.assert_allclose(drawn, ds["facility_power"].values[:50] * 1e3, rtol=1e-6)


def _player(path: Path) -> list[tuple[datetime, complex]]:
    """GridLAB-D: '#' begins a comment, then time and value, separated by the first comma."""
    rows = []
    for text in path.read_text().splitlines():
        if text and not text.startswith("#"):
            when, value = text.split(",", 1)
            assert when.endswith(" UTC")
            rows.append((datetime.fromisoformat(when.removesuffix(" UTC")), complex(value)))
    return rows


@pytest.mark.parametrize("step_s", [60.0, 0.02])
def test_gridlabd(trace: Make, tmp_path: Path, step_s: float) -> None:
    ds = trace(step_s)
    export_trace(ds, tmp_path / "x.player", format="gridlabd", variables=["it_power"])
    rows = _player(tmp_path / "x.player")
    assert [when for when, _ in rows] == [
        datetime(2018, 2, 28, 23) + timedelta(seconds=step_s * i) for i in range(STEPS)
    ]
    np.testing.assert_allclose([value for _, value in rows], ds["it_power"].values * 1e6, rtol=1e-15)


def test_gridlabd_with_reactive_power(trace: Make, tmp_path: Path) -> None:
    ds = trace()
    export_trace(ds, tmp_path / "x.player", format="gridlabd", power_factor=0.8)
    value = np.array([value for _, value in _player(tmp_path / "x.player")])
    np.testing.assert_allclose(value.real, ds["facility_power"].values * 1e6, rtol=1e-15)
    np.testing.assert_allclose(value.imag, value.real * 0.75, rtol=1e-12)


def test_pscad(trace: Make, tmp_path: Path) -> None:
    ds = trace(0.1)
    export_trace(ds, tmp_path / "x.txt", format="pscad")
    first, *lines = (tmp_path / "x.txt").read_text().splitlines()
    assert first.startswith("!")
    table = np.array([[float(text) for text in line.split()] for line in lines])
    assert table.shape == (STEPS, 6)
    np.testing.assert_allclose(table[:, 0], 0.1 * np.arange(STEPS), rtol=1e-10)
    np.testing.assert_allclose(table[:, 1], ds["it_power"].values, rtol=1e-10)
    np.testing.assert_allclose(table[:, 5], ds["facility_power"].values, rtol=1e-10)


def test_psse(trace: Make, tmp_path: Path) -> None:
    ds = trace(0.1)
    export_trace(ds, tmp_path / "x.plb", format="psse", power_factor=0.8)
    table = np.array([line.split(",") for line in (tmp_path / "x.plb").read_text().splitlines()], dtype=float)
    np.testing.assert_allclose(table[:, 0], 0.1 * np.arange(STEPS), atol=1e-6)
    np.testing.assert_allclose(table[:, 1], ds["facility_power"].values, atol=1e-6)
    np.testing.assert_allclose(table[:, 2], 0.75 * table[:, 1], atol=2e-6)


def test_a_node_trace_is_in_watts(tmp_path: Path) -> None:
    watts = np.linspace(400.0, 3000.0, 10)
    ds = trace_dataset(start=np.datetime64("2018-01-01"), step_s=0.02, series={"node_power": watts})
    export_trace(ds, tmp_path / "x.csv", format="opendss")
    np.testing.assert_allclose(np.loadtxt(tmp_path / "x.csv"), watts * 1e-3, rtol=1e-15)


@pytest.mark.parametrize("format", FORMATS)
def test_existing_files_are_kept_unless_forced(trace: Make, tmp_path: Path, format: export.Format) -> None:
    first = export_trace(trace(), tmp_path / "x.csv", format=format)
    before = {path: path.read_bytes() for path in first}
    with pytest.raises(InputError, match="exists; choose another name"):
        export_trace(trace(step_s=1.0), tmp_path / "x.csv", format=format)
    assert {path: path.read_bytes() for path in first} == before
    export_trace(trace(step_s=1.0), tmp_path / "x.csv", format=format, force=True)
    assert {path: path.read_bytes() for path in first} != before
    assert sorted(tmp_path.iterdir()) == sorted(first)


@pytest.mark.parametrize("format", FORMATS)
def test_a_failure_leaves_no_file(trace: Make, tmp_path: Path, format: export.Format) -> None:
    ds = trace()
    ds["facility_power"][200] = np.nan
    with pytest.raises(InputError, match="facility_power holds 1 missing"):
        export_trace(ds, tmp_path / "x.csv", format=format)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"format": "matlab"}, "no export format 'matlab'; there are csv, parquet, opendss"),
        ({"format": "csv", "variables": ["power"]}, "cannot hold 'power' of this trace; it can: it_power"),
        ({"format": "csv", "variables": ["job_nodes"]}, "cannot hold 'job_nodes'"),
        ({"format": "pscad", "variables": ["busy_nodes"]}, "cannot hold 'busy_nodes'"),
        (
            {"format": "opendss", "variables": ["it_power", "hvac_power"]},
            "holds one power; choose one of it_power",
        ),
        ({"format": "csv", "variables": []}, "nothing to write; choose from it_power"),
        ({"format": "psse", "power_factor": 0.0}, "power_factor = 0.0: must be above 0"),
        ({"format": "opendss", "power_factor": 0.9}, "opendss holds no reactive power"),
    ],
)
def test_wrong_options_are_one_clear_error(trace: Make, tmp_path: Path, options: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        export_trace(trace(), tmp_path / "x.csv", **options)


def test_progress_reaches_the_end(trace: Make, tmp_path: Path) -> None:
    seen: list[tuple[float, float]] = []
    hsmdc.export_trace(trace(), tmp_path / "x.csv", format="csv", progress=lambda *tick: seen.append(tick))
    assert seen == [(128, STEPS), (256, STEPS), (STEPS, STEPS)]

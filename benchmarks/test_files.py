"""Files: the trace writer beside xarray's, log reading beside a plain parser, exports, weather.

Run with `pytest benchmarks/test_files.py`; groups put a baseline beside each figure.
"""

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from hsmdc.config.sections import Weather
from hsmdc.export import export_trace
from hsmdc.jobs import read_jobs
from hsmdc.traces import TraceWriter, save_trace, trace_dataset
from hsmdc.weather import ambient_degc

DAY_STEPS = 864_000  # a day at 0.1 s
YEAR_MIN = 525_600


def _trace(steps: int, step_s: float) -> xr.Dataset:
    rng = np.random.default_rng(0)
    i = np.arange(steps)
    it_power = 4.7 + np.sin(i / 1e5) + 0.02 * rng.standard_normal(steps)
    return trace_dataset(
        start=np.datetime64("2018-01-01"),
        step_s=step_s,
        series={
            "it_power": it_power,
            "hvac_power": 0.5 + 0.01 * np.sin(i / 9e3),
            "chiller_power": 0.8 + 0.01 * np.sin(i / 9e4),
            "auxiliary_power": np.full(steps, 0.5),
            "busy_nodes": (i // 600) % 2840,
            "queued_jobs": np.zeros(steps),
            "ambient_temperature": 12.0 + np.sin(i / 1e6),
        },
    )


@pytest.fixture(scope="module")
def day() -> xr.Dataset:
    return _trace(DAY_STEPS, 0.1)


@pytest.fixture(scope="module")
def year() -> xr.Dataset:
    return _trace(YEAR_MIN, 60.0)


@pytest.mark.benchmark(group="a day at 0.1 s to netCDF (x 365 for a year)")
@pytest.mark.parametrize("single_precision", [True, False], ids=["float32", "float64"])
def test_writer(benchmark: Any, day: xr.Dataset, tmp_path: Path, single_precision: bool) -> None:
    def write() -> None:
        path = tmp_path / "d.nc"
        with TraceWriter(path, DAY_STEPS, force=True, single_precision=single_precision) as writer:
            writer.append(day)

    benchmark(write)


@pytest.mark.benchmark(group="a day at 0.1 s to netCDF (x 365 for a year)")
def test_writer_baseline_xarray_zlib_4(benchmark: Any, day: xr.Dataset, tmp_path: Path) -> None:
    encoding = {str(name): {"zlib": True, "complevel": 4, "shuffle": True} for name in day.data_vars}
    benchmark(lambda: day.to_netcdf(tmp_path / "x.nc", encoding=encoding))


@pytest.mark.benchmark(group="a year at 1 min to netCDF")
def test_save_year(benchmark: Any, year: xr.Dataset, tmp_path: Path) -> None:
    benchmark(lambda: save_trace(year, tmp_path / "y.nc", force=True))


@pytest.mark.benchmark(group="a year at 1 min to CSV")
def test_csv(benchmark: Any, year: xr.Dataset, tmp_path: Path) -> None:
    benchmark.pedantic(lambda: export_trace(year, tmp_path / "y.csv", format="csv", force=True), rounds=2)


@pytest.mark.benchmark(group="a year at 1 min to CSV")
def test_csv_baseline_pandas(benchmark: Any, year: xr.Dataset, tmp_path: Path) -> None:
    frame = year.to_dataframe()
    benchmark.pedantic(lambda: frame.to_csv(tmp_path / "p.csv"), rounds=2)


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = (f"{i} {i * 7} -1 {60 + i % 977} {1 + i % 64}" + " -1" * 13 for i in range(120_000))
    path = tmp_path_factory.mktemp("log") / "log.swf.gz"
    path.write_bytes(gzip.compress(("; MaxNodes: 64\n" + "\n".join(rows) + "\n").encode()))
    return path


@pytest.mark.benchmark(group="120,000 jobs of SWF, gzipped")
def test_read_swf(benchmark: Any, log: Path) -> None:
    assert len(benchmark(lambda: read_jobs(log))) == 120_000


@pytest.mark.benchmark(group="120,000 jobs of SWF, gzipped")
def test_read_swf_baseline_plain_python(benchmark: Any, log: Path) -> None:
    def parse() -> int:
        with gzip.open(log, "rt") as file:
            rows = [[float(text) for text in line.split()] for line in file if not line.startswith(";")]
        return len(rows)

    assert benchmark(parse) == 120_000


@pytest.mark.benchmark(group="ambient temperature, a year at 1 min")
def test_cosine(benchmark: Any) -> None:
    benchmark(lambda: ambient_degc(Weather(), np.datetime64("2018-01-01"), 60.0, YEAR_MIN))


@pytest.mark.benchmark(group="ambient temperature, a year at 1 min")
def test_weather_file(benchmark: Any, tmp_path: Path) -> None:
    path = tmp_path / "w.csv"
    path.write_text("temp_air\n" + "\n".join(f"{h % 30}" for h in range(8760)) + "\n")
    weather = Weather(source="file", path=str(path))
    benchmark(lambda: ambient_degc(weather, np.datetime64("2018-01-01"), 60.0, YEAR_MIN))


@pytest.mark.benchmark(group="ambient temperature, a year at 1 min")
def test_weather_baseline_interp(benchmark: Any) -> None:
    knots, hours = np.arange(8761.0) % 30, np.arange(YEAR_MIN) / 60.0
    benchmark(lambda: np.interp(hours, np.arange(8761.0), knots))

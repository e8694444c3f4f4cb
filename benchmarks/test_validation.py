"""Validation: metrics beside SciPy and NumPy, the score of a year, a page of the report.

Run with `pytest benchmarks/test_validation.py`; groups put a baseline beside each figure.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from hsmdc.report import write_report
from hsmdc.validation import load_reference, metrics, score, validate

YEAR_MIN = 525_600
YEAR_H = 8_760
LAGS = 168


def _year(step_s: float, steps: int) -> xr.Dataset:
    rng = np.random.default_rng(0)
    power = 4.7 + np.sin(np.arange(steps) * step_s * 2 * np.pi / 86400) + 0.1 * rng.standard_normal(steps)
    times = np.datetime64("2018-01-01", "ns") + np.arange(steps) * np.timedelta64(int(step_s), "s")
    return xr.Dataset({"it_power": ("time", power)}, {"time": times}, {"utilization": 0.6})


def _with_jobs(trace: xr.Dataset, jobs: int = 2_800_000) -> xr.Dataset:
    rng = np.random.default_rng(1)
    arrival = np.sort(rng.integers(0, YEAR_MIN, jobs)) * 60.0
    start = arrival + rng.integers(0, 120, jobs) * 60.0
    nodes = rng.integers(1, 9, jobs)
    table = {"job_arrival": arrival, "job_start": start, "job_end": start + 3600.0, "job_nodes": nodes}
    return trace.assign({name: ("job", values) for name, values in table.items()})


@pytest.mark.benchmark(group="W1, a year of minutes against a year of hours")
@pytest.mark.parametrize("who", ["hsmdc", "scipy"])
def test_wasserstein(benchmark: Any, who: str) -> None:
    minutes, hours = _year(60.0, YEAR_MIN)["it_power"].values, _year(3600.0, YEAR_H)["it_power"].values
    distance = metrics.wasserstein if who == "hsmdc" else stats.wasserstein_distance
    found = benchmark(distance, minutes, hours)
    assert found == pytest.approx(stats.wasserstein_distance(minutes, hours))


@pytest.mark.benchmark(group="autocorrelation to a week, a year of minutes")
@pytest.mark.parametrize("who", ["hsmdc, 10080 lags by FFT", "plain NumPy, 168 of the lags"])
def test_autocorrelation(benchmark: Any, who: str) -> None:
    x = _year(60.0, YEAR_MIN)["it_power"].values

    def plain() -> np.ndarray:
        centred = x - x.mean()
        lagged = [centred[: x.size - lag] @ centred[lag:] for lag in range(0, 60 * LAGS + 1, 60)]
        return np.array(lagged) / (centred @ centred)

    if who.startswith("hsmdc"):
        found = benchmark(metrics.autocorrelation, x, 60 * LAGS)[::60]
    else:
        found = benchmark(plain)
    np.testing.assert_allclose(found, plain(), atol=1e-10)


@pytest.mark.benchmark(group="all scores of a year of minutes with 2.8 million jobs")
@pytest.mark.parametrize("resamples", [0, 200])
def test_score(benchmark: Any, resamples: int) -> None:
    trace, reference = _with_jobs(_year(60.0, YEAR_MIN)), load_reference("nlr-colocation-10mw")
    found = benchmark.pedantic(score, (trace, reference), {"resamples": resamples}, rounds=3, warmup_rounds=1)
    assert int(found["value"].notnull().sum()) > 20


@pytest.mark.benchmark(group="a report with the zoomable year")
def test_report(benchmark: Any, tmp_path: Path) -> None:
    trace, reference = _year(60.0, YEAR_MIN), load_reference("nlr-colocation-10mw")
    member = score(trace, reference)
    given = {
        "scores": validate([member], reference),
        "members": [member],
        "reference": reference,
        "trace": trace,
    }
    page = benchmark.pedantic(write_report, (tmp_path / "r.html",), {**given, "force": True}, rounds=2)
    assert page.stat().st_size < 8_000_000

"""The facility year: simulation, calibration of an occupancy, ensembles, start-up and memory.

Run with `pytest benchmarks/test_facility.py`. Each figure has its baseline, measured in the same run, in the extra
info: the same steps in NumPy and plain Python on four weeks, scaled to the year.
"""

import os
import subprocess
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pytest
from scipy.signal import lfilter

import hsmdc
from benchmarks.test_scheduler import heap_fifo
from hsmdc import laws, profiles
from hsmdc.calibration import fit_occupancy
from hsmdc.config import Config, load_config

NLR = "nlr-colocation-10mw"
SCRIPT = Path(sys.executable).with_name("hsmdc")
RATE = 6.0
YEAR_DAYS, PLAIN_DAYS = 365, 28


@pytest.fixture(scope="module")
def site() -> Config:
    return load_config(NLR)


@pytest.fixture(scope="module")
def base_rate(site: Config) -> float:
    """λ0 of 60 %, seed 1 [arrival events/min]."""
    return fit_occupancy(site, 0.6, seed=1).base_rate


def plain_year(site: Config, base_rate: float) -> float:
    """Seconds that NumPy and plain Python take for a year of the same steps."""
    minutes = PLAIN_DAYS * 1440
    shape = profiles.rate_shape(
        site.arrivals, site.site.utc_offset_h, np.datetime64("2018-02-05T00:00", "m"), minutes
    )
    begun = perf_counter()
    arrival, nodes, duration = _drawn(site, base_rate * shape)
    start = np.array(heap_fifo(arrival.tolist(), nodes.tolist(), duration.tolist(), site.site.nodes))
    busy = np.zeros(minutes + 1)
    for tick, sign in ((start, 1), (start + duration, -1)):
        np.add.at(busy, np.minimum(tick, minutes), sign * nodes)
    busy = np.cumsum(busy)[:minutes]
    power = (site.site.nodes * site.site.idle_w + busy * (site.site.busy_w - site.site.idle_w)) * 1e-6
    power = np.minimum(power, site.site.saturation * site.site.rated_mw)
    for part in (site.cooling.hvac, site.cooling.chiller):
        keep = np.exp(-60.0 / part.tau_s)
        part.fraction * lfilter([0, 1 - keep], [1, -keep], power)
    return (perf_counter() - begun) * YEAR_DAYS / PLAIN_DAYS


def _drawn(site: Config, rate: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    batch, size = laws.batch_law(site.arrivals.batch), laws.nodes_law(site.jobs.nodes)
    length = laws.duration_law(site.jobs.duration)

    def draw(law: laws.Law, n: int) -> np.ndarray:
        return law.value[np.minimum(np.searchsorted(law.cdf, rng.random(n)), law.value.size - 1)]

    events = np.repeat(np.arange(rate.size), rng.poisson(rate))
    arrival = np.repeat(events, draw(batch, events.size))
    return arrival, draw(size, arrival.size), draw(length, arrival.size)


@pytest.mark.benchmark(group="a year at one minute, 60 %, cooling included")
def test_year(benchmark: Any, site: Config, base_rate: float) -> None:
    def year() -> Any:
        return hsmdc.simulate(site, base_rate=base_rate, seed=1)

    year()
    trace = benchmark(year)
    assert trace.sizes["time"] == YEAR_DAYS * 1440
    plain_s = plain_year(site, base_rate)
    benchmark.extra_info["NumPy and plain Python, s"] = round(plain_s, 2)
    benchmark.extra_info["times plain"] = round(plain_s / benchmark.stats.stats.median, 1)


@pytest.mark.benchmark(group="λ0 for an occupancy of 60 %")
def test_fit_occupancy(benchmark: Any, site: Config) -> None:
    fit = benchmark(fit_occupancy, site, 0.6, seed=2)
    assert abs(fit.occupancy - 0.6) <= 0.0005
    benchmark.extra_info["simulated years"] = fit.runs


@pytest.mark.benchmark(group="ten years of Monte Carlo on two threads")
def test_ensemble(benchmark: Any, site: Config, base_rate: float) -> None:
    found = benchmark.pedantic(
        hsmdc.ensemble, (site,), {"members": 10, "base_rate": base_rate, "threads": 2}, rounds=3
    )
    assert found.sizes["member"] == 10
    plain_s = 10 * plain_year(site, base_rate)
    benchmark.extra_info["NumPy and plain Python, s"] = round(plain_s, 2)
    benchmark.extra_info["times plain"] = round(plain_s / benchmark.stats.stats.median, 1)


@pytest.mark.benchmark(group="start-up")
def test_help(benchmark: Any) -> None:
    benchmark.pedantic(
        subprocess.run, ([SCRIPT, "--help"],), {"check": True, "capture_output": True}, rounds=7
    )
    bare = _seconds([sys.executable, "-c", "import typer, rich"])
    benchmark.extra_info["python with typer and rich alone, s"] = round(bare, 3)


@pytest.mark.benchmark(group="start-up")
def test_first_run_compiles(benchmark: Any, tmp_path: Path) -> None:
    command = [SCRIPT, "simulate", NLR, "--base-rate", str(RATE), "--duration", "1D", "--force", "-q"]
    command += ["-o", tmp_path / "day.nc"]
    caches = iter(tmp_path / f"cache-{run}" for run in range(3))

    def first_run() -> None:
        environment = {**os.environ, "XDG_CACHE_HOME": str(next(caches))}
        environment.pop("NUMBA_CACHE_DIR", None)
        subprocess.run(command, check=True, env=environment)

    benchmark.pedantic(first_run, rounds=3)
    warm = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache-0")}
    benchmark.extra_info["second run, s"] = round(_seconds(command, warm), 2)


@pytest.mark.benchmark(group="memory")
def test_year_memory(benchmark: Any, base_rate: float) -> None:
    """Peak memory of a year's run over that of a day's, each in a process of its own; the time is of the year."""
    day = _peak_mb(1, base_rate)
    year = benchmark.pedantic(_peak_mb, (YEAR_DAYS, base_rate), rounds=1)
    benchmark.extra_info["a year, MB"] = round(year)
    benchmark.extra_info["a day, MB"] = round(day)
    benchmark.extra_info["year over day, MB"] = round(year - day)


def _seconds(command: list[Any], environment: dict[str, str] | None = None) -> float:
    begun = perf_counter()
    subprocess.run(command, check=True, capture_output=True, env=environment)
    return perf_counter() - begun


def _peak_mb(days: int, base_rate: float) -> float:
    # Not ru_maxrss: a child begins with its parent's.
    script = (
        "import re, pathlib, hsmdc\n"
        f"hsmdc.simulate({NLR!r}, base_rate={base_rate!r}, duration='{days}D', seed=1)\n"
        "print(re.search(r'VmHWM:\\s+(\\d+) kB', pathlib.Path('/proc/self/status').read_text())[1])\n"
    )
    run = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    return float(run.stdout) / 1024

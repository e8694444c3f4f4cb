"""`simulate`: exact accounting against the job table, eq. 7, seeds, replay, spin-up, and wrong arguments."""

import heapq
import subprocess
import sys

import numpy as np
import pytest
import xarray as xr

import hsmdc
from hsmdc.errors import CalibrationError, ConfigError, InputError
from hsmdc.jobs import JobTable

NLR = "nlr-colocation-10mw"
QUIET = {"base": NLR, "residual": {"sigma_mw": 0.0}}


@pytest.fixture(scope="module")
def week() -> xr.Dataset:
    return hsmdc.simulate(QUIET, base_rate=6.0, duration="7D", seed=3)


def recount(trace: xr.Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Busy nodes and queued jobs by minute, one job at a time."""
    n = trace.sizes["time"]
    busy, queued = np.zeros(n + 1), np.zeros(n + 1)
    columns = (trace[f"job_{name}"].values for name in ("arrival", "start", "end", "nodes"))
    for arrival, start, end, nodes in zip(*columns, strict=True):
        first = n if np.isnan(start) else max(int(start // 60), 0)
        last = n if np.isnan(end) else int(end // 60)
        busy[first] += nodes
        busy[last] -= nodes
        queued[max(int(arrival // 60), 0)] += 1
        queued[first] -= 1
    return np.cumsum(busy)[:n], np.cumsum(queued)[:n]


def test_the_series_are_those_of_the_job_table(week: xr.Dataset) -> None:
    busy, queued = recount(week)
    np.testing.assert_array_equal(week["busy_nodes"].values, busy)
    np.testing.assert_array_equal(week["queued_jobs"].values, queued)
    assert busy.max() <= 2840
    start, arrival = week["job_start"].values, week["job_arrival"].values
    started = ~np.isnan(start)
    assert (start[started] >= arrival[started]).all()
    assert (np.diff(start[started]) >= 0).all()


def test_without_residual_the_power_is_eq_7_to_the_bit(week: xr.Dataset) -> None:
    busy = week["busy_nodes"].values
    np.testing.assert_array_equal(
        week["it_power"].values, np.minimum((2840 * 421.8 + busy * (2486.2 - 421.8)) * 1e-6, 0.734 * 10.0)
    )


def test_facility_power_is_the_sum_of_its_parts(week: xr.Dataset) -> None:
    parts = sum(week[f"{name}_power"] for name in ("it", "hvac", "chiller", "auxiliary"))
    np.testing.assert_allclose(week["facility_power"], parts, rtol=1e-15)
    assert week.attrs["pue"] == pytest.approx(float(week["facility_power"].sum() / week["it_power"].sum()))


def test_cooling_follows_late_and_warm_days_cost_more() -> None:
    def mean_cooling(start: str) -> float:
        trace = hsmdc.simulate(QUIET, base_rate=6.0, start=start, duration="7D", seed=3)
        return float(trace["chiller_power"].mean() / trace["it_power"].mean())

    # γ on the paper's coldest and warmest week, by eq. 9 at 0 and 24 degC.
    assert mean_cooling("2018-01-08") == pytest.approx(0.18 * (1 + 0.25 * (0 - 15) / 12), rel=0.03)
    assert mean_cooling("2018-07-09") == pytest.approx(0.18 * (1 + 0.25 * (24 - 15) / 12), rel=0.03)


def test_the_residual_has_its_standard_deviation_and_does_not_move_the_mean() -> None:
    full = {"base": NLR, "arrivals": {"hour_of_week": None, "week_of_year": None}}
    config = hsmdc.load_config({**full, "site": {"saturation": 1.0}})
    trace = hsmdc.simulate(config, base_rate=20.0, duration="30D", seed=0)
    busy = trace["busy_nodes"].values
    wander = trace["it_power"].values - (2840 * 421.8 + busy * (2486.2 - 421.8)) * 1e-6
    settled = wander[1440:]
    # 43,000 minutes, each good for 1/(2·3.1) of an independent draw: 5 standard errors.
    effective = settled.size / 7.2
    assert settled.std() == pytest.approx(config.residual.sigma_mw, rel=5 / np.sqrt(2 * effective))
    assert abs(settled.mean()) < 5 * config.residual.sigma_mw / np.sqrt(effective)


def test_same_seed_same_bytes_whatever_the_threads_and_seeds_differ() -> None:
    script = (
        "import hashlib, hsmdc; ds = hsmdc.simulate('nlr-colocation-10mw', base_rate=6.0, duration='5D', seed=%d);"
        "print(hashlib.sha256(b''.join(ds[v].values.tobytes() for v in sorted(ds.data_vars))).hexdigest())"
    )

    def digest(seed: int, threads: int) -> str:
        run = subprocess.run(
            [sys.executable, "-c", script % seed],
            capture_output=True,
            text=True,
            check=True,
            env={**__import__("os").environ, "NUMBA_NUM_THREADS": str(threads)},
        )
        return run.stdout

    assert digest(0, 1) == digest(0, 2)
    assert len({digest(seed, 2) for seed in (0, 1, 2)}) == 3


def test_utilization_is_met_and_recorded() -> None:
    trace = hsmdc.simulate(NLR, utilization=0.5, duration="28D", seed=0)
    assert abs(float(trace["busy_nodes"].mean()) / 2840 - 0.5) <= 0.0005
    again = hsmdc.simulate(NLR, base_rate=trace.attrs["base_rate"], duration="28D", seed=0)
    np.testing.assert_array_equal(trace["it_power"].values, again["it_power"].values)


def test_spin_up_fills_the_facility_and_keeps_the_running_jobs() -> None:
    empty = hsmdc.simulate(NLR, base_rate=6.0, start="2018-06-15", duration="1D", seed=1)
    warm = hsmdc.simulate(
        {"base": NLR, "scheduler": {"spin_up_days": 3.0}},
        base_rate=6.0,
        start="2018-06-15",
        duration="1D",
        seed=1,
    )
    assert empty["busy_nodes"].values[0] < 100 < warm["busy_nodes"].values[0]
    assert float(warm["job_start"].min()) < 0
    busy, queued = recount(warm)
    np.testing.assert_array_equal(warm["busy_nodes"].values, busy)
    np.testing.assert_array_equal(warm["queued_jobs"].values, queued)


def test_a_leap_year_has_its_day() -> None:
    trace = hsmdc.simulate(NLR, base_rate=6.0, start="2028-02-28", duration="3D", seed=0)
    assert str(trace["time"].values[1440])[:10] == "2028-02-29"


def test_replay_counts_seconds_exactly() -> None:
    jobs = JobTable.from_arrays([0.0, 30.0, 100.0], [2000, 2000, 500], [90.0, 60.0, 60.0])
    trace = hsmdc.simulate(QUIET, jobs=jobs, start="2018-01-01")
    # Job 2 waits for 90 s, job 3 behind it starts with it at 100 s: ticks 0-90, 90-150, 100-160.
    assert trace["job_start"].values.tolist() == [0.0, 90.0, 100.0]
    assert trace["job_end"].values.tolist() == [90.0, 150.0, 160.0]
    held = np.zeros(180)
    for start, end, nodes in ((0, 90, 2000), (90, 150, 2000), (100, 160, 500)):
        held[start:end] += nodes
    np.testing.assert_allclose(trace["busy_nodes"].values, held.reshape(3, 60).mean(axis=1), rtol=1e-15)
    np.testing.assert_allclose(trace["queued_jobs"].values, [0.5, 0.5, 0.0])


def test_replay_reports_what_it_rejected_and_takes_an_empty_table() -> None:
    jobs = JobTable.from_arrays([0.0, 1.0, 2.0], [3000, 10, 10], [60.0, 60.0, -1.0])
    trace = hsmdc.simulate(NLR, jobs=jobs)
    assert "1 job wider than 2840 nodes" in trace.attrs["rejected_jobs"]
    assert "1 job with missing or non-positive duration" in trace.attrs["rejected_jobs"]
    empty = hsmdc.simulate(QUIET, jobs=JobTable.from_arrays([], [], []), duration="1h")
    np.testing.assert_array_equal(empty["it_power"].values, np.full(60, (2840 * 421.8) * 1e-6))


@pytest.mark.parametrize("log", ["KTH-SP2-1996-2.1-cln.swf.gz", "LLNL-Thunder-2007-1.1-cln.swf.gz"])
def test_the_real_logs_replay(shared_data, log: str) -> None:
    jobs = hsmdc.read_jobs(shared_data / "jobs" / log)
    trace = hsmdc.simulate(QUIET, jobs=jobs, duration="60D")
    table = jobs.for_cluster(2840)
    inside = table.arrival_s < 60 * 86400
    assert trace.sizes["job"] == int(inside.sum())
    node_s = np.nansum(
        (np.minimum(trace["job_end"].fillna(60 * 86400.0), 60 * 86400.0) - trace["job_start"])
        * trace["job_nodes"]
    )
    assert float(trace["busy_nodes"].sum()) * 60 == pytest.approx(node_s, rel=1e-12)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"utilization": 0.0}, "must lie between 0 and 1"),
        ({"utilization": 1.0}, "must lie between 0 and 1"),
        ({"utilization": 1.2}, "must lie between 0 and 1"),
        ({"utilization": float("nan")}, "must lie between 0 and 1"),
        ({"utilization": 0.5, "base_rate": 1.0}, "give one source of jobs"),
        ({"base_rate": -1.0}, "must be a positive number"),
        ({"base_rate": float("nan")}, "must be a positive number"),
        ({}, "has no arrivals.base_rate"),
        ({"base_rate": 1.0, "seed": -1}, "seed = -1 must be"),
        ({"base_rate": 1.0, "seed": 1.5}, "seed = 1.5 must be"),
        ({"base_rate": 1.0, "start": "2018-13-01"}, "is not a date and time"),
        ({"base_rate": 1.0, "start": "2018-01-01T00:00:30"}, "whole minute"),
        ({"base_rate": 1.0, "start": "2018-01-01T00:00+02:00"}, "time zone"),
        ({"base_rate": 1.0, "duration": "90s"}, "whole number of minutes"),
        ({"base_rate": 1.0, "duration": "-1D"}, "longer than zero"),
        ({"base_rate": 1.0, "duration": "a year"}, "is not a span of time"),
        ({"utilization": "half"}, "utilization = 'half' is not a number"),
        ({"base_rate": "2"}, "base_rate = '2' is not a number"),
        ({"jobs": "log.swf"}, "jobs = 'log.swf' is no JobTable; read a log with read_jobs"),
    ],
)
def test_wrong_arguments_are_one_clear_error(arguments: dict, words: str) -> None:
    with pytest.raises(InputError, match=words):
        hsmdc.simulate(NLR, **arguments)


@pytest.mark.parametrize("value", [1e17, 1e300])
@pytest.mark.parametrize("column", ["arrival", "duration"])
def test_times_that_no_run_can_hold_are_refused(column: str, value: float) -> None:
    columns = {"arrival": [0.0, 0.0], "duration": [5.0, 5.0]} | {column: [5.0, value]}
    jobs = JobTable.from_arrays(columns["arrival"], [1, 1], columns["duration"])
    with pytest.raises(InputError, match=f"a job has the {column} .+ s, which no run can hold"):
        hsmdc.simulate(NLR, jobs=jobs, duration="1h")


def test_starts_are_those_of_a_plain_queue() -> None:
    """Strict FIFO, recomputed job by job from the trace's own table, in a facility that is full for hours."""
    trace = hsmdc.simulate(QUIET, utilization=0.7, duration="5D", seed=4)
    columns = (trace[f"job_{name}"].values for name in ("arrival", "start", "end", "nodes"))
    running: list[tuple[float, int]] = []
    free, now, waited = 2840, 0.0, 0
    for arrival, start, end, nodes in zip(*columns, strict=True):
        now = max(now, arrival)
        while running and (running[0][0] <= now or free < nodes):
            freed_at, freed = heapq.heappop(running)
            now, free = max(now, freed_at), free + freed
        if free < nodes or now >= 5 * 86400:
            assert np.isnan(start)
            break
        assert start == now
        waited += now > arrival
        free -= nodes
        if not np.isnan(end):
            heapq.heappush(running, (end, nodes))
    assert waited > 1000


def test_a_start_after_the_log_says_when_the_log_begins() -> None:
    jobs = JobTable.from_arrays([0.0], [1], [60.0], epoch=np.datetime64("2007-01-30T16:37:58", "ns"))
    words = "ends before start = 2018-01-01; the log begins at 2007-01-30T16:37:58: start earlier"
    with pytest.raises(InputError, match=words):
        hsmdc.simulate(NLR, jobs=jobs, start="2018-01-01")


def test_jobs_that_could_never_run_are_refused() -> None:
    narrow = {"base": NLR, "site": {"nodes": 100, "rated_mw": 1.0}}
    with pytest.raises(InputError, match="jobs of 256 nodes can never run on 100 nodes"):
        hsmdc.simulate(narrow, base_rate=1.0, duration="1D")


def test_an_occupancy_out_of_reach_says_how_near_it_came() -> None:
    with pytest.raises(CalibrationError, match="nearest"):
        hsmdc.simulate(NLR, utilization=0.9999, duration="2D")


def test_an_8760_row_weather_file_serves_a_leap_year(tmp_path) -> None:
    path = tmp_path / "hours.csv"
    path.write_text("temperature_degc\n" + "\n".join(f"{10 + h % 7:.1f}" for h in range(8760)) + "\n")
    config = {"base": NLR, "weather": {"source": "file", "path": str(path)}}
    trace = hsmdc.simulate(config, base_rate=6.0, start="2028-01-01", duration="366D", seed=0)
    ambient = trace["ambient_temperature"].values
    assert ambient.size == 366 * 1440
    assert np.isfinite(ambient).all()


def test_an_unknown_preset_is_a_config_error() -> None:
    with pytest.raises(ConfigError, match="did you mean"):
        hsmdc.simulate("nlr-colocation", base_rate=1.0)

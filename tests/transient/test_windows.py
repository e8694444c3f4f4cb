"""A window is a slice: the same bytes from any start, length, chunk and number of threads."""

import tracemalloc

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

import hsmdc

GOLDEN_MW = [1.983969448748759, 1.984108342506545, 1.9841917482178404, 1.9840860299094913, 1.7426695090333162]


def same_bytes(part: xr.Dataset, whole: xr.Dataset) -> None:
    cut = whole.sel(time=part["time"])
    assert set(part) == set(whole)
    for name in part:
        assert part[name].values.tobytes() == cut[name].values.tobytes(), name


@pytest.fixture(scope="module", params=[("job", "mean"), ("node", "mean"), ("job", "instant")])
def mode(request: pytest.FixtureRequest) -> dict[str, str]:
    return dict(zip(("synchrony", "sample"), request.param, strict=True))


@pytest.fixture(scope="module")
def whole(small_trace: xr.Dataset, mode: dict[str, str]) -> xr.Dataset:
    return hsmdc.resolve(small_trace, step="500ms", **mode)


@pytest.mark.parametrize(
    ("start", "duration"),
    [
        ("00:00", "1min"),
        ("00:00:00.5", "3s"),
        ("00:27", "40min"),
        ("01:07:13.5", "17s"),
        ("01:59:59.5", "500ms"),
    ],
)
def test_window_is_a_slice(
    small_trace: xr.Dataset, whole: xr.Dataset, mode: dict[str, str], start: str, duration: str
) -> None:
    window = hsmdc.resolve(small_trace, start=f"2018-07-04T{start}", duration=duration, step="500ms", **mode)
    assert window["time"].values[0] == np.datetime64(f"2018-07-04T{start}")
    same_bytes(window, whole)


def test_a_later_window_of_several_blocks_is_a_slice(small_trace: xr.Dataset) -> None:
    """At 20 ms a block is 5 minutes; the window begins in the ninth."""
    day = hsmdc.resolve(small_trace, step="20ms", duration="1h")
    same_bytes(hsmdc.resolve(small_trace, start="2018-07-04T00:43:10", duration="3min", step="20ms"), day)


def test_threads_do_not_matter(small_trace: xr.Dataset, whole: xr.Dataset, mode: dict[str, str]) -> None:
    for threads in (2, 5):
        same_bytes(hsmdc.resolve(small_trace, step="500ms", threads=threads, **mode), whole)


@pytest.mark.parametrize("chunk", ["500ms", "47s", "30min", "1D"])
def test_chunks_do_not_matter(
    small_trace: xr.Dataset, whole: xr.Dataset, mode: dict[str, str], chunk: str
) -> None:
    duration = "10s" if chunk == "500ms" else "2h"
    parts = list(hsmdc.stream(small_trace, step="500ms", duration=duration, chunk=chunk, **mode))
    joined = xr.concat(parts, "time") if len(parts) > 1 else parts[0]
    assert joined.sizes["time"] == (20 if chunk == "500ms" else 14400)
    same_bytes(joined, whole)


def test_later_jobs_leave_earlier_ones_alone(make_trace) -> None:  # type: ignore[no-untyped-def]
    """Random numbers belong to a job's place in the table."""
    jobs = [(-300.0, 900.0, 12), (0.0, np.nan, 3), (600.0, 700.0, 200)]
    window = {"duration": "9min", "minutes": "free"}
    some = hsmdc.resolve(make_trace(jobs[:2], 20), **window)["it_power"]
    every = hsmdc.resolve(make_trace(jobs, 20), **window)["it_power"]
    np.testing.assert_array_equal(some, every)


def test_seed_and_job_change_the_path(small_trace: xr.Dataset) -> None:
    other = small_trace.assign_attrs(seed="8")
    window = {"duration": "1min", "step": "1s", "minutes": "free"}
    assert not np.array_equal(
        hsmdc.resolve(small_trace, **window)["it_power"], hsmdc.resolve(other, **window)["it_power"]
    )


def test_a_saved_trace_gives_the_same_window(small_trace: xr.Dataset, tmp_path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "trace.nc"
    hsmdc.save_trace(small_trace, path)
    with hsmdc.open_trace(path) as opened:
        same_bytes(
            hsmdc.resolve(opened, duration="1min", step="1s"),
            hsmdc.resolve(small_trace, duration="1min", step="1s"),
        )


def test_instants_lie_on_the_edges_of_the_means(small_trace: xr.Dataset) -> None:
    """Means over 60 instants of a fine grid approach the coarse means."""
    window = {"start": "2018-07-04T00:20", "duration": "2min", "minutes": "free"}
    coarse = hsmdc.resolve(small_trace, step="500ms", **window)["it_power"].values
    fine = hsmdc.resolve(small_trace, step="2ms", sample="instant", **window)["it_power"]
    assert fine.attrs["cell_methods"] == "time: point"
    np.testing.assert_allclose(fine.values.reshape(-1, 250).mean(axis=1), coarse, rtol=0, atol=0.006)


def test_a_facility_without_jobs_idles(small_trace: xr.Dataset, config) -> None:  # type: ignore[no-untyped-def]
    empty = small_trace.isel(job=slice(0, 0)).assign(busy_nodes=0.0 * small_trace["busy_nodes"])
    window = hsmdc.resolve(empty, duration="2min", minutes="free", threads=2)
    idle_mw = config.site.nodes * config.site.idle_w * 1e-6
    np.testing.assert_allclose(window["it_power"], idle_mw, rtol=1e-14)
    assert not window["busy_nodes"].any()


def test_one_minute_is_a_trace(make_trace) -> None:  # type: ignore[no-untyped-def]
    trace = make_trace([(0.0, np.nan, 7)], 1)
    window = hsmdc.resolve(trace, step="100ms", minutes="trace")
    assert window.sizes["time"] == 600
    assert float(window["it_power"].mean()) == pytest.approx(float(trace["it_power"][0]), rel=1e-12)


def test_a_job_without_length_and_one_that_never_starts_leave_no_trace(make_trace) -> None:  # type: ignore[no-untyped-def]
    jobs = [(0.0, 600.0, 7), (120.0, 120.0, 50), (np.nan, np.nan, 90)]
    few = hsmdc.resolve(make_trace(jobs[:1], 10), step="1s", minutes="free")["it_power"]
    table = make_trace(jobs[:1], 10)
    more = table.drop_dims("job").assign(
        {name: ("job", np.append(table[name].values, extra)) for name, extra in (
            ("job_arrival", [0.0, 60.0]), ("job_start", [120.0, np.nan]), ("job_end", [120.0, np.nan]),
            ("job_nodes", [50, 90]),
        )}
    )  # fmt: skip
    window = hsmdc.resolve(more, step="1s", minutes="free")
    np.testing.assert_array_equal(window["it_power"], few)
    assert window["queued_jobs"].values[30] == 1  # the job of no length waits until it starts
    assert window["queued_jobs"].values[300] == 1  # the other one to the end


def test_memory_of_a_stream_does_not_grow_with_its_length(small_trace: xr.Dataset) -> None:
    def peak(duration: str) -> int:
        tracemalloc.start()
        for _ in hsmdc.stream(small_trace, step="20ms", duration=duration, chunk="5min"):
            pass
        _, highest = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return highest

    peak("10min")  # compiled and imported
    assert peak("2h") < 1.1 * peak("30min")


@pytest.fixture(scope="module")
def by_second(small_trace: xr.Dataset) -> xr.Dataset:
    return hsmdc.resolve(small_trace, step="1s")


@given(first=st.integers(0, 7199), length=st.integers(1, 7200), threads=st.integers(1, 3))
@settings(max_examples=40, deadline=None)
def test_any_window_is_a_slice(
    small_trace: xr.Dataset, by_second: xr.Dataset, first: int, length: int, threads: int
) -> None:
    start = np.datetime64("2018-07-04T00:00:00") + np.timedelta64(first, "s")
    duration = f"{min(length, 7200 - first)}s"
    same_bytes(
        hsmdc.resolve(small_trace, start=start, duration=duration, step="1s", threads=threads), by_second
    )


@pytest.mark.golden
def test_the_stream_stays_as_released(small_trace: xr.Dataset) -> None:
    """Scheme splitmix64-keyed-1. Regenerate: print the values below, and change the scheme's name in rng.py."""
    window = hsmdc.resolve(small_trace, start="2018-07-04T01:00", duration="500ms", minutes="free")
    np.testing.assert_allclose(window["it_power"], GOLDEN_MW, rtol=1e-12)

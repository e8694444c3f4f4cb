"""Strict FIFO against an independent oracle: a heap of end times in plain Python."""

import heapq
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import config as numba_config

import hsmdc
from hsmdc.errors import InputError


def heap_fifo(arrival: Sequence[int], nodes: Sequence[int], duration: Sequence[int], total: int) -> list[int]:
    """Jobs sorted by arrival. The clock follows the head of the queue; ends at or before it free nodes."""
    running: list[tuple[int, int]] = []
    free, clock, starts = total, -(2**62), []
    for arrived, width, held in zip(arrival, nodes, duration, strict=True):
        clock = max(clock, arrived)
        while running and (running[0][0] <= clock or free < width):
            end, freed = heapq.heappop(running)
            clock = max(clock, end)
            free += freed
        starts.append(clock)
        free -= width
        heapq.heappush(running, (clock + held, width))
    return starts


def _check(arrival: np.ndarray, nodes: np.ndarray, duration: np.ndarray, total: int) -> np.ndarray:
    start = hsmdc.schedule_fifo(arrival, nodes, duration, total)
    assert start.dtype == np.int64
    oracle = heap_fifo(arrival.tolist(), nodes.tolist(), duration.tolist(), total)
    np.testing.assert_array_equal(start, oracle)
    return start


def _peak_nodes(start: np.ndarray, nodes: np.ndarray, duration: np.ndarray) -> int:
    ticks = np.concatenate([start, start + duration])
    change = np.concatenate([nodes, -nodes])
    order = np.lexsort((change, ticks))  # in one tick nodes are freed before they are taken
    return int(np.cumsum(change[order]).max())


def test_a_case_worked_by_hand() -> None:
    # 3 nodes. Job 2 wants all and blocks job 3, which would have fitted beside job 0.
    arrival, nodes, duration = [0, 0, 1, 1], [2, 1, 3, 1], [10, 4, 5, 1]
    assert hsmdc.schedule_fifo(arrival, nodes, duration, 3).tolist() == [0, 0, 10, 15]


def test_a_node_freed_in_a_tick_starts_a_job_in_that_tick() -> None:
    assert hsmdc.schedule_fifo([0, 0, 0], [1, 1, 1], [1, 1, 1], 1).tolist() == [0, 1, 2]


def test_no_jobs() -> None:
    start = hsmdc.schedule_fifo([], [], [], 5)
    assert start.dtype == np.int64
    assert start.size == 0


def test_jobs_out_of_order_are_queued_by_arrival_and_answered_in_place() -> None:
    assert hsmdc.schedule_fifo([7, 0, 0], [1, 1, 1], [3, 5, 5], 1).tolist() == [10, 0, 5]


def test_negative_and_distant_ticks() -> None:
    arrival = np.array([-(10**9), 0, 10**12])
    ones = np.ones(3, dtype=np.int64)
    assert hsmdc.schedule_fifo(arrival, ones, ones, 1).tolist() == arrival.tolist()


@settings(deadline=None, max_examples=200)
@given(
    st.integers(1, 8).flatmap(
        lambda total: st.tuples(
            st.just(total),
            st.lists(st.tuples(st.integers(0, 30), st.integers(1, total), st.integers(1, 70)), max_size=40),
        )
    )
)
def test_small_queues_equal_the_oracle(case: tuple[int, list[tuple[int, int, int]]]) -> None:
    total, rows = case
    arrival, nodes, duration = np.array(sorted(rows, key=lambda r: r[0]), dtype=np.int64).reshape(-1, 3).T
    start = _check(arrival, nodes, duration, total)
    assert (start >= arrival).all()
    assert (np.diff(start) >= 0).all()
    if len(start):
        assert _peak_nodes(start, nodes, duration) <= total


def test_a_million_random_jobs_equal_the_oracle() -> None:
    rng = np.random.default_rng(20180101)
    n, total = (20_000 if numba_config.DISABLE_JIT else 1_000_000), 2840
    nodes = np.where(rng.random(n) < 1e-4, total, 2 ** rng.integers(0, 9, n))
    duration = np.where(rng.random(n) < 0.2, 1, rng.integers(1, 3000, n))
    # Load 0.95, many arrivals in one tick.
    mean_gap = (nodes * duration).mean() / (0.95 * total)
    arrival = np.floor(np.cumsum(rng.exponential(mean_gap, n)) / 50).astype(np.int64) * 50
    start = _check(arrival, nodes, duration, total)
    assert _peak_nodes(start, nodes, duration) <= total
    assert (start > arrival).mean() > 0.2


@pytest.mark.parametrize(
    ("name", "total"), [("KTH-SP2-1996-2.1-cln.swf.gz", 100), ("LLNL-Thunder-2007-1.1-cln.swf.gz", 1002)]
)
def test_the_real_logs_equal_the_oracle(shared_data: Path, name: str, total: int) -> None:
    table = hsmdc.read_jobs(shared_data / "jobs" / name).for_cluster(total)
    arrival, duration = table.arrival_s.astype(np.int64), table.duration_s.astype(np.int64)
    start = _check(arrival, table.nodes, duration, total)
    assert _peak_nodes(start, table.nodes, duration) <= total
    assert (start > arrival).any()


@pytest.mark.parametrize(
    ("case", "message"),
    [
        (([0, 1], [1, 4], [1, 1], 3), "job 1: nodes = 4 is wider than the cluster of 3 nodes"),
        (([0], [0], [1], 3), "job 0: nodes = 0 must be 1 or more"),
        (([0], [1], [0], 3), "job 0: duration = 0 must be 1 tick or more"),
        (([0.5], [1], [1], 3), "arrival must be a one-dimensional array of whole ticks"),
        (([0], [[1]], [1], 3), "nodes must be a one-dimensional array"),
        (([0, 1], [1], [1], 3), "differ in length: 2, 1, 1"),
        (([0], [1], [2**27], 3), "134217727; shorten it, or use a coarser tick"),
    ],
)
def test_jobs_that_could_never_run_are_refused(case: tuple, message: str) -> None:
    with pytest.raises(InputError, match=message):
        hsmdc.schedule_fifo(*case)

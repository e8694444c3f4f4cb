"""FIFO: a week of a 60 % facility, beside a heap in plain Python.

Run with `pytest benchmarks/test_scheduler.py`; jobs per second and the ratio stand in the extra info.
"""

import heapq
from time import perf_counter
from typing import Any

import numpy as np
import pytest

import hsmdc

NODES = 2840
DAYS = 7
JOBS_PER_DAY = 7600


def week() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Arrival [min], nodes and duration [min] of a week that offers 5.4 node-hours a job, 60 % of the nodes."""
    rng = np.random.default_rng(0)
    jobs = DAYS * JOBS_PER_DAY
    arrival = np.sort(rng.integers(0, DAYS * 1440, jobs))
    nodes = 2 ** rng.choice(9, jobs, p=[0.47, 0.24, 0.14, 0.08, 0.04, 0.015, 0.008, 0.004, 0.003])
    duration = np.ceil(rng.lognormal(np.log(50.5), 0.7, jobs)).astype(np.int64)
    return arrival, nodes, duration


def heap_fifo(arrival: list[int], nodes: list[int], duration: list[int], total: int) -> list[int]:
    """Strict FIFO with a heap of releases."""
    running: list[tuple[int, int]] = []
    free, now = total, 0
    start = []
    for arrived, width, length in zip(arrival, nodes, duration, strict=True):
        now = max(now, arrived)
        while running and running[0][0] <= now:
            free += heapq.heappop(running)[1]
        while free < width:
            now, freed = heapq.heappop(running)
            free += freed
        free -= width
        heapq.heappush(running, (now + length, width))
        start.append(now)
    return start


@pytest.mark.benchmark(group="FIFO, 53,200 jobs")
def test_fifo(benchmark: Any) -> None:
    jobs = week()
    lists = [column.tolist() for column in jobs]
    begun = perf_counter()
    expected = heap_fifo(*lists, NODES)
    plain_s = perf_counter() - begun
    hsmdc.schedule_fifo(*jobs, NODES)  # compiles
    found = benchmark(hsmdc.schedule_fifo, *jobs, NODES)
    np.testing.assert_array_equal(found, expected)
    seconds = benchmark.stats.stats.median
    benchmark.extra_info["jobs per second"] = round(len(expected) / seconds)
    benchmark.extra_info["plain Python, jobs per second"] = round(len(expected) / plain_s)
    benchmark.extra_info["times plain Python"] = round(plain_s / seconds, 1)

"""Scheduling against independent oracles: plain-Python EASY, queueing theory, and what must always hold."""

import heapq

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hsmdc.jobs import schedule, schedule_fifo
from hsmdc.kernels import scheduler

JOBS = st.lists(
    st.tuples(st.integers(0, 60), st.integers(1, 10), st.integers(1, 40)), min_size=1, max_size=60
)


def columns(jobs: list[tuple[int, int, int]]) -> list[np.ndarray]:
    return [np.array(column, np.int64) for column in zip(*sorted(jobs, key=lambda j: j[0]), strict=True)]


def easy_oracle(arrival, nodes, duration, total) -> list[int]:
    """EASY by definition: at every event, start what may start, rebuilding everything from scratch."""
    start = [None] * len(arrival)
    events = sorted(set(arrival))
    while events:
        now = heapq.heappop(events)
        waiting = [j for j in range(len(arrival)) if start[j] is None and arrival[j] <= now]

        def free_at(t: int) -> int:
            held = (
                nodes[j]
                for j in range(len(arrival))
                if start[j] is not None and start[j] <= t < start[j] + duration[j]
            )
            return total - sum(held)

        while waiting and nodes[waiting[0]] <= free_at(now):
            start[waiting[0]] = now
            heapq.heappush(events, now + duration[waiting.pop(0)])
        if waiting:
            head = waiting[0]
            ends = sorted(start[j] + duration[j] for j in range(len(arrival)) if start[j] is not None)
            shadow = next(t for t in ends if t > now and free_at(t) >= nodes[head])
            spare = free_at(shadow) - nodes[head]
            for j in waiting[1:]:
                if nodes[j] > free_at(now):
                    continue
                if now + duration[j] <= shadow:
                    pass
                elif nodes[j] <= spare:
                    spare -= nodes[j]
                else:
                    continue
                start[j] = now
                heapq.heappush(events, now + duration[j])
    return start


def held(start, nodes, duration) -> int:
    """Most nodes ever held at once."""
    moves = sorted(
        [(s + d, -n) for s, n, d in zip(start, nodes, duration, strict=True)]
        + list(zip(start, nodes, strict=True))
    )
    return int(np.cumsum([n for _, n in moves]).max())


@given(jobs=JOBS)
@settings(max_examples=150, deadline=None)
def test_easy_equals_its_definition(jobs) -> None:
    arrival, nodes, duration = columns(jobs)
    ours = schedule("easy", arrival, nodes, duration, 10)
    assert ours.tolist() == easy_oracle(arrival.tolist(), nodes.tolist(), duration.tolist(), 10)


@given(jobs=JOBS)
@settings(max_examples=150, deadline=None)
def test_what_must_always_hold(jobs) -> None:
    arrival, nodes, duration = columns(jobs)
    for policy in ("fifo", "easy"):
        start = schedule(policy, arrival, nodes, duration, 10)
        assert (start >= arrival).all()
        assert held(start.tolist(), nodes.tolist(), duration.tolist()) <= 10
        if policy == "fifo":
            assert (np.diff(start) >= 0).all()


def test_easy_fills_holes_without_delaying_the_head() -> None:
    # 6 nodes: a 4-wide job runs 10 ticks, the head wants 6, a short 2-wide job may slip in, a long one may not.
    arrival, nodes, duration = columns([(0, 4, 10), (1, 6, 5), (2, 2, 8), (3, 2, 9)])
    assert schedule("easy", arrival, nodes, duration, 6).tolist() == [0, 10, 2, 15]
    assert schedule("fifo", arrival, nodes, duration, 6).tolist() == [0, 10, 15, 15]


def erlang_c(servers: int, load: float) -> float:
    term, total = 1.0, 1.0
    for k in range(1, servers):
        term *= load / k
        total += term
    term *= load / servers * servers / (servers - load)
    return term / (total + term)


@pytest.mark.statistical
@pytest.mark.parametrize(("servers", "load"), [(1, 0.7), (8, 6.4), (50, 45.0)])
def test_erlang_c(servers: int, load: float) -> None:
    """M/M/c: share of customers that wait, and mean wait, within 4.5 standard errors of batch means (6 checks)."""
    n, mean = 400_000, 100_000.0  # ticks per mean service: discretisation bias of 1e-5
    r = np.random.default_rng(5)
    arrival = np.cumsum(r.exponential(mean / load, n)).astype(np.int64)
    duration = np.maximum(r.exponential(mean, n).round(), 1).astype(np.int64)
    wait = (schedule_fifo(arrival, np.ones(n, np.int64), duration, servers) - arrival) / mean
    chance = erlang_c(servers, load)
    for seen, wanted in (((wait > 2e-5), chance), (wait, chance / (servers - load))):
        batches = np.asarray(seen, float).reshape(40, -1).mean(axis=1)
        assert abs(batches.mean() - wanted) < 4.5 * batches.std(ddof=1) / np.sqrt(40) + 1e-3 * wanted


@pytest.mark.statistical
@pytest.mark.parametrize("cv2", [0.0, 4.0])
def test_pollaczek_khinchine(cv2: float) -> None:
    """M/G/1 mean wait ρ(1 + cv²)/(2(1 − ρ)), constant and hyperexponential service, 4.5 standard errors."""
    n, mean, load = 400_000, 100_000.0, 0.6
    r = np.random.default_rng(6)
    arrival = np.cumsum(r.exponential(mean / load, n)).astype(np.int64)
    if cv2 == 0:
        service = np.full(n, mean)
    else:  # balanced two-phase hyperexponential
        p = 0.5 * (1 + np.sqrt((cv2 - 1) / (cv2 + 1)))
        fast = r.random(n) < p
        service = r.exponential(np.where(fast, mean / (2 * p), mean / (2 * (1 - p))))
    duration = np.maximum(service.round(), 1).astype(np.int64)
    wait = (schedule_fifo(arrival, np.ones(n, np.int64), duration, 1) - arrival) / mean
    wanted = load * (1 + cv2) / (2 * (1 - load))
    batches = wait.reshape(40, -1).mean(axis=1)
    assert abs(batches.mean() - wanted) < 4.5 * batches.std(ddof=1) / np.sqrt(40)


@given(
    spans=st.lists(st.tuples(st.integers(-30, 200), st.integers(0, 90), st.integers(1, 9)), max_size=40),
    per_step=st.sampled_from([1, 7, 60]),
)
@settings(max_examples=100, deadline=None)
def test_occupancy_counts_every_tick_once(spans, per_step: int) -> None:
    steps = 5
    by_tick = np.zeros(steps * per_step, np.int64)
    for begin, length, weight in spans:
        by_tick[max(begin, 0) : max(begin + length, 0)] += weight
    begin = np.array([s[0] for s in spans], np.int64)
    end = begin + np.array([s[1] for s in spans], np.int64)
    held_ticks = np.zeros(steps + 2, np.int64)
    scheduler.occupancy(begin, end, np.array([s[2] for s in spans], np.int64), per_step, held_ticks)
    np.testing.assert_array_equal(held_ticks[:steps], by_tick.reshape(steps, per_step).sum(axis=1))

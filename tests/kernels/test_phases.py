"""Job phases: where they lie, what they add, and what is left to the chain."""

import numpy as np
import pytest

from hsmdc.kernels.phases import JOB, PHASE, class_draws, cut_chains, deposit_phases

SECOND = 10**9
SEED = np.uint64(4)


@pytest.fixture
def phases() -> np.ndarray:
    """Set-up 10-20 s at 1 W, a ramp of 4 s to 9 W, shut-down 5 s at 2 W; powers per node above idle [nW]."""
    return np.array(
        [
            (0, 0, 10 * SECOND, 10 * SECOND, 1e9, 1e9),
            (0, 0, 4 * SECOND, 0, 1e9, 9e9),
            (0, 1, 5 * SECOND, 0, 2e9, 2e9),
        ],
        PHASE,
    )


def jobs_of(*spans_s: tuple[float, float]) -> np.ndarray:
    jobs = np.zeros(len(spans_s), JOB)
    jobs["index"] = np.arange(len(spans_s))
    jobs["nodes"] = 3
    jobs["begin"] = [int(a * SECOND) for a, _ in spans_s]
    jobs["end"] = [int(b * SECOND) for _, b in spans_s]
    return jobs


def test_chain_runs_between_start_up_and_shut_down(phases: np.ndarray) -> None:
    jobs = jobs_of(*[(100.0, 200.0)] * 200)
    cut_chains(jobs, phases, SEED)
    set_up_s = jobs["chain_begin"] * 1e-9 - 104.0
    assert ((set_up_s >= 10.0) & (set_up_s <= 20.0)).all()
    assert np.unique(set_up_s).size == 200
    assert (jobs["chain_end"] == 195 * SECOND).all()


@pytest.mark.parametrize("length_s", [3.0, 16.0, 26.0])
def test_a_short_job_gives_its_time_to_start_up_first(phases: np.ndarray, length_s: float) -> None:
    jobs = jobs_of((100.0, 100.0 + length_s))
    cut_chains(jobs, phases, SEED)
    assert jobs["begin"][0] <= jobs["chain_begin"][0] <= jobs["chain_end"][0] <= jobs["end"][0]
    power = np.zeros(4000, np.int64)
    deposit_phases(jobs, phases, SEED, 90 * SECOND, 130 * SECOND, SECOND // 100, False, power)
    held_s = np.count_nonzero(power) * 0.01
    chain_s = (jobs["chain_end"][0] - jobs["chain_begin"][0]) * 1e-9
    assert held_s + chain_s == pytest.approx(length_s, abs=0.03)


def test_energy_of_the_phases(phases: np.ndarray) -> None:
    jobs = jobs_of((100.0, 200.0))
    cut_chains(jobs, phases, SEED)
    power = np.zeros(1200, np.int64)
    deposit_phases(jobs, phases, SEED, 90 * SECOND, 210 * SECOND, SECOND // 10, False, power)
    set_up_s = (jobs["chain_begin"][0] - jobs["begin"][0]) * 1e-9 - 4.0
    expected_j = 3 * (set_up_s * 1.0 + 4.0 * 5.0 + 5.0 * 2.0)
    assert power.sum() * 1e-9 * 0.1 == pytest.approx(expected_j, rel=1e-8)


def test_blocks_join_without_a_seam(phases: np.ndarray) -> None:
    jobs = jobs_of((100.0, 200.0), (112.0, 150.0))
    cut_chains(jobs, phases, SEED)
    whole = np.zeros(1200, np.int64)
    deposit_phases(jobs, phases, SEED, 90 * SECOND, 210 * SECOND, SECOND // 10, False, whole)
    for cut_s in (101, 115, 121, 197):
        first, second = np.zeros((cut_s - 90) * 10, np.int64), np.zeros((210 - cut_s) * 10, np.int64)
        deposit_phases(jobs, phases, SEED, 90 * SECOND, cut_s * SECOND, SECOND // 10, False, first)
        deposit_phases(jobs, phases, SEED, cut_s * SECOND, 210 * SECOND, SECOND // 10, False, second)
        # A slope is taken from a different origin: the last of 10¹⁰ counts may differ.
        np.testing.assert_allclose(np.concatenate([first, second]), whole, rtol=0, atol=2)


def test_phases_of_another_workload_do_not_touch_a_job(phases: np.ndarray) -> None:
    phases["workload"] = 1
    jobs = jobs_of((100.0, 200.0))
    cut_chains(jobs, phases, SEED)
    assert jobs["chain_begin"][0] == jobs["begin"][0]
    assert jobs["chain_end"][0] == jobs["end"][0]


def test_class_draws_depend_on_the_job_alone() -> None:
    whole, part = np.empty(50), np.empty(10)
    class_draws(np.arange(50), SEED, whole)
    class_draws(np.arange(20, 30), SEED, part)
    np.testing.assert_array_equal(part, whole[20:30])
    assert ((whole > 0) & (whole < 1)).all()

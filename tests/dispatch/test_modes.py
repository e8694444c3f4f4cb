"""Modes: memory by hand, reasons for rejection, dominance against brute force."""

from collections.abc import Callable

import numpy as np
import pytest

from hsmdc.dispatch import effective_modes, feasible_modes, screened_modes
from hsmdc.dispatch.case import Case
from hsmdc.dispatch.modes import baseline_mode, memory_gb, relative_efficiency
from hsmdc.errors import ConfigError


def test_memory_by_hand(aidc: Case) -> None:
    """LLaMA-13B in (4, 4, 32): states 18·13e9·(4 + 12/32)/16/16 B, activations 10 layers and the logits."""
    states = 18 * 13e9 * (4 + 12 / 32) / 16 / 16
    tokens = 32 * 2048 / 4
    activations = 10 * 2 * 5120 * tokens + 4 * 32000 * tokens
    expected = 3 + 1.15 * (states + activations) / 1e9
    got = memory_gb(aidc, aidc.task[0], *(np.array([float(size)]) for size in (4, 4, 32)))
    assert got == pytest.approx([expected])


@pytest.mark.parametrize(
    ("sharding", "share"), [("none", 16), ("zero1", 4 + 12 / 8), ("zero2", 2 + 14 / 8), ("zero3", 2)]
)
def test_sharding_of_states(aidc: Case, sharding: str, share: float) -> None:
    """Of 16 bytes, what stays on a GPU of eight data-parallel ranks."""
    case = aidc.replace(
        memory={
            "state_sharding": sharding,
            "lambda_hidden": 0.0,
            "lambda_vocabulary": 0.0,
            "fixed_gb": 0.0,
            "other_fraction": 0.0,
        }
    )
    got = memory_gb(case, case.task[0], np.ones(1), np.ones(1), np.full(1, 8.0))
    assert got == pytest.approx([18 * 13e9 * share / 16 / 1e9])


def test_efficiency_is_one_at_the_baseline_and_falls(aidc: Case) -> None:
    p, q, d = (np.array(sizes, dtype=float) for sizes in ([4, 5, 4, 4], [4, 4, 8, 4], [32, 32, 32, 64]))
    got = relative_efficiency(aidc, aidc.task[0], p, q, d)
    assert got[0] == pytest.approx(1.0)
    assert (got[1:] < 1).all()
    by_hand = (
        (1 - 0.02 * 3)
        * (1 - 0.0295 * 3)
        * (1 - 0.03322 * 7)
        / ((1 - 0.02 * 3) * (1 - 0.0295 * 3) * (1 - 0.03322 * (np.sqrt(32) - 1)))
    )
    assert got[3] == pytest.approx(by_hand)


def test_each_rejection_has_its_reason(aidc: Case) -> None:
    table = screened_modes(aidc, "LLM-A-13B").set_index(["pipeline", "tensor", "data"])
    reason = table["reason"]
    assert reason[(3, 4, 32)] == "pipeline 3 does not divide 40 layers"
    assert reason[(4, 3, 32)] == "tensor 3 does not divide 40 heads"
    assert reason[(4, 4, 1024)] == "needs 16384 GPUs, the pool has 2048"
    assert reason[(1, 1, 32)].startswith("needs ")
    assert reason[(1, 1, 32)].endswith("GB per GPU, usable are 72")
    assert reason[(4, 4, 32)] == ""
    assert (reason == "").sum() == 135


def test_modes_are_enumerated_anew_under_each_pool(aidc: Case) -> None:
    small = aidc.replace(site={"gpu_total": 512})
    assert feasible_modes(small, 0)["gpus"].max() <= 512
    assert set(effective_modes(small, 0)["gpus"]) <= set(effective_modes(aidc, 0)["gpus"])


@pytest.mark.parametrize("seed", range(20))
def test_effective_modes_against_pairwise_dominance(small_case: Callable[..., Case], seed: int) -> None:
    case = small_case(seed)
    every, best = feasible_modes(case, 0), effective_modes(case, 0)
    kept = {(row.gpus, round(row.pace, 12)) for row in best.itertuples()}
    for row in every.itertuples():
        dominated = ((every["gpus"] <= row.gpus) & (every["pace"] > row.pace * (1 + 1e-12))).any() or (
            (every["gpus"] < row.gpus) & (every["pace"] >= row.pace * (1 - 1e-12))
        ).any()
        assert ((row.gpus, round(row.pace, 12)) in kept) == (not dominated)
    assert best["gpus"].is_unique


def test_a_mode_without_throughput_is_feasible_and_never_effective(aidc: Case) -> None:
    every = feasible_modes(aidc, 0)
    assert (every["pace"] == 0).any()
    assert (effective_modes(aidc, 0)["pace"] > 0).all()


def test_baseline_mode_is_empty_where_the_site_cannot_run_it(aidc: Case) -> None:
    assert baseline_mode(aidc, 0)["gpus"].tolist() == [512]
    assert baseline_mode(aidc.replace(site={"gpu_total": 256}), 0).empty


def test_unknown_task_is_named(aidc: Case) -> None:
    with pytest.raises(ConfigError, match="has no task 'LLM-C'; it has: LLM-A-13B, LLM-B-33B"):
        feasible_modes(aidc, "LLM-C")


def test_losses_that_leave_the_baseline_nothing(aidc: Case) -> None:
    with pytest.raises(ConfigError, match=r"efficiency of baseline \[4, 4, 32\] is 0"):
        feasible_modes(aidc.replace(efficiency={"pipeline": 0.5}), 0)

"""Descriptors to work, by hand."""

import pytest

from hsmdc.dispatch.case import Case
from hsmdc.dispatch.workload import daily_iterations, flops_per_iteration, iterations, tranche
from hsmdc.errors import ConfigError


def test_flops_of_an_iteration_by_hand(aidc: Case) -> None:
    """LLaMA-13B: 96·1024·2048·40·5120² = 2.1111e17, times 1 + 0.066667 + 0.009766."""
    expected = 96 * 1024 * 2048 * 40 * 5120**2 * (1 + 2048 / 30720 + 32000 / (16 * 40 * 5120))
    assert flops_per_iteration(aidc.task[0]) == pytest.approx(expected, rel=1e-12)
    assert flops_per_iteration(aidc.task[0]) == pytest.approx(2.2725e17, rel=1e-4)


def test_flops_agree_with_six_n_d_within_a_fifth(aidc: Case) -> None:
    """8·N·tokens (6 plus recomputation) is the field's rule of thumb."""
    for task in aidc.task:
        rule = 8 * task.parameters * task.batch * task.sequence
        assert flops_per_iteration(task) == pytest.approx(rule, rel=0.2)


def test_iterations_round_up(aidc: Case) -> None:
    task = aidc.task[0]
    assert iterations(task) == 476_838  # 1e12 / (1024·2048) = 476837.16
    assert daily_iterations(task) == 23_366  # 4.9 % of it is 23365.06


def test_efficiency_of_the_published_baselines(aidc: Case) -> None:
    """Daily work is 24 h of the baseline modes; the efficiency that follows is published knowledge."""
    assert [round(tranche(aidc, task).baseline_efficiency, 4) for task in aidc.task] == [0.3847, 0.3684]
    assert [tranche(aidc, task).gpu_hours for task in aidc.task] == [512 * 24, 768 * 24]


def test_stated_efficiency_sets_the_gpu_hours(aidc: Case) -> None:
    inferred = tranche(aidc, aidc.task[0])
    task = aidc.task[0].model_copy(update={"baseline_efficiency": inferred.baseline_efficiency / 2})
    assert tranche(aidc, task).gpu_hours == pytest.approx(2 * inferred.gpu_hours)
    assert tranche(aidc, task).flops == inferred.flops


def test_impossible_efficiency_is_refused(aidc: Case) -> None:
    task = aidc.task[0].model_copy(update={"daily_ratio": 0.2})
    with pytest.raises(
        ConfigError, match=r"a day of 20.00% would need its baseline to run at 157% of the GPUs' peak"
    ):
        tranche(aidc, task)


def test_work_is_prorated_to_the_day(aidc: Case) -> None:
    profiles = aidc.profiles.model_copy(
        update={key: getattr(aidc.profiles, key)[:23] for key in ("pv_kw", "wind_kw", "price_usd_per_mwh")}
    )
    short = aidc.with_profiles(profiles, [23])
    assert tranche(short, short.task[0]).gpu_hours == 512 * 23
    assert tranche(short, short.task[0]).segments == 12

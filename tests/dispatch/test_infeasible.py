"""What cannot be met is said in words, with amounts that are right."""

import math
from collections.abc import Callable
from typing import Any

import pytest

from hsmdc.dispatch import Case, solve
from hsmdc.errors import ConfigError, SolverError


def reason(case: Case, scenario: str = "S6", **options: object) -> str:
    with pytest.raises(SolverError) as caught:
        solve(case, scenario, **options)
    return str(caught.value)


def test_memory_too_small_for_any_mode(aidc: Case) -> None:
    words = reason(aidc.replace(memory={"usable_gb": 3.0}))
    assert "LLM-A-13B fits no mode of 2048 GPUs" in words
    assert "the least memory per GPU is 5.8 GB, in mode 8x8x32 (2048 GPUs, 11,956 GB in all)" in words
    assert "usable are 3 GB" in words


def test_task_that_no_mode_can_finish(aidc: Case) -> None:
    """B alone on 512 GPUs: fastest mode 534.8 baseline GPU-hours per hour against 18,432 in 24 h."""
    words = reason(aidc.replace(site={"gpu_total": 512}))
    assert "task LLM-B-33B cannot be finished by slot 24" in words
    assert "5,598 of 18,432 baseline GPU-hours are short" in words


def test_deadline_too_early(aidc: Case) -> None:
    tasks = [task.model_dump(exclude_none=True) for task in aidc.task]
    words = reason(aidc.replace(task=[tasks[0] | {"deadline_slot": 7}, tasks[1]]))
    assert "task LLM-A-13B cannot be finished by slot 7" in words
    assert "has 7 h" in words


@pytest.mark.parametrize(("gpus", "short", "more"), [(768, 11_776, 512), (1152, 3_072, 128)])
def test_pool_too_small_for_both(aidc: Case, gpus: int, short: int, more: int) -> None:
    """1152 GPUs: the 1280 of the baselines are the least that works; at most 10 of B's 12 segments fit."""
    words = reason(aidc.replace(site={"gpu_total": gpus}))
    assert f"a pool of 1,280 GPUs would do, {more} more; the bottleneck is slot" in words
    amounts = [
        float(part.split(" of ")[0].rsplit(" ", 1)[1].replace(",", ""))
        for part in words.split(";")
        if " short" in part
    ]
    assert sum(amounts) <= short * 1.001 + 1e-9


def test_baseline_that_the_site_cannot_run(aidc: Case) -> None:
    words = reason(aidc.replace(site={"gpu_total": 700}), "S1")
    assert "task LLM-B-33B cannot run its baseline mode [6, 4, 32]: needs 768 GPUs, the pool has 700" in words


@pytest.mark.parametrize("method", ["milp", "heuristic"])
def test_power_limit_below_the_base_load(aidc: Case, method: str) -> None:
    words = reason(aidc.replace(site={"power_max_kw": 300.0}), method=method)
    assert "the base load alone draws 375.0 kW in slot 0, 75.0 kW above power_max_kw" in words


def coarse(case: Case) -> Case:
    """Four segments a day, for quick proofs."""
    return case.replace(task=[task.model_dump(exclude_none=True) | {"segments": 4} for task in case.task])


def test_power_limit_below_the_training(aidc: Case) -> None:
    words = reason(coarse(aidc).replace(site={"power_max_kw": 700.0}))
    assert "a power_max_kw of" in words
    needed = float(words.split("a power_max_kw of ")[1].split(" kW")[0].replace(",", ""))
    assert 700 < needed <= 1015.0


def test_power_limit_that_suffices(aidc: Case) -> None:
    """The limit named above is enough, and the schedule keeps it."""
    schedule = solve(coarse(aidc).replace(site={"power_max_kw": 1100.0}), "S4", gap=1e-3)
    assert float(schedule.peak_kw) <= 1100 + 1e-6


def test_inference_above_the_pool(aidc: Case) -> None:
    case = aidc.replace(inference=[{"name": "chat", "gpus": (3000.0,)}])
    assert "the given load needs 3000 GPUs in slot 0, 952 more than the pool has" in reason(case)


def test_fine_tuning_that_does_not_fit(aidc: Case) -> None:
    block = {"name": "lora", "gpu_hours": 40_000.0, "gpus_max": 2048.0}
    assert "lora is" in reason(aidc.replace(deferrable=[block]))


def test_heuristic_explains_too(aidc: Case) -> None:
    assert "a pool of 1,280 GPUs would do" in reason(
        aidc.replace(site={"gpu_total": 1152}), method="heuristic"
    )


def test_time_limit_without_a_schedule(aidc: Case) -> None:
    assert "no schedule was found within 0.01 s; allow more time" in reason(aidc, time_limit_s=0.01)


def test_time_limit_returns_the_best_with_its_gap(aidc: Case) -> None:
    """With all edges the optimum takes seconds; what is there after a short while comes back, or nothing does."""
    try:
        schedule = solve(aidc.with_slot_h(0.5), "S6", gap=0.0, time_limit_s=1.5)
    except SolverError as error:
        assert "no schedule was found within 1.5 s" in str(error)  # noqa: PT017
    else:
        assert schedule.attrs["status"] in ("time limit", "optimal")
        assert 0 <= float(schedule.gap) < 1


def test_scenario_needs_its_battery(aidc: Case) -> None:
    raw = {key: value for key, value in aidc.model_dump(exclude_none=True).items() if key != "battery"}
    bare = Case.model_validate(raw)
    with pytest.raises(ConfigError, match=r"scenario S6 uses a battery; add \[battery\]"):
        solve(bare, "S6")
    assert float(solve(bare, "S1").cost_usd) == pytest.approx(473.03, abs=0.05)


SETTINGS: list[tuple[dict[str, Any], str]] = [
    ({"gap": -1.0}, "gap = -1.0 must be 0 or more"),
    ({"gap": math.nan}, "gap = nan must be 0 or more"),
    ({"time_limit_s": -5.0}, "time_limit_s = -5.0 must be 0 or more seconds"),
    ({"time_limit_s": math.nan}, "time_limit_s = nan must be"),
    ({"seed": -1}, "seed = -1 must lie in 0 … 2147483647"),
    ({"seed": 2**31}, "seed = 2147483648 must lie in"),
    ({"threads": 0}, "threads = 0 must be 1 or more"),
    ({"method": "lp"}, "method = 'lp' is unknown; take 'milp' or 'heuristic'"),
    ({"formulation": "dense"}, "formulation = 'dense' is unknown; take 'compact' or 'full'"),
]


@pytest.mark.parametrize(("setting", "words"), SETTINGS, ids=[words[:20] for _, words in SETTINGS])
def test_settings_are_refused_before_the_solver_sees_them(
    aidc: Case, setting: dict[str, Any], words: str
) -> None:
    for other in ("milp", "heuristic"):
        with pytest.raises(ConfigError) as caught:
            solve(aidc, **({"method": other} | setting))
        assert words in str(caught.value)


def test_unknown_scenario(aidc: Case) -> None:
    with pytest.raises(ConfigError, match=r"no scenario 'S9'; there are: S1, S2"):
        solve(aidc, "S9")


def test_elastic_amount_is_minimal_by_enumeration(small_case: Callable[..., Case]) -> None:
    """One task, pool too small by design: the undone work is what no mode can do in the time."""
    case = small_case(3, tasks=1, segments=4)
    tasks = [case.task[0].model_dump(exclude_none=True) | {"deadline_slot": 2}]
    words = reason(case.replace(task=tasks), "S4")
    assert "cannot be finished by slot 2" in words


def test_ideal_benchmark_of_many_tasks_is_refused(aidc: Case) -> None:
    spec = aidc.task[0].model_dump(exclude_none=True)
    tasks = [spec | {"name": f"copy {i}", "baseline": [4, 4, 16], "daily_ratio": 0.02} for i in range(4)]
    with pytest.raises(ConfigError, match=r"20,736 combinations are too many"):
        solve(aidc.replace(task=tasks), "S3")


def test_heuristic_keeps_the_power_limit(aidc: Case) -> None:
    schedule = solve(aidc.replace(site={"power_max_kw": 1100.0}), "S4", method="heuristic")
    assert float(schedule.peak_kw) <= 1100 + 1e-6


def test_heuristic_does_not_call_a_feasible_case_infeasible(
    aidc: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hsmdc.dispatch.heuristic.alternate", lambda *_, **__: None)
    words = reason(aidc, method="heuristic")
    assert words == "the heuristic found no schedule, though there may be one; take method 'milp'"


def test_heuristic_finds_the_tightest_pool(aidc: Case) -> None:
    """With 1280 GPUs both baselines fill the pool all day: there is next to nothing to choose."""
    schedule = solve(aidc.replace(site={"gpu_total": 1280}), "S6", method="heuristic")
    assert float(schedule.cost_usd) == pytest.approx(447.23, abs=0.05)

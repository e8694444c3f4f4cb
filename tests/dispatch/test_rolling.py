"""Several days by a rolling window: rules kept over the whole horizon, state carried over midnight."""

from collections.abc import Callable
from typing import Literal

import numpy as np
import pytest

from hsmdc.dispatch import check_schedule, load_case, roll, solve
from hsmdc.dispatch.case import Case
from hsmdc.errors import ConfigError, SolverError


@pytest.fixture(scope="module")
def days() -> Case:
    return load_case("caiso-2022-07-20-3d").replace(graph={"edges": "pruned"})


@pytest.fixture(scope="module")
def small_days(small_case: Callable[..., Case]) -> Case:
    """Three days of six slots of 4 h."""
    rng = np.random.default_rng(5)
    profiles = {
        "pv_kw": tuple(rng.uniform(0, 4, 18)),
        "wind_kw": tuple(rng.uniform(0, 2, 18)),
        "price_usd_per_mwh": tuple(rng.uniform(10, 80, 18)),
    }
    horizon = {"slots": 18, "slot_h": 4.0, "day_slots": (6, 6, 6)}
    return small_case(1).replace(horizon=horizon, profiles=profiles, site={"gpu_total": 8})


def test_three_real_days(days: Case) -> None:
    schedule = roll(days, "S6", method="heuristic")
    assert check_schedule(days, schedule) == []
    assert schedule.sizes["window"] == 3
    assert schedule["progress"].to_numpy()[:, -1] == pytest.approx([1.0, 1.0])
    for end, due in zip(days.day_ends, (1 / 3, 2 / 3, 1), strict=True):
        assert (schedule["progress"].to_numpy()[:, end - 1] >= due - 1e-9).all()
    fixed = solve(days, "S5")
    assert float(schedule.cost_usd) < float(fixed.cost_usd)


def test_windows_state_their_gaps(small_days: Case) -> None:
    schedule = roll(small_days, "S6", gap=1e-4)
    assert check_schedule(small_days, schedule) == []
    assert (schedule["window_gap"].to_numpy() <= 1e-4).all()
    assert np.isinf(float(schedule.gap)), "no bound is proven for the whole horizon"


def test_one_window_over_all_days_is_the_full_problem(small_days: Case) -> None:
    whole = solve(small_days, "S6", gap=0.0)
    rolled = roll(small_days, "S6", window_days=3, gap=0.0)
    assert float(rolled["window_cost_usd"][0]) == pytest.approx(float(whole.cost_usd), rel=1e-6)
    assert float(rolled.cost_usd) >= float(whole.cost_usd) - 1e-6


def test_full_graph_keeps_the_days_milestones(small_days: Case) -> None:
    compact, full = solve(small_days, "S4", gap=0.0), solve(small_days, "S4", gap=0.0, formulation="full")
    assert float(compact.cost_usd) == pytest.approx(float(full.cost_usd), rel=1e-6)


def test_longer_sight_never_breaks_the_rules(small_days: Case) -> None:
    costs = [float(roll(small_days, "S6", window_days=days, gap=1e-5).cost_usd) for days in (1, 2, 3)]
    whole = float(solve(small_days, "S6", gap=1e-5).cost_usd)
    assert min(costs) >= whole * (1 - 1e-4)


def test_runs_cross_midnight(small_case: Callable[..., Case], small_days: Case) -> None:
    """Some run starts on one day and ends on the next; its GPUs are held there and its segments count once."""
    tables = {key: getattr(small_days, key).model_dump() for key in ("horizon", "profiles")}
    tables["profiles"]["price_usd_per_mwh"] = (80.0, 80.0, 80.0, 80.0, 5.0, 5.0) * 3
    case = small_case(2).replace(**tables, site={"gpu_total": 8})
    schedule = roll(case, "S4")
    start, end = (schedule["run_start_slot"] + by for by in (0, schedule["run_slots"]))
    assert ((start < 6) & (end > 6)).any()
    assert check_schedule(case, schedule) == []


def test_fixed_baseline_rolls(small_days: Case) -> None:
    rolled, whole = roll(small_days, "S5"), solve(small_days, "S5")
    assert (rolled["gpus"].to_numpy() == whole["gpus"].to_numpy()).all()


def test_fine_tuning_is_served_over_the_days(small_days: Case) -> None:
    block = {"name": "lora", "gpu_hours": 60.0, "gpus_max": 2.0, "release_slot": 4}
    case = small_days.replace(deferrable=[block])
    schedule = roll(case, "S6")
    assert schedule["deferrable_gpus"].sum().item() * 4 == pytest.approx(60.0)
    assert check_schedule(case, schedule) == []


@pytest.mark.parametrize("method", ["milp", "heuristic"])
@pytest.mark.parametrize("window_days", [1, 2, 3])
@pytest.mark.parametrize("release_slot", [0, 8, 13])
def test_fine_tuning_keeps_its_window_where_rolling_windows_end(
    small_days: Case, release_slot: int, window_days: int, method: Literal["milp", "heuristic"]
) -> None:
    """Power is cheapest after the deadline, and the release may lie beyond the first windows."""
    price = np.array(small_days.profiles.price_usd_per_mwh)
    price[[5, 11, 16, 17]] = -500.0
    block = {
        "name": "lora",
        "gpu_hours": 12.0,
        "gpus_max": 2.0,
        "release_slot": release_slot,
        "deadline_slot": 4,
    }
    case = small_days.replace(deferrable=[block], profiles={"price_usd_per_mwh": tuple(price)})
    schedule = roll(case, "S5", window_days=window_days, method=method)
    served = schedule["deferrable_gpus"].to_numpy()[0] * 4
    assert served[release_slot:16].sum() == pytest.approx(12.0)
    assert served.sum() == pytest.approx(12.0)


def test_refusals(small_days: Case) -> None:
    with pytest.raises(ConfigError, match="S3 is no executable schedule"):
        roll(small_days, "S3")
    with pytest.raises(ConfigError, match="window_days = 0"):
        roll(small_days, window_days=0)
    with pytest.raises(ConfigError, match="method = 'lp' is unknown; take 'milp' or 'heuristic'"):
        roll(small_days, method="lp")
    with pytest.raises(SolverError, match="window from day 1:"):
        roll(small_days.replace(site={"gpu_total": 1}))

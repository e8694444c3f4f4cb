"""One schedule for several outcomes: recourse, CVaR and the value of the stochastic solution."""

from collections.abc import Callable

import numpy as np
import pytest
import xarray as xr

from hsmdc.dispatch import perturbed_profiles, profiles_from_traces, solve, solve_stochastic
from hsmdc.dispatch.case import Case
from hsmdc.dispatch.stochastic import conditional_value_at_risk
from hsmdc.errors import ConfigError, InputError
from hsmdc.traces import trace_dataset


@pytest.fixture(scope="module")
def small(small_case: Callable[..., Case]) -> Case:
    return small_case(0, slots=6)


@pytest.fixture(scope="module")
def hedged(small: Case) -> xr.Dataset:
    outcomes = perturbed_profiles(small, 10, seed=3, price_sd=0.6, renewable_sd=0.6)
    return solve_stochastic(small, outcomes, gap=1e-6, wait_and_see=True)


def test_outcomes_are_reproducible_and_unbiased(aidc: Case) -> None:
    """Mean factor of price over 400 outcomes: one, within 4.5 standard errors (6 of them, family-wise 4e-5)."""
    drawn = perturbed_profiles(aidc, 400, seed=7)
    assert drawn[:3] == perturbed_profiles(aidc, 400, seed=7)[:3]
    assert drawn[0] != drawn[1]
    factor = np.array([p.price_usd_per_mwh for p in drawn]) / aidc.profiles.price_usd_per_mwh
    spread = np.sqrt(np.expm1(0.2**2) / 400)
    for slot in (0, 1, 5, 11, 17, 23):
        assert abs(factor[:, slot].mean() - 1) < 4.5 * spread
    assert all(max(p.pv_kw) <= 1050 and max(p.wind_kw) <= 350 for p in drawn)


def test_errors_decorrelate_over_hours(aidc: Case) -> None:
    """Lag-one correlation of the price error is exp(−1/6) = 0.846; 2,000 outcomes give ± 0.03 at 4.5 errors."""
    drawn = perturbed_profiles(aidc, 2000, seed=8)
    x = np.log(np.array([p.price_usd_per_mwh for p in drawn]) / aidc.profiles.price_usd_per_mwh)
    assert np.corrcoef(x[:, 10], x[:, 11])[0, 1] == pytest.approx(np.exp(-1 / 6), abs=0.03)


def test_schedule_is_the_same_in_every_outcome(hedged: xr.Dataset, small: Case) -> None:
    """Non-anticipative: one set of runs; in each outcome the power balance closes on the same training load."""
    assert hedged.sizes["outcome"] == 10
    site = hedged["site_power_kw"]
    outcomes = perturbed_profiles(small, 10, seed=3, price_sd=0.6, renewable_sd=0.6)
    renewable = np.array([np.add(p.pv_kw, p.wind_kw) for p in outcomes])
    supply = (
        renewable
        - hedged["outcome_curtailed_kw"]
        + hedged["outcome_grid_kw"]
        + hedged["outcome_discharge_kw"]
    )
    assert abs(supply - site - hedged["outcome_charge_kw"]).max().item() < 1e-6


def test_expected_cost_is_the_mean_of_the_outcomes(hedged: xr.Dataset, small: Case) -> None:
    costs = hedged["outcome_cost_usd"].to_numpy()
    assert float(hedged.expected_cost_usd) == pytest.approx(costs.mean())
    assert float(hedged.objective_usd) == pytest.approx(costs.mean())
    outcomes = perturbed_profiles(small, 10, seed=3, price_sd=0.6, renewable_sd=0.6)
    price = np.array([p.price_usd_per_mwh for p in outcomes]) / 1e3
    battery = (hedged["outcome_charge_kw"] + hedged["outcome_discharge_kw"]).sum("slot").to_numpy() * 20.83e-3
    energy = (price * hedged["outcome_grid_kw"].to_numpy()).sum(axis=1)
    curtailed = hedged["outcome_curtailed_kw"].sum("slot").to_numpy() * 20.83e-3
    assert costs == pytest.approx(energy + curtailed + battery, abs=1e-9)


def test_values_have_their_signs(hedged: xr.Dataset) -> None:
    """Wait-and-see ≤ stochastic ≤ deterministic schedule, up to the gap."""
    slack = 2e-6 * abs(float(hedged.objective_usd)) + 1e-9
    assert float(hedged.value_of_stochastic_solution_usd) > slack, "here the hedge is worth something"
    assert float(hedged.value_of_perfect_information_usd) >= -slack
    assert float(hedged.objective_gap) <= 1e-5


def test_one_certain_outcome_is_the_deterministic_problem(small: Case) -> None:
    single = solve_stochastic(small, [small.profiles], gap=0.0)
    assert float(single.expected_cost_usd) == pytest.approx(float(solve(small, gap=0.0).cost_usd), rel=1e-6)
    assert float(single.value_of_stochastic_solution_usd) == pytest.approx(0.0, abs=1e-7)


def test_risk_aversion_trades_mean_for_tail(small: Case) -> None:
    outcomes = perturbed_profiles(small, 10, seed=3, price_sd=0.6, renewable_sd=0.6)
    neutral = solve_stochastic(small, outcomes, risk_weight=0.0, risk_level=0.8, gap=1e-6)
    averse = solve_stochastic(small, outcomes, risk_weight=1.0, risk_level=0.8, gap=1e-6)
    slack = 1e-5 * abs(float(neutral.expected_cost_usd))
    assert float(averse.cvar_usd) <= float(neutral.cvar_usd) + slack
    assert float(averse.expected_cost_usd) >= float(neutral.expected_cost_usd) - slack
    assert float(averse.objective_usd) == pytest.approx(float(averse.cvar_usd))


@pytest.mark.parametrize(
    ("level", "expected"),
    [(0.0, 2.5), (0.5, 3.5), (0.75, 4.0), (0.9, 4.0), (0.6, (4 * 0.25 + 3 * 0.15) / 0.4)],
)
def test_cvar_by_hand(level: float, expected: float) -> None:
    costs, weights = np.array([1.0, 4.0, 2.0, 3.0]), np.full(4, 0.25)
    assert conditional_value_at_risk(costs, weights, level) == pytest.approx(expected)


def test_outcomes_from_an_ensemble_of_traces(aidc: Case) -> None:
    def member(level: float) -> xr.Dataset:
        it_mw = np.full(1440, level)
        series = {
            "it_power": it_mw,
            "hvac_power": 0.1 * it_mw,
            "chiller_power": 0.1 * it_mw,
            "auxiliary_power": 0 * it_mw,
        }
        return trace_dataset(start=np.datetime64("2018-07-04"), step_s=60, series=series)

    case, outcomes = profiles_from_traces(aidc, [member(0.2), member(0.4)], scale="none")
    assert [p.base_it_kw[0] for p in outcomes] == pytest.approx([200.0, 400.0])
    schedule = solve_stochastic(case, outcomes, scenario="S1")
    assert schedule["base_it_kw"].to_numpy() == pytest.approx([300.0] * 24)
    grid = schedule["outcome_grid_kw"].sum("slot").to_numpy()
    assert grid[1] > grid[0]
    with pytest.raises(InputError, match="at least one trace"):
        profiles_from_traces(aidc, [])


def test_refusals(small: Case) -> None:
    with pytest.raises(ConfigError, match="at least one outcome"):
        solve_stochastic(small, [])
    with pytest.raises(ConfigError, match="add up to 1"):
        solve_stochastic(small, [small.profiles] * 2, probabilities=[0.5, 0.6])
    with pytest.raises(ConfigError, match="risk_weight 2"):
        solve_stochastic(small, [small.profiles], risk_weight=2)
    with pytest.raises(ConfigError, match="S3 is no executable schedule"):
        solve_stochastic(small, [small.profiles], scenario="S3")
    with pytest.raises(ConfigError, match="count = 0"):
        perturbed_profiles(small, 0, seed=1)

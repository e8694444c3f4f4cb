"""Uncertain prices, renewables and base load: one training schedule for all outcomes, power decided in each.

A two-stage program. Here and now: the runs (and fine-tuning), the same in every outcome. Recourse: grid, curtailment
and battery. The cost to minimise is (1 − β)·E + β·CVaR_α, with CVaR in the linear form of Rockafellar and
Uryasev (2000). The value of the stochastic solution is what the schedule made for the mean outcome would
cost more, on the same measure (Birge and Louveaux, 2011, section 4.2).
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import xarray as xr

from hsmdc.dispatch.case import Battery, Case, Profiles
from hsmdc.dispatch.checker import require_valid
from hsmdc.dispatch.coupling import GpuPower, Scale, couple
from hsmdc.dispatch.infeasible import explain_infeasible, require_modes
from hsmdc.dispatch.model import (
    DispatchModel,
    PowerInputs,
    build_model,
    inference_load,
    power_cost,
    power_inputs,
)
from hsmdc.dispatch.planner import battery_of, solve, task_models
from hsmdc.dispatch.power import PowerPlan, dispatch_power
from hsmdc.dispatch.result import Proof, schedule_dataset, schedule_runs
from hsmdc.dispatch.runs import Run, chosen_runs, with_runs
from hsmdc.dispatch.scenarios import Scenario, scenario_named
from hsmdc.dispatch.solver import Options
from hsmdc.errors import ConfigError, InputError, SolverError

Array = npt.NDArray[Any]


class Risk(NamedTuple):
    """Weight β of the CVaR in the cost, and its level α: the mean of the worst 1 − α."""

    weight: float
    level: float


def perturbed_profiles(
    case: Case,
    count: int,
    *,
    seed: int,
    price_sd: float = 0.2,
    renewable_sd: float = 0.25,
    correlation_h: float = 6.0,
) -> list[Profiles]:
    """Outcomes around a case's profiles: forecast errors that decorrelate over hours.

    PV, wind and price each get a factor exp(x − sd²/2), x a stationary AR(1) with the given standard deviation; the
    mean factor is one. Renewables stay within the site's capacity.

    Parameters
    ----------
    case
        The case; its profiles are the forecast.
    count, seed
        Number of outcomes; one seed gives the same ones always.
    price_sd, renewable_sd
        Standard deviations of the logarithms.
    correlation_h
        Time over which the autocorrelation falls to 1/e [h].

    Raises
    ------
    ConfigError
        A count below one.
    """
    if count < 1:
        raise ConfigError(f"count = {count}: give at least one outcome")
    rng = np.random.default_rng(seed)
    keep = np.exp(-case.horizon.slot_h / correlation_h)

    def factor(sd: float) -> Array:
        noise = rng.normal(size=case.slots)
        x = np.empty(case.slots)
        x[0] = noise[0]
        for slot in range(1, case.slots):
            x[slot] = keep * x[slot - 1] + np.sqrt(1 - keep**2) * noise[slot]
        return np.asarray(np.exp(sd * x - sd**2 / 2))

    outcomes = []
    for _ in range(count):
        pv = np.minimum(
            case.profiles.pv_kw * factor(renewable_sd), max(case.site.pv_kw, *case.profiles.pv_kw)
        )
        wind = np.minimum(
            case.profiles.wind_kw * factor(renewable_sd), max(case.site.wind_kw, *case.profiles.wind_kw)
        )
        price = case.profiles.price_usd_per_mwh * factor(price_sd)
        change = {"pv_kw": tuple(pv), "wind_kw": tuple(wind), "price_usd_per_mwh": tuple(price)}
        outcomes.append(case.profiles.model_copy(update=change))
    return outcomes


def profiles_from_traces(
    case: Case,
    traces: Sequence[xr.Dataset],
    *,
    day: str | None = None,
    scale: Scale = "to-base",
    gpu_power: GpuPower = "trace",
) -> tuple[Case, list[Profiles]]:
    """Outcomes of base load and PUE from several traces: the coupled case and one `Profiles` each.

    Parameters
    ----------
    case
        The case.
    traces
        Facility traces, one per outcome.
    day, scale, gpu_power
        As in `couple`.

    Raises
    ------
    InputError
        No trace, or one that `couple` refuses.
    """
    if not traces:
        raise InputError("give at least one trace")
    coupled = [couple(case, trace, day=day, scale=scale, gpu_power=gpu_power) for trace in traces]
    return coupled[0], [member.profiles for member in coupled]


def solve_stochastic(
    case: Case,
    outcomes: Sequence[Profiles],
    *,
    probabilities: Sequence[float] | None = None,
    scenario: str | Scenario = "S6",
    risk_weight: float = 0.0,
    risk_level: float = 0.9,
    wait_and_see: bool = False,
    gap: float = 1e-4,
    time_limit_s: float | None = None,
    seed: int = 0,
    threads: int = 1,
) -> xr.Dataset:
    """Plan one training schedule for several outcomes of price, renewables and base load.

    Parameters
    ----------
    case
        The case; its own profiles only set the horizon.
    outcomes
        Profiles of each outcome.
    probabilities
        By default equal.
    scenario
        `"S4"`, `"S6"`, or one of your own with continuous runs.
    risk_weight, risk_level
        β and α of the cost (1 − β)·E + β·CVaR_α.
    wait_and_see
        Also solve every outcome with perfect foresight, for the value of perfect information.
    gap, time_limit_s, seed, threads
        As in `solve`, for each of the solves.

    Returns
    -------
    xarray.Dataset
        The schedule on the mean outcome, and over `outcome`: `probability outcome_cost_usd` with the powers
        `outcome_grid_kw outcome_curtailed_kw outcome_charge_kw outcome_discharge_kw` over (outcome, slot). Scalars:
        `expected_cost_usd cvar_usd objective_usd objective_bound_usd objective_gap deterministic_objective_usd
        value_of_stochastic_solution_usd`, and with `wait_and_see` also `value_of_perfect_information_usd`.

    Raises
    ------
    ConfigError
        Scenario S3, or weights and probabilities that are none.
    SolverError
        As `solve`.
    """
    chosen = scenario_named(scenario)
    if chosen.modes == "ideal":
        raise ConfigError("scenario S3 is no executable schedule; take S4 or S6")
    risk = _risk(risk_weight, risk_level)
    weights = _probabilities(outcomes, probabilities)
    cases = [case.replace(profiles=profiles.model_dump()) for profiles in outcomes]
    mean = case.replace(profiles=_mean_profiles(cases, weights).model_dump())
    battery = battery_of(case, chosen)
    options = Options(gap, time_limit_s, seed, threads)
    solution = _here_and_now(mean, cases, weights, chosen, battery, risk, options)
    plans = _recourse(mean, cases, battery, solution.runs, solution.deferrable_gpus)
    _require_valid_outcomes(cases, chosen, battery, solution, plans)
    costs = np.array([plan.cost_usd for plan in plans])
    schedule = _mean_schedule(mean, chosen, battery, solution)
    expected = _expected_value_costs(mean, cases, chosen, battery, options)
    results = _values(costs, expected, weights, risk, solution.proof.bound_usd)
    if wait_and_see:
        foresight = [
            float(solve(c, chosen, gap=gap, time_limit_s=time_limit_s, seed=seed).cost_usd) for c in cases
        ]
        results["value_of_perfect_information_usd"] = (
            (),
            float(weights @ (costs - foresight)),
            {"units": "USD"},
        )
    return schedule.assign(results | _outcome_values(plans, weights, costs)).assign_attrs(
        risk_weight=risk.weight, risk_level=risk.level
    )


class _Solution(NamedTuple):
    runs: list[Run]
    deferrable_gpus: Array
    proof: Proof


def _risk(weight: float, level: float) -> Risk:
    if not 0 <= weight <= 1 or not 0 <= level < 1:
        raise ConfigError(f"risk_weight {weight} must lie in 0 … 1 and risk_level {level} in 0 … below 1")
    return Risk(weight, level)


def _probabilities(outcomes: Sequence[Profiles], given: Sequence[float] | None) -> Array:
    if not outcomes:
        raise ConfigError("give at least one outcome")
    if given is None:
        return np.full(len(outcomes), 1 / len(outcomes))
    weights = np.asarray(given, dtype=float)
    if len(weights) != len(outcomes) or (weights < 0).any() or abs(weights.sum() - 1) > 1e-9:
        raise ConfigError(
            f"probabilities must be {len(outcomes)} numbers of at least 0 that add up to 1; "
            f"{len(weights)} are given, adding up to {weights.sum():g}"
        )
    return weights


def _mean_profiles(cases: list[Case], weights: Array) -> Profiles:
    first = cases[0].profiles
    mean = {
        key: tuple(weights @ np.array([getattr(c.profiles, key) for c in cases]))
        for key in ("pv_kw", "wind_kw", "price_usd_per_mwh")
    }
    mean["base_it_kw"] = tuple(weights @ np.array([c.base_it_kw for c in cases]))
    mean["pue"] = tuple(weights @ np.array([c.pue for c in cases]))
    return Profiles(**mean, start=first.start, source=f"mean of {len(cases)} outcomes")


def _here_and_now(
    mean: Case,
    cases: list[Case],
    weights: Array,
    scenario: Scenario,
    battery: Battery | None,
    risk: Risk,
    options: Options,
) -> _Solution:
    models = task_models(mean, scenario)
    require_modes(mean, models)
    inputs = [power_inputs(c) for c in cases]
    model = build_model(
        mean,
        models,
        battery=battery,
        fixed=inference_load(mean),
        scenarios=inputs,
        weights=weights * (1 - risk.weight),
    )
    if risk.weight > 0:
        _add_cvar(mean, model, battery, inputs, weights, risk)
    outcome = model.problem.solve(options)
    if outcome.status == "infeasible":
        raise explain_infeasible(mean, scenario, models)
    if outcome.status == "no solution":
        raise SolverError(
            f"no schedule was found within {options.time_limit_s:g} s; allow more time or a wider gap"
        )
    deferrable = np.array([np.maximum(outcome.x[ids], 0) for ids in model.deferrable]).reshape(-1, mean.slots)
    proof = Proof.of(outcome, f"milp, compact graph, {len(cases)} outcomes", options.seed)
    return _Solution(chosen_runs(models, model, outcome.x), deferrable, proof)


def _add_cvar(
    case: Case,
    model: DispatchModel,
    battery: Battery | None,
    inputs: list[PowerInputs],
    weights: Array,
    risk: Risk,
) -> None:
    """β·(v + Σ p·z / (1 − α)) with z ≥ cost − v, z ≥ 0."""
    problem = model.problem
    threshold = problem.columns(1, lower=-np.inf, cost=risk.weight)
    excess = problem.columns(len(inputs), cost=risk.weight * weights / (1 - risk.level))
    rows = problem.rows(len(inputs), upper=0.0)
    problem.put(rows, threshold, -1.0)
    problem.put(rows, excess, -1.0)
    for row, power, given in zip(rows, model.power, inputs, strict=True):
        columns, costs = power_cost(case, battery, given, power)
        problem.put(row, columns, costs)


def _recourse(
    mean: Case, cases: list[Case], battery: Battery | None, runs: list[Run], deferrable: Array
) -> list[PowerPlan]:
    load = with_runs(mean, inference_load(mean), runs)
    return [dispatch_power(c, battery, load, deferrable_gpus=deferrable) for c in cases]


def _require_valid_outcomes(
    cases: list[Case],
    scenario: Scenario,
    battery: Battery | None,
    solution: _Solution,
    plans: list[PowerPlan],
) -> None:
    proof = solution.proof._replace(bound_usd=-np.inf)
    for case, plan in zip(cases, plans, strict=True):
        require_valid(case, schedule_dataset(case, scenario, battery, solution.runs, plan, proof))


def _mean_schedule(
    mean: Case, scenario: Scenario, battery: Battery | None, solution: _Solution
) -> xr.Dataset:
    """The schedule against the mean outcome; its bound belongs to the stochastic objective and is given there."""
    load = with_runs(mean, inference_load(mean), solution.runs)
    power = dispatch_power(mean, battery, load, deferrable_gpus=solution.deferrable_gpus)
    proof = solution.proof._replace(bound_usd=-np.inf)
    schedule = schedule_dataset(mean, scenario, battery, solution.runs, power, proof)
    require_valid(mean, schedule)
    return schedule


def _expected_value_costs(
    mean: Case, cases: list[Case], scenario: Scenario, battery: Battery | None, options: Options
) -> Array:
    """Costs in every outcome of the schedule made for the mean outcome; infinite where it breaks a limit."""
    plan = solve(
        mean,
        scenario,
        gap=options.gap,
        time_limit_s=options.time_limit_s,
        seed=options.seed,
        threads=options.threads,
    )
    try:
        plans = _recourse(mean, cases, battery, schedule_runs(plan), plan["deferrable_gpus"].to_numpy())
    except SolverError:
        return np.full(len(cases), np.inf)
    return np.array([p.cost_usd for p in plans])


def conditional_value_at_risk(costs: Array, weights: Array, level: float) -> float:
    """Mean of the worst 1 − `level` of a discrete distribution, the boundary outcome counted in part."""
    order = np.argsort(costs)[::-1]
    left = 1 - level
    total = 0.0
    for cost, weight in zip(costs[order], weights[order], strict=True):
        part = min(weight, left)
        total += part * cost
        left -= part
        if left <= 0:
            break
    return float(total / (1 - level))


def _measure(costs: Array, weights: Array, risk: Risk) -> float:
    if not np.isfinite(costs).all():
        return np.inf
    tail = conditional_value_at_risk(costs, weights, risk.level)
    return float((1 - risk.weight) * (weights @ costs) + risk.weight * tail)


def _values(costs: Array, expected: Array, weights: Array, risk: Risk, bound: float) -> dict[str, Any]:
    objective = _measure(costs, weights, risk)
    deterministic = _measure(expected, weights, risk)
    usd = {"units": "USD"}
    return {
        "expected_cost_usd": ((), float(weights @ costs), usd),
        "cvar_usd": ((), conditional_value_at_risk(costs, weights, risk.level), usd),
        "objective_usd": ((), objective, usd | {"long_name": "(1 - risk_weight) mean + risk_weight CVaR"}),
        "objective_bound_usd": ((), bound, usd),
        "objective_gap": ((), max(objective - bound, 0.0) / max(abs(objective), 1e-9), {"units": "1"}),
        "deterministic_objective_usd": (
            (),
            deterministic,
            usd | {"long_name": "objective of the schedule made for the mean outcome"},
        ),
        "value_of_stochastic_solution_usd": ((), deterministic - objective, usd),
    }


def _outcome_values(plans: list[PowerPlan], weights: Array, costs: Array) -> dict[str, Any]:
    values: dict[str, Any] = {
        "probability": ("outcome", weights, {"units": "1"}),
        "outcome_cost_usd": ("outcome", costs, {"units": "USD"}),
    }
    for name in ("grid_kw", "curtailed_kw", "charge_kw", "discharge_kw"):
        stacked = np.array([getattr(plan, name) for plan in plans])
        values[f"outcome_{name}"] = (("outcome", "slot"), stacked, {"units": "kW"})
    return values

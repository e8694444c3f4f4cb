"""Solve a case: from descriptors to a checked schedule with its proof."""

from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from hsmdc.dispatch.case import Battery, Case
from hsmdc.dispatch.checker import require_valid
from hsmdc.dispatch.graph import TaskModel, task_model
from hsmdc.dispatch.infeasible import explain_infeasible, explain_unfound, require_modes
from hsmdc.dispatch.model import build_model, inference_load
from hsmdc.dispatch.modes import baseline_mode
from hsmdc.dispatch.power import dispatch_power
from hsmdc.dispatch.result import Proof, schedule_dataset
from hsmdc.dispatch.runs import Run, chosen_runs, ideal_runs, with_runs
from hsmdc.dispatch.scenarios import Scenario, scenario_named
from hsmdc.dispatch.solver import Options, check_choice
from hsmdc.errors import ConfigError, SolverError

if TYPE_CHECKING:
    import xarray as xr

    from hsmdc.dispatch.coupling import GpuPower, Scale

Method = Literal["milp", "heuristic"]
Formulation = Literal["compact", "full"]


def solve(
    case: Case,
    scenario: str | Scenario = "S6",
    *,
    trace: "xr.Dataset | None" = None,
    day: str | None = None,
    scale: "Scale" = "to-base",
    gpu_power: "GpuPower" = "trace",
    method: Method = "milp",
    formulation: Formulation = "compact",
    gap: float | None = None,
    time_limit_s: float | None = None,
    seed: int = 0,
    threads: int = 1,
) -> "xr.Dataset":
    """Plan the horizon of a case at least cost.

    Parameters
    ----------
    case
        The case.
    scenario
        `"S1"` … `"S6"`, or a `Scenario` of your own.
    trace, day, scale, gpu_power
        A facility trace that replaces base load and PUE by those of its `day`; see `couple`.
    method
        `"milp"` proves the optimum to `gap`. `"heuristic"` is the alternating shortest path: a good schedule in a
        fraction of the time, with no bound.
    formulation
        `"compact"`, or the paper's `"full"` graph as a cross-check.
    gap
        Relative gap at which to stop; by default the scenario's (1e-5, S3 5e-4).
    time_limit_s
        Wall seconds after which the best schedule so far is returned with its gap.
    seed, threads
        Of the solver. The schedule is reproducible for one seed and one thread count.

    Returns
    -------
    xarray.Dataset
        The schedule; its variables are listed in `hsmdc.dispatch.result.VARIABLES`.

    Raises
    ------
    ConfigError
        An unknown scenario, a battery that is missing, `day` without `trace`, S3 by the heuristic.
    SolverError
        If the case cannot be met (the message says what is short and by how much) or the time limit passed
        before any schedule was found.
    """
    check_choice("method", method, get_args(Method))
    check_choice("formulation", formulation, get_args(Formulation))
    if trace is not None:
        from hsmdc.dispatch.coupling import couple

        case = couple(case, trace, day=day, scale=scale, gpu_power=gpu_power)
    elif day is not None:
        raise ConfigError(
            "day picks a day of a trace; give trace too, or choose the day in the case's [profiles]"
        )
    chosen = scenario_named(scenario)
    options = Options(chosen.gap if gap is None else gap, time_limit_s, seed, threads)
    battery = battery_of(case, chosen)
    models = task_models(case, chosen)
    require_modes(case, models)
    if method == "heuristic":
        runs, proof = _by_heuristic(case, chosen, models, battery, options)
    else:
        runs, proof = _by_milp(case, chosen, models, battery, options, full=formulation == "full")
    return finish(case, chosen, battery, runs, proof)


def battery_of(case: Case, scenario: Scenario) -> Battery | None:
    """The battery the scenario may use.

    Raises
    ------
    ConfigError
        If the scenario needs one and the case has none.
    """
    if not scenario.battery:
        return None
    if case.battery is None:
        raise ConfigError(
            f"scenario {scenario.name} uses a battery; add [battery] to case {case.name}, or take S4"
        )
    return case.battery


def task_models(case: Case, scenario: Scenario) -> list[TaskModel]:
    """Modes, runs and rules of every task under a scenario."""
    return [
        task_model(
            case,
            task,
            modes=baseline_mode(case, task) if scenario.modes == "fixed" else None,
            waiting=scenario.waiting,
        )
        for task in case.task
    ]


def _by_milp(
    case: Case,
    scenario: Scenario,
    models: list[TaskModel],
    battery: Battery | None,
    options: Options,
    *,
    full: bool,
) -> tuple[list[Run], Proof]:
    ideal = scenario.modes == "ideal"
    model = build_model(
        case, models, battery=battery, fixed=inference_load(case), full_graph=full, ideal=ideal
    )
    outcome = model.problem.solve(options)
    if outcome.status == "infeasible":
        raise explain_infeasible(case, scenario, models)
    if outcome.status == "no solution":
        raise SolverError(
            f"no schedule was found within {options.time_limit_s:g} s; allow more time, a wider gap, "
            "or take method 'heuristic'"
        )
    if model.ideal is not None:
        runs = ideal_runs(case, models, model.ideal, outcome.x)
    else:
        runs = chosen_runs(models, model, outcome.x)
    name = "ideal" if ideal else "full graph" if full else "compact graph"
    return runs, Proof.of(outcome, f"milp, {name}", options.seed)


def _by_heuristic(
    case: Case, scenario: Scenario, models: list[TaskModel], battery: Battery | None, options: Options
) -> tuple[list[Run], Proof]:
    from hsmdc.dispatch.heuristic import alternate

    if scenario.modes == "ideal":
        raise ConfigError(
            "the heuristic builds executable schedules; scenario S3 is none, take method 'milp'"
        )
    found = alternate(case, models, fixed=inference_load(case), battery=battery, seed=options.seed)
    if found is None:
        raise explain_unfound(case, scenario, models)
    proof = Proof("heuristic", "alternating shortest path", -np.inf, found.seconds, 0, 0, 0, options.seed)
    return found.runs, proof


def finish(
    case: Case,
    scenario: Scenario,
    battery: Battery | None,
    runs: list[Run],
    proof: Proof,
) -> "xr.Dataset":
    """Dispatch the power for the runs, assemble the Dataset and verify it."""
    power = dispatch_power(case, battery, with_runs(case, inference_load(case), runs))
    schedule = schedule_dataset(case, scenario, battery, runs, power, proof)
    require_valid(case, schedule)
    return schedule

"""Power for a given load: grid, curtailment, battery and fine-tuning, by a small linear program.

Every schedule passes through here, whether a proof, a heuristic or a stochastic solve found it, so that powers and
cost belong exactly to the runs and carry no integrality tolerance.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hsmdc.dispatch.case import Battery, Case
from hsmdc.dispatch.model import FixedLoad, PowerInputs, build_model, power_inputs
from hsmdc.dispatch.solver import Options
from hsmdc.errors import SolverError

Array = npt.NDArray[Any]


class PowerPlan(NamedTuple):
    """Powers [kW] and energy at the end of each slot [kWh], per slot; `deferrable_gpus` per block and slot."""

    grid_kw: Array
    curtailed_kw: Array
    charge_kw: Array
    discharge_kw: Array
    energy_kwh: Array
    deferrable_gpus: Array
    cost_usd: float


def dispatch_power(
    case: Case,
    battery: Battery | None,
    load: FixedLoad,
    *,
    inputs: PowerInputs | None = None,
    initial_kwh: float | None = None,
) -> PowerPlan:
    """Cheapest powers for a given load.

    Raises
    ------
    SolverError
        If the load itself breaks the pool or the site's power limit.
    """
    inputs = power_inputs(case) if inputs is None else inputs
    model = build_model(case, [], battery=battery, fixed=load, scenarios=[inputs], initial_kwh=initial_kwh)
    outcome = model.problem.solve(Options(gap=0.0))
    if not len(outcome.x):
        raise SolverError(
            "the schedule's load leaves no feasible power dispatch; raise site.power_max_kw or gpu_total"
        )
    columns = model.power[0]

    def value(ids: Array) -> Array:
        return np.maximum(outcome.x[ids], 0.0) if len(ids) else np.zeros(case.slots)

    return PowerPlan(
        value(columns.grid),
        value(columns.curtailed),
        value(columns.charge),
        value(columns.discharge),
        value(columns.energy),
        np.array([value(ids) for ids in model.deferrable]).reshape(len(model.deferrable), case.slots),
        outcome.objective,
    )

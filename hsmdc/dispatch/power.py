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

    def first(self, slots: int) -> "PowerPlan":
        """The first slots, without a cost."""
        return PowerPlan.joined([self], slots)

    @staticmethod
    def joined(plans: "list[PowerPlan]", slots: int | None = None) -> "PowerPlan":
        """Plans one after another, each cut to its first `slots`, without a cost."""

        def join(name: str) -> Array:
            return np.concatenate([getattr(plan, name)[..., :slots] for plan in plans], axis=-1)

        return PowerPlan(
            join("grid_kw"),
            join("curtailed_kw"),
            join("charge_kw"),
            join("discharge_kw"),
            join("energy_kwh"),
            join("deferrable_gpus"),
            np.nan,
        )


def dispatch_power(
    case: Case,
    battery: Battery | None,
    load: FixedLoad,
    *,
    inputs: PowerInputs | None = None,
    initial_kwh: float | None = None,
    deferrable_gpus: Array | None = None,
) -> PowerPlan:
    """Cheapest powers for a given load.

    Parameters
    ----------
    case, battery
        The case and the battery it may use.
    load
        GPUs and IT power of inference and training, per slot.
    inputs, initial_kwh
        As in `build_model`.
    deferrable_gpus
        GPUs of each fine-tuning block and slot where they are decided already.

    Raises
    ------
    SolverError
        If the load itself breaks the pool or the site's power limit.
    """
    inputs = power_inputs(case) if inputs is None else inputs
    if deferrable_gpus is not None:
        load = with_deferrable(case, load, deferrable_gpus)
    model = build_model(
        case,
        [],
        battery=battery,
        fixed=load,
        scenarios=[inputs],
        initial_kwh=initial_kwh,
        with_deferrable=deferrable_gpus is None,
    )
    outcome = model.problem.solve(Options(gap=0.0))
    if not len(outcome.x):
        raise SolverError(
            "the schedule's load leaves no feasible power dispatch; raise site.power_max_kw or gpu_total"
        )
    columns = model.power[0]

    def value(ids: Array) -> Array:
        return np.maximum(outcome.x[ids], 0.0) if len(ids) else np.zeros(case.slots)

    decided = np.array([value(ids) for ids in model.deferrable]).reshape(-1, case.slots)
    return PowerPlan(
        value(columns.grid),
        value(columns.curtailed),
        value(columns.charge),
        value(columns.discharge),
        value(columns.energy),
        decided if deferrable_gpus is None else deferrable_gpus,
        outcome.objective,
    )


def with_deferrable(case: Case, load: FixedLoad, gpus: Array) -> FixedLoad:
    """The load with fine-tuning blocks of `gpus` (block, slot) added."""
    utilization = np.array([block.utilization for block in case.deferrable])
    return FixedLoad(load.gpus + gpus.sum(axis=0), load.it_kw + utilization @ gpus * case.site.gpu_power_kw)

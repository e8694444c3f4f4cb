"""Day-ahead dispatch of LLM pre-training: what a training fleet can shift without breaking checkpoints.

The public names are imported on first use, so that the command line stays instant. No module bears
the name of a public function: importing it would put the module in the function's place.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hsmdc.dispatch.case import Case as Case
    from hsmdc.dispatch.checker import check_schedule as check_schedule
    from hsmdc.dispatch.commitment import commit as commit
    from hsmdc.dispatch.commitment import compare_execution as compare_execution
    from hsmdc.dispatch.comparison import run_scenarios as run_scenarios
    from hsmdc.dispatch.coupling import couple as couple
    from hsmdc.dispatch.loading import load_case as load_case
    from hsmdc.dispatch.loading import preset_names as preset_names
    from hsmdc.dispatch.modes import effective_modes as effective_modes
    from hsmdc.dispatch.modes import feasible_modes as feasible_modes
    from hsmdc.dispatch.modes import screened_modes as screened_modes
    from hsmdc.dispatch.planner import solve as solve
    from hsmdc.dispatch.result import open_schedule as open_schedule
    from hsmdc.dispatch.result import save_schedule as save_schedule
    from hsmdc.dispatch.rolling import roll as roll
    from hsmdc.dispatch.scenarios import SCENARIOS as SCENARIOS
    from hsmdc.dispatch.sensitivity import sweep as sweep
    from hsmdc.dispatch.stochastic import perturbed_profiles as perturbed_profiles
    from hsmdc.dispatch.stochastic import profiles_from_traces as profiles_from_traces
    from hsmdc.dispatch.stochastic import solve_stochastic as solve_stochastic

_HOMES = {
    "Case": "hsmdc.dispatch.case",
    "preset_names": "hsmdc.dispatch.loading",
    "load_case": "hsmdc.dispatch.loading",
    "feasible_modes": "hsmdc.dispatch.modes",
    "effective_modes": "hsmdc.dispatch.modes",
    "screened_modes": "hsmdc.dispatch.modes",
    "SCENARIOS": "hsmdc.dispatch.scenarios",
    "run_scenarios": "hsmdc.dispatch.comparison",
    "solve": "hsmdc.dispatch.planner",
    "check_schedule": "hsmdc.dispatch.checker",
    "couple": "hsmdc.dispatch.coupling",
    "commit": "hsmdc.dispatch.commitment",
    "sweep": "hsmdc.dispatch.sensitivity",
    "roll": "hsmdc.dispatch.rolling",
    "perturbed_profiles": "hsmdc.dispatch.stochastic",
    "profiles_from_traces": "hsmdc.dispatch.stochastic",
    "solve_stochastic": "hsmdc.dispatch.stochastic",
    "compare_execution": "hsmdc.dispatch.commitment",
    "save_schedule": "hsmdc.dispatch.result",
    "open_schedule": "hsmdc.dispatch.result",
}

__all__ = [*_HOMES]


def __getattr__(name: str) -> Any:
    try:
        home = _HOMES[name]
    except KeyError:
        raise AttributeError(f"module 'hsmdc.dispatch' has no attribute {name!r}") from None
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted(__all__)

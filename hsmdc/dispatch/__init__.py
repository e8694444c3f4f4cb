"""Day-ahead dispatch of LLM pre-training: what a training fleet can shift without breaking checkpoints.

The public names are imported on first use, so that the command line stays instant. No module bears
the name of a public function: importing it would put the module in the function's place.
"""

from importlib import import_module
from typing import Any

_HOMES = {
    "Case": "hsmdc.dispatch.case",
    "preset_names": "hsmdc.dispatch.loading",
    "load_case": "hsmdc.dispatch.loading",
    "feasible_modes": "hsmdc.dispatch.modes",
    "effective_modes": "hsmdc.dispatch.modes",
    "screened_modes": "hsmdc.dispatch.modes",
    "SCENARIOS": "hsmdc.dispatch.scenarios",
    "run_scenarios": "hsmdc.dispatch.scenarios",
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

__all__ = [
    "SCENARIOS",
    "Case",
    "check_schedule",
    "commit",
    "compare_execution",
    "couple",
    "effective_modes",
    "feasible_modes",
    "load_case",
    "open_schedule",
    "perturbed_profiles",
    "preset_names",
    "profiles_from_traces",
    "roll",
    "run_scenarios",
    "save_schedule",
    "screened_modes",
    "solve",
    "solve_stochastic",
    "sweep",
]


def __getattr__(name: str) -> Any:
    try:
        home = _HOMES[name]
    except KeyError:
        raise AttributeError(f"module 'hsmdc.dispatch' has no attribute {name!r}") from None
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted(__all__)

"""The six scenarios of the paper as data, and the figures by which they are compared."""

from dataclasses import dataclass
from typing import Literal

from hsmdc.errors import ConfigError


@dataclass(frozen=True)
class Scenario:
    """What a scenario allows.

    `record` writes checkpoints without pausing at them. `ideal` chooses modes anew in every slot, without the
    continuity of segments: a benchmark, no executable schedule.
    """

    name: str
    mechanism: str
    battery: bool
    checkpoint: Literal["none", "record", "wait"]
    modes: Literal["fixed", "variable", "ideal"]
    gap: float = 1e-5

    @property
    def waiting(self) -> bool:
        """Whether a task may pause."""
        return self.checkpoint == "wait"


# S3 is a pair-mode knapsack whose bound closes slowly: a gap of 5e-4 takes a second, 1e-4 more than 100 s.
SCENARIOS = {
    s.name: s
    for s in (
        Scenario("S1", "fixed baseline", False, "none", "fixed"),
        Scenario("S2", "checkpoint record", False, "record", "fixed"),
        Scenario("S3", "idealised 3D only", False, "none", "ideal", gap=5e-4),
        Scenario("S4", "checkpoint + 3D", False, "wait", "variable"),
        Scenario("S5", "fixed + battery", True, "none", "fixed"),
        Scenario("S6", "checkpoint + 3D + battery", True, "wait", "variable"),
    )
}


def scenario_named(scenario: "str | Scenario") -> Scenario:
    """The scenario of that name; a scenario passes through.

    Raises
    ------
    ConfigError
        No such scenario.
    """
    if isinstance(scenario, Scenario):
        return scenario
    try:
        return SCENARIOS[scenario.upper()]
    except KeyError:
        raise ConfigError(f"no scenario {scenario!r}; there are: {', '.join(SCENARIOS)}") from None


COLUMNS = (
    "cost_usd",
    "grid_mwh",
    "curtailed_mwh",
    "battery_mwh",
    "renewable_use",
    "green_share",
    "peak_kw",
    "min_kw",
    "peak_gpu",
    "bound_usd",
    "gap",
    "solve_s",
)

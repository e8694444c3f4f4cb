"""The six scenarios of the paper as data, and the table that compares them."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from hsmdc.errors import ConfigError

if TYPE_CHECKING:
    import xarray as xr

    from hsmdc.dispatch.case import Case


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
    """The scenario of that name; a scenario passes through."""
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


def run_scenarios(
    case: "Case", scenarios: "Iterable[str | Scenario]" = tuple(SCENARIOS), **options: Any
) -> "xr.Dataset":
    """Solve several scenarios of a case and compare them.

    Parameters
    ----------
    case
        The case.
    scenarios
        Names or scenarios; by default all six.
    **options
        Handed to `solve`.

    Returns
    -------
    xarray.Dataset
        Over `scenario`: `cost_usd grid_mwh curtailed_mwh battery_mwh renewable_use green_share` (fractions) `peak_kw
        min_kw peak_gpu bound_usd gap solve_s`.
    """
    from hsmdc.dispatch.planner import solve

    chosen = [scenario_named(s) for s in scenarios]
    return compare([solve(case, s, **options) for s in chosen])


def compare(schedules: "list[xr.Dataset]") -> "xr.Dataset":
    """The summary figures of schedules side by side, over `scenario`."""
    import xarray as xr

    table = xr.concat([schedule[list(COLUMNS)] for schedule in schedules], dim="scenario", coords="minimal")
    table = table.assign_coords(scenario=[schedule.attrs["scenario"] for schedule in schedules])
    shared = {key: schedules[0].attrs[key] for key in ("case_name", "case", "version")}
    table.attrs = {"title": f"Scenarios of case {shared['case_name']}"} | shared
    return table

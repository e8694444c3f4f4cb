"""Scenarios of a case solved and set side by side."""

from collections.abc import Iterable
from typing import Any

import xarray as xr

from hsmdc.dispatch.case import Case
from hsmdc.dispatch.planner import solve
from hsmdc.dispatch.scenarios import COLUMNS, SCENARIOS, Scenario, scenario_named


def run_scenarios(
    case: Case, scenarios: Iterable[str | Scenario] = tuple(SCENARIOS), **options: Any
) -> xr.Dataset:
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
    chosen = [scenario_named(s) for s in scenarios]
    return compare([solve(case, s, **options) for s in chosen])


def compare(schedules: list[xr.Dataset]) -> xr.Dataset:
    """The summary figures of schedules side by side, over `scenario`."""
    table = xr.concat([schedule[list(COLUMNS)] for schedule in schedules], dim="scenario", coords="minimal")
    table = table.assign_coords(scenario=[schedule.attrs["scenario"] for schedule in schedules])
    shared = {key: schedules[0].attrs[key] for key in ("case_name", "case", "version")}
    table.attrs = {"title": f"Scenarios of case {shared['case_name']}"} | shared
    return table

"""Sensitivity of cost to one parameter: checkpoint segments, GPU pool, renewables, or any key of the case."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import xarray as xr

from hsmdc.dispatch.case import Case
from hsmdc.dispatch.loading import is_shipped
from hsmdc.dispatch.planner import solve
from hsmdc.dispatch.result import VARIABLES
from hsmdc.dispatch.scenarios import COLUMNS, Scenario, scenario_named
from hsmdc.errors import ConfigError, InfeasibleError, SolverError

Progress = Callable[[float, float], None]

# Cost falls with the number of segments only where the grids nest: three can beat four, but never twelve six.
DEFAULT_VALUES: dict[str, tuple[float, ...]] = {
    "segments": (1, 2, 3, 4, 6, 8, 12, 24),
    "gpus": (768, 896, 1024, 1152, 1280, 1408, 1536, 1792, 2048),
    "renewables": (0.5, 0.75, 0.875, 1.0, 1.125, 1.25, 1.375, 1.5),
}


def sweep(
    case: Case,
    parameter: str,
    values: Iterable[float] | None = None,
    *,
    scenario: str | Scenario = "S6",
    gap: float = 1e-4,
    progress: Progress | None = None,
    **options: Any,
) -> xr.Dataset:
    """Solve a case for several values of one parameter.

    Parameters
    ----------
    case
        The case.
    parameter
        `"segments"` (per day, every task), `"gpus"` (the pool; modes are enumerated anew), `"renewables"` (factor on
        wind and PV), or a key such as `"battery.energy_kwh"`, without its table where only one has it.
    values
        By default those of the three sensitivities of the paper.
    scenario, gap, **options
        As in `solve`.
    progress
        Called with (done, total).

    Returns
    -------
    xarray.Dataset
        Over `value`: the summary figures of `run_scenarios`, `feasible` (1, 0, or −1 where no schedule was found and
        none was ruled out, such as under a time limit) and `reason`. Without a schedule the figures are NaN and
        `reason` says what is short.

    Raises
    ------
    ConfigError
        An unknown parameter, or one without values.
    """
    points = list(DEFAULT_VALUES.get(parameter, ()) if values is None else values)
    if not points:
        _table_and_key(case.model_dump(exclude_none=True), parameter)
        raise ConfigError(f"give values for the sweep of {parameter!r}")
    rows: list[dict[str, Any]] = []
    for value in points:
        try:
            schedule = solve(with_parameter(case, parameter, value), scenario, gap=gap, **options)
            rows.append({name: schedule[name].item() for name in COLUMNS} | {"feasible": 1, "reason": ""})
        except SolverError as error:
            feasible = 0 if isinstance(error, InfeasibleError) else -1
            rows.append(dict.fromkeys(COLUMNS, np.nan) | {"feasible": feasible, "reason": str(error)})
        if progress is not None:
            progress(len(rows), len(points))
    table = _dataset(case, parameter, points, rows)
    return table.assign_attrs(scenario=scenario_named(scenario).name)


def with_parameter(case: Case, parameter: str, value: float) -> Case:
    """The case with one parameter changed.

    Raises
    ------
    ConfigError
        If there is no such parameter or the value breaks a rule.
    """
    raw = case.model_dump(exclude_none=True)
    if parameter == "segments":
        return case.replace(task=[task | {"segments": _whole(parameter, value)} for task in raw["task"]])
    if parameter == "gpus":
        return case.replace(site={"gpu_total": _whole(parameter, value)})
    if parameter == "renewables":
        scaled = {key: tuple(value * x for x in raw["profiles"][key]) for key in ("pv_kw", "wind_kw")}
        return case.replace(profiles=scaled)
    table, key = _table_and_key(raw, parameter)
    kind = type(raw[table][key])
    return case.replace(**{table: {key: _whole(parameter, value) if kind is int else value}})


def _table_and_key(raw: dict[str, Any], parameter: str) -> tuple[str, str]:
    """Where in the case a parameter stands that is none of the three sensitivities.

    Raises
    ------
    ConfigError
        If there is no such parameter.
    """
    table, _, key = parameter.partition(".") if "." in parameter else _owner(raw, parameter)
    if not isinstance(raw.get(table), dict) or key not in raw[table]:
        raise ConfigError(
            f"no parameter {parameter!r} to sweep; take {', '.join(DEFAULT_VALUES)}, or a key such as "
            "battery.energy_kwh"
        )
    return table, key


def _owner(raw: dict[str, Any], key: str) -> tuple[str, str, str]:
    """The one table that has a key of this name, for a parameter given without its table."""
    owners = [name for name, table in raw.items() if isinstance(table, dict) and key in table]
    return (owners[0], ".", key) if len(owners) == 1 else (key, "", "")


def _whole(parameter: str, value: float) -> int:
    if not float(value).is_integer():
        raise ConfigError(f"{parameter} takes whole numbers, not {value}")
    return int(value)


def _dataset(case: Case, parameter: str, points: list[float], rows: list[dict[str, Any]]) -> xr.Dataset:
    data = {}
    for name in (*COLUMNS, "feasible", "reason"):
        column = np.array([row[name] for row in rows])
        attrs = (
            {"units": VARIABLES[name].unit, "long_name": VARIABLES[name].long_name}
            if name in VARIABLES
            else {}
        )
        data[name] = ("value", column, attrs)
    attrs = {
        "title": f"Sensitivity of case {case.name} to {parameter}",
        "parameter": parameter,
        "case_name": case.name,
        "shipped_case": case.name if is_shipped(case) else "",
    }
    return xr.Dataset(data, coords={"value": np.array(points, dtype=float)}, attrs=attrs)

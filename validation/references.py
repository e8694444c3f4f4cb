"""References: what a trace is measured against, shipped with the package or read from a user's file.

A reference is held to a stricter rule than a trace: a NaN, a gap or a repeated time is an error that names
the row and the mend. `allow_missing=True` accepts NaN and left-out steps (whole days, say); those steps are
then left out of every comparison, on both sides.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

from hsmdc.errors import InputError

from .power_files import read_power
from .series import as_series
from .statistics import power_statistics

LEVEL_TOLERANCE = 0.02
"""A trace belongs to the level of a reference within this much of its utilisation."""

NLR = "nlr-colocation-10mw"

_TABLE_COLUMNS = {
    "P_mean_MW": "mean_mw",
    "P_std_MW": "std_mw",
    "PAR": "peak_to_average",
    "P_median_MW": "median_mw",
    "P_p90_MW": "p90_mw",
    "P_max_MW": "max_mw",
    "util_mean": "occupancy",
    "avg_daily_jobs": "jobs_per_day",
    "frac_jobs_queued": "jobs_queued",
    "mean_queue_h": "mean_wait_h",
}


@dataclass(frozen=True)
class Reference:
    """What is known of the reference facility.

    Attributes
    ----------
    name, title, source : str
        Source names origin and licence.
    statistics : Dataset, dim `utilization`
        Statistics of each level under the names of `catalogue.SCORES` (and `occupancy`, the mean share of busy
        nodes); NaN where the reference gives none. One level of NaN: the utilisation is not known and every trace
        is compared with it.
    statistics_step_s : float
        Step of the series the statistics were taken from [s].
    start, days : datetime64, int
        First day (UTC) and length of the period the reference covers, in whole days.
    series : mapping of float to DataArray
        Power [MW] against time (UTC), by level.
    week_percentiles : Dataset, dims (percentile, minute_of_week), or None
        Percentiles over the weeks of a year [MW], 0 = Monday 00:00; attribute `utilization`.
    caution : str
        What agreement with it does not show, for the report.
    """

    name: str
    title: str
    source: str
    statistics: xr.Dataset
    statistics_step_s: float
    start: np.datetime64
    days: int
    series: Mapping[float, xr.DataArray] = field(default_factory=dict)
    week_percentiles: xr.Dataset | None = None
    caution: str = ""

    @property
    def levels(self) -> tuple[float, ...]:
        """Utilisation of each level, rising; (nan,) when it is not known."""
        return tuple(float(u) for u in self.statistics["utilization"].values)

    def level_of(self, utilization: float | None) -> float:
        """The level a trace of this utilisation belongs to.

        Raises
        ------
        InputError
            None is within `LEVEL_TOLERANCE`, or the utilisation is not known though the reference needs it.
        """
        if math.isnan(self.levels[0]):
            return math.nan
        listed = ", ".join(f"{level:g}" for level in self.levels)
        if utilization is None:
            raise InputError(
                f"a trace without the attribute 'utilization' cannot be placed among the levels of {self.name} "
                f"({listed}); pass a mapping {{utilization: traces}}"
            )
        nearest = min(self.levels, key=lambda level: abs(level - utilization))
        if abs(nearest - utilization) > LEVEL_TOLERANCE:
            raise InputError(
                f"a trace at utilization {utilization:g} fits no level of {self.name}: {listed}, each "
                f"± {LEVEL_TOLERANCE:g}"
            )
        return nearest

    def statistic(self, name: str, level: float) -> float:
        """A statistic at a level, NaN when the reference gives none."""
        if name not in self.statistics:
            return math.nan
        return float(self.statistics[name].values[self.levels.index(level) if level == level else 0])

    def series_at(self, level: float) -> xr.DataArray | None:
        """Power against time at a level, if the reference has it."""
        return next((s for u, s in self.series.items() if u == level or (u != u and level != level)), None)


def load_reference(
    source: str | Path,
    *,
    utilization: float | None = None,
    column: str | None = None,
    allow_missing: bool = False,
) -> Reference:
    """Load a shipped reference by name, or a user's series of power from a file.

    Parameters
    ----------
    source : str or Path
        "nlr-colocation-10mw", or a .csv, .nc or .parquet file with a time and a power column; see `power_files`.
    utilization : float, optional
        Mean share of busy nodes of a user's series; without it every trace is compared with the series.
    column : str, optional
        Name of the power column or variable of a user's file.
    allow_missing : bool
        Accept NaN and left-out steps in a user's file.

    Raises
    ------
    InputError
        Unknown name, absent file, or a file that breaks the rules, with row and mend.
    """
    if str(source) == NLR:
        if utilization is not None or column is not None:
            raise InputError(f"{NLR} has its own levels and columns; leave utilization and column out")
        return _load_nlr()
    path = Path(source)
    if not path.is_file():
        raise InputError(
            f"no reference '{source}': give the path of a .csv, .nc or .parquet file, or the name {NLR}"
        )
    power = read_power(path, column=column, allow_missing=allow_missing)
    return reference_from_series(power, name=path.stem, source=str(path), utilization=utilization)


def reference_from_series(
    power: xr.DataArray, *, name: str, source: str = "", utilization: float | None = None
) -> Reference:
    """Make a reference of a series of power [MW]; its statistics are those of the series, at its step.

    `utilization` is the mean share of busy nodes; without it, every trace is compared with the series.

    Raises
    ------
    InputError
        An irregular series, or a utilisation that is no share.
    """
    level = math.nan if utilization is None else float(utilization)
    if not (math.isnan(level) or 0.0 < level < 1.0):
        raise InputError(
            f"utilization = {level:g} must lie between 0 and 1: it is the mean share of busy nodes"
        )
    series = as_series(power, f"reference {name}")
    found = power_statistics(series.values)
    if not math.isnan(level):
        found["occupancy"] = level
    values = {key: ("utilization", [value]) for key, value in found.items()}
    return Reference(
        name=name,
        title=name,
        source=source,
        statistics=xr.Dataset(values, coords={"utilization": [level]}),
        statistics_step_s=series.step_s,
        start=series.start,
        days=round(series.values.shape[-1] * series.step_s / 86400.0),
        series={level: power},
    )


def _load_nlr() -> Reference:
    folder = files("hsmdc.validation") / "data"
    with (folder / "nlr_colocation_10mw_table.csv").open(encoding="utf-8") as table:
        statistics = _statistics(pd.read_csv(table))
    with (folder / "nlr_colocation_10mw_hourly_60.csv").open(encoding="utf-8") as hourly:
        power = _hourly(pd.read_csv(hourly), "2018-01-01")
    with (folder / "nlr_colocation_10mw_week_20.csv").open(encoding="utf-8") as week:
        percentiles = _week_percentiles(pd.read_csv(week))
    return Reference(
        name=NLR,
        title="NLR colocation facility, 2840 nodes, 10 MW, 2018",
        source="NLR Dataset of Generative AI Workload Power Profiles, DOI 10.7799/3025227, CC BY 4.0",
        statistics=statistics,
        statistics_step_s=60.0,
        start=np.datetime64("2018-01-01", "ns"),
        days=365,
        series={0.6: power},
        week_percentiles=percentiles,
        caution="This reference is itself a simulation, driven by measured node power: agreement shows that the load "
        "follows a model grounded in measurement, not a metered site.",
    )


def _statistics(table: pd.DataFrame) -> xr.Dataset:
    values = {
        name: ("utilization", table[column].to_numpy(np.float64)) for column, name in _TABLE_COLUMNS.items()
    }
    statistics = xr.Dataset(values, coords={"utilization": table["avg_util"].to_numpy(np.float64)})
    return statistics.assign(load_factor=1.0 / statistics["peak_to_average"])


def _hourly(table: pd.DataFrame, start: str) -> xr.DataArray:
    hours = table["hour"].to_numpy(np.int64).astype("timedelta64[h]").astype("timedelta64[ns]")
    times = np.datetime64(start, "ns") + hours
    values = table["it_power_mw"].to_numpy(np.float64)
    return xr.DataArray(values, coords={"time": times}, dims="time", name="it_power", attrs={"units": "MW"})


def _week_percentiles(table: pd.DataFrame) -> xr.Dataset:
    columns = [name for name in table.columns if name.startswith("p")]
    power = xr.DataArray(
        table[columns].to_numpy(np.float64).T,
        coords={
            "percentile": [float(name.removeprefix("p")) for name in columns],
            "minute_of_week": table["minute_of_week"].to_numpy(np.int64),
        },
        dims=("percentile", "minute_of_week"),
        attrs={"units": "MW"},
    )
    return power.to_dataset(name="power").assign_attrs(utilization=float(table["utilization"].iloc[0]))

"""Hourly profiles from CSV or netCDF: columns with units, whole days by the local clock, gaps named.

A local day has 23 hours when the clocks go forward and 25 when they go back; the labels are read in the
stated time zone, so such a day has 23 or 25 hours here too and no hour is invented or dropped.
"""

from datetime import date, timedelta
from importlib import resources
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
from pydantic import model_validator

from hsmdc.config import validate_tree
from hsmdc.config.base import PositiveInt, Section
from hsmdc.dispatch.case import Profiles
from hsmdc.errors import InputError

POWER_UNITS = {"kW": 1.0, "MW": 1e3}
PRICE_UNITS = {"USD/MWh": 1.0, "USD/kWh": 1e3}
CAPACITY_FACTOR = "capacity factor"
_LEAST = {"pv": 0.0, "wind": 0.0, "base_it": 0.0, "pue": 1.0}
_OFFSET = r"(?:Z|[+-]\d\d:?\d\d)$"


class Column(Section):
    """A column of the file and its unit."""

    name: str
    unit: str


class ProfileFile(Section):
    """The `[profiles]` table that names a file instead of holding the values."""

    file: str
    day: date
    days: PositiveInt = 1
    time: str = "time"
    timezone: str | None = None
    pv: Column | None = None
    wind: Column | None = None
    price: Column
    base_it: Column | None = None
    pue: Column | None = None

    @model_validator(mode="after")
    def _units_known(self) -> Self:
        power = (*POWER_UNITS, CAPACITY_FACTOR)
        allowed = {"pv": power, "wind": power, "price": tuple(PRICE_UNITS), "base_it": tuple(POWER_UNITS)}
        for key, units in (allowed | {"pue": ("1",)}).items():
            column = getattr(self, key)
            if column is not None and column.unit not in units:
                raise ValueError(f"{key}.unit is {column.unit!r}; known units: {', '.join(units)}")
        return self

    def resolved(self, folder: Path) -> "ProfileFile":
        """The same with the file's full path: beside the case, else among the shipped cases.

        Raises
        ------
        InputError
            The file is in neither place.
        """
        shipped = Path(str(resources.files("hsmdc.dispatch") / "cases" / self.file))
        for path in (folder / self.file, shipped):
            if path.is_file():
                return self.model_copy(update={"file": str(path)})
        raise InputError(f"profile file {self.file} is neither in {folder} nor among the shipped ones")


def read_profiles(
    source: ProfileFile, *, pv_kw: float, wind_kw: float, slot_h: float
) -> tuple[Profiles, tuple[int, ...]]:
    """Read whole local days and bring them to slots and kW.

    Parameters
    ----------
    source
        File, columns, units, first day, number of days.
    pv_kw, wind_kw
        Capacities of the site [kW], for columns given as capacity factor.
    slot_h
        Length of a slot [h]. Finer data is averaged, coarser data is held.

    Returns
    -------
    profiles
        One value per slot; `start` is the local time of the first slot.
    day_slots
        Slots of each day.

    Raises
    ------
    InputError
        If a column, an hour or a value is missing; the message names it.
    """
    frame = _read_frame(source)
    edges = _day_edges(source)
    days = [_one_day(frame, source, first, last, slot_h) for first, last in pairwise(edges)]
    whole = pd.concat(days)
    values = {
        "pv_kw": _power(whole, source.pv, "pv", pv_kw),
        "wind_kw": _power(whole, source.wind, "wind", wind_kw),
        "price_usd_per_mwh": tuple(whole["price"] * PRICE_UNITS[source.price.unit]),
        "base_it_kw": _power(whole, source.base_it, "base_it", 0.0) if source.base_it else (),
        "pue": tuple(whole["pue"]) if source.pue else (),
        "start": edges[0].isoformat(),
        "source": f"{Path(source.file).name}, {source.day}",
    }
    return validate_tree(values, Profiles, source.file), tuple(len(day) for day in days)


def _power(whole: pd.DataFrame, column: Column | None, key: str, capacity_kw: float) -> tuple[float, ...]:
    if column is None:
        return (0.0,) * len(whole)
    scale = capacity_kw if column.unit == CAPACITY_FACTOR else POWER_UNITS[column.unit]
    return tuple(float(value) for value in whole[key] * scale)


def _columns(source: ProfileFile) -> dict[str, Column]:
    keys = ("pv", "wind", "price", "base_it", "pue")
    return {key: column for key in keys if (column := getattr(source, key)) is not None}


def _read_frame(source: ProfileFile) -> pd.DataFrame:
    raw = _read_netcdf(source) if source.file.endswith(".nc") else _read_csv(source)
    wanted = {source.time: "time"} | {column.name: key for key, column in _columns(source).items()}
    absent = [name for name in wanted if name not in raw.columns]
    if absent:
        only = str(raw.columns[0]) if len(raw.columns) == 1 else ""
        hint = "; separate the columns by commas" if ";" in only or "\t" in only else ""
        raise InputError(
            f"{source.file}: no column {absent[0]!r}; it has: {', '.join(map(str, raw.columns))}{hint}"
        )
    frame = pd.DataFrame({key: raw[name].to_numpy() for name, key in wanted.items() if key != "time"})
    for key, column in _columns(source).items():
        frame[key] = _numbers(frame[key], column, raw[source.time], source)
    frame.index = _clock(raw[source.time], source)
    return _without_doubles(frame, source)


def _numbers(
    values: "pd.Series[Any]", column: Column, labels: "pd.Series[Any]", source: ProfileFile
) -> "pd.Series[Any]":
    numbers = pd.to_numeric(values, errors="coerce")
    text = (numbers.isna() & values.notna()).to_numpy()
    if text.any():
        row = int(text.argmax())
        raise InputError(
            f"{source.file}: column {column.name!r} holds {values.iloc[row]!r} at {labels.iloc[row]}, which is no "
            "number; a decimal point is '.'"
        )
    return numbers


def _read_csv(source: ProfileFile) -> pd.DataFrame:
    try:
        return pd.read_csv(source.file, skipinitialspace=True).rename(columns=str.strip)
    except (ValueError, pd.errors.ParserError) as error:
        raise InputError(f"{source.file} cannot be read as CSV: {error}") from None


def _read_netcdf(source: ProfileFile) -> pd.DataFrame:
    import xarray as xr

    with xr.open_dataset(source.file, engine="netcdf4") as dataset:
        for column in _columns(source).values():
            unit = dataset[column.name].attrs.get("units") if column.name in dataset else None
            if unit is not None and unit != column.unit and column.unit != CAPACITY_FACTOR:
                raise InputError(
                    f"{source.file}: variable {column.name!r} is in {unit}, but the case says {column.unit}"
                )
        return dataset.to_dataframe().reset_index()


def _clock(labels: "pd.Series[Any]", source: ProfileFile) -> pd.DatetimeIndex:
    index = _instants(labels, source)
    try:
        if source.timezone is None:
            return index.tz_localize(None) if index.tz is not None else index
        if index.tz is not None:
            return index.tz_convert(source.timezone)
        return index.tz_localize(source.timezone, ambiguous="infer")
    except (ValueError, KeyError, TypeError) as error:
        zone = f" in time zone {source.timezone}" if source.timezone else ""
        raise InputError(
            f"{source.file}: column {source.time!r} cannot be read as time{zone}: {error}"
        ) from None


def _instants(labels: "pd.Series[Any]", source: ProfileFile) -> pd.DatetimeIndex:
    """Time labels as they are written, in ISO only: 05/04 is a day in April here and in May there."""
    if pd.api.types.is_datetime64_any_dtype(labels):
        return pd.DatetimeIndex(labels)
    texts = labels.astype("string").str.strip()
    if texts.isna().any():
        row = int(texts.isna().to_numpy().argmax())
        raise InputError(f"{source.file}: column {source.time!r} has no time in data row {row + 1}")
    # Where the clocks change, labels differ in their offsets.
    one_zone = source.timezone is not None and bool(texts.str.contains(_OFFSET).all())
    try:
        if pd.api.types.is_numeric_dtype(labels):
            raise ValueError
        return pd.DatetimeIndex(pd.to_datetime(texts, format="ISO8601", utc=one_zone))
    except ValueError as error:
        mixed = (
            "; the labels differ in their UTC offsets: set profiles.timezone"
            if "Mixed timezones" in str(error)
            else ""
        )
        raise InputError(
            f"{source.file}: column {source.time!r} cannot be read as time, it begins with {texts.iloc[0]!r}; "
            f"write times as 2022-04-14T07:00, or with their offset as 2022-04-14T07:00-07:00{mixed}"
        ) from None


def _without_doubles(frame: pd.DataFrame, source: ProfileFile) -> pd.DataFrame:
    double = frame.index[frame.index.duplicated()]
    if len(double):
        raise InputError(
            f"{source.file}: time {double[0]} stands twice; where clocks go back, set profiles.timezone"
        )
    return frame.sort_index()


def _day_edges(source: ProfileFile) -> list[pd.Timestamp]:
    return [
        pd.Timestamp(source.day + timedelta(days=offset), tz=source.timezone)
        for offset in range(source.days + 1)
    ]


def _one_day(
    frame: pd.DataFrame, source: ProfileFile, first: pd.Timestamp, last: pd.Timestamp, slot_h: float
) -> pd.DataFrame:
    rows = frame[(frame.index >= first) & (frame.index < last)]
    if rows.empty:
        raise InputError(
            f"{source.file}: no row on {first.date()}; the file runs from {frame.index[0]} to {frame.index[-1]}"
        )
    step = _step(frame, source)
    expected = pd.date_range(first, last, freq=step, inclusive="left")
    _require_hours(rows, expected, source)
    slots = pd.date_range(first, last, freq=pd.Timedelta(hours=slot_h), inclusive="left")
    slot = pd.Timedelta(hours=slot_h)
    if step > slot:
        if step % slot:
            raise InputError(f"{source.file}: steps of {step} cannot be cut into slots of {slot_h} h")
        return rows.reindex(slots, method="ffill")
    if slot % step:
        raise InputError(f"{source.file}: slots of {slot_h} h are not whole steps of {step}")
    means = rows.to_numpy().reshape(len(slots), -1, rows.shape[1]).mean(axis=1)
    return pd.DataFrame(means, index=slots, columns=rows.columns)


def _step(frame: pd.DataFrame, source: ProfileFile) -> pd.Timedelta:
    if len(frame) < 2:
        raise InputError(f"{source.file}: one row only; a day needs one row per step")
    return pd.Timedelta(np.median(np.diff(_times(frame).tz_localize(None))))


def _require_hours(rows: pd.DataFrame, expected: pd.DatetimeIndex, source: ProfileFile) -> None:
    missing = expected.difference(_times(rows))
    if len(missing):
        hint = "" if source.timezone else "; if the clocks go forward that day, set profiles.timezone"
        raise InputError(f"{source.file}: no row for {_names(missing)}{hint}")
    if len(rows) != len(expected):
        raise InputError(f"{source.file}: {_names(_times(rows).difference(expected))} lies between the steps")
    for key, column in _columns(source).items():
        empty = _times(rows)[~np.isfinite(rows[key].to_numpy())]
        if len(empty):
            raise InputError(f"{source.file}: column {column.name!r} has no value at {_names(empty)}")
        low = _times(rows)[rows[key].to_numpy() < _LEAST.get(key, -np.inf)]
        if len(low):
            raise InputError(
                f"{source.file}: column {column.name!r} is below {_LEAST[key]:g} at {_names(low)}; a plant's own use "
                "is no generation: raise such values"
            )


def _times(frame: pd.DataFrame) -> pd.DatetimeIndex:
    return pd.DatetimeIndex(frame.index)


def _names(times: pd.DatetimeIndex) -> str:
    words = [time.strftime("%Y-%m-%d %H:%M") for time in times[:4]]
    return ", ".join(words) + (f" and {len(times) - 4} more" if len(times) > 4 else "")

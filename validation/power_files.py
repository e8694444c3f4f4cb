"""Read a user's series of power from CSV, Parquet or netCDF, with one clear error for every defect.

Times are UTC; a label with an offset is converted. The unit comes from the netCDF attribute `units` or from
the end of the column name (`load_kw`, `Load [kW]`, `power (W)`); without either it is MW.
"""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

from hsmdc.errors import InputError

_TIME_NAMES = ("time", "timestamp", "datetime")
_TO_MW = {"gw": 1e3, "mw": 1.0, "kw": 1e-3, "w": 1e-6}
_UNIT_AT_END = re.compile(r"(?:^|[^a-z0-9])([gmk]?wh?)[\])]?\s*$", re.IGNORECASE)


def read_power(path: Path, *, column: str | None = None, allow_missing: bool = False) -> xr.DataArray:
    """Read power against time.

    Parameters
    ----------
    path : Path
        .csv or .parquet with a column `time`, `timestamp` or `datetime` (or an index of dates); .nc with a
        coordinate `time`. A .csv that separates columns by semicolons may write decimals with a comma.
    column : str, optional
        The power column; needed when there is more than one numeric column and none is called `it_power`.
    allow_missing : bool
        Accept NaN and left-out steps.

    Returns
    -------
    DataArray, dim `time` (datetime64[ns], UTC)
        Power [MW].

    Raises
    ------
    InputError
        Unknown kind of file, no time or power column, a time that cannot be read, repeats or goes back, a value
        that is no number, negative, missing, or a gap.
    """
    frame, unit = _read_frame(path, column)
    times = _times(frame["time"], path)
    values = pd.to_numeric(frame["power"], errors="coerce").to_numpy(np.float64)
    _check_order(times, path)
    _check_values(frame["power"], values, times, path, allow_missing=allow_missing)
    if not allow_missing:
        _check_gaps(times, path)
    power = values * _scale(unit, path)
    return xr.DataArray(power, coords={"time": times}, dims="time", name="it_power", attrs={"units": "MW"})


def _read_frame(path: Path, column: str | None) -> tuple[pd.DataFrame, str]:
    suffix = path.suffix.lower()
    if suffix in (".nc", ".nc4"):
        return _read_netcdf(path, column)
    if suffix == ".csv":
        table = _read_csv(path)
    elif suffix == ".parquet":
        table = _read_parquet(path)
    else:
        raise InputError(f"{path}: unknown kind of file '{suffix}'; use .csv, .parquet or .nc")
    time = next((name for name in table.columns if str(name).strip().lower() in _TIME_NAMES), None)
    if time is None:
        raise InputError(
            f"{path}: no column named {', '.join(_TIME_NAMES)}; found {', '.join(map(str, table.columns))}; "
            "rename the one that holds the times"
        )
    others = [str(name) for name in table.columns if name != time]
    chosen = _choose(others, column, path)
    return pd.DataFrame({"time": table[time], "power": table[chosen]}), _unit_in_name(chosen)


def _read_csv(path: Path) -> pd.DataFrame:
    try:
        with path.open(encoding="utf-8-sig") as lines:
            header = lines.readline()
        if ";" in header:
            return pd.read_csv(path, sep=";", decimal=",", encoding="utf-8-sig")
        return pd.read_csv(path, sep="\t" if "\t" in header else ",", encoding="utf-8-sig")
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not a readable CSV table: {error}") from error


def _read_parquet(path: Path) -> pd.DataFrame:
    try:
        table = pd.read_parquet(path)
    except ImportError as error:
        raise InputError(f"{path}: reading Parquet needs pyarrow; install hsmdc[parquet]") from error
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: not a readable Parquet file: {error}") from error
    if isinstance(table.index, pd.RangeIndex):
        return table
    return table.rename_axis("time").reset_index() if table.index.dtype.kind == "M" else table.reset_index()


def _read_netcdf(path: Path, column: str | None) -> tuple[pd.DataFrame, str]:
    try:
        dataset = xr.open_dataset(path, engine="netcdf4", decode_timedelta=False)
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: not a readable netCDF file: {error}") from error
    with dataset:
        if "time" not in dataset.coords:
            raise InputError(
                f"{path}: no coordinate 'time'; found {', '.join(map(str, dataset.coords)) or 'none'}"
            )
        names = [
            str(n) for n, v in dataset.data_vars.items() if v.dims == ("time",) and v.dtype.kind in "fiu"
        ]
        chosen = _choose(names, column, path)
        unit = str(dataset[chosen].attrs.get("units", _unit_in_name(chosen)))
        return pd.DataFrame({"time": dataset["time"].values, "power": dataset[chosen].values}), unit


def _choose(names: list[str], column: str | None, path: Path) -> str:
    if column is not None:
        if column not in names:
            raise InputError(f"{path}: no column '{column}'; found {', '.join(names)}")
        return column
    preferred = [name for name in names if re.fullmatch(r"it_power(_[gmk]?w)?", name.lower())]
    if preferred:
        return preferred[0]
    if len(names) == 1:
        return names[0]
    found = ", ".join(names) or "none"
    raise InputError(f"{path}: which column is the power? found {found}; name it with --column (column=)")


def _unit_in_name(column: str) -> str:
    ending = _UNIT_AT_END.search(column)
    return ending.group(1) if ending else "mw"


def _scale(unit: str, path: Path) -> float:
    try:
        return _TO_MW[unit.strip().lower()]
    except KeyError:
        raise InputError(
            f"{path}: power in '{unit}' is not known; the unit (netCDF attribute units, or the end of the column's "
            "name) must be GW, MW, kW or W"
        ) from None


def _line(row: int, path: Path) -> str:
    """Line of a CSV as an editor counts it (the header is line 1), else the number of the sample."""
    return f"{path}, line {row + 2}" if path.suffix.lower() == ".csv" else f"{path}, sample {row}"


def _times(column: pd.Series, path: Path) -> np.ndarray:
    if len(column) < 2:
        raise InputError(f"{path}: {len(column)} samples; a reference needs at least two")
    if column.dtype.kind in "iuf":
        raise InputError(
            f"{path}: times are plain numbers, which may mean anything; write dates like 2018-01-31T13:00"
        )
    stamps = pd.to_datetime(
        column, errors="coerce", utc=True, format=None if column.dtype.kind == "M" else "ISO8601"
    )
    bad = stamps.isna().to_numpy()
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(
            f"{_line(row, path)}: time '{column.iloc[row]}' cannot be read; write it like 2018-01-31T13:00"
        )
    return stamps.dt.tz_localize(None).to_numpy().astype("datetime64[ns]")


def _check_order(times: np.ndarray, path: Path) -> None:
    gaps = np.diff(times.astype(np.int64))
    if (gaps > 0).all():
        return
    row = int(np.argmax(gaps <= 0)) + 1
    if gaps[row - 1] == 0:
        raise InputError(
            f"{_line(row, path)}: time {_show(times[row])} is repeated; keep one row per time, and give times in UTC "
            "(a clock change repeats an hour of local time)"
        )
    raise InputError(f"{_line(row, path)}: time goes back to {_show(times[row])}; sort the rows by time")


def _check_values(
    given: pd.Series, values: np.ndarray, times: np.ndarray, path: Path, *, allow_missing: bool
) -> None:
    missing = np.isnan(values)
    text = missing & given.notna().to_numpy()
    for bad, what in (
        (text, "is not a number with a decimal point"),
        (np.isinf(values), "is infinite"),
        (values < 0, "is negative"),
    ):
        if bad.any():
            row = int(np.argmax(bad))
            raise InputError(f"{_line(row, path)}: power '{given.iloc[row]}' {what}; load is a number ≥ 0")
    if missing.any() and not allow_missing:
        row = int(np.argmax(missing))
        raise InputError(
            f"{_line(row, path)}: power at {_show(times[row])} is missing (NaN), {int(missing.sum())} in all; "
            "fill it, or leave such steps out of the comparison with --allow-missing (allow_missing=True)"
        )


def _check_gaps(times: np.ndarray, path: Path) -> None:
    gaps = np.diff(times.astype(np.int64))
    step = int(gaps.min())
    if (gaps == step).all():
        return
    row = int(np.argmax(gaps != step)) + 1
    raise InputError(
        f"{_line(row, path)}: gap from {_show(times[row - 1])} to {_show(times[row])} where the step is "
        f"{step / 1e9:g} s; fill it, or leave such steps out of the comparison with --allow-missing "
        "(allow_missing=True)"
    )


def _show(time: np.datetime64) -> str:
    return str(time.astype("datetime64[s]"))

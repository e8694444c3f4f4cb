"""Ambient temperature: the annual cosine, or an hourly file (EPW, TMY3, CSV).

Files give a typical year in local standard time. A row is the temperature at an instant: the hour of its label,
which is 1…24 in EPW and TMY3 and 0…23 or 1…24 in a CSV. Between rows the temperature runs straight, and from the
last row of a year to the first of the next.

29 February: a file of 8760 rows repeats 28 February in a leap year; a file of 8784 rows leaves it out of others.
"""

import csv
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hsmdc.config.sections import Weather
from hsmdc.errors import InputError

_log = logging.getLogger(__name__)

Floats = NDArray[np.float64]

HOUR_NS = 3600 * 10**9
_DAY_H = 24
_LEAP_DAY_H = 59 * _DAY_H  # 29 February begins 59 days into the year
_COMMON_H, _LEAP_H = 8760, 8784
_PLAUSIBLE_DEGC = (-90.0, 60.0)
_CSV_COLUMNS = (
    "drybulb_c", "dry_bulb_c", "drybulb_degc", "dry_bulb_degc", "temperature_c", "temperature_degc",
    "ambient_degc", "ambient_temperature", "temp_air",
)  # fmt: skip
_EPW_HEADER_LINES, _EPW_DRY_BULB = 8, 6
_TMY3_DRY_BULB = "dry-bulb (c)"


def ambient_degc(
    weather: Weather, start: np.datetime64, step_s: float, n: int, *, utc_offset_h: float = 0.0
) -> Floats:
    """Ambient temperature at the labels start, start + step_s, … [°C].

    Parameters
    ----------
    start : datetime64 [UTC]
    step_s : float
        [s]
    n : int
        Number of labels.
    utc_offset_h : float
        Local standard time of the site minus UTC [h].

    Raises
    ------
    InputError
        A weather file that cannot be read, has a wrong number of rows, a gap or a missing value.
    """
    ambient = np.empty(n)
    table = _read(Path(weather.path)) if weather.path is not None else None
    for steps, hours, year_h in _years(start, step_s, n, utc_offset_h):
        if table is None:
            ambient[steps] = _cosine(weather, hours)
        else:
            ambient[steps] = _interpolated(table.fitted_to(year_h), table.first_hour, hours)
    return ambient


def weather_note(weather: Weather, start: np.datetime64, step_s: float, n: int) -> str:
    """What the ambient temperature of a run is, in a sentence for its attributes.

    Raises
    ------
    InputError
        As `ambient_degc`.
    """
    if weather.path is None:
        return (
            f"annual cosine, mean {weather.mean_degc:g} degC, amplitude {weather.amplitude_degc:g} degC, "
            f"warmest at hour {weather.peak_hour:g} of the year"
        )
    rows = len(_read(Path(weather.path)).degc)
    note = f"{Path(weather.path).name}, {rows} hourly values, interpolated linearly"
    lengths = {year_h for _, _, year_h in _years(start, step_s, n, 0.0)}
    if rows == _COMMON_H and _LEAP_H in lengths:
        note += "; 29 February repeats 28 February"
    if rows == _LEAP_H and _COMMON_H in lengths:
        note += "; 29 February left out of common years"
    return note


def _years(
    start: np.datetime64, step_s: float, n: int, utc_offset_h: float
) -> Iterator[tuple[slice, Floats, int]]:
    """The stretches of one calendar year each: their steps, hours of the year, and hours in that year."""
    step_ns = round(step_s * 1e9)
    first_ns = int(start.astype("datetime64[ns]").astype(np.int64)) + round(utc_offset_h * HOUR_NS)
    done = 0
    while done < n:
        now_ns = first_ns + done * step_ns
        year = np.datetime64(now_ns, "ns").astype("datetime64[Y]")
        begin_ns, end_ns = (int(y.astype("datetime64[ns]").astype(np.int64)) for y in (year, year + 1))
        count = min(n - done, -((now_ns - end_ns) // step_ns))
        hours = np.arange(count, dtype=np.float64)
        hours *= step_ns / HOUR_NS
        hours += (now_ns - begin_ns) / HOUR_NS
        yield slice(done, done + count), hours, (end_ns - begin_ns) // HOUR_NS
        done += count


def _cosine(weather: Weather, hours: Floats) -> Floats:
    """Paper eq. 9 over the hour of the year; after a leap year it steps back by a day's change (0.04 °C)."""
    hours -= weather.peak_hour
    hours *= 2.0 * np.pi / _COMMON_H
    np.cos(hours, out=hours)
    hours *= weather.amplitude_degc
    hours += weather.mean_degc
    return hours


def _interpolated(degc: Floats, first_hour: float, hours: Floats) -> Floats:
    """Straight lines between hourly values, periodic over the year."""
    knots = first_hour + np.arange(-1, len(degc) + 1)
    ambient: Floats = np.interp(hours, knots, np.concatenate([degc[-1:], degc, degc[:1]]))
    return ambient


# --- files -----------------------------------------------------------------------------------------------


class _Table(NamedTuple):
    degc: Floats
    first_hour: float
    """Hour of the year of the first row."""

    def fitted_to(self, year_h: int) -> Floats:
        """The table for a year of that many hours."""
        if len(self.degc) == year_h:
            return self.degc
        before = self.degc[:_LEAP_DAY_H]
        if year_h == _LEAP_H:
            return np.concatenate([before, before[-_DAY_H:], self.degc[_LEAP_DAY_H:]])
        return np.concatenate([before, self.degc[_LEAP_DAY_H + _DAY_H :]])


class _Row(NamedTuple):
    line: int
    month: int
    day: int
    hour: int
    degc: float


def _read(path: Path) -> _Table:
    lines = _lines(path)
    if lines[0].upper().startswith("LOCATION,"):
        rows = _epw_rows(path, lines)
    elif len(lines) > 1 and _TMY3_DRY_BULB in lines[1].lower():
        rows = _tmy3_rows(path, lines)
    else:
        rows = _csv_rows(path, lines)
    if len(rows) not in (_COMMON_H, _LEAP_H):
        raise InputError(
            f"{path}: {len(rows)} rows; an hourly year has {_COMMON_H}, or {_LEAP_H} with 29 February"
        )
    for row in rows:
        if not _PLAUSIBLE_DEGC[0] <= row.degc <= _PLAUSIBLE_DEGC[1]:
            raise InputError(
                f"{path}, line {row.line}: temperature {row.degc:g} °C is missing or out of range; fill it in"
            )
    first_hour = _check_calendar(path, rows)
    return _Table(np.array([row.degc for row in rows]), float(first_hour))


def _lines(path: Path) -> list[str]:
    try:
        text = path.read_text("utf-8-sig", errors="replace")
    except OSError as error:
        raise InputError(f"cannot read weather file {path}: {error.strerror or error}") from None
    lines = text.splitlines()
    if not lines:
        raise InputError(f"weather file {path} is empty")
    return lines


def _check_calendar(path: Path, rows: list[_Row]) -> int:
    """Every hour once and in order; the first row's hour is returned."""
    first_hour = rows[0].hour
    if first_hour not in (0, 1):
        raise InputError(f"{path}, line {rows[0].line}: the year must begin at hour 0 or 1, not {first_hour}")
    for row, (month, day, hour) in zip(rows, _calendar(len(rows)), strict=True):
        if (row.month, row.day, row.hour) != (month, day, hour + first_hour):
            raise InputError(
                f"{path}, line {row.line}: month {row.month} day {row.day} hour {row.hour} where month {month} "
                f"day {day} hour {hour + first_hour} is due; a gap, a repeat or a wrong order"
            )
    return first_hour


def _calendar(year_h: int) -> list[tuple[int, int, int]]:
    """Month, day and hour of every hour of a year of that length."""
    begin = np.datetime64("2020-01-01" if year_h == _LEAP_H else "2019-01-01", "D")
    days = begin + np.arange(year_h // _DAY_H)
    months = days.astype("datetime64[M]")
    month = months.astype(np.int64) % 12 + 1
    day = (days - months).astype(np.int64) + 1
    return [(m, d, hour) for m, d in zip(month.tolist(), day.tolist(), strict=True) for hour in range(_DAY_H)]


def _number(path: Path, line: int, text: str) -> float:
    try:
        return float(text) if text.strip() else np.nan
    except ValueError:
        raise InputError(f"{path}, line {line}: {text!r} is not a number") from None


def _row(path: Path, line: int, month: str, day: str, hour: str, degc: str) -> _Row:
    month_, day_, hour_ = (_number(path, line, text) for text in (month, day, hour))
    if np.isnan([month_, day_, hour_]).any():
        raise InputError(f"{path}, line {line}: month, day or hour is missing")
    return _Row(line, int(month_), int(day_), int(hour_), _number(path, line, degc))


def _epw_rows(path: Path, lines: list[str]) -> list[_Row]:
    rows = []
    for number, line in enumerate(lines[_EPW_HEADER_LINES:], start=_EPW_HEADER_LINES + 1):
        fields = line.split(",")
        if not line.strip():
            continue
        if len(fields) <= _EPW_DRY_BULB:
            raise InputError(
                f"{path}, line {number}: {len(fields)} fields; an EPW row has 35. Is it cut short?"
            )
        rows.append(_row(path, number, fields[1], fields[2], fields[3], fields[_EPW_DRY_BULB]))
    return rows


def _tmy3_rows(path: Path, lines: list[str]) -> list[_Row]:
    header = [name.strip().lower() for name in lines[1].split(",")]
    column = header.index(_TMY3_DRY_BULB)
    rows = []
    for number, line in enumerate(lines[2:], start=3):
        fields = line.split(",")
        if not line.strip():
            continue
        if len(fields) <= column:
            raise InputError(f"{path}, line {number}: {len(fields)} fields, {len(header)} expected")
        month, day, *_ = [*fields[0].split("/"), "", ""]
        rows.append(_row(path, number, month, day, fields[1].split(":")[0], fields[column]))
    return rows


def _csv_rows(path: Path, lines: list[str]) -> list[_Row]:
    reader = csv.reader(lines)
    header = [name.strip().lower() for name in next(reader)]
    column = next((header.index(name) for name in _CSV_COLUMNS if name in header), None)
    if column is None:
        raise InputError(
            f"{path}: no temperature column; name it {_CSV_COLUMNS[0]} (known: {', '.join(_CSV_COLUMNS)}). "
            "EPW files begin with LOCATION, TMY3 files name their columns in the second line"
        )
    date = [header.index(name) for name in ("month", "day", "hour") if name in header]
    undated = _calendar(_LEAP_H if len(lines) - 1 == _LEAP_H else _COMMON_H)
    rows: list[_Row] = []
    for fields in reader:
        number = reader.line_num
        if not fields:
            continue
        if len(fields) != len(header):
            raise InputError(f"{path}, line {number}: {len(fields)} fields, {len(header)} expected")
        when = [fields[i] for i in date] if len(date) == 3 else map(str, undated[len(rows) % len(undated)])
        month, day, hour = when
        rows.append(_row(path, number, month, day, hour, fields[column]))
    return rows

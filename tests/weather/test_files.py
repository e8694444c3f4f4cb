"""Hourly files: EPW, TMY3 and CSV, 29 February, and what is refused."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from hsmdc.config.sections import Weather
from hsmdc.errors import InputError
from hsmdc.weather import ambient_degc, weather_note

Write = Callable[[str, list[str]], Path]
START = np.datetime64("2018-01-01")
EPW_HEADER = ["LOCATION,Somewhere,CA,USA,TMY3,724945,37.4,-121.9,-8.0,15.0"] + [
    f"{name},0" for name in ("DESIGN CONDITIONS", "TYPICAL/EXTREME PERIODS", "GROUND TEMPERATURES",
                             "HOLIDAYS/DAYLIGHT SAVINGS", "COMMENTS 1", "COMMENTS 2")
] + ["DATA PERIODS,1,1,Data,Sunday, 1/ 1,12/31"]  # fmt: skip
TMY3_HEADER = [
    '724945,"SOMEWHERE",CA,-8.0,37.367,-121.933,16',
    "Date (MM/DD/YYYY),Time (HH:MM),ETR (W/m^2),Dry-bulb (C),Dry-bulb source",
]


def degc(hour: int) -> float:
    """A temperature that tells its hour of the common year."""
    return round(-20.0 + hour * 0.005, 3)


def calendar(rows: int) -> list[tuple[int, int, int, int]]:
    """Month, day, hour of day, hour of the common year (29 February: of 28 February, plus half a degree)."""
    year = "2028" if rows == 8784 else "2018"
    hours = np.datetime64(f"{year}-01-01T00", "h") + np.arange(rows)
    return [(int(str(h)[5:7]), int(str(h)[8:10]), int(str(h)[11:13]), i) for i, h in enumerate(hours)]


def csv_year(rows: int = 8760, hour0: int = 0) -> list[str]:
    body = [f"{m},{d},{h + hour0},{degc(i)},50" for m, d, h, i in calendar(rows)]
    return ["month,day,hour,drybulb_C,RH_pct", *body]


def epw_year(rows: int = 8760) -> list[str]:
    tail = ",5.0,80,101000" + ",0" * 25
    return EPW_HEADER + [f"1999,{m},{d},{h + 1},60,?9?9,{degc(i)}{tail}" for m, d, h, i in calendar(rows)]


def tmy3_year() -> list[str]:
    return TMY3_HEADER + [f"{m:02}/{d:02}/1998,{h + 1:02}:00,0,{degc(i)},A" for m, d, h, i in calendar(8760)]


@pytest.fixture
def write_year(tmp_path: Path) -> Write:
    def write(name: str, lines: list[str]) -> Path:
        path = tmp_path / name
        path.write_text("\n".join(lines) + "\n")
        return path

    return write


def hourly(path: Path, start: object = START, n: int = 8760, step_s: float = 3600.0) -> np.ndarray:
    weather = Weather(source="file", path=str(path))
    return ambient_degc(weather, np.datetime64(start), step_s, n)


def test_a_csv_row_holds_at_its_hour(write_year: Write) -> None:
    path = write_year("w.csv", csv_year())
    np.testing.assert_array_equal(hourly(path), [degc(i) for i in range(8760)])
    np.testing.assert_array_equal(hourly(write_year("one.csv", csv_year(hour0=1)))[1:], hourly(path)[:-1])


@pytest.mark.parametrize("lines", [epw_year(), tmy3_year()], ids=["epw", "tmy3"])
def test_epw_and_tmy3_rows_hold_at_the_hour_of_their_label(write_year: Write, lines: list[str]) -> None:
    ambient = hourly(write_year("w.txt", lines))
    np.testing.assert_array_equal(ambient[1:], [degc(i) for i in range(8759)])
    assert ambient[0] == degc(8759)  # hour 24 of 31 December is hour 0 of 1 January


def test_a_csv_without_dates_counts_its_rows(write_year: Write) -> None:
    for rows in (8760, 8784):
        lines = ["temp_air", *(str(degc(i)) for i in range(rows))]
        year = "2028-01-01" if rows == 8784 else "2018-01-01"
        np.testing.assert_array_equal(
            hourly(write_year("w.csv", lines), year, rows), [degc(i) for i in range(rows)]
        )


def test_minutes_lie_on_straight_lines(write_year: Write) -> None:
    path = write_year("w.csv", csv_year())
    ambient = hourly(path, n=525_600, step_s=60.0)
    minute = np.arange(525_600)
    knots = np.append([degc(i) for i in range(8760)], degc(0))  # the year closes on itself
    np.testing.assert_allclose(ambient, np.interp(minute, np.arange(8761) * 60.0, knots), rtol=0, atol=1e-9)


def test_pvlib_reads_the_same_temperatures(write_year: Write) -> None:
    iotools = pytest.importorskip("pvlib.iotools")
    epw, _ = iotools.read_epw(write_year("w.epw", epw_year()))
    np.testing.assert_array_equal(
        epw["temp_air"].to_numpy(), hourly(write_year("w.epw", epw_year()), n=8761)[1:]
    )
    tmy3, _ = iotools.read_tmy3(write_year("w.csv", tmy3_year()), map_variables=True)
    np.testing.assert_array_equal(
        tmy3["temp_air"].to_numpy(), hourly(write_year("w.csv", tmy3_year()), n=8761)[1:]
    )


def test_29_february_repeats_the_28th(write_year: Write) -> None:
    path = write_year("w.csv", csv_year())
    leap = hourly(path, "2028-01-01", 8784)
    common = hourly(path)
    np.testing.assert_array_equal(leap[: 59 * 24], common[: 59 * 24])
    np.testing.assert_array_equal(leap[59 * 24 : 60 * 24], common[58 * 24 : 59 * 24])
    np.testing.assert_array_equal(leap[60 * 24 :], common[59 * 24 :])
    note = weather_note(Weather(source="file", path=str(path)), np.datetime64("2028-06-01"), 60.0, 10)
    assert note == "w.csv, 8760 hourly values, interpolated linearly; 29 February repeats 28 February"


def test_29_february_is_left_out_of_common_years(write_year: Write) -> None:
    path = write_year("w.csv", csv_year(8784))
    np.testing.assert_array_equal(hourly(path, "2028-01-01", 8784), [degc(i) for i in range(8784)])
    common = hourly(path)
    np.testing.assert_array_equal(common[: 59 * 24], [degc(i) for i in range(59 * 24)])
    np.testing.assert_array_equal(common[59 * 24 :], [degc(i) for i in range(60 * 24, 8784)])
    weather = Weather(source="file", path=str(path))
    assert weather_note(weather, START, 60.0, 10).endswith("29 February left out of common years")
    assert weather_note(weather, np.datetime64("2028-01-01"), 60.0, 10).endswith("interpolated linearly")


def test_several_years_repeat_the_file(write_year: Write) -> None:
    path = write_year("w.csv", csv_year())
    ambient = hourly(path, "2027-06-01", 3 * 8784)
    hour_of_year = 184 * 24 + 12  # 4 July, noon
    for year in (2027, 2028, 2029):
        index = (np.datetime64(f"{year}-07-04T12") - np.datetime64("2027-06-01T00")).astype(int)
        assert ambient[index] == degc(hour_of_year)


def test_rows_are_in_local_time(write_year: Write) -> None:
    path = write_year("w.csv", csv_year())
    weather = Weather(source="file", path=str(path))
    shifted = ambient_degc(weather, START, 3600.0, 8760, utc_offset_h=-8.0)
    np.testing.assert_array_equal(shifted[8:], hourly(path)[:-8])


def test_the_real_file(shared_data: Path) -> None:
    path = shared_data / "weather" / "tmy_san_jose_8760.csv"
    rows = np.loadtxt(path, delimiter=",", skiprows=1, usecols=3)
    np.testing.assert_array_equal(hourly(path), rows)
    assert hourly(path, "2028-01-01", 8784).size == 8784


def _without(lines: list[str], index: int) -> list[str]:
    return lines[:index] + lines[index + 1 :]


def _with(lines: list[str], index: int, line: str) -> list[str]:
    return [*lines[:index], line, *lines[index + 1 :]]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (csv_year()[:-1], "8759 rows; an hourly year has 8760, or 8784 with 29 February"),
        ([*_without(csv_year(), 100), "12,31,24,1.0,50"], "line 101: month 1 day 5 hour 4 where month 1"),
        (_with(csv_year(), 100, csv_year()[99]), "line 101: month 1 day 5 hour 2 where month 1 day 5 hour 3 is due"),
        (_with(csv_year(), 100, "1,5,3,,50"), "line 101: temperature nan °C is missing"),
        (_with(csv_year(), 100, "1,5,3,nan,50"), "line 101: temperature nan °C is missing"),
        (_with(csv_year(), 100, "1,5,3,99.9,50"), "line 101: temperature 99.9 °C is missing or out of range"),
        (_with(csv_year(), 100, "1,5,3,warm,50"), "line 101: 'warm' is not a number"),
        (_with(csv_year(), 100, "1,5,,1.0,50"), "line 101: month, day or hour is missing"),
        (_with(csv_year(), 100, "1,5,3,1.0"), "line 101: 4 fields, 5 expected"),
        (_with(csv_year(), 1, "1,1,7,1.0,50"), "line 2: the year must begin at hour 0 or 1, not 7"),
        (["a,b"], "no temperature column; name it drybulb_c"),
        ([""], "no temperature column"),
        (_with(epw_year(), 50, "1999,1,2"), "line 51: 3 fields; an EPW row has 35. Is it cut short?"),
        (_with(tmy3_year(), 50, "01/02/1998,24:00"), "line 51: 2 fields, 5 expected"),
        (_with(tmy3_year(), 50, "noon,01:00,0,1.0,A"), "line 51: 'noon' is not a number"),
        (_with(tmy3_year(), 49, "01/02/1998,24:00,0,-9900,A"), "line 50: temperature -9900 °C is missing"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_used_is_one_clear_error(
    write_year: Write, lines: list[str], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        hourly(write_year("w.csv", lines))


def test_a_missing_or_empty_file_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read weather file .*absent.csv: No such file"):
        hourly(tmp_path / "absent.csv")
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(InputError, match=r"empty.csv is empty"):
        hourly(tmp_path / "empty.csv")

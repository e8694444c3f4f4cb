"""Profiles from files: units, gaps by name, days of 23 and 25 hours, finer and coarser steps."""

from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from hsmdc.dispatch import load_case, solve
from hsmdc.dispatch.profiles import Column, ProfileFile, read_profiles
from hsmdc.errors import ConfigError, InputError


def frame(periods: int = 24, freq: str = "h", start: str = "2022-04-14") -> pd.DataFrame:
    index = pd.date_range(start, periods=periods, freq=freq)
    value = np.arange(periods, dtype=float)
    return pd.DataFrame({"time": index, "pv": value, "price": 40 + value})


def source(path: Path, **changes: Any) -> ProfileFile:
    fields: dict[str, Any] = {
        "file": str(path),
        "day": date(2022, 4, 14),
        "pv": Column(name="pv", unit="kW"),
        "price": Column(name="price", unit="USD/MWh"),
    }
    return ProfileFile(**(fields | changes))


def read(table: pd.DataFrame, path: Path, slot_h: float = 1.0, **changes: Any) -> Any:
    table.to_csv(path, index=False)
    return read_profiles(source(path, **changes), pv_kw=100.0, wind_kw=50.0, slot_h=slot_h)


def test_units(tmp_path: Path) -> None:
    for unit, factor in (("kW", 1.0), ("MW", 1e3), ("capacity factor", 100.0)):
        profiles, days = read(frame(), tmp_path / "p.csv", pv=Column(name="pv", unit=unit))
        assert profiles.pv_kw == pytest.approx(factor * np.arange(24))
        assert profiles.wind_kw == (0.0,) * 24
        assert days == (24,)
    profiles, _ = read(frame(), tmp_path / "p.csv", price=Column(name="price", unit="USD/kWh"))
    assert profiles.price_usd_per_mwh[0] == pytest.approx(40e3)
    with pytest.raises(ValueError, match=r"pv.unit is 'GW'; known units: kW, MW, capacity factor"):
        source(tmp_path / "p.csv", pv=Column(name="pv", unit="GW"))


def test_missing_hours_are_named(tmp_path: Path) -> None:
    table = frame().drop([5, 6])
    with pytest.raises(
        InputError, match=r"no row for 2022-04-14 05:00, 2022-04-14 06:00; if the clocks go forward"
    ):
        read(table, tmp_path / "p.csv")


def test_empty_values_are_named(tmp_path: Path) -> None:
    table = frame()
    table.loc[7, "price"] = np.nan
    with pytest.raises(InputError, match=r"column 'price' has no value at 2022-04-14 07:00"):
        read(table, tmp_path / "p.csv")


def test_double_hours_are_named(tmp_path: Path) -> None:
    table = pd.concat([frame(), frame().iloc[[3]]])
    with pytest.raises(InputError, match=r"time 2022-04-14 03:00:00 stands twice"):
        read(table, tmp_path / "p.csv")


def test_absent_columns_days_and_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no column 'cost'; it has: time, pv, price"):
        read(frame(), tmp_path / "p.csv", price=Column(name="cost", unit="USD/MWh"))
    with pytest.raises(InputError, match=r"no row on 2023-01-01; the file runs from 2022-04-14"):
        read(frame(), tmp_path / "p.csv", day=date(2023, 1, 1))
    with pytest.raises(InputError, match=r"absent.csv is neither in"):
        source(Path("absent.csv")).resolved(tmp_path)


def test_text_is_no_number(tmp_path: Path) -> None:
    table = frame().astype({"price": object})
    table.loc[2, "price"] = "n/a?"
    with pytest.raises(
        InputError, match=r"column 'price' holds 'n/a\?' at 2022-04-14 02:00:00, which is no num"
    ):
        read(table, tmp_path / "p.csv")


@pytest.mark.parametrize(("column", "least"), [("pv", 0), ("wind", 0), ("base_it", 0), ("pue", 1)])
def test_values_below_the_least_are_named(tmp_path: Path, column: str, least: float) -> None:
    table = frame()
    table[column] = 2.0
    table.loc[[0, 23], column] = least - 0.3
    unit = "1" if column == "pue" else "MW"
    with pytest.raises(
        InputError, match=rf"column '{column}' is below {least} at 2022-04-14 00:00, 2022-04-14 23:00"
    ):
        read(table, tmp_path / "p.csv", **{column: Column(name=column, unit=unit)})


def test_values_beyond_any_number_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"pv_kw.0 = inf: Input should be a finite number"):
        read(frame().assign(pv=1e307), tmp_path / "p.csv", pv=Column(name="pv", unit="MW"))


def written(path: Path, table: pd.DataFrame, **options: Any) -> ProfileFile:
    table.to_csv(path, index=False, **options)
    return source(path)


def test_spellings_of_a_csv_file(tmp_path: Path) -> None:
    plain, _ = read(frame(), tmp_path / "p.csv")
    text = (tmp_path / "p.csv").read_text()
    for name, content in (
        ("bom", "\ufeff" + text),
        ("spaces", text.replace(",", ", ")),
        ("extra", text.replace("\n", ",note\n")),
        ("crlf", text.replace("\n", "\r\n")),
    ):
        path = tmp_path / f"{name}.csv"
        path.write_text(content, "utf-8", newline="")
        assert read_profiles(source(path), pv_kw=1, wind_kw=1, slot_h=1)[0].pv_kw == plain.pv_kw
    for separator in (";", "\t"):
        other = written(tmp_path / "s.csv", frame(), sep=separator)
        with pytest.raises(InputError, match="separate the columns by commas"):
            read_profiles(other, pv_kw=1, wind_kw=1, slot_h=1)


@pytest.mark.parametrize("style", ["%d/%m/%Y %H:%M", "%m/%d/%Y %H:%M", "%d.%m.%Y %H:%M", "%H"])
def test_times_are_iso_or_refused(tmp_path: Path, style: str) -> None:
    table = frame(start="2022-04-05")
    table["time"] = table["time"].dt.strftime(style)
    with pytest.raises(InputError, match=r"begins with '.+'; write times as 2022-04-14T07:00") as caught:
        read(table, tmp_path / "p.csv", day=date(2022, 4, 5))
    assert "differ in their UTC offsets" not in str(caught.value)


def test_missing_time_is_named(tmp_path: Path) -> None:
    table = frame().astype({"time": object})
    table.loc[4, "time"] = None
    with pytest.raises(InputError, match=r"column 'time' has no time in data row 5"):
        read(table, tmp_path / "p.csv")


@pytest.mark.parametrize(("day", "slots"), [("2022-03-13", 23), ("2022-11-06", 25)])
def test_labels_may_carry_the_offset_of_their_season(tmp_path: Path, day: str, slots: int) -> None:
    times = pd.date_range(day, periods=slots, freq="h", tz="America/Los_Angeles")
    table = frame(slots).assign(time=[time.isoformat() for time in times])
    profiles, days = read(
        table, tmp_path / "p.csv", day=date.fromisoformat(day), timezone="America/Los_Angeles"
    )
    assert days == (slots,)
    assert profiles.pv_kw == pytest.approx(np.arange(slots))
    with pytest.raises(InputError, match=r"differ in their UTC offsets: set profiles.timezone"):
        read(table, tmp_path / "p.csv", day=date.fromisoformat(day))


def test_finer_steps_are_averaged_and_coarser_held(tmp_path: Path) -> None:
    profiles, _ = read(frame(96, "15min"), tmp_path / "p.csv")
    assert profiles.pv_kw == pytest.approx(np.arange(96.0).reshape(24, 4).mean(axis=1))
    profiles, days = read(frame(), tmp_path / "p.csv", slot_h=0.25)
    assert profiles.pv_kw == pytest.approx(np.repeat(np.arange(24.0), 4))
    assert days == (96,)
    with pytest.raises(InputError, match=r"steps of 0 days 00:40:00 cannot be cut into slots of 0.5 h"):
        read(frame(36, "40min"), tmp_path / "p.csv", slot_h=0.5)
    with pytest.raises(InputError, match=r"slots of 1.0 h are not whole steps of 0 days 00:40:00"):
        read(frame(36, "40min"), tmp_path / "p.csv")


def test_netcdf_units_are_compared(tmp_path: Path) -> None:
    table = frame().set_index("time").to_xarray()
    table["pv"].attrs["units"] = "MW"
    table.to_netcdf(tmp_path / "p.nc")
    mw = source(tmp_path / "p.nc", pv=Column(name="pv", unit="MW"))
    profiles, _ = read_profiles(mw, pv_kw=0, wind_kw=0, slot_h=1)
    assert profiles.pv_kw == pytest.approx(1e3 * np.arange(24))
    with pytest.raises(InputError, match=r"variable 'pv' is in MW, but the case says kW"):
        read_profiles(source(tmp_path / "p.nc"), pv_kw=0, wind_kw=0, slot_h=1)


@pytest.mark.parametrize(("name", "slots"), [("caiso-2022-03-13", 23), ("caiso-2022-11-06", 25)])
def test_days_on_which_the_clocks_change(name: str, slots: int) -> None:
    case = load_case(name)
    assert case.slots == slots
    assert case.deadline(case.task[0]) == slots
    baseline, planned = solve(case, "S1"), solve(case, "S6", method="heuristic")
    assert float(planned.cost_usd) < float(baseline.cost_usd)
    assert (baseline["gpus"].to_numpy() == [[512], [768]]).all()
    times = pd.DatetimeIndex(planned["time"].to_numpy())
    assert (times[-1] - times[0]) == pd.Timedelta(hours=slots - 1)


def test_naive_local_labels_of_the_short_day(tmp_path: Path) -> None:
    """Without a time zone the skipped hour is a gap; with one the day has 23 hours."""
    table = frame(24, start="2022-03-13").drop(2)
    day = date(2022, 3, 13)
    with pytest.raises(InputError, match=r"no row for 2022-03-13 02:00; if the clocks go forward"):
        read(table, tmp_path / "p.csv", day=day)
    _, days = read(table, tmp_path / "p.csv", day=day, timezone="America/Los_Angeles")
    assert days == (23,)
    with pytest.raises(InputError, match=r"in time zone Mars/Olympus"):
        read(table, tmp_path / "p.csv", day=day, timezone="Mars/Olympus")


@pytest.mark.parametrize("name", ["caiso-2022-04-14", "caiso-2022-07-20"])
def test_real_days(name: str, shared_data: Path) -> None:
    """Shipped days equal the original files, and planning pays."""
    case = load_case(name)
    raw = pd.read_csv(shared_data / "grid" / f"caiso_day_{name[6:]}.csv")
    assert case.profiles.price_usd_per_mwh == pytest.approx(raw["price_NP15_DA_USD_per_MWh"])
    assert case.profiles.pv_kw == pytest.approx(raw["solar_cf"] * 1050)
    assert case.profiles.wind_kw == pytest.approx(raw["wind_cf"] * 350)
    assert float(solve(case, "S4", method="heuristic").cost_usd) < 0.95 * float(solve(case, "S1").cost_usd)


def test_price_below_zero(tmp_path: Path) -> None:
    """At a deeply negative price everything is bought and all renewables are curtailed."""
    case = load_case("caiso-2022-03-13")
    assert min(case.profiles.price_usd_per_mwh) < 0
    price = (*(50.0,) * 11, -100.0, *(50.0,) * 11)
    schedule = solve(case.replace(profiles={"price_usd_per_mwh": price}), "S6", method="heuristic")
    assert float(schedule["curtailed_kw"][11]) == pytest.approx(case.renewable_kw[11])
    assert float(schedule["charge_kw"][11]) == pytest.approx(case.battery.power_kw)
    assert float(schedule["gpus"].sum("task")[11]) > 1280


def test_profile_table_faults(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('base = "aidc-2048"\n[profiles]\nfile = "x.csv"\nday = 2022-04-14\n')
    with pytest.raises(ConfigError, match=r"mine.toml, profiles: key 'price' is missing"):
        load_case(path)

"""The shipped reference, and a user's files with every defect they can have."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from hsmdc.errors import InputError
from hsmdc.traces import save_trace, trace_dataset
from hsmdc.validation import load_reference, metrics, reference_from_series


def test_the_shipped_reference_is_the_published_one(nlr):
    assert nlr.levels == (0.2, 0.4, 0.6, 0.8)
    assert nlr.statistic("mean_mw", 0.6) == 4.735550
    assert nlr.statistic("jobs_per_day", 0.8) == 10118
    assert np.isnan(nlr.statistic("mean_wait_h", 0.2))
    assert nlr.statistic("occupancy", 0.4) == 0.402369
    assert "CC BY 4.0" in nlr.source
    assert "10.7799/3025227" in nlr.source


def test_the_hourly_series_agrees_with_the_table(nlr):
    hours = nlr.series_at(0.6)
    assert hours.size == 8760
    assert str(hours["time"].values[-1]).startswith("2018-12-31T23:00")
    assert metrics.mean(hours.values) == pytest.approx(nlr.statistic("mean_mw", 0.6), abs=5e-5)
    # 1.89788 MW is what the publishers of the hourly file give, with divisor n - 1.
    assert hours.values.std(ddof=1) == pytest.approx(1.89788, abs=5e-6)
    assert nlr.series_at(0.2) is None


def test_the_weekly_percentiles_are_in_order_and_close_to_the_table(nlr):
    week = nlr.week_percentiles
    assert week.attrs["utilization"] == 0.2
    assert week["minute_of_week"].values[-1] == 10070
    bands = week["power"].transpose("percentile", "minute_of_week").values
    assert (np.diff(bands, axis=0) >= -0.03).all()
    assert float(week["power"].sel(percentile=50.0).mean()) == pytest.approx(2.3788, abs=0.05)


def test_levels_are_found_within_a_tolerance(nlr):
    assert nlr.level_of(0.6034) == 0.6
    with pytest.raises(InputError, match=r"fits no level.*0\.2, 0\.4, 0\.6, 0\.8"):
        nlr.level_of(0.5)
    with pytest.raises(InputError, match="without the attribute 'utilization'"):
        nlr.level_of(None)


def test_an_unknown_reference_lists_what_there_is():
    with pytest.raises(InputError, match="nlr-colocation-10mw"):
        load_reference("nlr")


HOURS = pd.date_range("2020-02-28", periods=72, freq="h")


def frame(**changes) -> pd.DataFrame:
    table = pd.DataFrame(
        {"time": HOURS.strftime("%Y-%m-%dT%H:%M"), "it_power_mw": np.linspace(1, 8.1, 72).round(3)}
    )
    for name, (row, value) in changes.items():
        table[name] = table[name].astype(object)
        table.loc[row, name] = value
    return table


def write(tmp_path, table: pd.DataFrame):
    path = tmp_path / "metered.csv"
    table.to_csv(path, index=False)
    return path


def test_the_same_series_from_csv_parquet_and_netcdf(tmp_path):
    csv = write(tmp_path, frame())
    expected = load_reference(csv).series_at(np.nan)
    frame().assign(time=HOURS).to_parquet(tmp_path / "metered.parquet")
    values = ("time", frame()["it_power_mw"].to_numpy() * 1e3, {"units": "kW"})
    xr.Dataset({"it_power": values}, coords={"time": HOURS}).to_netcdf(tmp_path / "metered.nc")
    for name in ("metered.parquet", "metered.nc"):
        found = load_reference(tmp_path / name).series_at(np.nan)
        xr.testing.assert_allclose(found, expected)
    assert expected.attrs["units"] == "MW"


def test_times_with_an_offset_become_utc(tmp_path):
    table = frame()
    table["time"] = HOURS.strftime("%Y-%m-%dT%H:%M") + "+02:00"
    series = load_reference(write(tmp_path, table)).series_at(np.nan)
    assert series["time"].values[0] == np.datetime64("2020-02-27T22:00", "ns")


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            frame(it_power_mw=(10, np.nan)),
            r"line 12: power at 2020-02-28T10:00:00 is missing.*--allow-missing",
        ),
        (frame(it_power_mw=(10, "n/k")), "line 12: power 'n/k' is not a number"),
        (frame(it_power_mw=(10, -0.5)), "line 12: power '-0.5' is negative"),
        (frame(it_power_mw=(10, np.inf)), "line 12: power 'inf' is infinite"),
        (frame(time=(10, "2020-02-28T09:00")), "line 12: time 2020-02-28T09:00:00 is repeated.*clock change"),
        (frame(time=(10, "2020-02-27T09:00")), "line 12: time goes back.*sort"),
        (frame(time=(10, "yesterday")), "line 12: time 'yesterday' cannot be read"),
        (frame().drop(index=range(24, 48)), r"line 26: gap from 2020-02-28T23:00:00 to 2020-03-01T00:00:00"),
        (frame().rename(columns={"time": "when"}), "no column named time"),
        (
            frame().assign(other=1.0).rename(columns={"it_power_mw": "load"}),
            "which column is the power.*--column",
        ),
        (frame().iloc[:1], "1 samples"),
    ],
)
def test_every_defect_has_its_own_error(tmp_path, table, message):
    with pytest.raises(InputError, match=message):
        load_reference(write(tmp_path, table))


def test_missing_days_are_accepted_on_request(tmp_path):
    table = frame(it_power_mw=(3, np.nan)).drop(index=range(24, 48))
    reference = load_reference(write(tmp_path, table), allow_missing=True, utilization=0.5)
    kept = table["it_power_mw"].astype(float).dropna()
    assert reference.levels == (0.5,)
    assert reference.statistic("mean_mw", 0.5) == pytest.approx(kept.mean())
    assert reference.days == 3


def test_a_named_column_in_kilowatts(tmp_path):
    table = frame().assign(total_kw=5000.0)
    series = load_reference(write(tmp_path, table), column="total_kw").series_at(np.nan)
    assert (series == 5.0).all()
    with pytest.raises(InputError, match="no column 'total'; found it_power_mw, total_kw"):
        load_reference(write(tmp_path, table), column="total")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", b"x", "unknown kind of file '.txt'"),
        ("a.csv", b"", "not a readable CSV"),
        ("a.csv", b"\xff\xfe\x00bad", "not a readable CSV"),
        ("a.parquet", b"not parquet", "not a readable Parquet"),
        ("a.nc", b"not netcdf", "not a readable netCDF"),
    ],
)
def test_files_that_cannot_be_read(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        load_reference(path)


def test_an_unknown_unit_is_an_error(tmp_path):
    values = ("time", np.ones(72), {"units": "A"})
    xr.Dataset({"it_power": values}, coords={"time": HOURS}).to_netcdf(tmp_path / "amps.nc")
    with pytest.raises(InputError, match="power in 'A' is not known"):
        load_reference(tmp_path / "amps.nc")


def test_a_series_in_memory_is_a_reference():
    power = xr.DataArray([1.0, 3.0], coords={"time": HOURS[:2]}, dims="time")
    reference = reference_from_series(power, name="mine")
    assert np.isnan(reference.levels[0])
    assert reference.level_of(None) is not None
    assert reference.statistic("mean_mw", np.nan) == 2.0
    assert reference.statistics_step_s == 3600.0


def test_a_trace_file_of_this_package_can_be_a_reference(make_trace, tmp_path):
    made = make_trace(days=2)
    trace = trace_dataset(
        start=made["time"].values[0],
        step_s=60.0,
        series={"it_power": made["it_power"].values, "busy_nodes": np.ones(2880)},
        jobs={name: made[name].values for name in ("job_arrival", "job_start", "job_end", "job_nodes")},
    )
    save_trace(trace, tmp_path / "trace.nc")
    reference = load_reference(tmp_path / "trace.nc", utilization=0.4)
    np.testing.assert_array_equal(reference.series_at(0.4), made["it_power"])
    assert reference.statistic("occupancy", 0.4) == 0.4


@pytest.mark.parametrize("utilization", [0.0, 1.0, 1.2, -0.1])
def test_a_utilization_that_is_no_share_is_refused(utilization):
    power = xr.DataArray([1.0, 3.0], coords={"time": HOURS[:2]}, dims="time")
    with pytest.raises(InputError, match="must lie between 0 and 1"):
        reference_from_series(power, name="mine", utilization=utilization)


def test_the_shipped_reference_takes_no_options():
    with pytest.raises(InputError, match="has its own levels"):
        load_reference("nlr-colocation-10mw", utilization=0.6)


def test_a_column_of_plain_numbers_is_no_time(tmp_path):
    with pytest.raises(InputError, match="times are plain numbers"):
        load_reference(write(tmp_path, frame().assign(time=range(72))))


@pytest.mark.parametrize(
    ("name", "per_mw"),
    [("load_kw", 1e3), ("Load [kW]", 1e3), ("power (W)", 1e6), ("MW", 1.0), ("load", 1.0), ("site GW", 1e-3)],
)
def test_the_unit_at_the_end_of_a_columns_name_counts(tmp_path, name, per_mw):
    table = frame().rename(columns={"it_power_mw": name})
    table[name] *= per_mw
    found = load_reference(write(tmp_path, table)).series_at(np.nan)
    np.testing.assert_allclose(found, frame()["it_power_mw"], rtol=1e-12)


def test_energy_is_not_taken_for_power(tmp_path):
    table = frame().rename(columns={"it_power_mw": "load_kWh"})
    with pytest.raises(InputError, match=r"power in 'kWh' is not known.*must be GW, MW, kW or W"):
        load_reference(write(tmp_path, table))


@pytest.mark.parametrize(
    "style", [{"sep": ";", "decimal": ","}, {"sep": ";"}, {"sep": "\t"}, {"encoding": "utf-8-sig"}], ids=str
)
def test_the_ways_spreadsheets_write_a_table(tmp_path, style):
    path = tmp_path / "metered.csv"
    frame().to_csv(path, index=False, **style)
    found = load_reference(path).series_at(np.nan)
    np.testing.assert_array_equal(found, frame()["it_power_mw"])


def test_a_parquet_table_with_any_index(tmp_path):
    plain = frame().assign(time=HOURS)
    dated = plain.set_index("time")
    for number, table in enumerate((plain, dated, dated.rename_axis(None), dated.rename_axis("Zeit"))):
        path = tmp_path / f"{number}.parquet"
        table.to_parquet(path)
        assert load_reference(path).series_at(np.nan)["time"].values[0] == HOURS[0]


def test_a_netcdf_file_without_time_names_what_it_has(tmp_path):
    xr.Dataset({"load": ("t", np.ones(72))}, coords={"t": HOURS}).to_netcdf(tmp_path / "a.nc")
    with pytest.raises(InputError, match="no coordinate 'time'; found t"):
        load_reference(tmp_path / "a.nc")

"""A trace is held against the reference over the time both have, whatever else either covers."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from hsmdc.errors import InputError
from hsmdc.validation import reference_from_series, score, validate
from hsmdc.validation.pairing import pair_with, too_short
from hsmdc.validation.series import as_series


def hours(start: str, days: int) -> xr.DataArray:
    """Load with a season: any two stretches of it have different means."""
    times = pd.date_range(start, periods=24 * days, freq="h")
    day = (times - pd.Timestamp("2018-01-01")) / pd.Timedelta("1D")
    load = 5 + 2 * np.sin(2 * np.pi * day / 365) + np.sin(2 * np.pi * day) + 0.3 * np.cos(2 * np.pi * day / 7)
    return xr.DataArray(np.array(load), coords={"time": times}, dims="time", name="it_power")


def minutes(hourly: xr.DataArray) -> xr.Dataset:
    times = hourly["time"].values[0] + np.arange(60 * hourly.size) * np.timedelta64(60, "s")
    return xr.Dataset({"it_power": ("time", np.repeat(hourly.values, 60))}, {"time": times})


REFERENCES = {
    "the whole year": hours("2018-01-01", 365),
    "a quarter": hours("2018-04-01", 91),
    "longer than the trace": hours("2017-06-01", 900),
    "beyond the end of the trace": hours("2018-10-01", 200),
    "days left out": hours("2018-01-01", 365).isel(time=np.r_[0:2000, 2240:8760]),
    "from a Wednesday at five": hours("2018-01-03", 300)[5:],
}


@pytest.mark.parametrize("cut", REFERENCES)
def test_a_trace_that_is_the_reference_agrees_in_every_score(cut):
    scores = validate(minutes(hours("2018-01-01", 365)), reference_from_series(REFERENCES[cut], name="own"))
    frame = scores.to_dataframe()
    assert scores.attrs["verdict"] == "pass"
    compared = frame[frame["reference"].notna()]
    assert len(compared) == 7
    np.testing.assert_allclose(compared["value"], compared["reference"], rtol=1e-12)


@pytest.mark.parametrize("shift_min", [15, 30, 45])
def test_hours_that_start_within_the_hour_are_matched(shift_min):
    shift = np.timedelta64(shift_min, "m")
    minute = minutes(hours("2018-01-01", 60))
    theirs = (
        as_series(minute["it_power"]).values[shift_min : shift_min + 59 * 1440].reshape(-1, 60).mean(axis=1)
    )
    times = np.datetime64("2018-01-01", "ns") + shift + np.arange(theirs.size) * np.timedelta64(1, "h")
    reference = reference_from_series(xr.DataArray(theirs, {"time": times}, ["time"]), name="shifted")
    found = validate(minute, reference).to_dataframe().set_index("metric")
    assert found.loc["w1_mw", "value"] == pytest.approx(0.0, abs=1e-12)
    assert found.loc["correlation", "value"] == pytest.approx(1.0)


def test_the_report_of_a_comparison_says_over_what():
    year = minutes(hours("2018-01-01", 365))
    quarter = reference_from_series(REFERENCES["a quarter"], name="quarter")
    assert validate(year, quarter).attrs["period"] == "2018-04-01 to 2018-06-30, 2184 steps of 1 h"
    other = reference_from_series(hours("2021-01-01", 365), name="other")
    assert validate(year, other).attrs["period"].startswith("the trace and the reference share no time")


def test_time_in_common_without_a_sample_in_common_is_not_assessed():
    trace = minutes(hours("2018-01-01", 30))
    trace["it_power"][: 1440 * 20] = np.nan
    theirs = hours("2018-01-01", 30).copy(deep=True)
    theirs[24 * 20 :] = np.nan
    with pytest.raises(InputError, match="no sample at the same time"):
        pair_with(as_series(trace["it_power"]), reference_from_series(theirs, name="half"), np.nan)
    scores = validate(trace, reference_from_series(theirs, name="half"))
    assert scores.attrs["passed"] + scores.attrs["failed"] < 7
    assert not np.isnan(scores.to_dataframe().query("verdict in ('pass', 'fail')")["value"]).any()


def test_a_table_of_a_year_is_not_held_against_a_week(make_trace, nlr):
    assert too_short(as_series(make_trace(days=7)["it_power"]), nlr).startswith("the trace covers 7 days")
    frame = validate(make_trace(days=7), nlr).to_dataframe()
    table = frame[frame["metric"].isin(["mean_mw", "std_mw", "jobs_queued", "mean_wait_h", "jobs_per_day"])]
    at_level = table[table["utilization"] == 0.6]
    assert set(at_level["verdict"]) == {"not assessed"}
    assert set(at_level["note"]) == {"the trace covers 7 days, the reference's statistics 365"}


@pytest.mark.parametrize("level", [0.2, 0.6])
def test_a_trace_without_load_fails_every_gate_on_its_power(make_trace, nlr, level):
    trace = make_trace(level, jobs=False)
    trace["it_power"] = trace["it_power"] * 0.0
    frame = validate(trace, nlr).to_dataframe().query(f"utilization == {level} and limit != ''")
    power = frame[frame["metric"].str.endswith("_mw") | (frame["metric"] == "peak_to_average")]
    assert len(power) >= 5
    assert set(power["verdict"]) == {"fail"}


def test_traces_less_busy_than_the_reference_get_a_note_on_their_mean(make_trace, nlr):
    def note(occupancy: float) -> str:
        trace = make_trace(jobs=False).assign_attrs(occupancy=occupancy)
        frame = validate([score(trace, nlr)], nlr).to_dataframe()
        return frame.query("metric == 'mean_mw' and utilization == 0.6")["note"].item()

    assert note(0.6) == "busy share 0.6000, the reference's is 0.6034: simulate with --utilization 0.603415"
    assert note(0.6034) == ""

"""The battery on traces whose agreement is known."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from hsmdc.errors import InputError
from hsmdc.validation import Gates, load_gates, reference_from_series, score, validate
from hsmdc.validation.catalogue import SCORES


def row(scores: xr.Dataset, metric: str, level: float) -> dict:
    frame = scores.to_dataframe()
    picked = frame[(frame["metric"] == metric) & ((frame["utilization"] == level) | (np.isnan(level)))]
    assert len(picked) == 1
    return picked.iloc[0].to_dict()


@pytest.fixture(scope="module")
def single(make_trace, nlr) -> xr.Dataset:
    return validate(make_trace(), nlr)


def test_a_trace_made_of_the_reference_passes_its_hourly_gates(single):
    for metric in ("w1_mw", "acf_rms", "ramp_w1_mw", "correlation", "mean_mw", "std_mw"):
        assert row(single, metric, 0.6)["verdict"] == "pass", metric
    assert row(single, "correlation", 0.6)["value"] > 0.999


def test_the_invented_jobs_fail_the_rate_but_not_the_queue(single):
    assert row(single, "jobs_per_day", 0.6)["verdict"] == "fail"
    assert row(single, "jobs_queued", 0.6)["verdict"] == "pass"
    assert single.attrs["verdict"] == "fail"


def test_levels_without_a_trace_are_not_assessed_and_say_so(single):
    absent = row(single, "std_mw", 0.4)
    assert absent["verdict"] == "not assessed"
    assert absent["note"] == "no trace at utilization 0.4"
    assert "0.2, 0.4, 0.8" in row(single, "r2_std", np.nan)["note"]


def test_a_single_trace_has_bootstrap_bands_around_its_scores(single):
    for metric in ("mean_mw", "std_mw", "p90_mw", "jobs_queued", "w1_mw", "acf_rms", "correlation"):
        found = row(single, metric, 0.6)
        assert found["low"] < found["value"] < found["high"], metric


def test_every_row_is_a_number_or_says_why(single):
    frame = single.to_dataframe()
    assert (frame["value"].notna() | (frame["note"] != "")).all()
    assert set(frame["metric"]) <= set(SCORES)
    assert frame.loc[frame["limit"] != "", "role"].isin(["fitted", "held_out", "mixed"]).all()


def test_the_scores_survive_netcdf_and_csv(single, tmp_path):
    single.to_netcdf(tmp_path / "scores.nc")
    with xr.open_dataset(tmp_path / "scores.nc") as again:
        np.testing.assert_allclose(again["value"], single["value"])
        assert list(again["verdict"].values) == list(single["verdict"].values)
    single.to_dataframe().to_csv(tmp_path / "scores.csv", index=False)
    assert len(pd.read_csv(tmp_path / "scores.csv")) == single.sizes["row"]


def test_all_ways_to_hand_traces_over_agree(make_trace, nlr_short):
    traces = [make_trace(seed=1, days=60), make_trace(seed=2, days=60)]
    expected = validate(traces, nlr_short)
    by_level = validate({0.6: traces}, nlr_short)
    streamed = validate((trace for trace in traces), nlr_short)
    already_scored = validate([score(trace, nlr_short) for trace in traces], nlr_short)
    for other in (by_level, streamed, already_scored):
        xr.testing.assert_equal(expected, other)
    assert row(expected, "mean_mw", 0.6)["members"] == 2


def test_the_band_over_seeds_is_students(make_trace, nlr_short):
    members = [score(make_trace(seed=seed, days=40), nlr_short) for seed in (1, 2, 3)]
    values = np.array([float(m["value"].sel(metric="std_mw")) for m in members])
    found = row(validate(members, nlr_short), "std_mw", 0.6)
    half = 4.302652729911275 * values.std(ddof=1) / np.sqrt(3)
    assert found["value"] == pytest.approx(values.mean())
    assert found["high"] - found["value"] == pytest.approx(half)


def test_r2_and_trend_across_all_levels(nlr):
    members = []
    for level in nlr.levels:
        target = {name: nlr.statistic(name, level) for name in ("mean_mw", "std_mw", "peak_to_average")}
        members.append(_scored(level, target | {"std_mw": target["std_mw"] + 0.1}))
    scores = validate(members, nlr)
    assert row(scores, "r2_mean", np.nan)["value"] == pytest.approx(1.0)
    std = nlr.statistics["std_mw"].values
    assert row(scores, "r2_std", np.nan)["value"] == pytest.approx(
        1 - 4 * 0.01 / ((std - std.mean()) ** 2).sum()
    )
    rise = row(scores, "peak_to_average_rise", np.nan)
    assert rise["verdict"] == "pass"
    assert rise["value"] == pytest.approx(1.238883 - 1.543763)


def _scored(level: float, values: dict[str, float]) -> xr.Dataset:
    """A member as `score` makes it, holding only these values."""
    names = [name for name, info in SCORES.items() if info.group != "levels"]
    return xr.Dataset(
        {
            "value": ("metric", [values.get(name, np.nan) for name in names]),
            "note": ("metric", ["" if name in values else "left out" for name in names]),
            "failed": ("metric", [False] * len(names)),
            "target": ("metric", [np.nan] * len(names)),
        },
        coords={"metric": names},
        attrs={"utilization": level, "seed": "1", "period": "", "occupancy": np.nan},
    )


def test_a_constant_trace_fails_instead_of_giving_nan(make_trace, nlr):
    trace = make_trace(jobs=False)
    trace["it_power"] = trace["it_power"] * 0 + 4.0
    scores = validate(trace, nlr)
    for metric in ("acf_rms", "correlation"):
        found = row(scores, metric, 0.6)
        assert (found["verdict"], found["note"]) == ("fail", "the trace is constant")
    assert row(scores, "w1_mw", 0.6)["verdict"] == "fail"
    assert row(scores, "jobs_queued", 0.6)["note"].startswith("the trace has no job table")


def test_a_queue_that_never_forms_fails_the_wait(make_trace, nlr_short):
    trace = make_trace(days=30)
    trace["job_start"] = trace["job_arrival"]
    found = row(validate(trace, nlr_short), "mean_wait_h", 0.6)
    assert (found["verdict"], found["note"]) == ("fail", "no job of the trace waited and started")


def test_another_year_is_compared_in_law_but_not_hour_by_hour(make_trace, nlr):
    trace = make_trace()
    leap = trace.assign_coords(time=trace["time"] + np.timedelta64(2 * 365 * 86400, "s"))
    scores = validate(leap, nlr)
    assert row(scores, "w1_mw", 0.6)["verdict"] == "pass"
    found = row(scores, "correlation", 0.6)
    assert found["verdict"] == "not assessed"
    assert "share no time" in found["note"]


def test_a_leap_year_against_a_leap_year():
    hours = pd.date_range("2020-01-01", "2020-12-31T23:00", freq="h")
    load = 5 + np.sin(np.arange(hours.size) * 2 * np.pi / 24) + 0.01 * (np.arange(hours.size) % 168)
    power = xr.DataArray(load, coords={"time": hours}, dims="time", name="it_power")
    scores = validate(power.to_dataset(), reference_from_series(power, name="2020"))
    frame = scores.to_dataframe().set_index("metric")
    assert scores.attrs["verdict"] == "pass"
    assert frame.loc["correlation", "value"] == pytest.approx(1.0)
    assert frame.loc["w1_mw", "value"] == 0.0


def test_missing_days_of_the_reference_are_left_out_on_both_sides(nlr):
    hours = nlr.series[0.6]
    gappy = hours.copy()
    gappy[24 * 10 : 24 * 13] = np.nan
    gappy = gappy.drop_isel(time=range(24 * 40, 24 * 45))
    spoiled = hours.copy()
    spoiled[24 * 11] = 999.0
    spoiled[24 * 42] = 999.0
    reference = reference_from_series(gappy, name="gappy", utilization=0.6)
    scores = validate(spoiled.to_dataset().assign_attrs(utilization=0.6), reference, "generic")
    for metric, exact in (("w1_mw", 0.0), ("ramp_w1_mw", 0.0), ("acf_rms", 0.0), ("correlation", 1.0)):
        assert row(scores, metric, 0.6)["value"] == pytest.approx(exact, abs=1e-12), metric
    assert "spectrum_db" not in scores["metric"].values  # it needs a series without gaps, and has no gate


def test_a_trace_coarser_than_the_table_is_not_assessed_on_it(nlr):
    scores = validate(nlr.series[0.6].to_dataset().assign_attrs(utilization=0.6), nlr)
    found = row(scores, "std_mw", 0.6)
    assert found["verdict"] == "not assessed"
    assert found["note"] == "the trace's step of 3600 s is coarser than the reference's 60 s"
    assert row(scores, "w1_mw", 0.6)["value"] == 0.0


def test_a_short_trace_is_not_assessed_on_what_needs_a_week(make_trace, nlr):
    scores = validate(make_trace(days=3), nlr)
    assert "168" in row(scores, "acf_rms", 0.6)["note"]
    assert row(scores, "w1_mw", 0.6)["verdict"] in ("pass", "fail")


def test_a_trace_with_a_gap_is_scored_on_what_is_there(make_trace, nlr):
    trace = make_trace(jobs=False)
    trace["it_power"][1000:3000] = np.nan
    scores = validate(trace, nlr)
    assert row(scores, "w1_mw", 0.6)["verdict"] == "pass"
    assert row(scores, "mean_mw", 0.6)["value"] == pytest.approx(float(trace["it_power"].mean()))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda t: t.drop_vars("it_power"), "needs the variable 'it_power'"),
        (lambda t: t.assign(it_power=t["it_power"] * np.nan), "no sample"),
        (lambda t: t.assign_attrs(utilization=0.5), "fits no level"),
        (lambda t: t.isel(time=[0, 2, 1]), "goes back"),
    ],
)
def test_a_trace_that_cannot_be_scored_is_an_error(make_trace, nlr, spoil, message):
    with pytest.raises(InputError, match=message):
        validate(spoil(make_trace(days=10)), nlr)


def test_no_trace_at_all_is_an_error(nlr):
    with pytest.raises(InputError, match="no trace to validate"):
        validate([], nlr)


def test_gates_of_ones_own_decide(make_trace, nlr_short, tmp_path):
    path = tmp_path / "gates.toml"
    path.write_text(
        'name = "one"\ntitle = "One"\n[[gate]]\nmetric = "jobs_per_day"\nkind = "at_most"\nlimit = 1000\n'
        "utilization = [0.6]\n"
    )
    scores = validate(make_trace(days=30), nlr_short, load_gates(path))
    assert scores.attrs["verdict"] == "pass"
    assert (scores.attrs["passed"], scores.attrs["failed"], scores.attrs["not_assessed"]) == (1, 0, 0)


def test_a_gate_without_a_reference_value_is_not_assessed(make_trace, nlr_short):
    trace = make_trace(0.2, days=20)
    gate = {"metric": "mean_wait_h", "kind": "relative", "limit": 0.05}
    gates = Gates.model_validate({"name": "g", "title": "G", "gate": [gate]})
    found = row(validate(trace, nlr_short, gates), "mean_wait_h", 0.2)
    assert found["verdict"] == "not assessed"
    assert found["note"] == "the reference gives no mean_wait_h at utilization 0.2"

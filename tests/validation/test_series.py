"""The grid rule: gaps become NaN, unequal steps are refused, coarse steps need all their samples."""

import numpy as np
import pytest
import xarray as xr

from hsmdc.errors import InputError
from hsmdc.validation.series import Series, as_series, averaged, common

START = np.datetime64("2020-02-28T00:00", "ns")


def labelled(values, offsets_s) -> xr.DataArray:
    times = START + (np.asarray(offsets_s) * 1e9).astype("timedelta64[ns]")
    return xr.DataArray(np.asarray(values, dtype=float), coords={"time": times}, dims="time")


def test_a_left_out_label_becomes_nan():
    series = as_series(labelled([1, 2, 5], [0, 60, 240]))
    np.testing.assert_array_equal(series.values, [1, 2, np.nan, np.nan, 5])
    assert series.step_s == 60.0
    assert series.times[-1] == START + np.timedelta64(240, "s")


@pytest.mark.parametrize(
    ("offsets", "message"),
    [
        ([0, 60, 60], "repeats time"),
        ([0, 60, 30], "goes back"),
        ([0, 60, 150], "unequal steps"),
        ([0], "at least two"),
    ],
)
def test_irregular_labels_are_refused(offsets, message):
    with pytest.raises(InputError, match=message):
        as_series(labelled(np.ones(len(offsets)), offsets))


def test_a_coarse_step_counts_only_when_complete():
    series = Series(np.array([1.0, 3.0, np.nan, 5.0, 7.0]), START, 1800.0)
    hourly = averaged(series, 3600.0)
    np.testing.assert_array_equal(hourly.values, [2.0, np.nan])


def test_coarse_steps_start_on_the_clock():
    series = Series(np.arange(10.0), START + np.timedelta64(40, "m"), 600.0)
    hourly = averaged(series, 3600.0)
    assert hourly.start == START + np.timedelta64(60, "m")
    np.testing.assert_array_equal(hourly.values, [np.arange(2.0, 8.0).mean()])


@pytest.mark.parametrize(
    ("step_s", "message"), [(90.0, "cannot be averaged"), (30.0, "cannot"), (7200.0, "shorter")]
)
def test_a_step_that_cannot_be_made_is_an_error(step_s, message):
    with pytest.raises(InputError, match=message):
        averaged(Series(np.ones(3), START, 60.0), step_s)


def test_common_labels_across_a_leap_day():
    first = Series(np.arange(72.0), START, 3600.0)
    second = Series(np.arange(48.0), np.datetime64("2020-02-29T00:00", "ns"), 3600.0)
    pair = common(first, second)
    assert pair is not None
    np.testing.assert_array_equal(pair[0].values, np.arange(24.0, 72.0))
    np.testing.assert_array_equal(pair[1].values, np.arange(48.0))
    assert pair[0].start == second.start


def test_series_of_different_years_share_nothing():
    other = Series(np.ones(5), np.datetime64("2018-01-01", "ns"), 3600.0)
    assert common(Series(np.ones(5), START, 3600.0), other) is None


def test_series_on_different_grids_are_refused():
    with pytest.raises(InputError, match="steps differ"):
        common(Series(np.ones(5), START, 3600.0), Series(np.ones(5), START, 60.0))
    shifted = Series(np.ones(5), START + np.timedelta64(10, "m"), 3600.0)
    with pytest.raises(InputError, match="shifted by 600 s"):
        common(Series(np.ones(5), START, 3600.0), shifted)

"""The shape of the arrival rate: unit means, local time, leap years, no jump where clocks would change."""

import numpy as np
import pandas as pd
import pytest

from hsmdc.config.sections import Arrivals
from hsmdc.profiles import factor_curve, rate_shape, week_curve, year_curve

HOURS = tuple(float(h + 1) for h in range(24))
MONDAY = np.datetime64("2018-01-01T00:00")


@pytest.mark.parametrize("interpolation", ["step", "linear"])
def test_every_factor_has_unit_mean_over_its_period(interpolation: str) -> None:
    r = np.random.default_rng(0)
    arrivals = Arrivals(
        interpolation=interpolation,
        hour_of_week=tuple(r.random(168)),
        month=tuple(r.random(12)),
        week_of_year=tuple(r.random(53)),
        annual_amplitude=0.3,
        annual_peak_day=200.0,
    )
    assert week_curve(arrivals).mean() == pytest.approx(1.0, rel=1e-12)
    for year, days in ((2018, 365), (2028, 366)):
        assert year_curve(
            arrivals.model_copy(update={"week_of_year": None, "annual_amplitude": 0.0}), year
        ).mean() == (pytest.approx(1.0, rel=1e-12))
        assert year_curve(arrivals, year).size == days * 1440


def test_steps_follow_the_clock_by_pandas() -> None:
    arrivals = Arrivals(hour_of_day=HOURS, day_of_week=(1, 2, 3, 4, 5, 6, 7), month=tuple(range(1, 13)))
    shape = rate_shape(arrivals, 0.0, np.datetime64("2027-12-29T13:07"), 10 * 1440)
    times = pd.date_range("2027-12-29T13:07", periods=10 * 1440, freq="min")
    month_mean = {year: np.mean(pd.date_range(f"{year}", f"{year}-12-31").month) for year in (2027, 2028)}
    want = (times.hour + 1) / 12.5 * (times.day_of_week + 1) / 4.0 * times.month / times.year.map(month_mean)
    np.testing.assert_allclose(shape, want, rtol=1e-12)


def test_an_offset_moves_local_time() -> None:
    arrivals = Arrivals(hour_of_day=HOURS)
    utc = rate_shape(arrivals, 0.0, MONDAY, 1440)
    west = rate_shape(arrivals, -8.0, MONDAY, 1440)
    np.testing.assert_array_equal(np.roll(utc, 8 * 60), west)


def test_no_minute_is_repeated_or_dropped_when_clocks_change() -> None:
    arrivals = Arrivals(hour_of_day=HOURS)
    for day in ("2018-03-25", "2018-10-28"):
        shape = rate_shape(arrivals, 1.0, np.datetime64(f"{day}T00:00"), 1440)
        np.testing.assert_array_equal(shape, rate_shape(arrivals, 1.0, MONDAY, 1440))


def test_linear_passes_through_cell_centres_and_around_the_end() -> None:
    curve = factor_curve((1.0, 2.0, 3.0, 2.0), np.array([0.0, 100.0, 200.0, 300.0, 400.0]), "linear")
    assert curve[49] == curve[50] == pytest.approx((1.0 + 0.005) / 2.0)
    assert curve[0] == pytest.approx((1.5 - 0.005) / 2.0)
    assert curve[-1] == pytest.approx((1.5 + 0.005) / 2.0)


def test_the_season_peaks_where_it_says() -> None:
    shape = rate_shape(Arrivals(annual_amplitude=0.5, annual_peak_day=200.0), 0.0, MONDAY, 365 * 1440)
    assert np.argmax(shape) // 1440 in (199, 200)
    assert shape.max() == pytest.approx(1.5, rel=1e-3)

"""The annual cosine of paper eq. 9."""

import numpy as np
import pytest

from hsmdc.config.sections import Weather
from hsmdc.weather import ambient_degc, weather_note

YEAR_MIN = 525_600


def test_it_is_the_formula_of_the_paper() -> None:
    weather = Weather(mean_degc=12.0, amplitude_degc=10.0, peak_hour=4680.0)
    ambient = ambient_degc(weather, np.datetime64("2018-01-01"), 60.0, YEAR_MIN)
    hour = np.arange(YEAR_MIN) / 60.0
    np.testing.assert_allclose(
        ambient, 12.0 + 10.0 * np.cos(2.0 * np.pi * (hour - 4680.0) / 8760.0), rtol=0, atol=1e-12
    )
    assert ambient.argmax() == 4680 * 60


def test_the_hour_counts_from_the_new_year_of_every_year() -> None:
    ambient = ambient_degc(Weather(), np.datetime64("2027-01-01"), 3600.0, 8760 + 8784 + 8760)
    common, leap, after = np.split(ambient, [8760, 8760 + 8784])
    np.testing.assert_allclose(leap[:8760], common, rtol=0, atol=1e-12)
    np.testing.assert_allclose(leap[8760:], common[:24], rtol=0, atol=1e-12)
    np.testing.assert_allclose(after, common, rtol=0, atol=1e-12)
    assert np.abs(np.diff(ambient)).max() < 0.05


@pytest.mark.parametrize("start", ["2018-07-04T12:00", "2027-12-31T23:00", "2028-02-28T23:30"])
def test_a_window_is_a_slice(start: str) -> None:
    first = np.datetime64("2018-01-01T00:00")
    skip = int((np.datetime64(start) - first) / np.timedelta64(1, "m"))
    whole = ambient_degc(Weather(), first, 60.0, skip + 120)
    window = ambient_degc(Weather(), np.datetime64(start), 60.0, 120)
    np.testing.assert_allclose(window, whole[skip:], rtol=0, atol=1e-12)


def test_sub_second_labels() -> None:
    fine = ambient_degc(Weather(), np.datetime64("2018-07-04T12:00:00.1"), 0.1, 600)
    coarse = ambient_degc(Weather(), np.datetime64("2018-07-04T12:01"), 60.0, 1)
    assert fine[599] == pytest.approx(coarse[0], abs=1e-12)


def test_the_hour_is_local() -> None:
    weather = Weather(peak_hour=4680.0)
    ambient = ambient_degc(weather, np.datetime64("2018-01-01"), 3600.0, 8760, utc_offset_h=-7.0)
    assert ambient.argmax() == 4687


def test_no_labels() -> None:
    assert ambient_degc(Weather(), np.datetime64("2018-01-01"), 60.0, 0).size == 0


def test_the_note_names_the_numbers() -> None:
    note = weather_note(Weather(), np.datetime64("2018-01-01"), 60.0, YEAR_MIN)
    assert note == "annual cosine, mean 12 degC, amplitude 12 degC, warmest at hour 4680 of the year"

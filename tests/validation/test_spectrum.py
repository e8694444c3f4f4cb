"""Spectra of signals whose spectrum is known."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hsmdc.errors import InputError
from hsmdc.validation import metrics

STEP_S = 0.1


def sine(frequency_hz: float, amplitude: float, n: int = 6000) -> np.ndarray:
    return 5.0 + amplitude * np.sin(2 * np.pi * frequency_hz * STEP_S * np.arange(n))


@settings(deadline=None, max_examples=30)
@given(st.floats(0.2, 2.4), st.floats(0.01, 10.0))
def test_band_energy_of_a_sine_is_half_its_squared_amplitude(frequency_hz, amplitude):
    spectrum = metrics.spectral_density(sine(frequency_hz, amplitude), STEP_S, segment_s=60.0)
    assert metrics.band_energy(spectrum) == pytest.approx(amplitude**2 / 2, rel=0.02)


@settings(deadline=None, max_examples=30)
@given(st.floats(0.2, 2.4))
def test_dominant_period_of_a_sine(frequency_hz):
    spectrum = metrics.spectral_density(sine(frequency_hz, 1.0), STEP_S, segment_s=60.0)
    assert 1 / metrics.dominant_period(spectrum) == pytest.approx(frequency_hz, abs=1 / 60)


def test_a_sine_outside_the_band_leaves_it_empty():
    spectrum = metrics.spectral_density(sine(4.0, 1.0), STEP_S, segment_s=60.0)
    assert metrics.band_energy(spectrum) < 1e-6


def test_the_density_of_white_noise_is_flat_and_integrates_to_its_variance():
    # 24,000 samples: the total is known to 1/sqrt(12000) = 0.9 %; five of these, one test, error below 1e-6.
    noise = np.random.default_rng(4).normal(scale=2.0, size=24_000)
    spectrum = metrics.spectral_density(noise, STEP_S, segment_s=20.0)
    assert metrics.band_energy(spectrum, (0.0, 5.0)) == pytest.approx(4.0, rel=0.05)


def test_spectra_over_members_equal_one_by_one():
    x = np.random.default_rng(5).normal(size=(3, 800))
    together = metrics.spectral_density(x, STEP_S)
    alone = metrics.spectral_density(x[1], STEP_S)
    np.testing.assert_allclose(together.density[1], alone.density)
    assert metrics.dominant_period(together).shape == (3,)


def test_ten_times_the_power_is_twenty_db_everywhere():
    x = np.random.default_rng(6).normal(size=2000)
    a = metrics.spectral_density(x, STEP_S)
    b = metrics.spectral_density(10.0 * x, STEP_S)
    assert metrics.spectrum_distance(a, b) == pytest.approx(20.0)
    assert metrics.spectrum_distance(a, a) == 0.0


def test_what_has_no_spectrum_is_an_error():
    with pytest.raises(InputError, match="without gaps"):
        metrics.spectral_density([1.0, np.nan] * 20, STEP_S)
    with pytest.raises(InputError, match="more than the 4"):
        metrics.spectral_density(np.ones(4), STEP_S)
    with pytest.raises(InputError, match="more than the 50"):
        metrics.spectral_density(np.ones(50), STEP_S, segment_s=10.0)
    coarse = metrics.spectral_density(np.arange(100.0), 60.0)
    with pytest.raises(InputError, match="no frequency between"):
        metrics.band_energy(coarse)
    flat = metrics.spectral_density(np.ones(100), STEP_S)
    with pytest.raises(InputError, match="constant series"):
        metrics.spectrum_distance(flat, flat)
    with pytest.raises(InputError, match="different frequencies"):
        metrics.spectrum_distance(flat, metrics.spectral_density(np.ones(200), STEP_S))

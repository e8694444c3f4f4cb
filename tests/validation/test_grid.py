"""The grid-facing summary on signals whose values are known."""

import numpy as np
import pytest

from hsmdc.errors import InputError
from hsmdc.validation import metrics

STEP_S = 0.1


def test_a_sine_of_one_hertz():
    t = STEP_S * np.arange(3000)
    found = metrics.grid_summary(5.0 + 0.5 * np.sin(2 * np.pi * t), STEP_S)
    assert list(found["horizon"].values) == [0.1, 1.0, 10.0, 60.0]
    assert float(found["dominant_period_s"]) == pytest.approx(1.0)
    assert float(found["band_energy_mw2"]) == pytest.approx(0.125, rel=0.02)
    ramps = found["ramp_mw"]
    # The steepest tenth of a second of the sine: 2 · 0.5 · sin(π/10), met at whole samples.
    assert float(ramps.sel(horizon=0.1, percentile=99.9)) == pytest.approx(np.sin(np.pi / 10), rel=0.06)
    assert float(abs(ramps.sel(horizon=10.0)).max()) == pytest.approx(0.0, abs=1e-9)
    np.testing.assert_allclose(found["swing_mw"], 2 * 0.5 * np.sin(2 * np.pi * 0.2), rtol=0.06)


def test_a_synchronised_dip_is_found_in_its_window():
    x = np.full((2, 1200), 8.0)
    x[1, 700:705] = 2.0
    found = metrics.grid_summary(x + 1e-3 * np.sin(np.arange(1200.0)), STEP_S)
    assert found["dip_depth"].dims == ("member_0", "window")
    np.testing.assert_allclose(found["dip_depth"][1], 0.75, atol=1e-3)
    np.testing.assert_allclose(found["dip_depth"][0], 0.0, atol=1e-3)


def test_a_horizon_that_does_not_fit_is_left_out():
    found = metrics.grid_summary(np.sin(np.arange(305.0)), 0.2)
    assert list(found["horizon"].values) == [1.0, 10.0, 60.0]


@pytest.mark.parametrize(("samples", "step_s", "message"), [(500, 1.0, "2.5 Hz"), (500, 0.1, "too short")])
def test_a_trace_too_coarse_or_too_short_is_refused(samples, step_s, message):
    with pytest.raises(InputError, match=message):
        metrics.grid_summary(np.ones(samples), step_s)

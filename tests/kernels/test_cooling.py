"""The thermal lag against SciPy's exact simulation on a fine grid, and its algebra."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import signal

from hsmdc.kernels import cooling


def lag(drive, step_s, tau_s, dead_s, initial=None):
    mean = np.empty_like(drive)
    end = cooling.first_order_lag(
        drive, step_s, tau_s, dead_s, drive[0] if initial is None else initial, mean
    )
    return mean, end


def oracle(drive: np.ndarray, step_s: float, tau_s: float, dead_s: float, fine: int) -> np.ndarray:
    """Step means of the exact response, by SciPy's zero-order-hold discretisation at `fine` points a step."""
    dt = step_s / fine
    held = np.repeat(drive, fine)
    delay = round(dead_s / dt)
    delayed = np.concatenate([np.full(delay, drive[0]), held])[: held.size]
    a, b, c, d, _ = signal.cont2discrete(
        tuple(np.array([[x]]) for x in (-1 / tau_s, 1 / tau_s, 1.0, 0.0)), dt
    )
    _, y, _ = signal.dlsim((a, b, c, d, dt), np.append(delayed, delayed[-1]), x0=[drive[0]])
    y = y[:, 0]
    # The mean between grid points of an exponential towards the held input, from its end points.
    rise = -np.expm1(-dt / tau_s)
    between = delayed + (y[:-1] - delayed) * tau_s / dt * rise
    return between.reshape(-1, fine).mean(axis=1)


@pytest.mark.parametrize(
    ("step_s", "tau_s", "dead_s"),
    [(60.0, 300.0, 90.0), (60.0, 900.0, 90.0), (60.0, 300.0, 0.0), (60.0, 20.0, 60.0), (0.1, 300.0, 90.0)],
)
def test_equals_scipy(step_s: float, tau_s: float, dead_s: float) -> None:
    drive = np.random.default_rng(1).uniform(1.0, 7.0, 2000)
    fine = 60 if step_s == 60.0 else 1
    ours, _ = lag(drive, step_s, tau_s, dead_s)
    np.testing.assert_allclose(ours, oracle(drive, step_s, tau_s, dead_s, fine), rtol=1e-11)


def test_the_step_response_is_the_textbook_exponential() -> None:
    drive = np.r_[0.0, np.ones(40)]
    mean, _ = lag(drive, 60.0, 300.0, 90.0)
    rising = np.maximum(np.arange(0, 41 * 60 + 1, 60) - 60.0 - 90.0, 0.0)
    integral = rising - 300.0 * (1 - np.exp(-rising / 300.0))
    np.testing.assert_allclose(mean, np.diff(integral) / 60.0, atol=1e-14)


@given(
    tau=st.floats(1.0, 5000.0),
    dead=st.floats(0.0, 600.0),
    cut=st.integers(15, 80),
    seed=st.integers(0, 99),
)
@settings(max_examples=50, deadline=None)
def test_constant_in_constant_out_and_linear(tau: float, dead: float, cut: int, seed: int) -> None:
    r = np.random.default_rng(seed)
    u, v = r.uniform(0, 5, 100), r.uniform(0, 5, 100)
    steady, end = lag(np.full(100, 3.5), 60.0, tau, dead)
    np.testing.assert_allclose(steady, 3.5, rtol=1e-12)
    assert end == pytest.approx(3.5)
    both, _ = lag(2 * u + v, 60.0, tau, dead)
    np.testing.assert_allclose(both, 2 * lag(u, 60.0, tau, dead)[0] + lag(v, 60.0, tau, dead)[0], rtol=1e-9)
    # What comes later changes nothing earlier.
    np.testing.assert_array_equal(lag(u[:cut], 60.0, tau, dead)[0], lag(u, 60.0, tau, dead)[0][:cut])


def test_energy_is_delayed_not_lost() -> None:
    drive = np.r_[1.0, np.random.default_rng(2).uniform(0, 3, 200), np.full(3000, 1.0)]
    mean, _ = lag(drive, 60.0, 900.0, 90.0)
    assert mean.sum() == pytest.approx(drive.sum(), rel=1e-10)


def test_states_are_the_recursion_scipy_filters():
    forced = np.random.default_rng(5).uniform(0.0, 1.0, 500)
    state = np.empty(500)
    cooling.lag_states(forced, 0.8, 3.0, state)
    after, _ = signal.lfilter([1.0], [1.0, -0.8], forced, zi=[0.8 * 3.0])
    np.testing.assert_allclose(state, np.concatenate([[3.0], after[:-1]]), rtol=1e-14)

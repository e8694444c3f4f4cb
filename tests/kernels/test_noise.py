"""The Ornstein-Uhlenbeck noise against theory, and its blocks against one another."""

from functools import cache

import numpy as np
import pytest
from scipy import integrate

from hsmdc.kernels.noise import NoiseStep, noise_block, noise_step
from hsmdc.kernels.rng import NODE_NOISE, stream_key

THETA = 0.8


@cache
def key() -> np.uint64:
    return np.uint64(stream_key(np.uint64(11), NODE_NOISE))


def blocks(
    rate: np.ndarray, law: NoiseStep, block: int, *, instant: bool, first_block: int = 0
) -> np.ndarray:
    """Run blocks of `block` steps through `rate`; the first serves the second only."""
    carried = 0.0
    pieces = []
    for number in range(first_block, len(rate) // block):
        out = np.empty(block)
        part = rate[number * block : (number + 1) * block]
        carried = noise_block(part, carried, key(), number * block, law, instant, out)
        pieces.append(out)
    return np.concatenate(pieces[1:])


def autocovariance(x: np.ndarray, lag: int) -> np.ndarray:
    """Products at a lag, whose mean is the autocovariance of a process with zero mean."""
    return x[: len(x) - lag] * x[lag:]


def assert_mean(samples: np.ndarray, expected: float, batches: int = 50) -> None:
    """The mean lies within 4.5 standard errors, taken from batch means (rate 7e-6)."""
    means = samples[: len(samples) // batches * batches].reshape(batches, -1).mean(axis=1)
    assert abs(means.mean() - expected) < 4.5 * means.std(ddof=1) / np.sqrt(batches)


@pytest.mark.statistical
@pytest.mark.parametrize("x", [0.01, 0.08, 0.5, 1.0, 5.0])
def test_instants_have_the_variance_and_autocovariance_of_theory(x: float) -> None:
    law = noise_step(THETA, x / THETA)
    steps = max(int(np.ceil(40 / x)), 1000)
    n = 4_000_000 if x < 0.05 else 1_000_000
    values = blocks(np.full(n // steps * steps, 9.0), law, steps, instant=True)
    variance = 9.0 / (2 * THETA)
    for lag in (0, 1, round(max(1.0, 1 / x)), round(max(2.0, 2 / x))):
        assert_mean(autocovariance(values, lag), variance * np.exp(-x * lag))


@pytest.mark.statistical
@pytest.mark.parametrize("x", [0.01, 0.08, 0.5, 1.0, 5.0])
def test_step_means_have_the_covariance_of_an_averaged_process(x: float) -> None:
    """Var = 2s²(x − 1 + e^(−x))/x²; Cov at lag k = s²·((1 − e^(−x))/x)²·e^(−(k−1)x)."""
    law = noise_step(THETA, x / THETA)
    steps = max(int(np.ceil(40 / x)), 1000)
    n = 4_000_000 if x < 0.05 else 1_000_000
    values = blocks(np.full(n // steps * steps, 9.0), law, steps, instant=False)
    variance = 9.0 / (2 * THETA)
    assert_mean(autocovariance(values, 0), 2 * variance * (x + np.expm1(-x)) / x**2)
    for lag in (1, 2, round(max(3.0, 1 / x))):
        expected = variance * (-np.expm1(-x) / x) ** 2 * np.exp(-(lag - 1) * x)
        assert_mean(autocovariance(values, lag), expected)


@pytest.mark.parametrize("x", [1e-4, 0.01, 0.029, 0.031, 0.5, 5.0])
def test_step_law_against_numerical_integration(x: float) -> None:
    """Variance and covariance of the state and of the step mean, from their integrals over the noise."""
    step_s = x / THETA
    law = noise_step(THETA, step_s)

    def reach(u: float) -> float:  # weight of the noise at u in the step's mean
        return -np.expm1(-THETA * (step_s - u)) / (THETA * step_s)

    def integral(f) -> float:  # type: ignore[no-untyped-def]
        return integrate.quad(f, 0.0, step_s, epsabs=0, epsrel=1e-12)[0]

    assert law.own**2 == pytest.approx(integral(lambda u: np.exp(-2 * THETA * (step_s - u))), rel=1e-11)
    assert law.shared**2 + law.rest**2 == pytest.approx(integral(lambda u: reach(u) ** 2), rel=1e-9)
    assert law.own * law.shared == pytest.approx(
        integral(lambda u: reach(u) * np.exp(-THETA * (step_s - u))), rel=1e-11
    )


def test_a_later_beginning_gives_the_same_bits() -> None:
    rate = np.random.default_rng(0).uniform(0.0, 9.0, 6000)
    law = noise_step(THETA, 0.1)
    whole = blocks(rate, law, 600, instant=False)
    later = blocks(rate, law, 600, instant=False, first_block=4)
    assert later.tobytes() == whole[4 * 600 :].tobytes()


def test_forgetting_a_block_is_below_rounding() -> None:
    """Against one recursion that never forgets: 5e-18 relative is stated, rounding is all that shows."""
    rate = np.full(3000, 4.0)
    law = noise_step(THETA, 0.1)
    out = np.empty(3000)
    noise_block(rate, 0.0, key(), 0, law, True, out)
    np.testing.assert_allclose(blocks(rate, law, 500, instant=True), out[500:], rtol=0, atol=1e-14)


@pytest.mark.statistical
def test_variance_follows_a_rate_that_changes() -> None:
    """After a change of rate the variance relaxes with 2θ; 20,000 paths, 4.5 standard errors each."""
    law = noise_step(THETA, 0.1)
    rate = np.repeat([4.0, 36.0], [60, 40])
    paths = np.empty((20_000, 100))
    for i, out in enumerate(paths):
        noise_block(rate, 0.0, key(), 100 * i, law, True, out)
    low, high = 4.0 / (2 * THETA), 36.0 / (2 * THETA)
    risen = low * -np.expm1(-2 * THETA * 6.0)
    for after in (0, 5, 20, 39):
        decay = np.exp(-2 * THETA * 0.1 * after)
        expected = high + (risen - high) * decay
        found = paths[:, 60 + after].var()
        assert abs(found / expected - 1) < 4.5 * np.sqrt(2 / len(paths))

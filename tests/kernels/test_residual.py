"""The minute residual: a stationary unit AR(1), keyed by the minute."""

import numpy as np
import pytest

from hsmdc.kernels import residual


def series(n: int, seed: int = 0, last_min: float = 4.0, first: int = 10_000) -> np.ndarray:
    out = np.empty(n)
    residual.unit_residual(np.uint64(seed), first, last_min, out)
    return out


@pytest.mark.statistical
@pytest.mark.parametrize("last_min", [0.5, 4.0, 20.0])
def test_variance_and_autocorrelation_are_those_of_the_ou_process(last_min: float) -> None:
    # Sample autocovariances of n points; effective samples n/(2·last+1). 5 standard errors, 9 checks: 5e-6.
    n = 400_000
    x = series(n, last_min=last_min)
    error = 5 * np.sqrt(2 * (2 * last_min + 1) / n)
    for lag in (0, 1, 5):
        assert abs((x[lag:] * x[: n - lag]).mean() - np.exp(-lag / last_min)) < error


def test_starts_stationary_and_depends_on_seed_and_minute() -> None:
    starts = np.array([series(1, seed=s)[0] for s in range(2000)])
    assert abs(starts.var() - 1.0) < 5 * np.sqrt(2 / 2000)
    assert series(10, seed=0).tolist() != series(10, seed=1).tolist()
    np.testing.assert_array_equal(series(10), series(20)[:10])
    # Whatever its start, the path forgets it: two runs over the same minutes meet.
    np.testing.assert_allclose(series(300, first=100)[200:], series(200, first=200)[100:], atol=1e-9)

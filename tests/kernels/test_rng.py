"""Keyed random numbers: exact compatibility, independence of streams, and the laws of uniforms and normals."""

import numpy as np
import pytest
from numba import njit
from scipy import stats

from hsmdc.kernels import rng

#: The upper half of the first draw of every purpose under seed 0.
GOLDEN = {
    "ARRIVAL_EVENTS": 2278183811,
    "BATCH_SIZE": 1730410460,
    "JOB_NODES": 432439961,
    "JOB_DURATION": 1787201094,
    "MINUTE_RESIDUAL": 4064696338,
    "CHAIN_PATH": 1546916217,
    "CHAIN_DEVIATION": 1550338226,
    "NODE_NOISE": 1625726390,
    "JOB_CLASS": 679369808,
    "ENSEMBLE_MEMBER": 3573026848,
    "CHAIN_ENTRY": 186987552,
    "JOB_PHASES": 1360430323,
}
PURPOSES = [getattr(rng, name) for name in GOLDEN]


def splitmix64(x: int) -> int:
    """The published finaliser, in Python integers."""
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) % 2**64
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) % 2**64
    return x ^ (x >> 31)


@njit
def uniforms(key: np.uint64, n: int) -> np.ndarray:
    out = np.empty(n)
    for i in range(n):
        out[i] = rng.uniform(key, i)
    return out


@njit
def normals(key: np.uint64, n: int) -> np.ndarray:
    out = np.empty(n)
    for i in range(n):
        out[i] = rng.normal(key, i)
    return out


@pytest.mark.parametrize("x", [0, 1, 2**63, 2**64 - 1, 0x123456789ABCDEF])
def test_mix_is_the_published_finaliser(x: int) -> None:
    assert int(rng.mix(np.uint64(x))) == splitmix64(x)


@pytest.mark.golden
def test_first_draws_are_kept() -> None:
    """The stream promise: change SCHEME when these change. Made by printing `drawn`."""
    named = {name: value for name, value in vars(rng).items() if isinstance(value, np.uint64)}
    purposes = {name: value for name, value in named.items() if not name.startswith("_")}
    drawn = {
        name: int(rng.bits(np.uint64(rng.stream_key(np.uint64(0), purpose)), 0)) >> 32
        for name, purpose in purposes.items()
    }
    assert rng.SCHEME == "splitmix64-keyed-1"
    assert drawn == GOLDEN


def test_seed_zero_is_a_seed_like_any_other() -> None:
    keys = {int(rng.stream_key(np.uint64(seed), purpose)) for seed in range(64) for purpose in PURPOSES}
    assert 0 not in keys
    assert len(keys) == 64 * len(PURPOSES)


@pytest.mark.statistical
def test_uniforms_are_uniform_and_inside_the_open_interval() -> None:
    # One KS test at 1e-4.
    drawn = uniforms(np.uint64(rng.stream_key(np.uint64(7), rng.JOB_NODES)), 200_000)
    assert drawn.min() > 0.0
    assert drawn.max() < 1.0
    assert stats.kstest(drawn, "uniform").pvalue > 1e-4


@pytest.mark.statistical
def test_normals_are_normal_into_the_tails() -> None:
    # KS at 1e-4, and counts beyond 3 and 4 sigma within 4 standard errors (two-sided 6e-5 each).
    drawn = normals(np.uint64(rng.stream_key(np.uint64(8), rng.MINUTE_RESIDUAL)), 1_000_000)
    assert stats.kstest(drawn, "norm").pvalue > 1e-4
    for sigma in (3.0, 4.0):
        expected = 2 * stats.norm.sf(sigma) * drawn.size
        assert abs(np.sum(np.abs(drawn) > sigma) - expected) < 4 * np.sqrt(expected)


@pytest.mark.statistical
def test_neighbouring_entities_are_uncorrelated() -> None:
    # 64 streams of 4096 draws: 2016 correlations, each of standard error 1/64; the largest stays below 5 of them
    # (probability of any beyond: 2016 * 6e-7 = 0.1 %). Shifted copies would show as lagged correlation of one.
    base = np.uint64(rng.stream_key(np.uint64(0), rng.JOB_DURATION))
    streams = np.array([uniforms(np.uint64(rng.entity_key(base, i)), 4096) for i in range(64)])
    for lag in (0, 1):
        shifted = np.corrcoef(streams[:, : 4096 - lag], streams[:, lag:])[:64, 64:]
        off = shifted - np.diag(np.diag(shifted))
        assert np.abs(off).max() < 5 / 64


def test_normal_quantile_matches_scipy() -> None:
    p = np.concatenate([np.logspace(-300, -1, 60), np.linspace(0.01, 0.99, 98), 1 - np.logspace(-15, -2, 30)])
    ours = np.array([rng.normal_quantile(x) for x in p])
    np.testing.assert_allclose(ours, stats.norm.ppf(p), rtol=2e-14, atol=1e-15)

"""The law of the aggregate is the law of nodes stepped one by one.

For both synchronies, with the default table and with a loud one, two independent sets of facilities are
compared: 800 stepped by `stepper.py`, 1600 by the engine. Each statistic is taken per facility, so that the
two-sample tests see independent numbers. There are 112 comparisons; each is refused below p = 1e-3/112, a
family-wise error rate of 1e-3.
"""

from importlib import util
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from hsmdc.config import Config
from hsmdc.nodes import node_tables, stationary_law
from hsmdc.transient.blocks import Grid, NodeBlocks, placed_jobs

_SPEC = util.spec_from_file_location("stepper", Path(__file__).with_name("stepper.py"))
assert _SPEC is not None
assert _SPEC.loader is not None
stepper = util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(stepper)

SIZES = np.array([1] * 10 + [2] * 5 + [4] * 3 + [8] * 2 + [32])
STEPS, STEP_S = 600, 0.1
REFERENCES, ENGINES = 800, 1600
LAGS = (1, 2, 5, 10, 20, 50, 100)
BANDS_HZ = ((0.05, 0.2), (0.2, 0.5), (0.5, 1.0), (1.0, 2.5), (2.5, 5.0))
RATE = 1e-3 / 112


def engine(config: Config, seed: int, *, per_node: bool) -> np.ndarray:
    """One minute of one facility, jobs long since begun [W]."""
    tables = node_tables(config.node, config.site)._replace(per_node=per_node)
    jobs = placed_jobs(
        np.full(len(SIZES), -500.0), np.full(len(SIZES), np.nan), SIZES, np.zeros(len(SIZES), np.int64)
    )
    grid = Grid(round(STEP_S * 1e9), 60 * 10**9, 1)
    (block,) = NodeBlocks(jobs, tables, seed, grid, instant=False, threads=1).run(0, 0)
    return block.power_w + SIZES.sum() * config.site.idle_w


def loud(config: Config) -> Config:
    """Levels pushed together, wide deviations and strong noise: what the default table's barriers would hide."""
    workload = config.node.mix[0].workload
    states = {
        name: state.model_copy(update={"deviation": deviation, "noise": noise})
        for name, state, deviation, noise in zip(
            ("ps", "lc", "ba", "ci", "ar"), workload.states,
            ((0.0, 0.5), (0.0, 0.3), (0.0, 0.0), (0.0, 0.4), (0.0, 0.6)), (0.3, 0.5, 0.0, 0.1, 0.2), strict=True,
        )
    }  # fmt: skip
    mix = (config.node.mix[0].model_copy(update={"workload": workload.model_copy(update=states)}),)
    return config.model_copy(update={"node": config.node.model_copy(update={"mix": mix})})


@pytest.fixture(scope="module", params=["job", "node", "job-loud", "node-loud"])
def samples(request: pytest.FixtureRequest, config: Config) -> tuple[np.ndarray, np.ndarray, float]:
    rng = np.random.default_rng(2024)
    config = loud(config) if request.param.endswith("loud") else config
    table = stepper.table_of(config)
    shared = request.param.startswith("job")
    reference = [
        stepper.step_nodes(rng, SIZES, shared, STEPS, 5, STEP_S, config.node.theta_per_s, *table)
        for _ in range(REFERENCES)
    ]
    engines = [engine(config, seed, per_node=not shared) for seed in range(ENGINES)]
    mean = stationary_law(config.node.mix[0].workload, config.site).mean_w * SIZES.sum()
    return np.array(reference), np.array(engines), mean


def assert_same_mean(reference: np.ndarray, engines: np.ndarray, what: str) -> None:
    p = stats.ttest_ind(reference, engines, equal_var=False).pvalue
    assert p > RATE, f"{what}: {reference.mean():.6g} by nodes, {engines.mean():.6g} by the engine"


@pytest.mark.statistical
def test_mean_is_the_stationary_mean(samples: tuple[np.ndarray, np.ndarray, float]) -> None:
    reference, engines, mean = samples
    assert_same_mean(reference.mean(axis=1), engines.mean(axis=1), "mean")
    assert stats.ttest_1samp(engines.mean(axis=1), mean).pvalue > RATE


@pytest.mark.statistical
def test_variance_and_autocovariance_to_ten_seconds(samples: tuple[np.ndarray, np.ndarray, float]) -> None:
    reference, engines = (s - samples[2] for s in samples[:2])
    for lag in (0, *LAGS):
        found = [(x[:, : STEPS - lag] * x[:, lag:]).mean(axis=1) for x in (reference, engines)]
        assert_same_mean(*found, f"autocovariance at {lag * STEP_S:g} s")


@pytest.mark.statistical
def test_marginal(samples: tuple[np.ndarray, np.ndarray, float]) -> None:
    reference, engines, _ = samples
    for at in (10, 300, 590):
        assert stats.ks_2samp(reference[:, at], engines[:, at]).pvalue > RATE


@pytest.mark.statistical
@pytest.mark.parametrize("steps", [1, 10])
def test_ramp_quantiles(samples: tuple[np.ndarray, np.ndarray, float], steps: int) -> None:
    reference, engines = (s[:, steps:] - s[:, :-steps] for s in samples[:2])
    for q in (0.01, 0.1, 0.5, 0.9, 0.99):
        found = [np.quantile(x, q, axis=1) for x in (reference, engines)]
        assert_same_mean(*found, f"{q:g} quantile of ramps over {steps * STEP_S:g} s")


@pytest.mark.statistical
def test_spectrum(samples: tuple[np.ndarray, np.ndarray, float]) -> None:
    reference, engines, mean = samples
    hz = np.fft.rfftfreq(STEPS, STEP_S)
    taper = np.hanning(STEPS)
    power = [np.abs(np.fft.rfft((x - mean) * taper, axis=1)) ** 2 for x in (reference, engines)]
    for low, high in BANDS_HZ:
        band = (hz >= low) & (hz < high)
        assert_same_mean(*(p[:, band].sum(axis=1) for p in power), f"energy from {low:g} to {high:g} Hz")

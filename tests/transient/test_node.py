"""One node: the default table's promises, and `simulate_node` itself."""

import numpy as np
import pytest
import xarray as xr

import hsmdc
from hsmdc.config import Config, from_toml, load_config
from hsmdc.config.node import Workload, workload_names
from hsmdc.kernels.chain import AR, CI, LC, PS, SUCCESSORS
from hsmdc.nodes import node_tables, stationary_law


@pytest.fixture(scope="module")
def pretraining(config: Config) -> Workload:
    return config.node.mix[0].workload


@pytest.fixture(scope="module")
def hours(config: Config) -> xr.Dataset:
    return hsmdc.simulate_node(config, duration="12h", step="100ms", seed=2)


def test_stationary_mean_is_the_busy_power(config: Config, pretraining: Workload) -> None:
    law = stationary_law(pretraining, config.site)
    assert config.site.busy_w == 2486.2
    assert law.time_share @ law.level_w == pytest.approx(2486.2, rel=1e-12)
    assert law.time_share @ law.level_w / config.site.tdp_w == pytest.approx(0.7063, abs=5e-5)


def test_fixed_point_tables_keep_the_stationary_mean(config: Config) -> None:
    """What the kernels run: whole nanowatts, thresholds of 2^-32, whole nanoseconds."""
    for name in workload_names():
        site = load_config({"base": "paper", "node": {"mix": [{"workload": name}]}})
        tables = node_tables(site.node, site.site)
        rows = tables.states[0]
        matrix = np.zeros((5, 5))
        for s, row in enumerate(rows):
            matrix[s, row["first"]] += row["threshold"] / 2**32
            matrix[s, row["second"]] += 1.0 - row["threshold"] / 2**32
        embedded = np.linalg.lstsq(np.vstack([matrix.T - np.eye(5), np.ones(5)]), np.eye(6)[5], rcond=None)[0]
        share = embedded * (rows["shortest"] + 0.5 * rows["width"])
        assert share @ rows["level"] / share.sum() == pytest.approx(tables.means[0], rel=1e-8)


def test_default_levels(config: Config, pretraining: Workload) -> None:
    law = stationary_law(pretraining, config.site)
    assert 0.12 <= law.level_w[AR] / config.site.tdp_w <= 0.13
    assert law.level_w.argmin() == AR
    assert law.level_w.argmax() == PS
    assert law.level_w[PS] > law.level_w[LC] > config.site.busy_w
    assert law.mean_sojourn_s.argmax() == CI
    assert law.embedded[AR] / law.embedded[CI] == pytest.approx(200.0)


def test_low_states_take_a_fifth_of_the_time(config: Config, pretraining: Workload) -> None:
    """The paper's 32 % would leave a mean below 0.64 of TDP even with all other time at the compute mode."""
    law = stationary_law(pretraining, config.site)
    assert law.time_share[[AR, CI]].sum() == pytest.approx(0.19, abs=0.01)
    assert 0.32 * 0.125 + 0.68 * 0.866 < 0.64 < config.site.busy_w / config.site.tdp_w


@pytest.mark.statistical
def test_compute_mode_of_the_histogram(config: Config, hours: xr.Dataset) -> None:
    density, edges = np.histogram(hours["node_power"] / config.site.tdp_w, bins=np.arange(0.0, 1.0, 0.004))
    assert edges[density.argmax()] + 0.002 == pytest.approx(0.866, abs=0.01)


@pytest.mark.statistical
def test_simulated_mean_and_shares(config: Config, pretraining: Workload, hours: xr.Dataset) -> None:
    """Batches of 20 minutes; the mean and five shares within 4.5 standard errors (rate 4e-5)."""
    law = stationary_law(pretraining, config.site)
    state = hours["state"].values.reshape(36, -1)
    found = [hours["node_power"].values.reshape(36, -1).mean(axis=1)]
    found += [(state == s).mean(axis=1) for s in range(5)]
    for batch, expected in zip(found, [law.mean_w, *law.time_share], strict=True):
        assert abs(batch.mean() - expected) < 4.5 * batch.std(ddof=1) / np.sqrt(36)


def test_states_and_power_agree(config: Config, pretraining: Workload) -> None:
    node = hsmdc.simulate_node(config, duration="10min", step="5ms", seed=1, sample="instant")
    law = stationary_law(pretraining, config.site)
    state, power = node["state"].values, node["node_power"].values
    moved = np.flatnonzero(np.diff(state))
    assert all(state[i + 1] in SUCCESSORS[state[i]] for i in moved)
    # Deviations reach 0.04 of the mean, noise 5 standard deviations of 0.0143.
    np.testing.assert_allclose(power, law.level_w[state], rtol=0, atol=(0.04 + 5 * 0.0143) * law.mean_w)


def test_a_longer_node_begins_like_a_shorter_one(config: Config) -> None:
    short = hsmdc.simulate_node(config, duration="10s", step="10ms", seed=0)
    long = hsmdc.simulate_node(config, duration="10min", step="10ms", seed=0)
    for name in ("node_power", "state"):
        np.testing.assert_array_equal(short[name], long[name][:1000])


@pytest.mark.parametrize("step", ["1ms", "7ms", "1s"])
def test_any_step(config: Config, step: str) -> None:
    node = hsmdc.simulate_node(config, duration="7s", step=step)
    assert node["time"].values[1] - node["time"].values[0] == np.timedelta64(
        int(node.attrs["step_s"] * 1e9 + 0.5), "ns"
    )
    assert node["node_power"].attrs["units"] == "W"
    assert np.isfinite(node["node_power"]).all()


def test_seeds_differ_and_zero_is_one_of_them(config: Config) -> None:
    drawn = {float(hsmdc.simulate_node(config, duration="1s", seed=s)["node_power"].sum()) for s in range(5)}
    assert len(drawn) == 5


def test_phases_of_a_job(config: Config) -> None:
    node = hsmdc.simulate_node(config, duration="20min", step="200ms", workload="finetune-lora", phases=True)
    state = node["state"].values
    trained = np.flatnonzero(state >= 0)
    assert 280 < trained[0] * 0.2 < 345
    assert 12 < (len(state) - 1 - trained[-1]) * 0.2 < 18
    power = node["node_power"].values / config.site.tdp_w
    assert power[: 5 * 110].max() < 0.17
    assert power[5 * 20] == pytest.approx(0.155, abs=0.01)
    assert power[-5] == pytest.approx(0.16, abs=0.01)
    assert power[trained].mean() == pytest.approx(0.762, abs=0.01)


@pytest.mark.parametrize(
    ("name", "state", "level"),
    [("checkpoint-heavy", PS, 0.79), ("checkpoint-heavy", CI, 0.21), ("finetune-lora", PS, 0.84)],
)
def test_presets_sit_at_their_measured_levels(config: Config, name: str, state: int, level: float) -> None:
    site = load_config({"base": "paper", "node": {"mix": [{"workload": name}]}})
    law = stationary_law(site.node.mix[0].workload, site.site)
    assert law.level_w[state] / site.site.tdp_w == pytest.approx(level, abs=0.002)


def test_checkpoint_heavy_pauses_as_measured(config: Config) -> None:
    node = hsmdc.simulate_node(config, duration="6h", step="100ms", workload="checkpoint-heavy")
    paused = np.diff((node["state"].values == CI).astype(int), prepend=0)
    begin, end = np.flatnonzero(paused == 1), np.flatnonzero(paused == -1)
    lengths = (end[: len(begin)] - begin[: len(end)]) * 0.1
    assert lengths[1:].min() >= 15.9
    assert lengths[1:].max() <= 17.1
    apart = np.diff(begin) * 0.1
    assert apart.min() > 27
    assert apart.max() < 251


def test_the_file_keeps_the_states(config: Config, tmp_path) -> None:  # type: ignore[no-untyped-def]
    node = hsmdc.simulate_node(config, duration="2s", step="20ms")
    hsmdc.save_trace(node, tmp_path / "node.nc")
    with hsmdc.open_trace(tmp_path / "node.nc") as opened:
        np.testing.assert_array_equal(opened["state"], node["state"])
        assert opened["state"].attrs["flag_meanings"] == "outside ps lc ba ci ar"
        assert opened["state"].attrs["flag_values"].tolist() == [-1, 0, 1, 2, 3, 4]
        assert from_toml(opened.attrs["config"]) == config

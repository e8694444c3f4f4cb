"""The semi-Markov walk against brute force: stationary law, sojourns, entry law, sums of deviations."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from hsmdc.config.node import STATE_NAMES, NodeLayer
from hsmdc.kernels.chain import (
    AR,
    BA,
    CI,
    LC,
    MAX_LANES,
    PS,
    STATE,
    STATES,
    SUCCESSORS,
    UNIT,
    advance,
    deviation,
    embedded_stationary,
    enter,
    path,
    scale_rows,
    time_stationary,
)
from hsmdc.kernels.rng import CHAIN_DEVIATION, entity_key, stream_key

MATRIX = np.array(NodeLayer().mix[0].workload.transitions)
SECOND = 10**9
#: Shortest and longest sojourn of the table below [ms].
SOJOURNS_MS = [(700, 1300), (200, 600), (100, 100), (3000, 5000), (50, 250)]


@pytest.fixture
def table() -> np.ndarray:
    """One workload, levels 1 … 5 W and no deviation, checkpoints often enough to be seen."""
    first = [AR, PS, LC, BA, BA]
    second = [AR, AR, AR, BA, CI]
    chance = [1.0, 0.9, 0.9, 1.0, 0.95]
    rows = np.zeros((1, 5), STATE)
    for s in range(5):
        low, high = SOJOURNS_MS[s]
        rows[0, s] = (
            int(chance[s] * 2**32), first[s], second[s], low * 10**6, (high - low) * 10**6,
            (s + 1) * SECOND, 0, 0,
        )  # fmt: skip
    return rows


def matrix_of(table: np.ndarray) -> np.ndarray:
    matrix = np.zeros((5, 5))
    for s in range(5):
        chance = table[0, s]["threshold"] / 2**32
        matrix[s, table[0, s]["first"]] += chance
        matrix[s, table[0, s]["second"]] += 1.0 - chance
    return matrix


def start_units(table: np.ndarray, count: int, nodes: int = 1, seed: int = 5) -> np.ndarray:
    units = np.zeros(count, UNIT)
    units["nodes"] = nodes
    units["end"] = 2**62
    mean_s = np.array(SOJOURNS_MS).mean(axis=1) * 1e-3
    shares = time_stationary(matrix_of(table), mean_s)[None, :]
    enter(units, np.arange(count), np.zeros(count, np.int64), np.uint64(seed), table, shares)
    return units


def walk(table: np.ndarray, unit: np.void, until_s: float) -> tuple[np.ndarray, ...]:
    rows = np.zeros(5, STATE)
    scale_rows(table[0], unit["nodes"], rows)
    columns = [np.empty(int(40 * until_s) + 100, np.int64) for _ in range(3)]
    count = path(unit, rows, int(until_s * SECOND), *columns)
    return tuple(column[:count] for column in columns)


def test_mask_is_the_paper_s_and_the_configuration_s() -> None:
    allowed = {
        (state, STATES[target])
        for state, targets in zip(STATES, SUCCESSORS, strict=True)
        for target in targets
    }
    assert allowed == {
        ("ps", "ar"), ("ar", "ba"), ("ar", "ci"), ("ba", "lc"), ("ba", "ar"),
        ("lc", "ps"), ("lc", "ar"), ("ci", "ba"),
    }  # fmt: skip
    assert STATE_NAMES == STATES
    assert {(STATES[s], STATES[t]) for s, t in np.argwhere(MATRIX)} <= allowed


def test_embedded_vector_solves_the_balance_and_is_normalised() -> None:
    vector = embedded_stationary(MATRIX)
    np.testing.assert_allclose(vector @ MATRIX, vector, rtol=0, atol=1e-15)
    assert vector.sum() == pytest.approx(1.0, abs=1e-15)


def test_embedded_vector_survives_a_nearly_periodic_chain() -> None:
    cycle = np.zeros((5, 5))
    cycle[PS, AR] = cycle[BA, LC] = cycle[LC, PS] = cycle[CI, BA] = 1.0
    cycle[AR, BA], cycle[AR, CI] = 1.0 - 1e-9, 1e-9
    np.testing.assert_allclose(
        embedded_stationary(cycle), np.array([1, 1, 1, 1e-9, 1]) / (4 + 1e-9), rtol=0, atol=1e-15
    )


@pytest.mark.statistical
def test_stationary_vectors_against_a_brute_force_walk(table: np.ndarray) -> None:
    """A walk of plain Python, drawn independently; ten comparisons at 5 sigma of 40 batches: rate 6e-6."""
    rng = np.random.default_rng(20)
    matrix = matrix_of(table)
    edges = matrix.cumsum(axis=1)
    batches, length = 40, 4000
    visits = np.zeros((batches, 5))
    seconds = np.zeros((batches, 5))
    state = PS
    for batch in range(batches):
        for pick, u in rng.random((length, 2)):
            state = min(int(np.searchsorted(edges[state], pick, side="right")), 4)
            low, high = SOJOURNS_MS[state]
            visits[batch, state] += 1
            seconds[batch, state] += 1e-3 * (low + (high - low) * u)
    mean_s = np.array(SOJOURNS_MS).mean(axis=1) * 1e-3
    for found, expected in (
        (visits / length, embedded_stationary(matrix)),
        (seconds / seconds.sum(axis=1, keepdims=True), time_stationary(matrix, mean_s)),
    ):
        error = found.std(axis=0, ddof=1) / np.sqrt(batches)
        np.testing.assert_array_less(np.abs(found.mean(axis=0) - expected), 5 * error + 1e-12)


def test_path_keeps_to_the_mask_and_the_sojourn_bounds(table: np.ndarray) -> None:
    times, states, levels = walk(table, start_units(table, 1)[0], 120.0)
    assert all(after in SUCCESSORS[before] for before, after in pairwise(states))
    bounds = np.array(SOJOURNS_MS)[states] * 10**6
    lengths = np.diff(times)[1:]
    assert (lengths >= bounds[1:-1, 0]).all()
    assert (lengths <= bounds[1:-1, 1]).all()
    np.testing.assert_array_equal(levels, (states + 1) * SECOND)


def test_advance_stops_where_the_path_is(table: np.ndarray) -> None:
    units = start_units(table, 3)
    times, states, _ = walk(table, units[1], 60.0)
    advance(units, table, 40 * SECOND)
    last = np.searchsorted(times, 40 * SECOND) - 1
    assert units[1]["state"] == states[last]
    assert units[1]["clock"] == times[last + 1]
    assert units[1]["entries"] == last


@pytest.mark.statistical
@pytest.mark.parametrize("at_s", [0.0, 0.05, 3.0, 47.0])
def test_units_are_stationary_from_the_first_moment(table: np.ndarray, at_s: float) -> None:
    """Chi-square of the state met by independent units at four times, rate 1e-4 each."""
    units = start_units(table, 20_000 if at_s <= 3 else 5_000)
    advance(units, table, int(at_s * SECOND) + 1)
    counts = np.bincount(units["state"], minlength=5)
    mean_s = np.array(SOJOURNS_MS).mean(axis=1) * 1e-3
    expected = time_stationary(matrix_of(table), mean_s) * len(units)
    assert stats.chisquare(counts, expected).pvalue > 1e-4


@pytest.mark.statistical
def test_residual_sojourn_follows_the_recurrence_law(table: np.ndarray) -> None:
    """P(residual > x) = E[(S − x)⁺]/E[S] for a uniform sojourn S; Kolmogorov-Smirnov at rate 1e-4."""
    units = start_units(table, 20_000)
    residual = units["clock"][units["state"] == PS] * 1e-9
    low, high = (bound * 1e-3 for bound in SOJOURNS_MS[PS])

    def distribution(x: np.ndarray) -> np.ndarray:
        above = np.where(x < low, 0.5 * (low + high) - x, 0.5 * np.maximum(high - x, 0.0) ** 2 / (high - low))
        return 1.0 - above / (0.5 * (low + high))

    assert stats.kstest(residual, distribution).pvalue > 1e-4


@pytest.mark.statistical
def test_sojourns_are_uniform(table: np.ndarray) -> None:
    times, states, _ = walk(table, start_units(table, 1)[0], 4000.0)
    lengths = np.diff(times)[1:] * 1e-9
    for state in (PS, LC, AR):
        low, high = (bound * 1e-3 for bound in SOJOURNS_MS[state])
        found = lengths[states[1:-1] == state]
        assert stats.kstest(found, stats.uniform(low, high - low).cdf).pvalue > 1e-4


def deviations(lanes: int, count: int) -> np.ndarray:
    """Draws in units of a whole deviation width, centred."""
    key = np.uint64(entity_key(np.uint64(stream_key(np.uint64(3), CHAIN_DEVIATION)), lanes))
    return np.array([deviation(key, i, lanes) for i in range(count)]) / (2 * 65536)


@pytest.mark.statistical
@pytest.mark.parametrize("lanes", [1, 2, 3, 4, 5, 8, 13, 16])
def test_deviation_is_the_exact_sum_of_uniforms(lanes: int) -> None:
    """Kolmogorov-Smirnov against independently drawn sums, rate 1e-4 each."""
    sums = (np.random.default_rng(lanes).random((20_000, lanes)) - 0.5).sum(axis=1)
    assert stats.ks_2samp(deviations(lanes, 20_000), sums).pvalue > 1e-4


def lattice_sum(nodes: int, points: int = 257) -> tuple[np.ndarray, np.ndarray]:
    """Sum of `nodes` centred uniforms on a lattice, scaled to unit variance: support and probabilities."""
    one = np.full(points, 1.0 / points)
    total, power, left = np.ones(1), one, nodes
    while left:
        if left & 1:
            total = np.convolve(total, power)
        left >>= 1
        power = np.convolve(power, power) if left else power
    support = np.arange(len(total)) - 0.5 * (len(total) - 1)
    return support / np.sqrt(nodes * (points**2 - 1) / 12.0), total


@pytest.mark.parametrize("nodes", [17, 32, 64, 256])
def test_scaled_sum_of_many_nodes_keeps_its_stated_bound(nodes: int) -> None:
    exact_x, exact_p = lattice_sum(nodes)
    used_x, used_p = lattice_sum(MAX_LANES)
    grid = np.linspace(-6.0, 6.0, 4001)
    # The middle of each lattice step stands for a continuous distribution function.
    exact = np.interp(grid, exact_x, np.cumsum(exact_p) - 0.5 * exact_p)
    used = np.interp(grid, used_x, np.cumsum(used_p) - 0.5 * used_p)
    assert np.abs(exact - used).max() <= 0.0285 * (1 / MAX_LANES - 1 / nodes)


@pytest.mark.parametrize("nodes", [1, 7, 16, 40, 2840])
def test_rows_scale_mean_by_nodes_and_deviation_by_its_standard_deviation(nodes: int) -> None:
    states = np.zeros(5, STATE)
    states["level"], states["half_lane"], states["noise"] = 10**12, 10**6, 500
    rows = np.zeros(5, STATE)
    scale_rows(states, nodes, rows)
    assert (rows["level"] == nodes * 10**12).all()
    assert (rows["noise"] == nodes * 500).all()
    lanes = min(nodes, MAX_LANES)
    np.testing.assert_allclose(rows["half_lane"] * np.sqrt(lanes), 1e6 * np.sqrt(nodes), rtol=1e-6)

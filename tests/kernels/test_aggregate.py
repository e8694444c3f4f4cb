"""Sums over units on a step grid against integrals and values of their event paths."""

import numpy as np
import pytest

from hsmdc.config import load_config
from hsmdc.kernels.aggregate import deposit, deposit_events, deposit_piece
from hsmdc.kernels.chain import NW_PER_W, RATE_PER_W2, STATE, UNIT, enter, path, scale_rows
from hsmdc.nodes import NodeTables, node_tables

SECOND = 10**9
STEP = SECOND // 10
STEPS = 600
STOP = STEPS * STEP
SIZES = (1, 2, 7, 16, 40)


@pytest.fixture(scope="module")
def tables() -> NodeTables:
    config = load_config("paper")
    return node_tables(config.node, config.site)


@pytest.fixture
def units(tables: NodeTables) -> np.ndarray:
    """Units that run throughout, begin inside, end inside, and begin and end inside one step."""
    made = np.zeros(8, UNIT)
    made["nodes"] = [*SIZES, 3, 4, 5]
    made["begin"] = [0, 0, 0, 0, 0, 17 * SECOND + 12345, 0, 23 * SECOND + 1000]
    made["end"] = [2**62] * 6 + [31 * SECOND + 777, 23 * SECOND + 5000]
    enter(made, np.arange(8), np.zeros(8, np.int64), np.uint64(9), tables.states, tables.shares)
    return made


def run(
    units: np.ndarray, tables: NodeTables, start: int, steps: int, *, instant: bool
) -> tuple[np.ndarray, ...]:
    bins = np.zeros((steps + 1, 2), np.int64)
    expected = np.zeros(steps * STEP // SECOND + 1, np.int64)
    deposit(
        units, tables.states, tables.means, np.zeros(5, STATE), start, start + steps * STEP, STEP, instant,
        bins, SECOND, expected,
    )  # fmt: skip
    total = np.cumsum(bins[:-1], axis=0)
    return total[:, 0], total[:, 1], np.cumsum(expected[:-1])


def events(unit: np.void, tables: NodeTables) -> tuple[np.ndarray, ...]:
    rows = np.zeros(5, STATE)
    scale_rows(tables.states[unit["workload"]], unit["nodes"], rows)
    columns = [np.empty(2000, np.int64) for _ in range(3)]
    count = path(unit, rows, min(STOP, int(unit["end"])), *columns)
    times, states, levels = (column[:count] for column in columns)
    return np.append(times, min(STOP, unit["end"])), states, levels, rows["noise"][states]


def test_step_means_are_the_integrals_of_the_paths(units: np.ndarray, tables: NodeTables) -> None:
    edges = np.arange(STEPS + 1) * STEP
    power, noise = np.zeros(STEPS), np.zeros(STEPS)
    for unit in units:
        times, _, levels, rates = events(unit, tables)
        for values, total in ((levels, power), (rates, noise)):
            area = np.concatenate([[0.0], np.cumsum(values * np.diff(times).astype(float))])
            total += np.diff(np.interp(edges, times, area, left=0.0)) / STEP
    found_power, found_noise, _ = run(units.copy(), tables, 0, STEPS, instant=False)
    np.testing.assert_allclose(found_power / NW_PER_W, power / NW_PER_W, rtol=0, atol=1e-6)
    np.testing.assert_allclose(found_noise / RATE_PER_W2, noise / RATE_PER_W2, rtol=0, atol=1e-3)


def test_energy_of_a_window_is_the_energy_of_its_jobs(units: np.ndarray, tables: NodeTables) -> None:
    job_energy = 0.0
    for unit in units:
        times, _, levels, _ = events(unit, tables)
        job_energy += float(np.sum(levels / NW_PER_W * np.diff(times)))
    power, _, _ = run(units.copy(), tables, 0, STEPS, instant=False)
    assert float((power / NW_PER_W).sum()) * STEP == pytest.approx(job_energy, rel=1e-12)


def test_instants_are_the_values_of_the_paths(units: np.ndarray, tables: NodeTables) -> None:
    labels = np.arange(STEPS) * STEP
    expected = np.zeros(STEPS, np.int64)
    for unit in units:
        times, _, levels, _ = events(unit, tables)
        at = np.searchsorted(times, labels, side="right") - 1
        inside = (at >= 0) & (labels < times[-1])
        expected[inside] += levels[at[inside]]
    power, _, _ = run(units.copy(), tables, 0, STEPS, instant=True)
    np.testing.assert_array_equal(power, expected)


def test_expected_power_counts_the_units_that_run(units: np.ndarray, tables: NodeTables) -> None:
    _, _, expected = run(units.copy(), tables, 0, STEPS, instant=False)
    seconds = np.arange(STEPS // 10 + 1) * SECOND
    held = sum(
        int(unit["nodes"]) * np.diff(np.clip(seconds, unit["begin"], unit["end"])) / SECOND for unit in units
    )
    np.testing.assert_allclose(expected, held * tables.means[0], rtol=0, atol=20)


@pytest.mark.parametrize("instant", [False, True])
def test_any_order_gives_the_same_integers(units: np.ndarray, tables: NodeTables, instant: bool) -> None:
    power, rates, expected = run(units.copy(), tables, 0, STEPS, instant=instant)
    for other in (units[::-1].copy(), units[[3, 0, 7, 5, 1, 6, 2, 4]].copy()):
        for again, once in zip(
            run(other, tables, 0, STEPS, instant=instant), (power, rates, expected), strict=True
        ):
            np.testing.assert_array_equal(again, once)


@pytest.mark.parametrize("instant", [False, True])
def test_a_block_continues_the_one_before(units: np.ndarray, tables: NodeTables, instant: bool) -> None:
    """From another origin the parts of a step round differently: a few of 10¹⁴ nanowatts."""
    whole, rates, _ = run(units.copy(), tables, 0, STEPS, instant=instant)
    first, first_rates, _ = run(units, tables, 0, STEPS // 2, instant=instant)
    alive = units[units["end"] > STOP // 2].copy()
    second, second_rates, _ = run(alive, tables, STOP // 2, STEPS // 2, instant=instant)
    np.testing.assert_allclose(np.concatenate([first, second]), whole, rtol=0, atol=100)
    np.testing.assert_allclose(np.concatenate([first_rates, second_rates]), rates, rtol=0, atol=100)


def test_events_are_exact_means_of_what_is_counted() -> None:
    at = np.array([0, 250, 999, 2000])
    held = np.zeros(5, np.int64)
    deposit_events(at, np.array([4, 8, -8, -4]), 1000, held)
    np.testing.assert_array_equal(np.cumsum(held[:-1]), [4000 + 8 * 749, 4000, 0, 0])


@pytest.mark.parametrize(("begin", "end"), [(-500, 3300), (120, 180), (1000, 2000), (2400, 9000)])
def test_linear_piece_has_its_exact_means_and_instants(begin: int, end: int) -> None:
    def level(t: np.ndarray) -> np.ndarray:
        return 1e9 + (5e9 - 1e9) * (t - begin) / (end - begin)

    fine = np.arange(4000) + 0.5
    inside = (fine > begin) & (fine < end)
    expected = np.where(inside, level(fine), 0.0).reshape(4, 1000).mean(axis=1)
    means, instants = np.zeros(4, np.int64), np.zeros(4, np.int64)
    deposit_piece(means, begin, end, 1e9, 5e9, 1000, False)
    deposit_piece(instants, begin, end, 1e9, 5e9, 1000, True)
    np.testing.assert_allclose(means, expected, rtol=0, atol=1)
    labels = np.arange(4) * 1000
    np.testing.assert_allclose(
        instants, np.where((labels >= begin) & (labels < end), level(labels), 0.0), rtol=0, atol=1
    )

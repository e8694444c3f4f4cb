"""Job tables from plain columns."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hsmdc.errors import InputError
from hsmdc.jobs import BAD_ID, JobTable, wider_than


def test_a_fraction_of_a_node_is_rounded_up() -> None:
    assert JobTable.from_arrays([0, 1, 2], [0.1, 1.0, 1.01], [1, 1, 1]).nodes.tolist() == [1, 1, 2]


def test_columns_of_different_lengths_are_refused() -> None:
    with pytest.raises(InputError, match="2 arrivals, 1 node counts, 2 durations, 2 ids"):
        JobTable.from_arrays([0, 1], [1], [1, 1])


@pytest.mark.parametrize("column", [[["1"]], ["a"], 3])
def test_columns_are_one_dimensional_numbers(column: object) -> None:
    with pytest.raises(InputError, match="one-dimensional numbers"):
        JobTable.from_arrays(column, [1], [1])


@pytest.mark.parametrize(
    ("column", "rule"), [("nodes", wider_than(2840)), ("id", BAD_ID)], ids=["nodes", "id"]
)
@pytest.mark.parametrize("value", [2.0**60, 1e300])
def test_numbers_beyond_64_bits_are_counted_and_never_wrap(column: str, rule: str, value: float) -> None:
    columns = {name: [1.0, 1.0] for name in ("arrival_s", "nodes", "duration_s")} | {"id": [1.0, 2.0]}
    table = JobTable.from_arrays(**columns | {column: [value, 3.0]}).for_cluster(2840)
    assert table.rejected == {rule: 1}
    assert len(table) == 1


@pytest.mark.parametrize("missing", [np.nan, np.inf, -np.inf])
def test_a_missing_id_is_counted(missing: float) -> None:
    assert JobTable.from_arrays([0, 1], [1, 1], [5, 5], [missing, 7]).rejected == {BAD_ID: 1}


def test_a_report_of_one_job_is_singular() -> None:
    table = JobTable.from_arrays([0], [5], [1]).for_cluster(4)
    assert table.rejection_report() == "rejected: 1 job wider than 4 nodes"
    assert JobTable.from_arrays([0], [5], [1]).rejection_report() == ""


value = st.one_of(st.integers(-2, 6), st.just(float("nan")), st.just(float("inf")))


@settings(deadline=None)
@given(st.lists(st.tuples(value, value, value, st.integers(1, 5)), max_size=30), st.integers(1, 6))
def test_every_job_is_kept_or_counted_and_what_is_kept_obeys_the_rules(
    rows: list[tuple[float, float, float, int]], total_nodes: int
) -> None:
    columns = np.array(rows, dtype=float).reshape(-1, 4).T
    table = JobTable.from_arrays(*columns).for_cluster(total_nodes)
    assert len(table) + sum(table.rejected.values()) == len(rows)
    assert (table.duration_s > 0).all()
    assert (table.arrival_s >= 0).all()
    assert ((table.nodes >= 1) & (table.nodes <= total_nodes)).all()
    assert len(set(table.id.tolist())) == len(table)
    assert (np.diff(table.arrival_s) >= 0).all()

"""Dispatch: the compact formulation beside the paper's graph, presolve off beside on, proof beside heuristic.

Run with `pytest benchmarks/test_dispatch.py`; groups put a baseline beside each figure. One solver thread.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from hsmdc.dispatch import load_case, run_scenarios, solve
from hsmdc.dispatch.case import Case
from hsmdc.dispatch.graph import build_graph
from hsmdc.dispatch.planner import task_models
from hsmdc.dispatch.scenarios import SCENARIOS


@pytest.fixture(scope="module")
def case() -> Case:
    return load_case("aidc-2048")


@pytest.mark.benchmark(group="dispatch: S4 to 1e-5")
@pytest.mark.parametrize("formulation", ["compact", "full"])
def test_formulation(benchmark: Any, case: Case, formulation: str) -> None:
    schedule = benchmark.pedantic(solve, (case, "S4"), {"formulation": formulation}, rounds=1)
    benchmark.extra_info["columns"] = schedule.attrs["solver_columns"]
    assert float(schedule.cost_usd) == pytest.approx(378.3536, abs=0.01)


@pytest.mark.benchmark(group="dispatch: S4 to 1e-5")
def test_heuristic(benchmark: Any, case: Case) -> None:
    schedule = benchmark.pedantic(solve, (case, "S4"), {"method": "heuristic"}, rounds=3)
    assert float(schedule.cost_usd) == pytest.approx(378.3536, abs=0.01)


@pytest.mark.benchmark(group="dispatch: all six scenarios")
def test_all_scenarios(benchmark: Any, case: Case) -> None:
    table = benchmark.pedantic(run_scenarios, (case,), rounds=1)
    assert float(table["gap"].max()) <= 5e-4


@pytest.mark.benchmark(group="dispatch: 15-minute slots, S6")
@pytest.mark.parametrize("method", ["milp", "heuristic"])
def test_quarter_hours(benchmark: Any, case: Case, method: str) -> None:
    fine = case.with_slot_h(0.25)
    schedule = benchmark.pedantic(
        solve, (fine, "S6"), {"method": method, "gap": 2e-3, "time_limit_s": 300}, rounds=1
    )
    benchmark.extra_info["gap"] = float(schedule.gap)
    assert 375 < float(schedule.cost_usd) < 379


@pytest.mark.benchmark(group="dispatch: graph construction, 96 slots, all edges")
@pytest.mark.parametrize("progress", [False, True], ids=["compact", "full"])
def test_graph(benchmark: Any, case: Case, progress: bool) -> None:
    fine = case.with_slot_h(0.25).replace(graph={"edges": "all"})
    model = task_models(fine, SCENARIOS["S4"])[1]
    graph = benchmark(build_graph, model, progress=progress)
    benchmark.extra_info["edges"] = len(graph.tail)


@contextmanager
def presolve(setting: str) -> Iterator[None]:
    """Solve with another setting of presolve, for the comparison only."""
    from highspy import _core

    original = _core._Highs.setOptionValue

    def override(self: Any, name: str, value: Any) -> Any:
        return original(self, name, setting if name == "presolve" else value)

    _core._Highs.setOptionValue = override
    try:
        yield
    finally:
        _core._Highs.setOptionValue = original


@pytest.mark.benchmark(group="dispatch: S6, all edges, to 1e-4")
@pytest.mark.parametrize("setting", ["off", "on"])
def test_presolve(benchmark: Any, case: Case, setting: str) -> None:
    with presolve(setting):
        exact = case.replace(graph={"edges": "all"})
        schedule = benchmark.pedantic(solve, (exact, "S6"), {"gap": 1e-4}, rounds=1)
    assert float(schedule.cost_usd) == pytest.approx(377.79, abs=0.04)

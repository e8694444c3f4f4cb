"""Formulations against each other and against enumeration, on small random cases.

The oracle below shares no code with the graphs: it walks every execution of a tiny case by recursion and costs it by
hand.
"""

import itertools
import math
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from hsmdc.dispatch import SCENARIOS, effective_modes, solve
from hsmdc.dispatch.case import Case, Task
from hsmdc.dispatch.model import build_model, inference_load
from hsmdc.dispatch.planner import battery_of, task_models
from hsmdc.dispatch.solver import Options
from hsmdc.dispatch.workload import tranche
from hsmdc.errors import SolverError

Load = tuple[tuple[float, ...], tuple[float, ...]]


def executions(case: Case, task: Task) -> set[Load]:
    """(GPUs, IT kW) per slot of every path of a task that ends in time."""
    modes = effective_modes(case, task)
    shapes = list(zip(modes["pipeline"], modes["tensor"], modes["gpus"], modes["pace"], strict=True))
    segment = tranche(case, task).segment_gpu_hours
    found: set[Load] = set()

    def extend(
        slot: int, done: int, last: tuple[int, int] | None, gpus: list[float], kw: list[float]
    ) -> None:
        if slot == case.slots:
            if done == task.segments:
                found.add((tuple(gpus), tuple(kw)))
            return
        extend(slot + 1, done, last, [*gpus, 0.0], [*kw, 0.0])
        for p, q, n, pace in shapes:
            if case.graph.transitions == "data-only" and last not in (None, (p, q)):
                continue
            for dk in range(1, task.segments - done + 1):
                hours = dk * segment / pace
                length = math.ceil(hours - 1e-9)
                if slot + length > case.slots:
                    break
                power = [n * case.site.gpu_power_kw * min(1.0, hours - i) for i in range(length)]
                extend(slot + length, done + dk, (p, q), [*gpus, *[float(n)] * length], [*kw, *power])

    extend(0, 0, None, [], [])
    return found


def power_cost(case: Case, it_kw: np.ndarray) -> float:
    """Cost without a battery: in each slot the cheaper of curtailing the surplus alone or everything."""
    total = 0.0
    for slot in range(case.slots):
        load = case.pue[slot] * (case.base_it_kw[slot] + it_kw[slot])
        renewable, price = case.renewable_kw[slot], case.price_usd_per_kwh[slot]
        least = max(renewable - load, 0.0)
        penalty = case.site.curtailment_usd_per_mwh / 1e3
        options = [price * (load - renewable + cut) + penalty * cut for cut in (least, renewable)]
        total += min(options) * case.horizon.slot_h
    return total


def joint_loads(case: Case) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """GPUs and IT kW per slot of every combination of executions within the pool."""
    for combination in itertools.product(*(executions(case, task) for task in case.task)):
        gpus, it_kw = np.sum(combination, axis=0)
        if gpus.max() <= case.site.gpu_total:
            yield gpus, it_kw


def cheapest(case: Case) -> float:
    """The optimum of S4 by enumeration; infinite if there is no execution."""
    idle = case.site.idle_gpu_usd_per_h * case.horizon.slot_h
    return min(
        (
            power_cost(case, it_kw) + idle * (case.site.gpu_total - gpus).sum()
            for gpus, it_kw in joint_loads(case)
        ),
        default=math.inf,
    )


def cost_or_inf(case: Case, scenario: str = "S4", **options: object) -> float:
    """Optimal cost, or infinity where the solver proves that there is no schedule."""
    try:
        return float(solve(case, scenario, gap=0.0, **options).cost_usd)
    except SolverError as error:
        if "cannot be met" in str(error):
            return math.inf
        raise


def optimum(case: Case, scenario: str, *, full_graph: bool) -> float:
    """The solver's optimum of one formulation, with nothing around it; infinity where it proves there is none."""
    chosen = SCENARIOS[scenario]
    model = build_model(
        case,
        task_models(case, chosen),
        battery=battery_of(case, chosen),
        fixed=inference_load(case),
        full_graph=full_graph,
    )
    outcome = model.problem.solve(Options(gap=0.0))
    assert outcome.status in ("optimal", "infeasible")
    return outcome.objective if outcome.status == "optimal" else math.inf


@pytest.mark.parametrize("transitions", ["any", "data-only"])
@pytest.mark.parametrize("block", range(10))
def test_compact_and_full_graphs_agree(small_case: Callable[..., Case], block: int, transitions: str) -> None:
    """200 random cases with all edges, 100 of them again with restricted transitions; every other with a battery."""
    count = 20 if transitions == "any" else 10
    for seed in range(20 * block, 20 * block + count):
        graph = {"edges": "all", "transitions": transitions}
        case = small_case(seed, slots=4 + seed % 2, segments=2 + seed % 2, graph=graph)
        scenario = "S6" if seed % 4 < 2 else "S4"
        compact = optimum(case, scenario, full_graph=False)
        full = optimum(case, scenario, full_graph=True)
        assert compact == pytest.approx(full, rel=1e-6, abs=1e-7), f"seed {seed}"


@pytest.mark.parametrize("transitions", ["any", "data-only"])
@pytest.mark.parametrize("seed", range(12))
def test_optimum_is_that_of_enumeration(small_case: Callable[..., Case], seed: int, transitions: str) -> None:
    case = small_case(seed, slots=5, segments=2, graph={"edges": "all", "transitions": transitions})
    assert cost_or_inf(case) == pytest.approx(cheapest(case), rel=1e-6, abs=1e-7)
    assert cost_or_inf(case, formulation="full") == pytest.approx(cheapest(case), rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("seed", range(12, 18))
def test_worth_of_idle_gpus_by_enumeration(small_case: Callable[..., Case], seed: int) -> None:
    case = small_case(seed, slots=5, segments=2).replace(site={"idle_gpu_usd_per_h": 0.02})
    assert cost_or_inf(case) == pytest.approx(cheapest(case), rel=1e-6, abs=1e-7)


def test_enumeration_sees_feasible_and_infeasible_cases(small_case: Callable[..., Case]) -> None:
    """The twelve cases above are no trivial sample."""
    costs = [cheapest(small_case(seed, slots=5, segments=2)) for seed in range(12)]
    assert sum(math.isfinite(cost) for cost in costs) >= 8


@pytest.mark.parametrize("seed", range(100, 130))
def test_all_edges_never_cost_more_than_pruned(small_case: Callable[..., Case], seed: int) -> None:
    case = small_case(seed)
    every = cost_or_inf(case, "S6")
    pruned = cost_or_inf(case.replace(graph={"edges": "pruned"}), "S6")
    assert every <= pruned + 1e-7


def test_heuristic_never_beats_the_optimum_and_seldom_finds_nothing(small_case: Callable[..., Case]) -> None:
    feasible = found = 0
    for seed in range(200, 230):
        case = small_case(seed)
        best = cost_or_inf(case, "S6")
        quick = cost_or_inf(case, "S6", method="heuristic", seed=seed)
        assert quick >= best - 1e-7, f"seed {seed}"
        feasible += math.isfinite(best)
        found += math.isfinite(quick)
    assert feasible >= 20
    assert found >= 0.8 * feasible


def test_heuristic_reaches_the_optimum_of_the_published_case(
    aidc: Case, schedules: dict[str, object]
) -> None:
    found = solve(aidc, "S4", method="heuristic")
    assert float(found.cost_usd) == pytest.approx(float(schedules["S4"].cost_usd), abs=1e-6)
    assert math.isinf(float(found.gap))


def test_single_task_heuristic_is_exact(small_case: Callable[..., Case]) -> None:
    """With one task and no battery the heuristic is one shortest path, hence the optimum."""
    for seed in range(300, 315):
        case = small_case(seed, tasks=1)
        best = cost_or_inf(case)
        if math.isfinite(best):
            assert float(solve(case, "S4", method="heuristic").cost_usd) == pytest.approx(
                best, rel=1e-6, abs=1e-7
            )


def test_same_seed_gives_the_same_schedule(aidc: Case, schedules: dict[str, object]) -> None:
    again = solve(aidc, "S6")
    for name in again.data_vars:
        if name != "solve_s":
            assert again[name].equals(schedules["S6"][name]), name


def test_thread_count_may_change_between_solves(small_case: Callable[..., Case]) -> None:
    """HiGHS keeps one thread pool per process; a solve with another count once returned nothing."""
    case = small_case(0)
    costs = [float(solve(case, "S6", gap=0.0, threads=threads).cost_usd) for threads in (1, 2, 1, 2)]
    assert costs == pytest.approx([costs[0]] * 4, rel=1e-6)

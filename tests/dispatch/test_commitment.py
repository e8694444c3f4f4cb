"""The closed loop: trace → plan → jobs → executed day, at one minute and at 100 ms."""

import numpy as np
import pytest
import xarray as xr

import hsmdc
from hsmdc.dispatch import commit, compare_execution, solve
from hsmdc.dispatch.case import Case
from hsmdc.dispatch.figures import execution_figure
from hsmdc.errors import InputError

DAY = "2018-07-04"


@pytest.fixture(scope="module")
def trace() -> xr.Dataset:
    return hsmdc.simulate(
        hsmdc.load_config("paper"), utilization=0.6, start="2018-07-03", duration="3D", seed=1
    )


@pytest.fixture(scope="module")
def plan(aidc: Case, trace: xr.Dataset) -> xr.Dataset:
    return solve(aidc, "S6", trace=trace, day=DAY)


@pytest.fixture(scope="module")
def executed(plan: xr.Dataset, trace: xr.Dataset) -> xr.Dataset:
    return hsmdc.simulate(
        hsmdc.load_config("paper"), jobs=commit(plan, trace), start=DAY, duration="1D", seed=1
    )


def test_jobs_are_the_runs(plan: xr.Dataset, trace: xr.Dataset) -> None:
    jobs = commit(plan, trace)
    assert len(jobs) == plan.sizes["run"]
    assert jobs.epoch == np.datetime64(DAY)
    node_hours = float((jobs.nodes * jobs.duration_s).sum()) / 3600
    gpu_hours = float((plan["run_gpus"] * plan["run_used_slots"]).sum())
    assert node_hours == pytest.approx(gpu_hours / 4)
    assert jobs.nodes.max() <= 512


def test_gpu_power_is_that_of_the_traces_nodes(plan: xr.Dataset) -> None:
    """(2486.2 − 421.8) W over four GPUs."""
    kw = plan["run_gpus"][0].item() * (2486.2 - 421.8) / 4 / 1e3
    task, slot = int(plan["run_task"][0]), int(plan["run_start_slot"][0])
    assert plan["task_power_kw"].to_numpy()[task, slot] == pytest.approx(
        kw * min(1, float(plan["run_used_slots"][0]))
    )


def test_executed_energy_is_the_plans(plan: xr.Dataset, executed: xr.Dataset) -> None:
    compared = compare_execution(plan, executed)
    assert abs(float(compared["energy_error"])) < 0.01
    assert float(compared["planned_mwh"]) > 1
    # In every slot too: what differs is at most a second's rounding of each job.
    error = compared["executed_power_kw"] - compared["planned_power_kw"]
    assert float(np.abs(error).max()) < 0.01 * float(compared["planned_power_kw"].max())


def test_execution_stays_within_the_pool(plan: xr.Dataset, executed: xr.Dataset, aidc: Case) -> None:
    assert float(executed["busy_nodes"].max()) * 4 <= aidc.site.gpu_total
    compared = compare_execution(plan, executed)
    assert (compared["executed_gpus"] <= compared["planned_gpus"] + 1e-6).all()


def test_no_job_waits(executed: xr.Dataset) -> None:
    assert (executed["job_start"] - executed["job_arrival"]).max().item() <= 1.0


def test_start_of_the_simulation_does_not_matter(plan: xr.Dataset, trace: xr.Dataset) -> None:
    longer = hsmdc.simulate(
        hsmdc.load_config("paper"), jobs=commit(plan, trace), start="2018-07-03", duration="2D"
    )
    assert abs(float(compare_execution(plan, longer)["energy_error"])) < 0.01


def test_window_at_100_ms(executed: xr.Dataset) -> None:
    """The dispatched day, resolved: the same jobs, on average the power of the minutes (phases wander: 5 %)."""
    window = hsmdc.resolve(executed, start=f"{DAY}T14:00", duration="10min", step="100ms")
    assert window.sizes["time"] == 6000
    minutes = executed["it_power"].sel(time=slice(f"{DAY}T14:00", f"{DAY}T14:09"))
    assert float(window["it_power"].mean()) == pytest.approx(float(minutes.mean()), rel=0.05)


def test_plan_and_execution_in_one_figure(plan: xr.Dataset, executed: xr.Dataset) -> None:
    window = hsmdc.resolve(executed, start=f"{DAY}T14:00", duration="1min", step="100ms")
    figure = execution_figure(plan, executed, window)
    assert [axes.get_ylabel() for axes in figure.axes] == ["training power [kW]", "facility IT power [MW]"]
    assert len(figure.axes[0].lines[0].get_xdata()) == 1440


@pytest.mark.parametrize("rule", ["full", "average", "last"])
def test_every_rule_of_the_last_slot_executes_its_energy(aidc: Case, trace: xr.Dataset, rule: str) -> None:
    plan = solve(aidc.replace(graph={"partial_slot": rule}), "S4", trace=trace, day=DAY, method="heuristic")
    day = hsmdc.simulate(hsmdc.load_config("paper"), jobs=commit(plan, trace), start=DAY, duration="1D")
    assert abs(float(compare_execution(plan, day)["energy_error"])) < 0.01


def test_plan_without_a_trace_counts_from_its_first_slot(
    schedules: dict[str, xr.Dataset], trace: xr.Dataset
) -> None:
    assert commit(schedules["S6"]).epoch is None
    assert commit(schedules["S6"], trace).epoch == np.datetime64("2018-07-03")


def test_refusals(schedules: dict[str, xr.Dataset], trace: xr.Dataset, plan: xr.Dataset) -> None:
    with pytest.raises(InputError, match="S3 is an idealised benchmark"):
        commit(schedules["S3"])
    with pytest.raises(
        InputError, match=r"holds \d+ nodes in slot \d+, but the facility of the trace has 2840"
    ):
        commit(schedules["S6"].assign(run_gpus=schedules["S6"]["run_gpus"] * 10), trace)
    with pytest.raises(InputError, match="does not cover the plan"):
        compare_execution(plan, trace.isel(time=slice(0, 1500)))

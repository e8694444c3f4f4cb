"""Energy adds up: windows against event-level job energy, and against the minutes of the trace."""

import numpy as np
import pytest
import xarray as xr

import hsmdc
from hsmdc.config import Config
from hsmdc.nodes import node_tables
from hsmdc.transient.blocks import make_units, placed_jobs
from hsmdc.transient.onenode import unit_path


def event_energy_j(trace: xr.Dataset, config: Config, seconds: float, *, per_node: bool) -> float:
    """Energy of all nodes without noise, from each unit's list of events."""
    tables = node_tables(config.node, config.site)._replace(per_node=per_node)
    nodes = trace["job_nodes"].values
    jobs = placed_jobs(trace["job_start"].values, trace["job_end"].values, nodes, np.zeros_like(nodes))
    seed = int(trace.attrs["seed"])
    total = config.site.nodes * config.site.idle_w * seconds
    for unit in make_units(jobs.records(slice(None), tables.phases, seed), tables, seed):
        until = min(int(unit["end"]), round(seconds * 1e9))
        if until <= max(int(unit["begin"]), 0):
            continue
        times, _, levels = unit_path(unit, tables, until)
        edges = np.maximum(np.append(times, until), 0)
        total += float(np.sum(levels * 1e-9 * (np.diff(edges) * 1e-9)))
    return total


@pytest.fixture(scope="module")
def silent(small_trace: xr.Dataset, config: Config) -> tuple[xr.Dataset, Config]:
    """The small trace with its noise turned off, so that events alone make the power."""
    workload = config.node.mix[0].workload
    quiet = {
        n: getattr(workload, n).model_copy(update={"noise": 0.0}) for n in ("ps", "lc", "ba", "ci", "ar")
    }
    mix = (config.node.mix[0].model_copy(update={"workload": workload.model_copy(update=quiet)}),)
    config = config.model_copy(update={"node": config.node.model_copy(update={"mix": mix})})
    from hsmdc.config import to_toml

    return small_trace.assign_attrs(config=to_toml(config)), config


@pytest.mark.parametrize("synchrony", ["job", "node"])
@pytest.mark.parametrize("step", ["100ms", "1s", "60s"])
def test_integral_is_the_energy_of_the_jobs(
    silent: tuple[xr.Dataset, Config], synchrony: str, step: str
) -> None:
    trace, config = silent
    window = hsmdc.resolve(trace, step=step, duration="1h", synchrony=synchrony, minutes="free")
    joule = float(window["it_power"].sum()) * 1e6 * window.attrs["step_s"]
    expected = event_energy_j(trace, config, 3600.0, per_node=synchrony == "node")
    assert joule == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("synchrony", ["job", "node"])
def test_bound_minutes_are_those_of_the_trace(small_trace: xr.Dataset, synchrony: str) -> None:
    window = hsmdc.resolve(small_trace, step="100ms", synchrony=synchrony, minutes="trace")
    minutes = window.coarsen(time=600).mean()
    for name in ("it_power", "hvac_power", "chiller_power", "auxiliary_power", "facility_power"):
        np.testing.assert_allclose(minutes[name], small_trace[name], rtol=1e-12, err_msg=name)
    np.testing.assert_allclose(minutes["busy_nodes"], small_trace["busy_nodes"], rtol=0, atol=1e-9)


def test_the_slow_part_does_not_jump_at_minutes(silent: tuple[xr.Dataset, Config]) -> None:
    """Bound less free is the slow part: it moves by less in a step than its minutes differ by in 60."""
    trace, _ = silent
    bound, free = (
        hsmdc.resolve(trace, step="100ms", duration="1h", minutes=m)["it_power"].values
        for m in ("trace", "free")
    )
    slow = bound - free
    assert np.abs(np.diff(slow)).max() < 0.02 * np.ptp(slow)

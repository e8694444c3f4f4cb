"""Workloads by job class, and job phases inside a facility."""

import numpy as np
import pytest

import hsmdc
from hsmdc.config import load_config
from hsmdc.nodes import workload_of_jobs


@pytest.mark.statistical
def test_shares_and_size_ranges() -> None:
    """Two classes share the small jobs one to three, one takes the large; binomial at 4.5 sigma (7e-6)."""
    site = load_config(
        {"base": "paper", "node": {"mix": [
            {"workload": "pretraining", "share": 1.0, "largest": 16},
            {"workload": "finetune-lora", "share": 3.0, "largest": 16},
            {"workload": "checkpoint-heavy", "smallest": 17},
        ]}}
    )  # fmt: skip
    nodes = np.tile([1, 16, 17, 256], 5000)
    chosen = workload_of_jobs(site.node, nodes, 3)
    assert (chosen[nodes > 16] == 2).all()
    small = chosen[nodes <= 16]
    assert set(small) == {0, 1}
    assert abs(np.mean(small == 1) - 0.75) < 4.5 * np.sqrt(0.75 * 0.25 / small.size)


def test_a_job_keeps_its_class_when_others_are_added() -> None:
    site = load_config(
        {"base": "paper", "node": {"mix": [{"workload": "pretraining"}, {"workload": "checkpoint-heavy"}]}}
    )
    many = workload_of_jobs(site.node, np.full(500, 4), 3)
    np.testing.assert_array_equal(workload_of_jobs(site.node, np.full(100, 4), 3), many[:100])


def test_phases_lower_the_first_minutes_of_a_job(make_trace) -> None:  # type: ignore[no-untyped-def]
    site = load_config({"base": "paper", "node": {"mix": [{"workload": "finetune-lora"}]}})
    trace = make_trace([(600.0, 3000.0, 100)], 60, config=site)
    power = hsmdc.resolve(trace, step="1s")["it_power"].values
    idle = site.site.nodes * site.site.idle_w * 1e-6
    per_node = (power - idle) * 1e6 / 100 / site.site.tdp_w + site.site.idle_w / site.site.tdp_w
    assert per_node[610:700] == pytest.approx(0.1552, abs=1e-6)
    assert per_node[:600] == pytest.approx(site.site.idle_w / site.site.tdp_w, abs=1e-6)
    assert per_node[1000:2900].mean() == pytest.approx(0.762, abs=0.02)
    assert per_node[2997] == pytest.approx(0.1608, abs=1e-6)
    assert per_node[3001] == pytest.approx(site.site.idle_w / site.site.tdp_w, abs=1e-6)


def test_phases_are_slices_too(make_trace) -> None:  # type: ignore[no-untyped-def]
    site = load_config(
        {"base": "paper", "node": {"mix": [{"workload": "finetune-lora"}, {"workload": "pretraining"}]}}
    )
    jobs = [(60.0 * i, 60.0 * i + 1500.0, 1 + i) for i in range(20)]
    trace = make_trace(jobs, 60, config=site)
    whole = hsmdc.resolve(trace, step="100ms")["it_power"].values
    for synchrony in ("job", "node"):
        part = hsmdc.resolve(
            trace, start="2018-07-04T00:31:07", duration="10min", synchrony=synchrony, threads=2
        )["it_power"].values
        same = np.array_equal(part, whole[18670 : 18670 + 6000])
        assert same is (synchrony == "job")

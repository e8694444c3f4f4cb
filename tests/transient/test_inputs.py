"""What cannot be resolved says so, and says how to mend it."""

from collections.abc import Callable

import numpy as np
import pytest
import xarray as xr

import hsmdc
from hsmdc.config import Config, load_config
from hsmdc.errors import ConfigError, InputError
from hsmdc.transient.window import check_memory


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"step": "0.5ms"}, "must be 1ms or more"),
        ({"step": "5min"}, "longer than the trace's own step of 60 s"),
        ({"step": "7s"}, "does not divide the trace's step of 60 s; the next shorter that does is 6s"),
        ({"step": "10s", "duration": "1s"}, "shorter than one step of 10 s"),
        ({"step": "1s", "duration": "1500ms"}, "not a whole number of steps"),
        ({"start": "2018-07-03T23:59"}, "outside the trace, which runs from 2018-07-04T00:00:00 to"),
        ({"start": "2018-07-04T02:00"}, "outside the trace"),
        ({"start": "2018-07-04T01:30", "duration": "1h"}, "outside the trace"),
        ({"start": "2018-07-04T00:00:00.05"}, "not on the grid of 100ms steps"),
        ({"start": "yesterday-ish"}, "not a date and time"),
        ({"synchrony": "rack"}, "synchrony = 'rack': must be one of job, node"),
        ({"sample": "max"}, "must be one of mean, instant"),
        ({"minutes": "hours"}, "must be one of auto, trace, free"),
        ({"threads": 0}, "must be a whole number, 1 or more"),
        ({"threads": 1.5}, "must be a whole number, 1 or more"),
        ({"step": 0.1}, "step = 0.1 is not a span of time"),
        ({"step": "100"}, "step = '100' is not a span of time"),
        ({"duration": 3600}, "duration = 3600 is not a span of time"),
    ],
)
def test_a_wrong_window(small_trace: xr.Dataset, arguments: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        hsmdc.resolve(small_trace, **arguments)  # type: ignore[arg-type]


def test_a_wrong_chunk(small_trace: xr.Dataset) -> None:
    with pytest.raises(InputError, match="chunk = 10ms: shorter than one step"):
        list(hsmdc.stream(small_trace, chunk="10ms"))


def test_a_trace_without_jobs_says_how_to_get_them(small_trace: xr.Dataset) -> None:
    with pytest.raises(InputError, match=r"no job table .* save it with its jobs"):
        hsmdc.resolve(small_trace.drop_dims("job"))


def test_a_trace_cut_in_time_is_refused(small_trace: xr.Dataset) -> None:
    with pytest.raises(InputError, match="job table does not belong to this trace"):
        hsmdc.resolve(small_trace.isel(time=slice(30, 90)))


def with_value(name: str, place: int, value: float) -> Callable[[xr.Dataset], xr.Dataset]:
    def damage(trace: xr.Dataset) -> xr.Dataset:
        values = trace[name].values.astype(float)
        values[place] = value
        return trace.assign({name: (trace[name].dims, values)})

    return damage


def with_attribute(name: str, value: object) -> Callable[[xr.Dataset], xr.Dataset]:
    return lambda trace: trace.assign_attrs({name: value})


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (with_value("it_power", 3, np.nan), "it_power is missing or infinite in 1 steps, first at 2018-07-04T00:03"),
        (with_value("it_power", 70, np.inf), "it_power is missing or infinite"),
        (with_value("busy_nodes", 5, np.nan), "busy_nodes is missing or infinite"),
        (with_value("ambient_temperature", 119, np.nan), "ambient_temperature is missing or infinite"),
        (with_value("job_nodes", 2, np.nan), "job_nodes is not a number of nodes for 1 jobs, first job 2: nan"),
        (with_value("job_nodes", 4, 0), "job_nodes is not a number of nodes"),
        (with_attribute("seed", "seven"), "attribute seed = 'seven': not a whole number"),
        (with_attribute("seed", -1), "whole number from 0"),
        (with_attribute("step_s", "minute"), "attribute step_s = 'minute': not a number above 0"),
        (with_attribute("step_s", 0.0), "attribute step_s = 0.0: not a number above 0"),
        (with_attribute("step_s", 1.0), "labels are not in steps of step_s = 1.0 s after 2018-07-04T00:00"),
        (lambda trace: trace.isel(time=slice(0, None, 2)), "labels are not in steps"),
        (lambda trace: trace.isel(time=[*range(50), *range(60, 120)]), "not in steps .* after 2018-07-04T00:49"),
        (lambda trace: trace.isel(time=slice(None, None, -1)), "labels are not in steps"),
        (lambda trace: trace.isel(time=slice(0, 0)), "no steps"),
        (lambda trace: hsmdc.resolve(trace, step="1s"), "a resolved window already"),
        (lambda trace: trace["it_power"], "a trace is an xarray.Dataset, not DataArray"),
        (lambda trace: "year.nc", "not str; read a file with hsmdc.open_trace"),
    ],
)  # fmt: skip
def test_a_damaged_trace(
    small_trace: xr.Dataset, damage: Callable[[xr.Dataset], xr.Dataset], words: str
) -> None:
    with pytest.raises(InputError, match=words):
        hsmdc.resolve(damage(small_trace), start="2018-07-04T01:00", duration="1min")


def test_a_trace_that_lost_its_end_is_still_resolved(small_trace: xr.Dataset) -> None:
    whole = hsmdc.resolve(small_trace, duration="30min", step="1s")
    short = hsmdc.resolve(small_trace.isel(time=slice(0, 90)), duration="30min", step="1s")
    xr.testing.assert_equal(whole, short)


def test_more_than_memory_is_refused_before_it_is_taken(small_trace: xr.Dataset, config: Config) -> None:
    check_memory(1000, 144, "shorten it")
    with pytest.raises(InputError, match=r"steps need .* GB of memory, and there are \d+; shorten it"):
        check_memory(10**15, 144, "shorten it")
    with pytest.raises(InputError, match="GB of memory"):
        hsmdc.simulate_node(config, duration="36500D", step="1ms")


def test_a_trace_without_series_or_attributes(small_trace: xr.Dataset) -> None:
    with pytest.raises(InputError, match="lacks busy_nodes"):
        hsmdc.resolve(small_trace.drop_vars("busy_nodes"))
    bare = small_trace.copy()
    bare.attrs = {"step_s": 60.0, "seed": "1"}
    with pytest.raises(InputError, match="lacks the attribute config"):
        hsmdc.resolve(bare)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"step": "0.1ms"}, "must be 1ms or more"),
        ({"step": "2s", "duration": "1s"}, "shorter than one step"),
        ({"workload": "mining"}, "no workload 'mining'; there are: .*pretraining"),
        ({"sample": "max"}, "must be mean or instant"),
    ],
)
def test_a_wrong_node(config: Config, arguments: dict[str, str], words: str) -> None:
    with pytest.raises(InputError, match=words):
        hsmdc.simulate_node(config, **arguments)  # type: ignore[arg-type]


def with_workload(**changes: object) -> dict[str, object]:
    return {"base": "paper", "node": {"mix": [{"workload": {"base": "pretraining", **changes}}]}}


ROWS = [[0, 0, 0, 0, 1], [0.9, 0, 0, 0, 0.1], [0, 0.9, 0, 0, 0.1], [0, 0, 1, 0, 0], [0, 0, 0.995, 0.005, 0]]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"transitions": [[0, 0, 0.5, 0, 0.5], *ROWS[1:]]},
            "ps → ba = 0.5 breaks the mask; ps may lead to ar only",
        ),
        ({"transitions": [[0, 0, 0, 0, 0.9], *ROWS[1:]]}, "row ps sums to 0.9; it must sum to 1"),
        ({"transitions": ROWS[:4]}, "transitions has 4 entries"),
        ({"ar": {"sojourn_s": [0.5, 0.2]}}, "the first value is the smaller one; swap them"),
        ({"ar": {"deviation": [0.9, 0.8]}}, "the first value is the smaller one; swap them"),
        ({"ci": {"sojourn_s": [0.0, 5.0]}}, "must lie within 0.001 … 1000 s"),
        ({"ba": {"deviation": [0.0, 0.1]}}, "ba is the reference level"),
        ({"ar": {"depth": 1.0}}, "unknown key"),
        ({"ps": {"noise": 5.0}}, "less than or equal to 1"),
        ({"phases": {"before": [{"name": "x", "duration_s": [9, 1], "level_tdp": 0.2}]}}, "swap them"),
    ],
)
def test_a_wrong_workload(changes: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigError, match=words) as raised:
        load_config(with_workload(**changes))
    if "entries" not in words:
        assert "entries" not in str(raised.value), "one mistake, one complaint"


@pytest.mark.parametrize("deviation", [[1.2, 1.2], [0.5, 1.3]])
def test_deviations_below_zero_power(deviation: list[float]) -> None:
    loose = load_config(with_workload(ar={"deviation": deviation}))
    with pytest.raises(
        InputError, match=r"state ar falls to -.* W, below zero; its deviations are too large"
    ):
        hsmdc.simulate_node(loose, duration="1s")


@pytest.mark.parametrize(
    ("mix", "words"),
    [
        ([{"workload": "pretrainig"}], "no workload preset 'pretrainig'"),
        ([{"workload": "pretraining", "smallest": 2}], "no class takes jobs of 1 nodes"),
        ([{"workload": "pretraining", "largest": 8}], "no class takes jobs of 9 nodes"),
        ([{"workload": "pretraining", "smallest": 9, "largest": 8}], "must not exceed largest"),
        ([], "mix has 0 entries"),
    ],
)
def test_a_wrong_mix(mix: list[dict[str, object]], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        load_config({"base": "paper", "node": {"mix": mix}})

"""The builder and the schema: names, units, types, and what is refused."""

from collections.abc import Callable

import numpy as np
import pytest
import xarray as xr

from hsmdc import schema
from hsmdc.errors import InputError
from hsmdc.traces import trace_dataset

Make = Callable[..., xr.Dataset]
START = np.datetime64("2018-01-01")


def test_labels_are_the_starts_of_the_steps(trace: Make) -> None:
    labels = trace(3, step_s=0.1)["time"].values
    assert labels.dtype == np.dtype("datetime64[ns]")
    expected = ["2018-01-01T00:00:00.000", "2018-01-01T00:00:00.100", "2018-01-01T00:00:00.200"]
    assert labels.tolist() == np.array(expected, dtype="datetime64[ns]").tolist()


def test_every_variable_carries_its_unit_and_meaning(trace: Make) -> None:
    ds = trace()
    for name, variable in ds.data_vars.items():
        entry = schema.VARIABLES[str(name)]
        assert variable.dims == (entry.dim,)
        assert variable.attrs["units"] == entry.units
        assert variable.attrs["long_name"]
    assert ds["facility_power"].attrs["units"] == "MW"
    assert ds["it_power"].attrs["cell_methods"] == "time: mean"
    assert ds["ambient_temperature"].attrs["standard_name"] == "air_temperature"
    assert ds.attrs["Conventions"] == "CF-1.11"
    assert ds.attrs["seed"] == 0
    assert "unset" not in ds.attrs


def test_facility_power_is_the_sum_of_its_components(trace: Make) -> None:
    ds = trace()
    parts = ds["it_power"] + ds["hvac_power"] + ds["chiller_power"] + ds["auxiliary_power"]
    np.testing.assert_array_max_ulp(ds["facility_power"].values, parts.values, maxulp=2)


def test_the_same_input_gives_an_identical_dataset(trace: Make) -> None:
    xr.testing.assert_identical(trace(), trace())


def test_columns_are_not_copied_when_they_have_the_stored_type() -> None:
    power = np.ones(10)
    ds = trace_dataset(start=START, step_s=60.0, series={"it_power": power})
    assert np.shares_memory(ds["it_power"].values, power)


def test_an_empty_job_list_is_legal() -> None:
    empty = np.array([])
    ds = trace_dataset(
        start=START,
        step_s=60.0,
        series={"it_power": np.ones(3)},
        jobs={"job_arrival": empty, "job_start": empty, "job_end": empty, "job_nodes": empty},
    )
    assert ds.sizes["job"] == 0
    assert ds["job_nodes"].dtype == np.int64
    schema.validate_trace(ds)


@pytest.mark.parametrize(
    ("series", "jobs", "message"),
    [
        ({"power": np.ones(3)}, {}, "no variable 'power'; the schema knows it_power"),
        ({"it_power": np.ones(3), "busy_nodes": np.ones(2)}, {}, "it_power 3, busy_nodes 2"),
        ({"it_power": np.ones((3, 2))}, {}, r"one-dimensional over time, got shape \(3, 2\)"),
        ({"job_start": np.ones(3)}, {}, "job_start runs over job, not over time"),
        ({"it_power": np.ones(3)}, {"busy_nodes": np.ones(3)}, "busy_nodes runs over time, not over job"),
    ],
)
def test_wrong_columns_are_named(series: dict, jobs: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        trace_dataset(start=START, step_s=60.0, series=series, jobs=jobs)


@pytest.mark.parametrize("step_s", [0.0, -60.0, 1.0 / 60.0])
def test_a_step_is_whole_nanoseconds(step_s: float) -> None:
    with pytest.raises(InputError, match="positive whole number of nanoseconds"):
        trace_dataset(start=START, step_s=step_s, series={"it_power": np.ones(3)})


@pytest.mark.parametrize("value", [True, {"a": 1}, [["x"]]])
def test_attributes_that_netcdf_cannot_hold_are_refused(value: object) -> None:
    with pytest.raises(InputError, match="global attribute"):
        trace_dataset(start=START, step_s=60.0, series={"it_power": np.ones(3)}, attrs={"x": value})


def _gap(ds: xr.Dataset) -> xr.Dataset:
    return ds.isel(time=[0, 1, 2, 4, 5])


def _repeat(ds: xr.Dataset) -> xr.Dataset:
    return ds.isel(time=[0, 1, 1, 2])


def _backward(ds: xr.Dataset) -> xr.Dataset:
    return ds.isel(time=[0, 2, 1])


def _missing(ds: xr.Dataset) -> xr.Dataset:
    ds["it_power"][7] = np.nan
    return ds


def _wrong_unit(ds: xr.Dataset) -> xr.Dataset:
    ds["it_power"].attrs["units"] = "kW"
    return ds


def _wrong_sum(ds: xr.Dataset) -> xr.Dataset:
    ds["facility_power"][3] += 1e-6
    return ds


def _wrong_dim(ds: xr.Dataset) -> xr.Dataset:
    return ds.assign(job_nodes=ds["busy_nodes"])


def _wrong_kind(ds: xr.Dataset) -> xr.Dataset:
    attrs = ds["it_power"].attrs
    return ds.assign(it_power=ds["it_power"].astype(np.int64).assign_attrs(attrs))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (_gap, "uneven step or gap after 2018-01-01T00:02.*every step must be 60 s"),
        (_repeat, "repeated or backward time after 2018-01-01T00:01"),
        (_backward, "uneven step or gap|backward"),
        (_missing, "it_power holds 1 missing or infinite values, the first at time index 7"),
        (_wrong_unit, "it_power must be in MW, not 'kW'"),
        (_wrong_sum, "facility_power differs from .* by 1e-06 MW at time index 3"),
        (_wrong_dim, r"job_nodes must run over \(job\)"),
        (_wrong_kind, "it_power must hold floats, not int64"),
    ],
)
def test_a_spoilt_trace_is_refused_with_the_place(
    trace: Make, spoil: Callable[[xr.Dataset], xr.Dataset], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        schema.validate_trace(spoil(trace(20)))


def test_float32_sums_are_held_to_float32(trace: Make) -> None:
    ds = trace(20_000, dtype="float32")
    assert ds["facility_power"].dtype == np.float32
    schema.validate_trace(ds)
    ds["facility_power"][3] += np.float32(1e-5)
    with pytest.raises(InputError, match="time index 3"):
        schema.validate_trace(ds)

"""The variables a trace may hold: one registry that documents, annotates and validates every Dataset."""

from collections.abc import Mapping
from typing import Literal, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hsmdc.errors import InputError

CONVENTIONS = "CF-1.11"
COMPONENTS = ("it_power", "hvac_power", "chiller_power", "auxiliary_power")


class Variable(NamedTuple):
    """What a variable means; the texts become its netCDF attributes."""

    dim: Literal["time", "job"]
    kind: Literal["float", "int"]
    units: str
    long_name: str
    comment: str = ""
    standard_name: str = ""
    may_be_missing: bool = False
    cell_methods: str = "time: mean"


VARIABLES: Mapping[str, Variable] = {
    "it_power": Variable("time", "float", "MW", "electrical power of the IT nodes"),
    "hvac_power": Variable("time", "float", "MW", "electrical power of air handling"),
    "chiller_power": Variable("time", "float", "MW", "electrical power of the chillers"),
    "auxiliary_power": Variable(
        "time", "float", "MW", "electrical power of auxiliaries", "lighting, conversion losses, offices"
    ),
    "facility_power": Variable(
        "time",
        "float",
        "MW",
        "electrical power of the whole facility",
        "it_power + hvac_power + chiller_power + auxiliary_power; load is positive",
    ),
    "busy_nodes": Variable("time", "float", "1", "nodes held by jobs"),
    "queued_jobs": Variable("time", "float", "1", "jobs submitted and not yet started"),
    "ambient_temperature": Variable(
        "time",
        "float",
        "degC",
        "outdoor dry-bulb temperature",
        "at the beginning of the step",
        standard_name="air_temperature",
        cell_methods="time: point",
    ),
    "node_power": Variable("time", "float", "W", "electrical power of one node"),
    "job_arrival": Variable(
        "job", "float", "s", "submission of the job", "seconds since the first time label; negative before it"
    ),
    "job_start": Variable(
        "job",
        "float",
        "s",
        "start of the job",
        "seconds since the first time label; missing where the job had not started by the end",
        may_be_missing=True,
    ),
    "job_end": Variable(
        "job",
        "float",
        "s",
        "end of the job",
        "seconds since the first time label; missing where the job had not ended by the end",
        may_be_missing=True,
    ),
    "job_nodes": Variable("job", "int", "1", "nodes the job holds"),
    "job_id": Variable("job", "int", "1", "number of the job in the log it was read from"),
}

TIME_ATTRIBUTES = {
    "standard_name": "time",
    "long_name": "start of the step",
    "axis": "T",
    "units_metadata": "leap_seconds: none",
    "comment": "UTC; a value is the mean over the step that begins at its label",
}


def attributes(name: str) -> dict[str, str]:
    """The netCDF attributes of a variable."""
    entry = VARIABLES[name]
    found = {"long_name": entry.long_name, "units": entry.units}
    if entry.dim == "time":
        found["cell_methods"] = entry.cell_methods
    if entry.standard_name:
        found["standard_name"] = entry.standard_name
    if entry.units == "degC":
        found["units_metadata"] = "temperature: on_scale"
    if entry.comment:
        found["comment"] = entry.comment
    return found


def as_stored(name: str, values: object) -> NDArray[np.generic]:
    """The column in the type the schema stores it in, without a copy where it already has it.

    Series keep float32 if they come so and are float64 otherwise; job times are float64, job counts int32 or
    int64 as they come.

    Raises
    ------
    InputError
        A name the schema does not know, or a column that is not one-dimensional.
    """
    if name not in VARIABLES:
        raise InputError(f"a trace has no variable {name!r}; the schema knows {', '.join(VARIABLES)}")
    entry = VARIABLES[name]
    array = np.asarray(values)
    if array.ndim != 1:
        raise InputError(f"{name} must be one-dimensional over {entry.dim}, got shape {array.shape}")
    if entry.kind == "int":
        return array if array.dtype in (np.int32, np.int64) else array.astype(np.int64)
    narrow = entry.dim == "time" and array.dtype == np.float32
    return array if narrow else array.astype(np.float64, copy=False)


def validate_trace(trace: xr.Dataset) -> None:
    """Check a trace, or a stretch of one, against the schema.

    Raises
    ------
    InputError
        A dimension, unit or type that differs, a gap or repeat in time, a missing value, or components that
        do not add up to `facility_power`.
    """
    if "time" not in trace.dims or trace.sizes["time"] == 0:
        raise InputError("a trace needs a time dimension of one step or more")
    _validate_time(trace["time"].values, trace.attrs.get("step_s"))
    for name in trace.data_vars:
        if name in VARIABLES:
            _validate_variable(str(name), trace.variables[name])
    _validate_sum(trace)


def _validate_time(time: NDArray[np.datetime64], step_s: float | None) -> None:
    if np.isnat(time).any():
        raise InputError("time has missing labels")
    if len(time) < 2:
        return
    steps = np.diff(time)
    step = steps[0] if step_s is None else np.timedelta64(round(step_s * 1e9), "ns")
    wrong = steps != step
    if wrong.any():
        i = int(np.argmax(wrong))
        what = (
            "a repeated or backward time" if steps[i] <= np.timedelta64(0, "ns") else "an uneven step or gap"
        )
        raise InputError(
            f"{what} after {np.datetime_as_string(time[i], 'auto')}: the next label is "
            f"{np.datetime_as_string(time[i + 1], 'auto')}; every step must be {step / np.timedelta64(1, 's'):g} s"
        )


def _validate_variable(name: str, variable: xr.Variable) -> None:
    entry = VARIABLES[name]
    if variable.dims != (entry.dim,):
        raise InputError(f"{name} must run over ({entry.dim}), not {variable.dims}")
    if variable.dtype.kind != entry.kind[0]:
        raise InputError(f"{name} must hold {entry.kind}s, not {variable.dtype}")
    units = variable.attrs.get("units")
    if units != entry.units:
        raise InputError(f"{name} must be in {entry.units}, not {units!r}; convert it")
    if entry.kind == "float" and not entry.may_be_missing:
        finite = np.isfinite(variable.values)
        if not finite.all():
            raise InputError(
                f"{name} holds {np.count_nonzero(~finite)} missing or infinite values, the first at "
                f"{entry.dim} index {int(np.argmin(finite))}"
            )


def _validate_sum(trace: xr.Dataset) -> None:
    if not all(name in trace for name in (*COMPONENTS, "facility_power")):
        return
    facility = trace["facility_power"].values
    excess = np.abs(facility - sum(trace[name].values.astype(np.float64) for name in COMPONENTS))
    worst = int(np.argmax(excess))
    # Each of five stored numbers is off by half a unit in the last place at most; twice that is allowed.
    if excess[worst] > 5 * np.finfo(facility.dtype).eps * np.max(np.abs(facility)):
        raise InputError(
            f"facility_power differs from it + hvac + chiller + auxiliary by {excess[worst]:.3g} MW at time "
            f"index {worst}"
        )

"""Traces: building the Dataset, saving it and opening it.

The variables are those of `hsmdc/schema.py`; the file is CF netCDF-4, written by `hsmdc/tracefile.py`.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from hsmdc import __version__, schema
from hsmdc.errors import InputError
from hsmdc.tracefile import CHUNK_STEPS, TraceWriter

__all__ = ["TraceWriter", "open_trace", "save_trace", "trace_dataset"]

_BLOCK_STEPS = 8 * CHUNK_STEPS
_ORDER = {name: i for i, name in enumerate(schema.VARIABLES)}

Attribute = str | int | float | NDArray[np.generic]


def trace_dataset(
    *,
    start: np.datetime64,
    step_s: float,
    series: Mapping[str, ArrayLike],
    jobs: Mapping[str, ArrayLike] | None = None,
    attrs: Mapping[str, object] | None = None,
) -> xr.Dataset:
    """Build a trace from its columns; names, units and meanings are those of the schema.

    Parameters
    ----------
    start : datetime64 [UTC]
        Label of the first step, which is its beginning.
    step_s : float
        Length of a step [s], a whole number of nanoseconds.
    series : mapping of name to array (steps,)
        `facility_power` is added up from its four components where it is not given.
    jobs : mapping of name to array (jobs,), optional
        `job_arrival`, `job_start`, `job_end` [s after `start`], `job_nodes`, `job_id`.
    attrs : mapping, optional
        Global attributes: strings, numbers, arrays; None is left out.

    Raises
    ------
    InputError
        An unknown name, columns of different lengths, a step that is not whole nanoseconds.
    """
    columns = {name: schema.as_stored(name, values) for name, values in series.items()}
    steps = _common_length(columns, "time")
    if "facility_power" not in columns and all(name in columns for name in schema.COMPONENTS):
        columns["facility_power"] = _total(columns)
    table = {name: schema.as_stored(name, values) for name, values in (jobs or {}).items()}
    _common_length(table, "job")
    labels = start.astype("datetime64[ns]") + np.arange(steps) * np.timedelta64(_step_ns(step_s), "ns")
    return xr.Dataset(
        {
            name: xr.Variable(schema.VARIABLES[name].dim, values, schema.attributes(name))
            for name, values in sorted({**columns, **table}.items(), key=lambda item: _ORDER[item[0]])
        },
        coords={"time": xr.Variable("time", labels, schema.TIME_ATTRIBUTES)},
        attrs=_global_attributes(float(step_s), attrs or {}),
    )


def save_trace(
    trace: xr.Dataset, path: str | Path, *, force: bool = False, include_jobs: bool = True
) -> None:
    """Write a trace as CF netCDF-4; what `open_trace` returns is identical to it.

    Raises
    ------
    InputError
        A file that exists (unless `force`), a folder that cannot be written, a trace that breaks the schema.
    """
    if not include_jobs:
        trace = trace.drop_dims("job", errors="ignore")
    steps = trace.sizes.get("time", 0)
    with TraceWriter(path, steps, force=force) as writer:
        for first in range(0, max(steps, 1), _BLOCK_STEPS):
            writer.append(trace.isel(time=slice(first, first + _BLOCK_STEPS)))


def open_trace(path: str | Path) -> xr.Dataset:
    """Open a trace; variables are read from the file when they are used.

    Raises
    ------
    InputError
        No such file, or not a trace.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"no trace file {path}")
    try:
        trace = xr.open_dataset(path, engine="netcdf4", decode_timedelta=False)
    except (OSError, ValueError, RuntimeError) as error:
        raise InputError(f"{path} is not a readable netCDF file: {error}") from None
    if "time" not in trace.coords or "step_s" not in trace.attrs:
        trace.close()
        raise InputError(f"{path} is not a trace: it lacks a time coordinate or the attribute step_s")
    trace.attrs = {name: _plain(value) for name, value in trace.attrs.items()}
    return trace


def _total(columns: Mapping[str, NDArray[np.generic]]) -> NDArray[np.generic]:
    total = np.zeros(len(columns["it_power"]))
    for name in schema.COMPONENTS:
        np.add(total, columns[name], out=total)
    return total.astype(columns["it_power"].dtype, copy=False)


def _common_length(columns: Mapping[str, NDArray[np.generic]], dim: str) -> int:
    for name in columns:
        if schema.VARIABLES[name].dim != dim:
            raise InputError(f"{name} runs over {schema.VARIABLES[name].dim}, not over {dim}")
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise InputError(f"variables over {dim} differ in length: {shown}")
    return next(iter(lengths.values()), 0)


def _step_ns(step_s: float) -> int:
    nanoseconds = round(step_s * 1e9)
    if nanoseconds < 1 or abs(nanoseconds - step_s * 1e9) > max(1e-3, 1e-15 * nanoseconds):
        raise InputError(f"step_s = {step_s}: must be a positive whole number of nanoseconds")
    return nanoseconds


def _global_attributes(step_s: float, given: Mapping[str, object]) -> dict[str, Attribute]:
    source = f"hsmdc {__version__}"
    attributes: dict[str, object] = {
        "Conventions": schema.CONVENTIONS,
        "title": "Electrical load of an AI data centre",
        "source": source,
        # Without the time of day: the same run gives the same Dataset.
        "history": f"created by {source}",
        "hsmdc_version": __version__,
        "step_s": step_s,
        **given,
    }
    return {name: _plain(value) for name, value in attributes.items() if value is not None}


def _plain(value: object) -> Attribute:
    """The attribute as netCDF gives it back: text, a Python number, or an array."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (str, int, float)) and not isinstance(value, bool):
        return value
    array = np.asarray(value)
    if array.ndim != 1 or array.dtype.kind not in "iuf":
        raise InputError(f"a global attribute must be text, a number or an array of numbers, got {value!r}")
    return array

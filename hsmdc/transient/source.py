"""Whether a trace can be resolved: its jobs, its series, its configuration and seed, whole and in order."""

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hsmdc.errors import InputError
from hsmdc.seeds import check_seed

Floats = NDArray[np.float64]

NEEDED = (
    "it_power", "hvac_power", "chiller_power", "auxiliary_power", "busy_nodes", "ambient_temperature",
)  # fmt: skip
_JOB_TABLE = ("job_arrival", "job_start", "job_end", "job_nodes")


def check_trace(trace: xr.Dataset) -> None:
    """Refuse a trace that lacks something resolving needs, or is not in regular steps.

    Raises
    ------
    InputError
        Naming what is missing or wrong.
    """
    if not isinstance(trace, xr.Dataset):
        raise InputError(
            f"a trace is an xarray.Dataset, not {type(trace).__name__}; read a file with hsmdc.open_trace"
        )
    if "resolved_sample" in trace.attrs:
        raise InputError("this trace is a resolved window already; resolve the trace it was made from")
    missing = [name for name in _JOB_TABLE if name not in trace]
    if missing:
        raise InputError(
            f"the trace has no job table ({', '.join(missing)} missing), so its jobs cannot be resolved; "
            "simulate it again and save it with its jobs (the default)"
        )
    absent = [name for name in NEEDED if name not in trace]
    if absent:
        raise InputError(f"the trace lacks {', '.join(absent)}; only traces made by simulate can be resolved")
    wanted = [name for name in ("config", "seed", "step_s") if name not in trace.attrs]
    if wanted:
        raise InputError(
            f"the trace lacks the attribute {', '.join(wanted)}; only traces made by simulate can be resolved"
        )
    _check_labels(trace)


def _check_labels(trace: xr.Dataset) -> None:
    labels = trace["time"].values
    if not len(labels):
        raise InputError("the trace has no steps")
    try:
        step = np.timedelta64(round(float(trace.attrs["step_s"]) * 1e9), "ns")
    except (TypeError, ValueError, OverflowError):
        step = np.timedelta64(0, "ns")
    if step <= np.timedelta64(0, "ns"):
        raise InputError(f"the trace's attribute step_s = {trace.attrs['step_s']!r}: not a number above 0")
    uneven = np.flatnonzero(np.diff(labels) != step)
    if len(uneven):
        after = np.datetime_as_string(labels[uneven[0]], "s")
        raise InputError(
            f"the trace's labels are not in steps of step_s = {trace.attrs['step_s']} s after {after}; "
            "resolve the whole trace with start and duration, do not cut or thin it"
        )


def seed_of(trace: xr.Dataset) -> int:
    """The master seed a trace was made with; raises InputError where its attribute is none."""
    text = trace.attrs["seed"]
    try:
        seed = int(text)
    except (TypeError, ValueError):
        raise InputError(f"the trace's attribute seed = {text!r}: not a whole number") from None
    check_seed(seed)
    return seed


def series_of(trace: xr.Dataset) -> dict[str, Floats]:
    """The series that resolving needs, float64 (time,); a missing value anywhere would spread in silence."""
    return {name: _finite(trace, name) for name in NEEDED}


def _finite(trace: xr.Dataset, name: str) -> Floats:
    values = np.asarray(trace[name].values, np.float64)
    holes = np.flatnonzero(~np.isfinite(values))
    if len(holes):
        first = np.datetime_as_string(trace["time"].values[holes[0]], "s")
        raise InputError(
            f"the trace's {name} is missing or infinite in {len(holes)} steps, first at {first}; "
            "resolve a trace as simulate returns it"
        )
    return values


def job_nodes_of(trace: xr.Dataset) -> NDArray[np.int32]:
    """Nodes by job, int32 (job,); raises InputError where a job has none."""
    nodes = np.asarray(trace["job_nodes"].values)
    wrong = np.flatnonzero(~(np.isfinite(nodes) & (nodes >= 1)))
    if len(wrong):
        raise InputError(
            f"the trace's job_nodes is not a number of nodes for {len(wrong)} jobs, "
            f"first job {wrong[0]}: {nodes[wrong[0]]}; resolve a trace as simulate returns it"
        )
    return nodes.astype(np.int32)

"""A day's base load and PUE from a simulated facility trace, in place of the constants of a case."""

from datetime import timedelta, timezone
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd
import xarray as xr

from hsmdc.config import Config, from_toml
from hsmdc.dispatch.case import Case
from hsmdc.dispatch.solver import check_choice
from hsmdc.errors import InputError

Array = npt.NDArray[np.float64]
Scale = Literal["to-base", "none"]
GpuPower = Literal["trace", "case"]

_SERIES = ("it_power", "hvac_power", "chiller_power", "facility_power")


def couple(
    case: Case,
    trace: xr.Dataset,
    *,
    day: str | None = None,
    scale: Scale = "to-base",
    gpu_power: GpuPower = "trace",
) -> Case:
    """Put a day of a facility trace under a case.

    The trace's IT power becomes the base IT load, what the facility draws beside the planned training; its
    facility power over IT power becomes the PUE of each slot, its cooling over IT power the cooling share.

    Parameters
    ----------
    case
        The case; its horizon stays.
    trace
        Facility trace: `it_power hvac_power chiller_power facility_power` [MW] over `time` (UTC).
    day
        Local day on which the horizon begins, by the fixed UTC offset of the trace's configuration. May be left out
        if the trace is no longer than the horizon.
    scale
        `"to-base"` multiplies the IT power so that its mean over the whole trace is the case's `base_it_kw`: the
        shape of a large facility at the size of the case's site. `"none"` takes the MW as they are: the trace
        is the site.
    gpu_power
        `"trace"` takes the power of a busy GPU from the trace's node, (busy_w − idle_w) / gpus_per_node: idle nodes
        are in the base load already, and what is planned is what `simulate` will draw. `"case"` keeps the
        case's.

    Raises
    ------
    InputError
        If the trace lacks a variable, an hour or a value; the message names it.
    """
    check_choice("scale", scale, get_args(Scale))
    check_choice("gpu_power", gpu_power, get_args(GpuPower))
    _require_series(trace)
    config = trace_config(trace)
    first = _first_instant(case, trace, day, config)
    means = _slot_means(case, trace, first)
    factor = 1.0 if scale == "none" else _to_base(case, trace)
    it_kw, facility_kw = means["it_power"] * 1e3, means["facility_power"] * 1e3
    offset_h = config.site.utc_offset_h if config is not None else 0.0
    local = pd.Timestamp(first).tz_localize("UTC").tz_convert(timezone(timedelta(hours=offset_h)))
    title = trace.attrs.get("title", "trace")
    tables: dict[str, object] = {
        "profiles": {
            "base_it_kw": tuple(it_kw * factor),
            "pue": tuple(facility_kw / it_kw),
            "cooling_share": tuple((means["hvac_power"] + means["chiller_power"]) / means["it_power"]),
            "start": local.isoformat(),
            "source": f"base load and PUE of {local.date()}: {title}, IT power x {factor:.6g}",
        }
    }
    if gpu_power == "trace" and config is not None:
        busy_kw = (config.site.busy_w - config.site.idle_w) / 1e3
        tables["site"] = {"gpu_power_kw": busy_kw / case.site.gpus_per_node}
    return case.replace(**tables)


def trace_config(trace: xr.Dataset) -> Config | None:
    """The configuration a trace was made with, if it carries one."""
    text = trace.attrs.get("config")
    return from_toml(text) if text else None


def _require_series(trace: xr.Dataset) -> None:
    if not isinstance(trace, xr.Dataset):
        raise InputError(f"trace = {trace!r} is no Dataset; read a file with open_trace")
    absent = [name for name in (*_SERIES, "time") if name not in trace.variables]
    if absent:
        raise InputError(f"the trace has no variable {absent[0]!r}; give a facility trace made by simulate")
    for name in _SERIES:
        units = trace[name].attrs.get("units", "MW")
        if units != "MW":
            raise InputError(f"the trace's {name} is in {units}; it must be in MW")


def _step(trace: xr.Dataset) -> np.timedelta64:
    times = trace["time"].to_numpy()
    if len(times) < 2:
        raise InputError("the trace has fewer than two samples")
    return np.timedelta64(times[1] - times[0])


def _first_instant(case: Case, trace: xr.Dataset, day: str | None, config: Config | None) -> np.datetime64:
    times = trace["time"].to_numpy()
    if day is None:
        if len(times) * _step(trace) > np.timedelta64(round(case.horizon.hours * 3600), "s"):
            raise InputError(
                f"the trace runs from {times[0].astype('datetime64[m]')} to {times[-1].astype('datetime64[m]')}; "
                "give the day to plan, such as 2018-07-04"
            )
        return np.datetime64(times[0])
    try:
        local = pd.Timestamp(day)
    except ValueError:
        raise InputError(f"day {day!r} is no date; write it as 2018-07-04") from None
    if pd.isna(local) or local.tz is not None:
        raise InputError(f"day {day!r} must be a local date without a time zone; write it as 2018-07-04")
    offset = pd.Timedelta(hours=config.site.utc_offset_h if config is not None else 0.0)
    return np.datetime64((local - offset).as_unit("ns").asm8)


def _slot_means(case: Case, trace: xr.Dataset, first: np.datetime64) -> dict[str, Array]:
    """Mean of each series over each slot [MW]."""
    step = _step(trace)
    slot = np.timedelta64(round(case.horizon.slot_h * 3600), "s")
    if slot % step:
        raise InputError(f"the trace's step of {step} does not divide a slot of {case.horizon.slot_h} h")
    per_slot = int(slot // step)
    wanted = first + np.arange(case.slots * per_slot) * step
    position = np.searchsorted(trace["time"].to_numpy(), wanted)
    times = trace["time"].to_numpy()
    found = (position < len(times)) & (times[np.minimum(position, len(times) - 1)] == wanted)
    if not found.all():
        hours = sorted({str(moment.astype("datetime64[h]")).replace("T", " ") for moment in wanted[~found]})
        more = f" and {len(hours) - 4} more hours" if len(hours) > 4 else ""
        raise InputError(
            f"the trace has no sample in {', '.join(h + ' h' for h in hours[:4])}{more} (UTC); "
            f"it runs from {times[0].astype('datetime64[m]')} to {times[-1].astype('datetime64[m]')}"
        )
    day = trace[list(_SERIES)].isel(time=position)
    means = {
        name: day[name].to_numpy().astype(float).reshape(case.slots, -1).mean(axis=1) for name in _SERIES
    }
    for name, values in means.items():
        if not np.isfinite(values).all():
            raise InputError(
                f"the trace's {name} holds NaN in slot {int(np.argmin(np.isfinite(values)))} of the day"
            )
    if (means["it_power"] <= 0).any():
        raise InputError(
            f"the trace's it_power is 0 in slot {int(means['it_power'].argmin())}; PUE has no value there"
        )
    return means


def _to_base(case: Case, trace: xr.Dataset) -> float:
    mean_kw = float(trace["it_power"].mean()) * 1e3
    if case.site.base_it_kw <= 0 or not np.isfinite(mean_kw) or mean_kw <= 0:
        raise InputError(
            f"the trace's mean IT power of {mean_kw:g} kW cannot be scaled to base_it_kw {case.site.base_it_kw:g}; "
            'take scale "none"'
        )
    return case.site.base_it_kw / mean_kw

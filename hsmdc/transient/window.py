"""Which steps of a trace a window covers, and every way in which a window can be asked for wrongly."""

import os
from typing import NamedTuple

import numpy as np
import xarray as xr

from hsmdc.errors import InputError
from hsmdc.kernels.chain import NS_PER_S
from hsmdc.timespan import Duration, Instant, parse_instant, parse_nanoseconds
from hsmdc.transient.source import check_trace

SHORTEST_STEP_NS = 1_000_000


class Window(NamedTuple):
    """Steps first … last − 1 of the grid counted from the trace's first label."""

    first: int
    last: int
    step_ns: int
    interval_ns: int

    @property
    def steps(self) -> int:
        """Number of steps."""
        return self.last - self.first


def window_of(trace: xr.Dataset, start: Instant | None, duration: Duration | None, step: Duration) -> Window:
    """The steps that a start, a duration and a step mean on a trace.

    Raises
    ------
    InputError
        A window outside the trace or off its grid, a step out of range, a trace that cannot be resolved.
    """
    check_trace(trace)
    interval_ns = round(float(trace.attrs["step_s"]) * NS_PER_S)
    step_ns = _dividing_step_ns(step, interval_ns)
    zero = trace["time"].values[0].astype("datetime64[ns]")
    total_ns = trace.sizes["time"] * interval_ns
    start_ns = 0 if start is None else int((parse_instant(start) - zero).astype(np.int64))
    if not 0 <= start_ns < total_ns:
        raise InputError(_outside(start, zero, total_ns))
    if start_ns % step_ns:
        raise InputError(
            f"start = {start}: not on the grid of {step} steps that begins at {zero.astype('datetime64[s]')}; "
            f"move it by {start_ns % step_ns / 1e9:g} s back"
        )
    if duration is None:
        return Window(start_ns // step_ns, total_ns // step_ns, step_ns, interval_ns)
    steps = whole_steps(duration, step_ns, "duration")
    if start_ns + steps * step_ns > total_ns:
        raise InputError(_outside(f"{start or zero} + {duration}", zero, total_ns))
    return Window(start_ns // step_ns, start_ns // step_ns + steps, step_ns, interval_ns)


def fine_step_ns(step: Duration) -> int:
    """A step of 1 ms or more [ns]; raises InputError for a shorter one."""
    step_ns = parse_nanoseconds(step, "step")
    if step_ns < SHORTEST_STEP_NS:
        raise InputError(f"step = {step}: must be 1ms or more")
    return step_ns


def _dividing_step_ns(step: Duration, interval_ns: int) -> int:
    step_ns = fine_step_ns(step)
    if step_ns > interval_ns:
        raise InputError(
            f"step = {step}: longer than the trace's own step of {interval_ns / 1e9:g} s; "
            "resolve makes a trace finer, take means of the trace for a coarser one"
        )
    if interval_ns % step_ns:
        pieces = interval_ns // step_ns + 1
        while interval_ns % pieces or (interval_ns // pieces) % SHORTEST_STEP_NS:
            pieces += 1
        raise InputError(
            f"step = {step}: does not divide the trace's step of {interval_ns / 1e9:g} s; "
            f"the next shorter that does is {interval_ns / pieces / 1e9:g}s"
        )
    return step_ns


def whole_steps(span: Duration, step_ns: int, name: str) -> int:
    """The number of steps in a span; raises InputError where it is not whole or less than one."""
    span_ns = parse_nanoseconds(span, name)
    if span_ns < step_ns:
        raise InputError(
            f"{name} = {span}: shorter than one step of {step_ns / 1e9:g} s; lengthen it or shorten the step"
        )
    if span_ns % step_ns:
        raise InputError(f"{name} = {span}: not a whole number of steps of {step_ns / 1e9:g} s")
    return span_ns // step_ns


def check_memory(steps: int, bytes_per_step: int, mend: str) -> None:
    """Refuse what cannot be held in memory at once, before the machine stalls on it.

    Raises
    ------
    InputError
        More bytes than the machine has; `mend` ends the message.
    """
    try:
        there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # a system that does not tell
        return
    if steps * bytes_per_step > there:
        raise InputError(
            f"{steps:,} steps need {steps * bytes_per_step / 1e9:,.0f} GB of memory, "
            f"and there are {there / 1e9:,.0f}; {mend}"
        )


def _outside(given: object, zero: np.datetime64, total_ns: int) -> str:
    first, last = (np.datetime_as_string(t, "s") for t in (zero, zero + np.timedelta64(total_ns, "ns")))
    return f"the window {given} lies outside the trace, which runs from {first} to {last}"

"""Sub-second power of the facility: `resolve` and `stream`.

The jobs, the minute residual and the cooling are those of the trace that is resolved; the node layer adds
what happens within its minutes. `docs/node-layer.md` gives the model.
"""

from collections.abc import Callable, Iterator

import numpy as np
import xarray as xr

from hsmdc.timespan import Duration, Instant
from hsmdc.transient.resolution import Minutes, Resolution, Sample, Synchrony
from hsmdc.transient.window import check_memory, whole_steps, window_of

#: Nine series of float64, in parts and joined.
_BYTES_PER_STEP = 2 * 9 * 8

Progress = Callable[[float, float], None]


def resolve(
    trace: xr.Dataset,
    *,
    start: Instant | None = None,
    duration: Duration | None = None,
    step: Duration = "100ms",
    synchrony: Synchrony | None = None,
    sample: Sample = "mean",
    minutes: Minutes = "auto",
    threads: int = 1,
    progress: Progress | None = None,
) -> xr.Dataset:
    """Resolve a window of a trace at a fine step: the same jobs, with what their nodes do each moment.

    The result is bit-identical to the same stretch of any other window of the trace at the same step, with
    any number of threads.

    Parameters
    ----------
    trace : a trace with its job table, as `simulate` returns it
    start : first label, on the step grid counted from the trace's first label; default there
    duration : a whole number of steps; default to the end of the trace
    step : 1 ms or more; it must divide the step of the trace
    synchrony : "job" or "node"; default as configured
    sample : "mean" over each step, so that energy adds up, or the value at the "instant" of its label
    minutes : "trace" keeps the means over the trace's steps equal to the trace; "free" leaves them to the
        node layer. "auto" is "trace" if the trace has a residual (residual.sigma_mw > 0) or its power meets
        the saturation ceiling, else "free"
    threads : share the work among so many
    progress : called with (steps done, steps in all)

    Returns
    -------
    Dataset by the trace schema, without the job table.

    Raises
    ------
    InputError
        A window outside the trace or off its grid, one larger than memory, a step out of range, a trace
        without a job table or with missing values.
    """
    window = window_of(trace, start, duration, step)
    check_memory(window.steps, _BYTES_PER_STEP, "shorten the window, or take it in parts with stream")
    source = Resolution(trace, window, synchrony, sample, minutes, threads)
    parts = []
    done = 0
    for part in source.parts(window.first, window.last):
        parts.append(part)
        done += len(part["it_power"])
        if progress is not None:
            progress(done, window.steps)
    series = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    return source.dataset(window.first, series)


def stream(
    trace: xr.Dataset,
    *,
    start: Instant | None = None,
    duration: Duration | None = None,
    step: Duration = "100ms",
    chunk: Duration = "1h",
    synchrony: Synchrony | None = None,
    sample: Sample = "mean",
    minutes: Minutes = "auto",
    threads: int = 1,
) -> Iterator[xr.Dataset]:
    """Resolve a window chunk by chunk, with the values of `resolve` and memory that its length does not raise.

    Parameters
    ----------
    chunk : length of each Dataset, a whole number of steps; the last may be shorter
    others : as in `resolve`

    Raises
    ------
    InputError
        As `resolve`.
    """
    window = window_of(trace, start, duration, step)
    chunk_steps = whole_steps(chunk, window.step_ns, "chunk")
    source = Resolution(trace, window, synchrony, sample, minutes, threads)
    return source.chunks(window.first, window.last, chunk_steps)

"""A resolved window written to a file as it is computed."""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import xarray as xr

from hsmdc.timespan import Duration, Instant
from hsmdc.traces import TraceWriter
from hsmdc.transient.engine import Progress, stream
from hsmdc.transient.resolution import Minutes, Sample, Synchrony
from hsmdc.transient.window import window_of

PRECISION = "float32 series: relative rounding 6e-8, below 1 W at 10 MW"
#: About 30 MB of series in memory at a time.
_CHUNK_STEPS = 1 << 18


class Summary(NamedTuple):
    """IT power of what was written [MW]; a resumed run counts what it added."""

    steps: int
    mean_mw: float
    lowest_mw: float
    highest_mw: float


def save_window(
    trace: xr.Dataset,
    path: str | Path,
    *,
    start: Instant | None = None,
    duration: Duration | None = None,
    step: Duration = "100ms",
    synchrony: Synchrony | None = None,
    sample: Sample = "mean",
    minutes: Minutes = "auto",
    threads: int = 1,
    force: bool = False,
    resume: bool = False,
    history: str = "",
    progress: Progress | None = None,
) -> Summary:
    """Resolve a window into a netCDF file, in float32, computing the next stretch while one is written.

    Parameters
    ----------
    force : replace a file of that name
    resume : go on where an interrupted run of the same window stopped
    history : what made the window; a further line of the trace's own history
    others : as in `resolve`

    Returns
    -------
    The IT power in few words.

    Raises
    ------
    InputError
        As `resolve` and `TraceWriter`.
    """
    window = window_of(trace, start, duration, step)
    zero = trace["time"].values[0].astype("datetime64[ns]")
    with TraceWriter(
        path, window.steps, force=force, resumable=True, resume=resume, single_precision=True
    ) as writer:
        done = writer.steps_done
        first_ns, left_ns = ((n * window.step_ns) for n in (window.first + done, window.steps - done))
        parts = stream(
            trace,
            start=zero + first_ns,
            duration=f"{left_ns}ns",
            step=step,
            chunk=f"{min(_CHUNK_STEPS, window.steps) * window.step_ns}ns",
            synchrony=synchrony,
            sample=sample,
            minutes=minutes,
            threads=threads,
        )
        seen: list[Summary] = []
        for part in _ahead(parts):
            part.attrs["precision"] = PRECISION
            if history:
                part.attrs["history"] = "\n".join([*part.attrs.get("history", "").splitlines(), history])
            writer.append(part)
            done += part.sizes["time"]
            seen.append(_summary(part))
            if progress is not None:
                progress(done, window.steps)
    return _joined(seen)


def _summary(part: xr.Dataset) -> Summary:
    power_mw = part["it_power"].values
    return Summary(len(power_mw), float(power_mw.mean()), float(power_mw.min()), float(power_mw.max()))


def _joined(seen: list[Summary]) -> Summary:
    steps = sum(s.steps for s in seen)
    return Summary(
        steps,
        sum(s.mean_mw * s.steps for s in seen) / steps,
        min(s.lowest_mw for s in seen),
        max(s.highest_mw for s in seen),
    )


def _ahead(parts: Iterator[xr.Dataset]) -> Iterator[xr.Dataset]:
    """Yield the parts, the next one always under way in a thread of its own."""
    with ThreadPoolExecutor(1) as pool:
        following: Future[xr.Dataset | None] = pool.submit(next, parts, None)
        while (part := following.result()) is not None:
            following = pool.submit(next, parts, None)
            yield part

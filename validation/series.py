"""Power against time on a regular grid: the one rule for gaps, NaN and unequal steps.

Samples that are missing (NaN, or a label left out of an otherwise regular grid) become NaN and every metric
leaves them out; a difference, a lagged product or a coarser mean that would need a missing sample is
missing too. Labels that do not lie on one regular grid are refused, because no metric of a sampled
process is defined on them without a choice only the user can make.
"""

from typing import NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hsmdc.errors import InputError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_NS_PER_S = 1_000_000_000


class Series(NamedTuple):
    """Samples on a regular grid, each the mean over the step that starts at its label.

    Attributes
    ----------
    values : ndarray, shape (..., n)
        Power [MW], NaN where missing; leading axes are members.
    start : datetime64[ns]
        Label of the first sample, UTC.
    step_s : float
        Step [s].
    """

    values: Floats
    start: np.datetime64
    step_s: float

    @property
    def times(self) -> NDArray[np.datetime64]:
        """Labels, datetime64[ns], shape (n,)."""
        step_ns = round(self.step_s * _NS_PER_S)
        offsets = np.arange(self.values.shape[-1], dtype=np.int64) * step_ns
        return np.asarray(self.start.astype("datetime64[ns]") + offsets.astype("timedelta64[ns]"))


def step_words(step_s: float) -> str:
    """A step in words: "1 h", "15 min", "0.1 s"."""
    for size, unit in ((86400.0, "d"), (3600.0, "h"), (60.0, "min")):
        if step_s >= size:
            return f"{step_s / size:g} {unit}"
    return f"{step_s:g} s"


def as_series(power: xr.DataArray, name: str = "the trace") -> Series:
    """Place a labelled power trace on its regular grid.

    Parameters
    ----------
    power : DataArray with dimension `time` (datetime64), time last or only
        Power [MW]. Labels left out become NaN.
    name : str
        What to call the trace in an error.

    Raises
    ------
    InputError
        Fewer than two labels, labels that repeat or go back, or steps that are no multiple of the shortest.
    """
    values = power.transpose(..., "time").values.astype(np.float64)
    stamps = power["time"].values.astype("datetime64[ns]")
    positions, step_ns = _grid_positions(stamps, name)
    if positions[-1] + 1 == stamps.size:
        return Series(values, stamps[0], step_ns / _NS_PER_S)
    filled = np.full((*values.shape[:-1], int(positions[-1]) + 1), np.nan)
    filled[..., positions] = values
    return Series(filled, stamps[0], step_ns / _NS_PER_S)


def _grid_positions(stamps: NDArray[np.datetime64], name: str) -> tuple[NDArray[np.int64], int]:
    if stamps.size < 2:
        raise InputError(f"{name} has {stamps.size} time labels; at least two are needed to know its step")
    gaps = np.diff(stamps.view(np.int64)).astype(np.int64, copy=False)
    if gaps.min() <= 0:
        row = int(np.argmax(gaps <= 0)) + 1
        what = "repeats" if gaps[row - 1] == 0 else "goes back at"
        raise InputError(
            f"{name} {what} time {stamps[row]} (sample {row}); sort it and keep one value per time"
        )
    step_ns = int(gaps.min())
    if (gaps % step_ns).any():
        row = int(np.argmax(gaps % step_ns != 0)) + 1
        raise InputError(
            f"{name} has unequal steps: {gaps[row - 1] / _NS_PER_S:g} s before {stamps[row]} is no multiple of "
            f"its shortest step, {step_ns / _NS_PER_S:g} s; resample it to one step first"
        )
    positions = np.concatenate([[0], np.cumsum(gaps // step_ns)])
    return positions, step_ns


def averaged(series: Series, step_s: float, origin: np.datetime64 | None = None) -> Series:
    """Means over a coarser step, aligned to whole steps since `origin`, or midnight UTC of the first day.

    A coarse step counts only when every sample in it is there; otherwise it is NaN. Incomplete steps at
    either end are left out.

    Raises
    ------
    InputError
        `step_s` is not a whole multiple of the step of the series.
    """
    ratio = round(step_s / series.step_s)
    if ratio < 1 or abs(ratio * series.step_s - step_s) > 1e-6 * series.step_s:
        raise InputError(f"a trace with a step of {series.step_s:g} s cannot be averaged to {step_s:g} s")
    if ratio == 1:
        return series
    step_ns = round(series.step_s * _NS_PER_S)
    start_ns = series.start.astype("datetime64[ns]").astype(np.int64)
    aligned = series.start.astype("datetime64[D]") if origin is None else origin
    skip = int(-((start_ns - aligned.astype("datetime64[ns]").astype(np.int64)) // step_ns) % ratio)
    count = (series.values.shape[-1] - skip) // ratio
    if count < 1:
        raise InputError(f"the trace is shorter than one whole step of {step_s:g} s")
    blocks = series.values[..., skip : skip + count * ratio]
    means = blocks.reshape(*blocks.shape[:-1], count, ratio).mean(axis=-1)
    start = np.datetime64(int(start_ns) + skip * step_ns, "ns")
    return Series(means, start, step_s)


def common(first: Series, second: Series) -> tuple[Series, Series] | None:
    """Both series cut to the labels they share, or None when they share fewer than two.

    Raises
    ------
    InputError
        The steps differ, or the labels are shifted by a part of a step.
    """
    if abs(first.step_s - second.step_s) > 1e-9 * first.step_s:
        raise InputError(f"steps differ: {first.step_s:g} s and {second.step_s:g} s")
    step_ns = round(first.step_s * _NS_PER_S)
    shift_ns = int((second.start - first.start).astype("timedelta64[ns]").astype(np.int64))
    if shift_ns % step_ns:
        raise InputError(f"labels are shifted by {shift_ns % step_ns / _NS_PER_S:g} s within the step")
    shift = shift_ns // step_ns
    begin = max(0, shift)
    end = min(first.values.shape[-1], shift + second.values.shape[-1])
    if end - begin < 2:
        return None
    start = first.times[begin]
    return (
        Series(first.values[..., begin:end], start, first.step_s),
        Series(second.values[..., begin - shift : end - shift], start, first.step_s),
    )

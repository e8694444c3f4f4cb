"""How many nodes are busy or jobs queued at any moment, from begin and end times."""

import numpy as np
from numpy.typing import NDArray

from hsmdc.kernels.aggregate import deposit_events

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class Count:
    """A weight held over spans [begin, end), readable on any step grid without a look at every span.

    Parameters
    ----------
    begin, end : int64 (spans,) [ns]
    weight : int (spans,), or one for all
    """

    def __init__(self, begin: Integers, end: Integers, weight: "NDArray[np.integer] | int") -> None:
        change = np.empty(2 * len(begin), np.int32)
        change[: len(begin)] = weight
        change[len(begin) :] = -change[: len(begin)]
        times = np.concatenate([begin, end])
        order = np.argsort(times, kind="stable")
        self._times = times[order]
        self._level = np.zeros(len(order) + 1, np.int32)
        np.cumsum(change[order], out=self._level[1:])

    def steps(self, start_ns: int, step_ns: int, steps: int, *, instant: bool) -> Floats:
        """Mean weight held in each of `steps` steps from `start_ns`, or at their beginnings; exact."""
        if instant:
            labels = start_ns + step_ns * np.arange(steps)
            return self._level[np.searchsorted(self._times, labels, side="right")].astype(np.float64)
        first, last = np.searchsorted(self._times, [start_ns, start_ns + steps * step_ns])
        level = self._level[first : last + 1].astype(np.int64)
        held = np.zeros(steps + 1, np.int64)
        held[0] = level[0] * step_ns
        deposit_events(self._times[first:last] - start_ns, np.diff(level), step_ns, held)
        return np.cumsum(held[:-1]) / step_ns

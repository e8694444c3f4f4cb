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
    weight : int64 (spans,)
    """

    def __init__(self, begin: Integers, end: Integers, weight: Integers) -> None:
        times = np.concatenate([begin, end])
        order = np.argsort(times, kind="stable")
        self._times = times[order]
        self._by = np.concatenate([weight, -weight])[order]
        self._level = np.concatenate([[0], np.cumsum(self._by)])

    def steps(self, start_ns: int, step_ns: int, steps: int, *, instant: bool) -> Floats:
        """Mean weight held in each of `steps` steps from `start_ns`, or at their beginnings; exact."""
        if instant:
            labels = start_ns + step_ns * np.arange(steps)
            return self._level[np.searchsorted(self._times, labels, side="right")].astype(np.float64)
        edges = np.searchsorted(self._times, [start_ns, start_ns + steps * step_ns])
        held = np.zeros(steps + 1, np.int64)
        held[0] = self._level[edges[0]] * step_ns
        within = slice(edges[0], edges[1])
        deposit_events(self._times[within] - start_ns, self._by[within], step_ns, held)
        return np.cumsum(held[:-1]) / step_ns

"""The cooling lag inside the steps of a trace: the exact response to its IT power, at any finer step.

The input is the trace's own IT power, held over each of its steps; the result is the shape that the trace's own
cooling power takes within them, so that its means stay. What this leaves out, ripple within a
minute, the lag would pass on reduced by more than its period over 2πτ: below 3 % of the ripple at τ = 300 s.
"""

import numpy as np
from numpy.typing import NDArray

from hsmdc.kernels.cooling import lag_states

Floats = NDArray[np.float64]


class FineLag:
    """Shape of τ·dy/dt = drive(t − dead time) − y within the intervals of a trace.

    Parameters
    ----------
    drive : float64 (n,), held over each interval; before the first it was drive[0], in steady state
    interval_s, step_s : the trace's step, and the finer one, which divides it
    instant : values at the beginnings of steps, not means over them
    """

    def __init__(
        self, drive: Floats, interval_s: float, step_s: float, tau_s: float, dead_time_s: float,
        *, instant: bool,
    ) -> None:  # fmt: skip
        whole = int(dead_time_s / interval_s)
        old_s = dead_time_s - whole * interval_s
        edges_s = np.arange(round(interval_s / step_s) + 1) * step_s
        within_old = np.exp(-np.minimum(edges_s, old_s) / tau_s)
        within_new = np.exp(-np.maximum(edges_s - old_s, 0.0) / tau_s)
        # Weights of the state at the interval's beginning, the older input and the newer one.
        at_edges = np.array([within_old * within_new, (1.0 - within_old) * within_new, 1.0 - within_new])
        old = np.diff(np.minimum(edges_s, old_s)) / step_s
        held = np.array([np.zeros_like(old), old, 1.0 - old])
        # The mean of y over a step is the mean input less τ times the rise of y.
        means = held - np.diff(at_edges, axis=1) * (tau_s / step_s)
        index = np.arange(len(drive))
        self._older = drive[np.maximum(index - whole - 1, 0)]
        self._newer = drive[np.maximum(index - whole, 0)]
        self._state = self._states(at_edges[:, -1], float(drive[0]))
        self._weights = at_edges[:, :-1] if instant else means
        self._mean_weights = means.mean(axis=1)

    def _states(self, to_end: Floats, initial: float) -> Floats:
        """State at the beginning of every interval."""
        forced = to_end[1] * self._older + to_end[2] * self._newer
        state = np.empty(len(forced))
        lag_states(forced, float(to_end[0]), initial, state)
        return state

    def shape(self, first: int, last: int) -> Floats:
        """y in all steps of the intervals first … last − 1, relative to its mean over each interval."""
        part = slice(first, last)
        inputs = np.array([self._state[part], self._older[part], self._newer[part]])
        mean = (self._mean_weights @ inputs)[:, None]
        fine = inputs.T @ self._weights
        shape: Floats = np.divide(fine, mean, out=np.ones_like(fine), where=mean > 0)
        return shape

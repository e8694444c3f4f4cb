"""A smooth curve through given interval means."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class MeanCurve:
    """In each interval a parabola with the interval's mean; continuous, and it sees one neighbour on each side.

    At the edge between two intervals the curve takes the average of their means.

    Parameters
    ----------
    steps : steps in an interval
    instant : values at the beginnings of steps, not means over them
    """

    def __init__(self, steps: int, *, instant: bool) -> None:
        x = np.arange(steps + 1) / steps
        if instant:
            basis = [1.0 - x[:-1], x[:-1], 6.0 * x[:-1] * (1.0 - x[:-1])]
        else:
            areas = [x - 0.5 * x**2, 0.5 * x**2, 3.0 * x**2 - 2.0 * x**3]
            basis = [np.diff(area) * steps for area in areas]
        self._basis = np.array(basis)

    def values(self, before: float, means: Floats, after: float) -> Floats:
        """The curve in all steps of some intervals, float64 (intervals, steps).

        Parameters
        ----------
        before, after : means of the neighbouring intervals
        """
        padded = np.concatenate([[before], means, [after]])
        edges = 0.5 * (padded[:-1] + padded[1:])
        left, right = edges[:-1], edges[1:]
        return np.array([left, right, means - 0.5 * (left + right)]).T @ self._basis

"""How fast power moves: ramp distributions at any horizon and the swing within a window.

A ramp at horizon h is x(t + h) − x(t) for every t of the grid; it is missing when either sample is. Time is
the last axis; leading axes are members.
"""

import numpy as np
from numpy.typing import ArrayLike

from hsmdc.errors import InputError

from .marginal import percentile, wasserstein
from .series import Floats

TAIL_PERCENTILES = (0.1, 1.0, 50.0, 99.0, 99.9)


def whole_steps(span_s: float, step_s: float, what: str, samples: int) -> int:
    """Number of steps in a time span.

    Raises
    ------
    InputError
        The span is no positive multiple of the step, or longer than the series.
    """
    steps = round(span_s / step_s)
    if steps < 1 or abs(steps * step_s - span_s) > 1e-6 * step_s:
        raise InputError(f"the {what} of {span_s:g} s is no whole multiple of the step, {step_s:g} s")
    if steps >= samples:
        raise InputError(f"the {what} of {span_s:g} s does not fit into {samples * step_s:g} s of data")
    return steps


def ramps(values: ArrayLike, step_s: float, horizon_s: float) -> Floats:
    """Change of power over a horizon, for every start, shape (..., n − horizon/step)."""
    x = np.asarray(values, dtype=np.float64)
    lag = whole_steps(horizon_s, step_s, "ramp horizon", x.shape[-1])
    return np.asarray(x[..., lag:] - x[..., :-lag])


def ramp_distance(first: ArrayLike, second: ArrayLike, step_s: float, horizon_s: float) -> Floats:
    """1-Wasserstein distance of two ramp distributions, in the unit of the input."""
    return wasserstein(ramps(first, step_s, horizon_s), ramps(second, step_s, horizon_s))


def ramp_percentiles(
    values: ArrayLike, step_s: float, horizon_s: float, q: ArrayLike = TAIL_PERCENTILES
) -> Floats:
    """Percentiles of the ramp distribution, shape (..., len(q))."""
    return percentile(ramps(values, step_s, horizon_s), q)


def windows(values: ArrayLike, step_s: float, window_s: float) -> Floats:
    """Whole consecutive windows, shape (..., windows, samples per window); an incomplete last one is left out."""
    x = np.asarray(values, dtype=np.float64)
    samples = whole_steps(window_s, step_s, "window", x.shape[-1] + 1)
    count = x.shape[-1] // samples
    return x[..., : count * samples].reshape(*x.shape[:-1], count, samples)


def swing(values: ArrayLike, step_s: float, window_s: float) -> Floats:
    """99th minus 1st percentile of power within each window, shape (..., windows)."""
    tails = percentile(windows(values, step_s, window_s), (1.0, 99.0))
    return np.asarray(tails[..., 1] - tails[..., 0])


def dip_depth(values: ArrayLike, step_s: float, window_s: float) -> Floats:
    """Depth of the deepest synchronised dip of each window, as a share of the window's median.

    (median − minimum) / median: 0 for a flat load, near 1 when every node stops at one barrier. The median
    is the plateau because nodes spend most of their time computing.

    Returns
    -------
    ndarray, shape (..., windows)

    Raises
    ------
    InputError
        A window has no sample, or its median is not positive.
    """
    cut = windows(values, step_s, window_s)
    level = percentile(cut, 50.0)
    if (level <= 0.0).any():
        raise InputError("the depth of a dip needs a positive median load in every window")
    return np.asarray(1.0 - np.nanmin(cut, axis=-1) / level)

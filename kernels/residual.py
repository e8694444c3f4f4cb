"""Minute-to-minute residual of the node layer: a stationary unit AR(1), keyed by the absolute minute."""

import math

import numpy as np

from .jit import kernel
from .rng import MINUTE_RESIDUAL, normal, stream_key


@kernel()
def unit_residual(seed: np.uint64, first_minute: int, decorrelation_min: float, out: np.ndarray) -> None:
    """Exact samples at whole minutes of an Ornstein–Uhlenbeck process with unit variance (Gillespie 1996).

    Parameters
    ----------
    decorrelation_min : e-folding time of the autocorrelation [min]
    out : float64 (n_minutes,), result
    """
    key = stream_key(seed, MINUTE_RESIDUAL)
    keep = math.exp(-1.0 / decorrelation_min)
    kick = math.sqrt(-math.expm1(-2.0 / decorrelation_min))
    x = normal(key, first_minute - 1)
    for i in range(out.size):
        x = keep * x + kick * normal(key, first_minute + i)
        out[i] = x

"""The Ornstein-Uhlenbeck noise of the node layer (paper section II-C, below eq. 6), exact at any step.

All nodes share one mean-reversion rate θ, so the sum of their noises is itself one such process whose variance
rate is the sum of the nodes' rates: one recursion for the whole facility (Gillespie 1996 for the exact step).
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .jit import kernel
from .rng import normal

Floats = NDArray[np.float64]


class NoiseStep(NamedTuple):
    """Coefficients of one step at unit variance rate.

    X' = decay·X + own·Z₁;  mean over the step = memory·X + shared·Z₁ + rest·Z₂.
    """

    decay: float
    own: float
    memory: float
    shared: float
    rest: float


def noise_step(theta_per_s: float, step_s: float) -> NoiseStep:
    """Joint law of the process at the end of a step and of its mean over the step.

    With x = θΔ and a = e^(−x): Var X = (1 − a²)/2θ, Cov(X, ∫X) = (1 − a)²/2θ², and the part of the integral's
    variance that X does not explain is (x − 2·tanh(x/2))/θ³.
    """
    x = theta_per_s * step_s
    gone = -math.expm1(-x)
    own = math.sqrt(-math.expm1(-2.0 * x) / (2.0 * theta_per_s))
    shared = gone * gone / (2.0 * theta_per_s * theta_per_s) / own
    rest = math.sqrt(_unexplained(x) / theta_per_s**3)
    return NoiseStep(math.exp(-x), own, gone / x, shared / step_s, rest / step_s)


def _unexplained(x: float) -> float:
    if x < 0.03:  # the closed form cancels: x³/12 is left of terms of size x
        return x**3 / 12.0 - x**5 / 120.0 + 17.0 * x**7 / 20160.0
    return x - 2.0 * math.tanh(0.5 * x)


@kernel()
def noise_block(rate: Floats, carried: float, key: np.uint64, first: int, law: NoiseStep, instant: bool,
                out: Floats) -> float:  # fmt: skip
    """Write one block of the noise and return the block's own contribution to its end.

    The process restarts from zero at every block and takes over only what the block before made itself, so
    any window that computes one block more at its front gives the same bits. What is forgotten has decayed
    through a whole block: blocks of 40/θ or more leave less than 5e-18 of it.

    Parameters
    ----------
    rate : variance rate, constant over each step [W²/s]
    carried : the end value returned for the block before [W]
    first : number of the block's first step, counted from any fixed origin, not negative
    out : means over the steps, or values at their beginnings [W]
    """
    value = carried
    fresh = 0.0
    for k in range(len(rate)):
        root = math.sqrt(rate[k])
        z = normal(key, 2 * (first + k)) * root
        if instant:
            out[k] = value
        else:
            other = normal(key, 2 * (first + k) + 1) * root
            out[k] = law.memory * value + law.shared * z + law.rest * other
        value = law.decay * value + law.own * z
        fresh = law.decay * fresh + law.own * z
    return fresh

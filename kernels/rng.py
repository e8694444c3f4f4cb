"""Random numbers keyed by what they are for, not by when they are drawn.

Every draw is a pure function of (seed, purpose, entity, counter): results cannot depend on the number of
threads, on chunking, or on where a window starts. The mixing function is the finaliser of splitmix64
(Steele, Lea and Flood 2014). Ids are always mixed before they meet a key: adding `id * GOLDEN` instead would
make neighbouring streams shifted copies of each other.

Stream compatibility is a versioned promise: `SCHEME` changes whenever any draw does, and a golden test
holds the first draws of every purpose.
"""

import math

import numpy as np

from .jit import kernel

SCHEME = "splitmix64-keyed-1"

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_S30 = np.uint64(30)
_S27 = np.uint64(27)
_S31 = np.uint64(31)
_S11 = np.uint64(11)
_TO_UNIT = 2.0**-53

# Purposes: one number per independent use. Never renumber; append.
ARRIVAL_EVENTS = np.uint64(1)
BATCH_SIZE = np.uint64(2)
JOB_NODES = np.uint64(3)
JOB_DURATION = np.uint64(4)
MINUTE_RESIDUAL = np.uint64(5)
CHAIN_PATH = np.uint64(6)
CHAIN_DEVIATION = np.uint64(7)
NODE_NOISE = np.uint64(8)
JOB_CLASS = np.uint64(9)
ENSEMBLE_MEMBER = np.uint64(10)
CHAIN_ENTRY = np.uint64(11)
JOB_PHASES = np.uint64(12)

# Rational approximations of Wichura (1988), AS 241 PPND16, highest power first.
_CENTRE_OVER = (
    2509.0809287301226727, 33430.575583588128105, 67265.770927008700853, 45921.953931549871457,
    13731.693765509461125, 1971.5909503065514427, 133.14166789178437745, 3.387132872796366608,
)  # fmt: skip
_CENTRE_UNDER = (
    5226.495278852545925, 28729.085735721942674, 39307.89580009271061, 21213.794301586595867,
    5394.1960214247511077, 687.1870074920579083, 42.313330701600911252, 1.0,
)  # fmt: skip
_SHOULDER_OVER = (
    7.7454501427834140764e-4, 0.0227238449892691845833, 0.24178072517745061177,
    1.27045825245236838258, 3.64784832476320460504, 5.7694972214606914055,
    4.6303378461565452959, 1.42343711074968357734,
)  # fmt: skip
_SHOULDER_UNDER = (
    1.05075007164441684324e-9, 5.475938084995344946e-4, 0.0151986665636164571966,
    0.14810397642748007459, 0.68976733498510000455, 1.6763848301838038494,
    2.05319162663775882187, 1.0,
)  # fmt: skip
_TAIL_OVER = (
    2.01033439929228813265e-7, 2.71155556874348757815e-5, 0.0012426609473880784386,
    0.026532189526576123093, 0.29656057182850489123, 1.7848265399172913358,
    5.4637849111641143699, 6.6579046435011037772,
)  # fmt: skip
_TAIL_UNDER = (
    2.04426310338993978564e-15, 1.4215117583164458887e-7, 1.8463183175100546818e-5,
    7.868691311456132591e-4, 0.0148753612908506148525, 0.13692988092273580531,
    0.59983220655588793769, 1.0,
)  # fmt: skip


@kernel()
def mix(x: np.uint64) -> np.uint64:
    """Scramble 64 bits bijectively."""
    x = np.uint64(x)
    x = (x ^ (x >> _S30)) * _MIX_1
    x = (x ^ (x >> _S27)) * _MIX_2
    return x ^ (x >> _S31)


@kernel()
def stream_key(seed: np.uint64, purpose: np.uint64) -> np.uint64:
    """The key of one purpose under one master seed. Seed 0 is a seed like any other."""
    return mix(mix(np.uint64(seed) + _GOLDEN) + np.uint64(purpose) * _MIX_1)


@kernel()
def entity_key(key: np.uint64, entity: int) -> np.uint64:
    """The key of one entity (job, minute, node, …) within a stream; nest for finer ids."""
    return mix(np.uint64(key) ^ mix(np.uint64(entity) + _GOLDEN))


@kernel()
def bits(key: np.uint64, counter: int) -> np.uint64:
    """64 random bits: draw number `counter` of the stream `key`."""
    return mix(np.uint64(key) + (np.uint64(counter) + np.uint64(1)) * _GOLDEN)


@kernel()
def uniform(key: np.uint64, counter: int) -> float:
    """A float64 strictly inside (0, 1)."""
    return (np.float64(bits(key, counter) >> _S11) + 0.5) * _TO_UNIT


@kernel()
def _ratio(x: float, over: tuple[float, ...], under: tuple[float, ...]) -> float:
    top = over[0]
    bottom = under[0]
    for i in range(1, len(over)):
        top = top * x + over[i]
        bottom = bottom * x + under[i]
    return top / bottom


@kernel()
def normal_quantile(p: float) -> float:
    """Inverse of the standard normal distribution, relative error below 1e-15 (AS 241)."""
    q = p - 0.5
    if abs(q) <= 0.425:
        return q * _ratio(0.180625 - q * q, _CENTRE_OVER, _CENTRE_UNDER)
    r = math.sqrt(-math.log(min(p, 1.0 - p)))
    if r <= 5.0:
        z = _ratio(r - 1.6, _SHOULDER_OVER, _SHOULDER_UNDER)
    else:
        z = _ratio(r - 5.0, _TAIL_OVER, _TAIL_UNDER)
    return -z if q < 0.0 else z


@kernel()
def normal(key: np.uint64, counter: int) -> float:
    """A standard normal draw, monotone in its one uniform (common random numbers survive)."""
    return normal_quantile(uniform(key, counter))

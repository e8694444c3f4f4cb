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


@kernel()
def mix(x):  # type: ignore[no-untyped-def]
    """Scramble 64 bits bijectively."""
    x = np.uint64(x)
    x = (x ^ (x >> _S30)) * _MIX_1
    x = (x ^ (x >> _S27)) * _MIX_2
    return x ^ (x >> _S31)


@kernel()
def stream_key(seed, purpose):  # type: ignore[no-untyped-def]
    """The key of one purpose under one master seed. Seed 0 is a seed like any other."""
    return mix(mix(np.uint64(seed) + _GOLDEN) + np.uint64(purpose) * _MIX_1)


@kernel()
def entity_key(key, entity):  # type: ignore[no-untyped-def]
    """The key of one entity (job, minute, node, …) within a stream; nest for finer ids."""
    return mix(np.uint64(key) ^ mix(np.uint64(entity) + _GOLDEN))


@kernel()
def bits(key, counter):  # type: ignore[no-untyped-def]
    """64 random bits: draw number `counter` of the stream `key`."""
    return mix(np.uint64(key) + (np.uint64(counter) + np.uint64(1)) * _GOLDEN)


@kernel()
def uniform(key, counter):  # type: ignore[no-untyped-def]
    """A float64 strictly inside (0, 1)."""
    return (np.float64(bits(key, counter) >> _S11) + 0.5) * _TO_UNIT


@kernel()
def normal_quantile(p):  # type: ignore[no-untyped-def]
    """Inverse of the standard normal distribution, relative error below 1e-15 (Wichura 1988, AS 241)."""
    q = p - 0.5
    if abs(q) <= 0.425:
        r = 0.180625 - q * q
        num = (
            ((((((2509.0809287301226727 * r + 33430.575583588128105) * r + 67265.770927008700853) * r
                + 45921.953931549871457) * r + 13731.693765509461125) * r + 1971.5909503065514427) * r
                + 133.14166789178437745) * r + 3.387132872796366608
        )
        den = (
            ((((((5226.495278852545925 * r + 28729.085735721942674) * r + 39307.89580009271061) * r
                + 21213.794301586595867) * r + 5394.1960214247511077) * r + 687.1870074920579083) * r
                + 42.313330701600911252) * r + 1.0
        )
        return q * num / den
    r = math.sqrt(-math.log(min(p, 1.0 - p)))
    if r <= 5.0:
        r -= 1.6
        num = (
            ((((((7.7454501427834140764e-4 * r + 0.0227238449892691845833) * r + 0.24178072517745061177) * r
                + 1.27045825245236838258) * r + 3.64784832476320460504) * r + 5.7694972214606914055) * r
                + 4.6303378461565452959) * r + 1.42343711074968357734
        )
        den = (
            ((((((1.05075007164441684324e-9 * r + 5.475938084995344946e-4) * r + 0.0151986665636164571966) * r
                + 0.14810397642748007459) * r + 0.68976733498510000455) * r + 1.6763848301838038494) * r
                + 2.05319162663775882187) * r + 1.0
        )
    else:
        r -= 5.0
        num = (
            ((((((2.01033439929228813265e-7 * r + 2.71155556874348757815e-5) * r + 0.0012426609473880784386) * r
                + 0.026532189526576123093) * r + 0.29656057182850489123) * r + 1.7848265399172913358) * r
                + 5.4637849111641143699) * r + 6.6579046435011037772
        )
        den = (
            ((((((2.04426310338993978564e-15 * r + 1.4215117583164458887e-7) * r + 1.8463183175100546818e-5) * r
                + 7.868691311456132591e-4) * r + 0.0148753612908506148525) * r + 0.13692988092273580531) * r
                + 0.59983220655588793769) * r + 1.0
        )
    z = num / den
    return -z if q < 0.0 else z


@kernel()
def normal(key, counter):  # type: ignore[no-untyped-def]
    """A standard normal draw, monotone in its one uniform (common random numbers survive)."""
    return normal_quantile(uniform(key, counter))

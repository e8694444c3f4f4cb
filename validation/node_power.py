"""Measured power of one node under training, to hold the node layer against (paper Fig. 7)."""

from importlib.resources import files
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from .marginal import histogram_density
from .series import Floats

SENSOR_WINDOW_S = 1.0
"""GPU power sensors report a running mean over this long; a model is averaged alike before it is compared."""


class NodePowerHistogram(NamedTuple):
    """Measured density of node power.

    Attributes
    ----------
    edges : ndarray, shape (bins + 1,)
        Power as a share of the node's thermal design power.
    density : ndarray, shape (bins,)
    title : str
    """

    edges: Floats
    density: Floats
    title: str


def measured_node_power() -> NodePowerHistogram:
    """The shipped measurement: a 16-node Llama-2-70B LoRA job on H100 (NLR, CC BY 4.0)."""
    source = files("hsmdc.validation") / "data" / "nlr_node_power_histogram.csv"
    with source.open(encoding="utf-8") as table:
        frame = pd.read_csv(table)
    edges = np.append(frame["low"].to_numpy(np.float64), frame["high"].to_numpy(np.float64)[-1])
    counts = frame["count"].to_numpy(np.float64)
    title = "measured, Llama-2-70B LoRA, 16 nodes"
    return NodePowerHistogram(edges, counts / (counts.sum() * np.diff(edges)), title)


def sensor_density(power_w: ArrayLike, step_s: float, tdp_w: float, edges: Floats) -> Floats:
    """Density of a model's node power as the sensor would have seen it.

    Parameters
    ----------
    power_w : array, shape (n,)
        Power of one node [W].
    step_s : float
        Step [s].
    tdp_w : float
        Thermal design power of the node [W].
    edges : ndarray
        Bin edges as a share of `tdp_w`.
    """
    samples = max(1, round(SENSOR_WINDOW_S / step_s))
    window = np.full(samples, 1.0 / samples)
    seen = np.convolve(np.asarray(power_w, dtype=np.float64), window, mode="valid")
    return histogram_density(seen / tdp_w, edges)

"""Figures of the node layer: one node over a minute, a facility over some minutes."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_STATE_NAMES = ("peak surge", "light compute", "base", "checkpoint idle", "all-reduce dip")
_STATE_COLOURS = ("#d95f02", "#e6ab02", "#999999", "#7570b3", "#1b9e77")


def node_figure(node: xr.Dataset, path: str | Path, *, tdp_w: float) -> None:
    """Power of one node over time, coloured by its state, with its histogram in units of TDP."""
    from matplotlib.figure import Figure

    seconds = (node["time"].values - node["time"].values[0]) / np.timedelta64(1, "s")
    power_w = node["node_power"].values
    state = node["state"].values
    figure = Figure(figsize=(11, 4), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[4, 1], sharey=True)
    left.step(seconds, power_w / tdp_w, where="post", color="0.25", linewidth=0.7)
    for number, (name, colour) in enumerate(zip(_STATE_NAMES, _STATE_COLOURS, strict=True)):
        left.fill_between(
            seconds, 0.0, 1.0, where=state == number, step="post", color=colour, alpha=0.18, linewidth=0,
            transform=left.get_xaxis_transform(), label=name,
        )  # fmt: skip
    left.legend(ncols=5, loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False)
    left.set(xlabel="time [s]", ylabel="node power [share of TDP]", xlim=(0, seconds[-1]))
    left.set_ylim(bottom=0.0)
    right.hist(power_w / tdp_w, bins=100, orientation="horizontal", color="0.4", density=True)
    right.set(xlabel="density")
    figure.savefig(path, dpi=150)


def window_figure(window: xr.Dataset, path: str | Path) -> None:
    """Save `draw_window` as png, pdf or svg."""
    draw_window(window).savefig(path, dpi=150)


def draw_window(window: xr.Dataset) -> "Figure":
    """IT power of a window with its minute means, a closer look, and cooling beside it."""
    from matplotlib.figure import Figure

    step_s = float(window.attrs["step_s"])
    minutes = np.arange(window.sizes["time"]) * step_s / 60.0
    it_mw = window["it_power"].values
    figure = Figure(figsize=(11, 8), layout="constrained")
    top, close, low = figure.subplots(3, 1)
    top.plot(minutes, it_mw, color="#1f77b4", linewidth=0.3)
    per_minute = max(1, round(60.0 / step_s))
    whole = len(it_mw) // per_minute
    if whole:
        means = it_mw[: whole * per_minute].reshape(whole, -1).mean(axis=1)
        top.stairs(means, np.arange(whole + 1.0), color="#d62728", baseline=None, label="minute means")
        top.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), frameon=False)
    start = str(window["time"].values[0])[:19]
    top.set(
        xlabel=f"minutes after {start} UTC",
        ylabel="IT power [MW]",
        title=f"{len(it_mw)} steps of {step_s:g} s",
    )
    count = min(len(it_mw), max(2, round(15.0 / step_s)))
    close.step(minutes[:count] * 60.0, it_mw[:count], where="post", color="#1f77b4", linewidth=0.8)
    close.set(xlabel="seconds", ylabel="IT power [MW]", title="the first seconds", xlim=(0, count * step_s))
    for name, colour in (("hvac_power", "#2ca02c"), ("chiller_power", "#9467bd"), ("auxiliary_power", "0.5")):
        low.plot(minutes, window[name].values, color=colour, label=name.removesuffix("_power"))
    low.set(xlabel="minutes", ylabel="power [MW]", title="cooling and auxiliary load")
    low.set_ylim(0.0, 1.15 * low.get_ylim()[1])
    low.legend(ncols=3, loc="lower right")
    for axis in (top, low):
        axis.set_xlim(0, minutes[-1] + step_s / 60.0)
    return figure

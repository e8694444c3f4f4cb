"""Figures of a dispatch: balance, GPUs and modes, progress, mode cloud, sensitivities, plan and execution.

Colours are those of Okabe and Ito, told apart with any colour vision; lines also differ by dash.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import xarray as xr

from hsmdc.dispatch.case import Case
from hsmdc.dispatch.modes import effective_modes, feasible_modes
from hsmdc.dispatch.published import published_sensitivities

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array = npt.NDArray[Any]

ORANGE, SKY, GREEN, YELLOW, BLUE, VERMILION, PURPLE, BLACK = (
    "#E69F00",
    "#56B4E9",
    "#009E73",
    "#F0E442",
    "#0072B2",
    "#D55E00",
    "#CC79A7",
    "#000000",
)
TASK_COLOURS = (BLUE, ORANGE, GREEN, PURPLE, SKY, VERMILION)
_DASHES = ("-", "--", "-.", ":")

_AXIS_NAMES = {
    "segments": "checkpoint segments per day",
    "gpus": "GPUs in the pool",
    "renewables": "renewable capacity, relative to the case",
}


def _figure(rows: int, height: float, **kwargs: Any) -> "tuple[Figure, list[Axes]]":
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.5, height), layout="constrained")
    axes = figure.subplots(rows, 1, squeeze=False, **kwargs)
    return figure, [row[0] for row in axes]


def _edges(schedule: xr.Dataset) -> Array:
    slot_h = float(schedule.attrs["slot_h"])
    return np.arange(schedule.sizes["slot"] + 1) * slot_h


def _step(axes: "Axes", edges: Array, values: Array, **style: Any) -> None:
    axes.stairs(values, edges, baseline=None, **style)


def _time_axis(axes: "Axes", edges: Array) -> None:
    days = edges[-1] / 24
    axes.set_xlim(edges[0], edges[-1])
    axes.set_xticks(np.arange(0, edges[-1] + 1e-9, 3 if days <= 1.1 else 12))
    axes.set_xlabel("time from the start of the horizon [h]")


def balance_figure(schedule: xr.Dataset) -> "Figure":
    """Supply stacked against the load of each slot, with curtailment; below, price and battery energy."""
    figure, (power, price) = _figure(2, 6.4, sharex=True, height_ratios=(2.2, 1))
    edges = _edges(schedule)
    available = schedule["pv_kw"].to_numpy() + schedule["wind_kw"].to_numpy()
    used = 1 - schedule["curtailed_kw"].to_numpy() / np.where(available > 0, available, 1)
    layers = (
        ("wind used", schedule["wind_kw"].to_numpy() * used, SKY),
        ("PV used", schedule["pv_kw"].to_numpy() * used, YELLOW),
        ("battery discharge", schedule["discharge_kw"].to_numpy(), PURPLE),
        ("grid", schedule["grid_kw"].to_numpy(), "#999999"),
        ("curtailed", schedule["curtailed_kw"].to_numpy(), "#FFFFFF"),
    )
    floor = np.zeros(len(edges) - 1)
    for label, values, colour in layers:
        if values.max() > 1e-6:
            hatch = "////" if label == "curtailed" else None
            power.stairs(
                floor + values, edges, baseline=floor, fill=True, label=label, facecolor=colour, hatch=hatch
            )
            floor = floor + values
    site = schedule["site_power_kw"].to_numpy()
    _step(power, edges, site, color=BLACK, lw=1.8, label="site load")
    charge = schedule["charge_kw"].to_numpy()
    if charge.max() > 1e-6:
        _step(
            power,
            edges,
            np.where(charge > 1e-6, site + charge, np.nan),
            color=PURPLE,
            ls="--",
            label="load + charging",
        )
    power.set_ylabel("power [kW]")
    power.set_ylim(0, None)
    power.legend(ncols=3, fontsize="small", loc="upper left", bbox_to_anchor=(0, 1.19), frameon=False)
    _step(price, edges, schedule["price_usd_per_mwh"].to_numpy(), color=VERMILION, lw=1.6)
    price.set_ylabel("price [USD/MWh]", color=VERMILION)
    if schedule.attrs["scenario_battery"]:
        energy = price.twinx()
        energy.plot(edges[1:], schedule["state_of_charge_kwh"], color=PURPLE, ls="--", marker=".", ms=4)
        energy.set_ylabel("battery energy [kWh]", color=PURPLE)
        energy.set_ylim(0, 1.15 * float(schedule["state_of_charge_kwh"].max()))
    _time_axis(price, edges)
    return figure


def gantt_figure(schedule: xr.Dataset) -> "Figure":
    """GPUs held by each task over time; below, the runs with their modes."""
    tasks = [str(name) for name in schedule["task"].to_numpy()]
    figure, (pool, lanes) = _figure(
        2, 3.6 + 0.8 * len(tasks), sharex=True, height_ratios=(1.6, 0.4 + 0.6 * len(tasks))
    )
    edges = _edges(schedule)
    floor = np.zeros(len(edges) - 1)
    for index, name in enumerate(tasks):
        held = schedule["gpus"].to_numpy()[index]
        pool.stairs(floor + held, edges, baseline=floor, fill=True, color=_colour(index), label=name)
        floor = floor + held
    pool.set_ylabel("GPUs held")
    pool.legend(ncols=3, fontsize="small", loc="lower left", bbox_to_anchor=(0, 1.0), frameon=False)
    slot_h = float(schedule.attrs["slot_h"])
    for run in range(schedule.sizes["run"]):
        task, start = int(schedule["run_task"][run]), int(schedule["run_start_slot"][run]) * slot_h
        length, gpus = float(schedule["run_slots"][run]) * slot_h, int(schedule["run_gpus"][run])
        lanes.barh(
            task, length, left=start, height=0.72, color=_colour(task), alpha=0.55, edgecolor=BLACK, lw=0.6
        )
        sizes = "×".join(str(int(schedule[f"run_{axis}"][run])) for axis in ("pipeline", "tensor", "data"))
        if length >= 0.8 * edges[-1] / 24:
            lanes.text(
                start + length / 2,
                task,
                f"{gpus}\n{sizes}",
                ha="center",
                va="center",
                fontsize=6.5,
                rotation=90,
            )
    lanes.set_yticks(range(len(tasks)), tasks)
    lanes.invert_yaxis()
    lanes.set_ylabel("runs: GPUs, p×t×d")
    _time_axis(lanes, edges)
    return figure


def _colour(index: int) -> str:
    return TASK_COLOURS[index % len(TASK_COLOURS)]


def progress_figure(schedule: xr.Dataset) -> "Figure":
    """Checkpointed progress of each task."""
    figure, (axes,) = _figure(1, 3.4)
    edges = _edges(schedule)
    for index, name in enumerate(schedule["task"].to_numpy()):
        done = np.concatenate([[0.0], schedule["progress"].to_numpy()[index]]) * 100
        style: dict[str, Any] = {
            "color": _colour(index),
            "ls": _DASHES[index % len(_DASHES)],
            "label": str(name),
        }
        axes.plot(edges, done, drawstyle="steps-post", lw=1.8, **style)
    axes.set_ylabel("work checkpointed [%]")
    axes.set_ylim(0, 102)
    axes.legend(loc="upper left", frameon=False)
    _time_axis(axes, edges)
    return figure


def mode_figure(case: Case) -> "Figure":
    """Feasible modes of each task by GPUs and throughput, the effective ones joined."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.4 * max(len(case.task), 1), 3.8), layout="constrained")
    for index, task in enumerate(case.task):
        axes = figure.add_subplot(1, len(case.task), index + 1)
        every, best = feasible_modes(case, task), effective_modes(case, task)
        useful = every[every["pace"] > 0]
        axes.scatter(
            useful["gpus"],
            useful["throughput_tflops"] / 1e3,
            s=14,
            color="#999999",
            label=f"{len(every)} feasible",
        )
        axes.plot(
            best["gpus"],
            best["throughput_tflops"] / 1e3,
            color=_colour(index),
            marker="o",
            ms=5,
            lw=1,
            label=f"{len(best)} effective",
        )
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_xlabel("GPUs")
        axes.set_ylabel("throughput [PFLOP/s]")
        axes.set_title(task.name, fontsize="medium")
        axes.legend(frameon=False, fontsize="small")
    return figure


def sensitivity_figure(sweeps: Iterable[xr.Dataset]) -> "Figure":
    """Cost and green share against each swept parameter; published figures as open circles."""
    from matplotlib.figure import Figure

    sweeps = list(sweeps)
    figure = Figure(figsize=(4.4 * len(sweeps), 3.8), layout="constrained")
    for index, table in enumerate(sweeps):
        axes = figure.add_subplot(1, len(sweeps), index + 1)
        _sensitivity_panel(axes, table)
    entries = {
        label: handle
        for axes in figure.axes
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    figure.legend(
        entries.values(), entries.keys(), loc="outside upper center", ncols=len(entries), frameon=False
    )
    return figure


def _sensitivity_panel(axes: "Axes", table: xr.Dataset) -> None:
    parameter = str(table.attrs["parameter"])
    value, cost = table["value"].to_numpy(), table["cost_usd"].to_numpy()
    axes.plot(value, cost, color=BLUE, marker="o", ms=4, label="cost")
    known = published_sensitivities(table)
    known = known[known["variable"] == "cost_usd"]
    if len(known):
        axes.plot(
            known["value"], known["published"], "o", mfc="none", mec=BLACK, ms=9, label="cost, published"
        )
    none = value[table["feasible"].to_numpy() == 0]
    if len(none):
        axes.axvspan(none.min(), none.max(), color=VERMILION, alpha=0.2, label="infeasible")
    axes.set_xlabel(_AXIS_NAMES.get(parameter, parameter))
    axes.set_ylabel("cost [USD]", color=BLUE)
    green = axes.twinx()
    green.plot(value, table["green_share"] * 100, color=GREEN, ls="--", marker="s", ms=3, label="green share")
    green.set_ylabel("green share [%]", color=GREEN)


def execution_figure(
    schedule: xr.Dataset, executed: xr.Dataset, window: xr.Dataset | None = None
) -> "Figure":
    """Planned training power by slot, the executed day at one minute and, if given, a window at its own step."""
    from hsmdc.dispatch.commitment import executed_training

    panels = 2 if window is not None else 1
    figure, axes = _figure(panels, 3.6 * panels)
    edges = _edges(schedule)
    hours, power_kw = executed_training(schedule, executed)
    axes[0].plot(hours, power_kw, color=ORANGE, lw=0.8, label="executed, one minute")
    _step(axes[0], edges, schedule["train_power_kw"].to_numpy(), color=BLUE, lw=1.8, label="planned")
    axes[0].set_ylabel("training power [kW]")
    axes[0].set_ylim(0, None)
    axes[0].legend(ncols=2, loc="lower left", bbox_to_anchor=(0, 1.0), frameon=False)
    _time_axis(axes[0], edges)
    if window is not None:
        times = window["time"].to_numpy()
        seconds = (times - times[0]) / np.timedelta64(1, "s")
        axes[1].plot(seconds, window["it_power"].to_numpy(), color=ORANGE, lw=0.5)
        axes[1].set_xlabel(f"seconds from {np.datetime_as_string(times[0], unit='s').replace('T', ' ')} UTC")
        axes[1].set_ylabel("facility IT power [MW]")
    return figure


def save_figures(figures: "Mapping[str, Figure]", folder: str | Path, *, dpi: int = 150) -> list[Path]:
    """Write figures as PNG into a folder, made if absent; returns the paths."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, figure in figures.items():
        paths.append(folder / f"{name}.png")
        figure.savefig(paths[-1], dpi=dpi)
    return paths


def schedule_figures(case: Case, schedule: xr.Dataset) -> "dict[str, Figure]":
    """Balance, Gantt, progress and mode cloud of a schedule."""
    figures = {"balance": balance_figure(schedule)}
    if schedule.sizes["task"]:
        figures |= {
            "gpus_and_modes": gantt_figure(schedule),
            "progress": progress_figure(schedule),
            "modes": mode_figure(case),
        }
    return figures

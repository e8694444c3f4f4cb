"""The figures of the comparison, after Figs. 3 to 7 of the HSM-DC paper.

`members` are what `score` made of the traces. Where a level has several seeds, the line is their mean and
the band runs from the lowest to the highest. Every function returns a matplotlib Figure and shows nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from hsmdc.errors import InputError

from .curves import hourly_curves
from .marginal import load_duration_curve
from .references import Reference
from .series import Floats, as_series, averaged, step_words
from .style import (
    BEHIND,
    MODEL_COLOUR,
    REFERENCE_COLOUR,
    at_level,
    house_style,
    level_name,
    level_style,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WIDTH_IN = 6.7
_HOUR_S = 3600.0


def marginals(members: Sequence[xr.Dataset], reference: Reference) -> Figure:
    """Density of power at every level (Fig. 4, left).

    Where the reference has an hourly series, both sides are hourly means; elsewhere the reference's
    median, 90th percentile and maximum stand as lines.
    """
    levels = _levels(members)
    with house_style():
        figure, panels = _panels(len(levels))
        for axes, (level, group) in zip(panels, levels.items(), strict=True):
            theirs = _reference_hourly(reference, level)
            if theirs is None or not all("hourly" in member for member in group):
                _band(axes, group[0]["power"].values, _stack(group, "density"), "model")
                _mark_statistics(axes, reference, level)
                axes.set_title(_titled(level, f"step {step_words(float(group[0].attrs['step_s']))}"))
            else:
                edges = _edges(group[0]["power"].values)
                ours = np.stack([_density(member["hourly"].values, edges) for member in group])
                axes.plot(
                    group[0]["power"].values, _density(theirs, edges), label="reference density", **BEHIND
                )
                _band(axes, group[0]["power"].values, ours, "model")
                axes.set_title(_titled(level, "hourly means"))
            axes.set(yscale="log", ylim=(1e-3, 30.0))
        _outer_labels(panels, "IT power [MW]", "density [1/MW]")
        _shared_legend(figure, panels)
    return figure


def autocorrelations(members: Sequence[xr.Dataset], reference: Reference) -> Figure:
    """Autocorrelation of hourly means over a week at every level (Fig. 4, right)."""
    with house_style():
        figure, axes = _single(3.0)
        for index, (level, group) in enumerate(_levels(members, needs="acf").items()):
            target = reference.series_at(level)
            curves = hourly_curves(as_series(target)) if target is not None else xr.Dataset()
            if "acf" in curves:
                axes.plot(curves["lag"], curves["acf"], label=at_level("reference", level), **BEHIND)
            lags, ours = group[0]["lag"].values, _stack(group, "acf")
            _band(axes, lags, ours, at_level("model", level), **level_style(index))
        axes.set(xlabel="lag [h]", ylabel="autocorrelation [1]", xlim=(0, 168), xticks=range(0, 169, 24))
        axes.legend(ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    return figure


def week_overlay(members: Sequence[xr.Dataset], reference: Reference, week: int = 9) -> Figure:
    """One week of hourly means, first seed against the reference (Fig. 5).

    `week` counts whole weeks from the first hour both have in common.

    Raises
    ------
    InputError
        No trace shares a week with an hourly series of the reference.
    """
    for level, group in _levels(members, needs="hourly").items():
        pair = _shared_week(group[0], reference, level, week)
        if pair is None:
            continue
        times, ours, theirs = pair
        with house_style():
            figure, axes = _single(2.6)
            axes.plot(times, theirs, color=REFERENCE_COLOUR, lw=1.6, label=at_level("reference", level))
            axes.plot(
                times, ours, color="#D55E00", ls=(0, (4, 1.2)), label=f"model, seed {group[0].attrs['seed']}"
            )
            axes.set(xlabel="time (UTC)", ylabel="IT power, hourly mean [MW]", xlim=(times[0], times[-1]))
            _date_axis(axes)
            axes.legend(ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1.0))
        return figure
    raise InputError("no trace shares a week with an hourly series of the reference")


def week_percentiles(members: Sequence[xr.Dataset], reference: Reference) -> Figure:
    """Median and 10th to 90th percentile over the weeks by time of week, first seed against the reference.

    Raises
    ------
    InputError
        The reference has no such percentiles, or there is no trace at their level.
    """
    week = reference.week_percentiles
    if week is None:
        raise InputError(f"reference {reference.name} has no percentiles by time of week")
    level = float(week.attrs["utilization"])
    found = _levels(members, needs="week").get(level)
    if found is None:
        raise InputError(
            f"no trace at utilization {level:g}, where the reference has percentiles by time of week"
        )
    theirs, ours = week["power"], found[0]["week"]
    days = theirs["minute_of_week"].values / 1440.0
    with house_style():
        figure, axes = _single(2.8)
        low, median, high = (theirs.sel(percentile=q).values for q in (10.0, 50.0, 90.0))
        axes.fill_between(days, low, high, color="#bbbbbb", lw=0, label="reference, 10th to 90th percentile")
        axes.plot(days, median, color=REFERENCE_COLOUR, lw=2.2, label="reference, median")
        for q, style, label in ((90.0, ":", "10th, 90th percentile"), (10.0, ":", ""), (50.0, "-", "median")):
            power = ours.sel(percentile=q)
            name = f"model, seed {found[0].attrs['seed']}, {label}" if label else None
            axes.plot(power["minute_of_week"] / 1440.0, power, color="#D55E00", ls=style, lw=1.0, label=name)
        axes.set(xlabel="day of the week (UTC)", ylabel=f"IT power at {level_name(level)} [MW]", xlim=(0, 7))
        axes.set_xticks(range(8), ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun", ""])
        axes.legend(ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    return figure


def load_duration(members: Sequence[xr.Dataset], reference: Reference) -> Figure:
    """Load-duration curves with the reference's maximum, 90th percentile and median (Fig. 6, left)."""
    with house_style():
        figure, axes = _single(3.2)
        for index, (level, group) in enumerate(_levels(members).items()):
            style = level_style(index)
            share = 100.0 * group[0]["exceedance"].values
            _band(axes, share, _stack(group, "load_duration"), at_level("model", level), **style)
            _mark_load_duration(axes, reference, level, str(style["color"]))
        axes.plot([], [], "o", color="white", mec=REFERENCE_COLOUR, label="reference (max, 90th pct, median)")
        axes.set(xlabel="share of time exceeded [%]", ylabel="IT power [MW]", xlim=(-1, 101), ylim=(0, None))
        axes.legend(ncols=2)
    return figure


def ramp_sizes(members: Sequence[xr.Dataset], reference: Reference) -> Figure:
    """How often a change of power exceeds a size, in the traces and in the reference (Fig. 6, right).

    Changes over a minute and over an hour differ tenfold, so each has a panel of its own.
    """
    levels = _levels(members)
    hourly = [
        (level, as_series(power))
        for level, power in reference.series.items()
        if as_series(power).step_s == _HOUR_S
    ]
    with house_style():
        figure, panels = _panels(2 if hourly else 1, height_in=2.9, share=False)
        for index, (level, group) in enumerate(levels.items()):
            sizes, share = _stack(group, "ramp_size").mean(axis=0), group[0]["ramp_exceedance"].values
            panels[0].plot(sizes, share, label=at_level("model", level), **level_style(index))
        steps = sorted({float(group[0].attrs["step_s"]) for group in levels.values()})
        panels[0].set_title(f"from step to step ({', '.join(map(step_words, steps))})")
        for level, series in hourly:
            panels[-1].set_title("hourly means, from hour to hour")
            panels[-1].plot(*_exceedance(series.values), label=at_level("reference", level), **BEHIND)
            _add_hourly_model(panels[-1], members, level)
        for level, power in reference.series.items():
            series = as_series(power)
            if [series.step_s] == steps:
                panels[0].plot(*_exceedance(series.values), label=at_level("reference", level), **BEHIND)
        for axes in panels:
            axes.set(yscale="log", xlim=(0, None), ylim=(1e-5, 1.2), xlabel="size of change [MW]")
            axes.legend(loc="upper right")
        panels[0].set_ylabel("share of steps exceeded [1]")
    return figure


def _exceedance(values: Floats) -> tuple[Floats, Floats]:
    """Sizes of step-to-step changes and the share of steps that exceed them."""
    change = np.abs(np.diff(values))
    share = np.geomspace(1.0, 1.0 / (~np.isnan(change)).sum(), 101)
    return load_duration_curve(change, share), share


def year_overview(trace: xr.Dataset) -> Figure:
    """Lowest, mean and highest power of every day of a trace.

    The load is `facility_power` where the trace has it, else `it_power` [MW].

    Raises
    ------
    InputError
        The trace has less than two days.
    """
    load = trace["facility_power"] if "facility_power" in trace else trace["it_power"]
    days = load.to_series().resample("1D")
    if len(days) < 2:
        raise InputError("an overview by day needs a trace of two days or more")
    low, mean, high = days.min(), days.mean(), days.max()
    with house_style():
        figure, axes = _single(2.2)
        axes.fill_between(
            mean.index, low, high, step="post", color=MODEL_COLOUR, alpha=0.3, lw=0, label="daily range"
        )
        axes.step(mean.index, mean, where="post", color=MODEL_COLOUR, label="daily mean")
        what = "facility power" if load.name == "facility_power" else "IT power"
        axes.set(
            xlabel="day (UTC)", ylabel=f"{what} [MW]", ylim=(0, None), xlim=(mean.index[0], mean.index[-1])
        )
        dates = _date_ticks()
        axes.xaxis.set_major_formatter(dates.ConciseDateFormatter(axes.xaxis.get_major_locator()))
        axes.legend(ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    return figure


def day_decomposition(trace: xr.Dataset, day: str | None = None) -> Figure:
    """One day of a trace split into IT, cooling and auxiliary power (Fig. 3, right).

    Parameters
    ----------
    trace : Dataset
        With `it_power`, `hvac_power`, `chiller_power`, `auxiliary_power` [MW].
    day : str, optional
        UTC date; the day on which IT power moves most if not given.

    Raises
    ------
    InputError
        A component is missing from the trace.
    """
    parts = ("auxiliary_power", "chiller_power", "hvac_power", "it_power")
    missing = [name for name in parts if name not in trace]
    if missing:
        raise InputError(f"a decomposition needs the variable {missing[0]} in the trace")
    chosen = day if day is not None else _liveliest_day(trace)
    one = trace[list(parts)].sel(time=chosen)
    names = ("auxiliary", "chiller", "air handling", "IT")
    colours = ("#999999", "#56B4E9", "#009E73", "#E69F00")
    with house_style():
        figure, axes = _single(2.8)
        stacked = axes.stackplot(
            one["time"].values, *(one[name].values for name in parts), labels=names, colors=colours, lw=0
        )
        for area, hatch in zip(stacked, ("", "///", "...", ""), strict=True):
            area.set(hatch=hatch, edgecolor="white")
        axes.set(
            xlabel=f"time on {chosen} (UTC)",
            ylabel="power [MW]",
            xlim=(one["time"].values[0], one["time"].values[-1]),
        )
        _hour_axis(axes)
        axes.legend(ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    return figure


def step_response(time_s: Floats, responses: dict[str, Floats], dead_time_s: float) -> Figure:
    """Response of each cooling sub-system to a step of IT load at time 0 (Fig. 3, left).

    Parameters
    ----------
    time_s : ndarray
    responses : dict of name to ndarray
        Normalised response, 0…1.
    dead_time_s : float
    """
    with house_style():
        figure, axes = _single(2.6)
        axes.step(
            [time_s[0] / 60, 0, time_s[-1] / 60],
            [0, 1, 1],
            where="post",
            color=REFERENCE_COLOUR,
            label="IT load",
        )
        for index, (name, response) in enumerate(responses.items()):
            axes.plot(time_s / 60, response, label=name, **level_style(index + 1))
        axes.axvline(
            dead_time_s / 60,
            color="#777777",
            lw=0.9,
            ls=":",
            label=f"end of the dead time, {dead_time_s:g} s",
        )
        axes.set(
            xlabel="time after the step [min]", ylabel="response [1]", xlim=(time_s[0] / 60, time_s[-1] / 60)
        )
        axes.legend(loc="lower right")
    return figure


def node_histogram(
    model: Floats, measured: Floats, edges: Floats, model_name: str, measured_name: str
) -> Figure:
    """Density of one node's power, model against measured (Fig. 7).

    Parameters
    ----------
    model, measured : ndarray
        Densities on `edges` [1 per unit of power].
    edges : ndarray
        Bin edges, power as a share of the node's thermal design power.
    """
    with house_style():
        figure, axes = _single(2.8)
        axes.stairs(model, edges, fill=True, color=MODEL_COLOUR, alpha=0.35)
        axes.stairs(model, edges, color=MODEL_COLOUR, label=model_name)
        axes.stairs(measured, edges, color=REFERENCE_COLOUR, ls="--", label=measured_name)
        axes.set(xlabel="node power / thermal design power [1]", ylabel="density [1]", xlim=(0, edges[-1]))
        axes.legend(loc="upper left")
    return figure


def _levels(members: Sequence[xr.Dataset], needs: str = "load_duration") -> dict[float, list[xr.Dataset]]:
    found: dict[float, list[xr.Dataset]] = {}
    for member in members:
        if needs in member:
            level = float(member.attrs["utilization"])
            found.setdefault(np.nan if level != level else level, []).append(member)
    if not found:
        raise InputError(f"no trace has the curve '{needs}' to draw")
    return dict(sorted(found.items()))


def _titled(level: float, what: str) -> str:
    return f"{level_name(level)}, {what}".removeprefix(", ")


def _panels(count: int, height_in: float = 2.1, share: bool = True) -> tuple[Figure, list[Axes]]:
    from matplotlib.figure import Figure

    rows, columns = -(-count // 2), min(count, 2)
    figure = Figure(figsize=(_WIDTH_IN, height_in * rows + 0.4))
    grid = figure.subplots(rows, columns, sharex=share, sharey=True, squeeze=False).ravel()
    for unused in grid[count:]:
        unused.set_visible(False)
    return figure, list(grid[:count])


def _single(height_in: float) -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(_WIDTH_IN, height_in))
    return figure, figure.subplots()


def _outer_labels(panels: list[Axes], x: str, y: str) -> None:
    for axes in panels:
        axes.set_xlabel(x)
        axes.set_ylabel(y)
        axes.label_outer()


def _shared_legend(figure: Figure, panels: list[Axes]) -> None:
    """One legend above all panels; each label once."""
    found = {}
    for axes in panels:
        handles, labels = axes.get_legend_handles_labels()
        found.update(dict(zip(labels, handles, strict=True)))
    figure.legend(found.values(), found.keys(), loc="outside upper center", ncols=3)


def _stack(group: list[xr.Dataset], name: str) -> Floats:
    return np.stack([member[name].values for member in group])


def _band(
    axes: Axes, x: Floats, curves: Floats, label: str, color: str = MODEL_COLOUR, linestyle: object = "-"
) -> None:
    if curves.shape[0] > 1:
        axes.fill_between(x, curves.min(axis=0), curves.max(axis=0), color=color, alpha=0.25, lw=0)
        label = f"{label} ({curves.shape[0]} seeds)"
    axes.plot(x, curves.mean(axis=0), color=color, linestyle=linestyle, label=label)


def _edges(centres: Floats) -> Floats:
    half = (centres[1] - centres[0]) / 2.0
    return np.concatenate([centres - half, [centres[-1] + half]])


def _density(values: Floats, edges: Floats) -> Floats:
    there = values[~np.isnan(values)]
    return np.asarray(np.histogram(there, bins=edges)[0] / (there.size * np.diff(edges)))


def _reference_hourly(reference: Reference, level: float) -> Floats | None:
    target = reference.series_at(level)
    if target is None:
        return None
    series = as_series(target)
    return averaged(series, _HOUR_S).values if series.step_s <= _HOUR_S else None


def _mark_statistics(axes: Axes, reference: Reference, level: float) -> None:
    for name, label, style in (
        ("median_mw", "median", "-."),
        ("p90_mw", "90th pct", "--"),
        ("max_mw", "maximum", ":"),
    ):
        value = reference.statistic(name, level)
        if not np.isnan(value):
            axes.axvline(value, color=REFERENCE_COLOUR, lw=1.0, ls=style, label=f"reference {label}")


def _mark_load_duration(axes: Axes, reference: Reference, level: float, colour: str) -> None:
    points = [(0.0, "max_mw"), (10.0, "p90_mw"), (50.0, "median_mw")]
    known = [(share, reference.statistic(name, level)) for share, name in points]
    axes.plot(*zip(*known, strict=True), "o", color=colour, mec=REFERENCE_COLOUR, ms=5)


def _add_hourly_model(axes: Axes, members: Sequence[xr.Dataset], level: float) -> None:
    placed = [m for m in members if "hourly" in m and m.sizes["hour"] > 1]
    same = [m for m in placed if np.array_equal(m.attrs["utilization"], level, equal_nan=True)]
    if same:
        label = f"{at_level('model', level)}, seed {same[0].attrs['seed']}"
        axes.plot(*_exceedance(same[0]["hourly"].values), color=MODEL_COLOUR, lw=1.0, label=label)


def _shared_week(
    member: xr.Dataset, reference: Reference, level: float, week: int
) -> tuple[np.ndarray, Floats, Floats] | None:
    theirs = _reference_hourly(reference, level)
    target = reference.series_at(level)
    if theirs is None or target is None:
        return None
    other = xr.DataArray(theirs, coords={"hour": averaged(as_series(target), _HOUR_S).times}, dims="hour")
    ours, both = xr.align(member["hourly"], other, join="inner")
    weeks = ours.size // 168
    if weeks == 0:
        return None
    cut = slice(168 * min(week, weeks - 1), 168 * (min(week, weeks - 1) + 1))
    return ours["hour"].values[cut], ours.values[cut], both.values[cut]


def _liveliest_day(trace: xr.Dataset) -> str:
    days = trace["it_power"].to_series().resample("1D")
    swing = days.max() - days.min()
    return str(swing.index[int(np.nanargmax(swing.to_numpy()))].date())


def _date_axis(axes: Axes) -> None:
    dates = _date_ticks()
    axes.xaxis.set_major_locator(dates.DayLocator())
    axes.xaxis.set_major_formatter(dates.DateFormatter("%a %d %b"))


def _hour_axis(axes: Axes) -> None:
    dates = _date_ticks()
    axes.xaxis.set_major_locator(dates.AutoDateLocator(minticks=5, maxticks=9))
    axes.xaxis.set_major_formatter(dates.DateFormatter("%H:%M"))


def _date_ticks() -> Any:
    """matplotlib.dates, whose constructors carry no types."""
    import matplotlib.dates

    return matplotlib.dates

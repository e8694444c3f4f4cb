"""`fit_profile`: a site's whole parameter set from a year of its hourly power, by one command.

Each step uses named data: node powers from the affine line of mean power on occupancy; profile and duration through
the fluid limit; mean node count from node-hours per job; the spread of node counts from the scatter of hourly busy
nodes about the fluid curve; the minute residual from the plateau. The record of what was found goes into the result.
"""

import dataclasses
import logging
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import xarray as xr
from scipy.optimize import brentq

from hsmdc import facility, laws, profiles
from hsmdc.calibration.fluid import (
    STEP_MIN,
    YEAR_QUANTILES,
    FluidFit,
    WeekCurves,
    clear_hours,
    fit_fluid,
    hour_covariance,
)
from hsmdc.calibration.occupancy import fit_occupancy
from hsmdc.config import Config, load_config
from hsmdc.config.sections import ExponentialNodes, LognormalDuration
from hsmdc.errors import CalibrationError, InputError
from hsmdc.span import Span, generated_span
from hsmdc.validation.references import Reference
from hsmdc.validation.series import as_series, averaged

Floats = npt.NDArray[np.float64]

_log = logging.getLogger(__name__)

_SEEDS = (1, 2)
_ROUNDS = 4
_SLOT_PERCENTILES = (np.arange(52) + 0.5) / 52 * 100
_SHORTEST_SERIES_H = 8 * 168
_NARROWEST = -2.0  # quadratic coefficient of the node law: narrower, and no job of another size is ever drawn
_WIDEST = 0.5  # wider, and the law falls apart into the smallest and the largest size
_OCCUPANCY_TOLERANCE = 0.03
_PLATEAU = 0.99  # of the power with every node busy


class ProfileFit(NamedTuple):
    """Result of `fit_profile`."""

    config: Config
    tree: dict[str, Any]  # the configuration as a TOML-able mapping
    record: dict[str, float]  # what was found on the way, by name


def fit_profile(base: "str | Config", reference: Reference) -> ProfileFit:
    """Calibrate arrivals, jobs, node powers and residual to a reference.

    Parameters
    ----------
    base : configuration that gives the site's node count, rated and design power, cooling and weather
    reference : one hourly (or finer) series of IT power at a level with known occupancy and jobs per day, and, if it
        has them, percentiles by minute of week at a lower level

    Raises
    ------
    InputError
        The reference has no series, or lacks occupancy or jobs per day for it.
    CalibrationError
        A step that finds no solution, by name.
    """
    config = load_config(base)
    level, series = _the_series(reference)
    idle_w, busy_w = _anchors(config, reference)
    full_mw = config.site.nodes * busy_w * 1e-6
    to_nodes = _Affine(config.site.nodes * idle_w * 1e-6, (busy_w - idle_w) * 1e-6)
    hourly_mw = _hourly_means(series)
    busy_share = float(np.nanmean(to_nodes(hourly_mw))) / config.site.nodes
    _check_occupancy(busy_share, reference.statistic("occupancy", level), idle_w, busy_w)
    start = series["time"].values[0].astype("datetime64[m]") + np.timedelta64(
        round(config.site.utc_offset_h * 60), "m"
    )
    fluid = fit_fluid(
        start, to_nodes(hourly_mw), float(config.site.nodes), _week_curves(reference, level, to_nodes)
    )
    _log.info(
        "fluid fit: cost %.1f, duration median %.3f h, sigma %.3f", fluid.cost, fluid.median_h, fluid.sigma
    )
    duration = LognormalDuration(
        median_h=_rounded(fluid.median_h), sigma=_rounded(fluid.sigma), longest_h=24.0
    )
    nodes, dispersion = _node_law(config, reference, level, fluid, to_nodes(hourly_mw), duration)
    tree = _tree(config, reference, idle_w, busy_w, fluid, nodes, duration)
    if _starts_empty(to_nodes(hourly_mw)):
        tree["scheduler"] = tree.get("scheduler", {}) | {"spin_up_days": 0.0}
    tree["residual"], plateau = _residual(tree, reference, level, hourly_mw, full_mw)
    record = {
        "fitted_level": level,
        "fluid_cost": fluid.cost,
        "hourly_misfit_mw": float(np.sqrt(np.nanmean((to_nodes(hourly_mw) - fluid.busy) ** 2)))
        * to_nodes.per_node_mw,
        "mean_duration_h": laws.duration_law(duration).moment() / 60,
        "mean_nodes": laws.nodes_law(nodes).moment(),
        "dispersion_seen": dispersion,
        "dispersion_used": laws.nodes_law(nodes).moment(2) / laws.nodes_law(nodes).moment(),
        **plateau,
    }
    tree["provenance"] = _provenance(reference, record)
    return ProfileFit(load_config(tree), tree, record)


def user_reference(reference: Reference, occupancy: float | None, jobs_per_day: float | None) -> Reference:
    """A user's series with the two numbers its power cannot tell; a reference that has them passes unchanged.

    Raises
    ------
    InputError
        A number outside its range.
    """
    added = {"occupancy": occupancy, "jobs_per_day": jobs_per_day}
    given = {name: value for name, value in added.items() if value is not None}
    if occupancy is not None and not 0 < occupancy < 1:
        raise InputError(
            f"occupancy = {occupancy:g} must lie between 0 and 1: it is the mean share of nodes in use"
        )
    if jobs_per_day is not None and not jobs_per_day > 0:
        raise InputError(f"jobs_per_day = {jobs_per_day:g} must be positive")
    if not given:
        return reference
    if len(reference.levels) > 1:
        raise InputError(f"reference {reference.name} has its own {' and '.join(given)}; leave them out")
    columns = {name: ("utilization", [float(value)]) for name, value in given.items()}
    return dataclasses.replace(reference, statistics=reference.statistics.assign(columns))


class _Affine(NamedTuple):
    floor_mw: float
    per_node_mw: float

    def __call__(self, power_mw: Floats) -> Floats:
        return np.asarray((power_mw - self.floor_mw) / self.per_node_mw)


def _the_series(reference: Reference) -> tuple[float, xr.DataArray]:
    if not reference.series:
        raise InputError(
            f"reference {reference.name} has no power series to calibrate to; give one year of hours"
        )
    level, series = next(iter(reference.series.items()))
    for name in ("occupancy", "jobs_per_day"):
        if not np.isfinite(reference.statistic(name, level)):
            raise InputError(
                f"reference {reference.name} does not say {name} at its level (--{name.replace('_', '-')}); the "
                "calibration cannot tell many small jobs from few large ones without it"
            )
    return level, series


def _hourly_means(series: xr.DataArray) -> Floats:
    """Means of whole hours from the first label on, NaN where a step is missing."""
    power = as_series(series, "the reference")
    try:
        hourly = averaged(power, 3600.0, power.start).values
    except InputError:
        raise InputError(
            f"the reference's step of {power.step_s / 60:g} min does not divide an hour"
        ) from None
    known = np.isfinite(hourly)
    if known.sum() < _SHORTEST_SERIES_H:
        raise InputError(
            f"{known.sum()} hours of reference are too few; the profile needs at least eight weeks "
            f"({_SHORTEST_SERIES_H} hours)"
        )
    padded = np.append(known, np.zeros(-known.size % 168, dtype=np.bool_)).reshape(-1, 168)
    if not padded.any(axis=0).all():
        raise InputError(
            f"the reference has no power at hour {int(np.argmin(padded.any(axis=0)))} after its start in any week; "
            "the profile needs every hour of the week"
        )
    return hourly


def _check_occupancy(busy_share: float, occupancy: float, idle_w: float, busy_w: float) -> None:
    """Refuse an occupancy that the power contradicts: node count, node powers or the share itself are wrong then.

    Raises
    ------
    CalibrationError
    """
    if abs(busy_share - occupancy) > _OCCUPANCY_TOLERANCE:
        raise CalibrationError(
            f"the mean power says that {busy_share:.3f} of the nodes are busy (nodes of {idle_w:g} W idle, "
            f"{busy_w:g} W busy), the occupancy given is {occupancy:g}; correct --occupancy, or nodes, idle_w "
            "and busy_w under [site] of the base configuration"
        )


def _anchors(config: Config, reference: Reference) -> tuple[float, float]:
    """P_idle and P_busy [W] from the affine line of mean power on occupancy; the configuration's with one level."""
    occupancy = np.array([reference.statistic("occupancy", u) for u in reference.levels])
    mean_mw = np.array([reference.statistic("mean_mw", u) for u in reference.levels])
    known = np.isfinite(occupancy) & np.isfinite(mean_mw)
    if known.sum() < 2:
        return config.site.idle_w, config.site.busy_w
    slope, intercept = np.polyfit(occupancy[known], mean_mw[known], 1)
    per_node = 1e6 / config.site.nodes
    return round(float(intercept) * per_node, 1), round(float(intercept + slope) * per_node, 1)


def _week_curves(reference: Reference, level: float, to_nodes: _Affine) -> WeekCurves | None:
    if reference.week_percentiles is None:
        return None
    low = float(reference.week_percentiles.attrs["utilization"])
    ratio = reference.statistic("jobs_per_day", low) / reference.statistic("jobs_per_day", level)
    curves = reference.week_percentiles["power"]
    slots = curves["minute_of_week"].values
    by_slot = curves.transpose("minute_of_week", "percentile").values
    weeks = np.array([np.interp(_SLOT_PERCENTILES, curves["percentile"].values, slot) for slot in by_slot])
    median = np.interp(
        np.arange(0, profiles.MINUTES_PER_WEEK, STEP_MIN),
        slots,
        curves.sel(percentile=50.0).values,
        period=profiles.MINUTES_PER_WEEK,
    )
    return WeekCurves(ratio, to_nodes(median), to_nodes(np.percentile(weeks, YEAR_QUANTILES)))


def _node_law(
    config: Config,
    reference: Reference,
    level: float,
    fluid: FluidFit,
    hourly_busy: Floats,
    duration: LognormalDuration,
) -> tuple[ExponentialNodes, float]:
    """Mean node count from node-hours per job, spread from the scatter about the fluid curve."""
    node_hours = reference.statistic("occupancy", level) * config.site.nodes * 24
    node_hours /= reference.statistic("jobs_per_day", level)
    mean_nodes = node_hours / (laws.duration_law(duration).moment() / 60)
    clear = clear_hours(fluid.busy, config.site.nodes) & np.isfinite(hourly_busy)
    if not clear.any():
        raise CalibrationError(
            "node counts: no hour of the reference lies between nearly empty and nearly full, so its scatter tells "
            "nothing of them; give a reference of another level, or take the jobs from a log (calibrate jobs)"
        )
    scatter = float(np.var((hourly_busy - fluid.busy)[clear] / np.sqrt(fluid.busy[clear])))
    dispersion = scatter / hour_covariance(duration.median_h, duration.sigma, 0)
    return _exponential_nodes(mean_nodes, dispersion), dispersion


def _exponential_nodes(mean: float, dispersion: float) -> ExponentialNodes:
    """The law on powers of two with E[n] = mean and E[n²]/E[n] as near `dispersion` as the mean allows."""

    def of(quadratic: float) -> ExponentialNodes:
        def excess(linear: float) -> float:
            nodes = ExponentialNodes(law="exponential", linear=linear, quadratic=quadratic)
            return laws.nodes_law(nodes).moment() - mean

        return ExponentialNodes(law="exponential", linear=brentq(excess, -40.0, 40.0), quadratic=quadratic)

    def spread(quadratic: float) -> float:
        tabulated = laws.nodes_law(of(quadratic))
        return tabulated.moment(2) / tabulated.moment() - dispersion

    if not 1.0 < mean < 200.0:
        raise CalibrationError(
            f"node count: the data ask for {mean:.3g} nodes per job; check occupancy, jobs per day and node count"
        )
    if spread(_NARROWEST) >= 0:
        quadratic = _NARROWEST
    elif spread(_WIDEST) <= 0:
        quadratic = _WIDEST
    else:
        quadratic = brentq(spread, _NARROWEST, _WIDEST)
    found = of(quadratic)
    return found.model_copy(update={"linear": _rounded(found.linear, 6), "quadratic": _rounded(quadratic, 6)})


def _tree(
    config: Config,
    reference: Reference,
    idle_w: float,
    busy_w: float,
    fluid: FluidFit,
    nodes: ExponentialNodes,
    duration: LognormalDuration,
) -> dict[str, Any]:
    """The configuration so far, as a TOML-able mapping."""
    peak_mw = float(np.max([reference.statistic("max_mw", u) for u in reference.levels]))
    ceiling = np.ceil(peak_mw / config.site.rated_mw * 1000) / 1000
    site = {"idle_w": idle_w, "busy_w": busy_w}
    if np.isfinite(ceiling) and reference.statistics_step_s <= 60:
        site["saturation"] = float(ceiling)
    tree = config.model_dump(mode="json", exclude_defaults=True)
    tree["site"] |= site
    tree["name"] = reference.name
    tree["description"] = f"Calibrated to {reference.title}"
    tree["arrivals"] = {
        "interpolation": "linear",
        "hour_of_week": _unit_mean(fluid.hour_of_week),
        "week_of_year": _unit_mean(fluid.week_of_year),
        "batch": {"law": "geometric", "mean": 1.0},
    }
    tree["jobs"] = {
        "nodes": nodes.model_dump(mode="json"),
        "duration": duration.model_dump(mode="json"),
    }
    return tree


def _starts_empty(hourly_busy: Floats) -> bool:
    """Whether the facility began without jobs, as a simulated reference does: its first hour is far below the same
    hour of the later weeks."""
    later = hourly_busy[168::168]
    return bool(hourly_busy[0] < 0.5 * np.nanmedian(later))


def _residual(
    tree: dict[str, Any], reference: Reference, level: float, hourly_mw: Floats, full_mw: float
) -> tuple[dict[str, float], dict[str, float]]:
    """Standard deviation and decorrelation time of the minute residual, from the plateau.

    While every node is busy the 90th percentile of the minutes measures sigma, and the scatter of hourly means then
    measures how long the residual lasts. Both are matched by fixed-point rounds on simulated years.
    """
    config = load_config(tree)
    span = generated_span(config, reference.start, f"{hourly_mw.size}h")
    p90 = reference.statistic("p90_mw", level)
    seen = _plateau_scatter(hourly_mw, full_mw)
    if not (reference.statistics_step_s == 60 and p90 > full_mw and np.isfinite(seen)):
        _log.info("no plateau in the reference: the minute residual stays that of the base configuration")
        return config.residual.model_dump(mode="json"), {}
    busy = _busy_years(config, span, reference.statistic("occupancy", level))
    calm = _with_residual(config, sigma_mw=0.0)
    quiet = float(np.mean([_plateau_scatter(_hours(calm, b, span, s), full_mw) for s, b in busy]))
    sigma, last_min = 0.06, 4.0
    for _ in range(_ROUNDS):
        trial = _with_residual(config, sigma_mw=sigma, decorrelation_min=last_min)
        minutes = [facility.it_power_mw(trial, b, span.start, s) for s, b in busy]
        got = float(np.mean([_plateau_scatter(m.reshape(-1, 60).mean(axis=1), full_mw) for m in minutes]))
        above = float(np.mean([np.percentile(m, 90) for m in minutes])) - full_mw
        wanted = max(seen**2 - quiet**2, 1e-8) / max(got**2 - quiet**2, 1e-8)
        last_min = float(np.clip(last_min * wanted, 0.5, 30.0))
        sigma *= float((p90 - full_mw) / above)
    found = {"sigma_mw": _rounded(sigma, 3), "decorrelation_min": _rounded(last_min, 3)}
    return found, {"plateau_hourly_sd_mw": seen, "plateau_hourly_sd_without_residual_mw": quiet}


def _with_residual(config: Config, **values: float) -> Config:
    return config.model_copy(update={"residual": config.residual.model_copy(update=values)})


def _busy_years(config: Config, span: Span, occupancy: float) -> list[tuple[int, Floats]]:
    shape = profiles.rate_shape(config.arrivals, config.site.utc_offset_h, span.first, span.total)
    years = []
    for seed in _SEEDS:
        rate = fit_occupancy(
            config, occupancy, start=span.start, duration=f"{span.minutes}min", seed=seed
        ).base_rate
        run = facility.generate_schedule(config, span, shape, rate, seed)
        years.append((seed, facility.busy_nodes(run, span.total)[span.spin_up :]))
    return years


def _hours(config: Config, busy: Floats, span: Span, seed: int) -> Floats:
    return np.asarray(facility.it_power_mw(config, busy, span.start, seed).reshape(-1, 60).mean(axis=1))


def _plateau_scatter(hourly_mw: Floats, full_mw: float) -> float:
    """Standard deviation of hourly means well inside the plateau: its neighbours are on it too [MW]."""
    on = hourly_mw > _PLATEAU * full_mw
    inside = on[1:-1] & on[:-2] & on[2:]
    return float(np.std(hourly_mw[1:-1][inside])) if inside.sum() > 50 else float("nan")


def _provenance(reference: Reference, record: dict[str, float]) -> str:
    lines = [
        f"Source: {reference.source}.",
        f"Found by: hsmdc calibrate profile --reference {reference.name}",
        "Profile and duration through the fluid limit of the facility (hourly series, weekly percentiles where",
        "given); node counts from jobs per day and the scatter of hourly means; node powers and ceiling from the",
        "table of statistics; minute residual from the plateau. On the way:",
        *(f"  {name} = {value:.6g}" for name, value in record.items()),
    ]
    return "\n".join(lines) + "\n"


def _unit_mean(factor: Floats) -> list[float]:
    return [_rounded(value, 4) for value in factor / factor.mean()]


def _rounded(value: float, digits: int = 4) -> float:
    return float(f"{value:.{digits}g}")

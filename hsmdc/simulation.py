"""`simulate`: a facility's year by the minute, from a configuration to a trace."""

from collections.abc import Mapping
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from hsmdc import facility, profiles
from hsmdc.config import Config, load_config, to_toml
from hsmdc.errors import InputError
from hsmdc.jobs import JobTable
from hsmdc.kernels import rng
from hsmdc.seeds import check_seed
from hsmdc.span import DEFAULT_START, Span, checked_span, generated_span
from hsmdc.timespan import Duration, Instant, parse_instant, parse_minutes
from hsmdc.traces import trace_dataset
from hsmdc.weather import ambient_degc, weather_note

_REPLAY_TICK_S = 1.0


def simulate(
    config: "str | Path | Mapping[str, Any] | Config",
    *,
    utilization: float | None = None,
    base_rate: float | None = None,
    jobs: JobTable | None = None,
    start: Instant | None = None,
    duration: Duration | None = None,
    seed: int = 0,
) -> xr.Dataset:
    """Simulate a facility at one minute.

    Exactly one source of jobs: a target `utilization` (λ0 is found for this seed's run to ±0.0005), a given
    `base_rate`, the configuration's own base rate when neither is given, or a job table to replay.

    Parameters
    ----------
    config : preset name, path, mapping or Config
    utilization : target mean busy nodes / nodes, in (0, 1)
    base_rate : λ0 [arrival events/min]
    jobs : jobs to replay, scheduled on second ticks
    start : first minute, UTC; default 2018-01-01, or the job table's own epoch
    duration : whole minutes; default 365D, or until the last replayed job ends
    seed : master seed, any integer in [0, 2^64); 0 is a seed like any other

    Returns
    -------
    Dataset by the trace schema: it_power, hvac_power, chiller_power, auxiliary_power, facility_power [MW],
    busy_nodes, queued_jobs, ambient_temperature [degC] over `time`, and the job table over `job`.

    Raises
    ------
    ConfigError, InputError, CalibrationError
    """
    config = load_config(config)
    check_sources(utilization=utilization, base_rate=base_rate, jobs=jobs)
    check_seed(seed)
    if jobs is not None:
        span, run, facts = _replay(config, jobs, start, duration)
    else:
        span, run, facts = _generate(config, utilization, base_rate, start, duration, seed)
    return _trace(config, span, run, seed, facts)


def check_sources(
    *, utilization: float | None, base_rate: float | None, jobs: JobTable | None = None
) -> None:
    """Refuse a base rate that is none, jobs that are no table, and more than one source of jobs.

    Raises
    ------
    InputError
    """
    given = {"utilization": utilization, "base_rate": base_rate, "jobs": jobs}
    named = [name for name, value in given.items() if value is not None]
    if len(named) > 1:
        raise InputError(f"{' and '.join(named)} were given together; give one source of jobs")
    if jobs is not None and not isinstance(jobs, JobTable):
        raise InputError(
            f"jobs = {jobs!r} is no JobTable; read a log with read_jobs, or make one by JobTable.from_arrays"
        )
    for name, number in (("utilization", utilization), ("base_rate", base_rate)):
        if number is not None and not isinstance(number, Real):
            raise InputError(f"{name} = {number!r} is not a number")
    if base_rate is not None and not (np.isfinite(base_rate) and base_rate > 0):
        raise InputError(f"base_rate = {base_rate:g} must be a positive number of arrival events per minute")


def arrival_rate(
    config: Config,
    utilization: float | None,
    base_rate: float | None,
    start: Instant | None,
    duration: Duration | None,
    seed: int,
) -> float:
    """λ0 [events/min]: found for a target, given, or the configuration's own.

    Raises
    ------
    InputError, CalibrationError
    """
    if utilization is not None:
        # Imported here, so that runs with a given λ0 need not load SciPy's root finders (24 MB).
        from hsmdc.calibration.occupancy import fit_occupancy

        return fit_occupancy(config, utilization, start=start, duration=duration, seed=seed).base_rate
    rate = base_rate if base_rate is not None else config.arrivals.base_rate
    if rate is None:
        raise InputError(
            f"configuration {config.name!r} has no arrivals.base_rate: give utilization (--utilization, a share of "
            "nodes) or base_rate (--base-rate, arrival events per minute)"
        )
    return float(rate)


def _generate(
    config: Config,
    utilization: float | None,
    base_rate: float | None,
    start: Instant | None,
    duration: Duration | None,
    seed: int,
) -> tuple[Span, facility.Schedule, dict[str, Any]]:
    span = generated_span(config, start, duration)
    facts = {} if utilization is None else {"utilization": float(utilization)}
    rate = arrival_rate(config, utilization, base_rate, start, duration, seed)
    shape = profiles.rate_shape(config.arrivals, config.site.utc_offset_h, span.first, span.total)
    run = facility.generate_schedule(config, span, shape, rate, seed)
    return span, run, {**facts, "base_rate": rate}


def _replay(
    config: Config, jobs: JobTable, start: Instant | None, duration: Duration | None
) -> tuple[Span, facility.Schedule, dict[str, Any]]:
    table = jobs.for_cluster(config.site.nodes)
    epoch = table.epoch if table.epoch is not None else parse_instant(start or DEFAULT_START)
    first = parse_instant(start if start is not None else epoch.astype("datetime64[m]"))
    if duration is None and not len(table.arrival_s):
        raise InputError(
            f"{table.source} holds no job that can run{_because(table)}; "
            "give a duration to simulate the idle facility"
        )
    run = facility.replay_schedule(config, table, _seconds_between(first, epoch), _REPLAY_TICK_S)
    if duration is not None:
        minutes = parse_minutes(duration)
    else:
        minutes = -(-int(run.end.max()) // round(facility.MINUTE_S / _REPLAY_TICK_S))
        if minutes < 1:
            raise InputError(
                f"every job of {table.source} ends before start = {np.datetime_as_string(first, 'auto')}; the log "
                f"begins at {np.datetime_as_string(epoch, 'auto')}: start earlier"
            )
    facts = {"job_source": table.source, "rejected_jobs": table.rejection_report() or "none"}
    return checked_span(first, minutes), run, facts


def _seconds_between(first: np.datetime64, last: np.datetime64) -> float:
    # In whole microseconds: nanoseconds overflow after 292 years.
    span = last.astype("datetime64[us]") - first.astype("datetime64[us]")
    return float(span / np.timedelta64(1, "s"))


def _because(table: JobTable) -> str:
    report = table.rejection_report()
    return f" ({report})" if report else ""


def _trace(
    config: Config, span: Span, run: facility.Schedule, seed: int, facts: dict[str, Any]
) -> xr.Dataset:
    series = minute_series(config, span, run, seed)
    jobs = facility.job_columns(run, span)
    occupancy = float(series["busy_nodes"].mean()) / config.site.nodes
    attrs = {
        "title": f"Electrical load of {config.name}",
        "seed": str(seed),
        "rng_scheme": rng.SCHEME,
        "utilization": occupancy,
        **facts,
        "occupancy": occupancy,
        "pue": float(series["facility_power"].sum() / series["it_power"].sum()),
        "jobs": int(jobs["job_nodes"].size),
        "weather": weather_note(config.weather, span.start, facility.MINUTE_S, span.minutes),
        "config": to_toml(config),
    }
    return trace_dataset(start=span.start, step_s=facility.MINUTE_S, series=series, jobs=jobs, attrs=attrs)


def minute_series(
    config: Config, span: Span, run: facility.Schedule, seed: int
) -> dict[str, facility.Floats]:
    """Every series of a trace by name, float64 (span.minutes,): simulated with the spin-up, then cut to the span."""
    busy = facility.busy_nodes(run, span.total)
    it_mw = facility.it_power_mw(config, busy, span.first, seed)
    ambient = ambient_degc(
        config.weather, span.first, facility.MINUTE_S, span.total, utc_offset_h=config.site.utc_offset_h
    )
    series = {
        "it_power": it_mw,
        **facility.cooling_power_mw(config, it_mw, ambient),
        "busy_nodes": busy,
        "queued_jobs": facility.queued_jobs(run, span.total),
        "ambient_temperature": ambient,
    }
    series = {name: values[span.spin_up :] for name, values in series.items()}
    series["facility_power"] = (
        series["it_power"] + series["hvac_power"] + series["chiller_power"] + series["auxiliary_power"]
    )
    return series

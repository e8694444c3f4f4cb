"""The facility by the minute, for a given base rate λ0 or a given job list: jobs → FIFO → power → cooling."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hsmdc import laws
from hsmdc.config import Config
from hsmdc.errors import InputError
from hsmdc.jobs import JobTable, schedule
from hsmdc.kernels import arrivals, cooling, residual, scheduler
from hsmdc.span import Span

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.integer]

MINUTE_S = 60.0
MOST_JOBS = 200_000_000  # 3.2 GB as ticks in 32 bits; a year of a 10 MW site is 3 million
_MOST_TICKS = 2**53  # ticks are computed in float64
_YEAR_ONE = np.datetime64("0001-01-01T00:00", "m")


class Schedule(NamedTuple):
    """Jobs in integer ticks from the start of the run (spin-up included)."""

    arrival: Ints
    start: Ints
    end: Ints
    nodes: Ints
    tick_s: float


def absolute_minute(time: np.datetime64) -> int:
    """Minutes since the year one: the id by which a minute's random numbers are keyed."""
    return int((time.astype("datetime64[m]") - _YEAR_ONE).astype(np.int64))


def generate_schedule(config: Config, span: Span, shape: Floats, base_rate: float, seed: int) -> Schedule:
    """Draw the jobs of a span and schedule them.

    Parameters
    ----------
    shape : λ(t)/λ0, float64 (span.total,)
    base_rate : λ0 [arrival events/min]
    """
    arrival, nodes, duration = _draw_jobs(config, span, shape, base_rate, seed)
    start = schedule(config.scheduler.policy, arrival, nodes, duration, config.site.nodes)
    duration += start
    return Schedule(arrival, start, duration, nodes, MINUTE_S)


def _draw_jobs(
    config: Config, span: Span, shape: Floats, base_rate: float, seed: int
) -> tuple[Ints, Ints, Ints]:
    batch = laws.batch_law(config.arrivals.batch)
    size = laws.nodes_law(config.jobs.nodes)
    length = laws.duration_law(config.jobs.duration, MINUTE_S)
    if int(size.value[-1]) > config.site.nodes:
        raise InputError(
            f"jobs of {size.value[-1]} nodes can never run on {config.site.nodes} nodes; "
            "lower jobs.nodes.largest or raise site.nodes"
        )
    events = base_rate * float(shape.sum())
    expected = events * batch.moment()
    if expected > MOST_JOBS:
        raise InputError(
            f"base_rate = {base_rate:g} per minute makes {expected:.2g} jobs in {span.total} minutes; a run holds "
            f"{MOST_JOBS // 10**6} million at most: lower the rate or simulate a shorter span"
        )
    capacity = int(expected + 8 * np.sqrt(events * batch.moment(2)) + 1000)
    while True:
        arrival, nodes, duration = (np.empty(capacity, np.int32) for _ in range(3))
        count = arrivals.generate(
            np.uint64(seed),
            absolute_minute(span.first),
            base_rate * shape,
            batch.value,
            batch.cdf,
            batch.guide,
            size.value,
            size.cdf,
            size.guide,
            length.value,
            length.cdf,
            length.guide,
            laws.copula_correlation(config.jobs),
            config.arrivals.shared_size,
            arrival,
            nodes,
            duration,
        )
        if count <= capacity:
            return arrival[:count], nodes[:count], duration[:count]
        capacity = count


def step_means(
    begin: npt.NDArray[np.integer],
    end: npt.NDArray[np.integer],
    weight: npt.NDArray[np.integer],
    ticks_per_step: int,
    n_steps: int,
) -> Floats:
    """Mean weight held in each step by half-open tick spans, float64 (n_steps,)."""
    held = np.zeros(n_steps + 2, np.int64)
    scheduler.occupancy(begin, end, weight, ticks_per_step, held)
    return held[:n_steps] / ticks_per_step


def busy_nodes(schedule: Schedule, n_minutes: int) -> Floats:
    """N_busy by minute (paper eq. 4)."""
    return step_means(
        schedule.start, schedule.end, schedule.nodes, round(MINUTE_S / schedule.tick_s), n_minutes
    )


def queued_jobs(schedule: Schedule, n_minutes: int) -> Floats:
    """Jobs waiting, by minute."""
    one = np.ones(1, np.int32)
    return step_means(schedule.arrival, schedule.start, one, round(MINUTE_S / schedule.tick_s), n_minutes)


def it_power_mw(config: Config, busy: Floats, first: np.datetime64, seed: int) -> Floats:
    """IT power by minute: paper eq. 7 with the node layer's residual, clipped at the saturation ceiling [MW]."""
    site = config.site
    power = (site.nodes * site.idle_w + busy * (site.busy_w - site.idle_w)) * 1e-6
    if config.residual.sigma_mw > 0:
        wander = np.empty(busy.size)
        residual.unit_residual(
            np.uint64(seed), absolute_minute(first), config.residual.decorrelation_min, wander
        )
        wander *= config.residual.sigma_mw
        wander *= np.sqrt(busy / site.nodes)
        power += wander
    return np.minimum(power, site.saturation * site.rated_mw, out=power)


def cooling_power_mw(config: Config, it_mw: Floats, ambient_degc: Floats) -> dict[str, Floats]:
    """HVAC, chiller and auxiliary power by minute (paper eqs. 8 and 9) [MW]; starts in steady state."""
    settings = config.cooling
    excess = (ambient_degc - settings.reference_degc) / settings.swing_degc
    gamma = np.maximum(settings.floor, 1.0 + settings.sensitivity * excess)
    powers = {}
    for name, part in (("hvac_power", settings.hvac), ("chiller_power", settings.chiller)):
        lagged = np.empty_like(it_mw)
        cooling.first_order_lag(it_mw, MINUTE_S, part.tau_s, settings.dead_time_s, it_mw[0], lagged)
        lagged *= part.fraction
        lagged *= gamma
        powers[name] = lagged
    powers["auxiliary_power"] = np.full(it_mw.size, settings.auxiliary_fraction * config.site.rated_mw)
    return powers


def replay_schedule(config: Config, table: JobTable, offset_s: float, tick_s: float) -> Schedule:
    """Schedule given jobs on ticks of `tick_s`; a job's arrival and run time are rounded up to whole ticks.

    Parameters
    ----------
    table : jobs that all fit the cluster
    offset_s : the table's zero in seconds from the start of the run

    Raises
    ------
    InputError
        A time beyond what ticks can count.
    """
    arrival = _whole_ticks("arrival", table.arrival_s + offset_s, tick_s)
    duration = _whole_ticks("duration", table.duration_s, tick_s)
    start = schedule(config.scheduler.policy, arrival, table.nodes, duration, config.site.nodes)
    return Schedule(arrival, start, start + duration, table.nodes, tick_s)


def _whole_ticks(name: str, seconds: Floats, tick_s: float) -> npt.NDArray[np.int64]:
    latest = float(np.abs(seconds).max(initial=0.0))
    if latest >= _MOST_TICKS * tick_s:
        raise InputError(
            f"a job has the {name} {latest:g} s, which no run can hold; is the column in seconds?"
        )
    return np.ceil(seconds / tick_s).astype(np.int64)


def job_columns(run: Schedule, span: Span) -> dict[str, npt.NDArray[Any]]:
    """The trace's job table: jobs that arrived before the end of the span and did not end before its start.

    Times are seconds from span.start; NaN where a job had not started, or not ended, by the end.
    """
    before_s = span.spin_up * MINUTE_S
    end_s = span.minutes * MINUTE_S
    kept = (run.end * run.tick_s > before_s) & (run.arrival * run.tick_s < before_s + end_s)
    rows: slice | npt.NDArray[np.bool_] = slice(None) if kept.all() else kept
    columns: dict[str, npt.NDArray[Any]] = {}
    for name, ticks in (("job_arrival", run.arrival), ("job_start", run.start), ("job_end", run.end)):
        seconds = ticks[rows] * run.tick_s
        seconds -= before_s
        columns[name] = seconds
    columns["job_start"][columns["job_start"] >= end_s] = np.nan
    columns["job_end"][columns["job_end"] > end_s] = np.nan
    columns["job_nodes"] = run.nodes[rows].astype(np.int32, copy=False)
    return columns

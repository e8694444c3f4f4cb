"""What the job table says: queueing, and what drives the variance of busy nodes."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from hsmdc.errors import InputError

from .series import Floats


class QueueStatistics(NamedTuple):
    """Queueing of all jobs that arrived within the trace; jobs of a spin-up before it are left out.

    Attributes
    ----------
    jobs_per_day : float
        Arrivals per day.
    jobs_queued : float
        Share of jobs that did not start when they arrived. A job that had not started by the end counts.
    mean_wait_h : float or None
        Mean wait of queued jobs that started [h]; None when there is none. The wait of a job that never
        started is not known, so it is left out of this mean and counted in `jobs_unstarted`.
    jobs_unstarted : int
    """

    jobs_per_day: float
    jobs_queued: float
    mean_wait_h: float | None
    jobs_unstarted: int


def queue_statistics(arrival_s: ArrayLike, start_s: ArrayLike, days: float) -> QueueStatistics:
    """Queue statistics of a job table.

    Parameters
    ----------
    arrival_s, start_s : array, shape (jobs,)
        Seconds since the start of the trace; `start_s` is NaN for a job that had not started by its end, and
        a negative `arrival_s` is before the trace.
    days : float
        Length of the trace [d].

    Raises
    ------
    InputError
        No job, a job without arrival, or a job that starts before it arrives.
    """
    arrival = np.asarray(arrival_s, dtype=np.float64)
    wait = np.asarray(start_s, dtype=np.float64) - arrival
    if np.isnan(arrival).any():
        raise InputError(f"job {int(np.argmax(np.isnan(arrival)))} has no arrival time")
    if (wait < 0.0).any():
        raise InputError(f"job {int(np.argmax(wait < 0.0))} starts before it arrives")
    wait = wait[arrival >= 0.0]
    if wait.size == 0:
        raise InputError("queue statistics need at least one job that arrives within the trace")
    unstarted = int(np.isnan(wait).sum())
    queued = wait > 0.0
    count = int(queued.sum())
    mean_wait_h = float(wait[queued].mean()) / 3600.0 if count else None
    return QueueStatistics(
        jobs_per_day=wait.size / days,
        jobs_queued=(count + unstarted) / wait.size,
        mean_wait_h=mean_wait_h,
        jobs_unstarted=unstarted,
    )


class RandomSum(NamedTuple):
    """Variance of busy nodes by the random-sum identity (HSM-DC paper, eq. 5).

    Attributes
    ----------
    total : float
        Var[N_busy].
    size_term : float
        E[J] Var[B]: jobs differ in size.
    concurrency_term : float
        Var[J] E[B]²: the number of running jobs J changes.
    remainder : float
        What the identity leaves over, total − both terms. It assumes sizes independent of J; a full
        facility breaks that (the queue couples sizes and count), and then the remainder is negative.
    """

    total: float
    size_term: float
    concurrency_term: float
    remainder: float


def random_sum(
    start_s: ArrayLike, end_s: ArrayLike, nodes: ArrayLike, steps: int, step_s: float
) -> RandomSum:
    """Split Var[N_busy] into its size and its concurrency term.

    J and N_busy are taken at the step labels; a job runs at t when start ≤ t < end. The moments of B are those
    of the jobs that run (weighted by the steps they run), as the identity asks.

    Parameters
    ----------
    start_s, end_s : array, shape (jobs,)
        Seconds since the first label; NaN start: never ran; NaN end: still running at the end.
    nodes : array, shape (jobs,)
    steps, step_s : int, float
        Length of the trace and its step [s].

    Raises
    ------
    InputError
        No job runs at any label.
    """
    first, last, size = _running_steps(start_s, end_s, nodes, steps, step_s)
    running = _occupancy(first, last, np.ones(size.size), steps)
    busy = _occupancy(first, last, size, steps)
    weight = (last - first).astype(np.float64)
    total_weight = weight.sum()
    if total_weight == 0.0:
        raise InputError("no job runs at any time label, so the variance of busy nodes cannot be split")
    mean_size = float((weight * size).sum() / total_weight)
    var_size = float((weight * (size - mean_size) ** 2).sum() / total_weight)
    total = float(busy.var())
    size_term = float(running.mean()) * var_size
    concurrency_term = float(running.var()) * mean_size**2
    return RandomSum(total, size_term, concurrency_term, total - size_term - concurrency_term)


def _running_steps(
    start_s: ArrayLike, end_s: ArrayLike, nodes: ArrayLike, steps: int, step_s: float
) -> tuple[np.ndarray, np.ndarray, Floats]:
    start = np.asarray(start_s, dtype=np.float64)
    ran = ~np.isnan(start)
    end = np.asarray(end_s, dtype=np.float64)[ran]
    first = np.clip(np.ceil(start[ran] / step_s), 0, steps).astype(np.int64)
    last = np.clip(np.ceil(np.where(np.isnan(end), np.inf, end) / step_s), 0, steps).astype(np.int64)
    return first, last, np.asarray(nodes, dtype=np.float64)[ran]


def _occupancy(first: np.ndarray, last: np.ndarray, weight: Floats, steps: int) -> Floats:
    change = np.bincount(first, weights=weight, minlength=steps + 1)
    change -= np.bincount(last, weights=weight, minlength=steps + 1)
    return np.asarray(np.cumsum(change)[:steps])

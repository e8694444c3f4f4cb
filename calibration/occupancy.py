"""The base rate λ0 that gives a target mean occupancy (paper, below eq. 5).

The paper bisects; here it is Brent's method on common random numbers.
"""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq

from hsmdc import facility, laws, profiles
from hsmdc.config import Config, load_config
from hsmdc.errors import CalibrationError, InputError
from hsmdc.seeds import check_seed
from hsmdc.span import Span, generated_span
from hsmdc.timespan import Duration, Instant

TOLERANCE = 0.0005
# The search stops well inside the promised tolerance: 0.0002 of occupancy is 1.2 kW of a 10 MW site's mean.
_STOP = 0.0002
_MOST_RUNS = 12


class OccupancyFit(NamedTuple):
    """Result of `fit_occupancy`."""

    base_rate: float  # λ0 [arrival events/min]
    occupancy: float  # mean busy nodes / nodes that it gives
    runs: int  # simulated runs spent


def fit_occupancy(
    config: "str | Path | Mapping[str, Any] | Config",
    utilization: float,
    *,
    start: Instant | None = None,
    duration: Duration | None = None,
    seed: int = 0,
) -> OccupancyFit:
    """Find λ0 for which the seed's run has mean node occupancy `utilization`.

    Little's law gives the first guess: occupancy equals offered load while nothing is turned away, and the queue
    turns nothing away; only what is still waiting or running at the end is missing. Every run uses the same
    random numbers, so occupancy rises smoothly with λ0.

    Parameters
    ----------
    config : preset name, path, mapping or Config
    utilization : mean busy nodes / nodes, in (0, 1)
    start, duration : the minutes over which the mean is taken, spin-up excluded; default the year 2018

    Raises
    ------
    InputError
        utilization outside (0, 1), or a seed that is none.
    CalibrationError
        The target cannot be reached within ±0.0005 in 12 runs; names the nearest.
    """
    if not 0.0 < utilization < 1.0:
        raise InputError(
            f"utilization = {utilization:g} must lie between 0 and 1: it is the mean share of nodes in use"
        )
    check_seed(seed)
    config = load_config(config)
    search = _Search(config, utilization, generated_span(config, start, duration), seed)
    low = high = search.little_guess()
    try:
        while search.miss(low) > 0:  # more than offered: by the chance of a short run's draw
            low, high = low / (1.0 + 2.0 * search.miss(low) / utilization), low
        while search.miss(high) < 0:
            low, high = high, high * search.growth()
        if search.miss(low) < 0 < search.miss(high):
            brentq(search.miss, low, high, xtol=1e-12, maxiter=_MOST_RUNS)
    except _OutOfRuns:
        pass
    if abs(search.best.occupancy - utilization) > TOLERANCE:
        raise CalibrationError(
            f"no base rate gives an occupancy of {utilization:g} ± {TOLERANCE:g} in {search.runs} runs; nearest: "
            f"{search.best.occupancy:.4f} at λ0 = {search.best.base_rate:.5g} per minute. Near 1 the queue never "
            "empties; lower the target or simulate a longer span"
        )
    return search.best._replace(runs=search.runs)


class _OutOfRuns(Exception):
    pass


class _Search:
    """The runs of one search: counts them, keeps the best, ends at the first that is close enough."""

    def __init__(self, config: Config, target: float, span: Span, seed: int) -> None:
        self.config, self.target, self.span, self.seed = config, target, span, seed
        self.shape: npt.NDArray[np.float64] = profiles.rate_shape(
            config.arrivals, config.site.utc_offset_h, span.first, span.total
        )
        self.runs = 0
        self.occupancy = math.nan
        self._seen: dict[float, float] = {}  # Brent's method asks again for the ends of its bracket
        self.best = OccupancyFit(math.nan, -math.inf, 0)

    def little_guess(self) -> float:
        """λ0 [events/min] by Little's law: busy nodes over node-minutes per event. Exact without a queue."""
        per_event = laws.node_ticks_per_event(self.config.arrivals.batch, self.config.jobs)
        return self.target * self.config.site.nodes / (per_event * float(self.shape.mean()))

    def growth(self) -> float:
        """How much more to offer after a run that fell short: overshooting closes the bracket at once."""
        shortfall = self.target / max(self.occupancy, 0.25 * self.target)
        return max(1.002, math.pow(shortfall, 1.6))

    def miss(self, base_rate: float) -> float:
        """Occupancy minus target; zero once close enough, which ends any bracketing search."""
        if base_rate not in self._seen:
            self._seen[base_rate] = self._run(base_rate)
        return self._seen[base_rate]

    def _run(self, base_rate: float) -> float:
        if self.runs == _MOST_RUNS:
            raise _OutOfRuns
        self.runs += 1
        jobs = facility.generate_schedule(self.config, self.span, self.shape, base_rate, self.seed)
        busy = facility.busy_nodes(jobs, self.span.total)[self.span.spin_up :]
        self.occupancy = float(busy.mean()) / self.config.site.nodes
        if abs(self.occupancy - self.target) < abs(self.best.occupancy - self.target):
            self.best = OccupancyFit(base_rate, self.occupancy, self.runs)
        miss = self.occupancy - self.target
        return 0.0 if abs(miss) <= _STOP else miss

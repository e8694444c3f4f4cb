"""The node chain fitted to a measured power trace of one synchronous training job.

The trace is read as its own steps: a high plateau (ps), a dip at its end (ar), a low plateau (ba, then lc), and
longer low stretches without a step (evaluation or checkpoint, ci). What comes before the first step and after
the last becomes job phases.
"""

from importlib import resources
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hsmdc.config.node import JobClass, JobPhases, NodeLayer, Phase, State, Workload
from hsmdc.config.sections import Site
from hsmdc.errors import CalibrationError, InputError
from hsmdc.transient.onenode import JobRun
from hsmdc.validation.metrics import dip_depth, wasserstein

Floats = NDArray[np.float64]

SHIPPED_TRACE = "nlr_llama2_70b_lora_16node_5hz.csv"

_FEWEST_STEPS = 20
_LONG_LOW = 1.5  # a low stretch longer than this many medians is no step of its own
_STEP_NS = 20_000_000
# A dip moves the falling edge it hangs on, and its median shape is blurred by steps out of line: lengths and depth
# are corrected against what the sensor shows of a simulated job.
_ROUNDS = 5
_DIP_WINDOW_S = 60.0
_SCORED_S = 1800.0


class Telemetry(NamedTuple):
    """Measured power of one job, per node [W], over time [s]; a running mean over `sensor_s`."""

    time_s: Floats
    node_w: Floats
    nodes: int
    sensor_s: float
    source: str


class Steps(NamedTuple):
    """The steps of a training phase: when power rises and falls through the middle of its two levels."""

    rise_s: Floats
    fall_s: Floats

    @property
    def low_s(self) -> Floats:
        """Lengths of the low stretches between steps."""
        return self.rise_s[1:] - self.fall_s[:-1]

    @property
    def high_s(self) -> float:
        """Median length of the high stretches."""
        return float(np.median(self.fall_s - self.rise_s))

    @property
    def regular(self) -> NDArray[np.bool_]:
        """Which low stretches belong to ordinary steps."""
        return self.low_s < _LONG_LOW * np.median(self.low_s)

    @property
    def period_s(self) -> float:
        """Mean time from rise to rise over ordinary steps."""
        return float(np.diff(self.rise_s)[self.regular].mean())


class Scores(NamedTuple):
    """Measured and simulated training phase side by side."""

    wasserstein_pu: float
    period_s: tuple[float, float]
    high_s: tuple[float, float]
    low_s: tuple[float, float]
    dip_w: tuple[float, float]
    dip_depth: tuple[float, float]


class TelemetryFit(NamedTuple):
    """A fitted workload, and how well a simulated job of it meets the trace."""

    workload: Workload
    scores: Scores


def read_telemetry(
    path: str | Path | None = None, *, nodes: int = 16, gpus_per_node: int = 4, other_w: float = 252.0,
    sensor_s: float = 1.0,
) -> Telemetry:  # fmt: skip
    """Read a CSV of time [s] and mean power per GPU [W]; lines that begin with # are comments.

    Parameters
    ----------
    path : default the trace shipped with the package
    other_w : the rest of a node, added to its GPUs [W]; two processor sockets of 126 W each while training

    Raises
    ------
    InputError
        A file that cannot be read as two columns of rising time and finite power.
    """
    source = Path(path) if path is not None else resources.files("hsmdc.calibration") / "data" / SHIPPED_TRACE
    try:
        lines = [line for line in source.read_text("utf-8").splitlines() if not line.startswith("#")]
        table = np.loadtxt(lines[1:], delimiter=",", usecols=(0, 1), ndmin=2)
    except FileNotFoundError:
        raise InputError(f"no telemetry file {path}") from None
    except (ValueError, UnicodeDecodeError) as error:
        raise InputError(
            f"{source}: not a CSV of time [s] and power [W] below one header line: {error}"
        ) from None
    if len(table) < 2 or not np.isfinite(table).all() or (np.diff(table[:, 0]) <= 0).any():
        raise InputError(f"{source}: needs two or more rows of rising time and finite power")
    return Telemetry(table[:, 0], gpus_per_node * table[:, 1] + other_w, nodes, sensor_s, source.name)


def fit_telemetry(
    telemetry: Telemetry | None = None,
    *,
    tdp_w: float = 3520.0,
    name: str = "fitted",
    description: str = "",
    theta_per_s: float = 0.8,
) -> TelemetryFit:
    """Fit the five-state chain and its job phases to a measured job.

    Parameters
    ----------
    telemetry : default the shipped Llama-2-70B LoRA job of 16 nodes
    tdp_w : thermal design power of a node [W]
    name, description : of the workload
    theta_per_s : mean-reversion rate of the noise, which one running mean cannot tell from its strength

    Raises
    ------
    CalibrationError
        The trace shows no train of two-level steps.
    """
    telemetry = telemetry if telemetry is not None else read_telemetry()
    steps = find_steps(telemetry)
    levels, sojourns = _levels_and_sojourns(telemetry, steps)
    about: dict[str, Any] = {
        "name": name,
        "description": description,
        "provenance": (
            f"fitted by hsmdc calibrate telemetry to {len(steps.rise_s)} training steps of {telemetry.source}, a "
            f"job of {telemetry.nodes} nodes seen as means over {telemetry.sensor_s:g} s"
        ),
        "phases": _phases(telemetry, steps, tdp_w),
    }
    for _ in range(_ROUNDS):
        workload = Workload(**about, **_chain(telemetry, steps, levels, sojourns, tdp_w, theta_per_s))
        scores = score_workload(workload, telemetry, tdp_w=tdp_w, theta_per_s=theta_per_s)
        levels, sojourns = _corrected(scores, levels, sojourns)
    return TelemetryFit(workload, scores)


def _corrected(scores: "Scores", levels: "_Levels", sojourns: "_Levels") -> tuple["_Levels", "_Levels"]:
    """Levels and sojourns moved by what the sensor shows of them too much or too little."""
    measured_w, simulated_w = scores.dip_w
    high_s, low_s = (measured - simulated for measured, simulated in (scores.high_s, scores.low_s))
    return (
        levels._replace(ar=levels.ba - (levels.ba - levels.ar) * measured_w / simulated_w),
        sojourns._replace(
            ps=sojourns.ps + high_s, lc=sojourns.lc + 0.5 * low_s, ba=sojourns.ba + 0.5 * low_s
        ),
    )


def find_steps(telemetry: Telemetry) -> Steps:
    """Find the training steps of a trace by its two levels.

    Raises
    ------
    CalibrationError
        Fewer than 20 steps.
    """
    low, high = _two_levels(telemetry.node_w)
    middle = 0.5 * (low + high)
    t, p = telemetry.time_s, telemetry.node_w
    above = p > middle

    def crossings(at: NDArray[np.bool_]) -> Floats:
        i = np.flatnonzero(at)
        return t[i] + (middle - p[i]) / (p[i + 1] - p[i]) * (t[i + 1] - t[i])

    rise, fall = crossings(~above[:-1] & above[1:]), crossings(above[:-1] & ~above[1:])
    fall = fall[fall > rise[0]] if len(rise) else fall
    count = min(len(rise), len(fall))
    if count < _FEWEST_STEPS:
        raise CalibrationError(
            f"the trace shows {count} steps between {low:.0f} and {high:.0f} W per node; a fit needs "
            f"{_FEWEST_STEPS}: give a synchronous job's training phase, at 5 Hz or more"
        )
    return Steps(rise[:count], fall[:count])


def _two_levels(power_w: Floats) -> tuple[float, float]:
    """Medians of the two clusters of the power above half its maximum."""
    busy = power_w[power_w > 0.5 * power_w.max()]
    low, high = busy.min(), busy.max()
    for _ in range(50 if high > low else 0):
        middle = 0.5 * (low + high)
        low, high = np.median(busy[busy <= middle]), np.median(busy[busy > middle])
    return float(low), float(high)


class _Levels(NamedTuple):
    ps: Floats
    lc: Floats
    ba: Floats
    ci: Floats
    ar: Floats


def _within(telemetry: Telemetry, begins: Floats, ends: Floats) -> Floats:
    """Samples inside spans."""
    inside = np.zeros(len(telemetry.time_s), np.bool_)
    for begin, end in zip(begins, ends, strict=True):
        inside |= (telemetry.time_s > begin) & (telemetry.time_s < end)
    return telemetry.node_w[inside]


def _middle_half(values: Floats) -> Floats:
    """The uniform law with the quartiles of some values: robust against the rare and the far."""
    low, high = np.percentile(values, [25.0, 75.0])
    return np.array([low - 0.5 * (high - low), high + 0.5 * (high - low)])


def _levels_and_sojourns(telemetry: Telemetry, steps: Steps) -> tuple[_Levels, _Levels]:
    """Power [W] and sojourn [s] ranges of the five states, as the job shows them."""
    edge = telemetry.sensor_s
    dip_w, dip_s, dip_spread = _dip(telemetry, steps)
    low_begin, low_end = steps.fall_s[:-1] + edge + 2 * dip_s, steps.rise_s[1:] - edge
    regular = steps.regular
    high = _within(telemetry, steps.rise_s + edge, steps.fall_s - edge)
    low = _within(telemetry, low_begin[regular], low_end[regular])
    long = _within(telemetry, low_begin[~regular], low_end[~regular])
    middle = np.median(low)
    low_s = steps.low_s[regular]
    half_s = 0.5 * (np.median(low_s) - dip_s)
    # The low plateau is two states in a row: their lengths add up to the plateau's, in mean and variance.
    half_width_s = np.diff(_middle_half(low_s))[0] / (2.0 * np.sqrt(2.0))
    part_s = half_s + np.array([-half_width_s, half_width_s])
    levels = _Levels(
        ps=_middle_half(high),
        lc=_middle_half(low[low > middle]),
        ba=np.full(2, np.median(low[low <= middle])),
        ci=_middle_half(long) if len(long) else np.full(2, dip_w),
        ar=np.full(2, dip_w),
    )
    longer = steps.low_s[~regular] - np.median(low_s)
    sojourns = _Levels(
        ps=_middle_half(steps.fall_s - steps.rise_s),
        lc=part_s,
        ba=part_s,
        ci=np.array([longer.min(), longer.max()]) if len(longer) else np.full(2, dip_s),
        ar=dip_s * dip_spread,
    )
    return levels, sojourns


def _dip(telemetry: Telemetry, steps: Steps) -> tuple[float, float, Floats]:
    """Level [W] and length [s] of the dip at the end of a step, and the range of its length about 1.

    The range has the mean and the mean absolute deviation of the dips' depths: in the shipped trace one in ten
    is three times as deep as the others, which a variance would overrate.

    The median shape of the falling edge is matched by high, dip, low under the sensor's running mean; the
    level follows linearly for each length tried.
    """
    offsets = np.arange(-1.2 * telemetry.sensor_s, 2.0 * telemetry.sensor_s, 0.05)
    edges = np.array([np.interp(f + offsets, telemetry.time_s, telemetry.node_w) for f in steps.fall_s[:-1]])
    shape = np.median(edges, axis=0)
    high, low = shape[:4].mean(), shape[-8:].mean()
    best = (np.inf, low, telemetry.sensor_s)
    for dip_s in np.arange(0.05, 1.0, 0.025) * telemetry.sensor_s:
        for late_s in np.arange(0.2, 0.8, 0.02) * telemetry.sensor_s:
            begin = offsets + late_s  # time since the high plateau ended
            gone, dipped = (
                np.clip(begin - d, 0.0, telemetry.sensor_s) / telemetry.sensor_s for d in (0.0, dip_s)
            )
            weight = gone - dipped
            rest = shape - (high * (1.0 - gone) + low * dipped)
            level = float(weight @ rest / (weight @ weight))
            error = float(np.sum((rest - weight * level) ** 2))
            if error < best[0] and 0.0 < level < low:
                best = (error, level, float(dip_s))
    depth = _dips_w(telemetry, steps)
    reach = 2.0 * np.abs(depth / depth.mean() - 1.0).mean()
    return best[1], best[2], np.maximum(1.0 + reach * np.array([-1.0, 1.0]), 0.1)


def _dips_w(telemetry: Telemetry, steps: Steps) -> Floats:
    """Depth of the dip at the end of each step below the low plateau that follows [W]."""
    offsets = np.arange(0.0, 2.0 * telemetry.sensor_s, 0.05)
    edges = np.array([np.interp(f + offsets, telemetry.time_s, telemetry.node_w) for f in steps.fall_s[:-1]])
    return np.asarray(np.median(edges[:, -8:], axis=1) - edges.min(axis=1))


def _chain(
    telemetry: Telemetry, steps: Steps, levels: _Levels, sojourns: _Levels, tdp_w: float, theta_per_s: float
) -> dict[str, Any]:
    """The chain's part of a workload."""
    long_share = float(np.mean(~steps.regular))
    transitions = (
        (0.0, 0.0, 0.0, 0.0, 1.0),
        (1.0, 0.0, 0.0, 0.0, 0.0),
        (0.0, 1.0, 0.0, 0.0, 0.0),
        (0.0, 0.0, 1.0, 0.0, 0.0),
        (0.0, 0.0, 1.0 - long_share, long_share, 0.0),
    )
    middle_w = np.array([level.mean() for level in levels])
    visits = np.array([1.0, 1.0, 1.0, long_share, 1.0])
    weight = visits * np.array([s.mean() for s in sojourns])
    mean_w = float(weight @ middle_w / weight.sum())
    # Nodes deviate each by itself: a job of n shows the spread of one, reduced by √n.
    spread = np.sqrt(telemetry.nodes)
    noise = _noise(telemetry, steps, theta_per_s) * spread / mean_w
    states = {}
    for name, level, sojourn in zip(_Levels._fields, levels, sojourns, strict=True):
        centre = abs(level.mean() - levels.ba[0]) / mean_w
        half = min(0.5 * np.ptp(level) * spread / mean_w, centre)
        states[name] = State(
            deviation=_rounded(centre - half, centre + half),
            sojourn_s=_rounded(*sojourn),
            noise=round(noise, 4),
        )
    return {"mean_tdp": round(mean_w / tdp_w, 5), "transitions": transitions, **states}


def _rounded(low: float, high: float) -> tuple[float, float]:
    return round(float(low), 4), round(float(high), 4)


def _noise(telemetry: Telemetry, steps: Steps, theta_per_s: float) -> float:
    """σ of the noise of the whole job per node [W/√s], from the scatter within high plateaus.

    A running mean over W passes 2(x − 1 + e^(−x))/x² of the variance, x = θW.
    """
    edge = telemetry.sensor_s
    scatter = [
        np.var(_within(telemetry, np.array([rise + edge]), np.array([fall - edge])))
        for rise, fall in zip(steps.rise_s, steps.fall_s, strict=True)
        if fall - rise > 4 * edge
    ]
    x = theta_per_s * telemetry.sensor_s
    passed = 2.0 * (x + np.expm1(-x)) / x**2
    return float(np.sqrt(np.median(scatter) / passed * 2.0 * theta_per_s))


def _phases(telemetry: Telemetry, steps: Steps, tdp_w: float) -> JobPhases:
    begin, end = steps.rise_s[0], steps.fall_s[-1]
    before = _flat_stretches(telemetry, telemetry.time_s[0], begin, tdp_w, "start-up")
    after = _flat_stretches(telemetry, end + telemetry.sensor_s, telemetry.time_s[-1], tdp_w, "shut-down")
    return JobPhases(before=before, ramp_s=telemetry.sensor_s if before else 0.0, after=after)


def _flat_stretches(
    telemetry: Telemetry, begin_s: float, end_s: float, tdp_w: float, name: str
) -> tuple[Phase, ...]:
    """Stretches of nearly constant power, parted where it moves by 3 % of TDP within two sensor means."""
    span = (telemetry.time_s >= begin_s) & (telemetry.time_s <= end_s)
    t, p = telemetry.time_s[span], telemetry.node_w[span]
    if len(t) < 2:
        return ()
    reach = max(1, round(2.0 * telemetry.sensor_s / np.median(np.diff(t))))
    moved = np.abs(p[reach:] - p[:-reach]) > 0.03 * tdp_w
    cuts = [i + reach // 2 for i in np.flatnonzero(moved[1:] & ~moved[:-1]) + 1]
    edges = [t[0], *t[cuts], end_s]
    phases: list[Phase] = []
    for left, right in pairwise(edges):
        length = right - left
        if length > 3.0 * telemetry.sensor_s:
            level = float(np.median(p[(t >= left) & (t < right)]))
            phases.append(
                Phase(
                    name=f"{name} {len(phases) + 1}",
                    duration_s=(round(0.9 * length, 1), round(1.1 * length, 1)),
                    level_tdp=round(level / tdp_w, 4),
                )
            )
    return tuple(phases)


def score_workload(
    workload: Workload, telemetry: Telemetry, *, tdp_w: float, theta_per_s: float = 0.8, seed: int = 1
) -> Scores:
    """Simulate the job's training phase through the same sensor and compare.

    `dip_w` is the mean depth of the dips below the low plateau; `dip_depth` that of `metrics.dip_depth`, from
    the median of windows of a minute to their minimum, as a share, its mean over the windows.
    """
    steps = find_steps(telemetry)
    sample_s = _sample_s(telemetry)
    even_s = np.arange(steps.rise_s[0], steps.fall_s[-1], sample_s)
    measured_w = np.interp(even_s, telemetry.time_s, telemetry.node_w)
    simulated = simulated_telemetry(workload, telemetry, tdp_w=tdp_w, theta_per_s=theta_per_s, seed=seed)
    found = find_steps(simulated)
    return Scores(
        float(wasserstein(measured_w / tdp_w, simulated.node_w / tdp_w)),
        (steps.period_s, found.period_s),
        (steps.high_s, found.high_s),
        (float(np.median(steps.low_s)), float(np.median(found.low_s))),
        (float(_dips_w(telemetry, steps).mean()), float(_dips_w(simulated, found).mean())),
        (
            float(np.mean(dip_depth(measured_w, sample_s, _DIP_WINDOW_S))),
            float(np.mean(dip_depth(simulated.node_w, sample_s, _DIP_WINDOW_S))),
        ),
    )


def simulated_telemetry(
    workload: Workload, telemetry: Telemetry, *, tdp_w: float, theta_per_s: float = 0.8, seed: int = 1,
    seconds: float = _SCORED_S,
) -> Telemetry:  # fmt: skip
    """A simulated job of the same size, seen through the same sensor at the same sampling."""
    mean_w = stationary_level_w(workload, tdp_w)
    site = Site(
        nodes=telemetry.nodes,
        rated_mw=telemetry.nodes * tdp_w * 1e-6,
        idle_w=0.1 * mean_w,
        busy_w=mean_w,
        tdp_w=tdp_w,
    )
    layer = NodeLayer(theta_per_s=theta_per_s, mix=(JobClass(workload=workload),))
    steps = round(seconds * 1e9) // _STEP_NS
    power_w = (
        JobRun(layer, site, telemetry.nodes, _STEP_NS, steps, seed, phases=False).power_w() / telemetry.nodes
    )
    width = round(telemetry.sensor_s * 1e9 / _STEP_NS)
    running = np.convolve(power_w, np.full(width, 1.0 / width), mode="valid")
    every = round(_sample_s(telemetry) * 1e9) // _STEP_NS
    seen = running[::every]
    time_s = np.arange(len(seen), dtype=np.float64) * (every * _STEP_NS * 1e-9)
    return telemetry._replace(time_s=time_s, node_w=seen, source="simulation")


def _sample_s(telemetry: Telemetry) -> float:
    """The sampling interval, rounded to steps of the simulation."""
    typical_ns = float(np.median(np.diff(telemetry.time_s))) * 1e9
    return max(1, round(typical_ns / _STEP_NS)) * _STEP_NS * 1e-9


def stationary_level_w(workload: Workload, tdp_w: float) -> float:
    """Mean power of a workload that carries its own [W].

    Raises
    ------
    InputError
        It follows the site's mean instead.
    """
    if workload.mean_tdp is None:
        raise InputError(
            f"workload {workload.name!r} has no mean_tdp of its own; give it one to compare levels"
        )
    return workload.mean_tdp * tdp_w

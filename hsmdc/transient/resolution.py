"""A trace made ready to be resolved: what its windows are computed from, and their series part by part."""

from collections.abc import Iterator
from typing import Any, Literal, get_args

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hsmdc.config import Config, from_toml
from hsmdc.errors import InputError
from hsmdc.kernels.chain import NS_PER_S
from hsmdc.nodes import node_tables, workload_of_jobs
from hsmdc.traces import trace_dataset
from hsmdc.transient.blocks import Block, NodeBlocks, grid_of, placed_jobs
from hsmdc.transient.counts import Count
from hsmdc.transient.finelag import FineLag
from hsmdc.transient.meancurve import MeanCurve
from hsmdc.transient.source import job_nodes_of, seed_of, series_of
from hsmdc.transient.window import Window

Floats = NDArray[np.float64]
Sample = Literal["mean", "instant"]
Synchrony = Literal["job", "node"]
Minutes = Literal["auto", "trace", "free"]

#: Facts of a trace that do not hold for a part of it.
_OF_THE_WHOLE = ("jobs", "occupancy", "pue")


class Resolution:
    """A trace and the way it is resolved. Steps are numbered from the trace's first label."""

    def __init__(
        self, trace: xr.Dataset, window: Window, synchrony: Synchrony | None, sample: Sample,
        minutes: Minutes, threads: int,
    ) -> None:  # fmt: skip
        config = from_toml(str(trace.attrs["config"]))
        synchrony = synchrony or config.node.synchrony
        _check_choices(synchrony=(synchrony, Synchrony), sample=(sample, Sample), minutes=(minutes, Minutes))
        if not isinstance(threads, int) or threads < 1:
            raise InputError(f"threads = {threads}: must be a whole number, 1 or more")
        layer = config.node.model_copy(update={"synchrony": synchrony})
        self._site = config.site
        self._instant = sample == "instant"
        self._grid = grid_of(window.step_ns, window.interval_ns, layer.theta_per_s)
        self._series = series_of(trace)
        if minutes == "auto":
            minutes = "trace" if config.residual.sigma_mw > 0 or self._clipped() else "free"
        self._bound = minutes == "trace"
        self._zero = trace["time"].values[0].astype("datetime64[ns]")
        seed = seed_of(trace)
        nodes = job_nodes_of(trace)
        arrival_s, start_s, end_s = (
            np.asarray(trace[name].values, np.float64) for name in ("job_arrival", "job_start", "job_end")
        )
        within_s = self._needed_s(window)
        jobs = placed_jobs(start_s, end_s, nodes, workload_of_jobs(layer, nodes, seed), within_s)
        waits = placed_jobs(arrival_s, start_s, nodes, nodes, within_s)
        waited = np.flatnonzero(waits.end > waits.begin)
        self._counts = {
            "busy_nodes": Count(jobs.begin, jobs.end, jobs.nodes),
            "queued_jobs": Count(waits.begin[waited], waits.end[waited], 1),
        }
        self._check_jobs(window)
        self._blocks = NodeBlocks(
            jobs, node_tables(layer, config.site), seed, self._grid, instant=self._instant, threads=threads
        )
        self._lags = self._cooling(config)
        self._curve = MeanCurve(self._grid.steps_per_interval, instant=self._instant)
        self._attrs = {
            **{name: value for name, value in trace.attrs.items() if name not in _OF_THE_WHOLE},
            "title": f"Electrical load of {config.name}, resolved",
            "step_s": window.step_ns / NS_PER_S,
            "resolved_synchrony": synchrony,
            "resolved_sample": sample,
            "resolved_minutes": minutes,
        }

    def _clipped(self) -> bool:
        """Whether the saturation ceiling cuts power anywhere in the trace, which free nodes know nothing of."""
        most_w = self._affine_w(self._series["busy_nodes"]).max()
        return bool(most_w > self._site.saturation * self._site.rated_mw * 1e6)

    def _affine_w(self, busy_nodes: Floats) -> Floats:
        """IT power of so many busy nodes, without residual and ceiling (paper eq. 7) [W]."""
        site = self._site
        power_w: Floats = site.nodes * site.idle_w + busy_nodes * (site.busy_w - site.idle_w)
        return power_w

    def _check_jobs(self, window: Window) -> None:
        """Refuse a job table that is not this trace's: a trace cut in time keeps times from its old beginning."""
        first = window.first // self._grid.steps_per_interval
        count = -(-window.last // self._grid.steps_per_interval) - first
        interval_ns = self._grid.interval_ns
        of_jobs = self._counts["busy_nodes"].steps(first * interval_ns, interval_ns, count, instant=False)
        difference = np.abs(of_jobs - self._series["busy_nodes"][first : first + count])
        if difference.max() > 1e-3 * self._site.nodes:
            raise InputError(
                f"the job table does not belong to this trace: it is off busy_nodes by "
                f"{difference.max():.0f} nodes; resolve the whole trace with start and duration, do not cut it"
            )

    def _needed_s(self, window: Window) -> tuple[float, float]:
        """The time whose jobs a window depends on: its blocks, two before and one after."""
        first, last = window.first // self._grid.block_steps, (window.last - 1) // self._grid.block_steps
        block_s = self._grid.block_ns / NS_PER_S
        return (first - 2) * block_s, (last + 2) * block_s

    def dataset(self, first: int, series: dict[str, Floats]) -> xr.Dataset:
        """The Dataset of a stretch of steps that begins with step `first`."""
        start = self._zero + np.timedelta64(first * self._grid.step_ns, "ns")
        data = trace_dataset(
            start=start, step_s=self._grid.step_ns / NS_PER_S, series=series, attrs=self._attrs
        )
        if self._instant:
            for variable in data.data_vars.values():
                variable.attrs["cell_methods"] = "time: point"
        return data

    def chunks(self, first: int, last: int, length: int) -> Iterator[xr.Dataset]:
        """Datasets of `length` steps each, the last perhaps shorter, from step `first` to `last` − 1."""
        held: dict[str, list[Floats]] = {}
        begin = first
        for part in self.parts(first, last):
            for name, values in part.items():
                held.setdefault(name, []).append(values)
            ready = sum(map(len, held["it_power"]))
            if ready < length and begin + ready < last:
                continue
            joined = {name: np.concatenate(pieces) for name, pieces in held.items()}
            done = 0
            while done < ready and (ready - done >= length or begin + ready - done == last):
                count = min(length, ready - done)
                cut = slice(done, done + count)
                yield self.dataset(begin, {name: values[cut].copy() for name, values in joined.items()})
                done += count
                begin += count
            held = {name: [values[done:].copy()] for name, values in joined.items()}

    def parts(self, first: int, last: int) -> Iterator[dict[str, Floats]]:
        """Series of steps first … last − 1, block by block [MW, 1, degC]."""
        per_block = self._grid.block_steps
        for number, it_w in self._it_power_w(first // per_block, (last - 1) // per_block):
            begin = number * per_block
            series = self._with_rest(number, it_w)
            cut = slice(max(first - begin, 0), last - begin)
            yield {name: values[cut] for name, values in series.items()}

    def _it_power_w(self, first: int, last: int) -> Iterator[tuple[int, Floats]]:
        """IT power of blocks first … last, a row per interval of the trace [W]."""
        idle_w = self._site.nodes * self._site.idle_w
        if not self._bound:
            for block in self._blocks.run(first, last):
                yield block.number, idle_w + self._inside(block)
            return
        end = (len(self._series["it_power"]) - 1) // self._grid.block_intervals
        before = None
        now: tuple[Block, Floats] | None = None
        for block in self._blocks.run(max(first - 1, 0), min(last + 1, end)):
            following = self._shortfall_w(block)
            if now is not None and now[0].number >= first:
                yield now[0].number, idle_w + self._bound_power(before, now, following)
            before = now[1] if now is not None else None
            now = block, following
        if now is not None and now[0].number <= last:
            yield now[0].number, idle_w + self._bound_power(before, now, None)

    def _inside(self, block: Block) -> Floats:
        """A block's node power without what lies beyond the trace's end, a row per interval [W]."""
        rows = block.power_w.reshape(-1, self._grid.steps_per_interval)
        return rows[: len(self._series["it_power"]) - block.number * self._grid.block_intervals]

    def _shortfall_w(self, block: Block) -> Floats:
        """By how much each interval's mean must rise for the node layer to deviate as the trace does [W]."""
        first = block.number * self._grid.block_intervals
        power_w = self._inside(block)
        part = slice(first, first + len(power_w))
        residual_w = self._series["it_power"][part] * 1e6 - self._affine_w(self._series["busy_nodes"][part])
        shortfall_w: Floats = residual_w - (power_w.mean(axis=1) - block.expected_w[: len(power_w)])
        return shortfall_w

    def _bound_power(
        self, before: Floats | None, now: tuple[Block, Floats], after: Floats | None
    ) -> Floats:  # fmt: skip
        block, shortfall = now
        left = shortfall[0] if before is None else before[-1]
        right = shortfall[-1] if after is None else after[0]
        return self._inside(block) + self._curve.values(left, shortfall, right)

    def _with_rest(self, number: int, it_w: Floats) -> dict[str, Floats]:
        """All series of a block, from its IT power by interval and step."""
        first = number * self._grid.block_intervals
        part = slice(first, first + len(it_w))
        steps = it_w.shape[1]
        series = {"it_power": it_w.ravel() * 1e-6}
        for name, lag in self._lags.items():
            series[name] = (self._series[name][part, None] * lag.shape(part.start, part.stop)).ravel()
        for name in ("auxiliary_power", "ambient_temperature"):
            series[name] = np.repeat(self._series[name][part], steps)
        for name, count in self._counts.items():
            series[name] = count.steps(
                first * self._grid.interval_ns, self._grid.step_ns, it_w.size, instant=self._instant
            )
        return series

    def _cooling(self, config: Config) -> dict[str, FineLag]:
        settings = config.cooling
        return {
            name: FineLag(
                self._series["it_power"],
                self._grid.interval_ns / NS_PER_S,
                self._grid.step_ns / NS_PER_S,
                part.tau_s,
                settings.dead_time_s,
                instant=self._instant,
            )
            for name, part in (("hvac_power", settings.hvac), ("chiller_power", settings.chiller))
        }


def _check_choices(**given: tuple[str, Any]) -> None:
    for name, (value, kind) in given.items():
        if value not in get_args(kind):
            raise InputError(f"{name} = {value!r}: must be one of {', '.join(get_args(kind))}")

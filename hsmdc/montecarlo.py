"""Monte Carlo years: one λ0 for all members, so that their occupancy varies as a site's would."""

from collections.abc import Callable, Generator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from hsmdc import facility, profiles
from hsmdc.config import Config, load_config, to_toml
from hsmdc.errors import InputError
from hsmdc.kernels import rng
from hsmdc.seeds import check_seed
from hsmdc.simulation import arrival_rate, check_sources, minute_series
from hsmdc.span import Span, generated_span
from hsmdc.timespan import Duration, Instant

Progress = Callable[[float, float], None]

EXCEEDANCE = np.linspace(0.0, 1.0, 101)
_RAMP_MIN = (1, 10, 60)


def ensemble(
    config: "str | Path | Mapping[str, Any] | Config",
    *,
    members: int = 50,
    utilization: float | None = None,
    base_rate: float | None = None,
    start: Instant | None = None,
    duration: Duration | None = None,
    seed: int = 0,
    client: Any = None,
    threads: int = 1,
    progress: Progress | None = None,
) -> xr.Dataset:
    """Simulate many years and keep what planners ask of them.

    Every member has the same λ0, found for `utilization` on the first member when it is not given, and a seed of
    its own derived from (seed, member), so adding members changes none.

    Parameters
    ----------
    members : number of runs
    utilization, base_rate, start, duration : as in `simulate`
    client : a dask.distributed Client; members then run on its workers
    threads : members at a time on this machine

    Returns
    -------
    Dataset over `member` with mean, peak, standard deviation, load factor and energy of IT and facility power,
    occupancy, the largest ramps over 1, 10 and 60 minutes, and load-duration curves over `exceedance`.

    Raises
    ------
    ConfigError, InputError, CalibrationError
    """
    config = load_config(config)
    check_sources(utilization=utilization, base_rate=base_rate)
    check_seed(seed)
    if members < 1:
        raise InputError(f"members = {members} must be 1 or more")
    if threads < 1:
        raise InputError(f"threads = {threads} must be 1 or more")
    span = generated_span(config, start, duration)
    seeds = [member_seed(seed, member) for member in range(members)]
    rate = arrival_rate(config, utilization, base_rate, start, duration, seeds[0])
    run = partial(member_summary, config, span, rate)
    rows = []
    with closing(_run_all(run, seeds, client, threads)) as finished:
        for row in finished:
            rows.append(row)
            if progress is not None:
                progress(len(rows), members)
    summary: xr.Dataset = xr.concat(rows, dim="member").assign_coords(member=np.arange(members))
    return summary.assign_attrs(
        title=f"Ensemble of {members} runs of {config.name}",
        base_rate=rate,
        seed=str(seed),
        rng_scheme=rng.SCHEME,
        start=str(span.start),
        minutes=span.minutes,
        config=to_toml(config),
    )


def member_seed(seed: int, member: int) -> int:
    """The master seed of one member."""
    return int(rng.entity_key(np.uint64(rng.stream_key(np.uint64(seed), rng.ENSEMBLE_MEMBER)), member))


def member_summary(config: Config, span: Span, base_rate: float, seed: int) -> xr.Dataset:
    """One member, reduced to its figures; no trace is kept. `base_rate` is λ0 [events/min]."""
    shape = profiles.rate_shape(config.arrivals, config.site.utc_offset_h, span.first, span.total)
    run = facility.generate_schedule(config, span, shape, base_rate, seed)
    series = minute_series(config, span, run, seed)
    figures: dict[str, Any] = {
        "seed": ((), np.uint64(seed), {"long_name": "master seed of the member"}),
        "occupancy": (
            (),
            series["busy_nodes"].mean() / config.site.nodes,
            {"units": "1", "long_name": "mean share of busy nodes"},
        ),
    }
    for name in ("it", "facility"):
        figures |= _figures(name, series[f"{name}_power"])
    return xr.Dataset(figures, coords={"exceedance": EXCEEDANCE})


def _figures(name: str, power_mw: facility.Floats) -> dict[str, Any]:
    mw = {"units": "MW"}
    found: dict[str, Any] = {
        f"{name}_mean": ((), power_mw.mean(), mw | {"long_name": f"mean {name} power"}),
        f"{name}_peak": ((), power_mw.max(), mw | {"long_name": f"highest minute of {name} power"}),
        f"{name}_std": ((), power_mw.std(), mw | {"long_name": f"standard deviation of {name} power"}),
        f"{name}_load_factor": (
            (),
            power_mw.mean() / power_mw.max(),
            {"units": "1", "long_name": "mean over peak"},
        ),
        f"{name}_energy": ((), power_mw.sum() / 60.0, {"units": "MWh", "long_name": f"{name} energy"}),
        f"{name}_load_duration": (
            "exceedance",
            np.quantile(power_mw, 1.0 - EXCEEDANCE),
            mw | {"long_name": f"{name} power exceeded for this share of time"},
        ),
    }
    for minutes in _RAMP_MIN:
        if power_mw.size > minutes:
            ramp = power_mw[minutes:] - power_mw[:-minutes]
            words = f"over {minutes} min of {name} power"
            found[f"{name}_steepest_rise_{minutes}min"] = (
                (),
                ramp.max(),
                mw | {"long_name": f"largest rise {words}"},
            )
            found[f"{name}_steepest_fall_{minutes}min"] = (
                (),
                ramp.min(),
                mw | {"long_name": f"largest fall {words}"},
            )
    return found


def _run_all(
    run: Callable[[int], xr.Dataset], seeds: list[int], client: Any, threads: int
) -> Generator[xr.Dataset, None, None]:
    """Every member in order."""
    if client is not None:
        yield from client.gather(client.map(run, seeds, pure=True))
        return
    yield run(seeds[0])  # compiles, once for all threads
    # The kernels release the GIL, so threads are enough and share the compiled code.
    pool = ThreadPoolExecutor(threads)
    try:
        yield from pool.map(run, seeds[1:])
    finally:  # an interrupted run must not wait for the members not yet begun
        pool.shutdown(cancel_futures=True)

"""What the grid feels of a sub-second trace, in one call: ramps, band energy, swing and dips."""

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from hsmdc.errors import InputError

from .ramps import dip_depth, ramp_percentiles, swing
from .spectrum import GRID_BAND_HZ, band_energy, dominant_period, spectral_density

HORIZONS_S = (0.1, 1.0, 10.0, 60.0)
WINDOWS_S = (10.0, 60.0)
_SEGMENT_S = 60.0
_TAILS = (0.1, 99.9)


def grid_summary(values: ArrayLike, step_s: float) -> xr.Dataset:
    """Ramps at 0.1, 1, 10 and 60 s, energy and dominant period from 0.1 to 2.5 Hz, swing and dips by window.

    Parameters
    ----------
    values : array, shape (..., n)
        Power [MW] without gaps; leading axes become the dimensions `member_0`, ….
    step_s : float
        Step [s], at most 0.2 s, so that the band lies below half the sampling frequency.

    Returns
    -------
    Dataset
        `ramp_mw` (…, horizon, percentile): 0.1st and 99.9th percentile of the ramps, for the horizons that are a
        whole number of steps and fit into the trace; `swing_mw` and `dip_depth` (…, window): largest over the
        windows; `band_energy_mw2` and `dominant_period_s` (…).

    Raises
    ------
    InputError
        A missing sample, a step above 0.2 s, or a trace of less than a minute.
    """
    x = np.asarray(values, dtype=np.float64)
    if step_s > 0.5 / GRID_BAND_HZ[1]:
        raise InputError(
            f"a step of {step_s:g} s cannot show oscillations up to {GRID_BAND_HZ[1]:g} Hz; use 0.2 s"
        )
    if x.shape[-1] * step_s < _SEGMENT_S:
        raise InputError(f"{x.shape[-1] * step_s:g} s are too short; the slowest oscillation needs a minute")
    spectrum = spectral_density(x, step_s, _SEGMENT_S)
    horizons = [h for h in HORIZONS_S if _fits(h, step_s, x.shape[-1])]
    members = tuple(f"member_{axis}" for axis in range(x.ndim - 1))
    ramps = [ramp_percentiles(x, step_s, horizon, _TAILS) for horizon in horizons]
    return xr.Dataset(
        {
            "ramp_mw": ((*members, "horizon", "percentile"), np.stack(ramps, axis=-2)),
            "swing_mw": (
                (*members, "window"),
                np.stack([swing(x, step_s, w).max(axis=-1) for w in WINDOWS_S], -1),
            ),
            "dip_depth": (
                (*members, "window"),
                np.stack([dip_depth(x, step_s, w).max(axis=-1) for w in WINDOWS_S], -1),
            ),
            "band_energy_mw2": (members, band_energy(spectrum)),
            "dominant_period_s": (members, dominant_period(spectrum)),
        },
        coords={"horizon": horizons, "percentile": list(_TAILS), "window": list(WINDOWS_S)},
    )


def _fits(horizon_s: float, step_s: float, samples: int) -> bool:
    steps = round(horizon_s / step_s)
    return 1 <= steps < samples and abs(steps * step_s - horizon_s) < 1e-6 * step_s

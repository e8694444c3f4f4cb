"""What the figures draw of one trace, small enough to keep for every member of a battery."""

import numpy as np
import xarray as xr

from hsmdc.errors import InputError

from .marginal import histogram_density, load_duration_curve
from .ramps import ramps
from .series import Floats, Series, averaged
from .temporal import autocorrelation, weekly_percentiles

EXCEEDANCE = np.linspace(0.0, 1.0, 501)
RAMP_EXCEEDANCE = np.geomspace(1.0, 1e-5, 101)
ACF_LAGS_H = 168
WEEK_BIN_S = 600.0
WEEK_PERCENTILES = (10.0, 50.0, 90.0)
_HOUR_S = 3600.0


def curves(power: Series, edges_mw: Floats) -> xr.Dataset:
    """Load-duration curve, marginal density, ramp sizes, hourly means and their autocorrelation.

    Parameters
    ----------
    power : Series
        One trace [MW].
    edges_mw : ndarray
        Bin edges of the marginal density, the same for every trace that is drawn in one figure.

    Returns
    -------
    Dataset
        Without the curves that the length or the step of the trace does not allow.
    """
    change = np.abs(ramps(power.values, power.step_s, power.step_s))
    result = xr.Dataset(
        {
            "load_duration": ("exceedance", load_duration_curve(power.values, EXCEEDANCE)),
            "density": ("power", histogram_density(power.values, edges_mw)),
            "ramp_size": ("ramp_exceedance", load_duration_curve(change, RAMP_EXCEEDANCE)),
        },
        coords={
            "exceedance": EXCEEDANCE,
            "power": (edges_mw[:-1] + edges_mw[1:]) / 2.0,
            "ramp_exceedance": RAMP_EXCEEDANCE,
        },
    )
    return result.merge(hourly_curves(power)).merge(week_curves(power))


def hourly_curves(power: Series) -> xr.Dataset:
    """Hourly means [MW] and their autocorrelation to one week, as far as the series allows them."""
    try:
        hourly = averaged(power, _HOUR_S)
    except InputError:
        return xr.Dataset()
    result = xr.Dataset({"hourly": ("hour", hourly.values)}, coords={"hour": hourly.times})
    try:
        acf = autocorrelation(hourly.values, ACF_LAGS_H)
    except InputError:
        return result
    return result.assign(acf=("lag", acf)).assign_coords(lag=np.arange(ACF_LAGS_H + 1))


def week_curves(power: Series) -> xr.Dataset:
    """Percentiles over the weeks by time of week [MW]; empty where the trace has not every time of a week."""
    try:
        bands = weekly_percentiles(power, WEEK_PERCENTILES, WEEK_BIN_S)
    except InputError:
        return xr.Dataset()
    minutes = np.arange(bands.shape[1]) * round(WEEK_BIN_S / 60.0)
    return xr.Dataset(
        {"week": (("percentile", "minute_of_week"), bands)},
        coords={"percentile": list(WEEK_PERCENTILES), "minute_of_week": minutes},
    )

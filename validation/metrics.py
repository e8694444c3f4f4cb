"""Every metric of the battery under one name: `from hsmdc.validation import metrics`.

One rule for all: time is the last axis and leading axes are members; missing samples are NaN and left
out; what cannot be computed raises `InputError` instead of returning NaN. `series.as_series` places a labelled
trace on its regular grid first.
"""

from .grid import grid_summary
from .levels import r_squared, steepest_rise
from .marginal import (
    histogram_density,
    load_duration_curve,
    load_duration_distance,
    load_factor,
    mean,
    peak_to_average,
    percentile,
    standard_deviation,
    wasserstein,
)
from .queueing import QueueStatistics, RandomSum, queue_statistics, random_sum
from .ramps import dip_depth, ramp_distance, ramp_percentiles, ramps, swing
from .series import Series, as_series, averaged, common
from .spectrum import Spectrum, band_energy, dominant_period, spectral_density, spectrum_distance
from .temporal import (
    autocorrelation,
    correlation,
    diurnal_profile,
    l2_distance,
    profile,
    rms_distance,
    weekly_percentiles,
    weekly_profile,
)

__all__ = [
    "QueueStatistics",
    "RandomSum",
    "Series",
    "Spectrum",
    "as_series",
    "autocorrelation",
    "averaged",
    "band_energy",
    "common",
    "correlation",
    "dip_depth",
    "diurnal_profile",
    "dominant_period",
    "grid_summary",
    "histogram_density",
    "l2_distance",
    "load_duration_curve",
    "load_duration_distance",
    "load_factor",
    "mean",
    "peak_to_average",
    "percentile",
    "profile",
    "queue_statistics",
    "r_squared",
    "ramp_distance",
    "ramp_percentiles",
    "ramps",
    "random_sum",
    "rms_distance",
    "spectral_density",
    "spectrum_distance",
    "standard_deviation",
    "steepest_rise",
    "swing",
    "wasserstein",
    "weekly_percentiles",
    "weekly_profile",
]

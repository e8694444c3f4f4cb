"""The power statistics of the comparison table, under the names of the catalogue."""

from .marginal import load_factor, mean, peak_to_average, percentile, standard_deviation
from .series import Floats


def power_statistics(values: Floats) -> dict[str, float]:
    """Mean, spread, peak and percentiles of one series of power [MW]; missing samples are left out.

    Raises
    ------
    InputError
        No sample, or a mean that is not positive.
    """
    median, p90 = percentile(values, (50.0, 90.0))
    average, ratio = float(mean(values)), float(peak_to_average(values))
    return {
        "mean_mw": average,
        "std_mw": float(standard_deviation(values)),
        "peak_to_average": ratio,
        "median_mw": float(median),
        "p90_mw": float(p90),
        "max_mw": ratio * average,
        "load_factor": float(load_factor(values)),
    }

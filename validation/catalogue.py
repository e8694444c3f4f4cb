"""The scores of the battery by name: unit, words for a reader, and what each is taken from."""

import math
from typing import Literal, NamedTuple

Group = Literal["table", "series", "week", "queue", "trace", "levels"]


class ScoreInfo(NamedTuple):
    """What a score is.

    Attributes
    ----------
    unit : str
        "1" where dimensionless.
    title : str
        Words for a table.
    group : str
        "table": a statistic of the power of one trace; "queue": of its job table; "series": a distance between
        the trace and the reference's series, at the step of that series; "week": from the reference's percentiles
        by time of week; "trace": reported without a reference; "levels": one number across all utilisations.
    least, most : float
        Bounds that no score can pass, so no band does.
    """

    unit: str
    title: str
    group: Group
    least: float = -math.inf
    most: float = math.inf


SCORES: dict[str, ScoreInfo] = {
    "mean_mw": ScoreInfo("MW", "mean", "table", least=0.0),
    "std_mw": ScoreInfo("MW", "standard deviation", "table", least=0.0),
    "peak_to_average": ScoreInfo("1", "peak to average", "table", least=1.0),
    "median_mw": ScoreInfo("MW", "median", "table", least=0.0),
    "p90_mw": ScoreInfo("MW", "90th percentile", "table", least=0.0),
    "max_mw": ScoreInfo("MW", "maximum", "table", least=0.0),
    "load_factor": ScoreInfo("1", "load factor", "table", least=0.0, most=1.0),
    "jobs_queued": ScoreInfo("1", "jobs queued", "queue", least=0.0, most=1.0),
    "mean_wait_h": ScoreInfo("h", "mean wait of queued", "queue", least=0.0),
    "jobs_per_day": ScoreInfo("1/d", "jobs per day", "queue", least=0.0),
    "jobs_unstarted": ScoreInfo("1", "jobs not started by the end", "queue", least=0.0),
    "w1_mw": ScoreInfo("MW", "W1 of power", "series", least=0.0),
    "load_duration_gap_mw": ScoreInfo("MW", "largest load-duration gap", "series", least=0.0),
    "acf_rms": ScoreInfo("1", "ACF difference (RMS), lags to 168 h", "series", least=0.0),
    "acf_l2": ScoreInfo("1", "ACF difference (L2), lags to 168 h", "series", least=0.0),
    "ramp_w1_mw": ScoreInfo("MW", "W1 of ramps", "series", least=0.0),
    "ramp_p999_mw": ScoreInfo("MW", "99.9th pct ramp, model − reference", "series"),
    "correlation": ScoreInfo("1", "correlation, step by step", "series", least=-1.0, most=1.0),
    "diurnal_rms_mw": ScoreInfo("MW", "diurnal profile difference (RMS)", "series", least=0.0),
    "weekly_rms_mw": ScoreInfo("MW", "weekly profile difference (RMS)", "series", least=0.0),
    "spectrum_db": ScoreInfo("dB", "spectrum difference (RMS)", "series", least=0.0),
    "week_median_rms_mw": ScoreInfo("MW", "median by time of week, difference (RMS)", "week", least=0.0),
    "variance_size_nodes2": ScoreInfo("nodes²", "Var[N_busy]: size term", "trace", least=0.0),
    "variance_concurrency_nodes2": ScoreInfo("nodes²", "Var[N_busy]: concurrency term", "trace", least=0.0),
    "variance_remainder_nodes2": ScoreInfo("nodes²", "Var[N_busy]: remainder", "trace"),
    "ramp_up_p999_mw": ScoreInfo("MW", "99.9th pct ramp, one step", "trace"),
    "ramp_down_p001_mw": ScoreInfo("MW", "0.1st pct ramp, one step", "trace"),
    "r2_mean": ScoreInfo("1", "R² of the mean across levels", "levels"),
    "r2_std": ScoreInfo("1", "R² of the std across levels", "levels"),
    "r2_peak_to_average": ScoreInfo("1", "R² of peak to average across levels", "levels"),
    "peak_to_average_rise": ScoreInfo("1", "largest rise of peak to average with level", "levels"),
}


def of_group(*groups: Group) -> list[str]:
    """Names of the scores of these groups, in the order of the catalogue."""
    return [name for name, info in SCORES.items() if info.group in groups]

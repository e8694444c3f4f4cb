"""The scores of the battery by name: unit, words for a reader, and what each is taken from."""

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
    """

    unit: str
    title: str
    group: Group


SCORES: dict[str, ScoreInfo] = {
    "mean_mw": ScoreInfo("MW", "mean", "table"),
    "std_mw": ScoreInfo("MW", "standard deviation", "table"),
    "peak_to_average": ScoreInfo("1", "peak to average", "table"),
    "median_mw": ScoreInfo("MW", "median", "table"),
    "p90_mw": ScoreInfo("MW", "90th percentile", "table"),
    "max_mw": ScoreInfo("MW", "maximum", "table"),
    "load_factor": ScoreInfo("1", "load factor", "table"),
    "jobs_queued": ScoreInfo("1", "jobs queued", "queue"),
    "mean_wait_h": ScoreInfo("h", "mean wait of queued", "queue"),
    "jobs_per_day": ScoreInfo("1/d", "jobs per day", "queue"),
    "jobs_unstarted": ScoreInfo("1", "jobs not started by the end", "queue"),
    "w1_mw": ScoreInfo("MW", "W1 of power", "series"),
    "load_duration_gap_mw": ScoreInfo("MW", "largest load-duration gap", "series"),
    "acf_rms": ScoreInfo("1", "ACF difference (RMS), lags to 168 h", "series"),
    "acf_l2": ScoreInfo("1", "ACF difference (L2), lags to 168 h", "series"),
    "ramp_w1_mw": ScoreInfo("MW", "W1 of ramps", "series"),
    "ramp_p999_mw": ScoreInfo("MW", "99.9th pct ramp, model − reference", "series"),
    "correlation": ScoreInfo("1", "correlation, step by step", "series"),
    "diurnal_rms_mw": ScoreInfo("MW", "diurnal profile difference (RMS)", "series"),
    "weekly_rms_mw": ScoreInfo("MW", "weekly profile difference (RMS)", "series"),
    "spectrum_db": ScoreInfo("dB", "spectrum difference (RMS)", "series"),
    "week_median_rms_mw": ScoreInfo("MW", "median by time of week, difference (RMS)", "week"),
    "variance_size_nodes2": ScoreInfo("nodes²", "Var[N_busy]: size term", "trace"),
    "variance_concurrency_nodes2": ScoreInfo("nodes²", "Var[N_busy]: concurrency term", "trace"),
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

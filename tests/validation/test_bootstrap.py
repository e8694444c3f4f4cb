"""Block-bootstrap bands against the spread they stand for."""

import numpy as np
import pytest

from hsmdc.validation import bootstrap, reference_from_series, validate
from hsmdc.validation.catalogue import SCORES
from hsmdc.validation.series import Series
from hsmdc.validation.temporal import autocorrelation

START = np.datetime64("2018-01-01", "ns")


def weeks_of_noise(weeks: int, seed: int) -> Series:
    """Hours with one level per week: the mean's standard error is known, sd/sqrt(weeks)."""
    rng = np.random.default_rng(seed)
    return Series(np.repeat(5.0 + rng.normal(size=weeks), 168), START, 3600.0)


def test_the_band_of_the_mean_has_the_width_of_weekly_blocks():
    series = weeks_of_noise(52, 3)
    low, high = bootstrap.table_bands(series, 2000)["mean_mw"]
    weekly = series.values[::168]
    expected = 2 * 1.96 * weekly.std() / np.sqrt(52)
    # 2000 resamples know each 2.5 % quantile to about 4 %; 15 % is beyond five standard errors of the width.
    assert high - low == pytest.approx(expected, rel=0.15)


def test_percentiles_of_resamples_agree_with_sorting():
    rng = np.random.default_rng(4)
    series = Series(rng.gamma(3.0, size=168 * 20), START, 3600.0)
    low, high = bootstrap.table_bands(series, 100)["p90_mw"]
    blocks = series.values.reshape(20, 168)
    sorted_way = np.array([np.percentile(blocks[w].ravel(), 90) for w in bootstrap.draw_weeks(20, 100)])
    expected = np.percentile(sorted_way, (2.5, 97.5)) - sorted_way.mean()
    tolerance = 2 * (blocks.max() - blocks.min()) / 4096
    np.testing.assert_allclose((low, high), expected, atol=tolerance)


def test_lagged_sums_of_all_weeks_are_the_autocorrelation():
    series = Series(np.random.default_rng(5).normal(size=168 * 10).cumsum(), START, 3600.0)
    sums = bootstrap._lagged_sums_by_week(series, 30).sum(axis=0)
    np.testing.assert_allclose(sums / sums[0], autocorrelation(series.values, 30), atol=1e-12)


def test_correlation_of_resamples_agrees_with_numpy():
    rng = np.random.default_rng(6)
    x, y = rng.normal(size=(2, 12, 168))
    drawn = bootstrap.draw_weeks(12, 50)
    found = bootstrap._resampled_correlation(x, y, bootstrap._counts(12, 50))
    expected = [np.corrcoef(x[weeks].ravel(), y[weeks].ravel())[0, 1] for weeks in drawn]
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_the_queue_band_counts_jobs_by_the_week_they_arrive_in():
    arrival = np.arange(0, 20 * bootstrap.BLOCK_S, 600.0)
    start = arrival + np.where(np.arange(arrival.size) % 4 == 0, 3600.0, 0.0)
    bands = bootstrap.queue_bands(arrival, start, 140.0, 50)
    for name in ("jobs_per_day", "jobs_queued", "mean_wait_h"):
        np.testing.assert_allclose(bands[name], (0.0, 0.0), atol=1e-9)


def test_too_few_weeks_have_no_band():
    assert bootstrap.table_bands(weeks_of_noise(7, 1), 50) == {}
    assert bootstrap.queue_bands(np.zeros(5), np.zeros(5), 40.0, 50) == {}
    short = weeks_of_noise(7, 1)
    assert bootstrap.pair_bands(short, short, 24, 50) == {}


def test_no_band_reaches_where_no_score_can_be(make_trace, nlr):
    """A distance is never negative and a correlation never above one, however wide their spread."""
    theirs = reference_from_series(nlr.series[0.6].roll(time=24 * 90), name="elsewhere")
    frame = validate(make_trace(jobs=False), theirs).to_dataframe()
    single = frame[frame["low"].notna()]
    seeds = validate([make_trace(seed=seed, jobs=False) for seed in (1, 2)], nlr).to_dataframe()
    for rows in (single, seeds[seeds["low"].notna()]):
        bounds = [SCORES[name] for name in rows["metric"]]
        assert (rows["low"] >= [bound.least for bound in bounds]).all()
        assert (rows["high"] <= [bound.most for bound in bounds]).all()
    assert (single.loc[single["metric"] == "w1_mw", "low"] == 0.0).all()

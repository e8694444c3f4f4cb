"""`fit_jobs`: laws recovered from synthetic logs, and the published figures of four real ones."""

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from hsmdc.calibration import fit_jobs
from hsmdc.calibration.jobs import fano_within_hours, find_batches, fit_durations
from hsmdc.cli.calibrate import app
from hsmdc.config import load_config
from hsmdc.errors import CalibrationError, InputError
from hsmdc.jobs import JobTable, read_jobs

MONDAY = np.datetime64("2018-01-01T00:00:00")
WEEK_S = 7 * 86_400.0


def synthetic(
    weeks: int = 20, *, batches_per_week: int = 1500, exponent: float = 2.5, seed: int = 0
) -> JobTable:
    """Batches of zeta size from many users; mornings twice as busy; one node count per batch, mostly."""
    rng = np.random.default_rng(seed)
    candidates = np.sort(rng.uniform(0.0, weeks * WEEK_S, 2 * weeks * batches_per_week))
    hour = (candidates % 86_400) // 3600
    kept = candidates[rng.random(candidates.size) < np.where((hour >= 8) & (hour < 16), 0.75, 0.375)]
    k = np.arange(1, 201)
    size = rng.choice(k, kept.size, p=k**-exponent / (k**-exponent).sum())
    batch = np.repeat(np.arange(kept.size), size)
    widths = 2 ** rng.integers(0, 4, batch.size)
    shared = rng.random(kept.size) < 0.8
    first = np.repeat(np.cumsum(size) - size, size)
    widths = np.where(shared[batch], widths[first], widths)
    long = rng.random(batch.size) < 0.3
    duration = np.exp(np.where(long, rng.normal(9.0, 0.8, batch.size), rng.normal(4.0, 1.2, batch.size)))
    return JobTable.from_arrays(
        kept[batch] + 2.0 * (np.arange(batch.size) - first), widths, duration, epoch=MONDAY, user=batch % 997
    )


@pytest.fixture(scope="module")
def table() -> JobTable:
    return synthetic()


def test_the_duration_mixture_is_recovered(table: JobTable) -> None:
    fit = fit_durations(table.duration_s)
    # Six standard errors at 50,000 jobs and more: 0.003 of the weight, 0.01 of μ and σ.
    assert fit.long_weight == pytest.approx(0.3, abs=0.02)
    assert (fit.mu, fit.sigma) == pytest.approx((4.0, 1.2), abs=0.06)
    assert (fit.long_mu, fit.long_sigma) == pytest.approx((9.0, 0.8), abs=0.06)


def test_one_lognormal_is_fitted_by_one() -> None:
    duration = np.exp(np.random.default_rng(0).normal(7.0, 0.5, 20_000))
    fit = fit_durations(duration)
    assert fit.long_weight == 0.0
    assert (fit.mu, fit.sigma) == pytest.approx((7.0, 0.5), abs=0.02)
    assert fit_durations(np.full(100, 60.0)).long_weight == 0.0


def test_batches_shared_sizes_and_rate_are_recovered(table: JobTable) -> None:
    fit = fit_jobs(table)
    batch = fit.fragment["arrivals"]["batch"]
    assert batch["law"] == "zeta"
    assert batch["exponent"] == pytest.approx(2.5, abs=0.03)
    assert fit.fragment["arrivals"]["shared_size"] == pytest.approx(0.8, abs=0.04)
    assert fit.goodness["batch_start_fano_within_hours"] == pytest.approx(1.0, abs=0.05)
    per_day = fit.fragment["arrivals"]["base_rate"] * fit.goodness["batch_mean_of_law"] * 1440
    assert per_day == pytest.approx(fit.goodness["jobs_per_day"], rel=1e-9)


def test_node_counts_are_their_frequencies(table: JobTable) -> None:
    nodes = fit_jobs(table).fragment["jobs"]["nodes"]
    assert nodes["sizes"] == [1, 2, 4, 8]
    expected = [np.mean(table.nodes == size) for size in nodes["sizes"]]
    np.testing.assert_allclose(nodes["pmf"], expected, rtol=1e-12)


def test_the_rhythm_is_local(table: JobTable) -> None:
    arrivals = fit_jobs(table, utc_offset_h=-8.0).fragment["arrivals"]
    hours = np.array(arrivals["hour_of_day"])
    assert hours.mean() == pytest.approx(1.0)
    assert hours[:8].mean() / hours[8:].mean() == pytest.approx(2.0, rel=0.05)  # 08–16 UTC is 00–08 local
    assert np.array(arrivals["day_of_week"]).mean() == pytest.approx(1.0)
    assert np.ptp(arrivals["day_of_week"]) < 0.15


def test_days_of_the_week_begin_on_monday() -> None:
    start = np.concatenate([np.sort(np.random.default_rng(d).uniform(0, 86_400, 50 * (d + 1))) + d * 86_400
                            for d in range(7)])  # fmt: skip
    arrival = np.concatenate([start, start + WEEK_S])
    table = JobTable.from_arrays(arrival, np.ones(arrival.size), np.full(arrival.size, 60.0), epoch=MONDAY)
    days = fit_jobs(table, batch_gap_s=0.0).fragment["arrivals"]["day_of_week"]
    np.testing.assert_allclose(days, np.arange(1, 8) / 4.0, rtol=0.02)


def test_a_log_that_does_not_say_when_or_is_short_has_no_rhythm() -> None:
    arrival = np.linspace(0.0, 3 * 86_400.0, 500)
    ones = np.ones(500)
    assert "hour_of_day" not in fit_jobs(JobTable.from_arrays(arrival, ones, ones)).fragment["arrivals"]
    dated = fit_jobs(JobTable.from_arrays(arrival, ones, ones, epoch=MONDAY)).fragment["arrivals"]
    assert "hour_of_day" in dated
    assert "day_of_week" not in dated


def test_batches_belong_to_one_user() -> None:
    table = JobTable.from_arrays(
        [0, 10, 20, 75, 200, 201], [1, 2, 1, 1, 4, 4], np.ones(6), user=[7, 8, 7, 7, 8, 8]
    )
    batches = find_batches(table, 60.0)
    assert batches.start_s.tolist() == [0.0, 10.0, 200.0]
    assert batches.size.tolist() == [3, 1, 2]
    assert batches.one_width.tolist() == [True, True, True]
    assert find_batches(table, 0.0).size.tolist() == [1] * 6


def test_single_jobs_are_batches_of_one() -> None:
    arrival = 1000.0 * np.arange(50)
    batch = fit_jobs(JobTable.from_arrays(arrival, np.ones(50), np.ones(50))).fragment["arrivals"]["batch"]
    assert batch == {"law": "geometric", "mean": 1.0}


def test_the_fano_factor_tells_clusters_from_a_poisson_process() -> None:
    rng = np.random.default_rng(3)
    poisson = np.sort(rng.uniform(0.0, 3.6e6, 50_000))
    assert fano_within_hours(poisson) == pytest.approx(1.0, abs=0.05)
    assert fano_within_hours(np.repeat(poisson, 5)) == pytest.approx(5.0, rel=0.05)


def test_the_fragment_is_a_configuration_on_a_base(table: JobTable, tmp_path: Path) -> None:
    fit = fit_jobs(table)
    (tmp_path / "site.toml").write_text(fit.to_toml("paper"))
    config = load_config(tmp_path / "site.toml")
    assert config.jobs.nodes.model_dump(mode="json") == fit.fragment["jobs"]["nodes"]
    assert config.arrivals.base_rate == fit.fragment["arrivals"]["base_rate"]


@pytest.mark.parametrize(
    ("name", "durations", "zeta", "fano"),
    [
        ("jobs_philly_82247.csv.gz", (4.17, 0.16, 0.837, 7.30, 1.99), (2.4, 2.7), None),
        ("LLNL-Thunder-2007-1.1-cln.swf.gz", (3.62, 1.85, 0.207, 8.49, 1.30), (2.4, 2.7), 1.34),
        ("KTH-SP2-1996-2.1-cln.swf.gz", (3.63, 1.41, 0.54, 8.79, 1.44), None, 1.0),
        ("jobs_kalos_319_completed.csv", (4.71, 1.31, 0.267, 9.81, 1.72), None, None),
    ],
)
def test_the_real_logs_have_their_known_figures(
    shared_data: Path,
    name: str,
    durations: tuple[float, ...],
    zeta: tuple[float, float] | None,
    fano: float | None,
) -> None:
    table = read_jobs(shared_data / "jobs" / name)
    fit = fit_jobs(table)
    assert fit_durations(table.duration_s)[:5] == pytest.approx(durations, abs=0.01)
    if zeta is not None:
        assert zeta[0] <= fit.goodness["batch_zeta_exponent"] <= zeta[1]
    if fano is not None:
        assert fit.goodness["batch_start_fano_within_hours"] == pytest.approx(fano, abs=0.1)


def test_too_few_jobs_are_refused() -> None:
    with pytest.raises(CalibrationError, match="arrays: 29 jobs; a fit needs 30 or more"):
        fit_jobs(JobTable.from_arrays(np.arange(29), np.ones(29), np.ones(29)))


@pytest.mark.parametrize("gap", [-1.0, float("nan")])
def test_a_senseless_gap_is_refused(table: JobTable, gap: float) -> None:
    with pytest.raises(InputError, match=r"batch_gap_s = .*: must be 0 or more"):
        fit_jobs(table, batch_gap_s=gap)


def test_the_command_writes_a_configuration(tmp_path: Path) -> None:
    rows = "\n".join(f"{600 * i},{1 + i % 3000},{60 + i % 977}" for i in range(3500))
    (tmp_path / "jobs.csv").write_text("arrival_s,nodes,duration_s\n" + rows + "\n")
    arguments = ["jobs", str(tmp_path / "jobs.csv"), "--base", "paper", "-o", str(tmp_path / "site.toml")]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    nodes = load_config("paper").site.nodes
    assert (
        f"rejected: {sum(1 + i % 3000 > nodes for i in range(3500))} jobs wider than {nodes} nodes"
        in result.output
    )
    assert max(load_config(tmp_path / "site.toml").jobs.nodes.sizes) == nodes
    assert isinstance(CliRunner().invoke(app, arguments).exception, InputError)  # the file exists

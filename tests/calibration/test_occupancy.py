"""The search for λ0: promised tolerance in at most 12 runs, whatever the load."""

import pytest

from hsmdc import laws
from hsmdc.calibration import fit_occupancy
from hsmdc.config import load_config
from hsmdc.errors import CalibrationError, InputError

NLR = load_config("nlr-colocation-10mw")
MONTH = {"start": "2018-03-01", "duration": "31D"}


@pytest.mark.parametrize("target", [0.02, 0.2, 0.5, 0.8, 0.93])
@pytest.mark.parametrize("seed", [0, 1])
def test_reaches_its_target_within_its_runs(target: float, seed: int) -> None:
    fit = fit_occupancy(NLR, target, seed=seed, **MONTH)
    assert abs(fit.occupancy - target) <= 0.0005
    assert fit.runs <= 12


def test_little_s_law_is_exact_where_nothing_waits() -> None:
    # One-node jobs with nothing queued: occupancy is offered load, up to the draw.
    config = load_config(
        {
            "base": "nlr-colocation-10mw",
            "jobs": {"nodes": {"law": "empirical", "sizes": [1], "pmf": [1.0]}},
            "scheduler": {"spin_up_days": 2.0},
        }
    )
    fit = fit_occupancy(config, 0.1, start="2018-02-01", duration="28D")
    assert fit.runs <= 4


@pytest.mark.parametrize("target", [0.0, 1.0, 1.2, -0.1, float("nan")])
def test_targets_outside_zero_to_one_are_refused(target: float) -> None:
    with pytest.raises(InputError, match="must lie between 0 and 1"):
        fit_occupancy(NLR, target, **MONTH)


def test_a_target_out_of_reach_names_the_nearest() -> None:
    with pytest.raises(CalibrationError, match="nearest: 0"):
        fit_occupancy(NLR, 0.9999, start="2018-01-01", duration="2D")


def test_a_short_run_that_draws_far_more_than_its_mean_still_finds_its_rate() -> None:
    # A day of a dozen jobs: some seeds' first guess gives more than half as much again as it should.
    overshoots = 0
    for seed in range(40):
        fit = fit_occupancy(NLR, 0.001, start="2018-01-02", duration="1D", seed=seed)
        assert abs(fit.occupancy - 0.001) <= 0.0005
        first = laws.node_ticks_per_event(NLR.arrivals.batch, NLR.jobs) * fit.base_rate / NLR.site.nodes
        overshoots += first < 0.001 / 1.5
    assert overshoots > 0

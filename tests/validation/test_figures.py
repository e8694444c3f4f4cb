"""Every figure draws, names its axes with units, and refuses what it cannot show."""

import matplotlib as mpl
import numpy as np
import pytest
import xarray as xr

from hsmdc.errors import InputError
from hsmdc.validation import figures, reference_from_series, score
from hsmdc.validation.node_power import measured_node_power


@pytest.fixture(scope="module")
def members(make_trace, nlr):
    return [score(make_trace(level, seed), nlr) for level, seed in ((0.2, 1), (0.6, 1), (0.6, 2))]


@pytest.fixture(scope="module")
def parted(make_trace) -> xr.Dataset:
    trace = make_trace(days=20, jobs=False)
    power = trace["it_power"]
    extra = {"hvac_power": 0.1 * power, "chiller_power": 0.2 * power, "auxiliary_power": 0 * power + 0.5}
    return trace.assign(extra).assign(facility_power=1.3 * power + 0.5)


def assert_labelled(figure) -> None:
    for axes in figure.axes:
        if axes.get_subplotspec().is_last_row():
            assert axes.get_xlabel()
        if axes.get_subplotspec().is_first_col():
            assert "[" in axes.get_ylabel()
    assert any(axes.lines or axes.patches or axes.collections for axes in figure.axes)


COMPARISONS = (
    figures.marginals,
    figures.autocorrelations,
    figures.week_overlay,
    figures.week_percentiles,
    figures.load_duration,
    figures.ramp_sizes,
)


@pytest.mark.parametrize("draw", COMPARISONS, ids=lambda draw: draw.__name__)
def test_every_comparison_draws_and_labels_its_axes(draw, members, nlr):
    assert_labelled(draw(members, nlr))


def test_the_facility_figures_draw(parted):
    assert_labelled(figures.day_decomposition(parted))
    assert_labelled(figures.year_overview(parted))


def test_the_decomposition_shows_the_day_that_moves_most(parted):
    spread = parted["it_power"].to_series().resample("1D")
    day = (spread.max() - spread.min()).idxmax()
    assert f"{day:%Y-%m-%d}" in figures.day_decomposition(parted).axes[0].get_xlabel()
    assert "2018-01-03" in figures.day_decomposition(parted, "2018-01-03").axes[0].get_xlabel()


def test_the_node_and_cooling_figures_draw():
    measured = measured_node_power()
    assert_labelled(figures.node_histogram(measured.density, measured.density, measured.edges, "a", "b"))
    time_s = np.arange(-60.0, 600.0, 10.0)
    assert_labelled(
        figures.step_response(time_s, {"chiller": 1 - np.exp(-np.maximum(time_s, 0) / 300)}, 90.0)
    )


def test_a_users_reference_without_level_can_be_drawn(make_trace, nlr):
    mine = reference_from_series(nlr.series[0.6], name="mine")
    member = score(make_trace(), mine)
    for draw in (figures.marginals, figures.autocorrelations, figures.load_duration, figures.ramp_sizes):
        assert_labelled(draw([member], mine))
    assert_labelled(figures.week_overlay([member], mine))


def test_what_cannot_be_drawn_says_why(members, make_trace, nlr):
    with pytest.raises(InputError, match="share"):
        figures.week_overlay(members[:1], nlr)
    with pytest.raises(InputError, match=r"no trace at utilization 0\.2"):
        figures.week_percentiles(members[1:], nlr)
    with pytest.raises(InputError, match="chiller_power"):
        figures.day_decomposition(make_trace(days=2).assign(auxiliary_power=0, hvac_power=0))
    short = score(make_trace(days=3), nlr)
    with pytest.raises(InputError, match="'acf'"):
        figures.autocorrelations([short], nlr)


def test_the_users_own_style_is_left_alone(members, nlr):
    before = dict(mpl.rcParams)
    figures.load_duration(members, nlr)
    assert dict(mpl.rcParams) == before


def test_levels_differ_in_more_than_colour(members, nlr):
    lines = figures.autocorrelations(members, nlr).axes[0].lines
    model = [line for line in lines if str(line.get_label()).startswith("model")]
    assert (
        len({line.get_linestyle() if isinstance(line.get_linestyle(), str) else "dashed" for line in model})
        > 1
    )
    assert len({line.get_color() for line in model}) == len(model)

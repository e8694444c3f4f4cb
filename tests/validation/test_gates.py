"""Gates: what a limit means, and the errors of a gate file."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hsmdc.errors import ConfigError, InputError
from hsmdc.validation import load_gates
from hsmdc.validation.gates import Gate, Gates, shipped_gates

GOOD = """
name = "mine"
title = "Mine"
[[gate]]
metric = "mean_mw"
kind = "relative"
limit = 0.01
"""


@pytest.mark.parametrize(
    ("kind", "limit", "inside", "outside"),
    [
        ("absolute", 0.5, 10.49, 10.51),
        ("relative", 0.01, 9.91, 9.89),
        ("at_most", 0.02, 0.02, 0.021),
        ("at_least", 0.97, 0.97, 0.969),
        ("share_of_mean", 0.02, 0.1, 0.11),
    ],
)
def test_each_kind_holds_up_to_its_limit(kind, limit, inside, outside):
    gate = Gate(metric="mean_mw", kind=kind, limit=limit)
    assert gate.holds(inside, reference=10.0, mean_mw=5.0)
    assert not gate.holds(outside, reference=10.0, mean_mw=5.0)


@given(
    reference=st.floats(0.01, 2e4),
    limit=st.sampled_from([0.0, 0.005, 0.01, 0.02, 0.05, 0.1]),
    side=st.sampled_from([-1.0, 1.0]),
)
def test_a_value_on_the_limit_passes_and_a_millionth_beyond_fails(reference, limit, side):
    """In floating point 1.01 lies more than 0.01 above 1."""
    for kind, scale in (("absolute", 1.0), ("relative", reference)):
        gate = Gate(metric="mean_mw", kind=kind, limit=limit)
        assert gate.holds(reference + side * limit * scale, reference, reference)
        assert not gate.holds(
            reference + side * (limit * scale + 1e-6 * max(reference, 1.0)), reference, reference
        )


def test_a_set_that_does_not_say_what_was_fitted_claims_nothing():
    assert Gate(metric="std_mw", kind="relative", limit=0.01).role(0.6) == ""
    assert Gate(metric="std_mw", kind="relative", limit=0.01, fitted=()).role(0.6) == "held_out"
    assert {gate.fitted for gate in load_gates("generic").gate} == {None}


def test_a_score_that_is_not_a_number_never_passes():
    for kind in ("absolute", "relative", "at_most", "at_least", "share_of_mean"):
        assert not Gate(metric="mean_mw", kind=kind, limit=1.0).holds(float("nan"), 1.0, 1.0)


def test_role_and_paper_figure_by_level():
    gate = Gate(
        metric="std_mw",
        kind="relative",
        limit=0.01,
        fitted=(0.2, 0.6),
        paper={"0.4": "low", "all": "R² 0.92"},
    )
    assert [gate.role(level) for level in (0.2, 0.4, float("nan"))] == ["fitted", "held_out", "mixed"]
    assert [gate.paper_figure(level) for level in (0.2, 0.4)] == ["R² 0.92", "low"]


def test_the_shipped_gates_load_and_cover_the_table():
    assert shipped_gates() == ["generic", "nlr-colocation-10mw"]
    gates = load_gates("nlr-colocation-10mw")
    for level in (0.2, 0.4, 0.6, 0.8):
        for metric in (
            "mean_mw",
            "std_mw",
            "peak_to_average",
            "median_mw",
            "p90_mw",
            "jobs_queued",
            "jobs_per_day",
        ):
            assert gates.find(metric, level) is not None
    assert gates.find("mean_wait_h", 0.2) is None
    assert gates.find("correlation", 0.6).limit == 0.97
    assert gates.find("std_mw", 0.4).role(0.4) == "held_out"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (GOOD.replace("mean_mw", "mean"), "unknown score 'mean'; known: mean_mw"),
        (GOOD.replace('"relative"', '"about"'), "gate.0.kind"),
        (GOOD + "limits = 3\n", "gate.0.limits"),
        (GOOD.replace("0.01", "nan"), "gate.0.limit"),
        (GOOD.replace("[[gate]]", "[gate"), "not valid TOML"),
        ('name = "a"\ntitle = "b"\ngate = []\n', "at least 1"),
    ],
)
def test_a_wrong_gate_file_says_what_and_where(tmp_path, text, message):
    path = tmp_path / "gates.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=message):
        load_gates(path)


def test_an_absent_gate_file_lists_the_shipped_sets():
    with pytest.raises(InputError, match="generic, nlr-colocation-10mw"):
        load_gates("nothing")


def test_a_good_file_loads(tmp_path):
    path = tmp_path / "gates.toml"
    path.write_text(GOOD)
    assert load_gates(path).gate[0].words == "± 1 %"


def gate(**changes) -> str:
    values = {"metric": '"mean_mw"', "kind": '"relative"', "limit": "0.01"} | changes
    return "\n[[gate]]\n" + "".join(f"{name} = {value}\n" for name, value in values.items())


HEAD = 'name = "mine"\ntitle = "Mine"\n'


@pytest.mark.parametrize(
    ("gates", "message"),
    [
        (gate(metric='"w1_mw"'), "'w1_mw' has no value in a reference; use at_most or at_least"),
        (gate(limit="-0.01"), "must not be negative"),
        (gate(metric='"r2_std"', kind='"at_least"', utilization="[0.6]"), "taken across all levels"),
        (gate() + gate(utilization="[0.6]"), "two gates on 'mean_mw' at the same level"),
    ],
)
def test_gates_that_mean_nothing_are_refused(tmp_path, gates, message):
    path = tmp_path / "gates.toml"
    path.write_text(HEAD + gates)
    with pytest.raises(ConfigError, match=message):
        load_gates(path)


def test_gates_on_different_levels_of_one_score_are_fine(tmp_path):
    path = tmp_path / "gates.toml"
    path.write_text(HEAD + gate(utilization="[0.2]") + gate(utilization="[0.6]", limit="0.02"))
    assert [load_gates(path).find("mean_mw", level).limit for level in (0.2, 0.6)] == [0.01, 0.02]


def test_a_level_the_reference_has_not_is_refused():
    gates = Gates(
        name="g", title="G", gate=(Gate(metric="mean_mw", kind="relative", limit=0.1, utilization=(0.5,)),)
    )
    with pytest.raises(InputError, match=r"names utilization 0.5, but nlr has 0.2, 0.6"):
        gates.check_levels((0.2, 0.6), "nlr")

"""Configurations: presets, inheritance, the resolved echo, and errors in plain words."""

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hsmdc.config import Config, dump_toml, from_toml, load_config, preset_names, to_toml
from hsmdc.errors import ConfigError


@pytest.mark.parametrize("name", preset_names())
def test_every_preset_loads_and_its_echo_is_the_same(name: str) -> None:
    config = load_config(name)
    assert config.name == name
    assert config.provenance
    assert from_toml(to_toml(config)) == config
    assert load_config(config) is config


def test_the_reference_preset_has_the_anchors_of_the_table() -> None:
    site = load_config("nlr-colocation-10mw").site
    assert (site.nodes, site.rated_mw, site.idle_w, site.busy_w) == (2840, 10.0, 421.8, 2486.2)
    assert (site.tdp_w, site.saturation) == (3520.0, 0.734)


def test_a_file_overlays_its_base_table_by_table(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('base = "paper"\nname = "mine"\n[site]\nnodes = 3000\n')
    (tmp_path / "yours.toml").write_text('base = "mine.toml"\n[jobs.duration]\nmedian_h = 2.0\n')
    paper, yours = load_config("paper"), load_config(tmp_path / "yours.toml")
    assert (yours.name, yours.site.nodes, yours.jobs.duration.median_h) == ("mine", 3000, 2.0)
    assert yours.arrivals == paper.arrivals
    assert yours.jobs.duration.sigma == paper.jobs.duration.sigma


def test_another_law_replaces_the_whole_table() -> None:
    config = load_config(
        {"base": "paper", "jobs": {"nodes": {"law": "empirical", "sizes": [2], "pmf": [1.0]}}}
    )
    assert config.jobs.nodes.model_dump() == {"law": "empirical", "sizes": (2,), "pmf": (1.0,)}


def test_one_number_of_a_defaulted_table_can_be_set_alone() -> None:
    cooling = load_config({"base": "nlr-colocation-10mw", "cooling": {"chiller": {"fraction": 0.2}}}).cooling
    assert (cooling.chiller.fraction, cooling.chiller.tau_s) == (0.2, 900.0)
    assert (cooling.hvac.fraction, cooling.hvac.tau_s) == (0.12, 300.0)


def test_a_circle_of_bases_is_refused(tmp_path: Path) -> None:
    for one, other in (("a", "b"), ("b", "a")):
        (tmp_path / f"{one}.toml").write_text(f'base = "{other}.toml"\n')
    with pytest.raises(ConfigError, match="leads back to itself"):
        load_config(tmp_path / "a.toml")


@pytest.mark.parametrize(
    ("tree", "words"),
    [
        ({"site": {"nodez": 3}}, "unknown key 'site.nodez'; did you mean 'nodes'"),
        ({"arrivals": {"batch": {"mea": 2}}}, "unknown key 'arrivals.batch.mea'; did you mean 'mean'"),
        ({"jobs": {"duration": {"medan_h": 1}}}, "did you mean 'median_h'"),
        ({"colling": {}}, "unknown key 'colling'; did you mean 'cooling'"),
        ({"arrivals": {"base_rate": -1.0}}, "arrivals.base_rate = -1.0: Input should be greater than 0"),
        (
            {"arrivals": {"batch": {"law": "empirical", "pmf": [0.5, 0.4]}}},
            "arrivals.batch.pmf: .* sum to 0.9",
        ),
        (
            {"jobs": {"nodes": {"law": "empirical", "sizes": [1, 2], "pmf": [0.7, 0.7]}}},
            "jobs.nodes.pmf: .* sum to 1.4",
        ),
        (
            {"jobs": {"nodes": {"law": "empirical", "sizes": [2, 2], "pmf": [0.5, 0.5]}}},
            "jobs.nodes: sizes must rise",
        ),
        ({"arrivals": {"hour_of_day": [1.0, 2.0]}}, "arrivals.hour_of_day has 2 entries"),
        ({"arrivals": {"day_of_week": [0.0] * 7}}, "all factors are zero"),
        ({"site": {"idle_w": 5000.0}}, "node powers must rise"),
        ({"site": {"rated_mw": 1.0}}, "idle nodes draw 1.2 MW, at or above the ceiling"),
        ({"jobs": {"duration": {"shortest_h": 100.0}}}, "must be below longest_h"),
        ({"jobs": {"nodes": {"largest": 100}}}, "power of two"),
        ({"weather": {"source": "file"}}, "needs a path"),
        ({"site": {"nodes": math.nan}}, "site.nodes"),
        ({"base": "papr"}, "no preset or file 'papr'; did you mean 'paper'"),
        ({"base": 3}, "base must be a preset name or a path"),
    ],
)
def test_a_wrong_configuration_is_one_clear_error(tree: dict, words: str) -> None:
    with pytest.raises(ConfigError, match=words) as caught:
        load_config({"base": "paper", **tree})
    assert len(str(caught.value).splitlines()) <= 2


def test_broken_toml_and_missing_tables_are_named(tmp_path: Path) -> None:
    path = tmp_path / "broken.toml"
    path.write_text("[site\n")
    with pytest.raises(ConfigError, match=r"broken.toml: not valid TOML"):
        load_config(path)
    path.write_text('name = "bare"\n')
    with pytest.raises(ConfigError, match="key 'site' is missing; key 'jobs' is missing"):
        load_config(path)


def test_a_configuration_cannot_be_changed_in_place() -> None:
    config: Config = load_config("paper")
    with pytest.raises(ValueError, match="frozen"):
        config.site.nodes = 1  # type: ignore[misc]


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=200))
def test_filled_arrays_keep_their_numbers(numbers: list[float]) -> None:
    import tomllib

    tree = {"a": numbers, "b": {"rows": [numbers[:3], numbers[:2]]}}
    assert tomllib.loads(dump_toml(tree)) == tree


def test_a_site_of_its_own_does_not_bear_the_description_of_its_base() -> None:
    assert load_config("paper").description
    assert load_config({"base": "paper", "name": "mine"}).description == ""
    assert (
        load_config({"base": "paper", "site": {"nodes": 3000}}).description
        == load_config("paper").description
    )

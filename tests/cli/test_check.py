"""`hsmdc check` and `hsmdc presets`: what a configuration means, and where a preset comes from."""

import tomllib
from pathlib import Path

import pytest

import hsmdc as package
from hsmdc.config import preset_names


@pytest.mark.parametrize("name", preset_names())
def test_every_preset_is_sound_and_its_echo_resolves_to_itself(hsmdc, name: str) -> None:
    assert f"{name}: sound." in hsmdc("check", name).out
    echo = hsmdc("check", name, "--resolved").out
    assert "base" not in tomllib.loads(echo)
    Path("echo.toml").write_text(echo, "utf-8")
    assert package.load_config("echo.toml") == package.load_config(name)


def test_check_states_the_power_range(hsmdc, site) -> None:
    out = hsmdc("check", site("[site]\nnodes = 1000\nrated_mw = 4.0")).out
    assert "1000 nodes, IT power 0.422 MW idle to 2.486 MW with every node busy" in out


def test_presets_lists_all_and_tells_their_origin(hsmdc) -> None:
    listed = hsmdc("presets").out
    assert all(name in listed for name in preset_names())
    assert "calibrate profile" in hsmdc("presets", "nlr-colocation-10mw").out


def test_an_unknown_preset(mistake) -> None:
    mistake("presets", "nlr-colocation", words=("nlr-colocation-10mw",))

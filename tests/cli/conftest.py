"""The command line in this process: what it prints, what it returns, and what a mistake must look like."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from hsmdc.cli import main

NLR = "nlr-colocation-10mw"


class Done(NamedTuple):
    """A finished command."""

    status: int
    out: str
    err: str


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every test works in an empty folder of its own, so that messages show the names as typed."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def hsmdc(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """Run `hsmdc …` through its entry point."""

    def run(*arguments: str) -> Done:
        monkeypatch.setattr(sys, "argv", ["hsmdc", *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main()
        return Done(int(end.value.code or 0), *capsys.readouterr())

    return run


@pytest.fixture
def mistake(hsmdc: Callable[..., Done]) -> Callable[..., str]:
    """Run a command that must fail as a mistake does: status 2, one or two lines that hold the given words."""

    def check(*arguments: str, words: tuple[str, ...]) -> str:
        done = hsmdc(*arguments)
        assert done.status == 2, done
        lines = done.err.strip().splitlines()
        assert 1 <= len(lines) <= 2, done.err
        assert lines[-1].startswith("error: ")
        assert "Traceback" not in done.err
        for word in words:
            assert word in done.err, done.err
        return done.err

    return check


@pytest.fixture
def site(folder: Path) -> Callable[[str], str]:
    """Write a configuration on top of the shipped one; returns its name."""

    def write(text: str) -> str:
        (folder / "site.toml").write_text(f'base = "{NLR}"\n{text}\n', "utf-8")
        return "site.toml"

    return write


@pytest.fixture
def trace(hsmdc: Callable[..., Done]) -> str:
    """Three hours of minutes in a file."""
    done = hsmdc(
        "simulate", NLR, "--base-rate", "6", "--duration", "3h", "--seed", "1", "-o", "year.nc", "-q"
    )
    assert done == Done(0, "", "")
    return "year.nc"

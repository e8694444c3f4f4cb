"""What a user meets first: a help that is instant, an install that cannot be written, whole paths as typed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

from hsmdc.cli.app import app
from hsmdc.kernels import jit

SCRIPT = Path(sys.executable).with_name("hsmdc")
NLR = "nlr-colocation-10mw"


def installed(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the installed command in a process of its own."""
    return subprocess.run(
        [SCRIPT, *arguments], capture_output=True, text=True, timeout=120, env={**os.environ, **environment}
    )


def commands() -> list[list[str]]:
    """Every command and subcommand, as the words that call it."""
    found: list[list[str]] = []
    for name, command in get_command(app).commands.items():  # type: ignore[attr-defined]
        below = getattr(command, "commands", None)
        found += [[name, inner] for inner in below] if below else [[name]]
    return found


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_every_command_says_what_it_does_with_an_example(hsmdc, words: list[str]) -> None:
    done = hsmdc(*words, "--help")
    assert (done.status, done.err) == (0, "")
    assert "Example" in done.out
    assert f"hsmdc {' '.join(words)}" in done.out


def test_the_help_imports_nothing_heavy() -> None:
    script = (
        "import sys; sys.argv = ['hsmdc', '--help']\n"
        "from hsmdc.cli import main\n"
        "try: main()\n"
        "except SystemExit as end: assert not end.code\n"
        "heavy = {'numpy', 'numba', 'scipy', 'pandas', 'xarray', 'matplotlib', 'pydantic', 'netCDF4', 'highspy'}\n"
        "sys.exit(', '.join(sorted(heavy & set(sys.modules))) or 0)\n"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, f"hsmdc --help imports {run.stderr}"
    assert "simulate" in run.stdout


def test_no_arguments_shows_the_commands_and_version_the_version(hsmdc) -> None:
    from hsmdc import __version__

    assert "simulate" in hsmdc().err
    assert hsmdc("--version").out.strip() == __version__


@pytest.mark.slow
def test_an_install_that_cannot_be_written_runs_without_a_cache() -> None:
    nowhere = "/dev/null/nowhere"  # a path below a file: not even the superuser can make it
    run = installed(
        *("simulate", NLR, "--base-rate", "6", "--duration", "1h", "--seed", "0", "-o", "year.nc"),
        HOME=nowhere,
        XDG_CACHE_HOME=nowhere,
        NUMBA_CACHE_DIR=nowhere,
        MPLCONFIGDIR=nowhere,
    )
    assert (run.returncode, run.stderr) == (0, "")
    assert "year.nc: 60 minutes from 2018-01-01T00:00 UTC, seed 0" in run.stdout
    assert Path("year.nc").is_file()


def test_a_changed_kernel_has_a_cache_folder_of_its_own(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernels = folder / "kernels"
    shutil.copytree(Path(jit.__file__).parent, kernels, ignore=shutil.ignore_patterns("__pycache__"))
    unchanged = jit._fingerprint()
    monkeypatch.setattr(jit, "__file__", str(kernels / "jit.py"))
    assert jit._fingerprint() == unchanged
    with (kernels / "rng.py").open("a") as source:
        source.write("\n# another kernel\n")
    assert jit._fingerprint() != unchanged


def test_the_cache_folder_is_the_one_asked_for(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(folder / "numba"))
    assert jit._writable_cache_dir() == str(folder / "numba" / f"kernels-{jit._fingerprint()}")
    monkeypatch.delenv("NUMBA_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    assert jit._writable_cache_dir() == str(folder / "cache" / "hsmdc" / f"kernels-{jit._fingerprint()}")
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null/cache")
    assert jit._writable_cache_dir() is None


def test_a_mistake_in_the_installed_command() -> None:
    run = installed("simulate", NLR, "--utilization", "1.2", "-o", "x.nc")
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr == (
        "error: utilization = 1.2 must lie between 0 and 1: it is the mean share of nodes in use\n"
    )


def test_from_a_preset_to_a_window_and_an_export() -> None:
    """The path of the README: calibrate, simulate, resolve, export, in processes of their own."""
    fit = installed("calibrate", "occupancy", NLR, "--utilization", "0.3", "--duration", "2D", "--quiet")
    assert fit.returncode == 0, fit.stderr
    options = ("--base-rate", fit.stdout.strip(), "--duration", "2D", "-o", "days.nc")
    days = installed("simulate", NLR, *options)
    assert days.returncode == 0, days.stderr
    occupancy = float(days.stdout.split("occupancy ")[1].split(",")[0])
    assert abs(occupancy - 0.3) <= 0.0006  # printed to four places
    window = installed("resolve", "days.nc", "--duration", "1min", "-o", "minute.nc", "--threads", "1")
    assert window.returncode == 0, window.stderr
    assert "minute.nc: 600 steps of 100ms" in window.stdout
    table = installed("export", "minute.nc", "--format", "csv", "-o", "minute.csv")
    assert (table.returncode, table.stdout) == (0, "wrote minute.csv\n")
    assert len(Path("minute.csv").read_text().splitlines()) == 601

"""Outputs that exist or cannot be written are refused before any work is done; nothing half-made is left."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

NLR = "nlr-colocation-10mw"
SIMULATE = ("simulate", NLR, "--base-rate", "1", "--duration", "1h")
ENSEMBLE = ("ensemble", NLR, "--base-rate", "1", "--duration", "1h", "--members", "2")
PROFILE = ("calibrate", "profile", "--reference", NLR)
NODE = ("node", NLR, "--duration", "1s")
WRITERS = pytest.mark.parametrize("command", [SIMULATE, PROFILE, NODE], ids=lambda c: " ".join(c[:2]))


@WRITERS
def test_a_file_that_exists_is_kept_unless_forced(mistake, command: tuple[str, ...]) -> None:
    Path("mine").write_text("precious")
    mistake(*command, "-o", "mine", words=("mine exists", "--force"))
    assert Path("mine").read_text() == "precious"


@WRITERS
def test_a_folder_that_is_not_there_or_is_a_file(mistake, command: tuple[str, ...]) -> None:
    mistake(*command, "-o", "nowhere/x", words=("no folder nowhere; create it first",))
    Path("file").touch()
    mistake(*command, "-o", "file/x", words=("no folder file",))
    Path("folder").mkdir()
    mistake(*command, "-o", "folder", words=("folder is a folder; give the name of a file in it",))


@pytest.mark.skipif(os.geteuid() == 0, reason="permission bits do not bind the superuser")
@WRITERS
def test_a_folder_that_cannot_be_written(mistake, command: tuple[str, ...]) -> None:
    Path("locked").mkdir(mode=0o500)
    mistake(*command, "-o", "locked/x", words=("cannot write into folder locked", "permission denied"))


def test_force_replaces(hsmdc) -> None:
    Path("year.nc").write_text("old")
    assert hsmdc(*SIMULATE, "-o", "year.nc", "--force").status == 0
    assert Path("year.nc").read_bytes()[1:4] == b"HDF"


@pytest.mark.parametrize(
    ("command", "file"),
    [(("demo",), "year.nc"), (("validate", "year.nc"), "report.html"), (ENSEMBLE, "members.csv")],
    ids=["demo", "validate", "ensemble"],
)
def test_output_folders(mistake, trace, command: tuple[str, ...], file: str) -> None:
    Path("file").touch()
    mistake(*command, "-o", "file", words=("file is a file; give a folder",))
    mistake(*command, "-o", "file/out", words=("cannot make the folder file/out",))
    Path("out").mkdir()
    Path("out", file).write_text("precious")
    mistake(*command, "-o", "out", words=(f"out already holds {file}", "--force"))
    assert [path.name for path in Path("out").iterdir()] == [file]


@pytest.mark.parametrize("command", ["resolve", "node"])
def test_a_figure_of_no_known_kind_is_refused_before_the_work(mistake, trace, command: str) -> None:
    target = trace if command == "resolve" else NLR
    words = ("fig.xyz: a figure ends in .png, .pdf, .svg",)
    mistake(command, target, "--duration", "1min", "-o", "w.nc", "--figure", "fig.xyz", words=words)
    assert not Path("w.nc").exists()


def test_an_interrupted_run_leaves_nothing_that_looks_whole(folder: Path) -> None:
    script = Path(sys.executable).with_name("hsmdc")
    arguments = ("--base-rate", "6", "--duration", "365D", "--members", "100000", "--threads", "1")
    with subprocess.Popen(
        [script, "ensemble", NLR, *arguments, "-o", "many"],
        stderr=subprocess.PIPE,
        text=True,
        # A shell's background job ignores the signal, and its children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as run:
        time.sleep(4)  # past the imports, at work on members
        run.send_signal(signal.SIGINT)
        try:
            _, err = run.communicate(timeout=20)
        finally:
            run.kill()
    assert run.returncode == 130
    assert "Traceback" not in err
    assert not [path for path in folder.rglob("*") if path.is_file()]

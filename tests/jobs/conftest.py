"""Small logs written as text, so that each test says what is in its file."""

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

HEADER = (
    "; Version: 2.2\n; UnixStartTime: 1170175078\n; MaxNodes: 1002\n; MaxProcs: 4008\n"
    "; Note: a colon: in a note\n"
)


def swf_line(
    job: int,
    submit: float,
    run: float,
    allocated: float,
    requested: float = -1,
    *,
    columns: int = 18,
) -> str:
    fields: list[float] = [-1] * columns
    fields[0], fields[1], fields[3], fields[4], fields[7] = job, submit, run, allocated, requested
    return " ".join(f"{value:g}" for value in fields)


@pytest.fixture
def write_log(tmp_path: Path) -> Callable[[str, str], Path]:
    """Write text under a name; `.gz` compresses it."""

    def write(name: str, text: str) -> Path:
        path = tmp_path / name
        raw = text.encode()
        path.write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
        return path

    return write


@pytest.fixture
def line() -> Callable[..., str]:
    return swf_line


@pytest.fixture
def header() -> str:
    return HEADER

"""`hsmdc validate` with files that cannot be a reference, a trace or gates."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def hours() -> pd.DataFrame:
    times = pd.date_range("2018-01-01", periods=48, freq="h")
    return pd.DataFrame({"time": times, "it_power": np.linspace(3.0, 5.0, 48)})


def test_a_missing_value(mistake, trace, hours) -> None:
    hours.loc[5, "it_power"] = np.nan
    hours.to_csv("reference.csv", index=False)
    words = ("reference.csv, line 7: power at 2018-01-01T05:00:00 is missing (NaN)", "--allow-missing")
    mistake("validate", trace, "--reference", "reference.csv", words=words)


def test_a_gap(mistake, trace, hours) -> None:
    hours.drop(index=7).to_csv("reference.csv", index=False)
    words = ("reference.csv, line 9: gap from 2018-01-01T06:00:00 to 2018-01-01T08:00:00", "--allow-missing")
    mistake("validate", trace, "--reference", "reference.csv", words=words)


def test_a_repeated_time(mistake, trace, hours) -> None:
    hours.loc[8, "time"] = hours.loc[7, "time"]
    hours.to_csv("reference.csv", index=False)
    words = ("reference.csv, line 10: time 2018-01-01T07:00:00 is repeated", "keep one row per time")
    mistake("validate", trace, "--reference", "reference.csv", words=words)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("r.csv", b"", "r.csv: not a readable CSV table"),
        ("r.csv", b"time,it_power\n", "r.csv: 0 samples; a reference needs at least two"),
        ("r.csv", bytes(range(256)), "r.csv: not a readable CSV table"),
        ("r.csv", "time,it_power\n2018-01-01,\xe9\n".encode("latin-1"), "r.csv: not a readable CSV table"),
        ("r.nc", b"no netCDF", "r.nc: not a readable netCDF file"),
        ("r.txt", b"time,it_power\n", "unknown kind of file '.txt'; use .csv, .parquet or .nc"),
    ],
)
def test_a_file_that_is_no_reference(mistake, trace, name: str, content: bytes, words: str) -> None:
    Path(name).write_bytes(content)
    mistake("validate", trace, "--reference", name, words=(words,))


def test_a_reference_or_gates_that_are_not_there(mistake, trace) -> None:
    mistake("validate", trace, "--reference", "none.csv", words=("no reference 'none.csv'", "give the path"))
    mistake("validate", trace, "--gates", "none.toml", words=("no gates 'none.toml'", "give the path"))
    Path("gates.toml").write_bytes(bytes(range(256)))
    mistake("validate", trace, "--gates", "gates.toml", words=("gates gates.toml: not text in UTF-8",))


def test_nothing_or_both_to_judge(mistake, trace) -> None:
    words = ("give trace files or --battery CONFIG, one of the two",)
    mistake("validate", words=words)
    mistake("validate", trace, "--battery", "paper", words=words)


@pytest.mark.parametrize(
    "command",
    [("validate",), ("resolve", "-o", "w.nc"), ("export", "-f", "csv", "-o", "x.csv")],
    ids=lambda command: command[0],
)
def test_what_is_no_trace(mistake, command: tuple[str, ...]) -> None:
    verb, *rest = command
    mistake(verb, "none.nc", *rest, words=("no trace file none.nc",))
    Path("text.nc").write_text("no netCDF")
    mistake(verb, "text.nc", *rest, words=("text.nc is not a readable netCDF file",))
    pd.DataFrame({"a": [1.0]}).to_xarray().to_netcdf("other.nc")
    mistake(verb, "other.nc", *rest, words=("other.nc is not a trace: it lacks",))
    assert {path.name for path in Path().iterdir()} == {"text.nc", "other.nc"}

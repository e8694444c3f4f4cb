"""`hsmdc export` as a user runs it."""

from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from hsmdc.cli.export import export
from hsmdc.errors import InputError
from hsmdc.traces import save_trace, trace_dataset


@pytest.fixture
def year(tmp_path: Path) -> Path:
    ds = trace_dataset(start=np.datetime64("2018-01-01"), step_s=60.0, series={"it_power": np.ones(10)})
    save_trace(ds, tmp_path / "year.nc")
    return tmp_path / "year.nc"


@pytest.fixture
def app() -> typer.Typer:
    app = typer.Typer()
    app.command()(export)
    return app


def test_it_writes_and_says_what(app: typer.Typer, year: Path, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, [str(year), "--format", "opendss", "-o", str(tmp_path / "x.csv")])
    assert result.exit_code == 0
    assert result.output.splitlines() == [f"wrote {tmp_path / 'x.csv'}", f"wrote {tmp_path / 'x.dss'}"]
    assert (tmp_path / "x.csv").read_text() == "1000.0\n" * 10


def test_quiet_says_nothing(app: typer.Typer, year: Path, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, [str(year), "-f", "csv", "-o", str(tmp_path / "x.csv"), "--quiet"])
    assert (result.exit_code, result.output) == (0, "")


@pytest.mark.parametrize(
    ("options", "message"), [(["-f", "matlab"], "no export format"), (["-f", "csv"], "x.csv exists")]
)
def test_a_mistake_is_an_input_error(
    app: typer.Typer, year: Path, tmp_path: Path, options: list[str], message: str
) -> None:
    (tmp_path / "x.csv").write_text("precious")
    result = CliRunner().invoke(app, [str(year), "-o", str(tmp_path / "x.csv"), *options])
    assert isinstance(result.exception, InputError)
    assert message in str(result.exception)
    assert (tmp_path / "x.csv").read_text() == "precious"


def test_the_trace_itself_is_never_overwritten(app: typer.Typer, year: Path) -> None:
    before = year.read_bytes()
    result = CliRunner().invoke(app, [str(year), "-f", "csv", "-o", str(year), "--force"])
    assert isinstance(result.exception, InputError)
    assert "is the file to be read" in str(result.exception)
    assert year.read_bytes() == before


@pytest.mark.parametrize("name", ["x.opendss", "site.v2"])
def test_opendss_does_not_change_the_name_it_was_given(app: typer.Typer, year: Path, name: str) -> None:
    other = year.with_name(name).with_suffix(".csv")
    other.write_text("precious")
    out = str(year.with_name(name))
    result = CliRunner().invoke(app, [str(year), "-f", "opendss", "-o", out, "--force"])
    assert isinstance(result.exception, InputError)
    assert "end the name in .csv" in str(result.exception)
    assert other.read_text() == "precious"


def test_the_help_has_an_example(app: typer.Typer) -> None:
    result = CliRunner().invoke(app, ["--help"])
    assert "hsmdc export year.nc --format opendss -o x.csv" in result.output

"""`hsmdc dispatch` as a user meets it: words, files, exit status."""

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import hsmdc
from hsmdc.cli.app import app
from hsmdc.dispatch import open_schedule
from hsmdc.errors import HsmdcError
from hsmdc.traces import open_trace, save_trace


def run(*words: str | Path) -> Result:
    result = CliRunner().invoke(app, ["dispatch", *map(str, words)])
    if result.exception is not None and not isinstance(result.exception, SystemExit | HsmdcError):
        raise result.exception
    return result


def complaint(*words: str | Path) -> str:
    """The message of the error the command line turns into exit status 2."""
    result = run(*words)
    assert isinstance(result.exception, HsmdcError), result.output
    return str(result.exception)


@pytest.fixture(scope="module")
def trace_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("trace") / "days.nc"
    trace = hsmdc.simulate(
        hsmdc.load_config("paper"), utilization=0.6, start="2018-07-03", duration="3D", seed=1
    )
    save_trace(trace, path)
    return path


def test_plan_with_files(tmp_path: Path) -> None:
    result = run("aidc-2048", "--scenario", "S5", "-o", tmp_path / "s.nc", "--figures", tmp_path / "fig")
    assert result.exit_code == 0
    assert "cost 447.23 USD   grid 8.281 MWh   curtailed 0.319 MWh   battery 1.442 MWh" in result.output
    assert "LLM-A-13B: 0–24 h 512 GPUs" in result.output
    assert float(open_schedule(tmp_path / "s.nc").cost_usd) == pytest.approx(447.23, abs=0.01)
    assert sorted(p.name for p in (tmp_path / "fig").iterdir()) == [
        "balance.png",
        "gpus_and_modes.png",
        "modes.png",
        "progress.png",
    ]
    assert "with --force" in complaint("aidc-2048", "-o", tmp_path / "s.nc")


def test_scenarios_beside_the_published() -> None:
    lines = run("aidc-2048", "--scenarios", "S1,S5").output.splitlines()
    assert lines[2].split()[:5] == ["S1", "473.03", "8.965", "1.077", "0.000"]
    assert lines[3].split()[:5] == ["paper", "473.03", "f", "8.965", "f"]
    assert lines[4].split()[:2] == ["S5", "447.23"]
    assert "h: held out" in lines[-1]


def test_held_out_figures_are_marked() -> None:
    lines = run("aidc-2048", "--scenarios", "S3", "--gap", "0.01").output.splitlines()
    assert lines[3].split()[1:5] == ["368.99", "f", "8.395", "h"]


def test_sweep(tmp_path: Path) -> None:
    result = run(
        "aidc-2048",
        "--sweep",
        "gpus",
        "--values",
        "1152,1280",
        "--figures",
        tmp_path,
        "-o",
        tmp_path / "w.nc",
    )
    assert "1152  infeasible: LLM-" in result.output
    assert "[paper: infeasible (held out)]" in result.output
    assert "1280      447.23" in result.output
    assert (tmp_path / "sensitivity.png").exists()
    assert (tmp_path / "w.nc").exists()


def test_several_sweeps_share_a_file(tmp_path: Path) -> None:
    import xarray as xr

    result = run(
        "aidc-2048",
        "--scenario",
        "S1",
        "--sweep",
        "renewables,segments",
        "-o",
        tmp_path / "w.nc",
        "--figures",
        tmp_path,
    )
    assert result.exit_code == 0
    with xr.open_dataset(tmp_path / "w.nc") as table:
        assert table["renewables_cost_usd"].dims == ("renewables",)
        assert float(table["segments_cost_usd"].sel(segments=12)) == pytest.approx(473.03, abs=0.01)


def test_coupled_and_executed(trace_file: Path, tmp_path: Path) -> None:
    result = run(
        "aidc-2048",
        *("--trace", trace_file, "--day", "2018-07-04", "--method", "heuristic"),
        *("--execute", tmp_path / "day.nc", "--figures", tmp_path / "fig", "-o", tmp_path / "s.nc"),
    )
    assert result.exit_code == 0
    assert "MWh of training in" in result.output
    assert (tmp_path / "fig" / "execution.png").exists()
    with open_trace(tmp_path / "day.nc") as day:
        assert day.sizes["time"] == 1440


def test_rolling_and_hedging(tmp_path: Path) -> None:
    rolled = run("caiso-2022-07-20-3d", "--scenario", "S5", "--window", "2", "-o", tmp_path / "r.nc")
    assert "window from day 3: gap 0.0000%" in rolled.output
    hedged = run(
        "aidc-2048", "--scenario", "S5", "--outcomes", "4", "--risk-weight", "0.5", "-o", tmp_path / "h.nc"
    )
    assert "value of the stochastic solution 0.00 USD" in hedged.output, "a fixed schedule cannot hedge"
    assert open_schedule(tmp_path / "h.nc").sizes["outcome"] == 4


def test_several_traces_are_hedged_against(trace_file: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.nc"
    config = hsmdc.load_config("paper")
    save_trace(hsmdc.simulate(config, utilization=0.3, start="2018-07-03", duration="3D", seed=2), other)
    files = ["--trace", trace_file, "--trace", other]
    result = run("aidc-2048", "--scenario", "S5", *files, "--day", "2018-07-04")
    assert "2 outcomes" in result.output
    assert "several traces are outcomes" in complaint(
        "aidc-2048", *files, "--day", "2018-07-04", "--sweep", "gpus"
    )


def test_what_is_read_is_never_replaced(trace_file: Path, tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text('base = "aidc-2048"\n')
    traced = ["aidc-2048", "--trace", trace_file, "--day", "2018-07-04", "--force"]
    for words in (
        [*traced, "-o", trace_file],
        [*traced, "--execute", trace_file],
        [own, "-o", own, "--force"],
    ):
        assert "is the file to be read" in complaint(*words)
    assert own.read_text() == 'base = "aidc-2048"\n'
    both = tmp_path / "x.nc"
    assert "both name" in complaint(*traced, "-o", both, "--execute", both)


def test_figures_are_refused_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert "is a file; give a folder" in complaint("aidc-2048", "--figures", tmp_path / "file")
    (tmp_path / "modes.png").touch()
    assert "already holds modes.png" in complaint("aidc-2048", "--figures", tmp_path)
    swept = run("aidc-2048", "--scenario", "S1", "--sweep", "gpus", "--values", "2048", "--figures", tmp_path)
    assert swept.exit_code == 0, "a sweep writes none of the files that are there"


def test_no_schedule_in_time_is_not_infeasible() -> None:
    limited = run("aidc-2048", "--sweep", "gpus", "--values", "1152,2048", "--time-limit", "0.01").output
    assert "2048  not known: no schedule was found within 0.01 s" in limited
    assert "2048  infeasible" not in limited
    impossible = run("aidc-2048", "--sweep", "gpus", "--values", "1").output
    assert "1  infeasible: task LLM-A-13B fits no mode of 1 GPUs" in impossible


def test_published_figures_stand_beside_the_shipped_case_only(trace_file: Path, tmp_path: Path) -> None:
    own = tmp_path / "aidc-2048.toml"
    own.write_text('base = "aidc-2048"\n[site]\npv_kw = 10.0\n')
    sweep = ["--scenario", "S6", "--sweep", "gpus", "--values", "768"]
    assert "[paper:" in run("aidc-2048", *sweep).output
    for words in ([own], ["aidc-2048", "--trace", trace_file, "--day", "2018-07-04"]):
        assert "paper" not in run(*words, *sweep).output
        assert "paper" not in run(*words, "--scenarios", "S1").output


def test_heuristic_claims_no_bound() -> None:
    line = run("aidc-2048", "--scenarios", "S1", "--method", "heuristic").output.splitlines()[2]
    assert line.split()[-2:] == ["unproven", "none"]
    swept = run("aidc-2048", "--sweep", "segments", "--values", "12", "--method", "heuristic").output
    assert "unproven" in swept


def test_quiet_prints_nothing(tmp_path: Path) -> None:
    assert run("aidc-2048", "--scenario", "S1", "--quiet", "-o", tmp_path / "s.nc").output == ""


def test_another_day_of_the_profile_file() -> None:
    words = ["--scenario", "S1", "--day", "2022-07-21"]
    assert (
        run("caiso-2022-04-14", *words).output.splitlines()[1]
        != run("caiso-2022-04-14", *words[:2]).output.splitlines()[1]
    )


def test_list_and_no_case() -> None:
    assert "aidc-2048\n" in run("--list").output
    assert run().exit_code == 2


def test_help_has_examples() -> None:
    assert "hsmdc dispatch aidc-2048 --scenarios all" in run("--help").output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nowhere"], "no shipped case is named 'nowhere'"),
        (["aidc-2048", "--scenario", "S7"], "no scenario 'S7'"),
        (["aidc-2048", "--time-limit", "0.01"], "no schedule was found within 0.01 s"),
        (["aidc-2048", "--day", "2018-07-04"], "names no profile file to take 2018-07-04 from"),
        (["caiso-2022-04-14", "--day", "2022-04-15"], "no row on 2022-04-15; the file runs from 2022-03-13"),
        (["aidc-2048", "--scenarios", "all", "--sweep", "all"], "--scenarios and --sweep exclude each other"),
        (["aidc-2048", "--execute", "x.nc"], "--execute simulates a plan made on a trace"),
        (["aidc-2048", "--trace", "absent.nc"], "no trace file absent.nc"),
        (["aidc-2048", "--sweep", "all", "--values", "1"], "--values belong to one --sweep"),
        (["aidc-2048", "--sweep", "gpus", "--values", "a"], "must be numbers with commas between"),
        (["aidc-2048", "--slot", "7"], "slots of 1.0 h cannot be cut"),
        (["aidc-2048", "--slot", "0"], "slots of 1.0 h cannot be cut"),
        (["aidc-2048", "--sweep", "gpus", "--values", "nan"], "gpus takes whole numbers, not nan"),
        (["aidc-2048", "--sweep", "segments", "--values", "inf"], "segments takes whole numbers, not inf"),
        (["aidc-2048", "--sweep", "renewables", "--values", "nan"], "Input should be a finite number"),
        (["aidc-2048", "--sweep", "price"], "no parameter 'price' to sweep"),
        (["aidc-2048", "--sweep", "power_kw"], "give values for the sweep of 'power_kw'"),
        (["aidc-2048", "--values", "3"], "--values are for --sweep"),
        (["aidc-2048", "--outcomes", "3", "--method", "heuristic"], "heuristic cannot hedge"),
        (["aidc-2048", "--risk-weight", "0.5"], "--risk-weight and --risk-level are for --outcomes"),
        (["aidc-2048", "--scenarios", "all", "--figures", "f"], "--figures draws no --scenarios"),
        (["aidc-2048", "-o", "no/such/folder/x.nc"], "no folder no/such/folder; create it first"),
    ],
)
def test_mistakes_end_in_one_line(words: list[str], message: str) -> None:
    assert message in complaint(*words)

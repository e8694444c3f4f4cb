"""Job logs through `hsmdc simulate --jobs`: what is counted and left out, and what stops the run."""

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import hsmdc as package

NLR = "nlr-colocation-10mw"
HEADER = "; Version: 2.2\n; UnixStartTime: 1170175080\n"


def job(number: int, submit: int, run: int, processors: int) -> str:
    return f"{number} {submit} 0 {run} {processors} -1 -1 {processors} -1 -1 1 1 1 1 1 -1 -1 -1\n"


@pytest.fixture
def replay(hsmdc) -> Callable[[bytes | str], object]:
    def run(content: bytes | str, *options: str, name: str = "log.swf"):
        Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
        return hsmdc("simulate", NLR, "--jobs", name, "-o", "replay.nc", *options)

    return run


@pytest.mark.parametrize(
    ("broken", "rule"),
    [
        (job(2, 10, 600, 5000), "1 job wider than 2840 nodes"),
        (job(2, 10, 0, 5) + job(3, 20, -5, 5), "2 jobs with missing or non-positive duration"),
        (job(2, 10, 600, 0), "1 job with missing or non-positive node count"),
        (job(1, 10, 60, 5), "1 job with a duplicate id (the first is kept)"),
    ],
)
def test_jobs_that_break_a_rule_are_counted_and_the_run_goes_on(replay, broken: str, rule: str) -> None:
    done = replay(HEADER + job(1, 0, 600, 10) + broken)
    assert done.status == 0
    assert f"1 jobs; rejected: {rule}" in done.out
    with package.open_trace("replay.nc") as trace:
        assert trace.attrs["rejected_jobs"] == f"rejected: {rule}"
        np.testing.assert_array_equal(trace["busy_nodes"].values, np.full(10, 10.0))


@pytest.mark.parametrize(
    ("content", "name", "words"),
    [
        (HEADER + job(1, 0, 600, 10) + "2 10 0 60", "log.swf", ("log.swf, line 4", "middle of a line")),
        (
            HEADER + job(1, 0, 600, 10).replace("600", "x"),
            "log.swf",
            ("log.swf, line 3: 'x' is not a number",),
        ),
        (bytes(range(256)), "log.swf", ("log.swf: not a text file",)),
        (b"no gzip", "log.swf.gz", ("log.swf.gz", "damaged or cut short")),
        (gzip.compress(HEADER.encode(), mtime=0)[:30], "log.swf.gz", ("log.swf.gz", "damaged or cut short")),
        ("", "log.swf", ("log.swf holds no job that can run", "give a duration")),
        (HEADER + job(1, 0, 0, 4), "log.swf", ("no job that can run", "1 job with missing or non-positive")),
        ("arrival_s,nodes\n0,1\n", "log.csv", ("log.csv: no column duration_s",)),
        (
            "arrival_s,nodes,duration_s\n0,1\n",
            "log.csv",
            ("log.csv, line 2", "2 fields where the header has 3"),
        ),
        ("arrival_s,nodes,duration_s\n0,1,1e9\n", "log.csv", ("longer than the scheduler's",)),
        ("arrival_s,nodes,duration_s\n0,1,1e18\n", "log.csv", ("which no run can hold",)),
    ],
)
def test_a_log_that_stops_the_run(replay, content: bytes | str, name: str, words: tuple[str, ...]) -> None:
    done = replay(content, name=name)
    assert done.status == 2
    assert len(done.err.strip().splitlines()) <= 2
    for word in words:
        assert word in done.err
    assert not Path("replay.nc").exists()


def test_a_log_that_is_not_there(mistake) -> None:
    mistake("simulate", NLR, "--jobs", "none.swf", "-o", "x.nc", words=("cannot read job log none.swf",))
    Path("logs").mkdir()
    mistake("simulate", NLR, "--jobs", "logs", "-o", "x.nc", words=("cannot read job log logs", "directory"))


def test_an_empty_log_with_a_duration_is_an_idle_facility(replay) -> None:
    done = replay("", "--duration", "1h")
    assert done.status == 0
    assert "occupancy 0.0000, 0 jobs" in done.out


def test_a_start_after_the_last_job(replay) -> None:
    done = replay(HEADER + job(1, 0, 600, 10), "--start", "2020-01-01")
    assert (done.status, done.out) == (2, "")
    assert "every job of log.swf ends before start" in done.err


def test_a_start_centuries_before_the_first_job(replay) -> None:
    done = replay(HEADER + job(1, 0, 600, 10), "--start", "1700-01-01")
    assert done.status == 2
    assert "longer than 100 years" in done.err


def test_fitting_a_log_refuses_what_it_cannot_use(mistake) -> None:
    Path("log.swf").write_text(HEADER + job(1, 0, 600, 10))
    mistake("calibrate", "jobs", "log.swf", words=("log.swf: 1 jobs; a fit needs 30 or more",))
    Path("log.swf").write_text(HEADER + "".join(job(i, i * 100, 600 + i, 1 + i % 4) for i in range(1, 61)))
    mistake("calibrate", "jobs", "log.swf", "--batch-gap", "nan", words=("batch_gap_s = nan", "0 or more"))
    mistake("calibrate", "jobs", "log.swf", "--utc-offset", "99", words=("utc_offset_h = 99", "-14 and 14"))


def test_the_log_itself_is_never_overwritten(mistake) -> None:
    Path("log.swf").write_text(HEADER + job(1, 0, 600, 10))
    mistake(
        "simulate", NLR, "--jobs", "log.swf", "-o", "log.swf", "--force", words=("is the file to be read",)
    )
    assert Path("log.swf").read_text().startswith("; Version")

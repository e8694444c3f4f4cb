"""CSV logs: column names, dates, GPUs to nodes, and what is refused."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from hsmdc.errors import InputError
from hsmdc.jobs import BAD_ARRIVAL, BAD_DURATION, read_jobs

Write = Callable[[str, str], Path]


@pytest.mark.parametrize("name", ["jobs.csv", "jobs.csv.gz"])
def test_seconds_and_nodes(write_log: Write, name: str) -> None:
    jobs = read_jobs(write_log(name, "arrival_s,nodes,gpus_per_node,duration_s\n0.5,8,8.0,104.0\n3,1,8,7\n"))
    assert jobs.arrival_s.tolist() == [0.5, 3.0]
    assert jobs.nodes.tolist() == [8, 1]
    assert jobs.duration_s.tolist() == [104.0, 7.0]
    assert jobs.id.tolist() == [1, 2]
    assert jobs.epoch is None


def test_dates_and_gpus(write_log: Write) -> None:
    text = "submit,duration_s,num_gpus,vc\n2017-09-04 10:30:41,60,9,a\n2017-09-04 10:30:01,60,1,b\n"
    path = write_log("jobs.csv", text)
    jobs = read_jobs(path)
    assert jobs.epoch == np.datetime64("2017-09-04T10:30:01")
    assert jobs.arrival_s.tolist() == [0.0, 40.0]
    assert jobs.nodes.tolist() == [1, 2]
    assert jobs.id.tolist() == [2, 1]
    assert jobs.user is not None
    assert jobs.user.tolist() == [1, 0]
    assert read_jobs(path, gpus_per_node=4).nodes.tolist() == [1, 3]
    later = read_jobs(path, start="2017-09-04T10:30:31Z".removesuffix("Z"))
    assert later.arrival_s.tolist() == [10.0]
    assert later.rejected == {BAD_ARRIVAL: 1}


def test_empty_cells_are_missing_values(write_log: Write) -> None:
    jobs = read_jobs(write_log("jobs.csv", "id,arrival_s,nodes,duration_s\n7,0,1,\n8,,1,5\n9,2,1,5\n"))
    assert jobs.id.tolist() == [9]
    assert jobs.rejected == {BAD_DURATION: 1, BAD_ARRIVAL: 1}


def test_a_header_alone_is_an_empty_table(write_log: Write) -> None:
    assert len(read_jobs(write_log("jobs.csv", "submit,nodes,duration_s\n"))) == 0


def test_a_start_names_the_epoch_of_a_log_without_dates(write_log: Write) -> None:
    jobs = read_jobs(write_log("jobs.csv", "arrival_s,nodes,duration_s\n5,1,60\n"), start="2018-01-01")
    assert jobs.epoch == np.datetime64("2018-01-01")
    assert jobs.arrival_s.tolist() == [5.0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("arrival_s,nodes,duration_s\n0,1,60\n5,1", "line 3: 2 fields where the header has 3"),
        ("arrival_s,nodes,duration_s\n0,one,60\n", "data row 1: nodes = 'one' is not a number"),
        (
            "submit,nodes,duration_s\n2018-01-01,1,60\nyesterday,1,60\n",
            "line 3: submit = 'yesterday' is not a date",
        ),
        ("arrival_s,nodes\n0,1\n", "no column duration_s; the header has arrival_s, nodes"),
        ("arrival_s,duration_s\n0,1\n", "no column nodes or num_gpus"),
        ("when,nodes,duration_s\n0,1,1\n", "no column arrival_s or submit"),
        ("", "no column arrival_s or submit; the header has nothing"),
    ],
)
def test_a_file_that_cannot_be_used_is_one_clear_error(write_log: Write, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_jobs(write_log("jobs.csv", text))


@pytest.mark.parametrize(
    ("name", "jobs", "widest"),
    [("jobs_kalos_319_completed.csv", 319, 128), ("jobs_philly_82247.csv.gz", 82247, 16)],
)
def test_the_real_logs(shared_data: Path, name: str, jobs: int, widest: int) -> None:
    table = read_jobs(shared_data / "jobs" / name)
    assert len(table) == jobs
    assert table.rejected == {}
    assert (table.nodes.min(), table.nodes.max()) == (1, widest)
    assert table.arrival_s[0] == 0.0

"""Standard Workload Format: what is read, what is rejected by rule, what is refused."""

import gzip
import logging
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from hsmdc.errors import InputError
from hsmdc.jobs import BAD_ARRIVAL, BAD_DURATION, BAD_NODES, DUPLICATE_ID, read_jobs

Write = Callable[[str, str], Path]
Line = Callable[..., str]


@pytest.mark.parametrize("name", ["log.swf", "log.swf.gz"])
@pytest.mark.parametrize("columns", [18, 21])
def test_the_columns_that_matter_are_read(
    write_log: Write, line: Line, header: str, name: str, columns: int
) -> None:
    rows = [line(1, 0, 60, 472, columns=columns), line(2, 90.5, 12.25, -1, 30, columns=columns)]
    jobs = read_jobs(write_log(name, header + "\n".join(rows) + "\n"))
    np.testing.assert_array_equal(jobs.arrival_s, [0.0, 90.5])
    np.testing.assert_array_equal(jobs.duration_s, [60.0, 12.25])
    np.testing.assert_array_equal(jobs.nodes, [118, 8])  # 4 processors per node; 30 requested make 7.5 nodes
    np.testing.assert_array_equal(jobs.id, [1, 2])
    assert jobs.epoch == np.datetime64("2007-01-30T16:37:58")
    assert jobs.rejected == {}
    assert jobs.source == name
    assert (jobs.nodes.dtype, jobs.id.dtype) == (np.int64, np.int64)


@pytest.mark.parametrize(
    ("header", "given", "nodes"),
    [("", None, 10), ("; MaxNodes: 3\n; MaxProcs: 10\n", None, 10), ("; MaxNodes: 5\n; MaxProcs: 10\n", None, 5),
     ("; MaxNodes: 5\n; MaxProcs: 10\n", 8, 2), ("; MaxNodes: Unknown\n; MaxProcs: 10\n", None, 10)],
)  # fmt: skip
def test_processors_become_nodes(
    write_log: Write, line: Line, header: str, given: int | None, nodes: int
) -> None:
    path = write_log("log.swf", header + line(1, 0, 60, 10) + "\n")
    assert read_jobs(path, processors_per_node=given).nodes.tolist() == [nodes]


def test_every_rule_counts_its_jobs_by_name(
    write_log: Write, line: Line, caplog: pytest.LogCaptureFixture
) -> None:
    rows = [
        line(1, 0, 60, 4),
        line(2, 1, 0, 4),
        line(3, 2, -1, 4),
        line(4, 3, 60, 0, 0),
        line(5, 4, 60, -1, -1),
        line(6, 5, -7, -1),
        line(7, -5, 60, 4),
        line(1, 6, 60, 4),
        line(1, 7, 60, 4),
        line(8, 8, 60, 4),
    ]
    with caplog.at_level(logging.WARNING):
        jobs = read_jobs(write_log("log.swf", "\n".join(rows) + "\n"))
    assert jobs.id.tolist() == [1, 8]
    assert jobs.rejected == {BAD_DURATION: 3, BAD_NODES: 2, BAD_ARRIVAL: 1, DUPLICATE_ID: 2}
    assert len(jobs) + sum(jobs.rejected.values()) == len(rows)
    assert "rejected: 3 jobs with missing or non-positive duration; 2 jobs with" in caplog.text


def test_jobs_wider_than_the_cluster_are_counted_in_words(write_log: Write, line: Line) -> None:
    rows = [line(i, i, 60, width) for i, width in enumerate([2840, 2841, 5000, 1, 9000])]
    jobs = read_jobs(write_log("log.swf", "\n".join(rows) + "\n")).for_cluster(2840)
    assert jobs.nodes.tolist() == [2840, 1]
    assert jobs.rejection_report() == "rejected: 3 jobs wider than 2840 nodes"
    assert jobs.for_cluster(1).rejected == {"wider than 2840 nodes": 3, "wider than 1 nodes": 1}


def test_users_are_read_where_the_log_names_them(write_log: Write, line: Line) -> None:
    named = [line(i, i, 60, width).split() for i, width in ((1, 4), (2, 900), (3, 4))]
    for fields, user in zip(named, "757", strict=True):
        fields[11] = user
    jobs = read_jobs(write_log("log.swf", "\n".join(map(" ".join, named)) + "\n")).for_cluster(10)
    assert jobs.user is not None
    assert jobs.user.tolist() == [7, 7]
    assert read_jobs(write_log("log.swf", line(1, 0, 60, 4) + "\n")).user is None


def test_the_queue_order_is_arrival_then_file_order(write_log: Write, line: Line) -> None:
    rows = [line(5, 10, 1, 1), line(9, 0, 1, 1), line(2, 10, 1, 1), line(7, 5, 1, 1)]
    assert read_jobs(write_log("log.swf", "\n".join(rows))).id.tolist() == [9, 7, 5, 2]


def test_an_empty_log_is_an_empty_table(write_log: Write, header: str) -> None:
    for text in ("", header):
        jobs = read_jobs(write_log("log.swf", text))
        assert len(jobs) == 0
        assert jobs.rejected == {}
        assert len(jobs.for_cluster(10)) == 0


def test_a_start_moves_the_clock_and_drops_what_came_before(
    write_log: Write, line: Line, header: str
) -> None:
    path = write_log("log.swf", header + line(1, 0, 60, 4) + "\n" + line(2, 100, 60, 4) + "\n")
    jobs = read_jobs(path, start="2007-01-30T16:38:58")
    assert jobs.arrival_s.tolist() == [40.0]
    assert jobs.rejected == {BAD_ARRIVAL: 1}
    assert jobs.epoch == np.datetime64("2007-01-30T16:38:58")


@pytest.mark.parametrize("keep", [1, 5, 12, 17])
@pytest.mark.parametrize("columns", [18, 21])
@pytest.mark.parametrize("before", [0, 3])
def test_a_log_cut_in_the_middle_of_a_line_is_refused(
    write_log: Write, line: Line, header: str, keep: int, columns: int, before: int
) -> None:
    rows = [line(i, i, 60, 4, columns=columns) for i in range(before)]
    cut = " ".join(line(99, 99, 60, 4, columns=columns).split()[:keep])
    path = write_log("log.swf", header + "\n".join([*rows, cut]))
    with pytest.raises(
        InputError, match=rf"log.swf, line {6 + before}: {keep} fields where .* middle of a line"
    ):
        read_jobs(path)


def test_a_cut_inside_a_number_is_refused(write_log: Write, line: Line) -> None:
    path = write_log("log.swf", line(1, 0, 60, 4) + "\n" + line(2, 1, 60, 4)[:-1])
    with pytest.raises(InputError, match="line 2: '-' is not a number"):
        read_jobs(path)


def test_a_missing_last_line_end_is_not_silent(
    write_log: Write, line: Line, caplog: pytest.LogCaptureFixture
) -> None:
    assert len(read_jobs(write_log("log.swf", line(1, 0, 60, 4)))) == 1
    assert "the last line has no line end" in caplog.text


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("1 0 -1 sixty 4 -1 -1 -1 -1 -1 1 1 1 1 1 1 -1 -1", "line 2: 'sixty' is not a number"),
        ("1 0 -1 60 4", "line 2: 5 fields where 18 are expected; repair or delete"),
    ],
)
def test_a_bad_line_in_the_middle_is_named(write_log: Write, line: Line, row: str, message: str) -> None:
    path = write_log("log.swf", "\n".join([line(1, 0, 60, 4), row, line(3, 0, 60, 4)]) + "\n")
    with pytest.raises(InputError, match=message):
        read_jobs(path)


def test_unreadable_files_are_one_clear_error(tmp_path: Path, line: Line) -> None:
    with pytest.raises(InputError, match=r"cannot read job log .*absent.swf: No such file"):
        read_jobs(tmp_path / "absent.swf")
    whole = gzip.compress(line(1, 0, 60, 4).encode() * 100)
    for content in (whole[:-20], b"not gzip at all"):
        (tmp_path / "x.swf.gz").write_bytes(content)
        with pytest.raises(InputError, match="damaged or cut short"):
            read_jobs(tmp_path / "x.swf.gz")
    (tmp_path / "x.swf").write_bytes(whole)
    with pytest.raises(InputError, match=r"must be named .gz"):
        read_jobs(tmp_path / "x.swf")


@pytest.mark.parametrize("option", ["gpus_per_node", "processors_per_node"])
def test_options_out_of_range_are_refused(write_log: Write, line: Line, option: str) -> None:
    with pytest.raises(InputError, match=f"{option} = 0: must be 1 or more"):
        read_jobs(write_log("log.swf", line(1, 0, 60, 4)), **{option: 0})


def test_a_start_that_is_no_date_is_refused(write_log: Write, line: Line) -> None:
    with pytest.raises(InputError, match="start = 'noon' is not a date and time"):
        read_jobs(write_log("log.swf", line(1, 0, 60, 4)), start="noon")


@pytest.mark.parametrize(
    ("name", "jobs", "rejected", "epoch", "widest"),
    [
        ("KTH-SP2-1996-2.1-cln.swf.gz", 27992, {}, "1996-09-23T12:00:31", 100),
        ("LLNL-Thunder-2007-1.1-cln.swf.gz", 113613, {BAD_DURATION: 7426}, "2007-01-30T16:37:58", 965),
    ],
)
def test_the_real_logs(
    shared_data: Path, name: str, jobs: int, rejected: dict[str, int], epoch: str, widest: int
) -> None:
    path = shared_data / "jobs" / name
    table = read_jobs(path)
    records = sum(
        not text.startswith(";") for text in gzip.decompress(path.read_bytes()).decode().splitlines()
    )
    assert len(table) + sum(table.rejected.values()) == records
    assert table.rejected == rejected
    assert len(table) == jobs
    assert table.epoch == np.datetime64(epoch)
    assert table.nodes.max() == widest
    assert (np.diff(table.arrival_s) >= 0).all()


def test_old_logs_may_name_people_in_latin_1(tmp_path: Path, line: Line) -> None:
    path = tmp_path / "log.swf"
    path.write_bytes(
        "; Installation: Universit\xe9 de M\xfcnchen\n".encode("latin-1") + f"{line(1, 0, 60, 4)}\n".encode()
    )
    assert len(read_jobs(path)) == 1

"""Job tables: reading real logs (SWF, CSV), the named rules that reject a job, and the queue they pass."""

import csv
import gzip
import logging
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hsmdc.errors import InputError
from hsmdc.kernels import scheduler

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_log = logging.getLogger(__name__)

# One rule each; a job is counted under the first it breaks, in this order.
BAD_DURATION = "with missing or non-positive duration"
BAD_NODES = "with missing or non-positive node count"
BAD_ARRIVAL = "with missing or negative arrival"
BAD_ID = "with a missing id, or one beyond 2^53"
DUPLICATE_ID = "with a duplicate id (the first is kept)"

_MOST = 2.0**53  # columns are read as float64, which names every whole number up to here

LONGEST_TICKS = 2**27  # the scheduler's wheel holds one counter per tick of the longest job: 0.5 GB here
SWF_MIN_COLUMNS = 18
_SWF_ID, _SWF_SUBMIT, _SWF_RUN, _SWF_ALLOCATED, _SWF_REQUESTED, _SWF_USER = 0, 1, 3, 4, 7, 11


def wider_than(total_nodes: int) -> str:
    """The name of the rule that rejects a job wider than the cluster."""
    return f"wider than {total_nodes} nodes"


@dataclass(frozen=True, eq=False)
class JobTable:
    """Jobs in queue order: by arrival, then by their order in the source.

    Attributes
    ----------
    arrival_s : float64, shape (jobs,)
        Submission [s] after `epoch`.
    nodes : int64, shape (jobs,)
        Nodes held.
    duration_s : float64, shape (jobs,)
        Time the nodes are held [s].
    id : int64, shape (jobs,)
        Job number of the source, unique.
    rejected : mapping of rule to count
        Jobs left out, by the rule they broke, in words that follow "3 jobs …".
    source : str
        Where the jobs came from.
    epoch : datetime64 or None
        The instant of `arrival_s = 0` [UTC]; None where the source does not say.
    user : int64, shape (jobs,), or None
        A number for whoever submitted the job; None where the source does not say.
    """

    arrival_s: FloatArray
    nodes: IntArray
    duration_s: FloatArray
    id: IntArray
    rejected: Mapping[str, int] = field(default_factory=dict)
    source: str = ""
    epoch: np.datetime64 | None = None
    user: IntArray | None = None

    def __len__(self) -> int:
        return len(self.arrival_s)

    @classmethod
    def from_arrays(
        cls,
        arrival_s: ArrayLike,
        nodes: ArrayLike,
        duration_s: ArrayLike,
        id: ArrayLike | None = None,
        *,
        source: str = "arrays",
        epoch: np.datetime64 | None = None,
        user: ArrayLike | None = None,
    ) -> "JobTable":
        """Apply the rules to plain columns and put the jobs in queue order.

        Fractions of a node are rounded up; a NaN is a missing value.

        Raises
        ------
        InputError
            Columns of different lengths.
        """
        arrival, width, held = (_column(x, source) for x in (arrival_s, nodes, duration_s))
        number = np.arange(1.0, len(arrival) + 1) if id is None else _column(id, source)
        who = None if user is None else _column(user, source)
        lengths = [len(column) for column in (arrival, width, held, number)]
        if len({*lengths, lengths[0] if who is None else len(who)}) > 1:
            raise InputError(
                f"{source}: job columns differ in length: {lengths[0]} arrivals, {lengths[1]} node counts, "
                f"{lengths[2]} durations, {lengths[3]} ids" + ("" if who is None else f", {len(who)} users")
            )
        kept, rejected = _sift(arrival, width, held, number)
        kept = kept[np.argsort(arrival[kept], kind="stable")]
        return cls(
            arrival_s=arrival[kept],
            nodes=np.ceil(np.minimum(width[kept], _MOST)).astype(np.int64),
            duration_s=held[kept],
            id=number[kept].astype(np.int64),
            rejected=rejected,
            source=source,
            epoch=epoch,
            user=None if who is None else np.nan_to_num(who[kept], nan=-1.0).astype(np.int64),
        )

    def for_cluster(self, total_nodes: int) -> "JobTable":
        """Leave out, and count, the jobs that could never start on `total_nodes` nodes."""
        fits = self.nodes <= total_nodes
        if fits.all():
            return self
        rejected = {**self.rejected, wider_than(total_nodes): int(np.count_nonzero(~fits))}
        return JobTable(
            self.arrival_s[fits],
            self.nodes[fits],
            self.duration_s[fits],
            self.id[fits],
            rejected,
            self.source,
            self.epoch,
            None if self.user is None else self.user[fits],
        )

    def rejection_report(self) -> str:
        """Such as "rejected: 3 jobs wider than 2840 nodes"; empty where every job was kept."""
        if not self.rejected:
            return ""
        parts = (f"{n} job{'' if n == 1 else 's'} {rule}" for rule, n in self.rejected.items())
        return "rejected: " + "; ".join(parts)


def read_jobs(
    path: str | Path,
    *,
    gpus_per_node: int = 8,
    processors_per_node: int | None = None,
    start: np.datetime64 | str | None = None,
) -> JobTable:
    """Read a job log: Standard Workload Format, or CSV; either may be gzipped (`.gz`).

    SWF: the width is the allocated processors, or the requested where the allocated are missing; the time held
    is the run time. CSV: a header with `arrival_s` or `submit` (seconds, or a date and time), `duration_s`, and
    `nodes` or `num_gpus`; `id` and `user` (or `vc`, a virtual cluster) are optional, and other columns are
    ignored.

    Parameters
    ----------
    gpus_per_node : int
        Turns `num_gpus` of a CSV into nodes, rounded up.
    processors_per_node : int, optional
        Turns SWF processors into nodes, rounded up. Left out: MaxProcs / MaxNodes of the log's header where
        that is a whole number, else 1.
    start : datetime64 or ISO string [UTC], optional
        The instant from which arrivals count; jobs submitted before it are rejected. Left out: the log's own.

    Raises
    ------
    InputError
        A file that cannot be read, a line that was cut or is not numbers (naming it), a missing column.
    """
    path = Path(path)
    for name, value in (("gpus_per_node", gpus_per_node), ("processors_per_node", processors_per_node)):
        if value is not None and value < 1:
            raise InputError(f"{name} = {value}: must be 1 or more")
    lines = _lines(path)
    log = (
        _read_csv(path, lines, gpus_per_node)
        if _is_csv(path)
        else _read_swf(path, lines, processors_per_node)
    )
    arrival, epoch = _counted_from(start, log.arrival_s, log.epoch)
    table = JobTable.from_arrays(
        arrival, log.nodes, log.duration_s, log.id, source=path.name, epoch=epoch, user=log.user
    )
    if table.rejected:
        _log.warning("%s: %s", path.name, table.rejection_report())
    return table


class _Log(NamedTuple):
    arrival_s: FloatArray
    nodes: FloatArray
    duration_s: FloatArray
    id: FloatArray | None
    epoch: np.datetime64 | None
    user: NDArray[np.integer] | FloatArray | None


def _column(values: ArrayLike, source: str) -> FloatArray:
    array = np.asarray(values)
    if array.ndim != 1 or (array.size and not np.issubdtype(array.dtype, np.number)):
        raise InputError(
            f"{source}: a job column must be one-dimensional numbers, got {array.dtype}, shape {array.shape}"
        )
    return array.astype(np.float64)


def _sift(
    arrival: FloatArray, nodes: FloatArray, duration: FloatArray, number: FloatArray
) -> tuple[IntArray, dict[str, int]]:
    """Indices of the jobs that keep every rule, and the count of the others by rule."""
    kept = np.arange(len(arrival))
    rejected: dict[str, int] = {}

    def reject(rule: str, breaks: Callable[[IntArray], NDArray[np.bool_]]) -> None:
        nonlocal kept
        bad = breaks(kept)
        if bad.any():
            rejected[rule] = int(np.count_nonzero(bad))
            kept = kept[~bad]

    # Written so that NaN breaks the rule.
    reject(BAD_DURATION, lambda k: ~((duration[k] > 0) & np.isfinite(duration[k])))
    reject(BAD_NODES, lambda k: ~((nodes[k] > 0) & np.isfinite(nodes[k])))
    reject(BAD_ARRIVAL, lambda k: ~((arrival[k] >= 0) & np.isfinite(arrival[k])))
    reject(BAD_ID, lambda k: ~(np.abs(number[k]) <= _MOST))
    reject(DUPLICATE_ID, lambda k: _repeats(number[k]))
    return kept, rejected


def _repeats(values: FloatArray) -> NDArray[np.bool_]:
    repeated = np.ones(len(values), dtype=np.bool_)
    repeated[np.unique(values, return_index=True)[1]] = False
    return repeated


def _counted_from(
    start: np.datetime64 | str | None, arrival_s: FloatArray, epoch: np.datetime64 | None
) -> tuple[FloatArray, np.datetime64 | None]:
    if start is None:
        return arrival_s, epoch
    try:
        instant = np.datetime64(str(start), "ns")
    except ValueError:
        raise InputError(f"start = {start!r} is not a date and time; write it as 2018-01-01T00:00") from None
    if epoch is None:
        return arrival_s, instant
    return arrival_s - (instant - epoch) / np.timedelta64(1, "s"), instant


# --- the queue -------------------------------------------------------------------------------------------


def schedule(
    policy: Literal["fifo", "easy"],
    arrival: NDArray[np.integer],
    nodes: NDArray[np.integer],
    duration: NDArray[np.integer],
    total_nodes: int,
) -> NDArray[np.integer]:
    """Start ticks of jobs, in the type of `arrival`, shape (jobs,).

    Parameters
    ----------
    arrival, nodes, duration : integer arrays (jobs,)
        Ticks, nodes, ticks; sorted by arrival, 1 ≤ nodes ≤ total_nodes, duration ≥ 1: trusted, not checked.

    Raises
    ------
    InputError
        A job longer than the scheduler can look ahead.
    """
    longest = int(duration.max(initial=1))
    if longest >= LONGEST_TICKS:
        raise InputError(
            f"a job of {longest} ticks is longer than the scheduler's {LONGEST_TICKS - 1}; shorten it, or use a "
            "coarser tick"
        )
    slots = max(64, 1 << longest.bit_length())
    start = np.empty_like(arrival)
    run = scheduler.easy if policy == "easy" else scheduler.fifo
    wheel, pending = np.zeros(slots, np.int32), np.zeros(slots // 64, np.int32)
    run(arrival, nodes, duration, total_nodes, wheel, pending, start)
    return start


def schedule_fifo(arrival: ArrayLike, nodes: ArrayLike, duration: ArrayLike, total_nodes: int) -> IntArray:
    """When each job starts under strict first-in-first-out.

    Order is by arrival, ties by position; the head of the queue blocks all behind it; nodes freed in a tick can
    start a job in that tick; a job holds its nodes for exactly `duration` ticks.

    Parameters
    ----------
    arrival, nodes, duration : integer array_like, shape (jobs,)
        Ticks of any length; node counts in 1…total_nodes; durations of 1 tick or more.
    total_nodes : int
        Nodes of the cluster.

    Returns
    -------
    int64 array, shape (jobs,)
        Start ticks, in the order given.

    Raises
    ------
    InputError
        Values that are not whole numbers, or a job that could never run, naming the first.
    """
    ticks, widths, lengths = (
        _whole(name, values)
        for name, values in (("arrival", arrival), ("nodes", nodes), ("duration", duration))
    )
    if not len(ticks) == len(widths) == len(lengths):
        raise InputError(
            f"arrival, nodes and duration differ in length: {len(ticks)}, {len(widths)}, {len(lengths)}"
        )
    _refuse(widths < 1, "nodes", widths, "must be 1 or more")
    _refuse(widths > total_nodes, "nodes", widths, f"is wider than the cluster of {total_nodes} nodes")
    _refuse(lengths < 1, "duration", lengths, "must be 1 tick or more")
    if np.all(ticks[1:] >= ticks[:-1]):
        return schedule("fifo", ticks, widths, lengths, total_nodes).astype(np.int64, copy=False)
    order = np.argsort(ticks, kind="stable")
    start = np.empty_like(ticks)
    start[order] = schedule("fifo", ticks[order], widths[order], lengths[order], total_nodes)
    return start


def _whole(name: str, values: ArrayLike) -> IntArray:
    array = np.asarray(values)
    if array.ndim != 1 or (array.size and not np.issubdtype(array.dtype, np.integer)):
        raise InputError(
            f"{name} must be a one-dimensional array of whole ticks or nodes, got {array.dtype}, "
            f"shape {array.shape}; round it to ticks first"
        )
    return np.ascontiguousarray(array, dtype=np.int64)


def _refuse(bad: NDArray[np.bool_], name: str, values: IntArray, why: str) -> None:
    if bad.any():
        first = int(np.argmax(bad))
        raise InputError(f"job {first}: {name} = {values[first]} {why}")


# --- files -----------------------------------------------------------------------------------------------


def _is_csv(path: Path) -> bool:
    return path.name.removesuffix(".gz").endswith(".csv")


def _lines(path: Path) -> list[str]:
    try:
        raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        text = _decoded(path, raw)
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise InputError(f"{path}: the gzip file is damaged or cut short; fetch it again") from None
    except OSError as error:
        raise InputError(f"cannot read job log {path}: {error.strerror or error}") from None
    if text and not text.endswith("\n"):
        _log.warning(
            "%s: the last line has no line end; if the file was cut, its last job may be wrong", path
        )
    return text.splitlines()


def _decoded(path: Path, raw: bytes) -> str:
    """Text in UTF-8, or in Latin-1, in which old logs name people and places; neither has a zero byte."""
    if b"\0" in raw or raw[:2] == b"\x1f\x8b":
        raise InputError(f"{path}: not a text file (a gzipped log must be named .gz)")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return raw.decode("latin-1")


# --- Standard Workload Format ----------------------------------------------------------------------------


def _read_swf(path: Path, lines: list[str], processors_per_node: int | None) -> _Log:
    header = _swf_header(lines)
    records = _swf_records(path, lines)
    per_node = processors_per_node or _header_processors_per_node(header)
    allocated, requested = records[:, _SWF_ALLOCATED], records[:, _SWF_REQUESTED]
    epoch = header.get("unixstarttime", "")
    return _Log(
        arrival_s=records[:, _SWF_SUBMIT],
        nodes=np.where(allocated > 0, allocated, requested) / per_node,
        duration_s=records[:, _SWF_RUN],
        id=records[:, _SWF_ID],
        epoch=np.datetime64(int(epoch), "s").astype("datetime64[ns]") if epoch.isdigit() else None,
        user=records[:, _SWF_USER] if (records[:, _SWF_USER] >= 0).any() else None,
    )


def _swf_header(lines: list[str]) -> dict[str, str]:
    """`; Key: value` lines, keys in lower case; the first of a repeated key counts."""
    header: dict[str, str] = {}
    for line in lines:
        if line.startswith(";"):
            key, colon, value = line.lstrip("; \t").partition(":")
            if colon:
                header.setdefault(key.strip().lower(), value.strip())
    return header


def _header_processors_per_node(header: Mapping[str, str]) -> int:
    processors, nodes = header.get("maxprocs", ""), header.get("maxnodes", "")
    if processors.isdigit() and nodes.isdigit() and int(nodes) > 0 and int(processors) % int(nodes) == 0:
        return max(1, int(processors) // int(nodes))
    return 1


def _swf_records(path: Path, lines: list[str]) -> FloatArray:
    records = [line for line in lines if line.strip() and not line.startswith(";")]
    if not records:
        return np.empty((0, SWF_MIN_COLUMNS))
    try:
        table = np.loadtxt(records, comments=";", ndmin=2)
    except ValueError:
        table = np.empty((0, 0))
    if table.shape[1] < SWF_MIN_COLUMNS:
        raise _bad_swf_line(path, lines)
    return table


def _bad_swf_line(path: Path, lines: list[str]) -> InputError:
    """Find the line the fast reader stumbled over."""
    columns = 0
    for number, line in enumerate(lines, start=1):
        fields = line.split(";")[0].split()
        if not fields:
            continue
        for text in fields:
            if not _is_number(text):
                return InputError(
                    f"{path}, line {number}: {text!r} is not a number; an SWF line holds {SWF_MIN_COLUMNS} "
                    "or more numbers, and a comment starts with ';'. Repair or delete the line"
                )
        columns = columns or max(len(fields), SWF_MIN_COLUMNS)
        if len(fields) != columns:
            last = not any(later.strip() for later in lines[number:])
            return InputError(
                f"{path}, line {number}: {len(fields)} fields where {columns} are expected; "
                + (
                    "the file ends in the middle of a line: fetch it again or delete the line"
                    if last
                    else "repair or delete the line"
                )
            )
    return InputError(f"{path}: not a Standard Workload Format log")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


# --- CSV -------------------------------------------------------------------------------------------------


def _read_csv(path: Path, lines: list[str], gpus_per_node: int) -> _Log:
    columns = _csv_columns(path, lines)
    arrival_s, epoch = _csv_arrival(path, columns)
    if "nodes" in columns:
        nodes = _csv_numbers(path, columns, "nodes")
    else:
        nodes = _csv_numbers(path, columns, _one_of(path, columns, "nodes", "num_gpus")) / gpus_per_node
    return _Log(
        arrival_s=arrival_s,
        nodes=nodes,
        duration_s=_csv_numbers(path, columns, _one_of(path, columns, "duration_s")),
        id=_csv_numbers(path, columns, "id") if "id" in columns else None,
        epoch=epoch,
        user=_csv_users(columns),
    )


def _csv_columns(path: Path, lines: list[str]) -> dict[str, list[str]]:
    rows = csv.reader(lines)
    names = [name.strip() for name in next(rows, [])]
    table: list[list[str]] = []
    for row in rows:
        if not row:
            continue
        if len(row) != len(names):
            raise InputError(
                f"{path}, line {rows.line_num}: {len(row)} fields where the header has {len(names)}; "
                "repair or delete the line (a file cut short ends like this)"
            )
        table.append(row)
    return {name: [row[i] for row in table] for i, name in enumerate(names)}


def _one_of(path: Path, columns: Mapping[str, list[str]], *names: str) -> str:
    for name in names:
        if name in columns:
            return name
    raise InputError(
        f"{path}: no column {' or '.join(names)}; the header has {', '.join(columns) or 'nothing'}"
    )


def _csv_arrival(path: Path, columns: Mapping[str, list[str]]) -> tuple[FloatArray, np.datetime64 | None]:
    name = _one_of(path, columns, "arrival_s", "submit")
    texts = columns[name]
    first = next((text for text in texts if text.strip()), "")
    if name == "arrival_s" or not first or _is_number(first):
        return _csv_numbers(path, columns, name), None
    instants = np.array([_instant(path, row, text) for row, text in enumerate(texts, start=2)])
    epoch = np.datetime64(instants[~np.isnat(instants)].min(), "ns")
    return (instants - epoch) / np.timedelta64(1, "s"), epoch


def _instant(path: Path, row: int, text: str) -> np.datetime64:
    try:
        return np.datetime64(text.strip().removesuffix("Z") or "NaT", "ns")
    except ValueError:
        raise InputError(
            f"{path}, line {row}: submit = {text!r} is not a date and time; "
            "write it as 2018-01-01T00:00:00 (UTC)"
        ) from None


def _csv_users(columns: Mapping[str, list[str]]) -> NDArray[np.integer] | None:
    names = columns.get("user", columns.get("vc"))
    return None if names is None else np.unique(np.array(names, dtype=str), return_inverse=True)[1]


def _csv_numbers(path: Path, columns: Mapping[str, list[str]], name: str) -> FloatArray:
    values = np.empty(len(columns[name]))
    for i, text in enumerate(columns[name]):
        try:
            values[i] = float(text) if text.strip() else np.nan
        except ValueError:
            raise InputError(f"{path}, data row {i + 1}: {name} = {text!r} is not a number") from None
    return values

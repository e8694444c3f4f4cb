"""The one writer of trace files: CF netCDF-4, in whole chunks, to `name.part`, renamed when complete.

A file under its own name is therefore complete. What a killed run leaves is `name.part`, with `name.part.json`
saying how far it is safe; only whole chunks are written, and a chunk once written is never touched again, so
everything before a safe point stays valid whenever the process dies.
"""

import hashlib
import json
import logging
import os
import time as clock
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import netCDF4
import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hsmdc import schema
from hsmdc.errors import InputError

_log = logging.getLogger(__name__)

CHUNK_STEPS = 1 << 17
# Measured on 0.1 s series: shuffle + zlib 1 writes 20–130 million values/s and cpu, so a year of nine variables
# takes under two minutes; level 4 gains 2 % in size for 20 % more time. zstd is five times as fast, but readers
# without its HDF5 plugin cannot open the file. Checksums cost 8 %.
_FILTERS: Mapping[str, Any] = {"zlib": True, "complevel": 1, "shuffle": True, "fletcher32": True}
_TIME_UNITS = (("seconds", 10**9), ("milliseconds", 10**6), ("microseconds", 10**3), ("nanoseconds", 1))


class Grid(NamedTuple):
    """Labels of a trace: the first, and the step between them [ns since 1970, ns]."""

    start_ns: int
    step_ns: int

    @classmethod
    def of(cls, part: xr.Dataset) -> "Grid":
        """The grid of a trace; raises InputError where the attribute `step_s` is missing."""
        if "step_s" not in part.attrs:
            raise InputError("the trace lacks the attribute step_s; build it with trace_dataset")
        first = part["time"].values[0].astype("datetime64[ns]").astype(np.int64)
        return cls(int(first), round(float(part.attrs["step_s"]) * 1e9))

    def label_ns(self, step: int) -> int:
        """Label of a step [ns since 1970]."""
        return self.start_ns + step * self.step_ns

    @property
    def epoch_ns(self) -> int:
        """The whole second from which the file counts its time."""
        return self.start_ns - self.start_ns % 10**9

    def time_unit(self) -> tuple[str, int]:
        """Name and length [ns] of the coarsest unit of time in which every label is whole."""
        for name, length_ns in _TIME_UNITS:
            if self.start_ns % 10**9 % length_ns == 0 and self.step_ns % length_ns == 0:
                return name, length_ns
        raise AssertionError("nanoseconds divide every label")


class TraceWriter:
    """Writes a trace of known length, stretch by stretch; memory does not grow with its length.

    ::

        with TraceWriter("window.nc", total_steps, resumable=True, resume=True) as writer:
            for part in parts_from(step=writer.steps_done):
                writer.append(part)

    Parameters
    ----------
    path : path of the finished file
    total_steps : int
        Steps of the finished trace; leaving the block with fewer is an error.
    force : bool
        Replace a file of that name.
    resumable : bool
        Keep what was written when the block is left by an exception, for a later `resume`.
    resume : bool
        Go on where an interrupted, resumable run stopped, if there was one; `steps_done` says where.
    checkpoint_s : float
        Least time between two safe points [s]; what follows the last one is lost if the process is killed.
    single_precision : bool
        Store the series as float32 (relative error 6e-8) whatever the parts hold: half the size for long streams.

    Raises
    ------
    InputError
        A file that exists, a folder that cannot be written, a part that does not follow on, an interrupted
        run of another configuration.
    """

    def __init__(
        self,
        path: str | Path,
        total_steps: int,
        *,
        force: bool = False,
        resumable: bool = False,
        resume: bool = False,
        checkpoint_s: float = 10.0,
        single_precision: bool = False,
    ) -> None:
        if total_steps < 1:
            raise InputError("a trace needs a time dimension of one step or more")
        self.path = Path(path)
        self.total_steps = total_steps
        self.steps_done = 0
        self._force = force
        self._resumable = resumable or resume
        self._checkpoint_s = checkpoint_s
        self._single_precision = single_precision
        self._part = self.path.with_name(self.path.name + ".part")
        self._state = self.path.with_name(self.path.name + ".part.json")
        self._file: Any = None  # netCDF4 is untyped
        self._grid = Grid(0, 0)
        self._to_confirm = ""
        self._tail: dict[str, NDArray[np.generic]] = {}
        self._checkpointed_at = clock.monotonic()
        check_writable(self.path, force=force)
        if resume:
            self._take_up()

    def __enter__(self) -> "TraceWriter":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._abandon()
            return
        try:
            self._finish()
        except BaseException:
            self._abandon()
            raise

    def append(self, part: xr.Dataset) -> None:
        """Add the next stretch; it must begin where the last one ended. The first one brings the job table.

        Raises
        ------
        InputError
            A stretch that breaks the schema or does not follow, or a file that cannot be written.
        """
        schema.validate_trace(part)
        grid = Grid.of(part)
        if self._single_precision:
            part = _in_single_precision(part)
        try:
            if self._file is None:
                self._begin(part, grid)
            self._check_follows(part, grid)
            self._write_chunks(part)
        except OSError as error:
            raise InputError(f"cannot write {self._part}: {error.strerror or error}") from error
        except RuntimeError as error:  # how netCDF4 reports a full disk
            raise InputError(f"cannot write {self._part}: {error}; is the disk full?") from error

    # --- whole chunks ------------------------------------------------------------------------------------

    def _check_follows(self, part: xr.Dataset, grid: Grid) -> None:
        if self._to_confirm and _digest(part) != self._to_confirm:
            raise InputError(
                f"{self._part} is an interrupted run of another configuration, seed or version; "
                "repeat the command that began it, or delete it to begin anew"
            )
        self._to_confirm = ""
        received = self.steps_done + self._tail_steps()
        expected = Grid(self._grid.label_ns(received), self._grid.step_ns)
        if grid != expected:
            raise InputError(
                f"{self.path}: the next part must begin at {_iso(expected.start_ns)} in steps of "
                f"{expected.step_ns / 1e9:g} s; it begins at {_iso(grid.start_ns)} in steps of "
                f"{grid.step_ns / 1e9:g} s"
            )
        if received + part.sizes["time"] > self.total_steps:
            raise InputError(f"{self.path}: more parts than the announced {self.total_steps} steps")
        stored, given = _series_of(self._file), _series_of(part)
        if stored != given:
            raise InputError(f"{self.path}: a part must bring the variables {stored}, not {given}")

    def _tail_steps(self) -> int:
        return len(next(iter(self._tail.values()), ()))

    def _write_chunks(self, part: xr.Dataset) -> None:
        first = self.steps_done
        last = first + self._tail_steps() + part.sizes["time"]
        if last < self.total_steps:
            last -= last % CHUNK_STEPS
        carried, self._tail = self._tail, {}
        for name in _series_of(self._file):
            values = part[name].values
            if carried:
                values = np.concatenate([carried[name], values])
            if last > first:
                self._file[name][first:last] = values[: last - first]
            self._tail[name] = values[last - first :].copy()
        if last > first:
            self._write_labels(first, last)
            self.steps_done = last
            self._checkpoint()

    def _write_labels(self, first: int, last: int) -> None:
        _, unit_ns = self._grid.time_unit()
        since = self._grid.start_ns - self._grid.epoch_ns
        labels = np.arange(first, last, dtype=np.int64) * (self._grid.step_ns // unit_ns) + since // unit_ns
        self._file["time"][first:last] = labels

    # --- the file ----------------------------------------------------------------------------------------

    def _begin(self, part: xr.Dataset, grid: Grid) -> None:
        self._state.unlink(missing_ok=True)
        self._grid = grid
        self._digest = _digest(part)
        self._file = netCDF4.Dataset(self._part, "w", format="NETCDF4")
        _create(self._file, part, grid, self.total_steps)
        _prepare(self._file)

    def _checkpoint(self, *, now: bool = False) -> None:
        if not self._resumable or self._file is None:
            return
        if not now and clock.monotonic() - self._checkpointed_at < self._checkpoint_s:
            return
        self._file.sync()
        _fsync(self._part)
        written = self._state.with_name(self._state.name + ".new")
        state = _State(self.steps_done, self.total_steps, self._digest, *self._grid)
        written.write_text(json.dumps(state._asdict()))
        os.replace(written, self._state)
        self._checkpointed_at = clock.monotonic()

    def _finish(self) -> None:
        if self.steps_done < self.total_steps:
            raise InputError(
                f"{self.path}: the parts ended after {self.steps_done + self._tail_steps()} of "
                f"{self.total_steps} steps"
            )
        self._close()
        check_writable(self.path, force=self._force)
        _fsync(self._part)
        os.replace(self._part, self.path)
        self._state.unlink(missing_ok=True)

    def _abandon(self) -> None:
        if self._resumable and self.steps_done:
            self._checkpoint(now=True)
        self._close()
        if not (self._resumable and self._state.exists()):
            self._part.unlink(missing_ok=True)

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    # --- taking up an interrupted run --------------------------------------------------------------------

    def _take_up(self) -> None:
        if not (self._state.is_file() and self._part.is_file()):
            return
        try:
            state = _State(**json.loads(self._state.read_text("utf-8")))
            file = netCDF4.Dataset(self._part, "r+")
        except (OSError, TypeError, ValueError) as error:
            _log.warning("%s cannot be taken up (%s); the run begins anew", self._part, error)
            return
        if state.total_steps != self.total_steps:
            file.close()
            raise InputError(
                f"{self._part} is an interrupted run of {state.total_steps} steps, this one has "
                f"{self.total_steps}; repeat the command that began it, or delete it to begin anew"
            )
        _prepare(file)
        self._file = file
        self._grid = Grid(state.start_ns, state.step_ns)
        self._digest = self._to_confirm = state.digest
        self.steps_done = state.steps_done


class _State(NamedTuple):
    """How far an interrupted run is safe, and of what run it is."""

    steps_done: int
    total_steps: int
    digest: str
    start_ns: int
    step_ns: int


def check_writable(path: Path, *, force: bool) -> None:
    """Refuse an output path at the start of a run rather than at its end.

    Raises
    ------
    InputError
        The file exists (unless `force`) or is a folder; its folder is missing or cannot be written.
    """
    if path.is_dir():
        raise InputError(f"{path} is a folder; give the name of a file in it")
    if path.exists() and not force:
        raise InputError(f"{path} exists; choose another name or overwrite it with --force (force=True)")
    folder = path.parent
    if not folder.is_dir():
        raise InputError(f"no folder {folder}; create it first")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(f"cannot write into folder {folder}: permission denied; choose another")


def _series_of(data: Any) -> list[str]:
    """Names of the variables over time, but time itself, of a netCDF4 or xarray Dataset."""
    over = {name: tuple(getattr(v, "dimensions", None) or v.dims) for name, v in data.variables.items()}
    return sorted(str(name) for name, dims in over.items() if dims == ("time",) and name != "time")


def _digest(part: xr.Dataset) -> str:
    run = {name: str(value) for name, value in part.attrs.items() if name != "history"}
    types = [str(part[name].dtype) for name in _series_of(part)]
    described = json.dumps([sorted(run.items()), _series_of(part), types])
    return hashlib.sha256(described.encode()).hexdigest()


def _in_single_precision(part: xr.Dataset) -> xr.Dataset:
    narrowed = {
        name: array.astype(np.float32) for name, array in part.data_vars.items() if _is_double_series(array)
    }
    return part.assign(narrowed)


def _is_double_series(array: xr.DataArray) -> bool:
    return array.dims == ("time",) and array.dtype == np.float64


def _create(file: Any, part: xr.Dataset, grid: Grid, total_steps: int) -> None:
    _refuse_strangers(part)
    file.setncatts(part.attrs)
    file.createDimension("time", total_steps)
    if "job" in part.dims:
        file.createDimension("job", part.sizes["job"])
    unit, _ = grid.time_unit()
    chunk = (min(total_steps, CHUNK_STEPS),)
    time = file.createVariable("time", "i8", ("time",), chunksizes=chunk, fill_value=False, **_FILTERS)
    time.setncatts(
        {**part["time"].attrs, "units": f"{unit} since {_iso(grid.epoch_ns)}", "calendar": "standard"}
    )
    for name, array in part.data_vars.items():
        _create_variable(file, str(name), array)


def _prepare(file: Any) -> None:
    file.set_auto_mask(False)
    for variable in file.variables.values():
        # Chunks come whole, one after another; the library's default cache would hold 64 MB of each variable.
        variable.set_var_chunk_cache(size=CHUNK_STEPS * 8, nelems=11)


def _create_variable(file: Any, name: str, array: xr.DataArray) -> None:
    entry = schema.VARIABLES.get(name)
    missing = np.nan if entry is not None and entry.may_be_missing else False
    chunk = [max(1, min(file.dimensions[dim].size, CHUNK_STEPS)) for dim in array.dims]
    variable = file.createVariable(
        name, array.dtype, array.dims, chunksizes=chunk, fill_value=missing, **_FILTERS
    )
    variable.setncatts(array.attrs)
    if array.dims == ("job",):
        variable[:] = array.values


def _refuse_strangers(part: xr.Dataset) -> None:
    extra = [str(name) for name in part.coords if name != "time"]
    extra += [str(n) for n, v in part.data_vars.items() if v.dims not in (("time",), ("job",))]
    extra += [str(n) for n, v in part.data_vars.items() if v.dtype.kind not in "iuf"]
    if extra:
        raise InputError(
            f"a trace file holds numbers over time or over job; drop or convert {', '.join(extra)}"
        )


def _iso(instant_ns: int) -> str:
    return str(np.datetime64(instant_ns, "ns").astype("datetime64[s]")).replace("T", " ")


def _fsync(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())

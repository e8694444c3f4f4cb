"""Traces for other tools: CSV, Parquet, OpenDSS, GridLAB-D, PSCAD and PSS/E.

A value is the mean over the step that begins at its label, in every format; load is positive.
"""

import contextlib
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, TextIO, get_args

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hsmdc import __version__, schema
from hsmdc.errors import InputError
from hsmdc.tracefile import check_writable

Format = Literal["csv", "parquet", "opendss", "gridlabd", "pscad", "psse"]
FORMATS: tuple[Format, ...] = get_args(Format)

_BLOCK_STEPS = 1 << 18
_PSCAD_MOST_COLUMNS = 10
_WHOLE: tuple[str, ...] = ("facility_power", "it_power", "node_power")
_TIME_UNITS: tuple[tuple[Literal["s", "ms", "us", "ns"], int], ...] = (
    ("s", 10**9),
    ("ms", 10**6),
    ("us", 10**3),
    ("ns", 1),
)
_UNIT_SUFFIX = {"MW": "mw", "W": "w", "degC": "degc", "1": ""}

Progress = Callable[[float, float], None]


class _Block(NamedTuple):
    """A stretch of the trace."""

    time: NDArray[np.datetime64]
    elapsed_s: NDArray[np.float64]
    values: dict[str, NDArray[np.floating]]


def export_trace(
    trace: xr.Dataset,
    path: str | Path,
    *,
    format: Format,
    variables: Sequence[str] | None = None,
    power_factor: float = 1.0,
    force: bool = False,
    progress: Progress | None = None,
) -> list[Path]:
    """Write the time series of a trace for another tool; the job table stays in the netCDF file.

    ========  =================================================================================================
    csv       header, UTC time, one column per variable with its unit in the name
    parquet   the same columns; global attributes as file metadata (needs pyarrow)
    opendss   one value [kW] per line, and beside it a `.dss` file with the LoadShape that reads it (UseActual)
    gridlabd  a player: UTC time, power [W, or VA as P+Qj where the power factor is below 1]
    pscad     for the File Read component: a comment line, then time from 0 [s] and up to ten columns
    psse      records of time from 0 [s], P [MW], Q [Mvar], for a playback script or user-written model
    ========  =================================================================================================

    Parameters
    ----------
    variables : names, optional
        Left out: every series (csv, parquet), the powers (pscad), `facility_power` (the other formats, which hold
        one power only).
    power_factor : float in (0, 1]
        Lagging; gives the reactive power of gridlabd and psse.
    progress : callable(done, total), optional

    Returns
    -------
    The files written.

    Raises
    ------
    InputError
        An unknown format or variable, an existing file (unless `force`), a folder that cannot be written.
    """
    if format not in FORMATS:
        raise InputError(f"no export format {format!r}; there are {', '.join(FORMATS)}")
    if not 0.0 < power_factor <= 1.0:
        raise InputError(f"power_factor = {power_factor}: must be above 0 and at most 1")
    if power_factor != 1.0 and format not in ("gridlabd", "psse"):
        raise InputError(f"format {format} holds no reactive power; leave power_factor out")
    names = _chosen(trace, format, variables)
    job = _Job(trace, Path(path), names, power_factor, progress or (lambda done, total: None))
    return _WRITERS[format](job, force)


class _Job(NamedTuple):
    """One export: what, where to, how."""

    trace: xr.Dataset
    path: Path
    names: list[str]
    power_factor: float
    progress: Progress

    @property
    def steps(self) -> int:
        """Steps of the trace."""
        return int(self.trace.sizes["time"])

    @property
    def step_s(self) -> float:
        """Length of a step [s]."""
        return float(self.trace.attrs["step_s"])

    def blocks(self) -> Iterator[_Block]:
        """The chosen series in blocks, each checked against the schema."""
        start = self.trace["time"].values[0]
        series = self.trace.drop_dims("job", errors="ignore")
        for first in range(0, self.steps, _BLOCK_STEPS):
            part = series.isel(time=slice(first, first + _BLOCK_STEPS))
            schema.validate_trace(part)
            time = part["time"].values
            yield _Block(
                time,
                (time - start) / np.timedelta64(1, "s"),
                {name: part[name].values for name in self.names},
            )
            self.progress(min(first + _BLOCK_STEPS, self.steps), self.steps)

    def about(self) -> str:
        """One line for the head of a file: what, in which units, from when."""
        start = np.datetime_as_string(self.trace["time"].values[0], unit="s")
        what = ", ".join(f"{name} [{schema.VARIABLES[name].units}]" for name in self.names)
        return f"hsmdc {__version__}: {what}, mean over {self.step_s:g} s from {start} UTC"


def _chosen(trace: xr.Dataset, format: Format, variables: Sequence[str] | None) -> list[str]:
    series = [str(name) for name in trace.data_vars if str(name) in schema.VARIABLES]
    series = [name for name in series if schema.VARIABLES[name].dim == "time"]
    powers = [name for name in series if schema.VARIABLES[name].units in ("MW", "W")]
    single = format in ("opendss", "gridlabd", "psse")
    allowed = series if format in ("csv", "parquet") else powers
    names = list(variables) if variables is not None else allowed
    if variables is None and single:
        names = [name for name in _WHOLE if name in powers][:1]
    for name in names:
        if name not in allowed:
            raise InputError(
                f"format {format} cannot hold {name!r} of this trace; it can: {', '.join(allowed)}"
            )
    if not names:
        raise InputError(
            f"nothing to write; choose from {', '.join(allowed) or 'none: the trace has no power'}"
        )
    if single and len(names) > 1:
        raise InputError(f"format {format} holds one power; choose one of {', '.join(powers)}")
    if format == "pscad" and len(names) > _PSCAD_MOST_COLUMNS:
        raise InputError(f"PSCAD reads at most {_PSCAD_MOST_COLUMNS} columns beside time, not {len(names)}")
    return names


@contextlib.contextmanager
def _replacing(*paths: Path, force: bool) -> Iterator[list[Path]]:
    """Temporary names that become the real ones, together, when the block ends well."""
    for path in paths:
        check_writable(path, force=force)
    parts = [path.with_name(path.name + ".part") for path in paths]
    try:
        yield parts
        for part, path in zip(parts, paths, strict=True):
            os.replace(part, path)
    except OSError as error:
        raise InputError(f"cannot write {paths[0]}: {error.strerror or error}") from error
    finally:
        for part in parts:
            part.unlink(missing_ok=True)


def _column(name: str) -> str:
    suffix = _UNIT_SUFFIX[schema.VARIABLES[name].units]
    return f"{name}_{suffix}" if suffix else name


def _watts(name: str, values: NDArray[np.floating]) -> NDArray[np.float64]:
    factor = 1e6 if schema.VARIABLES[name].units == "MW" else 1.0
    return values.astype(np.float64) * factor


def _labels(job: _Job, time: NDArray[np.datetime64], *, blank: bool = False) -> list[str]:
    """UTC times, with as many digits as the step and the start need."""
    grid = (int(job.trace["time"].values[0].astype(np.int64)), round(job.step_s * 1e9))
    unit = next(name for name, length_ns in _TIME_UNITS if not any(part % length_ns for part in grid))
    text: list[str] = np.datetime_as_string(time, unit=unit).tolist()
    return [label.replace("T", " ") for label in text] if blank else text


def _lines(file: TextIO, *columns: list[str], separator: str = ",") -> None:
    file.writelines(separator.join(row) + "\n" for row in zip(*columns, strict=True))


def _shortest(values: NDArray[np.floating]) -> list[str]:
    """The shortest decimals that give the same number back in its own precision."""
    if values.dtype == np.float32:
        return [str(value) for value in values]
    return [repr(value) for value in values.tolist()]


# --- tables ----------------------------------------------------------------------------------------------


def _write_csv(job: _Job, force: bool) -> list[Path]:
    with _replacing(job.path, force=force) as (part,), part.open("w", encoding="utf-8") as file:
        file.write(",".join(["time_utc", *map(_column, job.names)]) + "\n")
        for block in job.blocks():
            _lines(file, _labels(job, block.time), *(_shortest(block.values[name]) for name in job.names))
    return [job.path]


def _write_parquet(job: _Job, force: bool) -> list[Path]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise InputError("Parquet needs pyarrow: pip install 'hsmdc[parquet]'") from None
    columns = [pa.field("time_utc", pa.timestamp("ns", tz="UTC"))]
    columns += [pa.field(_column(name), pa.from_numpy_dtype(job.trace[name].dtype)) for name in job.names]
    about = {name: str(value) for name, value in job.trace.attrs.items()}
    wanted = pa.schema(columns, metadata=about)
    with _replacing(job.path, force=force) as (part,), pq.ParquetWriter(part, wanted) as writer:
        for block in job.blocks():
            arrays = [pa.array(block.time.astype(np.int64)).cast(wanted.field(0).type)]
            arrays += [pa.array(block.values[name]) for name in job.names]
            writer.write_table(pa.Table.from_arrays(arrays, schema=wanted))
    return [job.path]


# --- power-system tools ----------------------------------------------------------------------------------


def _write_opendss(job: _Job, force: bool) -> list[Path]:
    if job.path.suffix not in ("", ".csv", ".dss"):
        raise InputError(f"{job.path}: opendss writes a .csv and a .dss file; end the name in .csv")
    values_path, command_path = job.path.with_suffix(".csv"), job.path.with_suffix(".dss")
    shape = re.sub(r"\W", "_", job.path.stem)
    with _replacing(values_path, command_path, force=force) as (values, command):
        with values.open("w", encoding="utf-8") as file:
            for block in job.blocks():
                _lines(file, _shortest(_watts(job.names[0], block.values[job.names[0]]) * 1e-3))
        command.write_text(
            f"! {job.about()}, here in kW\n"
            f"New LoadShape.{shape} npts={job.steps} sinterval={job.step_s:.12g} "
            f'mult=(file="{values_path.name}") UseActual=yes\n'
            f"! for example: New Load.{shape} bus1=... kV=... kW=1 pf=1 yearly={shape} daily={shape} duty={shape}\n",
            encoding="utf-8",
        )
    return [values_path, command_path]


def _write_gridlabd(job: _Job, force: bool) -> list[Path]:
    reactive = _reactive_per_active(job.power_factor)
    with _replacing(job.path, force=force) as (part,), part.open("w", encoding="utf-8") as file:
        file.write(f"# {job.about()}, here in {'VA' if reactive else 'W'}\n")
        for block in job.blocks():
            watts = _watts(job.names[0], block.values[job.names[0]])
            power = [f"{p!r}+{p * reactive!r}j" for p in watts.tolist()] if reactive else _shortest(watts)
            _lines(file, [label + " UTC" for label in _labels(job, block.time, blank=True)], power)
    return [job.path]


def _write_pscad(job: _Job, force: bool) -> list[Path]:
    with _replacing(job.path, force=force) as (part,), part.open("w", encoding="utf-8") as file:
        file.write(f"! {job.about()}\n")
        for block in job.blocks():
            columns = [block.elapsed_s, *(block.values[name] for name in job.names)]
            _lines(
                file, *([f"{value:.10E}" for value in column.tolist()] for column in columns), separator=" "
            )
    return [job.path]


def _write_psse(job: _Job, force: bool) -> list[Path]:
    reactive = _reactive_per_active(job.power_factor)
    name = job.names[0]
    with _replacing(job.path, force=force) as (part,), part.open("w", encoding="utf-8") as file:
        for block in job.blocks():
            active_mw = _watts(name, block.values[name]) * 1e-6
            _lines(
                file,
                [f"{t:.6f}" for t in block.elapsed_s.tolist()],
                [f"{p:.6f}" for p in active_mw.tolist()],
                [f"{q:.6f}" for q in (active_mw * reactive).tolist()],
            )
    return [job.path]


def _reactive_per_active(power_factor: float) -> float:
    return float(np.sqrt(1.0 - power_factor**2) / power_factor)


_WRITERS: Mapping[Format, Callable[[_Job, bool], list[Path]]] = {
    "csv": _write_csv,
    "parquet": _write_parquet,
    "opendss": _write_opendss,
    "gridlabd": _write_gridlabd,
    "pscad": _write_pscad,
    "psse": _write_psse,
}

"""Streams: any cut gives the same data, an interruption leaves nothing that looks whole, a resume goes on."""

import json
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import netCDF4
import numpy as np
import pytest
import xarray as xr

from hsmdc import tracefile
from hsmdc.errors import InputError
from hsmdc.schema import validate_trace
from hsmdc.traces import TraceWriter, open_trace

Make = Callable[..., xr.Dataset]
TOTAL = 1000


class Interruption(Exception):
    """Stands for whatever ends a run early."""


@pytest.fixture(autouse=True)
def _short_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracefile, "CHUNK_STEPS", 64)


def _write(make: Make, path: Path, cuts: list[int], **options: object) -> None:
    with TraceWriter(path, TOTAL, **options) as writer:
        for first, last in zip([0, *cuts], [*cuts, TOTAL], strict=True):
            writer.append(make(last - first, first=first, jobs=first == 0))


def _interrupt_after(make: Make, path: Path, steps: int, **options: object) -> None:
    """Append `steps` more steps, then fail."""
    with TraceWriter(path, TOTAL, **options) as writer:
        writer.append(make(steps, first=writer.steps_done))
        assert not path.exists()
        raise Interruption


def _interrupted(make: Make, path: Path, steps: int) -> None:
    with pytest.raises(Interruption):
        _interrupt_after(make, path, steps, resumable=True)


def _append(path: Path, *parts: xr.Dataset, resume: bool = False) -> None:
    with TraceWriter(path, TOTAL, resume=resume) as writer:
        for part in parts:
            writer.append(part)


def _contents(path: Path) -> dict[str, bytes]:
    with netCDF4.Dataset(path) as file:
        file.set_auto_mask(False)
        return {name: variable[:].tobytes() for name, variable in file.variables.items()}


@pytest.mark.parametrize("cuts", [[], [500], [64, 128], [1, 2, 3], [63, 65, 999]])
def test_any_cut_gives_the_same_bytes_of_data(trace: Make, tmp_path: Path, cuts: list[int]) -> None:
    _write(trace, tmp_path / "whole.nc", [])
    _write(trace, tmp_path / "cut.nc", cuts)
    assert _contents(tmp_path / "cut.nc") == _contents(tmp_path / "whole.nc")
    with open_trace(tmp_path / "cut.nc") as opened:
        xr.testing.assert_identical(opened, trace(TOTAL))


def test_single_precision_halves_the_series_only(trace: Make, tmp_path: Path) -> None:
    _write(trace, tmp_path / "t.nc", [100, 700], single_precision=True)
    with open_trace(tmp_path / "t.nc") as opened:
        validate_trace(opened)
        for name, variable in trace(TOTAL).data_vars.items():
            expected = variable.astype(np.float32) if variable.dims == ("time",) else variable
            xr.testing.assert_identical(opened[name].variable, expected.variable)


def test_an_interrupted_run_leaves_no_file(trace: Make, tmp_path: Path) -> None:
    with pytest.raises(Interruption):
        _interrupt_after(trace, tmp_path / "t.nc", 600)
    assert list(tmp_path.iterdir()) == []


def test_parts_that_end_too_early_leave_no_file(trace: Make, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="ended after 600 of 1000 steps"):
        _append(tmp_path / "t.nc", trace(600))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("steps", [64, 600, 999])
def test_a_resumed_run_gives_the_same_bytes_of_data(trace: Make, tmp_path: Path, steps: int) -> None:
    _write(trace, tmp_path / "whole.nc", [])
    _interrupted(trace, tmp_path / "t.nc", steps)
    assert not (tmp_path / "t.nc").exists()
    with TraceWriter(tmp_path / "t.nc", TOTAL, resume=True) as writer:
        done = writer.steps_done
        assert done == steps // 64 * 64
        writer.append(trace(TOTAL - done, first=done, jobs=False))
    assert _contents(tmp_path / "t.nc") == _contents(tmp_path / "whole.nc")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["t.nc", "whole.nc"]


def test_interrupted_before_the_first_chunk_begins_anew(trace: Make, tmp_path: Path) -> None:
    _interrupted(trace, tmp_path / "t.nc", 10)
    assert list(tmp_path.iterdir()) == []
    with TraceWriter(tmp_path / "t.nc", TOTAL, resume=True) as writer:
        assert writer.steps_done == 0
        writer.append(trace(TOTAL))


def test_a_run_can_be_interrupted_twice(trace: Make, tmp_path: Path) -> None:
    _interrupted(trace, tmp_path / "t.nc", 200)
    with pytest.raises(Interruption):
        _interrupt_after(trace, tmp_path / "t.nc", 300, resume=True)
    with TraceWriter(tmp_path / "t.nc", TOTAL, resume=True) as writer:
        assert writer.steps_done == 448
        writer.append(trace(TOTAL - 448, first=448))
    with open_trace(tmp_path / "t.nc") as opened:
        xr.testing.assert_identical(opened, trace(TOTAL))


def test_a_resume_under_another_configuration_is_refused(trace: Make, tmp_path: Path) -> None:
    _interrupted(trace, tmp_path / "t.nc", 600)
    rest = trace(TOTAL - 576, first=576)
    with pytest.raises(InputError, match="another configuration, seed or version"):
        _append(tmp_path / "t.nc", rest.assign_attrs(seed=1), resume=True)
    with pytest.raises(InputError, match="interrupted run of 1000 steps, this one has 2000"):
        TraceWriter(tmp_path / "t.nc", 2000, resume=True)
    # The refusals have not harmed what was there.
    _append(tmp_path / "t.nc", rest, resume=True)


def test_a_damaged_leftover_is_begun_anew_with_a_warning(
    trace: Make, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    _interrupted(trace, tmp_path / "t.nc", 600)
    (tmp_path / "t.nc.part").write_bytes(b"damaged")
    with TraceWriter(tmp_path / "t.nc", TOTAL, resume=True) as writer:
        assert writer.steps_done == 0
        writer.append(trace(TOTAL))
    assert "the run begins anew" in caplog.text


def test_without_resume_a_leftover_is_overwritten(trace: Make, tmp_path: Path) -> None:
    _interrupted(trace, tmp_path / "t.nc", 600)
    _write(trace, tmp_path / "t.nc", [])
    assert [p.name for p in tmp_path.iterdir()] == ["t.nc"]


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ({"steps": 400, "first": 501}, "must begin at 2018-01-01 08:20:00 .* begins at 2018-01-01 08:21:00"),
        ({"steps": 400, "first": 0}, "must begin at 2018-01-01 08:20:00 .* begins at 2018-01-01 00:00:00"),
        ({"first": 500, "steps": 501}, "more parts than the announced 1000 steps"),
    ],
)
def test_parts_must_follow_on(trace: Make, tmp_path: Path, second: dict[str, int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        _append(tmp_path / "t.nc", trace(500), trace(**second))


def test_parts_must_bring_the_same_variables(trace: Make, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a part must bring the variables"):
        _append(tmp_path / "t.nc", trace(500), trace(500, first=500).drop_vars("busy_nodes"))


_ENDLESS = """
    import sys
    import numpy as np
    from hsmdc import tracefile
    from hsmdc.traces import TraceWriter, trace_dataset
    tracefile.CHUNK_STEPS = 64
    start = np.datetime64("2018-01-01")
    def part(first, steps):
        i = np.arange(first, first + steps)
        return trace_dataset(start=start + np.timedelta64(60 * first, "s"), step_s=60.0,
                             series={"it_power": 4.0 + np.sin(i / 50.0)})
    total, resume, limit = int(sys.argv[2]), sys.argv[3] == "resume", int(sys.argv[4])
    with TraceWriter(sys.argv[1], total, resumable=True, resume=resume, checkpoint_s=0.0) as writer:
        first = writer.steps_done
        print(first, flush=True)
        for at in range(first, total, 100):
            writer.append(part(at, min(100, total - at)))
"""


def _run(path: Path, mode: str) -> subprocess.Popen[str]:
    code = textwrap.dedent(_ENDLESS)
    return subprocess.Popen(
        [sys.executable, "-c", code, str(path), "20000", mode, "0"], stdout=subprocess.PIPE, text=True
    )


def _state(path: Path) -> int:
    try:
        return int(json.loads(path.with_name(path.name + ".part.json").read_text())["steps_done"])
    except FileNotFoundError:
        return 0


def test_a_killed_process_loses_nothing_before_its_last_safe_point(tmp_path: Path) -> None:
    path = tmp_path / "t.nc"
    with _run(path, "fresh") as process:
        deadline = time.monotonic() + 60.0
        while _state(path) < 1000 and time.monotonic() < deadline:
            time.sleep(0.005)
        process.kill()
    safe = _state(path)
    assert 1000 <= safe < 20000
    assert not path.exists()
    with _run(path, "resume") as process:
        assert process.stdout is not None
        begun_at = int(process.stdout.readline())
        assert process.wait() == 0
    assert begun_at == safe
    with open_trace(path) as opened:
        np.testing.assert_array_equal(opened["it_power"].values, 4.0 + np.sin(np.arange(20000) / 50.0))
        assert (np.diff(opened["time"].values) == np.timedelta64(60, "s")).all()


_LONG = """
    import resource, sys
    import numpy as np
    from hsmdc.traces import TraceWriter, trace_dataset
    block, blocks = 1 << 20, int(sys.argv[2])
    power = (4.0 + np.random.default_rng(0).standard_normal(block)).astype(np.float32)
    with TraceWriter(sys.argv[1], block * blocks) as writer:
        for k in range(blocks):
            start = np.datetime64("2018-01-01") + np.timedelta64(k * block * 100, "ms")
            writer.append(trace_dataset(start=start, step_s=0.1, series={"it_power": power, "node_power": power}))
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def test_memory_does_not_grow_with_the_length_of_the_run(tmp_path: Path) -> None:
    def peak_mb(blocks: int) -> float:
        command = [sys.executable, "-c", textwrap.dedent(_LONG), str(tmp_path / f"{blocks}.nc"), str(blocks)]
        run = subprocess.run(command, capture_output=True, text=True, check=True)
        return int(run.stdout) / 1024.0

    # Sixteen more blocks hold 256 MB of data and labels.
    assert peak_mb(18) - peak_mb(2) < 32.0

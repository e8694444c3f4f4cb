"""The schedule's Dataset: schema, netCDF there and back, figures, sensitivities."""

from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from hsmdc.dispatch import open_schedule, save_schedule, solve, sweep
from hsmdc.dispatch.case import Case
from hsmdc.dispatch.figures import save_figures, schedule_figures, sensitivity_figure
from hsmdc.dispatch.result import VARIABLES, case_of, schedule_runs
from hsmdc.errors import ConfigError, InputError


def test_variables_follow_the_registry(schedules: dict[str, xr.Dataset]) -> None:
    for schedule in schedules.values():
        assert set(schedule.data_vars) == set(VARIABLES) - {"cooling_kw"}
        for name, variable in schedule.data_vars.items():
            assert variable.dims == VARIABLES[str(name)].dims
            assert variable.attrs.get("units", "") == VARIABLES[str(name)].unit
            if variable.dtype.kind == "f" and name not in ("gap", "bound_usd"):
                assert np.isfinite(variable).all(), name


@pytest.mark.parametrize("method", ["milp", "heuristic"])
def test_netcdf_there_and_back(aidc: Case, tmp_path: Path, method: str) -> None:
    schedule = solve(aidc, "S5", method=method)
    path = tmp_path / "s.nc"
    save_schedule(schedule, path)
    again = open_schedule(path)
    assert list(tmp_path.iterdir()) == [path]
    for name in schedule.data_vars:
        assert np.array_equal(again[name].to_numpy(), schedule[name].to_numpy()), name
    assert case_of(again) == aidc
    assert schedule_runs(again) == schedule_runs(schedule)
    assert again.attrs["status"] == schedule.attrs["status"]


def test_existing_files_are_kept(schedules: dict[str, xr.Dataset], tmp_path: Path) -> None:
    path = tmp_path / "s.nc"
    path.write_text("precious")
    with pytest.raises(InputError, match="exists; give another name"):
        save_schedule(schedules["S1"], path)
    assert path.read_text() == "precious"
    save_schedule(schedules["S1"], path, force=True)
    assert open_schedule(path).attrs["scenario"] == "S1"


def test_what_is_no_schedule_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        open_schedule(tmp_path / "absent.nc")
    (tmp_path / "text.nc").write_text("hello")
    with pytest.raises(InputError, match="cannot be read as netCDF"):
        open_schedule(tmp_path / "text.nc")
    xr.Dataset({"x": 1}).to_netcdf(tmp_path / "other.nc")
    with pytest.raises(InputError, match="is no schedule: variable 'grid_kw' is missing"):
        open_schedule(tmp_path / "other.nc")
    with pytest.raises(InputError, match="no attribute 'case'"):
        case_of(xr.Dataset())


def test_figures_have_units(aidc: Case, schedules: dict[str, xr.Dataset], tmp_path: Path) -> None:
    figures = schedule_figures(aidc, schedules["S6"])
    assert set(figures) == {"balance", "gpus_and_modes", "progress", "modes"}
    labels = [axes.get_ylabel() for axes in figures["balance"].axes]
    assert labels == ["power [kW]", "price [USD/MWh]", "battery energy [kWh]"]
    assert figures["modes"].axes[0].get_legend_handles_labels()[1] == ["135 feasible", "12 effective"]
    for path in save_figures(figures, tmp_path / "deep" / "folder"):
        assert path.stat().st_size > 10_000


def test_sweep_of_any_key(aidc: Case) -> None:
    table = sweep(aidc, "battery.energy_kwh", [0.0, 400.0, 800.0], scenario="S5")
    cost = table["cost_usd"].to_numpy()
    assert cost[0] == pytest.approx(473.03, abs=0.01)
    assert cost[2] == pytest.approx(447.23, abs=0.01)
    assert (np.diff(cost) < 0).all()
    figure = sensitivity_figure([table])
    assert figure.axes[0].get_xlabel() == "battery.energy_kwh"


def test_sweep_shows_progress_and_refuses_nonsense(aidc: Case) -> None:
    seen: list[tuple[float, float]] = []
    sweep(
        aidc, "site.pue", [1.1, 1.2], scenario="S1", progress=lambda done, total: seen.append((done, total))
    )
    assert seen == [(1, 2), (2, 2)]
    with pytest.raises(ConfigError, match="no parameter 'colour' to sweep"):
        sweep(aidc, "colour", [1])
    with pytest.raises(ConfigError, match="give values"):
        sweep(aidc, "site.pue")
    with pytest.raises(ConfigError, match="gpus takes whole numbers"):
        sweep(aidc, "gpus", [1280.5])
    with pytest.raises(ConfigError, match=r"site\.pue"):
        sweep(aidc, "site.pue", [0.5])


def test_sensitivity_figure_shades_the_infeasible(aidc: Case) -> None:
    fixed = sweep(aidc, "gpus", [1024, 1280], scenario="S5")
    assert _legend(fixed) == ["cost", "infeasible"], "the published figures are those of S6"
    full = sweep(aidc, "gpus", [1024, 1280], method="heuristic")
    assert _legend(full) == ["cost", "cost, published", "infeasible"]


def _legend(table: xr.Dataset) -> list[str]:
    return list(sensitivity_figure([table]).axes[0].get_legend_handles_labels()[1])

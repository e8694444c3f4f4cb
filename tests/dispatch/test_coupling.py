"""A day's base load and PUE from a trace: means by hand on a synthetic trace, faults named."""

from collections.abc import Callable

import numpy as np
import pytest
import xarray as xr

from hsmdc.config import load_config, to_toml
from hsmdc.dispatch import couple, solve
from hsmdc.dispatch.case import Case
from hsmdc.errors import ConfigError, InputError
from hsmdc.traces import trace_dataset


def synthetic(days: int = 3, start: str = "2018-07-03") -> xr.Dataset:
    """IT power of 1 MW plus 0.1 MW per hour of the day; cooling 20 %, auxiliaries 0.1 MW. No configuration."""
    minute = np.arange(days * 1440)
    it_mw = 1 + 0.1 * ((minute // 60) % 24)
    series = {
        "it_power": it_mw,
        "hvac_power": 0.05 * it_mw,
        "chiller_power": 0.15 * it_mw,
        "auxiliary_power": np.full(len(minute), 0.1),
        "busy_nodes": np.zeros(len(minute)),
    }
    return trace_dataset(start=np.datetime64(start), step_s=60, series=series, attrs={"title": "synthetic"})


def test_hourly_means_by_hand(aidc: Case) -> None:
    case = couple(aidc, synthetic(), day="2018-07-04", scale="none")
    it_kw = 1e3 * (1 + 0.1 * np.arange(24))
    assert case.base_it_kw == pytest.approx(it_kw)
    assert case.pue == pytest.approx(1.2 + 100 / it_kw)
    assert case.profiles.cooling_share == pytest.approx([0.2] * 24)
    assert case.profiles.start == "2018-07-04T00:00:00+00:00"
    assert case.site == aidc.site, "a trace without configuration leaves the GPU power"


def test_scaling_keeps_the_shape_and_the_mean_of_the_trace(aidc: Case) -> None:
    case = couple(aidc, synthetic(), day="2018-07-04")
    assert case.base_it_kw.mean() == pytest.approx(300.0)
    assert case.base_it_kw[23] / case.base_it_kw[0] == pytest.approx(3.3)
    assert case.pue == pytest.approx(couple(aidc, synthetic(), day="2018-07-04", scale="none").pue)


def test_half_hour_slots(aidc: Case) -> None:
    case = couple(aidc.with_slot_h(0.5), synthetic(), day="2018-07-04", scale="none")
    assert case.base_it_kw == pytest.approx(np.repeat(1e3 * (1 + 0.1 * np.arange(24)), 2))


def test_local_day_of_a_site_west_of_utc(aidc: Case) -> None:
    """At UTC − 8 h the local day begins at 08:00 UTC."""
    raw = load_config("paper").model_dump(exclude_none=True)
    west = to_toml(load_config(raw | {"site": raw["site"] | {"utc_offset_h": -8.0}}))
    case = couple(aidc, synthetic().assign_attrs(config=west), day="2018-07-04", scale="none")
    assert case.base_it_kw == pytest.approx(1e3 * (1 + 0.1 * ((np.arange(24) + 8) % 24)))
    assert case.profiles.start == "2018-07-04T00:00:00-08:00"
    assert case.site.gpu_power_kw == pytest.approx((2486.2 - 421.8) / 4e3)
    kept = couple(aidc, synthetic().assign_attrs(config=west), day="2018-07-04", gpu_power="case")
    assert kept.site.gpu_power_kw == aidc.site.gpu_power_kw


def test_whole_trace_needs_no_day(aidc: Case) -> None:
    trace = synthetic(1)
    assert couple(aidc, trace).profiles == couple(aidc, trace, day="2018-07-03").profiles
    with pytest.raises(InputError, match=r"the trace runs from 2018-07-03.*give the day to plan"):
        couple(aidc, synthetic())


def test_schedule_carries_cooling_and_source(aidc: Case) -> None:
    schedule = solve(aidc, "S1", trace=synthetic(), day="2018-07-04")
    it_kw = schedule["site_power_kw"] / schedule["pue"]
    assert schedule["cooling_kw"].to_numpy() == pytest.approx(0.2 * it_kw.to_numpy())
    assert schedule.attrs["profiles_source"].startswith(
        "base load and PUE of 2018-07-04: synthetic, IT power x 0.1"
    )
    assert schedule["time"].to_numpy()[0] == np.datetime64("2018-07-04")


FAULTS: list[tuple[str, Callable[[xr.Dataset], xr.Dataset], str]] = [
    ("variable", lambda t: t.drop_vars("chiller_power"), "no variable 'chiller_power'"),
    (
        "unit",
        lambda t: t.assign(it_power=t.it_power.assign_attrs(units="kW")),
        "it_power is in kW; it must be in MW",
    ),
    (
        "hours",
        lambda t: t.isel(time=np.r_[0:1740, 1860:4320]),
        "no sample in 2018-07-04 05 h, 2018-07-04 06 h",
    ),
    ("end", lambda t: t.isel(time=slice(0, 2000)), "no sample in 2018-07-04 09 h"),
    (
        "nan",
        lambda t: t.assign(it_power=t.it_power.where(t.time != np.datetime64("2018-07-04T03:10"))),
        "NaN in slot 3",
    ),
    (
        "zero",
        lambda t: t.assign(it_power=t.it_power.where(t.time.dt.hour != 2, 0.0)),
        "it_power is 0 in slot 2",
    ),
    ("one sample", lambda t: t.isel(time=[0]), "fewer than two samples"),
]


@pytest.mark.parametrize(("damage", "words"), [row[1:] for row in FAULTS], ids=[row[0] for row in FAULTS])
def test_faults_are_named(aidc: Case, damage: Callable[[xr.Dataset], xr.Dataset], words: str) -> None:
    with pytest.raises(InputError) as caught:
        couple(aidc, damage(synthetic()), day="2018-07-04")
    assert words in str(caught.value)


def test_bad_day_and_scale(aidc: Case) -> None:
    with pytest.raises(InputError, match=r"day 'yesterday-ish' is no date"):
        couple(aidc, synthetic(), day="yesterday-ish")
    for day in ("2018-07-04T00:00Z", "2018-07-04T00:00+02:00", "NaT"):
        with pytest.raises(InputError, match=r"must be a local date without a time zone"):
            couple(aidc, synthetic(), day=day)
    with pytest.raises(ConfigError, match=r"scale = 'to_base' is unknown; take 'to-base' or 'none'"):
        couple(aidc, synthetic(), day="2018-07-04", scale="to_base")
    with pytest.raises(ConfigError, match=r"gpu_power = 'node' is unknown; take 'trace' or 'case'"):
        couple(aidc, synthetic(), day="2018-07-04", gpu_power="node")
    with pytest.raises(InputError, match=r"trace = 'year.nc' is no Dataset; read a file with open_trace"):
        couple(aidc, "year.nc", day="2018-07-04")
    with pytest.raises(InputError, match=r'take scale "none"'):
        couple(aidc.replace(site={"base_it_kw": 0.0}), synthetic(), day="2018-07-04")
    with pytest.raises(InputError, match=r"does not divide a slot"):
        couple(aidc, synthetic().isel(time=slice(None, None, 7)), day="2018-07-03")


def test_day_without_a_trace(aidc: Case) -> None:
    with pytest.raises(ValueError, match="day picks a day of a trace"):
        solve(aidc, day="2018-07-04")

"""Case files: shipped ones, inheritance, and one clear error for each fault."""

import math
import tomllib
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from hsmdc.dispatch import load_case, preset_names
from hsmdc.dispatch.case import Case, build_case, merge
from hsmdc.errors import ConfigError


@pytest.mark.parametrize("name", ["aidc-2048", "caiso-2022-04-14", "caiso-2022-07-20", "caiso-2022-07-20-3d"])
def test_shipped_cases_load(name: str) -> None:
    assert name in preset_names()
    assert load_case(name).name == name


def test_shipped_case_equals_its_source(shared_data: Path, aidc: Case) -> None:
    source = tomllib.loads((shared_data / "dispatch" / "aidc-2048.toml").read_text())
    assert build_case(source, "source").model_copy(update={"name": "aidc-2048"}) == aidc


def test_resolved_case_reads_back(aidc: Case) -> None:
    assert build_case(tomllib.loads(aidc.to_toml()), "echo") == aidc


FAULTS: list[tuple[dict[str, Any], str]] = [
    ({"site": {"gpu_totl": 1}}, "site.gpu_totl"),
    ({"site": {"gpu_total": -1}}, "site.gpu_total"),
    ({"site": {"pv_kw": -5.0}}, "site.pv_kw"),
    ({"site": {"pue": 0.9}}, "site.pue"),
    ({"battery": {"energy_kwh": -800.0}}, "battery.energy_kwh"),
    ({"battery": {"soc_initial": 0.99}}, "soc_initial 0.99 lies outside soc_min 0.05 … soc_max 0.95"),
    ({"profiles": {"pv_kw": (1.0,) * 23}}, "profiles.pv_kw has 23 values, but the horizon has 24 slots"),
    ({"profiles": {"price_usd_per_mwh": (*(40.0,) * 23, math.nan)}}, "profiles.price_usd_per_mwh.23"),
    ({"profiles": {"wind_kw": (*(40.0,) * 23, -1.0)}}, "-1.0 in slot 23 is negative"),
    ({"profiles": {"pue": (0.5,) * 24}}, "0.5 in slot 0 is below 1"),
    ({"memory": {"usable_gb": 96.0}}, "memory.usable_gb 96.0 exceeds site.gpu_memory_gb 80.0"),
    ({"memory": {"state_sharding": "zero9"}}, "memory.state_sharding"),
    ({"horizon": {"slot_h": 0.7}}, "24 h are not a whole number of slots of 0.7 h"),
    ({"horizon": {"day_slots": (12, 13)}}, "day_slots add up to 25, but slots is 24"),
    ({"inference": [{"name": "chat", "gpus": (1.0, 2.0)}]}, "inference chat: gpus has 2 values"),
    ({"deferrable": [{"name": "LLM-A-13B", "gpu_hours": 1.0, "gpus_max": 4.0}]}, "is used twice"),
    ({"task": []}, "nothing to plan"),
    (
        {
            "deferrable": [
                {"name": "x", "gpu_hours": 1, "gpus_max": 4, "release_slot": 20, "deadline_slot": 9}
            ]
        },
        "x: release_slot 20 leaves no slot before its deadline, slot 9",
    ),
    (
        {"deferrable": [{"name": "x", "gpu_hours": 1, "gpus_max": 4, "release_slot": 24}]},
        "leaves no slot before",
    ),
    ({"horizon": {"slot_h": 1e-300}}, "slots of 1e-300 h are too short; a minute"),
    ({"profiles": {"start": "tomorrow"}}, "profiles.start = 'tomorrow': no ISO time"),
    ({"profiles": {"start": "now"}}, "no ISO time"),
    ({"profiles": {"start": "0001-01-01"}}, "no ISO time of the years 1678 to 2261"),
    ({"profiles": {"start": "2022-W15-4"}}, "no ISO time"),
]


@pytest.mark.parametrize(("change", "words"), FAULTS, ids=[words[:30] for _, words in FAULTS])
def test_faults_are_named(aidc: Case, change: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        aidc.replace(**change)
    assert words in str(caught.value)
    assert str(caught.value).startswith("case aidc-2048")


TASK_FAULTS: list[tuple[dict[str, Any], str]] = [
    (
        {"baseline": [3, 4, 32]},
        "baseline [3, 4, 32] is no mode of LLM-A-13B: pipeline 3 does not divide 40 layers",
    ),
    ({"baseline": [4, 3, 32]}, "tensor 3 does not divide 40 heads"),
    ({"baseline": [4, 4, 33]}, "data 33 does not divide 1024 sequences of the batch"),
    ({"deadline_slot": 25}, "deadline_slot 25 lies beyond the day's 24 slots"),
    ({"segments": 0}, "task.0.segments"),
    ({"segments": 100_000}, "task.0.segments = 100000: Input should be less than or equal to 1440"),
    ({"daily_ratio": 0.0}, "task.0.daily_ratio"),
]


@pytest.mark.parametrize(("change", "words"), TASK_FAULTS, ids=[words[-24:] for _, words in TASK_FAULTS])
def test_task_faults_are_named(aidc: Case, change: dict[str, Any], words: str) -> None:
    tasks = [task.model_dump(exclude_none=True) for task in aidc.task]
    with pytest.raises(ConfigError) as caught:
        aidc.replace(task=[tasks[0] | change, tasks[1]])
    assert words in str(caught.value)


def test_unknown_case_lists_the_shipped_ones(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no shipped case is named 'nowhere'; there are: aidc-2048"):
        load_case("nowhere")
    with pytest.raises(ConfigError, match=r"does not exist"):
        load_case(tmp_path / "absent.toml")


def test_broken_toml_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "broken.toml"
    path.write_text("[site\n")
    with pytest.raises(ConfigError, match=r"broken.toml is not valid TOML"):
        load_case(path)


def test_base_gives_the_keys_left_out(tmp_path: Path, aidc: Case) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('base = "aidc-2048"\n[site]\ngpu_total = 1536\n')
    mine = load_case(path)
    assert mine.site.gpu_total == 1536
    assert mine.site.pue == aidc.site.pue
    assert mine.task == aidc.task
    (tmp_path / "further.toml").write_text('base = "mine.toml"\n[site]\npue = 1.1\n')
    assert load_case(tmp_path / "further.toml").site.gpu_total == 1536


def test_base_faults_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text('base = "b.toml"\n')
    (tmp_path / "b.toml").write_text('base = "a.toml"\n')
    with pytest.raises(ConfigError, match="base leads back to itself"):
        load_case(tmp_path / "a.toml")
    (tmp_path / "c.toml").write_text("base = 3\n")
    with pytest.raises(ConfigError, match="base must be the name of a shipped case or a path, got 3"):
        load_case(tmp_path / "c.toml")


def test_faults_beside_a_profile_file(tmp_path: Path) -> None:
    profiles = '[profiles]\nfile = "caiso-2022-np15.csv"\nday = 2022-04-14\ntime = "utc"\n'
    profiles += 'price = { name = "price_NP15_DA_USD_per_MWh", unit = "USD/MWh" }\n'
    path = tmp_path / "mine.toml"
    for table, words in (
        ('[site]\npv_kw = "big"\n', "case mine.toml, site: pv_kw = 'big'"),
        ("[horizon]\nslot_h = 0.7\n", "24 h are not a whole number of slots"),
    ):
        path.write_text(f'base = "aidc-2048"\n{table}{profiles}')
        with pytest.raises(ConfigError) as caught:
            load_case(path)
        assert words in str(caught.value)


def test_full_case_in_one_file(tmp_path: Path, aidc: Case) -> None:
    path = tmp_path / "whole.toml"
    path.write_text(tomli_w.dumps(tomllib.loads(aidc.to_toml())))
    assert load_case(path) == aidc.model_copy(update={"name": "whole"})


def test_merge_goes_into_tables_and_replaces_lists() -> None:
    assert merge({"a": {"x": 1, "y": [1, 2]}, "b": 1}, {"a": {"y": [3]}}) == {"a": {"x": 1, "y": [3]}, "b": 1}


def test_finer_slots_keep_energy_and_deadlines(aidc: Case) -> None:
    fine = aidc.with_slot_h(0.25)
    assert fine.slots == 96
    assert fine.horizon.hours == 24
    assert fine.deadline(fine.task[0]) == 96
    assert fine.renewable_kw.sum() / 4 == pytest.approx(aidc.renewable_kw.sum())
    with pytest.raises(ConfigError, match=r"slots of 1.0 h cannot be cut into slots of 0.7 h"):
        aidc.with_slot_h(0.7)


@pytest.mark.parametrize("slot_h", [0.0, -0.25, math.nan, math.inf, 7 / 60])
def test_slots_that_an_hour_cannot_be_cut_into(aidc: Case, slot_h: float) -> None:
    with pytest.raises(ConfigError, match="cannot be cut into slots of"):
        aidc.with_slot_h(slot_h)


def test_days_of_a_long_horizon(aidc: Case) -> None:
    case = load_case("caiso-2022-07-20-3d")
    assert case.horizon.days == (24, 24, 24)
    assert case.day_ends == (24, 48, 72)
    assert [case.deadline(case.task[0], day) for day in range(3)] == [24, 48, 72]


def test_day_reaches_the_profile_file_through_base(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('base = "caiso-2022-04-14"\n[site]\ngpu_total = 1536\n')
    case = load_case(path, day="2022-07-20")
    assert case.profiles == load_case("caiso-2022-07-20").profiles
    assert load_case("caiso-2022-04-14", day="2022-03-13").slots == 23

"""The docs name every key of a case, every scenario and the shipped figures."""

from pathlib import Path

import pytest
from pydantic import BaseModel

from hsmdc.dispatch import SCENARIOS, preset_names
from hsmdc.dispatch import case as sections
from hsmdc.dispatch.profiles import ProfileFile
from hsmdc.dispatch.published import published_scenarios

DOCS = Path(__file__).resolve().parents[2] / "docs" / "dispatch.md"
MODELS = [
    sections.Horizon,
    sections.Graph,
    sections.Site,
    sections.Battery,
    sections.Memory,
    sections.Losses,
    sections.Task,
    sections.Inference,
    sections.Deferrable,
    sections.Profiles,
    ProfileFile,
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_every_key_is_documented(model: type[BaseModel]) -> None:
    text = DOCS.read_text(encoding="utf-8")
    assert [key for key in model.model_fields if f"`{key}`" not in text] == []


def test_scenarios_and_published_costs_are_documented() -> None:
    text = DOCS.read_text(encoding="utf-8")
    assert all(name in text for name in SCENARIOS)
    costs = published_scenarios("aidc-2048").query("variable == 'cost_usd'")
    for cost, basis in zip(costs["published"], costs["basis"], strict=True):
        assert f"{cost:.2f} {basis[0]}" in text


def test_shipped_cases_have_a_provenance_comment() -> None:
    folder = Path(sections.__file__).parent / "cases"
    for name in preset_names():
        assert (folder / f"{name}.toml").read_text(encoding="utf-8").startswith("#")

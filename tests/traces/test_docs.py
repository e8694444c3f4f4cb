"""The documentation of the schema and the schema are one."""

import re
from pathlib import Path

from hsmdc import schema
from hsmdc.export import FORMATS

DOCS = Path(__file__).resolve().parents[2] / "docs" / "traces.md"


def _table(heading: str) -> list[tuple[str, ...]]:
    section = DOCS.read_text("utf-8").split(f"## {heading}\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (`.*) \|$", section, flags=re.MULTILINE)
    return [tuple(cell.strip().strip("`") for cell in row.split(" | ")) for row in rows]


def test_every_variable_is_documented_as_it_is() -> None:
    documented = [row for row in _table("Variables") if row[0] != "time"]
    assert documented == [
        (name, entry.dim, entry.units, entry.long_name) for name, entry in schema.VARIABLES.items()
    ]


def test_every_export_format_is_documented() -> None:
    assert [row[0] for row in _table("Other formats")] == list(FORMATS)

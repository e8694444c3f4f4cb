"""The documentation lists the scores there are."""

import re
from pathlib import Path

from hsmdc.validation.catalogue import SCORES

PAGE = Path(__file__).resolve().parents[2] / "docs" / "validation.md"


def test_the_table_of_scores_is_complete_and_in_order():
    rows = re.findall(r"^\| `(\w+)` \| (\S+) \|", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert rows == [(name, info.unit) for name, info in SCORES.items()]

"""The answers that the scripts of the report page are tested against are those of gml."""

from __future__ import annotations

import json

from tests.page.make_asia import asia_answers
from tests.places import ROOT


def test_the_stored_answers_about_asia_are_up_to_date() -> None:
    stored = json.loads((ROOT / "tests/page/asia.json").read_text(encoding="utf-8"))
    assert stored == asia_answers(), "run python -m tests.page.make_asia"

"""The answers that the scripts of the report page are tested against are those of gml."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.page import make_mixed
from tests.page.make_asia import asia_answers
from tests.page.mixed_model import flats
from tests.places import ROOT


def test_the_stored_answers_about_asia_are_up_to_date() -> None:
    stored = json.loads((ROOT / "tests/page/asia.json").read_text(encoding="utf-8"))
    assert stored == asia_answers(), "run python -m tests.page.make_asia"


def leaves(value: Any) -> Iterator[Any]:
    """What lists and objects hold, in order, with the names that lead to it."""
    if isinstance(value, dict):
        for key, inside in value.items():
            yield key
            yield from leaves(inside)
    elif isinstance(value, list | tuple):
        for inside in value:
            yield from leaves(inside)
    else:
        yield value


def test_the_stored_answers_about_flats_are_up_to_date() -> None:
    stored = json.loads((ROOT / "tests/page/mixed.json").read_text(encoding="utf-8"))
    net = flats()
    made = {"nodes": make_mixed.nodes(net), "answers": make_mixed.answers(net)}
    for old, new in zip(leaves(stored), leaves(made), strict=True):
        wanted = pytest.approx(new, rel=1e-11) if isinstance(new, float) else new
        assert old == wanted, "run python -m tests.page.make_mixed"

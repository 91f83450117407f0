"""docs/architecture.md is true: its parts are what the code makes, and the files that it names exist."""

from __future__ import annotations

import re

import pytest

from tests.scripts import DOCS, script

PAGE = DOCS / "architecture.md"


def test_the_parts_made_from_the_code_are_current():
    text = PAGE.read_text(encoding="utf-8")
    assert script("make_architecture").refreshed(text) == text, "run make docs"


def test_files_named_exist():
    text = PAGE.read_text(encoding="utf-8")
    named = set(re.findall(r"[\w./]+\.py\b", text))
    assert len(named) > 50
    for name in sorted(named):
        assert any((DOCS.parent / folder / name).is_file() for folder in ("gml", ".")), name


@pytest.mark.parametrize("command", ["pc", "ges", "check"])
def test_a_walk_leads_from_the_command_line_to_its_room(command):
    text = PAGE.read_text(encoding="utf-8")
    (walk,) = re.findall(rf"`gml {command} [^`]*`\n\n```text\n(.*?)```", text, re.DOTALL)
    files = [line.split()[0] for line in walk.splitlines()]
    assert files[0] == "cli/main.py"
    assert len(files) == len(set(files))
    room = {"pc": "learners/pc.py", "ges": "learners/ges.py", "check": "gate/run.py"}[command]
    assert files.index(f"cli/commands/{command}.py") < files.index(room)

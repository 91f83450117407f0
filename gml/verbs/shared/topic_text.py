"""Entries of a topic of `gml help`, written for people."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

from gml.errors import Note, parameter
from gml.independence.registry import TESTS
from gml.parameters import options_of
from gml.scores.registry import SCORES

_WIDTH = 100
_INDENT = 4
# Facts that follow the name at once.
_LEADS = ("is", "does", "means", "meaning", "suffixes")


def entry_block(entry: Mapping[str, Any]) -> str:
    """An entry for people: its name and what it is on one line, then one line per fact."""
    lead = entry_lead(entry)
    lines = [f"{entry['name']}: {lead}" if lead else str(entry["name"])]
    lines += [
        wrapped(f"{key}: {_shown(value)}", _INDENT)
        for key, value in entry.items()
        if key not in ("name", "code", *_LEADS) and value not in ([], None)
    ]
    return "\n".join(lines)


def entry_lead(entry: Mapping[str, Any]) -> str:
    """What an entry is, or does, or means, in a few words."""
    return next((_shown(entry[key]) for key in _LEADS if key in entry), "")


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(_shown_option(item) for item in value)
    return value.marked if isinstance(value, Note) else marked(str(value))


def marked(text: str) -> str:
    """Mark the options that the registries name in their own words, to be written as flags."""
    for name in (*options_of(TESTS), *options_of(SCORES)):
        text = text.replace(parameter(name), f"`{name}`").replace(f"`{name}`", parameter(name))
    return text


def _shown_option(item: Any) -> str:
    if not isinstance(item, dict):
        return str(item)
    default = f"{item['default']:g}" if isinstance(item["default"], float) else item["default"]
    return f"{parameter(item['name'])} ({marked(item['help'])}; by default {default})"


def wrapped(text: str, indent: int = 0) -> str:
    """Break a text into lines, indented by so many blanks, those after the first by two more."""
    margin = " " * indent
    return textwrap.fill(
        text,
        _WIDTH,
        initial_indent=margin,
        subsequent_indent=margin + "  " * bool(indent),
        break_long_words=False,
        break_on_hyphens=False,
    )

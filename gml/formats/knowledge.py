"""Knowledge files: JSON of our own, and the text format of Tetrad.

JSON: {"require": [["A","B"]], "forbid": [["C","A"]], "tiers": [["A"],["B","C"]]}.

Tetrad's text begins with the line `/knowledge`. Sections follow, in any order: `addtemporal` with
lines of a tier number and its variables (a `*` after the number forbids edges within the tier),
`forbiddirect` and `requiredirect` with one pair per line, from and to, `forbiddengroup` and
`requiredgroup` with pairs of lines, the variables from and to which all edges are meant. Names are
separated by blanks or tabs.
"""

from __future__ import annotations

import os
import re
from typing import Any

from gml.calls import public
from gml.data.json_text import parse_json
from gml.data.text_file import read_text
from gml.errors import DataError, place, quote
from gml.graph.knowledge import Arc, Knowledge
from gml.resources import require_memory

# Bytes of a pair of names, here and in the sets that look for contradictions.
_PAIR_BYTES = 250
_FEW_PAIRS = 10_000
_SECTIONS = ("addtemporal", "forbiddirect", "requiredirect", "forbiddengroup", "requiredgroup")
# Below what Python considers an attack, and more than anybody writes.
_MOST_DIGITS = 18


@public
def read_knowledge(path: str | os.PathLike[str]) -> Knowledge:
    """Read a knowledge file; its content tells the format.

    Parameters
    ----------
    path
        A JSON file, or one that Tetrad wrote.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "known.json")
    ...     _ = path.write_text('{"require": [["smoke", "lung"]], "tiers": [["smoke"], ["xray"]]}')
    ...     read_knowledge(path)
    <Knowledge: require 'smoke -> lung'; tiers 'smoke', 'xray'>
    """
    where = place(path)
    text = read_text(path, hashed=True)
    start = text.lstrip()
    if start.startswith(("{", "[")):
        return knowledge_of(parse_json(text, where), where)
    if start.startswith("/knowledge"):
        return _from_tetrad(text, where)
    raise DataError(f"{where}: not a knowledge file: neither JSON nor Tetrad's /knowledge")


def as_json(knowledge: Knowledge) -> dict[str, Any]:
    """Return knowledge as a file has it."""
    return {
        "require": [list(arc) for arc in knowledge.require],
        "forbid": [list(arc) for arc in knowledge.forbid],
        "tiers": [list(tier) for tier in knowledge.tiers],
    }


def knowledge_of(content: Any, where: str) -> Knowledge:
    """Return the knowledge in JSON that was parsed."""
    if not isinstance(content, dict):
        raise DataError(f"{where}: not an object of require, forbid and tiers")
    unknown = sorted(content.keys() - {"require", "forbid", "tiers", "schema"})
    if unknown:
        raise DataError(f'{where}: {quote(unknown[0])} is not one of "require", "forbid", "tiers"')
    return Knowledge(
        _arcs(content.get("require", []), "require", where),
        _arcs(content.get("forbid", []), "forbid", where),
        tuple(_names(tier, "tiers", where) for tier in _list(content, "tiers", where)),
    )


def _list(content: dict[str, Any], key: str, where: str) -> list[Any]:
    value = content.get(key, [])
    if not isinstance(value, list):
        raise DataError(f'{where}: "{key}" is not a list')
    return value


def _names(value: Any, key: str, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise DataError(f'{where}: "{key}" is not a list of lists of names')
    return tuple(value)


def _arcs(value: Any, key: str, where: str) -> tuple[Arc, ...]:
    arcs = []
    for item in _list({key: value}, key, where):
        names = _names(item, key, where)
        if len(names) != 2:
            raise DataError(f'{where}: "{key}" is not a list of pairs [from, to]')
        arcs.append((names[0], names[1]))
    return tuple(arcs)


def _from_tetrad(text: str, where: str) -> Knowledge:
    section = ""
    tiers: dict[int, list[str]] = {}
    pairs: dict[str, list[Arc]] = {"forbid": [], "require": []}
    group: list[str] | None = None
    for number, line in enumerate(re.split(r"\r\n|\r|\n", text), start=1):
        words = re.split(r"[ \t]+", line.strip(" \t"))
        key = "forbid" if section.startswith("forbid") else "require"
        if words in ([""], ["/knowledge"]):
            continue
        if words[0].lower() in _SECTIONS and len(words) == 1:
            section, group = words[0].lower(), None
        elif section == "addtemporal":
            pairs["forbid"] += _add_tier(words, tiers, pairs["forbid"], f"{where}: line {number}")
        elif section in ("forbiddirect", "requiredirect"):
            if len(words) != 2:
                raise DataError(f"{where}: line {number}: not two names, from and to")
            pairs[key].append((words[0], words[1]))
        elif section in ("forbiddengroup", "requiredgroup"):
            if group is None:
                group = words
            else:
                pairs[key] += _pairs(group, words, pairs[key], f"{where}: line {number}")
                group = None
        else:
            raise DataError(
                f"{where}: line {number}: {quote(words[0])} is not one of {', '.join(_SECTIONS)}"
            )
    if group is not None:
        raise DataError(f"{where}: the last group has no second line")
    return Knowledge(
        tuple(pairs["require"]),
        tuple(pairs["forbid"]),
        tuple(tuple(tiers[tier]) for tier in sorted(tiers)),
    )


def _pairs(some: list[str], others: list[str], known: list[Arc], where: str) -> list[Arc]:
    """Return all edges from some variables to others, if there is room besides the known ones."""
    number = len(known) + len(some) * len(others)
    if number > _FEW_PAIRS:
        require_memory(number * _PAIR_BYTES, None, f"{where}: {number} edges from one to another")
    return [(a, b) for a in some for b in others if a != b]


def _add_tier(
    words: list[str], tiers: dict[int, list[str]], known: list[Arc], where: str
) -> list[Arc]:
    """Note the variables of a tier, and return the edges within it if those are forbidden."""
    label = words[0].rstrip("*")
    if not re.fullmatch(f"[0-9]{{1,{_MOST_DIGITS}}}", label):
        raise DataError(
            f"{where}: {quote(words[0])} is not the number of a tier, of up to {_MOST_DIGITS} "
            "digits"
        )
    tiers.setdefault(int(label), []).extend(words[1:])
    if label == words[0]:
        return []
    return _pairs(words[1:], words[1:], known, where)

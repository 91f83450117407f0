"""How a table is read, as far as something else than an option says so.

A schema says how a table is read, a graph or a model how the table was that it was learned from, a
file of settings what the tables of a project are like. The names are those of the options of
reading. An option wins over a graph or model, that over a schema, and that over a file of settings;
what wins is said where they differ. `exclude` takes nothing away: columns that are left out by one
are left out, unless `columns` names them or they are nodes of the graph.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from gml.data.source import text_codec
from gml.errors import DataError, UsageError, listing, parameter, quote
from gml.progress import reporter

NAMES = ("delimiter", "decimal", "encoding", "strip", "na", "missing", "exclude")
MISSING_POLICIES = ("error", "drop", "level", "available")
EM = "em"
"""No way to read: missing values stay, and a model is fitted to what was seen (`gml.model.em`)."""
_LISTS = ("na", "exclude")


class Said(NamedTuple):
    """The value of an option, and who says so."""

    value: Any
    source: str


Dialect = Mapping[str, Said]


def default_delimiter(path: str | os.PathLike[str]) -> str:
    """Return the delimiter that the suffix of a file implies: tab for .tsv, comma otherwise."""
    place = Path(path)
    if place.suffix.lower() in (".gz", ".bz2", ".xz", ".zst"):
        place = place.with_suffix("")
    return "\t" if place.suffix.lower() in (".tsv", ".tab") else ","


def plain_delimiter(value: Any) -> Any:
    """Return the character that a delimiter is called by; others as they are.

    Examples
    --------
    >>> plain_delimiter("tab"), plain_delimiter(";")
    ('\\t', ';')
    """
    return {"tab": "\t", "\\t": "\t"}.get(value, value) if isinstance(value, str) else value


def problem_with(name: str, value: Any) -> str | None:
    """Say what is wrong with what is to be read so, if something is.

    Examples
    --------
    >>> problem_with("decimal", ";")
    "must be '.' or ','"
    """
    if name == "delimiter":
        is_one = isinstance(value, str) and len(value) == 1 and value.isascii()
        if not is_one or value in '"\r\n' or (not value.isprintable() and value != "\t"):
            return "must be one ASCII character, not a quote or a line end"
    elif name == "decimal" and value not in (".", ","):
        return "must be '.' or ','"
    elif name == "strip" and not isinstance(value, bool):
        return f"must be true or false, not {value!r}"
    elif name == "encoding":
        try:
            text_codec(value)
        except (UsageError, TypeError):
            return f"is no encoding of text: {quote(value)}"
    elif name == "missing" and value not in (*MISSING_POLICIES, EM):
        return f"must be one of {', '.join((*MISSING_POLICIES, EM))}, not {value!r}"
    elif name in _LISTS and not (
        isinstance(value, list | tuple) and all(isinstance(item, str) for item in value)
    ):
        return "is not a list of strings"
    return None


def parse_dialect(content: Mapping[str, Any], source: str) -> dict[str, Said]:
    """Return what a file says of how tables are read; what cannot be meant is refused.

    Examples
    --------
    >>> parse_dialect({"delimiter": "tab", "rows": 3}, "schema.json")
    {'delimiter': Said(value='\\t', source='schema.json')}
    """
    found = {}
    for name in NAMES:
        value = plain_delimiter(content.get(name)) if name == "delimiter" else content.get(name)
        if value is None:
            continue
        problem = problem_with(name, value)
        if problem is not None:
            raise DataError(f'{source}: "{name}" {problem}')
        found[name] = Said(tuple(value) if name in _LISTS else value, source)
    return found


def first_said(layers: Iterable[Dialect], *, told: bool = True) -> dict[str, Said]:
    """Join what several say: of each option the first counts, and where others differ is told."""
    found: dict[str, Said] = {}
    for layer in layers:
        for name, said in layer.items():
            if name not in found:
                found[name] = said
            elif name == "exclude":
                both = dict.fromkeys((*found[name].value, *said.value))
                found[name] = found[name]._replace(value=tuple(both))
            elif told:
                first = found[name]
                tell_of_difference(name, first.value, said, f"{first.source} says")
    return found


def inherit(asked: dict[str, Any], dialect: Dialect) -> dict[str, str]:
    """Add what nobody asked for to what was asked; return who says that.

    EM is left to those who can fit by it.
    """
    inherited = {}
    for name, said in dialect.items():
        if name == "exclude":
            continue
        if name in asked:
            tell_of_difference(name, asked[name], said)
        elif (name, said.value) != ("missing", EM):
            asked[name], inherited[name] = said
    return inherited


def tell_of_difference(name: str, value: Any, other: Said, who: str = "") -> None:
    """Say what wins, where an option or `who` says something else than another."""
    if (set(value) == set(other.value)) if name in _LISTS else value == other.value:
        return
    # EM reads missing cells as they stand.
    if name == "missing" and (value, other.value) == ("available", EM):
        return
    shown = _shown(value)
    own = f"{who} {name} {shown}, and" if who else f"{parameter(name)} {shown}"
    reporter().tell(f"{own} wins over {other.source}, which says {_shown(other.value)}")


def _shown(value: Any) -> str:
    return quote(value) if isinstance(value, str) else listing(value)

"""Which columns have no place in a schema, why, and which option would give them one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from gml.data.column_facts import DATE, IDENTIFIER, Facts
from gml.data.dataset import MAX_LEVELS
from gml.data.identifiers import has_too_many_levels
from gml.data.kind_rule import SettledKind
from gml.data.options import ReadOptions
from gml.data.survey import Surveyed
from gml.kernel import layout
from gml.kernel.layout import OVERFLOW, SKIP

Number = int | float
_SUGGESTED_BINS = 5
_LIKE = {DATE: "a date", IDENTIFIER: "an identifier"}


class SchemaProblem(NamedTuple):
    """Why a column cannot be one of a schema, and which option would make it one."""

    why: str
    option: dict[str, Number] | None


def unusable(
    read: Surveyed,
    j: int,
    facts: Facts,
    kinds: Mapping[str, SettledKind],
    options: ReadOptions,
) -> SchemaProblem | None:
    """Say why a column cannot be one of a schema, and which option would make it one.

    `kinds` has what the rule made of columns that nobody declared.
    """
    name, column = read.names[j], read.columns[j]
    if column.kind == SKIP:
        return SchemaProblem("lists and structures are not labels", None)
    kind = kinds.get(name)
    if kind is not None and kind.refused_as is not None:
        return SchemaProblem(f"{_LIKE[kind.refused_as]}; leave it out, or say what it is", None)
    if kind is not None and kind.is_numeric:
        return None
    is_free = not options.says_something_of(name)
    if is_free and column.kind == layout.NUMBERS:
        if options.bins is not None:
            return None
    elif not (
        column.kind == OVERFLOW or has_too_many_levels(name, column, kind, options, read.where)
    ):
        return None
    is_short = facts.distinct is not None and facts.distinct <= MAX_LEVELS
    if facts.numbers is not None and not (facts.guess == IDENTIFIER and is_short):
        why = f"more than {options.max_levels} different numbers"
        return SchemaProblem(why, {"bins": _SUGGESTED_BINS})
    if is_short:
        return SchemaProblem(
            f"more than {options.max_levels} levels", {"max_levels": facts.distinct or 0}
        )
    return SchemaProblem(f"more than {MAX_LEVELS} levels; leave it out", None)


def nameless(name: str) -> SchemaProblem:
    """Say why a column cannot be called by its name."""
    said = "its name occurs more than once; rename it" if name else "its name is empty; name it"
    return SchemaProblem(f"{said} in the header", None)

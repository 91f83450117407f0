"""Columns that say nothing of other rows: identifiers, dates, and those with too many levels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from gml.data.column_facts import DATE, IDENTIFIER
from gml.data.dataset import MAX_LEVELS
from gml.data.kind_rule import SettledKind
from gml.data.options import ReadOptions
from gml.data.problems import word_among_numbers
from gml.errors import CannotAnswer, DataError, listing, parameter, quote
from gml.kernel.layout import NUMBERS, OVERFLOW, CsvColumn
from gml.kernel.number import number_of

_MOST_NAMED = 100


def refuse_identifiers(
    columns: Sequence[CsvColumn],
    names: Sequence[str],
    chosen: Sequence[int],
    kinds: Mapping[str, SettledKind],
    options: ReadOptions,
    where: str,
) -> None:
    """Refuse columns that only tell rows apart, or have too many levels, naming all at once.

    `kinds` has what the rule made of columns that nobody declared.
    """
    refused: dict[str, list[int]] = {}
    for j in chosen:
        kind = kinds.get(names[j])
        if has_too_many_levels(names[j], columns[j], kind, options, where):
            refused.setdefault("", []).append(j)
        elif kind is not None and kind.refused_as is not None and not options.holds_words(names[j]):
            refused.setdefault(kind.refused_as, []).append(j)
    if not refused:
        return
    found = [j for group in refused.values() for j in group]
    if len(found) == 1 and (kind := kinds.get(names[found[0]])) and kind.words:
        raise word_among_numbers(where, names[found[0]], kind.words[0])
    numbers = {j: _begins_with_numbers(columns[j], options) for j in found}
    said = [_like(what, [names[j] for j in refused[what]], options) for what in sorted(refused)]
    them = "it" if len(found) == 1 else "them"
    written: dict[str, list[str]] = {}
    for j in found:
        kind = kinds.get(names[j])
        if kind is not None and kind.written is not None:
            written.setdefault(kind.written, []).append(names[j])
    for j in found:
        kind = kinds.get(names[j])
        if kind is not None and kind.words and kind.written is None:
            tokens = " ".join(parameter("na", word) for word in kind.words)
            written.setdefault(f"say {tokens}", []).append(names[j])
    ways = [f"for numbers in {listing(columns)} {how}" for how, columns in written.items()]
    ways += [f"leave {them} out ({parameter('exclude', [names[j] for j in found])})"]
    many = refused.get("", [])
    if any(numbers[j] for j in many):
        if options.bins is None:
            ways.append(f"cut numbers into intervals ({parameter('bins', 5)})")
        if options.takes_numbers:
            how = options.takes_numbers
            if not all(_begins_with_numbers(columns[j], options) for j in chosen):
                # What takes every column as numbers would refuse the text beside them.
                how = _naming("numeric", [j for j in many if numbers[j]], names)
            them = them if all(numbers[j] for j in many) else "numbers"
            ways.append(f"take {them} as numbers ({how})")
    guessed = [j for j in found if j not in many]
    for option, are_numbers in (("numeric", True), ("labels", False)):
        some = [j for j in guessed if kinds[names[j]].are_numbers is are_numbers]
        if some:
            ways.append(
                f"treat {'it' if len(found) == 1 else listing(names[j] for j in some)} "
                f"{'as numeric' if are_numbers else 'as categorical'} "
                f"({_naming(option, some, names)})"
            )
    if many:
        ways.append(f"raise {parameter('max_levels')}")
    raise DataError(f"{where}: {'; '.join(said)}; {', '.join(ways[:-1])} or {ways[-1]}")


def _like(what: str, names: Sequence[str], options: ReadOptions) -> str:
    """What columns look like; those without a word for it have too many levels."""
    one = len(names) == 1
    columns = f"{'in column' if one else 'in columns'} {listing(names)}"
    if what == DATE:
        return f"{'a date' if one else 'dates'} {columns}"
    like = "an identifier," if one else "identifiers,"
    if what == IDENTIFIER:
        return f"values like {like} {columns}"
    return f"more than {options.max_levels} levels, like {like} {columns}"


def _naming(option: str, found: Sequence[int], names: Sequence[str]) -> str:
    return parameter(option, [names[j] for j in found[:_MOST_NAMED]])


def has_too_many_levels(
    name: str, column: CsvColumn, kind: SettledKind | None, options: ReadOptions, where: str
) -> bool:
    """Whether a column has more labels than it may have levels, and is not to be cut."""
    if column.kind == OVERFLOW and options.declared_intervals(name) is not None:
        raise DataError(
            f"{where}: column {quote(name)}: more than {MAX_LEVELS} different values, and not "
            "all of them numbers, though its declared levels are intervals"
        )
    if name in options.maybe_numbers:
        if column.kind == OVERFLOW:
            raise DataError(
                f"{where}: column {quote(name)}: more than {MAX_LEVELS} different values, and not "
                "all of them numbers"
            )
        return False
    is_identifier, holds_words = name == options.identifier, options.holds_words(name)
    if column.kind == OVERFLOW and (is_identifier or holds_words):
        raise CannotAnswer(
            f"{where}: column {quote(name)}: more than {options.most_labels(name)} different "
            f"labels, for which there is no room in {parameter('max_memory')}"
        )
    if column.kind == OVERFLOW:
        return True
    if kind is not None and (kind.is_numeric or column.kind == NUMBERS):
        return not kind.is_numeric
    if is_identifier or column.kind == NUMBERS or len(column.labels) <= options.max_levels:
        return False
    if holds_words and not _begins_with_numbers(column, options):
        return False
    declared = (
        options.declared_levels(name) is not None
        or options.declared_intervals(name) is not None
        or options.expected_levels(name)
    )
    is_cut = name not in options.labels and numbers_to_cut(column.labels, options) is not None
    return not declared and not is_cut


def numbers_to_cut(labels: Sequence[str], options: ReadOptions) -> NDArray[np.float64] | None:
    """Return the numbers that the labels spell, if there are so many that `bins` cuts them."""
    if options.bins is None or len(labels) <= options.bins:
        return None
    values = [number_of(label, options.decimal) for label in labels]
    if None in values or len(set(values)) <= options.bins:
        return None
    return np.array(values, dtype=np.float64)


def _begins_with_numbers(column: CsvColumn, options: ReadOptions) -> bool:
    """Whether the labels that were read before they became too many are numbers."""
    return all(number_of(label, options.decimal) is not None for label in column.labels)

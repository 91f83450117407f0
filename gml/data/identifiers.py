"""Columns with too many different labels to be levels: all of them are named at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gml.data.dataset import MAX_LEVELS
from gml.data.options import ReadOptions
from gml.errors import CannotAnswer, DataError, listing, parameter, quote
from gml.kernel.layout import NUMBERS, OVERFLOW, CsvColumn
from gml.kernel.number import number_of

_MOST_NAMED = 100


def refuse_identifiers(
    columns: Sequence[CsvColumn],
    names: Sequence[str],
    chosen: Sequence[int],
    options: ReadOptions,
    where: str,
) -> None:
    """Refuse columns with too many levels, naming them all at once."""
    too_many = [j for j in chosen if has_too_many_levels(names[j], columns[j], options, where)]
    if not too_many:
        return
    found = [names[j] for j in too_many]
    one = len(found) == 1
    them = "it" if one else "them"
    ways = [f"leave {them} out ({parameter('exclude', found[:_MOST_NAMED])})"]
    numbers = [names[j] for j in too_many if _begins_with_numbers(columns[j], options)]
    if numbers:
        if options.bins is None:
            ways.append(f"cut numbers into intervals ({parameter('bins', 5)})")
        if options.takes_numbers:
            how = options.takes_numbers
            if not all(_begins_with_numbers(columns[j], options) for j in chosen):
                # What takes every column as numbers would refuse the text beside them.
                how = parameter("numeric", numbers[:_MOST_NAMED])
            them = them if len(numbers) == len(found) else "numbers"
            ways.append(f"take {them} as numbers ({how})")
    like = "an identifier, in column" if one else "identifiers, in columns"
    raise DataError(
        f"{where}: more than {options.max_levels} levels, like {like} {listing(found)}; "
        f"{', '.join(ways)} or raise {parameter('max_levels')}"
    )


def has_too_many_levels(name: str, column: CsvColumn, options: ReadOptions, where: str) -> bool:
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
    if is_identifier or column.kind == NUMBERS or len(column.labels) <= options.max_levels:
        return False
    if holds_words and not _begins_with_numbers(column, options):
        return False
    declared = (
        options.declared_levels(name) is not None
        or options.declared_intervals(name) is not None
        or options.expected_levels(name)
    )
    return not declared and numbers_to_cut(column.labels, options) is None


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

"""What a column looks like whatever it is used for: what it may hold, and how many values.

The guess is made from all values. A date is written year first or last, with or without a time.
Whole numbers that never repeat are an identifier if they lie as close together as numbered rows do
(less than two apart on average) or all have the same six digits or more; texts that never repeat,
or are more than there can be levels, are one if no blank is within them, and free text otherwise.
Nothing is called an identifier in a table of up to 20 rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.data.number_summary import NumberSummary, NumberValues
from gml.kernel.number import number_of

EMPTY = "empty"
LABELS = "labels"
NUMBERS = "numbers"
DATE = "date"
IDENTIFIER = "identifier"
TEXT = "text"
NESTED = "nested"
"""What a column may hold; lists and structures of Parquet are nested."""

FEW_ROWS = 20
_FEWEST_DIGITS = 6

_TIME = r"(?:[T ]\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?: ?(?:Z|UTC|[+-]\d{2}:?\d{2}))?)?"
_MONTH, _DAY = r"(?:0?[1-9]|1[0-2])", r"(?:0?[1-9]|[12]\d|3[01])"
_DATE = re.compile(
    rf" *(?:\d{{4}}([-/.]){_MONTH}\1{_DAY}"
    rf"|{_DAY}([-/.]){_MONTH}\2(?:\d{{4}}|\d{{2}})"
    rf"|{_MONTH}(/){_DAY}\3(?:\d{{4}}|\d{{2}})"
    rf"|(?:19|20)\d{{2}}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])){_TIME} *",
    re.ASCII,
)


class Facts(NamedTuple):
    """What a column may hold, its different values, and a summary if all are numbers."""

    guess: str
    distinct: int | None
    """None where there are more than could be counted."""
    numbers: NumberSummary | None = None


class Tally(NamedTuple):
    """What is known of the texts of a column; `distinct` is None if they were too many."""

    present: int
    distinct: int | None
    all_dates: bool
    any_blanks: bool


def is_date(text: str) -> bool:
    """Whether a text is a date, or a date and a time.

    Examples
    --------
    >>> [is_date(text) for text in ("2024-02-28", "28.02.2024 17:05", "20240228", "3/14/15", "12")]
    [True, True, True, True, False]
    """
    return _DATE.fullmatch(text) is not None


def numbers_of(texts: Iterable[str], decimal: str) -> NDArray[np.float64] | None:
    """Return the numbers that texts spell, or None if one spells none."""
    found = []
    for text in texts:
        number = number_of(text, decimal)
        if number is None:
            return None
        found.append(number)
    return np.array(found, dtype=np.float64)


def facts_of_labels(
    labels: Sequence[str],
    rows: NDArray[np.int64],
    weights: NDArray[np.int64],
    *,
    decimal: str,
    max_levels: int,
    whole_rows: bool,
) -> Facts:
    """Return the facts of a column given its labels, and the rows and the weight of each."""
    occurs = weights > 0
    texts = [label for label, seen in zip(labels, occurs.tolist(), strict=True) if seen]
    present = int(rows[occurs].sum())
    values = numbers_of(texts, decimal) if texts else None
    if values is not None:
        found = NumberValues.of(values, weights[occurs])
        return facts_of_numbers(found, present, whole_rows=whole_rows)
    all_dates, any_blanks = all(map(is_date, texts)), any(map(has_blanks, texts))
    tally = Tally(present, len(texts), all_dates, any_blanks)
    return Facts(guess_of_texts(tally, max_levels), len(texts))


def facts_of_numbers(numbers: NumberValues, present: int, *, whole_rows: bool) -> Facts:
    """Return the facts of numbers that stand in so many rows, which may count in part."""
    distinct = numbers.values
    if len(distinct) == 0:
        return Facts(EMPTY, 0)
    guess = NUMBERS
    if are_dates(distinct):
        guess = DATE
    elif len(distinct) == present and (distinct == np.floor(distinct)).all():
        guess = IDENTIFIER if are_identifiers(distinct[0], distinct[-1], present) else NUMBERS
    return Facts(guess, len(distinct), numbers.summary() if whole_rows else None)


def are_dates(distinct: NDArray[np.float64]) -> bool:
    """Whether different numbers, in order, are dates such as 20240228."""
    if not (distinct[0] >= 19_000_101 and distinct[-1] <= 20_991_231):
        return False
    return bool((distinct == np.floor(distinct)).all()) and all(
        is_date(str(int(number))) for number in distinct.tolist()
    )


def are_identifiers(low: float, high: float, n: int) -> bool:
    """Whether n whole numbers, all of them different, are those of numbered things."""
    if n <= FEW_ROWS or low < 0:
        return False
    same_digits = high < 2.0**53 and len(str(int(low))) == len(str(int(high)))
    return bool(high - low < 2 * n or (same_digits and low >= 10.0 ** (_FEWEST_DIGITS - 1)))


def guess_of_texts(tally: Tally, max_levels: int) -> str:
    """Return what texts may be that are not all numbers."""
    if tally.present == 0:
        return EMPTY
    if tally.all_dates:
        return DATE
    never_repeat = tally.present > FEW_ROWS and tally.distinct == tally.present
    if never_repeat or tally.distinct is None or tally.distinct > max_levels:
        return TEXT if tally.any_blanks else IDENTIFIER
    return LABELS


def has_blanks(text: str) -> bool:
    """Whether a blank is within a text, not around it."""
    return len(text.split()) > 1

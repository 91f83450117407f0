"""What is wrong with a CSV file, in words."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gml.data.levels import NA_LEVEL
from gml.errors import CannotAnswer, DataError, counted, parameter, quote, unknown_name
from gml.kernel.layout import (
    BAD_UTF8,
    FIELD_TOO_LONG,
    NOT_A_COUNT,
    NOT_A_NUMBER,
    RAGGED,
    RECORD_TOO_LONG,
    TOO_MANY_ROWS,
    UNDECLARED,
    UNTERMINATED,
    ColumnSpec,
    CsvProblem,
)
from gml.kernel.number import is_padded, number_of, parse_number

_DATE = re.compile(r"\s*\d{1,4}([-/.])\d{1,2}\1\d{1,4}(?!\d)")
# More different words than this do not stand for what is missing.
_FEW_WORDS = 3
_INFINITY = re.compile(r"\s*[+-]?inf(inity)?\s*", re.IGNORECASE)


class NotANumber(DataError):
    """A cell of a column of numbers holds something else: `text`, if it is known."""

    def __init__(self, fault: str, text: str | None = None, hint: str | None = None) -> None:
        if hint is None:
            hint = "" if text is None else number_hint(text)
        super().__init__(fault + hint)
        self.fault, self.text = fault, text
        self.column: str | None = None
        """The column, if a cell of it was found by its text, and not by its line."""


def word_among_numbers(where: str, column: str, text: str, line: int | None = None) -> NotANumber:
    """Refuse a column of too many values to be categorical that is numbers but for a few words."""
    place = where if line is None else f"{where}: line {line}"
    found = f"{place}: column {quote(column)}: {quote(text)} "
    out = f"leave the column out ({parameter('exclude', [column])})"
    if is_padded(text):
        found += "begins with a zero, as codes do"
    else:
        found += "is not a number"
        out = f"{parameter('na', text)} makes it missing, or {out}"
    many = "and there are too many different values for categories"
    problem = NotANumber(f"{found}, {many}; {out}", text, "")
    problem.column = column if line is None else None
    return problem


class TooManyRows(CannotAnswer):
    """The rows take more memory than there is; another engine might do with less."""


def explain_problem(
    problem: CsvProblem,
    where: str,
    names: Sequence[str],
    specs: Sequence[ColumnSpec],
) -> Exception:
    """Turn what the kernel found into an error with file, line, column, value and advice.

    Line 0 is one that is not known.
    """
    column = names[problem.column] if problem.column < len(names) else str(problem.column + 1)
    place = f"{where}: line {problem.line}" if problem.line else where
    cell = f"{place}: column {quote(column)}"
    value = quote(problem.value.decode("utf-8", "replace"))
    if problem.status == RAGGED:
        found, expected = problem.fields, len(names)
        return DataError(
            f"{place}: {counted(found, 'field')}, but the header has {expected}; "
            "quote fields that hold the delimiter"
        )
    if problem.status == BAD_UTF8:
        return DataError(
            f"{cell}: byte 0x{_bad_byte(problem.value):02x} in {value} is not UTF-8; "
            f"try {parameter('encoding', 'cp1252')} or latin-1"
        )
    if problem.status == UNTERMINATED:
        return DataError(f"{cell}: a quote opens here and is never closed")
    if problem.status == FIELD_TOO_LONG:
        return DataError(f"{cell}: a field of more than 1 MiB; is a quote left open?")
    if problem.status == RECORD_TOO_LONG:
        return DataError(f"{place}: a record of more than 64 MiB; is a quote left open?")
    if problem.status == TOO_MANY_ROWS:
        return TooManyRows(
            f"{place}: the {problem.fields} rows up to here take more than "
            f"{parameter('max_memory')} allows; choose fewer columns with {parameter('columns')}, "
            "or allow more"
        )
    if problem.status == UNDECLARED:
        declared = specs[problem.column].declared or ()
        bad = problem.value.decode("utf-8", "replace")
        return DataError(f"{place}: column {quote(column)}: {undeclared(bad, declared)}")
    if problem.status == NOT_A_NUMBER and specs[problem.column].plain_numbers:
        text = problem.value.decode("utf-8", "replace")
        return word_among_numbers(where, column, text, problem.line or None)
    if problem.status == NOT_A_NUMBER:
        return NotANumber(
            f"{cell}: {value} is not a number", problem.value.decode("utf-8", "replace")
        )
    if problem.status == NOT_A_COUNT:
        # Either mark is read as that of decimals: what is not a number at all means missing.
        number = parse_number(problem.value.replace(b",", b"."), ".")
        if number is None:
            return DataError(f"{cell}: the weight is missing; {GIVE_WEIGHTS}")
        return DataError(f"{cell}: {value}, but {weights_must_be(number)}")
    return MemoryError()


def number_hint(text: str) -> str:
    """Say what to do about a text that is not a number but might be meant as one.

    Examples
    --------
    >>> number_hint("2024-02-29 12:00")
    '; it looks like a date: leave the column out, or write dates as numbers of days'
    >>> number_hint("x")
    ''
    """
    if _DATE.match(text):
        return "; it looks like a date: leave the column out, or write dates as numbers of days"
    if _INFINITY.fullmatch(text):
        return f"; infinities have no mean: {parameter('na', text.strip())} makes them missing"
    is_decimal = "," in text and "." not in text
    return f"; say {parameter('decimal', ',')} for a decimal comma" if is_decimal else ""


def hint_among(text: str, levels: Sequence[str], decimal: str) -> str | None:
    """Say what to do about a text in a column that is otherwise of numbers, if these tell.

    Examples
    --------
    >>> hint_among("1,234", ["0.5", "1,234"], ".")
    "; other numbers have a decimal point: write thousands without ','"
    >>> hint_among("1,5", ["2", "1,5"], ".") is None
    True
    """
    if _DATE.match(text) or _INFINITY.fullmatch(text):
        return None
    words = [level for level in levels if number_of(level, decimal) is None]
    if decimal == "," and number_of(text, ".") is not None:
        return None
    if decimal == "." and "," in text and number_of(text.replace(",", ""), ".") is not None:
        has_point = any("." in level for level in levels if level not in words)
        no_thousands = "; other numbers have a decimal point: write thousands without ','"
        return no_thousands if has_point else None
    if len(words) > _FEW_WORDS:
        return None
    tokens = " and ".join(parameter("na", word) for word in words)
    return f"; {tokens} {'makes it' if len(words) == 1 else 'make them'} missing"


_THOUSANDS = {
    mark: re.compile(rf" *[+-]?[1-9]\d{{0,2}}(?:{re.escape(mark)}\d{{3}})+ *") for mark in ",."
}


def how_numbers_are_written(texts: Sequence[str], decimal: str) -> str | None:
    """Say how texts would be numbers that are none with the decimal mark in force.

    Examples
    --------
    >>> from gml.errors import unmarked
    >>> unmarked(how_numbers_are_written(["1,0082", "7", "12,5"], "."))
    "say `decimal=','`, as they have a decimal comma"
    >>> how_numbers_are_written(["1,082", "7", "12,500"], ".")
    "write thousands without ','"
    >>> how_numbers_are_written(["1,0082", "x"], ".") is None
    True
    """
    other = "," if decimal == "." else "."
    marked = [text for text in texts if number_of(text, decimal) is None]
    if not marked or not all(other in text for text in marked):
        return None
    if all(_THOUSANDS[other].fullmatch(text) for text in marked):
        return f"write thousands without {other!r}"
    if any(number_of(text, other) is None for text in marked):
        return None
    name = "comma" if other == "," else "point"
    return f"say {parameter('decimal', other)}, as they have a decimal {name}"


GIVE_WEIGHTS = (
    f"give 0 for a row that does not count, or {parameter('missing', 'drop')} where that is taken"
)
"""What helps where weights are missing."""


def weights_must_be(number: float) -> str:
    """Say what is wrong with a number as a weight."""
    if number >= 2.0**53:
        return (
            "weights must be below 2^53 (9007199254740992), as larger whole numbers are not exact "
            "as float64"
        )
    if number > 0:
        fractions = f"fractions are for {parameter('weights_fractional')}, where that is taken"
        return f"weights must be whole numbers, 0 or more ({fractions})"
    return "weights must be whole numbers, 0 or more"


def is_text_column(levels: Sequence[str], decimal: str) -> bool:
    """Whether a column is one of text: fewer than half of its values are numbers."""
    numbers = sum(number_of(level, decimal) is not None for level in levels)
    return len(levels) > 0 and 2 * numbers < len(levels)


def is_number_column(levels: Sequence[str], decimal: str) -> bool:
    """Whether every label but that of missing values is a number."""
    labels = [level for level in levels if level != NA_LEVEL]
    return all(number_of(label, decimal) is not None for label in labels)


def leave_out_text(names: Sequence[str], numbers: Sequence[str] = ()) -> str:
    """Say which columns hold text where numbers are needed, and how to leave them out.

    `numbers` are the others, where a method for numbers alone is not the only one.
    """
    columns = "column {} holds" if len(names) == 1 else "columns {} hold"
    columns = columns.format(", ".join(map(quote, names)))
    it = "it" if len(names) == 1 else "them"
    way = f"{columns} text: leave {it} out ({parameter('exclude', list(names))})"
    if not numbers:
        return way
    beside = f"say {parameter('numeric', list(numbers))} in place of a method for numbers alone"
    return f"{way}, or, to have labels beside numbers, {beside}"


def undeclared(value: str, declared: Sequence[str]) -> str:
    """Say that a value is not among the levels that it must be one of, the nearest first."""
    return unknown_name("level", value, declared)


def _bad_byte(value: bytes) -> int:
    try:
        value.decode("utf-8")
    except UnicodeDecodeError as error:
        return value[error.start]
    return 0


def require_moderate(
    names: Sequence[str], deviations: Sequence[float], who: str, most: float = 1e75
) -> None:
    """Refuse numbers whose standard deviation, or one over it, is beyond what a method can square.

    Examples
    --------
    >>> require_moderate(["x", "y"], [2.5, 1e300], "a mixture")
    Traceback (most recent call last):
    gml.errors.CannotAnswer: column 'y' has a standard deviation of 1e+300, and a mixture can do \
with 1e-75 to 1e+75; give its numbers in other units
    """
    for name, deviation in zip(names, deviations, strict=True):
        if not 1 / most <= deviation <= most:
            raise CannotAnswer(
                f"column {quote(name)} has a standard deviation of {deviation:.3g}, and {who} can "
                f"do with {1 / most:g} to {most:g}; give its numbers in other units"
            )

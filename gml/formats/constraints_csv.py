"""Constraint files in CSV: margins and conditional probabilities, or expectations.

Margins have a column per variable and one of values, `probability` or `count`; without such a
column, one that is called `share`, `proportion`, `percent` or `n`, in capitals or not. A row leaves
empty the variables that its margin does not have; rows with the same columns filled are one margin:

    sex,age,count
    m,,490
    f,,510
    ,young,300
    ,old,700

In a column `given`, a row may name the variables (separated by semicolons) on whose levels its
probability is conditional; such a row is a constraint of its own.

Expectations have the header `constraint,variable,level,number,relation,value`, a row per number;
rows with the same name in `constraint` are one, of which one row at least has the relation (=, <=
or >=) and the value.

Labels are text, as in data; columns are separated by commas, in a .tsv file by tabs.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from gml.data.dialect import default_delimiter
from gml.errors import DataError, counted, listing, place, quote, unknown_name
from gml.kernel.number import number_of
from gml.model.entropy.constraints import (
    EQUALS,
    RELATIONS,
    Cell,
    Conditional,
    Constraint,
    Constraints,
    Expectation,
    Margin,
    common_total,
    margin_of_values,
)

EXPECTATION_COLUMNS = ("constraint", "variable", "level", "number", "relation", "value")
PROBABILITIES, PERCENTAGES, COUNTS = "probabilities", "percentages", "counts"
_VALUES = {
    "probability": PROBABILITIES,
    "count": COUNTS,
    "share": PROBABILITIES,
    "proportion": PROBABILITIES,
    "percent": PERCENTAGES,
    "n": COUNTS,
}
"""What a column of values holds, by its name; the first two are never those of a variable."""
_PLAIN = ("probability", "count")
_SHARES = ("share", "proportion", "percent")
_IN_WORDS = "probability or count (or share, proportion, percent, n)"
_GIVEN = "given"


class _Row(NamedTuple):
    """A record by column, and the line on which it begins."""

    line: int
    fields: dict[str, str]


def constraints_of_csv(
    text: str, path: str | os.PathLike[str], *, normalise: bool = False
) -> Constraints:
    """Return the constraints in the text of a CSV file.

    Examples
    --------
    >>> text = "rain,clouds,given,probability\\nyes,no,clouds,0.1\\n,no,,0.4\\n,yes,,0.6\\n"
    >>> [item.title for item in constraints_of_csv(text, "sky.csv").items]
    ["line 2 (P(rain='yes' | clouds='no'))", "line 3 (the margin of 'clouds')"]
    """
    where = place(path)
    header, rows = _records(text, default_delimiter(path), where)
    try:
        if set(header) == set(EXPECTATION_COLUMNS):
            items: tuple[Constraint, ...] = tuple(_expectations(rows))
            total = None
        else:
            items, total = _margins(header, rows, normalise)
    except DataError as error:
        raise DataError(f"{where}: {error}") from None
    if not items:
        raise DataError(f"{where}: there are no constraints below the header")
    return Constraints(items, {}, where, total)


def _records(text: str, delimiter: str, where: str) -> tuple[list[str], Iterator[_Row]]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)

    def records() -> Iterator[tuple[int, list[str]]]:
        while True:
            line = reader.line_num + 1
            try:
                fields = next(reader, None)
            except csv.Error as error:
                raise DataError(f"{where}: line {line}: {error}") from None
            if fields is None:
                return
            if fields:
                yield line, fields

    found = records()
    line, header = next(found, (0, []))
    if not header:
        raise DataError(f"{where}: no header and no rows: there are no constraints")
    if len(header) == 1:
        raise DataError(
            f"{where}: line {line}: the header is one column, {quote(header[0])}; columns are "
            "separated by commas, in a .tsv file by tabs"
        )
    twice = [name for name in header if header.count(name) > 1]
    if twice:
        raise DataError(f"{where}: line {line}: column {quote(twice[0])} appears twice")
    if "" in header:
        raise DataError(f"{where}: line {line}: a column has no name")

    def rows() -> Iterator[_Row]:
        for line, fields in found:
            if len(fields) != len(header):
                raise DataError(
                    f"line {line}: {counted(len(fields), 'field')}, but the header has "
                    f"{len(header)}; quote fields that hold the delimiter"
                )
            yield _Row(line, dict(zip(header, fields, strict=True)))

    return header, rows()


# ---------------------------------------------------------------------- margins


def _margins(
    header: list[str], rows: Iterable[_Row], normalise: bool
) -> tuple[tuple[Constraint, ...], float | None]:
    values = _value_column(header)
    rows = _without_second_values(list(rows), [name for name in header if name != values], values)
    what = _VALUES[values.casefold()]
    variables = [name for name in header if name not in (values, _GIVEN)]
    if not variables:
        raise DataError("the header names no variable")
    conditionals: list[Conditional] = []
    margins: dict[tuple[str, ...], list[tuple[int, Cell, float]]] = {}
    first_lines: list[int] = []
    for row in rows:
        filled = tuple(name for name in variables if row.fields[name] != "")
        if not filled:
            raise DataError(f"line {row.line}: every variable is empty; fill those of the margin")
        value = _number(row, values)
        if row.fields.get(_GIVEN):
            if what == COUNTS:
                raise DataError(
                    f"line {row.line}: a count with {_GIVEN!r}; only a probability can be "
                    "conditional"
                )
            share = value / 100 if what == PERCENTAGES else value
            conditionals.append(_conditional(row, filled, values, share))
            first_lines.append(row.line)
            continue
        cell = tuple(row.fields[name] for name in filled)
        margins.setdefault(filled, []).append((row.line, cell, value))
    totals: list[tuple[Margin, float]] = []
    for names, cells in margins.items():
        totals.append(_margin(names, cells, what, normalise))
        first_lines.append(cells[0][0])
    total = common_total(totals, normalise=normalise) if what == COUNTS else None
    items: list[Constraint] = [*conditionals, *(margin for margin, _ in totals)]
    in_order = sorted(range(len(items)), key=first_lines.__getitem__)
    return tuple(items[k] for k in in_order), total


def _value_column(header: list[str]) -> str:
    """Return the column of values: probability or count, else one of another name, however cased.

    With one of the two, the other names are free for variables.
    """
    found = [name for name in header if name in _PLAIN]
    found = found or [name for name in header if name.casefold() in _VALUES]
    if len(found) == 1:
        return found[0]
    said = (
        f"{listing(found)} could all be the values of the margins; leave one"
        if found
        else f"no column of values; margins have one that is called {_IN_WORDS}"
    )
    raise DataError(f"{said}; expectations have the columns {', '.join(EXPECTATION_COLUMNS)}")


def is_of_values(name: str) -> bool:
    """Whether a column of this name may hold the values of margins.

    Examples
    --------
    >>> is_of_values("Percent"), is_of_values("sex")
    (True, False)
    """
    return name.casefold() in _VALUES


def _without_second_values(rows: list[_Row], others: list[str], values: str) -> list[_Row]:
    """Return the rows; refuse a share beside the values, which would be taken for a variable."""
    for name in others:
        if name.casefold() in _SHARES and all(
            number_of(row.fields[name], ".") is not None for row in rows
        ):
            raise DataError(
                f"two columns of values, {listing([values, name])}; leave one, or give the "
                "variable another name"
            )
    return rows


def _margin(
    names: tuple[str, ...], cells: list[tuple[int, Cell, float]], what: str, normalise: bool
) -> tuple[Margin, float]:
    lines: dict[Cell, int] = {}
    for line, cell, _ in cells:
        if cell in lines:
            raise DataError(
                f"line {line}: {listing(cell)} of {listing(names)} appears twice, on line "
                f"{lines[cell]} too"
            )
        lines[cell] = line
    values = {cell: value for _, cell, value in cells}
    for line, _, value in cells:
        if value < 0:
            raise DataError(f"line {line}: {value:g} of the {what} must not be negative")
    return margin_of_values(names, values, what, place=f"line {cells[0][0]}", normalise=normalise)


def _conditional(row: _Row, filled: tuple[str, ...], values: str, value: float) -> Conditional:
    conditions = [name.strip() for name in row.fields[_GIVEN].split(";")]
    for name in conditions:
        if name not in row.fields or name in (values, _GIVEN):
            columns = [column for column in row.fields if column not in (values, _GIVEN)]
            raise DataError(f"line {row.line}: {_GIVEN}: {unknown_name('column', name, columns)}")
        if name not in filled:
            raise DataError(f"line {row.line}: {quote(name)} is given, but has no level here")
    event = {name: row.fields[name] for name in filled if name not in conditions}
    given = {name: row.fields[name] for name in filled if name in conditions}
    return Conditional(event, given, EQUALS, value, place=f"line {row.line}")


# ---------------------------------------------------------------------- expectations


def _expectations(rows: Iterator[_Row]) -> Iterator[Expectation]:
    groups: dict[str, list[_Row]] = {}
    for row in rows:
        for column in ("constraint", "variable", "level"):
            if row.fields[column] == "":
                raise DataError(f"line {row.line}: the {column} is missing")
        groups.setdefault(row.fields["constraint"], []).append(row)
    for name, group in groups.items():
        numbers: dict[str, dict[str, float]] = {}
        for row in group:
            of_variable = numbers.setdefault(row.fields["variable"], {})
            level = row.fields["level"]
            if level in of_variable:
                raise DataError(
                    f"line {row.line}: {quote(level)} of {quote(row.fields['variable'])} appears "
                    f"twice in {quote(name)}"
                )
            of_variable[level] = _number(row, "number")
        relation, value = _agreed(group, name)
        yield Expectation(numbers, relation, value, name=name, place=f"line {group[0].line}")


def _agreed(group: list[_Row], name: str) -> tuple[str, float]:
    """Return the relation and the value that the rows of a constraint give."""
    relations = {row.fields["relation"]: row for row in group if row.fields["relation"]}
    values = {_number(row, "value"): row for row in group if row.fields["value"]}
    for column, found in (("relation", relations), ("value", values)):
        if not found:
            raise DataError(f"line {group[0].line}: {quote(name)} has no {column} in any row")
        if len(found) > 1:
            last = max(row.line for row in found.values())
            raise DataError(f"line {last}: {quote(name)} has another {column} above")
    relation, row = next(iter(relations.items()))
    if relation not in RELATIONS:
        raise DataError(
            f"line {row.line}: the relation must be one of {', '.join(RELATIONS)}, not {relation!r}"
        )
    return relation, next(iter(values))


def _number(row: _Row, column: str) -> float:
    text = row.fields[column]
    if text.strip() == "":
        raise DataError(f"line {row.line}: the {column} is missing")
    value = number_of(text, ".")
    if value is None:
        bare = "; write it without %" if text.rstrip().endswith("%") else ""
        raise DataError(f"line {row.line}: the {column} must be a number, not {quote(text)}{bare}")
    return value

"""Files of column sets: one per line, as a CSV record; blank lines and # comments are skipped."""

from __future__ import annotations

import csv
import os
import re
from collections import Counter
from typing import NamedTuple

from gml.data.text_file import read_text
from gml.errors import DataError, listing, place


class ColumnSet(NamedTuple):
    """A set of columns, and its place in the file."""

    names: tuple[str, ...]
    where: str


def read_column_sets(path: str | os.PathLike[str]) -> list[ColumnSet]:
    """Read a file of column sets, or standard input for `-`."""
    return parse_column_sets(read_text(path), place(path))


def parse_column_sets(text: str, where: str) -> list[ColumnSet]:
    r"""Read the lines of a file of column sets.

    Examples
    --------
    >>> [found.names for found in parse_column_sets('a,b\n# a comment\n\n"x,y"\n', "sets.csv")]
    [('a', 'b'), ('x,y',)]
    """
    sets = []
    for number, line in enumerate(re.split(r"\r\n|\r|\n", text), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        spot = f"{where}: line {number}"
        try:
            (names,) = csv.reader([line], strict=True)
        except csv.Error as error:
            raise DataError(f"{spot}: not a list of names: {error}") from None
        twice = sorted(name for name, times in Counter(names).items() if times > 1)
        if twice:
            raise DataError(f"{spot}: {listing(twice)} twice in one set")
        sets.append(ColumnSet(tuple(names), spot))
    if not sets:
        raise DataError(f"{where}: no set of columns; write one per line: A,B,C")
    return sets

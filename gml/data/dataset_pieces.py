"""Pieces of a table that are datasets already, each with the levels that it has itself.

Labels are coded in order of appearance, as in the pieces of a file, and get the codes of the whole
when all pieces were seen. Levels that all pieces have in common keep their order, as somebody may
have declared it; others are put in the order that the whole table would have.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml.data.dataset import MAX_LEVELS, Dataset, Origin, Variable, code_type, missing_code
from gml.data.levels import NA_LEVEL, order_levels
from gml.errors import DataError, UsageError, listing, quote
from gml.kernel.layout import CODES8, CODES16, NUMBERS, CsvColumn

WHERE = "the pieces"
"""What messages call a table that is given in pieces."""


class DatasetPieces:
    """Takes the pieces of a table one by one, and refuses one that belongs to another table.

    Examples
    --------
    >>> first = Dataset((Variable("A", ("b", "d")),), (np.array([0, 1], dtype=np.uint8),))
    >>> second = Dataset((Variable("A", ("c", "d")),), (np.array([1, 0], dtype=np.uint8),))
    >>> pieces = DatasetPieces(first)
    >>> [pieces.columns_of(piece)[0].cells.tolist() for piece in (first, second)]
    [[0, 1], [1, 2]]
    >>> pieces.variables()
    (Variable(name='A', levels=('b', 'c', 'd')),)
    """

    def __init__(self, first: Dataset) -> None:
        # What is kept of the first piece is what it is like, not its rows.
        self._first = first.rows(np.zeros(first.n_rows, dtype=bool))
        self._codes: list[dict[str, int]] = [{} for _ in first.variables]
        self._labels: list[list[str]] = [[] for _ in first.variables]
        self._agree = [True] * len(first.variables)
        self.origin: Origin | None = None
        """What the pieces say together of how they were read."""
        self._last_origin: Origin | None = None
        self._is_begun = False

    def columns_of(self, piece: Dataset) -> list[CsvColumn]:
        """Return the columns of the next piece, with labels coded in order of appearance."""
        self._refuse_other_tables(piece)
        self._add_origin(piece.origin)
        self._is_begun = True
        columns = []
        for j, (variable, cells) in enumerate(zip(piece.variables, piece.columns, strict=True)):
            self._agree[j] &= variable == self._first.variables[j]
            columns.append(
                CsvColumn(NUMBERS, [], cells)
                if variable.levels is None
                else self._coded(j, variable.name, variable.levels, cells)
            )
        return columns

    def _coded(self, j: int, name: str, levels: tuple[str, ...], cells: NDArray[Any]) -> CsvColumn:
        codes, labels = self._codes[j], self._labels[j]
        for level in levels:
            if level not in codes:
                codes[level] = len(labels)
                labels.append(level)
        if len(labels) > MAX_LEVELS:
            raise DataError(f"{WHERE}: column {quote(name)} has more than {MAX_LEVELS} levels")
        narrow = code_type(len(labels))
        # What says missing is the last code of either type.
        table = np.full(missing_code(cells) + 1, np.iinfo(narrow).max, dtype=narrow)
        table[: len(levels)] = [codes[level] for level in levels]
        return CsvColumn(CODES8 if narrow is np.uint8 else CODES16, labels, table[cells])

    def variables(self) -> tuple[Variable, ...]:
        """The columns of the table that the pieces so far make up."""
        return tuple(
            v if v.levels is None or agree else Variable(v.name, self._in_order(labels))
            for v, labels, agree in zip(
                self._first.variables, self._labels, self._agree, strict=True
            )
        )

    def _in_order(self, labels: list[str]) -> tuple[str, ...]:
        origin = self.origin
        own = origin is not None and origin.policy == "level" and NA_LEVEL in labels
        found = order_levels(
            [label for label in labels if not (own and label == NA_LEVEL)],
            decimal="." if origin is None else origin.decimal,
        )
        return (*found, NA_LEVEL) if own else found

    def _refuse_other_tables(self, piece: Dataset) -> None:
        first = self._first
        if piece.names != first.names:
            raise DataError(
                f"the pieces of a table must have the same columns in the same order: "
                f"{listing(first.names)}, not {listing(piece.names)}"
            )
        changed = [
            old.name
            for old, new in zip(first.variables, piece.variables, strict=True)
            if old.is_continuous != new.is_continuous
        ]
        if changed:
            raise DataError(f"{listing(changed)}: labels in one piece, and numbers in another")
        if piece.unit != 1:
            raise UsageError("the pieces of a table must have whole weights, not fractions")
        if (piece.weights is None) != (first.weights is None):
            raise DataError("either all pieces of a table must have weights, or none")

    def _add_origin(self, new: Origin | None) -> None:
        old = self.origin
        if self._is_begun and new is not None and new is self._last_origin:
            # Blocks of one table, all of which it counts.
            return
        self._last_origin = new
        if not self._is_begun:
            self.origin = None if new is None else new.without_values()
            return
        if (old is None) != (new is None):
            raise DataError("some pieces of the table were read from files, and some were not")
        if old is None or new is None:
            return
        if (old.policy, old.na, old.decimal) != (new.policy, new.na, new.decimal):
            # Other delimiters and encodings make the same rows.
            raise UsageError("the pieces of a table must be read with the same options")
        cut = sorted(
            name for name in {*old.cuts, *new.cuts} if old.cuts.get(name) != new.cuts.get(name)
        )
        if cut:
            raise UsageError(
                f"the pieces of a table must be cut at the same places, and {listing(cut)} is not; "
                "give the cut points"
            )
        missing = {
            name: old.missing.get(name, 0) + new.missing.get(name, 0)
            for name in (*old.missing, *new.missing)
        }
        self.origin = replace(old, n=old.n + new.n, missing=missing)

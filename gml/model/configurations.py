"""Configurations of parents with levels, as the rows of a table count them: the last is fastest."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from gml.data.dataset import Variable


def configuration(parents: Sequence[Variable], row: int) -> tuple[str, ...]:
    """Return the levels of the parents that a row of a table is for."""
    labels = []
    for parent in reversed(parents):
        assert parent.levels is not None
        row, code = divmod(row, len(parent.levels))
        labels.append(parent.levels[code])
    return tuple(reversed(labels))


def described_row(parents: Sequence[Variable], row: int) -> str:
    """Say which configuration a row of a table is for, in parentheses; nothing without parents."""
    labels = zip(parents, configuration(parents, row), strict=True)
    shown = ", ".join(f"{parent.name}={label}" for parent, label in labels)
    return f" ({shown})" if shown else ""


def turned_rows(parents: Sequence[Variable], order: Sequence[int]) -> list[int]:
    """Return the rows of a table in the order that they have with the parents in another order.

    Examples
    --------
    >>> two, three = Variable("a", ("no", "yes")), Variable("b", ("1", "2", "3"))
    >>> turned_rows([two, three], [1, 0])
    [0, 3, 1, 4, 2, 5]
    """
    sizes = [len(parent.levels or ()) for parent in parents]
    rows = np.arange(math.prod(sizes)).reshape(sizes)
    found: list[int] = rows.transpose(order).reshape(-1).tolist()
    return found

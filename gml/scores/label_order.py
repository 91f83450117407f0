"""Graphs in which no number is a parent of a label, as conditional Gaussian scores need them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gml.data.dataset import Variable
from gml.errors import DataError, parameter, quote
from gml.graph.knowledge import Knowledge

OTHERWISE = f"{parameter('score', 'bic-dg')} allows it"
"""The way out where a number must be a parent of a label."""


def labels_before_numbers(known: Knowledge, variables: Sequence[Variable], score: str) -> Knowledge:
    """Add to what is known that no number is a parent of a label.

    Where there are tiers already, the edges that they leave open are forbidden one by one.

    Examples
    --------
    >>> columns = [Variable("sex", ("f", "m")), Variable("age", None)]
    >>> labels_before_numbers(Knowledge(), columns, "bic-cg")
    <Knowledge: tiers 'sex', 'age'>
    """
    labels = tuple(v.name for v in variables if not v.is_continuous)
    numbers = tuple(v.name for v in variables if v.is_continuous)
    if not labels or not numbers:
        return known
    for cause, effect in known.require:
        if cause in numbers and effect in labels:
            raise DataError(
                f"contradictory knowledge: {quote(cause)} -> {quote(effect)} is required, and "
                f"{score} takes no number for a parent of a label; {OTHERWISE}"
            )
    if not known.tiers:
        return replace(known, tiers=(labels, numbers), before_demands=known.told)
    names = [v.name for v in variables]
    is_number = np.array([v.is_continuous for v in variables], dtype=bool)
    open_ = is_number[:, None] & ~is_number[None, :] & ~known.forbidden(names)
    arcs = [(names[x], names[y]) for x, y in np.argwhere(open_).tolist()]
    return replace(known, forbid=(*known.forbid, *sorted(arcs)), before_demands=known.told)

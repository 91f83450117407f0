"""The margins of data that a log-linear model has to match: those of its generators.

They are all that the likelihood needs to know (Lauritzen 1996, section 4.2). Smoothing adds rows
that are spread evenly over the full joint table, so every cell of a margin of k cells gets the k-th
part of them.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gml.counts.counter import Counter
from gml.errors import CannotAnswer, DataError, listing
from gml.model.undirected.terms import Scope, Terms


@dataclass(frozen=True)
class Observed:
    """The rows, and how many of them, smoothing included, each cell of each generator has."""

    terms: Terms
    rows: float
    """Rows of the data, with their weights."""
    smoothing: float
    counts: tuple[NDArray[np.float64], ...]
    """One table per generator, without the smoothing."""

    @property
    def n(self) -> float:
        """Rows, smoothing included."""
        return self.rows + self.smoothing

    @functools.cached_property
    def margins(self) -> list[NDArray[np.float64]]:
        """The shares of rows, smoothing included, one table per generator."""
        return [(table + self.smoothing / table.size) / self.n for table in self.counts]


def observed_margins(counter: Counter, terms: Terms, *, smoothing: float = 0.0) -> Observed:
    """Count the generators; the columns of the counter are found by name.

    Examples
    --------
    >>> import gml
    >>> counter = gml.MemoryCounter(gml.read("sample_data/asia.csv"))
    >>> terms = Terms.of(counter.variables, [["lung", "smoke"]])
    >>> observed = observed_margins(counter, terms)
    >>> observed.rows, observed.counts[-1].tolist()
    (5000.0, [[2475.0, 2268.0], [26.0, 231.0]])
    """
    counts = tuple(tables_over(counter, terms, terms.generators))
    rows = float(counter.n * counter.unit)
    if rows + smoothing <= 0:
        raise CannotAnswer("there are no rows to fit")
    return Observed(terms, rows, smoothing, counts)


def tables_over(
    counter: Counter, terms: Terms, scopes: tuple[Scope, ...]
) -> list[NDArray[np.float64]]:
    """Count tables over scopes, in rows."""
    position = {variable.name: j for j, variable in enumerate(counter.variables)}
    absent = [name for name in terms.names if name not in position]
    if absent:
        raise DataError(f"no column for {listing(absent)}")
    empty = [variable.name for variable in terms.variables if not variable.levels]
    if empty:
        raise DataError(f"no values in column {listing(empty)}")
    columns = [position[name] for name in terms.names]
    families = [(columns[scope[-1]], tuple(columns[k] for k in scope[:-1])) for scope in scopes]
    found = counter.family_tables(families)
    return [
        table.reshape(terms.shape(scope)).astype(np.float64) * counter.unit
        for scope, table in zip(scopes, found, strict=True)
    ]

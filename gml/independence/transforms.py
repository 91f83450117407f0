"""Numbers replaced by what depends on their order alone, column by column.

`rank` has the ranks 1 to n, the mean rank for equal numbers. The correlation ρ of ranks is then
taken to the correlation 2 sin(πρ/6) that normal columns with such ranks have (Pearson 1907; for
learning graphs Harris & Drton 2013, J. Mach. Learn. Res. 14:3365). `normal` has van der Waerden's
scores Φ⁻¹(rank/(n+1)), whose correlations are taken as they are. A column is ranked over the rows
in which it has a value, each weighted.
"""

from __future__ import annotations

from gml.counts.counter import Counter
from gml.counts.memory import MemoryCounter
from gml.counts.rank_correlations import rank_transformed
from gml.errors import UsageError, parameter
from gml.parameters import TRANSFORMS

NONE, RANK, NORMAL = TRANSFORMS


def transformed(counter: Counter, transform: str, threads: int | None) -> Counter:
    """Return an engine whose columns of numbers are ranks or scores."""
    if transform == NONE:
        return counter
    data = counter.require_rows(parameter("transform", transform))
    numbers = [j for j, variable in enumerate(data.variables) if variable.is_continuous]
    ranked = rank_transformed(data, numbers, transform)
    return MemoryCounter(ranked, threads=threads, max_memory=counter.budget)


def refuse_ranks(test: str, transform: str) -> None:
    """Refuse ranks for a test whose matrix has more than numbers in it."""
    if transform == RANK:
        raise UsageError(
            f"{parameter('transform', RANK)} goes with numbers alone (fisher-z), not with {test}: "
            f"use {parameter('transform', NORMAL)}"
        )

"""What makes values missing: the direct causes of missingness indicators.

R_i says in which rows column i has no value. By assumption it is caused by columns other than i and
is itself the cause of nothing (Tu, Zhang, Ackermann, Mohan, Kjellström & Zhang 2019, AISTATS, PMLR
89:1762, section 3.2), so that its causes separate it from all other columns. They are found as PC
finds neighbours (`gml.learners.skeleton`), by the test of the run at its level, each test on the
rows that have its columns: column j stops being a cause of R_i when a set of the causes that are
left, without j, makes the two independent. An indicator is a column of two labels, or of zeros and
ones among numbers, where the test sees causes that act in one direction.

A column whose missing values depend on the values themselves (self-masking) cannot be recognised:
where the value is missing, it is not known. Nor can a cause that is no column.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from gml.counts.counter import Counter
from gml.counts.memory import MemoryCounter
from gml.data.dataset import Dataset, Variable, has_missing, missing_mask
from gml.graph.knowledge import Knowledge
from gml.independence.base import CounterTest
from gml.learners.skeleton import Asker, Skeleton, run_levels
from gml.progress import Deadline

MakeTest = Callable[[Counter], CounterTest]
"""The test of a run, over any columns."""

_STATES = ("there", "missing")


@dataclass(frozen=True)
class MissingnessCauses:
    """The causes of missing values, by the names of the columns that have some; sorted.

    `tests` were needed to find them; `complete` is False if time ran out.
    """

    of: dict[str, tuple[str, ...]]
    tests: int
    complete: bool


def missingness_causes(
    rows: Dataset,
    make_test: MakeTest,
    *,
    alpha: float,
    on_insufficient: str,
    max_cond: int | None,
    deadline: Deadline,
    threads: int | None = None,
) -> MissingnessCauses:
    """Find what makes the values of each column missing."""
    incomplete = [
        name for name in sorted(rows.names) if has_missing(rows.columns[rows.index(name)])
    ]
    if not incomplete:
        return MissingnessCauses({}, 0, complete=True)
    indicators = {name: _indicator_name(name, rows.names) for name in incomplete}
    counter = MemoryCounter(_with_indicators(rows, indicators), threads=threads)
    asker = Asker(make_test(counter), alpha=alpha, on_insufficient=on_insufficient)
    at = {name: j for j, name in enumerate(asker.names)}
    # Sets of causes of the indicator only: it is the cause of nothing.
    arcs = np.zeros((len(at), len(at)), dtype=bool)
    for name, indicator in indicators.items():
        arcs[at[indicator], [at[other] for other in rows.names if other != name]] = True
    found = Skeleton(arcs)
    tiers = Knowledge().tiers_of(asker.names)
    run_levels(asker, found, arcs.copy(), tiers, max_cond=max_cond, deadline=deadline)
    causes = {
        name: tuple(asker.names[j] for j in np.flatnonzero(found.adjacent[at[indicator]]))
        for name, indicator in indicators.items()
    }
    return MissingnessCauses(causes, sum(found.tests), found.complete)


def _indicator_name(name: str, taken: tuple[str, ...]) -> str:
    """What an indicator is called in messages of tests; no column is called so."""
    called = f"missing {name}"
    while called in taken:
        called += "'"
    return called


def _with_indicators(rows: Dataset, indicators: dict[str, str]) -> Dataset:
    """The columns with their indicators beside them, of the same kind."""
    variables, columns = list(rows.variables), list(rows.columns)
    for name, indicator in indicators.items():
        j = rows.index(name)
        lacking = missing_mask(rows.columns[j])
        is_number = rows.variables[j].is_continuous
        variables.append(Variable(indicator, None if is_number else _STATES))
        columns.append(lacking.astype(np.float64 if is_number else np.uint8))
    return replace(rows, variables=tuple(variables), columns=tuple(columns), origin=None)

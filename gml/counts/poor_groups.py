"""Which group of rows keeps a regression within configurations of labels from being made."""

from __future__ import annotations

from collections.abc import Sequence

from gml.counts.answers import Moments
from gml.counts.counter import Counter
from gml.counts.residuals import SPARE_ROWS, residuals_from_moments, split_parents


def poor_group(counter: Counter, child: int, parents: Sequence[int]) -> str:
    """Say what the poorest group of rows of a family lacks: rows, or variance.

    That is the group with the fewest rows, if these are too few (ties go to the first in order of
    levels), else the first in which nothing is left of the variance of a column.

    Examples
    --------
    >>> import gml, pandas as pd
    >>> rows = pd.DataFrame({"a": list("ppqqq"), "x": [1, 2, 3, 5, 4]})
    >>> poor_group(gml.MemoryCounter(gml.read(rows, numeric=["x"])), 1, [0])
    '2 of 3 rows needed where a=p'
    """
    numbers, labels = split_parents(counter.variables, counter.order, parents)
    columns = [*numbers, child]
    needed = len(numbers) + 1 + SPARE_ROWS
    if not labels:
        found = counter.moments(columns)
        short = found.n * counter.unit < needed
        return f"{counter.in_rows(found.n):g} of {needed} rows needed" if short else _still("")
    strata = counter.moments(columns, labels)
    fewest = min(range(len(strata.moments)), key=lambda k: strata.moments[k].n)
    rows = counter.in_rows(strata.moments[fewest].n)

    def where(k: int) -> str:
        levels = (
            f"{counter.variables[j].name}={(counter.variables[j].levels or ())[code]}"
            for j, code in zip(labels, strata.configs[k].tolist(), strict=True)
        )
        return f" where {', '.join(levels)}"

    if rows < needed:
        return f"{rows:g} of {needed} rows needed{where(fewest)}"
    still = [k for k, moments in enumerate(strata.moments) if _is_still(moments)]
    return _still(where(still[0]) if still else "")


def _is_still(moments: Moments) -> bool:
    return not residuals_from_moments(moments).least_pivot > 0


def _still(where: str) -> str:
    return f"no variance left{where}"

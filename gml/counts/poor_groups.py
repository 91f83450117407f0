"""Which group of rows keeps a regression within configurations of labels from being made."""

from __future__ import annotations

from collections.abc import Sequence

from gml.counts.answers import Moments, StratifiedMoments
from gml.counts.counter import Counter
from gml.counts.questions import Family, Question
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
    (found,) = poor_groups(counter, [(child, tuple(parents))])
    return found


def poor_groups(counter: Counter, families: Sequence[Family]) -> list[str]:
    """The same of several families, whose moments are asked for at once."""
    questions = []
    for child, parents in families:
        numbers, labels = split_parents(counter.variables, counter.order, parents)
        questions.append(Question((*numbers, child), tuple(labels)))
    answers = counter.many_moments(questions)
    return [_poorest(counter, *asked) for asked in zip(questions, answers, strict=True)]


def _poorest(counter: Counter, question: Question, found: Moments | StratifiedMoments) -> str:
    needed = len(question.columns) + SPARE_ROWS
    if isinstance(found, Moments):
        short = found.n * counter.unit < needed
        return f"{counter.in_rows(found.n):g} of {needed} rows needed" if short else _still("")
    fewest = min(range(len(found.moments)), key=lambda k: found.moments[k].n)
    rows = counter.in_rows(found.moments[fewest].n)

    def where(k: int) -> str:
        levels = (
            f"{counter.variables[j].name}={(counter.variables[j].levels or ())[code]}"
            for j, code in zip(question.given, found.configs[k].tolist(), strict=True)
        )
        return f" where {', '.join(levels)}"

    if rows < needed:
        return f"{rows:g} of {needed} rows needed{where(fewest)}"
    still = [k for k, moments in enumerate(found.moments) if _is_still(moments)]
    return _still(where(still[0]) if still else "")


def _is_still(moments: Moments) -> bool:
    return not residuals_from_moments(moments).least_pivot > 0


def _still(where: str) -> str:
    return f"no variance left{where}"

"""Regressions within groups of labels (`gml.counts.residuals`), by few passes over chunks.

All families of a batch share the passes: one for the ranges of numbers, unless they are known, one
for the sums within groups, and two for families of which so little is left that they are regressed
again from exact sums.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from gml import kernel
from gml.counts.exact_moments import Frame
from gml.counts.pass_work import GroupSums, Regression
from gml.counts.questions import Family, Question
from gml.counts.residuals import (
    Residuals,
    bits_of_numbers,
    is_exact,
    is_settled,
    residuals_from_moments,
)
from gml.kernel.layout import GroupResiduals

if TYPE_CHECKING:
    from gml.counts.passes import PassCounter

# Sums of so many families, groups and products are held at once for each chunk.
_MOST_FAMILIES = 1 << 10


def residuals_in_passes(counter: PassCounter, families: Sequence[Family]) -> Residuals:
    """Regress numbers on numbers within configurations of labels."""
    split = [(child, *counter.regressors(child, parents)) for child, parents in families]
    asked = [Question((*numbers, child), tuple(labels)) for child, numbers, labels in split]
    found: list[GroupResiduals] = []
    for start in range(0, len(asked), _MOST_FAMILIES):
        found += _of_batch(counter, asked[start : start + _MOST_FAMILIES])
    return Residuals.of(found, [len(numbers) for _, numbers, _ in split], counter.unit)


def _of_batch(counter: PassCounter, asked: Sequence[Question]) -> Iterator[GroupResiduals]:
    """Regress the last column of each question on the others."""
    bits = bits_of_numbers(counter.n)
    found: list[GroupResiduals | None] = [None] * len(asked)
    if is_exact(bits):
        found = list(_by_groups(counter, asked, bits))
    again = [k for k, one in enumerate(found) if one is None]
    moments = counter.many_moments([asked[k] for k in again]) if again else []
    exact = dict(zip(again, map(residuals_from_moments, moments), strict=True))
    for k, one in enumerate(found):
        yield exact[k] if one is None else one


def _by_groups(
    counter: PassCounter, asked: Sequence[Question], bits: int
) -> Iterator[GroupResiduals | None]:
    """The same from sums within groups; None where rounding shows."""
    frames = [
        tuple(Frame.between(low, high, bits) for low, high in ends)
        for ends in _ranges(counter, asked)
    ]

    def work_on(place: Mapping[int, int]) -> GroupSums:
        regressions = [
            Regression(
                tuple(place[j] for j in question.columns),
                tuple(place[j] for j in question.given),
                own,
            )
            for question, own in zip(asked, frames, strict=True)
        ]
        return GroupSums(regressions, [counter.n_levels[j] for j in place])

    sums = counter.ask((j for q in asked for j in (*q.columns, *q.given)), work_on)
    for question, own, part in zip(asked, frames, sums, strict=True):
        found = kernel.active().residuals_of_sums(
            part.counts, part.digits, len(question.columns), own[-1].scale
        )
        yield found if is_settled(found, len(question.columns), counter.unit) else None


def _ranges(counter: PassCounter, asked: Sequence[Question]) -> Iterator[list[tuple[float, float]]]:
    """The extremes of the numbers of each question, over all its groups together."""
    if not counter.missing:
        for question in asked:
            low, high = counter.whole_ranges(question.columns).tolist()
            yield list(zip(low, high, strict=True))
        return
    seen = counter.seen_in([(*question.columns, *question.given) for question in asked])
    for question, of_columns in zip(asked, seen, strict=True):
        yield [(one.low, one.high) for one in of_columns[: len(question.columns)]]

"""Numbers: do they stay within the old extremes, and are they distributed as before?

Range: with n old values and m new ones, all k largest of n + m are new with probability
∏_{i<k} (m−i)/(n+m−i) if nothing changed, and so at least k new values exceed the old maximum (Wilks
1942, Ann. Math. Stat. 13:400). New values that equal it do not count, which makes ties, broken at
random, only less likely. The smaller p-value of the two ends, doubled, is that of the check, and
the share of rows beyond the extremes its effect.

Codes: a value that occurs three times or more outside the old range, as at least half of the values
beyond that end, may stand for missing. It is taken for such a code by rule, without a p-value, and
so outside the promise, if

- it is a usual code (0, −1, −9, all nines, the limits of machine numbers), farther from the old
  extreme than that is from the 5 % (95 %) quantile and than half way to the 25 % (75 %) quantile,
  and so many new values beyond that end have a probability of 0.01 at most, by the product above;
- or it is a usual code, or lies farther outside than the range is wide, and that probability is
  1e-4 at most.

Drift: the counts between the old quantiles are compared (`within_cuts`). Where all
quantiles moved by one factor, or as degrees of another scale do, the message says so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from gml.data.number_summary import Numbers, NumberSummary
from gml.errors import Note, parameter
from gml.gate.check import DRIFT, FAIL, PASS, RANGE, SENTINEL, SHARE_OF_ROWS, WARN, Check
from gml.gate.check_ids import column_id
from gml.gate.question import Question
from gml.gate.units import span, unit_change
from gml.gate.within_cuts import compared_counts

EXCEEDANCE = "exceedance"

_SHOWN = 3
_LEAST_TIMES = 3
_RARE = math.log(1e-4)
_UNUSUAL = math.log(1e-2)
# More terms would only make a p-value smaller that is 0 already.
_MOST_TERMS = 1 << 20
_MACHINE_LIMITS = frozenset(
    float(value)
    for bits in (8, 16, 32, 64)
    for value in (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1, 2**bits - 1)
)


def range_checks(name: str, old: NumberSummary, new: Numbers) -> list[Question]:
    """Ask whether the numbers of a column lie where they used to, and whether one is a code."""
    return [_range(name, old, new), _code(name, old, new)]


def log_p_beyond(old: int, new: int, beyond: int) -> float:
    """ln of the probability that the farthest so many of all values are new.

    Examples
    --------
    >>> round(math.exp(log_p_beyond(5000, 1000, 2)) - 1000 * 999 / (6000 * 5999), 15)
    0.0
    """
    i = np.arange(min(beyond, _MOST_TERMS))
    return float(np.sum(np.log((new - i) / (old + new - i))))


class _Beyond(NamedTuple):
    """The new values beyond one end of the old ones."""

    rows: int
    """With repetitions."""
    farthest: list[tuple[float, int]]
    """The farthest values and how often they occur, in ascending order; one more than is shown."""
    commonest: float
    times: int
    """How often the commonest value occurs; of equal ones it is the smallest."""


def _beyond(old: NumberSummary, new: Numbers) -> tuple[_Beyond, _Beyond]:
    """What lies below and above."""
    ends = [_Beyond(0, [], 0.0, 0), _Beyond(0, [], 0.0, 0)]
    for part in new.parts():
        first = int(np.searchsorted(part.values, old.smallest, side="left"))
        last = int(np.searchsorted(part.values, old.largest, side="right"))
        for side, chosen in enumerate((slice(0, first), slice(last, None))):
            values, counts = part.values[chosen], part.counts[chosen].astype(np.int64)
            if not len(values):
                continue
            known = ends[side]
            here = slice(0, _SHOWN + 1) if side == 0 else slice(-_SHOWN - 1, None)
            far = list(zip(values[here].tolist(), counts[here].tolist(), strict=True))
            k = int(np.argmax(counts))
            more = int(counts[k]) > known.times
            ends[side] = _Beyond(
                known.rows + int(counts.sum()),
                [*known.farthest, *far][here],
                float(values[k]) if more else known.commonest,
                int(counts[k]) if more else known.times,
            )
    return ends[0], ends[1]


def _range(name: str, old: NumberSummary, new: Numbers) -> Question:
    ends = _beyond(old, new)
    below, above = (end.rows for end in ends)
    found = new.summary()
    log_p = min(
        0.0,
        math.log(2) + min(log_p_beyond(old.n, found.n, beyond) for beyond in (above, below)),
    )
    before = span(old.smallest, old.largest)
    message = f"{name}: all numbers lie within {before}"
    if above or below:
        rows = "1 value lies" if above + below == 1 else f"{above + below} values lie"
        message = f"{name}: {rows} beyond {before}: {_shown(ends, old)}"
        message += unit_change(old, found)
    return Question(
        Check(
            id=column_id(RANGE, name),
            family="schema",
            kind=RANGE,
            variables=(name,),
            message=message,
            test=EXCEEDANCE,
            statistic=float(above + below),
            log_p=log_p,
            effect=(above + below) / found.n,
            effect_unit=SHARE_OF_ROWS,
            old={"min": old.smallest, "max": old.largest},
            new={"min": found.smallest, "max": found.largest, "below": below, "above": above},
            rows_old=old.n,
            rows_new=found.n,
            status=PASS,
        )
    )


def _shown(ends: tuple[_Beyond, _Beyond], old: NumberSummary) -> str:
    """The farthest values, and how often they occur."""
    outside = [*ends[0].farthest, *ends[1].farthest]
    # Ties: the smaller value first.
    far = sorted(outside, key=lambda one: -max(one[0] - old.largest, old.smallest - one[0]))
    named = [f"{value:g}" + (f" ({n} times)" if n > 1 else "") for value, n in far[:_SHOWN]]
    return ", ".join(named) + (", …" if len(outside) > _SHOWN else "")


# ---------------------------------------------------------------------- codes


def _code(name: str, old: NumberSummary, new: Numbers) -> Question:
    times = codes_outside(old, new)
    found = list(times)
    message = f"{name}: no number looks like a code for missing values"
    if found:
        named = " and ".join(f"{value:g} ({times[value]} times)" for value in found)
        outside = span(old.smallest, old.largest)
        message = f"{name}: {named} outside {outside}: a code for missing values?"
    rows, n = sum(times.values()), new.n
    return Question(
        Check(
            id=column_id(SENTINEL, name),
            family="schema",
            kind=SENTINEL,
            variables=(name,),
            message=message,
            statistic=float(rows),
            log_p=-math.inf if found else None,
            effect=rows / n,
            effect_unit=SHARE_OF_ROWS,
            old={"min": old.smallest, "max": old.largest},
            new={"values": found, "counts": list(times.values())},
            rows_old=old.n,
            rows_new=n,
            status=PASS,
        )
    )


def codes_outside(old: NumberSummary, new: Numbers) -> dict[float, int]:
    """Return the values, one beyond each end at most, that look like codes, and their rows.

    Examples
    --------
    >>> from gml.data.number_summary import NumberValues
    >>> ages = NumberValues.of(np.tile(np.arange(18.0, 91.0), 10)).summary()
    >>> codes_outside(ages, NumberValues.of(np.array([30.0] * 90 + [9999.0] * 3 + [-1.0] * 3)))
    {-1.0: 3, 9999.0: 3}
    >>> codes_outside(ages, NumberValues.of(np.array([30.0] * 90 + [93.0] * 3)))
    {}
    """
    ends = [(old.smallest, (0.05, 0.25)), (old.largest, (0.95, 0.75))]
    found: dict[float, int] = {}
    for beyond, (extreme, (outer, quarter)) in zip(_beyond(old, new), ends, strict=True):
        value, times = beyond.commonest, beyond.times
        if times < _LEAST_TIMES or 2 * times < beyond.rows:
            continue
        away, usual = abs(value - extreme), is_usual_code(value)
        reach = max(
            abs(extreme - old.quantiles.get(outer, extreme)),
            abs(extreme - old.quantiles.get(quarter, extreme)) / 2,
        )
        isolated = usual and away > reach
        striking = usual or away > old.largest - old.smallest > 0
        log_p = log_p_beyond(old.n, new.n, beyond.rows)
        if (isolated and log_p <= _UNUSUAL) or (striking and log_p <= _RARE):
            found[value] = times
    return found


def is_usual_code(value: float) -> bool:
    """Whether people write this number for what is missing.

    Examples
    --------
    >>> [is_usual_code(value) for value in (-1, 9999, -99.9, 32767, 9, 98)]
    [True, True, True, True, False, False]
    """
    if value in (0, -1, -9) or value in _MACHINE_LIMITS:
        return True
    digits = repr(abs(value)).removesuffix(".0").replace(".", "")
    return len(digits) >= 2 and set(digits) == {"9"}


def notes_on_codes(checks: Sequence[Check]) -> list[str]:
    """Say that what looks like a code was found by a rule."""
    if any(check.kind == SENTINEL and check.status in (FAIL, WARN) for check in checks):
        bound = f"{parameter('alpha')} does not bound its errors"
        return [Note(f"codes for missing values are found by a rule: {bound}")]
    return []


# ---------------------------------------------------------------------- drift


def drift_checks(name: str, old: NumberSummary, new: Numbers) -> list[Question]:
    """Ask whether the numbers of a column are distributed over the old quantiles as before."""
    if old.counts is None:
        return []
    after, found = new.counts_between(list(old.quantiles.values())), new.summary()
    check = Check(
        id=column_id(DRIFT, name),
        family="schema",
        kind=DRIFT,
        variables=(name,),
        message=f"{name}: {_moved(old, found)}{unit_change(old, found)}",
        old={"quantiles": list(old.quantiles.values()), "counts": list(old.counts)},
        new={"quantiles": list(found.quantiles.values()), "counts": list(after)},
    )
    return [compared_counts(check, old.counts, after)]


def _moved(old: NumberSummary, new: NumberSummary) -> str:
    """The middle of the numbers, and where half of them lie, before and after."""

    def middle(summary: NumberSummary, levels: Sequence[float]) -> list[float]:
        return [summary.quantiles.get(level, summary.smallest) for level in levels]

    (was,), (now,) = middle(old, [0.5]), middle(new, [0.5])
    quarters = [span(*middle(summary, [0.25, 0.75])) for summary in (old, new)]
    return f"median {was:g} → {now:g}, half of the numbers in {quarters[0]} → {quarters[1]}"

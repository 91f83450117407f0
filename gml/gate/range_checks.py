"""Numbers: do they stay within the old extremes, and are they distributed as before?

Range: with n old values and m new ones, all k largest of n + m are new with probability
∏_{i<k} (m−i)/(n+m−i) if nothing changed, and so at least k new values exceed the old maximum (Wilks
1942, Ann. Math. Stat. 13:400). New values that equal it do not count, which makes ties, broken at
random, only less likely. The smaller p-value of the two ends, doubled, is that of the check, and
the share of rows beyond the extremes its effect.

Codes: a value that occurs three times or more outside the old range, as at least half of the values
beyond that end, may stand for missing. It is taken for such a code by rule, without a p-value, and
so outside the promise, if

- it is a usual code (0, −1, −9, all nines, the limits of machine numbers) and farther from the old
  extreme than that is from the 5 % (95 %) quantile, and than half way to the 25 % (75 %) quantile,
  so that no tail reaches it; or
- it is a usual code, or lies farther outside than the range is wide, and so many new values beyond
  that end have a probability of 1e-4 at most, by the product above.

Drift: the counts between the old quantiles are compared as those of a row of a table are. Where all
quantiles moved by one factor, or as degrees of another scale do, the message says so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from gml.data.number_summary import NumberSummary, NumberValues
from gml.gate.check import FAIL, PASS, WARN, Check
from gml.gate.families import label
from gml.gate.monte_carlo import MonteCarlo
from gml.gate.question import Question
from gml.gate.two_sample import MOST_ROWS, G, compare_rows, settle_rows, total_variation
from gml.gate.units import span, unit_change

EXCEEDANCE = "exceedance"

_SHARE_UNIT = "share of rows"
_SHOWN = 3
_LEAST_TIMES = 3
_RARE = math.log(1e-4)
# More terms would only make a p-value smaller that is 0 already.
_MOST_TERMS = 1 << 20
_MACHINE_LIMITS = frozenset(
    float(value)
    for bits in (8, 16, 32, 64)
    for value in (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1, 2**bits - 1)
)


def range_checks(name: str, old: NumberSummary, new: NumberValues) -> list[Question]:
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


def _range(name: str, old: NumberSummary, new: NumberValues) -> Question:
    above = int(new.counts[new.values > old.largest].sum())
    below = int(new.counts[new.values < old.smallest].sum())
    log_p = min(
        0.0,
        math.log(2) + min(log_p_beyond(old.n, new.n, beyond) for beyond in (above, below)),
    )
    before = span(old.smallest, old.largest)
    message = f"{name}: all numbers lie within {before}"
    found = new.summary()
    if above or below:
        outside = (new.values > old.largest) | (new.values < old.smallest)
        rows = "1 value lies" if above + below == 1 else f"{above + below} values lie"
        message = f"{name}: {rows} beyond {before}: {_shown(new, outside, old)}"
        message += unit_change(old, found)
    return Question(
        Check(
            id=f"schema:range:{label(name)}",
            family="schema",
            kind="range",
            variables=(name,),
            message=message,
            test=EXCEEDANCE,
            statistic=float(above + below),
            log_p=log_p,
            effect=(above + below) / new.n,
            effect_unit=_SHARE_UNIT,
            old={"min": old.smallest, "max": old.largest},
            new={"min": found.smallest, "max": found.largest, "below": below, "above": above},
            rows_old=old.n,
            rows_new=new.n,
            status=PASS,
        )
    )


def _shown(new: NumberValues, chosen: np.ndarray, old: NumberSummary) -> str:
    """The farthest values, and how often they occur."""
    values, counts = new.values[chosen], new.counts[chosen]
    far = np.maximum(values - old.largest, old.smallest - values)
    # Ties: the smaller value first.
    order = np.argsort(-far, kind="stable")[:_SHOWN]
    named = [f"{values[k]:g}" + (f" ({counts[k]} times)" if counts[k] > 1 else "") for k in order]
    return ", ".join(named) + (", …" if len(values) > _SHOWN else "")


# ---------------------------------------------------------------------- codes


def _code(name: str, old: NumberSummary, new: NumberValues) -> Question:
    found = codes_outside(old, new)
    times = {value: int(new.counts[np.searchsorted(new.values, value)]) for value in found}
    message = f"{name}: no number looks like a code for missing values"
    if found:
        named = " and ".join(f"{value:g} ({times[value]} times)" for value in found)
        outside = span(old.smallest, old.largest)
        message = f"{name}: {named} outside {outside}: a code for missing values?"
    rows = sum(times.values())
    return Question(
        Check(
            id=f"schema:sentinel:{label(name)}",
            family="schema",
            kind="sentinel",
            variables=(name,),
            message=message,
            statistic=float(rows),
            log_p=-math.inf if found else None,
            effect=rows / new.n,
            effect_unit=_SHARE_UNIT,
            old={"min": old.smallest, "max": old.largest},
            new={"values": list(found), "counts": list(times.values())},
            rows_old=old.n,
            rows_new=new.n,
            status=PASS,
        )
    )


def codes_outside(old: NumberSummary, new: NumberValues) -> list[float]:
    """Return the values, one beyond each end at most, that look like codes for missing.

    Examples
    --------
    >>> ages = NumberValues.of(np.tile(np.arange(18.0, 91.0), 10)).summary()
    >>> codes_outside(ages, NumberValues.of(np.array([30.0] * 90 + [9999.0] * 3 + [-1.0] * 3)))
    [-1.0, 9999.0]
    >>> codes_outside(ages, NumberValues.of(np.array([30.0] * 90 + [93.0] * 3)))
    []
    """
    ends = [
        (new.values < old.smallest, old.smallest, (0.05, 0.25)),
        (new.values > old.largest, old.largest, (0.95, 0.75)),
    ]
    found = []
    for chosen, extreme, (outer, quarter) in ends:
        values, counts = new.values[chosen], new.counts[chosen]
        beyond = int(counts.sum())
        if not beyond:
            continue
        value, times = float(values[np.argmax(counts)]), int(counts.max())
        if times < _LEAST_TIMES or 2 * times < beyond:
            continue
        away, usual = abs(value - extreme), is_usual_code(value)
        reach = max(
            abs(extreme - old.quantiles.get(outer, extreme)),
            abs(extreme - old.quantiles.get(quarter, extreme)) / 2,
        )
        isolated = usual and away > reach
        striking = usual or away > old.largest - old.smallest > 0
        if isolated or (striking and log_p_beyond(old.n, new.n, beyond) <= _RARE):
            found.append(value)
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
    if any(check.kind == "sentinel" and check.status in (FAIL, WARN) for check in checks):
        return ["codes for missing values are found by a rule: alpha does not bound its errors"]
    return []


# ---------------------------------------------------------------------- drift


def drift_checks(name: str, old: NumberSummary, new: NumberValues) -> list[Question]:
    """Ask whether the numbers of a column are distributed over the old quantiles as before."""
    if old.counts is None:
        return []
    before = np.array(old.counts, dtype=np.int64)
    after = np.array(new.counts_between(list(old.quantiles.values())), dtype=np.int64)
    compared = compare_rows(before[None], after[None])
    g, found = float(compared.g[0]), new.summary()
    check = Check(
        id=f"tables:{label(name)}|numbers",
        family="tables",
        kind="drift",
        variables=(name,),
        message=f"{name}: {_moved(old, found)}{unit_change(old, found)}",
        test=G,
        statistic=g,
        df=float(compared.df[0]),
        log_p=float(compared.log_p[0]) if compared.df[0] > 0 else None,
        effect=float(total_variation(before / old.n, after / new.n)),
        effect_unit="total variation",
        old={"quantiles": list(old.quantiles.values()), "counts": list(old.counts)},
        new={"quantiles": list(found.quantiles.values()), "counts": after.tolist()},
        rows_old=old.n,
        rows_new=new.n,
        status=PASS,
    )
    if compared.df[0] == 0 or compared.is_trusted(0) or old.n + new.n > MOST_ROWS:
        return [Question(check)]

    def settle(monte_carlo: MonteCarlo) -> tuple[float, str]:
        return settle_rows(before, after, g, check.id, monte_carlo)

    return [Question(check, settle, compared.is_sparse(0))]


def _moved(old: NumberSummary, new: NumberSummary) -> str:
    """The middle of the numbers, and where half of them lie, before and after."""

    def middle(summary: NumberSummary, levels: Sequence[float]) -> list[float]:
        return [summary.quantiles.get(level, summary.smallest) for level in levels]

    (was,), (now,) = middle(old, [0.5]), middle(new, [0.5])
    quarters = [span(*middle(summary, [0.25, 0.75])) for summary in (old, new)]
    return f"median {was:g} → {now:g}, half of the numbers in {quarters[0]} → {quarters[1]}"

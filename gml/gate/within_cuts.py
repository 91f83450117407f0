"""Do numbers lie between the cuts of a model as those of its rows did?

The counts between cuts are compared as those of a row of a table (`two_sample`). The cuts come from
the old rows, which makes their counts more even than chance would. New ones vary as much more,
since the cuts vary: to first order, the difference is that of two samples. Of the cells that
changed by equally much, the first is named.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gml.data.discretize import interval_levels
from gml.gate.check import PASS, TOTAL_VARIATION, Check
from gml.gate.question import Question
from gml.gate.two_sample import MOST_ROWS, G, compare_rows, settle_rows, total_variation


def compared_counts(
    check: Check, before: Sequence[int], after: Sequence[int], *, choices: float = 0.0
) -> Question:
    """Answer a check by old and new counts, both of them of some rows.

    `choices` is ln of a factor for p.
    """
    old, new = np.array(before, dtype=np.int64), np.array(after, dtype=np.int64)
    n_old, n_new = int(old.sum()), int(new.sum())
    found = compare_rows(old[None], new[None])
    g = float(found.g[0])
    # With all numbers in one cell on both sides, nothing could differ.
    varies = bool(found.df[0] > 0)
    answered = replace(
        check,
        test=G,
        statistic=g,
        df=float(found.df[0]),
        log_p=min(0.0, float(found.log_p[0]) + choices) if varies else None,
        effect=float(total_variation(old / n_old, new / n_new)),
        effect_unit=TOTAL_VARIATION,
        rows_old=n_old,
        rows_new=n_new,
        status=PASS,
    )
    if not varies or found.is_trusted(0) or n_old + n_new > MOST_ROWS:
        return Question(answered)
    return Question(
        answered,
        lambda monte_carlo: settle_rows(old, new, g, check.id, monte_carlo),
        found.is_sparse(0),
        choices,
    )


def compared_within(
    check: Check,
    cuts: Sequence[float],
    counts: Sequence[int],
    now: Sequence[int],
    what: str,
    *,
    hint: str = "",
    choices: float = 0.0,
) -> Question:
    """Answer a check by old counts between cuts and new ones.

    The check stays as it is where there is nothing to compare. The message says what changed most,
    then the hint.
    """
    if not sum(now) or not cuts or not sum(counts):
        return Question(check)
    new = np.array(now)
    before, after = np.array(counts) / sum(counts), new / new.sum()
    levels = list(interval_levels(cuts))
    most = int(np.argmax(np.abs(after - before)))
    described = replace(
        check,
        message=f"{what} {_between(cuts, most)} {before[most]:.3g} → {after[most]:.3g}{hint}",
        old={"levels": levels, "p": before.tolist(), "counts": list(counts)},
        new={"levels": levels, "p": after.tolist(), "counts": new.tolist()},
    )
    return compared_counts(described, counts, new.tolist(), choices=choices)


def _between(cuts: Sequence[float], k: int) -> str:
    """Where the k-th of the counts between cuts lies, in words."""
    if k == 0:
        return f"below {cuts[0]:.4g}"
    if k == len(cuts):
        return f"from {cuts[-1]:.4g} on"
    return f"from {cuts[k - 1]:.4g} to {cuts[k]:.4g}"

"""Do numbers lie between the cuts of a model as those of its rows did?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gml.data.discretize import interval_levels
from gml.gate.check import PASS, Check
from gml.gate.question import Question
from gml.gate.two_sample import G, compare_rows, settle_rows, total_variation
from gml.model.regression_rows import Vector, counts_within


def compared_within(
    check: Check,
    cuts: Sequence[float],
    counts: Sequence[int],
    values: Vector,
    what: str,
    *,
    choices: float = 0.0,
) -> Question:
    """Answer a check by old counts between cuts and those of new values, as a row of a table is.

    The cuts come from the old rows, which makes their counts more even than chance would. New ones
    vary as much more, since the cuts vary: to first order, the difference is that of two samples.
    The check stays as it is where there is nothing to compare; `choices` is ln of a factor for p.
    """
    if not len(values) or not cuts or not sum(counts):
        return Question(check)
    old, new = np.array(counts, dtype=np.int64), counts_within(cuts, values)
    found = compare_rows(old[None], new[None])
    before, after = old / old.sum(), new / new.sum()
    levels = list(interval_levels(cuts))
    most = int(np.argmax(np.abs(after - before)))
    g = float(found.g[0])
    answered = replace(
        check,
        message=f"{what} {_between(cuts, most)} {before[most]:.3g} → {after[most]:.3g}",
        test=G,
        statistic=g,
        df=float(found.df[0]),
        log_p=min(0.0, float(found.log_p[0]) + choices),
        effect=float(total_variation(before, after)),
        effect_unit="total variation",
        old={"levels": levels, "p": before.tolist(), "counts": old.tolist()},
        new={"levels": levels, "p": after.tolist(), "counts": new.tolist()},
        rows_old=int(old.sum()),
        rows_new=int(new.sum()),
        status=PASS,
    )
    if found.is_trusted(0):
        return Question(answered)
    return Question(
        answered,
        lambda monte_carlo: settle_rows(old, new, g, check.id, monte_carlo),
        found.is_sparse(0),
        choices,
    )


def _between(cuts: Sequence[float], k: int) -> str:
    """Where the k-th of the counts between cuts lies, in words."""
    if k == 0:
        return f"below {cuts[0]:.4g}"
    if k == len(cuts):
        return f"from {cuts[-1]:.4g} on"
    return f"from {cuts[k - 1]:.4g} to {cuts[k]:.4g}"

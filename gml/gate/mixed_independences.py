"""Independences of a label and a number, or of two numbers given labels.

u ⟂ v | pa(v), as everywhere. The later of the two has the given set as its parents, and a label has
none that are numbers: two labels given a number are never asked about. Two labels are tested as in
a model of labels, and two numbers given numbers as in one of numbers; here are the rest.

Within each configuration of the given labels, both columns are regressed on the given numbers in
the new rows, a label as the indicators of its levels but one. With the errors e of a number and E
of the other column, S = Σ E e has the covariance V = Σ EE′(e/(1−h))², which needs neither normal
errors nor errors of one size, whether within a configuration or between them; S′V⁻¹S is compared
with the distribution of Hotelling. A p-value that may decide is settled by exchanging e between the
rows of each configuration: exact if nothing but labels is given and the two are independent given
these, and right in large samples otherwise (DiCiccio & Romano 2017, J. Am. Stat. Assoc. 112:1211).
The larger of both p-values counts. A baseline works as elsewhere: the dependence must have grown.

Only what differs between means can be seen: a label on which nothing but the spread of a number
depends shows in the regressions where it is a parent. Levels with fewer than ten rows are one level
here. Configurations with one row say nothing, nor do those with fewer than ten rows per coefficient
where numbers are given. Where one row has a leverage above 0.2 (and above ten times the average of
its configuration), the rows cannot tell. The effect is −½ ln(1−R²) in nats, less a/2n for a columns
of indicators.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gml.gate.check import NATS, PASS
from gml.gate.check_ids import independence_id
from gml.gate.enough_rows import enough_rows
from gml.gate.gaussian_families import Spread
from gml.gate.gaussian_structure import (
    MOST_LEVERAGE,
    SANDWICH,
    TIMES_AVERAGE,
    number_independence,
    standardised,
)
from gml.gate.level_errors import LevelErrors
from gml.gate.monte_carlo import Draw, MonteCarlo
from gml.gate.number_rows import NumberRows
from gml.gate.question import Question
from gml.gate.relations import given_text, independence_check
from gml.gate.structure_checks import INCREASE, PERMUTATION, log_p_of_increase
from gml.gate.tails import chi2_quantile
from gml.model.baseline import Reference
from gml.model.regression_rows import Vector, orthogonalised

_LEAST_OF_LEVEL = 10
_PER_TERM = 10
# Below this share of a column's own size, what a regression leaves of it is rounding.
_NOTHING_LEFT = 1e-9
# What keeps a covariance without spread in some direction from being singular.
_RIDGE = 1e-12
_CELLS_AT_ONCE = 1 << 20


@dataclass(frozen=True)
class Errors:
    """Errors of a number, and of a number or the indicators of a label, configuration by one.

    `ends` says where the rows of each configuration end; `terms` counts all coefficients. `levels`
    has the errors of indicators in short, if there are several.
    """

    number: Vector
    others: Vector
    leverage: Vector
    ends: tuple[int, ...]
    terms: int
    levels: LevelErrors | None = None

    @property
    def n(self) -> int:
        """The number of rows."""
        return len(self.number)

    @property
    def size(self) -> int:
        """The number of columns beside that of the number."""
        return int(self.others.shape[1])


def mixed_independence(
    rows: NumberRows,
    labels: Collection[str],
    asked: tuple[str, str, tuple[str, ...]],
    references: Mapping[str, Reference],
) -> Question:
    """Ask whether two columns, one of them of numbers at least, are uncorrelated given others."""
    u, v, given = asked
    if not any(name in labels for name in (u, v, *given)):
        return number_independence(rows, u, v, given, references)
    reference = references.get(independence_id(u, v, given))
    # A label cannot be the one that is exchanged; of two numbers the first by name is.
    number, other = sorted((u, v), key=lambda name: (name in labels, name))
    kinds = [name for name in sorted(given) if name in labels]
    numbers = [name for name in sorted(given) if name not in labels]
    columns = rows.complete([number, other, *kinds, *numbers])
    n = len(columns[0])
    check = independence_check(u, v, given, reference, rows=n)
    errors = errors_within(columns, len(kinds), is_label=other in labels) if n else None
    if errors is None:
        return Question(check)
    products = errors.others * errors.number[:, None]
    sums = products.sum(axis=0)
    freedom = float(errors.n - errors.terms - errors.size)
    at = products / (1 - errors.leverage)[:, None]
    _, log_p = Spread(np.einsum("ni,nj->ij", at, at), freedom).log_p(sums)
    shared = np.einsum("ni,nj->ij", errors.others, errors.others)
    explained = float(sums @ np.linalg.pinv(shared, hermitian=True) @ sums)
    share = min(max(0.0, explained / float(np.sum(errors.number**2))), 1 - 1e-15)
    nats = -0.5 * math.log1p(-share)
    size = float(errors.size)
    found = replace(
        check,
        message=f"{u} and {v}{given_text(given)}: the graph has no edge, and they share "
        f"{nats:.3g} nats",
        test=SANDWICH,
        statistic=chi2_quantile(log_p, size) if math.isfinite(log_p) else None,
        df=size,
        log_p=log_p,
        effect=max(0.0, nats - size / (2 * n)),
        effect_unit=NATS,
        new={"nats": nats},
        status=PASS,
    )

    def settle(monte_carlo: MonteCarlo) -> tuple[float, str]:
        if reference is None or found.statistic is None:
            return _settled(found.id, log_p, errors, monte_carlo)
        increase = log_p_of_increase(found, reference, monte_carlo.level)
        if increase > math.log(monte_carlo.bound):
            return increase, INCREASE
        settled, how = _settled(found.id, log_p, errors, monte_carlo)
        return max(settled, increase), how

    return Question(found, settle)


# ---------------------------------------------------------------------- errors


def errors_within(columns: Sequence[Vector], n_labels: int, *, is_label: bool) -> Errors | None:
    """Errors within the configurations of the labels; None if the rows cannot tell."""
    number = standardised(columns[0])
    other = columns[1] if is_label else standardised(columns[1])
    if number is None or other is None:
        return None
    given = [g for c in columns[2 + n_labels :] if (g := standardised(c)) is not None]
    groups = [
        at
        for at in _groups(columns[2 : 2 + n_labels], len(number))
        if len(at) >= (_PER_TERM * (len(given) + 1) if given else 2)
    ]
    if not groups:
        return None
    used = np.concatenate(groups)
    indicators = _indicators(other[used]) if is_label else other[used][:, None]
    if indicators is None or not enough_rows(len(used), indicators.shape[1] + len(given) + 1):
        return None
    targets = np.column_stack([number[used], indicators])
    inputs = [column[used] for column in given]
    left, leverage, ends, terms = [], [], [], 0
    bases = np.zeros((len(used), len(given) + 1))
    start = 0
    for at in groups:
        end = start + len(at)
        design = np.column_stack([np.ones(len(at)), *(c[start:end] for c in inputs)])
        found = orthogonalised(design)
        own = found.leverage
        size = len(found.kept)
        if given and float(own.max()) > max(MOST_LEVERAGE, TIMES_AVERAGE * size / len(at)):
            return None
        errors = targets[start:end].copy()
        for _ in range(2):
            shares = np.einsum("ni,nk->ik", found.basis, errors)
            errors -= np.einsum("ni,ik->nk", found.basis, shares)
        bases[start:end, :size] = found.basis
        left.append(errors)
        leverage.append(own)
        ends.append(end)
        terms += size
        start = end
    together = np.concatenate(left)
    sizes = np.sqrt(np.mean(together**2, axis=0))
    varies = sizes >= _NOTHING_LEFT
    if not varies[0] or not varies[1:].any() or len(together) - terms < _PER_TERM:
        return None
    others = np.ascontiguousarray(together[:, 1:][:, varies[1:]])
    levels = None
    if others.shape[1] > 1:
        kept = indicators[:, varies[1:]]
        codes = np.where(kept.any(axis=1), kept.argmax(axis=1), kept.shape[1])
        levels = LevelErrors(codes, kept.shape[1], bases, tuple(ends))
    return Errors(
        together[:, 0].copy(), others, np.concatenate(leverage), tuple(ends), terms, levels
    )


def _groups(labels: Sequence[Vector], n: int) -> Iterator[NDArray[np.int64]]:
    """The rows of each configuration, in the order of codes."""
    if not labels:
        yield np.arange(n)
        return
    _, inverse = np.unique(np.column_stack(labels), axis=0, return_inverse=True)
    order = np.argsort(inverse.reshape(-1), kind="stable")
    ends = np.cumsum(np.bincount(inverse.reshape(-1)))
    for start, end in zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True):
        yield order[start:end]


def _indicators(codes: Vector) -> Vector | None:
    """One column per level but the most frequent one, rare levels together; None if one is left."""
    levels, counts = np.unique(codes, return_counts=True)
    rare = levels[counts < _LEAST_OF_LEVEL]
    often = levels[counts >= _LEAST_OF_LEVEL]
    found = [codes == level for level in often]
    if len(rare):
        found.append(np.isin(codes, rare))
    if len(found) < 2:
        return None
    most = int(np.argmax([int(column.sum()) for column in found]))
    columns = [column for k, column in enumerate(found) if k != most]
    return np.column_stack(columns).astype(np.float64)


# ---------------------------------------------------------------------- exchanges


def _settled(name: str, log_p: float, errors: Errors, monte_carlo: MonteCarlo) -> tuple[float, str]:
    """The larger of a p-value and that of exchanging errors within configurations."""
    observed = float(_statistics(errors.number[None], errors)[0])
    size = errors.n * (errors.size + 1)
    found, how = monte_carlo.log_p(name, exchanges_within(errors), observed, size, of_g=False)
    return max(found, log_p), f"{PERMUTATION}:{how}"


def exchanges_within(errors: Errors) -> Draw:
    """Draw the statistic with the errors of the number in another order in each configuration."""

    def draw(key: tuple[int, int], first: int, last: int) -> NDArray[np.float64]:
        rng = np.random.default_rng([*key, first])
        found = []
        step = max(1, _CELLS_AT_ONCE // (errors.n * (errors.size + 1)))
        for start in range(first, last, step):
            moved = np.tile(errors.number, (min(step, last - start), 1))
            begin = 0
            for end in errors.ends:
                moved[:, begin:end] = rng.permuted(moved[:, begin:end], axis=1)
                begin = end
            found.append(_statistics(moved, errors))
        return np.concatenate(found)

    return draw


def _statistics(moved: Vector, errors: Errors) -> Vector:
    """S′V⁻¹S of each order of the errors; leverages do not take part."""
    if errors.levels is None:
        others = errors.others[:, 0]
        sums = np.einsum("dn,n->d", moved, others)
        spread = np.einsum("dn,n->d", moved**2, others**2)
        found: Vector = np.zeros(len(moved))
        np.divide(sums**2, spread, out=found, where=spread > 0)
        return found
    return np.array([_statistic(order, errors.levels) for order in moved])


def _statistic(number: Vector, levels: LevelErrors) -> float:
    sums, spread = levels.sums(number), levels.spread(number**2)
    ridge = _RIDGE * max(float(np.trace(spread)), 1e-300)
    return float(np.sum(sums * np.linalg.solve(spread + ridge * np.eye(levels.size), sums)))

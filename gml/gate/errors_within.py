"""Errors of two columns in memory, within configurations of labels, and exchanges of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gml.counts.orthogonal_terms import INDEPENDENT
from gml.gate.enough_rows import enough_rows
from gml.gate.level_columns import LevelColumns
from gml.gate.level_errors import LevelErrors
from gml.gate.monte_carlo import Draw, MonteCarlo
from gml.gate.pair_design import NOTHING_LEFT, PER_TERM
from gml.gate.structure_checks import PERMUTATION
from gml.model.regression_rows import Vector

# What keeps a covariance without spread in some direction from being singular.
_RIDGE = 1e-12
_CELLS_AT_ONCE = 1 << 20


@dataclass(frozen=True)
class Errors:
    """Errors of a number, and of a number or the indicators of a label.

    They come one configuration after the other; `ends` says where the rows of each end. `levels`
    has the errors of indicators in short, if there are several.
    """

    number: Vector
    others: Vector
    ends: tuple[int, ...]
    levels: LevelErrors | None = None

    @property
    def n(self) -> int:
        """The number of rows."""
        return len(self.number)

    @property
    def size(self) -> int:
        """The number of columns beside that of the number."""
        return int(self.others.shape[1])


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
        if len(at) >= (PER_TERM * (len(given) + 1) if given else 2)
    ]
    if not groups:
        return None
    used = np.concatenate(groups)
    indicators = _indicators(other[used]) if is_label else other[used][:, None]
    if indicators is None or not enough_rows(len(used), indicators.shape[1] + len(given) + 1):
        return None
    targets = np.column_stack([number[used], indicators])
    inputs = [column[used] for column in given]
    left, ends, terms = [], [], 0
    bases = np.zeros((len(used), len(given) + 1))
    start = 0
    for at in groups:
        end = start + len(at)
        basis = orthonormal([np.ones(len(at)), *(c[start:end] for c in inputs)])
        size = basis.shape[1]
        errors = targets[start:end].copy()
        for _ in range(2):
            shares = np.einsum("ni,nk->ik", basis, errors)
            errors -= np.einsum("ni,ik->nk", basis, shares)
        bases[start:end, :size] = basis
        left.append(errors)
        ends.append(end)
        terms += size
        start = end
    together = np.concatenate(left)
    sizes = np.sqrt(np.mean(together**2, axis=0))
    varies = sizes >= NOTHING_LEFT
    if not varies[0] or not varies[1:].any() or len(together) - terms < PER_TERM:
        return None
    others = np.ascontiguousarray(together[:, 1:][:, varies[1:]])
    levels = None
    if others.shape[1] > 1:
        kept = indicators[:, varies[1:]]
        codes = np.where(kept.any(axis=1), kept.argmax(axis=1), kept.shape[1])
        levels = LevelErrors(codes, kept.shape[1], bases, tuple(ends))
    return Errors(together[:, 0].copy(), others, tuple(ends), levels)


def standardised(column: Vector) -> Vector | None:
    """A column about its mean, in its standard deviation; None if it does not vary."""
    centred = column - column[0]
    largest = float(np.abs(centred).max(initial=0.0))
    if largest == 0 or not math.isfinite(largest):
        return None
    scaled: Vector = centred / largest
    scaled = scaled - float(np.mean(scaled))
    found: Vector = scaled / math.sqrt(float(np.mean(scaled**2)))
    return found


def orthonormal(terms: Sequence[Vector]) -> Vector:
    """A basis of terms, but for those that follow from others (rows × columns).

    By Gram & Schmidt, twice, as that is enough (Giraud, Langou & Rozložník 2005).
    """
    basis: list[Vector] = []
    for term in terms:
        left = term.copy()
        whole = math.sqrt(float(np.sum(left * left)))
        for _ in range(2):
            for column in basis:
                left -= float(np.sum(column * left)) * column
        length = math.sqrt(float(np.sum(left * left)))
        if length > INDEPENDENT * whole:
            basis.append(left / length)
    return np.column_stack(basis)


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
    """One column per level but one, rare levels together; None if one is left."""
    levels = LevelColumns.of(np.bincount(codes.astype(np.int64)))
    return None if levels is None else np.column_stack(levels.indicators(codes))


# ---------------------------------------------------------------------- exchanges


def settled_within(
    name: str, log_p: float, errors: Errors, monte_carlo: MonteCarlo
) -> tuple[float, str]:
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

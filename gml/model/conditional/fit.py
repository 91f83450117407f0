"""Fit the weights of a conditional field: the largest penalised conditional likelihood.

L-BFGS climbs each part of the field by itself (`gml.model.undirected.first_order`), in rounds that
begin with the second derivatives where they are (curvature.py). It has converged
when no derivative of the penalised log-likelihood, over all rows, exceeds 1e-7 · min(1, l2), or
1e-13 per row, which is what rounding leaves. The curvature is at least 2·l2, so that weights are
then off by some 1e-7 at most. With l1, which sets weak weights to exactly 0, each weight is a group
of its own, and the curvature is not used.

Without a penalty the maximum may lie at infinity (separation.py); that is refused.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from gml.errors import UsageError, parameter
from gml.kernel.blas import one_blas_thread
from gml.model.conditional.curvature import diagonal_steps, newton_steps
from gml.model.conditional.likelihood import PartLikelihood
from gml.model.conditional.row_elimination import RowElimination
from gml.model.conditional.rows import FieldRows, PartRows, Statistics
from gml.model.conditional.second_derivatives import is_small
from gml.model.conditional.separation import require_maximum
from gml.model.conditional.terms import Scope, Table, Vector
from gml.model.undirected.first_order import minimise
from gml.model.undirected.groups import Groups
from gml.progress import Deadline

TOLERANCE = 1e-7
_ROUGHLY = 1e-5
_ROUNDING = 1e-13
# What was known of the curvature where a round began is forgotten at its end.
_NEWTON_ROUND, _ROUND = 20, 200
_MOST_ITERATIONS = 5000
# Beyond these, squares and quotients leave the range of doubles.
_LEAST, _MOST = 1e-30, 1e30
DEFAULT_L2 = 1.0


@dataclass(frozen=True)
class FieldPenalty:
    """c1 and c2: what the sum of the weights' sizes, and that of their squares, costs in nats.

    Examples
    --------
    >>> FieldPenalty(l2=-1.0)
    Traceback (most recent call last):
    gml.errors.UsageError: `l2` must be 0, or between 1e-30 and 1e30, not -1.0
    """

    l1: float = 0.0
    l2: float = DEFAULT_L2

    def __post_init__(self) -> None:
        for name in ("l1", "l2"):
            value = getattr(self, name)
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            if not is_number or (value != 0 and not _LEAST <= value <= _MOST):
                raise UsageError(
                    f"{parameter(name)} must be 0, or between {_LEAST:g} and {_MOST:.0e}, not "
                    f"{value!r}".replace("e+", "e")
                )

    def of(self, weights: Vector) -> float:
        """Return what some weights cost."""
        squares = float(np.einsum("i,i->", weights, weights))
        return self.l2 * squares + self.l1 * float(np.abs(weights).sum())

    @property
    def is_none(self) -> bool:
        """Whether nothing keeps the weights from growing."""
        return self.l1 == 0 and self.l2 == 0


@dataclass(frozen=True, eq=False)
class FittedField:
    """The weights of a field, and how the fit went."""

    tables: dict[Scope, Table]
    log_likelihood: float
    objective: float
    """The log-likelihood, less the penalty."""
    converged: bool
    iterations: int
    gradient: float
    """The largest derivative of the objective left."""


class FieldFitter:
    """Fits a field to rows, again and again with other penalties or counts.

    Examples
    --------
    >>> import gml
    >>> from gml.model.conditional.terms import FieldTerms
    >>> data = gml.read("sample_data/asia.csv", columns=["lung", "smoke"])
    >>> lung, smoke = data.variables
    >>> rows = FieldRows.of(FieldTerms.complete([lung], [smoke]), data)
    >>> FieldFitter(rows).fit(rows, FieldPenalty()).tables["lung",].round(3).tolist()
    [1.126, -1.126]
    """

    def __init__(self, rows: FieldRows, *, max_memory: int | None = None) -> None:
        self._terms = rows.terms
        self._parts: list[tuple[PartRows, PartLikelihood]] = []
        for part in rows.terms.parts:
            seen = rows.seen_by(part)
            tree = RowElimination(part, max_memory=max_memory)
            self._parts.append((seen, PartLikelihood(seen, tree)))

    @property
    def n_distinct(self) -> int:
        """The number of distinct rows of inputs that inference ran for, over all parts."""
        return sum(seen.n_distinct for seen, _ in self._parts)

    def fit(
        self,
        rows: FieldRows,
        penalty: FieldPenalty,
        *,
        start: FittedField | None = None,
        roughly: bool = False,
        deadline: Deadline | None = None,
    ) -> FittedField:
        """Fit all parts; `start` are weights to begin with.

        `roughly` is enough to compare log losses per row: it leaves derivatives of 1e-5·√l2.
        """
        deadline = deadline or Deadline()
        tables: dict[Scope, Table] = {}
        ends: list[_End] = []
        for seen, likelihood in self._parts:
            counted = seen.counted(rows)
            if penalty.is_none:
                require_maximum(seen, counted, deadline=deadline)
            first = np.zeros(seen.terms.size) if start is None else seen.terms.vector(start.tables)
            enough = _tolerance(counted.n, penalty, roughly=roughly)
            # Products of matrices have the same digits whatever the number of threads.
            with one_blas_thread():
                found = _climb(seen, likelihood, counted, penalty, first, enough, deadline)
            tables |= seen.terms.tables(found.weights)
            ends.append(found)
        return FittedField(
            {scope: tables[scope] for scope in self._terms.scopes},
            sum(end.log_likelihood for end in ends),
            sum(end.log_likelihood - penalty.of(end.weights) for end in ends),
            all(end.converged for end in ends),
            max(end.iterations for end in ends),
            max(end.gradient for end in ends),
        )


@dataclass(frozen=True, eq=False)
class _End:
    """Where the climb of a part ended."""

    weights: Vector
    log_likelihood: float
    converged: bool
    iterations: int
    gradient: float


def _tolerance(n: float, penalty: FieldPenalty, *, roughly: bool) -> float:
    """The derivative per row that is small enough."""
    scale = min(1.0, penalty.l2) or 1.0
    enough = _ROUGHLY * math.sqrt(scale) if roughly else TOLERANCE * scale
    return max(enough / n, _ROUNDING)


def _climb(
    rows: PartRows,
    likelihood: PartLikelihood,
    counted: Statistics,
    penalty: FieldPenalty,
    start: Vector,
    tolerance: float,
    deadline: Deadline,
) -> _End:
    n = counted.n

    def loss(weights: Vector) -> tuple[float, Vector]:
        value, gradient = likelihood.value_and_gradient(weights, counted)
        squares = float(np.einsum("i,i->", weights, weights))
        return (penalty.l2 * squares - value) / n, (2 * penalty.l2 * weights - gradient) / n

    if penalty.l1:
        groups = Groups(penalty.l1 / n, np.arange(len(start)))
        found = minimise(loss, start, groups=groups, tolerance=tolerance, deadline=deadline)
        iterations = found.iterations
    else:
        point, iterations = start, 0
        by_newton = is_small(rows)
        length = _NEWTON_ROUND if by_newton else _ROUND
        while True:
            steps = (
                newton_steps(rows, counted, point, l2=penalty.l2)
                if by_newton
                else diagonal_steps(rows, counted, likelihood.posteriors(point), l2=penalty.l2)
            )
            found = minimise(
                loss,
                point,
                inverse=steps,
                tolerance=tolerance,
                max_iterations=length,
                deadline=deadline,
            )
            point, iterations = found.point, iterations + found.iterations
            stuck = found.iterations < length or iterations >= _MOST_ITERATIONS
            if found.converged or stuck or deadline.passed:
                break
    value, _ = likelihood.value_and_gradient(found.point, counted)
    return _End(found.point, value, found.converged, iterations, found.gradient * n)

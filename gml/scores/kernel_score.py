"""A score for relations of any form: the cross-validated likelihood of regressions between kernels.

Huang, Zhang, Lin, Schölkopf & Glymour (2018, KDD, eq. 7): the features φ of the child's kernel are
regressed on those of the parents', ψ, by ridge regression with n₁λ on the n₁ rows outside a fold;
with the covariance Σ = EᵀE/n₁ + γI of the residuals there, the n₀ rows of the fold are worth

    −½ (n₀ ln |Σ/γ| + Σ eᵀΣ⁻¹e),

up to terms that no parents change (n₀² ln 2π of the paper, and powers of γ). Without parents the
residuals are the features. The score is the sum over the folds, where the paper has their mean, so
that every row counts once. λ = γ = `regulariser`: 0.01 in the paper's program, by which every sixth
pair of independent normal numbers has an edge at 500 and at 1000 rows. At our 0.001 none of 25 has
at 500 rows, and dependences that are linear, quadratic, periodic or of the spread are all found.

The paper works with matrices of rows × rows. Here kernels have low rank (`kernel_features`), so
that a family takes rows × landmarks² operations; with as many landmarks as rows the two are the
same, up to rounding.

Rows are sorted by what is in them before they are dealt out to folds at random (with a fixed seed)
and summed, so that their order does not matter. The score is not the same for equivalent DAGs.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml.counts.counter import Counter, Family
from gml.errors import CannotAnswer, UsageError, parameter
from gml.kernel.blas import one_blas_thread
from gml.resources import require_memory
from gml.scores.base import FamilyScore, require_varying
from gml.scores.kernel_features import kernel_width, low_rank_features
from gml.scores.registry import KnownScore
from gml.stopping import check_stopped

# Features of so many sets of columns are kept: a search asks for the same parents of many children.
_MOST_KEPT = 32

Numbers = NDArray[np.float64]


class KernelScore(FamilyScore):
    """The cross-validated likelihood of kernel regressions."""

    def __init__(self, facts: KnownScore, counter: Counter, **options: Any) -> None:
        super().__init__(facts, counter, **options)
        if counter.unit != 1:
            raise UsageError(
                f"{parameter('score', self.name)} needs whole numbers of rows, not fractions"
            )
        numbers = [j for j, v in enumerate(counter.variables) if v.is_continuous]
        require_varying(counter)
        self._most: int = self._options["landmarks"]
        self._regulariser: float = self._options["regulariser"]
        n, folds = counter.n, int(self._options["kernel_folds"])
        if n < 2 * folds:
            raise CannotAnswer(
                f"{self.name}: {n} rows are too few for {folds} folds of at least two; lower "
                + parameter("kernel_folds")
            )
        require_memory(
            8 * n * (len(self.names) + (_MOST_KEPT + 4) * min(n, self._most)),
            None,
            f"the features of {n} rows",
            f"; lower {parameter('landmarks')}",
        )
        self._columns = self._sorted_rows()
        self._widths = [
            kernel_width(column) if j in numbers else None for j, column in enumerate(self._columns)
        ]
        self._fold = np.random.default_rng(0).permutation(np.arange(n) % folds)
        self._n_folds = folds
        self._kept: OrderedDict[tuple[int, ...], Numbers] = OrderedDict()

    def _sorted_rows(self) -> list[NDArray[Any]]:
        """The columns, with rows as often as they count, sorted by their cells."""
        rows = self._counter.require_rows(parameter("score", self.name))
        columns: list[NDArray[Any]] = list(rows.columns)
        if rows.weights is not None:
            columns = [np.repeat(column, rows.weights) for column in columns]
        by_name = self._counter.order.positions.tolist()
        order = np.lexsort([columns[j] for j in reversed(by_name)])
        return [column[order] for column in columns]

    def dimension(self, child: int, parents: Sequence[int]) -> float:
        """None: rows are predicted that were not fitted, so parameters are not counted."""
        return 0.0

    def dimensions(self, families: Sequence[Family]) -> NDArray[np.float64]:
        """The same for many families."""
        return np.zeros(len(families))

    def batch(self, families: Sequence[Family]) -> NDArray[np.float64]:
        """Score many families."""
        constant = set(self.constants())
        with one_blas_thread():
            found = []
            for child, parents in families:
                check_stopped()
                useful = [j for j in parents if j not in constant]
                found.append(0.0 if child in constant else self._of_family(child, useful))
        return np.array(found, dtype=np.float64)

    def _features(self, columns: tuple[int, ...]) -> Numbers:
        found = self._kept.pop(columns, None)
        if found is None:
            found = low_rank_features(
                [self._columns[j] for j in columns], [self._widths[j] for j in columns], self._most
            )
            if len(self._kept) >= _MOST_KEPT:
                self._kept.popitem(last=False)
        self._kept[columns] = found
        return found

    def _of_family(self, child: int, parents: Sequence[int]) -> float:
        phi = self._features((child,))
        psi = self._features(self._counter.order.sorted(parents)) if parents else phi[:, :0]
        whole = _Sums(phi, psi)
        parts = []
        for fold in range(self._n_folds):
            inside = self._fold == fold
            tested = _Sums(phi[inside], psi[inside])
            parts.append(self._of_fold(whole.without(tested), tested))
        return float(sum(parts))

    def _of_fold(self, fitted: _Sums, tested: _Sums) -> float:
        """What the rows of a fold are worth by the regression on the others."""
        n, ridge = fitted.n, self._regulariser
        coefficients: Any = np.linalg.solve(
            fitted.pp + n * ridge * np.eye(len(fitted.pp)), fitted.pc
        )
        covariance: Any = fitted.residuals(coefficients) / (n * ridge) + np.eye(len(fitted.cc))
        factor = np.linalg.cholesky(covariance)
        log_determinant = 2 * float(np.log(np.diag(factor)).sum())
        # The trace of Σ⁻¹EᵀE.
        left: Any = tested.residuals(coefficients)
        distance = float(np.trace(np.linalg.solve(covariance, left)))
        return -0.5 * (tested.n * log_determinant + distance / ridge)


class _Sums:
    """Sums of products of features of a child (c) and its parents (p) over some rows."""

    def __init__(self, child: Numbers, parents: Numbers) -> None:
        self.n = len(child)
        self.cc, self.pc, self.pp = child.T @ child, parents.T @ child, parents.T @ parents

    def without(self, other: _Sums) -> _Sums:
        """The sums over the other rows."""
        rest = object.__new__(_Sums)
        rest.n = self.n - other.n
        rest.cc, rest.pc, rest.pp = self.cc - other.cc, self.pc - other.pc, self.pp - other.pp
        return rest

    def residuals(self, coefficients: Numbers) -> Numbers:
        """Sums of products of what a regression leaves of the child."""
        explained = coefficients.T @ self.pc
        left: Numbers = self.cc - explained - explained.T + coefficients.T @ self.pp @ coefficients
        return left

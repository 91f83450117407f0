"""The conditional log-likelihood of a part of a field, and its gradient.

With w the weights and f the features that a row switches on (of numeric inputs, the standardised
numbers), the log-likelihood is

    Σ_rows [ w·f(y, x) − ln Z(x) ],

and its derivative is how often each feature was seen, less how often the field expects it given
each row's inputs (Lafferty, McCallum & Pereira 2001). Penalties are those of CRFsuite: c1 Σ|w| and
c2 Σw² (no ½), on the sum over rows and on the weights as they are.

Everything is divided by the number of rows before it is minimised.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml.model.conditional.row_elimination import RowElimination, Rows
from gml.model.conditional.rows import PartRows, Statistics
from gml.model.conditional.terms import FieldTerms, Scope, Table, Vector
from gml.stopping import check_stopped


def unary_weights(
    terms: FieldTerms, tables: Mapping[Scope, Table], inputs: NDArray[Any]
) -> list[Rows]:
    """Return the log-weight of each level of each target for rows of inputs (inputs × rows).

    A code of -1 has no features.
    """
    found = []
    n_rows = inputs.shape[1]
    for target, read in zip(terms.targets, terms.reads, strict=True):
        bias = tables[target.name,]
        weights = np.empty((n_rows, len(bias)))
        weights[...] = bias
        for k in read:
            variable = terms.inputs[k]
            table = tables[target.name, variable.name]
            if variable.is_continuous:
                weights += inputs[k][:, None] * table[:, 0]
                continue
            # The last row, which -1 picks, has no weight.
            by_level = np.vstack([table.T, np.zeros(len(bias))])
            weights += by_level[np.asarray(inputs[k], dtype=np.intp)]
        found.append(weights)
    return found


class PartLikelihood:
    """The log-likelihood of the rows that a part of a field sees, as a function of its weights."""

    def __init__(self, rows: PartRows, tree: RowElimination) -> None:
        self._terms = rows.terms
        self._inputs = rows.inputs
        self._n = rows.n_distinct
        self._tree = tree

    def blocks(self) -> Iterator[slice]:
        """Yield the rows of inputs in blocks."""
        for start in range(0, self._n, self._tree.block_rows):
            check_stopped()
            yield slice(start, min(start + self._tree.block_rows, self._n))

    def posteriors(self, weights: Vector) -> Iterator[tuple[slice, Sequence[Rows]]]:
        """Yield blocks of distinct rows of inputs, with the posterior of each target there."""
        tables = self._terms.tables(weights)
        for block in self.blocks():
            unary = unary_weights(self._terms, tables, self._inputs[:, block])
            _, shares = self._tree.sums(unary, tables)
            yield block, self._tree.posteriors(shares).targets

    def value_and_gradient(self, weights: Vector, counted: Statistics) -> tuple[float, Vector]:
        """Return the log-likelihood, and its derivatives."""
        tables = self._terms.tables(weights)
        gradient = counted.observed.copy()
        into = self._terms.tables(gradient)
        total = float(np.einsum("i,i->", counted.observed, weights))
        for block in self.blocks():
            inputs, times = self._inputs[:, block], counted.times[block]
            unary = unary_weights(self._terms, tables, inputs)
            log_z, shares = self._tree.sums(unary, tables)
            total -= float(np.einsum("r,r->", times, log_z))
            posteriors = self._tree.posteriors(shares)
            self._subtract_unary(into, posteriors.targets, inputs, times)
            pairs = self._tree.of_pairs(posteriors, times)
            for (i, j), table in zip(self._terms.pairs, pairs, strict=True):
                into[self._terms.targets[i].name, self._terms.targets[j].name] -= table
        return total, gradient

    def _subtract_unary(
        self,
        into: Mapping[Scope, Table],
        posteriors: Sequence[Rows],
        inputs: NDArray[Any],
        times: Vector,
    ) -> None:
        """Take off how often each level of a target, alone and with its inputs, is expected."""
        for t, target in enumerate(self._terms.targets):
            expected = posteriors[t] * times[:, None]
            into[target.name,] -= expected.sum(axis=0)
            for k in self._terms.reads[t]:
                variable = self._terms.inputs[k]
                table = into[target.name, variable.name]
                if variable.is_continuous:
                    table[:, 0] -= np.einsum("r,rl->l", inputs[k], expected)
                    continue
                codes = np.asarray(inputs[k], dtype=np.intp)
                for level in range(len(table)):
                    table[level] -= np.bincount(
                        codes, weights=expected[:, level], minlength=table.shape[1]
                    )

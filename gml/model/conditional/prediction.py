"""What a field says of rows: posteriors of its targets, and their most probable values together.

Rows are codes of the inputs, -1 for one whose features are left out, and codes of targets that are
observed besides, -1 for the others. Where there are numeric inputs all inputs are float64, and
those that are missing NaN. Rows that a part of the field cannot tell apart are answered once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.data.resampling import distinct_codes
from gml.model.conditional.likelihood import unary_weights
from gml.model.conditional.row_elimination import RowElimination, Rows
from gml.model.conditional.terms import FieldTerms, Scope, Table, Vector
from gml.stopping import check_stopped

Codes = NDArray[np.int64]


class RowPosteriors(NamedTuple):
    """The posterior of each target (rows × levels), and ln p(observed targets | inputs)."""

    targets: list[Rows]
    log_evidence: Vector


class BestRows(NamedTuple):
    """The most probable levels (rows × targets), ln of their probability, and of the evidence."""

    levels: Codes
    log_probability: Vector
    log_evidence: Vector


class FieldPredictor:
    """Answers for rows, part by part of a field.

    Examples
    --------
    >>> from gml.data.dataset import Variable
    >>> y, x = (Variable(name, ("n", "y")) for name in "yx")
    >>> terms = FieldTerms.complete([y], [x])
    >>> tables = {("y",): np.zeros(2), ("y", "x"): np.log([[1.0, 1.0], [1.0, 3.0]])}
    >>> found = FieldPredictor(terms, tables).posteriors(np.array([[0], [1], [-1]]))
    >>> found.targets[0].round(2).tolist()
    [[0.5, 0.5], [0.25, 0.75], [0.5, 0.5]]
    """

    def __init__(
        self, terms: FieldTerms, tables: Mapping[Scope, Table], *, max_memory: int | None = None
    ) -> None:
        self._terms = terms
        self._tables = tables
        places = {variable.name: k for k, variable in enumerate(terms.inputs)}
        of_target = {target.name: k for k, target in enumerate(terms.targets)}
        self._parts = [
            (
                part,
                [of_target[target.name] for target in part.targets],
                [places[variable.name] for variable in part.inputs],
                RowElimination(part, max_memory=max_memory),
            )
            for part in terms.parts
        ]

    def posteriors(self, inputs: NDArray[Any], observed: Codes | None = None) -> RowPosteriors:
        """Return what each row says about each target."""
        n = len(inputs)
        targets = [np.empty((n, len(t.levels or ()))) for t in self._terms.targets]
        log_evidence = np.zeros(n)
        for part, ours, read, tree in self._parts:
            seen = None if observed is None else observed[:, ours]
            rows, where = _distinct(inputs[:, read], seen)
            for block, unary, free in self._blocks(part, tree, rows):
                log_z, shares = tree.sums(unary, self._tables)
                found = tree.posteriors(shares).targets
                chosen, inside = _rows_in(where, block)
                for k, target in enumerate(ours):
                    targets[target][chosen] = found[k][inside]
                if free is not None:
                    log_evidence[chosen] += (log_z - free())[inside]
        return RowPosteriors(targets, log_evidence)

    def best(self, inputs: NDArray[Any], observed: Codes | None = None) -> BestRows:
        """Return the most probable values of all targets together."""
        n = len(inputs)
        levels = np.empty((n, len(self._terms.targets)), dtype=np.int64)
        log_p, log_evidence = np.zeros(n), np.zeros(n)
        for part, ours, read, tree in self._parts:
            seen = None if observed is None else observed[:, ours]
            rows, where = _distinct(inputs[:, read], seen)
            for block, unary, free in self._blocks(part, tree, rows):
                log_z, _ = tree.sums(unary, self._tables)
                found, largest = tree.best(unary, self._tables)
                chosen, inside = _rows_in(where, block)
                levels[np.ix_(chosen, np.array(ours))] = found[inside]
                # A sum is never below its largest part but for rounding.
                log_p[chosen] += np.minimum(0.0, largest - log_z)[inside]
                if free is not None:
                    log_evidence[chosen] += (log_z - free())[inside]
        return BestRows(levels, log_p, log_evidence)

    def _blocks(
        self, part: FieldTerms, tree: RowElimination, rows: NDArray[Any]
    ) -> Iterator[tuple[slice, list[Rows], Callable[[], Vector] | None]]:
        """Yield blocks, their log-weights under the evidence, and what finds ln Z without it."""
        n_inputs = len(part.inputs)
        for start in range(0, len(rows), tree.block_rows):
            check_stopped()
            block = slice(start, min(start + tree.block_rows, len(rows)))
            unary = unary_weights(part, self._tables, part.columns(rows[block, :n_inputs]))
            if rows.shape[1] == n_inputs:
                yield block, unary, None
                continue
            given = [
                _observing(weights, rows[block, n_inputs + k]) for k, weights in enumerate(unary)
            ]
            yield block, given, lambda free=unary: tree.sums(free, self._tables)[0]  # type: ignore[misc]


def _distinct(inputs: NDArray[Any], observed: Codes | None) -> tuple[NDArray[Any], Codes]:
    rows = inputs if observed is None else np.hstack([inputs, observed])
    if not rows.shape[1]:
        # A part that reads nothing has one answer.
        return np.empty((1, 0), dtype=np.int64), np.zeros(len(rows), dtype=np.int64)
    return distinct_codes(rows)


def _rows_in(where: Codes, block: slice) -> tuple[Codes, Codes]:
    """The rows whose distinct row is in a block, and which of the block it is."""
    chosen = np.flatnonzero((where >= block.start) & (where < block.stop))
    return chosen, where[chosen] - block.start


def _observing(weights: Rows, codes: NDArray[Any]) -> Rows:
    """Log-weights of levels that exclude all but the observed one, where one is."""
    levels = np.arange(weights.shape[1])
    excluded = (codes[:, None] >= 0) & (codes[:, None] != levels)
    return np.where(excluded, -np.inf, weights)

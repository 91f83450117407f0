"""Pseudo-likelihood of models of pairs from rows, by dense linear algebra.

With the contrasts of all variables side by side in a matrix Y of rows, and the coefficients of
pairs in a symmetric matrix Θ whose diagonal blocks are 0, what all regressions of single variables
need is in Y·Θ + h, and the gradient is in the transpose of Y times their residuals: two products of
matrices per step for all variables at once. Rows come in blocks, so that memory is bounded, and
several threads can work; variables are ordered by their number of levels, and those of two take the
short way.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from gml.data.dataset import Dataset
from gml.data.resampling import sorted_equal_cells
from gml.kernel.blas import one_blas_thread
from gml.kernel.pool import in_order
from gml.model.undirected.coefficients import Coefficients, Vector, level_contrasts
from gml.model.undirected.terms import Scope, Terms
from gml.resources import require_memory

Table = NDArray[np.float64]
Result = TypeVar("Result")

_BLOCK_BYTES = 1 << 20
# Shares of the largest that eigenvalues are not let fall below.
_LEAST_CURVATURE = 1e-3


class _Alike(NamedTuple):
    """Variables with the same number of levels, next to each other in all matrices."""

    n_levels: int
    members: slice
    contrasts: slice
    levels: slice


class RowObjective:
    """Minus the pseudo-log-likelihood per row, and its gradient, from rows."""

    def __init__(
        self,
        dataset: Dataset,
        coefficients: Coefficients,
        *,
        zeros: Mapping[Scope, NDArray[np.bool_]] | None = None,
        threads: int = 1,
        max_memory: int | None = None,
    ) -> None:
        terms = coefficients.terms
        self._coefficients = coefficients
        self._threads = threads
        self._layout = layout = PairLayout(coefficients)
        codes, weights = _distinct(dataset, terms, layout.order, max_memory)
        self._codes = codes
        self._shares = weights / weights.sum()
        self._rows_per_block = max(16, _BLOCK_BYTES // (8 * max(1, layout.width)))
        self._dead: NDArray[np.bool_] | None = None
        if zeros:
            total = len(codes) * layout.n_levels
            require_memory(total, max_memory, "what is excluded in each row")
            excluding = layout.excluding(zeros)
            self._dead = np.concatenate(
                [layout.dead(codes[block], excluding) for block in self._blocks()]
            )

    def _blocks(self) -> Iterator[slice]:
        for start in range(0, len(self._codes), self._rows_per_block):
            yield slice(start, start + self._rows_per_block)

    def _done(self, work: Callable[[slice], Result]) -> Iterator[Result]:
        """Yield what is to be done for each block, in order; either blocks have threads or BLAS."""
        with one_blas_thread() as is_alone:
            yield from in_order(work, self._blocks(), self._threads if is_alone else 1)

    def __call__(self, vector: Vector) -> tuple[float, Vector]:
        """Return the value and the gradient at a vector of coefficients."""
        layout = self._layout
        pairs, fields = layout.matrix(vector)

        def work(block: slice) -> tuple[float, Table, Table]:
            coded = layout.encoded(self._codes[block])
            logs = coded @ pairs
            logs += fields
            dead = None if self._dead is None else self._dead[block]
            value = layout.residuals(self._codes[block], logs, self._shares[block], dead)
            return value, coded.T @ logs, logs.sum(axis=0)

        values, products, sums = [], np.zeros_like(pairs), np.zeros_like(fields)
        for value, product, total in self._done(work):
            values.append(value)
            products += product
            sums += total
        return -math.fsum(values), -layout.gathered(products, sums)

    def change(self, vector: Vector, direction: Vector) -> Vector:
        """Return the second derivatives at a vector times a direction."""
        layout = self._layout
        pairs, fields = layout.matrix(vector)
        pairs_along, fields_along = layout.matrix(direction)
        products, sums = np.zeros_like(pairs), np.zeros_like(fields)

        def work(block: slice) -> tuple[Table, Table]:
            coded = layout.encoded(self._codes[block])
            logs, along = coded @ pairs + fields, coded @ pairs_along + fields_along
            for alike in layout.alike:
                if alike.n_levels > 1:
                    dead = None if self._dead is None else self._dead[block, alike.levels]
                    _curve(alike, logs[:, alike.contrasts], along[:, alike.contrasts], dead)
            along *= self._shares[block][:, None]
            return coded.T @ along, along.sum(axis=0)

        for product, total in self._done(work):
            products += product
            sums += total
        return layout.gathered(products, sums)

    @functools.cached_property
    def second_moments(self) -> Table:
        """The mean products of the constant and the contrasts, in the order of the layout."""
        layout = self._layout
        found = np.zeros((layout.width + 1, layout.width + 1))

        def work(block: slice) -> Table:
            coded = layout.encoded(self._codes[block])
            coded = np.concatenate([np.ones((len(coded), 1)), coded], axis=1)
            product: Table = coded.T @ (coded * self._shares[block][:, None])
            return product

        for product in self._done(work):
            found += product
        return found

    def inverse(self) -> Callable[[Vector], Vector]:
        """Return about the inverse of the second derivatives, as a function of a vector.

        With S the second moments of the contrasts and the constant, and D the mean curvatures of
        the regressions, a change Δ of the coefficients changes the gradient by about S·Δ·D + D·Δ·S
        (exactly, if the curvatures were the same in all rows): an equation of Lyapunov's, solved
        in the basis in which S is the identity and D is diagonal. Blocks that are fixed at 0 are
        left out before and after, which keeps the result symmetric and positive.
        """
        layout, second = self._layout, self.second_moments
        width = len(second)
        # Curvatures as they are under independence; the constant is no variable.
        curvature = np.append(0.0, np.maximum(np.diag(second)[1:] - second[0, 1:] ** 2, 0.0))
        values, vectors = np.linalg.eigh(second)
        whiten = vectors / np.sqrt(np.maximum(values, _LEAST_CURVATURE * values[-1]))
        kept, basis = np.linalg.eigh(whiten.T @ (curvature[:, None] * whiten))
        whiten = whiten @ basis
        # Where no column varies, there is no curvature at all, and nothing to solve for.
        kept = np.maximum(kept, _LEAST_CURVATURE * kept[-1] if kept[-1] > 0 else 1.0)
        divisors = kept[:, None] + kept[None, :]

        def solve(vector: Vector) -> Vector:
            pairs, fields = layout.matrix(vector)
            whole = np.zeros((width, width))
            # A coefficient stands in two places of the matrix, and its derivative is in both.
            whole[1:, 1:] = pairs / 2
            whole[0, 1:] = whole[1:, 0] = fields / 2
            found = whiten @ ((whiten.T @ whole @ whiten) / divisors) @ whiten.T
            return layout.gathered(found[1:, 1:], 2 * found[0, 1:])

        return solve


class PairLayout:
    """Where variables, their contrasts and their levels are in the matrices."""

    def __init__(self, coefficients: Coefficients) -> None:
        terms = coefficients.terms
        self._terms = terms
        self.order = sorted(range(len(terms.sizes)), key=lambda k: (terms.sizes[k], k))
        widths = [terms.sizes[k] - 1 for k in self.order]
        starts = np.concatenate([[0], np.cumsum(widths)])
        levels = np.concatenate([[0], np.cumsum([width + 1 for width in widths])])
        self.width, self.n_levels = int(starts[-1]), int(levels[-1])
        self._starts = {k: int(starts[at]) for at, k in enumerate(self.order)}
        self._levels = {k: int(levels[at]) for at, k in enumerate(self.order)}
        self.alike = []
        for size in sorted({*terms.sizes}):
            at = [i for i, k in enumerate(self.order) if terms.sizes[k] == size]
            first, last = at[0], at[-1] + 1
            self.alike.append(
                _Alike(
                    size,
                    slice(first, last),
                    slice(int(starts[first]), int(starts[last])),
                    slice(int(levels[first]), int(levels[last])),
                )
            )
        self._single = np.zeros(self.width, dtype=np.int64)
        rows, columns, places = [], [], []
        for t, scope in enumerate(terms.all):
            at_t = coefficients.of(t)
            if len(scope) == 1:
                start = self._starts[scope[0]]
                self._single[start : start + len(at_t)] = at_t
            else:
                i, j = (self._starts[k] for k in scope)
                within = np.indices(at_t.shape)
                rows.append((i + within[0]).reshape(-1))
                columns.append((j + within[1]).reshape(-1))
                places.append(at_t.reshape(-1))
        nothing = np.zeros(0, dtype=np.int64)
        self._rows = np.concatenate([nothing, *rows])
        self._columns = np.concatenate([nothing, *columns])
        self._places = np.concatenate([nothing, *places])
        self._size = coefficients.size

    def matrix(self, vector: Vector) -> tuple[Table, Table]:
        """Return the coefficients of pairs as a symmetric matrix, and those of single variables."""
        found = np.zeros((self.width, self.width))
        found[self._rows, self._columns] = vector[self._places]
        found[self._columns, self._rows] = vector[self._places]
        return found, vector[self._single]

    def gathered(self, products: Table, sums: Table) -> Vector:
        """Return the derivatives by coefficients, each of which is in two regressions."""
        found = np.zeros(self._size)
        found[self._single] = sums
        found[self._places] = (
            products[self._rows, self._columns] + products[self._columns, self._rows]
        )
        return found

    def products(self, coded: Table) -> Table:
        """Return the contrasts of each row, and their products, in the order of the vector."""
        found = np.empty((len(coded), self._size))
        found[:, self._single] = coded
        found[:, self._places] = coded[:, self._rows] * coded[:, self._columns]
        return found

    def group_products(self, coded: Table) -> Table:
        """Return the same, added up over the rows of each group."""
        found = np.empty((len(coded), self._size))
        found[:, self._single] = coded.sum(axis=1)
        products = coded.transpose(0, 2, 1) @ coded
        found[:, self._places] = products[:, self._rows, self._columns]
        return found

    def encoded(self, codes: NDArray[np.uint16]) -> Table:
        """Return the contrasts of the codes of some rows."""
        found = np.empty((len(codes), self.width))
        for size, members, contrasts, _ in self.alike:
            if size == 2:
                np.multiply(codes[:, members], 2.0, out=found[:, contrasts])
                found[:, contrasts] -= 1.0
            else:
                values = level_contrasts(size)[codes[:, members]]
                found[:, contrasts] = values.reshape(len(codes), -1)
        return found

    def residuals(
        self,
        codes: NDArray[np.uint16],
        logs: Table,
        shares: Table,
        dead: NDArray[np.bool_] | None,
    ) -> float:
        """Turn log-potentials into weighted residuals in place; return the log-likelihood."""
        value = 0.0
        for alike in self.alike:
            if alike.n_levels > 1:
                part = None if dead is None else dead[:, alike.levels]
                value += (_binary if alike.n_levels == 2 else _several)(
                    alike, codes[:, alike.members], logs[:, alike.contrasts], shares, part
                )
        return value

    def excluding(self, zeros: Mapping[Scope, NDArray[np.bool_]]) -> NDArray[np.float32]:
        """Return which levels of a variable exclude which of another; of itself for a single."""
        found = np.zeros((self.n_levels, self.n_levels), dtype=np.float32)
        for scope, zero in zeros.items():
            at = [slice(self._levels[k], self._levels[k] + self._terms.sizes[k]) for k in scope]
            if len(scope) == 1:
                found[at[0], at[0]] = zero
            else:
                found[at[0], at[1]] = zero
                found[at[1], at[0]] = zero.T
        return found

    def dead(self, codes: NDArray[np.uint16], excluding: NDArray[np.float32]) -> NDArray[np.bool_]:
        """Return which levels are impossible in which rows."""
        present = np.zeros((len(codes), self.n_levels), dtype=np.float32)
        firsts = np.array([self._levels[k] for k in self.order])
        np.put_along_axis(present, firsts + codes.astype(np.int64), 1.0, axis=1)
        impossible: NDArray[np.bool_] = present @ excluding > 0
        return impossible


def _binary(
    alike: _Alike,
    codes: NDArray[np.uint16],
    logs: Table,
    shares: Table,
    dead: NDArray[np.bool_] | None,
) -> float:
    """Residuals of variables with two levels: 2 y σ(−2 y η), with y = ±1."""
    signs = 2.0 * codes - 1.0
    logs *= signs
    logs *= 2.0
    # The probability of the other level is e / (1 + e) or 1 / (1 + e), with e at most 1.
    small = np.exp(-np.abs(logs))
    other = np.where(logs > 0, small, 1.0) / (1.0 + small)
    lost = np.maximum(-logs, 0.0)
    lost += np.log(1.0 + small)
    if dead is not None:
        excluded = np.take_along_axis(
            dead.reshape(len(codes), -1, 2), (1 - codes.astype(np.int64))[:, :, None], axis=2
        )[:, :, 0]
        other[excluded] = 0.0
        lost[excluded] = 0.0
    np.multiply(other, signs, out=logs)
    logs *= 2.0 * shares[:, None]
    return -float(shares @ lost.sum(axis=1))


def _several(
    alike: _Alike,
    codes: NDArray[np.uint16],
    logs: Table,
    shares: Table,
    dead: NDArray[np.bool_] | None,
) -> float:
    """Residuals of variables with more levels, as contrasts."""
    contrasts = level_contrasts(alike.n_levels)
    n_rows = len(codes)
    by_level = logs.reshape(n_rows, -1, alike.n_levels - 1) @ contrasts.T
    if dead is not None:
        by_level[dead.reshape(by_level.shape)] = -np.inf
    by_level -= by_level.max(axis=2, keepdims=True)
    at = codes.astype(np.int64)[:, :, None]
    own = np.take_along_axis(by_level, at, axis=2)[:, :, 0]
    np.exp(by_level, out=by_level)
    sums = by_level.sum(axis=2)
    by_level /= -sums[:, :, None]
    seen = np.take_along_axis(by_level, at, axis=2)
    np.put_along_axis(by_level, at, seen + 1.0, axis=2)
    by_level *= shares[:, None, None]
    logs[...] = (by_level @ contrasts).reshape(n_rows, -1)
    return float(shares @ (own - np.log(sums)).sum(axis=1))


def _curve(alike: _Alike, logs: Table, along: Table, dead: NDArray[np.bool_] | None) -> None:
    """Turn a change of log-potentials into one of minus the residuals, in place."""
    contrasts = level_contrasts(alike.n_levels)
    by_level = logs.reshape(len(logs), -1, alike.n_levels - 1) @ contrasts.T
    if dead is not None:
        by_level[dead.reshape(by_level.shape)] = -np.inf
    by_level -= by_level.max(axis=2, keepdims=True)
    np.exp(by_level, out=by_level)
    by_level /= by_level.sum(axis=2, keepdims=True)
    moved = along.reshape(len(logs), -1, alike.n_levels - 1) @ contrasts.T
    moved -= (by_level * moved).sum(axis=2, keepdims=True)
    by_level *= moved
    along[...] = (by_level @ contrasts).reshape(len(logs), -1)


def _distinct(
    dataset: Dataset, terms: Terms, order: list[int], max_memory: int | None
) -> tuple[NDArray[np.uint16], Table]:
    """The distinct rows in the order of the matrices, and how often they occur."""
    chosen = dataset.select(terms.names)
    require_memory(6 * dataset.n_rows * len(terms.names), max_memory, "the rows in memory")
    firsts, counts = sorted_equal_cells(chosen.columns, chosen.weights)
    narrow = np.uint8 if max(terms.sizes) <= 256 else np.uint16
    codes = np.empty((len(firsts), len(order)), dtype=narrow)
    for at, k in enumerate(order):
        codes[:, at] = chosen.columns[k][firsts]
    return codes, counts.astype(np.float64)

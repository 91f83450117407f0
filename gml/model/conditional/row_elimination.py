"""Exact inference for many rows at once: elimination over the targets' junction tree.

All rows share the tables of pairs of targets; what differs from row to row is a log-weight for each
level of each target, which the inputs decide. So the tables of the cliques (junction_tree.py) have
the rows as their first axis, and one pass of array operations eliminates a target for all of them.
Everything is in logarithms, so that no product leaves the range of doubles; −∞ excludes a level.

A pass forward gives ln Z of each row, a pass back the posterior of each clique. With maxima in
place of sums, the pass back finds the most probable values together; ties, up to rounding, go to
the first level, target by target, backwards through the order of elimination, as everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.model.conditional.terms import FieldTerms, Scope, Table
from gml.model.junction_tree import NoRoom, build_tree
from gml.resources import budget_in_force

Rows = NDArray[np.float64]
"""An array whose first axis are rows."""

_TIE = 1e-12
# Rows are taken in blocks whose tables stay about this small: larger ones leave the caches.
_BLOCK_BYTES = 1 << 22
_MOST_ROWS = 1 << 13
_FEW_LEVELS = 8
# The table of a clique, its exponentials and its posterior.
_TABLES = 3


class Posteriors(NamedTuple):
    """What the pass back finds: posteriors of targets, and of pairs of targets."""

    targets: list[Rows]
    cliques: list[Rows]


class RowElimination:
    """The junction tree of the targets of a field, for rows in blocks.

    Examples
    --------
    >>> from gml.data.dataset import Variable
    >>> y, z = (Variable(name, ("n", "y")) for name in "yz")
    >>> tree = RowElimination(FieldTerms.complete([y, z], []))
    >>> log_z, shares = tree.sums([np.zeros((1, 2))] * 2, {("y", "z"): np.zeros((2, 2))})
    >>> float(log_z[0].round(4)), tree.posteriors(shares).targets[0].tolist()
    (1.3863, [[0.5, 0.5]])
    """

    def __init__(self, terms: FieldTerms, *, max_memory: int | None = None) -> None:
        self._terms = terms
        sizes = [len(target.levels or ()) for target in terms.targets]
        nodes = range(len(sizes))
        self._tree = build_tree([*((k,) for k in nodes), *terms.pairs], sizes, [list(nodes)])
        names = [target.name for target in terms.targets]
        try:
            self._tree.require_room(names, budget_in_force(max_memory), copies=_TABLES)
        except NoRoom as error:
            raise NoRoom(f"{error}; a graph in which fewer targets are joined takes less") from None
        self.cliques = self._tree.cliques
        self.width = sum(map(self._tree.cells, self.cliques))
        """Cells of the tables that each row has."""
        self.block_rows = min(max(1, _BLOCK_BYTES // (8 * self.width)), _MOST_ROWS)
        """How many rows are taken at once; it depends on nothing but the tree."""
        self._homes = [self._tree.place_of(pair) for pair in terms.pairs]
        self._children: list[list[int]] = [[] for _ in self.cliques]
        for child, parent in enumerate(self._tree.parents):
            if parent >= 0:
                self._children[parent].append(child)

    def sums(self, unary: Sequence[Rows], tables: Mapping[Scope, Table]) -> tuple[Rows, list[Rows]]:
        """Return ln Z of each row, and p(target | later neighbours) of each clique.

        `unary` has the log-weights of the levels of each target, rows × levels.
        """
        shares: list[Rows] = []
        messages: list[Rows] = []
        fixed = self._fixed(tables)
        for s in range(len(self.cliques)):
            table = self._joined(s, unary, fixed, messages)
            largest = _along_levels(np.maximum, table)[..., None]
            # Where all is excluded there is nothing to subtract, and the sum stays 0.
            np.copyto(largest, 0.0, where=np.isneginf(largest))
            table -= largest
            np.exp(table, out=table)
            total = _along_levels(np.add, table)
            with np.errstate(divide="ignore"):
                messages.append(np.log(total) + largest[..., 0])
            table /= np.where(total > 0, total, 1.0)[..., None]
            shares.append(table)
        return self._total(messages, len(unary[0])), shares

    def posteriors(self, shares: Sequence[Rows]) -> Posteriors:
        """Return the posterior of each target and each clique, from what `sums` returned."""
        found: list[Rows] = [np.empty(0)] * len(self.cliques)
        targets: list[Rows] = [np.empty(0)] * len(self.cliques)
        for s in reversed(range(len(self.cliques))):
            clique, parent = self.cliques[s], self._tree.parents[s]
            if parent < 0:
                found[s] = shares[s]
            else:
                above = _margin(found[parent], self.cliques[parent], clique[:-1])
                found[s] = shares[s] * above[..., None]
            targets[clique[-1]] = _margin(found[s], clique, clique[-1:])
        return Posteriors(targets, found)

    def of_pairs(self, posteriors: Posteriors, weights: Rows) -> list[Table]:
        """Return the weighted sum over rows of the posterior of each pair of targets."""
        summed: dict[int, Table] = {}
        found = []
        for pair, home in zip(self._terms.pairs, self._homes, strict=True):
            if home not in summed:
                cells = posteriors.cliques[home].reshape(len(weights), -1)
                shape = posteriors.cliques[home].shape[1:]
                # einsum adds up in one order, whatever the number of threads.
                summed[home] = np.einsum("r,rc->c", weights, cells).reshape((1, *shape))
            found.append(_margin(summed[home], self.cliques[home], pair)[0])
        return found

    def best(
        self, unary: Sequence[Rows], tables: Mapping[Scope, Table]
    ) -> tuple[NDArray[np.int64], Rows]:
        """Return the most probable levels of all targets together (rows × targets), and ln of
        their weight."""
        kept: list[Rows] = []
        messages: list[Rows] = []
        fixed = self._fixed(tables)
        for s in range(len(self.cliques)):
            table = self._joined(s, unary, fixed, messages)
            kept.append(table)
            messages.append(_along_levels(np.maximum, table))
        n_rows = len(unary[0])
        rows = np.arange(n_rows)
        levels = np.zeros((n_rows, len(self.cliques)), dtype=np.int64)
        for s in reversed(range(len(self.cliques))):
            *others, target = self.cliques[s]
            options = kept[s][(rows, *(levels[:, k] for k in others))]
            room = _TIE * np.maximum(
                1.0, np.abs(messages[s][(rows, *(levels[:, k] for k in others))])
            )
            levels[:, target] = np.argmax(
                options >= options.max(axis=1, keepdims=True) - room[:, None], axis=1
            )
        return levels, self._total(messages, n_rows)

    # ------------------------------------------------------------------ tables of cliques

    def _fixed(self, tables: Mapping[Scope, Table]) -> list[Table | None]:
        """The sum of the tables of pairs that each clique takes, which all rows share."""
        found: list[Table | None] = [None] * len(self.cliques)
        targets = self._terms.targets
        for (i, j), home in zip(self._terms.pairs, self._homes, strict=True):
            table = _spread(
                tables[targets[i].name, targets[j].name][None], (i, j), self.cliques[home]
            )
            before = found[home]
            found[home] = table if before is None else before + table
        return found

    def _joined(
        self,
        s: int,
        unary: Sequence[Rows],
        fixed: Sequence[Table | None],
        messages: Sequence[Rows],
    ) -> Rows:
        """The log-weights of a clique: its target's, what all rows share, and messages to it."""
        clique = self.cliques[s]
        shape = (len(unary[0]), *(self._tree.sizes[k] for k in clique))
        table = np.empty(shape)
        table[...] = _spread(unary[clique[-1]], clique[-1:], clique)
        shared = fixed[s]
        if shared is not None:
            table += shared
        for child in self._children[s]:
            table += _spread(messages[child], self.cliques[child][:-1], clique)
        return table

    def _total(self, messages: Sequence[Rows], n_rows: int) -> Rows:
        total = np.zeros(n_rows)
        for s, parent in enumerate(self._tree.parents):
            if parent < 0:
                total += messages[s]
        return total


def _along_levels(join: np.ufunc, table: Rows) -> Rows:
    """Reduce the last axis; over a few levels, operations on whole slices are several times faster
    than NumPy's own, which start again in each row."""
    n_levels = table.shape[-1]
    if n_levels > _FEW_LEVELS:
        reduced: Rows = join.reduce(table, axis=-1)
        return reduced
    found = table[..., 0].copy()
    for level in range(1, n_levels):
        join(found, table[..., level], out=found)
    return found


def _spread(table: Rows, scope: Sequence[int], clique: Sequence[int]) -> Rows:
    """A table over some targets with an axis, maybe of size 1, for each target of a clique."""
    order = sorted(range(len(scope)), key=lambda axis: clique.index(scope[axis]))
    turned = table.transpose(0, *(1 + axis for axis in order))
    size = {scope[axis]: table.shape[1 + axis] for axis in order}
    return turned.reshape((len(table), *(size.get(k, 1) for k in clique)))


def _margin(table: Rows, clique: Sequence[int], scope: Sequence[int]) -> Rows:
    """The sum of a clique's table over the targets that are not in a scope, in its order."""
    gone = tuple(1 + axis for axis, k in enumerate(clique) if k not in scope)
    summed = table.sum(axis=gone) if gone else table
    left = [k for k in clique if k in scope]
    return summed.transpose(0, *(1 + left.index(k) for k in scope))

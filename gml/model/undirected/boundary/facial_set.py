"""The cells that a maximum of the likelihood at infinity makes impossible.

The maximum is finite iff the observed margins lie inside the polytope of the margins of all
distributions; otherwise the likelihood is largest on a face of it (Eriksson, Fienberg, Rinaldo &
Sullivant 2006; Fienberg & Rinaldo 2012, section 3). The cells off that face, where the extended
estimate is 0, are those with f > 0 for some sum of terms f that is 0 on every observed cell and
nowhere negative. A sum of such f is another, so one of them has the largest support.

With larger tables this is asked of the junction tree (Wang, Rauh & Massam 2019 work on parts of a
table likewise): f is nowhere negative iff messages over the separators can be added to one clique
and taken from its neighbour so that every clique's share of f is nowhere negative, since minima on
trees are found by passing messages. Shares are then 0 on the observed cells of their clique. One
linear programme has it all: the largest Σ z with 0 ≤ z ≤ 1 and z at most the share of its cell;
solutions can be scaled up, so z is 0 or 1.

Whatever a margin of a term excludes, its zeros, is known beforehand and leaves the programme, which
is solved for each part of the tree by itself, and not at all where nothing is open.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gml.counts.counter import Counter
from gml.errors import CannotAnswer
from gml.kernel.pool import in_order
from gml.model.linear_programme import solved_programme
from gml.model.undirected.boundary.cliques_of_cells import (
    Cells,
    CliqueTree,
    margin,
    smallest_supports,
    spread,
)
from gml.model.undirected.fitting import Support
from gml.model.undirected.observed import tables_over
from gml.model.undirected.terms import Scope, Terms
from gml.progress import Deadline
from gml.resources import require_memory

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_CELL_BYTES = 400
"""What the programme takes per cell of a clique, roughly."""
_LARGE = 5000
_TOLERANCE = 1e-6
_DENOMINATORS = range(1, 25)


def facial_set(
    counter: Counter,
    terms: Terms,
    tree_scopes: Sequence[Scope],
    *,
    max_memory: int | None = None,
    deadline: Deadline | None = None,
) -> tuple[Support, ...]:
    """Return what the maximum of the likelihood excludes, in tables within the cliques of a tree.

    None are returned if the maximum is finite. No table follows from those before it. What is
    found by the deadline is excluded rightly, but other cells may have to be, too.

    Examples
    --------
    >>> from gml.counts.memory import MemoryCounter
    >>> from gml.data.dataset import Dataset, Variable
    >>> levels = [Variable(name, ("n", "y")) for name in "AB"]
    >>> columns = [np.array([0, 0, 1], np.uint8), np.array([0, 1, 1], np.uint8)]
    >>> data = MemoryCounter(Dataset(tuple(levels), tuple(columns)))
    >>> facial_set(data, Terms.of(levels, [["A", "B"]]), [(0, 1)])
    (Support(scope=(0, 1), possible=array([[ True,  True],
           [False,  True]])),)
    """
    tree = CliqueTree.of(tree_scopes)
    cells = sum(int(np.prod(terms.shape(clique), dtype=object)) for clique in tree.cliques)
    require_memory(_CELL_BYTES * cells, max_memory, "the search for a maximum at infinity")
    observed = [table > 0 for table in tables_over(counter, terms, tree.cliques)]
    if all(table.all() for table in observed):
        return ()
    possible = _by_margins(terms, tree, observed)
    if any((left & ~seen).any() for left, seen in zip(possible, observed, strict=True)):
        _Programme(terms, tree, observed, possible).exclude(deadline or Deadline())
    return smallest_supports(terms, tree, possible)


def _by_margins(terms: Terms, tree: CliqueTree, observed: Sequence[Cells]) -> list[Cells]:
    """The cells that zeros in margins of terms leave."""
    possible = []
    for clique, seen in zip(tree.cliques, observed, strict=True):
        left = np.ones_like(seen)
        within = {tuple(k for k in generator if k in clique) for generator in terms.generators}
        for scope in sorted(within - {()}):
            left &= spread(margin(seen, clique, scope), scope, clique)
        possible.append(left)
    tree.propagate(possible)
    return possible


class _Programme:
    """The linear programme over the tables of generators and the messages between cliques.

    A clique that is a generator has a table of its own, which meets whatever its cells demand, so
    it has no rows.
    """

    def __init__(
        self, terms: Terms, tree: CliqueTree, observed: Sequence[Cells], possible: list[Cells]
    ) -> None:
        self._tree = tree
        self._possible = possible
        self._n_columns = 0
        self._shares: list[list[tuple[float, Scope, int]]] = [[] for _ in tree.cliques]
        generators = {
            tuple(k for k in generator if terms.sizes[k] > 1) for generator in terms.generators
        }
        self._asked = [
            place for place, clique in enumerate(tree.cliques) if clique not in generators
        ]
        for generator in sorted(generators - {()}):
            home = next(c for c, clique in enumerate(tree.cliques) if {*clique} >= {*generator})
            self._share(terms, generator, (1.0, home))
        for child, parent, shared in tree.separators():
            self._share(terms, shared, (1.0, parent), (-1.0, child))
        self._seen = [observed[place][possible[place]] for place in range(len(tree.cliques))]

    def _share(self, terms: Terms, scope: Scope, *signed: tuple[float, int]) -> None:
        for sign, place in signed:
            self._shares[place].append((sign, scope, self._n_columns))
        self._n_columns += int(np.prod(terms.shape(scope)))

    def exclude(self, deadline: Deadline) -> None:
        """Take what the programme excludes, by the deadline, from the cells that are possible."""
        from scipy.sparse import block_array, vstack
        from scipy.sparse.csgraph import connected_components

        blocks = [self._rows(place) for place in self._asked]
        rows: csr_array = vstack(blocks, format="csr")
        seen = np.concatenate([self._seen[place] for place in self._asked])
        labels = connected_components(block_array([[None, rows], [rows.T, None]]))[1]
        part = labels[: len(seen)]
        outside = np.zeros(len(seen), dtype=bool)
        members = [np.flatnonzero(part == label) for label in np.unique(part[~seen])]

        def solved(mine: NDArray[np.intp]) -> NDArray[np.bool_]:
            return _largest_support(rows[mine], seen[mine], deadline)

        for mine, support in zip(members, in_order(solved, members, 2), strict=True):
            outside[mine] = support
        ends = np.cumsum([block.shape[0] for block in blocks])
        for place, gone in zip(self._asked, np.split(outside, ends[:-1]), strict=True):
            left = self._possible[place]
            left[left] = ~gone
        self._tree.propagate(self._possible)

    def _rows(self, place: int) -> csr_array:
        """The share of f that each possible cell of a clique has, as a row of the programme."""
        from scipy.sparse import coo_array

        clique, left = self._tree.cliques[place], self._possible[place]
        codes = np.argwhere(left)
        numbers = np.arange(len(codes))
        entries, columns = [], []
        for sign, scope, first in self._shares[place]:
            axes = [clique.index(k) for k in scope]
            shape = tuple(left.shape[axis] for axis in axes)
            columns.append(first + np.ravel_multi_index(tuple(codes[:, axes].T), shape))
            entries.append(np.full(len(codes), sign))
        at = np.concatenate(columns), np.tile(numbers, len(columns))
        shape = (len(codes), self._n_columns)
        return coo_array((np.concatenate(entries), (at[1], at[0])), shape=shape).tocsr()


def _largest_support(
    rows: csr_array, seen: NDArray[np.bool_], deadline: Deadline
) -> NDArray[np.bool_]:
    """The rows that some f makes positive, where none is negative and those seen are 0.

    None, if time is up before they are known.
    """
    from scipy.sparse import csr_array, eye_array, hstack

    used = np.unique(rows.indices)
    rows = rows[:, used]
    n_open = int(np.count_nonzero(~seen))
    upper = hstack([-rows[~seen], eye_array(n_open)], format="csr")
    equal = hstack([rows[seen], csr_array((len(seen) - n_open, n_open))], format="csr")
    bounds = np.array([(-np.inf, np.inf)] * len(used) + [(0.0, 1.0)] * n_open)
    # Measured: the simplex method is faster on small programmes, and fails on some large ones.
    methods = ("highs-ds", "highs-ipm") if len(seen) < _LARGE else ("highs-ipm", "highs-ds")
    for method in methods:
        if deadline.passed:
            return np.zeros(len(seen), dtype=bool)
        found = solved_programme(
            np.concatenate([np.zeros(len(used)), -np.ones(n_open)]),
            A_ub=upper,
            b_ub=np.zeros(n_open),
            A_eq=equal,
            b_eq=np.zeros(len(seen) - n_open),
            bounds=bounds,
            method=method,
            deadline=deadline,
        )
        if found.status == 0:
            outside = np.zeros(len(seen), dtype=bool)
            outside[~seen] = found.x[len(used) :] > 0.5
            if _is_proved(rows, found, outside, seen):
                return outside
    if deadline.passed:
        return np.zeros(len(seen), dtype=bool)
    raise CannotAnswer(
        "whether the maximum is finite could not be found out: the linear programme did not "
        "converge"
    )


def _is_proved(
    rows: csr_array, found: Any, outside: NDArray[np.bool_], seen: NDArray[np.bool_]
) -> bool:
    """Whether the numbers of the programme, or whole multiples of them, really are a solution.

    Multiples are tried first, because they can be checked without any tolerance.
    """
    tables = found.x[: rows.shape[1]]
    for factor in _DENOMINATORS:
        whole = np.rint(factor * tables)
        if np.abs(whole - factor * tables).max(initial=0.0) <= _TOLERANCE * factor:
            shares = rows @ whole
            return bool(
                (shares >= 0).all() and (shares[outside] > 0).all() and not shares[seen].any()
            )
    shares, raised = rows @ tables, found.x[rows.shape[1] :]
    return bool(
        (np.minimum(raised, 1 - raised) <= _TOLERANCE).all()
        and np.abs(shares[seen]).max(initial=0.0) <= _TOLERANCE
        and shares.min(initial=0.0) >= -_TOLERANCE
    )

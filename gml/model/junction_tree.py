"""Junction trees: the order in which variables are eliminated, and the cliques that this makes.

Eliminating a variable joins the factors that contain it; the variable and its neighbours at that
time are a clique of the triangulated graph, and the cliques form a tree whose root is eliminated
last (Lauritzen & Spiegelhalter 1988; Jensen, Lauritzen & Olesen 1990). That needs only the sizes of
the variables, so any arithmetic may run on the tree: table_elimination.py has that of tables.

The order is min-fill, ties by number of the variable, within an order constraint: groups of
variables, each of which goes before the next. A maximum after sums needs one (map), and so would
numbers before labels (the strong junction trees of Lauritzen 1992).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from gml.errors import CannotAnswer, listing, parameter
from gml.graph.bits import members
from gml.graph.triangulation import eliminate_by_min_fill
from gml.kernel.layout import MOST_AXES
from gml.resources import format_size


class NoRoom(CannotAnswer):
    """Exact inference would take more memory than is allowed."""


@dataclass(frozen=True)
class JunctionTree:
    """Cliques in the order of elimination.

    Each clique is the neighbours and, last, the variable that is eliminated. With `keeps`, a last
    clique has all variables that stay.
    """

    sizes: Sequence[int]
    cliques: tuple[tuple[int, ...], ...]
    keeps: bool
    parents: tuple[int, ...] = field(init=False)
    """For each clique, the one that takes its message; -1 for roots."""
    _when: dict[int, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        eliminated = self.cliques[:-1] if self.keeps else self.cliques
        when = {clique[-1]: s for s, clique in enumerate(eliminated)}
        object.__setattr__(self, "_when", when)
        parents = [self.place_of(clique[:-1]) if clique[:-1] else -1 for clique in eliminated]
        object.__setattr__(self, "parents", (*parents, -1) if self.keeps else tuple(parents))

    def place_of(self, scope: Sequence[int]) -> int:
        """Return the first clique that eliminates a variable of a scope, or the last clique."""
        last = len(self.cliques) - 1
        return min((self._when.get(node, last) for node in scope), default=last)

    def cells(self, scope: Sequence[int]) -> int:
        """Return the cells of a table over a scope."""
        return math.prod(self.sizes[node] for node in scope)

    @property
    def treewidth(self) -> int:
        """Variables of the largest clique, less one."""
        return max(map(len, self.cliques), default=1) - 1

    def require_room(self, names: Sequence[str], budget: int, *, copies: int = 1) -> None:
        """Refuse tables over all cliques, and messages, that take more than the budget."""
        cells = sum(self.cells(clique) + self.cells(clique[:-1]) for clique in self.cliques)
        n_bytes = 8 * copies * cells
        if n_bytes <= budget and self.treewidth < MOST_AXES:
            return
        largest = max(self.cliques, key=self.cells)
        raise NoRoom(
            f"exact inference would take {format_size(n_bytes)}, more than "
            f"{parameter('max_memory')} allows ({format_size(budget)}): the treewidth is "
            f"{self.treewidth} by min-fill, the largest table is over "
            f"{listing(names[node] for node in largest)}"
        )


def build_tree(
    scopes: Sequence[Sequence[int]],
    sizes: Sequence[int],
    groups: Sequence[Sequence[int]],
    kept: Sequence[int] = (),
) -> JunctionTree:
    """Order the variables of the groups, one group after the other.

    Parameters
    ----------
    scopes
        Variables that occur together in something to be multiplied.
    sizes
        Levels of each variable; 1 for one whose table has no axis of its own.
    groups
        What is to be eliminated; within a group, the order is free.
    kept
        What stays, together in a last clique.

    Examples
    --------
    >>> build_tree([[0, 1], [1, 2]], [2, 2, 2], [[0, 1, 2]]).cliques
    ((1, 0), (2, 1), (2,))
    >>> build_tree([[0, 1], [1, 2]], [2, 2, 2], [[1], [0, 2]]).cliques
    ((0, 2, 1), (2, 0), (2,))
    """
    joined = [*scopes, list(kept)] if kept else scopes
    order = eliminate_by_min_fill(joined, sizes, groups)
    cliques = [(*members(found.neighbours), found.node) for found in order]
    if kept:
        cliques.append(tuple(kept))
    return JunctionTree(sizes, tuple(cliques), bool(kept))

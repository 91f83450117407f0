"""Which cells of the cliques of a junction tree are possible, and what follows from that.

What some cliques exclude may leave cells of others without any continuation. On a tree, where the
cliques that share a variable hang together, one pass to a root and one back find all of these
(Dechter 2003, section 9.2): a cell is left iff some row of the joint table has it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from gml.graph.bits import bits_of, members
from gml.model.undirected.fitting import Support
from gml.model.undirected.terms import Scope, Terms

Cells = NDArray[np.bool_]

_FEW = 3
"""Members of the tables in which cells are looked for that a whole clique says at length."""


@dataclass(frozen=True)
class CliqueTree:
    """The largest cliques of a junction tree; each but the roots has a parent that comes before."""

    cliques: tuple[Scope, ...]
    parents: tuple[int, ...]
    """-1 for a clique that shares nothing with those before it."""

    @classmethod
    def of(cls, scopes: Sequence[Scope]) -> CliqueTree:
        """Join the cliques by what they share: a heaviest tree is a junction tree (Jensen 1988)."""
        kept: list[int] = []
        for clique in sorted({bits_of(scope) for scope in scopes}, key=_by_size):
            if not any(clique & ~other == 0 for other in kept):
                kept.append(clique)
        order: list[int] = []
        parents = []
        shared = dict.fromkeys(kept, (0, -1))
        while shared:
            clique = max(shared, key=lambda clique: (shared[clique][0], _by_size(clique)))
            weight, parent = shared.pop(clique)
            for other in shared:
                common = (clique & other).bit_count()
                if common > shared[other][0]:
                    shared[other] = common, len(order)
            order.append(clique)
            parents.append(parent if weight else -1)
        return cls(tuple(tuple(members(clique)) for clique in order), tuple(parents))

    def separators(self) -> Iterator[tuple[int, int, Scope]]:
        """Yield each clique that has a parent, the parent, and what they share."""
        for child, parent in enumerate(self.parents):
            if parent >= 0:
                above = set(self.cliques[parent])
                yield child, parent, tuple(k for k in self.cliques[child] if k in above)

    def propagate(self, possible: list[Cells]) -> None:
        """Exclude, in place, every cell that the other cliques leave no continuation."""
        links = list(self.separators())
        for child, parent, shared in reversed(links):
            self._pass(possible, child, parent, shared)
        for child, parent, shared in links:
            self._pass(possible, parent, child, shared)

    def _pass(self, possible: list[Cells], source: int, target: int, shared: Scope) -> None:
        left = margin(possible[source], self.cliques[source], shared)
        possible[target] &= spread(left, shared, self.cliques[target])


def _by_size(clique: int) -> tuple[int, list[int]]:
    return -clique.bit_count(), list(members(clique))


def margin(cells: Cells, scope: Scope, part: Scope) -> Cells:
    """Return the cells of a part of a scope that have a continuation."""
    summed = tuple(i for i, k in enumerate(scope) if k not in part)
    return np.asarray(cells.any(axis=summed))


def spread(cells: Cells, part: Scope, scope: Scope) -> Cells:
    """Return the cells of a part, ready to be combined with a table over the whole scope."""
    sizes = iter(cells.shape)
    return cells.reshape([next(sizes) if k in part else 1 for k in scope])


def smallest_supports(
    terms: Terms, tree: CliqueTree, possible: Sequence[Cells]
) -> tuple[Support, ...]:
    """Say with small tables which cells are possible, and nothing that follows from those before.

    The tables are over single variables, pairs, triples and generators within a clique, then over
    whole cliques; each adds what those before it, together, do not exclude.
    """
    scopes: dict[Scope, int] = {}
    for place, clique in enumerate(tree.cliques):
        if possible[place].all():
            continue
        members = set(clique)
        for size in range(1, min(_FEW, len(clique)) + 1):
            for scope in combinations(clique, size):
                scopes.setdefault(scope, place)
        for generator in terms.generators:
            if members >= set(generator):
                scopes.setdefault(generator, place)
        scopes.setdefault(clique, place)
    state = [np.ones_like(cells) for cells in possible]
    found = []
    for scope in sorted(scopes, key=lambda scope: (len(scope), scope)):
        place = scopes[scope]
        clique = tree.cliques[place]
        allowed = margin(possible[place], clique, scope)
        new = margin(state[place], clique, scope) & ~allowed
        if new.any():
            found.append(Support(scope, ~new))
            state[place] &= spread(~new, scope, clique)
            tree.propagate(state)
    return tuple(found)


def excluded_cells(terms: Terms, supports: Sequence[Support]) -> Iterator[Mapping[str, str]]:
    """Yield the cells that tables exclude, as levels by name."""
    for support in supports:
        variables = [terms.variables[k] for k in support.scope]
        for codes in np.argwhere(~support.possible):
            yield {
                variable.name: (variable.levels or ())[code]
                for variable, code in zip(variables, codes.tolist(), strict=True)
            }

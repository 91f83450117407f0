"""Terms of hierarchical log-linear models: log p(x) = Σ_c λ_c(x_c) − ln Z.

A model is given by its generators, sets of variables of which none is part of another; it has a
term for every non-empty subset of a generator (Birch 1963; Agresti 2013, section 9.2; Lauritzen
1996, section 4.3). In the gauge of the model's file, each λ_c adds up to 0 over every one of its
axes, which makes the terms unique; those of a model over two levels are ±J. The free parameters are
∏ (r − 1) per term, the constant not counted.

Everything here is in the order of names: variables, the members of scopes, and terms, which come by
size and then by their members. No order of columns shows.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from gml.data.dataset import Variable
from gml.errors import GraphError, UsageError, listing, require_one_of, unknown_name
from gml.graph.chordal import PerfectSequence, maximal_cliques, perfect_sequence
from gml.graph.graph import Graph
from gml.resources import require_memory

FACTORS = ("cliques", "pairs")

Scope = tuple[int, ...]


@dataclass(frozen=True)
class Terms:
    """The generators of a model over variables in the order of their names.

    Examples
    --------
    >>> a, b, c = (Variable(name, ("n", "y")) for name in "ABC")
    >>> terms = Terms.of([c, a, b], [["B", "A"], ["C", "B"]])
    >>> terms.generators, terms.all
    (((0, 1), (1, 2)), ((0,), (1,), (2,), (0, 1), (1, 2)))
    >>> terms.dimension, terms.is_decomposable
    (5, True)
    """

    variables: tuple[Variable, ...]
    generators: tuple[Scope, ...]

    @classmethod
    def of(cls, variables: Iterable[Variable], scopes: Iterable[Iterable[str]]) -> Terms:
        """Take scopes by name; a variable in none of them has a term of its own."""
        by_name = tuple(sorted(variables, key=lambda variable: variable.name))
        numeric = [variable.name for variable in by_name if variable.levels is None]
        if numeric:
            raise UsageError(f"an undirected model is over labels, and {listing(numeric)} has none")
        rank = {variable.name: k for k, variable in enumerate(by_name)}
        found: set[Scope] = {(k,) for k in range(len(by_name))}
        for scope in scopes:
            names = list(scope)
            for name in names:
                if name not in rank:
                    raise UsageError(unknown_name("column", name, list(rank)))
            found.add(tuple(sorted({rank[name] for name in names})))
        found.discard(())
        return cls(by_name, _maximal(found))

    @classmethod
    def of_graph(
        cls, variables: Iterable[Variable], graph: Graph, factors: str = "cliques"
    ) -> Terms:
        """Take the maximal cliques of an undirected graph, or its edges."""
        require_one_of("factors", factors, FACTORS)
        names = graph.names
        if factors == "pairs":
            edges = [(edge.source, edge.target) for edge in graph.edges]
            return cls.of(variables, edges)
        return cls.of(variables, [[names[j] for j in c] for c in maximal_cliques(graph)])

    @functools.cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the variables, in order."""
        return tuple(variable.name for variable in self.variables)

    @functools.cached_property
    def sizes(self) -> tuple[int, ...]:
        """The number of levels of each variable."""
        return tuple(len(variable.levels or ()) for variable in self.variables)

    def shape(self, scope: Sequence[int]) -> tuple[int, ...]:
        """Return the shape of a table over a scope."""
        return tuple(self.sizes[k] for k in scope)

    @functools.cached_property
    def all(self) -> tuple[Scope, ...]:
        """All terms: the non-empty subsets of the generators, by size, then by members."""
        cells = sum(math.prod(1 + self.sizes[k] for k in scope) for scope in self.generators)
        require_memory(8 * cells, None, "the terms of the model")
        found = {
            subset
            for scope in self.generators
            for size in range(1, len(scope) + 1)
            for subset in combinations(scope, size)
        }
        return tuple(sorted(found, key=lambda scope: (len(scope), scope)))

    @property
    def dimension(self) -> int:
        """The number of free parameters, over declared levels, the constant not counted."""
        return sum(math.prod(self.sizes[k] - 1 for k in scope) for scope in self.all)

    @functools.cached_property
    def graph(self) -> Graph:
        """The undirected graph in which the variables of each generator are joined."""
        pairs = sorted({pair for scope in self.generators for pair in combinations(scope, 2)})
        return Graph.from_edges(
            self.names,
            [(self.names[i], "---", self.names[j]) for i, j in pairs],
            kind="undirected",
            levels={variable.name: variable.levels or () for variable in self.variables},
        )

    @functools.cached_property
    def perfect_sequence(self) -> PerfectSequence | None:
        """The generators in a perfect order with their separators; None without a closed form.

        A model has one iff its graph is chordal and the generators are the graph's cliques
        (Haberman 1974; Lauritzen 1996, section 4.4).
        """
        found = perfect_sequence(self.graph)
        if found is None or {*found.cliques} != {*self.generators}:
            return None
        return found

    @property
    def is_decomposable(self) -> bool:
        """Whether maximum likelihood has a closed form."""
        return self.perfect_sequence is not None

    @functools.cached_property
    def _containing(self) -> list[list[Scope]]:
        """The generators that have each variable, in their order."""
        found: list[list[Scope]] = [[] for _ in self.variables]
        for generator in self.generators:
            for k in generator:
                found[k].append(generator)
        return found

    def generator_of(self, scope: Sequence[int]) -> Scope:
        """Return the first generator that contains a scope."""
        wanted = set(scope)
        for generator in self._containing[scope[0]] if scope else self.generators:
            if wanted <= set(generator):
                return generator
        raise GraphError(f"no generator contains {listing(self.names[k] for k in scope)}")


def _maximal(scopes: set[Scope]) -> tuple[Scope, ...]:
    """The scopes that are not part of another, by size, then by members."""
    containing: dict[int, list[set[int]]] = {}
    kept = []
    for scope in sorted(scopes, key=lambda scope: (-len(scope), scope)):
        members = set(scope)
        if any(members <= other for other in containing.get(scope[0], ())):
            continue
        kept.append(scope)
        for k in scope:
            containing.setdefault(k, []).append(members)
    return tuple(sorted(kept, key=lambda scope: (len(scope), scope)))

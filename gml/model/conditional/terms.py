"""The features of a conditional field: which tables of weights there are, and where they lie.

A field has weights for

- each level of a target (its bias),
- each pair of a level of a target and a level of an input that it reads,
- each level of a target with a numeric input that it reads, which the standardised number
  multiplies (numeric_inputs.py); the table of such a term has one column,
- each pair of levels of two targets that are joined,

with one weight for every cell, whether it was seen or not (one-hot coding; Lafferty, McCallum &
Pereira 2001, Sutton & McCallum 2012, section 2.3). ln p(y | x) is the sum of the weights that y and
x pick, less the logarithm of what normalises it. A term is named by its scope: the target first,
then the input; two targets in the order of their names.

Targets that no edges connect have nothing to do with one another: the field falls into parts.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml.data.dataset import Variable
from gml.graph.graph import Graph
from gml.model.conditional.numeric_inputs import Scale

Vector = NDArray[np.float64]
Table = NDArray[np.float64]
Scope = tuple[str, ...]


@dataclass(frozen=True)
class FieldTerms:
    """Targets and inputs in the order of their names, and who is joined with whom.

    Examples
    --------
    >>> y, z, x = (Variable(name, ("n", "y")) for name in "yzx")
    >>> terms = FieldTerms.complete([y, z], [x])
    >>> terms.scopes, terms.size
    ((('y',), ('y', 'x'), ('z',), ('z', 'x'), ('y', 'z')), 16)
    """

    targets: tuple[Variable, ...]
    inputs: tuple[Variable, ...]
    reads: tuple[tuple[int, ...], ...]
    """The inputs that each target reads."""
    pairs: tuple[tuple[int, int], ...]
    """The targets that are joined."""
    scales: Mapping[str, Scale] = field(default_factory=dict, hash=False)
    """What standardises each numeric input."""

    @classmethod
    def complete(
        cls,
        targets: Iterable[Variable],
        inputs: Iterable[Variable],
        scales: Mapping[str, Scale] | None = None,
    ) -> FieldTerms:
        """Join all targets with one another and with all inputs."""
        joined, read = _by_name(targets), _by_name(inputs)
        everything = tuple(range(len(read)))
        n = len(joined)
        pairs = tuple((i, j) for i in range(n) for j in range(i + 1, n))
        return cls(joined, read, (everything,) * n, pairs, scales or {})

    @classmethod
    def of_scopes(
        cls,
        targets: Iterable[Variable],
        inputs: Iterable[Variable],
        scopes: Iterable[Scope],
        scales: Mapping[str, Scale] | None = None,
    ) -> FieldTerms:
        """Join what the scopes name; every target has its bias."""
        joined, read = _by_name(targets), _by_name(inputs)
        rank = {variable.name: k for k, variable in enumerate(joined)}
        place = {variable.name: k for k, variable in enumerate(read)}
        reads: list[set[int]] = [set() for _ in joined]
        pairs: set[tuple[int, int]] = set()
        for scope in scopes:
            ours = sorted(rank[name] for name in scope if name in rank)
            if len(ours) == 2:
                pairs.add((ours[0], ours[1]))
            for name in scope:
                if name in place:
                    reads[ours[0]].add(place[name])
        who = tuple(tuple(sorted(found)) for found in reads)
        return cls(joined, read, who, tuple(sorted(pairs)), scales or {})

    @classmethod
    def of_graph(
        cls,
        variables: Sequence[Variable],
        targets: Sequence[str],
        graph: Graph,
        scales: Mapping[str, Scale] | None = None,
    ) -> FieldTerms:
        """Join what the edges of an undirected graph do; what no target reads is left out."""
        known = {variable.name: variable for variable in variables}
        ours = set(targets)
        scopes = []
        for edge in graph.edges:
            a, b = edge.source, edge.target
            if a in ours or b in ours:
                scopes.append((a, b))
        read = {name for scope in scopes for name in scope} - ours
        kept = {name: scale for name, scale in (scales or {}).items() if name in read}
        return cls.of_scopes(
            [known[name] for name in targets], [known[name] for name in read], scopes, kept
        )

    @functools.cached_property
    def scopes(self) -> tuple[Scope, ...]:
        """The terms: those of each target and what it reads, then those of joined targets."""
        found: list[Scope] = []
        for target, read in zip(self.targets, self.reads, strict=True):
            found.append((target.name,))
            found += [(target.name, self.inputs[k].name) for k in read]
        found += [(self.targets[i].name, self.targets[j].name) for i, j in self.pairs]
        return tuple(found)

    @functools.cached_property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """The shape of the table of each term."""
        sizes = {v.name: self.width(v) for v in (*self.targets, *self.inputs)}
        return tuple(tuple(sizes[name] for name in scope) for scope in self.scopes)

    @staticmethod
    def width(variable: Variable) -> int:
        """How many weights a variable has in a table: one for each level, or one for a number."""
        return 1 if variable.levels is None else len(variable.levels)

    def columns(self, inputs: NDArray[Any]) -> NDArray[Any]:
        """The inputs of rows (rows × inputs) as weights meet them (inputs × rows).

        Those are codes, and standardised numbers: 0, which adds nothing, where one is missing.
        Where there are numbers, all are float64.
        """
        if not self.scales:
            return np.ascontiguousarray(inputs.T, dtype=np.intp)
        found = np.array(inputs.T, dtype=np.float64, order="C")
        for k, variable in enumerate(self.inputs):
            if variable.is_continuous:
                found[k] = np.nan_to_num(self.scales[variable.name].standardised(found[k]))
        return found

    @functools.cached_property
    def places(self) -> dict[Scope, slice]:
        """Where the weights of each term lie in the vector of all weights."""
        found, start = {}, 0
        for scope, shape in zip(self.scopes, self.shapes, strict=True):
            end = start + int(np.prod(shape))
            found[scope] = slice(start, end)
            start = end
        return found

    @functools.cached_property
    def size(self) -> int:
        """The number of weights."""
        return sum(int(np.prod(shape, dtype=object)) for shape in self.shapes)

    def tables(self, weights: Vector) -> dict[Scope, Table]:
        """Return the table of each term: parts of the vector, not copies."""
        return {
            scope: weights[self.places[scope]].reshape(shape)
            for scope, shape in zip(self.scopes, self.shapes, strict=True)
        }

    def vector(self, tables: Mapping[Scope, Table]) -> Vector:
        """Return the vector of the weights in tables."""
        return np.concatenate([np.empty(0), *(tables[scope].reshape(-1) for scope in self.scopes)])

    @functools.cached_property
    def parts(self) -> tuple[FieldTerms, ...]:
        """The fields of the targets that edges connect, each with the inputs that it reads."""
        group = list(range(len(self.targets)))
        for i, j in self.pairs:
            # Pairs are in order, so the smallest number of a group wins in the end.
            old, new = max(group[i], group[j]), min(group[i], group[j])
            group = [new if g == old else g for g in group]
        return tuple(
            self._part([k for k, g in enumerate(group) if g == own]) for own in sorted({*group})
        )

    def _part(self, members: Sequence[int]) -> FieldTerms:
        place = {k: number for number, k in enumerate(members)}
        read = sorted({x for k in members for x in self.reads[k]})
        number = {x: at for at, x in enumerate(read)}
        names = {self.inputs[x].name for x in read}
        return FieldTerms(
            tuple(self.targets[k] for k in members),
            tuple(self.inputs[x] for x in read),
            tuple(tuple(number[x] for x in self.reads[k]) for k in members),
            tuple((place[i], place[j]) for i, j in self.pairs if i in place),
            {name: scale for name, scale in self.scales.items() if name in names},
        )


def _by_name(variables: Iterable[Variable]) -> tuple[Variable, ...]:
    return tuple(sorted(variables, key=lambda variable: variable.name))

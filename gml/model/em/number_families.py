"""Families of a network with numbers: what parameters they have, as one vector and as arrays.

Nodes are numbered by name, numbers and labels apart, and parents stand in that order. A number has
one regression per configuration of its label parents: intercept, slopes, and ln of the standard
deviation, which any real number may be. A label has a table, one row per configuration.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.data.dataset import Variable
from gml.errors import GraphError, listing
from gml.graph.graph import Graph
from gml.model.configurations import described_row
from gml.model.em.number_rows import NumberRows

Array = NDArray[np.float64]


@dataclass(frozen=True)
class NumberFamily:
    """A number, its parents that are numbers, and those that are labels, by position."""

    child: int
    numbers: tuple[int, ...]
    labels: tuple[int, ...]
    sizes: tuple[int, ...]
    """How many levels each of the labels has."""

    @property
    def n_configs(self) -> int:
        """How many regressions there are."""
        return math.prod(self.sizes)

    @property
    def members(self) -> list[int]:
        """The columns of numbers, the child last."""
        return [*self.numbers, self.child]

    @property
    def n_terms(self) -> int:
        """Intercept and slopes of a regression."""
        return len(self.numbers) + 1


@dataclass(frozen=True)
class LabelFamily:
    """A label and its parents, by position."""

    child: int
    labels: tuple[int, ...]
    sizes: tuple[int, ...]
    n_levels: int

    @property
    def n_configs(self) -> int:
        """How many rows the table has."""
        return math.prod(self.sizes)


class Regressions(NamedTuple):
    """The regressions of a number, one per configuration of its labels."""

    terms: Array
    """Intercept and slopes: configurations × terms."""
    log_sd: Array


@dataclass(frozen=True)
class Parameters:
    """The parameters of all families: what an E-step reads, and an M-step returns."""

    regressions: tuple[Regressions, ...]
    tables: tuple[Array, ...]

    def vector(self) -> Array:
        """All parameters in one vector."""
        parts = [part.reshape(-1) for one in self.regressions for part in one]
        return np.concatenate([*parts, *(table.reshape(-1) for table in self.tables), np.zeros(0)])


@dataclass(frozen=True)
class Families:
    """The families of a network over the columns of some rows."""

    numbers: tuple[NumberFamily, ...]
    """That of each number, in the order of names."""
    labels: tuple[LabelFamily, ...]
    number_variables: tuple[Variable, ...]
    label_variables: tuple[Variable, ...]

    @classmethod
    def of(cls, graph: Graph, rows: NumberRows) -> Families:
        """Take the families from a DAG; labels must not depend on numbers."""
        place = {v.name: k for k, v in enumerate(rows.numbers)}
        label_place = {v.name: k for k, v in enumerate(rows.labels)}
        parents = {
            graph.names[j]: [graph.names[i] for i in sorted(some)]
            for j, some in enumerate(graph.parent_sets())
        }
        arcs = [
            f"{parent} -> {name}"
            for name in graph.names
            if name in label_place
            for parent in parents[name]
            if parent in place
        ]
        if arcs:
            raise GraphError(f"{listing(arcs)}: a label has no distribution given numbers")
        size = [len(v.levels or ()) for v in rows.labels]

        def labels_of(name: str) -> tuple[int, ...]:
            return tuple(sorted(label_place[one] for one in parents[name] if one in label_place))

        def sizes_of(name: str) -> tuple[int, ...]:
            return tuple(size[k] for k in labels_of(name))

        return cls(
            tuple(
                NumberFamily(
                    k,
                    tuple(sorted(place[one] for one in parents[v.name] if one in place)),
                    labels_of(v.name),
                    sizes_of(v.name),
                )
                for k, v in enumerate(rows.numbers)
            ),
            tuple(
                LabelFamily(k, labels_of(v.name), sizes_of(v.name), size[k])
                for k, v in enumerate(rows.labels)
            ),
            rows.numbers,
            rows.labels,
        )

    @property
    def all(self) -> tuple[NumberFamily | LabelFamily, ...]:
        """The families of numbers, then those of labels."""
        return (*self.numbers, *self.labels)

    def parameters(self, vector: Array) -> Parameters:
        """Read the parameters off a vector."""
        at = 0

        def taken(*shape: int) -> Array:
            nonlocal at
            part = vector[at : at + math.prod(shape)].reshape(shape)
            at += math.prod(shape)
            return part

        regressions = tuple(
            Regressions(taken(f.n_configs, f.n_terms), taken(f.n_configs)) for f in self.numbers
        )
        return Parameters(regressions, tuple(taken(f.n_configs, f.n_levels) for f in self.labels))

    @property
    def n_parameters(self) -> int:
        """Free parameters."""
        regressions = sum(f.n_configs * (f.n_terms + 1) for f in self.numbers)
        return regressions + sum(f.n_configs * (f.n_levels - 1) for f in self.labels)

    def where(self, family: NumberFamily, config: int) -> str:
        """Say which configuration of labels a regression is for; nothing without labels."""
        return described_row([self.label_variables[k] for k in family.labels], config)


@dataclass
class Statistics:
    """Expected sums over rows: of products of (1, parents, child), and of configurations."""

    products: list[Array]
    """Of each number: configurations × (terms + 1) × (terms + 1)."""
    counts: list[Array]
    log_likelihood: float = 0.0

    @classmethod
    def zeros(cls, families: Families) -> Statistics:
        """Those of no rows."""
        return cls(
            [np.zeros((f.n_configs, f.n_terms + 1, f.n_terms + 1)) for f in families.numbers],
            [np.zeros((f.n_configs, f.n_levels)) for f in families.labels],
        )

    def add(self, other: Statistics) -> None:
        """Add the sums over other rows."""
        for mine, theirs in zip(self.products, other.products, strict=True):
            mine += theirs
        for mine, theirs in zip(self.counts, other.counts, strict=True):
            mine += theirs
        self.log_likelihood += other.log_likelihood

    def copy(self) -> Statistics:
        """The same sums, to add others to."""
        return Statistics(
            [part.copy() for part in self.products],
            [part.copy() for part in self.counts],
            self.log_likelihood,
        )

    @property
    def n_bytes(self) -> int:
        """The memory that these take."""
        return sum(part.nbytes for part in (*self.products, *self.counts))

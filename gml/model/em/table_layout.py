"""The tables of a network in one vector: nodes, families and cells in the order of names.

So the order of columns and nodes changes nothing. A parent's place in the tables of a model is that
of the graph; `CPT`s are turned on their way out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml.data.dataset import Variable
from gml.errors import CannotAnswer
from gml.graph.graph import Graph
from gml.graph.order import topological_order
from gml.kernel.family_layout import FamilyLayout
from gml.model.network import CPT, Network
from gml.resources import require_memory

# Per cell: counts, expected counts, parameters of two steps and their differences.
_CELL_BYTES = 160
_MOST_CELLS = 1 << 31

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class RowsOfTables:
    """The cells of all tables whose child has so many levels: one row per distribution."""

    cells: NDArray[np.int64]


@dataclass(frozen=True)
class TableLayout:
    """The nodes of a graph in the order of their names, and the cells of their tables."""

    graph: Graph
    variables: tuple[Variable, ...]
    """By name."""
    parents: tuple[tuple[int, ...], ...]
    """Of each variable, by name."""
    hidden: frozenset[int]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the nodes, in order."""
        return tuple(variable.name for variable in self.variables)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Levels of each node."""
        return tuple(len(variable.levels or ()) for variable in self.variables)

    def shape(self, node: int) -> tuple[int, ...]:
        """Sizes of the parents, then of the node."""
        return tuple(self.sizes[member] for member in (*self.parents[node], node))

    @cached_property
    def kernel(self) -> FamilyLayout:
        """The same as the kernel reads it."""
        members = [[*parents, node] for node, parents in enumerate(self.parents)]
        strides = []
        for family in members:
            steps = [math.prod(self.sizes[m] for m in family[k + 1 :]) for k in range(len(family))]
            strides += steps
        ends = np.cumsum([0, *map(len, members)], dtype=np.int64)
        cells = [math.prod(self.shape(node)) for node in range(len(members))]
        position = {name: k for k, name in enumerate(self.names)}
        order = [position[self.graph.names[node]] for node in topological_order(self.graph)]
        return FamilyLayout(
            np.array(self.sizes, dtype=np.int32),
            ends,
            np.array([node for family in members for node in family], dtype=np.int32),
            np.array(strides, dtype=np.int64),
            np.cumsum([0, *cells], dtype=np.int64),
            np.array(order, dtype=np.int32),
        )

    def require_room(self, budget: int | None) -> None:
        """Refuse tables that do not fit, before any is made."""
        cells = sum(math.prod(self.shape(node)) for node in range(len(self.variables)))
        if cells >= _MOST_CELLS:
            # Whatever memory there is, positions of cells are numbers of 32 bits.
            raise CannotAnswer(
                f"the tables of the network have {cells:,} cells, and EM takes fewer than "
                f"{_MOST_CELLS:,}"
            )
        require_memory(_CELL_BYTES * cells, budget, "the tables of the network")

    def table(self, vector: NDArray[Any], node: int) -> NDArray[Any]:
        """The table of a node in a vector, parents in the order of names."""
        starts = self.kernel.table_starts
        return vector[starts[node] : starts[node + 1]].reshape(-1, self.sizes[node])

    @cached_property
    def rows(self) -> tuple[RowsOfTables, ...]:
        """The distributions of all tables, by how many levels they have."""
        by_size: dict[int, list[NDArray[np.int64]]] = {}
        starts = self.kernel.table_starts.tolist()
        for node, size in enumerate(self.sizes):
            cells = np.arange(starts[node], starts[node + 1], dtype=np.int64).reshape(-1, size)
            by_size.setdefault(size, []).append(cells)
        return tuple(RowsOfTables(np.concatenate(by_size[size])) for size in sorted(by_size))

    def in_graph_order(self, node: int, table: NDArray[Any]) -> NDArray[Any]:
        """Turn a table so that the parents stand as in the graph."""
        names = self.names
        by_place = sorted(self.parents[node], key=lambda parent: self.graph.index(names[parent]))
        return self._turned(node, table, self.parents[node], by_place)

    def in_name_order(self, node: int, table: NDArray[Any]) -> NDArray[Any]:
        """The opposite of `in_graph_order`."""
        names = self.names
        by_place = sorted(self.parents[node], key=lambda parent: self.graph.index(names[parent]))
        return self._turned(node, table, by_place, self.parents[node])

    def _turned(
        self, node: int, table: NDArray[Any], before: Sequence[int], after: Sequence[int]
    ) -> NDArray[Any]:
        # Parents of one level are no axes: there may be more of them than an array can have.
        old = [parent for parent in before if self.sizes[parent] > 1]
        new = [parent for parent in after if self.sizes[parent] > 1]
        rest = table.shape[1:]
        axes = [old.index(parent) for parent in new]
        shaped = table.reshape([*(self.sizes[parent] for parent in old), *rest])
        turned = shaped.transpose([*axes, *range(len(old), shaped.ndim)])
        return np.ascontiguousarray(turned.reshape(-1, *rest))

    def parents_in_graph(self, node: int) -> tuple[Variable, ...]:
        """The parents of a node as the graph has them."""
        names = self.names
        by_place = sorted(self.parents[node], key=lambda parent: self.graph.index(names[parent]))
        return tuple(self.variables[parent] for parent in by_place)


def layout_of(
    graph: Graph, variables: Mapping[str, Variable], hidden: Mapping[str, int]
) -> TableLayout:
    """Lay out the tables of a DAG whose nodes are columns or hidden.

    Examples
    --------
    >>> import gml
    >>> graph = gml.read_graph("sample_data/asia.dot")
    >>> data = gml.read("sample_data/asia.csv")
    >>> layout = layout_of(graph, {variable.name: variable for variable in data.variables}, {})
    >>> layout.names[:3], layout.kernel.n_cells
    (('asia', 'bronc', 'dysp'), 36)
    """
    by_name = sorted(graph.names)
    position = {name: k for k, name in enumerate(by_name)}
    sets = graph.parent_sets()
    return TableLayout(
        graph,
        tuple(
            Variable(name, tuple(str(k + 1) for k in range(hidden[name])))
            if name in hidden
            else variables[name]
            for name in by_name
        ),
        tuple(
            tuple(sorted(position[graph.names[i]] for i in sets[graph.index(name)]))
            for name in by_name
        ),
        frozenset(position[name] for name in hidden),
    )


def table_vector(net: Network, layout: TableLayout) -> Vector:
    """The tables of a network in one vector."""
    tables = []
    for node, name in enumerate(layout.names):
        cpd = net.cpd(name)
        assert isinstance(cpd, CPT)
        tables.append(layout.in_name_order(node, cpd.table).reshape(-1))
    return np.concatenate(tables)

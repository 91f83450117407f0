"""Room for the text of a graph or a model, asked for before a writer makes it.

Text takes many times the bytes of what it shows, and repeats what memory holds once: the name of a
node at each of its edges, attributes that edges share, the levels of parents in every row. The
factors are peaks measured with the text and its encoded bytes, numbers of 17 digits, rounded up.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gml.graph.graph import Graph
from gml.model.network import Cpd
from gml.model.regressions import ConditionalGaussian, LinearGaussian
from gml.model.undirected.potential import Potential
from gml.resources import FEW_BYTES, require_memory

if TYPE_CHECKING:
    from gml.model.conditional.numeric_inputs import Slope


class _EdgeBytes(NamedTuple):
    """Bytes of an edge, of an attribute, and of a character in either."""

    edge: int
    attribute: int
    character: int


class _TableBytes(NamedTuple):
    """Bytes of a cell, of a row, of a parent in it, and of a character of the parents' levels."""

    cell: int
    row: int
    parent: int = 0
    character: int = 0


_EDGES = {
    "DOT": _EdgeBytes(60, 15, 3),
    "JSON": _EdgeBytes(300, 25, 5),
    "GraphML": _EdgeBytes(2300, 750, 6),
    "text": _EdgeBytes(120, 30, 4),
}
_TABLES = {
    "JSON": _TableBytes(120, 100),
    "BIF": _TableBytes(75, 100, 12, 3),
    "XMLBIF": _TableBytes(75, 100),
    "NET": _TableBytes(90, 100),
    "UAI": _TableBytes(75, 100),
    "text": _TableBytes(110, 150, 40, 4),
    # A line for each cell.
    "CSV": _TableBytes(150, 60, 10, 3),
}
# Cuts, counts and moments of a regression, those that grow with its parents aside.
_KEPT_NUMBERS = 48
# One character beyond Latin-1 makes all others of a text as wide.
_WIDE = 3


def require_graph_text(graph: Graph, format: str) -> None:
    """Refuse to write a graph whose text would not fit."""
    a = _EDGES[format]
    lengths = list(map(len, graph.names))
    degrees = [int(np.count_nonzero(row)) for row in graph.marks]
    n_edges = sum(degrees) // 2
    characters = sum(length * degree for length, degree in zip(lengths, degrees, strict=True))
    if format == "text":
        # Names are padded to the longest.
        characters = 2 * n_edges * max(lengths, default=0)
    n_attributes = 0
    known: dict[int, int] = {}
    for said in graph.attributes.values():
        if id(said) not in known:
            known[id(said)] = sum(len(key) + len(str(value)) for key, value in said.items())
        n_attributes += len(said)
        characters += known[id(said)]
    levels = [level for found in graph.levels.values() for level in found]
    if format != "text":
        n_attributes += len(levels)
        characters += sum(map(len, levels))
    size = n_edges * a.edge + n_attributes * a.attribute + characters * a.character
    _require(size, (*graph.names, *levels), f"writing {format} of a graph of {n_edges} edges")


def require_table_text(cpds: Iterable[Cpd], format: str) -> None:
    """Refuse to write tables whose text would not fit."""
    a = _TABLES[format]
    size = n_cells = 0
    texts: list[str] = []
    for cpd in cpds:
        texts += [cpd.variable.name, *(cpd.variable.levels or ())]
        size += a.row + sum(a.parent + 4 * len(parent.name) for parent in cpd.parents)
        if isinstance(cpd, LinearGaussian):
            continue
        if isinstance(cpd, ConditionalGaussian):
            size += _regressions_text(cpd, format)
            n_cells += cpd.n_parameters
            continue
        n_rows, n_levels = cpd.table.shape
        lines = n_rows * n_levels if format == "CSV" else n_rows
        labels = (_label(parent.levels, format) for parent in cpd.parents)
        size += lines * (a.row + sum(a.parent + a.character * label for label in labels))
        numbers = 1 + (cpd.counts is not None) + 4 * (cpd.intervals is not None)
        size += numbers * cpd.table.size * a.cell
        n_cells += cpd.table.size
    _require(size, texts, f"writing {format} of tables of {n_cells} cells")


def _regressions_text(cpd: ConditionalGaussian, format: str) -> int:
    """The room of one regression per configuration, with what it keeps of its rows in JSON."""
    a = _TABLES[format]
    n_rows, n_terms = len(cpd.regressions), len(cpd.number_parents) + 2
    lines = n_rows * n_terms if format == "CSV" else n_rows
    labels = (_label(parent.levels, format) for parent in cpd.label_parents)
    size = lines * (a.row + sum(a.parent + a.character * label for label in labels))
    numbers = n_terms * (1 + 4 * cpd.has_intervals)
    if format == "JSON" and any(line.rows is not None for line in cpd.regressions):
        numbers += _KEPT_NUMBERS + 2 * n_terms * n_terms
    return size + n_rows * numbers * a.cell


def require_factor_text(potentials: Iterable[Potential | Slope], format: str) -> None:
    """Refuse to write the terms of an undirected model, or of a field, whose text would not fit."""
    a = _TABLES[format]
    size = n_cells = 0
    texts: list[str] = []
    for potential in potentials:
        texts += potential.names
        # Names and brackets of pairs, beside the numbers.
        beside = (potential.errors is not None) + (potential.counts is not None)
        numbers = 1 + beside + 4 * (potential.intervals is not None)
        size += a.row + sum(4 * len(name) + 60 for name in potential.names)
        size += numbers * potential.table.size * a.cell
        n_cells += potential.table.size
    _require(size, texts, f"writing {format} of factors of {n_cells} cells")


def _label(levels: Sequence[str] | None, format: str) -> int:
    """The length of a level on average, or of the longest, to which text is padded."""
    lengths = list(map(len, levels or ("",)))
    return max(lengths) if format == "text" else -(-sum(lengths) // len(lengths))


def _require(size: int, texts: Iterable[str], what: str) -> None:
    narrow = all(text.isascii() or max(text) <= "\xff" for text in texts)
    size = size if narrow else _WIDE * size
    if size > FEW_BYTES:
        require_memory(size, None, what)

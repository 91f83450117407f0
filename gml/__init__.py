"""gml learns graphical models from tabular data.

>>> import gml
>>> data = gml.read("sample_data/asia.csv")
>>> tree = gml.chow_liu(gml.MemoryCounter(data)).graph
>>> tree.n_edges
7

Names are loaded when they are first used, so that importing gml costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gml.counts.counter import Counter, Counts, TableSet
    from gml.counts.memory import MemoryCounter
    from gml.data.dataset import Dataset, Variable
    from gml.data.reading import read
    from gml.formats.graphs import read_graph, write_graph
    from gml.graph.graph import Graph, Mark
    from gml.independence.implied import implied_independences
    from gml.independence.multiplicity import adjust
    from gml.independence.registry import TESTS
    from gml.learn.chowliu import chow_liu

__version__ = "0.1.0"

_HOMES = {
    "Counter": "gml.counts.counter",
    "Counts": "gml.counts.counter",
    "Dataset": "gml.data.dataset",
    "Graph": "gml.graph.graph",
    "Mark": "gml.graph.graph",
    "MemoryCounter": "gml.counts.memory",
    "TESTS": "gml.independence.registry",
    "TableSet": "gml.counts.counter",
    "Variable": "gml.data.dataset",
    "adjust": "gml.independence.multiplicity",
    "chow_liu": "gml.learn.chowliu",
    "implied_independences": "gml.independence.implied",
    "read": "gml.data.reading",
    "read_graph": "gml.formats.graphs",
    "write_graph": "gml.formats.graphs",
}

__all__ = [
    "TESTS",
    "Counter",
    "Counts",
    "Dataset",
    "Graph",
    "Mark",
    "MemoryCounter",
    "TableSet",
    "Variable",
    "adjust",
    "chow_liu",
    "implied_independences",
    "read",
    "read_graph",
    "write_graph",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'gml' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]

"""Methods of data, graphs and models that their own modules cannot have: files, frames, pictures.

What reads and writes files stands above the objects that it is about, so the methods are given to
these when they are first used through `gml`.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Unpack

from gml.calls import public

if TYPE_CHECKING:
    import os

    import pandas as pd
    import pydot

    from gml.data.dataset import Dataset
    from gml.data.options import ReadingKeywords
    from gml.graph.graph import Graph
    from gml.model.bayesnet import BayesNet
    from gml.model.conditional.field import ConditionalField
    from gml.model.markovnet import MarkovNet
    from gml.model.sequences.chain_field import ChainField


def give_methods() -> None:
    """Let data, graphs and models be made of what their own modules know nothing of."""
    datasets, graphs = map(sys.modules.get, ("gml.data.dataset", "gml.graph.graph"))
    if datasets is not None and not hasattr(datasets.Dataset, "from_frame"):
        datasets.Dataset.from_frame = staticmethod(_from_frame)
    if graphs is not None and not hasattr(graphs.Graph, "to_pydot"):
        graphs.Graph.to_pydot = _to_pydot
        graphs.Graph.from_pydot = staticmethod(_from_pydot)
    for home, name, from_file in (
        ("bayesnet", "BayesNet", _bayes_net_from_file),
        ("markovnet", "MarkovNet", _markov_net_from_file),
        ("conditional.field", "ConditionalField", _conditional_field_from_file),
        ("sequences.chain_field", "ChainField", _chain_field_from_file),
    ):
        # A module that is still being loaded has no class yet.
        kind: Any = getattr(sys.modules.get(f"gml.model.{home}"), name, None)
        if kind is not None and not hasattr(kind, "to_file"):
            kind.to_file = _to_file
            kind.from_file = staticmethod(from_file)
    from gml.pictures.notebook.views import give_views

    give_views()


@public
def _from_frame(frame: pd.DataFrame, **reading: Unpack[ReadingKeywords]) -> Dataset:
    """Code a pandas DataFrame, as if it were written to a CSV file and read from there.

    Keyword arguments are those of `gml.read`. A missing cell is an error unless `missing` says
    otherwise. Categories are declared levels.

    Examples
    --------
    >>> import gml, pandas as pd
    >>> frame = pd.DataFrame({"A": ["x", None, "y"], "B": [0.5, 1.5, 2.5]})
    >>> data = gml.Dataset.from_frame(frame, missing="drop", numeric="B")
    >>> data.variables[0].levels, data.columns[1]
    (('x', 'y'), array([0.5, 2.5]))
    """
    from gml.data.frames import read_frame
    from gml.data.options import reading_options

    return read_frame(frame, reading_options(**reading))


@public
def _to_pydot(self: Graph) -> pydot.Dot:
    """Return a pydot graph, for Graphviz."""
    from gml.formats.pydot_graph import to_pydot

    return to_pydot(self)


@public
def _from_pydot(graph: pydot.Dot) -> Graph:
    """Make a graph from a pydot graph."""
    from gml.formats.pydot_graph import from_pydot

    return from_pydot(graph)


@public
def _bayes_net_from_file(path: str | os.PathLike[str]) -> BayesNet:
    """Read the file of a model with arrows; its content tells the format."""
    from gml.formats.models import read_directed_model

    return read_directed_model(path)


@public
def _markov_net_from_file(path: str | os.PathLike[str]) -> MarkovNet:
    """Read the file of an undirected model; its content tells the format."""
    from gml.formats.models import read_undirected_model

    return read_undirected_model(path)


@public
def _conditional_field_from_file(path: str | os.PathLike[str]) -> ConditionalField:
    """Read the file of a conditional random field."""
    from gml.formats.models import read_conditional_model

    return read_conditional_model(path)


@public
def _chain_field_from_file(path: str | os.PathLike[str]) -> ChainField:
    """Read the file of a conditional random field of sequences."""
    from gml.formats.models import read_chain_model

    return read_chain_model(path)


@public
def _to_file(
    self: BayesNet | MarkovNet | ConditionalField | ChainField,
    path: str | os.PathLike[str],
    format: str | None = None,
) -> None:
    """Write a model file; the suffix picks the format."""
    from gml.formats.models import write_model

    write_model(self, path, format)

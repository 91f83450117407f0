"""Graph files of all formats: written by name, read by content."""

from __future__ import annotations

import os
from collections.abc import Callable

from gml.atomic import write_whole
from gml.calls import public
from gml.data.text_file import read_text
from gml.errors import GraphError, UsageError, kind_of, place, require_one_of, require_path
from gml.formats.dot import dump_dot, load_dot
from gml.formats.graphml import dump_graphml, load_graphml
from gml.formats.json_crf import crf_of, is_crf
from gml.formats.json_graph import dump_json, graph_of, parse_graph_json
from gml.formats.json_undirected import has_factors, undirected_of
from gml.formats.recognition import MODEL_FORMATS, recognise
from gml.formats.suffixes import GRAPH_SUFFIXES, format_of
from gml.formats.text_graph import dump_text
from gml.graph.graph import Graph

WRITERS: dict[str, Callable[..., str]] = {
    "dot": dump_dot,
    "json": dump_json,
    "graphml": dump_graphml,
    "text": dump_text,
}
"""From a graph to text; that of JSON takes `inputs` too."""


@public
def write_graph(graph: Graph, path: str | os.PathLike[str], *, format: str | None = None) -> None:
    """Write a graph file, whole or not at all; the suffix picks the format.

    Parameters
    ----------
    graph
        The graph; of a learner's result, its `graph` or `dag`.
    path
        The file.
    format
        The format, if the suffix does not say it.

    Examples
    --------
    >>> import gml, tempfile
    >>> tree = gml.chow_liu("sample_data/asia.csv").graph
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_graph(tree, f"{folder}/tree.json")
    ...     read_graph(f"{folder}/tree.json") == tree
    True
    """
    if not isinstance(graph, Graph):
        raise _not_a_graph(graph, path)
    require_path(path)
    chosen = format or format_of(path, GRAPH_SUFFIXES)
    require_one_of("format", chosen, WRITERS)
    write_whole(path, WRITERS[chosen](graph).encode("utf-8"))


def _not_a_graph(given: object, path: object) -> UsageError:
    swapped = isinstance(path, Graph)
    hint = "the graph comes first, then the path" if swapped else "results have `graph` and `dag`"
    return UsageError(f"a Graph is needed, not {kind_of(given)}; {hint}")


@public
def read_graph(path: str | os.PathLike[str]) -> Graph:
    """Read a graph from a DOT, JSON, GraphML or model file, or standard input for `-`.

    The content decides the format and the compression, not the file's name.

    Parameters
    ----------
    path
        The file; of a model, the graph is taken.

    Examples
    --------
    >>> read_graph("sample_data/cancer.dot").names
    ('Pollution', 'Smoker', 'Cancer', 'Xray', 'Dyspnoea')
    """
    require_path(path)
    return parse_graph(read_text(path, error=GraphError), place(path))


def parse_graph(text: str, where: str) -> Graph:
    """Read a graph from text whose format is recognised by how it begins.

    For a model, the graph and the levels are kept.
    """
    found = recognise(text, where)
    if found in MODEL_FORMATS:
        from gml.formats.models import parse_model

        return parse_model(text, where).graph
    if found == "json":
        content = parse_graph_json(text, where)
        if is_crf(content):
            return crf_of(content, where).graph
        if not has_factors(content):
            return graph_of(content, where)
        return undirected_of(content, where).graph
    return (load_dot if found == "dot" else load_graphml)(text, where)

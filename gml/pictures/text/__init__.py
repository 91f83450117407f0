"""Graphs in characters for a terminal: a tree where there is one, boxes and lines otherwise."""

from __future__ import annotations

from gml.graph.graph import Graph
from gml.pictures.text.boxes import draw_boxes
from gml.pictures.text.characters import characters_for
from gml.pictures.text.names import names_within
from gml.pictures.text.tree import draw_tree, is_tree
from gml.printable_text import cell_width

MOST_BOXES = 20
"""Graphs with more nodes are drawn as a tree, the other edges named beside it."""


def draw_text(graph: Graph, *, width: int | None = None, encoding: str | None = None) -> str:
    r"""Draw a graph in box characters.

    A forest in which no node has two arrows into it becomes a tree, as `tree` prints folders; any
    other graph of up to 20 nodes becomes boxes in layers, joined by lines with the marks of their
    edges. Lines that cross do not meet; a line that forks leads from the node above to each one
    below. Larger graphs become a tree too, with the edges that are not in it named behind the lower
    of their nodes. Nodes are placed by their names, whatever their order in the graph.

    Parameters
    ----------
    graph
        The graph.
    width
        How many cells wide a picture should be: long names are shortened if that helps.
    encoding
        What the text will be encoded in: if it has no box characters, ASCII takes their place.

    Examples
    --------
    >>> print(draw_text(Graph.from_edges("ABC", [("A", "-->", "B"), ("A", "-->", "C")])), end="")
    A
    ├──▶ B
    └──▶ C
    >>> print(draw_text(Graph.from_edges("ABC", [("A", "-->", "C"), ("B", "-->", "C")])), end="")
    ┌───┐   ┌───┐
    │ A │   │ B │
    └─┬─┘   └─┬─┘
      └──┐ ┌──┘
         ▼ ▼
        ┌───┐
        │ C │
        └───┘
    """
    characters = characters_for(encoding)
    in_boxes = len(graph.names) <= MOST_BOXES and not is_tree(graph)
    if not graph.names:
        return "no nodes\n"
    lines: list[str] = []
    for names in names_within(graph.names, width, encoding):
        if in_boxes:
            lines = draw_boxes(graph, names, characters)
        else:
            lines = draw_tree(graph, names, characters, width)
        if width is None or max(map(cell_width, lines)) <= width:
            break
    return "".join(line + "\n" for line in lines)

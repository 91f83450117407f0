"""Graphs as boxes in layers, joined by lines with the marks of their edges.

Between two layers each line takes one row for its turns; lines that do not meet share rows, and
those that do stand in the order in which they cross least.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gml.graph.edges import Mark
from gml.graph.graph import Graph
from gml.pictures.text.canvas import Canvas
from gml.pictures.text.characters import DOWN, UP, Characters
from gml.pictures.text.columns import Box, place_in_columns
from gml.pictures.text.layers import Layers, Strand, components, layers_of, neighbours_of
from gml.printable_text import cell_width

_ROWS_OF_BOX = 3
_LONE_WIDTH = 80


@dataclass(frozen=True)
class Wire:
    """The columns of a strand: where it starts, and where it ends at each item below."""

    strand: Strand
    start: int
    ends: dict[int, int]

    @property
    def left(self) -> int:
        """The first column of its turns."""
        return min(self.start, *self.ends.values())

    @property
    def right(self) -> int:
        """The last column."""
        return max(self.start, *self.ends.values())

    @property
    def turns(self) -> bool:
        """Whether it does not just go straight down."""
        return self.left < self.right

    def crossings_above(self, other: Wire) -> int:
        """How often it crosses another wire if its row is above the other's."""
        return (self.left < other.start < self.right) + sum(
            other.left < column < other.right for column in self.ends.values()
        )


def draw_boxes(graph: Graph, names: Sequence[str], characters: Characters) -> list[str]:
    """Return the lines of a picture, the connected parts below one another, lone nodes last."""
    around = neighbours_of(graph)
    lines: list[str] = []
    alone = []
    for component in components(graph, around):
        if len(component) == 1:
            alone.append(component[0])
            continue
        layers = layers_of(graph, around, component)
        lines += _draw_layers(layers, names, characters)
    for row in _rows_of_lone(alone, names):
        canvas, left = Canvas(), 0
        for node in row:
            width = cell_width(names[node]) + 4
            canvas.box(left, 0, width, names[node])
            left += width + 2
        lines += canvas.lines(characters)
    return lines


def _rows_of_lone(alone: Sequence[int], names: Sequence[str]) -> list[list[int]]:
    rows: list[list[int]] = []
    room = 0
    for node in alone:
        width = cell_width(names[node]) + 6
        if not rows or room < width:
            rows.append([])
            room = _LONE_WIDTH
        rows[-1].append(node)
        room -= width
    return rows


def _draw_layers(layers: Layers, names: Sequence[str], characters: Characters) -> list[str]:
    boxes = place_in_columns(layers, names)
    canvas = Canvas()
    top = 0
    for level, items in enumerate(layers.ranks):
        for item in items:
            box = boxes[item]
            if item < len(names):
                canvas.box(box.left, top, box.width, names[item])
            else:
                canvas.down(box.left, top - 1, top + _ROWS_OF_BOX)
        top += _ROWS_OF_BOX
        if level < len(layers.strands):
            wires = _wires(layers.strands[level], boxes)
            top = _draw_wires(canvas, wires, top, len(names), characters)
    return canvas.lines(characters)


def _wires(strands: Sequence[Strand], boxes: dict[int, Box]) -> list[Wire]:
    return [
        Wire(
            strand,
            boxes[strand.upper].leaving[k],
            {item: boxes[item].entering[k] for item in strand.lower},
        )
        for k, strand in enumerate(strands)
    ]


def _draw_wires(
    canvas: Canvas, wires: Sequence[Wire], top: int, n_nodes: int, characters: Characters
) -> int:
    """Draw what is between two layers; return the row of the lower one."""
    rows = _rows(wires)
    marked_above = any(
        wire.strand.upper < n_nodes and wire.strand.net.mark != Mark.TAIL for wire in wires
    )
    marked_below = any(
        item < n_nodes and wire.strand.net.lower[item] != Mark.TAIL
        for wire in wires
        for item in wire.ends
    )
    n_rows = max(rows.values(), default=-1) + 1
    bottom = top + max(marked_above + n_rows + marked_below, 1)
    for k, wire in enumerate(wires):
        turn = top + marked_above + rows.get(k, 0)
        canvas.down(wire.start, top - 1, turn)
        if wire.turns:
            canvas.across(wire.left, wire.right, turn)
        for item, column in wire.ends.items():
            canvas.down(column, turn, bottom)
            if item < n_nodes and wire.strand.net.lower[item] != Mark.TAIL:
                canvas.mark(column, bottom - 1, characters.mark(wire.strand.net.lower[item], DOWN))
                canvas.cut(column, bottom)
        if wire.strand.upper < n_nodes and wire.strand.net.mark != Mark.TAIL:
            canvas.mark(wire.start, top, characters.mark(wire.strand.net.mark, UP))
            canvas.cut(wire.start, top - 1)
    return bottom


def _rows(wires: Sequence[Wire]) -> dict[int, int]:
    """The row of each wire that turns."""
    order: list[int] = []
    turning = [k for k, wire in enumerate(wires) if wire.turns]
    for k in sorted(turning, key=lambda k: (wires[k].left, wires[k].right)):
        costs = [
            sum(wires[other].crossings_above(wires[k]) for other in order[:place])
            + sum(wires[k].crossings_above(wires[other]) for other in order[place:])
            for place in range(len(order) + 1)
        ]
        order.insert(costs.index(min(costs)), k)
    rows: dict[int, int] = {}
    for k in order:
        rows[k] = max(
            (row + 1 for other, row in rows.items() if _meet(wires[k], wires[other])), default=0
        )
    return rows


def _meet(one: Wire, other: Wire) -> bool:
    return one.left <= other.right + 1 and other.left <= one.right + 1

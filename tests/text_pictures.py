"""Read pictures in box characters back, as an eye does: by following the lines."""

from __future__ import annotations

import re

from gml.graph.edges import EDGE_TYPES, Mark, oriented

_UP, _DOWN, _LEFT, _RIGHT = (-1, 0), (1, 0), (0, -1), (0, 1)
_LINES = {
    "│": {_UP, _DOWN},
    "─": {_LEFT, _RIGHT},
    "┌": {_DOWN, _RIGHT},
    "┐": {_DOWN, _LEFT},
    "└": {_UP, _RIGHT},
    "┘": {_UP, _LEFT},
    "├": {_UP, _DOWN, _RIGHT},
    "┤": {_UP, _DOWN, _LEFT},
    "┬": {_DOWN, _LEFT, _RIGHT},
    "┴": {_UP, _LEFT, _RIGHT},
}
_MARKS = {"▲": Mark.ARROW, "▼": Mark.ARROW, "○": Mark.CIRCLE}
_SIDE_MARKS = {"◀": Mark.ARROW, "▶": Mark.ARROW, "○": Mark.CIRCLE, "─": Mark.TAIL}


def edges_of_boxes(text, names):
    """The edges of a picture with boxes as (source, type, target), each followed down its line."""
    grid = {
        (row, column): char
        for row, line in enumerate(text.splitlines())
        for column, char in enumerate(line)
    }
    boxes = {name: _box(text, name) for name in names}
    tops = {
        (top, column): name
        for name, (top, left, right) in boxes.items()
        for column in range(left, right + 1)
    }
    found = []
    for name, (top, left, right) in boxes.items():
        for column in range(left + 1, right):
            start = _start(grid, top + 2, column)
            if start is not None:
                mark, place = start
                found += [
                    oriented(name, mark, other, end) for other, end in _ends(grid, tops, place)
                ]
    return found


def _box(text, name):
    """The row of the upper border, and the columns of the left and the right one."""
    ((row, line),) = [
        (row, line) for row, line in enumerate(text.splitlines()) if f" {name} " in line
    ]
    at = line.index(f" {name} ")
    return row - 1, line.rindex("│", 0, at + 1), line.index("│", at + len(name))


def _start(grid, border, column):
    """The mark of a line that starts below a box, and its first cell; None if there is none."""
    below = grid.get((border + 1, column), " ")
    if grid[border, column] == "┬":
        return Mark.TAIL, (border + 1, column)
    after = grid.get((border + 2, column), " ")
    if below in ("▲", "○") and (_UP in _LINES.get(after, ()) or after in ("▼", "○", "┼")):
        return _MARKS[below], (border + 2, column)
    return None


def _ends(grid, tops, start):
    """Where the line leads that enters a cell from above: names, with the marks there."""
    waiting, found = [(start, _DOWN)], []
    while waiting:
        (row, column), step = waiting.pop()
        char = grid[row, column]
        if (row, column) in tops:
            assert char == "┴"
            found.append((tops[row, column], Mark.TAIL))
        elif char in _MARKS:
            assert step == _DOWN
            found.append((tops[row + 1, column], _MARKS[char]))
        elif char == "┼":
            waiting.append(((row + step[0], column + step[1]), step))
        else:
            back = (-step[0], -step[1])
            assert back in _LINES[char], (char, row, column)
            for y, x in sorted(_LINES[char] - {back}):
                waiting.append(((row + y, column + x), (y, x)))
    return found


def edges_of_tree(text, names):
    """The edges of a tree, those behind the names too."""
    above: list[str] = []
    found = []
    link = "([◀○─])─([▶○─]) "
    for line in text.splitlines():
        shape = re.fullmatch(rf"((?:[│ ] {{4}})*)(?:[├└]{link})?(\S+)(?:  \((.*)\))?", line)
        assert shape, line
        depth = len(shape[1]) // 5 + (shape[2] is not None)
        name = shape[4]
        assert name in names
        if depth:
            found.append(
                oriented(above[depth - 1], _SIDE_MARKS[shape[2]], name, _SIDE_MARKS[shape[3]])
            )
        for near, far, other in re.findall(rf"{link}([^,]+)", shape[5] or ""):
            found.append(oriented(name, _SIDE_MARKS[near], other, _SIDE_MARKS[far]))
        above[depth:] = [name]
    return found


def sorted_edges(graph):
    """The edges of a graph by name; those that read alike both ways from the smaller one."""
    return in_order((e.source, e.type, e.target) for e in graph.edges)


def in_order(edges):
    """Edges sorted, each read in one way."""
    return sorted(
        (min(a, b), type_, max(a, b)) if len({*EDGE_TYPES[type_]}) == 1 else (a, type_, b)
        for a, type_, b in edges
    )

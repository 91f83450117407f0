"""The terms of an undirected model for people, as many of them as are read.

A term of two levels each is ±J, so one number says it: that of the cell where every variable has
its last level. Other terms of one variable take a line, those of several are tables with the levels
of the last variable across, in as many pieces as lines of a readable width need. What the model
excludes is -inf, whatever number the term itself, which does not matter there, has.

Where not all of it fits into so many lines, terms of one variable get up to half of them, the
strongest of the others the rest; all that are shown stay in the order of the model.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from gml.errors import counted
from gml.model.markovnet import MarkovNet
from gml.model.undirected.boundary.impossible import Walls
from gml.model.undirected.potential import Potential
from gml.printable_text import cell_width, plain_count, visible
from gml.text_table import aligned

WIDTH = 100
INDENT = "  "
MOST_LINES = 60


def terms_in_words(net: MarkovNet, walls: Walls) -> Iterator[list[str]]:
    """Yield the terms in blocks of lines, and last how many were left out."""
    terms = [potential for potential in net.potentials if not potential.is_boundary]
    chosen = _chosen(terms, walls)
    shown = [chosen[k] for k in range(len(terms)) if k in chosen]
    yield _numbers([term for term in shown if _is_one_number(term)])
    long = [term for term in shown if not _is_one_number(term)]
    yield _lines([term for term in long if _is_line(term)])
    for term in long:
        if not _is_line(term):
            yield _table(term)
    left = len(terms) - len(shown)
    yield [f"and {counted(left, 'more term')}: the model as JSON has all"] if left else []


def _chosen(terms: Sequence[Potential], walls: Walls) -> dict[int, Potential]:
    """The terms to show, by their place, with -inf where the model excludes a cell."""
    single = [k for k, term in enumerate(terms) if len(term.scope) < 2]
    joint = [k for k, term in enumerate(terms) if len(term.scope) >= 2]
    strength = {k: terms[k].strength for k in joint}
    joint.sort(key=lambda k: (-strength[k], k))
    half = _fitting(terms, single, walls, MOST_LINES // 2)
    used = sum(_height(term) for term in half.values())
    reserved = used if len(half) == len(single) else MOST_LINES // 2
    found = _fitting(terms, joint, walls, MOST_LINES - reserved)
    used = sum(_height(term) for term in found.values())
    return found | _fitting(terms, single, walls, MOST_LINES - used)


def _fitting(
    terms: Sequence[Potential], places: Iterable[int], walls: Walls, room: int
) -> dict[int, Potential]:
    found = {}
    for k in places:
        if room <= 0:
            break
        if math.prod(terms[k].table.shape[:-1]) > room:
            continue
        term = _excluding(terms[k], walls)
        height = _height(term)
        if height <= room:
            found[k] = term
            room -= height
    return found


def _excluding(term: Potential, walls: Walls) -> Potential:
    """Return a term with -inf where the model excludes a cell, without errors that nobody knows."""
    if term.errors is not None and np.isnan(term.errors).all():
        term = replace(term, errors=None)
    if term.intervals is not None and np.isnan(term.intervals).all():
        term = replace(term, intervals=None)
    possible = walls.possible(term.scope)
    if possible.all():
        return term
    unknown = np.where(possible, 0.0, np.nan)
    return replace(
        term,
        table=np.where(possible, term.table, -np.inf),
        errors=None if term.errors is None else term.errors + unknown,
        intervals=None if term.intervals is None else term.intervals + unknown[..., None],
    )


def _height(term: Potential) -> int:
    """The lines that a term takes; that of a table with the blank one before it."""
    if _is_one_number(term):
        return 1
    return len(_lines([term])) - 1 if _is_line(term) else 1 + len(_table(term))


def _is_one_number(term: Potential) -> bool:
    return all(size == 2 for size in term.table.shape) and term.is_finite


def _is_line(term: Potential) -> bool:
    return len(term.scope) == 1


def _numbers(terms: Sequence[Potential]) -> list[str]:
    """Terms of two levels each, one per line."""
    if not terms:
        return []
    has_errors = any(term.errors is not None for term in terms)
    has_intervals = any(term.intervals is not None for term in terms)
    header = ["", "", *["error"] * has_errors, *["lower", "upper"] * has_intervals]
    lines = [header] if has_errors or has_intervals else []
    for term in terms:
        last = (-1,) * term.table.ndim
        line = [", ".join(map(visible, term.names)), number(term.table[last])]
        if has_errors:
            line.append("-" if term.errors is None else number(term.errors[last]))
        if has_intervals:
            bounds = term.intervals
            line += ["-", "-"] if bounds is None else map(number, bounds[last])
        lines.append(line)
    title = "terms of two levels each, at the last levels"
    return [title, *aligned(lines, right=range(1, len(header)), indent=INDENT)]


def _lines(terms: Sequence[Potential]) -> list[str]:
    """Terms of one variable: the number of each level behind it.

    The levels of all stand in columns, unless that is too wide.
    """
    if not terms:
        return []
    title, names = "terms of one variable", [visible(term.names[0]) for term in terms]
    cells = [[name, *_levels(term)] for name, term in zip(names, terms, strict=True)]
    table = aligned(cells, indent=INDENT)
    if max(map(cell_width, table)) <= WIDTH:
        return [title, *table]
    room = max(WIDTH - len(INDENT) - max(map(cell_width, names)) - 2, WIDTH // 2)
    lines = []
    for label, *levels in cells:
        first, *others = _filled(levels, room)
        lines += [[label, first], *(["", line] for line in others)]
    return [title, *aligned(lines, indent=INDENT)]


def _levels(term: Potential) -> Iterator[str]:
    """A level, its number, and what is known about that."""
    for k, level in enumerate(term.scope[0].levels or ()):
        said = f"{visible(level)}: {number(term.table[k])}"
        if term.errors is not None:
            said += f" ± {number(term.errors[k])}"
        if term.intervals is not None:
            said += f" ({'..'.join(map(number, term.intervals[k]))})"
        yield said


def _filled(parts: Iterable[str], room: int) -> Iterator[str]:
    line = ""
    for part in parts:
        if line and cell_width(line) + 2 + cell_width(part) > room:
            yield line
            line = ""
        line += f"{'  ' if line else ''}{part}"
    yield line


def _table(term: Potential) -> list[str]:
    """A term below its names; errors and intervals stand below its numbers."""
    if not term.scope:
        return ["constant term", f"{INDENT}{number(float(term.table))}"]
    title = f"term {', '.join(map(visible, term.names))} (across)"
    *rows, across = term.scope
    levels = [visible(level) for level in across.levels or ()]
    labels = [
        [visible(level) for level in found] for found in product(*(v.levels or () for v in rows))
    ]
    shown = list(_cells(term, len(labels)))
    lines = [title]
    names = [visible(variable.name) for variable in rows]
    for part in _pieces([names, *labels], levels, shown):
        head = [*names, *levels[part]]
        body = [
            [*(label if first else [""] * len(label)), *cells[part]]
            for label, group in zip(labels, shown, strict=True)
            for first, cells in zip([True, False, False], group, strict=False)
        ]
        right = range(len(rows), len(head))
        lines += aligned([head, *body], right=right, indent=INDENT)
    return lines


def _cells(term: Potential, n_rows: int) -> Iterator[list[list[str]]]:
    """The lines of each row of a table: its numbers, their errors, their intervals."""
    table = term.table.reshape(n_rows, -1)
    errors = None if term.errors is None else term.errors.reshape(table.shape)
    bounds = None if term.intervals is None else term.intervals.reshape(*table.shape, 2)
    for row in range(n_rows):
        lines = [list(map(number, table[row]))]
        if errors is not None:
            lines.append([f"± {number(error)}" for error in errors[row]])
        if bounds is not None:
            lines.append([f"{number(low)}..{number(high)}" for low, high in bounds[row]])
        yield lines


def _pieces(
    labels: Sequence[Sequence[str]], levels: Sequence[str], shown: Sequence[list[list[str]]]
) -> Iterator[slice]:
    """Which levels stand side by side, so that no line is too wide; at least one of them."""
    left = sum(2 + max(map(cell_width, column)) for column in zip(*labels, strict=True))
    widths = [
        2 + max(cell_width(level), *(cell_width(line[k]) for group in shown for line in group))
        for k, level in enumerate(levels)
    ]
    start, used = 0, left
    for k, width in enumerate(widths):
        if k > start and used + width > WIDTH:
            yield slice(start, k)
            start, used = k, left
        used += width
    yield slice(start, len(widths))


def cell_in_words(cell: Mapping[str, str]) -> str:
    """Return levels by name on one line."""
    return ", ".join(f"{visible(name)}={visible(level)}" for name, level in cell.items())


def row_count(rows: float) -> str:
    """Return a number of rows; where rows count fractions, with 6 significant digits.

    Examples
    --------
    >>> row_count(12345678), row_count(814.5092596577182), row_count(12345678.9)
    ('12,345,678', '814.509', '12,345,679')
    """
    return plain_count(rows, grouped=True)


def number(value: float) -> str:
    """Return a number with 6 significant digits; what is not known is a dash."""
    return "-" if math.isnan(value) else f"{value:.6g}"

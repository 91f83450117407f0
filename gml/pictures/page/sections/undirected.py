"""What only undirected models have: how they were fitted, the couplings of edges, the factors."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import product

from gml.errors import counted
from gml.formats.reports.undirected import fit_in_words, impossible_cells
from gml.model.markovnet import COUPLING, MarkovNet
from gml.model.undirected.potential import Potential
from gml.pictures.page.html import NOTHING, Heading, figure, folded, items, paragraph, table
from gml.pictures.page.sections.section import Section
from gml.pictures.plots.axes import with_minus
from gml.pictures.plots.couplings import coupling_map
from gml.pictures.svg import Markup, label
from gml.pictures.themes import DARK, LIGHT

# More nodes make cells that nobody can read, more rows tables that nobody does.
_MOST_NODES = 60
_MOST_EDGES = 200
_MOST_TABLES = 100
_MOST_ROWS = 200
_MOST_LEVELS = 12


def fit_section(net: MarkovNet) -> Section:
    """Return what kind of model it is, how it was fitted, and how well."""
    terms = [potential for potential in net.potentials if not potential.is_boundary]
    largest = max((len(potential.scope) for potential in terms), default=0)
    said = (
        f"ln p(x) is the sum of {counted(len(terms), 'term')} over at most "
        f"{counted(largest, 'variable')} each, less ln Z. "
    )
    said += (
        "Terms are those of exp(Σ θ x), with x 0 at the first level of a variable and 1 at the "
        "second."
        if net.coding == "01"
        else "Each term adds up to 0 over every one of its variables."
    )
    if net.summary is None:
        unknown = paragraph("The file of the model does not say how it was fitted.", class_="note")
        cells = impossible_cells(net)[:_MOST_ROWS]
        excluded = [paragraph("Impossible cells:"), items(cells)] if cells else []
        return Section("fit", "Fit", (paragraph(said), unknown, *excluded))
    name, rows = "", []
    for title, lines in fit_in_words(net.summary):
        name = title or name
        rows += [[label(name), label(line)] for line in lines]
    headings = [Heading("figure"), Heading("value")]
    return Section(
        "fit",
        "Fit",
        (paragraph(said), table("How the model was fitted, and how well", headings, rows)),
    )


def couplings_section(net: MarkovNet) -> Section:
    """Return how strongly each edge ties its ends, the strongest first, with a heat map."""
    title = "Couplings"
    found = [
        (*sorted([edge.source, edge.target]), edge.attributes[COUPLING]) for edge in net.graph.edges
    ]
    edges = sorted(found, key=lambda edge: (-abs(edge[2]), *edge[:2]))
    if not edges:
        return Section("couplings", title, (paragraph("The model has no edges."),))
    about = (
        "Between two levels each, a coupling is the term at the second levels of both: above 0, "
        "they occur together more often than apart, all else being equal. Of more levels, or where "
        "larger terms join both nodes, it is the root mean square of what ties them, without a "
        "sign."
    )
    has_bounds = any(potential.intervals is not None for potential in net.potentials)
    rows = [
        [
            label(f"{x} — {y}"),
            label(_number(coupling)),
            *(_bounds(net, x, y) if has_bounds else ()),
        ]
        for x, y, coupling in edges[:_MOST_EDGES]
    ]
    headings = [Heading("edge"), Heading("coupling", is_number=True)]
    if has_bounds:
        headings += [Heading("lower", is_number=True), Heading("upper", is_number=True)]
    left = len(edges) - len(rows)
    parts = [
        paragraph(about),
        *_maps(net),
        table("Edges by their coupling", headings, rows),
        paragraph(f"and {left} weaker ones: gml convert MODEL FILE.txt") if left else NOTHING,
    ]
    return Section("couplings", title, tuple(parts))


def _bounds(net: MarkovNet, x: str, y: str) -> list[Markup]:
    """The interval of a coupling that is one number of the model."""
    terms = [p for p in net.potentials if {x, y} <= {*p.names} and not p.is_boundary]
    bounds = terms[0].intervals if len(terms) == 1 else None
    if bounds is None or terms[0].table.shape != (2, 2):
        return [label("–"), label("–")]
    return [label(_number(float(bound))) for bound in bounds[1, 1]]


def _maps(net: MarkovNet) -> list[Markup]:
    if not 2 < len(net.names) <= _MOST_NODES:
        return []
    return [
        figure(coupling_map(net.graph, theme=theme), theme=theme.name) for theme in (LIGHT, DARK)
    ]


def factors_section(net: MarkovNet) -> Section:
    """Return the terms: one number for those of two levels each, tables of the others."""
    terms = [potential for potential in net.potentials if not potential.is_boundary]
    short = [term for term in terms if _is_one_number(term)]
    large = [term for term in terms if not _is_one_number(term)]
    about = "The terms of the model, logarithms of factors of p(x)."
    if short:
        about += (
            " A term of two levels each is told by its number where every variable has its second "
            "level."
        )
    left = max(len(short) - _MOST_ROWS, 0) + max(len(large) - _MOST_TABLES, 0)
    parts = [
        paragraph(about),
        _numbers(short[:_MOST_ROWS]),
        *(_folded(term) for term in large[:_MOST_TABLES]),
        paragraph(f"{counted(left, 'more term')}: gml convert MODEL FILE.json")
        if left
        else NOTHING,
    ]
    return Section("factors", "Factors", tuple(parts))


def _is_one_number(term: Potential) -> bool:
    return bool(term.scope) and set(term.table.shape) == {2} and term.is_finite


def _numbers(terms: Sequence[Potential]) -> Markup:
    if not terms:
        return NOTHING
    has_errors = any(term.errors is not None for term in terms)
    rows = []
    for term in terms:
        last = (1,) * term.table.ndim
        row = [label(", ".join(term.names)), label(_number(float(term.table[last])))]
        if has_errors:
            row.append(label("–" if term.errors is None else _number(float(term.errors[last]))))
        rows.append(row)
    headings = [Heading("term"), Heading("value", is_number=True)]
    headings += [Heading("standard error", is_number=True)] * has_errors
    return table("Terms of two levels each", headings, rows)


def _folded(term: Potential) -> Markup:
    """A term as a table: a row per configuration of all but the last variable, a column per level.

    Where they are known, standard errors stand beside the values.
    """
    name = ", ".join(term.names)
    if not term.scope:
        return paragraph(f"A constant: {_number(float(term.table))}")
    *before, across = term.scope
    levels = (across.levels or ())[:_MOST_LEVELS]
    headings = [Heading(variable.name) for variable in before]
    headings += [Heading(f"{across.name}={level}", is_number=True) for level in levels]
    rows = list(_rows(term, len(levels)))
    n_rows = math.prod(term.table.shape[:-1])
    left = n_rows * term.table.shape[-1] - len(rows) * len(levels)
    more = paragraph(f"and {counted(left, 'more cell')}") if left else NOTHING
    return folded(f"Term of {name}", Markup(f"{table(f'Term of {name}', headings, rows)}{more}"))


def _rows(term: Potential, n_levels: int) -> Iterator[list[Markup]]:
    before = term.scope[:-1]
    cells = term.table.reshape(-1, term.table.shape[-1])
    errors = None if term.errors is None else term.errors.reshape(cells.shape)
    configurations = product(*(variable.levels or () for variable in before))
    for k, found in zip(range(min(len(cells), _MOST_ROWS)), configurations, strict=False):
        shown = [_number(float(value)) for value in cells[k, :n_levels]]
        if errors is not None:
            shown = [
                f"{text} ± {_number(float(error))}"
                for text, error in zip(shown, errors[k, :n_levels], strict=True)
            ]
        yield [label(text) for text in (*found, *shown)]


def _number(value: float) -> str:
    if math.isnan(value):
        return "–"
    return with_minus("∞" if value == math.inf else "-∞" if value == -math.inf else f"{value:.5g}")

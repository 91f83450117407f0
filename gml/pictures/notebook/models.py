"""Models in notebooks: the graph with the distribution of each node, and labelled tables."""

from __future__ import annotations

from typing import Any

from gml.errors import CannotAnswer, counted
from gml.formats.reports.rows import shown
from gml.model.model import AskedModel
from gml.model.network import CPT, Cpd, Network
from gml.model.regressions import ConditionalGaussian, LinearGaussian
from gml.pictures.graph_picture import GraphScene
from gml.pictures.node_distributions import Distributions, marginals_of
from gml.pictures.notebook.graphs import picture_of
from gml.pictures.notebook.tables import MOST_ROWS, block, folded, paragraph, strong, table

# More bars than these make a picture that scrolls for long, and tables that take long to add up.
_MOST_NODES_WITH_BARS = 60
_BYTES_FOR_BARS = 1 << 26
_MOST_LEVELS = 12


def model_html(net: Network) -> str:
    """Return the picture of a model, with bars if it is not huge, and a table of its nodes."""
    graph = net.graph
    sort = "mixed" if net.is_mixed else "numeric" if net.is_gaussian else "discrete"
    title = (
        f"Model: {counted(len(net.names), f'{sort} node')}, {counted(graph.n_edges, 'edge')}, "
        f"{counted(net.n_parameters, 'parameter')}"
    )
    rows = [_about(cpd) for cpd in net.cpds]
    return block(
        paragraph(title),
        picture_of(GraphScene(graph, title, distributions=prior_distributions(net))),
        folded("nodes", table(rows, headers=["node"])),
    )


def prior_distributions(net: AskedModel) -> Distributions:
    """Return what each node is like when nothing is known; nothing of a model that is too large."""
    if len(net.names) > _MOST_NODES_WITH_BARS:
        return {}
    try:
        return marginals_of(net, net.names, _BYTES_FOR_BARS)
    except CannotAnswer:
        return {}


def _about(cpd: Cpd) -> dict[str, Any]:
    return {
        "node": cpd.variable.name,
        "parents": [parent.name for parent in cpd.parents],
        "levels": list(cpd.variable.levels or ()),
        "parameters": cpd.n_parameters,
    }


def cpt_html(cpt: CPT) -> str:
    """Return the table of a node: a row per configuration of the parents, a column per level.

    The levels of the parents are row headers; where counts are known, the last column has the rows
    behind each row of the table.
    """
    levels = (cpt.variable.levels or ())[:_MOST_LEVELS]
    parents = [parent.name for parent in cpt.parents]
    titles = [*parents, *levels, "rows"]
    keys = _different(titles)
    rows: list[dict[str, Any]] = []
    for k, configuration in enumerate(cpt.configurations()[:MOST_ROWS]):
        shares = [float(share) for share in cpt.table[k, : len(levels)]]
        seen = None if cpt.counts is None else cpt.counts[k].sum().item()
        rows.append(dict(zip(keys, [*configuration, *shares, seen], strict=True)))
    content = [
        strong(f"P({cpt.variable.name}{' | ' if parents else ''}{', '.join(parents)})"),
        table(
            rows,
            n_rows=len(cpt.table),
            headers=keys[: len(parents)],
            tinted=keys[len(parents) : -1],
            titles=dict(zip(keys, titles, strict=True)),
        ),
    ]
    if cpt.n_levels > len(levels):
        content.append(paragraph(f"and {counted(cpt.n_levels - len(levels), 'more level')}"))
    if cpt.intervals is not None:
        content.append(folded("intervals", table(_bounds(cpt), headers=["level", "given"])))
    return block(*content)


def _different(names: list[str]) -> list[str]:
    """Keys of columns: a level may have the name of a parent, or of another column."""
    found: list[str] = []
    for name in names:
        while name in found:
            name += " "
        found.append(name)
    return found


def _bounds(cpt: CPT) -> list[dict[str, Any]]:
    assert cpt.intervals is not None
    names = [parent.name for parent in cpt.parents]
    return [
        {
            "given": [f"{name}={level}" for name, level in zip(names, configuration, strict=True)],
            "level": level,
            "probability": float(cpt.table[row, k]),
            "lower": float(cpt.intervals[row, k, 0]),
            "upper": float(cpt.intervals[row, k, 1]),
        }
        for row, configuration in enumerate(cpt.configurations())
        for k, level in enumerate(cpt.variable.levels or ())
    ]


def regression_html(cpd: LinearGaussian) -> str:
    """Return the terms of a regression."""
    terms = ["(intercept)", *(parent.name for parent in cpd.parents), "(sd)"]
    estimates = [cpd.intercept, *cpd.coefficients, cpd.sd]
    rows: list[dict[str, Any]] = [
        {"term": term, "estimate": estimate}
        for term, estimate in zip(terms, estimates, strict=True)
    ]
    for row, (lower, upper) in zip(rows, cpd.intervals or (), strict=False):
        row |= {"lower": lower, "upper": upper}
    given = ", ".join(parent.name for parent in cpd.parents)
    title = f"{cpd.variable.name}{' given ' if given else ''}{given}"
    known = "" if cpd.n is None else f", from {shown(cpd.n)} rows"
    return block(strong(title + known), table(rows, headers=["term"]))


def regressions_html(cpd: ConditionalGaussian) -> str:
    """Return the terms of the regressions of a node: a row per configuration of its labels.

    Where it is known how many rows are behind each, the last column says so.
    """
    labels = [parent.name for parent in cpd.label_parents]
    terms = ["(intercept)", *(parent.name for parent in cpd.number_parents), "(sd)"]
    titles = [*labels, *terms, *["rows"] * (cpd.n is not None)]
    keys = _different(titles)
    rows: list[dict[str, Any]] = []
    bounds: list[dict[str, Any]] = []
    for levels, line in list(zip(cpd.configurations(), cpd.regressions, strict=True))[:MOST_ROWS]:
        estimates = [line.intercept, *line.coefficients, line.sd]
        behind = [line.n or 0] * (cpd.n is not None)
        rows.append(dict(zip(keys, [*levels, *estimates, *behind], strict=True)))
        given = [f"{name}={level}" for name, level in zip(labels, levels, strict=True)]
        for term, estimate, (lower, upper) in zip(
            terms, estimates, line.intervals or (), strict=False
        ):
            said = {"given": given, "term": term, "estimate": estimate}
            bounds.append(said | {"lower": lower, "upper": upper})
    given_all = ", ".join(parent.name for parent in cpd.parents)
    content = [
        strong(f"{cpd.variable.name} given {given_all}"),
        table(
            rows,
            n_rows=len(cpd.regressions),
            headers=keys[: len(labels)],
            titles=dict(zip(keys, titles, strict=True)),
        ),
    ]
    if bounds:
        content.append(folded("intervals", table(bounds, headers=["given", "term"])))
    return block(*content)

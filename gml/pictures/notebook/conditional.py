"""Conditional random fields in notebooks: the graph, the fit, and the strongest features."""

from __future__ import annotations

from collections.abc import Mapping

from gml.errors import counted
from gml.formats.reports import chain
from gml.formats.reports.crf import figure_rows, fit_in_words, scale_rows, strongest_features
from gml.model.conditional.field import ConditionalField
from gml.model.conditional.numeric_inputs import Scale
from gml.model.markovnet import COUPLING
from gml.model.sequences.chain_field import ChainField
from gml.pictures.graph_picture import GraphScene
from gml.pictures.notebook.graphs import picture_of
from gml.pictures.notebook.tables import MOST_ROWS, block, folded, paragraph, table
from gml.pictures.svg import Markup


def field_html(net: ConditionalField) -> str:
    """Return the picture of a field, how it was fitted and predicts, and its strongest features."""
    title = (
        f"Conditional random field: {counted(len(net.targets), 'target')} given "
        f"{counted(len(net.inputs), 'input')}, {counted(net.n_parameters, 'weight')}"
    )
    content = [paragraph(title), picture_of(GraphScene(net.graph, title, weight=COUPLING))]
    if net.summary is not None:
        fit = [{"figure": name, "value": said} for name, said in fit_in_words(net.summary)]
        content.append(folded("fit", table(fit, headers=["figure"])))
        (_, *titles), *rows = figure_rows(net.summary)
        figures = [
            {"figure": label, **dict(zip(titles, cells, strict=True))} for label, *cells in rows
        ]
        content.append(folded("predictions", table(figures, headers=["figure"])))
    found = strongest_features(net)
    features = [
        {"feature": ", ".join(cells), "weight": weight} for cells, weight in found[:MOST_ROWS]
    ]
    content.append(folded("features", table(features, n_rows=len(found), headers=["feature"])))
    content += _scales(net.scales)
    return block(*content)


def _scales(scales: Mapping[str, Scale]) -> list[Markup]:
    rows = [dict(zip(("input", "mean", "sd"), row, strict=True)) for row in scale_rows(scales)]
    return [folded("numeric inputs", table(rows, headers=["input"]))] if rows else []


def chain_html(net: ChainField) -> str:
    """Return the same of a field of sequences."""
    title = (
        f"Conditional random field of {net.target.name} along {net.sequence}: "
        f"{counted(len(net.inputs), 'input')}, {counted(len(net.weights), 'feature')}"
    )
    content = [paragraph(title), picture_of(GraphScene(net.graph, title, weight=COUPLING))]
    if net.summary is not None:
        said = chain.training_in_words(net.summary)
        training = [{"figure": name, "value": what} for name, what in said]
        content.append(folded("training", table(training, headers=["figure"])))
        (_, *titles), *rows = chain.figure_rows(net.summary)
        figures = [
            {"figure": label, **dict(zip(titles, cells, strict=True))} for label, *cells in rows
        ]
        content.append(folded("predictions", table(figures, headers=["figure"])))
    features = [
        {"feature": f"{found.first} → {found.label}", "weight": found.strength}
        for found in chain.strongest_features(net, MOST_ROWS)
    ]
    shown = table(features, n_rows=len(net.weights), headers=["feature"])
    content += [folded("features", shown), *_scales(net.scales)]
    return block(*content)

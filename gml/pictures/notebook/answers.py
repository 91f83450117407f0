"""Answers of a model in notebooks: labelled rows with bars, under what is known."""

from __future__ import annotations

from typing import Any

from gml.formats.reports.predictions import AnyMetrics
from gml.formats.reports.raking import summary
from gml.formats.reports.rows import shown
from gml.model.answer import Answer, BestValues, Distribution, Explanation, Joint, Marginals
from gml.model.mixed.answers import MixedExplanation, MixedJoint, MixedMarginals
from gml.model.mixed.mixture import NumberDistribution
from gml.model.prediction_metrics import LevelMetrics
from gml.model.raking.result import Raking, row_of
from gml.model.row_answers import Decoded, DecodedRows, Predictions, RowAnswers
from gml.pictures.notebook.tables import MOST_ROWS, block, paragraph, table
from gml.pictures.svg import Markup


def answer_html(answer: Answer) -> str:
    """Return an answer as a table: what was observed and set, then each value with its bar."""
    return block(*_known(answer), _rows(answer))


def _known(answer: Answer) -> list[Markup]:
    told = ", ".join(f"{name} = {shown(value)}" for name, value in answer.do.items())
    said = [*([f"set: {told}"] if told else []), *answer.heading()]
    return [paragraph("; ".join(said))] if said else []


def _rows(answer: Answer) -> Markup:
    rows = answer.rows()
    if isinstance(answer, Marginals):
        return table(rows, headers=["node", "level"], bar="probability")
    if isinstance(answer, Joint):
        return table(rows, headers=answer.names, bar=next(reversed(rows[0])))
    if isinstance(answer, MixedMarginals):
        return table(rows, headers=["node", "level"])
    if isinstance(answer, MixedJoint):
        return table(rows, headers=[label.name for label in answer.labels])
    value = {Explanation: "level", BestValues: "value", MixedExplanation: "value"}.get(type(answer))
    return table(rows, headers=["node"] if value is None else ["node", value])


def distribution_html(distribution: Distribution) -> str:
    """Return the probability of each level."""
    rows = [{"level": level, "probability": p} for level, p in distribution.items()]
    name = distribution.variable.name
    return block(paragraph(f"P({name})"), table(rows, headers=["level"], bar="probability"))


def number_html(number: NumberDistribution) -> str:
    """Return the moments of a number, and the components of its mixture."""
    said = paragraph(f"{number.name}: mean {shown(number.mean)}, sd {shown(number.sd)}")
    if number.weight is None:
        return block(said, paragraph(number.reason))
    rows = number.rows()
    return block(said, table(rows, headers=number.labels, bar=list(rows[0])[-3]))


def table_html(
    found: Answer | Distribution | NumberDistribution | RowAnswers | AnyMetrics | Raking,
) -> str:
    """Return an answer of any kind, the figures of predictions, or what raking found."""
    if isinstance(found, Answer):
        return answer_html(found)
    if isinstance(found, Raking):
        return raking_html(found)
    if isinstance(found, Distribution):
        return distribution_html(found)
    if isinstance(found, NumberDistribution):
        return number_html(found)
    return row_answers_html(found) if isinstance(found, RowAnswers) else metrics_html(found)


def row_answers_html(answers: RowAnswers) -> str:
    """Return the answers about the first rows, and how good predictions are if that is known."""
    columns = answers.columns()
    few = [column[:MOST_ROWS].tolist() for column in columns.values()]
    rows = [dict(zip(columns, cells, strict=True)) for cells in zip(*few, strict=True)]
    content = [table(rows, n_rows=len(answers))]
    if isinstance(answers, Predictions | Decoded | DecodedRows) and answers.metrics is not None:
        content.append(_figures(answers.metrics))
    return block(*content)


def metrics_html(metrics: AnyMetrics) -> str:
    """Return the figures of predictions, and the confusion table where levels are predicted."""
    content = [_figures(metrics)]
    if isinstance(metrics, LevelMetrics):
        content.append(_confusion(metrics))
    return block(*content)


def raking_html(raking: Raking) -> str:
    """Return what raking found, and each target before and after."""
    rows = [row_of(cell) for cell in raking.cells]
    return block(paragraph(summary(raking)), table(rows, headers=["margin", "level"]))


def _figures(metrics: AnyMetrics) -> Markup:
    said = [f"{name.replace('_', ' ')} {shown(value)}" for name, value in metrics.figures().items()]
    return paragraph(f"{metrics.target}, {metrics.rows} rows: {', '.join(said)}")


def _confusion(metrics: LevelMetrics) -> Markup:
    columns = [f"predicted {level}" for level in metrics.levels]
    rows: list[dict[str, Any]] = [
        {"true": level, **dict(zip(columns, counts, strict=True))}
        for level, counts in zip(
            metrics.levels[:MOST_ROWS], metrics.confusion[:MOST_ROWS].tolist(), strict=True
        )
    ]
    return table(rows, n_rows=len(metrics.levels), headers=["true"])

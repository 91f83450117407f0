"""The report of how good predictions are: figures, and the confusion table of a node of levels."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from gml.errors import counted, parameter, with_flags
from gml.formats.content_hash import NO_INPUTS, Hashes
from gml.formats.cpt_table import unlike
from gml.formats.json_document import SCHEMA, document_text, encode
from gml.formats.reports.rows import Row, as_csv, as_markdown, as_text
from gml.model.decoded_metrics import DecodedMetrics
from gml.model.prediction_metrics import LevelMetrics, Metrics
from gml.model.sequences.chain_metrics import ChainMetrics
from gml.printable_text import visible

_NAMES = {
    "accuracy": "accuracy",
    "majority": "always the most frequent level",
    "log_loss": "log loss",
    "brier": "Brier score",
    "mean_absolute_error": "mean absolute error",
    "root_mean_squared_error": "root mean squared error",
    "coverage": "share within the intervals",
    "hamming_loss": "Hamming loss",
    "whole_sequences": "whole sequences right",
}
AnyMetrics = Metrics | DecodedMetrics | ChainMetrics


def as_object(metrics: AnyMetrics) -> dict[str, Any]:
    """Return the JSON object; what is not finite is null."""
    left_out = metrics.not_counted
    which: dict[str, Any] = (
        {"targets": list(metrics.targets)}
        if isinstance(metrics, DecodedMetrics)
        else {"target": metrics.target}
    )
    found: dict[str, Any] = {
        **which,
        "rows": metrics.rows,
        **{name: value if math.isfinite(value) else None for name, value in _figures(metrics)},
        "not_counted": {
            "missing": left_out.missing,
            "unknown": left_out.unknown,
            "impossible": left_out.impossible,
        },
    }
    if isinstance(metrics, LevelMetrics):
        found["levels"] = list(metrics.levels)
        found["confusion"] = metrics.confusion.tolist()
    if isinstance(metrics, ChainMetrics):
        found["sequences"] = metrics.n_sequences
    if isinstance(metrics, DecodedMetrics):
        found["accuracy_by_target"] = {
            row["target"]: row["accuracy"] if metrics.rows else None for row in metrics.by_target()
        }
    return found


def _figures(metrics: AnyMetrics) -> list[tuple[str, float]]:
    return list(metrics.figures().items())


def summary(metrics: AnyMetrics) -> str:
    """One line for people."""
    figures = ", ".join(f"{_NAMES[name]} {value:.6g}" for name, value in _figures(metrics))
    if not metrics.rows:
        figures = "nothing to judge"
    said = [f"{visible(metrics.target)}: {counted(metrics.rows, 'row')}, {figures}"]
    if isinstance(metrics, LevelMetrics) and math.isinf(metrics.log_loss):
        how = f"{parameter('method', 'bayes')}, or an undirected one with {parameter('smoothing')},"
        said.append(f"a true level had probability 0, which a model fitted with {how} avoids")
    return "; ".join([*said, *metrics.not_counted.sentences()])


def _table(metrics: AnyMetrics) -> list[Row]:
    """The confusion table, a row for each true level; or figures, node by node."""
    if isinstance(metrics, DecodedMetrics):
        return metrics.by_target()
    if not isinstance(metrics, LevelMetrics):
        return [{"target": metrics.target, "rows": metrics.rows, **metrics.figures()}]
    true = unlike("true", metrics.levels)
    return [
        {true: level, **dict(zip(metrics.levels, row, strict=True))}
        for level, row in zip(metrics.levels, metrics.confusion.tolist(), strict=True)
    ]


def _as_json(metrics: AnyMetrics, *, inputs: Hashes = NO_INPUTS) -> str:
    return document_text({"schema": SCHEMA, **as_object(metrics)}, inputs)


def _as_csv(metrics: AnyMetrics, *, safe_csv: bool = False) -> str:
    return as_csv(_table(metrics), safe_csv=safe_csv)


FORMATS: dict[str, Callable[..., str]] = {
    "text": lambda metrics: f"{with_flags(summary(metrics))}\n{as_text(_table(metrics))}",
    "json": _as_json,
    "jsonl": lambda metrics: encode(as_object(metrics)) + "\n",
    "csv": _as_csv,
    "markdown": lambda metrics: f"{with_flags(summary(metrics))}\n\n{as_markdown(_table(metrics))}",
}
"""From metrics to text; that of JSON takes `inputs` too, and that of CSV `safe_csv`."""

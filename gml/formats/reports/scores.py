"""The report of `gml score`: graphs with their scores, and optionally their nodes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from gml.formats.content_hash import NO_INPUTS, Hashes
from gml.formats.json_document import SCHEMA, document_text, encode
from gml.formats.reports import predictions
from gml.formats.reports.rows import as_csv, as_markdown, as_text
from gml.model.prediction_metrics import Metrics
from gml.scores.ranking import ScoredGraph


def as_object(scored: ScoredGraph) -> dict[str, Any]:
    """Return the JSON object of a graph."""
    found: dict[str, Any] = {
        "graph": scored.graph,
        "scores": _finite(scored.scores),
        "dim": _whole(scored.dim),
    }
    if scored.approximations:
        found["approximations"] = dict(scored.approximations)
    if scored.em is not None:
        found["em"] = dict(scored.em)
    if scored.differences:
        found["differences"] = _finite(scored.differences)
    if scored.log10_bayes_factors:
        found["log10_bayes_factors"] = _finite(scored.log10_bayes_factors)
    if scored.heldout is not None:
        found |= _finite({"heldout": scored.heldout})
    if scored.prediction is not None:
        found["prediction"] = predictions.as_object(cast("Metrics", scored.prediction))
    if scored.is_baseline:
        found["baseline"] = True
    if scored.nodes is not None:
        found["nodes"] = {node: _finite(values) for node, values in scored.nodes.items()}
    if scored.explained is not None:
        found["explain"] = {
            node: _finite({"entropy": entropy, "information": information})
            for node, (entropy, information) in scored.explained.items()
        }
    return found


def _finite(values: Mapping[str, float]) -> dict[str, float | None]:
    """The values, null for a graph or family that a score excludes."""
    return {name: value if math.isfinite(value) else None for name, value in values.items()}


def _whole(number: float) -> int | float:
    return int(number) if number < 2**53 else number


def rows_of_graphs(graphs: Sequence[ScoredGraph], n: float) -> list[dict[str, Any]]:
    """One row per graph, or one per node and one for the graph as a whole."""
    rows: list[dict[str, Any]] = []
    for scored in graphs:
        row: dict[str, Any] = {"graph": scored.graph}
        if scored.nodes is not None:
            rows += _node_rows(scored, n)
            row |= {"node": None, "parents": None}
        for name, value in scored.scores.items():
            row[name] = value
            if len(graphs) > 1 and scored.nodes is None:
                row[f"{name}_diff"] = scored.differences[name]
                if name in scored.log10_bayes_factors:
                    row[f"{name}_log10_bf"] = scored.log10_bayes_factors[name]
        if scored.explained is not None:
            entropy = sum(entropy for entropy, _ in scored.explained.values())
            information = sum(information for _, information in scored.explained.values())
            row |= {"H(x)": entropy, "I(x;pa)": information, "n(I-H)": n * (information - entropy)}
        row["dim"] = _whole(scored.dim)
        if any(other.heldout is not None for other in graphs):
            row["heldout"] = scored.heldout
        if scored.prediction is not None:
            row |= scored.prediction.figures()
        if any(other.is_baseline for other in graphs):
            row["baseline"] = "yes" if scored.is_baseline else None
        rows.append(row)
    return [{key: other.get(key) for key in rows[-1]} for other in rows]


def _node_rows(scored: ScoredGraph, n: float) -> list[dict[str, Any]]:
    rows = []
    for node, parents in scored.parents.items():
        row: dict[str, Any] = {"graph": scored.graph, "node": node, "parents": parents}
        row |= (scored.nodes or {})[node]
        if scored.explained is not None:
            entropy, information = scored.explained[node]
            row |= {"H(x)": entropy, "I(x;pa)": information, "n(I-H)": n * (information - entropy)}
        row["dim"] = _whole(scored.dims[node])
        rows.append(row)
    return rows


def _as_json(graphs: Sequence[ScoredGraph], n: float, *, inputs: Hashes = NO_INPUTS) -> str:
    found = [as_object(scored) for scored in graphs]
    return document_text({"schema": SCHEMA, "n": n, "graphs": found}, inputs)


def _as_jsonl(graphs: Sequence[ScoredGraph], n: float) -> str:
    return "".join(encode({"n": n, **as_object(scored)}) + "\n" for scored in graphs)


def _as_csv(graphs: Sequence[ScoredGraph], n: float, *, safe_csv: bool = False) -> str:
    return as_csv(rows_of_graphs(graphs, n), safe_csv=safe_csv)


def _approximations(graphs: Sequence[ScoredGraph]) -> str:
    """Say below a table which of its scores are not exact."""
    said = {score: by for scored in graphs for score, by in scored.approximations.items()}
    return "".join(f"{score}: approximate, by {by}\n" for score, by in said.items())


FORMATS: dict[str, Callable[..., str]] = {
    "text": lambda graphs, n: as_text(rows_of_graphs(graphs, n)) + _approximations(graphs),
    "json": _as_json,
    "jsonl": _as_jsonl,
    "csv": _as_csv,
    "markdown": lambda graphs, n: as_markdown(rows_of_graphs(graphs, n)),
}
"""From scored graphs to text; that of JSON takes `inputs` too, and that of CSV `safe_csv`."""

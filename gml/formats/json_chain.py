"""Model JSON of a chain field: graph JSON of kind "crf", whose "field" is chain, with "chain".

"chain" has the column that tells sequences apart, the window, and the features by name
(`gml.formats.chain_payload`): for each input and each row of the window the levels, for each
level the labels with their weights (numeric inputs have a mean and sd); those of the bias, of the
first and the last row of a sequence, and of one label after another. Only features that training
saw are there. "graph" has the "fit" and "learning" as other models do; nodes and edges are for
others to read.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gml.errors import DataError, GraphError
from gml.formats.chain_payload import field_of, payload_of
from gml.formats.checked_objects import checked
from gml.formats.content_hash import NO_INPUTS, Hashes
from gml.formats.foreign_nodes import NUMERIC
from gml.formats.json_crf_fit import read_fit
from gml.formats.json_document import SCHEMA
from gml.formats.json_graph import edge_objects, graph_of, node_link_text
from gml.formats.text_room import require_graph_text
from gml.model.sequences.chain_field import ChainField
from gml.model.sequences.chain_metrics import ChainMetrics
from gml.model.sequences.summary import ChainSummary
from gml.resources import require_memory

# A feature is a label, a number and punctuation, and is held as text and as objects.
_FEATURE_BYTES = 400

_NUMBER = (int, float)
_FIGURES: dict[str, tuple[type, ...]] = dict.fromkeys(
    ("rows", "right", "sequences", "whole", "missing", "unknown"), (int,)
)
_SHARES: dict[str, tuple[type, ...]] = dict.fromkeys(
    ("accuracy", "hamming_loss", "whole_sequences", "log_loss"), _NUMBER
)


def dump_json_chain(net: ChainField, *, inputs: Hashes = NO_INPUTS) -> str:
    """Return the text of a model file."""
    require_memory(_FEATURE_BYTES * len(net.weights), None, "writing the features as JSON")
    require_graph_text(net.graph, "JSON")
    about: dict[str, Any] = {"schema": SCHEMA, "kind": "crf", "field": "chain"}
    if net.summary is not None:
        about["fit"] = net.summary.written()
    if net.learning:
        about["learning"] = net.learning.written()
    nodes: list[dict[str, Any]] = [
        {"id": net.target.name, "role": "target", "levels": list(net.labels)},
        *(
            {"id": name, "role": "input"} | ({"type": NUMERIC} if name in net.scales else {})
            for name in net.inputs
        ),
    ]
    more = {"chain": payload_of(net)}
    return node_link_text(about, nodes, edge_objects(net.graph), inputs, more)


def chain_of(content: dict[str, Any], where: str) -> ChainField:
    """Return the chain field in the content of a file."""
    plain = {**content, "graph": {**content["graph"], "kind": "undirected"}}
    graph = graph_of(plain, where)
    if "chain" not in content:
        raise GraphError(f'{where}: "chain" is missing')
    try:
        net = field_of(content["chain"], where)
    except DataError as error:
        raise GraphError(str(error)) from None
    try:
        summary = _fit_of(content["graph"].get("fit"), net.target.name)
    except GraphError as error:
        raise GraphError(f"{where}: {error}") from None
    if {*graph.names} != {net.target.name, *net.inputs}:
        raise GraphError(f'{where}: the "nodes" are not the target and the inputs of the "chain"')
    return replace(net, summary=summary, learning=graph.learning)


def _fit_of(given: Any, target: str) -> ChainSummary | None:
    if given is None:
        return None
    return read_fit(given, ChainSummary, lambda figures, what: _metrics(figures, target, what))


def _metrics(given: Any, target: str, what: str) -> ChainMetrics:
    found = checked(given, _FIGURES, what, _SHARES)
    return ChainMetrics(
        target,
        found["rows"],
        found["right"],
        found["sequences"],
        found["whole"],
        float(found.get("log_loss", float("nan"))),
        found["missing"],
        found["unknown"],
    )

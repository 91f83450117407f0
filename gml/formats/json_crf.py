"""Model JSON of a conditional random field: graph JSON of kind "crf" with "features" (gml/1).

    "features": [{"scope": ["lung", "smoke"], "weights": [0.4, -0.4, -0.4, 0.4]}]

Nodes have levels and a "role", target or input. Weights are one flat list per feature, the last
variable of the scope fastest, and one-hot: one for every cell, as they were penalised. A scope is a
target, a target and an input, or two targets. An input of numbers has no levels, but

    {"id": "age", "role": "input", "type": "numeric", "scale": {"mean": 40.5, "sd": 12.0}}

and a weight for each level of the target, which (x − mean) / sd multiplies. "graph" says which
"field" it is (table), the "fit", and "learning" and "training" as other models do. Edges carry
their "coupling" in the sum-to-zero gauge, which is for others to read: gml computes it from the
weights. Fields of sequences, whose "field" is chain, are in json_chain.py.

Files that others write need only nodes with levels and roles, and features; a target without one
of its own has weights of 0 there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from gml.data.dataset import Variable
from gml.errors import DataError, GraphError, listing, quote
from gml.formats.checked_objects import scale_of
from gml.formats.content_hash import NO_INPUTS, Hashes
from gml.formats.foreign_nodes import NUMERIC
from gml.formats.json_chain import chain_of, dump_json_chain
from gml.formats.json_crf_fit import fit_of
from gml.formats.json_document import SCHEMA
from gml.formats.json_graph import edge_objects, graph_of, kind_in, node_link_text
from gml.formats.json_scopes import scope_in, variables_of
from gml.formats.json_training import kept_of, training_of
from gml.formats.text_room import require_factor_text, require_graph_text
from gml.graph.graph import Graph
from gml.model.conditional.field import ConditionalField
from gml.model.conditional.numeric_inputs import Scale, Slope, feature_over
from gml.model.conditional.terms import FieldTerms
from gml.model.sequences.chain_field import ChainField
from gml.model.undirected.potential import Potential

KIND = "crf"
_ROLES = ("target", "input")
_KEYS = ("scope", "weights")
_FIELDS = ("table", "chain")

# ---------------------------------------------------------------------- writing


def dump_json_crf(net: ConditionalField, *, inputs: Hashes = NO_INPUTS) -> str:
    """Return the text of a model file, one line per node, edge and feature."""
    require_factor_text(net.features, "JSON")
    require_graph_text(net.graph, "JSON")
    about: dict[str, Any] = {"schema": SCHEMA, "kind": KIND, "field": "table"}
    if net.summary is not None:
        about["fit"] = net.summary.written()
    about |= kept_of(net)
    numbers = {} if net.training is None else net.training.numbers
    nodes = [
        {"id": v.name, "role": role}
        | _about_values(v, net.scales)
        | ({"numbers": numbers[v.name].written()} if v.name in numbers else {})
        for role, variables in zip(_ROLES, (net.targets, net.inputs), strict=True)
        for v in variables
    ]
    features = [
        {"scope": list(potential.names), "weights": potential.table.reshape(-1).tolist()}
        for potential in net.features
    ]
    return node_link_text(about, nodes, edge_objects(net.graph), inputs, {"features": features})


def _about_values(variable: Variable, scales: Mapping[str, Scale]) -> dict[str, Any]:
    if variable.levels is None:
        return {"type": NUMERIC, "scale": scales[variable.name]._asdict()}
    return {"levels": list(variable.levels)}


# ---------------------------------------------------------------------- reading


def is_crf(content: dict[str, Any]) -> bool:
    """Whether the JSON of a graph is that of a conditional random field."""
    return bool(kind_in(content) == KIND)


def crf_of(content: dict[str, Any], where: str) -> ConditionalField | ChainField:
    """Return the conditional random field in the content of a file: of a table, or of sequences."""
    sort = content["graph"].get("field", "table")
    if sort not in _FIELDS:
        shown = quote(sort) if isinstance(sort, str) else repr(sort)
        raise GraphError(f'{where}: the "field" must be {" or ".join(_FIELDS)}, not {shown}')
    return (_table_of if sort == "table" else chain_of)(content, where)


def dump_json_field(net: ConditionalField | ChainField, *, inputs: Hashes = NO_INPUTS) -> str:
    """Return the text of the file of a conditional random field of either kind."""
    if isinstance(net, ChainField):
        return dump_json_chain(net, inputs=inputs)
    return dump_json_crf(net, inputs=inputs)


def _table_of(content: dict[str, Any], where: str) -> ConditionalField:
    # A field is no kind of graph: without what makes it one, its graph is undirected.
    plain = {**content, "graph": {**content["graph"], "kind": "undirected"}}
    graph = graph_of(plain, where)
    try:
        return _field(content, graph)
    except (GraphError, DataError) as error:
        raise GraphError(f"{where}: {error}") from None


def _field(content: dict[str, Any], graph: Graph) -> ConditionalField:
    about = content["graph"]
    nodes = {str(node["id"]): node for node in content["nodes"]}
    variables: dict[str, Variable] = {}
    scales: dict[str, Scale] = {}
    for name in graph.names:
        if nodes[name].get("role") not in _ROLES:
            raise GraphError(f'the "role" of node {quote(name)} must be target or input')
        if name in graph.numeric and nodes[name]["role"] == "input":
            scales[name] = scale_of(nodes[name].get("scale"), f'the "scale" of {quote(name)}')
        elif not graph.levels.get(name):
            raise GraphError(f'node {quote(name)} has no "levels"')
        variables[name] = Variable(name, graph.levels.get(name))
    given = content.get("features")
    if not isinstance(given, list):
        raise GraphError('"features" is missing, or not a list')
    features = [_feature(one, k, variables) for k, one in enumerate(given)]
    targets = [variables[name] for name in graph.names if nodes[name]["role"] == "target"]
    own = {potential.names for potential in features}
    features += [
        Potential((target,), np.zeros(len(target.levels or ())))
        for target in targets
        if (target.name,) not in own
    ]
    net = ConditionalField(
        tuple(targets),
        tuple(variables[name] for name in graph.names if nodes[name]["role"] == "input"),
        tuple(features),
        fit_of(about.get("fit")),
        graph.learning,
        training_of(about.get("training"), nodes, graph.names),
        scales,
    )
    if "edges" in content or "links" in content:
        _require_edges(net, graph)
    return net


def _require_edges(net: ConditionalField, graph: Graph) -> None:
    places = [graph.index(name) for name in net.names]
    if not np.array_equal(net.graph.marks, graph.marks[np.ix_(places, places)]):
        raise GraphError('the "edges" do not agree with the "scope" of the features')


def _feature(given: Any, k: int, variables: Mapping[str, Variable]) -> Potential | Slope:
    where = f"feature {k + 1}"
    names = scope_in(given, where, _KEYS)
    if len(names) not in (1, 2) or len(set(names)) != len(names):
        raise GraphError(
            f'{where}: the "scope" must have one or two different nodes, not {listing(names)}'
        )
    scope = variables_of(names, where, variables)
    shape = tuple(map(FieldTerms.width, scope))
    where += f" ({listing(names)})"
    weights = given.get("weights")
    if not isinstance(weights, list) or len(weights) != math.prod(shape):
        found = f", not {len(weights)}" if isinstance(weights, list) else ""
        raise GraphError(
            f'{where}: "weights" must be a flat list of {math.prod(shape)} numbers{found}'
        )
    for item in weights:
        if isinstance(item, bool) or not isinstance(item, int | float):
            raise GraphError(f'{where}: "weights" has something that is not a number')
    return feature_over(scope, np.array(weights, dtype=np.float64).reshape(shape))

"""Model JSON: graph JSON (schema gml/1) whose nodes have their parents and their distribution.

A node with levels has "cpt", one row per configuration of "parents" with the last one fastest,
and "counts" and "intervals" of the same shape where they are known; where values were missing,
"expected_counts" beside them, and "hidden": true for a node whose values nobody saw. A node of
numbers has
"gaussian": {"intercept", "coefficients", "sd"} and, where known, "n", "intervals" (bounds of the
intercept, of each coefficient and of the standard deviation) and "rows" (`json_regression_rows`);
one with parents that have levels has "regressions" (`json_regressions`).
"numbers" of a node and "training" of the graph say what is kept of the rows behind the model
(`json_training`), "baseline" of the graph what was accepted with it, with the fields of a baseline
file. Parents are in the order of the nodes, so a table whose parents have another order is
transposed. Floats are the shortest that read back as the same number; what is not finite is null.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml.data.dataset import Variable
from gml.errors import DataError, GraphError, quote, unknown_name
from gml.formats.assembly import TableRoom
from gml.formats.baseline import baseline_object, held_baseline
from gml.formats.content_hash import NO_INPUTS, Hashes
from gml.formats.foreign_nodes import NUMBER_KEYS
from gml.formats.json_document import SCHEMA
from gml.formats.json_graph import graph_of, node_link_text
from gml.formats.json_numbers import bounds_array, finite, number_array
from gml.formats.json_regressions import node_order, regression_node, regression_of
from gml.formats.json_training import kept_of, training_of
from gml.formats.text_room import require_graph_text, require_table_text
from gml.model.bayesnet import CPT, BayesNet
from gml.model.network import Cpd

# ---------------------------------------------------------------------- writing


def dump_json_model(net: BayesNet, *, inputs: Hashes = NO_INPUTS) -> str:
    """Return the text of a model file, one line per node and edge."""
    require_table_text(net.cpds, "JSON")
    require_graph_text(net.graph, "JSON")
    about: dict[str, Any] = {"schema": SCHEMA, "kind": "dag"}
    about |= kept_of(net)
    numbers = {} if net.training is None else net.training.numbers
    if net.baseline is not None:
        about["baseline"] = baseline_object(net.baseline)
    position = {name: i for i, name in enumerate(net.names)}
    nodes = [
        _table_node(cpd, position) if isinstance(cpd, CPT) else regression_node(cpd, position)
        for cpd in net.cpds
    ]
    for node in nodes:
        if node["id"] in numbers:
            node["numbers"] = numbers[node["id"]].written()
    edges = [
        {"source": edge.source, "target": edge.target, "type": edge.type}
        for edge in net.graph.edges
    ]
    return node_link_text(about, nodes, edges, inputs)


def _table_node(cpt: CPT, position: Mapping[str, int]) -> dict[str, Any]:
    order = node_order(cpt.parents, position)
    sizes = [len(parent.levels or ()) for parent in cpt.parents]

    def turned(table: NDArray[Any]) -> Any:
        rest = table.shape[1:]
        axes = (*order, *range(len(sizes), len(sizes) + len(rest)))
        return table.reshape(*sizes, *rest).transpose(axes).reshape(table.shape).tolist()

    node = {
        "id": cpt.variable.name,
        "levels": list(cpt.variable.levels or ()),
        "parents": [cpt.parents[i].name for i in order],
        "cpt": turned(cpt.table),
    }
    if cpt.hidden:
        node["hidden"] = True
    if cpt.counts is not None:
        node["counts"] = turned(cpt.counts)
    if cpt.expected_counts is not None:
        node["expected_counts"] = turned(cpt.expected_counts)
    if cpt.intervals is not None:
        node["intervals"] = finite(turned(cpt.intervals))
    return node


# ---------------------------------------------------------------------- reading


def has_tables(content: dict[str, Any]) -> bool:
    """Whether the JSON of a graph says anything about the distribution of its nodes."""
    return any(
        isinstance(node, dict) and ("cpt" in node or not NUMBER_KEYS.isdisjoint(node))
        for node in content["nodes"]
    )


def model_of(content: dict[str, Any], where: str) -> BayesNet:
    """Return the Bayesian network in the content of a file; a graph without tables is refused."""
    graph = graph_of(content, where)
    if not has_tables(content):
        raise GraphError(f"{where}: a graph without tables; learn them with gml fit-params")
    nodes = {str(node["id"]): node for node in content["nodes"]}
    variables = {name: Variable(name, graph.levels.get(name)) for name in graph.names}
    try:
        room = TableRoom(where)
        cpds = tuple(_cpd(name, nodes[name], variables, room) for name in graph.names)
        training = training_of(content.get("graph", {}).get("training"), nodes, graph.names)
        net = BayesNet(cpds, graph.learning, training, held_baseline(content.get("graph", {})))
    except (GraphError, DataError) as error:
        raise GraphError(f"{where}: {error}") from None
    if not np.array_equal(net.graph.marks, graph.marks):
        raise GraphError(f'{where}: the "edges" do not agree with the "parents" of the nodes')
    return net


def _cpd(name: str, node: dict[str, Any], variables: dict[str, Variable], room: TableRoom) -> Cpd:
    given = node.get("parents", [])
    if not isinstance(given, list) or not all(isinstance(parent, str) for parent in given):
        raise GraphError(f"the parents of {quote(name)} are not a list of names")
    for parent in given:
        if parent not in variables:
            raise GraphError(unknown_name("parent", parent, variables))
    parents = tuple(variables[parent] for parent in given)
    if "levels" not in node and "cpt" not in node and not NUMBER_KEYS.isdisjoint(node):
        return regression_of(variables[name], parents, node, room)
    variable = variables[name]
    if "cpt" not in node:
        raise GraphError(f'node {quote(name)} has no table "cpt"')
    without = [v.name for v in (variable, *parents) if not v.levels]
    if without:
        raise GraphError(f'node {quote(without[0])} has no "levels"')
    shape = room.shape(variable, parents)
    counts, expected = node.get("counts"), node.get("expected_counts")
    intervals = node.get("intervals")
    return CPT(
        variable,
        parents,
        number_array(node["cpt"], shape, f"the table of {quote(name)}"),
        None if counts is None else _counts(counts, shape, f"the counts of {quote(name)}"),
        None if intervals is None else bounds_array(intervals, (*shape, 2), name),
        None
        if expected is None
        else _counts(expected, shape, f"the expected counts of {quote(name)}").astype(np.float64),
        node.get("hidden") is True,
    )


def _counts(value: Any, shape: tuple[int, ...], what: str) -> NDArray[Any]:
    array = number_array(value, shape, what)
    if not (np.isfinite(array).all() and (array >= 0).all()):
        raise GraphError(f"{what} have a number that is not a count")
    exact = np.array(value)
    return exact if exact.dtype.kind in "iu" else array

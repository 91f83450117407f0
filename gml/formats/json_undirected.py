"""Model JSON of an undirected model: graph JSON of kind "undirected" (schema gml/1) with "factors".

    "factors": [{"scope": ["A", "B"], "table": [0.5, -0.5, -0.5, 0.5]}]

A table has the logarithms of a term as one flat list, the last variable of the scope fastest; null
is −∞, a cell that is impossible. "errors" (standard errors), "intervals" (a pair of bounds) and
"counts" (the rows behind it) are beside it where they are known, cell by cell, and "boundary": true
says that the term only excludes cells, as a maximum at infinity does, and makes no edge. "graph"
has the "coding" of the terms, the "method" and all of the "fit", and "learning", "training" and
"baseline" as other models do. Edges carry their "coupling", which is for others to read: gml
computes it from the terms.

Files that others write need only nodes with levels, and factors. "edges", if there are any, must
join what the factors do. A "coding" that is not that of the tables is refused, and not written.
Without one the tables may be any logarithms: they are brought into the sum-to-zero gauge, with
their counts.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml.data.dataset import Variable
from gml.errors import DataError, GraphError, listing, quote, unknown_name
from gml.formats.baseline import baseline_object, held_baseline
from gml.formats.content_hash import NO_INPUTS, Hashes
from gml.formats.json_document import SCHEMA
from gml.formats.json_graph import edge_objects, graph_of, kind_in, node_link_text
from gml.formats.json_scopes import scope_in, variables_of
from gml.formats.json_training import kept_of, training_of
from gml.formats.text_room import require_factor_text, require_graph_text
from gml.graph.graph import Graph
from gml.kernel.layout import MOST_AXES
from gml.model.markovnet import MarkovNet
from gml.model.undirected.from_tables import LogTable, markov_of_tables
from gml.model.undirected.gauge import CODINGS, is_in_gauge
from gml.model.undirected.potential import Potential, require_counts_agree
from gml.model.undirected.quality.summary import FitSummary

Table = NDArray[np.float64]

_KEYS = ("scope", "table", "errors", "intervals", "counts", "boundary")

# ---------------------------------------------------------------------- writing


def dump_json_undirected(net: MarkovNet, *, inputs: Hashes = NO_INPUTS) -> str:
    """Return the text of a model file, one line per node, edge and factor."""
    require_factor_text(net.potentials, "JSON")
    require_graph_text(net.graph, "JSON")
    about: dict[str, Any] = {"schema": SCHEMA, "kind": "undirected"}
    if all(is_in_gauge(potential.table, net.coding) for potential in net.potentials):
        about["coding"] = net.coding
    if net.summary is not None:
        about["method"] = net.summary.method
        about["fit"] = {key: _known(value) for key, value in net.summary.written().items()}
    about |= kept_of(net)
    numbers = {} if net.training is None else net.training.numbers
    if net.baseline is not None:
        about["baseline"] = baseline_object(net.baseline)
    nodes = [
        {"id": v.name, "levels": list(v.levels or ())}
        | ({"numbers": numbers[v.name].written()} if v.name in numbers else {})
        for v in net.variables
    ]
    factors = [_factor_object(potential) for potential in net.potentials]
    return node_link_text(about, nodes, edge_objects(net.graph), inputs, {"factors": factors})


def _factor_object(potential: Potential) -> dict[str, Any]:
    found: dict[str, Any] = {"scope": list(potential.names), "table": _flat(potential.table)}
    if potential.errors is not None:
        found["errors"] = _flat(potential.errors)
    if potential.intervals is not None:
        bounds = _flat(potential.intervals)
        found["intervals"] = [list(pair) for pair in zip(bounds[::2], bounds[1::2], strict=True)]
    if potential.counts is not None:
        rows = potential.counts.reshape(-1).tolist()
        found["counts"] = [int(n) if n.is_integer() else n for n in rows]
    if potential.is_boundary:
        found["boundary"] = True
    return found


def _flat(table: Table) -> list[float | None]:
    return [_known(value) for value in table.reshape(-1).tolist()]


def _known(value: Any) -> Any:
    """What is not finite is null."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


# ---------------------------------------------------------------------- reading


def has_factors(content: dict[str, Any]) -> bool:
    """Whether the JSON of a graph is that of an undirected model."""
    return "factors" in content and kind_in(content) == "undirected"


def undirected_of(content: dict[str, Any], where: str) -> MarkovNet:
    """Return the undirected model in the content of a file."""
    graph = graph_of(content, where)
    try:
        return _model(content, graph)
    except (GraphError, DataError) as error:
        raise GraphError(f"{where}: {error}") from None


def _model(content: dict[str, Any], graph: Graph) -> MarkovNet:
    without = [name for name in graph.names if not graph.levels.get(name)]
    if without:
        raise GraphError(f'node {quote(without[0])} has no "levels"')
    variables = {name: Variable(name, graph.levels[name]) for name in graph.names}
    given = content["factors"]
    if not isinstance(given, list):
        raise GraphError('"factors" is not a list')
    potentials = [_potential(one, k, variables) for k, one in enumerate(given)]
    require_counts_agree(potentials)
    about = content.get("graph", {})
    nodes = {str(node["id"]): node for node in content["nodes"]}
    training = training_of(about.get("training"), nodes, graph.names)
    coding = about.get("coding")
    if coding is None:
        terms = [potential for potential in potentials if not potential.is_boundary]
        tables = [LogTable(term.scope, term.table, term.counts) for term in terms]
        net = markov_of_tables(tuple(variables.values()), tables)
        limits = [potential for potential in potentials if potential.is_boundary]
        potentials, coding = [*net.potentials, *limits], net.coding
    if coding not in CODINGS:
        shown = quote(coding) if isinstance(coding, str) else repr(coding)
        raise GraphError(f'the "coding" must be one of {listing(CODINGS)}, not {shown}')
    for k, potential in enumerate(potentials):
        if not is_in_gauge(potential.table, coding):
            raise GraphError(
                f'factor {k + 1} ({listing(potential.names)}): the "table" is not in the coding '
                f'{coding}; without a "coding" any logarithms are read'
            )
    net = MarkovNet(
        tuple(variables.values()),
        tuple(potentials),
        coding,
        _summary(about.get("fit")),
        graph.learning,
        training,
        held_baseline(about),
    )
    if ("edges" in content or "links" in content) and not np.array_equal(
        net.graph.marks, graph.marks
    ):
        raise GraphError('the "edges" do not agree with the "scope" of the factors')
    return net


def _potential(given: Any, k: int, variables: dict[str, Variable]) -> Potential:
    where = f"factor {k + 1}"
    names = scope_in(given, where, _KEYS)
    if not names:
        raise GraphError(f'{where}: the "scope" is empty')
    if len(names) > MOST_AXES:
        raise GraphError(f"{where} is over {len(names)} variables; the limit is {MOST_AXES}")
    scope = variables_of(names, where, variables)
    if len(set(names)) != len(names):
        raise GraphError(f'{where}: the "scope" lists a node twice: {listing(names)}')
    shape = tuple(len(variable.levels or ()) for variable in scope)
    where += f" ({listing(names)})"
    if "table" not in given:
        raise GraphError(f'{where} has no "table"')
    boundary = given.get("boundary", False)
    if not isinstance(boundary, bool):
        raise GraphError(f'{where}: "boundary" is neither true nor false')
    table = _table(given["table"], shape, f'{where}: the "table"', -math.inf)
    if boundary and table[np.isfinite(table)].any():
        raise GraphError(f'{where}: a table with "boundary" has only 0 and null')
    errors, intervals, counts = (given.get(key) for key in ("errors", "intervals", "counts"))
    if intervals is not None:
        intervals = _pairs(intervals, f'{where}: "intervals"')
    return Potential(
        scope,
        table,
        None if errors is None else _table(errors, shape, f'{where}: "errors"', math.nan),
        None
        if intervals is None
        else _table(intervals, (*shape, 2), f'{where}: "intervals"', math.nan),
        boundary,
        None if counts is None else _table(counts, shape, f'{where}: "counts"', math.nan),
    )


def _pairs(value: Any, what: str) -> list[Any]:
    if not isinstance(value, list) or not all(isinstance(p, list) and len(p) == 2 for p in value):
        raise GraphError(f"{what} must be a list of pairs")
    return [bound for pair in value for bound in pair]


def _table(value: Any, shape: tuple[int, ...], what: str, unknown: float) -> Table:
    """Return a flat list as a table; null is what is unknown."""
    cells = math.prod(shape)
    if not isinstance(value, list) or len(value) != cells:
        found = f", not {len(value)}" if isinstance(value, list) else ""
        raise GraphError(f"{what} must be a flat list of {cells} numbers{found}")
    for item in value:
        if isinstance(item, bool) or not isinstance(item, int | float | None):
            raise GraphError(f"{what} has something that is not a number")
    try:
        numbers = [unknown if item is None else float(item) for item in value]
    except OverflowError:
        raise GraphError(f"{what} has a number that is too large") from None
    return np.array(numbers, dtype=np.float64).reshape(shape)


# ---------------------------------------------------------------------- what is said of the fit

_UNKNOWN = type(None)
_MAYBE = (
    *("gap", "log_likelihood", "pseudo_log_likelihood", "aic", "bic", "g2", "x2"),
    *("g2_p_value", "g2_log10_p", "x2_p_value", "x2_log10_p"),
    *("entropy", "log_z", "log_z_error", "log_z_samples"),
)
FIGURES: dict[str, tuple[type, ...]] = {
    "method": (str,),
    "algorithm": (str,),
    "rows": (int, float),
    "dimension": (int,),
    "converged": (bool,),
    "iterations": (int,),
    "df": (int, _UNKNOWN),
    "n_zeros": (int,),
    "n_dropped": (int,),
    **dict.fromkeys(_MAYBE, (float, _UNKNOWN)),
    **dict.fromkeys(("l1", "l2", "smoothing"), (float,)),
    "zeros": (list,),
}
"""What each figure of a fit may be."""


def _summary(given: Any) -> FitSummary | None:
    """Read what a file says of the fit; None if it says nothing."""
    if given is None:
        return None
    if not isinstance(given, dict):
        raise GraphError('the "fit" is not an object')
    for key in given:
        if key not in FIGURES:
            raise GraphError(f'the "fit": {unknown_name("key", key, FIGURES)}')
    for each in dataclasses.fields(FitSummary):
        needed = each.default is each.default_factory is dataclasses.MISSING
        if needed and each.name not in given:
            raise GraphError(f'the "fit" has no "{each.name}"')
    return FitSummary(**{key: _field(key, value) for key, value in given.items()})


def _field(key: str, value: Any) -> Any:
    if key == "zeros":
        return _zeros(value)
    sorts = FIGURES[key]
    if type(value) in sorts:
        return value
    if isinstance(value, int) and not isinstance(value, bool) and float in sorts:
        return float(value)
    shown = " | ".join("null" if sort is _UNKNOWN else sort.__name__ for sort in sorts)
    raise GraphError(f'"{key}" of the "fit" must be {shown}')


def _zeros(value: Any) -> tuple[dict[str, str], ...]:
    if not isinstance(value, list) or not all(
        isinstance(cell, dict) and all(isinstance(level, str) for level in cell.values())
        for cell in value
    ):
        raise GraphError('"zeros" of the "fit" must be a list of levels by node')
    return tuple(value)

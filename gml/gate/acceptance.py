"""Which accepted checks a model can have at all: a name that was mistyped silences nothing.

A run need not ask all that a model can be asked: families and columns may be left out, columns
missing, rows of tables without data. Such checks are accepted as well as any.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import product

from gml.gate.check import (
    COLUMNS,
    DRIFT,
    ERRORS,
    LEVELS,
    MISSING,
    NUMBERS,
    RANGE,
    SD,
    SENTINEL,
    UNIQUE,
)
from gml.gate.check_ids import (
    COPIES_ID,
    FIT_ID,
    REPEATS_ID,
    column_id,
    edge_id,
    independence_id,
    link_id,
    regression_part_id,
    row_id,
    table_id,
    unseen_id,
)
from gml.gate.clique_tables import parts_of
from gml.gate.families import CheckedModel
from gml.independence.implied import each_implied
from gml.model.bayesnet import BayesNet
from gml.model.markovnet import MarkovNet
from gml.model.network import CPT

_OF_COLUMN = (COLUMNS, MISSING, RANGE, SENTINEL, DRIFT, UNIQUE)


def unknown_ids(net: CheckedModel, asked: Collection[str], accepted: Iterable[str]) -> list[str]:
    """The accepted names that are neither asked nor any other check of the model, in order.

    Examples
    --------
    >>> import gml
    >>> net = gml.fit("sample_data/asia.csv", "sample_data/asia.dot")
    >>> unknown_ids(net, [], ["schema:drift:smoke", "structure:smoke->asia", "tables:lung|unseen"])
    ['structure:smoke->asia']
    """
    left = {name for name in accepted if name not in asked}
    left -= {COPIES_ID, FIT_ID, REPEATS_ID}
    numeric = {variable.name for variable in net.variables if variable.is_continuous}
    left -= {
        column_id(kind, node)
        for node in net.names
        for kind in (*_OF_COLUMN, NUMBERS if node in numeric else LEVELS)
    }
    left -= _of_tables(net, left) if isinstance(net, BayesNet) else _of_cliques(net, left)
    if any(name.startswith("structure:") for name in left):
        left -= _of_structure(net)
    return sorted(left)


def _of_structure(net: CheckedModel) -> set[str]:
    name_of = link_id if isinstance(net, MarkovNet) else edge_id
    edges = (name_of(edge.source, edge.target) for edge in net.graph.edges)
    return {independence_id(*implied) for implied in each_implied(net.graph)}.union(edges)


def _of_cliques(net: MarkovNet, wanted: Collection[str]) -> set[str]:
    """The checks of the parts of the cliques' margins; rows only where one may be wanted."""
    found, variables = set(), net.terms.variables
    for part in parts_of(net.terms):
        name, parents = variables[part.child].name, [variables[k] for k in part.parents]
        given = [parent.name for parent in parents]
        found |= {table_id(name, given), unseen_id(name, given)}
        if any(other.startswith(f"{table_id(name)}|") for other in wanted):
            found |= {
                row_id(name, list(zip(given, levels, strict=True)))
                for levels in product(*(parent.levels or () for parent in parents))
            }
    return found


def _of_tables(net: BayesNet, wanted: Collection[str]) -> set[str]:
    """The checks of tables and regressions; rows of tables only where one may be wanted."""
    found = set()
    for cpd in net.cpds:
        name = cpd.variable.name
        found.add(table_id(name))
        if not isinstance(cpd, CPT):
            found |= {regression_part_id(name, kind) for kind in (SD, ERRORS)}
        wanted_rows = any(other.startswith(f"{table_id(name)}|") for other in wanted)
        labels = cpd.parents if isinstance(cpd, CPT) else cpd.label_parents
        if not (wanted_rows and (labels or isinstance(cpd, CPT))):
            continue
        found.add(unseen_id(name))
        parents = [parent.name for parent in labels]
        for levels in cpd.configurations():
            given = list(zip(parents, levels, strict=True))
            found.add(row_id(name, given))
            if not isinstance(cpd, CPT):
                found |= {regression_part_id(name, kind, given) for kind in (SD, ERRORS)}
    return found

"""The same distribution with and without arrows.

An undirected model whose graph is chordal is a Bayesian network on any DAG that orients its edges
without making a collider of nodes that are not joined (Koller & Friedman 2009, section 4.5.3): each
node with its parents is a clique, whose margin gives P(node | parents). A Bayesian network is the
undirected model of its families, whose graph is the moral one; zeros of its tables stay impossible.
The rows behind tables and terms go along where they are known.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml.data.dataset import Variable
from gml.errors import GraphError, counted, quote
from gml.graph.chordal import perfect_sequence
from gml.graph.extension import consistent_extension
from gml.graph.graph import Graph
from gml.graph.open_arrows import compelled_arrows
from gml.model.bayesnet import CPT, BayesNet
from gml.model.clique_marginals import CliqueMarginals
from gml.model.factor import margin_over
from gml.model.inference import Inference
from gml.model.markovnet import MarkovNet
from gml.model.reach import WIDEST, log_span
from gml.model.undirected.directed import conditional
from gml.model.undirected.from_tables import LogTable, log_conditional, markov_of_tables
from gml.model.undirected.potential import Potential, require_counts_agree
from gml.model.undirected.terms import Terms
from gml.progress import reporter

_MOST_NAMED = 3
# Margins below lose digits, and so would their shares: the smallest double of full precision is
# 2e-308.
_FAINT = 1e-290


def directed_model(net: MarkovNet, *, max_memory: int | None = None) -> BayesNet:
    """Return a Bayesian network with the distribution of an undirected model.

    The arrows are those of the first DAG by name. Raises GraphError if the graph has a cycle of
    four or more nodes without a chord: no DAG has the same independences then. Nodes that only
    impossible cells join have an arrow too, with a warning.

    Examples
    --------
    >>> import gml
    >>> net = gml.fit("sample_data/asia.csv", gml.chow_liu("sample_data/asia.csv"))
    >>> again = directed_model(undirected_model(net))
    >>> gml.kl_divergence(net, again).total < 1e-12
    True
    """
    # What is impossible may tie nodes that no term has together.
    scopes = [potential.names for potential in net.potentials]
    graph = Terms.of(net.variables, scopes).graph
    if perfect_sequence(graph) is None:
        raise GraphError(
            "the model is not decomposable: its graph has a cycle of four or more nodes without a "
            "chord, and no DAG says the same"
        )
    _warn_of_ties(net, graph)
    dag = consistent_extension(graph)
    margins = CliqueMarginals(net, max_memory=max_memory)
    support = _support(net, max_memory)
    lost = 0
    cpds = []
    for variable in net.variables:
        names = dag.parents(variable.name)
        parents = tuple(net.variables[net.index(name)] for name in names)
        joint = margins.of([*names, variable.name]).reshape(-1, len(variable.levels or ()))
        # A row that cannot occur says nothing.
        table = conditional(joint)
        if support is not None:
            possible = support.of([*names, variable.name]).reshape(joint.shape) > 0
            faint = (joint.sum(axis=1) < _FAINT) & possible.any(axis=1)
            for row in np.flatnonzero(faint):
                table[row] = _given(margins.inference, parents, int(row), variable)
            lost += int(((table == 0) & possible).sum())
        cpds.append(CPT(variable, parents, table, _rows_behind(net, names, variable.name)))
    if lost:
        reporter().warn(
            f"{counted(lost, 'cell')} of the tables {'is' if lost == 1 else 'are'} possible, but "
            "too improbable for a floating-point number: 0 in the Bayesian network"
        )
    compelled = compelled_arrows(dag)
    return BayesNet(tuple(cpds), net.learning, net.training, compelled=compelled)


def _given(
    inference: Inference, parents: tuple[Variable, ...], row: int, variable: Variable
) -> NDArray[np.float64]:
    """P(variable | parents) for one row of its table, however improbable that row is."""
    at = np.unravel_index(row, [len(parent.levels or ()) for parent in parents])
    evidence = {
        parent.name: (parent.levels or ())[k] for parent, k in zip(parents, at, strict=True)
    }
    # Logarithms of thousands leave some rounding in the sum, too.
    return conditional(inference.joint([variable.name], evidence)[0].reshape(1, -1)).reshape(-1)


def _warn_of_ties(net: MarkovNet, graph: Graph) -> None:
    """Say which nodes only impossible cells join, so that the DAG has an arrow more."""
    more = [
        f"{quote(edge.source)} and {quote(edge.target)}"
        for edge in graph.edges
        if not net.graph.adjacent(edge.source, edge.target)
    ]
    if more:
        shown = ", ".join(more[:_MOST_NAMED]) + (", …" if len(more) > _MOST_NAMED else "")
        reporter().warn(
            f"the DAG has {counted(len(more), 'edge')} more than the model: what is impossible "
            f"joins {shown}, which no term does"
        )


def _support(net: MarkovNet, max_memory: int | None) -> CliqueMarginals | None:
    """What is possible, as a model, where zeros of a margin may be too small numbers instead."""
    if sum(map(log_span, net.factors)) <= WIDEST:
        return None
    flat = [
        Potential(potential.scope, np.where(np.isneginf(potential.table), -np.inf, 0.0))
        for potential in net.potentials
    ]
    return CliqueMarginals(MarkovNet(net.variables, tuple(flat)), max_memory=max_memory)


def _rows_behind(net: MarkovNet, parents: list[str], child: str) -> NDArray[Any] | None:
    """The rows of each cell of a family, if those of a term that contains it are known."""
    family = [*parents, child]
    for potential in net.potentials:
        if potential.counts is not None and set(family) <= set(potential.names):
            axes = [potential.names.index(name) for name in family]
            cells = margin_over(potential.counts, axes)
            rows = cells.reshape(-1, cells.shape[-1])
            return rows.astype(np.int64) if not (rows % 1).any() else rows
    return None


def undirected_model(net: BayesNet) -> MarkovNet:
    """Return the undirected model with the distribution of a Bayesian network of labels.

    Examples
    --------
    >>> import gml
    >>> net = gml.fit("sample_data/asia.csv", "sample_data/asia.dot")
    >>> undirected_model(net)
    MarkovNet(8 nodes, 10 edges: 'asia', 'tub', 'smoke', 'lung', 'bronc', 'either', 'xray', 'dysp')
    """
    if net.is_gaussian or net.is_mixed:
        raise GraphError("an undirected model is over labels, and this one has numbers")
    tables = []
    for cpd, factor in zip(net.cpds, net.factors, strict=True):
        assert isinstance(cpd, CPT)
        counts = None if cpd.counts is None else cpd.counts.reshape(factor.table.shape)
        tables.append(LogTable(factor.scope, log_conditional(factor), counts))
    model = markov_of_tables(net.variables, tables, learning=net.learning, training=net.training)
    try:
        require_counts_agree(model.potentials)
    except GraphError as error:
        reporter().warn(f"the rows behind the tables do not go along: {error}")
        alone = [replace(potential, counts=None) for potential in model.potentials]
        return replace(model, potentials=tuple(alone))
    return model

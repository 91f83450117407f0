"""The same distribution as a network: each variable given those that its elimination joins.

Eliminating a variable leaves a table over it and its neighbours; backwards these are tables of a
network over a chordal graph that contains the model's (Koller & Friedman 2009, section 10.4.2). Row
probabilities and draws of the network are then those of the undirected model.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.data.dataset import Variable
from gml.model.bayesnet import CPT, BayesNet
from gml.model.markovnet import MarkovNet
from gml.model.undirected.exact.clique_margins import CliqueMargins
from gml.model.undirected.terms import Terms


class Directed(NamedTuple):
    """A network with the distribution of an undirected model, and ln Z of that."""

    net: BayesNet
    log_z: float


def directed(net: MarkovNet, *, max_memory: int | None = None) -> Directed:
    """Return a network with the distribution of an undirected model.

    Raises CannotAnswer where the tables of the junction tree exceed the budget.

    Examples
    --------
    >>> from gml.data.dataset import Variable
    >>> from gml.model.undirected.potential import Potential
    >>> a, b = Variable("A", ("n", "y")), Variable("B", ("n", "y"))
    >>> net = MarkovNet((a, b), (Potential((a, b), np.log([[1.0, 3.0], [2.0, 2.0]])),))
    >>> found = directed(net)
    >>> [(cpt.variable.name, cpt.table.round(3).tolist()) for cpt in found.net.cpds]
    [('A', [[0.333, 0.667], [0.6, 0.4]]), ('B', [[0.375, 0.625]])]
    >>> round(float(np.exp(found.log_z)), 9)
    8.0
    """
    terms = Terms.of(net.variables, [potential.names for potential in net.potentials])
    margins = CliqueMargins(terms, terms.generators, max_memory=max_memory)
    log_z = margins.of([*net.log_tables.values()]).log_z
    found = {variable.name: CPT(variable, (), np.ones((1, 1))) for variable in _certain(terms)}
    for step, clique in enumerate(margins.cliques):
        *parents, child = (terms.variables[k] for k in clique)
        table = margins.clique_table(step)
        rows = conditional(table.reshape(-1, table.shape[-1]))
        found[child.name] = CPT(child, tuple(parents), rows)
    return Directed(BayesNet(tuple(found[name] for name in net.names)), log_z)


def _certain(terms: Terms) -> list[Variable]:
    return [variable for variable in terms.variables if len(variable.levels or ()) == 1]


def conditional(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Divide each row by its sum; an impossible one is spread evenly."""
    totals = rows.sum(axis=1, keepdims=True)
    even = np.full(rows.shape, 1 / rows.shape[1])
    shares: NDArray[np.float64] = np.divide(rows, totals, out=even, where=totals > 0)
    return shares

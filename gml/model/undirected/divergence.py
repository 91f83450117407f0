"""KL(P‖Q) where P or Q is undirected: E_P[ln p − ln q], table by table.

ln p and ln q are sums of tables, less ln Z: log-potentials, or the logarithms of P(node | parents).
The expectation of a table under P needs only P's margin of its scope. It is infinite if Q excludes
a cell that P allows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from gml.data.dataset import Variable
from gml.model.clique_marginals import CliqueMarginals
from gml.model.inference import Inference
from gml.model.markovnet import MarkovNet
from gml.model.network import Network
from gml.model.undirected.from_tables import log_conditional
from gml.resources import budget_in_force

Table = NDArray[np.float64]


def undirected_divergence(
    p: Network | MarkovNet, q: Network | MarkovNet, *, max_memory: int | None = None
) -> tuple[float, tuple[str, ...]]:
    """Return KL(P‖Q) in nats, of models over the same nodes and levels, and where it is infinite.

    Examples
    --------
    >>> from gml.model.undirected.potential import Potential
    >>> a = Variable("A", ("n", "y"))
    >>> p, q = (MarkovNet((a,), (Potential((a,), np.log([x, 1.0])),)) for x in (1.0, 3.0))
    >>> found, _ = undirected_divergence(p, q)
    >>> round(found, 12) == round(math.log(2) - math.log(3) / 2, 12)
    True
    """
    budget = budget_in_force(max_memory)
    under_p = CliqueMarginals(p, max_memory=budget)
    levels = {variable.name: variable.levels or () for variable in p.variables}
    parts = [_log_z(q, Inference(q, max_memory=budget)), -_log_z(p, under_p.inference)]
    for sign, net in ((1.0, p), (-1.0, q)):
        for names, table in _log_tables(net).items():
            weights = under_p.of(names)
            held = weights > 0
            cells = _by_levels(table, [_variable(net, name) for name in names], levels)[held]
            if np.isneginf(cells).any():
                return math.inf, names
            parts += (sign * weights[held] * cells).tolist()
    return math.fsum(parts), ()


def _log_z(net: Network | MarkovNet, inference: Inference) -> float:
    return inference.log_z + net.log_scale if isinstance(net, MarkovNet) else 0.0


def _log_tables(net: Network | MarkovNet) -> Mapping[tuple[str, ...], Table]:
    if isinstance(net, MarkovNet):
        return net.log_tables
    return {
        tuple(variable.name for variable in factor.scope): log_conditional(factor)
        for factor in net.factors
    }


def _variable(net: Network | MarkovNet, name: str) -> Variable:
    return net.variables[net.index(name)]


def _by_levels(table: Table, scope: list[Variable], levels: Mapping[str, tuple[str, ...]]) -> Table:
    """A table with the levels of each axis in a given order."""
    for axis, variable in enumerate(scope):
        if variable.levels != levels[variable.name]:
            position = {level: k for k, level in enumerate(variable.levels or ())}
            table = table.take([position[level] for level in levels[variable.name]], axis)
    return table

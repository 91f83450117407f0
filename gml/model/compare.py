"""The Kullback–Leibler divergence of two networks, node by node.

KL(P‖Q) = Σ_x E_P[ln p(x | pa_P) − ln q(x | pa_Q)], in nats: one term per node x, as both
distributions are products over the nodes. The terms need only the distribution under P of x with
its parents in P, and of x with its parents in Q; where the parents differ, a term may be negative,
though the sum never is (except by rounding). Sums are exact (`math.fsum`), the total in the order
of names.

Levels: one elimination of P gives the distribution of every clique (table_elimination.py), which
contain most families; the others are computed one by one. The term is infinite for a node that has
a level under P which Q excludes.

Numbers: with x = μ + A ε under P (gaussian.py), the residual of x in Q's regression has the mean
m = a_P − a_Q + Σ d·μ and the errors r = σ ε_x + Σ d·A, summed over the parents in P or Q, where d
is the difference of their coefficients, a are the intercepts and σ is P's own error of x. With τ
for Q's error, the term is ½((m² + r·r)/τ² − 1) − ln(σ/τ). A node that follows exactly from its
parents in one network has no density to compare: the term is 0 if it does so in both and in the
same way, otherwise infinite.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gml.errors import GraphError, listing, quote
from gml.model.bayesnet import CPT, BayesNet, LinearGaussian
from gml.model.gaussian import ROUNDING, errors_of
from gml.model.inference import Inference
from gml.name_order import NameOrder
from gml.resources import budget_in_force

# Tables held at one time: those of the elimination, their rows as shares, the cliques.
_COPIES = 3

Table = NDArray[np.float64]


@dataclass(frozen=True)
class Divergence:
    """KL(P‖Q) in nats: the term of each node, in the order of P's nodes; it may be infinite."""

    nodes: dict[str, float]

    @property
    def total(self) -> float:
        """The sum over the nodes; a negative sum, which is rounding, is 0."""
        return max(0.0, math.fsum(self.nodes[name] for name in sorted(self.nodes)))


def kl_divergence(p: BayesNet, q: BayesNet, *, max_memory: int | None = None) -> Divergence:
    """Return KL(P‖Q) of networks over the same nodes, exactly.

    The levels of a node may be in a different order. Raises CannotAnswer if the tables do not fit
    into `max_memory` bytes (by default half of what is free).

    Examples
    --------
    >>> import gml
    >>> counter = gml.MemoryCounter(gml.read("sample_data/asia.csv"))
    >>> net = gml.fit(counter, gml.read_graph("sample_data/asia.dot"))
    >>> tree = gml.fit(counter, gml.chow_liu(counter))
    >>> round(kl_divergence(net, tree).total, 6), kl_divergence(net, net).total
    (0.047014, 0.0)
    """
    require_same_variables(p, q)
    if p.is_gaussian:
        return Divergence(_of_numbers(p, q))
    return Divergence(_of_levels(p, q, budget_in_force(max_memory)))


def require_same_variables(p: BayesNet, q: BayesNet) -> None:
    """Raise an error that names a node, or levels of a node, that the networks do not share."""
    different = set(p.names) ^ set(q.names)
    if different:
        raise GraphError(f"the networks have different nodes: {listing(sorted(different))}")
    if p.is_gaussian != q.is_gaussian:
        raise GraphError("one network has numbers, the other levels")
    for variable in p.variables:
        levels, others = variable.levels or (), q.cpd(variable.name).variable.levels or ()
        if set(levels) != set(others):
            raise GraphError(
                f"node {quote(variable.name)} has the levels {listing(levels)} in one network, but "
                f"{listing(others)} in the other"
            )


# ---------------------------------------------------------------------- levels


def _of_levels(p: BayesNet, q: BayesNet, budget: int) -> dict[str, float]:
    under_p = _Marginals(p, budget)
    levels = {variable.name: variable.levels or () for variable in p.variables}
    found = {}
    for name in p.names:
        of_p, of_q = _table(p.cpt(name), levels), _table(q.cpt(name), levels)
        scope_p, scope_q = (sorted(_family(net.cpt(name))) for net in (p, q))
        if scope_p == scope_q:
            found[name] = _expected(under_p.of(scope_p), of_p, of_q)
        else:
            gained = _expected(under_p.of(scope_p), of_p, np.ones_like(of_p))
            lost = _expected(under_p.of(scope_q), np.ones_like(of_q), of_q)
            found[name] = gained + lost
    return found


def _family(cpt: CPT) -> list[str]:
    return [variable.name for variable in (*cpt.parents, cpt.variable)]


def _table(cpt: CPT, levels: dict[str, tuple[str, ...]]) -> Table:
    """A table with one axis per node of the family, by name, and levels in a given order."""
    variables = (*cpt.parents, cpt.variable)
    table = cpt.table.reshape([len(variable.levels or ()) for variable in variables])
    for axis, variable in enumerate(variables):
        position = {level: k for k, level in enumerate(variable.levels or ())}
        table = table.take([position[level] for level in levels[variable.name]], axis)
    names = _family(cpt)
    return table.transpose(NameOrder(names).positions)


def _expected(weights: Table, above: Table, below: Table) -> float:
    """Σ weights · ln(above/below) over cells with weight."""
    held = weights > 0
    w, a, b = weights[held], above[held], below[held]
    if not b.all():
        return math.inf
    return math.fsum((w * (np.log(a) - np.log(b))).tolist())


class _Marginals:
    """Distributions of sets of nodes, from the cliques of one elimination where possible."""

    def __init__(self, net: BayesNet, budget: int) -> None:
        self._inference = Inference(net, max_memory=budget // _COPIES)
        self._sizes = {v.name: len(v.levels or ()) for v in net.variables}
        self._cliques: dict[str, tuple[list[str], Table]] = {}
        """By the node that was eliminated: the names of the axes, that node last, and the table."""
        self._place: dict[str, int] = {}
        for step in self._inference.posterior_steps({}):
            name = net.names[step.node]
            around = [net.names[parent] for parent in step.parents]
            shares = step.table.reshape([self._sizes[other] for other in (*around, name)])
            joint = self._within_clique(around)[..., np.newaxis] * shares
            self._place[name] = len(self._place)
            self._cliques[name] = ([*around, name], joint)

    def of(self, names: Sequence[str]) -> Table:
        """The distribution of some nodes, with one axis each."""
        # Nodes with one level are in no clique but their own.
        varying = [name for name in names if self._sizes[name] > 1]
        scope = self._cliques[self._last(varying)][0] if varying else []
        if set(varying) <= set(scope):
            table = self._within_clique(varying)
        else:
            table, _ = self._inference.joint(varying)
        return table.reshape([self._sizes[name] for name in names])

    def _last(self, names: Sequence[str]) -> str:
        """The node that was eliminated first: if any clique has the others, its own does."""
        return max(names, key=self._place.__getitem__)

    def _within_clique(self, names: Sequence[str]) -> Table:
        if not names:
            return np.ones(())
        scope, table = self._cliques[self._last(names)]
        left = [name for name in scope if name in names]
        gone = tuple(k for k, name in enumerate(scope) if name not in names)
        found: Table = table.sum(axis=gone)
        return found.transpose([left.index(name) for name in names])


# ---------------------------------------------------------------------- numbers


def _of_numbers(p: BayesNet, q: BayesNet) -> dict[str, float]:
    mean, factor = errors_of(p)
    found = {}
    for name, rank in zip(p.names, NameOrder(p.names).rank, strict=True):
        of_p, of_q = p.cpd(name), q.cpd(name)
        assert isinstance(of_p, LinearGaussian)
        assert isinstance(of_q, LinearGaussian)
        by = dict.fromkeys((v.name for v in (*of_p.parents, *of_q.parents)), 0.0)
        for cpd, sign in ((of_p, 1.0), (of_q, -1.0)):
            for parent, coefficient in zip(cpd.parents, cpd.coefficients, strict=True):
                by[parent.name] += sign * coefficient
        m = of_p.intercept - of_q.intercept
        r = np.zeros(len(p.names))
        r[rank] = of_p.sd
        size = abs(of_p.intercept) + abs(of_q.intercept)
        for other in sorted(by):
            d, at = by[other], p.index(other)
            m += d * float(mean[at])
            r += d * factor[at]
            size += abs(d) * (abs(float(mean[at])) + float(np.abs(factor[at]).max()))
        found[name] = _term(of_p.sd, of_q.sd, m, float(np.linalg.norm(r)), size)
    return found


def _term(sd_p: float, sd_q: float, m: float, r: float, size: float) -> float:
    if sd_p == 0 and sd_q == 0:
        return 0.0 if abs(m) + r <= ROUNDING * size else math.inf
    if sd_p == 0 or sd_q == 0:
        return math.inf
    with np.errstate(over="ignore"):
        squares = float(np.square(m / sd_q) + np.square(r / sd_q))
    return 0.5 * (squares - 1) - math.log(sd_p / sd_q)

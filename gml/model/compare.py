"""The Kullback–Leibler divergence of two models; of two networks, node by node.

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

Labels and numbers together: labels as above, as they have no parents but labels, and numbers by
their moments under P given labels, which are exact: mixed/divergence.py.

With an undirected model on either side there are no terms of nodes: undirected/divergence.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gml.errors import GraphError, listing, quote
from gml.model.bayesnet import CPT, BayesNet, LinearGaussian
from gml.model.clique_marginals import CliqueMarginals
from gml.model.gaussian import ROUNDING, errors_of
from gml.model.markovnet import MarkovNet
from gml.model.mixed.divergence import NumberDivergence
from gml.model.undirected.divergence import undirected_divergence
from gml.name_order import NameOrder

Table = NDArray[np.float64]


@dataclass(frozen=True)
class Divergence:
    """KL(P‖Q) in nats: the term of each node, in the order of P's nodes; it may be infinite.

    Undirected models have no terms of nodes, but only a `whole`.
    """

    nodes: dict[str, float]
    whole: float | None = None
    excluded: tuple[str, ...] = ()
    """Where the whole is infinite, the nodes of a table in which Q excludes what P allows."""

    @property
    def total(self) -> float:
        """The sum over the nodes, or the whole; a negative one, which is rounding, is 0."""
        if self.whole is not None:
            return max(0.0, self.whole)
        return max(0.0, math.fsum(self.nodes[name] for name in sorted(self.nodes)))


def kl_divergence(
    p: BayesNet | MarkovNet, q: BayesNet | MarkovNet, *, max_memory: int | None = None
) -> Divergence:
    """Return KL(P‖Q) of models over the same nodes, exactly.

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
    if isinstance(p, MarkovNet) or isinstance(q, MarkovNet):
        whole, excluded = undirected_divergence(p, q, max_memory=max_memory)
        return Divergence({}, whole, excluded)
    if p.is_mixed:
        return Divergence(_of_both(p, q, max_memory))
    if p.is_gaussian:
        return Divergence(_of_numbers(p, q))
    return Divergence(_of_levels(p, q, CliqueMarginals(p, max_memory=max_memory)))


def require_same_variables(p: BayesNet | MarkovNet, q: BayesNet | MarkovNet) -> None:
    """Raise an error that names a node, or levels of a node, that the models do not share."""
    different = set(p.names) ^ set(q.names)
    if different:
        raise GraphError(f"the networks have different nodes: {listing(sorted(different))}")
    for variable in p.variables:
        other = q.variables[q.index(variable.name)]
        if variable.is_continuous != other.is_continuous:
            one, two = ("numbers", "levels") if variable.is_continuous else ("levels", "numbers")
            raise GraphError(
                f"node {quote(variable.name)} has {one} in one network and {two} in the other"
            )
        levels, others = variable.levels or (), other.levels or ()
        if set(levels) != set(others):
            raise GraphError(
                f"node {quote(variable.name)} has the levels {listing(levels)} in one network, but "
                f"{listing(others)} in the other"
            )


# ---------------------------------------------------------------------- levels


def _of_levels(p: BayesNet, q: BayesNet, under_p: CliqueMarginals) -> dict[str, float]:
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


# ---------------------------------------------------------------------- both


def _of_both(p: BayesNet, q: BayesNet, max_memory: int | None) -> dict[str, float]:
    labels_of_p, labels_of_q = (
        BayesNet(tuple(cpd for cpd in net.cpds if isinstance(cpd, CPT))) for net in (p, q)
    )
    under_p = CliqueMarginals(labels_of_p, max_memory=max_memory)
    found = _of_levels(labels_of_p, labels_of_q, under_p)
    numbers = NumberDivergence(p, q, under_p, max_memory=max_memory)
    return {name: found[name] if name in found else numbers.term(name) for name in p.names}


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

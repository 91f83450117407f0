"""Faults planted in a network: what changed, and which checks are right to say so.

A check is *right* if it names the fault, *entitled* if what it speaks of did change, and *wrong* if
it fails although nothing that it speaks of changed. Whether an independence still holds is read off
the graph by d-separation.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

import gml
from gml.graph.separation import Separation


@dataclass(frozen=True)
class Fault:
    """A network that was changed; `right` and `entitled` are asked of checks that fail."""

    kind: str
    size: str
    about: str
    variable: str
    net: gml.BayesNet
    right: Callable[[gml.Check], bool]
    entitled: Callable[[gml.Check], bool]
    swapped: tuple[str, str] | None = None

    def sample(self, n, seed):
        """Rows after the fault."""
        data = self.net.sample(n, seed=seed)
        if self.swapped is None:
            return data
        j = data.index(self.variable)
        exchange = {self.swapped[0]: self.swapped[1], self.swapped[1]: self.swapped[0]}
        variable = data.variables[j]
        levels = tuple(exchange.get(level, level) for level in variable.levels)
        variables = list(data.variables)
        variables[j] = replace(variable, levels=levels)
        return replace(data, variables=tuple(variables))


def with_table(net, name, table, parents=None):
    """A network with another table, and other parents if told."""
    cpt = net.cpt(name)
    new = gml.CPT(cpt.variable, cpt.parents if parents is None else parents, table)
    return gml.BayesNet(tuple(new if c.variable.name == name else c for c in net.cpds))


def _entitled(net, name, is_changed_row):
    """Of a change in rows of one table: these rows, the edges into the node, fit, and no others."""
    separation = Separation(net.graph)

    def asked(check):
        if check.kind == "likelihood":
            return True
        if check.kind == "row":
            return check.variables == (name,) and is_changed_row(check)
        if check.kind == "table":
            return check.variables == (name,)
        if check.kind == "edge":
            return check.variables[1] == name
        if check.kind == "independence":
            u, v = (net.index(other) for other in check.variables)
            return not separation.separated(u, v, [net.index(g) for g, _ in check.given])
        return False

    return asked


def _joint(net, names):
    return gml.Inference(net).joint(list(names))[0]


def _information(net, source, target):
    """I(source; target | other parents of target) in nats, and P(source | other parents)."""
    cpt = net.cpt(target)
    names = [parent.name for parent in cpt.parents]
    k = names.index(source)
    sizes = [len(parent.levels) for parent in cpt.parents]
    weights = np.moveaxis(_joint(net, names), k, -1)
    table = np.moveaxis(cpt.table.reshape(*sizes, -1), k, -2)
    within = weights.sum(axis=-1, keepdims=True)
    share = np.divide(weights, within, where=within > 0, out=np.full_like(weights, 1 / sizes[k]))
    mixture = (share[..., None] * table).sum(axis=-2, keepdims=True)
    ratio = np.where(table > 0, table / np.where(mixture > 0, mixture, 1), 1)
    nats = float((weights[..., None] * table * np.log(ratio)).sum())
    return nats, k, mixture


# ---------------------------------------------------------------------- the faults


def shifted_row(net, likely, delta):
    """Move probability from the most to the second most likely level, in one row of a table.

    The row is the one whose configuration of parents is nearest to a probability, in ratio.
    """
    best = None
    for cpt in net.cpds:
        if not cpt.parents:
            continue
        weights = _joint(net, [parent.name for parent in cpt.parents]).reshape(-1)
        for row, weight in enumerate(weights):
            if weight > 0 and cpt.table[row].max() >= delta and cpt.n_levels > 1:
                away = (round(abs(math.log(weight / likely)), 9), cpt.variable.name, row)
                best = min(best or (away, cpt, row, weight), (away, cpt, row, weight))
    _, cpt, row, weight = best
    table = cpt.table.copy()
    first, second = np.argsort(-table[row], kind="stable")[:2]
    table[row, [first, second]] += [-delta, delta]
    name = cpt.variable.name
    names = (parent.name for parent in cpt.parents)
    given = dict(zip(names, cpt.configurations()[row], strict=True))

    def is_row(check):
        return check.kind == "row" and check.variables == (name,) and dict(check.given) == given

    new = with_table(net, name, table)
    about = f"{name} where {', '.join('='.join(pair) for pair in given.items())} (P = {weight:.3f})"
    return Fault(
        "row", f"{delta:g}, P {likely:g}", about, name, new, is_row, _entitled(new, name, is_row)
    )


def cut_edge(net, which):
    """Make a node independent of one parent given the others, its distribution given these kept."""
    edges = [(p.name, cpt.variable.name) for cpt in net.cpds for p in cpt.parents]
    ranked = sorted(edges, key=lambda edge: (-_information(net, *edge)[0], edge))
    source, target = ranked[0] if which == "strongest" else ranked[len(ranked) // 2]
    nats, k, mixture = _information(net, source, target)
    sizes = [len(parent.levels) for parent in net.cpt(target).parents]
    whole = np.broadcast_to(mixture, (*mixture.shape[:-2], sizes[k], mixture.shape[-1]))
    new = with_table(net, target, np.moveaxis(whole, -2, k).reshape(-1, mixture.shape[-1]))

    def right(check):
        return check.kind == "edge" and check.variables == (source, target)

    about = f"{source} -> {target} ({nats:.3g} nats)"
    return Fault("cut", which, about, target, new, right, _entitled(new, target, lambda _: True))


def new_edge(net, strength):
    """Let a node depend on another that it has no edge with, its distribution given parents kept.

    P'(j | z, k) = P(j | z)(1 + strength · a_k b_j), a with mean 0 given z and b with mean 0 under
    P(· | z), both at most 1 in size. The pair is the one in which the less varied node is most
    varied, by entropy.
    """
    marginals = gml.Inference(net).marginals()
    entropy = {n: -float(np.sum(p[p > 0] * np.log(p[p > 0]))) for n, p in marginals.items()}
    order = [net.names[j] for j in net.order()]
    pairs = [
        (min(entropy[u], entropy[v]), u, v)
        for later, v in enumerate(order)
        for u in order[:later]
        if not net.graph.adjacent(net.index(u), net.index(v)) and len(net.cpt(v).parents) < 3
    ]
    _, u, v = max(pairs, key=lambda pair: (round(pair[0], 9), pair[1:]))
    cpt, source = net.cpt(v), net.cpt(u).variable
    z = [parent.name for parent in cpt.parents]
    weights = _joint(net, [*z, u]).reshape(len(cpt.table), -1)
    within = weights.sum(axis=1, keepdims=True)
    share = np.divide(weights, within, where=within > 0, out=np.full_like(weights, 1.0))
    rows = []
    for p, q in zip(cpt.table, share / share.sum(axis=1, keepdims=True), strict=True):
        rows += [p * (1 + strength * a * _contrast(p)) for a in _contrast(q)]
    table = np.array(rows)
    new = with_table(
        net, v, table / table.sum(axis=1, keepdims=True), parents=(*cpt.parents, source)
    )
    nats, _, _ = _information(new, u, v)

    def right(check):
        return check.kind == "independence" and set(check.variables) == {u, v}

    about = f"{u} -> {v} ({nats:.3g} nats)"
    return Fault(
        "new edge", f"{strength:g}", about, v, new, right, _entitled(new, "", lambda _: False)
    )


def _contrast(p):
    """Values of the levels, the likelier half of them up, with mean 0 and at most 1 in size."""
    up = np.zeros(len(p), dtype=bool)
    for j in np.argsort(-p, kind="stable"):
        if p[up].sum() < 0.5 - 1e-12:
            up[j] = True
    high = p[up].sum()
    values = np.where(up, 1 - high, -high)
    return values / max(np.abs(values).max(), 1e-12) if high < 1 else np.zeros(len(p))


def swapped_label(net):
    """Exchange the two most frequent labels of the node with the most neighbours.

    Its own table has changed, and the tables of its children where it has one of the labels. An
    exchange of labels changes no independence, and no information on the node itself.
    """
    edges = [(p.name, cpt.variable.name) for cpt in net.cpds for p in cpt.parents]
    name = max(net.names, key=lambda n: (sum(n in edge for edge in edges), n))
    children = {target for source, target in edges if source == name}
    levels = net.cpt(name).variable.levels
    order = np.argsort(-gml.Inference(net).marginals()[name], kind="stable")[:2]
    labels = tuple(levels[k] for k in order)

    def right(check):
        return check.kind in ("row", "table") and check.variables == (name,)

    def entitled(check):
        if check.kind == "table":
            return check.variables[0] in {name, *children}
        if check.kind == "row" and check.variables[0] in children:
            return dict(check.given)[name] in labels
        if check.kind == "edge":
            return check.variables[1] in children
        return check.kind == "likelihood" or right(check)

    return Fault("swap", "", f"{name}: {' <-> '.join(labels)}", name, net, right, entitled, labels)


def drifted_root(net, delta):
    """Move probability from the most to the second most likely level of the most varied root."""
    roots = [cpt for cpt in net.cpds if not cpt.parents]
    cpt = min(roots, key=lambda cpt: (float(np.sum(cpt.table**2)), cpt.variable.name))
    first, second = np.argsort(-cpt.table[0], kind="stable")[:2]
    table = cpt.table.copy()
    table[0, [first, second]] += [-delta, delta]
    name = cpt.variable.name

    def right(check):
        return check.kind == "row" and check.variables == (name,)

    new = with_table(net, name, table)
    return Fault("drift", f"{delta:g}", name, name, new, right, _entitled(new, name, right))

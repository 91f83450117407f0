"""Random networks, and their joint distributions by brute force."""

from __future__ import annotations

import numpy as np

import gml
from gml.data.dataset import Variable
from gml.model.bayesnet import CPT, BayesNet
from gml.model.fit import fit

from .graphs import random_dag


def random_net(rng, n, p=0.4, most_levels=3, zeros=0.0, names=None):
    """A network with tables from a flat Dirichlet; a share of the entries is 0."""
    matrix = random_dag(rng, n, p)
    names = names or [f"n{j}" for j in range(n)]
    variables = [
        Variable(name, tuple("abcdef"[: rng.integers(1 if zeros else 2, most_levels + 1)]))
        for name in names
    ]
    cpts = []
    for j in range(n):
        parents = tuple(variables[i] for i in np.flatnonzero(matrix[:, j]))
        rows = int(np.prod([len(v.levels) for v in parents], dtype=int))
        table = rng.dirichlet(np.ones(len(variables[j].levels)), rows)
        gone = rng.random(table.shape) < zeros
        gone[np.arange(rows), rng.integers(0, table.shape[1], rows)] = False
        table = np.where(gone, 0, table)
        cpts.append(CPT(variables[j], parents, table / table.sum(axis=1, keepdims=True)))
    return BayesNet(tuple(cpts))


def fitted(net, n=4000, seed=1):
    """The graph of a network, fitted to rows of it."""
    return fit(net.graph, gml.MemoryCounter(net.sample(n, seed=seed), threads=1))


def fitted_to(edges, data):
    """The DAG with these edges, fitted to all columns of some rows; an edge may be "xy"."""
    graph = gml.Graph.from_edges(data.names, [(u, "-->", v) for u, v in edges])
    return fit(graph, gml.MemoryCounter(data, threads=1))


def joint_of(net):
    """The joint distribution, an axis for each node."""
    shape = [len(v.levels) for v in net.variables]
    joint = np.ones(shape)
    for j, cpt in enumerate(net.cpds):
        axes = [*(net.index(parent.name) for parent in cpt.parents), j]
        order = np.argsort(axes)
        table = cpt.table.reshape([shape[a] for a in axes]).transpose(order)
        joint = joint * table.reshape([shape[a] if a in axes else 1 for a in range(len(shape))])
    return joint


def given(net, joint, evidence):
    """The joint with everything that contradicts the evidence set to 0."""
    kept = joint.copy()
    for name, level in evidence.items():
        axis = net.index(name)
        code = net.variables[axis].levels.index(level)
        mask = np.zeros(joint.shape[axis])
        mask[code] = 1
        kept *= mask.reshape([-1 if a == axis else 1 for a in range(joint.ndim)])
    return kept


def marginal(joint, axes):
    """Sum the joint over all but some axes, which come in the order asked for."""
    others = tuple(a for a in range(joint.ndim) if a not in axes)
    left = sorted(axes)
    return joint.sum(axis=others).transpose([left.index(a) for a in axes])


def random_evidence(rng, net, most):
    """Levels of a few nodes."""
    chosen = rng.permutation(len(net.names))[: rng.integers(0, most + 1)]
    return {
        net.names[j]: net.variables[j].levels[rng.integers(len(net.variables[j].levels))]
        for j in chosen
    }


def asia():
    """The chest clinic of Lauritzen & Spiegelhalter (1988, J. R. Stat. Soc. B 50:157)."""
    yes_no = ("yes", "no")
    nodes = {
        "asia": ([], [0.01]),
        "tub": (["asia"], [0.05, 0.01]),
        "smoke": ([], [0.5]),
        "lung": (["smoke"], [0.1, 0.01]),
        "bronc": (["smoke"], [0.6, 0.3]),
        "either": (["lung", "tub"], [1, 1, 1, 0]),
        "xray": (["either"], [0.98, 0.05]),
        "dysp": (["bronc", "either"], [0.9, 0.8, 0.7, 0.1]),
    }
    return BayesNet(
        tuple(
            CPT(
                Variable(name, yes_no),
                tuple(Variable(parent, yes_no) for parent in parents),
                np.array([[p, 1 - p] for p in yes]),
            )
            for name, (parents, yes) in nodes.items()
        )
    )

"""Networks with everything that a file can hold, and how to compare two."""

from __future__ import annotations

import numpy as np

from gml.data.dataset import Variable
from gml.graph.provenance import Provenance
from gml.model.bayesnet import CPT, BayesNet, LinearGaussian


def _some(rng, labels, n):
    # By position: an array of texts would lose a NUL at the end of one.
    return tuple(labels[k] for k in rng.permutation(len(labels))[:n])


def random_network(rng, names, labels, *, beside=False, shuffled=True):
    """A network over the names with levels drawn from the labels; `beside`: counts and the like."""
    variables = [
        Variable(name, _some(rng, labels, int(rng.integers(2, min(4, len(labels)) + 1))))
        for name in names
    ]
    cpds = []
    for i, variable in enumerate(variables):
        chosen = [j for j in range(i) if rng.random() < 0.5][:3]
        if shuffled:
            rng.shuffle(chosen)
        parents = tuple(variables[j] for j in chosen)
        rows = int(np.prod([len(parent.levels) for parent in parents], dtype=int))
        shape = (rows, len(variable.levels))
        table = rng.dirichlet(np.full(shape[1], 0.3), size=rows)
        counts = rng.integers(0, 50, size=shape) if beside else None
        intervals = np.stack([table / 2, (table + 1) / 2], axis=-1) if beside else None
        cpds.append(CPT(variable, parents, table, counts, intervals))
    return BayesNet(
        tuple(cpds), Provenance({"command": "fit-params", "rows": 50} if beside else {})
    )


def random_gaussian(rng, names):
    """A network of numbers."""
    variables = [Variable(name, None) for name in names]
    cpds = []
    for i, variable in enumerate(variables):
        parents = tuple(variables[j] for j in range(i) if rng.random() < 0.5)
        bounds = tuple((float(a), float(a) + 1) for a in rng.normal(size=len(parents) + 2))
        cpds.append(
            LinearGaussian(
                variable,
                parents,
                float(rng.normal()),
                tuple(map(float, rng.normal(size=len(parents)))),
                float(rng.gamma(2)),
                int(rng.integers(1, 1000)) if rng.random() < 0.5 else None,
                bounds if rng.random() < 0.5 else None,
            )
        )
    return BayesNet(tuple(cpds), Provenance({"command": "fit-params"}))


def assert_same(one, other, *, beside=False):
    """Bit for bit the same nodes, parents, levels and tables."""
    assert one.names == other.names
    for a, b in zip(one.cpds, other.cpds, strict=True):
        assert (a.variable, a.parents) == (b.variable, b.parents)
        np.testing.assert_array_equal(a.table, b.table, strict=True)
        if beside:
            np.testing.assert_array_equal(a.counts, b.counts)
            np.testing.assert_array_equal(a.intervals, b.intervals)
    if beside:
        assert one.learning == other.learning

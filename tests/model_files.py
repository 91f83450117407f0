"""Networks with everything that a file can hold, and how to compare two."""

from __future__ import annotations

import random
import warnings

import numpy as np

from gml.data.dataset import Variable
from gml.errors import GmlWarning, GraphError
from gml.formats.models import parse_any
from gml.graph.provenance import Provenance
from gml.model.baseline import Baseline
from gml.model.bayesnet import CPT, BayesNet, ConditionalGaussian, LinearGaussian
from gml.model.markovnet import MarkovNet
from gml.model.training import Repeats, Training
from gml.model.undirected.potential import Potential
from gml.model.undirected.quality.summary import FitSummary


def _some(rng, labels, n):
    # By position: an array of texts would lose a NUL at the end of one.
    return tuple(labels[k] for k in rng.permutation(len(labels))[:n])


def random_network(rng, names, labels, *, beside=False, shuffled=True, incomplete=False):
    """A network over the names with levels drawn from the labels; `beside`: counts and the like.

    `incomplete`: some tables have expected counts, and some of these nodes are hidden.
    """
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
        expected = rng.gamma(2, size=shape) if incomplete and rng.random() < 0.5 else None
        hidden = expected is not None and bool(rng.random() < 0.5)
        if hidden:
            counts = None
        cpds.append(CPT(variable, parents, table, counts, intervals, expected, hidden))
    return BayesNet(
        tuple(cpds), Provenance({"command": "fit-params", "rows": 50} if beside else {})
    )


def random_gaussian(rng, names):
    """A network of numbers."""
    variables = [Variable(name, None) for name in names]
    cpds = []
    for i, variable in enumerate(variables):
        parents = tuple(variables[j] for j in range(i) if rng.random() < 0.5)
        cpds.append(_random_line(rng, variable, parents))
    return BayesNet(tuple(cpds), Provenance({"command": "fit-params"}))


def random_mixed_model(rng, names, labels):
    """A network of which some nodes are numbers, most of them with labels among their parents."""
    levels = [_some(rng, labels, 2) if rng.random() < 0.5 else None for _ in names]
    variables = [Variable(*pair) for pair in zip(names, levels, strict=True)]
    cpds = []
    for i, variable in enumerate(variables):
        parents = tuple(
            other
            for other in variables[:i]
            if rng.random() < 0.6 and not (variable.levels and other.is_continuous)
        )
        given = [len(parent.levels) for parent in parents if not parent.is_continuous]
        size = int(np.prod(given, dtype=int))
        if variable.levels:
            cpds.append(CPT(variable, parents, rng.dirichlet(np.ones(2), size=size)))
            continue
        on = tuple(parent for parent in parents if parent.is_continuous)
        lines = tuple(_random_line(rng, variable, on) for _ in range(size))
        cpds.append(ConditionalGaussian(variable, parents, lines) if given else lines[0])
    return BayesNet(tuple(cpds), Provenance({"command": "fit-params"}))


def _random_line(rng, variable, parents):
    bounds = tuple((float(a), float(a) + 1) for a in rng.normal(size=len(parents) + 2))
    return LinearGaussian(
        variable,
        parents,
        float(rng.normal()),
        tuple(map(float, rng.normal(size=len(parents)))),
        float(rng.gamma(2)),
        int(rng.integers(1, 1000)) if rng.random() < 0.5 else None,
        bounds if rng.random() < 0.5 else None,
    )


def assert_same_distributions(one, other):
    """Bit for bit the same tables and regressions, with all that is beside them."""
    assert one.names == other.names
    for a, b in zip(one.cpds, other.cpds, strict=True):
        if isinstance(a, CPT):
            assert (a.variable, a.parents) == (b.variable, b.parents)
            np.testing.assert_array_equal(a.table, b.table, strict=True)
            np.testing.assert_array_equal(a.counts, b.counts)
        else:
            assert a == b


def assert_same(one, other, *, beside=False):
    """Bit for bit the same nodes, parents, levels and tables."""
    assert one.names == other.names
    for a, b in zip(one.cpds, other.cpds, strict=True):
        assert (a.variable, a.parents) == (b.variable, b.parents)
        np.testing.assert_array_equal(a.table, b.table, strict=True)
        if beside:
            np.testing.assert_array_equal(a.counts, b.counts)
            np.testing.assert_array_equal(a.intervals, b.intervals)
            np.testing.assert_array_equal(a.expected_counts, b.expected_counts, strict=True)
            assert a.hidden == b.hidden
    if beside:
        assert one.learning == other.learning


def random_markov_net(rng, names, labels, *, beside=False, zeros=False):
    """An undirected model of random terms, in any order of nodes; `beside`: errors and the like."""
    variables = tuple(
        Variable(name, _some(rng, labels, int(rng.integers(2, min(4, len(labels)) + 1))))
        for name in names
    )
    potentials = []
    rows = {variable: rng.integers(len(variable.levels), size=30) for variable in variables}
    weight = 1 / rng.integers(1, 3)
    coding = "01" if all(len(variable.levels) == 2 for variable in variables) else "sum-to-zero"
    for _ in range(int(rng.integers(1, 6))):
        scope = _some(rng, variables, int(rng.integers(1, min(3, len(variables)) + 1)))
        shape = tuple(len(variable.levels) for variable in scope)
        table = rng.normal(size=shape)
        if beside:
            table = _in_gauge(table, coding)
        if zeros:
            table.flat[0] = -np.inf
        errors = rng.gamma(2, size=shape) if beside else None
        intervals = rng.normal(size=(*shape, 2)) if beside else None
        counts = np.zeros(shape) if beside else None
        if beside:
            np.add.at(counts, tuple(rows[variable] for variable in scope), weight)
        potentials.append(Potential(scope, table, errors, intervals, counts=counts))
    if not beside:
        return MarkovNet(variables, tuple(potentials))
    nowhere = np.zeros(len(variables[0].levels))
    nowhere[-1] = -np.inf
    potentials.append(Potential(variables[:1], nowhere, is_boundary=True))
    return MarkovNet(
        variables,
        tuple(potentials),
        coding,
        FitSummary(
            "pl",
            "l-bfgs",
            rows=50.5,
            dimension=4,
            converged=True,
            gap=1e-10,
            log_likelihood=-12.25,
            df=3,
            n_zeros=1,
            zeros=({names[0]: variables[0].levels[-1]},),
            l1=0.5,
        ),
        Provenance({"command": "mrf", "rows": 50}),
        Training({}, Repeats({1: 48, 2: 1})),
        Baseline(frozenset({"schema:levels"})),
    )


def _in_gauge(table, coding):
    if coding == "01":
        table.flat[:-1] = 0.0
        return table
    for axis in range(table.ndim):
        table = table - table.mean(axis=axis, keepdims=True)
    return table


def assert_same_terms(one, other):
    """Bit for bit the same undirected models, and all that is beside the terms."""
    assert one.variables == other.variables
    for a, b in zip(one.potentials, other.potentials, strict=True):
        assert (a.scope, a.is_boundary) == (b.scope, b.is_boundary)
        for first, second in (
            (a.table, b.table),
            (a.errors, b.errors),
            (a.intervals, b.intervals),
            (a.counts, b.counts),
        ):
            assert (first is None) == (second is None)
            if first is not None:
                np.testing.assert_array_equal(first, second, strict=True)
    for name in ("coding", "summary", "learning", "training", "baseline", "graph"):
        assert getattr(one, name) == getattr(other, name), name


def joint_of(model):
    """The probability of every row of levels of a model of tables, by multiplying it all out."""
    names = [variable.name for variable in model.variables]
    sizes = [len(variable.levels) for variable in model.variables]
    joint = np.ones(sizes)
    for factor in model.factors:
        axes = [names.index(variable.name) for variable in factor.scope]
        order = sorted(range(len(axes)), key=axes.__getitem__)
        shape = [sizes[k] if k in axes else 1 for k in range(len(names))]
        joint = joint * factor.table.transpose(order).reshape(shape)
    return joint / joint.sum()


def refused_among_damaged(texts, pieces, n):
    """Damage model files by pieces put in anywhere: how many of n are refused, and in one line."""
    rng = random.Random(0)
    refused = 0
    for _ in range(n):
        text = rng.choice(texts)
        if rng.random() < 0.3:
            text = text[: rng.randrange(len(text))]
        for _ in range(rng.randint(1, 4)):
            at = rng.randrange(len(text) + 1)
            text = text[:at] + rng.choice([*pieces, ""]) + text[at + rng.choice([0, 0, 1, 5]) :]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", GmlWarning)
                read = parse_any(text, "f")
            assert read.names
        except GraphError as error:
            refused += 1
            assert "\n" not in str(error)
    return refused

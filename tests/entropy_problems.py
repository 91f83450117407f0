"""Random problems of maximum entropy, and what they are about, cell by cell of the joint table."""

from __future__ import annotations

from itertools import product

import numpy as np

from gml.data.dataset import Variable
from gml.formats.constraints import constraints_of
from gml.model.undirected.from_tables import LogTable, markov_of_tables

RELATIONS = {"=": "equals", "<=": "at_most", ">=": "at_least"}


def random_levels(rng):
    """From two to four variables of two or three levels."""
    sizes = rng.integers(2, 4, rng.integers(2, 5))
    return {f"v{k}": [f"l{code}" for code in range(size)] for k, size in enumerate(sizes)}


def random_joint(rng, levels, *, zeros):
    """A distribution over all cells, some of them 0."""
    joint = rng.dirichlet(np.full(np.prod([len(found) for found in levels.values()]), 0.7))
    if zeros:
        joint[rng.random(joint.size) < 0.3] = 0
        joint[rng.integers(joint.size)] += 0.1
    return joint.reshape([len(found) for found in levels.values()]) / joint.sum()


def cells_of(levels):
    """The cells of the joint table, as levels by name, in its order."""
    return [dict(zip(levels, labels, strict=True)) for labels in product(*levels.values())]


def random_constraint(rng, levels, joint):
    """A constraint that the distribution meets."""
    names = list(levels)
    flat, cells = joint.reshape(-1), cells_of(levels)
    kind = rng.choice(["margin", "expectation", "probability"], p=[0.45, 0.3, 0.25])
    if kind == "margin":
        chosen = [names[k] for k in rng.permutation(len(names))[: rng.integers(1, 3)]]
        values = {}
        for cell, p in zip(cells, flat, strict=True):
            inner = values
            for name in chosen[:-1]:
                inner = inner.setdefault(cell[name], {})
            inner[cell[chosen[-1]]] = inner.get(cell[chosen[-1]], 0.0) + float(p)
        return {"margin": chosen, "probabilities": values}
    relation = rng.choice(["=", "<=", ">="], p=[0.4, 0.3, 0.3])
    room = 0.0 if relation == "=" else float(rng.choice([0.0, 0.05, 1.0])) * rng.random()
    if kind == "expectation":
        chosen = [names[k] for k in rng.permutation(len(names))[: rng.integers(1, 3)]]
        numbers = {
            name: {label: float(rng.integers(-3, 4)) for label in levels[name]} for name in chosen
        }
        found = {"expectation": numbers}
        value = sum(
            p * sum(numbers[n][c[n]] for n in chosen) for p, c in zip(flat, cells, strict=True)
        )
    else:
        order = [names[k] for k in rng.permutation(len(names))]
        event = {order[0]: str(rng.choice(levels[order[0]]))}
        given = {order[1]: str(rng.choice(levels[order[1]]))} if rng.random() < 0.7 else {}
        found = {"probability": event, "given": given}
        holds = np.array([all(c[n] == v for n, v in given.items()) for c in cells])
        both = holds & np.array([all(c[n] == v for n, v in event.items()) for c in cells])
        value = float(flat[both].sum() / flat[holds].sum()) if flat[holds].sum() > 0 else 0.5
        room = min(room, 1 - value if relation == "<=" else value)
    value += room if relation == "<=" else -room
    return found | {RELATIONS[relation]: float(value)}


def random_reference(rng, levels, joint):
    """A model that allows whatever the distribution has, and seldom not what it has not."""
    variables = [Variable(name, tuple(labels)) for name, labels in levels.items()]
    tables = []
    for k in range(len(variables) - 1):
        table = rng.normal(size=joint.shape[k : k + 2])
        others = tuple(axis for axis in range(joint.ndim) if axis not in (k, k + 1))
        if rng.random() < 0.3:
            table[(joint.sum(axis=others) == 0) & (rng.random(table.shape) < 0.5)] = -np.inf
        tables.append(LogTable((variables[k], variables[k + 1]), table))
    return markov_of_tables(variables, tables)


def joint_of(net, names):
    """The probabilities of all cells of a model, the axes in the order of names."""
    shape = {v.name: len(v.levels) for v in net.variables}
    logs = np.zeros([shape[name] for name in names])
    for potential in net.potentials:
        axes = [names.index(name) for name in potential.names]
        order = sorted(range(len(axes)), key=axes.__getitem__)
        size = [shape[name] if name in potential.names else 1 for name in names]
        logs = logs + potential.table.transpose(order).reshape(size)
    weights = np.exp(logs - logs.max())
    return weights / weights.sum()


def rows_of(constraint, levels):
    """Features of a constraint over the cells of the joint table, and what they are to be.

    A margin has one per cell, in the order of its variables and levels; a conditional probability
    has P(A, B) − c P(B).
    """
    cells = cells_of(levels)
    if "margin" in constraint:
        names = constraint["margin"]
        for labels in product(*(levels[name] for name in names)):
            value = constraint["probabilities"]
            for label in labels:
                value = value.get(label, 0.0) if isinstance(value, dict) else value
            holds = [
                all(cell[n] == v for n, v in zip(names, labels, strict=True)) for cell in cells
            ]
            yield np.array(holds, dtype=float), "=", value
        return
    relation = next(r for r, key in RELATIONS.items() if key in constraint)
    value = constraint[RELATIONS[relation]]
    if "expectation" in constraint:
        numbers = constraint["expectation"]
        feature = [sum(numbers[n].get(cell[n], 0.0) for n in numbers) for cell in cells]
        yield np.array(feature), relation, value
        return
    event, given = constraint["probability"], constraint.get("given", {})
    holds = np.array([all(c[n] == v for n, v in given.items()) for c in cells], dtype=float)
    both = holds * np.array([all(c[n] == v for n, v in event.items()) for c in cells])
    yield (both - value * holds, relation, 0.0) if given else (both, relation, value)


def problem_of_size(rng, *, zeros=False, n_constraints=None):
    """Levels, a distribution, and constraints as a file has them that it meets."""
    levels = random_levels(rng)
    joint = random_joint(rng, levels, zeros=zeros)
    n = n_constraints or rng.integers(1, 5)
    return levels, joint, [random_constraint(rng, levels, joint) for _ in range(n)]


def read(levels, constraints):
    """The constraints as they are solved."""
    return constraints_of({"variables": levels, "constraints": constraints}, "here")

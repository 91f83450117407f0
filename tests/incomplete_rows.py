"""Tables with holes, and what they say of a network by brute force."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gml.data.dataset import Dataset, missing_code, missing_mask

from .networks import joint_of


def with_holes(data, rng, share):
    """Each cell missing with a probability."""
    columns = []
    for column in data.columns:
        holed = column.copy()
        holed[rng.random(len(column)) < share] = missing_code(column)
        columns.append(holed)
    return replace(data, columns=tuple(columns))


def without(data, names):
    """The table without some columns."""
    return data.select([name for name in data.names if name not in names])


def joint_log_likelihood(net, data):
    """Σ ln P(observed values of a row), from the joint distribution."""
    joint, total = joint_of(net), 0.0
    for row in range(data.n_rows):
        total += weight(data, row) * np.log(joint[_selected(net, data, row)].sum())
    return total


def joint_expected_counts(net, data):
    """Expected counts of each table, from the joint distribution of each row."""
    joint = joint_of(net)
    found = [np.zeros(cpt.table.shape) for cpt in net.cpds]
    for row in range(data.n_rows):
        posterior = np.zeros(joint.shape)
        chosen = _selected(net, data, row)
        posterior[chosen] = joint[chosen]
        posterior *= weight(data, row) / posterior.sum()
        for j, cpt in enumerate(net.cpds):
            axes = [*(net.index(parent.name) for parent in cpt.parents), j]
            others = tuple(a for a in range(joint.ndim) if a not in axes)
            margin = posterior.sum(axis=others)
            # What is left stands in the order of the nodes.
            found[j] += margin.transpose(np.argsort(np.argsort(axes))).reshape(cpt.table.shape)
    return found


def weight(data, row):
    """How often a row counts."""
    return 1.0 if data.weights is None else float(data.weights[row]) * data.unit


def _selected(net, data, row):
    found = []
    for variable in net.variables:
        value = slice(None)
        if variable.name in data.names:
            column = data.columns[data.index(variable.name)]
            if not missing_mask(column)[row]:
                value = slice(int(column[row]), int(column[row]) + 1)
        found.append(value)
    return tuple(found)


def shuffled(data, rng):
    """The same rows in another order."""
    order = rng.permutation(data.n_rows)
    return replace(
        data,
        columns=tuple(column[order] for column in data.columns),
        weights=None if data.weights is None else data.weights[order],
    )


def weighted(data, weights, unit=1.0):
    """The rows with weights."""
    return replace(data, weights=np.asarray(weights, dtype=np.int64), unit=unit)


def table_of(variables, rows, weights=None):
    """A dataset from codes, -1 for missing."""
    codes = np.array(rows, dtype=np.int64).reshape(len(rows), len(variables))
    columns = tuple(
        np.where(codes[:, j] < 0, 255, codes[:, j]).astype(np.uint8) for j in range(len(variables))
    )
    counted = None if weights is None else np.array(weights, dtype=np.int64)
    return Dataset(tuple(variables), columns, counted)

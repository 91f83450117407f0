"""Random tables of dependent labels, and their regressions written out plainly."""

from __future__ import annotations

import numpy as np

from gml.data.dataset import Dataset, Variable


def dependent_labels(rng, levels, n):
    """Columns along a chain of hidden numbers, cut into so many levels each."""
    hidden, columns = rng.normal(size=n), []
    for r in levels:
        hidden = 0.6 * hidden + rng.normal(size=n)
        columns.append(
            np.digitize(hidden, np.quantile(hidden, np.arange(1, r) / r)).astype(np.uint8)
        )
    return Dataset(
        tuple(
            Variable(f"v{k}", tuple(f"l{level}" for level in range(r)))
            for k, r in enumerate(levels)
        ),
        tuple(columns),
    )


def plain_minimum(dataset, target, penalty, steps=20000):
    """The smallest penalised mean loss, and the norms of the blocks, by proximal gradient steps.

    Bases come from a QR decomposition of the centred indicators, scores are those of all classes.
    """
    y = np.eye(len(dataset.variables[target].levels))[dataset.columns[target]]
    n, classes = y.shape
    y = y[:, y.any(axis=0)]
    classes = y.shape[1]
    blocks, weights = [], []
    for j, column in enumerate(dataset.columns):
        if j != target:
            indicators = (column[:, None] == np.unique(column)[1:]).astype(float)
            basis, _ = np.linalg.qr(indicators - indicators.mean(axis=0))
            blocks.append(basis * np.sqrt(n))
            weights.append(np.sqrt(2 * (classes - 1) * basis.shape[1]))
    ends = np.cumsum([1, *(block.shape[1] for block in blocks)])
    design = np.hstack([np.ones((n, 1)), *blocks])
    step = 2 / np.linalg.eigvalsh(design.T @ design / n).max()
    here = ahead = np.zeros((design.shape[1], classes))
    momentum = 1.0
    for _ in range(steps):
        scores = design @ ahead
        chances = np.exp(scores - scores.max(axis=1, keepdims=True))
        chances /= chances.sum(axis=1, keepdims=True)
        to = ahead - step * design.T @ (chances - y) / n
        for k, weight in enumerate(weights):
            block = to[ends[k] : ends[k + 1]]
            norm = np.linalg.norm(block)
            block *= max(0.0, 1 - step * penalty * weight / norm) if norm else 0.0
        # The momentum begins anew where it points uphill (O'Donoghue & Candès 2015).
        if np.sum((ahead - to) * (to - here)) > 0:
            momentum = 1.0
        after = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        moved = np.abs(to - here).max()
        ahead, here, momentum = to + (momentum - 1) / after * (to - here), to, after
        if moved < 1e-13:
            break
    scores = design @ here
    top = scores.max(axis=1)
    losses = np.log(np.exp(scores - top[:, None]).sum(axis=1)) + top - (scores * y).sum(axis=1)
    norms = np.array([np.linalg.norm(here[ends[k] : ends[k + 1]]) for k in range(len(blocks))])
    return losses.mean() + penalty * np.dot(weights, norms), np.insert(norms, target, 0.0)

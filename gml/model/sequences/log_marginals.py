"""ln p of the labels of a row given all rows of its sequence, however small p is.

Forward–backward (Rabiner 1989) in logarithms: slower than the kernel's, whose probabilities become
0 below 1e-308. It is for the few rows whose true label the field all but excludes, so that a log
loss is infinite only if a label is impossible; with finite weights none is.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gml.kernel.chain_layout import ChainLayout
from gml.stopping import check_stopped

Numbers = NDArray[np.float64]


def log_marginals(
    layout: ChainLayout, cells: Numbers, transitions: Numbers, sequence: int
) -> Numbers:
    """Return ln p of each label of each row (rows × labels) of a sequence.

    Examples
    --------
    >>> one = np.array([0, 1])
    >>> layout = ChainLayout(2, one, one, np.array([0]), one, np.array([1]))
    >>> log_marginals(layout, np.array([-1000.0]), np.zeros((2, 2)), 0).tolist()
    [[0.0, -1000.0]]
    """
    start, end = layout.sequences[sequence], layout.sequences[sequence + 1]
    scores = np.array([_scores(layout, cells, row) for row in range(start, end)])
    ahead, behind = scores.copy(), np.zeros_like(scores)
    for t in range(1, len(scores)):
        check_stopped()
        ahead[t] += np.logaddexp.reduce(ahead[t - 1][:, None] + transitions, axis=0)
        # Differences are all that counts, and keep their digits when numbers stay small.
        ahead[t] -= ahead[t].max()
    for t in reversed(range(len(scores) - 1)):
        check_stopped()
        behind[t] = np.logaddexp.reduce(transitions + (scores[t + 1] + behind[t + 1]), axis=1)
        behind[t] -= behind[t].max()
    both = ahead + behind
    found: Numbers = both - np.logaddexp.reduce(both, axis=1)[:, None]
    return found


def _scores(layout: ChainLayout, cells: Numbers, row: int) -> Numbers:
    """What the attributes of a row add to each label."""
    found = np.zeros(layout.n_labels)
    for k in range(layout.rows[row], layout.rows[row + 1]):
        attribute = layout.attributes[k]
        value = 1.0 if layout.values is None else layout.values[k]
        own = slice(layout.cells[attribute], layout.cells[attribute + 1])
        labels = layout.labels[own]
        found[labels[labels >= 0]] += value * cells[own][labels >= 0]
    return found

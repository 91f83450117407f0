"""Rows of known networks, with cells blanked completely at random or at random."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
from data import SHARED

NETWORKS = ("alarm", "insurance")
SHARES = (0.05, 0.2, 0.4)
MECHANISMS = ("mcar", "mar")
# With mar, every fourth column is always seen, and says how often others are.
_EVERY = 4
# So many times as often, where that column does not have its most frequent value.
_TIMES = 3
_MOST = 0.95


@cache
def true_network(name):
    """The network that rows are drawn from."""
    import gml

    return gml.read_model(SHARED / "data" / "networks" / f"{name}.bif")


def blanked(network, rows, share, how, seed):
    """Rows of a network, and the same with this share of all cells blanked."""
    from gml.data.dataset import missing_code

    whole = network.sample(rows, seed=seed)
    rng = np.random.default_rng([seed, round(100 * share), MECHANISMS.index(how)])
    chances = np.full((rows, len(whole.columns)), share)
    if how == "mar":
        chances = _chances(whole, share)
    gaps = rng.random(chances.shape) < chances
    columns = []
    for k, column in enumerate(whole.columns):
        holed = column.copy()
        holed[gaps[:, k]] = missing_code(column)
        columns.append(holed)
    return whole, replace(whole, columns=tuple(columns))


def _chances(whole, share):
    """How likely each cell is to be blanked, given columns that are always seen."""
    n = len(whole.columns)
    seen = list(range(0, n, _EVERY))
    others = [k for k in range(n) if k % _EVERY]
    mean = share * n / len(others)
    chances = np.zeros((whole.n_rows, n))
    for number, k in enumerate(others):
        column = whole.columns[seen[number % len(seen)]]
        usual = column == np.bincount(column).argmax()
        of_usual = usual.mean()
        high = min(_MOST, _TIMES * mean / (of_usual + _TIMES * (1 - of_usual)))
        low = min(_MOST, (mean - (1 - of_usual) * high) / of_usual)
        chances[:, k] = np.where(usual, low, high)
    return chances

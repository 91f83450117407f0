"""What a graph may owe to an accident of the rows that it was learned from.

From many candidates a learner takes the edges that look best in its rows, and some of them only
look good. An edge is taken as established if these rows show it at a level that no search over
pairs explains away; the others are *weak*, and the old counts given them flatter the model:

- a weak edge cannot be lost;
- a row of a table with w weak parents is one of those that any w of the other nodes would have
  given, so its p-value is multiplied by the number of such choices;
- if the weak parents of a node are spurious, G of the node and them given its other parents
  exceeds its degrees of freedom by selection alone: the old rows gain (G/2 − df)/n₀ nats per row
  from them when each is left out in turn, and new ones lose G/2n₀, so that a difference in fit of
  (G − df)/n₀ means nothing.

Strong parents may have been chosen too: of M sets that tell about as much, the learner takes the
one that tells most in these rows. With i = ln P(x | parents)/P(x), whose mean is the information,
its mean over the old rows is too large by at most √(2 ln M) sd(i)/√n₀, the expected maximum of M
independent normal variables. Sets that tell equally much are far from independent, as they concern
the same x: in the worst case, columns that are all copies of one hidden column, they gain 0.06 to
0.45 of it. As nothing shows whether a graph was given or chosen, half of it is allowed as well.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.gate.families import FamilyCounts
from gml.gate.tails import log_chi2_tail

# χ² is rough where tables are sparse; only results far beyond the level are beyond doubt.
_DOUBT = 7.0
_SHARE_OF_MAXIMUM = 0.5


def level_beyond_doubt(alpha: float, n_nodes: int) -> float:
    """ln of the p-value up to which a model's own rows show an edge, whatever pairs were tried."""
    return math.log(alpha / max(1, math.comb(n_nodes, 2))) - _DOUBT


def log_choices_of(n_nodes: int, n_chosen: int) -> float:
    """ln of the number of sets of other nodes that might take the place of so many parents."""
    return math.log(math.comb(max(n_nodes - 1, n_chosen), n_chosen))


def gain_of_choice(n_nodes: int, n_parents: int, variance: float, n: int) -> float:
    """Nats per row that the best of all sets of parents may owe to having been chosen.

    `variance` is that of i over the n rows of the model.
    """
    return _SHARE_OF_MAXIMUM * math.sqrt(2 * log_choices_of(n_nodes, n_parents) * variance / n)


@dataclass(frozen=True)
class Selection:
    """Which parents of each table are weak, by position, and the number of nodes."""

    weak: Mapping[tuple[str, ...], tuple[int, ...]]
    """By the key of the table."""
    n_nodes: int

    def of(self, family: FamilyCounts) -> tuple[int, ...]:
        """The weak parents of a node."""
        return self.weak[family.key]

    def log_choices(self, family: FamilyCounts) -> float:
        """ln of the number of sets of nodes that might take the place of the weak parents."""
        return log_choices_of(self.n_nodes, len(self.of(family)))

    def allowance(self, families: Sequence[FamilyCounts]) -> float:
        """Nats per row by which the fit may differ merely by the choice of weak edges."""
        total = []
        for family in families:
            if not family.parents or family.old is None:
                continue
            n, weak = max(1, int(family.old.sum())), self.of(family)
            g, df = _g_of_parents(family, weak) if weak else (0.0, 0.0)
            variance = _spread_of_information(family.old)
            chosen = gain_of_choice(self.n_nodes, len(family.parents), variance, n)
            total.append(max((g - df) / n, chosen))
        return math.fsum(total)


def _spread_of_information(old: NDArray[np.int64]) -> float:
    """Variance of ln P(x | parents)/P(x) over the rows of a table."""
    rows, columns = old.sum(axis=1, keepdims=True), old.sum(axis=0, keepdims=True)
    seen = old > 0
    n = max(1, int(old.sum()))
    ratio = np.where(seen, old / np.where(seen, rows * (columns / n), 1.0), 1.0)
    weights, nats = old[seen] / n, np.log(ratio[seen])
    mean = math.fsum((weights * nats).tolist())
    return math.fsum((weights * (nats - mean) ** 2).tolist())


def weak_parents(families: Sequence[FamilyCounts], n_nodes: int, alpha: float) -> Selection:
    """The parents that the model's own rows do not show far beyond α over the pairs of nodes.

    Each is tested by G given the others. A model without counts has none, as it is taken as exact.
    """
    level = level_beyond_doubt(alpha, n_nodes)
    weak = {
        family.key: tuple(
            k
            for k in range(len(family.parents))
            if family.old is not None and log_chi2_tail(*_g_of_parents(family, [k])) > level
        )
        for family in families
    }
    return Selection(weak, n_nodes)


def _g_of_parents(family: FamilyCounts, chosen: Sequence[int]) -> tuple[float, float]:
    """G of the node and some of its parents given the others, and its degrees of freedom."""
    assert family.old is not None
    sizes = [len(parent.levels or ()) for parent in family.parents]
    levels = family.old.shape[1]
    last = range(len(sizes) - len(chosen), len(sizes))
    table = np.moveaxis(family.old.reshape(*sizes, levels), list(chosen), list(last))
    table = table.reshape(-1, math.prod(sizes[k] for k in chosen), levels)
    seen = np.ascontiguousarray(table[table.any(axis=(1, 2))])
    if len(seen) == 0:
        return 0.0, 0.0
    found = kernel.active().table_statistics_of(seen)
    return float(found.g[0]), float(found.df_adjusted[0])

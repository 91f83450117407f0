"""What a graph may owe to an accident of the rows that it was learned from.

Of many candidates a learner takes the edges that look best in its rows, and some of them are
nothing but that. An edge is taken as established if these rows show it at a level that no search
over pairs explains away; the others are *weak*, and the old counts given them flatter the model:

- a weak edge cannot be lost;
- a row of a table with w weak parents is one of those that any w of the other nodes would have
  given, so that its p-value is multiplied by the number of such choices;
- if the weak parents of a node are spurious, G of the node and them given its other parents
  exceeds its degrees of freedom by selection alone: the old rows gain (G/2 − df)/n₀ nats a row by
  them when each is left out in turn, and new ones lose G/2n₀, so that (G − df)/n₀ of a difference
  in fit mean nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gml import kernel
from gml.check.families import FamilyCounts
from gml.check.tails import log_chi2_tail

# χ² is rough where tables are sparse; only what is far beyond the level is beyond doubt.
_DOUBT = 7.0


@dataclass(frozen=True)
class Selection:
    """Which parents of each node are weak, by position, among how many nodes."""

    weak: Mapping[str, tuple[int, ...]]
    n_nodes: int

    def of(self, family: FamilyCounts) -> tuple[int, ...]:
        """The weak parents of a node."""
        return self.weak[family.variable.name]

    def log_choices(self, family: FamilyCounts) -> float:
        """ln of the number of sets of nodes that might stand in the place of the weak parents."""
        n_weak = len(self.of(family))
        return math.log(math.comb(max(self.n_nodes - 1, n_weak), n_weak))

    def allowance(self, families: Sequence[FamilyCounts]) -> float:
        """Nats a row by which the fit may differ for nothing but the choice of weak edges."""
        total = []
        for family in families:
            weak = self.of(family)
            if weak and family.old is not None:
                g, df = _g_of_parents(family, weak)
                total.append(max(0.0, g - df) / max(1, int(family.old.sum())))
        return math.fsum(total)


def weak_parents(families: Sequence[FamilyCounts], n_nodes: int, alpha: float) -> Selection:
    """The parents that the model's own rows do not show far beyond α over the pairs of nodes.

    Each is tested by G given the others. A model without counts has none: it is taken as exact.
    """
    level = math.log(alpha / max(1, math.comb(n_nodes, 2))) - _DOUBT
    weak = {
        family.variable.name: tuple(
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

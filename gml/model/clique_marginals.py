"""Distributions of sets of nodes of a model, most of them from the cliques of one elimination."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gml.model.factor import margin_over
from gml.model.inference import Inference
from gml.model.model import AskedModel
from gml.resources import budget_in_force

# Tables held at one time: those of the elimination, their rows as shares, the cliques.
_COPIES = 3

Table = NDArray[np.float64]


class CliqueMarginals:
    """Distributions of sets of nodes, from the cliques of one elimination where possible.

    Examples
    --------
    >>> import gml
    >>> net = gml.fit("sample_data/asia.csv", "sample_data/asia.dot")
    >>> CliqueMarginals(net).of(["smoke"]).round(4).tolist()
    [0.5002, 0.4998]
    """

    def __init__(self, net: AskedModel, *, max_memory: int | None = None) -> None:
        budget = budget_in_force(max_memory)
        self.inference = Inference(net, max_memory=budget // _COPIES)
        self._sizes = {v.name: len(v.levels or ()) for v in net.variables}
        self._cliques: dict[str, tuple[list[str], Table]] = {}
        """By the node that was eliminated: the names of the axes, that node last, and the table."""
        self._place: dict[str, int] = {}
        for step in self.inference.posterior_steps({}):
            name = net.names[step.node]
            around = [net.names[parent] for parent in step.parents]
            shares = step.table.reshape([self._sizes[other] for other in (*around, name)])
            joint = self._within_clique(around)[..., np.newaxis] * shares
            self._place[name] = len(self._place)
            self._cliques[name] = ([*around, name], joint)

    def of(self, names: Sequence[str]) -> Table:
        """Return the distribution of some nodes, with one axis each."""
        # Nodes with one level are in no clique but their own.
        varying = [name for name in names if self._sizes[name] > 1]
        scope = self._cliques[self._last(varying)][0] if varying else []
        if set(varying) <= set(scope):
            table = self._within_clique(varying)
        else:
            table, _ = self.inference.joint(varying)
        return table.reshape([self._sizes[name] for name in names])

    def _last(self, names: Sequence[str]) -> str:
        """The node that was eliminated first: if any clique has the others, its own does."""
        return max(names, key=self._place.__getitem__)

    def _within_clique(self, names: Sequence[str]) -> Table:
        if not names:
            return np.ones(())
        scope, table = self._cliques[self._last(names)]
        return margin_over(table, [scope.index(name) for name in names])

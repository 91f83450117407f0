"""Parents that come before their children in a given order, within what is known."""

from __future__ import annotations

from collections import Counter as Multiset
from collections.abc import Sequence

from gml.errors import UsageError, quote, require_whole, unknown_name
from gml.graph.graph import Graph
from gml.graph.knowledge import NO_TIER, Knowledge
from gml.learners.checked_input import checked_knowledge
from gml.name_order import NameOrder


class OrderedFamilies:
    """The parents of each variable so far, and which others may join; lists are in name order."""

    def __init__(
        self,
        names: Sequence[str],
        order: Sequence[str],
        knowledge: Knowledge,
        max_parents: int | None,
    ) -> None:
        self._names = list(names)
        _require_all_once(self._names, order)
        _require_agreement(self._names, order, knowledge)
        require_whole(0, max_parents=max_parents)
        self._most = len(names) if max_parents is None else max_parents
        self._order = NameOrder(names)
        self.nodes: list[int] = self._order.positions.tolist()
        place = {name: k for k, name in enumerate(order)}
        required = knowledge.required(names)
        decided = required | knowledge.forbidden(names)
        self._candidates: list[list[int]] = []
        self._required: list[list[int]] = []
        for x, name in enumerate(names):
            before = [j for j in self.nodes if place[names[j]] < place[name]]
            self._required.append([j for j in before if required[j, x]])
            self._candidates.append([j for j in before if not decided[j, x]])
            if len(self._required[x]) > self._most:
                raise UsageError(
                    f"{quote(name)} has {len(self._required[x])} required parents; at most "
                    f"{self._most} are allowed"
                )
        self.parents = [list(required_of) for required_of in self._required]

    def that_may_join(self, x: int) -> list[int]:
        """The candidates of a variable, if it has room for one."""
        if len(self.parents[x]) >= self._most:
            return []
        return [j for j in self._candidates[x] if j not in self.parents[x]]

    def that_may_go(self, x: int) -> list[int]:
        """The parents of a variable that are not required."""
        return [j for j in self.parents[x] if j not in self._required[x]]

    def with_(self, x: int, j: int) -> tuple[int, ...]:
        """The parents of x and j."""
        return self._order.sorted([*self.parents[x], j])

    def without(self, x: int, j: int) -> tuple[int, ...]:
        """The parents of x without j."""
        return tuple(i for i in self.parents[x] if i != j)

    def graph(self) -> Graph:
        """The DAG of these parents."""
        edges = [
            (self._names[j], "-->", self._names[x])
            for x, parents in enumerate(self.parents)
            for j in parents
        ]
        return Graph.from_edges(self._names, edges, kind="dag")


def _require_all_once(names: Sequence[str], order: Sequence[str]) -> None:
    known, placed = set(names), Multiset(order)
    for name in order:
        if name not in known:
            raise UsageError(unknown_name("variable", name, names))
    if len(placed) < len(order):
        twice = next(name for name, times in placed.items() if times > 1)
        raise UsageError(f"the order lists {quote(twice)} twice")
    for name in names:
        if name not in placed:
            raise UsageError(f"the order does not have {quote(name)}")


def _require_agreement(names: Sequence[str], order: Sequence[str], knowledge: Knowledge) -> None:
    """Refuse an order that required edges or tiers contradict."""
    checked_knowledge(knowledge, names)
    place = {name: k for k, name in enumerate(order)}
    for source, target in knowledge.require:
        if place[source] > place[target]:
            raise UsageError(
                f"{quote(source)} -> {quote(target)} is required, but the order has "
                f"{quote(target)} first"
            )
    latest, first = NO_TIER, ""
    for name, tier in zip(order, knowledge.tiers_of(order).tolist(), strict=True):
        if tier == NO_TIER:
            continue
        if tier < latest:
            raise UsageError(
                f"the order has {quote(first)} before {quote(name)}, which is of an earlier tier"
            )
        latest, first = tier, name

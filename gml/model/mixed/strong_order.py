"""In which order numbers are eliminated, and the arcs that have to be exchanged for it.

Numbers go before labels (a strong triangulation; Leimer 1989, Lauritzen 1992), by min-fill within
that. To eliminate a number is to turn the arcs from it to its children around, one after the other,
children after those that precede them, until it has none (Shachter & Kenley 1989, "Gaussian
influence diagrams"; Cowell's (2005) elimination tree in other words). What is left of it is its
distribution given evidence, labels and numbers that are eliminated later; an observed number whose
parents are all gone is a weight of the configurations of some labels.

All of this is known before there are numbers: a plan knows the labels and the numbers that each
regression will depend on, and so what they take, which is refused if it is beyond the budget.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gml.errors import listing, parameter
from gml.graph.triangulation import eliminate_by_min_fill
from gml.kernel.layout import MOST_AXES
from gml.model.junction_tree import NoRoom
from gml.model.mixed.ranked import RankedNetwork
from gml.resources import budget_in_force, format_size

# Arrays of the size of the largest that an exchange holds for a moment.
_IN_PASSING = 8


@dataclass(frozen=True)
class StrongPlan:
    """What to do with the numbers of a network, given which nodes are observed."""

    numbers: tuple[int, ...]
    """The numbers that matter, observed or not."""
    order: tuple[int, ...]
    """The numbers that are not observed, as they are eliminated."""
    exchanges: tuple[tuple[int, int], ...]
    """The arcs to turn around, one after the other: from a number to its child."""
    labels: dict[int, tuple[int, ...]]
    """The labels that each regression depends on in the end."""
    tails: dict[int, tuple[int, ...]]
    """The numbers that each regression depends on in the end."""
    cells: int
    """Figures of all regressions, and those in passing, for one row of evidence."""

    def require_room(self, net: RankedNetwork, max_memory: int | None) -> None:
        """Refuse a plan that takes more than the budget."""
        budget = budget_in_force(max_memory)
        widest = max(self.labels.values(), key=lambda labels: _cells(net, labels), default=())
        if 8 * self.cells <= budget and len(widest) < MOST_AXES - 1:
            return
        raise NoRoom(
            f"exact inference would take {format_size(8 * self.cells)}, more than "
            f"{parameter('max_memory')} allows ({format_size(budget)}): numbers that are not "
            f"observed bring together the configurations of {listing(net.names[k] for k in widest)}"
        )


def _cells(net: RankedNetwork, labels: Iterable[int]) -> int:
    return math.prod(net.sizes[k] for k in labels)


def strong_plan(
    net: RankedNetwork,
    observed: Iterable[int],
    *,
    last: Sequence[int] = (),
    everything: bool = False,
    only_around: bool = False,
) -> StrongPlan:
    """Plan the elimination of all numbers that matter and are not observed.

    Parameters
    ----------
    net
        The network.
    observed
        Nodes with known values: numbers and labels.
    last
        Numbers that matter, and are eliminated after all others.
    everything
        Whether all numbers matter, and not only ancestors of those observed and of the last ones.
    only_around
        Whether numbers that evidence separates from the last ones are left out.
    """
    seen = set(observed)
    observed_numbers = [k for k in net.numbers if k in seen]
    matter = set(net.numbers)
    if not everything:
        matter &= net.ancestors([*observed_numbers, *last])
    if only_around:
        matter &= _connected(net, matter, seen, last)
    numbers = tuple(sorted(matter))
    labels = {k: {j for j in net.regressions[k].labels if j not in seen} for k in numbers}
    tails = {k: {j for j in net.regressions[k].numbers if j not in seen} for k in numbers}
    families = [
        [*sorted(labels[k]), *sorted(tails[k]), *([] if k in seen else [k])] for k in numbers
    ]
    barren = matter - net.ancestors([*observed_numbers, *last])
    place = {k: at for at, k in enumerate(net.order)}
    # Each goes before its parents, with nothing to turn around.
    first = sorted(barren, key=place.__getitem__, reverse=True)
    middle = [k for k in numbers if k not in seen and k not in barren and k not in last]
    stages = [[k] for k in first] + [middle, [k for k in last if k in matter]]
    order = [found.node for found in eliminate_by_min_fill(families, net.sizes, stages)]
    exchanges: list[tuple[int, int]] = []
    cells = 0
    gone: set[int] = set()
    for x in order:
        gone.add(x)
        children = [k for k in numbers if x in tails[k] and k not in gone]
        for y in sorted(children, key=lambda k: (k in seen, place[k])):
            exchanges.append((x, y))
            both = labels[x] | labels[y]
            others = tails[x] | (tails[y] - {x})
            labels[x], labels[y] = set(both), set(both)
            tails[y] = set(others)
            tails[x] = others if y in seen else others | {y}
            cells = max(cells, _IN_PASSING * _cells(net, both))
    cells += sum(_cells(net, labels[k]) * (3 + len(tails[k])) for k in numbers)
    return StrongPlan(
        numbers,
        tuple(order),
        tuple(exchanges),
        {k: tuple(sorted(found)) for k, found in labels.items()},
        {k: tuple(sorted(found)) for k, found in tails.items()},
        cells,
    )


def _connected(
    net: RankedNetwork, matter: set[int], seen: set[int], start: Sequence[int]
) -> set[int]:
    """The numbers whose regressions share numbers that are not observed with those of some."""
    hidden_of = {k: {j for j in (k, *net.regressions[k].numbers) if j not in seen} for k in matter}
    at: dict[int, list[int]] = {}
    for k, hidden in hidden_of.items():
        for j in hidden:
            at.setdefault(j, []).append(k)
    found: set[int] = set()
    reached = set(start)
    waiting = list(start)
    while waiting:
        for k in at.get(waiting.pop(), ()):
            if k not in found:
                found.add(k)
                new = hidden_of[k] - reached
                reached |= new
                waiting += new
    return found

"""A number given labels alone, from lines that also depend on numbers eliminated later.

The line of a number and those that it depends on make up a clique: all of the latter stand in the
clique of the one among them that is eliminated first. So means and errors, x = mean + F · N(0, I)
for each configuration of labels, are passed on from clique to clique, from the last one eliminated
to the number asked for; F is turned to a triangle where it has more columns than rows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from gml.errors import listing, parameter
from gml.model.junction_tree import NoRoom
from gml.model.mixed.lines import Array, Line, spread
from gml.model.mixed.ranked import RankedNetwork
from gml.model.mixed.strong_order import StrongPlan
from gml.resources import budget_in_force, format_size
from gml.stopping import check_stopped

# Share of a standard deviation below which what is left is rounding.
_ROUNDING = 1e-13


class _Clique(NamedTuple):
    """A number and those that its line depends on, given labels."""

    scope: tuple[int, ...]
    labels: tuple[int, ...]
    mean: Array
    """Configurations of labels, then the scope."""
    factor: Array
    """The same, then errors."""


class Margins:
    """Numbers given labels, by the lines of a plan whose numbers all lead to observed ones."""

    def __init__(
        self,
        net: RankedNetwork,
        plan: StrongPlan,
        lines: Mapping[int, Line],
        max_memory: int | None,
    ) -> None:
        self._net = net
        self._plan = plan
        self._lines = lines
        self._max_memory = max_memory
        self._when = {k: at for at, k in enumerate(plan.order)}
        self._cliques: dict[int, _Clique] = {}

    def of(self, number: int) -> Line:
        """Return a number given labels."""
        path = _path(self._plan, number)
        needed = {*path, *self._cliques}
        try:
            together = [k for k in reversed(self._plan.order) if k in needed]
            _require_room(self._net, self._plan, together, self._max_memory)
        except NoRoom:
            self._cliques.clear()
            _require_room(self._net, self._plan, path, self._max_memory)
        for k in path:
            if k not in self._cliques:
                check_stopped()
                tail = tuple(sorted(self._lines[k].slopes, key=self._when.__getitem__))
                above = self._cliques[tail[0]] if tail else None
                self._cliques[k] = _clique(self._net, k, self._lines[k], tail, above)
        found = self._cliques[number]
        sd = _lengths(found.factor[..., :1, :])[..., 0]
        mean = found.mean[..., 0]
        return Line(found.labels, mean[None], {}, sd[None], np.abs(mean)[None])


def _path(plan: StrongPlan, number: int) -> list[int]:
    """The numbers whose cliques lead to that of a number, it being the last."""
    needed = {number}
    for k in plan.order:
        if k in needed:
            needed |= {*plan.tails[k]}
    return [k for k in reversed(plan.order) if k in needed]


def _require_room(
    net: RankedNetwork, plan: StrongPlan, path: Sequence[int], max_memory: int | None
) -> None:
    labels: dict[int, set[int]] = {}
    for k in path:
        labels[k] = {*plan.labels[k]}.union(*(labels[j] for j in plan.tails[k]))
    widest = max(labels.values(), key=lambda own: math.prod(net.sizes[j] for j in own))
    size = 8 * sum(
        math.prod(net.sizes[j] for j in labels[k]) * (len(plan.tails[k]) + 3) ** 2 for k in path
    )
    budget = budget_in_force(max_memory)
    if size > budget:
        raise NoRoom(
            f"it would take {format_size(size)}, more than {parameter('max_memory')} allows "
            f"({format_size(budget)}), over the configurations of "
            f"{listing(net.names[k] for k in sorted(widest))}"
        )


def _clique(
    net: RankedNetwork, number: int, line: Line, tail: tuple[int, ...], above: _Clique | None
) -> _Clique:
    labels = tuple(sorted({*line.labels, *(above.labels if above is not None else ())}))
    shape = tuple(net.sizes[k] for k in labels)

    def own(array: Array) -> Array:
        return np.broadcast_to(spread(array, line.labels, labels)[0], shape)

    if above is None:
        return _Clique(
            (number,), labels, own(line.intercept)[..., None], own(line.sd)[..., None, None]
        )
    rows = [above.scope.index(k) for k in tail]
    kept = {*above.labels}
    sizes = [net.sizes[k] if k in kept else 1 for k in labels]
    mean = above.mean[..., rows]
    factor = above.factor[..., rows, :]
    mean = np.broadcast_to(mean.reshape((*sizes, len(tail))), (*shape, len(tail)))
    factor = np.broadcast_to(
        factor.reshape((*sizes, *factor.shape[-2:])), (*shape, *factor.shape[-2:])
    )
    slopes = np.stack([own(line.slopes[k]) for k in tail], axis=-1)
    errors = (slopes[..., None] * factor).sum(axis=-2)
    # A number without an error of its own that is left with rounding does not vary.
    terms = (np.abs(slopes) * _lengths(factor)).sum(axis=-1)
    still = (own(line.sd) == 0) & (_lengths(errors[..., None, :])[..., 0] <= _ROUNDING * terms)
    errors = np.where(still[..., None], 0.0, errors)
    whole = np.zeros((*shape, len(tail) + 1, factor.shape[-1] + 1))
    whole[..., 0, :-1] = errors
    whole[..., 0, -1] = own(line.sd)
    whole[..., 1:, :-1] = factor
    here = own(line.intercept) + (slopes * mean).sum(axis=-1)
    return _Clique(
        (number, *tail), labels, np.concatenate([here[..., None], mean], axis=-1), _narrow(whole)
    )


def _narrow(factor: Array) -> Array:
    """Errors with no more columns than rows, of the same covariance."""
    if factor.shape[-1] <= factor.shape[-2]:
        return factor
    return np.swapaxes(np.linalg.qr(np.swapaxes(factor, -1, -2), mode="r"), -1, -2)


def _lengths(factor: Array) -> Array:
    """Euclidean lengths of rows of numbers of any magnitude."""
    largest = np.abs(factor).max(axis=-1, initial=0.0)
    safe = np.where(largest > 0, largest, 1.0)
    found: Array = largest * np.sqrt(((factor / safe[..., None]) ** 2).sum(axis=-1))
    return found

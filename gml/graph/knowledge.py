"""What is known about a graph before the data speak: required and forbidden edges, and tiers.

A variable of a later tier is never a cause of one of an earlier tier; edges within a tier are
allowed. Variables in no tier are free.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gml.errors import DataError, listing, quote
from gml.graph.order import find_cycle
from gml.graph.orientation import Matrix

Arc = tuple[str, str]

NO_TIER = -1
"""Position of a variable in no tier."""


@dataclass(frozen=True, repr=False)
class Knowledge:
    """Required and forbidden arcs (from, to) and tiers, by name.

    Examples
    --------
    >>> Knowledge(tiers=(("age",), ("smoke", "lung"))).require_consistent()
    >>> Knowledge(require=(("a", "b"),), forbid=(("a", "b"),)).require_consistent()
    Traceback (most recent call last):
    gml.errors.DataError: contradictory knowledge: 'a' -> 'b' is both required and forbidden
    >>> Knowledge(require=(("smoke", "lung"),), tiers=(("age",), ("smoke", "lung")))
    <Knowledge: require 'smoke -> lung'; tiers 'age', 'smoke, lung'>
    """

    require: tuple[Arc, ...] = ()
    forbid: tuple[Arc, ...] = ()
    tiers: tuple[tuple[str, ...], ...] = ()
    before_demands: Knowledge | None = field(default=None, compare=False)
    """What was known before a score added what it demands of graphs; None if it did not."""

    @property
    def told(self) -> Knowledge:
        """What somebody knows, without what only a score demands of graphs."""
        return self if self.before_demands is None else self.before_demands

    def decided(self, names: Sequence[str]) -> Matrix:
        """Return the matrix of arcs that an edge has to be, if there is one."""
        matrix: Matrix = self.required(names) | self.forbidden(names).T
        return matrix

    def __repr__(self) -> str:
        parts = {
            "require": [f"{cause} -> {effect}" for cause, effect in self.require],
            "forbid": [f"{cause} -> {effect}" for cause, effect in self.forbid],
            "tiers": [", ".join(tier) for tier in self.tiers],
        }
        told = [f"{name} {listing(said)}" for name, said in parts.items() if said]
        return f"<Knowledge: {'; '.join(told) or 'none'}>"

    def __bool__(self) -> bool:
        return bool(self.require or self.forbid or self.tiers)

    def __add__(self, other: Knowledge) -> Knowledge:
        """Join two sources of knowledge; only one of them may have tiers."""
        if self.tiers and other.tiers and self.tiers != other.tiers:
            raise DataError("tiers are given twice; give them in one place")
        return Knowledge(
            self.require + other.require, self.forbid + other.forbid, self.tiers or other.tiers
        )

    def renamed(self, new: Mapping[str, str]) -> Knowledge:
        """Return the same knowledge with other names for some variables."""

        def arcs(some: tuple[Arc, ...]) -> tuple[Arc, ...]:
            return tuple((new.get(a, a), new.get(b, b)) for a, b in some)

        tiers = tuple(tuple(new.get(name, name) for name in tier) for tier in self.tiers)
        return Knowledge(arcs(self.require), arcs(self.forbid), tiers)

    @property
    def names(self) -> list[str]:
        """The variables that it mentions, in order of appearance."""
        arcs = [name for arc in (*self.require, *self.forbid) for name in arc]
        return list(dict.fromkeys([*arcs, *(name for tier in self.tiers for name in tier)]))

    def require_consistent(self) -> None:
        """Raise an error that names the first contradiction."""
        tier_of: dict[str, int] = {}
        for position, tier in enumerate(self.tiers):
            for name in tier:
                if tier_of.setdefault(name, position) != position:
                    raise _contradiction(f"{quote(name)} is in two tiers")
        for source, target in (*self.require, *self.forbid):
            if source == target:
                raise _contradiction(f"an edge leads from {quote(source)} to itself")
        forbidden = set(self.forbid)
        required = set(self.require)
        for source, target in self.require:
            arc = f"{quote(source)} -> {quote(target)}"
            if (source, target) in forbidden:
                raise _contradiction(f"{arc} is both required and forbidden")
            if (target, source) in required:
                raise _contradiction(f"{arc} and its reverse are both required")
            if tier_of.get(source, -1) > tier_of.get(target, len(self.tiers)):
                raise _contradiction(f"{arc} is required but leads to an earlier tier")
        names = sorted({name for arc in self.require for name in arc})
        index = {name: i for i, name in enumerate(names)}
        successors: list[list[int]] = [[] for _ in names]
        for source, target in sorted(required):
            successors[index[source]].append(index[target])
        cycle = find_cycle(names, successors)
        if cycle is not None:
            shown = " -> ".join(quote(name) for name in cycle)
            raise _contradiction(f"the required edges make a cycle: {shown}")

    def tiers_of(self, names: Sequence[str]) -> NDArray[np.int32]:
        """Return the tier of each variable, NO_TIER where it has none."""
        tier_of = {name: position for position, tier in enumerate(self.tiers) for name in tier}
        return np.array([tier_of.get(name, NO_TIER) for name in names], dtype=np.int32)

    def required(self, names: Sequence[str]) -> Matrix:
        """Return the matrix of required arcs."""
        return self._matrix(self.require, names)

    def forbidden(self, names: Sequence[str]) -> Matrix:
        """Return the matrix of arcs forbidden outright, by tiers, or by a required reverse."""
        tiers = self.tiers_of(names)
        backwards = (tiers[:, None] > tiers[None, :]) & (tiers[None, :] != NO_TIER)
        matrix: Matrix = self._matrix(self.forbid, names) | self.required(names).T | backwards
        return matrix

    @staticmethod
    def _matrix(arcs: Sequence[Arc], names: Sequence[str]) -> Matrix:
        index = {name: i for i, name in enumerate(names)}
        matrix = np.zeros((len(names), len(names)), dtype=bool)
        for source, target in arcs:
            if source in index and target in index:
                matrix[index[source], index[target]] = True
        return matrix


def _contradiction(what: str) -> DataError:
    return DataError(f"contradictory knowledge: {what}")

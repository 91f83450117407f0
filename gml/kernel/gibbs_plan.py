"""Plans of Gibbs sampling: which variable is drawn given which others, from which tables.

The tables of a model lie end to end, each with its last variable fastest. The draw of a variable of
a chain in a sweep is made of 40 random bits that depend only on the variable's key, the sweep and
the chain, so that any chains can be drawn anywhere and are the same: of each level, the probability
is right to 2⁻⁴⁰, and one below half of that is 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

GROUP = 64
"""Chains are drawn in groups of so many."""
BITS = 40
"""Random bits of a draw."""


@dataclass(frozen=True)
class ScopeLayout:
    """Tables over variables, end to end: scope k has members[starts[k]:starts[k+1]]."""

    members: NDArray[np.uint32]
    strides: NDArray[np.uint64]
    starts: NDArray[np.uint64]
    tables: NDArray[np.uint64]
    """Where each table begins, and in the end all cells."""

    @classmethod
    def of(cls, scopes: Sequence[tuple[int, ...]], n_levels: Sequence[int]) -> ScopeLayout:
        """Lay the tables of some scopes out."""
        members: list[int] = []
        strides: list[int] = []
        starts, tables = [0], [0]
        for scope in scopes:
            sizes = [n_levels[k] for k in scope]
            members += scope
            strides += [math.prod(sizes[i + 1 :]) for i in range(len(sizes))]
            starts.append(len(members))
            tables.append(tables[-1] + math.prod(sizes))
        return cls(
            np.array([*members, 0], dtype=np.uint32),
            np.array([*strides, 0], dtype=np.uint64),
            np.array(starts, dtype=np.uint64),
            np.array(tables, dtype=np.uint64),
        )

    @property
    def n_cells(self) -> int:
        """Cells of all tables."""
        return int(self.tables[-1])

    @property
    def n_scopes(self) -> int:
        """How many tables there are."""
        return len(self.starts) - 1


@dataclass(frozen=True)
class GibbsFactor:
    """A table over the variable drawn and some neighbours; `members` are places in the blanket."""

    start: int
    stride: int
    members: tuple[int, ...]
    strides: tuple[int, ...]


@dataclass(frozen=True)
class GibbsStep:
    """Draw `target` given the variables that share a table with it, its blanket."""

    target: int
    blanket: tuple[int, ...]
    factors: tuple[GibbsFactor, ...]
    n_listed: int
    """Thresholds that are listed for all configurations of the blanket; 0 if these are too many."""


@dataclass(frozen=True)
class GibbsPlan:
    """The steps of a sweep, in order; `keys` has a row of two 64-bit numbers per variable."""

    n_levels: tuple[int, ...]
    steps: tuple[GibbsStep, ...]
    keys: NDArray[np.uint64]
    n_cells: int

    @property
    def n_listed(self) -> int:
        """Thresholds of all steps that are listed."""
        return sum(step.n_listed for step in self.steps)

    @classmethod
    def of(
        cls,
        scopes: Sequence[tuple[int, ...]],
        n_levels: Sequence[int],
        keys: NDArray[np.uint64],
        *,
        drawn: Sequence[int],
        most_cells: int,
    ) -> GibbsPlan:
        """Plan to draw some variables; blankets of at most so many cells are listed."""
        layout = ScopeLayout.of(scopes, n_levels)
        around: list[list[int]] = [[] for _ in n_levels]
        for number, scope in enumerate(scopes):
            for k in scope:
                around[k].append(number)
        steps = []
        for target in drawn:
            blanket = sorted({k for number in around[target] for k in scopes[number]} - {target})
            place = {k: i for i, k in enumerate(blanket)}
            factors = []
            for number in around[target]:
                first, last = layout.starts[number : number + 2].tolist()
                strides = dict(
                    zip(scopes[number], layout.strides[first:last].tolist(), strict=True)
                )
                stride = strides.pop(target)
                factors.append(
                    GibbsFactor(
                        int(layout.tables[number]),
                        stride,
                        tuple(place[k] for k in strides),
                        tuple(strides.values()),
                    )
                )
            n_bits = sum(code_bits(n_levels[k]) for k in blanket)
            cells = n_levels[target] << n_bits
            n_listed = cells if cells <= most_cells else 0
            steps.append(GibbsStep(target, tuple(blanket), tuple(factors), n_listed))
        return cls(tuple(n_levels), tuple(steps), keys, layout.n_cells)


def code_bits(n_levels: int) -> int:
    """Return how many bits the codes of a variable take in a configuration of its neighbours."""
    return (n_levels - 1).bit_length()

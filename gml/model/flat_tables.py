"""The tables of factors, laid out one after the other as elimination reads them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.data.dataset import Variable
from gml.model.factor import Factor
from gml.model.reach import excludes, log_span


class Tables(NamedTuple):
    """The tables of factors, one after the other; variables are numbered by name."""

    names: list[str]
    sizes: list[int]
    """Levels of each variable."""
    scopes: list[tuple[int, ...]]
    strides: list[tuple[int, ...]]
    starts: NDArray[np.int64]
    numbers: NDArray[np.float64]
    exponents: list[int]
    """Each table stands for itself times two to the power of this."""
    conditional: list[bool]
    spans: NDArray[np.float64]
    """How far the logarithms of each table go below 0; for conditional ones, which are not counted
    among those that go far, 0."""
    logs: NDArray[np.float64] | None
    """The logarithms of `numbers`, if some of those are too small for a double."""
    excludes: bool
    """Whether a number is 0."""

    def relevant(self, asked: Iterable[int]) -> tuple[list[int], list[int]]:
        """Return the variables and the factors that matter for the variables asked for.

        A variable that is not asked for, and that occurs only in the factor that is conditional in
        it, adds up to 1: both go, until no such variable is left (barren nodes; Shachter 1986).
        """
        asked = set(asked)
        speaking: list[set[int]] = [set() for _ in self.names]
        for k, scope in enumerate(self.scopes):
            for node in scope:
                speaking[node].add(k)
        gone = [False] * len(self.scopes)
        barren = set()
        waiting = [node for node in range(len(self.names)) if len(speaking[node]) == 1]
        while waiting:
            node = waiting.pop()
            if node in asked or len(speaking[node]) != 1:
                continue
            (k,) = speaking[node]
            if not self.conditional[k] or self.scopes[k][-1] != node:
                continue
            barren.add(node)
            gone[k] = True
            for other in self.scopes[k]:
                speaking[other].discard(k)
                if len(speaking[other]) == 1:
                    waiting.append(other)
        nodes = [node for node in range(len(self.names)) if node not in barren]
        return nodes, [k for k in range(len(self.scopes)) if not gone[k]]


def flat_tables(variables: Sequence[Variable], factors: Sequence[Factor]) -> Tables:
    """Lay the tables of factors out, by the last name of their scopes, then the one before it, …"""
    by_name = sorted(variables, key=lambda variable: variable.name)
    rank = {variable.name: k for k, variable in enumerate(by_name)}
    ordered = sorted(
        factors, key=lambda factor: [variable.name for variable in reversed(factor.scope)]
    )
    exponents = [0 if factor.conditional else _exponent(factor.table) for factor in ordered]
    parts = [
        np.ldexp(factor.table, -exponent) if exponent else factor.table
        for factor, exponent in zip(ordered, exponents, strict=True)
    ]
    logs = None
    if any(factor.log_table is not None for factor in ordered):
        logs = np.concatenate(
            [
                (
                    logarithms(factor.table) if factor.log_table is None else factor.log_table
                ).reshape(-1)
                - exponent * math.log(2)
                for factor, exponent in zip(ordered, exponents, strict=True)
            ]
        )
    return Tables(
        [variable.name for variable in by_name],
        [len(variable.levels or ()) for variable in by_name],
        [tuple(rank[variable.name] for variable in factor.scope) for factor in ordered],
        [strides_of(factor.table.shape) for factor in ordered],
        np.cumsum([0, *(part.size for part in parts)], dtype=np.int64)[:-1],
        np.concatenate([np.empty(0), *(part.reshape(-1) for part in parts)]),
        exponents,
        [factor.conditional for factor in ordered],
        np.array([0.0 if factor.conditional else _span(factor) for factor in ordered]),
        logs,
        any(excludes(factor) for factor in ordered),
    )


def logarithms(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(divide="ignore"):
        found: NDArray[np.float64] = np.log(numbers)
    return found


def _span(factor: Factor) -> float:
    # The largest number is between a half and 1.
    return log_span(factor) + math.log(2)


def _exponent(table: NDArray[np.float64]) -> int:
    """The exponent of the largest number: the kernel multiplies numbers that are at most 1."""
    return math.frexp(float(table.max(initial=0.0)))[1]


def strides_of(shape: Sequence[int]) -> tuple[int, ...]:
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))

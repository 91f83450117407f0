"""Potential: one term of an undirected model, a table of logarithms."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gml.data.dataset import Variable
from gml.errors import GraphError, listing

# Weighted rows are added up in any order, and others round them.
_ROUNDING = 1e-6

# Its square, and sums of as many squares as there are terms, are still doubles.
LARGEST = 1e150


@dataclass(frozen=True, eq=False, repr=False)
class Potential:
    """A term λ_c: one axis per variable of its scope; −∞ says that a cell is impossible.

    `errors`, if asked for, are the standard errors of the cells, and `intervals` their bounds, with
    a last axis for the two of them. `counts`, if known, are the rows behind each cell of the margin
    of its scope; those of a model's generators say what it was fitted on.

    Examples
    --------
    >>> a, b = Variable("A", ("n", "y")), Variable("B", ("n", "y"))
    >>> Potential((a, b), np.array([[0.5, -0.5], [-0.5, 0.5]])).strength
    0.5
    """

    scope: tuple[Variable, ...]
    table: NDArray[np.float64]
    errors: NDArray[np.float64] | None = None
    intervals: NDArray[np.float64] | None = None
    is_boundary: bool = False
    """Whether it only says what a maximum at infinity excludes, and makes no edge."""
    counts: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        where = f"the factor of {listing(self.names)}"
        if any(variable.levels is None for variable in self.scope):
            raise GraphError(f"{where} needs levels, not numbers")
        if len(set(self.names)) != len(self.scope):
            raise GraphError(f"{where} lists a variable twice")
        table = np.array(self.table, dtype=np.float64, order="C")
        shape = tuple(len(variable.levels or ()) for variable in self.scope)
        if table.shape != shape:
            sizes = " x ".join(map(str, shape)) or "a number"
            raise GraphError(f"{where} must be {sizes}, not {table.shape}")
        if np.isnan(table).any() or (table == np.inf).any():
            raise GraphError(f"{where} has a number that is not a logarithm of a finite one")
        if np.abs(table[np.isfinite(table)]).max(initial=0.0) > LARGEST:
            raise GraphError(f"{where} has a number that is too large for a logarithm")
        table.flags.writeable = False
        object.__setattr__(self, "table", table)
        if self.counts is None:
            return
        counts = np.array(self.counts, dtype=np.float64, order="C")
        if counts.shape != shape:
            raise GraphError(f"the counts of {where} do not have the shape of its table")
        if not (np.isfinite(counts).all() and (counts >= 0).all()):
            raise GraphError(f"the counts of {where} are not all numbers of rows")
        counts.flags.writeable = False
        object.__setattr__(self, "counts", counts)

    def __repr__(self) -> str:
        sizes = " x ".join(map(str, self.table.shape)) or "a number"
        return f"Potential({listing(self.names)}: {sizes})"

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the variables."""
        return tuple(variable.name for variable in self.scope)

    @property
    def is_finite(self) -> bool:
        """Whether no cell is impossible."""
        return bool(np.isfinite(self.table).all())

    @property
    def strength(self) -> float:
        """The root mean square of the finite cells: |J| for a term of two levels each."""
        finite = self.table[np.isfinite(self.table)]
        return math.sqrt(float(np.mean(finite**2))) if finite.size else 0.0


def require_counts_agree(potentials: Iterable[Potential]) -> None:
    """Refuse counts that cannot be of the same rows: of each variable there is one margin.

    Examples
    --------
    >>> a = Variable("A", ("n", "y"))
    >>> zeros = np.zeros(2)
    >>> terms = [Potential((a,), zeros, counts=np.array(rows)) for rows in ([1, 2], [2, 1])]
    >>> require_counts_agree(terms)
    Traceback (most recent call last):
    gml.errors.GraphError: the counts of the factors of 'A' and of 'A' differ in the rows of 'A'
    """
    first: Potential | None = None
    seen: dict[str, tuple[Potential, NDArray[np.float64]]] = {}
    for potential in potentials:
        if potential.counts is None:
            continue
        first = first or potential
        assert first.counts is not None
        if not math.isclose(first.counts.sum(), potential.counts.sum(), rel_tol=_ROUNDING):
            raise _disagreement(first, potential, "number of rows")
        for axis, name in enumerate(potential.names):
            others = tuple(k for k in range(potential.counts.ndim) if k != axis)
            margin = potential.counts.sum(axis=others)
            earlier, known = seen.setdefault(name, (potential, margin))
            if not np.allclose(margin, known, rtol=_ROUNDING, atol=_ROUNDING):
                raise _disagreement(earlier, potential, f"rows of {listing([name])}")


def _disagreement(one: Potential, other: Potential, where: str) -> GraphError:
    both = f"{listing(one.names)} and of {listing(other.names)}"
    return GraphError(f"the counts of the factors of {both} differ in the {where}")

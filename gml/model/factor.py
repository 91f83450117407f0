"""Factor: a table over some variables, on which inference runs.

A model of tables is a product of factors, normalised or not: a directed one has P(node | parents)
for each node, an undirected one any table of numbers, 0 or more, for each clique.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml.data.dataset import Variable
from gml.errors import GraphError, listing

_SUM_TOLERANCE = 1e-6


def margin_over(table: NDArray[Any], axes: Sequence[int]) -> NDArray[Any]:
    """Return the sums of a table over all axes but these, which come in the order given.

    Examples
    --------
    >>> margin_over(np.arange(8).reshape(2, 2, 2), [2, 0]).tolist()
    [[2, 10], [4, 12]]
    """
    others = tuple(axis for axis in range(table.ndim) if axis not in axes)
    # Once the others are gone, what is left keeps its order.
    left = sorted(axes)
    summed: NDArray[Any] = table.sum(axis=others)
    return summed.transpose([left.index(axis) for axis in axes])


@dataclass(frozen=True, eq=False, repr=False)
class Factor:
    """A table with one axis per variable of its scope.

    A `conditional` factor is P(last variable | the others): it adds up to 1 over its last axis,
    whatever the others are, and so makes no difference unless that variable is asked for.
    `log_table` has the logarithms of the table where some are of numbers too small for a double.

    Examples
    --------
    >>> a, b = Variable("a", ("x", "y")), Variable("b", ("u", "v", "w"))
    >>> Factor((a, b), np.array([[1.0, 2.0, 0.5], [3.0, 0.0, 1.0]]))
    Factor('a', 'b': 2 x 3)
    """

    scope: tuple[Variable, ...]
    table: NDArray[np.float64]
    conditional: bool = False
    log_table: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        names = [variable.name for variable in self.scope]
        numeric = [variable.name for variable in self.scope if variable.levels is None]
        if numeric:
            raise GraphError(f"a factor needs levels, and {listing(numeric)} has numbers")
        if len(set(names)) != len(names):
            raise GraphError(f"the scope of a factor lists a variable twice: {listing(names)}")
        table = np.asarray(self.table, dtype=np.float64, order="C")
        shape = tuple(len(variable.levels or ()) for variable in self.scope)
        if table.shape != shape:
            raise GraphError(
                f"the factor of {listing(names)} must be {_size(shape)}, not {_size(table.shape)}"
            )
        if not (table.min(initial=0.0) >= 0 and table.max(initial=0.0) < np.inf):
            raise GraphError(
                f"the factor of {listing(names)} has a number that is negative or not finite"
            )
        if self.log_table is not None and self.log_table.shape != shape:
            raise GraphError(f"the logarithms of {listing(names)} do not have the table's shape")
        if self.conditional and np.abs(table.sum(axis=-1) - 1.0).max() > _SUM_TOLERANCE:
            raise GraphError(
                f"the factor of {listing(names)} is conditional, but does not add up to 1 over "
                f"{names[-1]!r}"
            )
        # A view, so that the caller's own array stays writable.
        table = table.view()
        table.flags.writeable = False
        object.__setattr__(self, "table", table)

    def __repr__(self) -> str:
        names = listing(variable.name for variable in self.scope)
        return f"Factor({names}: {_size(self.table.shape)})"


def _size(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape)) or "a number"

"""What constraints leave, by linear programmes: whether anything, and which cells it excludes.

The margins that distributions have on the cliques of a junction tree are all tables that agree on
the separators (Wainwright & Jordan 2008, proposition 2.1), so a programme over the cliques is exact
without the joint table. HiGHS solves it.

*Whether constraints can hold together*: the least t by which all of them have to be missed, as
margins and features are scaled (problem.py), must not be above 1e-9; what is off by rounding holds.

*An irreducible contradiction*: constraints are dropped one after the other, in the order of the
file, wherever the others still contradict one another (the deletion filter of Chinneck & Dravnieks
1991). Where there are many, the search begins with those that the programme's dual says are needed.

*Which cells have to be 0*: those that no distribution gives more than 1e-9, but for cells without
which a margin would lack what it is given.

*Which bounds are equations*: those that leave no distribution more than 1e-9 of room, as upper
bounds of all cells do that add up to 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.errors import CannotAnswer, counted, parameter
from gml.model.entropy.constraints import AGREEMENT
from gml.model.entropy.problem import Problem
from gml.model.linear_programme import solved_programme
from gml.model.undirected.boundary.cliques_of_cells import (
    Cells,
    CliqueTree,
    smallest_supports,
    spread,
)
from gml.model.undirected.fitting import OutOfTime, Support
from gml.model.undirected.terms import Scope
from gml.progress import Deadline
from gml.resources import require_memory

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Vector = NDArray[np.float64]

_CELL_BYTES = 600
"""What a programme takes per cell of a clique, roughly."""
_MOST_CELLS = 300_000
# What HiGHS can be asked for at most.
_FEASIBLE = 1e-10
_MANY = 40
_NEEDED = 1e-9
# What constraints may be missed by beyond what they have to be.
_ROOM = AGREEMENT * 1e-3
_SPREAD = 1e-5
_MOST_ROUNDS = 200


class _Rows(NamedTuple):
    """Linear functions of the cells, what they should be, and the constraint of each."""

    matrix: csr_array
    targets: Vector
    is_bound: NDArray[np.bool_]
    """Whether the function may be larger."""
    owner: NDArray[np.int64]

    def of(self, kept: NDArray[np.bool_]) -> _Rows:
        """Return some of them."""
        at = np.flatnonzero(kept)
        return _Rows(self.matrix[at], self.targets[at], self.is_bound[at], self.owner[at])


class Polytope:
    """The tables of cliques that meet constraints.

    Examples
    --------
    >>> from gml.model.entropy.constraints import Constraints, Expectation
    >>> from gml.model.entropy.problem import problem_of
    >>> coin = {"coin": {"heads": 1.0, "tails": 0.0}}
    >>> items = [Expectation(coin, "=", a, name=str(a)) for a in (0.5, 0.25, 0.5)]
    >>> Polytope(problem_of(Constraints(tuple(items))), [(0,)]).contradiction(Deadline())
    [1, 2]
    """

    def __init__(self, problem: Problem, cliques: Iterable[Scope]) -> None:
        self.problem = problem
        self.tree = CliqueTree.of([clique for clique in cliques if clique])
        shape = problem.terms.shape
        sizes = [math.prod(shape(clique)) for clique in self.tree.cliques]
        self.n_cells = sum(sizes)
        if self.n_cells > _MOST_CELLS:
            raise CannotAnswer(
                "whether the constraints contradict one another could not be found out: the "
                f"linear programme would have {counted(self.n_cells, 'cell')}, more than "
                f"{_MOST_CELLS}"
            )
        require_memory(_CELL_BYTES * self.n_cells, None, "the search for a contradiction")
        self._starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self._numbers = [
            np.arange(start, start + size).reshape(shape(clique))
            for start, size, clique in zip(
                self._starts.tolist(), sizes, self.tree.cliques, strict=False
            )
        ]
        self._structure = self._consistent()
        self._rows = self._constrained()
        self._most = self._allowed_by_reference()
        self._least_miss: float | None = None

    # ------------------------------------------------------------------ what there is to meet

    def _place(self, scope: Scope) -> tuple[int, Scope]:
        """Return a clique that has a scope, and what of the scope varies."""
        sizes = self.problem.terms.sizes
        varying = tuple(k for k in scope if sizes[k] > 1)
        for place, clique in enumerate(self.tree.cliques):
            if {*varying} <= {*clique}:
                return place, varying
        raise CannotAnswer("the cliques do not have all constraints")

    def _cells_of(self, place: int, scope: Scope) -> NDArray[np.int64]:
        """Return the numbers of a clique's cells, one row per cell of a part of it."""
        clique = self.tree.cliques[place]
        kept = [clique.index(k) for k in scope]
        rest = [axis for axis in range(len(clique)) if axis not in kept]
        numbers = self._numbers[place].transpose(*kept, *rest)
        return numbers.reshape(math.prod(numbers.shape[: len(kept)]), -1)

    def _consistent(self) -> tuple[csr_array, Vector]:
        """Return what all tables of a tree meet: they agree, and add up to 1."""
        rows: list[NDArray[np.int64]] = []
        columns: list[NDArray[np.int64]] = []
        values: list[Vector] = []
        targets: list[float] = []

        def add(row: int, cells: NDArray[np.int64], value: float) -> None:
            rows.append(np.full(cells.size, row))
            columns.append(cells.reshape(-1))
            values.append(np.full(cells.size, value))

        for place, parent in enumerate(self.tree.parents):
            if parent < 0:
                add(len(targets), self._numbers[place], 1.0)
                targets.append(1.0)
        for child, parent, shared in self.tree.separators():
            for own, other in zip(
                self._cells_of(child, shared), self._cells_of(parent, shared), strict=True
            ):
                add(len(targets), own, 1.0)
                add(len(targets), other, -1.0)
                targets.append(0.0)
        return self._matrix(rows, columns, values, len(targets)), np.array(targets)

    def _constrained(self) -> _Rows:
        rows: list[NDArray[np.int64]] = []
        columns: list[NDArray[np.int64]] = []
        values: list[Vector] = []
        targets: list[float] = []
        is_bound: list[bool] = []
        owner: list[int] = []
        for margin in self.problem.margins:
            place, varying = self._place(margin.scope)
            cells = self._cells_of(place, varying)
            first = len(targets)
            rows.append(np.repeat(np.arange(first, first + len(cells)), cells.shape[1]))
            columns.append(cells.reshape(-1))
            values.append(np.ones(cells.size))
            targets += margin.table.reshape(-1).tolist()
            is_bound += [False] * len(cells)
            owner += [margin.which] * len(cells)
        for feature in self.problem.features:
            for part in feature.parts:
                place, varying = self._place(part.scope)
                cells = self._cells_of(place, varying)
                rows.append(np.full(cells.size, len(targets)))
                columns.append(cells.reshape(-1))
                values.append(np.repeat(part.table.reshape(-1), cells.shape[1]))
            targets.append(feature.target)
            is_bound.append(feature.is_bound)
            owner.append(feature.which)
        matrix = self._matrix(rows, columns, values, len(targets))
        return _Rows(matrix, np.array(targets), np.array(is_bound, bool), np.array(owner, np.int64))

    def _matrix(
        self,
        rows: Sequence[NDArray[np.int64]],
        columns: Sequence[NDArray[np.int64]],
        values: Sequence[Vector],
        n_rows: int,
    ) -> csr_array:
        from scipy.sparse import csr_array

        empty = np.empty(0, np.int64)
        at = (np.concatenate([empty, *rows]), np.concatenate([empty, *columns]))
        return csr_array((np.concatenate([np.empty(0), *values]), at), (n_rows, self.n_cells))

    def _allowed_by_reference(self) -> Vector:
        """Return the upper bound of each cell: 0 where the reference excludes it."""
        most = np.ones(self.n_cells)
        for table in self.problem.reference:
            if np.isneginf(table.table).any():
                place, varying = self._place(table.scope)
                cells = self._cells_of(place, varying)
                most[cells[np.isneginf(table.table).reshape(-1)]] = 0.0
        return most

    # ------------------------------------------------------------------ questions

    def miss(
        self, deadline: Deadline, chosen: Iterable[int] | None = None
    ) -> tuple[float, list[int]]:
        """Return the least t by which some constraints have to be missed, and which matter to it.

        A reference that excludes everything is infinitely far off.
        """
        from scipy.sparse import csr_array, vstack

        rows = self._rows
        if chosen is not None:
            rows = rows.of(np.isin(rows.owner, list(chosen)))
        upper = np.flatnonzero(~rows.is_bound)
        above = vstack([-rows.matrix, rows.matrix[upper]])
        slack = csr_array(-np.ones((above.shape[0], 1)))
        structure, targets = self._structure
        none = csr_array((structure.shape[0], 1))
        found = _solved(
            np.append(np.zeros(self.n_cells), 1.0),
            deadline,
            A_ub=_beside(above, slack),
            b_ub=np.concatenate([-rows.targets, rows.targets[upper]]),
            A_eq=_beside(structure, none),
            b_eq=targets,
            bounds=np.column_stack([np.zeros(self.n_cells + 1), np.append(self._most, math.inf)]),
        )
        if found is None:
            return math.inf, sorted({*rows.owner.tolist()})
        owners = np.concatenate([rows.owner, rows.owner[upper]])
        needed = np.abs(found.ineqlin.marginals) > _NEEDED
        return float(found.fun), sorted({*owners[needed].tolist()})

    def contradiction(self, deadline: Deadline) -> list[int]:
        """Return an irreducible set of constraints that cannot hold together; empty if all can.

        Once they are known to contradict one another, the end of time leaves a larger set.
        """
        left = sorted({*self._rows.owner.tolist()})
        t, needed = self.miss(deadline)
        if t <= AGREEMENT:
            return []
        try:
            # Every duality gap within rounding aside, those that the dual names contradict already.
            if len(left) > _MANY and needed and self.miss(deadline, needed)[0] > AGREEMENT:
                left = needed
            for index in list(left):
                others = [other for other in left if other != index]
                if others and self.miss(deadline, others)[0] > AGREEMENT:
                    left = others
        except OutOfTime:
            pass
        return left

    def forced_zeros(self, suspects: Sequence[Cells], deadline: Deadline) -> NDArray[np.int64]:
        """Return which of the cells suspected have to be 0, by number.

        `suspects` has a table per clique of the tree.
        """
        t = self._allowed(deadline)
        asked = np.flatnonzero(np.concatenate([s.reshape(-1) for s in suspects]) & (self._most > 0))
        for _ in range(_MOST_ROUNDS):
            positive = self._positive(asked, self._rows, t, deadline)
            if not positive.any():
                break
            asked = asked[~positive]
        return asked

    def without_room(self, deadline: Deadline) -> frozenset[int]:
        """Return the features (by their number) that are bounds, and can only be equations."""
        rows, first = self._rows, len(self._rows.targets) - len(self.problem.features)
        t = self._allowed(deadline)
        asked = np.flatnonzero(rows.is_bound)
        for _ in range(_MOST_ROUNDS):
            functions, least = rows.matrix[asked], rows.targets[asked] - t
            found = self._spread(functions, least, rows, t, deadline) if len(asked) else None
            if found is None:
                return frozenset()
            has_room = functions @ found - least > AGREEMENT + 2 * t
            if not has_room.any():
                break
            asked = asked[~has_room]
        return frozenset((asked - first).tolist())

    def _allowed(self, deadline: Deadline) -> float:
        """Return what constraints may be missed by: what they have to be, and a little."""
        if self._least_miss is None:
            self._least_miss = self.miss(deadline)[0]
        return self._least_miss + _ROOM

    def can_be_more(
        self, cells: NDArray[np.int64], left_out: Iterable[int], deadline: Deadline
    ) -> bool:
        """Whether any of some cells can be more than 0 without some of the constraints."""
        rows = self._rows.of(~np.isin(self._rows.owner, list(left_out)))
        t = self._allowed(deadline)
        return bool(self._positive(cells, rows, t, deadline).any())

    def _positive(
        self, asked: NDArray[np.int64], rows: _Rows, t: float, deadline: Deadline
    ) -> NDArray[np.bool_]:
        """Return which cells are more than 0 where as many as possible have a little."""
        from scipy.sparse import csr_array

        n = len(asked)
        if not n:
            return np.zeros(0, dtype=bool)
        picked = csr_array((np.ones(n), (np.arange(n), asked)), (n, self.n_cells))
        found = self._spread(picked, np.zeros(n), rows, t, deadline)
        if found is None:
            return np.ones(n, dtype=bool)
        return np.greater(found[asked], AGREEMENT)

    def _spread(
        self, functions: csr_array, least: Vector, rows: _Rows, t: float, deadline: Deadline
    ) -> Vector | None:
        """Return cells where as many functions of them as can be are above their least, or None."""
        from scipy.sparse import csr_array, eye_array, vstack

        n = len(least)
        structure, targets = self._structure
        upper = np.flatnonzero(~rows.is_bound)
        above = vstack([-rows.matrix, rows.matrix[upper]])
        most = np.concatenate([self._most, np.full(n, _SPREAD)])
        found = _solved(
            np.concatenate([np.zeros(self.n_cells), -np.ones(n)]),
            deadline,
            A_ub=vstack(
                [_beside(above, csr_array((above.shape[0], n))), _beside(-functions, eye_array(n))]
            ),
            b_ub=np.concatenate([t - rows.targets, t + rows.targets[upper], -least]),
            A_eq=_beside(structure, csr_array((structure.shape[0], n))),
            b_eq=targets,
            bounds=np.column_stack([np.zeros(self.n_cells + n), most]),
        )
        return None if found is None else found.x[: self.n_cells]

    def supports(self, excluded: NDArray[np.int64]) -> tuple[Support, ...]:
        """Return, in small tables, what is left without some cells and the zeros of margins."""
        possible = np.ones(self.n_cells, dtype=bool)
        possible[excluded] = False
        for margin in self.problem.margins:
            # What is given as more than 0 is not 0, however little it is.
            numbers = self._cells_of(*self._place(margin.scope))
            lost = (margin.table.reshape(-1) > 0) & ~possible[numbers].any(axis=1)
            possible[numbers[lost]] = True
        tables = [possible[numbers] for numbers in self._numbers]
        for margin in self.problem.margins:
            place, varying = self._place(margin.scope)
            cells = (margin.table > 0).reshape(self.problem.terms.shape(varying))
            tables[place] &= spread(cells, varying, self.tree.cliques[place])
        self.tree.propagate(tables)
        if not all(table.any() for table in tables):
            return ()
        return smallest_supports(self.problem.terms, self.tree, tables)


def _beside(left: Any, right: Any) -> Any:
    from scipy.sparse import hstack

    return hstack([left, right], format="csr")


def _solved(costs: Vector, deadline: Deadline, **programme: Any) -> Any:
    """Return the solution of a linear programme; None if it has none."""
    exact = {"primal_feasibility_tolerance": _FEASIBLE, "dual_feasibility_tolerance": _FEASIBLE}
    for tolerances in (exact, {}):
        if deadline.passed:
            raise _out_of_time()
        found = solved_programme(costs, deadline=deadline, options=tolerances, **programme)
        if found.status == 0:
            return found
        if found.status == 2:
            return None
    if deadline.passed:
        raise _out_of_time()
    raise CannotAnswer(
        "whether the constraints contradict one another could not be found out: the linear "
        "programme did not converge"
    )


def _out_of_time() -> OutOfTime:
    return OutOfTime(
        f"{parameter('max_seconds')} passed while linear programmes were looking for what the "
        "constraints leave"
    )

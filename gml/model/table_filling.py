"""What rows of labels lack: posteriors, the best levels together, or draws, for many rows.

Where tables are small there is one plan for all rows, into which the evidence of each is entered
(`Inference.filling_plan`), so that it does not matter how many sets of holes there are; otherwise
rows with the same holes share a plan. The kernel runs it row by row. Which of the two it is depends
on the model alone, and so no row depends on the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.data.row_groups import rows_by_group
from gml.model.inference import FillingPlan, Inference, PosteriorStep
from gml.model.row_draws import RowDraws
from gml.model.table_elimination import shares_of
from gml.stopping import check_stopped

Cells = NDArray[np.float64]
Positions = NDArray[np.int64]

_ROWS_AT_ONCE = 4096
# Probabilities of the steps of all rows of a block.
_BLOCK_CELLS = 1 << 20


class RowPosteriors(NamedTuple):
    """The probabilities of the levels of each column, rows × levels, and which rows can be."""

    tables: list[Cells]
    possible: NDArray[np.bool_]


class TableFilling:
    """Rows of some columns of a network of labels: codes, -1 where one is missing.

    `entered` says that rows may lack any of the columns; otherwise all lack the same.
    """

    def __init__(self, asked: Inference, names: Sequence[str], *, entered: bool) -> None:
        self._asked = asked
        self._names = list(names)
        self._entered = entered
        variables = asked.model.variables
        self._nodes = [variable.name for variable in variables]
        self._sizes = [len(variable.levels or ()) for variable in variables]
        self._places = [self._nodes.index(name) for name in names]
        self._shared: dict[bool, FillingPlan | None] = {}

    @property
    def takes_any_holes(self) -> bool:
        """Whether one plan is for all rows."""
        return self._entered and self._plan([]) is not None

    def _plan(self, known: Sequence[int], *, maximised: bool = False) -> FillingPlan | None:
        if not self._entered:
            names = [self._names[k] for k in known]
            return self._asked.filling_plan(names, maximised=maximised)
        if maximised not in self._shared:
            self._shared[maximised] = self._asked.filling_plan(
                self._names, maximised=maximised, entered=True
            )
        return self._shared[maximised]

    def _of(self, codes: Positions, *, maximised: bool = False) -> tuple[FillingPlan, Positions]:
        """The plan for some rows, and what they enter into it."""
        known = [] if self._entered else np.flatnonzero(codes[0] >= 0).tolist()
        found = self._plan(known, maximised=maximised)
        assert found is not None
        given = codes if self._entered else codes[:, known]
        return found, given[:, found.columns]

    def posteriors(self, codes: Positions) -> RowPosteriors:
        """What rows say of each column by itself."""
        found, given = self._of(codes)
        tables = [np.ones((len(codes), self._sizes[place])) for place in self._places]
        log_p = np.empty(len(codes))
        at = {node: k for k, node in enumerate(found.position)}
        for start in range(0, len(codes), _ROWS_AT_ONCE):
            check_stopped()
            part = slice(start, start + _ROWS_AT_ONCE)
            marginals, log_p[part] = found.plan.marginals(given[part])
            for table, place in zip(tables, self._places, strict=True):
                if at[place] in marginals:
                    table[part] = marginals[at[place]]
        return RowPosteriors(tables, log_p > -np.inf)

    def best(self, codes: Positions) -> Positions:
        """The levels of all columns in the most probable assignment of all nodes."""
        found, given = self._of(codes, maximised=True)
        at = {node: k for k, node in enumerate(found.position)}
        levels = codes.copy()
        for row, _ in enumerate(found.plan.eliminate_rows(given)):
            if not row % _ROWS_AT_ONCE:
                check_stopped()
            best = found.plan.trace()
            for k in np.flatnonzero(codes[row] < 0).tolist():
                levels[row, k] = best[at[self._places[k]]]
        return levels

    def drawn(
        self, codes: Positions, of_row: Positions, numbers: Positions, seed: int
    ) -> Positions:
        """Draws of all columns, for rows that are some of `codes`, by their numbers."""
        draws = RowDraws(self._nodes, seed, numbers)
        by_codes = rows_by_group(of_row, len(codes))
        found = codes[of_row]
        for some, steps in self._steps(codes):
            rows = np.concatenate(by_codes[some]).astype(np.int64)
            own = of_row[rows] - some.start
            levels: dict[int, Positions] = {}
            for node, parents, table in steps:
                at = own
                for parent in parents:
                    at = at * self._sizes[parent] + levels[parent]
                levels[node] = draws.levels(node, table, at, rows)
            for k, place in enumerate(self._places):
                if place in levels:
                    found[rows, k] = levels[place]
        return found

    def _steps(self, codes: Positions) -> Iterator[tuple[slice, list[PosteriorStep]]]:
        """What draws all nodes that rows do not observe, parents first, in blocks of rows.

        The tables of a step have the configurations of the first row, then those of the next.
        """
        (plan, _, position, sizes), given = self._of(codes)
        cells = [int(np.prod([sizes[k] for k in clique])) for clique in plan.cliques]
        at_once = max(1, min(_ROWS_AT_ONCE, _BLOCK_CELLS // max(1, sum(cells))))
        for start in range(0, len(codes), at_once):
            check_stopped()
            part = given[start : start + at_once]
            tables = [np.empty((len(part), size)) for size in cells]
            for row, _ in enumerate(plan.eliminate_rows(part)):
                for s, table in enumerate(tables):
                    table[row] = plan.table(s).reshape(-1)
            steps = [
                PosteriorStep(position[node], (), np.ones((len(part), 1))) for node in plan.certain
            ]
            for s in reversed(range(len(cells))):
                *parents, node = plan.cliques[s]
                shares = shares_of(tables[s].reshape(-1, sizes[node]))
                steps.append(
                    PosteriorStep(position[node], tuple(position[k] for k in parents), shares)
                )
            yield slice(start, start + len(part)), steps

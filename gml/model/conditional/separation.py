"""Whether the conditional likelihood has a maximum at all, which is asked without a penalty.

It has none iff some direction w of the weights never lowers the probability of a row that was seen
and raises that of at least one (Albert & Anderson 1984 for one target): every value y seen with x
is among the best by w·f(·, x), and for some x not all values are as good. Along it the weights grow
without end.

Zeros are looked for first: a level of a target that was never seen, at all or with a level of an
input or of a joined target, is such a direction by itself (numeric inputs have no zeros). What else
there is a linear programme finds. That no value beats those seen is said over the junction tree:
with v(x) the best value and messages between cliques, the share of no cell exceeds what its clique
passes on, as maxima on trees are found by passing messages. Of the w with no number beyond 1 it
takes the one for which v(x) is highest above the mean over all values of y, summed over the x; that
is 0 iff there is a maximum.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gml.errors import CannotAnswer, listing, parameter, quote
from gml.model.conditional.likelihood import unary_weights
from gml.model.conditional.rows import PartRows, Statistics
from gml.model.conditional.terms import Scope, Vector
from gml.model.junction_tree import JunctionTree, build_tree
from gml.model.linear_programme import solved_programme
from gml.progress import Deadline, reporter
from gml.resources import require_memory

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Index = NDArray[np.int64]

_ENTRY_BYTES = 64
# Solutions have numbers of the size of 1, which the programme finds to 1e-7.
_RISE = 1e-4


def require_maximum(rows: PartRows, counted: Statistics, *, deadline: Deadline) -> None:
    """Refuse rows whose likelihood has no maximum; see the module."""
    zero = _zero(rows, counted)
    if zero is not None:
        raise _no_maximum(zero)
    rises = _Programme(rows, counted).rises(deadline)
    if rises:
        names = listing(target.name for target in rows.terms.targets)
        raise _no_maximum(f"the other columns tell levels of {names} apart perfectly")


def _no_maximum(why: str) -> CannotAnswer:
    return CannotAnswer(
        f"without a penalty there is no best field: {why}, so the likelihood rises as weights grow "
        f"without end; give {parameter('l2')} above 0"
    )


def _zero(rows: PartRows, counted: Statistics) -> str | None:
    """Name a feature that could have been seen, but never was."""
    terms = rows.terms
    variables = {variable.name: variable for variable in (*terms.targets, *terms.inputs)}
    targets = {target.name for target in terms.targets}
    for scope, table in terms.tables(counted.observed).items():
        if scope[-1] in terms.scales:
            continue
        possible = np.ones(table.shape, dtype=bool)
        if len(scope) == 2 and scope[1] not in targets:
            possible &= table.sum(axis=0, keepdims=True) > 0
        cells = np.argwhere((table == 0) & possible)
        if len(cells):
            said = [
                f"{name}={(variables[name].levels or ())[code]}"
                for name, code in zip(scope, cells[0].tolist(), strict=True)
            ]
            return f"no row has {quote(' with '.join(said))}"
    return None


class _Programme:
    """The linear programme: columns are weights, messages and v(x)."""

    def __init__(self, rows: PartRows, counted: Statistics) -> None:
        self._rows = rows
        self._terms = rows.terms
        self._possible = np.flatnonzero(counted.times > 0)
        self._n = len(self._possible)
        self._inputs = rows.inputs[:, self._possible]
        sizes = [len(target.levels or ()) for target in self._terms.targets]
        scopes = [*((k,) for k in range(len(sizes))), *self._terms.pairs]
        self._tree: JunctionTree = build_tree(scopes, sizes, [list(range(len(sizes)))])
        self._start = [self._terms.size]
        """Where the messages of each clique begin, by row and by cell of the separator; v is that
        of the last clique, the root."""
        for clique in self._tree.cliques:
            self._start.append(self._start[-1] + self._n * self._tree.cells(clique[:-1]))

    def rises(self, deadline: Deadline) -> bool:
        """Whether there is a direction along which the likelihood rises for ever."""
        cells = sum(self._tree.cells(clique) for clique in self._tree.cliques)
        entries = self._n * cells * (len(self._terms.inputs) + 3)
        require_memory(_ENTRY_BYTES * entries, None, "the search for a maximum at infinity")
        reporter().status("looking for a maximum at infinity")
        rows = self._matrix()
        aim = self._aim()
        size = self._terms.size
        bounds = np.full((rows.shape[1], 2), [-np.inf, np.inf])
        bounds[:size] = [-1.0, 1.0]
        found = solved_programme(
            -aim, A_ub=rows, b_ub=np.zeros(rows.shape[0]), bounds=bounds, deadline=deadline
        )
        reporter().status(None)
        if found.status != 0:
            why = f"{parameter('max_seconds')} passed" if deadline.passed else "it did not converge"
            raise CannotAnswer(
                f"the linear programme that looks for a maximum of the likelihood has no answer: "
                f"{why}; give {parameter('l2')} above 0"
            )
        return self._rise(found.x) > _RISE

    def _rise(self, solution: Vector) -> float:
        """How far the best value of y is above the mean of all, for the x where it is highest.

        The sum over the x would add up what the programme leaves of its tolerance.
        """
        tables = self._terms.tables(solution[: self._terms.size])
        mean = np.zeros(self._n)
        for weights in unary_weights(self._terms, tables, self._inputs):
            mean += weights.mean(axis=1)
        for i, j in self._terms.pairs:
            pair = (self._terms.targets[i].name, self._terms.targets[j].name)
            mean += float(tables[pair].mean())
        return float((solution[self._start[-2] :] - mean).max())

    def _aim(self) -> Vector:
        """v(x) less the mean over all values of y, summed over the x."""
        aim = np.zeros(self._start[-1])
        aim[self._start[-2] :] = 1.0
        tables = self._terms.tables(aim[: self._terms.size])
        targets = {target.name for target in self._terms.targets}
        for scope, table in tables.items():
            if len(scope) == 2 and scope[1] not in targets:
                names = [variable.name for variable in self._terms.inputs]
                column = self._inputs[names.index(scope[1])]
                if scope[1] in self._terms.scales:
                    table -= math.fsum(column.tolist()) / len(table)
                    continue
                seen = np.bincount(column.astype(np.intp), minlength=table.shape[1])
                table -= seen / len(table)
            else:
                table -= self._n / table.size
        return aim

    def _matrix(self) -> csr_array:
        from scipy.sparse import csr_array, vstack

        parts = [self._of_clique(s) for s in range(len(self._tree.cliques))]
        parts.append(self._of_seen())
        made = []
        for n_rows, entries in parts:
            at, columns, values = (np.concatenate(found) for found in zip(*entries, strict=True))
            made.append(csr_array((values, (at, columns)), shape=(n_rows, self._start[-1])))
        stacked: csr_array = vstack(made, format="csr")
        return stacked

    def _of_clique(self, s: int) -> tuple[int, list[tuple[Index, Index, Vector]]]:
        """Rows that say that no cell's share exceeds what its clique passes on."""
        clique = self._tree.cliques[s]
        shape = [self._tree.sizes[k] for k in clique]
        cells = int(np.prod(shape))
        level = dict(zip(clique, np.indices(shape).reshape(len(shape), -1), strict=True))
        at = np.arange(self._n * cells)
        row, cell = at // cells, at % cells
        chosen = {k: found[cell] for k, found in level.items()}
        entries = [
            (at, columns, values)
            for columns, values in self._weights([clique[-1]], chosen, row, home=s)
        ]
        for child, parent in enumerate(self._tree.parents):
            if parent == s:
                entries.append((at, self._messages(child, chosen, row), np.ones(len(at))))
        entries.append((at, self._messages(s, chosen, row), -np.ones(len(at))))
        return len(at), entries

    def _of_seen(self) -> tuple[int, list[tuple[Index, Index, Vector]]]:
        """Rows that say that the values that were seen are among the best."""
        place = np.full(self._rows.n_distinct, -1)
        place[self._possible] = np.arange(self._n)
        seen = np.column_stack([place[self._rows.of_row], self._rows.targets])
        seen = np.unique(seen[seen[:, 0] >= 0], axis=0)
        at, row = np.arange(len(seen)), seen[:, 0]
        chosen = {k: seen[:, 1 + k] for k in range(len(self._terms.targets))}
        entries = [
            (at, columns, -values)
            for columns, values in self._weights(list(chosen), chosen, row, home=None)
        ]
        entries.append((at, self._start[-2] + row, np.ones(len(at))))
        return len(at), entries

    def _weights(
        self, targets: list[int], chosen: dict[int, Index], row: Index, *, home: int | None
    ) -> Iterator[tuple[Index, Vector]]:
        """Yield the weights that levels switch on, of some targets and of pairs at a clique, and
        what multiplies them."""
        terms, once = self._terms, np.ones(len(row))
        for k in targets:
            name = terms.targets[k].name
            yield terms.places[name,].start + chosen[k], once
            for x in terms.reads[k]:
                scope: Scope = (name, terms.inputs[x].name)
                column = self._inputs[x][row]
                if terms.inputs[x].is_continuous:
                    yield terms.places[scope].start + chosen[k], column
                    continue
                first = terms.places[scope].start + chosen[k] * terms.width(terms.inputs[x])
                yield first + column.astype(np.int64), once
        for i, j in terms.pairs:
            if home is None or self._tree.place_of((i, j)) == home:
                pair: Scope = (terms.targets[i].name, terms.targets[j].name)
                size = self._tree.sizes[j]
                yield terms.places[pair].start + chosen[i] * size + chosen[j], once

    def _messages(self, s: int, chosen: dict[int, Index], row: Index) -> Index:
        """The columns of the messages of a clique, for rows and levels of its separator."""
        cell = np.zeros(len(row), dtype=np.int64)
        for k in self._tree.cliques[s][:-1]:
            cell = cell * self._tree.sizes[k] + chosen[k]
        return self._start[s] + row * self._tree.cells(self._tree.cliques[s][:-1]) + cell

"""Fill the holes of rows with what a model expects there.

- `mpe`: the values of all nodes that a row does not observe whose joint probability (density, with
  numbers) is highest. Nodes that are not columns take part. Ties go to the first level, as in
  queries.
- `marginal`: each cell by itself: the most probable level, or the mean of a number.
- `draw`: values drawn together from their distribution given the row. A cell depends on the seed,
  the number of its row and its name alone.

Equal rows are asked about once. A filled level has its posterior probability, a filled number the
standard deviation of its distribution given the row, whichever way it was filled. A row of
probability 0 has no answer: its holes stay.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.errors import require_one_of
from gml.model.evidence import circumstances
from gml.model.inference import Inference, most_probable
from gml.model.mixed.inference import MixedInference
from gml.model.network import Network
from gml.model.posterior import posterior_rows
from gml.model.row_answers import RowDistributions, RowMarginals, RowMoments
from gml.model.row_inference import RowInference
from gml.progress import reporter

METHODS = ("mpe", "marginal", "draw")

Cells = NDArray[np.float64]
_Values = Mapping[str, str | float]


class Filled(NamedTuple):
    """Rows × columns: all values, and of those filled the probability or the deviation."""

    values: Cells
    """Codes of levels, and numbers; NaN in the holes of rows that have probability 0."""
    probability: Cells
    """Of levels that were filled; NaN elsewhere."""
    sd: Cells
    """Of numbers that were filled; NaN elsewhere."""

    @property
    def impossible(self) -> int:
        """How many rows have holes that stay."""
        return int(np.count_nonzero(np.isnan(self.values).any(axis=1)))


class Imputer:
    """Fills rows of some columns, which are nodes of a network.

    Examples
    --------
    >>> import gml
    >>> net = gml.fit("sample_data/asia.csv", "sample_data/asia.dot")
    >>> fill = Imputer(net, ["xray", "lung", "tub"])
    >>> found = fill.fill(np.array([[1, np.nan, 0.0], [0, 0, np.nan]]))
    >>> found.values.tolist(), found.probability.round(4).tolist()
    ([[1.0, 1.0, 0.0], [0.0, 0.0, 0.0]], [[nan, 0.5164, nan], [nan, nan, 0.9996]])
    """

    def __init__(
        self,
        net: Network,
        names: Sequence[str],
        *,
        method: str = "mpe",
        seed: int = 0,
        max_memory: int | None = None,
    ) -> None:
        require_one_of("method", method, METHODS)
        self.net = net
        self.names = tuple(names)
        self._variables = [net.variables[net.index(name)] for name in names]
        self._codes = [
            {level: float(code) for code, level in enumerate(v.levels or ())}
            for v in self._variables
        ]
        self._method = method
        self._seed = seed
        self._max_memory = max_memory
        self._has_numbers = any(v.is_continuous for v in net.variables)
        self._by_pattern: dict[tuple[int, ...], RowInference] = {}
        self._tables: Inference | None = None
        self._mixed: MixedInference | None = None
        if method == "mpe" and net.is_mixed:
            self._mixed = MixedInference(net, max_memory=max_memory)
        elif method == "mpe" and not net.is_gaussian:
            self._tables = Inference(net, max_memory=max_memory)

    def fill(self, evidence: Cells, first_row: int = 0) -> Filled:
        """Fill rows × names, codes of levels and numbers; NaN is a hole.

        `first_row` is the number of the first row, from which draws depend.
        """
        values = np.array(evidence, dtype=np.float64)
        found = Filled(values, np.full(values.shape, np.nan), np.full(values.shape, np.nan))
        patterns, of_row = np.unique(np.isnan(values), axis=0, return_inverse=True)
        of_row = of_row.reshape(-1)
        for number, holes in enumerate(patterns):
            if holes.any():
                rows = np.flatnonzero(of_row == number)
                self._fill_pattern(found, rows, np.flatnonzero(holes).tolist(), first_row)
                reporter().advance("patterns of holes", number + 1, len(patterns))
        return found

    def _fill_pattern(
        self, found: Filled, rows: NDArray[np.int64], holes: list[int], first_row: int
    ) -> None:
        """Fill rows that have the same holes."""
        known = [k for k in range(len(self.names)) if k not in holes]
        distinct, of_row = _distinct(found.values[rows][:, known])
        tables, means, sds, possible = self._marginals(holes, known, distinct)
        filled = np.full((len(distinct), len(holes)), np.nan)
        if self._method == "marginal" or (self._method == "mpe" and self.net.is_gaussian):
            for i, k in enumerate(holes):
                filled[:, i] = most_probable(tables[k]) if k in tables else means[k]
        elif self._method == "mpe":
            for row in np.flatnonzero(possible).tolist():
                best = self._best(self._evidence(known, distinct[row]))
                filled[row] = [self._value(k, best) for k in holes]
        filled[~possible] = np.nan
        if self._method == "draw":
            every = self._draw(holes, known, distinct, of_row, rows + first_row, possible)
        else:
            every = filled[of_row]
        found.values[rows[:, None], np.array(holes)] = every
        for i, k in enumerate(holes):
            if k in sds:
                found.sd[rows, k] = np.where(possible, sds[k], np.nan)[of_row]
                continue
            level = np.where(np.isnan(every[:, i]), 0, every[:, i]).astype(np.int64)
            found.probability[rows, k] = np.where(
                possible[of_row], tables[k][of_row, level], np.nan
            )

    def _marginals(
        self, holes: list[int], known: list[int], distinct: Cells
    ) -> tuple[dict[int, Cells], dict[int, Cells], dict[int, Cells], NDArray[np.bool_]]:
        """Probabilities of labels, means and deviations of numbers; which rows are possible."""
        key = tuple(holes)
        if key not in self._by_pattern:
            self._by_pattern[key] = RowInference(
                circumstances(self.net, None, None),
                [self.names[k] for k in holes],
                predict=False,
                max_memory=self._max_memory,
            )
        asked = distinct if self._has_numbers else distinct.astype(np.int64)
        answers = self._by_pattern[key].of([self.names[k] for k in known], asked)
        at = {self.names[k]: k for k in holes}
        if isinstance(answers, RowMoments):
            means = {at[name]: answers[name][0] for name in answers.names}
            sds = {at[name]: answers[name][1] for name in answers.names}
            return {}, means, sds, np.ones(len(distinct), dtype=bool)
        if isinstance(answers, RowMarginals):
            return {at[n]: t for n, t in answers.tables.items()}, {}, {}, answers.possible
        assert isinstance(answers, RowDistributions)
        tables = {at[name]: table for name, table in answers.tables.items()}
        means = {at[name]: own[0] for name, own in answers.moments.items()}
        sds = {at[name]: own[1] for name, own in answers.moments.items()}
        return tables, means, sds, answers.possible

    def _evidence(self, known: Sequence[int], row: Cells) -> dict[str, str | float]:
        found: dict[str, str | float] = {}
        for k, value in zip(known, row.tolist(), strict=True):
            levels = self._variables[k].levels
            found[self.names[k]] = value if levels is None else levels[int(value)]
        return found

    def _best(self, evidence: Mapping[str, str | float]) -> _Values:
        """The most probable values of all nodes not observed."""
        if self._mixed is not None:
            return self._mixed.given(evidence).best().values
        assert self._tables is not None
        return self._tables.mpe(evidence).levels

    def _value(self, k: int, values: _Values) -> float:
        value = values[self.names[k]]
        return value if isinstance(value, float) else self._codes[k][str(value)]

    def _draw(
        self,
        holes: list[int],
        known: list[int],
        distinct: Cells,
        of_row: NDArray[np.int64],
        numbers: NDArray[np.int64],
        possible: NDArray[np.bool_],
    ) -> Cells:
        """Draw the holes of each row, together."""
        found = np.full((len(numbers), len(holes)), np.nan)
        nodes = [self.net.index(self.names[k]) for k in holes]
        for which in np.flatnonzero(possible).tolist():
            evidence = self._evidence(known, distinct[which])
            rows = posterior_rows(self.net, evidence, seed=self._seed, max_memory=self._max_memory)
            draw, columns = rows.drawer(), rows.new_columns(1)
            for at in np.flatnonzero(of_row == which).tolist():
                draw(int(numbers[at]), columns)
                found[at] = [float(columns[node][0]) for node in nodes]
        return found


def _distinct(rows: Cells) -> tuple[Cells, NDArray[np.int64]]:
    """Different rows, and which of them each row is."""
    if rows.shape[1] == 0:
        return rows[:1], np.zeros(len(rows), dtype=np.int64)
    found, of_row = np.unique(rows, axis=0, return_inverse=True)
    return found, of_row.reshape(-1)

"""Fill the holes of rows with what a model expects there.

- `mpe`: the values of all nodes that a row does not observe whose joint probability (density, with
  numbers) is highest. Nodes that are not columns take part. Ties go to the first level, node by
  node, backwards through the order of elimination.
- `marginal`: each cell by itself: the most probable level, or the mean of a number.
- `draw`: values drawn together from their distribution given the row. A cell depends on the seed,
  the number of its row and its name alone.

Rows are filled together, those of labels whatever they lack (`table_filling`), others with the same
holes (`pattern_filling`); equal ones are asked about once. A filled level has its posterior
probability, a filled number the standard deviation of its distribution given the row, whichever way
it was filled. A row of probability 0 has no answer: its holes stay.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.data.resampling import distinct_codes
from gml.data.row_groups import distinct_patterns, rows_by_group
from gml.errors import require_one_of
from gml.model.gaussian import means_of_rows
from gml.model.inference import Inference, most_probable
from gml.model.mixed.ranked import RankedNetwork
from gml.model.mixed.rows import MixedRows, moments_of
from gml.model.network import Network
from gml.model.pattern_filling import GaussianFilling, MixedFilling, PatternFilling
from gml.model.table_filling import TableFilling
from gml.progress import reporter
from gml.stopping import check_stopped

METHODS = ("mpe", "marginal", "draw")

Cells = NDArray[np.float64]


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
        self._method = method
        self._seed = seed
        self._max_memory = max_memory
        self._labels: TableFilling | None = None
        self._mixed: RankedNetwork | None = None
        if net.is_mixed:
            self._mixed = RankedNetwork(net)
        elif not net.is_gaussian:
            asked = Inference(net, max_memory=max_memory)
            self._labels = TableFilling(asked, names, entered=True)
            if not self._labels.takes_any_holes:
                self._labels = TableFilling(asked, names, entered=False)

    def fill(self, evidence: Cells, first_row: int = 0) -> Filled:
        """Fill rows × names, codes of levels and numbers; NaN is a hole.

        `first_row` is the number of the first row, from which draws depend.
        """
        values = np.array(evidence, dtype=np.float64)
        found = Filled(values, np.full(values.shape, np.nan), np.full(values.shape, np.nan))
        lacking = np.isnan(values)
        if self._labels is not None and self._labels.takes_any_holes:
            rows = np.flatnonzero(lacking.any(axis=1))
            if len(rows):
                self._fill_labels(self._labels, found, rows, first_row)
            return found
        patterns, of_row = distinct_patterns(lacking)
        by_pattern = rows_by_group(of_row, len(patterns))
        for number, (holes, rows) in enumerate(zip(patterns, by_pattern, strict=True)):
            if holes.any():
                check_stopped()
                own = rows.astype(np.int64)
                if self._labels is not None:
                    self._fill_labels(self._labels, found, own, first_row)
                else:
                    self._fill_numbers(found, own, np.flatnonzero(holes).tolist(), first_row)
                reporter().advance("patterns of holes", number + 1, len(patterns))
        return found

    def _fill_labels(
        self, filling: TableFilling, found: Filled, rows: NDArray[np.int64], first_row: int
    ) -> None:
        """Fill rows of a network of labels."""
        lacking = np.isnan(found.values[rows])
        codes = np.where(lacking, -1, found.values[rows]).astype(np.int64)
        distinct, of_row = distinct_codes(codes)
        tables, possible = filling.posteriors(distinct)
        filled = np.array(distinct)
        if self._method == "marginal":
            for k, table in enumerate(tables):
                filled[:, k] = np.where(distinct[:, k] < 0, most_probable(table), distinct[:, k])
        elif self._method == "mpe" and possible.any():
            filled[possible] = filling.best(distinct[possible])
        every = filled[of_row]
        some = possible[of_row]
        if self._method == "draw" and some.any():
            place = np.cumsum(possible) - 1
            every[some] = filling.drawn(
                distinct[possible], place[of_row[some]], rows[some] + first_row, self._seed
            )
        taken = lacking & some[:, None]
        found.values[rows] = np.where(taken, every, found.values[rows])
        for k, table in enumerate(tables):
            own = np.flatnonzero(taken[:, k])
            found.probability[rows[own], k] = table[of_row[own], every[own, k]]

    def _fill_numbers(
        self, found: Filled, rows: NDArray[np.int64], holes: list[int], first_row: int
    ) -> None:
        """Fill rows that have the same holes, of a network with numbers."""
        known = [k for k in range(len(self.names)) if k not in holes]
        distinct, of_row = _distinct(found.values[rows][:, known])
        tables, means, sds, possible = self._marginals(holes, known, distinct)
        filled = np.full((len(distinct), len(holes)), np.nan)
        if self._method == "marginal" or (self._method == "mpe" and self.net.is_gaussian):
            for i, k in enumerate(holes):
                filled[:, i] = most_probable(tables[k]) if k in tables else means[k]
            filled[~possible] = np.nan
        elif self._method == "mpe" and possible.any():
            filled[possible] = self._filling(holes, known).best(distinct[possible])
        every = filled[of_row]
        if self._method == "draw" and possible.any():
            some = possible[of_row]
            place = np.cumsum(possible) - 1
            every[some] = self._filling(holes, known).drawn(
                distinct[possible], place[of_row[some]], rows[some] + first_row, self._seed
            )
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
        here, there = [self.names[k] for k in known], [self.names[k] for k in holes]
        if self._mixed is None:
            mean, sd = means_of_rows(self.net, there, here, distinct)
            columns = dict(zip(holes, mean.T, strict=True)), dict(zip(holes, sd.T, strict=True))
            return {}, *columns, np.ones(len(distinct), dtype=bool)
        answers = MixedRows(self._mixed, there, max_memory=self._max_memory).of(here, distinct)
        at = dict(zip(there, holes, strict=True))
        moments = {at[name]: moments_of(own) for name, own in answers.numbers.items()}
        return (
            {at[name]: table for name, table in answers.tables.items()},
            {k: own[0] for k, own in moments.items()},
            {k: own[1] for k, own in moments.items()},
            answers.log_evidence > -math.inf,
        )

    def _filling(self, holes: list[int], known: list[int]) -> PatternFilling:
        """What fills rows with these holes, of a network with numbers."""
        here, there = [self.names[k] for k in known], [self.names[k] for k in holes]
        if self._mixed is not None:
            return MixedFilling(self._mixed, here, there, max_memory=self._max_memory)
        return GaussianFilling(self.net, here, there)


def _distinct(rows: Cells) -> tuple[Cells, NDArray[np.int64]]:
    """Different rows, and which of them each row is."""
    if rows.shape[1] == 0:
        return rows[:1], np.zeros(len(rows), dtype=np.int64)
    found, of_row = np.unique(rows, axis=0, return_inverse=True)
    return found, of_row.reshape(-1)

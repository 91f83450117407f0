"""Whether the likelihood of chains has a maximum at all, which is asked without a penalty.

It has none iff some direction w of the weights never lowers the probability of a sequence's labels
and raises that of at least one (`gml.model.conditional.separation` says so of tables).

An attribute that not all labels go with is such a direction by itself, unless it is a number: more
weight for all labels that it was seen with leaves those apart that no row with it has. What else
there is a linear programme finds. That no labels beat those seen is said forward along each
sequence,

    m_t(y) ≥ a_t(y) + w·s_t(y),  a_t(y) ≥ m_{t−1}(y') + w(y', y),  w·f(seen) ≥ m_T(y),

with s_t(y) the features of label y at row t. Of the w with no number beyond 1 it takes the one for
which the labels seen are highest above the mean over all labels, summed over the sequences, which
is its product with the gradient at 0; that is 0 iff there is a maximum.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.data.sequences import SequenceRows
from gml.model.linear_programme import solved_programme
from gml.model.sequences.attributes import RowAttributes
from gml.model.sequences.feature_table import FeatureTable
from gml.progress import Deadline, reporter
from gml.resources import budget_in_force

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Numbers = NDArray[np.float64]
Integers = NDArray[np.int64]
Entries = tuple[Integers, Integers, Numbers]

_MOST_ENTRIES = 1 << 20
_ENTRY_BYTES = 64
# Solutions have numbers of the size of 1, which the programme finds to 1e-7.
_RISE = 1e-4


class Verdict(NamedTuple):
    """Whether there is a maximum, None if that is not known; a way to infinity, and why."""

    exists: bool | None
    direction: Numbers | None = None
    why: str = ""


def incomplete_attributes(table: FeatureTable, are_numbers: NDArray[np.bool_]) -> Numbers | None:
    """Return a direction without end: the labels of the last attribute that others never go with.

    Marks are the first attributes, and levels of inputs say more.

    Examples
    --------
    >>> table = FeatureTable(2, 2, np.array([0, 1, 3]), np.array([1]))
    >>> incomplete_attributes(table, np.array([False, False])).tolist()
    [0.0, 0.0, 1.0, 0.0]
    """
    labels_of = np.bincount(table.state_attributes, minlength=table.n_attributes)
    is_incomplete = (labels_of > 0) & (labels_of < table.n_labels) & ~are_numbers
    incomplete = np.flatnonzero(is_incomplete)
    if not len(incomplete):
        return None
    found = np.zeros(len(table))
    found[: len(table.states)] = table.state_attributes == incomplete[-1]
    return found


class ChainSeparation:
    """The linear programme over sequences that differ, of features that training saw."""

    def __init__(
        self, table: FeatureTable, of_rows: RowAttributes, labels: Integers, rows: SequenceRows
    ) -> None:
        self._table = table
        self._rows = of_rows
        self._labels = labels
        self._n_labels = table.n_labels
        self._state = np.full(table.n_attributes * table.n_labels, -1, dtype=np.int64)
        self._state[table.states] = np.arange(len(table.states))
        self._pair = np.full(table.n_labels**2, -1, dtype=np.int64)
        self._pair[table.transitions] = len(table.states) + np.arange(len(table.transitions))
        self._groups = self._grouped(rows.starts)

    def _grouped(self, starts: Integers) -> list[tuple[int, int, list[int]]]:
        """Sequences of equal attributes: their rows, and where the labels seen with them begin."""
        found: dict[bytes, tuple[int, int, dict[bytes, int]]] = {}
        for first, last in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
            of = slice(int(self._rows.rows[first]), int(self._rows.rows[last]))
            sizes = np.diff(self._rows.rows[first : last + 1])
            key = sizes.tobytes() + b"|" + self._rows.attributes[of].tobytes()
            if self._rows.values is not None:
                key += self._rows.values[of].tobytes()
            _, _, seen = found.setdefault(key, (first, last, {}))
            seen.setdefault(self._labels[first:last].tobytes(), first)
        return [(first, last, list(seen.values())) for first, last, seen in found.values()]

    @property
    def n_entries(self) -> int:
        """How many entries the matrix of the programme has, about."""
        k, total = self._n_labels, 0
        for first, last, seen in self._groups:
            length = last - first
            attributes = int(self._rows.rows[last] - self._rows.rows[first])
            each = attributes + 2 * length
            total += k * (attributes + 3 * length) + 3 * k * k * (length - 1) + len(seen) * each
        return total

    def verdict(self, aim: Numbers, deadline: Deadline) -> Verdict:
        """Decide; `aim` is the gradient of the log-likelihood at 0."""
        n_entries = self.n_entries
        if n_entries > _MOST_ENTRIES or _ENTRY_BYTES * n_entries > budget_in_force():
            why = f"a linear programme would have {n_entries:,} entries, which are too many"
            return Verdict(None, why=why)
        reporter().status("looking for a maximum at infinity")
        matrix = self._matrix()
        n = len(self._table)
        costs = np.zeros(matrix.shape[1])
        costs[:n] = -aim
        bounds = np.full((matrix.shape[1], 2), [-np.inf, np.inf])
        bounds[:n] = [-1.0, 1.0]
        found = solved_programme(
            costs, A_ub=matrix, b_ub=np.zeros(matrix.shape[0]), bounds=bounds, deadline=deadline
        )
        reporter().status(None)
        if found.status != 0:
            return Verdict(None, why="a linear programme found no answer")
        direction = np.asarray(found.x[:n], dtype=np.float64)
        if self._rise(direction) > _RISE:
            return Verdict(False, direction)
        return Verdict(True)

    def _rise(self, weights: Numbers) -> float:
        """How far the labels seen are above the mean of all, where they are highest."""
        k = self._n_labels
        of_state = np.append(weights, 0.0)[self._state].reshape(-1, k)
        of_pair = np.append(weights, 0.0)[self._pair].reshape(k, k)
        highest = 0.0
        for first, last, seen in self._groups:
            length = last - first
            scores = np.array(
                [self._values(t) @ of_state[self._attributes(t)] for t in range(first, last)]
            )
            mean = float(scores.mean(axis=1).sum() + (length - 1) * of_pair.mean())
            for start in seen:
                labels = self._labels[start : start + length]
                own = float(scores[np.arange(length), labels].sum())
                own += float(of_pair[labels[:-1], labels[1:]].sum())
                highest = max(highest, own - mean)
        return highest

    def _attributes(self, row: int) -> NDArray[np.int32]:
        return self._rows.attributes[self._rows.rows[row] : self._rows.rows[row + 1]]

    def _values(self, row: int) -> Numbers:
        inside = slice(int(self._rows.rows[row]), int(self._rows.rows[row + 1]))
        if self._rows.values is None:
            return np.ones(inside.stop - inside.start)
        return self._rows.values[inside]

    def _matrix(self) -> csr_array:
        from scipy.sparse import coo_array

        n_rows, entries, n_columns = 0, [], len(self._table)
        for first, last, seen in self._groups:
            for height, (at, columns, values) in self._of_group(first, last, seen, n_columns):
                kept = columns >= 0
                entries.append((at[kept] + n_rows, columns[kept], values[kept]))
                n_rows += height
            n_columns += 2 * self._n_labels * (last - first)
        at, columns, values = (np.concatenate(part) for part in zip(*entries, strict=True))
        matrix: csr_array = coo_array((values, (at, columns)), shape=(n_rows, n_columns)).tocsr()
        return matrix

    def _of_group(
        self, first: int, last: int, seen: list[int], start: int
    ) -> Iterator[tuple[int, Entries]]:
        """Yield rows of the programme, each a sum of columns that is at most 0: height, entries.

        The columns of row t of a sequence are those of a_t and then of m_t, a column per label;
        those of weights that do not exist are −1.
        """
        k = self._n_labels
        label = np.arange(k)
        for t in range(last - first):
            a = start + 2 * k * t + label
            m = a + k
            features = self._state[
                self._attributes(first + t)[:, None].astype(np.int64) * k + label
            ]
            at = np.concatenate([label, label, np.tile(label, len(features))])
            values = np.repeat(self._values(first + t), k)
            signs = np.concatenate([np.ones(k), -np.ones(k), values])
            yield k, (at, np.concatenate([a, m, features.reshape(-1)]), signs)
            if t == 0:
                yield k, (label, a, -np.ones(k))
                continue
            before, own = np.repeat(label, k), np.tile(label, k)
            columns = np.concatenate([m[before] - 2 * k, self._pair, a[own]])
            signs = np.concatenate([np.ones(2 * k * k), -np.ones(k * k)])
            yield k * k, (np.tile(np.arange(k * k), 3), columns, signs)
        end = start + 2 * k * (last - first) - k + label
        for place in seen:
            labels = self._labels[place : place + last - first]
            own = np.concatenate(
                [
                    self._state[self._attributes(first + t).astype(np.int64) * k + labels[t]]
                    for t in range(last - first)
                ]
                + [self._pair[labels[:-1] * k + labels[1:]]]
            )
            values = np.concatenate(
                [*(self._values(t) for t in range(first, last)), np.ones(last - first - 1)]
            )
            at = np.concatenate([label, np.repeat(label, len(own))])
            signs = np.concatenate([np.ones(k), -np.tile(values, k)])
            yield k, (at, np.concatenate([end, np.tile(own, k)]), signs)

"""Local scores that are kept, as searches ask for them again and again.

Nodes are positions in name order, sets of nodes are bits of an integer. A search looks at many
families that differ in one parent, so scores are kept as columns: all s(child | parents ∪ {x}) for
one child and one set of parents, computed in one batch when they are asked for.

Parts of a search that run in other processes keep scores of their own. They hand over which ones
they computed (`Computed`), so that each is counted once, wherever and however often it was, and may
hand over the scores as well, so that others need not compute them again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from gml.counts.counter import Family, FamilyArray
from gml.graph.bits import bits_of, members, positions
from gml.resources import budget_in_force, require_memory
from gml.scores.base import RESOLUTION, Score, as_score

Column = NDArray[np.float64]
Units = NDArray[np.int64]
Wanted = tuple[int, int, int]
"""A child, its parents, and the nodes each of which is to be an additional parent."""
_Open = tuple[Column, NDArray[np.int64], NDArray[np.int32]]
"""A column, the places in it to be filled, and their families."""

Found = tuple[dict[tuple[int, int], int], Column]
"""Scores of columns: which x (as bits) by child and parents, and all s(child | parents ∪ {x})."""

_MOST_KEPT_BYTES = 1 << 28
# Bytes that a dictionary takes for a key with its sets, roughly.
_KEY_BYTES = 250
_MOST_UNITS = 2.0**60
# Those of the 53 bits of a score that do not depend on the order of summation.
_TRUSTED_BITS = 44
# Each takes some 100 bytes until its score is known.
_FAMILIES_AT_ONCE = 1 << 18
# Bytes that a search holds per pair: the score of one as the parent of the other, its gain, and
# whether it is allowed.
_SEARCH_BYTES = 50


class Computed:
    """Which scores were computed: x as bits, by child and parents of a column, and families alone.

    Examples
    --------
    >>> some, more = Computed(), Computed()
    >>> some.add_column(0, 0b010, 0b1100)
    >>> more.add_column(0, 0b010, 0b0100)
    >>> more.alone |= {(0, 0b110), (1, 0)}
    >>> some.add(more)
    >>> len(some)
    3
    """

    def __init__(self) -> None:
        self.columns: dict[tuple[int, int], int] = {}
        self.alone: set[tuple[int, int]] = set()

    def add_column(self, child: int, parents: int, more: int) -> None:
        """Add families of a child: these parents and one more."""
        self.columns[child, parents] = self.columns.get((child, parents), 0) | more

    def add(self, other: Computed) -> None:
        """Add what was computed elsewhere."""
        for (child, parents), more in other.columns.items():
            self.add_column(child, parents, more)
        self.alone |= other.alone

    def __len__(self) -> int:
        """Places of columns, and families that are in none of them."""
        places = sum(more.bit_count() for more in self.columns.values())
        return places + sum(not self._has(*family) for family in self.alone)

    def _has(self, child: int, parents: int) -> bool:
        return any(
            self.columns.get((child, parents & ~(1 << x)), 0) >> x & 1 for x in members(parents)
        )


class LocalScores:
    """The local scores of a score, over nodes in name order."""

    def __init__(self, score: Score, max_memory: int | None = None) -> None:
        """Keep scores in this many bytes at most, and in no more than are useful."""
        n = len(score.names)
        # From the budget in force: `max_memory` is for what is kept and could be computed again.
        require_memory(_SEARCH_BYTES * n * n, None, f"a search over {n} columns")
        budget = budget_in_force(max_memory)
        self._room = min(_MOST_KEPT_BYTES, budget)
        self.names = sorted(score.names)
        self.computed = 0
        self.record: Computed | None = None
        """Where to note what is computed, if somebody wants to know."""
        self._score = as_score(score)
        self._is_dear = self._score.pass_rows > 0
        position = {name: j for j, name in enumerate(score.names)}
        self._column_of = np.array([position[name] for name in self.names], dtype=np.int32)
        self._values: dict[tuple[int, int], float] = {}
        self._columns: dict[tuple[int, int], Column] = {}
        self.resolution = self._resolution()

    def _resolution(self) -> float:
        """2⁻²⁰ nats or, where the last digits of scores are worth more than that, a multiple."""
        self.know((child, 0) for child in range(len(self.names)))
        size = sum(abs(value) for value in self._values.values() if math.isfinite(value))
        return max(RESOLUTION, 2.0 ** (math.frexp(size)[1] - _TRUSTED_BITS))

    def gains(self, values: NDArray[np.float64], now: float) -> Units:
        """How much higher other scores of a child are than that of now, in whole units."""
        with np.errstate(invalid="ignore"):
            return self.units(values - now)

    def units(self, nats: NDArray[np.float64]) -> Units:
        """Round to whole units, in which gains are compared; −∞ is a very large loss.

        So is the difference of two scores of −∞, which is not a number.
        """
        # Of a number and of what is none, fmax takes the number.
        bounded = np.fmax(np.minimum(nats / self.resolution, _MOST_UNITS), -_MOST_UNITS)
        return np.rint(bounded).astype(np.int64)

    def unit(self, nats: float) -> int:
        """Round one number to a whole unit."""
        if not math.isfinite(nats):
            return int(_MOST_UNITS if nats > 0 else -_MOST_UNITS)
        return round(nats / self.resolution)

    def value(self, child: int, parents: int) -> float:
        """Return s(child | parents)."""
        found = self._values.get((child, parents))
        if found is None:
            found = self._look_up(child, parents)
            if found is None:
                self.know([(child, parents)])
                return self._values[child, parents]
            # Searches ask for the families of their graph after every move.
            self._values[child, parents] = found
        return found

    def total(self, parents: Sequence[int]) -> float:
        """Return the score of a DAG."""
        return float(sum(self.value(child, given) for child, given in enumerate(parents)))

    def know(self, families: Iterable[tuple[int, int]]) -> None:
        """Compute the scores of families (a child and its parents) that are not known yet."""
        unknown: dict[int, dict[tuple[int, int], None]] = {}
        for child, parents in families:
            if self._look_up(child, parents) is None:
                unknown.setdefault(parents.bit_count(), {})[child, parents] = None
        for some in unknown.values():
            if self.record is not None:
                self.record.alone.update(some)
            rows = np.array([[child, *members(given)] for child, given in some], dtype=np.int32)
            self._values.update(zip(some, self._compute(rows).tolist(), strict=True))

    def without_one(self, child: int, parents: int) -> list[tuple[int, float]]:
        """Return x and s(child | parents ∖ {x}) for each of the parents."""
        if not parents:
            return []
        less = [(x, parents & ~(1 << x)) for x in members(parents)]
        found = [(x, self._look_up(child, rest)) for x, rest in less]
        if any(value is None for _, value in found):
            self.know((child, rest) for _, rest in less)
            return [(x, self.value(child, rest)) for x, rest in less]
        return [(x, value) for x, value in found if value is not None]

    def with_one(self, child: int, parents: int, more: NDArray[np.int64]) -> Column:
        """Return s(child | parents ∪ {x}) for each x of `more`, all of which were prepared."""
        return self._columns[child, parents][more]

    def prepare(self, wanted: Iterable[Wanted]) -> None:
        """Compute what is not known of many columns, in few batches."""
        n = len(self.names)
        open_: dict[int, list[_Open]] = {}
        waiting = 0
        for child, parents, more in wanted:
            column = self._columns.get((child, parents))
            at = positions(more, n)
            if column is None:
                column = self._columns[child, parents] = np.full(n, np.nan)
            else:
                at = at[np.isnan(column[at])]
            if not len(at):
                continue
            given = list(members(parents))
            rows = np.empty((len(at), len(given) + 2), dtype=np.int32)
            rows[:, 0] = child
            rows[:, 1:-1] = given
            rows[:, -1] = at
            if self.record is not None:
                self.record.add_column(child, parents, bits_of(at.tolist()))
            open_.setdefault(len(given), []).append((column, at, rows))
            waiting += len(rows)
            if waiting > _FAMILIES_AT_ONCE:
                self._fill(open_)
                open_, waiting = {}, 0
        self._fill(open_)

    def _fill(self, open_: dict[int, list[_Open]]) -> None:
        for parts in open_.values():
            if len(parts) == 1:
                column, at, rows = parts[0]
                column[at] = self._compute(rows)
                continue
            values = self._compute(np.concatenate([rows for _, _, rows in parts]))
            start = 0
            for column, at, _ in parts:
                column[at] = values[start : start + len(at)]
                start += len(at)

    def _look_up(self, child: int, parents: int) -> float | None:
        found = self._values.get((child, parents))
        if found is not None:
            return found
        for x in members(parents):
            column = self._columns.get((child, parents & ~(1 << x)))
            if column is not None and column[x] == column[x]:
                return float(column[x])
        return None

    def _compute(self, rows: NDArray[np.int32]) -> Column:
        self.computed += len(rows)
        return self._score.batch(FamilyArray(self._column_of[rows]))

    def found(self, computed: Computed) -> Found:
        """Return the scores of columns that were computed, as far as they are still known."""
        n = len(self.names)
        known = {key: more for key, more in computed.columns.items() if key in self._columns}
        parts = [self._columns[key][positions(more, n)] for key, more in known.items()]
        return known, np.concatenate(parts) if parts else np.empty(0)

    def take(self, found: Found) -> None:
        """Keep scores that another process found."""
        n = len(self.names)
        columns, values = found
        start = 0
        for key, more in columns.items():
            column = self._columns.get(key)
            if column is None:
                column = self._columns[key] = np.full(n, np.nan)
            end = start + more.bit_count()
            column[positions(more, n)] = values[start:end]
            start = end

    def expect(self, likely: Callable[[], Iterable[Wanted]]) -> None:
        """Say which columns may be wanted soon, the likeliest first; nothing is computed yet."""
        if not self._is_dear:
            return
        column_of = self._column_of.tolist()

        def families() -> Iterator[Family]:
            for child, parents, more in likely():
                given = tuple(column_of[x] for x in members(parents))
                for x in members(more):
                    yield column_of[child], (*given, column_of[x])

        self._score.expect(families)

    def make_room(self) -> None:
        """Forget everything if it is more than may be kept; columns must then be prepared again."""
        columns, values = 8 * len(self.names) + _KEY_BYTES, 2 * _KEY_BYTES
        if len(self._columns) * columns + len(self._values) * values > self._room:
            self._columns.clear()
            self._values.clear()

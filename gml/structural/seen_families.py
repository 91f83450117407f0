"""Which families can be fitted to incomplete rows, and scores of completed rows that know it.

A regression needs rows of its own in every configuration of the labels among its parents: as many
as it has coefficients, and two more, with a variance left; a configuration that no row has takes no
part (`bic-cg` on complete rows says so too). Completed rows may have fractions of rows where hardly
any were seen, and errors that the model made up. So a family of a number counts only if the rows
that were *seen* determine its regressions: those in which all of it was seen, and, for the number
of rows in a configuration, those that have the child and the labels. Any other is worth −∞.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml.counts.counter import Counter, Family, FamilyArray
from gml.counts.residuals import SPARE_ROWS, split_parents
from gml.errors import listing, quote
from gml.scores.base import Bounded, DecomposableScore, ScoreAbove

_SHOWN = 3

_Key = tuple[int, tuple[int, ...]]


class SeenFamilies:
    """Looks at families on the rows that have them; each is looked at once."""

    def __init__(self, counter: Counter) -> None:
        self._counter = counter
        self._is_number = np.array([v.is_continuous for v in counter.variables], dtype=bool)
        self._known: dict[_Key, bool] = {}
        self._fewest: dict[_Key, float] = {}

    def fit(self, families: Sequence[Family]) -> NDArray[np.bool_]:
        """Say of each family whether the rows determine its distribution; labels always have one.

        Examples
        --------
        >>> import gml, pandas as pd
        >>> frame = pd.DataFrame({"k": ["p", "p", "p", "q", None], "x": [1.0, 2, 4, 3, 7]})
        >>> table = gml.read(frame, numeric=["x"], missing="available")
        >>> SeenFamilies(gml.MemoryCounter(table)).fit([(1, ()), (1, (0,)), (0, ())]).tolist()
        [True, False, True]
        """
        keys = [self._key(child, parents) for child, parents in families]
        new = sorted({key for key in keys if self._is_number[key[0]] and key not in self._known})
        if new:
            found = self._counter.residuals(new)
            for key, is_sufficient in zip(new, found.sufficient.tolist(), strict=True):
                self._known[key] = is_sufficient and self._has_rows(key)
        return np.array([self._known.get(key, True) for key in keys], dtype=bool)

    def _key(self, child: int, parents: Sequence[int]) -> _Key:
        return int(child), self._counter.order.sorted(parents)

    def _has_rows(self, key: _Key) -> bool:
        """Whether the child and the labels alone were seen often enough, where at all."""
        child, parents = key
        numbers, labels = split_parents(self._counter.variables, self._counter.order, parents)
        if not labels or not numbers:
            return True
        of_labels = (child, tuple(labels))
        if of_labels not in self._fewest:
            fewest = self._counter.residuals([of_labels]).fewest[0]
            self._fewest[of_labels] = float(fewest) * self._counter.unit
        return self._fewest[of_labels] >= len(numbers) + 1 + SPARE_ROWS


class FittableScore(ScoreAbove):
    """A score over completed rows, −∞ for families that cannot be fitted to what was seen."""

    def __init__(self, score: DecomposableScore, seen: SeenFamilies) -> None:
        super().__init__(score)
        self._seen = seen
        self._excluded: set[tuple[str, tuple[str, ...]]] = set()

    def batch(self, families: Sequence[Family]) -> NDArray[np.float64]:
        """Score many families."""
        return self._limited(families, self._score.batch(families))

    def bounded_batch(self, families: Sequence[Family]) -> Bounded:
        """Score many families, with their ceilings.

        Of more parents fewer rows may have all, and leave a group without any: so families that
        cannot be fitted have no ceiling of their own.
        """
        values, ceilings = self._score.bounded_batch(families)
        return self._limited(families, values), ceilings

    def _limited(
        self, families: Sequence[Family], values: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        each: Sequence[Family] = families
        if isinstance(families, FamilyArray):
            each = [(row[0], tuple(row[1:])) for row in families.rows.tolist()]
        fits = self._seen.fit(each)
        for k in np.flatnonzero(~fits).tolist():
            child, parents = each[k]
            named = tuple(sorted(self.names[j] for j in parents))
            self._excluded.add((self.names[child], named))
        return np.where(fits, values, -np.inf)

    def noted(self) -> Any:
        """The families that cannot be fitted, and what the score itself noted."""
        return self._excluded, self._score.noted()

    def take_noted(self, noted: Any) -> None:
        """Add what another process noted."""
        excluded, others = noted
        self._excluded |= excluded
        self._score.take_noted(others)

    def remarks(self) -> list[str]:
        """Name the families that cannot be fitted to what was seen."""
        if not self._excluded:
            return []
        by_size = sorted(self._excluded, key=lambda family: (len(family[1]), family))
        shown = ", ".join(
            quote(child) + (f" given {listing(parents)}" if parents else "")
            for child, parents in by_size[:_SHOWN]
        )
        more = f" and {len(by_size) - _SHOWN} more" if len(by_size) > _SHOWN else ""
        families = "1 family is" if len(by_size) == 1 else f"{len(by_size)} families are"
        return [
            f"{self.name}: {families} worth −∞, as too few rows with all of it were seen in a "
            f"group, or no variance is left there: {shown}{more}"
        ]

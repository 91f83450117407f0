"""How the cells of a column become codes: which levels it has, in which order, where it is cut.

All that is asked of the cells is what occurs in them and how often (`Occurrences`), so that it does
not matter whether they are in memory or were counted while they passed by.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from gml.data.chosen_cuts import way_to_cut
from gml.data.dataset import MAX_LEVELS
from gml.data.discretize import Binning, Intervals, interval_levels
from gml.data.kind_rule import SettledKind
from gml.data.levels import order_levels
from gml.data.number_summary import NumberValues, numbers_of_labels
from gml.data.options import ReadOptions
from gml.data.problems import undeclared
from gml.data.row_groups import group_sums
from gml.errors import DataError, quote
from gml.kernel.layout import NUMBERS


class NumberCounts(NamedTuple):
    """The different numbers of a column, in order, and how often each counts: 0 times too."""

    values: NDArray[np.float64]
    counts: NDArray[np.int64]

    @classmethod
    def of_cells(cls, cells: NDArray[np.float64], times: NDArray[np.int64] | None) -> NumberCounts:
        """The numbers of cells, which count so many times; NaN is none."""
        present = ~np.isnan(cells)
        # One zero, whichever comes first.
        values, inverse = np.unique(cells[present] + 0.0, return_inverse=True)
        times = None if times is None else times[present]
        return cls(values, group_sums(inverse.reshape(-1), len(values), times))

    @classmethod
    def merged(cls, parts: Sequence[NumberCounts]) -> NumberCounts:
        """Add up how often numbers occur.

        Examples
        --------
        >>> one = NumberCounts(np.array([1.0, 3.0]), np.array([2, 1]))
        >>> NumberCounts.merged([one, one]).counts.tolist()
        [4, 2]
        """
        if len(parts) == 1:
            return parts[0]
        return cls.of_cells(
            np.concatenate([part.values for part in parts]),
            np.concatenate([part.counts for part in parts]),
        )

    @classmethod
    def of_labels(
        cls, labels: list[str], occurs: NDArray[np.bool_], times: NDArray[np.int64], decimal: str
    ) -> NumberCounts:
        """The numbers that labels spell, of those that occur."""
        numbers = numbers_of_labels(labels, decimal)[:-1]
        return cls.of_cells(numbers[occurs], times[occurs])

    @property
    def counting(self) -> NumberValues:
        """Those that count."""
        there = self.counts > 0
        return NumberValues(self.values[there], self.counts[there])


class Occurrences(Protocol):
    """What occurs in the cells of a column."""

    kind: int
    labels: list[str]

    def occurs(self) -> NDArray[np.bool_]:
        """Of labels: which of them some cell has."""

    def numbers(self, decimal: str) -> NumberCounts:
        """The numbers, or those that labels spell."""

    def first_wrong(
        self, wrong: NDArray[np.bool_], edges: NDArray[np.float64]
    ) -> tuple[int | None, str]:
        """The row (from 0, if that is known) and text of the first cell whose label is wrong.

        Of numbers: the first whose place between the edges is.
        """


class Coding(NamedTuple):
    """Levels in order, and how cells become codes of these; None: numbers stay as they are.

    Codes of labels become `of_label[code]` (None: they are right as they are); numbers become
    `of_place[k]`, where k is their place between the `edges`. `quantiles` says into how many
    intervals numbers were to be cut, if quantiles were to say where.
    """

    levels: tuple[str, ...] | None
    of_label: NDArray[np.int64] | None = None
    edges: NDArray[np.float64] | None = None
    of_place: NDArray[np.int64] | None = None
    cuts: tuple[float, ...] | None = None
    numbers: NumberValues | None = None
    quantiles: int = 0

    def codes_of_numbers(
        self, numbers: NDArray[np.float64], narrow: type[Any], missing: int | None = None
    ) -> NDArray[Any]:
        """Return the code of each number; that of NaN by default the one that means missing."""
        assert self.edges is not None and self.of_place is not None
        gaps = np.isnan(numbers)
        codes: NDArray[Any] = self.of_place.astype(narrow)[
            np.searchsorted(self.edges, np.where(gaps, 0.0, numbers), side="right")
        ]
        codes[gaps] = np.iinfo(narrow).max if missing is None else missing
        return codes


def coding_of(
    name: str,
    seen: Occurrences,
    options: ReadOptions,
    settled: Binning | None,
    kind: SettledKind | None,
    where: str,
) -> Coding:
    """Return how to code a column, given where it is cut and what it is, if that was settled."""
    if kind is not None and kind.is_numeric:
        return Coding(None)
    if name in options.maybe_numbers and seen.kind != NUMBERS:
        return Coding(tuple(seen.labels))
    if name in options.maybe_numbers or options.is_numeric(name):
        return Coding(None)
    intervals = options.declared_intervals(name)
    if intervals is not None:
        return _in_intervals(name, seen, intervals, options, where)
    binning = way_to_cut(name, seen.kind, seen.labels, options)
    if binning is not None:
        return _cut(seen, settled or binning, options.decimal)
    if options.declared_levels(name) is not None:
        return Coding(tuple(seen.labels))
    expected = options.expected_levels(name)
    others = [label for label in seen.labels if label not in expected]
    levels = (*expected, *order_levels(others, decimal=options.decimal))
    if list(levels) == seen.labels:
        return Coding(levels)
    rank = {level: code for code, level in enumerate(levels)}
    return Coding(levels, np.array([rank[label] for label in seen.labels], dtype=np.int64))


def _in_intervals(
    name: str, seen: Occurrences, declared: tuple[str, ...], options: ReadOptions, where: str
) -> Coding:
    """Code a column whose cells name intervals, or are numbers that lie in them.

    Where levels are expected rather than declared, any other value becomes a level after them.
    """
    intervals = Intervals(declared)
    numbers = seen.numbers(options.decimal)
    if seen.kind == NUMBERS:
        places = intervals.places_of(numbers.values)
        names = intervals.names
        occurring = np.bincount(places, minlength=len(names)) > 0
    else:
        names = tuple(intervals.name_of(label, options.decimal) or label for label in seen.labels)
        occurring = seen.occurs()
    others = {label for label, occurs in zip(names, occurring, strict=True) if occurs} - {*declared}
    if others and (not options.expected_levels(name) or len(others) > options.max_levels):
        wrong = np.array([label in others for label in names])
        row, value = seen.first_wrong(wrong, intervals.cuts)
        at = "" if row is None else f"data row {row + 1}: "
        raise DataError(
            f"{where}: {at}column {quote(name)}: {undeclared(value, declared)}, and it is not a "
            "number within them"
        )
    levels = (*declared, *order_levels(list(others), decimal=options.decimal))
    code = {level: k for k, level in enumerate(levels)}
    lookup = np.array([code.get(label, 0) for label in names], dtype=np.int64)
    if seen.kind == NUMBERS:
        return Coding(levels, edges=intervals.cuts, of_place=lookup, numbers=numbers.counting)
    of_place = np.array([code.get(label, 0) for label in intervals.names], dtype=np.int64)
    return Coding(levels, lookup, intervals.cuts, of_place, numbers=numbers.counting)


def _cut(seen: Occurrences, binning: Binning, decimal: str) -> Coding:
    values, counts = seen.numbers(decimal)
    there = counts > 0
    cuts = binning.cut_points(values[there], counts[there])
    levels = interval_levels(cuts)
    if len(levels) > MAX_LEVELS:
        raise DataError(f"more than {MAX_LEVELS} intervals")
    edges = np.array(cuts, dtype=np.float64)
    of_place = np.arange(len(levels))
    if binning.method != "cuts":
        # Intervals that were chosen from the data are levels only if some value lies in them.
        filled = np.unique(np.searchsorted(edges, values, side="right"))
        of_place = np.zeros(len(levels), dtype=np.int64)
        of_place[filled] = np.arange(len(filled))
        levels = tuple(levels[k] for k in filled)
    quantiles = binning.bins if binning.method == "quantile" else 0
    of_label = None
    if seen.kind != NUMBERS:
        numbers = numbers_of_labels(seen.labels, decimal)[:-1]
        of_label = of_place[np.searchsorted(edges, numbers, side="right")]
    return Coding(
        levels,
        of_label,
        edges,
        of_place,
        cuts,
        NumberValues(values[there], counts[there]),
        quantiles,
    )

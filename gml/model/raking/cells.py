"""The cells of a table that raking looks at: combinations of the columns that targets are about.

The weight of a row depends on nothing but its cell and its base weight, so rows are grouped first,
and what follows takes as long as there are cells. Cells and margins are put in the order of names
and labels, and base weights are added without rounding but at the end (`math.fsum`), so that no
order of rows, columns or targets shows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.data.dataset import Variable
from gml.data.discretize import cuts_of_levels
from gml.data.row_groups import group_sums, row_bytes
from gml.errors import DataError, listing, nearest_name, parameter, quote
from gml.model.entropy.constraints import Cell, Margin
from gml.progress import reporter
from gml.resources import require_memory

# Bytes per row: its cell, what the groups are made from, and its weight; where rows count
# differently, also their order by cell and what they count in it.
_BYTES_PER_ROW = 28
_BYTES_PER_SUMMED_ROW = 24
_SHOWN = 5
_MOST_COMBINATIONS = 1 << 22


@dataclass(frozen=True)
class CodedMargin:
    """A margin, and which of its cells each cell of the table belongs to."""

    names: tuple[str, ...]
    labels: tuple[Cell, ...]
    targets: NDArray[np.float64]
    of_cell: NDArray[np.intp]

    def sums(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Add up values of the cells of the table."""
        found = np.bincount(self.of_cell, values, minlength=len(self.labels))
        return found.astype(np.float64, copy=False)

    def title(self, k: int) -> str:
        """Name one of its cells."""
        return cell_title(self.names, self.labels[k])

    def meant_by(self, k: int) -> str | None:
        """Return the level that rows have and that a level of a cell without rows is most like.

        None if rows have all levels of the cell, if in other cells.
        """
        rows = [self.labels[own] for own in np.unique(self.of_cell).tolist()]
        for axis, label in enumerate(self.labels[k]):
            levels = sorted({cell[axis] for cell in rows})
            if label not in levels:
                return nearest_name(label, levels)
        return None

    def collapsed(self, names: Sequence[str]) -> dict[Cell, float]:
        """Return the targets of some of its columns."""
        axes = [self.names.index(name) for name in names]
        parts: dict[Cell, list[float]] = {}
        for labels, value in zip(self.labels, self.targets.tolist(), strict=True):
            parts.setdefault(tuple(labels[axis] for axis in axes), []).append(value)
        return {cell: math.fsum(values) for cell, values in parts.items()}

    def among(self, kept: NDArray[np.bool_]) -> CodedMargin:
        """Return the margin over some of the cells, with the targets that are not 0."""
        mine = self.targets > 0
        rank = np.cumsum(mine) - 1
        labels = tuple(cell for cell, is_mine in zip(self.labels, mine, strict=True) if is_mine)
        return CodedMargin(self.names, labels, self.targets[mine], rank[self.of_cell[kept]])


@dataclass(frozen=True)
class TableCells:
    """The cells of a table: their shares of the base weights, their margins, the cell of each row.

    Cells in which no row counts are not among them; rows there have -1.
    """

    base: NDArray[np.float64]
    margins: tuple[CodedMargin, ...]
    of_row: NDArray[np.int32]
    counts: NDArray[np.int64]
    """How many rows each cell has, whatever they count."""

    def title(self, k: int) -> str:
        """Name a cell by the levels of all columns."""
        found: dict[str, str] = {}
        for margin in self.margins:
            found.update(zip(margin.names, margin.labels[margin.of_cell[k]], strict=True))
        names = sorted(found)
        return cell_title(names, [found[name] for name in names])


def cell_title(names: Sequence[str], labels: Sequence[str]) -> str:
    """Name a cell of a margin.

    Examples
    --------
    >>> cell_title(("age", "sex"), ("young", "f"))
    "age='young', sex='f'"
    """
    return ", ".join(f"{name}={quote(label)}" for name, label in zip(names, labels, strict=True))


def table_cells(
    variables: Sequence[Variable],
    columns: Sequence[NDArray[Any]],
    margins: Sequence[Margin],
    *,
    weights: NDArray[np.float64] | None = None,
    place_of: Callable[[int], str] = "data row {}".format,
    targets: str = "the targets",
) -> TableCells:
    """Group rows, and find the cell of each margin that a group belongs to.

    Parameters
    ----------
    variables, columns
        Those that the margins are about, and no others, without missing values.
    margins
        The targets.
    weights
        How much each row counts to begin with; None if all rows count the same.
    place_of, targets
        What messages call a row, by its number from 0, and the margins.

    Examples
    --------
    >>> import gml
    >>> data = gml.read("sample_data/asia.csv", columns=["smoke"])
    >>> target = Margin(("smoke",), {("no",): 0.7, ("yes",): 0.3})
    >>> table_cells(data.variables, data.columns, [target]).counts
    array([2501, 2499])
    """
    order = sorted(range(len(variables)), key=lambda j: variables[j].name)
    n_rows = len(columns[0])
    require_memory(_BYTES_PER_ROW * n_rows, None, f"the cells of {n_rows} rows")
    reporter().status(f"finding the cells of {n_rows:,} rows")
    levels = {variables[j].name: variables[j].levels or () for j in order}
    found = _grouped([columns[j] for j in order], [len(own) for own in levels.values()])
    reporter().status(None)
    of_row, n_groups = found.of_row, len(found.codes[0])
    counts = group_sums(of_row, n_groups, None)
    sums = counts if weights is None else exact_sums(of_row, n_groups, weights)
    counting = np.flatnonzero(sums)
    codes = {name: own[counting] for name, own in zip(levels, found.codes, strict=True)}
    places = _Places(of_row, counting, n_groups, place_of, targets)
    coded = [
        _coded(margin, codes, levels, places)
        for margin in sorted(margins, key=lambda margin: sorted(margin.names))
    ]
    ranked = np.lexsort([margin.of_cell for margin in reversed(coded)])
    rank = np.full(n_groups, -1, dtype=np.int32)
    rank[counting[ranked]] = np.arange(len(ranked), dtype=np.int32)
    kept = sums[counting[ranked]]
    return TableCells(
        kept / (kept.sum() if weights is None else math.fsum(kept)),
        tuple(replace(margin, of_cell=margin.of_cell[ranked]) for margin in coded),
        rank[of_row],
        counts[counting[ranked]],
    )


def exact_sums(
    of_row: NDArray[np.int32], n_groups: int, values: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Add up what rows have by group, without rounding but at the end; rows at -1 are left out.

    Examples
    --------
    >>> exact_sums(np.array([1, 0, 1, 1, -1]), 2, np.array([1e16, 2.0, 1.0, -1e16, 7.0]))
    array([2., 1.])
    """
    n_rows = len(of_row)
    require_memory(_BYTES_PER_SUMMED_ROW * n_rows, None, f"the sums of {n_rows} rows by cell")
    in_order = np.argsort(of_row, kind="stable")
    ends = np.searchsorted(of_row[in_order], np.arange(n_groups + 1))
    ordered = values[in_order]
    pairs = zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)
    return np.array([math.fsum(ordered[first:last].tolist()) for first, last in pairs])


class _Groups(NamedTuple):
    """The group of each row, and the codes of the groups, column by column."""

    of_row: NDArray[np.int32]
    codes: Sequence[NDArray[np.int64]]


def _grouped(columns: Sequence[NDArray[Any]], sizes: Sequence[int]) -> _Groups:
    """Group rows, by a number per combination where these are not too many."""
    n_combinations = math.prod(sizes)
    if n_combinations > _MOST_COMBINATIONS:
        groups = kernel.active().group_rows(row_bytes(columns), len(columns[0]))
        assert groups is not None
        codes = [column[groups.firsts].astype(np.int64) for column in columns]
        return _Groups(groups.of_row, codes)
    keys = np.zeros(len(columns[0]), dtype=np.int32)
    for column, size in zip(columns, sizes, strict=True):
        keys *= size
        keys += column
    occurring = np.flatnonzero(np.bincount(keys, minlength=n_combinations))
    rank = np.zeros(n_combinations, dtype=np.int32)
    rank[occurring] = np.arange(len(occurring), dtype=np.int32)
    return _Groups(rank[keys], np.unravel_index(occurring, tuple(sizes)))


@dataclass(frozen=True)
class _Places:
    """Where rows stand, for messages, by those of the groups that count something."""

    of_row: NDArray[np.int32]
    counting: NDArray[np.intp]
    n_groups: int
    place_of: Callable[[int], str]
    targets: str

    def first(self, found: NDArray[np.bool_], codes: NDArray[np.int64]) -> tuple[str, int]:
        """Name the first row of the groups found, and return its code."""
        sought = np.zeros(self.n_groups, dtype=bool)
        sought[self.counting[found]] = True
        row = int(np.argmax(sought[self.of_row]))
        group = int(np.searchsorted(self.counting, self.of_row[row]))
        return self.place_of(row), int(codes[group])


def _coded(
    margin: Margin,
    codes: Mapping[str, NDArray[np.int64]],
    levels: Mapping[str, Sequence[str]],
    places: _Places,
) -> CodedMargin:
    """Find the cell of a margin that each group belongs to; refuse levels that have no target."""
    names = tuple(sorted(margin.names))
    axes = [margin.names.index(name) for name in names]
    targets = {tuple(cell[axis] for axis in axes): value for cell, value in margin.cells.items()}
    for axis, name in enumerate(names):
        _require_targets(margin, name, {cell[axis] for cell in targets}, codes, levels, places)
    keys = np.zeros(len(places.counting), dtype=np.int64)
    for name in names:
        # Renumbered, keys of however many columns stay small.
        keys = keys * len(levels[name]) + codes[name]
        _, examples, keys = np.unique(keys, return_index=True, return_inverse=True)
    found = [tuple(levels[name][codes[name][row]] for name in names) for row in examples.tolist()]
    unlisted = [cell for cell in found if cell not in targets]
    if unlisted:
        _warn_of_unlisted(names, sorted(unlisted))
    labels = sorted({*targets, *found})
    place = {cell: k for k, cell in enumerate(labels)}
    values = np.array([targets.get(cell, 0.0) for cell in labels])
    of_cell = np.array([place[cell] for cell in found], dtype=np.intp)[keys]
    return CodedMargin(names, tuple(labels), values / math.fsum(values), of_cell)


def _require_targets(
    margin: Margin,
    name: str,
    known: Collection[str],
    codes: Mapping[str, NDArray[np.int64]],
    levels: Mapping[str, Sequence[str]],
    places: _Places,
) -> None:
    """Refuse a level of a column that rows have and no target names."""
    has_target = np.array([level in known for level in levels[name]], dtype=bool)
    lacking = ~has_target[codes[name]]
    if lacking.any():
        at, code = places.first(lacking, codes[name])
        level = levels[name][code]
        hint = _hint(name, level, sorted({*known}.difference(levels[name])))
        raise DataError(
            f"{at}: column {quote(name)}: {quote(level)} has no target; {places.targets}: "
            f"{margin.title} has {listing(sorted(known))}{hint}"
        )


def _hint(name: str, level: str, unused: Sequence[str]) -> str:
    """Say how targets that no row has may be meant for a level that has none.

    Examples
    --------
    >>> print(_hint("sex", "male", ["mael"]) + _hint("sex", " m", ["m"]))
    ; the target 'mael' may be meant for 'male'; the rows have ' m' with a leading blank
    >>> from gml.errors import unmarked
    >>> print(unmarked(_hint("age", "42", ["[-inf,30)", "[30,inf)"])))
    ; the targets are intervals: cut it with `cut` age=30
    """
    for other in unused:
        if other.strip() == level.strip():
            whose, spelt = ("rows", level) if level != level.strip() else ("targets", other)
            end = "leading" if spelt != spelt.lstrip() else "trailing"
            return f"; the {whose} have {quote(spelt)} with a {end} blank"
    cuts = cuts_of_levels(unused)
    if cuts and cuts_of_levels([level]) is None:
        edges = ",".join(repr(cut).removesuffix(".0") for cut in cuts)
        return f"; the targets are intervals: cut it with {parameter('cut')} {name}={edges}"
    near = nearest_name(level, unused)
    return f"; the target {quote(near)} may be meant for {quote(level)}" if near else ""


def _warn_of_unlisted(names: Sequence[str], cells: Sequence[Cell]) -> None:
    shown = first_few([cell_title(names, cell) for cell in cells])
    reporter().warn(f"not among the targets, so that rows with it have the weight 0: {shown}")


def first_few(titles: Sequence[str]) -> str:
    """Return the first titles of a list, and how many more there are."""
    more = f" and {len(titles) - _SHOWN} more" if len(titles) > _SHOWN else ""
    return "; ".join(titles[:_SHOWN]) + more

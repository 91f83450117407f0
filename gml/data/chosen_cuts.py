"""Which columns of a table are cut into intervals, and where, if other columns have a say in it.

`mdlp` cuts a column by what it says about a class, `hartemink` all columns together by what they
say about one another; quantiles and widths are found column by column (`gml.data.discretize`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.data.dataset import missing_mask
from gml.data.discretize import BY_OTHERS, HARTEMINK, MDLP, Binning
from gml.data.entropy_cuts import entropy_cuts
from gml.data.identifiers import numbers_to_cut
from gml.data.joint_cuts import Codes, joint_cuts
from gml.data.label_warnings import warn_of_no_cuts
from gml.data.levels import order_levels
from gml.data.number_summary import numbers_of_labels
from gml.data.options import ReadOptions
from gml.errors import CannotAnswer, UsageError, listing, parameter, quote
from gml.kernel.layout import NUMBERS, CsvColumn
from gml.progress import tracked


class CutColumn(NamedTuple):
    """A column to cut: the number of each cell, NaN where it is missing, and how to cut it."""

    numbers: NDArray[np.float64]
    binning: Binning


def way_to_cut(name: str, kind: int, labels: Sequence[str], options: ReadOptions) -> Binning | None:
    """Return how a column is to be cut, given what it was read as; None if it is not."""
    if name in options.maybe_numbers or options.is_numeric(name):
        return None
    if options.declared_intervals(name) is not None or name == options.identifier:
        return None
    if name in options.labels or options.goes_by_rule(name):
        return None
    binning = options.binning(name) or Binning(options.discretize, options.bins or 0)
    if kind == NUMBERS:
        return binning
    if options.declared_levels(name) is not None or numbers_to_cut(labels, options) is None:
        return None
    return binning


def refuse_cuts_by_others(
    columns: Iterable[tuple[str, int, Sequence[str]]], options: ReadOptions, where: str, held: str
) -> None:
    """Refuse columns that others say where to cut, if rows are `held` elsewhere than in memory.

    Columns are names, what they are read as, and labels. Before anything was read there are no
    labels, and then those are found that are cut whatever they hold.
    """
    found = [
        name
        for name, kind, labels in columns
        if (how := way_to_cut(name, kind, labels, options)) is not None and how.method in BY_OTHERS
    ]
    if found:
        raise CannotAnswer(
            f"{where}: to cut {listing(found)} by other columns takes the rows in memory; give the "
            f"cut points ({parameter('cut')}), or cut at quantiles or widths, where {held}"
        )


def cut_column(name: str, column: CsvColumn, options: ReadOptions) -> CutColumn | None:
    """Return the numbers of a column that is to be cut; None if it is not."""
    binning = way_to_cut(name, column.kind, column.labels, options)
    if binning is None:
        return None
    return CutColumn(numbers_of_cells(column, options.decimal), binning)


def numbers_of_cells(column: CsvColumn, decimal: str) -> NDArray[np.float64]:
    """Return the number of each cell, or the one that its label spells, else NaN."""
    assert column.cells is not None
    if column.kind == NUMBERS:
        return column.cells
    values = numbers_of_labels(column.labels, decimal)
    codes = np.where(missing_mask(column.cells), len(column.labels), column.cells)
    return values[codes]


def chosen_cuts(
    columns: Sequence[CsvColumn],
    names: Sequence[str],
    chosen: Sequence[int],
    options: ReadOptions,
    weights: NDArray[np.int64] | None,
    unit: float,
) -> dict[str, Binning]:
    """Return where to cut the columns about which other columns have a say."""
    if not options.cuts_by_others:
        return {}
    cut = {
        names[j]: column
        for j in chosen
        if (column := cut_column(names[j], columns[j], options)) is not None
    }
    labels = {
        names[j]: columns[j]
        for j in chosen
        if names[j] not in cut and columns[j].kind != NUMBERS and names[j] != options.identifier
    }
    found = _by_class(cut, labels, options, weights, unit)
    jointly = {name: column.numbers for name, column in cut.items() if _how(column) == HARTEMINK}
    if jointly:
        codes = {name: _codes(column) for name, column in labels.items()}
        assert options.bins is not None
        for name, cuts in joint_cuts(jointly, codes, options.bins, weights).items():
            found[name] = Binning(HARTEMINK, cuts=cuts)
    return found


def _how(column: CutColumn) -> str:
    return column.binning.method


def _by_class(
    cut: Mapping[str, CutColumn],
    labels: Mapping[str, CsvColumn],
    options: ReadOptions,
    weights: NDArray[np.int64] | None,
    unit: float,
) -> dict[str, Binning]:
    numbers = {name: column.numbers for name, column in cut.items() if _how(column) == MDLP}
    if not numbers:
        return {}
    name = options.discretize_class
    assert name is not None
    if name not in labels:
        why = "is itself a column of numbers" if name in cut else "is not among the columns in use"
        raise UsageError(f"{parameter('discretize_class', name)} {why}; it must hold labels")
    classes, n_classes = _codes(labels[name])
    found = {}
    for column, cells in tracked("columns", list(numbers.items())):
        rows = ~np.isnan(cells) & (classes >= 0)
        times = None if weights is None else weights[rows]
        cuts = entropy_cuts(cells[rows], classes[rows], n_classes, times, unit)
        found[column] = Binning(MDLP, cuts=cuts)
    warn_of_no_cuts([column for column, how in found.items() if not how.cuts], quote(name))
    return found


def _codes(column: CsvColumn) -> Codes:
    """The codes of labels in their own order, not in that of their first row; −1 for missing."""
    assert column.cells is not None
    rank = {label: k for k, label in enumerate(order_levels(column.labels))}
    lookup = np.array([*(rank[label] for label in column.labels), -1], dtype=np.int64)
    places = np.where(missing_mask(column.cells), len(column.labels), column.cells)
    return lookup[places], len(column.labels)

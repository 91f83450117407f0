"""Incomplete rows, and how probable it is that a value is there, given what makes it missing.

The probability π(w) that a column has a value in a row with the values w of the causes is estimated
from the rows that have all causes. Where the causes are labels it is the share of the rows of each
configuration, without any model. Where they are numbers it is a logistic regression on a broken
line for each cause, with bends at its quintiles, and these are added up; a ridge of 0.1 on all but
the intercept, in units of the causes' standard deviations, keeps it finite where the causes decide
everything. There is a single maximum, which Newton's method finds.

Rows are the distinct ones, sorted by their cells in the order of the columns' names, with counts:
whatever is summed over them depends neither on the order of rows nor on that of columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml.data.dataset import Dataset, missing_mask
from gml.data.resampling import distinct_codes, sorted_equal_rows
from gml.kernel.blas import one_blas_thread
from gml.name_order import NameOrder
from gml.resources import require_memory
from gml.stopping import check_stopped

Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]

_QUINTILES = (0.2, 0.4, 0.6, 0.8)
_RIDGE = 0.1
_MOST_STEPS = 100
_SETTLED = 1e-10


class IncompleteRows:
    """The distinct rows of a dataset, columns in the order of their names.

    Examples
    --------
    >>> import gml
    >>> rows = IncompleteRows(gml.read("sample_data/survey_missing.csv", missing="available"))
    >>> rows.names[0], round(float(rows.counts[rows.present[0]].sum())), rows.complete(0)
    ('Age', 952, False)
    """

    def __init__(self, dataset: Dataset) -> None:
        width = sum(column.dtype.itemsize for column in dataset.columns)
        require_memory((3 * width + 40) * dataset.n_rows, None, f"{dataset.n_rows} sorted rows")
        order = NameOrder(dataset.names)
        firsts, counts = sorted_equal_rows(dataset)
        self.names = order.names
        self.columns: list[NDArray[Any]] = [dataset.columns[j][firsts] for j in order.positions]
        variables = [dataset.variables[j] for j in order.positions]
        self.is_number = [variable.is_continuous for variable in variables]
        self.n_levels = [max(1, len(variable.levels or ())) for variable in variables]
        self.counts: Floats = counts.astype(np.float64)
        self.present: list[Flags] = [~missing_mask(column) for column in self.columns]
        self._complete = [bool(there.all()) for there in self.present]

    def complete(self, column: int) -> bool:
        """Whether a column has a value in every row."""
        return self._complete[column]

    def are_complete(self, columns: Sequence[int]) -> Flags:
        """Which rows have a value in all of the columns."""
        found: Flags = np.logical_and.reduce(
            [self.present[j] for j in columns], initial=True, dtype=bool
        )
        return np.broadcast_to(found, self.counts.shape)

    def configurations(self, columns: Sequence[int], which: Flags) -> tuple[NDArray[np.int64], int]:
        """Number the configurations of labels in some rows; returns also how many there are."""
        if not columns:
            return np.zeros(np.count_nonzero(which), dtype=np.int64), 1
        codes = np.column_stack([self.columns[j][which].astype(np.int64) for j in columns])
        distinct, numbers = distinct_codes(codes)
        return numbers, len(distinct)


def presence(rows: IncompleteRows, column: int, causes: Sequence[int]) -> Floats:
    """The probability of a value in each row that has all causes; NaN in the others."""
    usable = rows.are_complete(causes)
    there = rows.present[column][usable].astype(np.float64)
    counts = rows.counts[usable]
    found = np.full(len(rows.counts), np.nan)
    if not rows.is_number[causes[0]]:
        numbers, size = rows.configurations(causes, usable)
        seen = np.bincount(numbers, weights=counts, minlength=size)
        kept = np.bincount(numbers, weights=counts * there, minlength=size)
        found[usable] = (kept / seen)[numbers]
    else:
        features = broken_lines([rows.columns[j][usable] for j in causes], counts)
        found[usable] = logistic_fit(features, there, counts)
    return found


def broken_lines(columns: Sequence[Floats], counts: Floats) -> Floats:
    """An intercept and, for each column, itself and what exceeds each of its quintiles."""
    features = [np.ones(len(counts))]
    total = counts.sum()
    for column in columns:
        mean = float((counts * column).sum() / total)
        spread = float(np.sqrt((counts * (column - mean) ** 2).sum() / total))
        if not spread > 0:
            continue
        scaled = (column - mean) / spread
        order = np.argsort(scaled, kind="stable")
        below = np.cumsum(counts[order]) / total
        at = np.minimum(np.searchsorted(below, _QUINTILES), len(order) - 1)
        bends = np.unique(scaled[order][at])
        # A bend at an end of the column bends nothing.
        inside = bends[(bends > scaled.min()) & (bends < scaled.max())]
        features += [scaled, *(np.maximum(scaled - bend, 0.0) for bend in inside)]
    return np.column_stack(features)


def logistic_fit(features: Floats, there: Floats, counts: Floats) -> Floats:
    """The probabilities of a logistic regression with a ridge on all but the first coefficient."""
    ridge = np.full(features.shape[1], _RIDGE)
    ridge[0] = 0.0
    if not 0 < (counts * there).sum() < counts.sum():
        return there
    coefficients = np.zeros(features.shape[1])

    def objective(at: Floats) -> float:
        logits = features @ at
        likelihood = (counts * (there * logits - np.logaddexp(0.0, logits))).sum()
        return float(likelihood - 0.5 * (ridge * at * at).sum())

    with one_blas_thread():
        best = objective(coefficients)
        for _ in range(_MOST_STEPS):
            check_stopped()
            expected = _expit(features @ coefficients)
            slope = features.T @ (counts * (there - expected)) - ridge * coefficients
            information = features.T @ (features * (counts * expected * (1 - expected))[:, None])
            step = np.linalg.solve(information + np.diag(ridge + 1e-12), slope)
            size = 1.0
            while (reached := objective(coefficients + size * step)) < best and size > _SETTLED:
                size /= 2
            if reached < best:
                break
            coefficients, gained, best = coefficients + size * step, reached - best, reached
            if gained <= _SETTLED * max(1.0, abs(best)):
                break
        return _expit(features @ coefficients)


def _expit(logits: Floats) -> Floats:
    # Of either sign without overflow.
    found: Floats = np.exp(-np.logaddexp(0.0, -logits))
    return found

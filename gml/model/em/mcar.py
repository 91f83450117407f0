"""Whether values are missing completely at random, by Little's test.

Little (1988, "A test of missing completely at random for multivariate data with missing values",
JASA 83:1198). If gaps have nothing to do with values, the rows of every pattern have the same means
in the columns that they have. With μ and Σ of highest likelihood (EM, all rows) and pattern j seen
in n_j rows and p_j columns,

    d² = Σⱼ nⱼ (ȳⱼ − μⱼ)ᵀ Σⱼ⁻¹ (ȳⱼ − μⱼ)

is about χ² with Σ pⱼ − p degrees of freedom. (Little gives Σ the divisor n − 1 instead of n; the
programs that people compare with do not.) A label of s levels that occur is s − 1 indicators,
which are seen or missing together; a column of one value has none, a number of one value neither.
Rows in which nothing was seen take no part. A large p is no proof: means may be equal where spreads
or relations differ, and what depends on the missing value itself shows in no test.

Labels that are all numbers are taken as these: under the hypothesis the means of any function of a
column are the same in all patterns, so that the test keeps its level, and an indicator for every
number that occurs is more than rows can tell. Where no Σ fits, since a column follows from others
or hardly varies beside one with gaps, it is left out, and so are labels of very many levels. Gaps
of what was left out still tell patterns apart: their rows have the same means, too.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.data.dataset import Dataset, Variable, missing_mask
from gml.data.missing_patterns import McarTest
from gml.data.number_summary import numbers_of_labels
from gml.data.row_groups import distinct_patterns, rows_by_group
from gml.data.row_order import order_of_rows
from gml.errors import CannotAnswer, DataError, Note, counted, listing, parameter
from gml.model.em.dependent_columns import Dependence, dependent_columns
from gml.model.em.normal import normal_em
from gml.name_order import NameOrder
from gml.resources import require_memory
from gml.stopping import check_stopped

# Columns of numbers and indicators; with more, a step of EM takes seconds and its end is far.
_MOST_COLUMNS = 100

# Finding that no normal distribution fits takes as long as fitting one.
_MOST_LEFT_OUT = 20

Array = NDArray[np.float64]


def little_test(dataset: Dataset, *, labels: Collection[str] = (), threads: int = 1) -> McarTest:
    """Test whether the values of a table are missing completely at random.

    Numbers among `labels` stay labels.

    Examples
    --------
    >>> import gml
    >>> table = gml.read("sample_data/survey_missing.csv", missing="available")
    >>> found = little_test(table)
    >>> found.df, found.p_value > 0.01
    (131, True)
    """
    table, numbers = _with_numbers(dataset, labels)
    left_out = _too_many(table)
    why = ""
    while len(left_out) <= _MOST_LEFT_OUT:
        used = table.select([name for name in table.names if name not in left_out])
        try:
            found = _tested(table, used, threads)
        except _NoFit as error:
            worst = _hardly_varying(used) or dependent_columns(used)
            why = f"{error}"
            if worst is None:
                break
            left_out[worst.column] = worst.why
        except (DataError, CannotAnswer) as error:
            why = f"{error}"
            break
        else:
            return replace(found, numbers=numbers, left_out=left_out)
    return McarTest(None, 0, None, None, Note(why), numbers, left_out)


class _NoFit(Exception):
    """No normal distribution fits."""


def _tested(table: Dataset, used: Dataset, threads: int) -> McarTest:
    """Test the means of the columns used in the patterns of all columns."""
    names, owners, values = _columns(used)
    # The test does not depend on units, and its sums of squares should be floats.
    largest = np.fmax.reduce(np.abs(values), axis=0, initial=0.0)
    values = values / np.where(largest > 0, largest, 1.0)
    seen_here = ~np.isnan(values)
    masks = np.column_stack([seen_here, *_seen_elsewhere(table, owners)])
    some = seen_here.any(axis=1)
    values, masks = values[some], masks[some]
    weights = np.ones(table.n_rows) if table.weights is None else table.weights * 1.0
    # Sums of rows in order are the same however the rows stood.
    cells = {str(k): column for k, column in enumerate(values.T)}
    order = order_of_rows({**cells, "weight": weights[some].astype(np.float64)})
    values, masks = values[order], masks[order]
    weights = weights[some][order] * table.unit
    if not len(values):
        return McarTest(None, 0, None, None, "there are no values")
    if masks.all():
        why = (
            "nothing is missing"
            if some.all()
            else "all rows with values have them in the same columns"
        )
        return McarTest(None, 0, None, None, why)
    try:
        found = normal_em(values, weights, names=names, threads=threads)
    except (DataError, CannotAnswer) as error:
        raise _NoFit(f"{error}") from None
    patterns, of_row = distinct_patterns(masks)
    by_pattern = rows_by_group(of_row, len(patterns))
    statistic, df = 0.0, -len(names)
    for pattern, rows in zip(patterns, by_pattern, strict=True):
        check_stopped()
        seen = np.flatnonzero(pattern[: len(names)])
        n = float(weights[rows].sum())
        if n == 0:
            continue
        away = weights[rows] @ (values[np.ix_(rows, seen)] - found.mean[seen]) / n
        statistic += n * float(away @ np.linalg.solve(found.covariance[np.ix_(seen, seen)], away))
        df += len(seen)
    if df <= 0:
        return McarTest(None, 0, None, None, "all rows have the same columns missing")
    log_p = float(kernel.active().log_chi2_upper(np.array([statistic]), np.array([float(df)]))[0])
    return McarTest(statistic, df, math.exp(log_p), log_p / math.log(10))


def _seen_elsewhere(table: Dataset, owners: Collection[str]) -> list[NDArray[np.bool_]]:
    """Where columns that have no values in the test are seen, if they are anywhere."""
    found = []
    for j in NameOrder(table.names).positions.tolist():
        if table.names[j] not in owners:
            gaps = missing_mask(table.columns[j])
            if gaps.any() and not gaps.all():
                found.append(~gaps)
    return found


def _with_numbers(dataset: Dataset, labels: Collection[str]) -> tuple[Dataset, tuple[str, ...]]:
    """Take labels that are all numbers as these; two of them are one indicator either way."""
    variables, columns = list(dataset.variables), list(dataset.columns)
    numbers = []
    for j, variable in enumerate(dataset.variables):
        if variable.levels is None or variable.name in labels or len(variable.levels) <= 2:
            continue
        spelt = numbers_of_labels(variable.levels, dataset.decimal)
        if np.isnan(spelt[:-1]).any():
            continue
        gaps = missing_mask(columns[j])
        variables[j] = Variable(variable.name, None)
        columns[j] = spelt[np.where(gaps, len(spelt) - 1, columns[j])]
        numbers.append(variable.name)
    return replace(dataset, variables=tuple(variables), columns=tuple(columns)), tuple(numbers)


def _too_many(dataset: Dataset) -> dict[str, str]:
    """The columns without values, and the labels of the most levels where there are too many."""
    left_out = {}
    sizes: dict[str, int] = {}
    for variable, column in zip(dataset.variables, dataset.columns, strict=True):
        gaps = missing_mask(column)
        if gaps.all():
            left_out[variable.name] = "has no values"
        elif variable.levels is not None:
            sizes[variable.name] = len(np.unique(column[~gaps])) - 1
    total = sum(sizes.values()) + sum(variable.is_continuous for variable in dataset.variables)
    for name in sorted(sizes, key=lambda name: (-sizes[name], name)):
        if total <= _MOST_COLUMNS or sizes[name] < 2:
            break
        left_out[name] = f"has {sizes[name] + 1} levels"
        total -= sizes[name]
    return left_out


def _hardly_varying(dataset: Dataset) -> Dependence | None:
    """Find a column that lacks values of its own where another is seen, so that no Σ fits.

    Of the columns in such pairs, that in the most of them; of equals that which does not vary.
    """
    pairs: list[tuple[int, int]] = []
    masks = [missing_mask(column) for column in dataset.columns]
    for other, gaps in enumerate(masks):
        if not gaps.any():
            continue
        check_stopped()
        for j, column in enumerate(dataset.columns):
            if j != other and _varies(column, ~masks[j]) > _varies(column, ~masks[j] & ~gaps):
                pairs.append((j, other))
    if not pairs:
        return None
    times = Counter(j for pair in pairs for j in pair)
    still = {j for j, _ in pairs}
    worst = min(times, key=lambda j: (-times[j], j not in still, dataset.names[j]))
    others = [dataset.names[other] for j, other in pairs if j == worst]
    if others:
        return Dependence(
            dataset.names[worst], f"does not vary enough in the rows that have {listing(others)}"
        )
    others = [dataset.names[j] for j, other in pairs if other == worst]
    return Dependence(
        dataset.names[worst], f"{listing(others)} do not vary enough in the rows that have it"
    )


def _varies(column: NDArray[Any], rows: NDArray[np.bool_]) -> int:
    """How many labels occur in some rows, and whether numbers vary there."""
    cells = column[rows]
    if column.dtype.kind == "f":
        return 2 if len(cells) and cells.min() < cells.max() else 1
    return len(np.unique(cells))


def _columns(dataset: Dataset) -> tuple[list[str], set[str], Array]:
    """Numbers, and indicators of the levels that occur but the first, by name; NaN: missing.

    The second are the names of the columns that they are of.
    """
    names: list[str] = []
    owners: set[str] = set()
    columns: list[Array] = []
    for j in NameOrder(dataset.names).positions.tolist():
        variable, column = dataset.variables[j], dataset.columns[j]
        gaps = missing_mask(column)
        if variable.is_continuous:
            # As a label of one level has no indicator.
            if np.nanmin(column) == np.nanmax(column):
                continue
            owners.add(variable.name)
            names.append(variable.name)
            columns.append(column)
            continue
        occurring = np.unique(column[~gaps]).tolist()
        require_memory(
            8 * dataset.n_rows * (len(columns) + len(occurring)), None, "the indicators of labels"
        )
        for code in occurring[1:]:
            owners.add(variable.name)
            names.append(f"{variable.name}={(variable.levels or ())[code]}")
            columns.append(np.where(gaps, np.nan, column == code))
    if len(columns) > _MOST_COLUMNS:
        raise CannotAnswer(
            f"{len(columns)} columns of numbers and indicators of levels are more than the "
            f"{_MOST_COLUMNS} that it takes; leave some out ({parameter('exclude')})"
        )
    if not columns:
        raise DataError(f"{counted(len(dataset.names), 'column')}, none of which varies")
    return names, owners, np.column_stack(columns)

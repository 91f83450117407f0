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
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.data.dataset import Dataset, missing_mask
from gml.data.missing_patterns import McarTest
from gml.data.number_summary import numbers_of_labels
from gml.data.row_groups import distinct_patterns, rows_by_group
from gml.errors import CannotAnswer, DataError, Note, counted, parameter, quote
from gml.model.em.dependent_columns import dependent_columns
from gml.model.em.normal import normal_em
from gml.model.regression_rows import order_of_rows
from gml.name_order import NameOrder
from gml.resources import require_memory
from gml.stopping import check_stopped

# Columns of numbers and indicators; with more, a step of EM takes seconds and its end is far.
_MOST_COLUMNS = 100

# Numbers of more values than this are advised to be taken as numbers.
_FEW_VALUES = 10

Array = NDArray[np.float64]


def little_test(dataset: Dataset, *, threads: int = 1) -> McarTest:
    """Test whether the values of a table are missing completely at random.

    Examples
    --------
    >>> import gml
    >>> table = gml.read("sample_data/survey_missing.csv", missing="available")
    >>> found = little_test(table)
    >>> found.df, found.p_value > 0.01
    (131, True)
    """
    try:
        names, values = _columns(dataset)
        masks = ~np.isnan(values)
        some = masks.any(axis=1)
        values, masks = values[some], masks[some]
        weights = np.ones(dataset.n_rows) if dataset.weights is None else dataset.weights * 1.0
        # Sums of rows in order are the same however the rows stood.
        cells = {str(k): column for k, column in enumerate(values.T)}
        order = order_of_rows({**cells, "weight": weights[some].astype(np.float64)})
        values, masks = values[order], masks[order]
        weights = weights[some][order] * dataset.unit
        if not len(values):
            return McarTest(None, 0, None, None, "there are no values")
        if masks.all():
            why = (
                "nothing is missing"
                if some.all()
                else "all rows with values have them in the same columns"
            )
            return McarTest(None, 0, None, None, why)
    except (DataError, CannotAnswer) as error:
        return McarTest(None, 0, None, None, Note(f"{error}"))
    try:
        found = normal_em(values, weights, names=names, threads=threads)
    except (DataError, CannotAnswer) as error:
        why = dependent_columns(dataset) or f"{error}"
        return McarTest(None, 0, None, None, Note(why))
    patterns, of_row = distinct_patterns(masks)
    by_pattern = rows_by_group(of_row, len(patterns))
    statistic, df = 0.0, -len(names)
    for pattern, rows in zip(patterns, by_pattern, strict=True):
        check_stopped()
        seen = np.flatnonzero(pattern)
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


def _columns(dataset: Dataset) -> tuple[list[str], Array]:
    """Numbers, and indicators of the levels that occur but the first, by name; NaN: missing."""
    names: list[str] = []
    columns: list[Array] = []
    for j in NameOrder(dataset.names).positions.tolist():
        variable, column = dataset.variables[j], dataset.columns[j]
        gaps = missing_mask(column)
        if gaps.all():
            raise DataError(f"column {quote(variable.name)} has no values")
        if variable.is_continuous:
            # As a label of one level has no indicator.
            if np.nanmin(column) == np.nanmax(column):
                continue
            names.append(variable.name)
            columns.append(column)
            continue
        occurring = np.unique(column[~gaps]).tolist()
        require_memory(
            8 * dataset.n_rows * (len(columns) + len(occurring)), None, "the indicators of labels"
        )
        for code in occurring[1:]:
            names.append(f"{variable.name}={(variable.levels or ())[code]}")
            columns.append(np.where(gaps, np.nan, column == code))
    if len(columns) > _MOST_COLUMNS:
        raise CannotAnswer(
            f"{len(columns)} columns of numbers and indicators of levels are more than the "
            f"{_MOST_COLUMNS} that it takes; {_fewer(dataset, len(columns))}"
        )
    if not columns:
        raise DataError(f"{counted(len(dataset.names), 'column')}, none of which varies")
    return names, np.column_stack(columns)


def _fewer(dataset: Dataset, columns: int) -> str:
    """Say what leaves few enough columns: numbers as numbers, then text left out."""
    sizes: dict[str, int] = {}
    are_numbers = set()
    for variable, column in zip(dataset.variables, dataset.columns, strict=True):
        if variable.levels is None:
            continue
        occurring = np.unique(column[~missing_mask(column)]).tolist()
        sizes[variable.name] = len(occurring) - 1
        numbers = numbers_of_labels([variable.levels[code] for code in occurring])[:-1]
        if sizes[variable.name] > 1 and not np.isnan(numbers).any():
            are_numbers.add(variable.name)
    numeric, exclude = [], []
    # Those of many values are hardly labels; codes of few values may be.
    for name in sorted(sizes, key=lambda name: (name not in are_numbers, -sizes[name], name)):
        if name in are_numbers and (columns > _MOST_COLUMNS or sizes[name] >= _FEW_VALUES):
            numeric.append(name)
            columns -= sizes[name] - 1
        elif columns > _MOST_COLUMNS:
            exclude.append(name)
            columns -= sizes[name]
    asked = [("numeric", numeric), ("exclude", exclude)]
    return "try " + " ".join(parameter(option, names) for option, names in asked if names)

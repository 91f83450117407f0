"""Rows of evidence: what each says about a node.

Columns that are nodes observe them; a missing cell observes nothing, and columns without a node are
ignored. Rows of evidence of probability 0 have no answer.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from gml.data.dataset import MAX_LEVELS, Dataset, Variable, missing_mask
from gml.data.dialect import parse_dialect
from gml.data.frames import is_frame
from gml.data.options import ReadOptions, reading_options
from gml.data.reading import read_dataset
from gml.data.schema import Schema
from gml.errors import (
    UsageError,
    agreeing,
    counted,
    kind_of,
    parameter,
)
from gml.graph.provenance import Provenance
from gml.model.decoded_metrics import DecodedMetrics, DecodedTally
from gml.model.evidence import circumstances
from gml.model.model import AskedModel
from gml.model.prediction_metrics import Metrics, Tally, TrueValues
from gml.model.row_answers import Decoded, Predictions, RowAnswers
from gml.model.row_evidence import RowEvidence, warn_of_ignored
from gml.model.row_inference import RowInference
from gml.progress import reporter

if TYPE_CHECKING:
    import pandas as pd


def predict(
    net: AskedModel,
    data: str | os.PathLike[str] | Dataset | pd.DataFrame,
    target: str,
    *,
    evidence: Mapping[str, Any] | None = None,
    do: Mapping[str, Any] | None = None,
    missing: str = "unobserved",
    ignore_unknown: bool = False,
    interval: float | None = None,
    max_memory: int | None = None,
) -> Predictions:
    """Predict a node from each row of a table.

    Parameters
    ----------
    net
        Of levels, of numbers or of both, with or without arrows.
    data
        Rows: a path, a DataFrame or a Dataset; what is missing (NaN) is not observed.
    target
        The node; a column of that name is not evidence, but tells how good the predictions are
        (`metrics`).
    evidence
        Values that every row observes as well.
    do
        Values that are set by hand first.
    missing
        `"level"`: missing cells observe the level NA of nodes that have it.
    ignore_unknown
        Treat values that are not levels of their node as missing.
    interval
        The probability of the intervals, with equal tails, that numbers are predicted to lie in.
    max_memory
        Bytes that tables may take; by default half of what is free.

    Examples
    --------
    >>> import gml
    >>> data = gml.read("sample_data/asia.csv")
    >>> net = gml.fit(data, gml.read_graph("sample_data/asia.dot"))
    >>> found = predict(net, data, "lung")
    >>> len(found), found.predicted[0], found.levels
    (5000, 'no', ('no', 'yes'))
    """
    asked = RowInference(
        circumstances(net, evidence, do),
        [target],
        predict=True,
        interval=interval,
        max_memory=max_memory,
    )
    return cast(
        "Predictions",
        answers_about_data(asked, data, missing=missing, ignore_unknown=ignore_unknown),
    )


def answers_about_data(
    asked: RowInference,
    data: str | os.PathLike[str] | Dataset | pd.DataFrame,
    *,
    missing: str = "unobserved",
    ignore_unknown: bool = False,
) -> RowAnswers:
    """Return what is asked of each row of a table, which may be a file."""
    if isinstance(data, str | os.PathLike):
        data = read_nodes(data, asked.given.net)
    return answers_about(asked, data, "data", missing=missing, ignore_unknown=ignore_unknown)


def answers_about(
    asked: RowInference,
    data: Dataset | pd.DataFrame,
    where: str,
    *,
    missing: str = "unobserved",
    ignore_unknown: bool = False,
) -> RowAnswers:
    """Return what a network says of each row of a table, which is a parameter called `where`."""
    if not isinstance(data, Dataset) and not is_frame(data):
        raise UsageError(
            f"{parameter(where)} must be a path, a Dataset or a DataFrame, not {kind_of(data)}"
        )
    names = list(data.names) if isinstance(data, Dataset) else [str(name) for name in data.columns]
    rows = RowEvidence(
        asked.given,
        names,
        asked.targets,
        where,
        missing=missing,
        ignore_unknown=ignore_unknown,
        decimal=_decimal(data),
        needed=asked.needed,
    )
    values = observed_values(rows, data)
    rows.warn()
    answers = asked.of(rows.names, values)
    warn_of_impossible(int(np.count_nonzero(~answers.possible)), where)
    if not isinstance(data, Dataset):
        answers = replace(answers, index=data.index)
    if isinstance(answers, Predictions) and answers.target in names:
        return replace(answers, metrics=_metrics(asked, answers, data, names, missing))
    if isinstance(answers, Decoded) and all(name in names for name in asked.targets):
        return replace(answers, metrics=_decoded_metrics(asked, answers, data, names, missing))
    return answers


def _metrics(
    asked: RowInference,
    predicted: Predictions,
    data: Dataset | pd.DataFrame,
    names: Sequence[str],
    missing: str,
) -> Metrics:
    """How good predictions are, by the column that has the truth."""
    variable = asked.given.net.variables[asked.given.net.index(predicted.target)]
    tally = Tally(predicted.target, variable.levels)
    truth = _truth(variable, data, names, missing)
    tally.add(predicted, truth, data.weights if isinstance(data, Dataset) else None)
    return tally.metrics()


def _decoded_metrics(
    asked: RowInference,
    decoded: Decoded,
    data: Dataset | pd.DataFrame,
    names: Sequence[str],
    missing: str,
) -> DecodedMetrics:
    """How good values found together are, by the columns that have the truth."""
    net = asked.given.net
    variables = [net.variables[net.index(name)] for name in asked.targets]
    tally = DecodedTally(variables)
    truth = {variable.name: _truth(variable, data, names, missing) for variable in variables}
    tally.add(decoded, truth, data.weights if isinstance(data, Dataset) else None)
    return tally.metrics()


def _truth(
    variable: Variable, data: Dataset | pd.DataFrame, names: Sequence[str], missing: str
) -> NDArray[Any]:
    """What the column of a node says that it really was."""
    plain = _plain_numbers(variable, data, names.index(variable.name))
    if plain is not None:
        return plain
    true = TrueValues(variable, missing_is_level=missing == "level", decimal=_decimal(data))
    codes, distinct = _factorized(data, names.index(variable.name))
    meant = np.array([true.missing, *(true.of(value) for value in distinct)])
    found: NDArray[Any] = meant[codes + 1]
    return found


def _decimal(data: Dataset | pd.DataFrame) -> str:
    return data.decimal if isinstance(data, Dataset) else "."


def options_as_learned(
    learning: Provenance, source: str = "the model", **given: Any
) -> ReadOptions:
    """Return the options that read rows as the table was that a model was learned from.

    Keywords that are given win. What became of missing values, and which columns were left out, is
    of no account to what a model says of rows.
    """
    said = parse_dialect(learning.reading, source).items()
    dialect = {name: value for name, value in said if name not in ("missing", "exclude")}
    return reading_options(**given, levels=Schema(dialect=dialect))


def read_nodes(path: str | os.PathLike[str], net: AskedModel) -> Dataset:
    """Read the columns that are nodes; whether their values are levels is seen later."""
    nodes = {variable.name: variable for variable in net.variables}

    def used(names: Sequence[str]) -> Sequence[str]:
        warn_of_ignored(names, nodes)
        return [name for name in names if name in nodes]

    options = replace(
        options_as_learned(net.learning),
        missing="available",
        max_levels=MAX_LEVELS,
        kinds="numbers" if net.is_gaussian else "labels",
        numeric=tuple(name for name, node in nodes.items() if node.is_continuous),
    )
    return read_dataset(path, options, used=used)


def observed_values(rows: RowEvidence, data: Dataset | pd.DataFrame) -> NDArray[Any]:
    """What each row observes; the meaning of a value is looked up once per column."""
    values = rows.room(data.n_rows if isinstance(data, Dataset) else len(data))
    for k, at in enumerate(rows.at):
        plain = _plain_numbers(rows.variables[k], data, at)
        if plain is not None:
            gaps = np.flatnonzero(np.isnan(plain))
            if len(gaps):
                rows.missing(k, f"row {gaps[0]}", len(gaps))
            values[:, k] = plain
            continue
        codes, distinct = _factorized(data, at)
        which, first, times = np.unique(codes, return_index=True, return_counts=True)
        seen = {
            int(code): (int(row), int(number))
            for code, row, number in zip(which, first, times, strict=True)
        }
        gap = seen.get(-1)
        known = None if gap is None else rows.missing(k, f"row {gap[0]}", gap[1])
        meant = [rows.nothing if known is None else known]
        for code, value in enumerate(distinct):
            row, number = seen.get(code, (0, 0))
            known = rows.find(k, value, f"row {row}", number)
            meant.append(rows.nothing if known is None else known)
        values[:, k] = np.array(meant)[codes + 1]
    return values


def _plain_numbers(
    variable: Variable, data: Dataset | pd.DataFrame, at: int
) -> NDArray[np.float64] | None:
    """A column of numbers that mean themselves, NaN where one is missing; None if there are others.

    There may be as many of them as rows, so that looking each up would take long.
    """
    if not variable.is_continuous:
        return None
    if isinstance(data, Dataset):
        column = data.columns[at] if data.variables[at].is_continuous else None
    else:
        column = data.iloc[:, at].to_numpy() if data.dtypes.iloc[at].kind in "fiu" else None
    if column is None or column.dtype.kind not in "fiu" or np.isinf(column).any():
        return None
    found: NDArray[np.float64] = column.astype(np.float64)
    return found


def _factorized(data: Dataset | pd.DataFrame, at: int) -> tuple[NDArray[np.int64], list[Any]]:
    """The distinct values of a column, and which one each row has; -1 for none."""
    if not isinstance(data, Dataset):
        codes, distinct = data.iloc[:, at].factorize(use_na_sentinel=True)
        return codes.astype(np.int64), list(distinct)
    column, levels = data.columns[at], data.variables[at].levels
    gaps = missing_mask(column)
    if levels is not None:
        return np.where(gaps, -1, column.astype(np.int64)), list(levels)
    values, codes = np.unique(column, return_inverse=True)
    return np.where(gaps, -1, codes), values.tolist()


def different_values(data: Dataset | pd.DataFrame, at: int) -> list[Any]:
    """The values of a column, each once."""
    return _factorized(data, at)[1]


def warn_of_impossible(n_rows: int, where: str) -> None:
    """Say how many rows have no answer."""
    if n_rows:
        reporter().warn(
            f"{where}: {counted(n_rows, 'row')} of evidence of probability 0 "
            f"{agreeing(n_rows, 'has', 'have')} no answer"
        )

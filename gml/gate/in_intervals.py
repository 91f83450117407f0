"""Numbers, and labels that are numbers, in the intervals that are levels of a model."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np

from gml.counts.counter import TableSet
from gml.counts.passes import PassCounter
from gml.counts.streamed import StreamCounter
from gml.data.dataset import Dataset, Variable, code_type, missing_mask
from gml.data.discretize import Intervals, cuts_of_levels
from gml.data.lazily import Lazily
from gml.data.number_summary import Numbers, NumberValues, numbers_of_labels
from gml.data.row_groups import equal_cells, multiplicities
from gml.model.training import numbers_in


def numbers_before(data: Dataset, held_numbers: Collection[str]) -> dict[str, Numbers]:
    """The numbers of columns, and those that labels spell in columns that held numbers before."""
    found: dict[str, Numbers] = dict(numbers_in(data))
    for variable, column in zip(data.variables, data.columns, strict=True):
        name = variable.name
        held = name in held_numbers and name not in found
        if held and variable.levels is not None and data.unit == 1:
            spelt = NumberValues.spelt(variable.levels, column, data.weights, data.decimal)
            if spelt.n:
                found[name] = spelt
    return found


def numbers_of_engine(counter: PassCounter, held_numbers: Collection[str]) -> Mapping[str, Numbers]:
    """The same numbers of rows that are read in passes, each column by itself when it is wanted."""
    at = {variable.name: j for j, variable in enumerate(counter.variables)}
    cut = counter.cut_numbers if isinstance(counter, StreamCounter) else {}

    def numbers_of(name: str) -> Numbers | None:
        found = counter.number_values([name]).get(name) or spelt(name)
        return found if found.n else None

    def spelt(name: str) -> NumberValues:
        levels = counter.variables[at[name]].levels
        if levels is None:
            return NumberValues.of(np.zeros(0))
        (counts,) = counter.tables([TableSet((at[name],))])
        cells = counts.table.sum(axis=0)[: len(levels)]
        return NumberValues.spelt(levels, np.arange(len(levels)), cells, counter.decimal or ".")

    names = [
        name
        for name, j in at.items()
        if counter.variables[j].is_continuous or name in held_numbers or name in cut
    ]
    return Lazily(names, numbers_of)


def repeats_before(data: Dataset, held_numbers: Collection[str]) -> Mapping[int, int] | None:
    """How many different rows occur how often, numbers as they are; None if that is not known."""
    if data.origin is not None and data.origin.repeats is not None:
        return data.origin.repeats
    if data.unit != 1:
        return None
    columns = []
    for variable, column in zip(data.variables, data.columns, strict=True):
        if variable.name in held_numbers and variable.levels is not None:
            if cuts_of_levels(variable.levels) is not None:
                return None
            numbers = numbers_of_labels(variable.levels, data.decimal)
            column = numbers[np.where(missing_mask(column), len(variable.levels), column)]
        columns.append(column)
    return multiplicities(equal_cells(columns, data.weights).counts)


def in_intervals(data: Dataset, levels: Mapping[str, tuple[str, ...]]) -> Dataset:
    """Put columns into intervals where `levels` has them; values outside stay labels.

    Examples
    --------
    >>> ages = Dataset((Variable("age", None),), (np.array([41.0, 7.0, np.nan]),))
    >>> found = in_intervals(ages, {"age": ("[-inf,18)", "[18,inf)")})
    >>> found.variables[0].levels, found.columns[0].tolist()
    (('[-inf,18)', '[18,inf)'), [1, 0, 255])
    """
    variables, columns = list(data.variables), list(data.columns)
    for j, (variable, column) in enumerate(zip(data.variables, data.columns, strict=True)):
        declared = levels.get(variable.name, ())
        if cuts_of_levels(declared) is None or variable.levels == declared:
            continue
        intervals, gaps = Intervals(declared), missing_mask(column)
        if variable.levels is None:
            names = intervals.names
            places = intervals.places_of(np.where(gaps, 0.0, column))
        else:
            names = tuple(
                intervals.name_of(label, data.decimal) or label for label in variable.levels
            )
            places = np.where(gaps, 0, column).astype(np.intp)
        occurring = np.unique(places[~gaps])
        found = tuple(dict.fromkeys([*declared, *(names[k] for k in occurring)]))
        rank = {level: code for code, level in enumerate(found)}
        narrow = code_type(len(found))
        # A column without a value has no names, but its gaps need one to be looked up in.
        codes = np.array([rank.get(name, 0) for name in (*names, "")], dtype=narrow)[places]
        codes[gaps] = np.iinfo(narrow).max
        variables[j], columns[j] = Variable(variable.name, found), codes
    return replace(data, variables=tuple(variables), columns=tuple(columns))

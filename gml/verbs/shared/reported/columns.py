"""The columns of the data, each by itself and each two together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gml.counts.counter import Counter, TableSet
from gml.counts.memory import MemoryCounter
from gml.counts.number_rows import NumberReader
from gml.data.dataset import Dataset, Variable
from gml.data.number_summary import Numbers
from gml.gate.checked_data import CheckedData
from gml.gate.settings import Context
from gml.independence.mutual_information import mutual_information
from gml.model.bayesnet import BayesNet
from gml.model.markovnet import MarkovNet
from gml.pictures.page.content import Column, Histogram, Information

_BINS = 24


def engine_of(net: BayesNet | MarkovNet, checked: CheckedData, threads: int | None) -> Counter:
    """Return the engine over the rows; columns of numbers in the model have the numbers in them.

    A check reads such columns as text, in which cells that are not numbers can be told; here these
    are missing.
    """
    rows = checked.counter.rows()
    if rows is None or not (net.is_gaussian or net.is_mixed):
        return checked.counter
    return MemoryCounter(with_numbers(net, rows), threads=threads)


def with_numbers(net: BayesNet | MarkovNet, rows: Dataset) -> Dataset:
    """The rows, with numbers in the columns that have numbers in the model."""
    labels = [variable.name for variable in net.variables if not variable.is_continuous]
    reader = NumberReader.of(rows.variables, labels, rows.decimal)
    return replace(
        rows,
        variables=tuple(
            variable if variable.name in labels else Variable(variable.name, None)
            for variable in rows.variables
        ),
        columns=tuple(
            column if variable.name in labels else reader.numbers(variable.name, column)
            for variable, column in zip(rows.variables, rows.columns, strict=True)
        ),
    )


def columns_of(net: BayesNet | MarkovNet, counter: Counter, context: Context) -> tuple[Column, ...]:
    """Sum up each column of the model that the data have, in the order of the model."""
    place = {variable.name: j for j, variable in enumerate(counter.variables)}
    known = {variable.name: variable.levels for variable in net.variables}
    found = []
    for name in net.names:
        if name not in place:
            continue
        cells = context.missing_now.get(name)
        missing, rows = (0, counter.n) if cells is None else cells
        variable = counter.variables[place[name]]
        values = context.numbers_now.get(name)
        summary = None if values is None or not values.n else values.summary()
        if variable.levels is None:
            drawn = None if summary is None or values is None else histogram(values)
            found.append(Column(name, missing, rows, numbers=summary, histogram=drawn))
            continue
        counts = next(iter(counter.tables([TableSet((place[name],))]))).table.sum(axis=0)
        n_known = len(known[name] or ())
        found.append(
            Column(name, missing, rows, variable.levels, tuple(counts.tolist()), n_known, summary)
        )
    return tuple(found)


def rows_left_out(counter: Counter, columns: Sequence[Column]) -> int:
    """Return how many rows were left out for the values that they lack."""
    return int(counter.in_rows(max(column.rows for column in columns) - counter.n))


def histogram(values: Numbers) -> Histogram:
    """Count numbers between edges at equal distances.

    Examples
    --------
    >>> import numpy as np
    >>> from gml.data.number_summary import NumberValues
    >>> found = histogram(NumberValues.of(np.array([0.0, 1.0, 1.5, 24.0])))
    >>> found.counts[:3], found.counts[-1], found.edges[1]
    ((1, 2, 0), 1, 1.0)
    """
    found = values.summary()
    low, high = found.smallest, found.largest
    # Halves, as the whole width may be beyond the largest float.
    width = high / 2 - low / 2
    edges = [low + width * (2 * k / _BINS) for k in range(_BINS)]
    if not width > 0 or len(set(edges)) < _BINS:
        return Histogram((low, high), (values.n,))
    # The last edge belongs to the last bin.
    return Histogram((*edges, high), values.counts_between(edges[1:]))


def information_of(net: BayesNet | MarkovNet, counter: Counter) -> Information | None:
    """Return the mutual information of each two columns; None where there are no two."""
    chosen = [
        v.name for v in counter.variables if net.is_mixed or v.is_continuous == net.is_gaussian
    ]
    if len(chosen) < 2:
        return None
    kind = "both" if net.is_mixed else "numbers" if net.is_gaussian else "labels"
    return Information(tuple(chosen), mutual_information(counter.select(chosen)), kind)

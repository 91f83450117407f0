"""Rows of a file with their holes filled, as CSV text; all other cells stay as they are."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.atomic import whole_file
from gml.data.dataset import Dataset, code_type
from gml.data.options import ReadOptions
from gml.data.records import Records, open_records
from gml.errors import UsageError, counted, place
from gml.ledger import wants_digest
from gml.model.bayesnet import BayesNet
from gml.model.evidence import circumstances
from gml.model.imputation import Filled, Imputer
from gml.model.row_evidence import RowEvidence
from gml.progress import reporter
from gml.verbs.shared.answer_text import csv_line
from gml.verbs.shared.row_queries import evidence_blocks


class FilledCell(NamedTuple):
    """A cell that was filled: the number of its row from 1 on, and how sure the value is."""

    row: int
    column: str
    value: str
    probability: float | None
    """Of a level, given all that the row observes."""
    sd: float | None
    """Of a number, given all that the row observes."""

    def line(self, safe_csv: bool) -> bytes:
        """The cell as a line of CSV."""
        figures = ["" if x is None else repr(x) for x in (self.probability, self.sd)]
        return csv_line([str(self.row), self.column, self.value, *figures], safe_csv)


@contextmanager
def listing_cells(
    path: str | None, *, safe_csv: bool = False
) -> Iterator[Callable[[FilledCell], None] | None]:
    """Yield what takes the cells that are filled, into a CSV file that appears whole."""
    if path is None:
        yield None
        return
    with whole_file(path) as file:
        file.write(csv_line(list(FilledCell._fields), safe_csv))

        def write(cell: FilledCell) -> None:
            file.write(cell.line(safe_csv))

        yield write


def require_some_columns(net: BayesNet, names: Sequence[str], where: str) -> None:
    """Refuse a table that has nothing to do with the model."""
    if not any(name in net.names for name in names):
        raise UsageError(f"{where} has no column that is a node of the model")


def csv_of_imputed(
    net: BayesNet,
    data: str | os.PathLike[str],
    *,
    method: str,
    seed: int,
    missing: str = "unobserved",
    ignore_unknown: bool = False,
    reading: ReadOptions | None = None,
    safe_csv: bool = False,
    listed: Callable[[FilledCell], None] | None = None,
    max_memory: int | None = None,
) -> Iterator[bytes]:
    """Yield CSV text: the file with the missing cells of nodes filled, block by block.

    Every cell that is filled goes to `listed`, if that is given.
    """
    reading = reading or ReadOptions()
    impossible, n_filled, done = 0, 0, 0
    with open_records(data, reading, digest=wants_digest(data)) as records:
        rows = _evidence(net, records, reading, missing, ignore_unknown)
        fill = Imputer(net, rows.names, method=method, seed=seed, max_memory=max_memory)
        text = csv_line(list(records.names), safe_csv)
        for block, values in evidence_blocks(records, rows, reading):
            evidence = with_holes(values)
            found = fill.fill(evidence, first_row=done)
            impossible += found.impossible
            lines = [list(fields) for _, fields in block]
            for cell, i, k in filled_cells(fill, evidence, found, reading.decimal):
                lines[i][rows.at[k]] = cell.value
                n_filled += 1
                if listed is not None:
                    listed(cell._replace(row=done + i + 1))
            done += len(block)
            yield text + b"".join(csv_line(fields, safe_csv) for fields in lines)
            text = b""
        yield text
        rows.warn()
    warn_of_unfilled(impossible, place(data))
    reporter().tell(f"{counted(n_filled, 'cell')} filled in {counted(done, 'row')}")


def incomplete_rows(
    net: BayesNet,
    data: str | os.PathLike[str],
    *,
    missing: str = "unobserved",
    ignore_unknown: bool = False,
    reading: ReadOptions | None = None,
) -> Dataset:
    """Read the columns of a file that are nodes, with their holes."""
    reading = reading or ReadOptions()
    with open_records(data, reading) as records:
        rows = _evidence(net, records, reading, missing, ignore_unknown)
        blocks = [with_holes(values) for _, values in evidence_blocks(records, rows, reading)]
    return dataset_of(net, rows.names, np.concatenate([with_holes(rows.room(0)), *blocks]))


def _evidence(
    net: BayesNet, records: Records, reading: ReadOptions, missing: str, ignore_unknown: bool
) -> RowEvidence:
    require_some_columns(net, records.names, records.where)
    return RowEvidence(
        circumstances(net, None, None),
        records.names,
        (),
        records.where,
        missing=missing,
        ignore_unknown=ignore_unknown,
        decimal=reading.decimal,
    )


def with_holes(values: NDArray[Any]) -> NDArray[np.float64]:
    """Evidence as numbers, NaN where there is none."""
    return np.where(values < 0, np.nan, values) if values.dtype.kind == "i" else values


def dataset_of(net: BayesNet, names: Sequence[str], values: NDArray[np.float64]) -> Dataset:
    """Rows of nodes as a dataset; NaN is missing."""
    variables = tuple(net.variables[net.index(name)] for name in names)
    columns = []
    for variable, column in zip(variables, values.T, strict=True):
        if variable.levels is None:
            columns.append(np.ascontiguousarray(column, dtype=np.float64))
            continue
        kind = code_type(len(variable.levels))
        columns.append(np.where(np.isnan(column), np.iinfo(kind).max, column).astype(kind))
    return Dataset(variables, tuple(columns))


def filled_cells(
    fill: Imputer, evidence: NDArray[np.float64], found: Filled, decimal: str
) -> Iterator[tuple[FilledCell, int, int]]:
    """Yield the cells that were filled, with their row and column in the block."""
    variables = {v.name: v for v in fill.net.variables}
    levels = [variables[name].levels for name in fill.names]
    holes = np.argwhere(np.isnan(evidence) & ~np.isnan(found.values))
    for i, k in holes.tolist():
        own, value = levels[k], float(found.values[i, k])
        if own is None:
            text = repr(value) if decimal == "." else repr(value).replace(".", decimal)
            sd = float(found.sd[i, k])
            yield FilledCell(i + 1, fill.names[k], text, None, sd), i, k
        else:
            p = float(found.probability[i, k])
            yield FilledCell(i + 1, fill.names[k], own[int(value)], p, None), i, k


def warn_of_unfilled(impossible: int, where: str) -> None:
    """Warn of rows whose holes stay."""
    if impossible:
        reporter().warn(
            f"{where}: {counted(impossible, 'row')} with missing values "
            f"{'has' if impossible == 1 else 'have'} probability 0 in the model: not filled"
        )

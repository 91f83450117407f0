"""The rows of a file as they are, each with its raked weight at the end."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Unpack

import numpy as np
from numpy.typing import NDArray

from gml.data.appended_column import Record, appended, encoded, rewritten
from gml.data.columns import Choice
from gml.data.dialect import default_delimiter
from gml.data.header import read_header
from gml.data.options import ReadingKeywords, ReadOptions
from gml.data.parquet import ParquetTable, is_parquet, open_parquet
from gml.data.parquet_values import texts_of
from gml.data.reading import read_dataset, read_source
from gml.data.records import records_after
from gml.data.rereading import Reopen, rereadable
from gml.errors import DataError, UsageError, parameter, place, quote
from gml.formats.row_files import delimiter_for
from gml.model.entropy.constraints import Constraints
from gml.model.raking.result import Raking
from gml.path_kinds import is_folder
from gml.progress import reporter
from gml.verbs.shared.data_input import options_for
from gml.verbs.shared.raked_table import (
    Bounds,
    as_they_are,
    checked_bounds,
    columns_with_targets,
    raked,
)
from gml.verbs.shared.raking_targets import Targets, targets_of

WEIGHT = "weight"
"""What the new column is called."""

_REMEMBERED = 1 << 16


@contextmanager
def raked_rows(
    path: str | os.PathLike[str],
    targets: Targets,
    *,
    weight_name: str = WEIGHT,
    bounds: Sequence[float] | None = None,
    normalise: bool = False,
    safe_csv: bool = False,
    output: str | os.PathLike[str] | None = None,
    **reading: Unpack[ReadingKeywords],
) -> Iterator[tuple[Raking, Iterator[bytes]]]:
    """Rake a file; yield what was found, and the text of its rows with their weights.

    The text has the bytes of the file, its delimiter, decimal mark and encoding, and is meant for
    `output`: it has tabs where that is a .tsv, and commas where the file was a .tsv and that is
    not. The file is read twice, and kept on disk in between if it comes through a pipe.

    Examples
    --------
    >>> known = {"smoke": {"no": 70, "yes": 30}}
    >>> with raked_rows("sample_data/asia.csv", known) as (raking, text):
    ...     b"".join(text).decode().splitlines()[:2]
    ['asia,tub,smoke,lung,bronc,either,xray,dysp,weight', \
'no,no,no,no,no,no,no,no,1.3994402239104358']
    """
    wanted, within = targets_of(targets, normalise=normalise), checked_bounds(bounds)
    options = options_for(path, reading)
    _require_name(weight_name)
    used = _with_room_for(weight_name, columns_with_targets(wanted, options.weights_column))
    if str(path) != "-" and is_parquet(path):
        with open_parquet(path, options) as table:
            raking = _raked_parquet(path, table, wanted, options, within, used)
            yield (
                raking,
                _of_parquet(table, raking, weight_name, delimiter_for(None, ",", output), safe_csv),
            )
        return
    if is_folder(path):
        raise DataError(f"{place(path)}: a folder without Parquet files; name a table")
    with rereadable(path, digest=options.digest) as reopen:
        with reopen(options.digest) as source:
            rows = read_source(source, path, as_they_are(options, wanted), used=used)
        raking = raked(rows, wanted, options, within, where=place(path))
        del rows
        yield raking, _of_text(reopen, path, raking, weight_name, options, output, safe_csv)


def _require_name(name: object) -> None:
    # An argument may have bytes that are not UTF-8, which no file of text could hold.
    if not isinstance(name, str) or not name or any("\ud800" <= char <= "\udfff" for char in name):
        raise UsageError(f"{parameter('weight_name')} must be the name of a column, not {name!r}")


def _with_room_for(name: str, used: Choice) -> Choice:
    """Pick columns as `used` does, from a table that has no column of the name."""

    def pick(known: Sequence[str]) -> Sequence[str]:
        if name in known:
            raise UsageError(
                f"there is a column {quote(name)} already; choose another "
                f"{parameter('weight_name')}"
            )
        return used(known)

    return pick


class _ShortestText(dict[float, str | None]):
    """The shortest text that means a number, None for NaN; texts that come again are kept."""

    def __init__(self, decimal: str) -> None:
        super().__init__()
        self._decimal = decimal

    def __missing__(self, weight: float) -> str | None:
        if weight != weight:
            return None
        text = repr(weight).replace(".", self._decimal)
        if len(self) < _REMEMBERED:
            self[weight] = text
        return text


class _Texts:
    """The weights of rows as text, from one row to another; None for rows that have none."""

    def __init__(self, weights: NDArray[np.float64], decimal: str, where: str) -> None:
        self._weights = weights
        self._where = where
        self._text_of = _ShortestText(decimal)
        self.done = 0

    def __call__(self, first: int, last: int) -> list[str | None]:
        if last > len(self._weights):
            raise DataError(f"{self._where}: changed while it was read; try again")
        self.done = last
        reporter().advance("writing", last, len(self._weights))
        return list(map(self._text_of.__getitem__, self._weights[first:last].tolist()))

    def require_all(self) -> None:
        """Refuse a file that has fewer rows than before."""
        if self.done != len(self._weights):
            raise DataError(f"{self._where}: changed while it was read; try again")


def _of_text(
    reopen: Reopen,
    path: str | os.PathLike[str],
    raking: Raking,
    name: str,
    options: ReadOptions,
    output: str | os.PathLike[str] | None,
    safe_csv: bool,
) -> Iterator[bytes]:
    """Yield the rows of a text file: their own bytes, unless another delimiter is asked for."""
    texts = _Texts(raking.weights, options.decimal, place(path))
    own = options.delimiter or default_delimiter(path)
    wanted = delimiter_for(options.delimiter, own, output)
    with reopen(False) as source:
        if options.encoding is not None:
            source.transcode(options.encoding)
        if wanted == own and not safe_csv:
            pieces = appended(source, own, name, texts)
        else:
            header = read_header(source, source.name, own, delimiter_given=True)
            rows = (fields for _, fields in records_after(header, source, own).rows)
            pieces = rewritten(rows, header.names, name, texts, Record(wanted, safe_csv))
        yield from encoded(pieces, options.encoding)
    texts.require_all()


def _raked_parquet(
    path: str | os.PathLike[str],
    table: ParquetTable,
    wanted: Constraints,
    options: ReadOptions,
    bounds: Bounds | None,
    used: Choice,
) -> Raking:
    nested = [column for column in dict.fromkeys(table.names) if table.is_nested(column)]
    if nested:
        raise DataError(
            f"{place(path)}: column {quote(nested[0])}: lists and structures cannot be written as "
            "CSV"
        )
    rows = read_dataset(path, as_they_are(options, wanted), used=used)
    return raked(rows, wanted, options, bounds, where=place(path))


def _of_parquet(
    table: ParquetTable, raking: Raking, name: str, delimiter: str, safe_csv: bool
) -> Iterator[bytes]:
    """Yield the rows of Parquet files as CSV; what is missing is an empty field."""
    texts = _Texts(raking.weights, table.options.decimal, table.where)
    batches = (zip(*batch, strict=True) for batch in texts_of(table, table.names))
    rows = (
        ["" if value is None else value for value in fields]
        for fields in chain.from_iterable(batches)
    )
    yield from rewritten(rows, table.names, name, texts, Record(delimiter, safe_csv))
    texts.require_all()

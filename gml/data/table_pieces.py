"""A path or frame as pieces of rows: text and Parquet in bounded memory, a frame as one piece."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from gml.data.columns import Choice, choose_columns, column_specs
from gml.data.frames import frame_columns, is_frame, options_for_frame
from gml.data.missing import FRAME
from gml.data.options import ReadOptions
from gml.data.parquet import is_parquet, open_parquet
from gml.data.pieces import TextPieces, open_pieces
from gml.errors import DataError, UsageError, kind_of, place
from gml.kernel.layout import CsvResult
from gml.ledger import note_digest
from gml.path_kinds import is_folder

if TYPE_CHECKING:
    import pandas as pd

# Bytes of a cell in a piece of Parquet, as a number or as a code that is looked up.
_CELL_BYTES = 16


class TablePieces(NamedTuple):
    """A table that can be gone through once; `pieces` are as `gml.data.pieces` says."""

    where: str
    names: Sequence[str]
    chosen: Sequence[int]
    """Positions of the columns in use; that of the weights, if any, is not among them."""
    options: ReadOptions
    """With the categories of a frame declared."""
    pieces: Iterable[CsvResult]
    first_line: int | None = None
    """The line after the header of a text file."""
    hash: Any = None
    delimiter: str | None = None
    """Of a text file, be it asked for or implied by its suffix."""

    def options_read(self) -> ReadOptions:
        """The options as the table turned out to need them, when all pieces were read."""
        if not isinstance(self.pieces, TextPieces):
            return self.options
        return self.options.read_from(was_utf8=self.pieces.was_utf8)

    def digest(self) -> str | None:
        """SHA-256 of the stored bytes, if the options ask for it, when all pieces were read."""
        found: str | None = None if self.hash is None else self.hash()
        return found


@contextmanager
def open_table(
    data: str | os.PathLike[str] | pd.DataFrame,
    options: ReadOptions,
    *,
    used: Choice | None = None,
    piece_bytes: int,
) -> Iterator[TablePieces]:
    """Open a table to go through it once, in pieces that take a few times `piece_bytes`."""
    if is_frame(data):
        yield _of_frame(data, options, used)
        return
    if not isinstance(data, str | os.PathLike):
        raise UsageError(f"what is read must be a path or a DataFrame, not {kind_of(data)}")
    if str(data) != "-" and is_parquet(data):
        with open_parquet(data, options) as table:
            options = table.options
            chosen = choose_columns(table.names, options, used, table.where)
            specs = column_specs(table.names, chosen, options)
            rows = max(1, piece_bytes // (_CELL_BYTES * (len(chosen) + 1)))
            digest = hashlib.sha256() if options.digest else None
            pieces = table.pieces(specs, rows, digest)
            known = None if digest is None else digest.hexdigest
            yield TablePieces(table.where, table.names, chosen, options, pieces, None, known)
            note_digest(data, None if digest is None else digest.hexdigest())
        return
    if is_folder(data):
        raise DataError(f"{place(data)}: a folder without Parquet files; name a table")
    with open_pieces(data, options, used=used, piece_bytes=piece_bytes) as text:
        yield TablePieces(
            text.where,
            text.names,
            text.chosen,
            options,
            text,
            text.first_line,
            text.digest,
            text.delimiter,
        )


def _of_frame(frame: pd.DataFrame, options: ReadOptions, used: Choice | None) -> TablePieces:
    options = options_for_frame(frame, options)
    names = [str(name) for name in frame.columns]
    chosen = choose_columns(names, options, used, FRAME)
    columns = frame_columns(frame, column_specs(names, chosen, options), options)
    piece = CsvResult(len(frame), columns, 0)
    return TablePieces(FRAME, names, chosen, options, [piece])

"""Open a table for an engine that keeps codes of rows in a file, and reads them in passes."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, TypeAlias

from gml.atomic import Leftovers, whole_file
from gml.counts.streamed import StreamCounter
from gml.data.block_file import BlockFile
from gml.data.coding import build_dataset
from gml.data.columns import Choice
from gml.data.dataset import Dataset
from gml.data.dataset_pieces import WHERE, DatasetPieces
from gml.data.digests import input_digest
from gml.data.frames import is_frame
from gml.data.held_pieces import HeldPieces
from gml.data.kept_spool import PREFIX, kept_path, reopened, write_facts
from gml.data.options import MEMORY, STREAM, ReadOptions
from gml.data.parquet import is_parquet
from gml.data.problems import NotANumber, TooManyRows
from gml.data.reading import cells_limit, read_dataset, told_more
from gml.data.row_spool import RowSpool
from gml.data.settled_columns import settle_as
from gml.data.settled_rows import SettledRows, settled
from gml.data.source import open_source
from gml.data.table_pieces import TablePieces, open_table
from gml.errors import CannotAnswer, DataError, UsageError, counted, parameter, quote
from gml.kernel.layout import CsvResult
from gml.ledger import note_digest
from gml.path_kinds import is_file, is_folder, is_there
from gml.progress import reporter
from gml.resources import available_threads, budget_in_force, format_size

if TYPE_CHECKING:
    import pandas as pd

# Blocks that are read, recoded, turned into masks and counted at once take a few times their bytes.
_BLOCKS_IN_BUDGET = 8
# The text of a piece takes up to eight times as much as cells, and is looked at column by column.
_PIECES_IN_BUDGET = 32
# A byte of text becomes at most so many bytes of cells.
_MOST_GROWTH = 8
_LEAST_PIECE, _MOST_PIECE = 1 << 16, 1 << 24


Rows: TypeAlias = "str | os.PathLike[str] | pd.DataFrame"


def open_stream(
    data: Rows,
    options: ReadOptions,
    *,
    used: Choice | None = None,
    threads: int | None = None,
) -> StreamCounter:
    """Return the engine over a file of codes, for the columns used."""
    if options.weights_fractional is not None:
        raise CannotAnswer(
            f"{parameter('weights_fractional')} needs to know the sum of all weights beforehand, "
            f"and so the rows in memory, not {parameter('engine', STREAM)}"
        )
    _require_spool(options, stays=_stays(data))
    try:
        with _opened(data, options, used) as table:
            rows = _spooled(data, table, [], table.pieces, threads)
    except NotANumber as problem:
        raise told_more(problem, data, options, used) from None
    return StreamCounter(rows, threads=threads)


def stream_of_pieces(
    pieces: Iterable[Dataset], options: ReadOptions | None = None, *, threads: int | None = None
) -> StreamCounter:
    """Return the engine over the rows of all pieces, of which one at a time is in memory.

    Examples
    --------
    >>> import gml
    >>> with stream_of_pieces(gml.read("sample_data/asia.csv").blocks(1000)) as counter:
    ...     counter.n
    5000
    """
    return StreamCounter(settled_pieces(pieces, options, threads=threads), threads=threads)


def settled_pieces(
    pieces: Iterable[Dataset], options: ReadOptions | None = None, *, threads: int | None = None
) -> SettledRows:
    """Write the rows of all pieces to a file of codes, for an engine that reads it in passes."""
    folder = None if options is None else options.spool
    if options is not None:
        _require_spool(options, stays=False)
    each = iter(pieces)
    first = next(each, None)
    if first is None:
        raise DataError("a table of no pieces at all")
    table = DatasetPieces(first)
    # The pieces were read before: it is known what columns are, and what is missing stays so.
    treated = ReadOptions(missing="available", kinds="labels")
    names = first.names
    spool = RowSpool(
        names,
        range(len(names)),
        treated,
        WHERE,
        BlockFile(folder),
        block_bytes=_block_bytes(threads),
        is_weighted=first.weights is not None,
    )
    try:
        for piece in chain([first], each):
            spool.append_columns(table.columns_of(piece), piece.n_rows, piece.weights)
        found = settle_as(spool.tally, table.variables(), treated, table.origin)
    except BaseException:
        spool.file.close()
        raise
    return SettledRows(spool, found)


def read_or_stream(
    data: Rows,
    options: ReadOptions,
    *,
    used: Choice | None = None,
    threads: int | None = None,
) -> Dataset | StreamCounter:
    """Read rows into memory, or where they do not fit, into a file that is read in passes.

    What was read before that turns out is not read again, so that it may come from a pipe.
    """

    def streamed() -> StreamCounter:
        return open_stream(data, options, used=used, threads=threads)

    if options.engine == STREAM:
        return streamed()
    _require_spool(options, stays=_stays(data))
    if options.engine == MEMORY or options.weights_fractional is not None or is_frame(data):
        return read_dataset(data, options, used=used)
    if str(data) != "-" and is_parquet(data):
        try:
            return read_dataset(data, options, used=used)
        except TooManyRows:
            _tell(str(data))
            return streamed()
    if _surely_fits(data):
        return read_dataset(data, options, used=used)
    try:
        with _opened(data, options, used) as table:
            found = _read_or_spooled(data, table, threads)
    except NotANumber as problem:
        raise told_more(problem, data, options, used) from None
    return found if isinstance(found, Dataset) else StreamCounter(found, threads=threads)


def _surely_fits(data: str | os.PathLike[str]) -> bool:
    """Whether a file is so small that its cells fit, whatever they are."""
    if str(data) == "-" or not is_file(data):
        return False
    with open_source(data) as source:
        return source.size is not None and _MOST_GROWTH * source.size <= cells_limit()


def _piece_bytes() -> int:
    return min(_MOST_PIECE, max(_LEAST_PIECE, budget_in_force() // _PIECES_IN_BUDGET))


def _block_bytes(threads: int | None) -> int:
    return budget_in_force() // (_BLOCKS_IN_BUDGET * (threads or available_threads()))


def _tell(where: str) -> None:
    reporter().tell(
        f"{where}: the rows take more than {parameter('max_memory')} allows "
        f"({format_size(budget_in_force())}): their codes go to a file that is read in passes "
        f"({parameter('engine', STREAM)})"
    )


def _read_or_spooled(data: Rows, table: TablePieces, threads: int | None) -> Dataset | SettledRows:
    options, held = table.options, HeldPieces(table.options.decimal)
    pieces = iter(table.pieces)
    for piece in pieces:
        held.append(piece)
        if held.n_bytes > cells_limit():
            _tell(table.where)
            return _spooled(data, table, held.handed_over(), pieces, threads)
    cells = held.joined()
    digest = table.digest() if options.digest else None
    options = table.options_read()
    dataset = build_dataset(cells.columns, table.names, table.chosen, options, table.where, digest)
    if cells.n_lines == dataset.n_rows:
        return replace(dataset, first_line=table.first_line)
    return dataset


def _spooled(
    data: Rows,
    table: TablePieces,
    held: Iterable[CsvResult],
    pieces: Iterable[CsvResult],
    threads: int | None,
) -> SettledRows:
    """Spool what was read already, and the rest; or find what an earlier run has kept."""
    options = table.options

    def spool_over(file: BlockFile) -> RowSpool:
        return RowSpool(
            table.names,
            table.chosen,
            options,
            table.where,
            file,
            block_bytes=_block_bytes(threads),
        )

    if not options.spool_keep:
        return _filled(spool_over(BlockFile(options.spool)), table, chain(held, pieces))
    folder = os.path.realpath(_folder(options))
    digest = input_digest(data)
    path = kept_path(folder, digest, table)
    Leftovers().remove_all(folder, PREFIX)
    kept = reopened(path, spool_over)
    if kept is not None:
        reporter().note(f"codes of an earlier run: {path}")
        found = settled(kept, digest if options.digest else None, table.first_line)
        note_digest(data, found.digest)
        return found
    with whole_file(path, replaces_links=True) as file:
        spool = spool_over(BlockFile(folder, descriptor=os.dup(file.fileno())))
        found = _filled(spool, table, chain(held, pieces))
        if table.digest() != digest:
            spool.file.close()
            raise DataError(f"{table.where}: the file changed while it was read")
        write_facts(spool)
    return found


def _filled(spool: RowSpool, table: TablePieces, pieces: Iterable[CsvResult]) -> SettledRows:
    try:
        for piece in pieces:
            spool.append(piece)
        reporter().note(
            f"{counted(spool.tally.n_rows, 'row')} in {counted(len(spool.blocks), 'block')} of a "
            f"file of {format_size(spool.file.size)} in {spool.file.folder}"
        )
        digest = table.digest() if table.options.digest else None
        spool.options = table.options_read()
        return settled(spool, digest, table.first_line)
    except BaseException:
        spool.file.close()
        raise


@contextmanager
def _opened(data: Rows, options: ReadOptions, used: Choice | None) -> Iterator[TablePieces]:
    """Open a table, hashed too if its codes are to be kept."""
    hashed = replace(options, digest=options.digest or options.spool_keep)
    with open_table(data, hashed, used=used, piece_bytes=_piece_bytes()) as table:
        yield table._replace(options=replace(table.options, digest=options.digest))


def _folder(options: ReadOptions) -> str:
    return os.fspath(options.spool or tempfile.gettempdir())


def _require_spool(options: ReadOptions, *, stays: bool) -> None:
    """Refuse options that could not be kept to, however many rows there are."""
    if options.spool is not None and not is_folder(options.spool):
        raise UsageError(f"{parameter('spool')}: no folder {quote(_folder(options))}")
    if options.spool_keep and not stays:
        raise UsageError(
            f"{parameter('spool_keep')} is for files, whose hash tells whether they are the same"
        )


def _stays(data: Rows) -> bool:
    """Whether data can be read again, and be the same."""
    if not isinstance(data, str | os.PathLike) or str(data) == "-":
        return False
    return not is_there(data) or is_file(data) or is_folder(data)

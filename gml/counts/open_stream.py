"""Open a table for an engine that keeps codes of rows in a file, and reads them in passes."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gml.counts.streamed import StreamCounter
from gml.data.block_file import BlockFile
from gml.data.columns import Choice
from gml.data.options import STREAM, ReadOptions
from gml.data.problems import NotANumber
from gml.data.reading import told_more
from gml.data.row_spool import RowSpool
from gml.data.settled_rows import SettledRows, settled
from gml.data.table_pieces import TablePieces, open_table
from gml.errors import CannotAnswer, counted, parameter
from gml.progress import reporter
from gml.resources import available_threads, budget_in_force, format_size

if TYPE_CHECKING:
    import pandas as pd

# Blocks that are read, recoded, turned into masks and counted at once take a few times their bytes.
_BLOCKS_IN_BUDGET = 8
# The text of a piece takes up to eight times as much as cells, and is looked at column by column.
_PIECES_IN_BUDGET = 32
_LEAST_PIECE, _MOST_PIECE = 1 << 16, 1 << 24


def open_stream(
    data: str | os.PathLike[str] | pd.DataFrame,
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
    budget, threads = budget_in_force(), threads or available_threads()
    piece_bytes = min(_MOST_PIECE, max(_LEAST_PIECE, budget // _PIECES_IN_BUDGET))
    try:
        with open_table(data, options, used=used, piece_bytes=piece_bytes) as table:
            rows = _spooled(table, budget // (_BLOCKS_IN_BUDGET * threads))
    except NotANumber as problem:
        raise told_more(problem, data, options, used) from None
    return StreamCounter(rows, threads=threads)


def _spooled(table: TablePieces, block_bytes: int) -> SettledRows:
    file = BlockFile(table.options.spool)
    try:
        spool = RowSpool(
            table.names, table.chosen, table.options, table.where, file, block_bytes=block_bytes
        )
        for piece in table.pieces:
            spool.append(piece)
        reporter().note(
            f"{counted(spool.n_rows, 'row')} in {counted(len(spool.blocks), 'block')} of a file of "
            f"{format_size(file.size)} in {file.folder}"
        )
        return settled(spool, table.digest(), table.first_line)
    except BaseException:
        file.close()
        raise

"""A table that is larger than memory, opened once for several questions."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Unpack

from gml.counts import open_stream as streams
from gml.counts.streamed import StreamCounter
from gml.data.dataset import Dataset
from gml.data.frames import is_frame
from gml.data.options import (
    MEMORY,
    STREAM,
    ReadingKeywords,
    ReadOptions,
    Undeclared,
    given_keywords,
    reading_options,
    with_undeclared,
)
from gml.data.reading import read_dataset
from gml.data.schema import with_kinds
from gml.errors import UsageError, kind_of, parameter, require_whole
from gml.ledger import wants_digest
from gml.verbs.shared.data_input import is_data, refuse_reading
from gml.verbs.shared.front_door import front_door

if TYPE_CHECKING:
    import pandas as pd

# What does not say how to read, but where the codes go.
_OF_THE_FILE = ("engine", "spool", "spool_keep")


@front_door()
def open_stream(
    data: str | os.PathLike[str] | pd.DataFrame | Iterable[Dataset | pd.DataFrame],
    *,
    undeclared: Undeclared = "auto",
    threads: int | None = None,
    **reading: Unpack[ReadingKeywords],
) -> StreamCounter:
    """Read a table into a file of codes, and return the engine that counts it in passes.

    It is used in place of data, and closed at the end, which removes the file unless it is kept.

    Parameters
    ----------
    data
        A path (`-` is standard input), a DataFrame, or pieces of a table that come one by one:
        frames, each of which is read as `gml.read` reads it, or Datasets. One Dataset is one piece.
    undeclared
        What a column holds if neither `numeric` nor the schema says: labels or numbers.
    threads
        Threads; all cores by default.
    **reading
        How to read the data, as in `gml.read`; `spool` is the folder for the file, and
        `spool_keep` keeps it for the next time.

    Examples
    --------
    >>> import gml
    >>> with gml.open_stream("sample_data/asia.csv", columns=["smoke", "lung", "bronc"]) as table:
    ...     tree = gml.chow_liu(table)
    ...     model = gml.fit(table, tree)
    >>> tree.graph.n_edges, table.n
    (2, 5000)
    >>> rows = gml.read("sample_data/asia.csv")
    >>> with gml.open_stream(rows.blocks(1000)) as table:
    ...     gml.chow_liu(table).graph.n_edges
    7
    """
    require_whole(1, threads=threads)
    if reading.setdefault("engine", STREAM) != STREAM:
        raise UsageError(
            f"{parameter('engine', reading['engine'])}: this opens a stream; other engines are "
            "chosen by the verbs"
        )
    options = replace(with_undeclared(reading_options(**reading), undeclared), threads=threads)
    pieces = [data] if isinstance(data, Dataset) else data
    if isinstance(pieces, Iterable) and not is_data(pieces):
        given = [name for name in given_keywords(reading) if name not in _OF_THE_FILE]
        return streams.stream_of_pieces(_read(pieces, options, given), options, threads=threads)
    options = replace(options, digest=wants_digest(data))
    return streams.open_stream(data, options, threads=threads)


def _read(
    pieces: Iterable[Dataset | pd.DataFrame], options: ReadOptions, given: Sequence[str]
) -> Iterator[Dataset]:
    """Read the frames among pieces, and take Datasets as they are.

    What columns are that nothing declares, the first frame says.
    """
    options = replace(options, engine=MEMORY, spool=None)
    for piece in pieces:
        if isinstance(piece, Dataset):
            refuse_reading(given, piece)
            yield piece
        elif is_frame(piece):
            rows = read_dataset(piece, options)
            options = replace(options, levels=with_kinds(options.levels, rows.variables))
            yield rows
        else:
            raise UsageError(f"a piece must be a Dataset or a DataFrame, not {kind_of(piece)}")

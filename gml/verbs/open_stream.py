"""A table that is larger than memory, opened once for several questions."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Unpack

from gml.counts import open_stream as streams
from gml.counts.streamed import StreamCounter
from gml.data.options import STREAM, ReadingKeywords, Undeclared, reading_options
from gml.errors import UsageError, parameter, require_whole
from gml.ledger import wants_digest
from gml.verbs.shared.keywords import answers_misspelling

if TYPE_CHECKING:
    import pandas as pd


@answers_misspelling()
def open_stream(
    data: str | os.PathLike[str] | pd.DataFrame,
    *,
    undeclared: Undeclared = "labels",
    threads: int | None = None,
    **reading: Unpack[ReadingKeywords],
) -> StreamCounter:
    """Read a table into a file of codes, and return the engine that counts it in passes.

    It is used in place of data, and closed at the end, which removes the file unless it is kept.

    Parameters
    ----------
    data
        A path (`-` is standard input), or a DataFrame.
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
    """
    require_whole(1, threads=threads)
    if reading.setdefault("engine", STREAM) != STREAM:
        raise UsageError(
            f"{parameter('engine', reading['engine'])}: this opens a stream; other engines are "
            "chosen by the verbs"
        )
    options = replace(
        reading_options(**reading),
        undeclared=undeclared,
        digest=wants_digest(data),
        threads=threads,
    )
    return streams.open_stream(data, options, threads=threads)

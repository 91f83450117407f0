"""Open a table for an engine that keeps codes of rows in a file, and reads them in passes."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from gml.counts.spooled import SpooledCounter
from gml.data.columns import Choice
from gml.data.options import MEMORY, ReadOptions
from gml.data.reading import read_dataset

if TYPE_CHECKING:
    import pandas as pd


def open_stream(
    data: str | os.PathLike[str] | pd.DataFrame,
    options: ReadOptions,
    *,
    used: Choice | None = None,
    threads: int | None = None,
) -> SpooledCounter:
    """Return the engine over a file of codes, for the columns used."""
    folder = options.spool
    in_memory = replace(options, engine=MEMORY, spool=None, spool_keep=False)
    dataset = read_dataset(data, in_memory, used=used)
    return SpooledCounter([dataset], folder=folder, threads=threads)

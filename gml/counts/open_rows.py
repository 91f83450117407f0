"""Which engine scans the rows of a path or frame: memory, a file in passes, or Spark."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gml.counts.counter import Counter
from gml.counts.engine_over import engine_over
from gml.counts.open_stream import read_or_stream
from gml.counts.settled_counter import SettledCounter
from gml.data.columns import Choice
from gml.data.dataset import Dataset
from gml.data.frames import is_spark_frame
from gml.data.options import SPARK, ReadOptions
from gml.data.rejections import about

if TYPE_CHECKING:
    import pandas as pd


def is_for_spark(data: object, options: ReadOptions) -> bool:
    """Whether Spark reads the rows."""
    return options.engine == SPARK or is_spark_frame(data)


def read_or_open(
    data: str | os.PathLike[str] | pd.DataFrame,
    options: ReadOptions,
    *,
    used: Choice | None = None,
    threads: int | None = None,
) -> Dataset | SettledCounter:
    """Read rows into memory, or open the engine that the options or their size ask for."""
    if not is_for_spark(data, options):
        with about(data):
            return read_or_stream(data, options, used=used, threads=threads)
    from gml.counts.spark import open_spark

    return open_spark(data, options, used=used)


def open_rows(
    data: str | os.PathLike[str] | pd.DataFrame,
    options: ReadOptions,
    *,
    used: Choice | None = None,
    threads: int | None = None,
) -> Counter:
    """Return the engine that the options ask for, over the columns used."""
    found = read_or_open(data, options, used=used, threads=threads)
    return engine_over(found, data, threads=threads) if isinstance(found, Dataset) else found

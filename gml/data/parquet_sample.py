"""Some rows of Parquet files, which say how many there are: of row groups at even distances."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from gml.data.parquet import parquet_files
from gml.data.parquet_file import StoredFile
from gml.data.sample_size import TableSample, TableSize, evenly, scattered
from gml.errors import DataError, place
from gml.resources import lacking_extra, require_space_for_arrow

_GROUPS = 6
_MOST_CELLS = 16_000_000
_MOST_ROWS = 400_000


class StoredSample(TableSample):
    """Rows of a Parquet file, as an Arrow table."""

    def __init__(self, size: TableSize, table: Any) -> None:
        self.size = size
        self._table = table

    @property
    def n_rows(self) -> int:
        """The number of rows at hand."""
        return int(self._table.num_rows)

    def written(self, folder: Path, n_rows: int) -> Path:
        """Write a table of some of the rows, or of all; returns its path."""
        import pyarrow.parquet as pq

        path = folder / f"{n_rows}.parquet"
        pq.write_table(self._table.take(scattered(range(self.n_rows), n_rows)), path)
        return path


def stored_sample(path: str | os.PathLike[str]) -> StoredSample:
    """Read the beginnings of row groups at even distances."""
    require_space_for_arrow()
    try:
        import pyarrow as pa
    except ModuleNotFoundError:
        raise lacking_extra(f"{place(path)}: reading Parquet", "parquet") from None
    rows = stored = 0
    groups: list[tuple[str, int]] = []
    for name in parquet_files(path):
        stored += Path(name).stat().st_size
        with StoredFile(name) as file:
            about = file.metadata()
            rows += about.num_rows
            groups += [(name, k) for k in range(about.num_row_groups)]
    chosen = evenly(groups, _GROUPS)
    batches: list[Any] = []
    for name, number in chosen:
        with StoredFile(name) as file, file.errors():
            columns = max(1, file.metadata().num_columns)
            most = max(1, min(_MOST_ROWS, _MOST_CELLS // columns) // len(chosen))
            batches += list(file.arrow().iter_batches(most, row_groups=[number]))[:1]
    if not batches:
        raise DataError(f"{place(path)}: no rows to plan with")
    table = pa.Table.from_batches(batches)
    return StoredSample(TableSize(stored, rows, True, None), table)

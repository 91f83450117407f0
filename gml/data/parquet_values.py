"""The values of columns of Parquet files as texts, batch by batch, for columns without levels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from gml.data.parquet import ParquetTable
from gml.data.parquet_column import as_label
from gml.resources import budget_in_force


def texts_of(table: ParquetTable, names: Sequence[str]) -> Iterator[list[list[str | None]]]:
    """Yield, for each batch of rows, a list of texts per column; None is no value at all.

    The files are opened again, and must not have changed.
    """
    for stored in table.files:
        stored.open()
        with stored.errors():
            types = {field.name: field.type for field in stored.arrow().schema_arrow}
            wanted = [name for name in names if name in types]
            rows = table.plan(stored, wanted, types, budget_in_force()).batch_rows
            reader = stored.arrow()
            for batch in reader.iter_batches(rows, columns=wanted, use_threads=False):
                found = {name: _texts(batch.column(name), table.options) for name in wanted}
                yield [found.get(name, [None] * len(batch)) for name in names]
        stored.require_unchanged()
        stored.close()


def _texts(values: Any, options: Any) -> list[str | None]:
    return [
        None if value is None else _text(value, options.encoding or "utf-8")
        for value in values.to_pylist()
    ]


def _text(value: Any, encoding: str) -> str:
    if isinstance(value, bytes):
        return value.decode(encoding, "replace")
    return as_label(value)

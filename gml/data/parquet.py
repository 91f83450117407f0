"""Parquet files and folders, by pyarrow (an extra)."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gml.data.options import ReadOptions
from gml.errors import DataError, quote
from gml.kernel.layout import CODES8, CODES16, NUMBERS, OVERFLOW, SKIP, ColumnSpec, CsvColumn

_MAGIC = b"PAR1"
Loader = Callable[[Sequence[ColumnSpec]], tuple[list[CsvColumn], str | None]]


def is_parquet(path: str | os.PathLike[str]) -> bool:
    """Whether a path is a Parquet file, or a folder that holds some."""
    place = Path(path)
    if place.is_dir():
        return any(place.rglob("*.parquet"))
    if not place.is_file():
        return False
    with place.open("rb") as file:
        if file.read(4) != _MAGIC:
            return False
        file.seek(-4, os.SEEK_END)
        return file.read() == _MAGIC


def read_parquet_columns(
    path: str | os.PathLike[str], options: ReadOptions
) -> tuple[list[str], Loader]:
    """Return the names of the columns, and a function that loads those wanted."""
    try:
        import pyarrow.dataset
    except ImportError:
        raise DataError(
            f"{path}: reading Parquet needs an extra: pip install 'gml[parquet]'"
        ) from None
    table = pyarrow.dataset.dataset(path, format="parquet")
    names = list(table.schema.names)

    def load(specs: Sequence[ColumnSpec]) -> tuple[list[CsvColumn], str | None]:
        builders = [_Column(name, spec, options) for name, spec in zip(names, specs, strict=True)]
        wanted = [b for b in builders if b.spec.kind != SKIP]
        # Duplicate names cannot be asked for by name; choose_columns has refused them.
        for batch in table.to_batches(columns=[b.name for b in wanted]):
            for builder, values in zip(wanted, batch.columns, strict=True):
                builder.append(values)
        return [b.result() for b in builders], _digest(path) if options.digest else None

    return names, load


def _digest(path: str | os.PathLike[str]) -> str:
    """Hash of the file; of a folder, of its files in order of their names."""
    place = Path(path)
    files = sorted(place.rglob("*.parquet")) if place.is_dir() else [place]
    digest = hashlib.sha256()
    for name in files:
        with name.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()


class _Column:
    """Codes of one column, batch by batch."""

    def __init__(self, name: str, spec: ColumnSpec, options: ReadOptions) -> None:
        self.name = name
        self.spec = spec
        self.na = {token.strip(" ") for token in options.na_tokens}
        self.codes: dict[str, int] = {label: code for code, label in enumerate(spec.declared or ())}
        self.parts: list[Any] = []
        self.numbers: list[Any] = []
        self.overflow = False

    def append(self, values: Any) -> None:
        """Take in the cells of one batch."""
        import pyarrow as pa
        import pyarrow.compute as pc

        numeric = pa.types.is_floating(values.type) or pa.types.is_integer(values.type)
        if self.spec.kind == NUMBERS or (self.spec.numbers_on_overflow and numeric):
            try:
                numbers = pc.cast(values, pa.float64())
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
                raise DataError(f"column {quote(self.name)}: {error}") from None
            cells = numbers.to_numpy(zero_copy_only=False).astype(np.float64)
            self.numbers.append(np.where(np.isfinite(cells), cells, np.nan))
        if self.spec.kind == NUMBERS or self.overflow:
            return
        if not pa.types.is_dictionary(values.type):
            values = pc.dictionary_encode(values)
        lookup = np.array(
            [self._code(value) for value in values.dictionary.to_pylist()] + [-1], dtype=np.int64
        )
        indices = values.indices.fill_null(len(lookup) - 1).to_numpy(zero_copy_only=False)
        self.parts.append(lookup[indices])

    def _code(self, value: Any) -> int:
        if value is None:
            return -1
        label = _label(value)
        if label in self.codes:
            return self.codes[label]
        if label.strip(" ") in self.na:
            return -1
        if self.spec.declared is not None:
            raise DataError(f"column {quote(self.name)}: value {quote(label)} is not declared")
        if len(self.codes) >= self.spec.max_levels:
            self.overflow = True
            return -1
        self.codes[label] = len(self.codes)
        return self.codes[label]

    def result(self) -> CsvColumn:
        """Return the column in the kernel's form."""
        if self.spec.kind == SKIP:
            return CsvColumn(SKIP, [], None)
        labels = list(self.codes)
        if self.spec.kind == NUMBERS or (self.overflow and self.numbers):
            return CsvColumn(NUMBERS, labels, np.concatenate([np.empty(0), *self.numbers]))
        if self.overflow:
            return CsvColumn(OVERFLOW, labels, None)
        wide = len(labels) > 255
        kind, narrow = (CODES16, np.uint16) if wide else (CODES8, np.uint8)
        cells = np.concatenate([np.empty(0, dtype=np.int64), *self.parts])
        return CsvColumn(kind, labels, cells.astype(narrow))


def _label(value: Any) -> str:
    """A value as it would stand in a CSV file."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else str(value)

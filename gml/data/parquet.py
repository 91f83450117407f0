"""Parquet files and folders, by pyarrow (an extra)."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from gml.data.options import ReadOptions
from gml.data.problems import undeclared
from gml.errors import CannotAnswer, DataError, quote
from gml.kernel.layout import CODES8, CODES16, NUMBERS, OVERFLOW, SKIP, ColumnSpec, CsvColumn
from gml.resources import lack_behind, require_space_for_arrow

COUNT_FILE_KEY = b"gml/1"
"""The metadata key of Parquet files that hold counts instead of rows."""

_MAGIC = b"PAR1"
_MOST_ENTRIES = 100_000
Loader = Callable[[Sequence[ColumnSpec]], tuple[list[CsvColumn], str | None]]


def is_parquet(path: str | os.PathLike[str]) -> bool:
    """Whether a path is a Parquet file, or a folder that holds some."""
    if os.path.isdir(path):  # noqa: PTH112 (answers False where Path raises)
        return bool(parquet_files(path))
    if not os.path.isfile(path):  # noqa: PTH113
        # A named pipe can be read once, and not by us.
        return False
    try:
        with Path(path).open("rb") as file:
            if file.read(4) != _MAGIC:
                return False
            file.seek(-4, os.SEEK_END)
            return file.read() == _MAGIC
    except OSError:
        # Whoever opens it to read will say what is wrong.
        return False


def is_count_file(path: str | os.PathLike[str]) -> bool:
    """Whether a path is a Parquet file that holds counts instead of rows."""
    if os.path.isdir(path) or not is_parquet(path):  # noqa: PTH112
        return False
    require_space_for_arrow()
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ModuleNotFoundError:
        # Whoever reads it will say what to install.
        return False
    try:
        return COUNT_FILE_KEY in (pq.read_metadata(path).metadata or {})
    except (pa.ArrowException, OSError, UnicodeEncodeError):
        return False


def parquet_files(path: str | os.PathLike[str]) -> list[str]:
    """The Parquet files of a folder and the folders in it, by name."""
    if not os.path.isdir(path):  # noqa: PTH112
        return [str(path)]
    found: list[str] = []
    entries = 0
    for folder, _, names in os.walk(path):
        entries += len(names) + 1
        if entries > _MOST_ENTRIES:
            raise DataError(f"{path}: a folder of more than {_MOST_ENTRIES} files")
        found += [str(Path(folder) / name) for name in names if name.endswith(".parquet")]
    return sorted(found)


@contextmanager
def _arrow_errors(where: str) -> Iterator[None]:
    """Turn what pyarrow raises into an error that names the file."""
    import pyarrow as pa

    try:
        yield
    except UnicodeEncodeError:
        raise DataError(f"{where}: Parquet is read by paths in UTF-8 only; rename it") from None
    except (pa.ArrowException, OSError) as error:
        if lack := lack_behind(error):
            raise CannotAnswer(f"{where}: {lack}") from None
        raise DataError(f"{where}: {error}") from None


def read_parquet_columns(
    path: str | os.PathLike[str], options: ReadOptions
) -> tuple[list[str], Loader]:
    """Return the names of the columns, and a function that loads those wanted."""
    require_space_for_arrow()
    try:
        import pyarrow.dataset
    except ModuleNotFoundError:
        raise DataError(
            f"{path}: reading Parquet needs an extra: pip install 'gml[parquet]'"
        ) from None
    with _arrow_errors(str(path)):
        table = pyarrow.dataset.dataset(parquet_files(path), format="parquet")
        names = list(table.schema.names)
    if COUNT_FILE_KEY in (table.schema.metadata or {}):
        if os.path.isdir(path):  # noqa: PTH112
            raise DataError(f"{path}: a folder of count files; add them up first, by gml merge")
        raise CannotAnswer(f"{path}: a count file has no rows")

    def load(specs: Sequence[ColumnSpec]) -> tuple[list[CsvColumn], str | None]:
        builders = [
            _Column(name, spec, options, str(path)) for name, spec in zip(names, specs, strict=True)
        ]
        wanted = [builder for builder in builders if builder.spec.kind != SKIP]
        with _arrow_errors(str(path)):
            for batch in table.to_batches(columns=[builder.name for builder in wanted]):
                for builder, values in zip(wanted, batch.columns, strict=True):
                    builder.append(values)
        return [b.result() for b in builders], parquet_digest(path) if options.digest else None

    return names, load


def parquet_digest(path: str | os.PathLike[str]) -> str:
    """Hash of the file; of a folder, of its files in order of their names."""
    digest = hashlib.sha256()
    for name in parquet_files(path):
        with Path(name).open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()


class _Column:
    """Codes of one column, batch by batch."""

    def __init__(self, name: str, spec: ColumnSpec, options: ReadOptions, where: str) -> None:
        self.name = name
        self.spec = spec
        self.where = f"{where}: column {quote(name)}"
        self.na = {token.strip(" ") for token in options.na_tokens}
        known = spec.declared or spec.known
        self.codes: dict[str, int] = {label: code for code, label in enumerate(known)}
        self.parts: list[Any] = []
        self.numbers: list[Any] = []
        self.overflow = False

    def append(self, values: Any) -> None:
        """Take in the cells of one batch."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if pa.types.is_nested(values.type):
            raise DataError(f"{self.where}: lists and structures are not labels")
        numeric = pa.types.is_floating(values.type) or pa.types.is_integer(values.type)
        if not pa.types.is_dictionary(values.type):
            values = pc.dictionary_encode(values)
        indices = values.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        found = values.dictionary.to_pylist()
        if self.spec.kind == NUMBERS or (self.spec.numbers_on_overflow and numeric):
            self.numbers.append(self._lookup(indices, found, self._number, np.nan))
        if self.spec.kind != NUMBERS and not self.overflow:
            self.parts.append(self._lookup(indices, found, self._code, -1))

    def _lookup(
        self, indices: Any, found: list[Any], convert: Callable[[Any], float], missing: float
    ) -> Any:
        """Cells by way of the values that occur; a dictionary may hold more."""
        dtype = np.float64 if missing != missing else np.int64
        table = np.full(len(found) + 1, missing, dtype=dtype)
        for k in np.unique(indices).tolist():
            if k >= 0 and found[k] is not None:
                table[k] = convert(found[k])
        return table[indices]

    def _number(self, value: Any) -> float:
        if _label(value).strip(" ") in self.na:
            return float("nan")
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = float("inf")
        if not np.isfinite(number):
            raise DataError(f"{self.where}: {quote(_label(value))} is not a number")
        return number

    def _code(self, value: Any) -> int:
        label = _label(value)
        if label in self.codes:
            return self.codes[label]
        if label.strip(" ") in self.na:
            return -1
        if self.spec.declared is not None:
            raise DataError(f"{self.where}: {undeclared(label, self.spec.declared)}")
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
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value if isinstance(value, str) else str(value)

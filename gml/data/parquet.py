"""Parquet files and folders, by pyarrow (an extra).

A file is opened once, and hashed through the descriptor that it is read from. A file that changes
in the meantime is refused.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from gml.data.options import ReadOptions
from gml.data.parquet_column import BYTES, NUMERIC, OTHER, SKIPPED, TEXT, ColumnBuilder, Room
from gml.data.parquet_file import StoredFile
from gml.data.schema import with_categorical
from gml.data.source import text_codec
from gml.errors import CannotAnswer, DataError, place, quote
from gml.kernel.layout import SKIP, ColumnSpec, CsvColumn, CsvResult
from gml.path_kinds import is_file, is_folder
from gml.resources import lacking_extra, require_space_for_arrow

COUNT_FILE_KEY = b"gml/1"
"""The metadata key of Parquet files that hold counts instead of rows."""

_MAGIC = b"PAR1"
_MOST_ENTRIES = 100_000
# Beyond so many, the files of a folder are closed between being looked at and being read.
_MOST_OPEN = 64
_BATCH_ROWS = 1 << 14
# Bytes for the values of a batch where they are long, and where a few bytes may stand for many.
_BATCH_BYTES, _REPEATED_BYTES = 1 << 24, 1 << 27
# Copies of the values of a batch that exist at one time; measured.
_COPIES = 6
# Bytes per cell for levels, positions and masks while its batch is taken in.
_BYTES_PER_CELL = 24


def is_parquet(path: str | os.PathLike[str], *, whole: bool = True) -> bool:
    """Whether a path is a Parquet file, perhaps not `whole`, or a folder that holds some."""
    if is_folder(path):
        return bool(parquet_files(path))
    if not is_file(path):
        # A named pipe can be read only once, and not here.
        return False
    try:
        with Path(path).open("rb") as file:
            begins = file.read(4) == _MAGIC
            if not (begins and whole):
                return begins
            file.seek(-4, os.SEEK_END)
            return file.read() == _MAGIC
    except OSError:
        # Whoever opens it to read will say what is wrong.
        return False


def is_count_file(path: str | os.PathLike[str]) -> bool:
    """Whether a path is a Parquet file that holds counts instead of rows."""
    if is_folder(path) or not is_parquet(path):
        return False
    require_space_for_arrow()
    try:
        with StoredFile(path) as stored:
            return COUNT_FILE_KEY in (stored.metadata().metadata or {})
    except (DataError, CannotAnswer, ModuleNotFoundError):
        # Whoever reads it will say what is wrong, or what to install.
        return False


def parquet_files(path: str | os.PathLike[str]) -> list[str]:
    """The Parquet files of a folder and the folders in it, by name."""
    if not is_folder(path):
        return [path if isinstance(path, str) else str(path)]
    found: list[str] = []
    entries = 0
    for folder, _, names in os.walk(path):
        entries += len(names) + 1
        if entries > _MOST_ENTRIES:
            raise DataError(f"{path}: a folder of more than {_MOST_ENTRIES} files")
        found += [str(Path(folder) / name) for name in names if name.endswith(".parquet")]
    return sorted(found)


def parquet_digest(path: str | os.PathLike[str]) -> str:
    """Hash of the file, or of the files of a folder in the order of their names."""
    digest = hashlib.sha256()
    for name in parquet_files(path):
        with StoredFile(name) as stored:
            try:
                stored.hash_into(digest)
            except OSError as error:
                raise DataError(f"{stored.where}: cannot be read: {error.strerror}") from None
            stored.require_unchanged()
    return digest.hexdigest()


@contextmanager
def open_parquet(path: str | os.PathLike[str], options: ReadOptions) -> Iterator[ParquetTable]:
    """Open a file, or all files of a folder; the first one says which columns there are."""
    require_space_for_arrow()
    try:
        import pyarrow.parquet  # noqa: F401
    except ModuleNotFoundError:
        raise lacking_extra(f"{place(path)}: reading Parquet", "parquet") from None
    try:
        str(path).encode("utf-8")
    except UnicodeEncodeError:
        raise DataError(
            f"{place(path)}: the path of a Parquet file must be UTF-8; rename it"
        ) from None
    paths = parquet_files(path)
    if not paths:
        raise DataError(f"{place(path)}: the Parquet files are gone")
    n_rows = 0
    with ExitStack() as stack:
        files: list[StoredFile] = []
        for name in paths:
            stored = stack.enter_context(StoredFile(name))
            with stored.errors():
                if not files:
                    schema = stored.arrow().schema_arrow
                    names = list(schema.names)
                rows = stored.metadata().num_rows
            if rows < 0:
                raise DataError(f"{stored.where}: damaged: {rows} rows")
            n_rows += rows
            files.append(stored)
            if len(paths) > _MOST_OPEN:
                stored.close()
        if COUNT_FILE_KEY in (schema.metadata or {}):
            if is_folder(path):
                raise DataError(
                    f"{place(path)}: a folder of count files; add them up by gml merge first"
                )
            raise CannotAnswer(f"{place(path)}: a count file has no rows")
        text = [field.name for field in schema if is_categorical(field.type)]
        options = replace(options, levels=with_categorical(options.levels, text))
        yield ParquetTable(place(path), files, names, schema, n_rows, options)


class _Plan(NamedTuple):
    """How to read a file: columns as dictionaries, rows per batch, and the memory needed."""

    dictionaries: list[str]
    batch_rows: int
    n_bytes: int


class ParquetTable(NamedTuple):
    """The rows of all files."""

    where: str
    files: list[StoredFile]
    names: list[str]
    schema: Any
    n_rows: int
    options: ReadOptions
    """With columns of text declared categorical."""

    def load(self, specs: Sequence[ColumnSpec]) -> tuple[list[CsvColumn], str | None]:
        """Return the columns that are not skipped, and the hash of the files, if it is wanted."""
        room = Room(f"{self.where}: the rows")
        builders = self._builders(specs, room)
        digest = hashlib.sha256() if self.options.digest else None
        for stored in self.files:
            for _ in self._file_in_batches(stored, builders, room, digest):
                pass
        columns = _with_skipped(specs, [builder.result() for builder in builders])
        return columns, None if digest is None else digest.hexdigest()

    def pieces(
        self, specs: Sequence[ColumnSpec], n_rows: int, digest: Any = None
    ) -> Iterator[CsvResult]:
        """Yield the same in pieces of about so many rows; a hash learns the bytes of the files.

        Labels and kinds of columns are as in the pieces of a text file (`gml.data.pieces`).
        """
        room = Room(f"{self.where}: a piece of the rows")
        builders = self._builders(specs, room, n_rows + _BATCH_ROWS)
        held = 0
        for stored in self.files:
            for batch_rows in self._file_in_batches(stored, builders, room, digest):
                held += batch_rows
                if held >= n_rows:
                    yield CsvResult(held, _with_skipped(specs, [b.take() for b in builders]), 0)
                    held = 0
        yield CsvResult(held, _with_skipped(specs, [b.result() for b in builders]), 0)

    def _builders(
        self, specs: Sequence[ColumnSpec], room: Room, capacity: int | None = None
    ) -> list[ColumnBuilder]:
        encoding = self.options.encoding or "utf-8"
        text_codec(encoding)
        na = {token.strip(" ") for token in self.options.na_tokens}
        wanted = [
            (name, spec) for name, spec in zip(self.names, specs, strict=True) if spec.kind != SKIP
        ]
        for name, _ in wanted:
            self.refuse_nested(name)
        return [
            ColumnBuilder(
                name,
                spec,
                na,
                encoding,
                self.n_rows,
                room,
                capacity=capacity,
                strip=self.options.strip,
            )
            for name, spec in wanted
        ]

    def _file_in_batches(
        self, stored: StoredFile, builders: list[ColumnBuilder], room: Room, digest: Any
    ) -> Iterator[int]:
        """Read a file into builders; yields the number of rows of each batch that is in."""
        stored.open()
        batches = self._read_file(stored, builders, room)
        while True:
            with stored.errors():
                n_rows = next(batches, None)
                if n_rows is None:
                    break
            yield n_rows
        with stored.errors():
            if digest is not None:
                stored.hash_into(digest)
        stored.require_unchanged()
        stored.close()

    def is_nested(self, name: str) -> bool:
        """Whether the values of a column are lists or structures."""
        import pyarrow as pa

        return bool(pa.types.is_nested(self.schema.field(name).type))

    def refuse_nested(self, name: str) -> None:
        """Refuse a column of lists or structures."""
        if self.is_nested(name):
            raise DataError(
                f"{self.where}: column {quote(name)}: lists and structures are not labels"
            )

    def _read_file(
        self, stored: StoredFile, builders: list[ColumnBuilder], room: Room
    ) -> Iterator[int]:
        import pyarrow as pa

        types = {field.name: field.type for field in stored.arrow().schema_arrow}
        plan = self.plan(stored, [builder.name for builder in builders], types, room.budget)
        room.take(plan.n_bytes)
        for builder in builders:
            builder.start_file(stored.where, kind_of_values(self.schema.field(builder.name).type))
        names = [builder.name for builder in builders if builder.name in types]
        reader = stored.arrow(read_dictionary=plan.dictionaries)
        batches = reader.iter_batches(plan.batch_rows, columns=names, use_threads=False)
        for batch in batches:
            for builder in builders:
                expected = self.schema.field(builder.name).type
                if builder.name not in types:
                    values = pa.nulls(len(batch), expected)
                else:
                    values = batch.column(batch.schema.get_field_index(builder.name))
                    if not self._fits(builder.name, types):
                        values = values.cast(expected)
                builder.append(values)
            yield len(batch)
        room.take(-plan.n_bytes)

    def _fits(self, name: str, types: dict[str, Any]) -> bool:
        """Whether a column of a file has the type that it has in the first file."""
        return bool(types[name] == self.schema.field(name).type)

    def plan(
        self, stored: StoredFile, names: Sequence[str], types: dict[str, Any], budget: int
    ) -> _Plan:
        """Say how to read columns of a file within the budget."""
        metadata = stored.metadata()
        leaves = {metadata.schema.column(j).path: j for j in range(metadata.num_columns)}
        names = [name for name in names if name in leaves]
        chunks = stored.chunks([leaves[name] for name in names])
        dictionaries, n_bytes, row_bytes, longest = [], 0, 0.0, 0
        for name in names:
            leaf = metadata.schema.column(leaves[name])
            found = chunks[leaves[name]]
            n_bytes += 2 * max((c.largest_page + c.dictionary_page for c in found), default=0)
            row_bytes += max(leaf.length or 0, 8)
            if leaf.physical_type != "BYTE_ARRAY":
                continue
            row_bytes += max((c.bytes_per_value for c in found), default=0.0)
            # For other types, Arrow would keep all values, or cannot do it at all.
            has_dictionaries = all(c.by_dictionary for c in found)
            if has_dictionaries and _is_text(types[name]) and self._fits(name, types):
                dictionaries.append(name)
            else:
                longest = max(longest, *(c.longest_repeated for c in found), 0)
        rows = min(_BATCH_ROWS, int(_BATCH_BYTES / max(row_bytes, 1.0)))
        if longest:
            rows = min(rows, min(budget // 4, _REPEATED_BYTES) // longest)
        rows = max(1, rows)
        in_batch = min(rows, max(metadata.num_rows, 1))
        n_bytes += int(in_batch * (_COPIES * row_bytes + _BYTES_PER_CELL * len(names)))
        return _Plan(dictionaries, rows, n_bytes)


def _with_skipped(specs: Sequence[ColumnSpec], found: Sequence[CsvColumn]) -> list[CsvColumn]:
    """The columns that were read, in their places."""
    done = iter(found)
    return [SKIPPED if spec.kind == SKIP else next(done) for spec in specs]


def _is_text(type_: Any) -> bool:
    """Whether Arrow can read a column of this type as a dictionary."""
    import pyarrow as pa

    return bool(pa.types.is_string(type_) or pa.types.is_binary(type_))


def is_categorical(type_: Any) -> bool:
    """Whether an Arrow type says that values are categories: text, dictionaries, truth values."""
    from pyarrow import types

    if types.is_dictionary(type_) or types.is_boolean(type_):
        return True
    return kind_of_values(type_) in (TEXT, BYTES)


def kind_of_values(type_: Any) -> int:
    """What the values of a column of an Arrow type are: text, bytes, numbers or others."""
    from pyarrow import types

    if types.is_floating(type_) or types.is_integer(type_) or types.is_decimal(type_):
        return NUMERIC
    if types.is_dictionary(type_):
        type_ = type_.value_type
    if types.is_string(type_) or types.is_large_string(type_) or types.is_string_view(type_):
        return TEXT
    is_bytes = (
        types.is_binary(type_)
        or types.is_large_binary(type_)
        or types.is_binary_view(type_)
        or types.is_fixed_size_binary(type_)
    )
    return BYTES if is_bytes else OTHER

"""What Spark is asked to read: a path, a table of a catalog, or a frame of Spark's own.

Text files are read as lines, and taken apart by gml's own reader, so that labels are the bytes of
the file whatever they look like. All else is read by Spark, and values become labels as those of
Parquet files do. A path says by its suffix what it is; `spark:NAME` is a table of the catalog, and
`spark:FORMAT:PATH` a path in any format that Spark was given the means to read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

from gml.counts.spark_rows import PieceReader, PieceReading, pieces_of_text, pieces_of_values
from gml.counts.spark_session import is_remote, job, session_at
from gml.data.columns import Choice, choose_columns, column_specs
from gml.data.dialect import default_delimiter
from gml.data.frames import is_spark_frame
from gml.data.header import Header, read_header
from gml.data.missing import FRAME
from gml.data.options import ReadOptions
from gml.data.schema import with_categorical
from gml.data.source import text_codec
from gml.errors import DataError, UsageError, parameter, place, quote

_SPARK = "spark:"
_FORMAT = re.compile(r"(\w+):(.+)", re.DOTALL)
_TEXT = (".csv", ".tsv", ".tab", ".txt")
_COMPRESSED = (".gz", ".bz2", ".zst", ".deflate", ".lz4", ".snappy", ".xz")
_KNOWN = {".parquet": "parquet", ".orc": "orc", ".avro": "avro", ".json": "json"}
# A header that breaks lines within quotes is looked for among the first lines.
_HEADER_LINES = (1, 64, 4096)
_NESTED = ("array", "map", "struct", "variant")
_CATEGORICAL = ("string", "char", "varchar", "binary", "boolean")
# One task per file: no split, and files are not packed together by their size.
_WHOLE_FILES = {
    "spark.sql.files.maxPartitionBytes": str(1 << 60),
    "spark.sql.files.minPartitionNum": "1",
    "spark.sql.files.openCostInBytes": str(1 << 59),
}


@dataclass(frozen=True)
class SparkSource:
    """Rows that Spark reads: the session, the frame to read, and how its batches become pieces."""

    session: Any
    frame: Any
    reading: PieceReading
    reader: PieceReader
    of_files: bool
    """Whether Spark only scans files: a table or a frame may take a shuffle, which is a job."""

    @property
    def is_text(self) -> bool:
        """Whether rows are lines of text files."""
        return self.reader is pieces_of_text

    def n_parts(self) -> int | None:
        """How many partitions the rows come in; None where more than the plan of a scan tells."""
        if not self.of_files or is_remote(self.session):
            return None
        with job(self.session, self.reading.where):
            found: int = self.frame.rdd.getNumPartitions()
        return found

    @contextmanager
    def whole_files(self) -> Iterator[None]:
        """Have each file read by one task within a block."""
        conf = self.session.conf
        kept = {key: conf.get(key, None) for key in _WHOLE_FILES}
        for key, value in _WHOLE_FILES.items():
            conf.set(key, value)
        try:
            yield
        finally:
            for key, value in kept.items():
                if value is None:
                    conf.unset(key)
                else:
                    conf.set(key, value)


def open_spark_source(data: Any, options: ReadOptions, *, used: Choice | None) -> SparkSource:
    """Return what to read for the columns that `used` picks from those that the options leave."""
    if is_spark_frame(data):
        _refuse_text_options(options, "a frame of Spark")
        return _of_frame(data.sparkSession, data, FRAME, options, used, of_files=False)
    path = os.fspath(data)
    where = place(path)
    if path == "-":
        raise UsageError(
            f"{parameter('engine', 'spark')} reads paths and tables, not standard input"
        )
    session = session_at(options.master)
    if path.startswith(_SPARK):
        name = path.removeprefix(_SPARK)
        found = _FORMAT.fullmatch(name)
        if found is not None and found[1] in ("csv", "text"):
            return _of_text(session, found[2], where, options, used)
        with job(session, where):
            frame = (
                session.table(name)
                if found is None
                else session.read.format(found[1]).load(found[2])
            )
        _refuse_text_options(options, "a table of Spark")
        return _of_frame(session, frame, where, options, used, of_files=False)
    suffix = _suffix(path)
    if suffix in _TEXT:
        return _of_text(session, path, where, options, used)
    with job(session, where):
        reader = session.read.format(_KNOWN[suffix]) if suffix in _KNOWN else session.read
        frame = reader.load(path)
    _refuse_text_options(options, "no text file")
    return _of_frame(session, frame, where, options, used, of_files=True)


def _suffix(path: str) -> str:
    """The suffix that says what a path is: that before the one of a compressed file.

    Examples
    --------
    >>> _suffix("s3a://bucket/a.CSV.gz"), _suffix("/data/day=3"), _suffix("/data/*.parquet")
    ('.csv', '', '.parquet')
    """
    name = path.rstrip("/").rpartition("/")[2].lower()
    stem, suffix = os.path.splitext(name)  # noqa: PTH122
    return os.path.splitext(stem)[1] if suffix in _COMPRESSED else suffix  # noqa: PTH122


def _refuse_text_options(options: ReadOptions, what: str) -> None:
    if options.without_text().delimiter is not None:
        raise UsageError(f"{parameter('delimiter')} is for text files, and this is {what}")


def _of_frame(
    session: Any,
    frame: Any,
    where: str,
    options: ReadOptions,
    used: Choice | None,
    *,
    of_files: bool,
) -> SparkSource:
    text_codec(options.encoding or "utf-8")
    with job(session, where):
        fields = frame.schema.fields
    names = [field.name for field in fields]
    text = [field.name for field in fields if field.dataType.typeName() in _CATEGORICAL]
    options = replace(options, levels=with_categorical(options.levels, text))
    chosen = choose_columns(names, options, used, where)
    reading = PieceReading(names, chosen, column_specs(names, chosen, options), options, where)
    for j in reading.read:
        if fields[j].dataType.typeName() in _NESTED:
            raise DataError(
                f"{where}: column {quote(names[j])}: lists and structures are not labels"
            )
    # By position, as names may repeat, or hold dots.
    numbered = frame.toDF(*(f"c{j}" for j in range(len(names))))
    rows = numbered.select(*(f"c{j}" for j in reading.read))
    return SparkSource(session, rows, reading, pieces_of_values, of_files)


def _of_text(
    session: Any, path: str, where: str, options: ReadOptions, used: Choice | None
) -> SparkSource:
    from pyspark.sql import functions as F

    if options.encoding is not None:
        codec = text_codec(options.encoding)
        plain = b"\n"
        with suppress(UnicodeError, LookupError):
            plain = codec.encode("a\n")[0]
        if plain not in (b"\n", b"a\n"):
            raise DataError(
                f"{where}: {parameter('encoding')} {options.encoding}: Spark splits lines at one "
                "byte, so the file must be in an encoding with those of ASCII, such as UTF-8"
            )
    delimiter = options.delimiter or default_delimiter(path)
    with job(session, where):
        text = session.read.text(path, lineSep="\n")
        lines = text.select(
            F.col("value").cast("binary").alias("line"),
            F.xxhash64(F.col("_metadata.file_path")).alias("file"),
            F.col("_metadata.file_block_start").alias("start"),
        )
    header = _header(session, lines, where, delimiter, options)
    chosen = choose_columns(header.names, options, used, where)
    specs = column_specs(header.names, chosen, options)
    reading = PieceReading(header.names, chosen, specs, options, where, delimiter)
    return SparkSource(session, lines, reading, pieces_of_text, of_files=True)


def _header(session: Any, lines: Any, where: str, delimiter: str, options: ReadOptions) -> Header:
    """Read the header of a file; that of the others is compared with it later."""
    for most in _HEADER_LINES:
        with job(session, f"{where}: the header"):
            first = lines.where("start = 0").limit(most).toArrow()
        source = _FirstLines(first, options.encoding)
        try:
            return read_header(
                source,
                where,
                delimiter,
                delimiter_given=options.delimiter_given,
                strip=options.strip,
            )
        except DataError:
            if len(first) < most or most == _HEADER_LINES[-1]:
                raise
    raise AssertionError


class _FirstLines:
    """The first lines of a file, as a source of bytes."""

    size: int | None = None

    def __init__(self, table: Any, encoding: str | None) -> None:
        self._left = b"".join(line + b"\n" for line in table.column("line").to_pylist())
        if encoding is not None:
            self._left = self._left.decode(encoding, "replace").encode("utf-8")

    def readinto(self, buffer: memoryview, /) -> int:
        """Fill the buffer as far as possible; 0 at the end."""
        part = self._left[: len(buffer)]
        buffer[: len(part)] = part
        self._left = self._left[len(part) :]
        return len(part)

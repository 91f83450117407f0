"""Count files as Parquet: written, and read with all that they say about themselves checked.

There is one row per non-empty cell: `set` (which of the sets), `codes` (the levels of its columns
of labels, by position) and `count`. Where columns hold numbers, there are also `sums`, those of the
numbers of the set and then of products of two of them, as integers in two's complement, the highest
byte first, and `low` and `high`, the least and the greatest number, unless these are left out. The
metadata key `gml/1` holds, as JSON, the columns with their levels, the sets, the number of rows,
the options of counting, and a hash of all this and of the cells; with numbers also `powers`: the
sums of a set are in units of these powers of 2. The columns of a set are in the order of their
names, sets are ordered by size and then by names, cells by their codes: the same tables make the
same bytes.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml import __version__
from gml.calls import public
from gml.counts.cell_sums import NO_POWER, CellSums, n_sums, place_of_product
from gml.counts.countfile import (
    CUT,
    DECLARED,
    FROM_DATA,
    MOST_ROWS,
    RULE,
    CountedColumn,
    CountFile,
    CountOptions,
)
from gml.data.dataset import MAX_LEVELS
from gml.data.json_text import canonical, parse_json
from gml.data.levels import NA_LEVEL
from gml.data.options import MISSING_POLICIES
from gml.data.parquet import COUNT_FILE_KEY, is_parquet
from gml.data.parquet_file import StoredFile
from gml.data.schema import KINDS, NOMINAL, NUMERIC
from gml.data.source import open_source
from gml.errors import DataError, listing, quote, raising
from gml.ledger import note_digest, wants_digest
from gml.resources import budget_in_force, lacking_extra, require_memory, require_space_for_arrow

_ROW_GROUP = 1 << 18
_OF_NUMBERS = {"sums": "binary", "low": "float64", "high": "float64"}
# The most bytes that reading takes, including the arrays that stay; measured.
_BYTES_PER_ROW = 60
_BYTES_PER_VALUE = {"codes": 18, "sums": 300, "low": 60, "high": 60}
# The square of the largest double over 2^53 rows, in units of the square of the least.
_MOST_BYTES = 540


@public
def write_counts(counts: CountFile, path: str | os.PathLike[str]) -> None:
    """Write a count file, which appears whole or not at all.

    Parameters
    ----------
    counts
        What `gml.count` or `gml.merge` returned.
    path
        The file, Parquet whatever its name.

    Examples
    --------
    >>> import gml, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_counts(gml.count("sample_data/asia.csv", pairs=True), f"{folder}/pairs.parquet")
    ...     gml.chow_liu(f"{folder}/pairs.parquet").graph.n_edges
    7
    """
    from gml.atomic import write_whole

    write_whole(path, encode_counts(counts))


def encode_counts(counts: CountFile) -> bytes:
    """Return the bytes of a count file."""
    require_space_for_arrow()
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ModuleNotFoundError:
        raise lacking_extra("writing counts, which are Parquet,", "parquet") from None
    fields = [
        pa.field("set", pa.int32(), nullable=False),
        pa.field("codes", pa.list_(pa.field("element", pa.uint16(), nullable=False)), False),
        pa.field("count", pa.int64(), nullable=False),
    ]
    more = _sums_by_cell(counts)
    for name, (kind, _) in more.items():
        element = pa.field("element", getattr(pa, kind)(), nullable=False)
        fields.append(pa.field(name, pa.list_(element), False))
    schema = pa.schema(fields)
    set_of_cell = np.repeat(np.arange(len(counts.sets), dtype=np.int32), np.diff(counts.starts))
    widths = np.array([len(axes) for axes in counts.axes], dtype=np.int64)
    ends = np.concatenate([[0], np.cumsum(widths[set_of_cell])])
    batches = []
    for start in range(0, len(set_of_cell), _ROW_GROUP):
        stop = min(start + _ROW_GROUP, len(set_of_cell))
        offsets = (ends[start : stop + 1] - ends[start]).astype(np.int32)
        lists = pa.ListArray.from_arrays(
            pa.array(offsets),
            pa.array(counts.codes[ends[start] : ends[stop]]),
            type=schema.field("codes").type,
        )
        columns = [
            pa.array(set_of_cell[start:stop]),
            lists,
            pa.array(counts.counts[start:stop]),
            *(
                pa.array(cells[start:stop], type=schema.field(name).type)
                for name, (_, cells) in more.items()
            ),
        ]
        batches.append(pa.record_batch(columns, schema=schema))
    about = _description(counts)
    about["hash"] = {"content": _content_hash(about, pa.Table.from_batches(batches, schema))}
    text = json.dumps(about, ensure_ascii=False, separators=(",", ":"))
    schema = schema.with_metadata({COUNT_FILE_KEY: text.encode("utf-8")})
    sink = io.BytesIO()
    with pq.ParquetWriter(sink, schema, compression="zstd") as writer:
        for batch in batches:
            writer.write_batch(batch.cast(schema))
    return sink.getvalue()


def _content_hash(about: Mapping[str, Any], table: Any) -> str:
    """The hash of a description, but for its own, and of all cells, however they are stored."""
    found = hashlib.sha256(canonical({k: v for k, v in about.items() if k != "hash"}))
    for name in sorted(table.column_names):
        column = table.column(name)
        found.update(canonical([name, len(column)]))
        digests: dict[int, Any] = {}
        for chunk in column.chunks:
            for k, part in enumerate(_parts(chunk) if len(chunk) else ()):
                little = part.astype(part.dtype.newbyteorder("<"), copy=False)
                digests.setdefault(k, hashlib.sha256()).update(little.tobytes())
        for digest in digests.values():
            found.update(digest.digest())
    return f"sha256:{found.hexdigest()}"


def _parts(cells: Any) -> Iterator[NDArray[Any]]:
    """The numbers that some cells of a column are made of; of lists, their lengths before that."""
    import pyarrow as pa

    if pa.types.is_list(cells.type):
        yield np.diff(cells.offsets.to_numpy())
        yield from _parts(cells.flatten())
    elif pa.types.is_binary(cells.type):
        found = cells.to_pylist()
        yield np.array([len(value) for value in found], dtype=np.int64)
        yield np.frombuffer(b"".join(found), dtype=np.uint8)
    else:
        yield cells.to_numpy(zero_copy_only=False)


def _sums_by_cell(counts: CountFile) -> dict[str, tuple[str, list[list[Any]]]]:
    """What is stored of numbers: for each column of the file, the type and a list per cell."""
    if not counts.sums:
        return {}
    sums: list[list[bytes]] = [[] for _ in counts.counts]
    low: list[list[float]] = [[] for _ in counts.counts]
    high: list[list[float]] = [[] for _ in counts.counts]
    for k, of_set in counts.sums.items():
        for cell, values in enumerate(of_set.sums.tolist(), start=int(counts.starts[k])):
            sums[cell] = [
                value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True) for value in values
            ]
        cells = slice(int(counts.starts[k]), int(counts.starts[k + 1]))
        low[cells], high[cells] = of_set.low.tolist(), of_set.high.tolist()
    found: dict[str, tuple[str, list[list[Any]]]] = {"sums": ("binary", sums)}
    if all(of_set.has_extremes for of_set in counts.sums.values()):
        found |= {"low": ("float64", low), "high": ("float64", high)}
    return found


def _description(counts: CountFile) -> dict[str, Any]:
    return {
        "schema": "gml/1",
        "version": __version__,
        "rows": counts.n,
        "dropped": counts.dropped,
        "missing": dict(sorted(counts.missing.items())),
        "columns": [asdict(column) for column in counts.columns],
        "sets": [list(counts.names_of(k)) for k in range(len(counts.sets))],
        "options": asdict(counts.options),
        "data": list(counts.data),
        **(
            {"powers": [_powers(counts, k) for k in range(len(counts.sets))]} if counts.sums else {}
        ),
    }


def _powers(counts: CountFile, k: int) -> list[int]:
    return list(counts.sums[k].powers) if k in counts.sums else []


@public
def read_counts(path: str | os.PathLike[str], *, max_memory: int | None = None) -> CountFile:
    """Read a count file.

    Parameters
    ----------
    path
        The file.
    max_memory
        Bytes that it may take; by default half of what is free.

    Examples
    --------
    >>> import gml, tempfile
    >>> counter = gml.MemoryCounter(gml.read("sample_data/asia.csv"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_counts(gml.count_sets(counter, [("smoke", "lung")]), f"{folder}/counts.parquet")
    ...     read_counts(f"{folder}/counts.parquet").n
    5000
    """
    with _stored(path, max_memory) as (about, table):
        columns, sets, rest = _parse_description(about)
        return _assemble(table, columns, sets, rest)


class WrittenCounts(NamedTuple):
    """What a count file says of itself: its hash, if it has one, and those of what was counted."""

    hash: str | None
    data: tuple[str, ...]
    is_changed: bool
    """Whether it has another hash than it says."""


def written_counts(path: str | os.PathLike[str]) -> WrittenCounts:
    """Rehash a count file.

    Examples
    --------
    >>> import gml, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_counts(gml.count("sample_data/asia.csv", pairs=True), f"{folder}/pairs.parquet")
    ...     written_counts(f"{folder}/pairs.parquet").is_changed
    False
    """
    with _stored(path) as (about, table):
        held = about.get("hash")
        recorded = None if held is None else _text(_typed(about, "hash", dict)["content"])
        data = tuple(map(_text, _typed(about, "data", list)))
        return WrittenCounts(recorded, data, recorded != _content_hash(about, table))


@contextmanager
def _stored(
    path: str | os.PathLike[str], max_memory: int | None = None
) -> Iterator[tuple[dict[str, Any], Any]]:
    """Read the description and the cells of a count file; what contradicts them is its damage."""
    where = str(path)
    require_space_for_arrow()
    try:
        import pyarrow as pa
        import pyarrow.parquet
    except ModuleNotFoundError:
        raise lacking_extra(f"{where}: reading counts, which are Parquet,", "parquet") from None
    budget = budget_in_force(max_memory)
    if Path(path).is_file() and not is_parquet(path):
        # Says so if it is truncated Parquet.
        with raising(DamagedCounts):
            open_source(path).close()
        raise DataError(f"{where}: not a count file; gml count makes one")
    with StoredFile(path) as stored, _damage(where):
        with raising(DamagedCounts), stored.errors():
            file = stored.arrow()
            about = (file.schema_arrow.metadata or {}).get(COUNT_FILE_KEY)
        if about is None:
            raise DataError(f"{where}: not a count file; gml count makes one")
        with raising(DamagedCounts), stored.errors():
            types = {field.name: field.type for field in file.schema_arrow}
            codes = types.pop("codes", None)
            lists = {name: types.pop(name, None) for name in _OF_NUMBERS}
            # Whether a list may hold nulls is part of its type, but does not matter here.
            is_list = codes is not None and pa.types.is_list(codes)
            if (
                types != {"set": pa.int32(), "count": pa.int64()}
                or not is_list
                or codes.value_type != pa.uint16()
            ):
                raise _Damaged("the columns are not set, codes and count")
            there = [name for name, kind in lists.items() if kind is not None]
            if there not in ([], ["sums"], list(_OF_NUMBERS)) or not all(
                pa.types.is_list(lists[name])
                and lists[name].value_type == getattr(pa, _OF_NUMBERS[name])()
                for name in there
            ):
                raise _Damaged("the columns of numbers are not sums, low and high")
            require_memory(_bytes_to_read(stored), budget, f"{where}: the tables")
            table = file.read(columns=["set", "codes", "count", *there], use_threads=False)
            if wants_digest(path):
                digest = hashlib.sha256()
                stored.hash_into(digest)
                note_digest(path, digest.hexdigest())
            stored.require_unchanged()
            yield _parsed(about, where), table


def _bytes_to_read(stored: StoredFile) -> int:
    """Bytes that reading takes, as the pages tell: the shorter footer may be wrong."""
    n_bytes, values = 0, {"set": 0, "count": 0}
    schema = stored.metadata().schema
    for column, chunks in stored.chunks(range(len(schema))).items():
        name = schema.column(column).path
        values[name] = sum(chunk.values for chunk in chunks)
        n_bytes += 2 * max((chunk.largest_page for chunk in chunks), default=0)
    n_rows: int = max(values.pop("set"), values.pop("count"), stored.metadata().num_rows)
    of_lists = sum(_BYTES_PER_VALUE[name.split(".")[0]] * n for name, n in values.items())
    return n_bytes + _BYTES_PER_ROW * n_rows + of_lists


class DamagedCounts(DataError):
    """A count file that is not as it was written."""


class _Damaged(Exception):
    """The content of a count file contradicts itself."""


@contextmanager
def _damage(where: str) -> Iterator[None]:
    """Turn the errors that a damaged file causes into one that names it."""
    try:
        yield
    except (_Damaged, KeyError, TypeError, ValueError, RecursionError) as error:
        raise DamagedCounts(f"{where}: a damaged count file: {error}") from None


def _parsed(about: bytes, where: str) -> dict[str, Any]:
    try:
        found = parse_json(about.decode("utf-8"), f"{where}: its description")
    except DataError as error:
        raise _Damaged(str(error).removeprefix(f"{where}: ")) from None
    if not isinstance(found, dict):
        raise _Damaged("its description is not an object")
    return found


def _parse_description(
    about: dict[str, Any],
) -> tuple[tuple[CountedColumn, ...], tuple[tuple[int, ...], ...], dict[str, Any]]:
    columns = []
    for column in _typed(about, "columns", list):
        name, source, na = _text(column["name"]), _text(column["source"]), column["na"]
        levels = tuple(map(_text, _typed(column, "levels", list)))
        kind, settled = column.get("type", NOMINAL), column.get("settled", DECLARED)
        if kind not in KINDS or settled not in (DECLARED, RULE) or (kind == NUMERIC and levels):
            raise _Damaged(f"the kind of {quote(name)}")
        if len(set(levels)) != len(levels) or len(levels) > MAX_LEVELS:
            raise _Damaged(f"the levels of {quote(name)}")
        if source not in (FROM_DATA, DECLARED, CUT) or not isinstance(na, bool):
            raise _Damaged(f"the column {quote(name)}")
        if na and levels[-1:] != (NA_LEVEL,):
            raise _Damaged(f"the last level of {quote(name)} is not {NA_LEVEL!r}")
        columns.append(CountedColumn(name, levels, source, na, kind, settled))
    position = {column.name: j for j, column in enumerate(columns)}
    if len(position) != len(columns):
        raise _Damaged("two columns have the same name")
    given = [list(map(_text, names)) for names in _typed(about, "sets", list)]
    if given != sorted(given, key=lambda names: (len(names), names)):
        raise _Damaged("the sets are not in order")
    sets = []
    for names in given:
        if not names or sorted(set(names)) != names:
            raise _Damaged("a set is not a list of names in order")
        sets.append(tuple(position[_known(name, position)] for name in names))
    if len(set(sets)) != len(sets):
        raise _Damaged("two sets are the same")
    options = _typed(about, "options", dict)
    if _text(options["missing"]) not in MISSING_POLICIES:
        raise _Damaged(f"missing is {quote(options['missing'])}")
    if _text(options["decimal"]) not in (".", ","):
        raise _Damaged(f"decimal is {quote(options['decimal'])}")
    if options["missing"] == "available" and any((j,) not in sets for s in sets for j in s):
        raise _Damaged("a column has no table of its own")
    bins = options["bins"]
    weights = options["weights"]
    rest = {
        "n": _number(about["rows"]),
        "dropped": _number(about["dropped"]),
        "data": tuple(map(_text, _typed(about, "data", list))),
        "missing": {
            _known(name, position): _number(n) for name, n in _typed(about, "missing", dict).items()
        },
        "powers": _powers_of(about, columns, sets),
        "options": CountOptions(
            options["missing"],
            options["decimal"],
            tuple(map(_text, _typed(options, "na", list))),
            None if weights is None else _text(weights),
            None if bins is None else _number(bins),
        ),
    }
    return tuple(columns), tuple(sets), rest


def _powers_of(
    about: dict[str, Any], columns: Sequence[CountedColumn], sets: Sequence[Sequence[int]]
) -> list[list[int]]:
    """The powers of 2 in units of which the sums of the numbers of each set are."""
    n_numbers = [sum(columns[j].is_numeric for j in members) for members in sets]
    if not any(n_numbers):
        return [[] for _ in sets]
    powers: list[list[int]] = _typed(about, "powers", list)
    if [len(of_set) for of_set in powers] != n_numbers or any(
        not isinstance(power, int) or isinstance(power, bool) or not -1074 <= power <= NO_POWER
        for of_set in powers
        for power in of_set
    ):
        raise _Damaged("the powers of numbers")
    return powers


def _typed(about: Any, key: str, kind: type) -> Any:
    """Return a list or an object of the description."""
    value = about[key]
    if not isinstance(value, kind):
        raise _Damaged(f"{key!r} is of type {type(value).__name__}, not {kind.__name__}")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise _Damaged(f"{quote(str(value))} is not text")
    return value


def _known(name: str, names: Mapping[str, int]) -> str:
    if name not in names:
        raise _Damaged(f"{quote(name)} is not a column")
    return name


def _number(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < MOST_ROWS:
        raise _Damaged(f"{quote(str(value))} is not a number of rows")
    return value


def _assemble(
    table: Any,
    columns: tuple[CountedColumn, ...],
    sets: tuple[tuple[int, ...], ...],
    rest: dict[str, Any],
) -> CountFile:
    if any(table.column(name).null_count for name in table.column_names):
        raise _Damaged("a cell is null")
    set_of_cell = table.column("set").to_numpy()
    if len(set_of_cell) and (
        np.any(np.diff(set_of_cell) < 0) or set_of_cell[0] < 0 or set_of_cell[-1] >= len(sets)
    ):
        raise _Damaged("the cells are not in order of their sets")
    counts = table.column("count").to_numpy().astype(np.int64)
    if len(counts) and (counts.min() < 1 or counts.max() >= MOST_ROWS):
        raise _Damaged("a count is not a positive number")
    pieces = [np.empty(0, dtype=np.uint16)]
    lengths = [np.empty(0, dtype=np.int64)]
    for chunk in table.column("codes").chunks:
        values = chunk.flatten()
        if values.null_count:
            raise _Damaged("a code is null")
        pieces.append(values.to_numpy())
        lengths.append(np.diff(chunk.offsets.to_numpy()))
    is_numeric = [column.is_numeric for column in columns]
    widths = np.array([sum(not is_numeric[j] for j in s) for s in sets], dtype=np.int64)
    if np.any(np.concatenate(lengths) != widths[set_of_cell]):
        raise _Damaged("a cell has fewer or more codes than its set has columns")
    codes = np.concatenate(pieces)
    starts = np.searchsorted(set_of_cell, np.arange(len(sets) + 1)).astype(np.int64)
    sums = _sums_of(table, rest.pop("powers"), starts, counts)
    found = CountFile(
        columns, sets=sets, codes=codes, counts=counts, starts=starts, sums=sums, **rest
    )
    sizes = np.array([len(column.levels) for column in columns], dtype=np.int64)
    for k in range(len(sets)):
        if np.any(found.cells(k)[0] >= sizes[list(found.axes[k])]):
            raise _Damaged(f"a code of {listing(found.names_of(k))} is not the code of a level")
    complete = found.options.missing != "available"
    if np.any(found.rows > found.n) or (complete and np.any(found.rows != found.n)):
        raise _Damaged("a table has fewer or more rows than the file says")
    return found


def _sums_of(
    table: Any,
    powers: Sequence[Sequence[int]],
    starts: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> dict[int, CellSums]:
    """The sums of numbers of each set that has some."""
    of_numbers = [k for k, of_set in enumerate(powers) if of_set]
    if not of_numbers:
        return {}
    if "sums" not in table.column_names:
        raise _Damaged("the sums of numbers are not there")
    stored = {
        name: table.column(name).to_pylist() for name in _OF_NUMBERS if name in table.column_names
    }
    found = {}
    for k in of_numbers:
        cells, width = slice(int(starts[k]), int(starts[k + 1])), len(powers[k])
        shape = (cells.stop - cells.start, n_sums(width))
        sums = np.empty(shape, dtype=object)
        for row, values in zip(sums, stored["sums"][cells], strict=True):
            if len(values) != shape[1] or None in values:
                raise _Damaged("a cell has fewer or more sums than its set has numbers")
            if max(map(len, values)) > _MOST_BYTES:
                raise _Damaged("a sum is too large")
            row[:] = [int.from_bytes(value, "big", signed=True) for value in values]
        ends = [np.full((shape[0], width), np.nan), np.full((shape[0], width), np.nan)]
        if "low" in stored:
            ends = [
                np.array(stored[name][cells], dtype=np.float64).reshape(shape[0], width)
                for name in ("low", "high")
            ]
            if not np.all(ends[0] <= ends[1]) or not np.all(np.isfinite(ends)):
                raise _Damaged("the extremes of a cell")
        for i in range(width):
            squares = counts[cells].astype(object) * sums[:, place_of_product(width, i, i)]
            if np.any(squares < sums[:, i] ** 2):
                raise _Damaged("a sum of squares is too small")
        found[k] = CellSums(tuple(powers[k]), sums, *ends)
    return found

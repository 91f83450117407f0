"""Count files: the tables of some sets of columns, which can be added up and need no rows.

A count file is Parquet with a row for every non-empty cell: `set` (which of the sets), `codes` (the
levels of its columns, by position) and `count`. The metadata key `gml/1` holds, as JSON, the
columns with their levels, the sets, the number of rows and what was asked when they were counted.
The columns of a set stand in order of their names, sets by size and then by names, cells in order
of their codes: the same tables make the same bytes.
"""

from __future__ import annotations

import functools
import io
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml import __version__
from gml.counts.counter import TableSet
from gml.counts.memory import MemoryCounter
from gml.counts.resources import default_budget, require_memory
from gml.data.dataset import MAX_LEVELS, Dataset, missing_mask
from gml.data.options import MISSING_POLICIES
from gml.data.parquet import COUNT_FILE_KEY, is_parquet
from gml.data.resampling import distinct_rows
from gml.errors import CannotAnswer, DataError, UsageError, listing, quote
from gml.kernel.layout import DENSE_CELLS
from gml.progress import reporter

MOST_ROWS = 1 << 53
"""Rows that counts can stand for, so that they are exact as floating-point numbers."""

FROM_DATA, DECLARED, CUT = "data", "declared", "cut"
"""Where levels come from: the labels of the data, a declaration, intervals chosen on the data."""

_SHOWN_SETS = 4
_ROW_GROUP = 1 << 18
# What reading takes beside the arrays that stay.
_READING_FACTOR = 3


@dataclass(frozen=True)
class CountedColumn:
    """A column: its levels, where they come from, and whether the last is made of missing cells."""

    name: str
    levels: tuple[str, ...]
    source: str = FROM_DATA
    na: bool = False

    @property
    def labels(self) -> tuple[str, ...]:
        """The levels but the one that is made of missing cells."""
        return self.levels[:-1] if self.na else self.levels


@dataclass(frozen=True)
class CountOptions:
    """What was asked of the reader, as far as it matters for adding files up."""

    missing: str = "error"
    decimal: str = "."
    na: tuple[str, ...] = ()
    weights: str | None = None
    bins: int | None = None


@dataclass(frozen=True, eq=False)
class CountFile:
    """The tables of some sets of columns, without empty cells.

    `sets` holds positions of columns, in order of their names. `codes` has the levels of the cells
    of all sets on end, as many for a cell as its set has columns; `counts` one number a cell; set k
    has the cells from `starts[k]` to `starts[k + 1]`. `dropped` rows are not among the `n` rows
    counted, for missing values; `data` lists the SHA-256 of what was counted; `missing` has the
    missing cells of columns that had some, in the rows dropped too.

    Examples
    --------
    >>> import gml
    >>> counter = gml.MemoryCounter(gml.read("sample_data/asia.csv"))
    >>> counts = count_sets(counter, [("smoke", "lung"), ("asia",)])
    >>> for codes, count in zip(*counts.cells(1)):
    ...     print(codes, count)
    [0 0] 2475
    [0 1] 2268
    [1 0] 26
    [1 1] 231
    """

    columns: tuple[CountedColumn, ...]
    options: CountOptions
    n: int
    sets: tuple[tuple[int, ...], ...]
    codes: NDArray[np.uint16]
    counts: NDArray[np.int64]
    starts: NDArray[np.int64]
    dropped: int = 0
    data: tuple[str, ...] = ()
    missing: Mapping[str, int] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, in order."""
        return tuple(column.name for column in self.columns)

    @functools.cached_property
    def code_starts(self) -> NDArray[np.int64]:
        """Where the codes of each set begin."""
        widths = np.array([len(members) for members in self.sets], dtype=np.int64)
        return np.concatenate([[0], np.cumsum(widths * np.diff(self.starts))])

    def names_of(self, k: int) -> tuple[str, ...]:
        """The names of the columns of a set."""
        return tuple(self.columns[j].name for j in self.sets[k])

    def cells(self, k: int) -> tuple[NDArray[np.uint16], NDArray[np.int64]]:
        """The non-empty cells of a set: a row of codes each, and how often it was counted."""
        codes = self.codes[self.code_starts[k] : self.code_starts[k + 1]]
        counts = self.counts[self.starts[k] : self.starts[k + 1]]
        return codes.reshape(len(counts), len(self.sets[k])), counts

    @functools.cached_property
    def rows(self) -> NDArray[np.int64]:
        """Rows counted in each set; fewer than `n` where values are missing."""
        sums = np.concatenate([[0], np.cumsum(self.counts)])
        rows: NDArray[np.int64] = np.diff(sums[self.starts])
        return rows


def require_large_cells(counts: CountFile, least: int, what: str = "--min-cell") -> None:
    """Refuse tables with a cell that stands for few rows: they might tell of single persons."""
    _require_levels_with_rows(counts, what)
    small = np.flatnonzero(counts.counts < least)
    if len(small) == 0:
        return
    of_set = np.searchsorted(counts.starts, small, side="right") - 1
    found = np.unique(of_set).tolist()
    shown = "; ".join(
        f"{listing(counts.names_of(k))} has {int(counts.cells(k)[1].min())}"
        for k in found[:_SHOWN_SETS]
    )
    more = f" and {len(found) - _SHOWN_SETS} more" if len(found) > _SHOWN_SETS else ""
    raise CannotAnswer(
        f"{len(found)} of {len(counts.sets)} tables have a cell below {what} {least}: {shown}"
        f"{more}; nothing was written; count smaller sets, fewer columns or coarser levels (--cut)"
    )


def _require_levels_with_rows(counts: CountFile, what: str) -> None:
    """Refuse labels that only rows have which were left out: nobody knows how few these are."""
    first_with = {j: k for k in reversed(range(len(counts.sets))) for j in counts.sets[k]}
    for j, k in first_with.items():
        column = counts.columns[j]
        seen = np.unique(counts.cells(k)[0][:, counts.sets[k].index(j)])
        if column.source != DECLARED and len(seen) < len(column.levels):
            bare = sorted(set(range(len(column.levels))) - set(seen.tolist()))
            raise CannotAnswer(
                f"{what}: only rows that were left out have the values "
                f"{listing(column.levels[code] for code in bare)} of column {quote(column.name)}, "
                "so nothing was written; declare the levels (--levels), or leave out no rows"
            )


# ---------------------------------------------------------------------- counting


def count_sets(
    counter: MemoryCounter,
    sets: Iterable[Sequence[str]],
    *,
    options: CountOptions | None = None,
    columns: Mapping[str, CountedColumn] | None = None,
    dropped: int = 0,
    max_memory: int | None = None,
) -> CountFile:
    """Count sets of columns; what is known of `columns` beyond their levels is for merging.

    Columns that are counted on the rows they have (`missing` is "available") are also counted each
    for itself, as no other table has the same rows.
    """
    dataset = counter.dataset
    if dataset.unit != 1:
        raise UsageError("count files hold whole rows; fractional weights do not go with them")
    if dataset.n >= MOST_ROWS:
        raise CannotAnswer(f"{dataset.n} rows are more than a count file can hold")
    numbers = [variable.name for variable in dataset.variables if variable.is_continuous]
    if numbers:
        raise UsageError(f"{listing(numbers)} has numbers, which cannot be counted")
    if options is None:
        options = CountOptions(missing="available" if dataset.missing else "error")
    names = dataset.names
    wanted = {frozenset(map(dataset.index, members)) for members in sets}
    if options.missing == "available":
        wanted |= {frozenset([j]) for members in wanted for j in members}
    rank = {j: k for k, j in enumerate(sorted(range(len(names)), key=names.__getitem__))}
    by_name = [tuple(sorted(members, key=rank.__getitem__)) for members in wanted]
    ordered = sorted(by_name, key=lambda members: (len(members), [rank[j] for j in members]))
    known = columns or {}
    budget = default_budget() if max_memory is None else max_memory
    parts, starts, taken = [], [0], 0
    for members, (codes, counts) in zip(ordered, _cells(counter, ordered, budget), strict=True):
        taken += codes.nbytes + counts.nbytes
        # Twice: the parts, and then the whole.
        if 2 * taken > budget:
            last = listing(names[j] for j in members)
            require_memory(2 * taken, budget, f"the tables up to {last}")
        parts.append((codes.reshape(-1), counts))
        starts.append(starts[-1] + len(counts))
        reporter().advance("counting", len(parts), len(ordered))
    return CountFile(
        tuple(known.get(v.name, CountedColumn(v.name, v.levels or ())) for v in dataset.variables),
        options,
        dataset.n,
        tuple(ordered),
        np.concatenate([np.empty(0, dtype=np.uint16), *(codes for codes, _ in parts)]),
        np.concatenate([np.empty(0, dtype=np.int64), *(counts for _, counts in parts)]),
        np.array(starts, dtype=np.int64),
        dropped,
        () if dataset.digest is None else (dataset.digest,),
        {} if dataset.origin is None else dict(dataset.origin.missing),
    )


def _names(dataset: Dataset, members: Iterable[int]) -> list[str]:
    return [dataset.names[j] for j in members]


def _cells(
    counter: MemoryCounter, sets: Sequence[tuple[int, ...]], budget: int
) -> Iterator[tuple[NDArray[np.uint16], NDArray[np.int64]]]:
    """Yield the non-empty cells of each set, in order of their codes."""
    dataset = counter.dataset
    sizes = [max(1, len(variable.levels or ())) for variable in dataset.variables]
    # Small ones are counted with all their cells; of the others, the rows are sorted.
    small = [_product(sizes[j] for j in members) <= DENSE_CELLS for members in sets]
    tables = counter.tables(
        TableSet(members[-1:], members[:-1])
        for members, is_small in zip(sets, small, strict=True)
        if is_small
    )
    for members, is_small in zip(sets, small, strict=True):
        if not is_small:
            yield _distinct_cells(dataset, members, budget)
            continue
        found = next(tables)
        config, last = np.nonzero(found.table)
        codes = np.column_stack([found.configs[config], last]).astype(np.uint16)
        yield codes, found.table[config, last]


def _product(sizes: Iterable[int]) -> int:
    """The number of cells; sizes are at least 1."""
    product = 1
    for size in sizes:
        product *= size
        if product > DENSE_CELLS:
            break
    return product


def _distinct_cells(
    dataset: Dataset, members: tuple[int, ...], budget: int
) -> tuple[NDArray[np.uint16], NDArray[np.int64]]:
    chosen = dataset.select(_names(dataset, members))
    width = sum(column.dtype.itemsize for column in chosen.columns)
    require_memory(
        dataset.n_rows * (4 * width + 32), budget, f"counting {listing(_names(dataset, members))}"
    )
    complete = np.ones(chosen.n_rows, dtype=bool)
    for column in chosen.columns:
        complete &= ~missing_mask(column)
    if not complete.all():
        chosen = chosen.rows(complete)
    rows, counts = distinct_rows(chosen)
    codes = np.column_stack([column[rows] for column in chosen.columns]).astype(np.uint16)
    return codes, counts


# ---------------------------------------------------------------------- Parquet


def write_counts(counts: CountFile, path: str | os.PathLike[str]) -> None:
    """Write a count file, which appears whole or not at all."""
    from gml.atomic import write_whole

    write_whole(path, encode_counts(counts))


def encode_counts(counts: CountFile) -> bytes:
    """Return the bytes of a count file."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise UsageError(f"count files are Parquet, {_EXTRA}") from None
    about = json.dumps(_description(counts), ensure_ascii=False, separators=(",", ":"))
    fields = [
        pa.field("set", pa.int32(), nullable=False),
        pa.field("codes", pa.list_(pa.field("element", pa.uint16(), nullable=False)), False),
        pa.field("count", pa.int64(), nullable=False),
    ]
    schema = pa.schema(fields, metadata={COUNT_FILE_KEY: about.encode("utf-8")})
    set_of_cell = np.repeat(np.arange(len(counts.sets), dtype=np.int32), np.diff(counts.starts))
    widths = np.array([len(members) for members in counts.sets], dtype=np.int64)
    ends = np.concatenate([[0], np.cumsum(widths[set_of_cell])])
    sink = io.BytesIO()
    with pq.ParquetWriter(sink, schema, compression="zstd") as writer:
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
            ]
            writer.write_batch(pa.record_batch(columns, schema=schema))
    return sink.getvalue()


_EXTRA = "which needs an extra: pip install 'gml[parquet]'"


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
    }


def read_counts(path: str | os.PathLike[str], *, max_memory: int | None = None) -> CountFile:
    """Read a count file.

    Examples
    --------
    >>> import gml, tempfile
    >>> counter = gml.MemoryCounter(gml.read("sample_data/asia.csv"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_counts(count_sets(counter, [("smoke", "lung")]), f"{folder}/counts.parquet")
    ...     read_counts(f"{folder}/counts.parquet").n
    5000
    """
    where = str(path)
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise DataError(f"{where}: count files are Parquet, {_EXTRA}") from None
    budget = default_budget() if max_memory is None else max_memory
    if Path(path).is_file() and not is_parquet(path):
        raise DataError(f"{where}: not a count file; gml count makes one")
    with _damage(where):
        with Path(path).open("rb") as stream, pq.ParquetFile(stream) as file:
            about = (file.schema_arrow.metadata or {}).get(COUNT_FILE_KEY)
            if about is None:
                raise DataError(f"{where}: not a count file; gml count makes one")
            types = {field.name: field.type for field in file.schema_arrow}
            codes = types.pop("codes", None)
            # Whether a list may hold nulls is part of its type, and of no interest.
            is_list = codes is not None and pa.types.is_list(codes)
            if (
                types != {"set": pa.int32(), "count": pa.int64()}
                or not is_list
                or codes.value_type != pa.uint16()
            ):
                raise _Damaged("the columns are not set, codes and count")
            groups = [file.metadata.row_group(k) for k in range(file.metadata.num_row_groups)]
            n_codes = sum(group.column(1).num_values for group in groups)
            n_bytes = 2 * n_codes + 12 * file.metadata.num_rows
            require_memory(_READING_FACTOR * n_bytes, budget, f"{where}: the tables")
            table = file.read(columns=["set", "codes", "count"])
        columns, sets, rest = _parse_description(json.loads(about))
        return _assemble(table, columns, sets, rest)


class _Damaged(Exception):
    """What a count file holds contradicts itself."""


@contextmanager
def _damage(where: str) -> Iterator[None]:
    """Turn what a damaged file leads to into an error that names it."""
    import pyarrow as pa

    try:
        yield
    except (_Damaged, KeyError, TypeError, ValueError, RecursionError) as error:
        raise DataError(f"{where}: a damaged count file: {error}") from None
    except OSError as error:
        raise DataError(f"{where}: {error.strerror or error}") from None
    except pa.ArrowException as error:
        raise DataError(f"{where}: {error}") from None


def _parse_description(
    about: dict[str, Any],
) -> tuple[tuple[CountedColumn, ...], tuple[tuple[int, ...], ...], dict[str, Any]]:
    columns = []
    for column in about["columns"]:
        levels = tuple(map(_text, column["levels"]))
        if len(set(levels)) != len(levels) or len(levels) > MAX_LEVELS:
            raise _Damaged(f"the levels of {quote(str(column['name']))}")
        if column["source"] not in (FROM_DATA, DECLARED, CUT) or (column["na"] and not levels):
            raise _Damaged(f"the column {quote(str(column['name']))}")
        columns.append(
            CountedColumn(_text(column["name"]), levels, column["source"], bool(column["na"]))
        )
    position = {column.name: j for j, column in enumerate(columns)}
    if len(position) != len(columns):
        raise _Damaged("two columns have one name")
    if about["sets"] != sorted(about["sets"], key=lambda names: (len(names), names)):
        raise _Damaged("the sets are not in their order")
    sets = []
    for names in about["sets"]:
        if not names or sorted(set(names)) != names:
            raise _Damaged("a set is not a list of names in their order")
        sets.append(tuple(position[name] for name in names))
    if len(set(sets)) != len(sets):
        raise _Damaged("two sets are the same")
    options = about["options"]
    if options["missing"] not in MISSING_POLICIES:
        raise _Damaged(f"missing is {options['missing']!r}")
    if options["missing"] == "available" and any((j,) not in sets for s in sets for j in s):
        raise _Damaged("a column has no table of its own")
    bins = options["bins"]
    weights = options["weights"]
    rest = {
        "n": _number(about["rows"]),
        "dropped": _number(about["dropped"]),
        "data": tuple(map(_text, about["data"])),
        "missing": {_known(name, position): _number(n) for name, n in about["missing"].items()},
        "options": CountOptions(
            options["missing"],
            _text(options["decimal"]),
            tuple(map(_text, options["na"])),
            None if weights is None else _text(weights),
            None if bins is None else _number(bins),
        ),
    }
    return tuple(columns), tuple(sets), rest


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise _Damaged(f"{value!r} is not text")
    return value


def _known(name: str, names: Mapping[str, int]) -> str:
    if name not in names:
        raise _Damaged(f"{name!r} is no column")
    return name


def _number(value: Any) -> int:
    if not isinstance(value, int) or not 0 <= value < MOST_ROWS:
        raise _Damaged(f"{value!r} is not a number of rows")
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
    widths = np.array([len(members) for members in sets], dtype=np.int64)
    if np.any(np.concatenate(lengths) != widths[set_of_cell]):
        raise _Damaged("a cell has not as many codes as its set has columns")
    codes = np.concatenate(pieces)
    starts = np.searchsorted(set_of_cell, np.arange(len(sets) + 1)).astype(np.int64)
    found = CountFile(columns, sets=sets, codes=codes, counts=counts, starts=starts, **rest)
    sizes = np.array([len(column.levels) for column in columns], dtype=np.int64)
    for k, members in enumerate(sets):
        if np.any(found.cells(k)[0] >= sizes[list(members)]):
            raise _Damaged(f"a code of {listing(found.names_of(k))} is not that of a level")
    complete = found.options.missing != "available"
    if np.any(found.rows > found.n) or (complete and np.any(found.rows != found.n)):
        raise _Damaged("a table has not as many rows as the file says")
    return found

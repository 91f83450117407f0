"""The pages of a Parquet file, by their headers: how much memory reading them will take.

A Parquet file says in its footer where the columns are, and before each page how many values it has
and how many bytes these take once decompressed. Arrow believes that and allocates accordingly, so
that a small file can ask for gigabytes; and its Python interface to the footer ends the process
if the footer is damaged. Here the footer and the headers are read, and nothing else. They are
Thrift structures in the compact protocol, as parquet.thrift defines them:
https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any, NamedTuple

ReadAt = Callable[[int, int], bytes]
"""Reads a number of bytes at an offset; fewer at the end of the file."""

_FIRST_LOOK = 1 << 8
# How far Arrow looks for the end of a header.
_LONGEST_HEADER = 1 << 24
_DEEPEST = 8
# Types of the compact protocol.
_TRUE, _FALSE, _BYTE, _INT32, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 1, 2, 3, 5, 7, 8, 9, 10, 12

# Fields of FileMetaData, RowGroup and ColumnChunk that lead to ColumnMetaData, and its own fields.
_ROW_GROUPS, _COLUMNS, _ABOUT_COLUMN = 4, 1, 3
_NUM_VALUES, _DATA_OFFSET, _DICTIONARY_OFFSET = 5, 9, 11
# Fields of PageHeader: its type, sizes, and the headers of data pages in both versions.
_TYPE, _UNCOMPRESSED, _COMPRESSED, _DATA, _DATA_V2 = 1, 2, 3, 5, 8
# Fields of these headers: the number of values, and their encoding, which moved between versions.
_VALUES, _ENCODING, _ENCODING_V2 = 1, 2, 4
_DICTIONARY_PAGE = 2
_BY_DICTIONARY, _DELTA_BYTE_ARRAY = (2, 8), 7


class DamagedPages(Exception):
    """A footer or header that cannot be right."""


class Chunk(NamedTuple):
    """A column within a row group: its values, and the bytes of its pages once decompressed."""

    values: int
    largest_page: int
    dictionary_page: int
    bytes_per_value: float
    """Bytes per value in the page whose values are longest on average."""
    by_dictionary: bool
    """Whether all values are in the dictionary."""
    shares_prefixes: bool
    """Whether values are stored as differences from those before."""

    @property
    def longest_repeated(self) -> int:
        """Bytes that a value may take once all values are written out."""
        return self.largest_page if self.shares_prefixes else self.dictionary_page


class _Page(NamedTuple):
    kind: int
    size: int
    in_file: int
    values: int
    encoding: int


def chunks_of(footer: bytes, columns: Collection[int], read_at: ReadAt) -> dict[int, list[Chunk]]:
    """Look at the page headers of some columns, by number; a list has the row groups in order."""
    found: dict[int, list[Chunk]] = {column: [] for column in columns}
    try:
        for column, about in _column_chunks(_Thrift(footer), frozenset(columns)):
            found[column].append(_chunk(about, read_at))
    except IndexError:
        raise DamagedPages("the footer ends too early") from None
    return found


def _column_chunks(footer: _Thrift, wanted: frozenset[int]) -> Iterator[tuple[int, dict[int, Any]]]:
    """Yield the numbers and the metadata of the columns wanted, by row groups."""
    for number, kind in footer.fields():
        if number != _ROW_GROUPS or kind != _LIST:
            footer.skip(kind)
            continue
        for _ in range(footer.list_of(_STRUCT)):
            for inner, inner_kind in footer.fields():
                if inner != _COLUMNS or inner_kind != _LIST:
                    footer.skip(inner_kind)
                    continue
                for column in range(footer.list_of(_STRUCT)):
                    if column not in wanted:
                        footer.skip(_STRUCT)
                    else:
                        yield column, _structure(footer.struct(), _ABOUT_COLUMN)


def _chunk(about: dict[int, Any], read_at: ReadAt) -> Chunk:
    wanted, position = _natural(about, _NUM_VALUES), _natural(about, _DATA_OFFSET)
    if 0 < _natural(about, _DICTIONARY_OFFSET, 0) < position:
        position = _natural(about, _DICTIONARY_OFFSET)
    values, largest, dictionary, density = 0, 0, 0, 0.0
    encodings = set()
    # The end of a chunk is not used: some writers are known to get it wrong.
    while values < wanted:
        page = _page_at(position, read_at)
        largest = max(largest, page.size)
        if page.kind == _DICTIONARY_PAGE:
            dictionary = page.size
        else:
            values += page.values
            density = max(density, page.size / max(page.values, 1))
            encodings.add(page.encoding)
        position += page.in_file
    by_dictionary = encodings.issubset(_BY_DICTIONARY)
    shares_prefixes = _DELTA_BYTE_ARRAY in encodings
    return Chunk(values, largest, dictionary, density, by_dictionary, shares_prefixes)


def _page_at(position: int, read_at: ReadAt) -> _Page:
    header, length = _header_at(position, read_at)
    data, key = _structure(header, _DATA), _ENCODING
    if not data:
        data, key = _structure(header, _DATA_V2) or {_VALUES: 0, _ENCODING_V2: 0}, _ENCODING_V2
    kind, size, stored = (_natural(header, key) for key in (_TYPE, _UNCOMPRESSED, _COMPRESSED))
    return _Page(kind, size, length + stored, _natural(data, _VALUES), _natural(data, key))


def _natural(fields: dict[int, Any], number: int, default: int = -1) -> int:
    value = fields.get(number, default)
    if not isinstance(value, int) or value < 0:
        raise DamagedPages(f"field {number} of a header is {value}")
    return value


def _structure(fields: dict[int, Any], number: int) -> dict[int, Any]:
    value = fields.get(number)
    return value if isinstance(value, dict) else {}


def _header_at(position: int, read_at: ReadAt) -> tuple[dict[int, Any], int]:
    room = _FIRST_LOOK
    while True:
        data = read_at(position, room)
        parser = _Thrift(data)
        try:
            return parser.struct(), parser.position
        except IndexError:
            if len(data) < room or room >= _LONGEST_HEADER:
                raise DamagedPages("a page header does not end") from None
        room *= 16


class _Thrift:
    """The compact protocol, as far as it is needed; IndexError if the bytes run out."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.position = 0

    def fields(self) -> Iterator[tuple[int, int]]:
        """Yield the numbers and types of the fields of a structure; the caller reads the values."""
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._zigzag()
            yield number, head & 15

    def struct(self, depth: int = 0) -> dict[int, Any]:
        """Return integers, lists of integers and structures by the numbers of their fields."""
        if depth > _DEEPEST:
            raise DamagedPages("nested too deeply")
        found: dict[int, Any] = {}
        for number, kind in self.fields():
            if kind == _STRUCT:
                found[number] = self.struct(depth + 1)
            elif _BYTE < kind < _DOUBLE:
                found[number] = self._zigzag()
            elif kind == _LIST and self.data[self.position] & 15 == _INT32:
                found[number] = [self._zigzag() for _ in range(self.list_of(_INT32))]
            else:
                self.skip(kind, depth)
        return found

    def list_of(self, kind: int | None = None) -> int:
        """Return how many elements follow; they must be of the type given, if any."""
        head = self._byte()
        if kind is not None and head & 15 != kind:
            raise DamagedPages("a list of something else")
        return self._varint() if head >> 4 == 15 else head >> 4

    def skip(self, kind: int, depth: int = 0) -> None:
        """Skip a value."""
        if depth > _DEEPEST:
            raise DamagedPages("nested too deeply")
        if kind == _STRUCT:
            for _, inner in self.fields():
                self.skip(inner, depth + 1)
        elif kind == _BINARY:
            self._move(self._varint())
        elif _BYTE < kind < _DOUBLE:
            self._varint()
        elif kind in (_LIST, _SET):
            element = self.data[self.position] & 15
            for _ in range(self.list_of()):
                # In a list, truth values take one byte each.
                self.skip(_BYTE if element in (_TRUE, _FALSE) else element, depth + 1)
        elif kind in (_BYTE, _DOUBLE):
            self._move(1 if kind == _BYTE else 8)
        elif kind not in (_TRUE, _FALSE):
            raise DamagedPages("a value of unknown type")

    def _move(self, n_bytes: int) -> None:
        self.position += n_bytes
        if self.position > len(self.data):
            raise IndexError

    def _byte(self) -> int:
        value = self.data[self.position]
        self.position += 1
        return value

    def _varint(self) -> int:
        value = self._byte()
        if value < 128:
            return value
        value, shift = value & 127, 7
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
            if shift > 63:
                raise DamagedPages("a number that does not end")

    def _zigzag(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)

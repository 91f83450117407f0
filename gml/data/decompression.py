"""Compressed bytes: gzip, bzip2, xz and (extra `zstd`) Zstandard, recognised by their start.

The memory that a decompressor may take is bounded, and a truncated file is noticed.
"""

from __future__ import annotations

import io
from typing import Any, BinaryIO, cast

from gml.data.raw_bytes import MAGIC_BYTES, RawBytes
from gml.errors import DataError
from gml.kernel.layout import BLOCK_BYTES
from gml.resources import format_size, lacking_extra

# Most compressors need less: xz -9 has a dictionary of 64 MiB, zstd --ultra -22 a window of 128.
_MOST_WINDOW = 1 << 27
# Followed by a field or padding, as a column of a CSV file may be called PAR1.
_PARQUET = (b"PAR1\x15", b"PAR1\x00")
Stream = tuple[io.BufferedIOBase, tuple[type[Exception], ...]]
"""The source of the bytes, and what it raises when they are damaged."""


def decompressed(stream: io.BufferedReader[RawBytes], name: str) -> Stream:
    """Return a stream of the inflated bytes, or of the bytes if they are not compressed."""
    start = stream.peek(MAGIC_BYTES)[:MAGIC_BYTES]
    if start.startswith(b"\x1f\x8b"):
        import gzip
        import zlib

        return gzip.GzipFile(fileobj=stream), (EOFError, OSError, zlib.error)
    if start.startswith(b"BZh") and start[4:10] == b"1AY&SY":
        import bz2

        return bz2.BZ2File(stream), (EOFError, OSError)
    if start.startswith(b"\xfd7zXZ\x00"):
        import lzma

        return io.BufferedReader(_XzStreams(stream, name), BLOCK_BYTES), (EOFError, lzma.LZMAError)
    if start.startswith(b"\x28\xb5\x2f\xfd"):
        return _zstd(stream, name)
    if start.startswith(b"PK\x03\x04"):
        raise DataError(f"{name}: looks like a zip or Excel file; export it as CSV first")
    if start.startswith(_PARQUET):
        # A file that is whole is not read here.
        if stream.raw.size is None:
            raise DataError(
                f"{name}: this is Parquet, which can only be read from a file; name the file"
            )
        raise DataError(f"{name}: begins like Parquet but does not end like it: it is truncated")
    return stream, ()


def _zstd(stream: io.BufferedReader[RawBytes], name: str) -> Stream:
    try:
        import zstandard
    except ModuleNotFoundError:
        raise lacking_extra(f"{name}: reading zstd", "zstd") from None
    decompressor = zstandard.ZstdDecompressor(max_window_size=_MOST_WINDOW)
    frames = decompressor.stream_reader(
        cast(BinaryIO, _ZstdFrames(stream, name)),
        read_size=BLOCK_BYTES // 8,
        read_across_frames=True,
    )
    return io.BufferedReader(frames, BLOCK_BYTES), (EOFError, zstandard.ZstdError)


def _window_too_large(name: str, window: str) -> DataError:
    return DataError(
        f"{name}: decompressing it needs {window}more than the limit of {_MOST_WINDOW >> 20} MiB; "
        "recompress it at a lower level"
    )


class _XzStreams(io.RawIOBase):
    """xz streams one after the other; unlike lzma.LZMAFile, this bounds the dictionaries."""

    def __init__(self, stream: io.BufferedReader[RawBytes], name: str) -> None:
        self._stream = stream
        self._name = name
        self._decoder = self._new_decoder()

    def _new_decoder(self) -> Any:
        import lzma

        # The decoder itself needs memory on top of its dictionary.
        return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MOST_WINDOW + (1 << 20))

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object, /) -> int:
        view = memoryview(cast(bytearray, buffer)).cast("B")
        while True:
            given = b""
            if self._decoder.eof:
                given = self._next_stream()
                if not given:
                    return 0
                self._decoder = self._new_decoder()
            elif self._decoder.needs_input:
                given = self._stream.read(BLOCK_BYTES // 8)
                if not given:
                    raise EOFError("the file ends within a stream")
            part = self._inflate(given, len(view))
            if part:
                view[: len(part)] = part
                return len(part)

    def _next_stream(self) -> bytes:
        """Return the start of the next stream, after any zeros that pad this one."""
        given: bytes = self._decoder.unused_data.lstrip(b"\0")
        while not given and (block := self._stream.read(BLOCK_BYTES // 8)):
            given = block.lstrip(b"\0")
        return given

    def _inflate(self, given: bytes, most: int) -> bytes:
        import lzma

        try:
            part: bytes = self._decoder.decompress(given, most)
        except lzma.LZMAError as error:
            if "limit" in str(error):
                raise _window_too_large(self._name, "") from None
            raise
        return part


class _ZstdFrames:
    """Zstandard frames one after the other, passed on as they are.

    The package's reader takes the end of the file to be the end of the data, so the blocks are
    followed here to notice a truncated file.
    """

    _SKIPPABLE = range(0x184D2A50, 0x184D2A60)

    def __init__(self, stream: io.BufferedReader[RawBytes], name: str) -> None:
        self._stream = stream
        self._name = name
        self._left = 0
        self._blocks_follow = False
        self._checksum = 0

    def read(self, size: int) -> bytes:
        """Return some of the next bytes; none after the last frame."""
        passed = bytearray()
        while len(passed) < size:
            if self._left:
                block = self._stream.read(min(self._left, size - len(passed)))
                if not block:
                    raise EOFError("the file ends within a frame")
                self._left -= len(block)
                passed += block
            elif self._blocks_follow:
                passed += self._block_header()
            elif header := self._frame_header():
                passed += header
            else:
                break
        return bytes(passed)

    def _exactly(self, size: int) -> bytes:
        found = self._stream.read(size)
        if len(found) < size:
            raise EOFError("the file ends within a frame")
        return found

    def _block_header(self) -> bytes:
        header = self._exactly(3)
        value = int.from_bytes(header, "little")
        is_run = value >> 1 & 3 == 1
        self._left = 1 if is_run else value >> 3
        if value & 1:
            self._blocks_follow = False
            self._left += self._checksum
        return header

    def _frame_header(self) -> bytes:
        import zstandard

        magic = self._stream.read(4)
        if not magic:
            return b""
        if int.from_bytes(magic, "little") in self._SKIPPABLE:
            size = self._exactly(4)
            self._left = int.from_bytes(size, "little")
            return magic + size
        header = magic + self._exactly(1)
        header += self._exactly(zstandard.frame_header_size(header) - len(header))
        found = zstandard.get_frame_parameters(header)
        if found.window_size > _MOST_WINDOW:
            raise _window_too_large(self._name, f"{format_size(found.window_size)}, ")
        self._blocks_follow = True
        self._checksum = 4 if found.has_checksum else 0
        return header

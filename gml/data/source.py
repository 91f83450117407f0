"""Where bytes come from: a path or standard input, decompressed, transcoded and hashed on the way.

Compression is recognised by the first bytes, so it works on a pipe and under any file name.
"""

from __future__ import annotations

import codecs
import io
import os
import stat
import sys
from pathlib import Path
from typing import Any, BinaryIO, cast

from gml.errors import DataError, UsageError, place, quote
from gml.kernel.layout import BLOCK_BYTES
from gml.progress import reporter
from gml.resources import format_size

_MAGIC_BYTES = 16
# Requests above this size go to the file without a copy in between.
_SMALL_BUFFER = 1 << 16
# Most compressors need less: xz -9 has a dictionary of 64 MiB, zstd --ultra -22 a window of 128.
_MOST_WINDOW = 1 << 27
# A field or padding follows the magic bytes: a column of a CSV file may be called PAR1.
_PARQUET = (b"PAR1\x15", b"PAR1\x00")
_Stream = tuple[io.BufferedIOBase, tuple[type[Exception], ...]]
"""Where the bytes come from, and what it raises when they are damaged."""


# What these read is no file of text: names of hosts, literals of Python, nothing at all.
_NO_CHARACTER_SETS = frozenset(
    {"idna", "punycode", "unicode-escape", "raw-unicode-escape", "undefined"}
)


def text_codec(encoding: str) -> codecs.CodecInfo:
    """Return the codec of a character set, by one of its names.

    Examples
    --------
    >>> text_codec("latin-1").name
    'iso8859-1'
    """
    try:
        info = codecs.lookup(encoding)
    except (LookupError, ValueError, ImportError, OSError):
        # Not every string can even be looked up.
        raise UsageError(f"unknown encoding {quote(encoding)}") from None
    name = info.name.replace("_", "-")
    if not info._is_text_encoding or info.incrementaldecoder is None or name in _NO_CHARACTER_SETS:
        raise UsageError(f"unknown encoding {quote(encoding)}: not a character set")
    return info


class _Raw(io.RawIOBase):
    """The input bytes, hashed in a second thread while they are parsed, with progress."""

    def __init__(self, file: BinaryIO, name: str, size: int | None, hashed: bool) -> None:
        self._file = file
        self._name = name
        self.size = size
        self._done = 0
        self._hash: Any = None
        self._worker: Any = None
        self._pending: Any = None
        if hashed:
            import hashlib
            from concurrent.futures import ThreadPoolExecutor

            self._hash = hashlib.sha256()
            self._worker = ThreadPoolExecutor(1)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object, /) -> int:
        view = memoryview(cast(bytearray, buffer)).cast("B")
        got = self._read_some(view)
        while 0 < got + self._done < _MAGIC_BYTES and (more := self._read_some(view[got:])):
            got += more
        if self._hash is not None and got:
            if self._pending is not None:
                self._pending.result()
            self._pending = self._worker.submit(self._hash.update, bytes(view[:got]))
        self._done += got
        reporter().advance(f"reading {self._name}", self._done, self.size)
        return got

    def _read_some(self, view: memoryview) -> int:
        try:
            return self._file.readinto(view) or 0  # type: ignore[attr-defined]
        except OSError as error:
            raise DataError(f"{self._name}: cannot be read: {error.strerror}") from None

    @property
    def done(self) -> int:
        """Bytes read so far."""
        return self._done

    def digest(self) -> str | None:
        """Hash of the whole input; what nobody asked for yet is read now."""
        if self._hash is None:
            return None
        buffer = bytearray(BLOCK_BYTES)
        while self.readinto(buffer):
            pass
        if self._pending is not None:
            self._pending.result()
        return str(self._hash.hexdigest())

    def close(self) -> None:
        if self._worker is not None:
            self._worker.shutdown()
        if self._name != place("-"):
            self._file.close()
        super().close()


# Bytes that a decoder may hold back until a character is whole.
_MOST_PENDING = 1 << 16


class ByteSource:
    """UTF-8 bytes of a table, whatever was stored."""

    def __init__(self, raw: _Raw, stream: _Stream, name: str) -> None:
        self._raw = raw
        self._stream, self._damage = stream
        self.name = name
        self.size = None if self._damage else raw.size
        self._decoder: codecs.IncrementalDecoder | None = None
        self._encoding = "utf-8"
        self._decoded = b""
        self._line = 1
        self._after_return = False

    @property
    def inflation(self) -> tuple[int, bool]:
        """The stored bytes that were read so far, and whether they are compressed."""
        return self._raw.done, bool(self._damage)

    def transcode(self, encoding: str) -> None:
        """Turn what follows from `encoding` into UTF-8."""
        info = text_codec(encoding)
        if info.name not in ("utf-8", "utf-8-sig", "ascii"):
            self._decoder = info.incrementaldecoder()
            self._encoding = encoding

    def readinto(self, buffer: memoryview, /) -> int:
        """Fill the buffer as far as possible; 0 at the end."""
        if self._decoder is None:
            return self._read_some(buffer)
        while not self._decoded:
            block = bytearray(min(len(buffer), BLOCK_BYTES))
            got = self._read_some(memoryview(block))
            self._decoded = self._decode(bytes(block[:got]), final=got == 0)
            if got == 0:
                break
        part = self._decoded[: len(buffer)]
        self._decoded = self._decoded[len(part) :]
        buffer[: len(part)] = part
        return len(part)

    def _decode(self, block: bytes, *, final: bool) -> bytes:
        assert self._decoder is not None
        state = self._decoder.getstate()
        try:
            text = self._decoder.decode(block, final)
        except UnicodeDecodeError as error:
            line = self._line + self._count_lines(self._text_before(error, state, block))
            byte = error.object[error.start]
            raise DataError(
                f"{self.name}: line {line}: byte 0x{byte:02x} is not {self._encoding}; "
                "name the right --encoding"
            ) from None
        except UnicodeError as error:
            raise DataError(f"{self.name}: {error}; name the right --encoding") from None
        if len(self._decoder.getstate()[0]) > _MOST_PENDING:
            raise DataError(
                f"{self.name}: line {self._line + self._count_lines(text)}: {self._encoding} that "
                "goes on without a complete character; name the right --encoding"
            )
        try:
            encoded = text.encode("utf-8")
        except UnicodeEncodeError as error:
            line = self._line + self._count_lines(text[: error.start])
            raise DataError(
                f"{self.name}: line {line}: half a character (U+{ord(text[error.start]):04X}) in "
                f"{self._encoding}; name the right --encoding"
            ) from None
        self._line += self._count_lines(text)
        return encoded

    def _text_before(
        self, error: UnicodeDecodeError, state: tuple[bytes, int], block: bytes
    ) -> str:
        """What comes before the bytes that cannot be, to count its lines."""
        assert self._decoder is not None
        self._decoder.setstate(state)
        self._decoder.errors = "replace"
        try:
            return self._decoder.decode(block[: max(0, error.start - len(state[0]))])
        except UnicodeError:
            # Without a byte order mark, say, there is no text at all.
            return ""

    def _count_lines(self, text: str) -> int:
        """Line ends in the text; a CRLF across two blocks counts once."""
        lines = text.count("\n") + text.count("\r") - text.count("\r\n")
        if self._after_return and text.startswith("\n"):
            lines -= 1
        if text:
            self._after_return = text.endswith("\r")
        return lines

    def _read_some(self, buffer: memoryview) -> int:
        try:
            return self._stream.readinto(buffer) or 0
        except self._damage as error:
            raise DataError(f"{self.name}: damaged compressed data: {error}") from None

    def digest(self) -> str | None:
        """SHA-256 of the stored bytes, if it was asked for."""
        return self._raw.digest()

    def close(self) -> None:
        """Close the file."""
        self._stream.close()
        self._raw.close()

    def __enter__(self) -> ByteSource:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def open_source(path: str | os.PathLike[str], *, digest: bool = False) -> ByteSource:
    """Open a file, or standard input for `-`."""
    raw, name = _open_raw(path, digest=digest), place(path)
    try:
        buffered = io.BufferedReader(raw, _SMALL_BUFFER)
        stream = _decompressor(buffered, name)
        return ByteSource(raw, stream, name)
    except BaseException:
        raw.close()
        raise


def _open_raw(path: str | os.PathLike[str], *, digest: bool) -> _Raw:
    name = place(path)
    if str(path) == "-":
        return _Raw(sys.stdin.buffer, name, None, digest)
    try:
        file = Path(path).open("rb", buffering=0)  # noqa: SIM115
        about = os.fstat(file.fileno())
    except IsADirectoryError:
        raise DataError(f"{name}: is a folder") from None
    except OSError as error:
        raise DataError(f"{name}: {error.strerror}") from None
    except ValueError:
        raise DataError(f"{quote(name)}: the path holds a NUL character") from None
    if _is_endless(about) and not file.isatty():
        file.close()
        raise DataError(f"{name}: is a device; name a file, or - for standard input")
    return _Raw(file, name, about.st_size or None, digest)


def _is_endless(about: os.stat_result) -> bool:
    """Whether it is a device, such as /dev/zero, that may never end; /dev/null does."""
    if stat.S_ISBLK(about.st_mode):
        return True
    return stat.S_ISCHR(about.st_mode) and about.st_rdev != Path(os.devnull).stat().st_rdev


def input_digest(path: str | os.PathLike[str]) -> str:
    """Return the SHA-256 of an input: the bytes of a file, or the Parquet files of a folder."""
    from gml.data.parquet import is_parquet, parquet_digest

    if str(path) != "-" and is_parquet(path):
        return parquet_digest(path)
    with _open_raw(path, digest=True) as raw:
        digest = raw.digest()
    assert digest is not None
    return digest


def _decompressor(stream: io.BufferedReader[_Raw], name: str) -> _Stream:
    start = stream.peek(_MAGIC_BYTES)[:_MAGIC_BYTES]
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
                f"{name}: this is Parquet, which is read from files only; name the file"
            )
        raise DataError(f"{name}: begins as Parquet, but does not end so: it is truncated")
    return stream, ()


def _zstd(stream: io.BufferedReader[_Raw], name: str) -> _Stream:
    try:
        import zstandard
    except ModuleNotFoundError:
        raise DataError(f"{name}: reading zstd needs an extra: pip install 'gml[zstd]'") from None
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
    """xz streams one after the other; unlike lzma.LZMAFile it bounds the size of dictionaries."""

    def __init__(self, stream: io.BufferedReader[_Raw], name: str) -> None:
        self._stream = stream
        self._name = name
        self._decoder = self._new_decoder()

    def _new_decoder(self) -> Any:
        import lzma

        # What the decoder itself needs comes on top of its dictionary.
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
        """The start of the next stream, behind the zeros that may pad this one."""
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

    The package's reader takes the end of the file for the end of the data, so the blocks are
    followed here to notice a file that was cut.
    """

    _SKIPPABLE = range(0x184D2A50, 0x184D2A60)

    def __init__(self, stream: io.BufferedReader[_Raw], name: str) -> None:
        self._stream = stream
        self._name = name
        self._left = 0
        self._blocks_follow = False
        self._checksum = 0

    def read(self, size: int) -> bytes:
        """Return some of the next bytes, none at the end of the last frame."""
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

"""Where bytes come from: a path or standard input, decompressed, transcoded and hashed on the way.

Compression is recognised by the first bytes, so it works on a pipe and under any file name.
"""

from __future__ import annotations

import codecs
import io
import os

from gml.data.decompression import Stream, decompressed
from gml.data.raw_bytes import RawBytes, open_raw
from gml.errors import DataError, UsageError, parameter, place, quote
from gml.kernel.layout import BLOCK_BYTES

# Requests above this size go to the file without a copy in between.
_SMALL_BUFFER = 1 << 16
_RIGHT = f"name the right {parameter('encoding')}"

# These do not decode text files, but host names, Python literals or nothing at all.
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
        # Some strings cannot even be looked up.
        raise UsageError(f"unknown encoding {quote(encoding)}") from None
    name = info.name.replace("_", "-")
    if not info._is_text_encoding or info.incrementaldecoder is None or name in _NO_CHARACTER_SETS:
        raise UsageError(f"unknown encoding {quote(encoding)}: not a character set")
    return info


_MARKS = (
    (codecs.BOM_UTF8, "UTF-8"),
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)
# Bytes that a decoder may hold back until a character is whole.
_MOST_PENDING = 1 << 16


class ByteSource:
    """UTF-8 bytes of a table, whatever was stored."""

    def __init__(self, raw: RawBytes, stream: Stream, name: str) -> None:
        self._raw = raw
        self._stream, self._damage = stream
        self.name = name
        self.size = None if self._damage else raw.size
        self._decoder: codecs.IncrementalDecoder | None = None
        self._begun = False
        self._encoding = "utf-8"
        self._utf8: codecs.IncrementalDecoder | None = None
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
            self._utf8 = codecs.getincrementaldecoder("utf-8")()

    @property
    def was_utf8(self) -> bool:
        """Whether all bytes so far would have been valid UTF-8, whatever they were read as."""
        return self._decoder is None or self._utf8 is not None

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
        if self._utf8 is not None and not _is_utf8(self._utf8, block, final=final):
            self._utf8 = None
        if not self._begun:
            self._refuse_mark_of_another(block)
            self._begun = True
        state = self._decoder.getstate()
        try:
            text = self._decoder.decode(block, final)
        except UnicodeDecodeError as error:
            line = self._line + self._count_lines(self._text_before(error, state, block))
            byte = error.object[error.start]
            raise DataError(
                f"{self.name}: line {line}: byte 0x{byte:02x} is not {self._encoding}; {_RIGHT}"
            ) from None
        except UnicodeError as error:
            raise DataError(f"{self.name}: {error}; {_RIGHT}") from None
        if len(self._decoder.getstate()[0]) > _MOST_PENDING:
            raise DataError(
                f"{self.name}: line {self._line + self._count_lines(text)}: {self._encoding} that "
                f"goes on without a complete character; {_RIGHT}"
            )
        try:
            encoded = text.encode("utf-8")
        except UnicodeEncodeError as error:
            line = self._line + self._count_lines(text[: error.start])
            raise DataError(
                f"{self.name}: line {line}: half a character (U+{ord(text[error.start]):04X}) in "
                f"{self._encoding}; {_RIGHT}"
            ) from None
        self._line += self._count_lines(text)
        return encoded

    def _refuse_mark_of_another(self, start: bytes) -> None:
        """Refuse a byte order mark that would be read as part of the first name."""
        own = text_codec(self._encoding).name.replace("_", "-")
        name = next((name for mark, name in _MARKS if start.startswith(mark)), None)
        # The decoders of wide characters look at marks of their own.
        if name is None or (name != "UTF-8" and own.startswith(("utf-16", "utf-32"))):
            return
        right = "leave out" if name == "UTF-8" else "say"
        said = None if name == "UTF-8" else name.lower()
        raise DataError(
            f"{self.name}: begins with the byte order mark of {name}, so it is not "
            f"{self._encoding}; {right} {parameter('encoding', said)}"
        )

    def _text_before(
        self, error: UnicodeDecodeError, state: tuple[bytes, int], block: bytes
    ) -> str:
        """Return the text before the bytes that are wrong, to count its lines."""
        assert self._decoder is not None
        self._decoder.setstate(state)
        self._decoder.errors = "replace"
        try:
            return self._decoder.decode(block[: max(0, error.start - len(state[0]))])
        except UnicodeError:
            # Without a byte order mark, for example, there is no text at all.
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


def _is_utf8(decoder: codecs.IncrementalDecoder, block: bytes, *, final: bool) -> bool:
    """Whether a block goes on with text; wide characters are half zeros, which text has not."""
    try:
        return "\0" not in decoder.decode(block, final)
    except UnicodeDecodeError:
        return False


def open_source(path: str | os.PathLike[str], *, digest: bool = False) -> ByteSource:
    """Open a file, or standard input for `-`."""
    raw, name = open_raw(path, digest=digest), place(path)
    try:
        buffered = io.BufferedReader(raw, _SMALL_BUFFER)
        stream = decompressed(buffered, name)
        return ByteSource(raw, stream, name)
    except BaseException:
        raw.close()
        raise

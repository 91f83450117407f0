"""PNG files of images with a palette (ISO/IEC 15948:2004), for pictures of very many cells."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def png_of(pixels: NDArray[np.uint8], palette: Sequence[str]) -> bytes:
    """Return an image whose pixels are positions in a palette of #rrggbb, 256 at most.

    Examples
    --------
    >>> png_of(np.zeros((2, 2), dtype=np.uint8), ["#ffffff"])[1:4]
    b'PNG'
    """
    height, width = pixels.shape
    # 8 bits per pixel, colours by palette, and the only compression, filter and order there are.
    header = struct.pack(">2I5B", width, height, 8, 3, 0, 0, 0)
    colours = b"".join(bytes.fromhex(colour.removeprefix("#")) for colour in palette)
    # Each row begins with the number of its filter, 0 for none.
    rows = np.pad(pixels, ((0, 0), (1, 0))).tobytes()
    chunks = (
        (b"IHDR", header),
        (b"PLTE", colours),
        (b"IDAT", zlib.compress(rows, 9)),
        (b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, content) for kind, content in chunks)


def _chunk(kind: bytes, content: bytes) -> bytes:
    checked = kind + content
    return struct.pack(">I", len(content)) + checked + struct.pack(">I", zlib.crc32(checked))

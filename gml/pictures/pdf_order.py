"""PDF with its objects in one order, so that the same picture has the same bytes.

svg2pdf keeps fonts in hash tables with a random seed, which shows in the order of what it writes:
the names of a dictionary of resources, and the objects of each font with their numbers. Here the
names are sorted, and objects are numbered and written in the order in which they are reached from
the root. (ISO 32000-1, section 7.5, says how a file is put together.)
"""

from __future__ import annotations

import re
from collections.abc import Callable

_TABLE = re.compile(
    rb"\nxref\n0 (\d+)\n((?:\d{10} \d{5} [fn][ \r]?\n)+)trailer\n(.*?)startxref", re.S
)
_REFERENCE = re.compile(rb"\b(\d+) 0 R\b")
_NAMED = re.compile(rb"(?:^ +/[A-Za-z]+\d+ \d+ 0 R\n){2,}", re.M)
_STREAM = b"\nstream\n"


def in_one_order(pdf: bytes) -> bytes:
    """Return the file with its objects in one order; one that is put together otherwise, as is."""
    table = _TABLE.search(pdf)
    if table is None:
        return pdf
    starts = [int(entry[:10]) for entry in table[2].splitlines()]
    found = {k: _object(pdf, start, k) for k, start in enumerate(starts) if k}
    if any(body is None for body in found.values()):
        return pdf
    bodies = {k: _sorted_names(body) for k, body in found.items() if body is not None}
    number = _numbers(table[3], bodies)
    first = min(starts[1:], default=len(pdf))
    written, places = bytearray(pdf[:first]), []
    for old in number:
        places.append(len(written))
        body = _renumbered(bodies[old], number)
        written += b"%d 0 obj\n%sendobj\n\n" % (number[old], body)
    at = len(written)
    written += b"xref\n0 %d\n0000000000 65535 f\r\n" % (len(places) + 1)
    written += b"".join(b"%010d 00000 n\r\n" % place for place in places)
    trailer = re.sub(rb"/Size \d+", b"/Size %d" % (len(places) + 1), table[3])
    return bytes(written + b"trailer\n%s" % _renumbered(trailer, number)) + (
        b"startxref\n%d\n%%%%EOF" % at
    )


def _object(pdf: bytes, start: int, number: int) -> bytes | None:
    """What is between `obj` and `endobj`; None if they are not where they should be."""
    head = b"%d 0 obj\n" % number
    if not pdf.startswith(head, start):
        return None
    inside = start + len(head)
    stream = pdf.find(_STREAM, inside)
    end = pdf.find(b"endobj\n", inside)
    if 0 <= stream < end:
        length = re.search(rb"/Length (\d+)\b", pdf[inside:stream])
        if length is None:
            return None
        end = pdf.find(b"endobj\n", stream + len(_STREAM) + int(length[1]))
    return None if end < 0 else pdf[inside:end]


def _in_dictionary(body: bytes, change: Callable[[bytes], bytes]) -> bytes:
    """Change what stands before the stream of an object."""
    head, mark, stream = body.partition(_STREAM)
    return change(head) + mark + stream


def _sorted_names(body: bytes) -> bytes:
    def change(head: bytes) -> bytes:
        return _NAMED.sub(lambda found: b"".join(sorted(found[0].splitlines(keepends=True))), head)

    return _in_dictionary(body, change)


def _renumbered(body: bytes, number: dict[int, int]) -> bytes:
    def change(head: bytes) -> bytes:
        return _REFERENCE.sub(lambda found: b"%d 0 R" % number.get(int(found[1]), 0), head)

    return _in_dictionary(body, change)


def _numbers(trailer: bytes, bodies: dict[int, bytes]) -> dict[int, int]:
    """The new number of each object: as they are reached from the trailer, breadth first."""
    reached: dict[int, int] = {}
    waiting = [trailer]
    while waiting:
        head = waiting.pop(0).partition(_STREAM)[0]
        for reference in _REFERENCE.finditer(head):
            old = int(reference[1])
            if old not in reached and old in bodies:
                reached[old] = len(reached) + 1
                waiting.append(bodies[old])
    return reached

"""Ways to damage an input: of bytes, of text, and of what JSON, XML and Parquet are made of.

A mutator takes the bytes, a random number generator and a Pool (other seeds and words of the
kind), and returns other bytes, never more than LIMIT of them. The same generator makes the same
bytes.
"""

from __future__ import annotations

import io
import json
import random
import re
import struct
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

LIMIT = 1 << 16

NUMBERS = (
    "0", "-0", "-1", "1", "2", "255", "256", "65535", "65536", "2147483647", "2147483648", "-2147483649",
    "4294967296", "9007199254740993", "9223372036854775807", "9223372036854775808", "-9223372036854775809",
    "1e308", "1.8e308", "1e999", "-1e999", "1e-320", "1e-999", "nan", "NaN", "inf", "-Infinity", "0.1", ".5",
    "5.", "1_000", "0x10", "١", "1,5", "1" + "0" * 400, "9" * 5000, "0." + "0" * 400 + "1", "+3", " 7 ", "1e",
)  # fmt: skip
SPECIAL = (
    b"\x00", b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\xed\xa0\x80", b"\xed\xb3\xa9", b"\xc3", b"\xf4\x90\x80\x80",
    b"\xc0\xaf", b"\x1b[31m", b"\x1b]0;t\x07", b"\x7f", b"\x85", b"\xc2\x85", b"\xc2\x9b", b"\xe2\x80\xa8",
    b"\xe2\x80\xae", b"\r", b"\r\n", b"\n", b"\t", b"\v", b"\f", b"\x1c", b"\x08", b"\xe2\x80\x8b", b"\xc2\xa0",
    b"\n::error::x", b"%0A", b"\\", b"\\u0000", b"\\ud800", b'"', b"'", b"`", b"$(x)", b"<", b">", b"&", b"]]>",
    "é".encode(), "e\u0301".encode(), "İ".encode(), "ß".encode(), "\U0001f333".encode(), b"--", b"-", b"",
)  # fmt: skip
_NUMBER = re.compile(rb"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_WORD = re.compile(rb"[A-Za-z_]\w*")


class Pool(NamedTuple):
    """What a mutator may borrow: whole inputs of the kind, and words that its readers know."""

    seeds: Sequence[bytes]
    tokens: Sequence[bytes]


Mutator = Callable[[bytes, random.Random, Pool], bytes]


def _span(data: bytes, rng: random.Random) -> tuple[int, int]:
    """A piece of the input, short ones more often."""
    if not data:
        return 0, 0
    start = rng.randrange(len(data))
    length = min(len(data) - start, int(2 ** rng.uniform(0, 12)))
    return start, start + length


def _put(data: bytes, start: int, stop: int, new: bytes) -> bytes:
    return (data[:start] + new + data[stop:])[:LIMIT]


# --- bytes -----------------------------------------------------------------------------------


def flip_bits(data: bytes, rng: random.Random, pool: Pool) -> bytes:
    """Flip single bits."""
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 8))):
        if out:
            out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
    return bytes(out)


def set_bytes(data: bytes, rng: random.Random, pool: Pool) -> bytes:
    """Set bytes to values at the edge."""
    out = bytearray(data)
    for _ in range(rng.choice((1, 2, 4))):
        if out:
            out[rng.randrange(len(out))] = rng.choice((0, 1, 9, 10, 13, 32, 34, 44, 127, 128, 255))
    return bytes(out)


def truncate(data: bytes, rng: random.Random, pool: Pool) -> bytes:
    """Cut off the end, or the start."""
    cut = rng.randrange(len(data) + 1)
    return data[:cut] if rng.random() < 0.8 else data[cut:]


def delete(data: bytes, rng: random.Random, pool: Pool) -> bytes:
    """Take a piece out."""
    return _put(data, *_span(data, rng), b"")


def duplicate(data: bytes, rng: random.Random, pool: Pool) -> bytes:
    """Write a piece twice."""
    start, stop = _span(data, rng)
    return _put(data, start, start, data[start:stop])


def repeat(data: bytes, rng: random.Random, pool: Pool) -> bytes:
    """Write a piece very often."""
    start, stop = _span(data, rng)
    stop = min(stop, start + 40)
    times = rng.choice((3, 10, 100, 1000, LIMIT // max(1, stop - start)))
    return _put(data, start, start, data[start:stop] * times)


def move(data: bytes, rng: random.Random, pool: Pool) -> bytes:
    """Write a piece somewhere else."""
    start, stop = _span(data, rng)
    piece, rest = data[start:stop], data[:start] + data[stop:]
    at = rng.randrange(len(rest) + 1)
    return _put(rest, at, at, piece)


def splice(data: bytes, rng: random.Random, pool: Pool) -> bytes:
    """Go on as another input does."""
    other = rng.choice(pool.seeds)
    return (data[: rng.randrange(len(data) + 1)] + other[rng.randrange(len(other) + 1) :])[:LIMIT]


# --- text ------------------------------------------------------------------------------------


def insert_token(data: bytes, rng: random.Random, pool: Pool) -> bytes:
    """Put in a word of the kind, in place of a word or between two bytes."""
    token = rng.choice(pool.tokens) if pool.tokens else b"x"
    return _at_word(data, rng, token)


def insert_special(data: bytes, rng: random.Random, pool: Pool) -> bytes:
    """Put in what text should not hold: controls, halves of characters, marks of other formats."""
    return _at_word(data, rng, rng.choice(SPECIAL) * rng.choice((1, 1, 1, 3, 300)))


def _at_word(data: bytes, rng: random.Random, new: bytes) -> bytes:
    words = list(_WORD.finditer(data)) if rng.random() < 0.5 else []
    if not words:
        at = rng.randrange(len(data) + 1)
        return _put(data, at, at, new)
    word = rng.choice(words)
    at = rng.choice((word.start(), word.end()))
    return _put(data, *((at, at) if rng.random() < 0.5 else word.span()), new)


def rename(data: bytes, rng: random.Random, pool: Pool) -> bytes:
    """Replace one word by another everywhere, so that the input may well be valid."""
    words = sorted(set(_WORD.findall(data)))
    if not words:
        return data
    new = rng.choice(
        (rng.choice(words), rng.choice(SPECIAL), rng.choice(SPECIAL) + b"a", b"a" * 2000)
    )
    return data.replace(rng.choice(words), new)[:LIMIT]


def change_number(data: bytes, rng: random.Random, pool: Pool) -> bytes:
    """Replace a number by one at the edge."""
    found = list(_NUMBER.finditer(data))
    if not found:
        return insert_token(data, rng, pool)
    return _put(data, *rng.choice(found).span(), rng.choice(NUMBERS).encode())


def change_lines(data: bytes, rng: random.Random, pool: Pool) -> bytes:
    """Drop, double, swap or shuffle lines, or change how they end."""
    lines = data.split(b"\n")
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    what = rng.randrange(6)
    if what == 0:
        del lines[i]
    elif what == 1:
        lines.insert(j, lines[i])
    elif what == 2:
        lines[i], lines[j] = lines[j], lines[i]
    elif what == 3:
        rng.shuffle(lines)
    elif what == 4:
        return data.replace(b"\n", rng.choice((b"\r", b"\r\n", b"\n\n", b" ", b"")))[:LIMIT]
    else:
        lines[i] = b""
    return b"\n".join(lines)[:LIMIT]


def nest(data: bytes, rng: random.Random, pool: Pool) -> bytes:
    """Open brackets and quotes again and again."""
    opening = rng.choice(
        (b"[", b"{", b"(", b'{"a":', b"<a>", b"/*", b"/* ", b'"', b"<!--", b"[[", b"subgraph {")
    )
    depth = rng.choice((1, 50, 1000, 8000))
    closing = {b"[": b"]", b"{": b"}", b"(": b")"}.get(opening, b"") if rng.random() < 0.5 else b""
    at = rng.randrange(len(data) + 1)
    return _put(data, at, at, opening * depth + closing * depth)


BYTES: tuple[Mutator, ...] = (
    flip_bits,
    set_bytes,
    truncate,
    delete,
    duplicate,
    repeat,
    move,
    splice,
)
TEXT: tuple[Mutator, ...] = (
    *BYTES, insert_token, insert_token, insert_special, insert_special, rename, change_number,
    change_number, change_lines, nest,
)  # fmt: skip

# --- JSON ------------------------------------------------------------------------------------

_RAW = "\ue000"
_STRINGS = (
    "", "a", "b", "zz", " a", "a\u0000", "\ud800", "\udcff", "\x1b[31m", "\u2028", "x" * 5000, "gml/1", "-->", "NA",
    "[0,1)", "[-inf,inf)", "::error::", "%0A", "é", "e\u0301", "run", "test", "dag", "cpdag", "undirected", "sha256:0",
)  # fmt: skip


def _any_value(rng: random.Random) -> Any:
    kind = rng.randrange(9)
    if kind == 0:
        return None
    if kind == 1:
        return rng.random() < 0.5
    if kind == 2:
        return rng.choice(_STRINGS)
    if kind in (3, 4):
        # Raw, as Python would not write some of these numbers.
        return (
            _RAW
            + rng.choice([n for n in NUMBERS if re.fullmatch(r"-?\d[\d.e]*|NaN|-Infinity", n)])
            + _RAW
        )
    if kind == 5:
        return []
    if kind == 6:
        return {}
    if kind == 7:
        return [_any_value(rng) for _ in range(rng.randrange(4))]
    deep: Any = rng.choice(_STRINGS)
    for _ in range(rng.choice((1, 5, 200, 900))):
        deep = [deep] if rng.random() < 0.5 else {"a": deep}
    return deep


def _places(value: Any, found: list[tuple[Any, Any]], depth: int = 0) -> None:
    """Every item of every object and list, as the container and its key."""
    if depth > 200:
        return
    keys: Any = ()
    if isinstance(value, dict):
        keys = list(value)
    elif isinstance(value, list):
        keys = range(len(value))
    for key in keys:
        found.append((value, key))
        _places(value[key], found, depth + 1)


def change_tree(tree: Any, rng: random.Random) -> Any:
    """Replace, delete, double, rename or swap items of parsed JSON."""
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        places: list[tuple[Any, Any]] = []
        _places(tree, places)
        if not places:
            return _any_value(rng)
        holder, key = rng.choice(places)
        what = rng.randrange(8)
        if what <= 2:
            holder[key] = _any_value(rng)
        elif what == 3:
            del holder[key]
        elif what == 4:
            other, other_key = rng.choice(places)
            if key in other if isinstance(other, dict) else other_key < len(other):
                holder[key] = json.loads(
                    json.dumps(
                        other.get(other_key) if isinstance(other, dict) else other[other_key]
                    )
                )
        elif what == 5 and isinstance(holder, list):
            holder.extend([holder[key]] * rng.choice((1, 2, 300)))
        elif what == 6 and isinstance(holder, dict):
            holder[rng.choice(_STRINGS)] = holder.pop(key)
        elif what == 7 and isinstance(holder, dict):
            holder[rng.choice((*_STRINGS, *map(str, holder)))] = _any_value(rng)
        else:
            holder[key] = [holder[key]]
    return tree


def tree_text(tree: Any) -> bytes:
    """Write parsed JSON, raw numbers as they are."""
    # Not ASCII only by chance: escapes are another path through readers.
    text = json.dumps(tree)
    return re.sub(r'"\\ue000([^"]*)\\ue000"', r"\1", text).encode()


def change_json(data: bytes, rng: random.Random, pool: Pool) -> bytes:
    """Change the tree of a JSON document, and sometimes write a key twice."""
    try:
        text = tree_text(change_tree(json.loads(data), rng))
    except (ValueError, RecursionError):
        return insert_token(data, rng, pool)
    if rng.random() < 0.1:
        text = re.sub(rb'("\w+": )', rb"\1null, \1", text, count=1)
    return text[:LIMIT] if len(text) <= LIMIT else data


def change_json_line(data: bytes, rng: random.Random, pool: Pool) -> bytes:
    """The same to one line of JSON lines."""
    lines = data.split(b"\n")
    i = rng.choice((0, rng.randrange(len(lines)), rng.randrange(len(lines))))
    lines[i] = change_json(lines[i], rng, pool)
    return b"\n".join(lines)[:LIMIT]


# --- XML -------------------------------------------------------------------------------------

_ENTITIES = (
    b'<!DOCTYPE a [<!ENTITY e "x"><!ENTITY f "&e;&e;&e;">]>',
    b'<!DOCTYPE a [<!ENTITY e SYSTEM "file:///etc/hostname">]>',
    b"<!DOCTYPE a [" + b"".join(b'<!ENTITY e%d "%s">' % (i, b"&e%d;" % (i - 1) * 9 if i else b"x") for i in range(9)) + b"]>",
    b'<?xml version="1.0" encoding="utf-16"?>',
    b'<?xml version="1.0" encoding="nonsense"?>',
    b'<?xml version="1.1"?>',
)  # fmt: skip


def change_xml(data: bytes, rng: random.Random, pool: Pool) -> bytes:
    """Delete, double, swap or change tags, attributes and text; declare entities."""
    parts = re.findall(rb"<[^>]*>|[^<]+|<", data)
    if not parts:
        return data
    for _ in range(rng.choice((1, 1, 2, 4))):
        i, j = rng.randrange(len(parts)), rng.randrange(len(parts))
        what = rng.randrange(8)
        if what == 0 and len(parts) > 1:
            del parts[i]
        elif what == 1:
            parts.insert(j, parts[i])
        elif what == 2:
            parts[i], parts[j] = parts[j], parts[i]
        elif what == 3:
            parts.insert(0, rng.choice(_ENTITIES))
            parts.insert(
                rng.randrange(1, len(parts) + 1),
                rng.choice((b"&e;", b"&e8;", b"&#0;", b"&#xD800;", b"&lt;")),
            )
        elif what == 4:
            parts[i] = re.sub(
                rb'"[^"]*"',
                lambda _: b'"' + rng.choice((*SPECIAL, *pool.tokens)) + b'"',
                parts[i],
                count=1,
            )
        elif what == 5:
            parts[i] = change_number(parts[i], rng, pool)
        elif what == 6:
            stop = min(len(parts), i + rng.randrange(1, 12))
            parts[i:stop] = parts[i:stop] * rng.choice((2, 3, 100))
        else:
            parts[i] = insert_token(parts[i], rng, pool)
    return b"".join(parts)[:LIMIT]


# --- Parquet ---------------------------------------------------------------------------------


def change_footer(data: bytes, rng: random.Random, pool: Pool) -> bytes:
    """Tamper with what a Parquet file says of itself; its end and marks stay valid."""
    if len(data) < 12 or data[-4:] != b"PAR1":
        return flip_bits(data, rng, pool)
    (length,) = struct.unpack("<I", data[-8:-4])
    start = max(4, len(data) - 8 - length)
    footer = bytearray(data[start:-8])
    what = rng.randrange(5)
    if what == 0:
        return (
            data[:-8]
            + struct.pack("<I", rng.choice((0, 1, length - 1, length + 1, 2**31, 2**32 - 1)))
            + b"PAR1"
        )
    for _ in range(rng.choice((1, 1, 2, 6))):
        if footer:
            at = rng.randrange(len(footer))
            footer[at] = rng.choice(
                (footer[at] ^ (1 << rng.randrange(8)), 0, 127, 128, 255, footer[at] + 2 & 255)
            )
    if what == 1 and footer:
        at = rng.randrange(len(footer))
        footer[at:at] = b"\xff" * rng.choice((1, 4, 9))
    return bytes(data[:start] + footer + struct.pack("<I", len(footer)) + b"PAR1")


def change_pages(data: bytes, rng: random.Random, pool: Pool) -> bytes:
    """Damage the pages of a Parquet file, and leave its footer."""
    (length,) = struct.unpack("<I", data[-8:-4]) if len(data) >= 12 else (0,)
    start = len(data) - 8 - length
    if start <= 4:
        return flip_bits(data, rng, pool)
    return flip_bits(data[:start], rng, pool) + data[start:]


def change_metadata(data: bytes, rng: random.Random, pool: Pool) -> bytes:
    """Change the JSON that a count file has in its metadata, and write it anew."""
    return _rewritten(data, rng, _changed_description)


def change_cells(data: bytes, rng: random.Random, pool: Pool) -> bytes:
    """Change cells of a table in Parquet, and write it anew."""
    return _rewritten(data, rng, _changed_cells)


def _rewritten(
    data: bytes, rng: random.Random, change: Callable[[Any, random.Random], Any]
) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = change(pq.read_table(io.BytesIO(data), use_threads=False), rng)
        sink = io.BytesIO()
        pq.write_table(table, sink, compression=rng.choice(("zstd", "snappy", "none")))
    except (pa.ArrowException, OSError, ValueError, TypeError, OverflowError):
        return data
    return sink.getvalue()


def _changed_description(table: Any, rng: random.Random) -> Any:
    metadata = dict(table.schema.metadata or {})
    key = b"gml/1"
    try:
        tree = json.loads(metadata.get(key, b"{}"))
    except ValueError:
        tree = {}
    metadata[key] = tree_text(change_tree(tree, rng))
    return table.replace_schema_metadata(metadata)


def _changed_cells(table: Any, rng: random.Random) -> Any:
    import pyarrow as pa

    if not table.num_columns or not table.num_rows:
        return table
    j = rng.randrange(table.num_columns)
    field = table.schema.field(j)
    values = table.column(j).to_pylist()
    i = rng.randrange(len(values))
    extremes: Sequence[Any]
    if pa.types.is_integer(field.type):
        extremes = (0, -1, 1, 2**31 - 1, 2**62, 2**63 - 1, -(2**63))
    elif pa.types.is_floating(field.type):
        extremes = (float("nan"), float("inf"), -0.0, 1e308, 5e-324)
    elif pa.types.is_list(field.type):
        extremes = ([], [0], [65535] * 2, [0] * 300)
    else:
        extremes = (values[0], None, "", "\x00", "é" * 2000)
    values[i] = rng.choice((*extremes, None, values[rng.randrange(len(values))]))
    if rng.random() < 0.2:
        values = values[:i] + values[i + 1 :]
        table = table.slice(0, len(values))
    return table.set_column(
        j, field if rng.random() < 0.5 else field.with_nullable(True), pa.array(values, field.type)
    )


# --- compression -----------------------------------------------------------------------------


def compress(data: bytes, how: str) -> bytes:
    """Compress as gz, bz2, xz or zst."""
    import bz2
    import gzip
    import lzma

    if how == "zst":
        import zstandard

        return zstandard.ZstdCompressor().compress(data)
    return {
        "gz": lambda: gzip.compress(data, mtime=0),
        "bz2": lambda: bz2.compress(data),
        "xz": lambda: lzma.compress(data),
    }[how]()


def decompress(data: bytes) -> tuple[bytes, str]:
    """Undo `compress`; returns how it was compressed too, or nothing if it cannot be undone."""
    import bz2
    import gzip
    import lzma

    try:
        if data.startswith(b"\x1f\x8b"):
            return gzip.decompress(data), "gz"
        if data.startswith(b"BZh"):
            return bz2.decompress(data), "bz2"
        if data.startswith(b"\xfd7zXZ"):
            return lzma.decompress(data), "xz"
        if data.startswith(b"\x28\xb5\x2f\xfd"):
            import zstandard

            return zstandard.ZstdDecompressor().decompress(data, max_output_size=1 << 24), "zst"
    except Exception:
        pass
    return b"", ""


def change_inside(data: bytes, rng: random.Random, pool: Pool) -> bytes:
    """Change what is compressed, not the compressed bytes."""
    inside, how = decompress(data)
    if not how:
        return flip_bits(data, rng, pool)
    plain = Pool([decompress(seed)[0] for seed in pool.seeds], pool.tokens)
    return compress(rng.choice(TEXT)(inside, rng, plain), how)


def join_streams(data: bytes, rng: random.Random, pool: Pool) -> bytes:
    """Several compressed streams one after the other, of one kind or of several, or twice packed."""
    other = rng.choice(pool.seeds)
    if rng.random() < 0.3:
        return compress(data, rng.choice(("gz", "bz2", "xz", "zst")))
    return (data + rng.choice((b"", b"\x00" * 16, b"x")) + other)[:LIMIT]


def blow_up(data: bytes, rng: random.Random, pool: Pool) -> bytes:
    """A few megabytes of one value, in few bytes."""
    piece = rng.choice((b"x", b"a,b,c\n", b"\n", b",", b'"', b"\x00", b"1,"))
    return compress(
        b"a,b,c\n" + piece * rng.choice((1 << 16, 1 << 20)), rng.choice(("gz", "bz2", "xz", "zst"))
    )

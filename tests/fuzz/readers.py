"""The compiled CSV reader against the one in Python: random tables, valid and damaged."""

from __future__ import annotations

import csv
import io
import random
import time

from gml.kernel import reference
from gml.kernel.layout import CODES8, NUMBERS, SKIP, ColumnSpec, CsvDialect
from tests.csv_sources import Trickle, outcome
from tests.fuzz.mutators import NUMBERS as EDGE_NUMBERS
from tests.fuzz.mutators import SPECIAL, TEXT, Pool

_CELLS = (
    "", "NA", "?", " NA ", "a", "b", "no", "1", "01", "1.0", '5\'9"', "é", "x,y", "p\nq", "\r", "\r\n", '"', '""', ";", "\t", " ",
    "x" * 15, "y" * 16, "z" * 17, "w" * 63, "v" * 64, "u" * 65, "\U0001f333", "\x00", "1e5", "-0", ".5", "5.", "1,5", "nan", "inf",
)  # fmt: skip
_TOKENS = (b",", b";", b"\t", b"\n", b"\r", b"\r\n", b'"', b'""', b'","', b'"\n', b"NA", b" ")


def _table(rng: random.Random, delimiter: str, width: int) -> bytes:
    text = io.StringIO()
    writer = csv.writer(
        text,
        delimiter=delimiter,
        lineterminator=rng.choice(("\n", "\r\n", "\r")),
        quoting=rng.choice((0, 1)),
    )
    alphabet = rng.sample(_CELLS, rng.randrange(1, 9))
    for _ in range(rng.choice((0, 1, 2, 5, 30, 300))):
        row = [
            rng.choice(alphabet) if rng.random() < 0.9 else rng.choice(EDGE_NUMBERS)[:500]
            for _ in range(width)
        ]
        writer.writerow(row)
    return text.getvalue().encode()


def _spec(rng: random.Random) -> ColumnSpec:
    return rng.choice(
        (
            ColumnSpec(SKIP),
            ColumnSpec(CODES8, rng.randrange(1, 8)),
            ColumnSpec(CODES8, 65535),
            ColumnSpec(CODES8, rng.randrange(1, 5), numbers_on_overflow=True),
            ColumnSpec(CODES8, 255, ("a", "b", "NA", "1")),
            ColumnSpec(NUMBERS),
            ColumnSpec(NUMBERS, counts=True),
        )
    )


def difference(seed: int, index: int) -> str | None:
    """What the readers disagree on in case `index`, if they do."""
    from gml.kernel import _kernel as compiled

    rng = random.Random(f"{seed}/readers/{index}")
    delimiter = rng.choice(",,;\t|")
    width = rng.randrange(1, 6)
    content = _table(rng, delimiter, width)
    pool = Pool([_table(rng, delimiter, width), *map(bytes, SPECIAL)], _TOKENS)
    for _ in range(rng.choice((0, 0, 1, 2, 3, 6))):
        content = rng.choice(TEXT)(content, rng, pool)
    specs = [_spec(rng) for _ in range(width)]
    na = rng.choice((("", "NA", "?"), (), ("1",), (" a ",)))
    dialect = CsvDialect(delimiter, rng.choice((".", ",")), na, rng.choice((4, 20, 1 << 20)))
    expected = outcome(reference, Trickle(content, [1 << 20]), specs, dialect, b"")
    sizes = [rng.randrange(1, 200) for _ in range(rng.randrange(1, 5))]
    cut = rng.randrange(len(content) + 1)
    best = compiled.instructions()
    try:
        for level in compiled.INSTRUCTIONS:
            compiled.limit_instructions(level)
            for given in (sizes, [1 << 20]):
                size = rng.choice((None, len(content) - cut, 10 * len(content)))
                rest = Trickle(content[cut:], given, size)
                found = outcome(compiled, rest, specs, dialect, content[:cut])
                if found != expected:
                    return f"{level} {given} {dialect} {specs}: {content!r}: {str(found)[:500]} is not {str(expected)[:500]}"
    finally:
        compiled.limit_instructions(best)
    return None


def compare(seed: int, *, cases: int = 1 << 62, seconds: float = 1e9) -> tuple[int, list[str]]:
    """Compare on so many cases, or for so long; returns how many, and the first differences."""
    end = time.monotonic() + seconds
    found: list[str] = []
    done = 0
    while done < cases and time.monotonic() < end and len(found) < 10:
        text = difference(seed, done)
        if text is not None:
            found.append(f"{seed}/{done}: {text}")
        done += 1
    return done, found

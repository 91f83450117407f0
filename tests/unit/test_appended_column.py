"""One more column beside rows whose bytes stay as they are; the oracle is the csv module."""

from __future__ import annotations

import csv
import io
import random

import pytest

from gml.data.appended_column import Record, appended, encoded, rewritten
from gml.data.source import open_source

WITH_QUOTES = ["a", "b", ",", '"', "\n", "\r", "\r\n", '""', 'x"y', "é", '"u\r\nv"']
PLAIN = ["a", ",", "\n", "bc", "é"]
WINDOWS = [*PLAIN[:2], "\r\n", "b"]


class Pieces:
    """Bytes a few at a time."""

    def __init__(self, content, most):
        self._left = io.BytesIO(content)
        self._most = most

    def readinto(self, buffer):
        part = self._left.read(min(self._most, len(buffer)))
        buffer[: len(part)] = part
        return len(part)


def records_of(text):
    """What the csv module reads; None if a quote is left open."""
    ended = False

    def lines():
        nonlocal ended
        yield from io.StringIO(text, newline="")
        ended = True

    found = []
    for record in csv.reader(lines()):
        if ended:
            return None
        if record:
            found.append(record)
    return found


def numbered(first, last):
    return [str(k) for k in range(first, last)]


@pytest.mark.parametrize(
    "letters", [WITH_QUOTES, PLAIN, WINDOWS], ids=["quotes", "plain", "windows"]
)
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_records_are_those_of_the_csv_module(letters, mark):
    rng = random.Random(f"{letters}{mark}")
    compared = 0
    for _ in range(1500):
        body = "".join(rng.choice(letters) for _ in range(rng.randint(0, 40)))
        text = ('"h\n1",h2\r\n' if rng.random() < 0.3 else "h1,h2\n") + body
        expected = records_of(text)
        if expected is None:
            continue
        compared += 1
        source = Pieces((mark + text).encode(), rng.randint(1, 9))
        found = b"".join(appended(source, ",", "w", numbered)).decode()
        assert found.startswith(mark)
        longer = [[*record, str(k - 1) if k else "w"] for k, record in enumerate(expected)]
        assert records_of(found.removeprefix(mark)) == longer, text
    assert compared > 500


def test_bytes_stay_as_they_are():
    text = b'a,"b ""q"""\r\n1, x\r\n\r\n"2\n",\xff\r\n3,4'
    found = b"".join(appended(Pieces(text, 5), ",", "the,weight", numbered))
    assert found == (b'a,"b ""q""","the,weight"\r\n1, x,0\r\n"2\n",\xff,1\r\n3,4,2\r\n')


def test_rows_can_be_left_out():
    def cells(first, last):
        return [None if k % 2 else "w" for k in range(first, last)]

    assert b"".join(appended(Pieces(b"a\n0\n1\n2\n", 3), ",", "n", cells)) == b"a,n\n0,w\n2,w\n"
    assert (
        b"".join(rewritten([["0"], ["1"]], ["a"], "n", cells, Record(";", False))) == b"a;n\n0;w\n"
    )


def test_rewritten_rows_are_quoted_and_safe_where_they_must_be():
    fields = [["=1", "x;y"], ["-2", 'a"b\n']]
    text = b"".join(rewritten(fields, ["a", "b"], "n", numbered, Record(";", True))).decode()
    assert text == 'a;b;n\n\'=1;"x;y";0\n-2;"a""b\n";1\n'
    assert b"".join(rewritten([], ["a", "b"], "n", numbered, Record(",", False))) == b"a,b,n\n"


def test_other_encodings(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_bytes("name\nJosé\nZoë\n".encode("utf-16"))
    with open_source(path) as source:
        source.transcode("utf-16")
        found = b"".join(encoded(appended(source, ",", "wé", numbered), "utf-16"))
    assert found == "name,wé\nJosé,0\nZoë,1\n".encode("utf-16")
    assert b"".join(encoded([b"\xc3\xa9"], "latin-1")) == b"\xe9"
    assert b"".join(encoded([b"\xff"], "utf-8")) == b"\xff"

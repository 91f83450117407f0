"""Headers that are long, wide or made to be read again and again; documents of many keys."""

from __future__ import annotations

import gzip

import pytest

from gml.data.header import read_header
from gml.errors import unknown_name
from tests.hostile.conftest import MIB


def test_a_name_of_line_ends_is_refused(watched, tmp_path):
    (tmp_path / "lines.csv").write_bytes(b'"' + b"\n" * (12 * MIB) + b'",b\n1,2\n')
    done = watched("profile", "lines.csv", seconds=20)
    assert done.code == 3
    assert done.error == "gml: error: lines.csv: line 1: a name in the header is longer than 1 MiB"
    assert done.peak < 200 * MIB


def test_names_of_line_ends_take_time_with_their_length_only(watched, tmp_path):
    name = b'"' + b"\n" * (MIB - 100) + b'"'
    (tmp_path / "lines.csv").write_bytes(b",".join([name] * 20) + b"\n1\n")
    done = watched("profile", "lines.csv", seconds=30)
    assert done.code == 3
    assert "the header is longer than 16 MiB" in done.error
    assert done.peak < 400 * MIB


def test_a_header_that_inflates_is_refused_soon(watched, tmp_path):
    with gzip.open(tmp_path / "bomb.csv.gz", "wb") as file:
        for _ in range(200):
            file.write(b"a" * MIB)
    done = watched("profile", "bomb.csv.gz", seconds=20)
    assert done.code == 3
    assert "longer than 1 MiB" in done.error
    assert done.peak < 200 * MIB


def test_more_columns_than_can_be_are_refused(watched, tmp_path):
    (tmp_path / "commas.csv").write_bytes(b"," * 1_000_000 + b"\n1\n")
    done = watched("profile", "commas.csv", seconds=20)
    assert done.code == 3
    assert "1000001 columns; the limit is 1000000" in done.error


def test_many_columns_take_time_with_their_number_only(watched, tmp_path):
    names = ",".join(f"v{j}" for j in range(40_000))
    (tmp_path / "wide.csv").write_text(f"{names}\n{'1,' * 39_999}2\n")
    done = watched("profile", "wide.csv", "-f", "csv", seconds=40)
    assert done.code == 0
    done = watched("profile", "wide.csv", "--max-memory", "100M")
    assert done.code == 4
    assert "reading 40000 columns would take 137 MiB" in done.error


def test_messages_about_many_columns_are_short(watched, tmp_path):
    n = 20_000
    names = ",".join(f"v{j}" for j in range(n))
    (tmp_path / "wide.csv").write_text(f"{names}\n" + ("NA," * (n - 1) + "NA\n") * 2)
    done = watched("chowliu", "wide.csv")
    assert done.code == 3
    assert "'v99' 2 and 19900 more columns; choose --missing" in done.error
    assert len(done.error) < 3000


def test_a_field_that_is_there_twice_is_found_among_many(watched, tmp_path):
    fields = ",".join(f'"k{j}":1' for j in range(60_000))
    (tmp_path / "twins.json").write_text("{" + fields + ',"k59999":2}')
    done = watched("verify", "twins.json", seconds=20)
    assert done.code == 3
    assert "'k59999' is there twice" in done.error


def test_long_names_are_not_compared_letter_by_letter(watched, tmp_path):
    (tmp_path / "long.csv").write_text(f"{'ab' * 50_000},{'ba' * 50_000}\n1,2\n")
    done = watched("profile", "long.csv", "-c", "ab" * 40_000 + "a", seconds=20)
    assert done.code == 2
    assert "not found" in done.error
    assert unknown_name("column", "lnug", ["lung", "x" * 300]).startswith(
        "column 'lnug' not found; did you mean 'lung'?"
    )


class Trickle:
    """A source that gives a few bytes at a time."""

    size = None

    def __init__(self, content, step):
        self._content, self._step = content, step

    def readinto(self, buffer):
        part, self._content = self._content[: self._step], self._content[self._step :]
        buffer[: len(part)] = part
        return len(part)


@pytest.mark.parametrize("step", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize(
    "text,names,line",
    [
        (b"a,b\n1,2\n", ["a", "b"], 2),
        (b"a,b\r\n1,2\r\n", ["a", "b"], 2),
        (b"a,b\r1,2\r", ["a", "b"], 2),
        (b"\n\r\n\ra,b\n1,2\n", ["a", "b"], 5),
        (b'"a\r\n""x""",b\n1,2\n', ['a\r\n"x"', "b"], 3),
        (b"a,b", ["a", "b"], 2),
        (b'""\n1\n', [""], 2),
    ],
)
def test_headers_that_come_in_pieces(step, text, names, line):
    source = Trickle(text, step)
    header = read_header(source, "t.csv", ",")
    assert (header.names, header.next_line) == (names, line)
    rest = header.rest + source._content
    assert rest == text[len(text) - len(rest) :]
    assert not rest.startswith(b"\n") and rest.strip().count(b"\n") == 0

"""Text in encodings that are none, or that the bytes do not keep to."""

from __future__ import annotations

import pytest

import gml
from gml.data.source import open_source
from gml.errors import DataError, UsageError

NONE = [
    *("idna", "punycode", "unicode_escape", "raw_unicode_escape", "undefined", "rot13", "base64"),
    *("hex", "zlib", "\udc80", "a\0b", "", "../x", "aliases", "__init__", "x" * 100_000),
]
TEXTS = {
    "iso2022_jp": "日本 x",
    "iso2022_kr": "한국 x",
    "hz": "中国 ~x",
    "utf-7": "日本+é x",
    "utf-16": "日本 𝄞x",
    "utf-32": "日本𝄞",
    "gb18030": "中𝄞é",
    "shift_jis": "日本",
    "utf-16-be": "𝄞é",
}


@pytest.mark.parametrize("encoding", NONE, ids=lambda name: ascii(name)[:30])
def test_what_is_no_character_set(tmp_path, encoding):
    path = tmp_path / "d.csv"
    path.write_bytes(b"A,B\nx,\xff\n")
    with pytest.raises(UsageError, match="unknown encoding"):
        gml.read(path, encoding=encoding)


def test_the_command_says_so(watched, tmp_path):
    (tmp_path / "d.csv").write_bytes(b"A,B\nx,\xff\n")
    for encoding in ("idna", "\udc80"):
        done = watched("profile", "d.csv", "--encoding", encoding)
        assert done.code == 2
        assert "unknown encoding" in done.error


@pytest.mark.parametrize("encoding", TEXTS)
@pytest.mark.parametrize("size", [1, 3, 64, 1000])
def test_characters_across_blocks(tmp_path, encoding, size):
    text = "".join(f"{TEXTS[encoding]},{i % 7}\n" for i in range(500))
    path = tmp_path / "d.csv"
    path.write_bytes(text.encode(encoding))
    parts, buffer = [], bytearray(size)
    with open_source(path) as source:
        source.transcode(encoding)
        while got := source.readinto(memoryview(buffer)):
            parts.append(bytes(buffer[:got]))
    assert b"".join(parts).decode() == text


@pytest.mark.parametrize(
    ("encoding", "content"),
    [
        ("utf-7", b"A,B\nx,\xff\n"),
        ("utf-7", b"A,B\nx,+2AA-\n"),
        ("utf-16-le", "A,B\nx,".encode("utf-16-le") + b"\x00\xd8y\x00\n\x00"),
        ("utf-32", "A,B\nx,".encode("utf-32") + b"\xff\xff\xff\xff"),
        ("iso2022_jp", b"A,B\nx,\xff\n"),
        ("hz", b"A,B\nx,~{\xff\xff~}\n"),
        ("gb18030", b"A,B\nx,\xff\n"),
        ("cp1252", b"A,B\nx,\x81\n"),
    ],
)
def test_bytes_that_cannot_be_are_named_by_their_line(tmp_path, encoding, content):
    path = tmp_path / "d.csv"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"d\.csv: line 2: .*name the right `encoding`"):
        gml.read(path, encoding=encoding)


def test_a_mark_that_is_missing(tmp_path):
    path = tmp_path / "d.csv"
    path.write_bytes(b"\x00\xd8\x00\x00" * 3)
    with pytest.raises(DataError, match="name the right `encoding`"):
        gml.read(path, encoding="utf-16")


def test_a_run_without_end(watched, tmp_path):
    """Base64 in UTF-7 that never comes to an end would be decoded again with every block."""
    (tmp_path / "d.csv").write_bytes(b"A\n+" + b"ZeVnLIqe" * 4_000_000)
    done = watched("profile", "d.csv", "--encoding", "utf-7")
    assert done.code == 3
    assert "line 2: utf-7 that goes on without" in done.error

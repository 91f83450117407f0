"""Files that grow when they are read, never end, or are no files: refused in bounded memory."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import signal
import subprocess
import sys
import time
import zlib
from pathlib import Path

import pytest

from gml.cli.main import run
from gml.data.source import open_source
from gml.data.text_file import read_lines, read_text
from gml.errors import CannotAnswer, DataError
from gml.resources import limited_to

from .conftest import MIB
from .test_mutated_files import GRAPH, MODEL, ROWS

KINDS = {
    "graph": "convert {} out.json",
    "model": "query {}",
    "verify": "verify {}",
    "log": "explain {} a b",
    "schema": "chowliu d.csv --levels {}",
    "knowledge": "pc d.csv --knowledge {}",
    "baseline": "check d.csv m.json --no-config --baseline {}",
    "settings": "check d.csv m.json --config {}",
    "sets": "count d.csv --sets {} -o out.parquet",
}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A scratch folder with a table and a model."""
    import json

    monkeypatch.chdir(tmp_path)
    Path("d.csv").write_text(ROWS)
    Path("m.json").write_text(json.dumps(MODEL))
    Path("g.json").write_text(json.dumps(GRAPH))


def _zstd(pieces):
    zstandard = pytest.importorskip("zstandard")
    packer = zstandard.ZstdCompressor().compressobj()
    return b"".join([*(packer.compress(piece) for piece in pieces), packer.flush()])


def _bomb(packing, n_mib, unit=b" " * MIB, start=b""):
    """A small file that inflates to many MiB."""
    pieces = [start, *([unit] * n_mib)]
    if packing == "zst":
        return _zstd(pieces)
    packer = {
        "gz": lambda: zlib.compressobj(9, wbits=31),
        "bz2": bz2.BZ2Compressor,
        "xz": lambda: lzma.LZMACompressor(preset=0),
    }[packing]()
    return b"".join([*(packer.compress(piece) for piece in pieces), packer.flush()])


@pytest.mark.parametrize("kind", KINDS)
def test_what_inflates_without_end_is_refused(watched, tmp_path, kind):
    (tmp_path / "bomb").write_bytes(_bomb("zst", 3000))
    done = watched(*KINDS[kind].format("bomb").split())
    assert done.code == 3
    # Settings are not inflated at all.
    reason = "not TOML" if kind == "settings" else "inflates to more than 200 times its size"
    assert reason in done.error
    assert done.peak < 250 * MIB


@pytest.mark.parametrize("packing", ["gz", "bz2", "xz"])
def test_other_compressions_are_bounded_too(watched, tmp_path, packing):
    (tmp_path / "bomb").write_bytes(_bomb(packing, 300))
    done = watched("convert", "bomb", "out.json")
    assert done.code == 3
    assert "inflates to more than 200 times its size" in done.error
    assert done.peak < 250 * MIB


def test_a_table_is_inflated_in_blocks(watched, tmp_path):
    (tmp_path / "e.csv.zst").write_bytes(
        _bomb("zst", 8000, b"x," + b"y" * (MIB // 8 - 4) + b"\n\n", b"a,b\n")
    )
    assert len((tmp_path / "e.csv.zst").read_bytes()) < MIB
    done = watched("chowliu", "e.csv.zst")
    assert done.code == 0
    assert done.peak < 150 * MIB


IN_PIECES = """
import sys
from dataclasses import replace
from gml.data.options import reading_options
from gml.data.pieces import open_pieces

options = replace(reading_options(), threads=int(sys.argv[1]))
with open_pieces(sys.argv[2], options, piece_bytes=4 << 20) as pieces:
    rows = sum(piece.n_rows for piece in pieces)
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(rows, int(peak.split()[1]) * 1024)
"""


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("path", ["e.csv.gz", "-"])
def test_memory_for_pieces_does_not_grow_with_the_table(tmp_path, threads, path):
    def peak(n_mib):
        raw = _bomb("gz", n_mib, b"x,y\n" * (MIB // 4), b"a,b\n")
        (tmp_path / "e.csv.gz").write_bytes(raw)
        with (tmp_path / "e.csv.gz").open("rb") as given:
            done = subprocess.run(
                [sys.executable, "-c", IN_PIECES, str(threads), path],
                stdin=given,
                capture_output=True,
                check=True,
            )
        rows, found = map(int, done.stdout.split())
        assert rows == n_mib * MIB // 4
        return found

    # All cells of the longer one take 150 MiB.
    assert peak(300) - peak(20) < 24 * MIB


def test_rows_beyond_the_budget_are_refused(watched, tmp_path):
    (tmp_path / "e.csv.zst").write_bytes(_bomb("zst", 400, b"x,y\n" * (MIB // 4), b"a,b\n"))
    done = watched("chowliu", "e.csv.zst", "--max-memory", "1M", "--engine", "memory")
    assert done.code == 4
    assert "rows up to here take more than --max-memory allows" in done.error
    assert done.peak < 250 * MIB
    done = watched("chowliu", "e.csv.zst", "--max-memory", "1M", seconds=180)
    assert done.code == 0
    assert b"(--engine stream)" in done.stderr
    assert done.peak < 250 * MIB


def test_a_row_without_an_end_is_refused(watched, tmp_path):
    (tmp_path / "e.csv.zst").write_bytes(_bomb("zst", 2000, b"," * MIB, b"a,b\n"))
    for command in (
        ["chowliu", "e.csv.zst"],
        ["query", "m.json", "--predict", "b", "--batch", "e.csv.zst"],
    ):
        done = watched(*command)
        assert done.code == 3
        assert "more than 64 MiB" in done.error or "fields, but" in done.error
        assert done.peak < 600 * MIB


def _stored(raw, path="x"):
    Path(path).write_bytes(raw)
    found = bytearray()
    buffer = bytearray(10_000)
    with open_source(path) as source:
        while got := source.readinto(memoryview(buffer)):
            found += buffer[:got]
    return bytes(found)


TABLE = b"a,b\n" + os.urandom(300_000).hex().encode()


def test_frames_and_streams_on_end():
    zstandard = pytest.importorskip("zstandard")
    sure = zstandard.ZstdCompressor(write_checksum=True).compress(TABLE)
    plain = _zstd([TABLE])
    ignored = (0x184D2A57).to_bytes(4, "little") + (5).to_bytes(4, "little") + b"aside"
    assert _stored(sure + ignored + plain + ignored) == TABLE * 2
    for cut in (1, 4, 5, 100, len(sure) - 7, len(sure) - 4, len(sure) - 2):
        with pytest.raises(DataError, match="the file ends within a frame"):
            _stored(plain + sure[:-cut])
    with pytest.raises(DataError, match="damaged"):
        _stored(plain + b"something else")
    packed = lzma.compress(TABLE)
    assert _stored(packed + bytes(8) + packed + bytes(400_000)) == TABLE * 2
    with pytest.raises(DataError, match="the file ends within a stream"):
        _stored(packed + packed[:-5])
    for pack in (gzip.compress, bz2.compress):
        assert _stored(pack(TABLE) * 2) == TABLE * 2


def test_windows_of_gigabytes_are_refused():
    zstandard = pytest.importorskip("zstandard")
    wide = zstandard.ZstdCompressionParameters(window_log=30)
    packer = zstandard.ZstdCompressor(compression_params=wide).compressobj()
    with pytest.raises(DataError, match=r"1 GiB, more than the limit of 128 MiB"):
        _stored(packer.compress(TABLE) + packer.flush())
    packed = bytearray(lzma.compress(b"a,b\n"))
    # The header of the first block: its size, flags, the filter, the size of its dictionary.
    assert packed[14:16] == b"\x21\x01"
    packed[16] = 40
    end = 12 + 4 * (packed[12] + 1)
    packed[end - 4 : end] = zlib.crc32(packed[12 : end - 4]).to_bytes(4, "little")
    with pytest.raises(DataError, match="more than the limit of 128 MiB"):
        _stored(bytes(packed))


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/urandom", "/proc/self/mem", "/proc"])
def test_what_is_no_file_is_refused(path, capfd):
    commands = [*KINDS.values(), "chowliu {}", "verify g.json --input {}", "count {} --pairs -o c"]
    for command in commands:
        assert run(command.format(path).split()) == 3, command
        error = capfd.readouterr().err.rstrip("\n").rpartition("\n")[2]
        assert error.startswith("gml: error: "), command
    Path("empty").write_bytes(b"")
    assert run(["convert", "/dev/null", "out.json"]) == run(["convert", "empty", "out.json"])


def _opened_for_writing(path):
    """Open a pipe once a reader has it open."""
    for _ in range(600):
        try:
            return os.open(path, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            time.sleep(0.05)
    raise TimeoutError(path)


@pytest.mark.parametrize("kind", ["graph", "schema", "log", "settings"])
def test_a_pipe_that_nobody_writes_to_can_be_interrupted(kind):
    os.mkfifo("pipe")
    command = [sys.executable, "-m", "gml.cli", *KINDS[kind].format("pipe").split()]
    process = subprocess.Popen(command, stderr=subprocess.PIPE)
    writer = _opened_for_writing("pipe")
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    os.close(writer)
    assert process.returncode == 130
    assert error == b"gml: error: interrupted\n"


def test_the_budget_bounds_text_and_what_is_made_of_it():
    from gml.data.json_text import parse_json

    Path("x").write_bytes(b" " * (3 * MIB))
    with limited_to(12 * MIB), pytest.raises(CannotAnswer, match="x: its text would take"):
        read_text("x")
    text = "[" + "[]," * MIB + "[]]"
    with limited_to(40 * MIB), pytest.raises(CannotAnswer, match="x: its content would take"):
        parse_json(text, "x")
    with limited_to(1000):
        assert len(read_text("m.json")) > 100


def test_long_text_and_long_lines_are_refused(monkeypatch):
    monkeypatch.setattr("gml.data.text_file.LONGEST_LINE", 3 * MIB)
    Path("x").write_bytes(b"short\n" + b"x" * (5 * MIB))
    with pytest.raises(DataError, match="x: line 2: longer than the limit of 3 MiB"):
        list(read_lines("x"))
    with pytest.raises(DataError, match="longer than the limit of 4 MiB"):
        read_text("x", longest=4 * MIB)
    Path("x").write_bytes(b"a\n\nb" * MIB)
    assert sum(1 for _ in read_lines("x")) == 2 * MIB + 1


def test_text_is_decoded_across_blocks():
    text = "é𝄞\n" * 300_000
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        Path("x").write_bytes(text.encode(encoding))
        assert read_text("x") == text
    Path("x").write_bytes(text.encode() + b"\xff")
    with pytest.raises(DataError, match="x: line 300001: not utf-8 text: byte 0xff"):
        read_text("x")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("alpha = 1" + "0" * 400, "beyond 64 bits"),
        ("alpha = " + "1" * 5000, "not TOML"),
        ('data = "a\\u0000b"', "holds a NUL character"),
        ("x = " + "[" * 5000 + "]" * 5000, "nested too deeply"),
    ],
)
def test_settings_that_nothing_can_hold(capfd, text, said):
    Path("x.toml").write_text(f"[check]\n{text}\n")
    assert run(["check", "d.csv", "m.json", "--config", "x.toml"]) == 3
    assert said in capfd.readouterr().err


def test_tiers_of_many_digits(capfd):
    Path("k.txt").write_text(f"/knowledge\naddtemporal\n{'1' * 5000} a\n")
    assert run(["pc", "d.csv", "--knowledge", "k.txt"]) == 3
    assert "is not the number of a tier" in capfd.readouterr().err

"""Parquet files that are damaged, change under way, or are far larger than they look."""

from __future__ import annotations

import hashlib
import json
import os
import random

import numpy as np
import pytest

import gml
from gml.errors import CannotAnswer, DataError, GmlError, UsageError

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

from tests.hostile.conftest import MIB  # noqa: E402

WORDS = [b"M\xe4nner", b"M\xf6nner"] * 50


def save(path, columns, **options):
    pq.write_table(pa.table(columns), path, **options)
    return path


def levels(path, **options):
    data = gml.read(path, missing="available", **options)
    return data.variables[0].levels


def as_text(values):
    """Strings that nobody checked."""
    found = pa.array(values, pa.binary())
    return pa.StringArray.from_buffers(len(values), found.buffers()[1], found.buffers()[2])


def test_bytes_that_are_no_text_are_not_merged(watched, tmp_path):
    column = pa.array(WORDS, pa.binary())
    save(tmp_path / "d.parquet", {"A": column, "B": column})
    done = watched("indtest", "d.parquet", "A", "B")
    assert done.code == 3
    assert "d.parquet: row 1: column 'A': 'M\ufffdnner' is not UTF-8" in done.error
    assert "--encoding" in done.error
    done = watched("indtest", "d.parquet", "A", "B", "--encoding", "latin-1", "-f", "json")
    assert json.loads(done.stdout)["results"][0]["verdict"] == "dependent"


@pytest.mark.parametrize(
    "column",
    [pa.array(WORDS, pa.large_binary()), pa.array(WORDS, pa.binary(6)), as_text(WORDS)],
    ids=["large", "fixed", "string"],
)
def test_no_kind_of_text_is_merged(tmp_path, column):
    path = save(tmp_path / "d.parquet", {"A": column})
    with pytest.raises(DataError, match=r"row 1: column 'A': .* is not UTF-8"):
        gml.read(path)
    if column.type == pa.string():
        # It says that it is UTF-8, whatever else is.
        with pytest.raises(DataError, match="not UTF-8, which strings in Parquet are"):
            gml.read(path, encoding="latin-1")
    else:
        assert levels(path, encoding="latin-1") == ("Männer", "Mönner")


def test_bytes_by_their_encoding(tmp_path):
    path = save(tmp_path / "d.parquet", {"A": pa.array(["日本".encode("utf-16"), b"", None])})
    assert levels(path, encoding="utf-16", na=("?",)) == ("", "日本")
    with pytest.raises(DataError, match="row 1: column 'A': .* is not shift_jis"):
        gml.read(path, encoding="shift_jis")
    later = [b"x"] * 70_000 + [b"\xff"]
    path = save(tmp_path / "d.parquet", {"A": pa.array(later)}, row_group_size=1000)
    with pytest.raises(DataError, match="row 70001: column 'A'"):
        gml.read(path)
    # A lone surrogate is no text either.
    path = save(tmp_path / "d.parquet", {"A": pa.array([b"+2AA-"])})
    with pytest.raises(DataError, match="row 1: column 'A'"):
        gml.read(path, encoding="utf-7")


@pytest.mark.parametrize("encoding", ["klingon", "idna", "undefined", "base64"])
def test_an_encoding_that_is_none_is_refused_for_parquet_too(tmp_path, encoding):
    path = save(tmp_path / "d.parquet", {"A": ["x", "y"]})
    with pytest.raises(UsageError, match="unknown encoding"):
        gml.read(path, encoding=encoding)


@pytest.mark.parametrize(
    "column",
    [
        pa.array([0, 10**8], pa.int32()).cast(pa.date32()),
        pa.array([0, 2**62], pa.timestamp("us")),
        pa.array([0, -(2**60)], pa.timestamp("ms")),
        pa.array([0, 1], pa.timestamp("us", tz="Nowhere/Land")),
    ],
    ids=["date", "microseconds", "milliseconds", "zone"],
)
def test_times_that_python_does_not_have(tmp_path, column):
    path = save(tmp_path / "d.parquet", {"good": ["x", "y"], "T": column})
    with pytest.raises(DataError, match=r"d\.parquet: row \d: column 'T': "):
        gml.read(path)
    assert gml.read(path, exclude=("T",)).n == 2


def test_columns_of_lists_are_refused_if_used(watched, tmp_path):
    save(tmp_path / "d.parquet", {"A": ["x", "y"], "L": [[1], [2]], "S": [{"a": 1}, None]})
    done = watched("chowliu", "d.parquet")
    assert done.code == 3
    assert "column 'L': lists and structures are not labels" in done.error
    assert watched("chowliu", "d.parquet", "-c", "A").code == 0
    # A profile has a line for them.
    assert watched("profile", "d.parquet").code == 0


def test_positions_without_signs(tmp_path):
    column = pa.array(["p", None, "q"]).cast(pa.dictionary(pa.uint8(), pa.string()))
    assert levels(save(tmp_path / "d.parquet", {"A": column})) == ("p", "q")


@pytest.mark.parametrize("encoding", ["PLAIN", "DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY"])
def test_encodings_of_pages(tmp_path, encoding):
    values = ["x", "yy", None, "yz"] * 30_000
    path = save(
        tmp_path / "d.parquet", {"A": values}, use_dictionary=False, column_encoding={"A": encoding}
    )
    data = gml.read(path, missing="available")
    assert data.variables[0].levels == ("x", "yy", "yz")
    assert data.columns[0][:4].tolist() == [0, 1, 255, 2]
    assert np.array_equal(data.columns[0], np.tile(data.columns[0][:4], 30_000))


def test_levels_that_come_late(tmp_path):
    """Codes grow to two bytes, and labels become numbers, where rows were read before."""
    values = ["a", None] * 30_000 + [f"v{k % 400}" for k in range(60_000)]
    path = save(tmp_path / "d.parquet", {"A": values}, row_group_size=7000)
    data = gml.read(path, missing="available", max_levels=500)
    assert data.columns[0].dtype == np.uint16
    names = np.array([*data.variables[0].levels, None], dtype=object)
    codes = np.where(data.columns[0] == 65535, len(names) - 1, data.columns[0])
    assert names[codes].tolist() == values
    numbers = np.concatenate([np.zeros(50_000), np.arange(200_000) / 7])
    path = save(tmp_path / "n.parquet", {"A": numbers})
    expected = gml.read(path, cut={"A": gml.data.discretize.Binning("width", 4)})
    found = gml.read(path, bins=4, discretize="width")
    assert np.array_equal(found.columns[0], expected.columns[0])


def test_folders_of_files_that_differ(tmp_path):
    folder = tmp_path / "t"
    folder.mkdir()
    save(folder / "1.parquet", {"A": pa.array([1, 2], pa.int64()), "B": ["x", "y"]})
    save(folder / "2.parquet", {"C": ["q"], "A": pa.array([3], pa.int8())})
    data = gml.read(folder, missing="available")
    assert data.columns[0].tolist() == [0, 1, 2]
    assert data.columns[1].tolist() == [0, 1, 255]
    save(folder / "3.parquet", {"A": ["z"], "B": pa.array([b"\xff"], pa.binary())})
    with pytest.raises(DataError, match=r"3\.parquet: "):
        gml.read(folder, missing="available")


def test_a_folder_of_more_files_than_can_be_open(watched, tmp_path):
    folder = tmp_path / "t"
    folder.mkdir()
    first = save(folder / "0000.parquet", {"A": ["x", "y"]}).read_bytes()
    for k in range(1, 300):
        (folder / f"{k:04}.parquet").write_bytes(first)
    from gml.data.digests import input_digest

    data = gml.read(folder, digest=True)
    assert data.n == 600
    assert data.digest == input_digest(folder) == hashlib.sha256(first * 300).hexdigest()


class Meanwhile:
    """Do something to a file once Arrow begins to read it."""

    def __init__(self, monkeypatch, action):
        from gml.data.parquet import StoredFile

        real = StoredFile.arrow

        def arrow(stored, **options):
            if "read_dictionary" in options:
                action()
            return real(stored, **options)

        monkeypatch.setattr(StoredFile, "arrow", arrow)


@pytest.fixture
def table(tmp_path):
    values = ["x", "y"] * 50_000
    return save(tmp_path / "d.parquet", {"A": values, "B": values}, row_group_size=10_000)


def test_what_is_hashed_is_what_was_read(monkeypatch, tmp_path, table):
    content = table.read_bytes()
    other = save(tmp_path / "other.parquet", {"A": ["p"], "B": ["q"]})
    Meanwhile(monkeypatch, lambda: os.replace(other, table))
    data = gml.read(table, digest=True)
    assert data.variables[0].levels == ("x", "y")
    assert data.digest == hashlib.sha256(content).hexdigest()


def test_a_file_that_is_deleted_meanwhile(monkeypatch, table):
    content = table.read_bytes()
    Meanwhile(monkeypatch, table.unlink)
    assert gml.read(table, digest=True).digest == hashlib.sha256(content).hexdigest()


@pytest.mark.parametrize("size", [0, 100, 10_000, None])
def test_a_file_that_changes_meanwhile(monkeypatch, table, size):
    def change():
        if size is None:
            with table.open("ab") as file:
                file.write(b"more")
        else:
            os.truncate(table, size)

    Meanwhile(monkeypatch, change)
    with pytest.raises(DataError, match="changed while it was read"):
        gml.read(table, digest=True)


def test_counts_are_hashed_as_they_were_read(monkeypatch, tmp_path, sample_data):
    from gml.counts import count_parquet
    from gml.ledger import Ledger, RunPath

    counter = gml.MemoryCounter(gml.read(sample_data / "asia.csv"))
    path = tmp_path / "c.parquet"
    gml.write_counts(gml.count_sets(counter, [("smoke", "lung")]), path)
    content, real = path.read_bytes(), count_parquet._assemble

    def assemble(*args):
        path.write_bytes(b"something else")
        return real(*args)

    monkeypatch.setattr(count_parquet, "_assemble", assemble)
    ledger = Ledger(wants_digests=True)
    gml.read_counts(RunPath(str(path), ledger))
    assert ledger.digests[str(path)] == hashlib.sha256(content).hexdigest()


def test_a_count_file_that_is_gone(watched, tmp_path):
    done = watched("merge", "none.parquet", "-o", "x.parquet")
    assert done.code == 3
    assert "none.parquet" in done.error


def test_memory_is_near_that_of_codes(watched, tmp_path):
    """Ten million cells in one row group: ten megabytes of codes."""

    def write():
        pattern = pa.array((np.arange(2_000_000) % 3).astype(np.int32))
        words = pa.DictionaryArray.from_arrays(pattern, pa.array(["LOW", "NORMAL", "HIGH"]))
        columns = {f"c{j}": words for j in range(5)}
        save(tmp_path / "d.parquet", columns, row_group_size=2_000_000)

    write()
    done = watched("profile", "d.parquet")
    assert done.code == 0
    assert done.peak < 230 * MIB


def test_rows_are_asked_for_before_they_are_read(watched, tmp_path):
    def write():
        runs = pa.array(np.zeros(30_000_000, dtype=np.int8))
        save(path, {"A": runs, "B": runs}, row_group_size=30_000_000)

    path = tmp_path / "d.parquet"
    write()
    assert path.stat().st_size < MIB
    done = watched("profile", "d.parquet", "--max-memory", "50M")
    assert done.code == 4
    assert "the rows would take 57.2 MiB" in done.error
    assert done.peak < 150 * MIB


def bomb(path, values, batches, type_=None, **options):
    schema = pa.schema([("A", type_ or pa.string())])
    batch = pa.record_batch([pa.array(values, schema[0].type)], schema=schema)
    with pq.ParquetWriter(path, schema, compression="zstd", **options) as writer:
        for _ in range(batches):
            writer.write_batch(batch)
    assert path.stat().st_size < MIB
    return path


LONG = "x" * 100_000


def test_a_page_that_inflates(watched, tmp_path):
    options = {"use_dictionary": False, "data_page_size": 1 << 30, "write_batch_size": 10_000}
    bomb(tmp_path / "d.parquet", [LONG] * 2500, 1, max_rows_per_page=10_000, **options)
    done = watched("profile", "d.parquet", "--max-memory", "200M")
    assert done.code == 4
    assert "would take" in done.error
    assert done.peak < 200 * MIB


def test_long_values_are_read_a_few_at_a_time(watched, tmp_path):
    shared = {"use_dictionary": False, "column_encoding": {"A": "DELTA_BYTE_ARRAY"}}
    bomb(tmp_path / "shared.parquet", [LONG] * 1000, 5, **shared)
    bomb(tmp_path / "fixed.parquet", [LONG.encode()] * 1000, 5, pa.binary(len(LONG)))
    for name in ("shared", "fixed"):
        done = watched("profile", f"{name}.parquet", "--max-memory", "150M")
        assert done.code == 0, done.error
        assert done.peak < 300 * MIB


def test_values_that_all_differ_do_not_pile_up(watched, tmp_path):
    """What Arrow would keep of all values, to number them."""

    def write():
        schema = pa.schema([("A", pa.string())])
        path = tmp_path / "d.parquet"
        with pq.ParquetWriter(path, schema, compression="zstd", use_dictionary=False) as writer:
            for k in range(40):
                values = [f"{k} {j} {LONG}" for j in range(100)]
                writer.write_batch(pa.record_batch([pa.array(values)], schema=schema))

    write()
    done = watched("chowliu", "d.parquet")
    assert done.code == 3
    assert "like an identifier" in done.error
    assert done.peak < 450 * MIB
    # A profile goes through them again, a few at a time.
    done = watched("profile", "d.parquet", "-f", "json")
    assert done.code == 0
    assert b'"guess": "text"' in done.stdout
    assert done.peak < 450 * MIB


def test_counts_of_half_a_character(tmp_path):
    path = tmp_path / "c.parquet"
    count_bomb(path, 1, "\ud800")
    with pytest.raises(DataError, match="half of a surrogate pair"):
        gml.read_counts(path)


def count_bomb(path, n=4_000_000, level="x"):
    """Counts whose codes are a run: few bytes, many values."""
    about = {
        "schema": "gml/1", "version": "1", "rows": 1, "dropped": 0, "missing": {}, "sets": [["A"]],
        "columns": [{"name": "A", "levels": [level], "source": "data", "na": False}], "data": [],
        "options": {"missing": "error", "decimal": ".", "na": [], "weights": None, "bins": None},
    }  # fmt: skip
    fields = [
        pa.field("set", pa.int32(), nullable=False),
        pa.field("codes", pa.list_(pa.field("element", pa.uint16(), nullable=False)), False),
        pa.field("count", pa.int64(), nullable=False),
    ]
    schema = pa.schema(fields, metadata={b"gml/1": json.dumps(about).encode()})
    zeros = pa.array(np.zeros(n, dtype=np.uint16))
    codes = pa.ListArray.from_arrays(pa.array([0, n], pa.int32()), zeros, type=schema[1].type)
    columns = [pa.array([0], pa.int32()), codes, pa.array([1], pa.int64())]
    pq.write_table(pa.table(columns, schema=schema), path, compression="zstd")


def test_counts_are_asked_for_before_they_are_read(watched, tmp_path):
    path = tmp_path / "c.parquet"
    count_bomb(path)
    assert path.stat().st_size < 100_000
    done = watched("merge", "c.parquet", "-o", "x.parquet", "--max-memory", "60M")
    assert done.code == 4
    assert "the tables would take 68." in done.error
    assert done.peak < 150 * MIB
    with pytest.raises(CannotAnswer):
        gml.read_counts(path, max_memory=60 * MIB)


def test_a_footer_that_is_large(watched, tmp_path):
    large = pa.table({"A": ["x", "y"]}).replace_schema_metadata({b"k": b"x" * 4_000_000})
    pq.write_table(large, tmp_path / "d.parquet")
    done = watched("profile", "d.parquet", "--max-memory", "100M")
    assert done.code == 4
    assert "its footer would take" in done.error


def seeds(folder):
    """Small files in which every byte counts."""
    rng = random.Random(0)
    n = 200
    table = pa.table(
        {
            "s": [rng.choice(["x", "y", None, "é"]) for _ in range(n)],
            "i": [rng.choice([1, 2, None]) for _ in range(n)],
            "f": [rng.choice([0.5, 1.5]) for _ in range(n)],
            "t": pa.array([rng.choice([1, 10**15]) for _ in range(n)], pa.timestamp("us", "UTC")),
            "b": pa.array([rng.choice([b"p", b"q"]) for _ in range(n)], pa.binary()),
            "d": pa.array(["u", "v"] * (n // 2)).dictionary_encode(),
        }
    )
    deltas = {"s": "DELTA_BYTE_ARRAY", "i": "DELTA_BINARY_PACKED"}
    ways = [
        {},
        {"compression": "none", "row_group_size": 50},
        {"compression": "gzip", "data_page_version": "2.0"},
        {"compression": "none", "use_dictionary": False, "column_encoding": deltas},
    ]
    for k, options in enumerate(ways):
        pq.write_table(table, folder / f"seed{k}", **options)
        yield (folder / f"seed{k}").read_bytes()


def damaged(data, rng):
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 4])):
        # The footer is the last half, and more is to be had there.
        at = rng.randrange(4 if rng.random() < 0.5 else len(data) // 2, len(data) - 4)
        way = rng.random()
        if way < 0.6:
            data[at] = rng.randrange(256)
        elif way < 0.8:
            data[at] ^= 1 << rng.randrange(8)
        elif way < 0.9:
            data[at : at + 4] = rng.choice(
                [b"\xff\xff\xff\x7f", b"\xff" * 4, bytes(4), b"\x80" * 4]
            )
        else:
            del data[at : at + rng.randrange(1, 20)]
    return bytes(data)


_READ_ALL = """
import pathlib, resource, sys
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
import gml
from gml.errors import GmlError
for path in sorted(pathlib.Path(sys.argv[1]).iterdir()):
    for read in (lambda: gml.read(path, missing="available", digest=True), lambda: gml.read_counts(path)):
        try:
            read()
        except GmlError as error:
            assert "\\n" not in str(error), error
        except BaseException as error:
            print(path.name, repr(error), flush=True)
status = pathlib.Path("/proc/self/status").read_text()
print("done", status.partition("VmHWM:")[2].split()[0])
"""


def test_damage_is_an_error_and_no_crash(tmp_path, sample_data):
    """A few hundred files with flipped bytes, in a process of their own that must live."""
    import subprocess
    import sys

    counter = gml.MemoryCounter(gml.read(sample_data / "asia.csv"))
    gml.write_counts(gml.count_sets(counter, [("smoke", "lung")]), tmp_path / "c.parquet")
    sound = [*seeds(tmp_path), (tmp_path / "c.parquet").read_bytes()]
    rng = random.Random(3)
    folder = tmp_path / "damaged"
    folder.mkdir()
    for k in range(600):
        (folder / f"{k:03}.parquet").write_bytes(damaged(sound[k % len(sound)], rng))
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _READ_ALL, folder],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-500:]
    last = done.stdout.splitlines()[-1]
    assert done.stdout == last + "\n"
    assert int(last.split()[1]) < 400 * 1024


@pytest.mark.parametrize("rows", [10**15, 2**62, -5])
def test_a_number_of_rows_that_is_made_up(tmp_path, rows):
    """The number stands in the footer twice, for the file and for the row group."""
    path = save(tmp_path / "d.parquet", {"A": ["x", "y"] * 50_000}, compression="none")
    data = path.read_bytes()
    length = int.from_bytes(data[-8:-4], "little")
    footer = data[-8 - length : -8]
    told, lie = varint(100_000), varint(rows)
    assert footer.count(told) >= 2
    footer = footer.replace(told, lie)
    path.write_bytes(data[: -8 - length] + footer + len(footer).to_bytes(4, "little") + b"PAR1")
    with pytest.raises(GmlError):
        gml.read(path)


def varint(number):
    """A number as Thrift's compact protocol has it."""
    number = (number << 1) ^ (number >> 63)
    number &= (1 << 64) - 1
    out = bytearray()
    while number >= 128:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])

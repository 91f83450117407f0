"""Inputs of the regression corpus that are too large, or too binary, to be kept as files."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

from tests.fuzz import seeds
from tests.fuzz.mutators import compress


def _parquet(columns: dict[str, Any], metadata: dict[str, str] | None = None) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = io.BytesIO()
    pq.write_table(pa.table(columns, metadata=metadata), sink)
    return sink.getvalue()


def parquet_binary() -> bytes:
    """Bytes that are no text, in a column of bytes."""
    import pyarrow as pa

    return _parquet({"a": pa.array([b"\xff\xfe", b"x"], pa.binary()), "b": ["x", "y"]})


def parquet_bad_utf8() -> bytes:
    """Bytes that are no text, in a column of text."""
    import pyarrow as pa

    data = pa.py_buffer(b"\xff\xfex")
    offsets = pa.py_buffer(b"\x00\x00\x00\x00\x02\x00\x00\x00\x03\x00\x00\x00")
    return _parquet({"a": pa.StringArray.from_buffers(2, offsets, data), "b": ["x", "y"]})


def parquet_late_date() -> bytes:
    """A day 270,000 years from now."""
    import pyarrow as pa

    return _parquet({"a": pa.array([10**8, 0], pa.int32()).cast(pa.date32()), "b": ["x", "y"]})


def parquet_late_time() -> bytes:
    """A time that no calendar has."""
    import pyarrow as pa

    return _parquet(
        {"a": pa.array([2**62, 0], pa.int64()).cast(pa.timestamp("us")), "b": ["x", "y"]}
    )


def _described(change: Callable[[dict[str, Any]], Any]) -> bytes:
    """A count file whose description was changed."""
    import pyarrow.parquet as pq

    table = pq.read_table(io.BytesIO(seeds.made("counts.parquet")), use_threads=False)
    metadata = dict(table.schema.metadata)
    about = json.loads(metadata[b"gml/1"])
    change(about)
    sink = io.BytesIO()
    pq.write_table(
        table.replace_schema_metadata({**metadata, b"gml/1": json.dumps(about).encode()}), sink
    )
    return sink.getvalue()


def counts_missing_list() -> bytes:
    """Missing values as a list, not by column."""
    return _described(lambda about: about.update(missing=[]))


def counts_without_na() -> bytes:
    """A column that is said to have the level NA, and has not."""
    return _described(lambda about: about["columns"][0].update(na=True))


def bif_many_parents() -> bytes:
    """One default for the 2^26 rows of a table."""
    names = [f"p{i}" for i in range(26)]
    parts = ["network n { }\n"]
    parts += [
        f"variable {name} {{ type discrete [ 2 ] {{ no, yes }}; }}\n" for name in (*names, "x")
    ]
    parts += [f"probability ( {name} ) {{ table 0.5, 0.5; }}\n" for name in names]
    parts.append(f"probability ( x | {', '.join(names)} ) {{ default 0.5, 0.5; }}\n")
    return "".join(parts).encode()


def dot_two_groups() -> bytes:
    """Four million edges in twenty kilobytes."""
    left, right = (" ".join(f"{side}{i}" for i in range(2000)) for side in "ab")
    return f"digraph {{ {{{left}}} -> {{{right}}} }}".encode()


def dot_html_names() -> bytes:
    """One node, many times."""
    return b"digraph {" + b"<a>;" * 600_000 + b"}"


def tetrad_two_groups() -> bytes:
    """Sixteen million pairs in forty kilobytes."""
    left, right = (" ".join(f"{side}{i}" for i in range(4000)) for side in "ab")
    return f"/knowledge\nforbiddengroup\n{left}\n{right}\n".encode()


def tetrad_long_number() -> bytes:
    """A tier with a number that Python does not convert."""
    return b"/knowledge\naddtemporal\n" + b"9" * 5000 + b" a\n"


def toml_long_number() -> bytes:
    """The same in settings."""
    return b"[check]\nseed = " + b"9" * 5000 + b"\n"


def json_bare_nodes() -> bytes:
    """Many nodes and no edges."""
    graph = {"schema": "gml/1", "kind": "dag"}
    nodes = [{"id": str(i)} for i in range(40_000)]
    return json.dumps(
        {"directed": True, "multigraph": False, "graph": graph, "nodes": nodes, "edges": []}
    ).encode()


def json_long_number() -> bytes:
    """A number that no float holds, in an attribute of an edge."""
    return seeds.GRAPH_JSON.replace(b"0.5", b"1" + b"0" * 400)


def open_comments() -> bytes:
    """Comments that never end, behind a valid start."""
    return b"network n { }\n" + b"/* " * 60_000


def open_comments_net() -> bytes:
    """The same in NET."""
    return b"net { }\n" + b"/* " * 60_000


def gz_one_field() -> bytes:
    """64 MiB in one cell."""
    return compress(b"a,b\n" + b"x" * (1 << 26), "gz")


def gz_many_rows() -> bytes:
    """Sixteen million rows."""
    return compress(b"a,b\n" + b"x,y\n" * (16 << 20), "gz")


def zst_one_field() -> bytes:
    """Half a gigabyte in one cell, behind a frame of a few kilobytes."""
    import zstandard

    compressor = zstandard.ZstdCompressor().compressobj()
    pieces = [compressor.compress(b"a,b\n")]
    block = b"x" * (1 << 24)
    pieces += [compressor.compress(block) for _ in range(32)]
    return b"".join([*pieces, compressor.flush()])


def zst_wide_window() -> bytes:
    """A frame that asks for a window of 2 GiB."""
    import zstandard

    parameters = zstandard.ZstdCompressionParameters(window_log=31, enable_ldm=True)
    compressor = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    return compressor.compress(b"a,b\nx,y\n") + compressor.flush()


def deep_json() -> bytes:
    """Lists in lists."""
    return b'{"nodes": ' + b"[" * 100_000


def csv_long_digits() -> bytes:
    """A label that is a number but for its last character."""
    return b"a,b\n" + b"1" * 60_000 + b"x,y\nz,w\n"


def numbers_long_digits() -> bytes:
    """The same where a number is expected."""
    return b"p\n" + b"1" * 60_000 + b"x\n"


def dot_long_digits() -> bytes:
    """The same in an attribute of an edge."""
    return b'digraph { a -> b [weight="' + b"1" * 60_000 + b'x"] }'


def toml_large_number() -> bytes:
    """A whole number that no float holds."""
    return b"[check]\nalpha = 1" + b"0" * 400 + b"\n"


def gaussian_json() -> bytes:
    """The valid model of numbers."""
    return seeds.made("gaussian.json")


def graph_dot() -> bytes:
    """The valid graph of the seeds."""
    return seeds.GRAPH


def model_json() -> bytes:
    """The valid model of the seeds."""
    return seeds.made("model.json")


def data_csv() -> bytes:
    """The valid table of the seeds."""
    return seeds.table()

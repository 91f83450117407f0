"""Valid inputs of every kind: what fuzzing starts from. Most are written by gml itself."""

from __future__ import annotations

import contextlib
import csv
import functools
import io
import os
import random
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.fuzz.mutators import compress

N_ROWS = 60


def _rows() -> list[list[str]]:
    """Three label columns that depend on each other, one of numbers, and one of weights."""
    rng = random.Random(7)
    rows = []
    for _ in range(N_ROWS):
        a = rng.random() < 0.5
        b = rng.random() < (0.8 if a else 0.3)
        c = rng.choice("xyz") if b else "x"
        d = 2.0 * a + rng.gauss(0, 1)
        rows.append([("no", "yes")[a], str(int(b)), c, f"{d:.3f}", str(rng.randrange(1, 4))])
    return rows


HEADER = ["a", "b", "c", "d", "w"]


def table(
    columns: str = "abc",
    *,
    delimiter: str = ",",
    end: str = "\n",
    quoting: int = 0,
    holes: bool = False,
) -> bytes:
    """The table as CSV, or some columns of it; with holes, some cells are missing."""
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator=end, quoting=quoting)
    picked = [HEADER.index(name) for name in columns]
    writer.writerow([HEADER[j] for j in picked])
    for i, row in enumerate(_rows()):
        writer.writerow(["NA" if holes and (i * 7 + j) % 11 == 0 else row[j] for j in picked])
    return text.getvalue().encode()


def numbers() -> bytes:
    """Three columns of numbers."""
    rng = random.Random(3)
    lines = ["p,q,r"]
    for _ in range(40):
        p = rng.gauss(0, 1)
        q = p + rng.gauss(0, 1)
        lines.append(f"{p:.4f},{q:.4f},{q - p + rng.gauss(0, 2):.4f}")
    return ("\n".join(lines) + "\n").encode()


GRAPH = b"digraph {\n  a -> b;\n  b -> c;\n}\n"
NUMBER_GRAPH = b"digraph { p -> q; q -> r; p -> r }\n"
MIXED_GRAPH = b"digraph { a -> b; a -> d; b -> d }\n"
SCHEMA = (
    b'{"schema": "gml/1", "columns": {"a": {"levels": ["no", "yes"]}, "b": {"levels": ["0", "1"]}, '
    b'"c": {"levels": ["x", "y", "z"], "missing": 2}, "d": {"cuts": [-1, 0, 2.5]}}, "rows": 60, "na": ["", "NA"]}'
)
KNOWLEDGE = b'{"require": [["a", "b"]], "forbid": [["c", "a"]], "tiers": [["a"], ["b", "c"]]}'
TETRAD = (
    b"/knowledge\naddtemporal\n0 a\n1* b c\n\nforbiddirect\nc a\n\nrequiredirect\na b\n\n"
    b"forbiddengroup\nc\na\n\nrequiredgroup\na\nb\n"
)
TARGETS = b"a,b,c,count\nno,,,40\nyes,,,60\n,0,x,40\n,1,x,20\n,0,y,0\n,1,y,20\n,0,z,0\n,1,z,20\n"
TARGETS_JSON = (
    b'{"variables": {"a": ["no", "yes"]}, "constraints": [{"margin": ["a"], "probabilities": [0.4, 0.6]}, '
    b'{"margin": ["b", "c"], "counts": {"0": {"x": 4}, "1": {"x": 2, "y": 2, "z": 2}}}]}'
)
CONSTRAINTS = (
    b'{"variables": {"a": ["no", "yes"], "c": ["x", "y", "z"]}, "constraints": [{"margin": ["a"], "probabilities": [0.4, 0.6]}, '
    b'{"expectation": {"a": {"yes": 1}, "c": {"y": 2}}, "at_most": 1.5, "name": "cost"}, '
    b'{"probability": {"c": "x"}, "given": {"a": "no"}, "equals": 0.5}]}'
)
NUMERIC = b'{"numeric": {"name": "wait", "support": [0, null], "mean": 2, "variance": 1.5, "moments": {"3": 15.0}}}'
CONDITIONALS = b"a,c,given,probability\nno,x,a,0.5\nno,,,0.4\nyes,,,0.6\n"
EXPECTATIONS = b"constraint,variable,level,number,relation,value\nm,a,no,1,<=,1.5\nm,a,yes,2,,\nk,c,x,1,=,0.3\nk,c,y,0,,\n"
SETS = b'# sets\na,b\nb,c\n"a",c\n\na\n'
TOML = (
    b'[check]\ndata = "data.csv"\nmodel = "model.json"\nalpha = 0.05\nfamilies = ["schema", "tables"]\n'
    b'severity = { fit = "warn", tables = "fail" }\nmin-effect = ["tables=0.02", "0.01"]\nwarn-only = true\n'
    b'seed = 3\nmissing = "drop"\nna = ["", "NA"]\nreport = { junit = "out.xml" }\nmax-levels = 100\n'
)
PYPROJECT = b"[project]\nname = 'x'\n\n[tool.gml.check]\n" + TOML.partition(b"\n")[2]

DOT = (
    GRAPH,
    b'strict digraph "g" { node [shape=box]; a; "b c" [label="x"]; a -> "b c" -> d [dir=both]; { d e } -> f; }',
    b"graph g { a -- b; b -- c [style=dotted] ; subgraph s { d; e } }",
    b'digraph {\n  kind="cpdag"; a -> b [dir=none, arrowhead=none]; b -> c [arrowtail=odot, mi=0.25]; // end\n /* x */ }',
    b"digraph { a:n -> b:s; c -> { a b }; b -> a; <h> -> c; 1.5 -> -2 }",
)
GRAPH_JSON = (
    b'{"directed": true, "multigraph": false, "graph": {"schema": "gml/1", "kind": "pdag"}, "nodes": [{"id": "a", '
    b'"levels": ["no", "yes"]}, {"id": "b"}, {"id": "c"}], "edges": [{"source": "a", "target": "b", "type": "-->", '
    b'"strength": 0.5}, {"source": "b", "target": "c", "type": "---"}]}'
)
NET = (
    b'net { }\nnode a { states = ("no" "yes"); label = "x"; }\nnode b { states = ("0" "1"); }\n'
    b"potential ( a ) { data = (0.5 0.5); }\npotential ( b | a ) { data = ((0.9 0.1) (0.2 0.8)); }\n"
)
UNDIRECTED = (
    b'{"nodes": [{"id": "a", "levels": ["no", "yes"]}, {"id": "b", "levels": ["no", "yes"]}, {"id": "c", "levels": '
    b'["no", "yes"]}], "factors": [{"scope": ["a", "b"], "table": [0.5, -0.5, null, 0.5], "errors": [0, 1, 2, 3]}, '
    b'{"scope": ["c"], "table": [1, 0], "boundary": false}]}'
)
UAI = b"MARKOV\n3\n2 2 3\n2\n2 0 1\n2 1 2\n\n4\n 1.0 0.5\n 0.25 4\n\n6\n 1 2 3\n 4 0 1e-3\n"
BIF = (
    b"network n { property p; }\nvariable a { type discrete [ 2 ] { no, yes }; }\n"
    b"variable b { type discrete [ 2 ] { 0, 1 }; }\nprobability ( a ) { table 0.5, 0.5; }\n"
    b"probability ( b | a ) { (no) 0.9, 0.1; default 0.5, 0.5; }\n"
)


_RECIPES = {
    "graph.json": "convert graph.dot graph.json",
    "graph.graphml": "convert graph.dot graph.graphml",
    "learned.graphml": "pc data.csv -o learned.graphml",
    "learned.json": "pc data.csv -o learned.json",
    "learned.dot": "pc data.csv -o learned.dot",
    "model.json": "fit-params data.csv graph.dot --intervals 0.9 -o model.json",
    "model.bif": "fit-params data.csv graph.dot -o model.bif",
    "model.xmlbif": "fit-params data.csv graph.dot -f xmlbif -o model.xmlbif",
    "model.net": "fit-params data.csv graph.dot -o model.net",
    "model.uai": "fit-params data.csv graph.dot -o model.uai",
    "undirected.json": "convert model.json undirected.json --to undirected",
    "undirected.uai": "convert undirected.json undirected.uai",
    "field.json": "crf data.csv --target c --folds 3 -o field.json",
    "chain.json": "crf data.csv --target c --sequence a -o chain.json",
    "gaussian.json": "fit-params numbers.csv ngraph.dot --gaussian -o gaussian.json",
    "conditional.json": "fit-params mixed.csv mgraph.dot --numeric d --intervals 0.9 -o conditional.json",
    "profile.json": "profile mixed.csv --bins 4 -o profile.json",
    "log.jsonl": "pc data.csv --tiers a<b,c --test-log log.jsonl -o out.dot",
    "baseline.json": "check data.csv model.json --write-baseline baseline.json -o out.txt",
    "report.json": "check data.csv model.json --warn-only -o report.json",
    "counts.parquet": "count data.csv --triples -o counts.parquet",
    "pairs.parquet": "count holes.csv --pairs --missing available -o pairs.parquet",
    "level.parquet": "count holes.csv --pairs --missing level -o level.parquet",
}


@functools.cache
def made(name: str) -> bytes:
    """A file that a command writes."""
    words = _RECIPES[name].split()
    with _scratch() as folder:
        for word in words[1:]:
            if word != name and is_support(word):
                Path(folder, word).write_bytes(support(word))
        from gml.cli.main import run

        code = run([*words, "-q"])
        if code:
            raise RuntimeError(f"gml {_RECIPES[name]} exits {code}")
        return Path(folder, name).read_bytes()


@contextlib.contextmanager
def _scratch() -> Iterator[str]:
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield folder
        finally:
            os.chdir(before)


_PLAIN: dict[str, Callable[[], bytes]] = {
    "data.csv": lambda: table(),
    "mixed.csv": lambda: table("abcdw"),
    "holes.csv": lambda: table(holes=True),
    "numbers.csv": numbers,
    "graph.dot": lambda: GRAPH,
    "ngraph.dot": lambda: NUMBER_GRAPH,
    "mgraph.dot": lambda: MIXED_GRAPH,
    "schema.json": lambda: SCHEMA,
    "knowledge.json": lambda: KNOWLEDGE,
    "sets.csv": lambda: SETS,
    "targets.csv": lambda: TARGETS,
    "constraints.json": lambda: CONSTRAINTS,
    "numeric.json": lambda: NUMERIC,
}


@functools.cache
def support(name: str) -> bytes:
    """A valid file by its name, for command lines that need one beside the input."""
    return _PLAIN[name]() if name in _PLAIN else made(name)


def is_support(name: str) -> bool:
    """Whether there is such a file."""
    return name in _PLAIN or name in _RECIPES


# --- seeds by kind ---------------------------------------------------------------------------


def csv_seeds() -> list[bytes]:
    """Comma separated."""
    return [
        table(),
        table("abcdw"),
        table("abc", holes=True),
        table("cab", quoting=1),
        numbers(),
        b"a,b,c\nno,1,x\n",
    ]


def delimited_seeds() -> list[bytes]:
    """Other delimiters, quoting and line ends."""
    return [
        table(delimiter="\t"),
        table(delimiter=";", quoting=1),
        table(delimiter="|", end="\r\n"),
        table("abcd", delimiter=";", end="\r"),
        b'a;b;c\n"x;y";"q""q";"p\nq"\nno;1;x\n',
        b"a\tb\tc\nno\t1,5\tx\nyes\t2,5\ty\n",
    ]


def compressed_seeds() -> list[bytes]:
    """The same table in four ways."""
    return [compress(table(), how) for how in ("gz", "bz2", "xz", "zst")]


@functools.cache
def parquet_seeds() -> tuple[bytes, ...]:
    """Tables of all the types that are read, and of some that are not."""
    import datetime
    import decimal

    import pyarrow as pa
    import pyarrow.parquet as pq

    labels = {name: [row[j] for row in _rows()] for j, name in enumerate(HEADER)}
    labels_with_holes = {
        "a": [*labels["a"][:-1], None],
        "b": [int(x) for x in labels["b"]],
        "c": labels["c"],
    }
    day = datetime.date(2020, 1, 31)
    tables = [
        pa.table({name: labels[name] for name in "abc"}),
        pa.table(labels_with_holes),
        pa.table(
            {
                "a": pa.array(labels["a"]).dictionary_encode(),
                "b": pa.array([x == "1" for x in labels["b"]]),
                "c": pa.array([float(x) for x in labels["d"]]),
            }
        ),
        pa.table(
            {
                "a": pa.array([day, None, day] * 20, pa.date32()),
                "b": pa.array([0, 1, 10**15] * 20, pa.timestamp("us")),
                "c": pa.array(
                    [decimal.Decimal("1.50"), None, decimal.Decimal("-2.25")] * 20,
                    pa.decimal128(6, 2),
                ),
            }
        ),
        pa.table(
            {
                "a": pa.array([b"x", b"\xff", None] * 20, pa.binary()),
                "b": pa.array([1.5, None, float("nan")] * 20, pa.float32()),
                "c": pa.array([[1], [], None] * 20),
            }
        ),
        pa.table(
            {
                "a": pa.array([1, 2, 3] * 20, pa.uint64()),
                "b": pa.array([1, 2, None] * 20, pa.duration("s")),
                "c": pa.array([0, 86399, 5] * 20, pa.time32("s")),
            }
        ),
    ]
    found = []
    for k, item in enumerate(tables):
        sink = io.BytesIO()
        pq.write_table(
            item,
            sink,
            row_group_size=(10, 1000)[k % 2],
            compression=("snappy", "zstd", "none")[k % 3],
        )
        found.append(sink.getvalue())
    return tuple(found)


def count_seeds() -> list[bytes]:
    """Count files."""
    return [made("counts.parquet"), made("pairs.parquet"), made("level.parquet")]


# --- made once, in a child ---------------------------------------------------------------------


def make_all() -> tuple[dict[str, bytes], tuple[bytes, ...]]:
    """Every file that a command writes, and the Parquet files."""
    return {name: made(name) for name in _RECIPES}, parquet_seeds()


def adopt(found: tuple[dict[str, bytes], tuple[bytes, ...]]) -> None:
    """Take what `make_all` made in another process."""
    global made, parquet_seeds
    files, tables = found
    made = files.__getitem__
    parquet_seeds = lambda: tables  # noqa: E731
    support.cache_clear()

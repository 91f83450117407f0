"""JSON with one value replaced by another: it is read or refused, and never a bug."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gml.cli.main import run

VALUES = [
    "null",
    "true",
    "-1",
    "0",
    "1.5",
    "1e308",
    "1e999",
    "1" + "0" * 400,
    "1" * 5000,
    "NaN",
    '""',
    '"unheard of"',
    r'"\ud800"',
    "[]",
    "{}",
    "[[]]",
    '{"a": {}}',
    r'{"\udc00": 1}',
    "[" * 200 + "1" + "]" * 200,
    '"' + "long " * 20_000 + '"',
]
_HOLE = "@hole@"


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to each value within a document; of a list, to the first and last item."""
    if path:
        yield path
    if isinstance(value, dict):
        for key in value:
            yield from _places(value[key], (*path, key))
    elif isinstance(value, list) and value:
        for k in {0, len(value) - 1}:
            yield from _places(value[k], (*path, k))


def mutations(document: Any) -> Iterator[str]:
    """The texts of a document with one value replaced by each of VALUES, or taken out."""
    yield json.dumps(document, ensure_ascii=False)
    yield from VALUES
    for path in _places(document):
        changed = copy.deepcopy(document)
        holder = changed
        for step in path[:-1]:
            holder = holder[step]
        holder[path[-1]] = _HOLE
        text = json.dumps(changed, ensure_ascii=False)
        yield from (text.replace(f'"{_HOLE}"', value) for value in VALUES)
        del holder[path[-1]]
        yield json.dumps(changed, ensure_ascii=False)


Judge = Callable[..., None]


@pytest.fixture
def judge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any) -> Judge:
    """Run a command on a file with each text; it answers or refuses, in one line."""
    monkeypatch.chdir(tmp_path)

    def check(texts: Iterator[str], *commands: str, name: str = "x.json") -> None:
        refused = 0
        for k, text in enumerate(texts):
            Path(name).write_text(text, encoding="utf-8")
            for command in commands:
                assert k or run(command.split()) in (0, 1), command
                code = run(command.split())
                error = capfd.readouterr().err
                shown = f"{command}: {text[:3000]}\n{error}"
                assert code in (0, 1, 2, 3, 4), shown
                if code > 1:
                    assert len(error.rpartition("gml: error: ")[2].splitlines()) == 1, shown
                    assert len(error) < 5000, shown
                    refused += 1
        assert refused

    return check


MODEL = {
    "directed": True,
    "multigraph": False,
    "graph": {"schema": "gml/1", "kind": "dag", "learning": {"command": "fit-params", "rows": 9}},
    "nodes": [
        {"id": "a", "levels": ["x", "y"], "parents": [], "cpt": [[0.5, 0.5]]},
        {
            "id": "b",
            "levels": ["u", "v"],
            "parents": ["a"],
            "cpt": [[0.9, 0.1], [0.5, 0.5]],
            "counts": [[9, 1], [0, 0]],
            "intervals": [[[0.6, 0.98], [0.02, 0.4]], [[0, 1], [0, None]]],
        },
    ],
    "edges": [{"source": "a", "target": "b", "type": "-->"}],
}
GAUSSIAN = {
    "directed": True,
    "multigraph": False,
    "graph": {"schema": "gml/1", "kind": "dag"},
    "nodes": [
        {"id": "a", "parents": [], "gaussian": {"intercept": 1.5, "coefficients": [], "sd": 1}},
        {
            "id": "b",
            "parents": ["a"],
            "gaussian": {
                "intercept": 1,
                "coefficients": [2.5],
                "sd": 0.5,
                "n": 9,
                "intervals": [[0, 1], [1, None], [0.1, 2]],
            },
        },
    ],
    "edges": [{"source": "a", "target": "b", "type": "-->"}],
}
MIXED = {
    "directed": True,
    "multigraph": False,
    "graph": {"schema": "gml/1", "kind": "dag"},
    "nodes": [
        {"id": "a", "levels": ["x", "y"], "parents": [], "cpt": [[0.5, 0.5]]},
        {"id": "b", "parents": [], "gaussian": {"intercept": 1.5, "coefficients": [], "sd": 1}},
        {
            "id": "c",
            "parents": ["a", "b"],
            "regressions": [
                {
                    "intercept": 1,
                    "coefficients": [2.5],
                    "sd": 0.5,
                    "n": 9,
                    "intervals": [[0, 1], [1, None], [0.1, 2]],
                },
                {"intercept": 0, "coefficients": [0.5], "sd": 0.25},
            ],
        },
    ],
    "edges": [
        {"source": "a", "target": "c", "type": "-->"},
        {"source": "b", "target": "c", "type": "-->"},
    ],
}
GRAPH = {
    "directed": True,
    "multigraph": False,
    "graph": {
        "schema": "gml/1",
        "hash": {"content": "sha256:00", "inputs": {"data": "sha256:11", "graph": ["sha256:22"]}},
        "kind": "cpdag",
        "learning": {"command": "pc", "data": "00", "options": {"alpha": 0.1}},
    },
    "nodes": [{"id": "a", "levels": ["x", "y"]}, {"id": "b"}],
    "edges": [{"source": "a", "target": "b", "type": "---", "mi": 0.25, "by": ["a", 1]}],
}
ROWS = "a,b\n" + "x,u\ny,v\nx,u\ny,u\n" * 5


@pytest.mark.parametrize("format", ["json", "dot", "graphml"])
def test_graphs(judge, format):
    judge(mutations(GRAPH), f"convert x.json y.{format}")


def test_graphs_elsewhere(judge):
    Path("g.json").write_text(json.dumps(GRAPH))
    judge(mutations(GRAPH), "verify x.json", "compare g.json x.json")


@pytest.mark.parametrize("command", ["convert x.json y.json", "query x.json"])
def test_models(judge, command):
    judge(mutations(MODEL), command)


@pytest.mark.parametrize("command", ["convert x.json y.json", "sample x.json -n 2"])
def test_models_of_numbers(judge, command):
    judge(mutations(GAUSSIAN), command)


@pytest.mark.parametrize("command", ["convert x.json y.json", "sample x.json -n 2"])
def test_models_of_labels_and_numbers(judge, command):
    judge(mutations(MIXED), command)


def test_schemas(judge):
    Path("d.csv").write_text(ROWS)
    Path("n.csv").write_text("a,b\nx,1\ny,20\n")
    schema = {
        "schema": "gml/1",
        "columns": {"a": {"levels": ["x", "y"], "missing": 0}, "b": {"cuts": [0, 10.5]}},
        "na": ["", "-9"],
        "rows": 20,
        "hash": {"content": "sha256:00", "inputs": {"data": "sha256:11"}},
    }
    judge(mutations(schema), "profile n.csv --levels x.json", "verify x.json")


def test_knowledge(judge):
    Path("d.csv").write_text(ROWS)
    document = {
        "schema": "gml/1",
        "require": [["a", "b"]],
        "forbid": [["b", "a"]],
        "tiers": [["a"]],
    }
    judge(mutations(document), "pc d.csv --knowledge x.json")


def test_baselines(judge):
    Path("d.csv").write_text(ROWS)
    Path("m.json").write_text(json.dumps(MODEL))
    document = {
        "schema": "gml/1",
        "hash": {"content": "sha256:00", "inputs": {"model": "sha256:11"}},
        "kind": "baseline",
        "rows": 20,
        "accepted": [{"id": "structure:a->b"}],
        "references": {"structure:a independent of b": {"statistic": 1.5, "df": 1, "n": 20}},
    }
    judge(mutations(document), "check d.csv m.json --no-config --baseline x.json -q")


def test_count_files(judge, monkeypatch):
    pq = pytest.importorskip("pyarrow.parquet")
    Path("d.csv").write_text(ROWS.replace("u", "NA"))
    assert run(["count", "d.csv", "--missing", "level", "--pairs", "-o", "c.parquet"]) == 0
    table = pq.read_table("c.parquet")
    about = json.loads(table.schema.metadata[b"gml/1"])

    def stored() -> Iterator[str]:
        for text in mutations(about):
            changed = table.replace_schema_metadata({b"gml/1": text.encode()})
            pq.write_table(changed, "x.parquet")
            yield text

    judge(stored(), "chowliu x.parquet", "merge c.parquet x.parquet -o y.parquet", name="x.txt")


def _short_log(path: Path) -> list[dict[str, Any]]:
    """One record of each kind, and what the explanation of a pair needs."""
    records = [json.loads(line) for line in path.read_text().splitlines()]
    return [
        record
        for record in records
        if record["record"] in ("run", "end")
        or {"either", "xray"} <= {record.get(k) for k in ("x", "k", "y", "source", "target")}
    ]


@pytest.mark.parametrize("kind", ["run", "test", "triple", "edge", "end"])
def test_logs(judge, kind, sample_data, tmp_path):
    assert run(["pc", str(sample_data / "asia.csv"), "--test-log", "log.jsonl", "-o", "g.dot"]) == 0
    records = _short_log(tmp_path / "log.jsonl")
    k = next(k for k, record in enumerate(records) if record["record"] == kind)

    def texts() -> Iterator[str]:
        for text in mutations(records[k]):
            lines = [text if j == k else json.dumps(record) for j, record in enumerate(records)]
            yield "\n".join(lines) + "\n"

    judge(texts(), "explain x.json either xray -f json")

"""Commands print the same bytes with Spark as in memory, on threads and on a cluster."""

from __future__ import annotations

import json

import pytest

from gml.counts import pass_repeats
from tests.command_line import error_line, printed_json

LABELS = ["--exclude", "income,spent,weight"]
AVAILABLE = ["--missing", "available"]
BOTH = ["--numeric", "income,spent", "--exclude", "weight,code"]
WEIGHTED = ["--weights", "weight"]


@pytest.fixture(scope="session")
def graph(tmp_path_factory):
    path = tmp_path_factory.mktemp("graph") / "graph.dot"
    path.write_text("digraph { sex -> choice; region -> choice; code }")
    return path


@pytest.fixture(scope="session")
def mixed(tmp_path_factory):
    path = tmp_path_factory.mktemp("graph") / "mixed.dot"
    path.write_text("digraph { sex -> income; choice -> income; income -> spent; region }")
    return path


COMMANDS = {
    "chowliu": ["chowliu", "DATA", *LABELS, "--missing", "level"],
    "chowliu of both": ["chowliu", "DATA", *BOTH, "--missing", "drop", *WEIGHTED, "-f", "json"],
    "pc": ["pc", "DATA", *LABELS, *AVAILABLE, *WEIGHTED, "-f", "json"],
    "pc of numbers": ["pc", "DATA", "-c", "income,spent,code", "--test", "fisher-z", "--missing", "drop", "-f", "json"],
    "pc of both": ["pc", "DATA", *BOTH, *AVAILABLE, *WEIGHTED, "-f", "json"],
    "hc": ["hc", "DATA", *LABELS, "--missing", "level", "-f", "json"],
    "hc of both": ["hc", "DATA", *BOTH, "--missing", "drop", "-f", "json"],
    "ges": ["ges", "DATA", *LABELS, "--missing", "drop", *WEIGHTED, "-f", "json"],
    "exact": ["exact", "DATA", *LABELS, "--missing", "level", "-f", "json"],
    "imap": ["imap", "DATA", "-c", "sex,choice,code", "--order", "sex,choice,code", *AVAILABLE],
    "score": ["score", "DATA", "GRAPH", "--missing", "level", "--score", "bic,bdeu,k2", "-f", "json"],
    "score of fractions": ["score", "DATA", "GRAPH", "--weights-fractional", "income", "--missing", "drop"],
    "score of both": ["score", "DATA", "MIXED", *BOTH, "--missing", "drop", *WEIGHTED],
    "indtest": ["indtest", "DATA", "sex", "choice", "-z", "region", *AVAILABLE, "-f", "json"],
    "indtest of all pairs": ["indtest", "DATA", "--all-pairs", *LABELS, "--missing", "level"],
    "fit-params": ["fit-params", "DATA", "GRAPH", "--missing", "drop", *WEIGHTED],
    "fit-params of both": ["fit-params", "DATA", "MIXED", *BOTH, "--missing", "drop"],
    "cut": ["pc", "DATA", "--exclude", "weight", "--missing", "drop", "--bins", "3", "-f", "json"],
    "cut at points": ["chowliu", "DATA", "-c", "income,sex,code", "--cut", "income=20,30,40"],
}  # fmt: skip


# What executors of their own might do otherwise: each kind of work once.
ON_CLUSTER = ["pc", "hc of both", "score of fractions", "fit-params of both", "cut"]
CASES = [
    *(("local", name) for name in COMMANDS),
    *(("cluster", name) for name in ON_CLUSTER),
]
IN_ONE_PROCESS = pytest.mark.parametrize("master", ["local"], indirect=True)


@pytest.mark.parametrize(("master", "name"), CASES, indirect=["master"])
def test_same_bytes(gml, master, table, graph, mixed, name):
    places = {"DATA": table, "GRAPH": graph, "MIXED": mixed}
    args = [places.get(word, word) for word in COMMANDS[name]]
    memory = gml(*args)
    assert memory.returncode == 0, memory.stderr
    spark = gml(*args, "--engine", "spark", "--master", master)
    assert spark.returncode == 0, spark.stderr
    assert _without_hash(spark.stdout) == _without_hash(memory.stdout)
    assert spark.stderr == memory.stderr


@pytest.mark.parametrize(
    ("master", "policy"),
    [("local", "drop"), ("local", "level"), ("local", "available"), ("cluster", "level")],
    indirect=["master"],
)
def test_count_files(gml, master, table, graph, tmp_path, policy):
    import pyarrow.parquet as pq

    args = ["count", table, *LABELS, "--missing", policy, "--pairs"]
    found = []
    for name, engine in (("memory", []), ("spark", ["--engine", "spark", "--master", master])):
        done = gml(*args, "-o", tmp_path / f"{name}.parquet", *engine)
        assert done.returncode == 0, done.stderr
        stored = pq.read_table(tmp_path / f"{name}.parquet")
        about = json.loads(stored.schema.metadata[b"gml/1"])
        found.append((stored.to_pylist(), _cleared(about)))
    assert found[0] == found[1]


@IN_ONE_PROCESS
def test_check(gml, master, table, graph, tmp_path):
    model = tmp_path / "model.json"
    fitted = gml("fit-params", table, graph, "--missing", "drop", "-o", model)
    assert fitted.returncode == 0, fitted.stderr
    args = ["check", table, model, "-f", "json"]
    memory = printed_json(gml(*args))
    spark = printed_json(gml(*args, "--engine", "spark", "--master", master))
    assert {"schema:repeats", "fit:likelihood"} <= {check["id"] for check in spark["checks"]}
    assert spark["checks"] == memory["checks"]
    assert spark["rows"] == memory["rows"]
    # Rows of Spark have no numbers.
    assert memory["unlikely_rows"] and not spark["unlikely_rows"]


@pytest.mark.parametrize("policy", ["available", "drop"])
@IN_ONE_PROCESS
def test_a_check_of_a_model_with_numbers(gml, master, table, mixed, tmp_path, policy):
    model = tmp_path / "model.json"
    fitted = gml("fit-params", table, mixed, *BOTH, "--missing", policy, "-o", model)
    assert fitted.returncode == 0, fitted.stderr
    args = ["check", table, model, "-f", "json"]
    memory = printed_json(gml(*args))
    spark = printed_json(gml(*args, "--engine", "spark", "--master", master))
    by_id = {check["id"]: check for check in memory["checks"]}
    found = [by_id[check["id"]] for check in spark["checks"]]
    assert {check["family"] for check in found} == {"schema", "tables", "structure", "fit"}
    if policy == "available":
        assert spark["checks"] == memory["checks"]
    else:
        # Where numbers lie is asked of all rows, of which Spark drops some as it reads them.
        left_out = {check["kind"] for check in memory["checks"]} - {c["kind"] for c in found}
        assert left_out == {"range", "sentinel"}


def _without_hash(printed: bytes) -> object:
    """What was printed, without the hash of the input, which Spark does not compute."""
    try:
        found = json.loads(printed)
    except ValueError:
        return b"\n".join(line for line in printed.splitlines() if b"sha256:" not in line)
    return json.dumps(_cleared(found))


def _cleared(content):
    """The content of a file without the hash of the input."""
    if isinstance(content, list):
        return [_cleared(part) for part in content]
    if not isinstance(content, dict):
        return content
    return {key: _cleared(part) for key, part in content.items() if key not in ("hash", "data")}


@IN_ONE_PROCESS
def test_what_a_fit_keeps_of_its_rows(gml, master, table, graph, monkeypatch):
    """Numbers before they were cut are not there any more, nor is there room for everything."""
    engine = ["--engine", "spark", "--master", master]
    args = ["fit-params", table, graph, "--missing", "drop"]
    cut = gml(*args, "--cut", "code=3,6", *engine)
    assert b"Spark holds codes of 'code', so the model keeps nothing of their numbers" in cut.stderr
    kept = printed_json(gml(*args, "--cut", "code=3,6"))["graph"]["training"]
    assert printed_json(cut)["graph"]["training"] == {"repeats": kept["repeats"]}
    monkeypatch.setattr(pass_repeats, "_MOST", 1 << 10)
    none = gml(*args, *engine)
    assert b"the different rows take more than 1 KiB; so the model keeps nothing" in none.stderr
    assert "training" not in printed_json(none)["graph"]


@IN_ONE_PROCESS
def test_a_check_says_how_many_rows_were_left_out(gml, master, table, graph, tmp_path):
    model = tmp_path / "model.json"
    assert gml("fit-params", table, graph, "--missing", "drop", "-o", model).returncode == 0
    args = ["check", table, model, "--weights", "weight", "--families", "tables", "-f", "json"]
    memory = printed_json(gml(*args))
    assert any("with missing values left out" in note for note in memory["notes"])
    spark = printed_json(gml(*args, "--engine", "spark", "--master", master))
    assert spark["notes"] == memory["notes"]


@IN_ONE_PROCESS
def test_missing_values_are_refused_alike(gml, master, table):
    args = ["chowliu", table, *LABELS]
    memory = error_line(gml(*args), 3)
    assert error_line(gml(*args, "--engine", "spark", "--master", master), 3) == memory

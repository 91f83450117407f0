"""Every JSON that a command writes has its hash and those of its inputs."""

from __future__ import annotations

import gzip
import hashlib
import json

import pytest

from gml.formats.content_hash import is_changed

ROWS = "a,b,c\n" + "x,0,p\nx,1,q\ny,1,q\ny,0,p\ny,1,p\nx,0,q\n" * 10


@pytest.fixture
def folder(gml, tmp_path):
    """Data, graphs, a model, a log, a schema and knowledge."""
    (tmp_path / "d.csv").write_text(ROWS)
    (tmp_path / "e.csv").write_text(ROWS + "x,0,p\n")
    (tmp_path / "g.dot").write_text("digraph { a -> b; c }")
    (tmp_path / "h.dot").write_text("digraph { a -> b -> c }")
    (tmp_path / "k.json").write_text('{"forbid": [["a", "c"]]}')
    (tmp_path / "n.csv").write_text("a,b\n1,2.5\n2,3\n4,1\n5,0.5\n")
    (tmp_path / "t.csv").write_text("a,count\nx,3\ny,5\n")
    schema = {"schema": "gml/1", "columns": {"a": {"levels": ["y", "x"]}}}
    (tmp_path / "s.json").write_text(json.dumps(schema))
    assert gml("fit-params", "d.csv", "g.dot", "-o", "m.json").returncode == 0
    assert gml("pc", "d.csv", "--test-log", "l.jsonl", "-o", "pc.dot").returncode == 0
    return tmp_path


def sha(path):
    return f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"


def hash_of(text):
    document = json.loads(text)
    assert not is_changed(document)
    return (document["graph"] if "nodes" in document else document)["hash"]


CASES = [
    ("chowliu d.csv", {"data": "d.csv"}),
    ("chowliu d.csv --levels s.json", {"data": "d.csv", "levels": "s.json"}),
    ("pc d.csv --knowledge k.json", {"data": "d.csv", "knowledge": "k.json"}),
    ("ges d.csv", {"data": "d.csv"}),
    ("hc d.csv --start g.dot", {"data": "d.csv", "start": "g.dot"}),
    ("imap d.csv --order a,b,c", {"data": "d.csv"}),
    ("exact d.csv", {"data": "d.csv"}),
    ("exact d.csv --against g.dot --against h.dot", {"data": "d.csv", "against": ["g.dot", "h.dot"]}),
    ("average d.csv --by hc --bootstrap 2", {"data": "d.csv"}),
    ("glasso n.csv", {"data": "n.csv"}),
    ("notears n.csv", {"data": "n.csv"}),
    ("fit-params d.csv g.dot", {"data": "d.csv", "graph": "g.dot"}),
    ("mixture d.csv --components 2", {"data": "d.csv"}),
    ("mrf d.csv", {"data": "d.csv"}),
    ("mrf d.csv g.dot", {"data": "d.csv", "graph": "g.dot"}),
    ("crf d.csv g.dot -t a", {"data": "d.csv", "graph": "g.dot"}),
    ("crf d.csv -t a --holdout e.csv", {"data": "d.csv", "holdout": "e.csv"}),
    ("maxent t.csv --reference m.json", {"constraints": "t.csv", "reference": "m.json"}),
    ("indtest d.csv a b", {"data": "d.csv"}),
    ("indtest d.csv --implied g.dot", {"data": "d.csv", "implied": "g.dot"}),
    ("score d.csv g.dot", {"data": "d.csv", "graph": ["g.dot"]}),
    (
        "score d.csv g.dot h.dot --compare-to m.json --holdout e.csv",
        {"data": "d.csv", "graph": ["g.dot", "h.dot"], "compare_to": "m.json", "holdout": "e.csv"},
    ),
    ("compare g.dot h.dot m.json", {"graph": ["g.dot", "h.dot", "m.json"]}),
    ("query m.json --evidence a=x", {"model": "m.json"}),
    ("convert m.json -", {"in": "m.json"}),
    ("explain l.jsonl a b", {"log": "l.jsonl"}),
    ("help tests", {}),
    ("check d.csv m.json --levels s.json", {"data": "d.csv", "levels": "s.json", "model": "m.json"}),
]  # fmt: skip


@pytest.mark.parametrize("args,inputs", CASES)
def test_json_of_every_command(gml, folder, args, inputs):
    done = gml(*args.split(), "-f", "json", "-q")
    assert done.returncode in (0, 1), done.stderr
    expected = {
        role: [sha(folder / name) for name in names]
        if isinstance(names, list)
        else sha(folder / names)
        for role, names in inputs.items()
    }
    assert hash_of(done.stdout)["inputs"] == expected
    assert done.stdout == gml(*args.split(), "-f", "json", "-q").stdout


def test_every_command_that_writes_json_is_above(gml):
    import click

    from gml.cli.main import COMMANDS, cli

    # A plan looks at some rows only, so that it has no hash of its input.
    known = {args.split()[0] for args, _ in CASES} | {"plan", "profile", "verify"}
    for name in COMMANDS:
        command = cli.get_command(click.Context(cli), name)
        formats = [p.type.choices for p in command.params if p.name == "format_"]
        assert not formats or "json" not in formats[0] or name in known, name


def test_reports_beside_the_graph(gml, folder):
    done = gml("pc", "d.csv", "--sepsets", "sep.json", "-o", "g2.dot")
    assert done.returncode == 0, done.stderr
    assert hash_of((folder / "sep.json").read_text())["inputs"] == {"data": sha(folder / "d.csv")}
    args = ["average", "d.csv", "--by", "hc", "--bootstrap", "2", "--probabilities", "p.json", "-q"]
    assert gml(*args).returncode == 0
    assert hash_of((folder / "p.json").read_text())["inputs"] == {"data": sha(folder / "d.csv")}


@pytest.mark.parametrize("name", ["d.csv", "d.csv.gz", "-"])
def test_rows_with_predictions_are_an_input(gml, folder, name):
    raw = gzip.compress(ROWS.encode()) if name.endswith(".gz") else ROWS.encode()
    (folder / "d.csv.gz").write_bytes(gzip.compress(ROWS.encode()))
    asked = ("query", "m.json", "--predict", "b", "--batch", name, "-o", "rows.csv")
    done = gml(*asked, "--metrics", "figures.json", stdin=raw)
    assert done.returncode == 0, done.stderr
    assert hash_of((folder / "figures.json").read_text())["inputs"] == {
        "batch": f"sha256:{hashlib.sha256(raw).hexdigest()}",
        "model": sha(folder / "m.json"),
    }


def test_changed_rows_are_seen_by_verify(gml, folder):
    asked = ("query", "m.json", "--predict", "b", "--batch", "d.csv", "-o", "rows.csv")
    assert gml(*asked, "--metrics", "figures.json").returncode == 0
    verified = ("verify", "figures.json", "--input", "d.csv", "--input", "m.json")
    assert gml(*verified).returncode == 0
    (folder / "d.csv").write_text(ROWS + ROWS.splitlines()[1] + "\n")
    done = gml(*verified)
    assert done.returncode == 1
    assert b"other inputs" in done.stdout


def test_settings_are_an_input(gml, folder):
    (folder / "gml.toml").write_text("[check]\nalpha = 0.1\n")
    found = hash_of(gml("check", "d.csv", "m.json", "-f", "json").stdout)
    assert found["inputs"]["config"] == sha(folder / "gml.toml")


def test_sarif_has_it_in_its_properties(gml, folder):
    done = gml("check", "d.csv", "m.json", "--report", "sarif=c.sarif")
    assert done.returncode == 0, done.stderr
    document = json.loads((folder / "c.sarif").read_text())
    assert not is_changed(document)
    assert document["properties"]["hash"]["inputs"] == {
        "data": sha(folder / "d.csv"),
        "model": sha(folder / "m.json"),
    }


def test_standard_input_and_compressed_files_by_their_bytes(gml, folder):
    raw = gzip.compress(ROWS.encode())
    (folder / "d.csv.gz").write_bytes(raw)
    expected = f"sha256:{hashlib.sha256(raw).hexdigest()}"
    by_name = gml("chowliu", "d.csv.gz", "-f", "json").stdout
    assert hash_of(by_name)["inputs"] == {"data": expected}
    assert gml("chowliu", "-", "-f", "json", stdin=raw).stdout == by_name
    model = gzip.compress((folder / "m.json").read_bytes())
    found = hash_of(gml("query", "-", "-f", "json", stdin=model).stdout)
    assert found["inputs"] == {"model": f"sha256:{hashlib.sha256(model).hexdigest()}"}
    graph = b"digraph { a -> b; c }"
    found = hash_of(gml("fit-params", "d.csv", "-", stdin=graph).stdout)
    assert found["inputs"]["graph"] == f"sha256:{hashlib.sha256(graph).hexdigest()}"


def test_a_changed_model_is_named_and_used(gml, folder):
    text = (folder / "m.json").read_text()
    (folder / "m.json").write_text(text.replace('"rows": 60', '"rows": 61'))
    done = gml("query", "m.json")
    assert done.returncode == 0
    warning = "gml: warning: m.json: changed since it was written (its hash differs)\n"
    assert done.stderr.decode() == warning
    assert gml("compare", "m.json", "g.dot").stderr.decode() == warning
    assert gml("convert", "m.json", "fresh.json").stderr.decode() == warning
    assert gml("query", "fresh.json").stderr == b""


def test_a_parquet_folder(gml, folder):
    pytest.importorskip("pyarrow")
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({"a": ["x", "y", "x", "y"], "b": ["0", "1", "0", "0"]})
    (folder / "t").mkdir()
    for name in ("2", "1"):
        pq.write_table(table, folder / "t" / f"{name}.parquet")
    whole = b"".join((folder / "t" / f"{name}.parquet").read_bytes() for name in ("1", "2"))
    found = hash_of(gml("chowliu", "t", "-f", "json").stdout)
    assert found["inputs"] == {"data": f"sha256:{hashlib.sha256(whole).hexdigest()}"}


def test_graphml_keeps_the_hash_of_the_data_in_learning(gml, folder):
    gml("chowliu", "d.csv", "-o", "t.graphml")
    digest = sha(folder / "d.csv").removeprefix("sha256:")
    assert digest in (folder / "t.graphml").read_text()

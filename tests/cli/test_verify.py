"""gml verify on the command line: verdicts, exit codes, reports."""

from __future__ import annotations

import gzip
import json

import pytest

from gml.counts.count_parquet import encode_counts, read_counts
from gml.formats.content_hash import is_changed

ROWS = "a,b,c\n" + "x,0,p\nx,1,q\ny,1,q\ny,0,p\ny,1,p\nx,0,q\n" * 10


@pytest.fixture
def folder(gml, tmp_path):
    """A model, a graph and a report, made from two files."""
    (tmp_path / "d.csv").write_text(ROWS)
    (tmp_path / "g.dot").write_text("digraph { a -> b; c }")
    assert gml("fit-params", "d.csv", "g.dot", "-o", "m.json").returncode == 0
    assert gml("chowliu", "d.csv", "-o", "t.json").returncode == 0
    assert gml("score", "d.csv", "g.dot", "t.json", "-o", "s.json").returncode == 0
    return tmp_path


def verdicts(done, code):
    assert done.returncode == code, done.stderr
    report = json.loads(done.stdout)
    assert not is_changed(report)
    return [row["verdict"] for row in report["results"]]


def test_what_was_written_is_ok(gml, folder):
    done = gml("verify", "m.json", "t.json", "s.json")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode() == (
        "file    verdict  inputs\n"
        "m.json  ok       data, graph\n"
        "t.json  ok       data\n"
        "s.json  ok       data, graph\n"
    )


def test_layout_does_not_matter_and_values_do(gml, folder):
    document = json.loads((folder / "m.json").read_text())
    (folder / "m.json").write_text(json.dumps(document, indent=2, sort_keys=True))
    (folder / "t.json.gz").write_bytes(gzip.compress((folder / "t.json").read_bytes()))
    assert verdicts(gml("verify", "m.json", "t.json.gz", "-f", "json"), 0) == ["ok", "ok"]
    document["nodes"][0]["cpt"][0][0] += 1e-16
    document["graph"]["learning"]["rows"] += 1
    (folder / "m.json").write_text(json.dumps(document))
    done = gml("verify", "t.json", "m.json", "-f", "json")
    assert verdicts(done, 1) == ["ok", "changed"]
    assert done.stderr == b""
    text = (folder / "t.json").read_bytes()
    assert verdicts(gml("verify", "-", "-f", "json", stdin=text), 0) == ["ok"]


def test_sarif(gml, folder):
    assert gml("check", "d.csv", "m.json", "-o", "c.sarif").returncode == 0
    given = ("--input", "d.csv", "--input", "m.json")
    done = gml("verify", "c.sarif", *given, "-f", "json")
    assert verdicts(done, 0) == ["ok"]
    assert json.loads(done.stdout)["results"][0]["inputs"] == ["data", "model"]
    text = (folder / "c.sarif").read_text()
    (folder / "c.sarif").write_text(text.replace('"rows": 60', '"rows": 61'))
    assert verdicts(gml("verify", "c.sarif", "-f", "json"), 1) == ["changed"]


def test_inputs(gml, folder):
    (folder / "e.csv").write_text(ROWS + "x,0,p\n")
    assert gml("verify", "m.json", "s.json", "--input", "d.csv", "--input", "g.dot").returncode == 0
    done = gml("verify", "m.json", "t.json", "--input", "g.dot", "-f", "json")
    assert verdicts(done, 1) == ["ok", "other inputs"]
    assert json.loads(done.stdout)["results"] == [
        {"file": "m.json", "verdict": "ok", "inputs": ["data", "graph"], "matched": ["graph"], "unmatched": [], "reason": None},
        {"file": "t.json", "verdict": "other inputs", "inputs": ["data"], "matched": [], "unmatched": ["g.dot"], "reason": None},
    ]  # fmt: skip
    done = gml("verify", "m.json", "--input", "e.csv", "--input", "d.csv")
    assert done.returncode == 1
    assert done.stdout.decode().splitlines()[1].split() == [
        "m.json", "other", "inputs", "data,", "graph", "data", "e.csv",
    ]  # fmt: skip
    piped = gml("verify", "m.json", "--input", "-", stdin=ROWS.encode())
    assert piped.returncode == 0
    report = json.loads(gml("verify", "m.json", "--input", "d.csv", "-f", "json").stdout)
    assert sorted(report["hash"]["inputs"]) == ["file", "input"]


@pytest.mark.parametrize("form", ["text", "json", "jsonl", "csv", "markdown"])
def test_paths_that_are_not_utf_8(gml, folder, form):
    """Of verify and of score, whose reports name files too."""
    (folder / "m\udcff.json").write_bytes((folder / "m.json").read_bytes())
    for args, code in (
        (("verify", "m\udcff.json", "--input", "m\udcff.json"), 1),
        (("score", "d.csv", "m\udcff.json", "t.json"), 0),
        (("compare", "m\udcff.json", "t.json"), 0),
    ):
        done = gml(*args, "-f", form)
        assert done.returncode == code, done.stderr
        assert "m\ufffd.json" in done.stdout.decode("utf-8")
        assert form != "json" or not is_changed(json.loads(done.stdout))


def test_inputs_of_a_parquet_folder(gml, folder):
    pytest.importorskip("pyarrow")
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({"a": ["x", "y", "x", "y"], "b": ["0", "1", "0", "0"]})
    (folder / "t").mkdir()
    for name in ("2", "1"):
        pq.write_table(table, folder / "t" / f"{name}.parquet")
    gml("chowliu", "t", "-o", "p.json")
    assert gml("verify", "p.json", "--input", "t").returncode == 0
    assert gml("verify", "p.json", "--input", "t/1.parquet").returncode == 1
    (folder / "t").rename(folder / "t\udcff")
    done = gml("chowliu", "t\udcff")
    assert done.returncode == 3
    assert b"rename it" in done.stderr


@pytest.mark.parametrize(
    "content", ["", "x", "[]", "1", '{"a": NaN}', '{"a": 1, "a": 2}', "{}\n{}\n", "[" * 100_000]
)
def test_not_json(gml, folder, content):
    (folder / "x.json").write_text(content)
    done = gml("verify", "m.json", "x.json")
    assert done.returncode == 3
    lines = done.stdout.decode().splitlines()
    assert [line.split()[:2] for line in lines[1:]] == [["m.json", "ok"], ["x.json", "unreadable"]]
    assert done.stderr.startswith(b"gml: error: x.json: ")
    assert done.stderr.count(b"\n") == 1


def test_a_file_that_cannot_be_read_hides_no_verdict(gml, folder):
    text = (folder / "t.json").read_text()
    (folder / "t.json").write_text(text.replace('"x"', '"z"'))
    (folder / "x.json").write_text("{")
    done = gml("verify", "m.json", "none.json", "t.json", "x.json", "-f", "json")
    assert verdicts(done, 3) == ["ok", "unreadable", "changed", "unreadable"]
    reasons = [row["reason"] for row in json.loads(done.stdout)["results"]]
    assert reasons[:3] == [None, "No such file or directory", None]
    assert reasons[3].startswith("not a JSON file: ")
    said = b"gml: error: none.json: No such file or directory; and 1 file more\n"
    assert done.stderr == said


def test_no_hash(gml, folder):
    (folder / "x.json").write_text('{"schema": "gml/1", "nodes": [], "graph": {}}')
    done = gml("verify", "m.json", "x.json", "-f", "csv")
    assert done.returncode == 3
    assert done.stdout.decode().splitlines()[2].startswith("x.json,no hash,")
    said = b"gml: error: x.json: has no hash: not JSON that gml wrote, or taken out\n"
    assert done.stderr == said
    text = (folder / "t.json").read_text()
    (folder / "t.json").write_text(text.replace('"x"', '"z"'))
    assert gml("verify", "t.json").returncode == 1
    assert gml("verify", "t.json", "x.json").returncode == 3
    assert gml("verify", "m.json", "--input", "nowhere.csv").returncode == 3
    assert gml("verify").returncode == 2
    assert gml("verify", "m.json", "-o", "m.json").returncode == 2


def test_one_bad_file_is_told_once(gml, folder):
    done = gml("verify", "nope.json")
    assert done.returncode == 3
    assert done.stdout == b""
    assert done.stderr == b"gml: error: nope.json: No such file or directory\n"
    assert verdicts(gml("verify", "nope.json", "-f", "json"), 3) == ["unreadable"]
    assert gml("verify", "nope.json", "-o", "r.txt").returncode == 3
    assert "unreadable" in (folder / "r.txt").read_text()


@pytest.fixture
def counts(gml, folder):
    """Count files of two parts, of their sum, and of weighted rows, some of them with gaps."""
    rows = ROWS.splitlines(keepends=True)
    (folder / "1.csv").write_text("".join(rows[:30]))
    (folder / "2.csv").write_text("".join([rows[0], *rows[30:], "NA,0,p\n"]))
    (folder / "w.csv").write_text("a,b,n\nx,0,2\ny,1,3\n")
    for name in "12":
        args = ("--pairs", "--missing", "level", "-o", f"{name}.parquet")
        assert gml("count", f"{name}.csv", *args).returncode == 0
    assert gml("merge", "1.parquet", "2.parquet", "-o", "sum.parquet").returncode == 0
    assert gml("count", "w.csv", "--pairs", "--weights", "n", "-o", "w.parquet").returncode == 0
    return folder


def test_count_files(gml, counts):
    names = ("1.parquet", "2.parquet", "sum.parquet", "w.parquet")
    done = gml("verify", *names, "m.json")
    assert (done.returncode, done.stderr) == (0, b"")
    assert [line.split()[1:] for line in done.stdout.decode().splitlines()[1:]] == [
        *([["ok", "data"]] * 4), ["ok", "data,", "graph"],
    ]  # fmt: skip
    both = ("--input", "1.csv", "--input", "2.csv")
    assert gml("verify", "sum.parquet", *both).returncode == 0
    assert verdicts(gml("verify", *names[:3], *both, "-f", "json"), 1) == [
        "other inputs", "other inputs", "ok",
    ]  # fmt: skip


def stored(path):
    """The cells of a count file and its description."""
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    return table, json.loads(table.schema.metadata[b"gml/1"])


def store(path, table, about):
    import pyarrow.parquet as pq

    pq.write_table(table.replace_schema_metadata({b"gml/1": json.dumps(about)}), path)


def test_counts_that_are_stored_in_another_way(gml, counts):
    table, about = stored(counts / "sum.parquet")
    store(counts / "sum.parquet", table, dict(reversed(about.items())))
    assert gml("verify", "sum.parquet").returncode == 0
    assert gml("verify", "-f", "json", "sum.parquet", "--input", "1.csv").returncode == 0


@pytest.mark.parametrize("change", ["count", "codes", "set", "rows", "level", "missing", "fewer"])
def test_changed_counts(gml, counts, change):
    import pyarrow as pa

    table, about = stored(counts / "sum.parquet")
    cells = table.to_pydict()
    if change in ("count", "set"):
        cells[change][1] += 1
    elif change == "codes":
        cells["codes"][0], cells["codes"][1] = cells["codes"][1], cells["codes"][0]
    elif change == "fewer":
        cells = {name: column[:-1] for name, column in cells.items()}
    elif change == "level":
        about["columns"][0]["levels"][0] = "z"
    elif change == "missing":
        about["missing"]["a"] += 1
    else:
        about["rows"] += 1
    store(counts / "sum.parquet", pa.table(cells, schema=table.schema), about)
    done = gml("verify", "1.parquet", "sum.parquet", "-f", "json")
    assert verdicts(done, 1) == ["ok", "changed"]
    assert done.stderr == b""


def test_damaged_counts(gml, counts):
    whole = (counts / "sum.parquet").read_bytes()
    for end in range(5, len(whole), 97):
        (counts / "part.parquet").write_bytes(whole[:end])
        done = gml("verify", "part.parquet", "-f", "json")
        assert verdicts(done, 1) == ["changed"]
        assert "truncated" in json.loads(done.stdout)["results"][0]["reason"]
    done = gml("verify", "part.parquet", "2.parquet")
    assert done.returncode == 1 and done.stderr == b""
    assert done.stdout.decode().splitlines()[1].split()[:2] == ["part.parquet", "changed"]
    found, written = set(), encode_counts(read_counts(counts / "sum.parquet"))
    for place in range(4, len(whole) - 8, 13):
        (counts / "part.parquet").write_bytes(
            whole[:place] + bytes([whole[place] ^ 0x41]) + whole[place + 1 :]
        )
        done = gml("verify", "part.parquet", "-f", "json")
        (verdict,) = verdicts(done, done.returncode)
        # A footer without its key is that of another file; some bytes of it mean nothing.
        assert (verdict, done.returncode) in {("changed", 1), ("ok", 0), ("unreadable", 3)}
        if verdict == "ok":
            assert encode_counts(read_counts(counts / "part.parquet")) == written
        found.add(verdict)
    assert "changed" in found


def test_counts_without_a_hash_and_rows(gml, counts):
    import pyarrow as pa
    import pyarrow.parquet as pq

    table, about = stored(counts / "sum.parquet")
    del about["hash"]
    store(counts / "sum.parquet", table, about)
    done = gml("verify", "1.parquet", "sum.parquet", "--input", "1.csv", "-f", "json")
    assert verdicts(done, 3) == ["ok", "no hash"]
    assert done.stderr == (
        b"gml: error: sum.parquet: has no hash: counted before there was one; count again\n"
    )
    assert gml("merge", "sum.parquet", "sum.parquet", "-o", "more.parquet").returncode == 0
    assert gml("verify", "more.parquet").returncode == 0
    pq.write_table(pa.table({"a": ["x", "y"]}), counts / "rows.parquet")
    done = gml("verify", "rows.parquet")
    assert done.returncode == 3
    assert done.stderr == b"gml: error: rows.parquet: not a count file; gml count makes one\n"

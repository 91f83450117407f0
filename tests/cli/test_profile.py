"""gml profile on the command line, and its schema with other commands."""

from __future__ import annotations

import json
import random

import pytest

OPTIONS = [
    "",
    "--bins 3",
    "--bins 4 --discretize width",
    "--cut n=quantile:3 --cut m=-1,0,1",
    "--na x",
]


@pytest.fixture
def folder(tmp_path):
    """A table of labels and numbers that depend on one another, and a graph."""
    rng = random.Random(1)
    rows = []
    for _ in range(300):
        a = rng.choice("xyz")
        n = round(rng.gauss(ord(a) - 121, 1), 1)
        rows.append(f"{a},{n},{round(n / 2) + rng.choice([0, 0, 9])},{rng.choice(['9', '10', a])}")
    (tmp_path / "d.csv").write_text("a,n,m,k\n" + "\n".join(rows) + "\n")
    (tmp_path / "g.dot").write_text("digraph { a -> n -> m; a -> k }")
    return tmp_path


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize(
    "command",
    [
        "chowliu d.csv --missing drop",
        "chowliu d.csv --missing level",
        "pc d.csv --missing available",
        "ges d.csv --missing drop",
        "indtest d.csv --all-pairs --missing drop -f csv",
        "score d.csv g.dot --missing drop --score bic,bdeu -f csv --max-levels 255",
        "fit-params d.csv g.dot --missing drop -f text --max-levels 255",
    ],
)
def test_the_schema_gives_the_same_as_the_options(gml, folder, command, options):
    # 300 rows have more values of n than some levels are worth: that is said, or refused unless
    # --max-levels is given, and not the point.
    reading = options.split()
    if "g.dot" in command:
        # Nor is a label that has a number for parent, or bdeu of numbers.
        reading += ["--kinds", "labels"]
    with_options = gml(*command.split(), *reading, "-q")
    assert with_options.returncode == 0, with_options.stderr
    assert gml("profile", "d.csv", *reading, "-o", "s.json").returncode == 0
    with_schema = gml(*command.split(), "--levels", "s.json", "-q")
    assert with_schema.returncode == 0, with_schema.stderr
    assert with_schema.stdout == with_options.stdout


def test_streams_and_formats(gml, folder):
    text = (folder / "d.csv").read_bytes()
    by_name = gml("profile", "d.csv", "-f", "json")
    told = b"gml: 1 column is numeric by its values: 'n' (300 numbers from -3.8 to 3.6); "
    told += b"--kinds labels treats values as categories\n"
    assert (by_name.returncode, by_name.stderr) == (0, told)
    assert gml("profile", "-", "-f", "json", stdin=text).stdout == by_name.stdout
    hashed = gml("profile", "d.csv", "-f", "json", env={"PYTHONHASHSEED": "1"})
    assert hashed.stdout == by_name.stdout
    content = json.loads(by_name.stdout)
    assert list(content) == ["schema", "hash", "rows", "columns", "na"]
    assert content["rows"] == 300
    shown = gml("profile", "d.csv").stdout
    assert shown.startswith(b"column  guess    kind     order ")
    assert gml("profile", "d.csv", "-f", "text").stdout == shown
    lines = gml("profile", "d.csv", "-f", "jsonl").stdout.splitlines()
    assert [json.loads(line)["column"] for line in lines] == ["a", "n", "m", "k"]
    assert gml("profile", "d.csv", "-f", "csv").stdout.startswith(
        b"column,guess,kind,order,values,"
    )
    assert gml("profile", "d.csv", "-o", "p.md").returncode == 0
    assert (folder / "p.md").read_text().startswith("| column | guess | kind |")
    assert gml("verify", "-", "--input", "d.csv", stdin=by_name.stdout).returncode == 0


def test_missing_values_are_counted_with_weights(gml, sample_data, tmp_path):
    done = gml("profile", sample_data / "survey_missing.csv", "-f", "json")
    content = json.loads(done.stdout)
    found = {name: column["missing"] for name, column in content["columns"].items()}
    assert found["Age"] == 48
    assert content["columns"]["Age"]["rate"] == 0.048
    (tmp_path / "w.csv").write_text("a,n\nx,3\n,2\ny,0.5\n")
    done = gml("profile", "w.csv", "--weights-fractional", "n", "-f", "json")
    content = json.loads(done.stdout)
    assert content["rows"] == 5.5
    assert content["columns"]["a"] == {
        "guess": "labels", "levels": ["x", "y"], "order": "codepoint", "counts": [3.0, 0.5], "distinct": 2,
        "missing": 2.0, "rate": 4 / 11,
    }  # fmt: skip


@pytest.mark.parametrize("written", ["text", "csv", "markdown", "jsonl"])
def test_the_printed_table_is_no_schema(gml, tmp_path, written):
    (tmp_path / "d.csv").write_text("size,ok\nS,yes\nL,no\nM,\n")
    printed = gml("profile", "d.csv", "-f", written).stdout
    (tmp_path / "s.json").write_bytes(printed)
    done = gml("chowliu", "d.csv", "--levels", "s.json")
    assert done.returncode == 3
    (line,) = done.stderr.decode().splitlines()
    assert line == (
        "gml: error: s.json: this is the table that gml profile prints, not a schema; "
        "gml profile DATA -o schema.json writes the schema"
    )


def test_a_value_that_is_not_in_the_schema(gml, folder):
    gml("profile", "d.csv", "-c", "a,k", "-o", "s.json")
    (folder / "e.csv").write_text((folder / "d.csv").read_text() + "w,1,1,9\n")
    done = gml("chowliu", "e.csv", "-c", "a,k", "--levels", "s.json")
    assert (done.returncode, done.stdout) == (3, b"")
    assert done.stderr.startswith(b"gml: error: e.csv: line 302: column 'a': level 'w'")


def test_errors(gml, tmp_path):
    (tmp_path / "id.csv").write_text("id\n" + "\n".join(map(str, range(300))) + "\n")
    assert gml("profile", "id.csv", "--missing", "leave").returncode == 2
    (tmp_path / "none.csv").write_text("a\n")
    assert gml("profile", "none.csv").returncode == 4
    assert gml("profile", "id.csv", "--bins", "5", "-o", "id.csv").returncode == 2
    assert gml("profile", "nowhere.csv").returncode == 3

"""gml fit-params on the command line."""

from __future__ import annotations

import csv
import io
import json

import pytest

ROWS = "rain,wet\nno,no\nno,no\nno,yes\nyes,yes\nyes,yes\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "data.csv").write_text(ROWS)
    (tmp_path / "g.dot").write_text("digraph { rain -> wet }")
    return tmp_path


def test_model_json(gml, folder):
    done = gml("fit-params", "data.csv", "g.dot")
    assert done.returncode == 0
    assert done.stderr == b""
    model = json.loads(done.stdout)
    assert model["graph"]["kind"] == "dag"
    learning = model["graph"]["learning"]
    assert learning["command"] == "fit-params"
    assert learning["rows"] == 5
    assert len(learning["data"]) == 64
    rain, wet = model["nodes"]
    assert rain == {
        "id": "rain", "levels": ["no", "yes"], "parents": [], "cpt": [[0.6, 0.4]], "counts": [[3, 2]],
    }  # fmt: skip
    assert wet["parents"] == ["rain"]
    assert wet["cpt"] == [[2 / 3, 1 / 3], [0.0, 1.0]]
    assert model["edges"] == [{"source": "rain", "target": "wet", "type": "-->"}]


def test_every_format_is_read_again(gml, folder):
    texts = {}
    for suffix in ("json", "bif", "xmlbif", "net"):
        assert gml("fit-params", "data.csv", "g.dot", "-q", "-o", f"m.{suffix}").returncode == 0
        done = gml("convert", f"m.{suffix}", "-", "-f", "bif", "-q")
        texts[suffix] = done.stdout
    assert len(set(texts.values())) == 1
    text = gml("fit-params", "data.csv", "g.dot", "-o", "m.txt")
    assert text.returncode == 0
    assert "wet given rain" in (folder / "m.txt").read_text()


def test_bayes_and_intervals(gml, folder):
    done = gml(
        "fit-params", "data.csv", "g.dot", "--method", "bayes", "--ess", "4", "--intervals", "0.9"
    )
    wet = json.loads(done.stdout)["nodes"][1]
    assert wet["cpt"] == [[3 / 5, 2 / 5], [1 / 4, 3 / 4]]
    low, high = wet["intervals"][0][0]
    assert low < 2 / 3 < high
    options = json.loads(done.stdout)["graph"]["learning"]["options"]
    assert options == {"ess": 4.0, "intervals": 0.9, "method": "bayes"}


def test_a_folder_of_tables(gml, folder):
    done = gml(
        "fit-params",
        "data.csv",
        "g.dot",
        "--cpt-dir",
        "tables",
        "--intervals",
        "0.95",
        "-o",
        "m.json",
    )
    assert done.returncode == 0
    assert sorted(path.name for path in (folder / "tables").iterdir()) == ["rain.csv", "wet.csv"]
    rows = list(csv.DictReader(io.StringIO((folder / "tables/wet.csv").read_text())))
    assert list(rows[0]) == ["rain", "wet", "p", "lower", "upper", "count"]
    assert [(r["rain"], r["wet"], r["count"]) for r in rows] == [
        ("no", "no", "2"), ("no", "yes", "1"), ("yes", "no", "0"), ("yes", "yes", "2"),
    ]  # fmt: skip
    assert float(rows[1]["p"]) == 1 / 3


def test_nodes_named_like_the_columns_of_a_table(gml, folder):
    (folder / "p.csv").write_text("p,count\na,x\nb,y\n")
    (folder / "p.dot").write_text("digraph { p -> count }")
    done = gml("fit-params", "p.csv", "p.dot", "--cpt-dir", "t", "-o", "m.json")
    assert done.returncode == 0
    assert (folder / "t/count.csv").read_text().splitlines()[0] == "p,count,p_,count_"


def test_a_model_that_cannot_be_written_leaves_nothing(gml, folder):
    (folder / "odd.csv").write_text("a b,c\nx,u\ny,v\n")
    (folder / "odd.dot").write_text('digraph { "a b" -> c }')
    done = gml("fit-params", "odd.csv", "odd.dot", "--cpt-dir", "t", "-o", "m.bif")
    assert done.returncode == 3
    assert not (folder / "t").exists()
    assert not (folder / "m.bif").exists()


def test_all_tables_together_must_fit(gml, folder):
    done = gml("fit-params", "data.csv", "g.dot", "--max-memory", "1K")
    assert done.returncode == 4
    assert b"the largest that of 'wet' given 1 parents, would take" in done.stderr


def test_formats_without_intervals_say_so(gml, folder):
    done = gml("fit-params", "data.csv", "g.dot", "--intervals", "0.95", "-o", "m.bif")
    assert done.returncode == 0
    assert done.stderr == b"gml: warning: BIF does not hold the intervals; JSON does\n"


def test_unseen_configurations(gml, folder):
    (folder / "schema.json").write_text(
        json.dumps({"schema": "gml/1", "columns": {"rain": {"levels": ["no", "yes", "hail"]}}})
    )
    done = gml("fit-params", "data.csv", "g.dot", "--levels", "schema.json")
    assert done.returncode == 0
    assert done.stderr.count(b"\n") == 1
    assert b"1 configuration of parents was never seen, and is uniform: for 'wet'" in done.stderr
    wet = json.loads(done.stdout)["nodes"][1]
    assert wet["cpt"][2] == [0.5, 0.5]
    assert wet["counts"][2] == [0, 0]
    assert (
        b"never seen"
        in gml("fit-params", "data.csv", "g.dot", "--levels", "schema.json", "-f", "text").stdout
    )
    strict = gml(
        "fit-params", "data.csv", "g.dot", "--levels", "schema.json", "--strict", "-o", "m.json"
    )
    assert strict.returncode == 4
    assert b"rain=hail" in strict.stderr
    assert not (folder / "m.json").exists()


def test_a_cpdag_is_fitted_through_one_of_its_dags(gml, folder):
    (folder / "line.dot").write_text("graph { rain -- wet }")
    done = gml("fit-params", "data.csv", "line.dot")
    assert done.returncode == 0
    assert b"one of the DAGs" in done.stderr
    assert json.loads(done.stdout)["graph"]["kind"] == "dag"


def test_a_model_is_a_graph(gml, folder):
    gml("fit-params", "data.csv", "g.dot", "-o", "m.json")
    (folder / "new.csv").write_text("wet,rain\nyes,yes\nno,no\n")
    done = gml("fit-params", "new.csv", "m.json")
    assert [node["counts"] for node in json.loads(done.stdout)["nodes"]] == [
        [[1, 1]],
        [[1, 0], [0, 1]],
    ]


def test_numbers(gml, folder):
    (folder / "n.csv").write_text("a,b\n1,2.5\n2,3.5\n3,7\n4,8\n6,9.5\n")
    (folder / "ab.dot").write_text("digraph { a -> b }")
    done = gml("fit-params", "n.csv", "ab.dot", "--gaussian", "--intervals", "0.95")
    assert done.returncode == 0
    b = json.loads(done.stdout)["nodes"][1]["gaussian"]
    assert b["coefficients"][0] == pytest.approx(21.9 / 14.8)
    assert len(b["intervals"]) == 3
    assert gml("fit-params", "n.csv", "ab.dot", "--gaussian", "-o", "m.bif").returncode == 3


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (["data.csv", "g.dot", "--ess", "2"], 2, "--ess belongs to --method bayes"),
        (
            ["data.csv", "g.dot", "--method", "bayes", "--prior", "k2", "--ess", "2"],
            2,
            "--prior bdeu",
        ),
        (["data.csv", "g.dot", "--intervals", "1"], 2, "--intervals"),
        (["data.csv", "g.dot", "--gaussian"], 3, "is not a number"),
        (["data.csv", "g.dot", "--gaussian", "--strict"], 2, "--strict does not go"),
        (["data.csv", "typo.dot"], 3, "did you mean 'rain'?"),
        (["data.csv", "g.dot", "-o", "data.csv", "-f", "json"], 2, "is an input"),
        (["data.csv", "g.dot", "-o", "no/m.json"], 2, "no folder"),
        (["data.csv", "g.dot", "--cpt-dir", "data.csv"], 2, "not a folder"),
        (["empty.csv", "g.dot"], 3, "no header"),
        (["header.csv", "g.dot"], 4, "no rows"),
    ],
)
def test_errors(gml, folder, args, code, message):
    (folder / "typo.dot").write_text("digraph { Rain -> wet }")
    (folder / "empty.csv").write_text("")
    (folder / "header.csv").write_text("rain,wet\n")
    done = gml("fit-params", *args)
    assert done.returncode == code, done.stderr
    assert message in done.stderr.decode()
    assert done.stderr.count(b"\n") == 1
    assert done.stdout == b""


def test_pipe(gml, folder):
    graph = gml("chowliu", "data.csv", "-f", "json")
    done = gml("fit-params", "data.csv", "-", stdin=graph.stdout)
    assert done.returncode == 0
    sampled = gml("sample", "-", "-n", "3", stdin=done.stdout)
    assert sampled.returncode == 0
    assert sampled.stdout.count(b"\n") == 4


def test_missing_cells_are_counted_before_they_are_treated(gml, tmp_path):
    (tmp_path / "d.csv").write_text("a,b,n,z\nx,0,2,\nNA,0,1,\ny,?,3,\n,1,1,\nx,1,0,\n,,5,1\n")
    (tmp_path / "g.dot").write_text("digraph { a -> b }")

    def missing(*options, graph="g.dot"):
        done = gml("fit-params", "d.csv", graph, "--exclude", "z", *options, "-q")
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)["graph"]["learning"].get("missing")
        assert not options or found.pop("policy") == options[1]
        return found

    seen = {"rows": 6, "columns": {"a": 3, "b": 2}}
    few = ("--min-complete", "1")
    assert missing("--missing", "drop", *few) == seen
    assert missing("--missing", "available") == seen
    assert missing("--missing", "level") == seen
    weighted = {"rows": 12, "columns": {"a": 7, "b": 8}}
    assert missing("--missing", "drop", *few, "--weights", "n") == weighted
    assert missing("--missing", "drop", *few, "--weights-fractional", "n") == weighted
    # A graph that declares the level NA for missing cells changes nothing.
    gml("pc", "d.csv", "-c", "a,b", "--missing", "level", "-o", "g.json", "--dag", "-q")
    assert missing("--missing", "level", graph="g.json") == seen
    (tmp_path / "d.csv").write_text("a,b,z\nx,0,1\ny,1,1\n")
    assert missing("--missing", "drop") == {"rows": 2, "columns": {}}
    assert missing() is None


MORE = "rain,wet\nyes,no\nno,no\n"


def fitted(gml, *args):
    done = gml("fit-params", *args)
    assert done.returncode == 0, done.stderr
    return done


def test_rows_are_added_in_place_and_taken_away_again(gml, folder):
    (folder / "more.csv").write_text(MORE)
    (folder / "all.csv").write_text(ROWS + MORE.partition("\n")[2])
    fitted(gml, "data.csv", "g.dot", "--method", "bayes", "-o", "m.json")
    before = json.loads((folder / "m.json").read_text())
    fitted(gml, "more.csv", "m.json", "--update", "-o", "m.json")
    fitted(gml, "all.csv", "g.dot", "--method", "bayes", "-o", "all.json")
    after, whole = (json.loads((folder / name).read_text()) for name in ("m.json", "all.json"))
    assert after["nodes"] == whole["nodes"]
    learning = after["graph"]["learning"]
    assert learning["rows"] == 7
    assert [part["rows"] for part in learning["parts"]] == [5, 2]
    assert learning["parts"][0]["data"] == before["graph"]["learning"]["data"]
    fitted(gml, "more.csv", "m.json", "--forget", "-o", "m.json")
    assert json.loads((folder / "m.json").read_text())["nodes"] == before["nodes"]


def test_adding_the_same_file_twice_is_said(gml, folder):
    fitted(gml, "data.csv", "g.dot", "-o", "m.json")
    done = fitted(gml, "data.csv", "m.json", "--update", "-o", "m2.json")
    assert done.stderr == (
        b"gml: warning: the same input was added to m.json before, and is now once more\n"
    )


def test_an_update_refuses_what_the_model_does_not_know(gml, folder):
    (folder / "more.csv").write_text("rain,wet\nsnow,no\n")
    fitted(gml, "data.csv", "g.dot", "-o", "m.json")
    before = (folder / "m.json").read_bytes()
    done = gml("fit-params", "more.csv", "m.json", "--update", "-o", "m.json")
    assert done.returncode == 3
    assert b"'snow'" in done.stderr
    assert (folder / "m.json").read_bytes() == before
    (folder / "more.csv").write_text("rain,wet\nyes,yes\nyes,yes\nyes,yes\n")
    done = gml("fit-params", "more.csv", "m.json", "--forget", "-o", "m.json")
    assert done.returncode == 3
    assert done.stderr == (
        b"gml: error: m.json counts 2 rows with rain=yes, and 3 are to be forgotten\n"
    )
    done = gml("fit-params", "more.csv", "g.dot", "--update")
    assert done.returncode == 2
    done = gml(
        "fit-params", "data.csv", "m.json", "--update", "-o", "m2.json", "--depfile", "m.json"
    )
    assert done.returncode == 2
    # Without --update the graph stays protected.
    assert gml("fit-params", "data.csv", "m.json", "-o", "m.json").returncode == 2


def test_an_update_treats_missing_values_as_the_model_does(gml, folder):
    (folder / "data.csv").write_text(ROWS + "yes,-\n")
    (folder / "more.csv").write_text("rain,wet\nno,-\nno,no\n")
    how = ("--na", "-", "--missing", "available")
    fitted(gml, "data.csv", "g.dot", *how, "-o", "m.json")
    fitted(gml, "more.csv", "m.json", "--update", "-o", "m2.json")
    (folder / "all.csv").write_text(ROWS + "yes,-\nno,-\nno,no\n")
    fitted(gml, "all.csv", "g.dot", *how, "-o", "all.json")
    after, whole = (json.loads((folder / name).read_text()) for name in ("m2.json", "all.json"))
    assert after["nodes"] == whole["nodes"]
    assert after["graph"]["learning"]["missing"] == whole["graph"]["learning"]["missing"]
    done = gml("fit-params", "more.csv", "m.json", "--update", "--missing", "drop")
    assert done.returncode == 2
    assert b"--missing available" in done.stderr

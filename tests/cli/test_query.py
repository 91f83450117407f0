"""gml query on the command line."""

from __future__ import annotations

import csv
import io
import json
import math

import numpy as np
import pytest

import gml as library
from tests.command_line import error_line, printed_rows
from tests.command_line import printed_json as answer
from tests.networks import asia
from tests.places import ROOT


@pytest.fixture
def folder(tmp_path):
    asia().to_file(tmp_path / "asia.bif")
    return tmp_path


@pytest.fixture(autouse=True)
def with_files():
    """The package gives models their files when BayesNet is first asked for."""
    assert library.BayesNet


def test_marginals(gml, folder):
    found = answer(gml("query", "asia.bif", "--evidence", "asia=yes,dysp=yes", "-f", "json"))
    assert found["schema"] == "gml/1"
    assert found["evidence"] == {"asia": "yes", "dysp": "yes"}
    assert found["evidence_probability"] == pytest.approx(0.004501375, rel=1e-9)
    assert found["log10_evidence_probability"] == pytest.approx(math.log10(0.004501375), rel=1e-9)
    rows = {(row["node"], row["level"]): row["probability"] for row in found["results"]}
    assert len(rows) == 12
    assert rows["lung", "yes"] == pytest.approx(0.09952515, abs=5e-9)
    text = gml("query", "asia.bif", "-t", "lung", "--evidence", "asia=yes,dysp=yes").stdout.decode()
    assert text.splitlines()[0] == "P(asia=yes, dysp=yes) = 0.00450138"
    assert text.splitlines()[2].split() == ["lung", "yes", "0.0995251"]


def test_joint(gml, folder):
    rows = printed_rows(
        gml("query", "asia.bif", "--target", "lung,bronc", "--evidence", "xray=yes", "-f", "csv")
    )
    assert list(rows[0]) == ["lung", "bronc", "probability"]
    assert sum(float(row["probability"]) for row in rows) == pytest.approx(1)
    each = printed_rows(
        gml(
            "query",
            "asia.bif",
            "--target",
            "lung,bronc",
            "--each",
            "--evidence",
            "xray=yes",
            "-f",
            "csv",
        )
    )
    assert list(each[0]) == ["node", "level", "probability"]
    both = sum(float(row["probability"]) for row in rows if row["lung"] == "yes")
    assert both == pytest.approx(float(each[0]["probability"]), rel=1e-12)


def test_do_is_not_evidence(gml, folder):
    """Setting bronchitis by hand says nothing of smoking; observing it does."""
    done = answer(gml("query", "asia.bif", "-t", "smoke", "--do", "bronc=yes", "-f", "json"))
    assert done["results"][0]["probability"] == pytest.approx(0.5)
    seen = answer(gml("query", "asia.bif", "-t", "smoke", "--evidence", "bronc=yes", "-f", "json"))
    assert seen["results"][0]["probability"] == pytest.approx(2 / 3)
    both = answer(
        gml(
            "query",
            "asia.bif",
            "-t",
            "smoke",
            "--do",
            "bronc=yes",
            "--evidence",
            "dysp=yes",
            "-f",
            "json",
        )
    )
    assert both["do"] == {"bronc": "yes"}
    assert both["evidence_probability"] == pytest.approx(0.9 * 0.064828 + 0.8 * 0.935172)


def test_best_explanations(gml, folder):
    found = answer(
        gml("query", "asia.bif", "--mpe", "--evidence", "xray=yes,dysp=yes", "-f", "json")
    )
    levels = {row["node"]: row["level"] for row in found["results"]}
    assert levels == {
        "asia": "no", "tub": "no", "smoke": "yes", "lung": "yes", "bronc": "yes", "either": "yes",
    }  # fmt: skip
    assert 0 < found["probability"] < 1
    found = answer(
        gml("query", "asia.bif", "--map", "-t", "lung", "--evidence", "xray=yes", "-f", "json")
    )
    assert found["results"] == [{"node": "lung", "level": "no"}]
    assert b"P(this | evidence)" in gml("query", "asia.bif", "--mpe").stdout


def test_impossible_evidence(gml, folder):
    done = gml("query", "asia.bif", "--evidence", "lung=yes,either=no")
    assert done.returncode == 4
    assert done.stderr == b"gml: error: the evidence has probability 0\n"
    assert done.stdout == b""


def test_batch(gml, folder):
    (folder / "rows.csv").write_text("id,xray,dysp\n1,yes,yes\n2,no,\n3,?,no\n4,yes,yes\n")
    done = gml("query", "asia.bif", "-t", "lung,bronc", "--batch", "rows.csv")
    assert done.stderr == b"gml: warning: not in the model, ignored: 'id'\n"
    rows = printed_rows(done)
    answers = ["lung=yes", "lung=no", "bronc=yes", "bronc=no", "p_evidence"]
    assert list(rows[0]) == ["id", "xray", "dysp", *answers]
    assert [rows[0][name] for name in answers] == [rows[3][name] for name in answers]
    for row, evidence in zip(rows, ("xray=yes,dysp=yes", "xray=no", "dysp=no"), strict=False):
        found = answer(gml("query", "asia.bif", "-t", "lung", "--evidence", evidence, "-f", "json"))
        assert float(row["lung=yes"]) == pytest.approx(
            found["results"][0]["probability"], rel=1e-12
        )
        assert float(row["p_evidence"]) == pytest.approx(found["evidence_probability"], rel=1e-12)


def test_predict_adds_to_each_row(gml, folder):
    (folder / "rows.csv").write_text('id,xray,lung\n"a,1",yes,no\nb,no,\n')
    done = gml("query", "asia.bif", "--predict", "lung", "--batch", "rows.csv", "-q")
    rows = printed_rows(done)
    assert list(rows[0]) == ["id", "xray", "lung", "lung_predicted", "lung_probability"]
    assert [row["id"] for row in rows] == ["a,1", "b"]
    # the column itself is no evidence
    assert [row["lung_predicted"] for row in rows] == ["no", "no"]
    found = answer(gml("query", "asia.bif", "-t", "lung", "--evidence", "xray=yes", "-f", "json"))
    assert float(rows[0]["lung_probability"]) == pytest.approx(found["results"][1]["probability"])


def test_predict_from_standard_input_with_more_evidence(gml, folder):
    done = gml(
        "query", "asia.bif", "--predict", "either", "--batch", "-", "--evidence", "lung=yes",
        stdin=b"xray;dysp\nno;no\n", env={},
    )  # fmt: skip
    assert done.returncode == 3
    assert b"say --delimiter ';' to split it" in done.stderr
    done = gml(
        "query", "asia.bif", "--predict", "either", "--batch", "-", "--evidence", "lung=yes",
        "-d", ";", "-o", "out.csv", stdin=b"xray;dysp\nno;no\n",
    )  # fmt: skip
    assert done.returncode == 0
    assert (folder / "out.csv").read_text() == (
        "xray,dysp,either_predicted,either_probability\nno,no,yes,1.0\n"
    )


def test_impossible_rows_have_no_answer(gml, folder):
    (folder / "rows.csv").write_text("lung,either\nyes,no\nyes,yes\n")
    done = gml("query", "asia.bif", "-t", "tub", "--batch", "rows.csv")
    assert done.returncode == 0
    assert b"1 row of evidence of probability 0 has no answer" in done.stderr
    rows = printed_rows(done)
    assert rows[0] == {"lung": "yes", "either": "no", "tub=yes": "", "tub=no": "", "p_evidence": ""}
    assert float(rows[1]["tub=yes"]) == pytest.approx(0.0104)


def test_many_patterns_of_missing_cells(gml, folder):
    """Blocks of rows with all sorts of gaps agree with rows asked one by one."""
    data = asia().sample(3000, seed=1)
    rng = np.random.default_rng(0)
    names = [name for name in data.names if name != "lung"]
    lines, frame = [",".join(names)], data.to_frame()[names].astype(str)
    for row in frame.itertuples(index=False):
        lines.append(",".join("" if rng.random() < 0.4 else value for value in row))
    (folder / "rows.csv").write_text("\n".join(lines) + "\n")
    rows = printed_rows(gml("query", "asia.bif", "-t", "lung", "--batch", "rows.csv"))
    assert len(rows) == 3000
    for k in range(0, 3000, 300):
        cells = dict(zip(names, lines[k + 1].split(","), strict=True))
        evidence = {name: value for name, value in cells.items() if value}
        found = asia().query(["lung"], evidence)["lung"]
        assert float(rows[k]["lung=yes"]) == pytest.approx(found["yes"], abs=1e-12)


def test_numbers(gml, folder):
    from gml.data.dataset import Variable

    a, b = Variable("a", None), Variable("b", None)
    net = library.BayesNet(
        (
            library.LinearGaussian(a, (), 1.0, (), 2.0),
            library.LinearGaussian(b, (a,), 0.5, (3.0,), 1.0),
        )
    )
    net.to_file(folder / "n.json")
    rows = answer(gml("query", "n.json", "-f", "json"))["results"]
    assert rows[0] == {"node": "a", "mean": 1.0, "sd": 2.0}
    assert rows[1] == {"node": "b", "mean": 3.5, "sd": pytest.approx(math.sqrt(37))}
    found = answer(gml("query", "n.json", "--evidence", "b=6.5", "-f", "json"))
    # a | b: gain 12/37 times 3, variance 4 − 144/37
    assert found["results"][0]["mean"] == pytest.approx(1 + 36 / 37)
    assert found["results"][0]["sd"] == pytest.approx(math.sqrt(4 - 144 / 37))
    density = math.exp(-0.5 * 9 / 37) / math.sqrt(2 * math.pi * 37)
    assert found["evidence_density"] == pytest.approx(density, rel=1e-12)
    joint = answer(gml("query", "n.json", "-t", "a,b", "-f", "json"))["results"]
    assert joint[0]["r(b)"] == pytest.approx(6 / math.sqrt(37))
    (folder / "rows.csv").write_text("b,c\n6.5,x\n,y\n")
    rows = printed_rows(gml("query", "n.json", "--predict", "a", "--batch", "rows.csv", "-q"))
    assert list(rows[0]) == ["b", "c", "a_predicted", "a_sd"]
    assert float(rows[0]["a_predicted"]) == pytest.approx(1 + 36 / 37)
    assert float(rows[0]["a_sd"]) == pytest.approx(math.sqrt(4 - 144 / 37))
    assert (float(rows[1]["a_predicted"]), float(rows[1]["a_sd"])) == (1.0, 2.0)


@pytest.fixture
def binned(gml, folder):
    """A model whose node v has intervals, and NA for missing values."""
    rows = "\n".join(f"{'?' if i % 10 == 0 else i},{'hi' if i > 50 else 'lo'}" for i in range(100))
    (folder / "n.csv").write_text(f"v,w\n{rows}\n")
    learned = gml("chowliu", "n.csv", "--cut", "v=20,50", "--missing", "level", "-o", "tree.json")
    assert learned.returncode == 0
    done = gml("fit-params", "n.csv", "tree.json", "--missing", "level", "-o", "binned.json")
    assert done.returncode == 0, done.stderr
    return folder


def test_numbers_fall_into_intervals(gml, binned):
    by_label = gml("query", "binned.json", "-t", "w", "--evidence", "v=[20,50)", "-f", "csv")
    by_number = gml("query", "binned.json", "-t", "w", "--evidence", "v=33.3", "-f", "csv")
    assert printed_rows(by_label) == printed_rows(by_number)
    assert gml("query", "binned.json", "--evidence", "v=x").returncode == 2
    (binned / "rows.csv").write_text('v\n33.3\n"[20,50)"\n70\n')
    rows = printed_rows(gml("query", "binned.json", "-t", "w", "--batch", "rows.csv"))
    assert rows[0]["w=hi"] == rows[1]["w=hi"] == "0.0"
    assert rows[2]["w=hi"] == "1.0"


def test_evidence_beside_a_file_without_nodes(gml, folder):
    from gml.data.dataset import Variable

    a, b = Variable("a", None), Variable("b", None)
    regression = library.LinearGaussian(b, (a,), 0.0, (2.0,), 1.0)
    net = library.BayesNet((library.LinearGaussian(a, (), 0.0, (), 1.0), regression))
    net.to_file(folder / "n.json")
    (folder / "ids.csv").write_text("id\n1\n")
    done = gml("query", "n.json", "-t", "b", "--evidence", "a=1.5", "--batch", "ids.csv", "-q")
    assert float(printed_rows(done)[0]["b_mean"]) == pytest.approx(3.0)
    assert gml("query", "n.json", "--max-memory", "10").returncode == 4


def test_one_interval_is_an_interval(gml, folder):
    (folder / "n.csv").write_text("x,k\n" + "".join(f"{i},5\n" for i in range(6)))
    (folder / "k.dot").write_text("digraph { x -> k }")
    cuts = ("--cut", "k=quantile:3", "--cut", "x=2,4")
    assert gml("fit-params", "n.csv", "k.dot", *cuts, "-q", "-o", "k.json").returncode == 0
    assert gml("score", "n.csv", "k.json").returncode == 0
    assert gml("query", "k.json", "-t", "x", "--evidence", "k=5").returncode == 0
    (folder / "bad.csv").write_text("x,k\n1,5\nabc,5\n")
    done = gml("score", "bad.csv", "k.json")
    assert done.returncode == 3
    assert b"data row 2: column 'x'" in done.stderr


def test_rows_of_a_binned_model_are_data_for_it(gml, binned):
    """Labels of intervals are read where numbers are, by every command."""
    drawn = gml("sample", "binned.json", "-n", "500", "-o", "rows.csv")
    assert b"a level is named 'NA', which other commands read as missing" in drawn.stderr
    for command in ("score", "fit-params"):
        # NA is a level of the model, and so not missing.
        done = gml(command, "rows.csv", "binned.json")
        assert done.returncode == 0, done.stderr
    raw = gml("score", "n.csv", "binned.json", "--missing", "level", "-f", "json")
    assert raw.returncode == 0


def test_missing_cells_and_the_level_na(gml, binned):
    (binned / "rows.csv").write_text('v\n?\n"[20,50)"\n')
    done = gml("query", "binned.json", "-t", "w", "--batch", "rows.csv")
    assert b"--missing level observes that" in done.stderr
    assert float(printed_rows(done)[0]["p_evidence"]) == pytest.approx(1)
    done = gml("query", "binned.json", "-t", "w", "--batch", "rows.csv", "--missing", "level")
    assert done.stderr == b""
    assert float(printed_rows(done)[0]["p_evidence"]) == pytest.approx(0.1)


def test_unknown_values_can_be_ignored(gml, folder):
    (folder / "rows.csv").write_text("xray,dysp\nyes,yes\nperhaps,yes\n")
    done = gml("query", "asia.bif", "-t", "lung", "--batch", "rows.csv")
    assert done.returncode == 3
    assert b"--ignore-unknown" in done.stderr
    done = gml("query", "asia.bif", "-t", "lung", "--batch", "rows.csv", "--ignore-unknown")
    assert b"treated as missing: 'xray' 1" in done.stderr
    found = answer(gml("query", "asia.bif", "-t", "lung", "--evidence", "dysp=yes", "-f", "json"))
    assert float(printed_rows(done)[1]["lung=yes"]) == pytest.approx(
        found["results"][0]["probability"]
    )


def test_a_typo_in_a_column_is_pointed_out(gml, folder):
    (folder / "rows.csv").write_text("xry,smoke\nyes,yes\n")
    done = gml("query", "asia.bif", "-t", "lung", "--batch", "rows.csv")
    assert b"ignored: 'xry'; did you mean 'xray' by 'xry'?" in done.stderr
    # Where no column is a node, nothing is answered.
    (folder / "rows.csv").write_text("xry\nyes\n")
    line = error_line(gml("query", "asia.bif", "-t", "lung", "--batch", "rows.csv"), 3)
    assert line.endswith("'xray', 'dysp'; did you mean 'xray' by 'xry'?\n")


def test_a_joint_distribution_of_awkward_names(gml, folder):
    from gml.data.dataset import Variable

    coin = np.array([[0.25, 0.75]])
    names = ("probability", "probability_", "p")
    cpts = (library.CPT(Variable(name, ("u", "v")), (), coin) for name in names)
    library.BayesNet(tuple(cpts)).to_file(folder / "p.json")
    rows = printed_rows(gml("query", "p.json", "-t", ",".join(names), "-f", "csv"))
    assert list(rows[0]) == [*names, "probability__"]
    assert rows[0]["p"] == "u"


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (["nofile.bif"], 3, "No such file"),
        (["asia.bif", "-t", "lungs"], 2, "did you mean 'lung'?"),
        (["asia.bif", "--evidence", "lung=maybe"], 2, "'lung' has no level 'maybe'"),
        (["asia.bif", "--evidence", "lung"], 2, "NODE=VALUE"),
        (["asia.bif", "--evidence", "lung=yes", "--do", "lung=no"], 2, "both set"),
        (["asia.bif", "--evidence", "lung=yes", "-t", "lung"], 2, "observed and asked for"),
        (["asia.bif", "--map"], 2, "--map needs --target"),
        (["asia.bif", "--mpe", "-t", "lung"], 2, "--mpe is about all"),
        (["asia.bif", "--predict", "lung"], 2, "--predict needs --batch"),
        (["asia.bif", "--batch", "rows.csv"], 2, "either --target or --predict"),
        (["asia.bif", "-t", "lung", "--batch", "bad.csv"], 3, "line 3: column 'xray'"),
        (
            ["asia.bif", "-t", "lung", "--batch", "ragged.csv"],
            3,
            "line 2: 1 field, but the header has 2",
        ),
        (
            ["asia.bif", "-t", "lung", "--batch", "rows.csv", "--evidence", "xray=yes"],
            2,
            "is in --evidence",
        ),
        (["asia.bif", "-t", "lung", "--batch", "rows.csv", "-o", "rows.csv"], 2, "is an input"),
        (["asia.bif", "-t", "lung", "--batch", "rows.csv", "-f", "json"], 2, "--batch writes CSV"),
        (
            ["asia.bif", "-t", "lung", "--batch", "rows.csv", "-o", "x.json"],
            2,
            "--batch writes CSV",
        ),
        (["asia.bif", "-t", "lung", "--batch", "rows.csv", "--do", "xray=yes"], 2, "is in --do"),
        (["asia.bif", "-t", "lung", "--batch", "open.csv"], 3, "line 3: a quote opens here"),
        pytest.param(
            ["asia.bif", "-t", "lung", "--missing", "level"],
            2,
            "--missing needs --batch FILE",
            id="args18-2---missing is about --batch",
        ),
        (["graph.dot", "-t", "a"], 3, "fit-params"),
        (["asia.bif", "--max-memory", "10"], 4, "treewidth"),
    ],
)
def test_errors(gml, folder, args, code, message):
    (folder / "rows.csv").write_text("xray\nyes\n")
    (folder / "bad.csv").write_text("xray\nyes\nmaybe\n")
    (folder / "ragged.csv").write_text("xray,dysp\nyes\n")
    (folder / "open.csv").write_text('xray,dysp\nyes,no\n"yes,no\nyes,no\n')
    (folder / "graph.dot").write_text("digraph { a -> b }")
    done = gml("query", *args)
    assert done.returncode == code, done.stderr
    assert message in done.stderr.decode()
    assert done.stderr.count(b"\n") == 1
    assert done.stdout == b""


def test_predictions_are_judged_where_the_truth_is_there(gml, folder):
    batch, figures = ROOT / "sample_data/asia.csv", folder / "figures.json"
    run = gml("query", "asia.bif", "--predict", "dysp", "--batch", batch, "--metrics", figures)
    assert run.returncode == 0
    found = json.loads(figures.read_text())
    rows = list(csv.DictReader(io.StringIO(run.stdout.decode())))
    hits = [row["dysp"] == row["dysp_predicted"] for row in rows]
    assert found["accuracy"] == sum(hits) / len(hits)
    assert found["rows"] == len(rows)
    levels = found["levels"]
    for i, true in enumerate(levels):
        for j, said in enumerate(levels):
            pairs = [(row["dysp"], row["dysp_predicted"]) == (true, said) for row in rows]
            assert found["confusion"][i][j] == sum(pairs)
    (line,) = run.stderr.decode().splitlines()
    assert line.startswith(f"gml: dysp: {len(rows)} rows, accuracy {found['accuracy']:.6g}, ")
    quiet = gml("query", "asia.bif", "--predict", "dysp", "--batch", batch, "-q")
    assert quiet.stderr == b""
    assert quiet.stdout == run.stdout


def test_metrics_need_the_truth_and_a_prediction(gml, folder):
    batch, figures = folder / "b.csv", folder / "m.json"
    batch.write_text("smoke\nyes\n")
    asked = ("query", "asia.bif", "--batch", batch, "--metrics", figures)
    assert "has no column 'lung'" in error_line(gml(*asked, "--predict", "lung"), 2)
    assert "--metrics is about predictions" in error_line(gml(*asked, "--target", "lung"), 2)
    assert "--metrics needs --batch" in error_line(
        gml("query", "asia.bif", "--metrics", figures), 2
    )
    assert not figures.exists()


def test_levels_named_true_have_a_column_of_their_own(gml, tmp_path):
    (tmp_path / "d.csv").write_text("a,b\n" + "x,true\n" * 30 + "y,false\n" * 20)
    (tmp_path / "g.dot").write_text("digraph { a -> b }")
    assert gml("fit-params", "d.csv", "g.dot", "-o", "m.json").returncode == 0
    predict = ["query", "m.json", "--predict", "b", "--batch", "d.csv", "-o", "/dev/null"]
    assert gml(*predict, "--metrics", "found.txt").returncode == 0
    assert (tmp_path / "found.txt").read_text().splitlines()[1:] == [
        "true_  false  true",
        "false     20     0",
        "true       0    30",
    ]

"""gml maxent as users run it."""

from __future__ import annotations

import json

import pytest

from tests.command_line import error_line

DIE = {"expectation": {"die": {str(face): face for face in range(1, 7)}}, "equals": 4.5}
WAIT = {"numeric": {"name": "wait", "support": [0, None], "mean": 2.0, "variance": 1.5}}


@pytest.fixture
def files(tmp_path):
    for name, content in (
        ("die.json", {"constraints": [DIE]}),
        ("wait.json", WAIT),
        ("typo.json", {"variables": {"A": ["no", "yes"]}, "constraints": [{"margin": "A", "counts": {"yess": 1}}]}),
        ("wide.json", {"numeric": {"name": "wait", "support": [0, None], "mean": 1, "variance": 2}}),
    ):  # fmt: skip
        (tmp_path / name).write_text(json.dumps(content))
    (tmp_path / "empty.json").write_text("")
    (tmp_path / "people.csv").write_text("sex,age,count\nm,,490\nf,,510\n,young,300\n,old,700\n")
    (tmp_path / "off.csv").write_text("sex,probability\nm,0.49\nf,0.52\n")
    (tmp_path / "pairs.csv").write_text(
        "A,B,C,probability\nn,n,,0.5\ny,y,,0.5\n,n,n,0.5\n,y,y,0.5\nn,,y,0.5\ny,,n,0.5\n"
    )
    return tmp_path


def test_the_die(gml, files):
    done = gml("maxent", "die.json", "-f", "text")
    assert done.returncode == 0
    assert done.stdout.decode().splitlines()[:7] == [
        "undirected, 1 node, 0 edges, 1 term",
        "  entropy           1.613581098",
        "  largest residual  below 1e-12",
        "  method            newton, 4 steps",
        "",
        "constraints",
        "  constraint                  multiplier  slack",
    ]
    assert "  constraint 1  E[die] = 4.5    0.371049\n" in done.stdout.decode()


def test_other_commands_take_the_model(gml, files):
    assert gml("maxent", "people.csv", "-o", "model.json").returncode == 0
    asked = gml("query", "model.json", "--target", "sex,age", "-f", "csv").stdout.decode()
    assert "m,old,0.343" in asked
    assert gml("sample", "model.json", "-n", "5").stdout.count(b"\n") == 6
    assert gml("verify", "model.json").returncode == 0
    assert gml("convert", "model.json", "model.uai").returncode == 0
    assert gml("draw", "model.json", "-o", "model.svg").returncode == 0
    learning = json.loads((files / "model.json").read_bytes())["graph"]["learning"]
    assert learning["command"] == "maxent"
    (files / "new.csv").write_text("sex,count\nm,1\nf,3\n")
    done = gml("maxent", "new.csv", "--reference", "model.json", "-f", "text")
    assert b"divergence from the reference" in done.stdout


def test_a_second_run_writes_the_same_bytes(gml, files):
    first, second = (gml("maxent", "people.csv", "--threads", n).stdout for n in ("1", "2"))
    assert first == second


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["typo.json"], 3, "'A' has no level 'yess'; did you mean 'yes'?"),
        (["empty.json"], 3, "empty.json: the file is empty: there are no constraints"),
        (["nothing.json"], 3, "nothing.json: No such file"),
        (["off.csv"], 3, "add up to 1.01, which is 0.01 more than 1; --normalise scales every"),
        (["pairs.csv"], 3, "line 2 (the margin of 'A', 'B'); line 4 (the margin of 'B', 'C'); and line 6"),
        (["wide.json"], 4, "E x^2 = 3 is more than the 2 of the one without this moment"),
        (["wait.json", "--quantiles", "0.5,2"], 2, "--quantiles must be numbers between 0 and 1, not '2'"),
        (["people.csv", "--quantiles", "0.5"], 2, "--quantiles is for a numeric variable"),
        (["people.csv", "--draws", "5"], 2, "gml sample draws rows from the model"),
        (["people.csv", "-f", "csv"], 2, "--format csv is for a numeric variable"),
        (["wait.json", "-f", "uai"], 2, "a density is written as json, text, csv or a picture"),
        (["wait.json", "--draws", "5", "-f", "json"], 2, "draws are written as CSV, not as json"),
        (["wait.json", "--draws", "5", "-o", "x.json"], 2, "cannot write 'x.json'"),
        (["wait.json", "--draws", "5", "-o", "x.svg"], 2, "cannot write 'x.svg'"),
        (["wait.json", "--reference", "people.json"], 3, "people.json: No such file"),
        ([], 2, "Missing argument 'CONSTRAINTS'"),
    ],
)  # fmt: skip
def test_refused(gml, files, arguments, code, message):
    done = gml("maxent", *arguments)
    assert message in error_line(done, code)
    assert done.stdout == b""


def test_help_says_who_takes_constraints(gml, files):
    said = " ".join(gml("help", "constraints").stdout.decode().split())
    assert "What gml maxent and gml rake take" in said
    assert "rake takes margins alone" in said


def test_one_row_over_many_columns(gml, files):
    columns = [f"v{k}" for k in range(20)]
    text = ",".join([*columns, "count"]) + "\n" + ",".join(["x"] * 20 + ["5"]) + "\n"
    (files / "row.csv").write_text(text)
    done = gml("maxent", "row.csv", "-f", "json")
    assert done.returncode == 0
    found = json.loads(done.stdout)["graph"]["learning"]["maxent"]
    assert (found["entropy"], found["constraints"][0]["multipliers"]) == (0.0, [0.0])


def test_normalise(gml, files):
    done = gml("maxent", "off.csv", "--normalise", "-o", "model.json")
    assert done.returncode == 0
    asked = gml("query", "model.json", "--target", "sex", "-f", "csv").stdout.decode()
    shares = [float(line.split(",")[-1]) for line in asked.splitlines()[1:]]
    assert sorted(shares) == pytest.approx([0.49 / 1.01, 0.52 / 1.01])


def test_a_density_in_every_format(gml, files):
    shown = gml("maxent", "wait.json", "-f", "text", "--quantiles", "0.5").stdout.decode()
    assert "wait: density on [0, ∞) of largest entropy" in shown
    assert "  0.5  1.868192576\n" in shown
    found = json.loads(gml("maxent", "wait.json", "--quantiles", "0.5").stdout)
    assert found["quantiles"][0]["value"] == pytest.approx(1.868192576, abs=1e-9)
    assert gml("maxent", "wait.json", "-f", "csv").stdout.startswith(b"wait,density,cumulative\n")
    for name in ("wait.svg", "wait.png"):
        assert gml("maxent", "wait.json", "-o", name).returncode == 0
    assert (files / "wait.svg").read_text().startswith("<svg")
    drawn = [gml("maxent", "wait.json", "--draws", "4", "--seed", seed).stdout for seed in "112"]
    assert drawn[0] == drawn[1] != drawn[2]
    assert drawn[0].count(b"\n") == 5


def test_what_wants_a_model_of_labels_refuses_a_density(gml, files):
    assert gml("maxent", "wait.json", "-o", "density.json").returncode == 0
    done = gml("query", "density.json", "--target", "wait")
    assert "the density of a numeric variable, which gml maxent wrote" in error_line(done, 3)


def test_a_reader_that_has_enough(shell, files):
    done = shell("G maxent wait.json --draws 300000 | head -1; G maxent die.json | head -1")
    assert done.stderr == b""
    assert done.stdout.splitlines()[0] == b"wait"


def test_text_lists_the_probabilities(gml, files):
    told = gml("maxent", "die.json", "-f", "text").stdout.decode()
    assert "probabilities\n  die  probability\n  1      0.0543532\n" in told
    many = {f"v{k:02}": {"a": 1, "b": 3} for k in range(40)}
    (files / "many.json").write_text(json.dumps(many))
    told = gml("maxent", "many.json", "-f", "text").stdout.decode()
    assert "  variable  level  probability\n  v00       a             0.25\n" in told
    assert "  and 20 more: gml query has all\n" in told


def test_help_says_which_quantiles_there_are_by_default(gml):
    told = " ".join(gml("maxent", "--help").stdout.decode().split())
    assert "By default text has those of 0.025,0.25,0.5,0.75,0.975" in told


def test_a_contradiction_of_moments_names_them(gml, files):
    (files / "odd.json").write_text('{"numeric": {"support": [0, 1], "mean": 0.5, "variance": 1}}')
    told = error_line(gml("maxent", "odd.json"), 3)
    assert "has the mean 0.5 and the variance 1: with this mean the variance" in told

"""gml crf as users run it, and what other commands do with its models."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import gml as library
from tests.command_line import error_line, printed_rows

INPUTS = "smoke=yes,asia=no,xray=yes,dysp=yes"


@pytest.fixture
def asia(sample_data):
    return sample_data / "asia.csv"


@pytest.fixture
def field(gml, asia, tmp_path):
    """A field of two targets given four inputs."""
    done = gml("crf", asia, "-t", "lung,bronc", "--exclude", "either,tub", "-o", "field.json")
    assert done.returncode == 0, done.stderr
    return tmp_path / "field.json"


def finished(done):
    assert done.returncode == 0, done.stderr.decode()
    return done


def told(done):
    return finished(done).stderr.decode()


def test_the_file_is_what_the_library_makes(field, asia):
    found = json.loads(field.read_text())
    assert found["graph"]["kind"] == "crf" and found["graph"]["field"] == "table"
    assert {node["id"]: node["role"] for node in found["nodes"]} == {
        **dict.fromkeys(("lung", "bronc"), "target"),
        **dict.fromkeys(("asia", "smoke", "xray", "dysp"), "input"),
    }
    assert found["graph"]["learning"]["options"] == {
        "exclude": ["either", "tub"],
        "target": ["lung", "bronc"],
    }
    net = library.crf(asia, target=["lung", "bronc"], exclude=["either", "tub"])
    again = library.read_model(field)
    assert again.summary == net.summary
    for scope, weights in net.tables.items():
        assert np.array_equal(again.tables[scope], weights)


def test_report(gml, asia):
    text = gml(
        "crf", asia, "-t", "lung,bronc", "--exclude", "either", "--folds", "3", "-f", "text"
    ).stdout.decode()
    lines = text.splitlines()
    assert lines[0] == "conditional random field, 2 targets given 5 inputs, 11 edges, 48 weights"
    assert ["predictions", "fitted", "rows", "3", "folds"] in [line.split() for line in lines]
    assert any(line.startswith("lung: accuracy ") for line in lines)
    assert "features, strongest first (sum-to-zero gauge)" in lines
    assert lines[-13].split() == ["lung=yes", "-2.70203"]


def test_formats_by_suffix(gml, asia, tmp_path):
    for name, start in (
        ("field.txt", "conditional random field"),
        ("field.dot", "digraph"),
        ("field.graphml", "<graphml"),
        ("field.svg", "<svg"),
    ):
        done = gml("crf", asia, "-t", "lung", "-c", "lung,smoke", "-o", name)
        assert done.returncode == 0, done.stderr
        assert (tmp_path / name).read_text().startswith(start)
    done = gml("crf", asia, "-t", "lung", "-o", "field.bif")
    assert ".json .txt .dot" in error_line(done, 2)


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        ([], 2, "Missing option '-t' / '--target'"),
        (["-t", "lungs"], 2, "--target: column 'lungs' not found; did you mean 'lung'?"),
        (["-t", "lung,lung"], 2, "--target lists 'lung' more than once"),
        (["-t", "lung", "-c", "lung"], 2, "all columns are targets"),
        (["-t", "lung", "--l2", "-1"], 2, "--l2"),
        (["-t", "lung", "--l2", "best"], 2, "'best' is not a valid float"),
        (["-t", "lung", "--l2", "1e40"], 2, "--l2 must be 0, or between 1e-30 and 1e30, not 1e40"),
        (["-t", "lung", "--folds", "1"], 2, "--folds"),
        (["-t", "lung", "--folds", "5001"], 4, "5000 rows cannot be split into 5001 parts"),
        (["-t", "lung", "--seed", "3"], 2, "--seed is for --folds"),
        (["-t", "lung", "--missing", "available"], 2, "--missing available"),
        (["-t", "lung", "--numeric", "smoke"], 3, "line 2: column 'smoke': 'no' is not a number"),
        (["-t", "lung", "--l2", "0"], 4, "no row has 'lung=yes with either=no'"),
        (["-t", "lung", "--holdout", "nowhere.csv"], 3, "nowhere.csv"),
    ],
)
def test_what_is_refused(gml, asia, options, code, said):
    done = gml("crf", asia, *options)
    assert said in error_line(done, code)
    assert done.stdout == b""


def rows(path, header, *lines):
    path.write_text("\n".join([header, *lines]) + "\n")
    return path


def test_a_target_without_variation(gml, tmp_path):
    path = rows(tmp_path / "t.csv", "y,x", "a,p", "a,q", "a,p")
    done = gml("crf", path, "-t", "y")
    assert done.returncode == 3
    last = done.stderr.decode().splitlines()[-1]
    assert last == "gml: error: target 'y' has only one level, 'a': there is nothing to predict"


def test_numbers_may_be_cut(gml, tmp_path):
    lines = [f"{'ab'[k % 3 == 0]},{k / 7}" for k in range(40)]
    path = rows(tmp_path / "t.csv", "y,x", *lines)
    cut = gml("crf", path, "-t", "y", "--bins", "3", "-o", "f.json")
    assert cut.returncode == 0, cut.stderr
    found = gml("query", "f.json", "--evidence", "x=0.5", "-f", "json")
    assert json.loads(found.stdout)["given"] == {"x": "[-inf,1.8571428571428572)"}


def test_missing_values(gml, tmp_path):
    path = rows(tmp_path / "t.csv", "y,x", "a,p", "b,q", "a,", "b,p", "a,q", ",q")
    done = gml("crf", path, "-t", "y")
    assert "missing values: 'y' 1, 'x' 1" in error_line(done, 3)
    dropped = gml("crf", path, "-t", "y", "--missing", "drop")
    assert json.loads(dropped.stdout)["graph"]["fit"]["rows"] == 4
    level = gml("crf", path, "-t", "y", "--missing", "level", "-o", "f.json")
    assert level.returncode == 0
    levels = {n["id"]: n["levels"] for n in json.loads((tmp_path / "f.json").read_text())["nodes"]}
    assert levels == {"y": ["a", "b", "NA"], "x": ["p", "q", "NA"]}


def test_folds_and_holdout(gml, asia, tmp_path):
    lines = asia.read_text().splitlines()
    rows(tmp_path / "old.csv", lines[0], *lines[1:3001])
    rows(tmp_path / "new.csv", lines[0], *lines[3001:])
    done = gml("crf", "old.csv", "-t", "lung", "-c", "lung,smoke,xray", "--holdout", "new.csv")
    found = json.loads(done.stdout)
    fit = found["graph"]["fit"]
    assert (fit["heldout"]["rows"], fit["heldout_by"]) == (2000, "holdout")
    assert set(found["graph"]["hash"]["inputs"]) == {"data", "holdout"}
    assert "holdout" not in found["graph"]["learning"]["options"]
    (tmp_path / "field.json").write_bytes(done.stdout)
    gml(
        "query",
        "field.json",
        "--predict",
        "lung",
        "--batch",
        "new.csv",
        "--metrics",
        "m.json",
        "-o",
        "p.csv",
    )
    metrics = json.loads((tmp_path / "m.json").read_text())
    assert fit["heldout"]["log_loss"] == pytest.approx(metrics["log_loss"], rel=1e-12)
    assert fit["heldout"]["accuracy"] == metrics["accuracy"]
    both = gml("crf", "old.csv", "-t", "lung", "--holdout", "new.csv", "--folds", "3")
    assert "--holdout and --folds exclude one another" in error_line(both, 2)


def test_held_out_rows_that_lack_a_column_are_named(gml, sample_data, tmp_path):
    rows(tmp_path / "old.csv", "y,x,z", "a,p,u", "b,q,u", "a,q,v", "b,p,v")
    rows(tmp_path / "new.csv", "y,z", "a,u", "b,v")
    done = gml("crf", "old.csv", "-t", "y", "--columns", "x,y", "--holdout", "new.csv")
    assert "--holdout: new.csv: column 'x' not found; there are 'y', 'z'" in error_line(done, 2)
    data = sample_data / "icecream.csv"
    done = gml("crf", data, "-t", "weather", "--sequence", "diary", "--holdout", "new.csv")
    assert "--holdout: new.csv: sequence column 'diary' not found" in error_line(done, 2)


def test_held_out_levels_must_be_known(gml, tmp_path):
    rows(tmp_path / "old.csv", "y,x", "a,p", "b,q", "a,q", "b,p")
    rows(tmp_path / "new.csv", "y,x", "a,p", "b,r")
    done = gml("crf", "old.csv", "-t", "y", "--holdout", "new.csv")
    assert "new.csv: line 3: column 'x': level 'r' not found" in error_line(done, 3)


def test_the_seed_makes_the_folds(gml, asia):
    def losses(seed):
        options = ("-t", "lung", "-c", "lung,smoke", "--folds", "3", "--seed", seed)
        return json.loads(gml("crf", asia, *options).stdout)["graph"]["fit"]["heldout"]["log_loss"]

    assert losses("1") == losses("1") != losses("2")


def test_graphs(gml, asia, sample_data, tmp_path):
    done = gml("crf", asia, sample_data / "asia.dot", "-t", "lung,tub", "-o", "field.json")
    said = told(done)
    assert "its moral graph is fitted, with 2 more edges" in said
    assert "not joined with a target, left out: 'bronc', 'xray', 'dysp'" in said
    assert "5 edges between inputs are ignored" in said
    net = library.read_model(tmp_path / "field.json")
    assert {tuple(sorted(f.names)) for f in net.features if len(f.names) == 2} == {
        *(("lung", "tub"), ("either", "lung"), ("either", "tub")),
        *(("lung", "smoke"), ("asia", "tub")),
    }
    # A field's own graph, with another target.
    again = gml("crf", asia, "field.json", "-t", "lung", "-f", "text")
    assert "not joined with a target, left out: 'asia'" in told(again)
    (tmp_path / "apart.dot").write_text("graph { lung; smoke; xray -- dysp }")
    alone = gml("crf", asia, "apart.dot", "-t", "lung")
    assert alone.returncode == 3
    assert b"no edge of the graph joins 'lung' with another column" in alone.stderr
    swapped = gml("crf", sample_data / "asia.dot", asia, "-t", "lung")
    assert "data come first" in error_line(swapped, 2)


def test_too_many_targets_are_refused_before(gml, tmp_path):
    names = [f"y{k:02d}" for k in range(40)]
    lines = [",".join(str((r >> (k % 5)) & 1) for k in range(41)) for r in range(40)]
    path = rows(tmp_path / "t.csv", ",".join([*names, "x"]), *lines)
    done = gml("crf", path, "-t", ",".join(names))
    assert "the treewidth is 39" in error_line(done, 4)
    assert "a graph in which fewer targets are joined takes less" in error_line(done, 4)


def test_time_that_is_up(gml, asia):
    done = gml("crf", asia, "-t", "lung", "--max-seconds", "0")
    assert done.returncode == 5
    assert b"stopped by --max-seconds: this is the model so far" in done.stderr
    assert json.loads(done.stdout)["graph"]["learning"]["complete"] is False


def test_row_and_column_order_and_threads_change_no_weight(gml, asia, tmp_path):
    lines = asia.read_text().splitlines()
    header, *body = [line.split(",") for line in lines]
    order = np.random.default_rng(0).permutation(len(header))
    turned = [",".join(row[k] for k in order) for row in [header, *reversed(body)]]
    rows(tmp_path / "turned.csv", *turned)

    def features(path, *options):
        found = json.loads(gml("crf", path, "-t", "lung,bronc", *options).stdout)
        return {tuple(f["scope"]): f["weights"] for f in found["features"]}

    expected = features(asia, "--threads", "1")
    assert features("turned.csv") == expected
    assert features(asia, "--threads", "2") == expected


# ---------------------------------------------------------------------- query


def test_query(gml, field):
    text = gml("query", field, "--evidence", INPUTS).stdout.decode().splitlines()
    assert text[0] == "given smoke=yes, asia=no, xray=yes, dysp=yes"
    assert [line.split()[:2] for line in text[2:]] == [
        *(["lung", "no"], ["lung", "yes"], ["bronc", "no"], ["bronc", "yes"])
    ]
    found = json.loads(
        gml("query", field, "-t", "lung", "--evidence", f"{INPUTS},bronc=yes", "-f", "json").stdout
    )
    assert found["given"] == dict(pair.split("=") for pair in INPUTS.split(","))
    assert found["evidence"] == {"bronc": "yes"}
    joint = json.loads(
        gml("query", field, "-t", "lung,bronc", "--evidence", INPUTS, "-f", "json").stdout
    )
    p = {(r["lung"], r["bronc"]): r["probability"] for r in joint["results"]}
    share = p["yes", "yes"] + p["no", "yes"]
    assert found["evidence_probability"] == pytest.approx(share)
    assert found["results"][1]["probability"] == pytest.approx(p["yes", "yes"] / share)
    best = json.loads(gml("query", field, "--mpe", "--evidence", INPUTS, "-f", "json").stdout)
    assert best["probability"] == pytest.approx(max(p.values()))
    some = gml("query", field, "--map", "-t", "lung", "--evidence", INPUTS)
    assert some.stdout.decode().splitlines()[-1].split() == ["lung", "yes"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["-t", "lung", "--evidence", "smoke=yes"], "'asia', 'xray', 'dysp' have no value"),
        (["-t", "smoke"], "'smoke' is an input of the conditional field"),
        (["-t", "lung", "--do", "smoke=yes"], "--do cuts nodes off from their parents"),
        (["-t", "lung", "--evidence", "smoke=maybe"], "'smoke' has no level 'maybe'"),
        (["--batch", "asia.csv"], "--target or --predict, or, of a conditional field, --mpe"),
        (
            ["--batch", "asia.csv", "--predict", "lung,bronc"],
            "--predict takes one target, not 'lung', 'bronc'; --mpe predicts all together",
        ),
        (["--batch", "asia.csv", "--predict", "lung,xray"], "node 'lung,xray' not found"),
    ],
)
def test_questions_that_are_refused(gml, field, options, said):
    done = gml("query", field, *options)
    assert said in error_line(done, 2)


def test_rows(gml, field, asia, tmp_path):
    marginals = printed_rows(gml("query", field, "-t", "lung,bronc", "--batch", asia))
    assert len(marginals) == 5000
    row = marginals[1]
    evidence = ",".join(f"{name}={row[name]}" for name in ("asia", "smoke", "xray", "dysp"))
    single = json.loads(gml("query", field, "--evidence", evidence, "-f", "json").stdout)
    for found in single["results"]:
        p = float(row[f"{found['node']}={found['level']}"])
        assert p == pytest.approx(found["probability"], rel=1e-12)
    # A column of another target is evidence for the one that is predicted.
    done = gml("query", field, "--predict", "lung", "--batch", asia, "-o", "p.csv")
    assert "'bronc' is known in" in told(done) and "lung: 5000 rows, accuracy 0.9" in told(done)
    decoded = gml("query", field, "--mpe", "--batch", asia)
    rows_found = printed_rows(decoded)
    assert list(rows_found[0])[-3:] == ["lung_predicted", "bronc_predicted", "p_together"]
    best = json.loads(gml("query", field, "--mpe", "--evidence", evidence, "-f", "json").stdout)
    assert float(rows_found[1]["p_together"]) == pytest.approx(best["probability"], rel=1e-12)
    right = sum(
        row["lung"] == row["lung_predicted"] and row["bronc"] == row["bronc_predicted"]
        for row in rows_found
    )
    assert f"lung, bronc: 5000 rows, accuracy {right / 5000:.6g}, Hamming loss" in told(decoded)


def test_figures_of_decoded_rows(gml, field, asia, tmp_path):
    options = ("--mpe", "--batch", asia, "--metrics", "m.json", "-o", "d.csv")
    told(gml("query", field, *options))
    found = json.loads((tmp_path / "m.json").read_text())
    assert found["targets"] == ["lung", "bronc"]
    by_target = found["accuracy_by_target"]
    assert found["hamming_loss"] == pytest.approx(1 - sum(by_target.values()) / 2)
    for name in ("m.txt", "m.csv", "m.md"):
        told(gml("query", field, *options[:-4], "--metrics", name, "-o", "d.csv"))
        assert "lung" in (tmp_path / name).read_text()
    rows(tmp_path / "blind.csv", "asia,smoke,xray,dysp,lung", "no,yes,no,no,no", "no,no,no,no,")
    refused = gml(
        "query", field, "--mpe", "--batch", "blind.csv", "--metrics", "m.json", "-o", "d.csv"
    )
    assert "has no column 'bronc'" in error_line(refused, 2)
    alone = gml("query", field, "--mpe", "--batch", "blind.csv")
    assert len(printed_rows(alone)) == 2


def test_rows_with_unknown_levels_and_gaps(gml, field, tmp_path):
    rows(tmp_path / "new.csv", "asia,smoke,xray,dysp", "no,yes,no,no", "no,pipe,no,no", "no,,no,no")
    done = gml("query", field, "--predict", "lung", "--batch", "new.csv")
    assert "new.csv: line 3: column 'smoke' has no level 'pipe'; there" in error_line(done, 3)
    assert "--ignore-unknown" in error_line(done, 3)
    rows(tmp_path / "gap.csv", "asia,smoke,xray,dysp", "no,yes,no,no", "no,,no,no")
    gap = gml("query", field, "--predict", "lung", "--batch", "gap.csv")
    assert "gap.csv: line 3: column 'smoke' is missing, and the model needs it" in error_line(
        gap, 3
    )
    found = gml("query", field, "-t", "lung", "--batch", "new.csv", "--ignore-unknown")
    known, unknown, missing = (float(row["lung=yes"]) for row in printed_rows(found))
    assert unknown == missing != known
    net = library.read_model(field)
    log_odds = net.tables["lung",][1] - net.tables["lung",][0]
    assert math.isfinite(log_odds)
    # Without the features of that column, and bronchitis summed out.
    weights = np.zeros((2, 2))
    codes = {"asia": 0, "xray": 0, "dysp": 0}
    for target, axis in (("lung", 0), ("bronc", 1)):
        own = net.tables[target,] + sum(net.tables[target, k][:, code] for k, code in codes.items())
        weights += own[:, None] if axis == 0 else own[None, :]
    weights += net.tables["bronc", "lung"].T
    p = np.exp(weights) / np.exp(weights).sum()
    assert unknown == pytest.approx(p[1].sum(), rel=1e-12)


def test_rows_that_are_let_through_are_counted(gml, field, tmp_path):
    rows(tmp_path / "new.csv", "asia,smoke,xray,dysp", "no,,no,no", "no,pipe,no,", "no,,no,no")
    done = gml("query", field, "--predict", "lung", "--batch", "new.csv", "--ignore-unknown")
    said = told(done)
    assert "values that the model does not know, treated as missing: 'smoke' 1\n" in said
    assert "missing inputs, whose rows are answered without them: 'smoke' 2, 'dysp' 1\n" in said


def test_rows_without_an_input(gml, field, tmp_path):
    rows(tmp_path / "new.csv", "asia,smoke,xray", "no,yes,no")
    done = gml("query", field, "--predict", "lung", "--batch", "new.csv")
    assert "no column 'dysp', and the model says nothing without it" in error_line(done, 3)
    fixed = gml("query", field, "--predict", "lung", "--batch", "new.csv", "--evidence", "dysp=yes")
    assert len(printed_rows(fixed)) == 1


def test_missing_as_a_level_in_rows(gml, tmp_path):
    rows(tmp_path / "t.csv", "y,x", *["a,p", "b,q", "a,", "b,p", "a,q", "a,"] * 5)
    told(gml("crf", "t.csv", "-t", "y", "--missing", "level", "-o", "f.json"))
    rows(tmp_path / "n.csv", "x,id", "p,1", ",2")
    done = gml("query", "f.json", "-t", "y", "--batch", "n.csv", "--missing", "level")
    found = printed_rows(done)
    single = gml("query", "f.json", "--evidence", "x=NA", "-f", "json")
    expected = json.loads(single.stdout)["results"][0]["probability"]
    assert float(found[1]["y=a"]) == pytest.approx(expected)
    refused = gml("query", "f.json", "-t", "y", "--batch", "n.csv")
    assert refused.returncode == 3
    said = "n.csv: line 3: column 'x' is missing, and the model needs it; --missing level takes"
    assert said in refused.stderr.decode()


def test_a_gap_that_the_model_has_no_level_for(gml, field, tmp_path):
    rows(tmp_path / "gap.csv", "asia,smoke,xray,dysp", "no,,no,no")
    done = gml("query", field, "--predict", "lung", "--batch", "gap.csv")
    assert "and a model fitted with --missing level knows what a gap says" in error_line(done, 3)


def test_help_of_query_tells_fields_from_other_models(gml):
    text = " ".join(finished(gml("query", "--help")).stdout.decode().split())
    assert "observes nothing (a conditional field, which needs every input, refuses it" in text


def test_what_is_refused_is_not_offered(gml, tmp_path):
    """Neither by an option, nor by a hint."""
    text = finished(gml("crf", "--help")).stdout.decode()
    assert "(tests)" not in text
    rows(tmp_path / "n.csv", "y,x", *[f"{'ab'[k % 2]},{k / 7}" for k in range(60)])
    assert "fisher-z" not in told(gml("crf", "n.csv", "-t", "y"))
    done = gml("crf", "n.csv", "-t", "y", "--missing", "available")
    assert "--missing available is for --sequence" in error_line(done, 2)


@pytest.mark.parametrize("name", ["weight", "Freq"])
def test_weights_that_would_be_inputs_are_pointed_out(gml, tmp_path, name):
    cells = [f"{'ab'[k % 2]},{'pq'[k % 3 % 2]},{0.5 + k % 3}" for k in range(60)]
    rows(tmp_path / "w.csv", f"y,x,{name}", *cells)
    warned = f"warning: taken as an input: '{name}'; if it says how much a row counts"
    said = told(gml("crf", "w.csv", "-t", "y"))
    assert warned in said
    assert f"--weights-fractional {name}" in said and f"--exclude {name} leaves it out" in said
    for known in (
        ("--weights-fractional", name),
        ("--exclude", name),
        ("--columns", f"y,x,{name}"),
    ):
        assert "taken as" not in told(gml("crf", "w.csv", "-t", "y", *known))
    assert "taken as" not in told(gml("crf", "w.csv", "-t", name))
    weighted = gml("crf", "w.csv", "-t", "y", "--weights-fractional", name, "-f", "text")
    assert b"rows            90, 2 different" in weighted.stdout


def test_weighted_rows_have_six_digits(gml, tmp_path):
    cells = [f"{'ab'[k % 2]},{'pq'[k % 3 % 2]},{1.123456789 + k % 3}" for k in range(60)]
    rows(tmp_path / "w.csv", "y,x,weight", *cells)
    for command in (("crf", "w.csv", "-t", "y"), ("mrf", "w.csv", "--structure", "complete")):
        done = gml(*command, "--weights-fractional", "weight", "-f", "text")
        shown = [line.split()[1] for line in done.stdout.decode().splitlines() if " rows" in line]
        assert shown[0].rstrip(",") == "127.407"


def test_rows_of_parquet(gml, field, asia, tmp_path):
    table = pytest.importorskip("pandas").read_csv(asia, dtype=str).head(50)
    table.to_parquet(tmp_path / "a.parquet")
    table.to_csv(tmp_path / "a.csv", index=False)
    found = [
        finished(gml("query", field, "--predict", "lung", "--batch", f"a.{kind}")).stdout
        for kind in ("parquet", "csv")
    ]
    assert found[0] == found[1]
    table.loc[3, "smoke"] = None
    table.to_parquet(tmp_path / "gap.parquet")
    done = gml("query", field, "--predict", "lung", "--batch", "gap.parquet")
    assert b"gap.parquet: data row 4: column 'smoke' is missing" in done.stderr


def test_mpe_of_rows_is_for_fields(gml, asia, sample_data):
    told(gml("fit-params", asia, sample_data / "asia.dot", "-o", "net.json"))
    done = gml("query", "net.json", "--mpe", "--batch", asia)
    assert "--mpe of rows is for conditional fields" in error_line(done, 2)
    done = gml("query", "net.json", "--mpe", "--predict", "lung", "--batch", asia)
    assert "itself; choose one" in error_line(done, 2)


# ---------------------------------------------------------------------- numeric inputs


@pytest.fixture
def boats(gml, tmp_path):
    """A field of a table with numbers, and its first rows without the target."""
    rng = np.random.default_rng(8)
    kinds = rng.integers(0, 3, 90)
    lines = [
        f"{('barge', 'ketch', 'yawl')[k]},{6 + 4 * k + rng.gamma(3):.2f},{'yn'[rng.random() < 0.4]},"
        f"{rng.normal(0, 1e-3):.3e}"
        for k in kinds
    ]
    rows(tmp_path / "boats.csv", "rig,length,engine,list", *lines)
    done = gml("crf", "boats.csv", "-t", "rig", "--numeric", "length,list", "-o", "boats.json")
    assert done.returncode == 0, done.stderr
    return tmp_path / "boats.json"


BOAT = "length=12.5,engine=y,list=2e-4"


def test_a_field_with_numbers_is_what_the_library_makes(gml, boats, tmp_path):
    net = library.crf(tmp_path / "boats.csv", target="rig", numeric=["length", "list"])
    again = library.read_model(boats)
    assert again.scales == net.scales and again.summary == net.summary
    for scope, weights in net.tables.items():
        assert np.array_equal(again.tables[scope], weights)
    nodes = {node["id"]: node for node in json.loads(boats.read_text())["nodes"]}
    assert nodes["length"]["scale"] == net.scales["length"]._asdict()
    asked = gml("query", boats, "--evidence", BOAT, "-f", "json")
    answer = net.query("rig", {"length": 12.5, "engine": "y", "list": 2e-4})["rig"]
    shown = json.loads(finished(asked).stdout)
    assert shown["given"] == {"length": 12.5, "engine": "y", "list": 2e-4}
    assert f'"level": "yawl", "probability": {answer["yawl"]!r}}}' in asked.stdout.decode()


def test_threads_and_hash_seeds_change_no_byte_of_a_field_with_numbers(gml_process, boats):
    found = {
        gml_process(
            *("crf", "boats.csv", "-t", "rig", "--numeric", "length,list", "--folds", "3"),
            *("--threads", str(threads)),
            env={"PYTHONHASHSEED": str(seed)},
        ).stdout
        for threads, seed in ((1, 0), (2, 1))
    }
    assert len(found) == 1 and b'"scale": {"mean": ' in found.pop()


def test_rows_are_predicted_from_numbers(gml, boats, tmp_path):
    done = gml("query", boats, "--predict", "rig", "--batch", "boats.csv", "-o", "out.csv")
    assert "rig: 90 rows, accuracy 0." in told(done)
    net, table = library.read_model(boats), np.genfromtxt(tmp_path / "out.csv", str, delimiter=",")
    found = net.predict(tmp_path / "boats.csv")
    assert table[1:, -2].tolist() == found.predicted.tolist()
    assert table[1:, -1].astype(float) == pytest.approx(found.probability, abs=1e-12)


def test_numbers_of_new_rows_that_are_missing_or_none(gml, boats, tmp_path):
    rows(tmp_path / "gap.csv", "length,engine,list", "7.5,y,0", ",n,0")
    done = gml("query", boats, "--predict", "rig", "--batch", "gap.csv")
    said = "gap.csv: line 3: column 'length' is missing, and the model needs it; --ignore-unknown"
    assert f"{said} takes the mean of the rows that it was fitted on" in error_line(done, 3)
    done = gml("query", boats, "--predict", "rig", "--batch", "gap.csv", "--ignore-unknown")
    assert "missing inputs, whose rows are answered without them: 'length' 1" in told(done)
    rows(tmp_path / "text.csv", "length,engine,list", "long,y,0")
    done = gml("query", boats, "--predict", "rig", "--batch", "text.csv")
    assert "column 'length': 'long' is not a number" in error_line(done, 3)
    done = gml("query", boats, "--evidence", "length=long,engine=y,list=0")
    assert "node 'length' has numbers, and 'long' is not a number" in error_line(done, 2)
    done = gml("query", boats, "--evidence", "length=9,engine=y")
    assert "'list' has no value, and a conditional field needs one" in error_line(done, 2)
    done = gml("query", boats, "--target", "length", "--evidence", "engine=y,list=0")
    assert "'length' is an input of the conditional field" in error_line(done, 2)


def test_training_rows_that_lack_a_number(gml, tmp_path):
    lines = [f"{'ab'[k % 3 == 0]},{k / 7}" for k in range(40)]
    rows(tmp_path / "t.csv", "y,x", *lines, "a,", "b,")
    how = ("crf", "t.csv", "-t", "y", "--numeric", "x")
    assert "missing values: 'x' 2" in error_line(gml(*how), 3)
    assert json.loads(gml(*how, "--missing", "drop").stdout)["graph"]["fit"]["rows"] == 40
    level = gml(*how, "--missing", "level")
    assert level.returncode in (2, 3) and b"--missing level" in level.stderr


def test_targets_of_numbers_are_refused(gml, boats):
    done = gml("crf", "boats.csv", "-t", "length", "--numeric", "length,list")
    said = "is for categorical columns, and column 'length' is numeric; cut it into intervals"
    assert f"{said} (--bins 4), treat values as categories (--kinds labels)" in error_line(done, 3)


def test_report_and_picture_of_numbers(gml, boats):
    lines = gml("crf", "boats.csv", "-t", "rig", "--numeric", "length,list", "-f", "text").stdout
    lines = lines.decode().splitlines()
    assert any(line.split()[:4] == ["rig=yawl", "length", "per", "sd"] for line in lines)
    assert lines[-3].split() == ["numeric", "inputs", "mean", "sd"]
    assert [line.split()[0] for line in lines[-2:]] == ["length", "list"]
    told(gml("draw", boats, "--evidence", BOAT, "-o", "given.svg"))
    told(gml("draw", boats, "-o", "field.svg"))


def test_graphs_join_numbers(gml, boats, tmp_path):
    (tmp_path / "g.dot").write_text("graph { rig -- length; engine -- rig }")
    how = ("crf", "boats.csv", "g.dot", "-t", "rig", "--numeric", "length")
    found = json.loads(finished(gml(*how)).stdout)
    assert {node["id"]: "scale" in node for node in found["nodes"]} == {
        "rig": False,
        "length": True,
        "engine": False,
    }
    again = gml("crf", "boats.csv", boats, "-t", "rig", "--numeric", "length,list")
    assert finished(again)


# ---------------------------------------------------------------------- other commands


@pytest.mark.parametrize(
    "line",
    [
        "sample field.json -n 3",
        "check DATA field.json",
        "score DATA field.json",
        "fit-params DATA field.json",
        "compare field.json field.json",
        "convert field.json net.bif",
        "convert field.json net.json",
        "mrf DATA field.json",
        "report DATA field.json -o page.html",
        "count DATA --graph field.json -o counts.parquet",
        "indtest DATA --implied field.json",
        "hc DATA --start field.json",
    ],
)
def test_commands_that_need_a_joint_distribution_refuse_it(gml, field, asia, line):
    done = gml(*[str(asia) if word == "DATA" else word for word in line.split()])
    assert "a conditional random field says p(y | x) and nothing about x" in error_line(done, 3)


def test_draw(gml, field, tmp_path):
    told(gml("draw", field, "-o", "field.svg"))
    assert "a conditional random field, 6 nodes" in (tmp_path / "field.svg").read_text()
    told(gml("draw", field, "--evidence", INPUTS, "-o", "given.svg"))
    answer = gml("query", field, "--evidence", INPUTS, "-f", "csv").stdout.decode().splitlines()
    share = 100 * float(answer[2].split(",")[2])
    assert f"{share:.3g} %" in (tmp_path / "given.svg").read_text()
    some = gml("draw", field, "--evidence", "smoke=yes", "-o", "given.svg")
    assert "have no value" in error_line(some, 2)
    bars = gml("draw", field, "--bars", "-o", "bars.svg")
    assert "only given all inputs" in error_line(bars, 2)
    cpt = gml("draw", field, "--kind", "cpt", "--node", "lung", "-o", "cpt.svg")
    assert "shows a table of a directed model" in error_line(cpt, 2)


def test_verify_knows_the_file(gml, field):
    assert b"ok" in gml("verify", field).stdout

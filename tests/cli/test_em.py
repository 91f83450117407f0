"""gml fit-params and gml score on incomplete rows: --missing em, and --hidden nodes."""

from __future__ import annotations

import json
import signal
import subprocess

import pytest

from gml.data.options import TAKE_EM
from tests.command_line import GML

# The crimes of Kadane (1985): both waves of a survey, with one of them missing now and then.
CRIMES = {
    ("free", "free"): 392,
    ("free", "victim"): 55,
    ("free", ""): 33,
    ("victim", "free"): 76,
    ("victim", "victim"): 38,
    ("victim", ""): 9,
    ("", "free"): 31,
    ("", "victim"): 7,
}
SHARES = (0.697123348738, 0.098630435197, 0.135783033800, 0.068463182265)
LIKELIHOOD = -562.503373071
HOLES = "a,b,c\nx,u,\nx,,1\ny,v,1\n,v,2\ny,u,2\n,,\nx,u,1\n"


@pytest.fixture
def folder(tmp_path):
    rows = "".join(f"{one},{other},{n}\n" for (one, other), n in CRIMES.items())
    (tmp_path / "crimes.csv").write_text(f"first,second,times\n{rows}")
    (tmp_path / "crimes.dot").write_text("digraph { first -> second }")
    (tmp_path / "holes.csv").write_text(HOLES)
    (tmp_path / "whole.csv").write_text("a,b,c\nx,u,1\nx,v,1\ny,v,2\ny,u,2\nx,u,1\ny,v,1\n")
    (tmp_path / "chain.dot").write_text("digraph { a -> b; b -> c }")
    (tmp_path / "classes.dot").write_text("digraph { H -> a; H -> b; H -> c }")
    return tmp_path


def fitted(gml, *options):
    done = gml("fit-params", "crimes.csv", "crimes.dot", "--weights", "times", *options)
    return json.loads(done.stdout)


def test_published_estimates_of_a_table_with_both_margins_partly_seen(gml, folder):
    model = fitted(gml, "--missing", "em")
    (first,), given = (node["cpt"] for node in model["nodes"])
    joint = [p * q for p, row in zip(first, given, strict=True) for q in row]
    assert joint == pytest.approx(SHARES, abs=1e-10)
    em = model["graph"]["learning"]["em"]
    assert em["log_likelihood"] == pytest.approx(LIKELIHOOD, abs=1e-8)
    assert em["converged"] is True
    assert em["parameters"] == 3
    assert (em["starts"], em["times_best"]) == (20, 20)
    assert em["ends"] == pytest.approx([LIKELIHOOD] * 20, abs=1e-6)


def test_counts_are_of_whole_families_and_expected_ones_of_all_rows(gml, folder):
    first, second = fitted(gml, "--missing", "em")["nodes"]
    assert first["counts"] == [[480, 123]]
    assert second["counts"] == [[392, 55], [76, 38]]
    assert sum(first["expected_counts"][0]) == pytest.approx(641)
    assert sum(map(sum, second["expected_counts"])) == pytest.approx(641)


def test_what_is_assumed_is_written_and_said(gml, folder):
    done = gml("fit-params", "crimes.csv", "crimes.dot", "--weights", "times", "--missing", "em")
    missing = json.loads(done.stdout)["graph"]["learning"]["missing"]
    assert missing == {
        "policy": "em",
        "assumed": "at random",
        "rows": 641,
        "columns": {"first": 38, "second": 42},
    }
    assumed, result = done.stderr.decode().splitlines()
    assert assumed == "gml: missing values are assumed to be missing at random"
    assert result.startswith("gml: log-likelihood of what was seen -562.503373, after ")
    assert result.endswith(" steps of EM, reached by 20 of 20 starts")


def test_starts_steps_and_seed_are_as_asked_for(gml, folder):
    em = fitted(gml, "--missing", "em", "--em-restarts", "3", "--seed", "7")["graph"]["learning"]
    assert len(em["em"]["ends"]) == 3
    done = gml(
        *("fit-params", "crimes.csv", "crimes.dot", "--weights", "times"),
        *("--missing", "em", "--em-steps", "2"),
    )
    assert done.returncode == 0
    em = json.loads(done.stdout)["graph"]["learning"]["em"]
    assert em["converged"] is False
    assert em["steps"] <= 3
    assert b"EM had not converged after" in done.stderr


def test_a_limit_of_time_exits_5_with_the_best_so_far(gml, folder):
    done = gml(
        *("fit-params", "crimes.csv", "crimes.dot", "--weights", "times"),
        *("--missing", "em", "--max-seconds", "0", "-o", "model.json"),
    )
    assert done.returncode == 5
    assert b"gml: warning: stopped by --max-seconds: this is the best so far" in done.stderr
    model = json.loads((folder / "model.json").read_text())
    assert model["graph"]["learning"]["complete"] is False


def test_complete_rows_have_the_ordinary_fit(gml, folder):
    options = ("--method", "bayes", "--ess", "3", "--intervals", "0.9")
    ordinary = json.loads(gml("fit-params", "whole.csv", "chain.dot", *options).stdout)
    done = gml("fit-params", "whole.csv", "chain.dot", "--missing", "em", *options)
    assert done.stderr == b""
    by_em = json.loads(done.stdout)
    assert by_em["nodes"] == ordinary["nodes"]
    assert by_em["edges"] == ordinary["edges"]
    assert by_em["graph"]["training"] == ordinary["graph"]["training"]
    assert by_em["graph"]["learning"]["em"]["steps"] == 1


def test_a_hidden_node_is_a_node_of_the_model(gml, folder):
    done = gml("fit-params", "holes.csv", "classes.dot", "--missing", "em", "--hidden", "H=2")
    assert done.returncode == 0
    hidden, *others = json.loads(done.stdout)["nodes"]
    assert (hidden["id"], hidden["levels"], hidden["hidden"]) == ("H", ["1", "2"], True)
    assert "counts" not in hidden
    assert hidden["cpt"][0][0] >= hidden["cpt"][0][1] - 1e-9
    assert [("hidden" in node, "counts" in node) for node in others] == [(False, False)] * 3
    (folder / "model.json").write_bytes(done.stdout)
    answer = gml("query", "model.json", "--target", "H", "--evidence", "a=x", "-f", "json")
    assert answer.returncode == 0
    drawn = gml("sample", "model.json", "-n", "3")
    assert drawn.stdout.splitlines()[0] == b"H,a,b,c"
    assert gml("convert", "model.json", "again.json").returncode == 0
    again = json.loads((folder / "again.json").read_text())
    assert again["nodes"] == json.loads(done.stdout)["nodes"]
    assert gml("compare", "model.json", "again.json").returncode == 0
    assert gml("draw", "model.json", "-o", "model.svg").returncode == 0
    assert "stroke-dasharray" in (folder / "model.svg").read_text()


def test_a_model_with_a_hidden_node_is_fitted_again_without_naming_it(gml, folder):
    options = ("--missing", "em", "--em-restarts", "2")
    first = gml(
        "fit-params", "holes.csv", "classes.dot", *options, "--hidden", "H=3", "-o", "m.json"
    )
    assert first.returncode == 0
    again = gml("fit-params", "holes.csv", "m.json", *options)
    assert again.returncode == 0
    assert json.loads(again.stdout)["nodes"] == json.loads((folder / "m.json").read_text())["nodes"]


def test_incomplete_rows_may_be_dropped_before_hidden_nodes_are_fitted(gml, folder):
    done = gml(
        "fit-params",
        "holes.csv",
        "classes.dot",
        "--hidden",
        "H=2",
        "--missing",
        "drop",
        "--min-complete",
        "3",
    )
    assert done.returncode == 0
    learning = json.loads(done.stdout)["graph"]["learning"]
    assert learning["rows"] == 3
    assert learning["missing"]["policy"] == "drop"
    assert b"at random" not in done.stderr


def test_text_says_how_the_fit_went(gml, folder):
    done = gml(
        *("fit-params", "crimes.csv", "crimes.dot", "--weights", "times"),
        *("--missing", "em", "--em-restarts", "2", "-f", "text"),
    )
    lines = done.stdout.decode().splitlines()
    assert lines[:3] == [
        "fitted by EM to what was seen of each row",
        "  log-likelihood  -562.503373",
        "  parameters      3",
    ]
    assert lines[4] == "  starts          2, 2 of which reached the best end"
    assert "  victim  0.664801  0.335199  130.922" in lines


def test_tables_for_spreadsheets_have_both_counts(gml, folder):
    done = gml(
        *("fit-params", "crimes.csv", "crimes.dot", "--weights", "times", "--missing", "em"),
        *("--em-restarts", "1", "--cpt-dir", "tables", "-o", "m.json"),
    )
    assert done.returncode == 0
    header, first, *_ = (folder / "tables" / "first.csv").read_text().splitlines()
    assert header == "first,p,count,expected_count"
    level, p, count, expected = first.split(",")
    assert (level, count) == ("free", "480")
    assert float(expected) == pytest.approx(641 * float(p))


def test_other_formats_say_what_they_do_not_hold(gml, folder):
    gml(
        "fit-params",
        "holes.csv",
        "classes.dot",
        "--missing",
        "em",
        "--hidden",
        "H=2",
        "-o",
        "m.json",
    )
    done = gml("convert", "m.json", "m.bif")
    assert b"BIF does not hold which nodes are hidden, the counts and how" in done.stderr


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["--missing", "em"], 3, "column 'H' not found; there are 'a', 'b', 'c'; if nobody"),
        (["--missing", "em", "--hidden", "H=1"], 2, "must have at least 2 levels, not 1"),
        (["--missing", "em", "--hidden", "H"], 2, "--hidden 'H': write NODE=K"),
        (["--missing", "em", "--hidden", "h=2"], 2, "node 'h' not found; did you mean 'H'?"),
        (["--missing", "em", "--hidden", "H=2,H=2"], 2, "--hidden lists 'H' twice"),
        (["--missing", "em", "--hidden", "H=2,a=2"], 2, "'a' is a column of the data, with val"),
        (["--missing", "available", "--hidden", "H=2"], 2, "use --missing em or drop"),
        (
            ["--hidden", "H=2"],
            3,
            "em (fit to what was seen of each row) or level (a level of their own)",
        ),
        (["--missing", "drop", "--em-restarts", "2"], 2, "--em-restarts belongs to --missing em"),
        (["--missing", "drop", "--max-seconds", "2"], 2, "--max-seconds belongs to --missing em"),
        (["--missing", "em", "--hidden", "H=2", "--bootstrap", "9"], 2, "belongs to --intervals"),
        (["--missing", "em", "--em-restarts", "0"], 2, "--em-restarts"),
        (["--missing", "me"], 2, "'me' is not one of 'error', 'drop', 'level', 'available', 'em'"),
    ],
)
def test_what_does_not_go_is_refused_in_one_line(gml, folder, options, code, said):
    done = gml("fit-params", "holes.csv", "classes.dot", *options)
    assert done.returncode == code
    assert done.stdout == b""
    assert said in done.stderr.decode().splitlines()[-1]


@pytest.mark.parametrize("command", ["pc", "chowliu", "mrf", "check"])
def test_other_commands_say_which_fit_by_em(gml, folder, command):
    done = gml(command, "holes.csv", *["chain.dot"] * (command == "check"), "--missing", "em")
    *first, last = TAKE_EM
    assert done.returncode == 2
    assert done.stderr.decode() == (
        "gml: error: --missing em fits a model to what was seen of each row; gml "
        f"{', '.join(first)} and {last} do that, and tests (gml pc, indtest) use the rows they can "
        "with --missing available\n"
    )


def test_a_row_without_values_says_nothing_and_is_left_out(gml, folder):
    done = gml("fit-params", "holes.csv", "chain.dot", "--missing", "em", "--em-restarts", "2")
    assert b"gml: 1 row without any value in the columns used left out\n" in done.stderr
    learning = json.loads(done.stdout)["graph"]["learning"]
    assert (learning["rows"], learning["missing"]["rows"]) == (6, 7)
    (folder / "none.csv").write_text("a,b,c\n,,\n,,\n")
    done = gml("fit-params", "none.csv", "chain.dot", "--missing", "em")
    assert done.returncode in (3, 4)


def test_a_column_without_values_is_refused_or_hidden(gml, folder):
    (folder / "empty.csv").write_text("H,a,b,c\n,x,u,1\n,y,v,\n,x,v,2\n,y,,1\n")
    done = gml("fit-params", "empty.csv", "classes.dot", "--missing", "em")
    assert done.returncode == 3
    assert b"--hidden" in done.stderr
    options = ("--missing", "em", "--hidden", "H=2", "--em-restarts", "2")
    done = gml("fit-params", "empty.csv", "classes.dot", *options)
    assert done.returncode == 0
    learning = json.loads(done.stdout)["graph"]["learning"]
    assert learning["missing"]["columns"] == {"b": 1, "c": 1}


def test_a_table_without_rows_is_refused(gml, folder):
    (folder / "none.csv").write_text("a,b,c\n")
    done = gml("fit-params", "none.csv", "chain.dot", "--missing", "em")
    assert (done.returncode, done.stderr) == (
        4,
        b"gml: error: none.csv: has a header, but no rows\n",
    )
    (folder / "none.csv").write_text("")
    assert gml("fit-params", "none.csv", "chain.dot", "--missing", "em").returncode == 3


def test_intervals_come_from_the_information_or_from_samples(gml, folder):
    bounds = {}
    for by, options in (("information", ()), ("bootstrap", ("--bootstrap", "60"))):
        model = fitted(gml, "--missing", "em", "--em-restarts", "1", "--intervals", "0.9", *options)
        assert model["graph"]["learning"]["em"]["intervals"]["by"] == by
        bounds[by] = [pair for row in model["nodes"][1]["intervals"] for pair in row]
        shares = [p for row in model["nodes"][1]["cpt"] for p in row]
        for (low, high), p in zip(bounds[by], shares, strict=True):
            assert low < p < high
    for one, other in zip(bounds["information"], bounds["bootstrap"], strict=True):
        assert one == pytest.approx(other, abs=0.05)


def test_the_same_seed_gives_the_same_bytes(gml, folder):
    options = ("--missing", "em", "--intervals", "0.9", "--bootstrap", "5", "--seed", "4")
    call = ("fit-params", "crimes.csv", "crimes.dot", "--weights", "times", *options)
    first = gml(*call)
    assert first.returncode == 0
    assert gml(*call).stdout == first.stdout
    other = fitted(gml, *options[:-1], "5")["nodes"][1]["intervals"]
    assert other != json.loads(first.stdout)["nodes"][1]["intervals"]


def test_a_reader_that_has_gone_is_no_error(shell, folder):
    done = shell(
        "G fit-params holes.csv chain.dot --missing em -q | head -1; echo ${PIPESTATUS[0]}"
    )
    assert done.stdout.splitlines()[-1] == b"0"
    assert done.stderr == b""


def test_an_interrupt_ends_a_climb_and_leaves_no_file(folder):
    """Ctrl-C in the midst of EM: 130, no traceback, no partial file."""
    rows = "".join(f"{k % 2},{k % 3},{k % 5},{k % 7}\n" for k in range(300))
    (folder / "many.csv").write_text(f"a,b,c,d\n{rows}")
    (folder / "many.dot").write_text("digraph { G -> a; G -> b; G -> c; G -> d; G -> H; H -> a }")
    process = subprocess.Popen(
        [
            *(*GML, "fit-params", "many.csv", "many.dot", "--hidden", "G=5,H=5"),
            *("--em-restarts", "100000", "-o", "model.json", "-v"),
        ],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stderr is not None
    # The size of the table is said once it has been read.
    assert process.stderr.readline() == b"gml: 300 rows, 4 columns used\n"
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert errors == b"gml: error: interrupted\n"
    assert not (folder / "model.json").exists()


# ---------------------------------------------------------------------- score


def scored(gml, *options):
    done = gml("score", "crimes.csv", "crimes.dot", "--weights", "times", *options, "-f", "json")
    (graph,) = json.loads(done.stdout)["graphs"]
    return graph


def test_scores_of_what_was_seen(gml, folder):
    graph = scored(gml, "--missing", "em", "--score", "loglik,aic,bic")
    # bic has all 641 rows, not only the 561 that are complete.
    assert graph["scores"] == pytest.approx(
        {
            "loglik": LIKELIHOOD,
            "aic": LIKELIHOOD - 3,
            "bic": LIKELIHOOD - 1.5 * 6.463029456920669,
        },
        abs=1e-8,
    )
    assert graph["dim"] == 3
    assert graph["em"]["converged"] is True
    assert "approximations" not in graph


def test_bdeu_is_said_to_be_approximate(gml, folder):
    done = gml(
        *("score", "crimes.csv", "crimes.dot", "--weights", "times"),
        *("--missing", "em", "--score", "bdeu", "--em-restarts", "2"),
    )
    assert b"gml: bdeu of incomplete rows is approximate, by Cheeseman-Stutz\n" in done.stderr
    assert done.stdout.splitlines()[-1] == b"bdeu: approximate, by Cheeseman-Stutz"
    graph = scored(gml, "--missing", "em", "--score", "bdeu", "--em-restarts", "2")
    assert graph["approximations"] == {"bdeu": "Cheeseman-Stutz"}


def test_equivalent_graphs_have_the_same_score(gml, folder):
    (folder / "turned.dot").write_text("digraph { second -> first }")
    done = gml(
        *("score", "crimes.csv", "crimes.dot", "turned.dot", "--weights", "times"),
        *("--missing", "em", "--score", "bic,bdeu", "--em-restarts", "2", "-f", "json"),
    )
    one, other = json.loads(done.stdout)["graphs"]
    assert one["scores"] == pytest.approx(other["scores"], abs=1e-6)


def test_complete_rows_have_the_ordinary_scores(gml, folder):
    options = ("--score", "loglik,aic,bic,bdeu", "--ess", "3", "-f", "json")
    (ordinary,) = json.loads(gml("score", "whole.csv", "chain.dot", *options).stdout)["graphs"]
    done = gml("score", "whole.csv", "chain.dot", "--missing", "em", *options)
    (by_em,) = json.loads(done.stdout)["graphs"]
    assert by_em["scores"] == pytest.approx(ordinary["scores"], abs=1e-9)
    assert "approximations" not in by_em


def test_classes_are_compared_by_their_number(gml, folder):
    options = ("--missing", "em", "--em-restarts", "3")
    for levels in (2, 3):
        gml(
            *("fit-params", "holes.csv", "classes.dot", *options),
            *("--hidden", f"H={levels}", "-o", f"m{levels}.json"),
        )
    done = gml("score", "holes.csv", "m2.json", "m3.json", *options, "-f", "json")
    assert done.returncode == 0
    graphs = {graph["graph"]: graph for graph in json.loads(done.stdout)["graphs"]}
    assert (graphs["m2.json"]["dim"], graphs["m3.json"]["dim"]) == (7, 11)
    assert graphs["m2.json"]["scores"]["bic"] > graphs["m3.json"]["scores"]["bic"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--score", "k2"], "no score by k2; use loglik, aic, bic, bdeu"),
        (["--per-node"], "--per-node does not go with --missing em or --hidden"),
        (["--folds", "2"], "--folds does not go with --missing em or --hidden"),
    ],
)
def test_what_incomplete_rows_do_not_have_is_refused(gml, folder, options, said):
    done = gml("score", "holes.csv", "chain.dot", "--missing", "em", *options)
    assert done.returncode == 2
    assert said in done.stderr.decode()


# ---------------------------------------------------------------------- check


def test_a_check_compares_what_was_seen(gml, folder):
    gml(
        *("fit-params", "crimes.csv", "crimes.dot", "--weights", "times", "--missing", "em"),
        *("-o", "m.json"),
    )
    done = gml("check", "crimes.csv", "m.json", "--weights", "times", "-f", "json")
    assert done.returncode == 0
    checks = {check["id"]: check for check in json.loads(done.stdout)["checks"]}
    # 603 rows have the first wave, which is more than the 561 complete ones.
    assert {check["rows_old"] for check in checks.values() if check["kind"] == "row"} >= {603}
    other = (folder / "crimes.csv").read_text().replace("free,victim,55", "free,victim,255")
    (folder / "other.csv").write_text(other)
    assert gml("check", "other.csv", "m.json", "--weights", "times").returncode == 1


def test_a_check_leaves_families_of_hidden_nodes_out_and_says_so(gml, folder):
    (folder / "part.dot").write_text("digraph { a -> b; H -> c; a -> H }")
    gml(
        *("fit-params", "holes.csv", "part.dot", "--missing", "em", "--hidden", "H=2"),
        *("--em-restarts", "2", "-o", "m.json"),
    )
    done = gml("check", "holes.csv", "m.json", "-f", "json")
    assert done.returncode == 0
    report = json.loads(done.stdout)
    assert not [check["id"] for check in report["checks"] if "H" in check["variables"]]
    tables = [check["variables"] for check in report["checks"] if check["family"] == "tables"]
    assert {name for names in tables for name in names} == {"a", "b"}
    note = "the tables of 'H', 'c' left out: 'H' was never seen"
    assert note in report["notes"]


# ---------------------------------------------------------------------- numbers

MEASURED = (
    "x,y,g\n1,2.5,u\n2,,u\n3,6.1,v\n4,8.2,v\n5,9.7,u\n6,,v\n7,14.2,u\n8,,v\n9,17.6,v\n10,20.5,u\n"
)


@pytest.fixture
def measured(folder):
    (folder / "measured.csv").write_text(MEASURED)
    (folder / "longer.csv").write_text(f"{MEASURED}11,22.9,v\n,24.1,u\n13,27.3,v\n")
    (folder / "line.dot").write_text("digraph { x -> y }")
    (folder / "mixed.dot").write_text("digraph { g -> y; x -> y }")
    return folder


def test_regressions_of_a_column_with_holes_are_those_of_its_rows(gml, measured):
    """Where only the last is missing, the likelihood factors (Anderson 1957): a closed form."""
    options = ("--columns", "x,y", "--gaussian", "--missing")
    by_em = gml("fit-params", "measured.csv", "line.dot", *options, "em")
    dropped = gml("fit-params", "measured.csv", "line.dot", *options, "drop", "-q")
    assert by_em.returncode == 0
    assert b"gml: missing values are assumed to be missing at random\n" in by_em.stderr
    x, y = (node["gaussian"] for node in json.loads(by_em.stdout)["nodes"])
    _, complete = (node["gaussian"] for node in json.loads(dropped.stdout)["nodes"])
    assert (x["intercept"], x["sd"]) == pytest.approx((5.5, 8.25**0.5), abs=1e-8)
    for term in ("intercept", "coefficients", "sd"):
        assert y[term] == pytest.approx(complete[term], abs=1e-7)
    assert (y["n"], y["expected_n"]) == (7, pytest.approx(10))


def test_a_model_of_numbers_is_read_as_it_was_written(gml, measured):
    options = ("--numeric", "x,y", "--missing", "em", "--em-restarts", "2")
    done = gml("fit-params", "longer.csv", "mixed.dot", *options, "-o", "m.json")
    assert done.returncode == 0
    assert gml("convert", "m.json", "again.json").returncode == 0
    one, other = (json.loads((measured / name).read_text()) for name in ("m.json", "again.json"))
    assert one["nodes"] == other["nodes"]
    text = gml("fit-params", "longer.csv", "mixed.dot", *options, "-f", "text").stdout.decode()
    assert text.startswith("fitted by EM to what was seen of each row\n")
    rows = [line.split()[-1] for line in text.splitlines() if line.startswith(("  u  ", "  v  "))]
    assert sum(map(float, rows)) == pytest.approx(13, abs=1e-3)


def test_a_check_compares_the_regressions_of_rows_that_have_all_values(gml, measured):
    options = ("--columns", "x,y", "--gaussian", "--missing", "em", "-o", "m.json")
    assert gml("fit-params", "measured.csv", "line.dot", *options).returncode == 0
    _, y = (node["gaussian"] for node in json.loads((measured / "m.json").read_text())["nodes"])
    assert y["available"]["n"] == y["n"] == 7 and "rows" in y["available"]
    done = gml("check", "measured.csv", "m.json", "-f", "json")
    assert done.returncode == 0
    assert not any("that EM fitted" in note for note in json.loads(done.stdout)["notes"])


def test_a_bootstrap_of_numbers(gml, measured):
    options = ("--numeric", "x,y", "--missing", "em", "--intervals", "0.9", "--bootstrap", "25")
    done = gml("fit-params", "longer.csv", "mixed.dot", *options, "--method", "bayes")
    assert done.returncode == 0
    model = json.loads(done.stdout)
    assert model["graph"]["learning"]["em"]["intervals"]["by"] == "bootstrap"
    (x,) = (node["gaussian"] for node in model["nodes"] if "gaussian" in node)
    (low, high), *_ = x["intervals"]
    assert low < x["intercept"] < high


def test_scores_of_numbers_with_holes(gml, measured):
    done = gml(
        *("score", "measured.csv", "line.dot", "--columns", "x,y", "--numeric", "x,y"),
        *("--missing", "em", "--score", "loglik-g,bic-g", "-f", "json"),
    )
    (graph,) = json.loads(done.stdout)["graphs"]
    loglik = graph["em"]["log_likelihood"]
    assert graph["scores"]["loglik-g"] == loglik
    assert graph["dim"] == 5
    assert graph["scores"]["bic-g"] == pytest.approx(loglik - graph["dim"] / 2 * 2.302585092994046)

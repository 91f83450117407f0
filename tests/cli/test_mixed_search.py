"""Searches and scores of tables with numbers beside labels on the command line."""

from __future__ import annotations

import json

import pytest

NUMBERS = ["--numeric", "size,rent,heating"]
CHOSEN = "3 of 6 columns are numbers, so the score is bic-dg (--score chooses another)"


@pytest.fixture
def flats(sample_data):
    return sample_data / "flats.csv"


def graph_of(done, code=0):
    assert done.returncode == code, done.stderr.decode()
    return json.loads(done.stdout)


def arcs_of(graph):
    return {(e["source"], e["target"]) for e in graph["edges"] if e["type"] == "-->"}


@pytest.mark.parametrize(
    "command",
    [
        ["ges"],
        ["hc"],
        ["exact"],
        ["average", "--by", "ges", "--bootstrap", "4"],
        ["average", "--by", "hc", "--bootstrap", "4"],
        ["average", "--by", "exact"],
        ["average", "--by", "order-mcmc", "--iterations", "200"],
    ],
    ids=lambda command: "-".join(command[:3]),
)
def test_the_columns_choose_the_score_and_it_is_said(gml, flats, command):
    done = gml(*command, flats, *NUMBERS, "-f", "json")
    graph = graph_of(done)
    said = done.stderr.decode().splitlines()
    assert said[0] == "gml: " + CHOSEN
    assert graph["graph"]["learning"]["settings"]["score"] == "bic-dg"
    by_name = {node["id"]: node for node in graph["nodes"]}
    assert by_name["size"]["type"] == "numeric"
    assert by_name["district"]["levels"] == ["centre", "suburb", "village"]
    pairs = {frozenset((e["source"], e["target"])) for e in graph["edges"]}
    assert {frozenset(("size", "rent")), frozenset(("district", "parking"))} <= pairs
    # Whoever wants silence has it.
    assert gml(*command, flats, *NUMBERS, "-q", "-o", "g.json").stderr == b""


def test_labels_alone_and_numbers_alone_have_their_scores(gml, flats):
    labels = gml("ges", flats, "-c", "district,condition,parking", "-f", "json")
    assert labels.stderr == b""
    assert graph_of(labels)["graph"]["learning"]["settings"]["score"] == "bic"
    numbers = gml("ges", flats, "-c", "size,rent,heating", *NUMBERS, "-f", "json")
    assert b"3 of 3 columns are numbers, so the score is bic-g" in numbers.stderr
    posterior = gml("average", flats, "--by", "exact", "-c", "size,rent", "--numeric", "size,rent")
    assert b"so the score is bge" in posterior.stderr


def test_a_schema_does_what_the_option_does(gml, flats, tmp_path):
    gml("profile", flats, *NUMBERS, "-o", "schema.json")
    by_schema = gml("ges", flats, "--levels", "schema.json", "-f", "text")
    assert by_schema.stdout == gml("ges", flats, *NUMBERS, "-f", "text").stdout
    assert CHOSEN in by_schema.stderr.decode()


@pytest.mark.parametrize("command", ["ges", "hc", "exact"])
def test_conditional_gaussian_scores_keep_labels_first(gml, flats, command):
    done = gml(command, flats, *NUMBERS, "--score", "bic-cg", "-f", "json")
    graph = graph_of(done)
    assert b"the tiers are labels < numbers" in done.stderr
    numbers = {"size", "rent", "heating"}
    assert not {arc for arc in arcs_of(graph) if arc[0] in numbers and arc[1] not in numbers}
    assert graph["graph"]["kind"] == ("pdag" if command == "ges" else "dag")
    tiers = [["district", "condition", "parking"], ["size", "rent", "heating"]]
    assert graph["graph"]["learning"]["knowledge"]["tiers"] == tiers


def test_own_knowledge_is_joined_and_contradictions_are_errors(gml, flats):
    search = ["ges", flats, *NUMBERS, "--score", "bic-cg", "-f", "json"]
    graph = graph_of(gml(*search, "--tiers", "condition < district,size < rent"))
    assert ("size", "district") not in arcs_of(graph)
    assert graph["graph"]["learning"]["knowledge"]["tiers"][0] == ["condition"]
    done = gml(*search, "--require", "rent->district")
    assert done.returncode == 3
    assert b"contradictory knowledge: 'rent' -> 'district' is required" in done.stderr
    assert b"--score bic-dg allows it" in done.stderr


def test_families_worth_nothing_are_named(gml, tmp_path):
    rows = [f"{'ab'[i < 38]},{i * i % 17}.5\n" for i in range(40)]
    (tmp_path / "few.csv").write_text("k,x\n" + "".join(rows))
    (tmp_path / "g.dot").write_text("digraph { k -> x }")
    search = gml("hc", "few.csv", "--numeric", "x", "--score", "bic-cg", "-f", "text")
    assert b"'x' given 'k' (2 of 3 rows needed where k=a)" in search.stderr
    assert search.stdout.startswith(b"dag, 2 nodes, 0 edges")
    done = gml("score", "few.csv", "g.dot", "--numeric", "x", "--score", "bic-cg", "-f", "json")
    assert graph_of(done)["graphs"][0]["scores"] == {"bic-cg": None}
    assert b"1 family is worth" in done.stderr
    shown = gml("score", "few.csv", "g.dot", "--numeric", "x", "--score", "bic-cg", "--per-node")
    assert shown.returncode == 0 and b"inf" in shown.stdout
    (tmp_path / "empty.dot").write_text("digraph { k; x }")
    both = gml("score", "few.csv", "g.dot", "empty.dot", "--numeric", "x", "--score", "bic-cg")
    assert both.stdout.splitlines()[1].startswith(b"empty.dot")


def test_scores_follow_the_columns_of_the_graph(gml, flats, tmp_path):
    gml("ges", flats, *NUMBERS, "-q", "-o", "dg.json")
    gml("ges", flats, *NUMBERS, "-q", "--score", "bic-cg", "-o", "cg.json")
    # The files say which columns are numbers.
    done = gml("score", flats, "dg.json", "cg.json", "-f", "json")
    assert CHOSEN in done.stderr.decode()
    found = graph_of(done)["graphs"]
    assert set(found[0]["scores"]) == {"bic-dg"}
    learned = json.loads((tmp_path / "dg.json").read_text())["graph"]["learning"]
    by_name = {graph["graph"]: graph for graph in found}
    assert by_name["dg.json"]["scores"]["bic-dg"] == pytest.approx(learned["score"], rel=1e-12)
    per_node = gml(
        "score", flats, "cg.json", "--per-node", "--score", "bic-cg,loglik-cg", "-f", "csv"
    )
    assert per_node.stdout.splitlines()[0] == b"graph,node,parents,bic-cg,loglik-cg,dim"
    refused = gml("score", flats, "dg.json", "--score", "bic-cg")
    assert refused.returncode == 3
    assert b"from a number to a label, which bic-cg cannot score" in refused.stderr
    assert (
        gml("exact", flats, *NUMBERS, "--score", "bic-cg", "--against", "dg.json").returncode == 3
    )
    mixed = gml("score", flats, "cg.json", "--score", "bic-cg,bic-dg")
    assert mixed.returncode == 2 and b"do not go together" in mixed.stderr


def test_penalties(gml, flats):
    gml("ges", flats, *NUMBERS, "-q", "-o", "g.json")

    def scored(*options):
        done = gml("score", flats, "g.json", "--score", "loglik-dg,bic-dg", *options, "-f", "json")
        return graph_of(done)["graphs"][0]["scores"]

    once, twice = scored(), scored("--penalty", "2")
    price = once["loglik-dg"] - once["bic-dg"]
    assert twice["loglik-dg"] - twice["bic-dg"] == pytest.approx(2 * price, rel=1e-12)
    heavy = gml("ges", flats, *NUMBERS, "--penalty", "1000", "-f", "text")
    assert heavy.stdout.startswith(b"cpdag, 6 nodes, 0 edges")
    assert gml("ges", flats, *NUMBERS, "--penalty", "-1").returncode == 2
    refused = gml("ges", flats, "--score", "bdeu", "--penalty", "2")
    assert refused.returncode == 2 and b"--penalty does not go with --score bdeu" in refused.stderr


def test_collinear_columns_are_named_and_a_ridge_takes_them(gml, tmp_path):
    rows = [f"{i % 3},{'xyz'[i % 3]},{i * 7 % 11}\n" for i in range(60)]
    (tmp_path / "twins.csv").write_text("a,b,n\n" + "".join(rows))
    refused = gml("ges", "twins.csv", "--numeric", "a,n")
    assert refused.returncode == 3
    assert b"'b', 'a' are perfect" in refused.stderr and b"--ridge" in refused.stderr
    found = graph_of(gml("ges", "twins.csv", "--numeric", "n", "--ridge", "0.01", "-f", "json"))
    assert [(e["source"], e["target"]) for e in found["edges"]] == [("a", "b")]


def test_kernel_scores_are_for_hill_climbing(gml, flats):
    refused = gml("ges", flats, *NUMBERS, "--score", "kernel")
    assert refused.returncode == 2
    assert b"use bic-dg, bic-cg or another score-equivalent one" in refused.stderr
    columns = ["-c", "condition,size,heating", "--numeric", "size,heating"]
    few = ["--landmarks", "20", "--kernel-folds", "3", "--max-parents", "2"]
    found = graph_of(gml("hc", flats, *columns, "--score", "kernel", *few, "-f", "json"))
    assert found["graph"]["learning"]["settings"]["score"] == "kernel"
    assert {("condition", "heating"), ("size", "heating")} & arcs_of(found)


def test_hash_seed_threads_and_column_order_change_nothing(gml_process, flats):
    command = ["ges", flats, *NUMBERS, "-f", "json", "-q"]
    first = gml_process(*command, "--threads", "1", env={"PYTHONHASHSEED": "1"})
    again = gml_process(*command, "--threads", "3", env={"PYTHONHASHSEED": "2"})
    assert first.returncode == 0 and first.stdout == again.stdout
    turned = gml_process(
        *command, "-c", "heating,rent,size,parking,condition,district", env={"PYTHONHASHSEED": "3"}
    )
    one, other = json.loads(first.stdout), json.loads(turned.stdout)
    assert one["graph"]["learning"]["score"] == other["graph"]["learning"]["score"]

    def marks(graph):
        undirected = {frozenset((e["source"], e["target"])) for e in graph["edges"]}
        return undirected, arcs_of(graph)

    assert marks(one) == marks(other)


def test_missing_values_are_dropped_from_both_kinds(gml, flats, tmp_path):
    lines = flats.read_text().splitlines()
    lines[3] = lines[3].replace("centre", "")
    lines[5] = ",".join([*lines[5].split(",")[:3], "", *lines[5].split(",")[4:]])
    (tmp_path / "gaps.csv").write_text("\n".join(lines) + "\n")
    assert gml("ges", "gaps.csv", *NUMBERS).returncode == 3
    done = gml("ges", "gaps.csv", *NUMBERS, "--missing", "drop", "-f", "json")
    assert graph_of(done)["graph"]["learning"]["rows"] == 798
    # The gaps of numbers have no level of their own.
    offered = b"(complete rows only) or em (fit to what was seen of each row)\n"
    assert offered in gml("ges", "gaps.csv", *NUMBERS).stderr
    refused = gml("ges", "gaps.csv", *NUMBERS, "--missing", "level")
    assert refused.returncode == 3 and b"'size' is numeric, with missing values" in refused.stderr
    lines[5] = flats.read_text().splitlines()[5]
    (tmp_path / "labels.csv").write_text("\n".join(lines) + "\n")
    joined = gml("ges", "labels.csv", *NUMBERS, "--missing", "level", "-f", "json")
    assert graph_of(joined)["graph"]["learning"]["rows"] == 800
    labels = ["-c", "district,condition,parking"]
    assert gml("ges", "gaps.csv", *labels, "--missing", "level").returncode == 0


@pytest.mark.parametrize(
    "command",
    [["ges"], ["hc"], ["exact"], ["average", "--by", "exact"], ["average", "--by", "order-mcmc"]],
    ids=lambda command: "-".join(command),
)
def test_labels_that_are_unknown_together_are_joined_and_named(gml, flats, tmp_path, command):
    # Some 100 flats whose parking and condition nobody knows, as in tables of interviews.
    rows = [line.split(",") for line in flats.read_text().splitlines()]
    for row in rows[8::8]:
        row[1] = row[2] = "?"
    (tmp_path / "unknown.csv").write_text("\n".join(map(",".join, rows)) + "\n")
    done = gml(*command, "unknown.csv", *NUMBERS, "--na", "none", "-f", "json")
    pairs = {frozenset((e["source"], e["target"])) for e in graph_of(done)["edges"]}
    assert {"condition", "parking"} in pairs
    assert (
        "bic-dg: some labels determine levels of others: 'condition' given 'parking', 'parking' "
        "given 'condition'; what is determined counts as if one row were left to explain"
    ) in done.stderr.decode()

"""Files of undirected models: identity of write and read, what others write, malformed files."""

from __future__ import annotations

import json
import math
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

import gml
from gml.data.dataset import Variable
from gml.data.not_tables import looks_like_graph
from gml.errors import CannotAnswer, GmlWarning, GraphError
from gml.formats.graphs import parse_graph
from gml.formats.json_undirected import FIGURES
from gml.formats.models import MODEL_WRITERS, parse_any, parse_model
from gml.model.bayesnet import BayesNet
from gml.model.markovnet import MarkovNet
from gml.model.undirected.likelihood import log_partition
from gml.model.undirected.potential import Potential
from gml.model.undirected.quality.summary import FitSummary
from gml.resources import limited_to
from tests.model_files import (
    assert_same,
    assert_same_terms,
    joint_of,
    random_markov_net,
    random_network,
    refused_among_damaged,
)
from tests.unit.test_model_formats import LABELS, NAMES, SEEDS

ROOT = Path(__file__).resolve().parents[2]
NODES = [{"id": "A", "levels": ["n", "y"]}, {"id": "B", "levels": ["0", "1", "2"]}]
PAIR = {"scope": ["A", "B"], "table": [0.5, 0, -0.5, -0.5, 0, 0.5]}
FIT = {"method": "exact", "algorithm": "ipf", "rows": 10, "dimension": 2, "converged": True}


def text_of(*factors, nodes=NODES, about=None, **more):
    """The text of a model file."""
    about = {"kind": "undirected", "coding": "sum-to-zero"} if about is None else about
    return json.dumps({"graph": about, "nodes": nodes, "factors": list(factors), **more})


@settings(max_examples=50)
@given(SEEDS, NAMES, LABELS)
def test_json_holds_everything(seed, names, labels):
    net = random_markov_net(np.random.default_rng(seed), names, labels, beside=True)
    text = MODEL_WRITERS["json"](net)
    for read in (parse_model, parse_any):
        assert_same_terms(read(text, "t"), net)
    assert parse_graph(text, "t") == net.graph
    assert MODEL_WRITERS["json"](parse_model(text, "t")) == text


def test_json_says_what_it_holds():
    a, b = Variable("A", ("n", "y")), Variable("B", ("n", "y"))
    terms = (
        Potential(
            (b, a),
            np.array([[0.25, -0.25], [-0.25, 0.25]]),
            errors=np.full((2, 2), 0.125),
            counts=np.array([[1, 2], [3, 4.5]]),
        ),
        Potential((a,), np.array([0.0, -math.inf]), is_boundary=True),
    )
    content = json.loads(MODEL_WRITERS["json"](MarkovNet((a, b), terms)))
    assert content["directed"] is False
    assert content["graph"]["kind"] == "undirected"
    assert content["graph"]["coding"] == "sum-to-zero"
    assert content["edges"] == [{"source": "A", "target": "B", "type": "---", "coupling": 0.25}]
    assert content["factors"] == [
        {
            "scope": ["B", "A"],
            "table": [0.25, -0.25, -0.25, 0.25],
            "errors": [0.125] * 4,
            "counts": [1, 2, 3, 4.5],
        },
        {"scope": ["A"], "table": [0.0, None], "boundary": True},
    ]


def test_a_figure_that_is_not_finite_is_null():
    about = {"kind": "undirected", "coding": "sum-to-zero", "fit": FIT}
    net = parse_model(text_of(PAIR, about=about), "t")
    assert net.summary.rows == 10
    assert net.summary.log_likelihood is None
    lost = MarkovNet(
        net.variables,
        net.potentials,
        summary=type(net.summary)("pl", "x", 1, 2, False, log_likelihood=-math.inf),
    )
    again = parse_model(MODEL_WRITERS["json"](lost), "t")
    assert again.summary.log_likelihood is None
    assert again.summary.converged is False


def test_files_that_others_write_need_only_levels_and_factors():
    """Any tables, in any order of nodes, become terms of the sum-to-zero gauge."""
    one = json.dumps(
        {"nodes": NODES, "factors": [{"scope": ["B", "A"], "table": [1, 2, 3, 4, 5, 9]}]}
    )
    two = json.dumps({
        "directed": False, "nodes": NODES, "edges": [{"source": "B", "target": "A"}],
        "factors": [{"scope": ["A", "B"], "table": [1, 3, 5, 2, 4, 7]}, {"scope": ["A", "B"], "table": [0, 0, 0, 0, 0, 2]}],
    })  # fmt: skip
    table = np.exp(np.array([[1, 3, 5], [2, 4, 9.0]]))
    for text in (one, two):
        net = parse_model(text, "t")
        assert parse_any(text, "t").graph == net.graph == parse_graph(text, "t")
        assert net.graph.n_edges == 1
        assert (net.coding, net.summary) == ("sum-to-zero", None)
        np.testing.assert_allclose(joint_of(net), table / table.sum(), rtol=1e-14)
        for term in net.potentials:
            for axis in range(len(term.scope)):
                np.testing.assert_allclose(term.table.sum(axis=axis), 0, atol=1e-14)


def test_zeros_of_such_files_stay_impossible():
    table = [None, 0.5, 0.5, 1.0, None, 2.0]
    net = parse_model(json.dumps({"nodes": NODES, "factors": [PAIR | {"table": table}]}), "t")
    weights = np.array([[0, math.exp(0.5), math.exp(0.5)], [math.e, 0, math.exp(2)]])
    np.testing.assert_allclose(joint_of(net), weights / weights.sum(), rtol=1e-14)
    assert (joint_of(net) == 0).tolist() == (weights == 0).tolist()
    assert all(math.isfinite(edge.attributes["coupling"]) for edge in net.graph.edges)


@pytest.mark.parametrize(
    "text,message",
    [
        (text_of(PAIR, nodes=[{"id": "A"}, NODES[1]]), "node 'A' has no \"levels\""),
        (text_of(PAIR, nodes=[{"id": "A", "levels": []}, NODES[1]]), "node 'A' has no \"levels\""),
        (text_of(PAIR, nodes=[{"id": "A", "type": "numeric"}, NODES[1]]), "node 'A' has no \"levels\""),
        (text_of(PAIR).replace('"factors": [', '"factors": 7, "x": ['), '"factors" is not a list'),
        (text_of(5), "factor 1 is not an object"),
        (text_of(PAIR, {"table": [0]}), 'factor 2: the "scope" is not a list of names'),
        (text_of(PAIR | {"scope": ["A", 1]}), 'factor 1: the "scope" is not a list of names'),
        (text_of({"scope": [], "table": [1]}), 'factor 1: the "scope" is empty'),
        (text_of(PAIR | {"scope": ["A", "C"]}), "factor 1: node 'C' not found; there are 'A', 'B'"),
        (text_of(PAIR | {"scope": ["A", "A"]}), "factor 1: the \"scope\" lists a node twice: 'A', 'A'"),
        (text_of({"scope": ["A"] * 63, "table": [1]}), "factor 1 is over 63 variables; the limit is 62"),
        (text_of({"scope": ["A"]}), "factor 1 ('A') has no \"table\""),
        (text_of({"scope": ["A"], "table": 5}), "factor 1 ('A'): the \"table\" must be a flat list of 2 numbers"),
        (text_of({"scope": ["A"], "table": [1]}), "must be a flat list of 2 numbers, not 1"),
        (text_of({"scope": ["A"], "table": [[1], 2]}), "the \"table\" has something that is not a number"),
        (text_of({"scope": ["A"], "table": ["1", 2]}), "the \"table\" has something that is not a number"),
        (text_of({"scope": ["A"], "table": [True, 2]}), "the \"table\" has something that is not a number"),
        (text_of({"scope": ["A"], "table": [1, 2], "errors": [1]}), '"errors" must be a flat list of 2 numbers'),
        (text_of({"scope": ["A"], "table": [1, 2], "intervals": [1, 2]}), '"intervals" must be a list of pairs'),
        (text_of({"scope": ["A"], "table": [1, 2], "intervals": [[1, 2]]}), '"intervals" must be a flat list of 4'),
        (text_of({"scope": ["A"], "table": [1, 2], "counts": [1, 2, 3]}), '"counts" must be a flat list of 2 numbers, not 3'),
        (text_of({"scope": ["A"], "table": [1, 2], "counts": [1, -2]}), "the counts of the factor of 'A' are not all numbers of rows"),
        (text_of({"scope": ["A"], "table": [1, 2], "counts": [1, None]}), "the counts of the factor of 'A' are not all numbers of rows"),
        (text_of({"scope": ["A"], "table": [1, 2], "boundary": 1}), '"boundary" is neither true nor false'),
        (text_of({"scope": ["A"], "tabel": [1, 2]}), "factor 1: key 'tabel' not found; did you mean 'table'?"),
        (text_of(PAIR, edges=[]), 'the "edges" do not agree with the "scope" of the factors'),
        (text_of(PAIR, about={"kind": "undirected", "coding": "02"}), "the \"coding\" must be one of 'sum-to-zero', '01', not '02'"),
        (text_of(PAIR, about={"kind": "undirected", "coding": 1}), "must be one of 'sum-to-zero', '01', not 1"),
        (text_of({"scope": ["A"], "table": [1, 2]}), "factor 1 ('A'): the \"table\" is not in the coding sum-to-zero; without a"),
        (text_of(PAIR | {"table": [1, -1, 0, 1, -1, 0]}), "factor 1 ('A', 'B'): the \"table\" is not in the coding sum-to-zero"),
        (text_of(PAIR | {"table": [None, 1, -1, 0, 0, 0]}), "is not in the coding sum-to-zero"),
        (text_of({"scope": ["A"], "table": [1, 2]}, about={"kind": "undirected", "coding": "01"}), "is not in the coding 01"),
        (text_of({"scope": ["B"], "table": [0, 0, 2]}, about={"kind": "undirected", "coding": "01"}), "is not in the coding 01"),
        (text_of(PAIR, PAIR | {"boundary": True}), "factor 2 ('A', 'B'): a table with \"boundary\" has only 0 and null"),
        (text_of({"scope": ["A"], "table": [1e308, -1e308]}), "the factor of 'A' has a number that is too large for a logarithm"),
        (text_of({"scope": ["A"], "table": [1e308, 0]}, about={}), "the factor of 'A' has a number that is too large for a logarithm"),
        (text_of({"scope": ["A"], "table": [1, -1], "counts": [100, 4]}, PAIR | {"counts": [1, 2, 3, 4, 0, 0]}), "the counts of the factors of 'A' and of 'A', 'B' differ in the number of rows"),
        (text_of({"scope": ["A"], "table": [1, -1], "counts": [6, 4]}, PAIR | {"counts": [1, 2, 2, 4, 0, 1]}, about={}), "the counts of the factors of 'A' and of 'A', 'B' differ in the rows of 'A'"),
        (text_of(PAIR, about={"kind": "undirected", "factors": []}), '"factors" must not be within "graph"'),
        (text_of(PAIR, about={"kind": "undirected", "fit": 1}), 'the "fit" is not an object'),
        (text_of(PAIR, about={"kind": "undirected", "fit": {}}), 'the "fit" has no "method"'),
        (text_of(PAIR, about={"kind": "undirected", "fit": FIT | {"rows": "10"}}), '"rows" of the "fit" must be int | float'),
        (text_of(PAIR, about={"kind": "undirected", "fit": FIT | {"gap": "1"}}), '"gap" of the "fit" must be float | null'),
        (text_of(PAIR, about={"kind": "undirected", "fit": FIT | {"dimension": True}}), '"dimension" of the "fit" must be int'),
        (text_of(PAIR, about={"kind": "undirected", "fit": FIT | {"zeros": [{"A": 1}]}}), '"zeros" of the "fit" must be a list'),
        (text_of(PAIR, about={"kind": "undirected", "fit": FIT | {"gapp": 1}}), "the \"fit\": key 'gapp' not found; did you mean 'gap'?"),
        (text_of(PAIR, about={"kind": "undirected", "baseline": 1}), 'the "baseline" is not an object'),
        (text_of(PAIR, about={"kind": "undirected", "training": 1}), '"training" is not an object'),
        (text_of({"scope": ["A"], "table": [None, None]}, about={}), "the factor of 'A' excludes everything"),
    ],
)  # fmt: skip
def test_malformed_json(text, message):
    with pytest.raises(GraphError) as caught:
        parse_model(text, "file")
    assert message in str(caught.value)
    assert str(caught.value).startswith("file: ")
    assert "\n" not in str(caught.value)


def test_a_coding_is_written_only_if_it_is_that_of_the_terms():
    a, b = Variable("A", ("n", "y")), Variable("B", ("n", "y"))
    net = MarkovNet((a, b), (Potential((a, b), np.array([[0.0, 1.0], [2.0, 3.0]])),))
    text = MODEL_WRITERS["json"](net)
    assert "coding" not in json.loads(text)["graph"]
    again = parse_model(text, "t")
    np.testing.assert_allclose(joint_of(again), joint_of(net), rtol=1e-14)
    assert [edge.attributes for edge in again.graph.edges] == [{"coupling": 0.0}]


def test_counts_and_limits_stay_without_a_coding():
    pair = PAIR | {"table": [0, 1, 2, 3, 4, 9], "counts": [1, 2, 3, 4, 5, 6]}
    limit = {"scope": ["A", "B"], "table": [0, 0, None, 0, 0, 0], "boundary": True}
    net = parse_model(text_of(pair, limit, about={}), "t")
    assert net.potential("A", "B").counts.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert [term.names for term in net.potentials if term.is_boundary] == [("A", "B")]
    assert net.query("B", {"A": "n"})["B"]["2"] == 0


def test_rounded_sums_are_accepted():
    third = {"scope": ["B"], "table": [0.333333, 0.333333, -0.666667]}
    assert parse_model(text_of(third), "t").coding == "sum-to-zero"


def test_terms_that_would_not_fit_are_refused():
    nodes = [{"id": f"v{k:02}", "levels": ["0", "1"]} for k in range(10)]
    factor = {"scope": [node["id"] for node in nodes], "table": [0.0] * 2**10}
    text = json.dumps({"nodes": nodes, "factors": [factor]})
    assert len(parse_model(text, "t").potentials) == 2**10 - 1
    with limited_to(1 << 20), pytest.raises(CannotAnswer, match="the terms of the model would"):
        parse_model(text, "t")
    net = parse_model(text, "t")
    with limited_to(1 << 20), pytest.raises(CannotAnswer, match="writing JSON of factors of"):
        MODEL_WRITERS["json"](net)


def test_the_examples_of_the_docs_are_read():
    page = (ROOT / "docs/files.md").read_text().partition("## Undirected models")[2]
    whole, bare = (block.partition("```")[0] for block in page.split("```json\n")[1:3])
    net = parse_model(whole, "t")
    assert net.query("A", {"B": "yes"})["A"]["yes"] == 1
    assert net.potential("A").intervals.tolist() == [[0.05, 0.45], [-0.45, -0.05]]
    assert [edge.attributes for edge in net.graph.edges] == [{"coupling": 0.5}]
    assert net.potential("A", "B").counts.sum() == net.summary.rows
    assert net.summary.log_z == pytest.approx(log_partition(net), abs=5e-5)
    expected = math.exp(2.5) / (3 + math.exp(2.5))
    assert joint_of(parse_model(bare, "t"))[1, 1] == pytest.approx(expected, rel=1e-14)


# ---------------------------------------------------------------------- UAI

MARKOV = """MARKOV
3
2 2 3
2
2 1 0
2 1 2

4
 1.0 0.5
 0.25 4
6
 1 2 3
 4 0 1e-3
"""


def test_a_markov_file():
    net = parse_model(MARKOV, "t")
    assert isinstance(net, MarkovNet)
    assert net.names == ("x0", "x1", "x2")
    assert [variable.levels for variable in net.variables] == [
        ("0", "1"),
        ("0", "1"),
        ("0", "1", "2"),
    ]
    first, second = np.array([[1, 0.5], [0.25, 4]]), np.array([[1, 2, 3], [4, 0, 1e-3]])
    weights = np.einsum("ba,bc->abc", first, second)
    np.testing.assert_allclose(joint_of(net), weights / weights.sum(), rtol=1e-13)
    assert parse_graph(MARKOV, "t") == net.graph == parse_any(MARKOV, "t").graph


def test_comments_are_skipped_and_a_markov_file_that_has_them_is_suspect():
    commented = MARKOV.replace("3\n2 2 3", "3 # nodes\n2 2 3#levels").replace(
        "4\n 1.0", "4 # {1}\n 1.0"
    )
    with pytest.warns(GmlWarning, match="t: comments, as pyAgrum writes them, .* last one fastest"):
        assert_same_terms(parse_model(commented, "t"), parse_model(MARKOV, "t"))
    net = parse_model("BAYES\n1\n2\n1\n1 0 # 0\n\n2\n 0.25 0.75 \n", "t")
    assert net.cpt("x0").table.tolist() == [[0.25, 0.75]]


@settings(max_examples=30)
@given(SEEDS)
def test_uai_holds_the_distribution_of_an_undirected_model(seed):
    rng = np.random.default_rng(seed)
    net = random_markov_net(rng, "DBCA", "uvwx", zeros=seed % 2 == 0)
    text = MODEL_WRITERS["uai"](net)
    read = parse_model(text, "t")
    np.testing.assert_allclose(joint_of(read), joint_of(net), rtol=1e-12)
    again = parse_model(MODEL_WRITERS["uai"](read), "t")
    np.testing.assert_allclose(joint_of(again), joint_of(read), rtol=1e-12)


@settings(max_examples=30)
@given(SEEDS)
def test_uai_holds_the_tables_of_a_network(seed):
    net = random_network(np.random.default_rng(seed), ["d", "b", "c", "a"], ["u", "v", "w"])
    text = MODEL_WRITERS["uai"](net)
    assert text.startswith("BAYES\n4\n")
    read = parse_model(text, "t")
    assert isinstance(read, BayesNet)
    for old, new in zip(net.cpds, read.cpds, strict=True):
        np.testing.assert_array_equal(old.table, new.table, strict=True)
        assert [f"x{net.index(p.name)}" for p in old.parents] == [p.name for p in new.parents]
    assert_same(parse_model(MODEL_WRITERS["uai"](read), "t"), read)


def test_numbers_that_would_overflow_are_divided():
    a = Variable("A", ("n", "y"))
    text = MODEL_WRITERS["uai"](MarkovNet((a,), (Potential((a,), np.array([5000.0, 4999.0])),)))
    assert text.splitlines()[-1] == f"1.0 {math.exp(-1)!r}"
    assert joint_of(parse_model(text, "t"))[1] == pytest.approx(1 / (1 + math.e), rel=1e-15)


def test_a_variable_in_no_function_is_uniform_and_a_constant_is_dropped():
    net = parse_model("MARKOV\n2\n2 4\n2\n0\n1 0\n1\n 7\n2\n 1 3", "t")
    np.testing.assert_allclose(joint_of(net), np.outer([0.25, 0.75], np.full(4, 0.25)), rtol=1e-15)


@pytest.mark.parametrize(
    "text,message",
    [
        ("MARKOV", "line 1: the file ends before the number of variables"),
        ("MARKOV\n0", "line 2: the number of variables must be 1 or more, not '0'"),
        ("MARKOV\n-1", "line 2: the number of variables must be 1 or more, not '-1'"),
        ("MARKOV\n1e3", "line 2: the number of variables must be 1 or more, not '1e3'"),
        ("MARKOV\n" + "9" * 50, "line 2: the number of variables must be 1 or more, not '99"),
        ("MARKOV\n99999999", "line 2: the file is too short for 99999999 of them"),
        ("MARKOV\n2\n2", "line 3: the file ends before the levels of variable 1"),
        ("MARKOV\n1\n70000\n0", "line 3: the levels of variable 0 must be 1 to 65535, not '70000'"),
        ("MARKOV\n1\n2\n1\n1 5", "line 5: a variable of function 0 must be 0 to 0, not '5'"),
        ("MARKOV\n1\n2\n1\n63 0", "line 5: the number of variables of function 0 must be 0 to 62, not '63'"),
        ("MARKOV\n1\n2\n1\n2 0 0", "line 5: function 0 has a variable twice"),
        ("MARKOV\n1\n2\n1\n1 0\n3 1 2 3", "line 6: function 0 has 2 cells, not 3"),
        ("MARKOV\n1\n2\n1\n1 0\n2 1\n\n", "line 6: the file ends before the numbers of function 0"),
        ("MARKOV\n1\n2\n1\n1 0\n2 1 x", "line 6: 'x' in function 0 is not a number of 0 or more"),
        ("MARKOV\n1\n2\n1\n1 0\n2 1 -0.5", "line 6: '-0.5' in function 0 is not a number of 0 or more"),
        ("MARKOV\n1\n2\n1\n1 0\n2 1 inf", "'inf' in function 0 is not a number of 0 or more"),
        ("MARKOV\n1\n2\n1\n1 0\n2 1 nan", "'nan' in function 0 is not a number of 0 or more"),
        ("MARKOV\n1\n2\n1\n1 0\n2 1 1_0", "'1_0' in function 0 is not a number of 0 or more"),
        ("MARKOV\n1\n2\n1\n1 0\n2 1 1\n1", "line 7: '1' comes after the last function"),
        ("MARKOV\n1\n2\n1\n1 0\n2 0 0", "the factor of 'x0' excludes everything"),
        ("BAYES\n1\n2\n1\n1 0\n2 0.5 0.6", "the table of 'x0' has a row that adds up to 1.1, not 1"),
        ("BAYES\n2\n2 2\n1\n1 0\n2 0.5 0.5", "variable 'x1' has no table"),
        ("BAYES\n1\n2\n2\n1 0\n1 0\n2 0.5 0.5 2 0.5 0.5", "variable 'x0' has a second table"),
        ("BAYES\n1\n2\n2\n1 0\n0\n2 0.5 0.5 1 1", "function 1 of a BAYES file is over no variable"),
    ],
)  # fmt: skip
def test_malformed_uai(text, message):
    with pytest.raises(GraphError) as caught:
        parse_model(text, "file")
    assert message in str(caught.value)
    assert str(caught.value).startswith("file: ")
    assert "\n" not in str(caught.value)


def test_few_words_cannot_declare_more_than_fits():
    sizes = " ".join(map(str, range(50000, 51000)))
    with limited_to(100 << 20), pytest.raises(CannotAnswer, match="^t: 1000 variables would take"):
        parse_model(f"MARKOV\n1000\n{sizes}\n0\n", "t")


def test_uai_is_told_from_a_table_of_one_column():
    assert looks_like_graph(MARKOV.encode()) == "a UAI model"
    assert looks_like_graph(b"MARKOV\n1\n2\n3\n") is None
    assert looks_like_graph(b"BAYES,x\n1,2\n") is None


def test_a_model_without_nodes_is_refused_by_uai():
    with pytest.raises(GraphError, match="UAI cannot hold a model without nodes"):
        MODEL_WRITERS["uai"](MarkovNet((), ()))


# ---------------------------------------------------------------------- all of them


def test_damaged_files_are_refused_and_nothing_else():
    net = random_markov_net(np.random.default_rng(3), ["a", "b", "c", "d"], ["x", "y"], beside=True)
    texts = [MODEL_WRITERS[format](net) for format in ("json", "uai")]
    pieces = [*'{}();,"|09-e \n[]\0é', "nan", "1e999", "null", "-1", "true", "\ud800"]
    assert refused_among_damaged(texts, pieces, 1500) > 500


def test_files_by_suffix_and_methods(tmp_path):
    net = random_markov_net(np.random.default_rng(1), "abc", "xy", beside=True)
    gml.write_model(net, tmp_path / "m.json")
    assert_same_terms(gml.MarkovNet.from_file(tmp_path / "m.json"), net)
    assert_same_terms(gml.read_model(tmp_path / "m.json"), net)
    assert gml.read_graph(tmp_path / "m.json") == net.graph
    net.to_file(tmp_path / "m.uai")
    assert (tmp_path / "m.uai").read_text().startswith("MARKOV\n3\n2 2 2\n")
    for name in ("m.bif", "m.xmlbif", "m.net"):
        with pytest.raises(GraphError, match="holds a directed model, .* gml convert makes"):
            gml.write_model(net, tmp_path / name)
        assert not (tmp_path / name).exists()
    with pytest.raises(GraphError, match="m.json: an undirected model, which gml.MarkovNet.from_f"):
        gml.BayesNet.from_file(tmp_path / "m.json")
    gml.write_model(random_network(np.random.default_rng(1), "ab", "xy"), tmp_path / "d.uai")
    with pytest.raises(GraphError, match="d.uai: a directed model, which gml.BayesNet.from_file"):
        gml.MarkovNet.from_file(tmp_path / "d.uai")
    assert isinstance(gml.BayesNet.from_file(tmp_path / "d.uai"), BayesNet)


def test_a_changed_file_is_noticed(tmp_path):
    net = random_markov_net(np.random.default_rng(1), "abc", "xy")
    gml.write_model(net, tmp_path / "m.json")
    text = (tmp_path / "m.json").read_text()
    assert gml.verify(tmp_path / "m.json")
    (tmp_path / "m.json").write_text(text.replace('"table": [', '"table": [  '))
    assert gml.verify(tmp_path / "m.json")
    factor = json.loads(text)["factors"][0]["table"][0]
    (tmp_path / "m.json").write_text(text.replace(repr(factor), "0.125"))
    with pytest.warns(GmlWarning, match="changed since it was written"):
        gml.read_model(tmp_path / "m.json")


def test_every_figure_of_a_fit_can_be_read():
    assert set(FIGURES) == {field.name for field in fields(FitSummary)}

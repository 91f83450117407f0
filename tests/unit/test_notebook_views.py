"""What a notebook shows: valid, escaped, short, and loaded only when it is asked for."""

from __future__ import annotations

import math
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from itertools import pairwise, product

import numpy as np
import pandas as pd
import pytest

import gml
from gml.model.network import Network
from gml.pictures.graph_picture import Bars, Bell
from gml.pictures.node_distributions import distributions_of
from gml.pictures.notebook import graphs, tables
from tests.pictures import shown
from tests.places import ROOT

# What the learners warn of is not what is tested here.
pytestmark = pytest.mark.filterwarnings("ignore::gml.errors.GmlWarning")

ASIA = str(ROOT / "sample_data/asia.csv")
TRUTH = str(ROOT / "sample_data/asia.dot")
SVG = "{http://www.w3.org/2000/svg}svg"


@pytest.fixture(scope="module")
def net():
    return gml.fit(ASIA, TRUTH)


@pytest.fixture(scope="module")
def numbers():
    frame = pd.DataFrame({"x": [1, 2, 3, 4], "y": [1.5, 2.5, 3.5, 4.6]})
    graph = gml.Graph.from_edges(["x", "y"], [("x", "-->", "y")])
    return gml.fit(frame, graph, gaussian=True, intervals=0.9)


def texts(element, tag):
    return ["".join(found.itertext()) for found in element.iter(tag)]


def chain(n):
    names = [f"n{k:03}" for k in range(n)]
    return gml.Graph.from_edges(names, [(a, "-->", b) for a, b in pairwise(names)])


# ---------------------------------------------------------------------- graphs


def test_a_graph_is_a_picture():
    picture = ElementTree.fromstring(gml.read_graph(TRUTH)._repr_svg_())
    assert picture.tag == SVG
    assert "either" in "".join(picture.itertext())
    assert gml.read_graph(TRUTH)._repr_html_() is None


@pytest.mark.parametrize("n,is_drawn", [(200, True), (201, False)])
def test_a_graph_too_large_to_read_says_what_to_do(n, is_drawn):
    graph = chain(n)
    assert (graph._repr_svg_() is not None) == is_drawn
    assert (graph._repr_html_() is None) == is_drawn
    if not is_drawn:
        assert "gml.draw(graph, around='n000', radius=2)" in graph._repr_html_()


def test_a_graph_of_too_many_edges_says_what_to_do():
    names = [f"n{k:03}" for k in range(120)]
    pairs = [(a, "-->", b) for k, b in enumerate(names) for a in names[:k]]
    graph = gml.Graph.from_edges(names, pairs)
    assert graph._repr_svg_() is None
    assert "DAG: 120 nodes, 7140 edges: too many to read in one picture." in graph._repr_html_()


@pytest.mark.parametrize(
    "learn,said,weight",
    [
        (lambda: gml.pc(ASIA), "CPDAG: 8 nodes, 7 edges", None),
        (lambda: gml.hc(ASIA), "DAG: 8 nodes, 7 edges; score -11182.7", None),
        (lambda: gml.exact(ASIA, score="bic"), "DAG: 8 nodes, 7 edges; score -11182.7", None),
        (lambda: gml.imap(ASIA, order=["smoke", "lung"]), "DAG: 2 nodes, 1 edge", None),
        (
            lambda: gml.chowliu(ASIA),
            "DAG: 8 nodes, 7 edges; total mutual information 0.670891",
            "mi",
        ),
        (
            lambda: gml.average(ASIA, by="hc", bootstrap=3, threshold=0.5),
            "CPDAG: 8 nodes, 9 edges; threshold 0.5",
            "strength",
        ),
    ],
)
def test_results_of_learners_are_pictures(learn, said, weight, monkeypatch):
    scenes = []
    drawn = graphs.draw_graph
    monkeypatch.setattr(graphs, "draw_graph", lambda scene: scenes.append(scene) or drawn(scene))
    result = learn()
    assert result.graph._repr_svg_().startswith("<svg")
    page = shown(result)
    assert texts(page, "p") == [said]
    assert len(list(page.iter(SVG))) == 1
    assert [(scene.graph, scene.weight) for scene in scenes] == [(result.graph, weight)] * 2


def test_the_optimum_has_the_gaps_of_others_beside_it():
    assert texts(shown(gml.exact(ASIA, against=TRUTH)), "th")[:3] == ["graph", "score", "gap"]


def test_a_partial_result_says_so():
    result = gml.hc(ASIA, max_seconds=1e-9)
    assert not result.complete
    assert texts(shown(result), "p")[0].endswith("; not complete: time ran out")


# ---------------------------------------------------------------------- models


def test_a_model_shows_the_distribution_of_each_node(net, numbers, monkeypatch):
    scenes = []
    drawn = graphs.draw_graph
    monkeypatch.setattr(graphs, "draw_graph", lambda scene: scenes.append(scene) or drawn(scene))
    for model in (net, numbers):
        assert list(shown(model).iter(SVG))
    labels, bells = (scene.distributions for scene in scenes)
    expected = net.query()
    assert labels == {
        name: Bars(("no", "yes"), (expected[name]["no"], expected[name]["yes"]))
        for name in net.names
    }
    assert bells == {name: Bell(*numbers.query()[name]) for name in ("x", "y")}


def test_a_model_lists_its_nodes(net):
    page = shown(net)
    assert texts(page, "p")[0] == "Model: 8 discrete nodes, 8 edges, 18 parameters"
    rows = [["".join(cell.itertext()) for cell in row] for row in page.iter("tr")]
    assert rows[0] == ["node", "parents", "levels", "parameters"]
    assert ["dysp", "bronc, either", "no, yes", "4"] in rows


def grid(width, height, n_levels):
    """A model whose junction tree has a clique of some min(width, height) nodes."""
    levels = tuple(f"l{k}" for k in range(n_levels))
    variables = {
        (x, y): gml.Variable(f"{x},{y}", levels) for x, y in product(range(width), range(height))
    }
    cpds = []
    for (x, y), variable in variables.items():
        parents = tuple(
            variables[place] for place in ((x - 1, y), (x, y - 1)) if place in variables
        )
        shares = np.full((n_levels ** len(parents), n_levels), 1 / n_levels)
        cpds.append(gml.CPT(variable, parents, shares))
    return gml.BayesNet(tuple(cpds))


@pytest.mark.parametrize("model", [grid(61, 1, 2), grid(7, 8, 12)], ids=["nodes", "memory"])
def test_a_huge_model_is_a_graph_without_bars(model, monkeypatch):
    scenes = []
    drawn = graphs.draw_graph
    monkeypatch.setattr(graphs, "draw_graph", lambda scene: scenes.append(scene) or drawn(scene))
    assert list(shown(model).iter(SVG))
    assert [scene.distributions for scene in scenes] == [{}]


def test_a_network_of_the_inside_is_shown_too(net):
    assert list(shown(Network(net.cpds)).iter(SVG))


def test_a_table_has_the_levels_of_the_parents_as_row_headers(net):
    page = shown(net.cpt("dysp"))
    assert texts(page, "strong") == ["P(dysp | bronc, either)"]
    rows = [["".join(cell.itertext()) for cell in row] for row in page.iter("tr")]
    assert rows[:2] == [
        ["bronc", "either", "no", "yes", "rows"],
        ["no", "no", "0.899093", "0.100907", "2646"],
    ]
    headers = [th.text for th in page.iter("th") if th.get("scope") == "row"]
    assert headers == [level for row in net.cpt("dysp").configurations() for level in row]


def test_a_table_with_intervals_has_them():
    table = gml.fit(ASIA, TRUTH, intervals=0.9).cpt("smoke")
    rows = [["".join(cell.itertext()) for cell in row] for row in shown(table).iter("tr")]
    assert rows[2][:3] == ["level", "probability", "lower"]
    assert rows[3] == ["no", *(f"{p:.6g}" for p in (table.table[0, 0], *table.intervals[0, 0]))]


def test_a_large_table_is_shortened():
    many = gml.Variable("many", tuple(map(str, range(30))))
    shares = np.full((30, 30), 1 / 30)
    parent = gml.Variable("parent", tuple(map(str, range(30))))
    page = shown(gml.CPT(many, (parent,), shares))
    assert len(list(page.iter("tr"))) == 1 + tables.MOST_ROWS
    assert texts(page, "p")[1:] == ["and 10 more rows", "and 18 more levels"]


def test_a_level_may_have_the_name_of_a_parent():
    a, b = gml.Variable("a", ("a", "rows")), gml.Variable("b", ("a", "rows"))
    page = shown(gml.CPT(b, (a,), np.array([[0.25, 0.75], [0.5, 0.5]]), np.array([[1, 3], [2, 2]])))
    rows = [["".join(cell.itertext()) for cell in row] for row in page.iter("tr")]
    assert rows == [
        ["a", "a", "rows", "rows"],
        ["a", "0.25", "0.75", "4"],
        ["rows", "0.5", "0.5", "4"],
    ]


def test_a_regression_is_a_table_of_terms(numbers):
    page = shown(numbers.cpd("y"))
    assert texts(page, "strong") == ["y given x, from 4 rows"]
    rows = [["".join(cell.itertext()) for cell in row] for row in page.iter("tr")]
    assert rows[0] == ["term", "estimate", "lower", "upper"]
    assert [row[:2] for row in rows[1:]] == [
        ["(intercept)", "0.45"],
        ["x", "1.03"],
        ["(sd)", "0.0273861"],
    ]


def test_regressions_are_a_table_of_configurations():
    frame = pd.DataFrame({"sex": list("fm") * 5, "mass": [1.0, 2, 3, 4, 5, 6, 7, 9, 9, 11]})
    graph = gml.Graph.from_edges(["sex", "mass"], [("sex", "-->", "mass")])
    net = gml.fit(frame, graph, numeric=["mass"], intervals=0.9)
    page = shown(net.cpd("mass"))
    assert texts(page, "strong") == ["mass given sex"]
    rows = [["".join(cell.itertext()) for cell in row] for row in page.iter("tr")]
    assert rows[:3] == [
        ["sex", "(intercept)", "(sd)", "rows"],
        ["f", "5", "2.82843", "5"],
        ["m", "6.4", "3.2619", "5"],
    ]
    assert rows[3] == ["given", "term", "estimate", "lower", "upper"]
    model = shown(net)
    assert texts(model, "p")[0] == "Model: 2 mixed nodes, 1 edge, 5 parameters"
    assert repr(net.cpd("mass")).splitlines() == [
        "ConditionalGaussian('mass' given 'sex': 2 regressions)",
        "f: 5, sd 2.82843",
        "m: 6.4, sd 3.2619",
    ]
    assert net.cpd("mass").to_frame().loc[("m", "(intercept)"), "estimate"] == pytest.approx(6.4)


# ---------------------------------------------------------------------- answers


def test_an_answer_has_labels_evidence_and_bars(net):
    page = shown(gml.query(net, "lung", {"xray": "yes"}, do={"smoke": "yes"}))
    assert texts(page, "p") == ["set: smoke = yes; P(xray=yes) = 0.140237"]
    rows = [["".join(cell.itertext()) for cell in row][:3] for row in page.iter("tr")]
    assert rows == [
        ["node", "level", "probability"],
        ["lung", "no", "0.367218"],
        ["lung", "yes", "0.632782"],
    ]
    bars = [span.get("style") for span in page.iter("span")]
    assert ["width:44.07px" in bars[0], "width:75.93px" in bars[1]] == [True, True]


def test_other_answers_are_tables(net, numbers):
    for answer, columns in (
        (gml.query(net, ["lung", "bronc"]), ["lung", "bronc", "probability"]),
        (gml.query(net, mpe=True), ["node", "level"]),
        (gml.query(numbers, "y", {"x": 2}), ["node", "mean", "sd"]),
        (gml.query(numbers, mpe=True), ["node", "value"]),
        (gml.query(net, "lung")["lung"], ["level", "probability"]),
    ):
        assert texts(next(shown(answer).iter("tr")), "th")[: len(columns)] == columns


def test_answers_about_rows_say_how_good_they_are(net):
    rows = net.sample(300, seed=1)
    predictions = gml.query(net, predict="lung", batch=rows)
    page = shown(predictions)
    assert texts(page, "p")[0] == "and 280 more rows"
    assert texts(page, "p")[1].startswith("lung, 300 rows: accuracy ")
    confusion = texts(shown(predictions.metrics), "tr")
    assert confusion[0] == "truepredicted nopredicted yes"
    several = gml.query(net, ["lung", "tub"], batch=rows.to_frame()[["xray"]])
    assert texts(next(shown(several).iter("tr")), "th")[:2] == ["lung=no", "lung=yes"]


# ---------------------------------------------------------------------- reports


def test_a_check_names_the_culprit_first(net):
    rows = net.sample(2000, seed=1).to_frame()
    good = shown(gml.check(rows, net))
    assert texts(good, "strong") == ["pass: 4 insufficient, 73 pass"]
    rows["bronc"] = rows["bronc"].sample(frac=1, random_state=1).to_numpy()
    report = gml.check(rows, net)
    page = shown(report)
    assert texts(page, "strong") == ["fail: 8 fail, 4 insufficient, 65 pass"]
    assert texts(page, "li") == [culprit.message for culprit in report.culprits]
    assert len(list(page.iter("tr"))) == 1 + 8
    several = shown(gml.check([net.sample(500, seed=2), rows], net))
    assert texts(several, "strong") == ["fail: 2 deliveries"]
    assert texts(several, "td")[-1] == report.culprits[0].message


def test_a_delivery_that_cannot_be_read_says_why(net, tmp_path):
    (tmp_path / "bad.csv").write_text("a,b\n1\n")
    reports = gml.check([str(tmp_path / "bad.csv")], net)
    assert "not checked" in texts(shown(reports), "td")
    assert texts(shown(reports.reports[0]), "strong")[0].startswith("not checked: ")


def test_reports_are_tables(net, tmp_path):
    log = tmp_path / "log.jsonl"
    found = gml.pc(ASIA, test_log=str(log))
    model = tmp_path / "model.json"
    net.to_file(model)
    knowledge = gml.Knowledge(require=(("a", "b"),), tiers=(("a",), ("b", "c")))
    for report, columns in (
        (gml.profile(ASIA), ["column", "guess", "values", "distinct", "missing"]),
        (gml.compare(net, found), ["a", "b", "as", "shd", "sid_lower", "sid_upper"]),
        (gml.score(ASIA, [TRUTH], score="bic"), ["graph", "bic", "dim"]),
        (gml.verify(str(model)), ["file", "verdict"]),
        (knowledge, ["what", "columns"]),
    ):
        assert texts(next(shown(report).iter("tr")), "th") == columns
    assert texts(shown(knowledge), "td") == ["a", "b, c", "a → b"]
    explanation = gml.explain(str(log), "smoke", "lung")
    assert texts(shown(explanation), "li") == list(explanation.sentences)


def test_tests_are_a_table_with_p_values_however_small():
    report = gml.indtest(ASIA, "lung", "either")
    page = shown(report)
    rows = [["".join(cell.itertext()) for cell in row] for row in page.iter("tr")]
    found = dict(zip(*rows, strict=True))
    assert (found["x"], found["y"], found["verdict"]) == ("lung", "either", "dependent")
    assert report[0]["p_value"] == 0
    mantissa, exponent = found["p_value"].split("e")
    exact = report[0]["log10_p"]
    assert float(exponent) + math.log10(float(mantissa)) == pytest.approx(exact, abs=1e-5)
    everything = shown(gml.indtest(ASIA, all_pairs=True))
    assert texts(everything, "p") == ["and 8 more rows"]


# ---------------------------------------------------------------------- safety and cost


EVIL = '<script>alert("1")</script>'


def test_labels_stay_labels():
    a = gml.Variable(EVIL, ("<b>", '" onload="x', "\x1b[31m"))
    b = gml.Variable("b&b", ("<i>", "&amp;"))
    net = gml.BayesNet(
        (
            gml.CPT(a, (), np.array([[0.5, 0.25, 0.25]])),
            gml.CPT(b, (a,), np.array([[0.5, 0.5]] * 3)),
        )
    )
    rows = net.sample(100, seed=1)
    # All of one level: the check fails, and names the column.
    turned = pd.DataFrame({EVIL: ["<b>"] * 100, "b&b": ["<i>"] * 100})
    for thing in (
        net,
        net.cpt("b&b"),
        gml.query(net, EVIL, {"b&b": "<i>"}),
        gml.query(net, ["b&b", EVIL]),
        gml.query(net, EVIL)[EVIL],
        gml.query(net, predict=EVIL, batch=rows),
        gml.check(turned, net),
        gml.profile(rows),
        gml.Knowledge(require=((EVIL, "b&b"),)),
        gml.hc(rows),
        gml.indtest(rows, EVIL, "b&b"),
    ):
        page = shown(thing)
        assert not {"script", "b", "i"} & {found.tag for found in page.iter()}
        assert EVIL in "".join(page.itertext())
        assert "\x1b" not in thing._repr_html_()
        assert not any(name.startswith("on") for found in page.iter() for name in found.attrib)
    picture = ElementTree.fromstring(net.graph._repr_svg_())
    assert EVIL in "".join(picture.itertext())


def python(code):
    return subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout


def test_the_answers_of_a_model_are_shown_though_it_loads_them_late():
    code = (
        "import gml; net = gml.fit('sample_data/asia.csv', 'sample_data/asia.dot'); "
        "print(net.query('lung')._repr_html_()[:4], "
        "net.predict(net.sample(5, seed=1), 'lung').metrics._repr_html_()[:4])"
    )
    assert python(code) == "<div <div\n"


def test_only_a_notebook_pays_for_what_it_shows():
    code = (
        "import sys, gml; gml.BayesNet; "
        "late = ('gml.model.row_answers', 'gml.pictures.notebook.tables', 'gml.pictures.svg'); "
        "print([name for name in late if name in sys.modules])"
    )
    assert python(code) == "[]\n"


def test_what_classes_are_like_is_a_frame_and_a_picture():
    found = gml.mixture("sample_data/carcinoma.csv", components=3, weights="slides")
    assert repr(found.profiles) == "<ClassProfiles: 3 classes, 7 columns>"
    frame = found.profiles.to_frame()
    assert list(frame) == ["column", "is", "level", "class=1", "class=2", "class=3"]
    assert len(frame) == 1 + 7 * 2
    assert frame.iloc[1:3]["class=2"].sum() == pytest.approx(1)
    assert "<svg" in found.profiles._repr_html_()
    assert repr(found.chosen).startswith("<MixtureFit: 3 classes, log-likelihood -293.7")
    assert "<table>" in found.chosen._repr_html_()


def test_profiles_show_patterns_of_missing_values_and_the_test():
    found = gml.profile("sample_data/survey_missing.csv", missing_patterns=True)
    html = found._repr_html_()
    assert "Missing together" in html and "Little's test: chi2" in html
    assert "Little's test p" in repr(found) and "Little's test p" in repr(found.patterns)
    assert found.patterns.to_frame()["rows"].sum() == 1000


def test_plans_and_topics_show_their_text():
    plan = gml.plan("chowliu", "sample_data/asia.csv")
    assert repr(plan).startswith("<Plan of chowliu: 5000 rows x 8 columns, memory, ")
    assert str(plan).startswith("command ") and "refused " in str(plan)
    assert "<table>" in plan._repr_html_()
    topic = gml.help("engines")
    assert repr(topic).startswith("Engines, and memory\n") and "`max_memory`" in repr(topic)
    assert "--max-memory" in topic.text


def test_a_number_of_several_classes_is_drawn_as_a_mixture():
    rng = np.random.default_rng(1)
    classes = rng.integers(2, size=300)
    frame = pd.DataFrame({"x": rng.normal(size=300) + 6 * classes, "k": classes.astype(str)})
    model = gml.mixture(frame, components=2, numeric=["x"], em_restarts=2).model
    parts = distributions_of(model, ["x", "k"], {})["x"].parts
    assert [round(weight, 1) for weight, _, _ in parts] == [0.5, 0.5]
    assert abs(parts[0][1] - parts[1][1]) == pytest.approx(6, abs=0.5)
    told = gml.draw(
        gml.mixture("sample_data/carcinoma.csv", components=2, weights="slides").model,
        kind="classes",
    ).svg
    assert "shares of levels" in told and "deviation" not in told

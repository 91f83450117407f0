"""The report page: valid, inert, exact, and a section for everything that is known."""

from __future__ import annotations

import base64
import hashlib
import html
import math
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gml
from gml.errors import parameter, with_flags
from gml.pictures.page.posteriors import junction_cells, number_groups, posteriors_of
from gml.pictures.page.scripts import ASSETS, script, styles
from tests.report_pages import ParsedPage

SECTIONS = [
    "graph", "interventions", "data", "information", "tests", "scores", "strengths", "check", "provenance",
]  # fmt: skip
CONTAINERS = [
    "graph-view", "evidence-panel", "node-panel", "posterior-panel", "interventions-view", "status",
]  # fmt: skip


@pytest.fixture(scope="module")
def asia(sample_data):
    return gml.fit(sample_data / "asia.csv", sample_data / "asia.dot")


@pytest.fixture(scope="module")
def page(asia, sample_data):
    return ParsedPage(gml.report(sample_data / "asia.csv", asia).html)


@pytest.fixture(scope="module")
def full_page(tmp_path_factory, sample_data):
    """A page with all its inputs."""
    folder = tmp_path_factory.mktemp("report")
    data = sample_data / "asia.csv"
    with pytest.warns(gml.GmlWarning, match="ambiguous"):
        found = gml.pc(data, test_log=folder / "log.jsonl")
    net = gml.fit(data, sample_data / "asia.dot")
    averaged = gml.average(data, by="hc", bootstrap=5)
    report = gml.report(data, net, test_log=folder / "log.jsonl", strengths=averaged)
    return ParsedPage(report.html), found, averaged, folder / "log.jsonl"


# ---------------------------------------------------------------------- the file


def test_sections_with_their_headings_and_links(page):
    ids = [attributes.get("id") for tag, attributes in page.elements if tag == "section"]
    assert ids == SECTIONS
    links = [a["href"] for tag, a in page.elements if tag == "a"]
    assert links == ["#graph", "#check", *(f"#{name}" for name in SECTIONS)]
    headings = {a.get("id") for tag, a in page.elements if tag == "h2"}
    labelled = {a["aria-labelledby"] for tag, a in page.elements if tag == "section"}
    assert headings == labelled


def test_containers_that_scripts_fill(page):
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(set(ids)) == len(ids)
    assert {*CONTAINERS} <= {*ids}


def test_one_script_runs_and_nothing_is_loaded(page, asia, sample_data):
    (facts, _), (attributes, code) = page.scripts
    assert facts == {"type": "application/json", "id": "gml-data"}
    assert attributes == {}
    assert code == script()
    digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
    assert page.policy == (
        "default-src 'none'; style-src 'unsafe-inline'; "
        f"script-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    )
    addresses = re.findall(r"https?://[^\"' ]*", gml.report(sample_data / "asia.csv", asia).html)
    assert {*addresses} <= {"http://www.w3.org/2000/svg"}
    for tag, found in page.elements:
        assert tag not in ("link", "img", "iframe", "object", "embed", "base")
        assert not {key for key in found if key.startswith("on") or key in ("src", "srcset")}


def test_assets_stay_in_their_elements():
    for text in (script(), styles()):
        assert not re.search(r"</(script|style)|<!--", text, re.IGNORECASE)
    assert len(set(ASSETS)) == len(ASSETS)


names = st.text(min_size=1, max_size=8) | st.sampled_from(
    ["</script>", "<script>alert(1)</script>", "<!--", "]]>", '"', "'", "&lt;", "\u2028", "a b", "\x00", "<b>", "`${x}`"]
)  # fmt: skip


@settings(max_examples=30, deadline=None)
@given(
    st.lists(names, min_size=2, max_size=2, unique=True),
    st.lists(names, min_size=2, max_size=3, unique=True),
    names,
)
def test_names_and_levels_are_inert(nodes, levels, title):
    x, y = (gml.Variable(name, tuple(levels)) for name in nodes)
    n = len(levels)
    codes = np.arange(60, dtype=np.uint8) % n
    other = (np.arange(60) // 7 % n).astype(np.uint8)
    data = gml.Dataset((x, y), (codes, other))
    graph = gml.Graph.from_edges(
        nodes, [(nodes[0], "-->", nodes[1])], levels={name: tuple(levels) for name in nodes}
    )
    net = gml.fit(data, graph)
    found = ParsedPage(gml.report(data, net, title=title).html)
    assert len(found.scripts) == 2
    assert found.scripts[1][1] == script()
    assert {tag for tag, _ in found.elements} <= {
        *(
            "html",
            "head",
            "meta",
            "title",
            "style",
            "body",
            "a",
            "header",
            "nav",
            "main",
            "section",
        ),
        *("h1", "h2", "h3", "p", "ul", "li", "div", "noscript", "figure", "figcaption", "table"),
        *("caption", "thead", "tbody", "tr", "th", "td", "details", "summary", "code", "strong"),
        *("script", "svg", "g", "rect", "path", "text", "tspan", "line", "circle", "polygon"),
        *("polyline", "defs", "lineargradient", "stop", "marker", "desc", "clippath"),
    }
    assert [node["id"] for node in found.facts["model"]["nodes"]] == nodes
    assert found.facts["model"]["nodes"][0]["levels"] == levels
    assert found.facts["title"] == title


def test_a_notebook_shows_it_apart(asia, sample_data):
    report = gml.report(sample_data / "asia.csv", asia, title='a "b" <c>')
    shown = ParsedPage(report._repr_html_())
    ((tag, attributes),) = shown.elements
    assert tag == "iframe"
    assert attributes["srcdoc"] == report.html
    assert attributes["sandbox"] == "allow-scripts"
    assert html.escape(report.title, quote=True) in report._repr_html_()
    assert repr(report).startswith("ReportPage('a \"b\" <c>', ")


def test_to_file(asia, sample_data, tmp_path):
    report = gml.report(sample_data / "asia.csv", asia)
    report.to_file(tmp_path / "r.html")
    assert (tmp_path / "r.html").read_text(encoding="utf-8") == report.html


# ---------------------------------------------------------------------- facts for scripts


def test_tables_are_exact(page, asia):
    for node in page.facts["model"]["nodes"]:
        cpt = asia.cpt(node["id"])
        assert node["cpt"] == cpt.table.tolist()
        assert node["counts"] == cpt.counts.tolist()
        assert node["parents"] == [parent.name for parent in cpt.parents]
        assert node["levels"] == list(cpt.variable.levels)


def test_the_layout_has_every_node_and_edge(page, asia):
    found = page.facts["graph"]
    assert [node["id"] for node in found["nodes"]] == list(asia.names)
    for node in found["nodes"]:
        assert node["width"] / 2 <= node["x"] <= found["width"] - node["width"] / 2
        assert node["height"] / 2 <= node["y"] <= found["height"] - node["height"] / 2
    ends = {(edge["source"], edge["target"]) for edge in found["edges"]}
    assert ends == {(e.source, e.target) for e in asia.graph.edges}
    for edge in found["edges"]:
        assert re.fullmatch(r"M[-\d.]+,[-\d.]+ C([-\d.]+,[-\d.]+ ?)+", edge["path"])


@pytest.mark.filterwarnings("ignore::gml.errors.GmlWarning")
def test_the_page_knows_which_arrows_the_data_leave_open(page, sample_data):
    assert not any(edge["open"] for edge in page.facts["graph"]["edges"])
    assert "leave open" not in page.text("graph")
    table = sample_data / "asia.csv"
    tree = gml.chowliu(table, root="dysp", columns=["smoke", "lung", "dysp"])
    found = ParsedPage(gml.report(table, gml.fit(table, tree), check=False).html)
    assert [edge["open"] for edge in found.facts["graph"]["edges"]] == [True, True]
    assert "leave open which way 2 arrows point" in found.text("graph")


def test_small_models_are_computed_in_the_page(page, asia):
    inference = page.facts["inference"]
    assert (inference["mode"], inference["why"], inference["given"]) == ("exact", None, None)
    assert inference["do"] is None
    expected = asia.query()
    assert inference["prior"] == {name: list(expected[name].values()) for name in asia.names}


def test_large_models_are_answered_beforehand(asia, monkeypatch):
    monkeypatch.setattr("gml.pictures.page.posteriors.MOST_CELLS", junction_cells(asia) - 1)
    found = posteriors_of(asia)
    assert found.mode == "precomputed"
    assert "one observation or one intervention at a time" in found.why
    for kind, answers in (("evidence", found.given), ("do", found.do)):
        assert list(answers) == list(asia.names)
        for name in asia.names:
            for level, shares in answers[name].items():
                expected = asia.query(**{kind: {name: level}})
                assert {n: list(expected[n].values()) for n in asia.names if n != name} == shares
    monkeypatch.setattr("gml.pictures.page.posteriors.MOST_ANSWERS", 0)
    found = posteriors_of(asia)
    assert (found.given, found.do) == (None, None)
    assert "only priors are shown" in found.why


def test_what_cannot_be_observed_has_no_answer(monkeypatch):
    rain = gml.Variable("rain", ("no", "yes", "never"))
    net = gml.BayesNet((gml.CPT(rain, (), np.array([[0.5, 0.5, 0.0]])),))
    monkeypatch.setattr("gml.pictures.page.posteriors.MOST_CELLS", 0)
    found = posteriors_of(net)
    assert found.given == {"rain": {"no": {}, "yes": {}, "never": None}}
    assert found.do == {"rain": {"no": {}, "yes": {}, "never": {}}}


def test_cells_of_the_junction_tree():
    a, b, c = (
        gml.Variable(name, ("0", "1", "2")[:n]) for name, n in zip("abc", (2, 3, 2), strict=True)
    )
    half = np.full((3, 2), 0.5)
    net = gml.BayesNet(
        (
            gml.CPT(a, (b,), half),
            gml.CPT(b, (), np.full((1, 3), 1 / 3)),
            gml.CPT(c, (b,), half),
        )
    )
    # a with b, then b with c, then c alone.
    assert junction_cells(net) == 6 + 6 + 2


# ---------------------------------------------------------------------- sections


def test_a_section_without_its_input_says_what_fills_it(page):
    assert "--test-log FILE" in page.text("tests")
    assert "--strengths GRAPH" in page.text("strengths")
    assert page.facts["tests"] is None
    assert page.facts["strengths"] is None
    assert sum(a.get("class") == "absent" for _, a in page.elements) == 2


def test_tests_are_told_as_explain_tells_them(full_page):
    found, learned, _, log = full_page
    text = found.text("tests")
    assert found.text("tests").count("have an edge") == learned.graph.n_edges
    n_names = len(learned.graph.names)
    assert text.count("have no edge") == n_names * (n_names - 1) // 2 - learned.graph.n_edges
    for edge in found.facts["graph"]["edges"]:
        pair = found.facts["tests"]["pairs"][edge["tests"]]
        assert {pair["x"], pair["y"]} == {edge["source"], edge["target"]}
        expected = gml.explain(log, pair["x"], pair["y"])
        assert pair["why"] == " ".join(map(with_flags, expected.sentences))
        assert pair.keys() == {"x", "y", "why"}


def test_weaker_edges_can_be_had(full_page, asia, sample_data):
    found, _, averaged, _ = full_page
    assert "use  gml average … --threshold 0.05 , which" in found.text("strengths")
    assert averaged.threshold > 0.05
    data = sample_data / "asia.csv"
    with pytest.warns(gml.GmlWarning, match="the weaker evidence gave way"):
        all_of_them = gml.average(data, by="hc", bootstrap=5, threshold=0.05)
    text = ParsedPage(gml.report(data, asia, strengths=all_of_them, check=False).html)
    assert "weaker edges too" not in text.text("strengths")


def test_strengths_of_edges(full_page):
    found, _, averaged, _ = full_page
    graph = averaged.graph
    expected = {}
    for e in graph.edges:
        known, ends = e.attributes, (e.source, e.target)
        half = known["undirected"] / 2
        shares = (known["direction"] - half, 2 * half, 1 - known["direction"] - half)
        if e.type == "---" and ends[0] > ends[1]:
            ends, shares = ends[::-1], shares[::-1]
        expected[ends] = (e.type, known["strength"], pytest.approx(shares, abs=1e-12))
    strengths = found.facts["strengths"]
    assert {
        (edge["source"], edge["target"]): (edge["type"], edge["strength"], directions(edge))
        for edge in strengths["edges"]
    } == expected
    assert strengths["threshold"] == graph.learning["threshold"]
    in_order = [edge["strength"] for edge in strengths["edges"]]
    assert in_order == sorted(in_order, reverse=True)
    for edge in found.facts["graph"]["edges"]:
        ends = edge["source"], edge["target"]
        if ends in expected:
            assert (edge["strength"], directions(edge)) == expected[ends][1:]
        elif ends[::-1] in expected:
            assert (edge["strength"], directions(edge)[::-1]) == expected[ends[::-1]][1:]
        else:
            assert (edge["strength"], *directions(edge)) == (None,) * 4
        assert edge["below"] == (edge["strength"] is None)


def directions(edge):
    return edge["forward"], edge["undirected"], edge["backward"]


def averaged_asia(*edges, names=None, **learning):
    """An averaged graph of the asia network: strengths, directions and what was learned."""
    names = names or ["asia", "tub", "smoke", "lung", "bronc", "either", "xray", "dysp"]
    return gml.Graph.from_edges(names, edges, kind="cpdag", learning=learning)


def test_edges_without_a_direction_point_nowhere(asia, sample_data):
    shares = {"strength": 1.0, "direction": 0.8075, "undirected": 0.385}
    graph = averaged_asia(
        ("tub", "-->", "either", shares),
        ("smoke", "---", "bronc", {"strength": 0.99999996, "direction": 0.31, "undirected": 0.62}),
        threshold=0.945,
    )
    found = ParsedPage(gml.report(sample_data / "asia.csv", asia, strengths=graph).html)
    either, bronc = found.facts["strengths"]["edges"]
    assert (either["type"], *directions(either)) == ("-->", 0.615, 0.385, 0)
    assert (bronc["type"], *directions(bronc)) == ("---", 0.38, 0.62, 0)
    text = found.text("strengths")
    assert "at least 0.945; weaker ones are not in the file" in text
    assert "bronc --- smoke >0.9999 0.38 0.62 0 edge" in text


def test_an_edge_that_was_not_kept_is_weak(asia, sample_data):
    names = ["bronc", "dysp", "either", "lung", "smoke"]
    graph = averaged_asia(
        ("smoke", "-->", "lung", {"strength": 0.9}), ("smoke", "-->", "bronc", {}), names=names
    )
    found = ParsedPage(gml.report(sample_data / "asia.csv", asia, strengths=graph).html)
    below = {(e["source"], e["target"]): e["below"] for e in found.facts["graph"]["edges"]}
    assert {ends for ends, known in below.items() if known} == {
        ("lung", "either"),
        ("bronc", "dysp"),
        ("either", "dysp"),
    }
    assert found.facts["strengths"]["threshold"] is None
    assert "does not say" in found.text("strengths")


def test_information_is_that_of_the_data(page, sample_data):
    frame = pd.read_csv(sample_data / "asia.csv")
    for edge in page.facts["graph"]["edges"]:
        joint = pd.crosstab(frame[edge["source"]], frame[edge["target"]]).to_numpy() / len(frame)
        alone = joint.sum(1, keepdims=True) * joint.sum(0, keepdims=True)
        seen = joint > 0
        expected = float((joint[seen] * np.log(joint[seen] / alone[seen])).sum())
        assert edge["mi"] == pytest.approx(expected, abs=1e-12)


def test_the_pairs_that_share_most(page, sample_data):
    values = {
        tuple(sorted((one, other))): gml.indtest(sample_data / "asia.csv", one, other)[0]["mi"]
        for one in ("either", "lung")
        for other in ("dysp", "xray")
    }
    rows = re.findall(r"(\w+) – (\w+) ([\d.e-]+) (edge|no edge)", page.text("information"))
    assert len(rows) == 20
    shown = [float(value) for _, _, value, _ in rows]
    assert shown == sorted(shown, reverse=True)
    found = {(x, y): float(value) for x, y, value, _ in rows}
    assert {pair: found[pair] for pair in values} == {
        pair: float(f"{value:.4g}") for pair, value in values.items()
    }
    assert {(x, y) for x, y, _, what in rows if what == "edge"} >= {
        ("bronc", "dysp"),
        ("either", "xray"),
    }


def test_scores_are_those_of_score(page, asia, sample_data):
    (expected,) = gml.score(
        sample_data / "asia.csv",
        sample_data / "asia.dot",
        score=["loglik", "bic", "bdeu"],
        folds=10,
    )
    text = page.text("scores")
    for value in expected.scores.values():
        assert f"{value:.8g}" in text
    assert f"Held-out loss: {expected.heldout:.6g} nats per row" in text
    assert f"{asia.log_likelihood(sample_data / 'asia.csv'):.8g}" in text


def test_the_held_out_loss_is_that_of_draw(page, asia, sample_data):
    """One graph and one table have one loss, unless another number of folds is asked for."""
    data = sample_data / "asia.csv"
    drawn = gml.draw(data, sample_data / "asia.dot", kind="losses")
    loss = float(re.search(r"Held-out loss: ([\d.]+) nats", page.text("scores"))[1])
    assert f"{loss:.5g}" in drawn.svg
    assert "in 10-fold cross-validation" in page.text("scores")
    (expected,) = gml.score(data, sample_data / "asia.dot", folds=3)
    text = ParsedPage(gml.report(data, asia, folds=3).html).text("scores")
    assert f"Held-out loss: {expected.heldout:.6g} nats per row" in text
    assert "in 3-fold cross-validation" in text
    with pytest.raises(gml.UsageError, match="`folds` must be at least 2, not 1"):
        gml.report(data, asia, folds=1)


def test_scores_are_said_to_be_of_the_refitted_graph(asia):
    """A shuffled column: the graph refitted on it loses less than the model itself."""
    rows = asia.sample(2000, seed=1).to_frame()
    rows["bronc"] = rows["bronc"].sample(frac=1, random_state=1).to_numpy()
    own = -asia.log_likelihood(rows) / 2000
    refitted = -gml.fit(rows, asia.graph).log_likelihood(rows) / 2000
    assert own > refitted + 0.1
    text = ParsedPage(gml.report(rows, asia).html).text("scores")
    assert f"The model as it is loses {own:.6g} nats per row" in text
    assert f"the graph refitted on them, {refitted:.6g}." in text
    assert "Scores and held-out loss are of the graph with parameters refitted on these" in text


def test_culprits_stand_before_what_fails(asia):
    rows = asia.sample(2000, seed=1).to_frame()
    rows["bronc"] = rows["bronc"].sample(frac=1, random_state=1).to_numpy()
    checked = gml.check(rows, asia)
    text = ParsedPage(gml.report(rows, asia).html).text("check")
    assert text.startswith("Check FAIL")
    assert text.index(checked.culprits[0].message) < text.index("Failures")
    for check in checked.ranked("fail"):
        assert check.message in text


def test_the_verdict_stands_under_the_title(asia, sample_data):
    rows = asia.sample(2000, seed=1).to_frame()
    rows["bronc"] = rows["bronc"].sample(frac=1, random_state=1).to_numpy()
    checked = gml.check(rows, asia)
    page = ParsedPage(gml.report(rows, asia).html)
    assert f"FAIL  culprit: {checked.culprits[0].message}" in page.text("header")
    assert page.text("header").endswith(" (see  Check )")
    tags = [tag for tag, _ in page.elements]
    links = [a["href"] for tag, a in page.elements[: tags.index("nav")] if tag == "a"]
    assert links == ["#graph", "#check"]
    # Not by colour alone: the word, its sign and its frame are others.
    for said, sign in (("fail", "✗"), ("error", "⚠")):
        assert f'.verdict.{said}::before {{ content: "{sign} "; }}' in styles()
    accepted = gml.report(rows, asia, baseline=checked.accepted())
    assert "PASS" in ParsedPage(accepted.html).text("header")
    unchecked = ParsedPage(gml.report(rows, asia, check=False).html)
    assert unchecked.text("header").endswith("Not checked (see  Check )")


def test_the_baseline_is_that_of_check(asia):
    rows = asia.sample(2000, seed=1).to_frame()
    rows["bronc"] = rows["bronc"].sample(frac=1, random_state=1).to_numpy()
    accepted = gml.check(rows, asia).accepted()
    text = ParsedPage(gml.report(rows, asia, baseline=accepted).html).text("check")
    assert text.startswith("Check PASS")
    assert "Accepted before: 8 checks" in text


def test_values_and_columns_that_the_model_does_not_have(asia, sample_data):
    rows = pd.read_csv(sample_data / "asia.csv").drop(columns="xray")
    rows.loc[:4, "smoke"] = "maybe"
    found = ParsedPage(gml.report(rows, asia).html)
    assert "1 value that the model does not know" in found.text("data")
    assert "Not in the data: xray" in found.text("data")
    assert "no column for 'xray'" in found.text("scores")
    assert "maybe" not in str(found.facts["model"])
    either = next(e for e in found.facts["graph"]["edges"] if e["target"] == "xray")
    assert either["mi"] is None


def test_impossible_rows_have_no_likelihood(asia, sample_data):
    rows = pd.read_csv(sample_data / "asia.csv")
    rows.loc[:4, "smoke"] = "maybe"
    text = ParsedPage(gml.report(rows, asia).html).text("scores")
    assert "-inf" in text
    assert "Held-out loss" in text


def test_missing_values(asia, sample_data):
    rows = pd.read_csv(sample_data / "asia.csv")
    rows.loc[:99, "smoke"] = None
    found = ParsedPage(gml.report(rows, asia, missing="available").html)
    assert "100 missing (2.0 %)" in found.text("data")
    assert "a score needs complete rows" in found.text("scores")


def test_a_column_of_nothing(asia, sample_data):
    rows = pd.read_csv(sample_data / "asia.csv")[["smoke", "lung"]]
    rows["smoke"] = None
    found = ParsedPage(gml.report(rows, asia, missing="available").html)
    assert "5000 missing (100 %)" in found.text("data")


def test_rows_left_out_are_said_to_be(asia, sample_data):
    rows = pd.read_csv(sample_data / "asia.csv")
    rows.loc[:99, "smoke"] = None
    text = ParsedPage(gml.report(rows, asia, missing="drop").html).text("data")
    assert "4900 rows, 8 columns" in text
    assert "100 rows with missing values are not among them" in text
    assert "of all 5000 rows" in text
    kept = ParsedPage(gml.report(rows, asia, missing="available").html).text("data")
    assert "5000 rows, 8 columns" in kept
    assert "not among them" not in kept


def test_levels_are_shown_by_their_frequency_and_never_rounded_to_certainty():
    names = [f"v{k:02}" for k in range(12)] + ["zz"]
    values = names[:12] + ["v03"] * 8 + ["zz"] * 59_980
    frame = pd.DataFrame({"a": values, "b": ["x", "y"] * 30_000})
    net = gml.fit(frame, gml.Graph.from_edges(["a", "b"], []))
    frame.loc[0, "a"] = "new"
    text = ParsedPage(gml.report(frame, net).html).text("data")
    assert "zz >99.9 %" in text
    assert "v03 <0.1 %" in text
    assert "new <0.1 %" in text
    assert "and 4 more levels <0.1 %" in text
    assert "v00 0 %" not in text
    assert "100.0" not in text and " 0.0" not in text


def test_a_file_is_named_by_its_last_part(asia, sample_data):
    page = ParsedPage(gml.report(sample_data / "asia.csv", asia).html)
    title = "asia.csv and model asia.csv (5000 rows) against model "
    assert page.text("header").startswith(title)
    assert str(sample_data / "asia.csv") in page.text("provenance")
    assert "8 discrete nodes, 8 edges, 18 parameters." in page.text("graph")


def test_rows_too_few_for_folds(asia, sample_data):
    text = ParsedPage(gml.report(pd.read_csv(sample_data / "asia.csv")[:3], asia).html).text(
        "scores"
    )
    assert "No held-out loss: " in text
    assert "loglik" in text


@pytest.fixture(scope="module")
def numbers():
    rng = np.random.default_rng(1)
    x = rng.normal(10, 2, 500)
    frame = pd.DataFrame({"x": x, "y": 3 * x + rng.normal(0, 1, 500), "z": rng.normal(0, 1, 500)})
    graph = gml.Graph.from_edges(["x", "y", "z"], [("x", "-->", "y")])
    return frame, gml.fit(frame, graph, gaussian=True)


def test_models_of_numbers(numbers):
    frame, net = numbers
    found = ParsedPage(gml.report(frame, net).html)
    inference = found.facts["inference"]
    assert inference["mode"] == "exact"
    answer = net.query()
    assert inference["prior"]["y"] == dict(zip(("mean", "sd"), answer["y"], strict=True))
    cpd = net.cpd("y")
    assert found.facts["model"]["nodes"][1] == {
        "id": "y",
        "parents": ["x"],
        "gaussian": {
            "intercept": cpd.intercept,
            "coefficients": list(cpd.coefficients),
            "sd": cpd.sd,
        },
    }
    (edge,) = found.facts["graph"]["edges"]
    r = np.corrcoef(frame["x"], frame["y"])[0, 1]
    assert edge["mi"] == pytest.approx(-0.5 * math.log(1 - r**2), rel=1e-9)
    assert edge["coefficient"] == cpd.coefficients[0]
    assert f"median {frame['x'].sort_values().iloc[250]:.6g}" in found.text("data")
    low, high = (f"{frame['z'].agg(which):.6g}".replace("-", "−") for which in ("min", "max"))
    assert f"from {low} to {high}" in found.text("data")
    assert "bic-g" in found.text("scores")


def test_columns_that_copy_one_another(numbers):
    frame, net = numbers
    found = ParsedPage(gml.report(frame.assign(y=frame["x"]), net).html)
    assert found.facts["graph"]["edges"][0]["mi"] == "infinite"
    assert "x – y ∞ edge" in found.text("information")
    assert "x, y: ∞" in found.text("information")


def test_information_of_numbers_is_of_the_rows_that_have_both(numbers):
    frame, net = numbers
    frame = frame.copy()
    frame.loc[::2, "z"] = None
    frame.loc[1::2, "y"] = None
    frame.loc[:9, "y"] = frame.loc[:9, "x"] * 2
    found = ParsedPage(gml.report(frame, net, missing="available").html)
    both = frame[["x", "y"]].dropna()
    r = np.corrcoef(both["x"], both["y"])[0, 1]
    (edge,) = found.facts["graph"]["edges"]
    assert edge["mi"] == pytest.approx(-0.5 * math.log(1 - r**2), rel=1e-9)


def test_columns_without_a_row_in_common(numbers, monkeypatch):
    frame, net = numbers
    unknown = np.array([[0, np.nan, 0.5], [np.nan, 0, 0.25], [0.5, 0.25, 0]])
    monkeypatch.setattr(
        "gml.verbs.shared.reported.columns.mutual_information", lambda counter: unknown
    )
    found = ParsedPage(gml.report(frame, net).html)
    assert found.facts["graph"]["edges"][0]["mi"] == "no rows in common"
    text = found.text("information")
    assert "1 pair of columns has no rows in common" in text
    assert re.findall(r"(\w) – (\w) ([\d.]+)", text) == [("x", "z", "0.5"), ("y", "z", "0.25")]


@pytest.fixture(scope="module")
def flats():
    rows = pd.read_csv("sample_data/flats.csv")
    edges = [("district", "-->", "size"), ("condition", "-->", "heating"), ("size", "-->", "rent")]
    graph = gml.Graph.from_edges(list(rows.columns), [*edges, ("district", "-->", "rent")])
    return rows, gml.fit(rows, graph, numeric=["size", "rent", "heating"], intervals=0.9)


def test_models_of_labels_and_numbers(flats):
    rows, net = flats
    found = ParsedPage(gml.report(rows, net).html)
    inference = found.facts["inference"]
    assert (inference["mode"], inference["why"]) == ("exact", None)
    answer = net.query()
    assert inference["prior"]["parking"] == list(answer["parking"].values())
    assert inference["prior"]["rent"] == {"mean": answer["rent"].mean, "sd": answer["rent"].sd}
    nodes = {node["id"]: node for node in found.facts["model"]["nodes"]}
    assert nodes["rent"]["parents"] == ["district", "size"]
    lines = net.cpd("rent").regressions
    assert nodes["rent"]["regressions"] == [
        {
            "intercept": line.intercept,
            "coefficients": list(line.coefficients),
            "sd": line.sd,
            "n": line.n,
        }
        for line in lines
    ]
    assert nodes["parking"]["cpt"] == net.cpt("parking").table.tolist()
    edges = {(edge["source"], edge["target"]): edge for edge in found.facts["graph"]["edges"]}
    slopes = [line.coefficients[0] for line in lines]
    assert edges["size", "rent"]["coefficients"] == [min(slopes), max(slopes)]
    assert edges["size", "rent"]["coefficient"] is None
    groups = rows.groupby("district")["rent"]
    left = (groups.var(ddof=0) * groups.size()).sum() / (rows["rent"].var(ddof=0) * len(rows))
    assert edges["district", "rent"]["mi"] == pytest.approx(-0.5 * math.log(left), rel=1e-9)
    assert edges["district", "rent"]["coefficients"] is None
    low, high = lines[0].intervals[1]
    assert f"{slopes[0]:.6g} ({low:.6g} to {high:.6g})" in found.text("regressions")
    assert "bic-cg" in found.text("scores") and "Held-out loss: " in found.text("scores")
    mean, sd = answer["rent"].mean, answer["rent"].sd
    assert f"the model expects {mean:.6g} ± {sd:.6g}" in found.text("data")
    assert "−½ ln(1 − η²)" in found.text("information")
    assert "6 mixed nodes, 4 edges" in found.text("graph")
    # The graph lacks edges that the rows were made from.
    assert "checks fail at alpha 0.01" in found.text("check")


def test_a_mixed_page_does_not_depend_on_the_order_of_rows_and_columns(flats):
    rows, net = flats
    other = rows.sample(frac=1, random_state=0)[rows.columns[::-1]]
    one, two = (gml.report(table, net).html for table in (rows, other))
    assert without_places(one) == without_places(two)


def test_cells_of_a_mixed_table_that_are_no_numbers_are_missing(flats):
    rows, net = flats
    rows = rows.astype({"rent": object})
    rows.loc[3, "rent"] = "unknown"
    found = ParsedPage(gml.report(rows, net).html)
    assert "values are missing, and a score needs complete rows" in found.text("scores")
    assert "district – rent" in found.text("information")


def test_a_mixed_model_with_too_many_configurations_shows_what_holds_without_evidence():
    labels = [gml.Variable(f"l{k}", tuple("abcdef")) for k in range(6)]
    tables = [gml.CPT(label, (), np.full((1, 6), 1 / 6)) for label in labels]
    numbers = []
    for k, label in enumerate(labels):
        number = gml.Variable(f"x{k}", None)
        above = tuple(each.variable for each in numbers[-1:])
        lines = tuple(
            gml.LinearGaussian(number, above, float(j), (1.0,) * len(above), 1.0) for j in range(6)
        )
        numbers.append(gml.ConditionalGaussian(number, (label, *above), lines))
    net = gml.BayesNet((*tables, *numbers))
    assert number_groups(net) == [
        ([f"x{k}" for k in range(6)], [f"l{k}" for k in range(6)]),
    ]
    found = posteriors_of(net)
    assert found.mode == "precomputed" and found.given is None
    assert "46,656 configurations of labels, too many" in found.why
    assert found.prior["l0"] == pytest.approx([1 / 6] * 6)
    assert found.prior["x1"]["mean"] == pytest.approx(5.0)
    assert found.prior["x1"]["sd"] == pytest.approx(math.sqrt(2 * (35 / 12 + 1)))


def test_the_order_of_rows_and_columns_has_no_effect(asia, sample_data):
    rows = pd.read_csv(sample_data / "asia.csv")
    other = rows.sample(frac=1, random_state=0)[rows.columns[::-1]]
    one, two = (gml.report(table, asia).html for table in (rows, other))
    # The least likely rows are named by their place, and held-out rows are drawn from places.
    assert without_places(one) == without_places(two)


def without_places(text):
    return re.sub(r"row \d+", "row", text)


def test_only_so_many_pairs_are_explained(tmp_path, sample_data):
    from gml.verbs.shared.reported.explained import explained_pairs

    log = tmp_path / "log.jsonl"
    with pytest.warns(gml.GmlWarning, match="ambiguous"):
        learned = gml.pc(sample_data / "asia.csv", test_log=log)
    graph = gml.read_graph(sample_data / "asia.dot")
    n_edges = learned.graph.n_edges
    found = explained_pairs(log, graph, most=n_edges + 4)
    assert found.left_out == 28 - n_edges - 4
    assert [pair.adjacent for pair in found.pairs] == [True] * n_edges + [False] * 4
    ends = {frozenset((e.source, e.target)) for e in graph.edges}
    apart = [pair for pair in explained_pairs(log, graph).pairs if not pair.adjacent]
    in_model = [frozenset((pair.x, pair.y)) in ends for pair in apart]
    assert in_model == sorted(in_model, reverse=True)
    rest = [pair.log10_p for pair, known in zip(apart, in_model, strict=True) if not known]
    assert rest == sorted(rest)


def test_many_columns_make_no_endless_picture():
    rng = np.random.default_rng(0)
    names = [f"v{k:02}" for k in range(64)]
    frame = pd.DataFrame(rng.integers(0, 2, (50, 64)).astype(str), columns=names)
    graph = gml.Graph.from_edges(names, [])
    text = ParsedPage(gml.report(frame, gml.fit(frame, graph)).html).text("information")
    assert "60 of 64 columns" in text


def test_edges_too_many_to_draw_are_left_to_the_panels(asia, sample_data, monkeypatch):
    monkeypatch.setattr("gml.pictures.layout.layers._MOST_PIECES", 7)
    page = ParsedPage(gml.report(sample_data / "asia.csv", asia).html)
    assert "No edges are drawn: 8 edges would hide one another." in page.text("graph")
    assert "The graph needs scripts: it is too large for a picture." in page.text("graph")
    graph = page.facts["graph"]
    assert [edge["path"] for edge in graph["edges"]] == [None] * 8
    places = {(node["x"], node["y"]) for node in graph["nodes"]}
    assert len(places) == 8
    assert all(x <= graph["width"] and y <= graph["height"] for x, y in places)


def test_a_check_can_be_left_out(asia, sample_data, monkeypatch):
    monkeypatch.setattr("gml.verbs.shared.check_run.examine", None)
    page = ParsedPage(gml.report(sample_data / "asia.csv", asia, check=False).html)
    assert "Not checked: --no-check leaves it out." in page.text("check")
    assert "Whether the model was fitted on these rows is not known." in page.text("provenance")
    with pytest.raises(gml.UsageError, match="`baseline` is for the check, which is left out"):
        gml.report(sample_data / "asia.csv", asia, check=False, baseline=gml.Baseline())


def test_a_check_that_cannot_be_made_leaves_the_rest(asia, sample_data, monkeypatch):
    def refuse(*given, **options):
        raise gml.CannotAnswer(f"too large; raise {parameter('max_memory')}")

    monkeypatch.setattr("gml.verbs.shared.check_run.examine", refuse)
    page = ParsedPage(gml.report(sample_data / "asia.csv", asia).html)
    assert "Not checked: too large; raise --max-memory." in page.text("check")
    assert "bic" in page.text("scores").lower()


def test_large_tables_are_not_sent(asia, sample_data, monkeypatch):
    """Counts are shown only; probabilities are computed with, unless answers are there already."""
    monkeypatch.setattr("gml.pictures.page.payload._MOST_SHOWN", 4)

    def nodes():
        facts = ParsedPage(gml.report(sample_data / "asia.csv", asia, check=False).html).facts
        return facts["inference"], {node["id"]: node for node in facts["model"]["nodes"]}

    inference, found = nodes()
    assert inference["mode"] == "exact"
    assert found["dysp"]["cpt"] == asia.cpt("dysp").table.tolist()
    assert found["dysp"]["counts"] is None
    assert found["xray"]["counts"] == asia.cpt("xray").counts.tolist()
    monkeypatch.setattr("gml.pictures.page.posteriors.MOST_PARAMETERS", 35)
    inference, found = nodes()
    assert inference["mode"] == "precomputed"
    assert inference["why"].startswith("The tables of this model have 36 cells, too many for a ")
    assert found["dysp"]["cpt"] is None
    assert found["xray"]["cpt"] == asia.cpt("xray").table.tolist()

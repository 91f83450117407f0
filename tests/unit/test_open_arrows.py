"""Which arrows of a chosen DAG are compelled, and which of the others an effect rests on."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import gml
from gml.graph.equivalence import as_chosen, equivalence_class, representative
from gml.graph.extension import consistent_extension
from gml.graph.graph import Graph, Mark
from gml.graph.knowledge import Knowledge
from gml.graph.open_arrows import arrows_behind, compelled_arrows, open_arrows
from gml.learners.ges import ges
from gml.learners.hillclimb import hill_climb
from gml.model.undirected.conversion import directed_model
from tests.graphs import as_graph, compelled, equivalent_dags, random_dag


def arcs_of(matrix, names):
    return {(names[i], names[j]) for i, j in np.argwhere(matrix).tolist()}


def random_knowledge(rng, dag, names):
    """Some of what is true of a DAG: arcs that it has, arcs that it lacks, tiers of its order."""
    n = len(dag)
    order = []
    while len(order) < n:
        order += [
            v for v in range(n) if v not in order and set(np.flatnonzero(dag[:, v])) <= {*order}
        ]
    has = [(names[i], names[j]) for i, j in np.argwhere(dag).tolist() if rng.random() < 0.2]
    lacks = [
        (names[i], names[j])
        for i, j in itertools.permutations(range(n), 2)
        if not dag[i, j] and rng.random() < 0.1
    ]
    tiers = ()
    if rng.random() < 0.4:
        at = int(rng.integers(1, n))
        tiers = (tuple(names[v] for v in order[:at]), tuple(names[v] for v in order[at:]))
    return Knowledge(tuple(has), tuple(lacks), tiers)


def agreeing(dag, names, known):
    """The members of the class of a DAG that obey what is known."""
    forbidden = known.forbidden(names)
    required = known.required(names)
    return [
        other
        for other in equivalent_dags(dag)
        if not (other & forbidden).any() and not (required & ~other).any()
    ]


@pytest.mark.parametrize("seed", range(120))
def test_an_arrow_is_compelled_if_all_members_that_agree_with_knowledge_have_it(seed):
    rng = np.random.default_rng(seed)
    dag = random_dag(rng, int(rng.integers(2, 6)), rng.uniform(0.3, 1))
    graph = as_graph(dag)
    names = graph.names
    known = random_knowledge(rng, dag, names) if seed % 2 else Knowledge()
    shared = arcs_of(compelled(agreeing(dag, names, known)), names)
    wanted = {arc: arc in shared for arc in arcs_of(dag, names)}
    chosen = as_chosen(graph, known)
    assert compelled_arrows(chosen) == wanted
    assert set(open_arrows(chosen)) == {
        arc for arc, is_compelled in wanted.items() if not is_compelled
    }
    for other in (
        representative(graph, known),
        consistent_extension(equivalence_class(graph, known)),
    ):
        assert {arc for arc, found in compelled_arrows(other).items() if found} == shared
        assert len(compelled_arrows(other)) == graph.n_edges
    again = equivalence_class(chosen, known)
    assert not any("compelled" in edge.attributes for edge in again.edges)


@pytest.mark.parametrize("seed", range(60))
def test_arrows_that_only_a_score_demands_stay_open_on_the_way_through_a_class(seed):
    rng = np.random.default_rng(seed)
    dag = random_dag(rng, int(rng.integers(3, 6)), rng.uniform(0.4, 1))
    graph = as_graph(dag)
    told = random_knowledge(rng, dag, graph.names) if seed % 2 else Knowledge()
    every = tuple(arcs_of(dag, graph.names))
    demanded = Knowledge(told.require + every, told.forbid, told.tiers, before_demands=told)
    shared = arcs_of(compelled(agreeing(dag, graph.names, told)), graph.names)
    wanted = {arc: arc in shared for arc in every}
    assert compelled_arrows(as_chosen(graph, demanded)) == wanted
    shown = equivalence_class(graph, demanded)
    assert shown.kind == "pdag"
    assert compelled_arrows(shown) == {arc: False for arc in every if arc not in shared}
    assert compelled_arrows(consistent_extension(shown)) == wanted


def test_a_claim_settles_what_follows_from_it():
    """Without the attribute an arrow is as drawn: with A -> B, B - C has one direction left."""
    left = {"compelled": False}
    edges = [("A", "-->", "B", left), ("B", "-->", "C", left), ("D", "-->", "E", left)]
    assert open_arrows(Graph.from_edges("ABCDE", edges)) == [("A", "B"), ("B", "C"), ("D", "E")]
    claimed = [("A", "-->", "B"), *edges[1:]]
    assert open_arrows(Graph.from_edges("ABCDE", claimed)) == [("D", "E")]


def test_a_graph_as_drawn_has_no_open_arrows():
    drawn = Graph.from_edges("ABC", [("A", "-->", "B"), ("B", "-->", "C")])
    assert compelled_arrows(drawn) == {} and open_arrows(drawn) == []
    assert arrows_behind(drawn, {"B"}, {"A", "C"}) == []
    assert consistent_extension(drawn) == drawn


def test_what_says_that_an_arrow_is_compelled_is_true_or_false(tmp_path):
    path = tmp_path / "g.dot"
    path.write_text("digraph { A -> B [compelled=perhaps] }")
    with pytest.raises(gml.GmlError, match=r"g\.dot: .* must be true or false, not 'perhaps'"):
        gml.read_graph(path)


# ---------------------------------------------------------------------- what an effect rests on


def possibly_causal(marks, path):
    """By definition: no later node has an arrow to an earlier one."""
    return not any(
        marks[late, early] == Mark.ARROW and marks[early, late] == Mark.TAIL
        for early, late in itertools.combinations(path, 2)
    )


def first_edges(graph, do, asked):
    """Undirected first edges of proper possibly causal paths, by listing all paths."""
    marks, found = graph.marks, set()

    def follow(path):
        if path[-1] in asked and possibly_causal(marks, path):
            found.add(frozenset(path[:2]))
        for after in np.flatnonzero(marks[path[-1]]).tolist():
            if after not in path and after not in do:
                follow([*path, after])

    for x in do:
        for v in np.flatnonzero(marks[x]).tolist():
            if v not in do and marks[x, v] == Mark.TAIL == marks[v, x]:
                follow([x, v])
    return found


@pytest.mark.parametrize("seed", range(150))
def test_the_arrows_behind_an_effect_are_those_with_which_possibly_causal_paths_begin(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 7))
    dag = random_dag(rng, n, rng.uniform(0.3, 1))
    graph = as_graph(dag)
    known = random_knowledge(rng, dag, graph.names) if seed % 2 else Knowledge()
    chosen, shown = as_chosen(graph, known), equivalence_class(graph, known)
    for _ in range(4):
        nodes = rng.permutation(n).tolist()
        cut = int(rng.integers(1, n))
        do, asked = {*nodes[:cut][:2]}, {*nodes[cut:][:2]}
        found = arrows_behind(chosen, {graph.names[x] for x in do}, {graph.names[y] for y in asked})
        ends = {frozenset(map(graph.index, arc)) for arc in found}
        assert ends == first_edges(shown, do, asked)
        assert {*found} <= arcs_of(dag, graph.names)


def effects(covariance, dag, do, asked):
    """Means per unit of what is set, and covariance, of what is asked, in a linear model."""
    n = len(dag)
    weights, errors = np.zeros((n, n)), np.zeros(n)
    for y in range(n):
        given = np.flatnonzero(dag[:, y])
        slopes = np.linalg.solve(covariance[np.ix_(given, given)], covariance[given, y])
        if y not in do:
            weights[y, given] = slopes
            errors[y] = covariance[y, y] - slopes @ covariance[given, y]
    total = np.linalg.inv(np.eye(n) - weights)
    return np.hstack([total[np.ix_(asked, do)], (total * errors @ total.T)[np.ix_(asked, asked)]])


@pytest.mark.parametrize("seed", range(80))
def test_effects_differ_within_the_class_exactly_where_they_rest_on_an_arrow(seed):
    """Perković 2020, theorem 3.6, on the members of the class of a random linear model."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 6))
    dag = random_dag(rng, n, rng.uniform(0.4, 1))
    graph = as_graph(dag)
    known = random_knowledge(rng, dag, graph.names) if seed % 2 else Knowledge()
    chosen = as_chosen(graph, known)
    weights = (dag * rng.uniform(0.5, 1.5, (n, n)) * rng.choice([-1, 1], (n, n))).T
    inverse = np.linalg.inv(np.eye(n) - weights)
    covariance = inverse @ np.diag(rng.uniform(0.5, 2, n)) @ inverse.T
    members = agreeing(dag, graph.names, known)
    for _ in range(4):
        nodes = rng.permutation(n).tolist()
        cut = int(rng.integers(1, n))
        do, asked = sorted(nodes[:cut][:2]), sorted(nodes[cut:][:2])
        each = np.array([effects(covariance, member, do, asked) for member in members])
        differ = bool((np.ptp(each, axis=0) > 1e-9).any())
        found = arrows_behind(chosen, {graph.names[x] for x in do}, {graph.names[y] for y in asked})
        assert bool(found) == differ


# ---------------------------------------------------------------------- who says it


TABLE = "sample_data/asia.csv"


def of_class(graph, known=None):
    """What the class of a DAG says of its arrows, from its PDAG."""
    shown = equivalence_class(graph, known)
    return {(e.source, e.target): shown.edge_type(e.source, e.target) == "-->" for e in graph.edges}


@pytest.mark.filterwarnings("ignore::gml.errors.GmlWarning")
@pytest.mark.parametrize(
    "learn",
    [
        lambda **how: gml.hc(TABLE, **how).graph,
        lambda **how: gml.hc(TABLE, score="k2", **how).graph,
        lambda **how: gml.hc(TABLE, cpdag=True, **how).dag,
        lambda **how: gml.exact(TABLE, **how).graph,
        lambda **how: gml.exact(TABLE, score="k2", **how).graph,
        lambda **how: gml.ges(TABLE, **how).dag,
        lambda **how: gml.pc(TABLE, **how).dag,
        lambda **how: gml.average(TABLE, "hc", bootstrap=5, **how).dag,
        lambda **how: gml.average(TABLE, "exact", **how).dag,
    ],
    ids=["hc", "hc k2", "hc cpdag", "exact", "exact k2", "ges", "pc", "average", "posterior"],
)
def test_learners_say_which_arrows_of_a_dag_are_compelled(learn):
    alone = learn()
    assert compelled_arrows(alone) == of_class(alone)
    assert False in of_class(alone).values() and True in of_class(alone).values()
    tiers = [["smoke"], ["asia", "tub", "lung", "bronc", "either", "xray", "dysp"]]
    told = learn(tiers=tiers)
    known = Knowledge(tiers=tuple(map(tuple, tiers)))
    assert compelled_arrows(told) == of_class(told, known)
    assert of_class(told, known) != of_class(told)


def test_trees_and_naive_bayes_models_have_open_arrows():
    tree = gml.chowliu(TABLE, root="dysp").graph
    assert set(compelled_arrows(tree).values()) == {False} and tree.n_edges == 7
    assert all({"mi", "compelled"} == set(edge.attributes) for edge in tree.edges)
    around = gml.chowliu(TABLE, class_="lung").graph
    assert compelled_arrows(around) == of_class(around)
    loose = gml.chowliu(TABLE, undirected=True).graph
    assert not any("compelled" in edge.attributes for edge in loose.edges)


@pytest.mark.filterwarnings("ignore::gml.errors.GmlWarning")
def test_linear_dags_by_optimisation_say_it_beside_their_weights():
    found = gml.notears("sample_data/crops.csv").graph
    assert compelled_arrows(found) == of_class(found)
    assert all({"weight", "compelled"} == set(edge.attributes) for edge in found.edges)


def test_an_order_that_somebody_gave_is_a_claim():
    assert not gml.imap(TABLE, ["smoke", "lung", "bronc", "dysp"]).graph.attributes


@pytest.mark.filterwarnings("ignore::gml.errors.GmlWarning")
def test_structural_em_says_it_too(tmp_path):
    rows = gml.read(TABLE, columns=["smoke", "lung", "bronc", "dysp"]).to_frame().head(400)
    rows.loc[::7, "bronc"] = None
    rows.loc[3::11, "lung"] = None
    for found in (gml.hc(rows, missing="em").graph, gml.ges(rows, missing="em").dag):
        assert found.n_edges and compelled_arrows(found) == of_class(found)


def mixed_rows():
    rng = np.random.default_rng(7)
    kind = rng.choice(["ash", "oak", "yew"], 400)
    size = np.select([kind == "ash", kind == "oak"], [1.0, 4.0], 9.0) + rng.normal(size=400)
    height = 2 * size + rng.normal(size=400)
    return {"kind": kind, "size": size, "height": height}


@pytest.mark.filterwarnings("ignore::gml.errors.GmlWarning")
def test_the_tiers_of_a_score_settle_nothing_and_those_of_people_do():
    import pandas as pd

    rows = pd.DataFrame(mixed_rows())
    how = {"numeric": ["size", "height"], "score": "bic-cg"}
    dag = gml.hc(rows, **how).graph
    assert ("kind", "size") in compelled_arrows(dag)
    assert not any(compelled_arrows(dag).values())
    found = gml.ges(rows, **how)
    assert found.graph.kind == "pdag" and not any(compelled_arrows(found.dag).values())
    net = gml.fit(rows, found, numeric=["size", "height"])
    assert net.compelled and not any(net.compelled.values())
    told = gml.hc(rows, **how, tiers=[["kind"], ["size", "height"]]).graph
    assert compelled_arrows(told)["kind", "size"] is True


@pytest.mark.parametrize("learn", [hill_climb, ges])
def test_a_score_of_ones_own_gives_marked_arrows(learn):
    class Pairs:
        names = ("b", "a", "c")
        equivalent = True

        def local(self, child, parents):
            return 2.0 * len(parents) - len(parents) ** 2

    dag = learn(Pairs()).dag
    assert dag.n_edges and compelled_arrows(dag) == of_class(dag)


# ---------------------------------------------------------------------- graphs and models of files


@pytest.mark.parametrize("suffix", ["json", "dot", "graphml"])
def test_graph_files_give_back_which_arrows_are_open(tmp_path, suffix):
    path = tmp_path / f"g.{suffix}"
    graph = gml.chowliu(TABLE, class_="lung").graph
    gml.write_graph(graph, path)
    again = gml.read_graph(path)
    assert again.attributes == graph.attributes
    assert {type(found) for found in compelled_arrows(again).values()} == {bool}
    assert "compelled" in gml.convert(graph, "text").text


@pytest.mark.filterwarnings("ignore::gml.errors.GmlWarning")
def test_models_keep_which_arrows_of_their_graph_are_open(tmp_path):
    learned = gml.ges(TABLE)
    net = gml.fit(TABLE, learned)
    assert net.compelled == compelled_arrows(net.graph) == of_class(net.graph)
    path = tmp_path / "model.json"
    net.to_file(path)
    again = gml.read_model(path)
    assert again.compelled == net.compelled
    # From a model on: its own graph is fitted again, or its rows are added to.
    assert gml.fit(TABLE, path).compelled == net.compelled
    assert gml.fit(TABLE, again, update=True).compelled == net.compelled
    assert gml.read_graph(path).attributes == net.graph.attributes


def test_a_model_of_a_drawn_graph_says_nothing():
    net = gml.fit(TABLE, "sample_data/asia.dot")
    assert net.compelled == {} and net.graph.attributes == {}
    assert "compelled" not in gml.convert(net, "json").text


@pytest.mark.filterwarnings("ignore::gml.errors.GmlWarning")
@pytest.mark.parametrize("how", [{"missing": "em"}, {"missing": "em", "hidden": {"H": 2}}])
def test_models_fitted_by_em_keep_it(how):
    rows = gml.read(TABLE, columns=["smoke", "lung", "bronc"]).to_frame().head(200)
    rows.loc[::9, "bronc"] = None
    names = ["smoke", "lung", "bronc", *how.get("hidden", ())]
    edges = [("smoke", "---", "lung"), ("smoke", "---", "bronc")]
    edges += [("H", "---", "bronc")] if "hidden" in how else []
    net = gml.fit(rows, Graph.from_edges(names, edges), em_restarts=1, **how)
    assert len(net.compelled) == len(edges) and not any(net.compelled.values())


@pytest.mark.filterwarnings("ignore::gml.errors.GmlWarning")
def test_numbers_fitted_by_em_keep_it():
    import pandas as pd

    rows = pd.DataFrame(mixed_rows())
    rows.loc[::9, "size"] = np.nan
    edges = [("kind", "---", "size"), ("size", "---", "height")]
    graph = Graph.from_edges(list(rows), edges)
    net = gml.fit(rows, graph, numeric=["size", "height"], missing="em", em_restarts=1)
    assert net.compelled == {("kind", "size"): False, ("size", "height"): False}


@pytest.mark.filterwarnings("ignore::gml.errors.GmlWarning")
def test_arrows_made_from_an_undirected_model_are_open():
    learned = gml.chowliu(TABLE, undirected=True)
    assert set(compelled_arrows(consistent_extension(learned.graph)).values()) == {False}
    net = gml.mrf(TABLE, structure="tree")
    turned = directed_model(net)
    assert len(turned.compelled) == turned.graph.n_edges > 0
    assert not any(turned.compelled.values())


@pytest.mark.parametrize("format", ["bif", "xmlbif", "net", "uai"])
def test_formats_without_room_for_it_say_so(format):
    with pytest.warns(gml.GmlWarning, match="a cpdag"):
        net = gml.fit(TABLE, gml.ges(TABLE))
    with pytest.warns(gml.GmlWarning, match="which arrows the data leave open"):
        gml.convert(net, format)
    drawn = gml.fit(TABLE, "sample_data/asia.dot")
    with pytest.warns(gml.GmlWarning, match="does not hold") as caught:
        gml.convert(drawn, format)
    assert not any("leave open" in str(one.message) for one in caught)


# ---------------------------------------------------------------------- answers


@pytest.fixture(scope="module")
def net():
    with pytest.warns(gml.GmlWarning, match="a cpdag"):
        return gml.fit(TABLE, gml.ges(TABLE))


@pytest.mark.parametrize(
    ("ask", "arrows"),
    [
        (lambda net: net.query("bronc", do={"smoke": "yes"}), [("smoke", "bronc")]),
        (lambda net: net.query(["bronc", "lung"], do={"smoke": "yes"}), "both"),
        (lambda net: net.query("bronc", {"lung": "no"}, do={"smoke": "yes"}), "both"),
        (lambda net: net.query("tub", do={"smoke": "yes"}), []),
        (lambda net: net.query("smoke", do={"either": "yes"}), []),
        (lambda net: net.query("smoke", {"lung": "yes"}), []),
        (lambda net: net.query(do={"smoke": "yes"}), "both"),
        (lambda net: net.query("dysp", do={"smoke": "yes", "bronc": "no"}), [("lung", "smoke")]),
        (lambda net: net.map("bronc", do={"smoke": "no"}), [("smoke", "bronc")]),
        (lambda net: net.mpe(do={"smoke": "no"}), "both"),
    ],
)
def test_an_answer_names_the_open_arrows_that_it_rests_on(net, recwarn, ask, arrows):
    wanted = {("smoke", "bronc"), ("lung", "smoke")} if arrows == "both" else {*arrows}
    assert wanted <= {arc for arc, is_compelled in net.compelled.items() if not is_compelled}
    recwarn.clear()
    assert {*ask(net).rests_on} == wanted
    said = [str(one.message) for one in recwarn.list]
    assert len(said) == bool(wanted)
    for source, target in wanted:
        assert f"{source} -> {target}" in said[0] and "do(smoke=" in said[0]


@pytest.mark.parametrize(
    "ask",
    [
        lambda net: gml.sample(net, 5, do={"smoke": "yes"}),
        lambda net: gml.sample(net, 5, do={"smoke": "yes"}, evidence={"dysp": "yes"}),
        lambda net: net.predict(TABLE_ROWS, "lung", do={"smoke": "yes"}),
        lambda net: gml.query(net, "lung", do={"smoke": "yes"}, batch=TABLE_ROWS),
    ],
)
def test_rows_are_drawn_and_answered_with_the_same_word(net, ask):
    with pytest.warns(gml.GmlWarning, match=r"the answer to do\(smoke=yes\) rests on") as caught:
        ask(net)
    assert len(caught) == 1 and "lung -> smoke" in str(caught[0].message)


TABLE_ROWS = gml.read(TABLE, columns=["xray"])


def test_a_drawn_graph_is_taken_as_drawn_without_a_word(recwarn):
    drawn = gml.fit(TABLE, "sample_data/asia.dot")
    assert drawn.query("lung", do={"smoke": "yes"}).rests_on == ()
    gml.sample(drawn, 3, do={"smoke": "yes"})
    drawn.predict(TABLE_ROWS, "lung", do={"smoke": "yes"})
    assert not recwarn.list


@pytest.mark.filterwarnings("ignore::gml.errors.GmlWarning")
def test_numbers_rest_on_open_arrows_too():
    import pandas as pd

    rows = pd.DataFrame(mixed_rows())
    edges = [("kind", "---", "size"), ("size", "---", "height")]
    mixed = gml.fit(rows, Graph.from_edges(list(rows), edges), numeric=["size", "height"])
    found = mixed.query("height", do={"size": 3.0}, interval=0.9).rests_on
    assert found == (("size", "height"),)
    assert mixed.mpe(do={"size": 3.0}).rests_on == (("kind", "size"), ("size", "height"))
    numbers = rows[["size", "height"]]
    linear = gml.fit(numbers, gml.ges(numbers, numeric=["size", "height"]))
    (arc,) = linear.compelled
    assert linear.query("height", do={"size": 3.0}).rests_on == (arc,)
    assert linear.mpe(do={"size": 3.0}).rests_on == (arc,)
    assert linear.query("height", {"size": 3.0}).rests_on == ()

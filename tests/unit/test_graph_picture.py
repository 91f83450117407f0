"""Pictures of graphs: nodes, edges, weights, legends, tiers, and what surrounds them."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gml.errors import GmlWarning
from gml.graph.edges import EDGE_TYPES
from gml.graph.graph import Graph
from gml.graph.provenance import Provenance
from gml.pictures.graph_picture import Bars, Bell, GraphScene, draw_graph, weight_of
from gml.pictures.layout.geometry import Layout, Point
from gml.pictures.text_width import text_width
from gml.pictures.themes import LIGHT, THEMES
from gml.printable_text import printable
from tests.pictures import (
    SVG,
    edges_of,
    elements,
    in_a_column,
    legend_of,
    nodes_of,
    texts_of,
    title_of,
)

CHAIN = Graph.from_edges("abc", [("a", "-->", "b"), ("b", "-->", "c")])
WEIGHED = Graph.from_edges(
    "abcd",
    [
        ("a", "-->", "b", {"strength": 0.93, "direction": 0.5, "mi": 0.123}),
        ("b", "-->", "c", {"strength": 0.4, "mi": 0.25, "color": "red"}),
        ("c", "---", "d"),
    ],
)


def drawn(graph, theme=LIGHT, **shown):
    return draw_graph(GraphScene(graph, "a title", **shown), theme, layout=in_a_column)


def line_of(edge):
    """The line of an edge, and not what can be pointed at."""
    return next(path for path in edge.iter(f"{SVG}path") if path.get("stroke") != "none")


def width_of(edge):
    return float(line_of(edge).get("stroke-width"))


def bars_in(node, colour=LIGHT.bar):
    return [rect for rect in node.iter(f"{SVG}rect") if rect.get("fill") == colour]


def dots_in(node):
    return [dot for dot in node.iter(f"{SVG}circle") if dot.get("fill") == LIGHT.evidence]


def sized(n, levels):
    """A graph of n nodes and some more edges, and bars in each node."""
    names = [f"node_{k:03d}" for k in range(n)]
    edges = [(names[k // 2], "-->", names[k]) for k in range(1, n)]
    edges += [(names[k], "-->", names[k + 7]) for k in range(4, n - 7, 4)]
    found = tuple(f"level {k}" for k in range(levels))
    bars = Bars(found, (1 / levels,) * levels)
    return Graph.from_edges(names, edges), dict.fromkeys(names, bars)


# Nodes and edges


def test_every_node_and_edge_is_a_group_with_a_title():
    picture = drawn(WEIGHED)
    assert {name: title_of(node) for name, node in nodes_of(picture).items()} == {
        name: name for name in "abcd"
    }
    assert [title_of(edge) for edge in edges_of(picture).values()] == [
        "a --> b, strength 0.93, direction 0.5, mi 0.123 nats",
        "b --> c, strength 0.4, mi 0.25 nats",
        "c --- d",
    ]
    assert edges_of(picture)["a", "b"].get("data-type") == "-->"


def test_screen_readers_have_a_title_and_a_description():
    root = elements(drawn(CHAIN))
    assert root.get("role") == "img"
    assert title_of(root) == "a title"
    said = root.find(f"{SVG}desc").text
    assert said == "A dag of 3 nodes and 2 edges. a --> b; b --> c."


def test_a_long_description_is_cut():
    graph, _ = sized(200, 2)
    said = elements(drawn(graph)).find(f"{SVG}desc").text
    assert said.endswith(f"; {graph.n_edges - 60} more.")
    assert said.count(" --> ") == 60


def test_a_description_says_what_was_observed():
    picture = drawn(CHAIN, distributions={"b": Bars(("n", "y"), (0, 1), 1)})
    assert elements(picture).find(f"{SVG}desc").text.endswith(" Observed: b.")


@pytest.mark.parametrize("type_", EDGE_TYPES)
def test_only_arrows_one_way_want_their_target_below(type_):
    seen = []

    def watched(sizes, links, *, names, tiers=None):
        seen.extend(links)
        return in_a_column(sizes, links, names=names)

    draw_graph(GraphScene(Graph.from_edges("ab", [("a", type_, "b")]), ""), layout=watched)
    assert [link.directed for link in seen] == [type_ in ("-->", "o->")]


def test_the_order_of_nodes_does_not_show():
    bars = {"b": Bars(("x", "y"), (0.1, 0.9)), "d": Bars(("x", "y"), (0.2, 0.8))}
    edges = [
        ("a", "-->", "b", {"mi": 0.2}),
        ("d", "---", "b", {"mi": 0.1}),
        ("c", "<->", "a"),
        ("d", "o-o", "c"),
    ]
    pictures = {
        draw_graph(
            GraphScene(
                Graph.from_edges(names, order), "", bars, weight="mi", tiers=(("a",), ("b", "c"))
            )
        ).svg
        for names, order in itertools.product(itertools.permutations("abcd"), (edges, edges[::-1]))
    }
    assert len(pictures) == 1


def test_a_long_name_is_shortened_and_its_title_is_not():
    name = "temperature of the second exchanger behind the valve"
    picture = drawn(Graph.from_edges([name, "b"], [(name, "-->", "b")]))
    node = nodes_of(picture)[name]
    (shown,) = texts_of(node)
    start, end = shown.split("…")
    assert len(start) > len(end) > 5
    assert name.startswith(start)
    assert name.endswith(end)
    assert title_of(node) == name


def test_names_and_levels_that_differ_in_their_ends_are_told_apart():
    names = [f"income of the household before tax in {year}" for year in (2019, 2020)]
    bars = Bars((names[0], names[1]), (0.5, 0.5))
    nodes = nodes_of(drawn(Graph.from_edges(names, []), distributions={names[0]: bars}))
    first, second = (texts_of(nodes[name]) for name in names)
    assert first[0] != second[0]
    assert first[1] != first[3]


@pytest.mark.parametrize("levels", [None, 3], ids=["names", "bars"])
@pytest.mark.parametrize("n", [8, 37, 200, 450])
def test_texts_are_within_their_boxes(n, levels):
    graph, bars = sized(n, levels or 2)
    picture = drawn(graph, distributions=bars if levels else {})
    group = next(g for g in elements(picture).iter(f"{SVG}g") if g.get("class") == "nodes")
    size = float(group.get("font-size"))
    assert size >= 11
    for node in nodes_of(picture).values():
        box = node.find(f"{SVG}rect")
        name = node.find(f"{SVG}text")
        wide = text_width(name.text, size, bold=bool(levels))
        assert wide <= float(box.get("width")) - 12
        left, right = float(box.get("x")), float(box.get("x")) + float(box.get("width"))
        for text in node.findall(f"{SVG}g/{SVG}g/{SVG}text"):
            x, wide = float(text.get("x")), text_width(text.text, 11)
            start = x - wide if text.get("text-anchor") == "end" else x
            assert left + 6 <= start <= start + wide <= right - 6


def test_many_nodes_show_less_each():
    few, many = (
        nodes_of(drawn(graph, distributions=bars))["node_000"]
        for graph, bars in (sized(8, 6), sized(250, 6))
    )
    assert (len(bars_in(few)), len(bars_in(many))) == (6, 2)
    assert "+ 4 more" in texts_of(many)


def test_a_picture_of_37_nodes_with_bars_is_small():
    graph, bars = sized(37, 4)
    assert len(drawn(graph, distributions=bars).svg.encode()) < 100_000


def test_a_graph_without_nodes_or_edges_is_drawn():
    assert nodes_of(drawn(Graph.from_edges([], []))) == {}
    assert list(nodes_of(drawn(Graph.from_edges("ab", [])))) == ["a", "b"]


# Names

TAGS = {"svg", "title", "desc", "rect", "g", "text", "path", "polygon", "circle"}
odd = st.one_of(
    st.text(max_size=40),
    st.text(st.characters(), max_size=6),
    st.sampled_from(
        ["<script>alert(1)</script>", '"', "'", "&amp;", "]]>", "<!--", "\x00\x1b[31m"]
    ),
    st.sampled_from(["", " ", "אבג", "\u202eabc", "👩‍🔬", "\ud800", "\ufffe", "x" * 5000]),
)


# The column is in the order of the names, whatever the tiers.
@pytest.mark.filterwarnings("ignore:1 arrow points up")
@given(st.lists(odd, min_size=2, max_size=4, unique=True), odd)
@example(["<script>", ""], "</text><script>")
def test_names_are_inert(names, level):
    graph = Graph.from_edges(names, [(names[0], "o->", names[1], {"strength": 0.5, names[0]: 2})])
    bars = {names[0]: Bars((level, level + "2"), (0.3, 0.7), 0)}
    picture = draw_graph(
        GraphScene(
            graph,
            level,
            bars,
            weight="strength",
            heading=level,
            caption=level,
            tiers=[names[:1], names[1:]],
        ),
        layout=in_a_column,
    )
    root = elements(picture)
    assert {found.tag.removeprefix(SVG) for found in root.iter()} <= TAGS
    assert title_of(root) == (printable(level) or None)
    nodes = nodes_of(picture)
    assert len({printable(name) for name in names}) == len(nodes)
    for name in names:
        node = nodes[printable(name)]
        shown = texts_of(node)[0]
        assert shown == printable(name) or any(
            printable(name).startswith(shown[:k]) and printable(name).endswith(shown[k + 1 :])
            for k, char in enumerate(shown)
            if char == "…"
        )
        assert (title_of(node) or "").startswith(printable(name) or "''")


def test_an_empty_name_has_a_title():
    picture = drawn(Graph.from_edges(["", "b"], [("", "-->", "b")]))
    assert title_of(nodes_of(picture)[""]) == "''"
    assert title_of(edges_of(picture)["", "b"]) == "'' --> b"


# Weights


@pytest.mark.parametrize(
    ("attributes", "chosen"),
    [
        ({"mi": 1, "coefficient": 2, "strength": 0.5}, "strength"),
        ({"mi": 1, "coefficient": -2.0}, "coefficient"),
        ({"mi": 1}, "mi"),
        ({"mi": "1", "strength": True, "coefficient": math.inf}, None),
        ({"other": 1}, None),
    ],
)
def test_the_weight_that_is_chosen(attributes, chosen):
    assert (
        weight_of(Graph.from_edges("abc", [("a", "-->", "b"), ("b", "-->", "c", attributes)]))
        == chosen
    )


def test_widths_and_colours_grow_with_the_weight():
    edges = edges_of(drawn(WEIGHED, weight="mi"))
    strong, weak, none = edges["b", "c"], edges["a", "b"], edges["c", "d"]
    assert width_of(strong) == 4.5
    assert width_of(weak) == pytest.approx(1 + 3.5 * 0.123 / 0.25, abs=0.01)
    assert line_of(strong).get("stroke") == LIGHT.line_scale[-1]
    assert line_of(weak).get("stroke") == LIGHT.line_shade(0.123 / 0.25)
    assert (line_of(none).get("stroke"), width_of(none)) == (LIGHT.line, 1.3)


def test_an_infinite_mutual_information_has_the_widest_line():
    edges = [("a", "-->", "b", {"mi": math.inf}), ("b", "-->", "c", {"mi": 0.4})]
    picture = drawn(Graph.from_edges("abcd", [*edges, ("c", "-->", "d")]), weight="mi")
    infinite, finite = (edges_of(picture)[ends] for ends in (("a", "b"), ("b", "c")))
    assert width_of(infinite) == 4.5
    assert line_of(infinite).get("stroke") == LIGHT.line_scale[-1]
    assert width_of(finite) == pytest.approx(1 + 3.5 * 0.75, abs=0.01)
    assert title_of(infinite) == "a --> b, mi ∞ nats"
    stops = ["0", "0.1", "0.2", "0.3", "0.4", "∞"]
    assert legend_of(picture) == ["mutual information in nats", *stops, "no mi"]
    alone = drawn(Graph.from_edges("ab", edges[:1]), weight="mi")
    assert legend_of(alone) == ["mutual information: ∞ nats", "∞"]


def test_a_strength_seems_certain_only_if_it_is():
    edges = [("a", "-->", "b", {"strength": 0.99996}), ("b", "-->", "c", {"strength": 0.5})]
    picture = drawn(Graph.from_edges("abc", edges), weight="strength")
    assert title_of(edges_of(picture)["a", "b"]) == "a --> b, strength >0.9999"
    assert legend_of(picture) == ["strength", "0.5", "0.6", "0.8", "1"]


def test_a_mutual_information_a_little_below_0_has_no_sign():
    graph = Graph.from_edges(
        "abc", [("a", "-->", "b", {"mi": -1e-17}), ("b", "-->", "c", {"mi": 0.2})]
    )
    edges = edges_of(drawn(graph, weight="mi"))
    assert line_of(edges["b", "c"]).get("stroke") == LIGHT.line_scale[-1]
    assert line_of(edges["a", "b"]).get("stroke-dasharray") is None


def test_other_attributes_have_the_sign_that_they_have():
    graph = Graph.from_edges("abc", [("a", "-->", "b", {"t": -3}), ("b", "-->", "c", {"t": 3})])
    edges = edges_of(drawn(graph, weight="t"))
    ends = [line_of(edges[ends]).get("stroke") for ends in (("a", "b"), ("b", "c"))]
    assert ends == [LIGHT.line_diverging[0], LIGHT.line_diverging[-1]]


def test_an_undirected_edge_has_the_direction_of_the_ends_it_is_read_from():
    attributes = {"strength": 0.5, "direction": 0.2699}
    one = Graph.from_edges(["smoke", "lung"], [("smoke", "---", "lung", attributes)])
    turned = {**attributes, "direction": 1 - 0.2699}
    other = Graph.from_edges(["lung", "smoke"], [("lung", "---", "smoke", turned)])
    picture = drawn(one, weight="direction")
    (edge,) = edges_of(picture).values()
    assert title_of(edge) == "lung --- smoke, strength 0.5, direction 0.7301"
    assert width_of(edge) == pytest.approx(1 + 3.5 * 0.7301, abs=0.01)
    assert drawn(other, weight="direction").svg == picture.svg


def test_an_arrow_keeps_its_direction_whatever_the_names():
    attributes = {"direction": 0.9}
    graph = Graph.from_edges(["smoke", "lung"], [("smoke", "-->", "lung", attributes)])
    (edge,) = edges_of(drawn(graph, weight="direction")).values()
    assert title_of(edge) == "smoke --> lung, direction 0.9"


def test_strengths_are_shown_on_a_scale_from_the_least_to_1():
    edges = edges_of(drawn(WEIGHED, weight="strength"))
    assert width_of(edges["a", "b"]) == pytest.approx(1 + 3.5 * (0.93 - 0.4) / 0.6, abs=0.01)


@pytest.mark.parametrize(
    ("attribute", "weights", "said"),
    [
        ("mi", [0.000413, 0.611], ["mutual information in nats", "0", "0.2", "0.4", "0.6"]),
        ("mi", [0.25, 0.25], ["mutual information: 0.25 nats", "0.25"]),
        ("rows", [1234, 56789], ["rows", "0", "20000", "40000"]),
        ("coefficient", [0.13, 0.2], ["coefficient", "0", "0.05", "0.1", "0.15", "0.2"]),
    ],
)
def test_the_stops_of_the_legend_are_round(attribute, weights, said):
    edges = [
        (a, "-->", b, {attribute: weight}) for a, b, weight in zip("ab", "bc", weights, strict=True)
    ]
    assert legend_of(drawn(Graph.from_edges("abc", edges), weight=attribute)) == said


def averaged(strengths, threshold):
    names = [f"n{k}" for k in range(len(strengths) + 1)]
    edges = [
        (a, "-->", b, {"strength": strength})
        for (a, b), strength in zip(itertools.pairwise(names), strengths, strict=True)
    ]
    learning = Provenance({"threshold": threshold})
    return Graph.from_edges(names, edges, learning=learning)


@pytest.mark.parametrize("theme", THEMES.values(), ids=list(THEMES))
@pytest.mark.parametrize(
    ("threshold", "start", "said"),
    [
        (0.85, 0.85, ["strength, threshold 0.85", "0.85", "0.9", "0.95", "1"]),
        (0.5, 0.5, ["strength, threshold 0.5", "0.5", "0.6", "0.8", "1"]),
        # Not one that the edges had to reach.
        (0.95, 0.86, ["strength", "0.86", "0.9", "0.95", "1"]),
        ("high", 0.86, ["strength", "0.86", "0.9", "0.95", "1"]),
    ],
)
def test_strengths_are_shown_on_a_scale_from_their_threshold(theme, threshold, start, said):
    graph = averaged([0.86, 0.925, 1.0], threshold)
    picture = drawn(graph, theme, weight="strength")
    lines = [line_of(edge) for edge in edges_of(picture).values()]
    shares = [(strength - start) / (1 - start) for strength in (0.86, 0.925, 1.0)]
    widths = [float(line.get("stroke-width")) for line in lines]
    assert widths == pytest.approx([1 + 3.5 * share for share in shares], abs=0.01)
    assert [line.get("stroke") for line in lines] == [theme.line_shade(share) for share in shares]
    assert legend_of(picture) == said


def test_strengths_that_are_all_the_same_are_the_largest():
    edges = edges_of(drawn(averaged([1.0, 1.0], 1.0), weight="strength"))
    assert [width_of(edge) for edge in edges.values()] == [4.5, 4.5]


def test_the_widest_line_is_narrower_among_many():
    edges = edges_of(drawn(averaged([0.5] * 40 + [1.0], 0.5), weight="strength"))
    assert max(width_of(edge) for edge in edges.values()) == 3.6


@pytest.mark.parametrize("weight", ["strength", None])
def test_heads_side_by_side_are_apart(weight):
    """Even the widest, and in boxes that are too narrow for them without growing."""
    sources = [f"p{k}" for k in range(8)]
    edges = [(name, "-->", "x", {"strength": 1.0}) for name in sources]
    edges.append(("x", "-->", "y", {"strength": 0.5}))
    graph = Graph.from_edges([*sources, "x", "y"], edges)
    picture = draw_graph(GraphScene(graph, "", weight=weight))
    heads = []
    for (_, target), edge in edges_of(picture).items():
        if target == "x":
            points = edge.find(f"{SVG}polygon").get("points").split()
            across = [float(point.split(",")[0]) for point in points]
            heads.append((min(across), max(across)))
    heads.sort()
    assert len(heads) == 8
    assert all(left[1] + 1 <= right[0] for left, right in itertools.pairwise(heads))


@pytest.mark.parametrize(
    ("weight", "said"),
    [
        ("mi", ["mutual information in nats", "0", "0.1", "0.2", "no mi"]),
        ("strength", ["strength", "0.4", "0.6", "0.8", "1", "no strength"]),
        ("direction", ["direction: 0.5", "0.5", "no direction"]),
        ("color", []),
        (None, []),
    ],
)
def test_the_legend_states_quantity_unit_and_range(weight, said):
    assert legend_of(drawn(WEIGHED, weight=weight)) == said


@pytest.mark.parametrize("theme", THEMES.values(), ids=list(THEMES))
def test_coefficients_have_a_colour_and_a_dash_for_their_sign(theme):
    names = "abcd"
    values = {"ab": -2.0, "bc": 1.0, "cd": 0.0}
    graph = Graph.from_edges(
        names, [(a, "-->", b, {"coefficient": value}) for (a, b), value in values.items()]
    )
    picture = drawn(graph, theme, weight="coefficient")
    lines = {pair: line_of(edges_of(picture)[tuple(pair)]) for pair in values}
    assert lines["ab"].get("stroke") == theme.line_diverging[0]
    assert lines["bc"].get("stroke") == theme.signed_line_shade(0.5)
    assert lines["cd"].get("stroke") == theme.line_diverging[len(theme.line_diverging) // 2]
    assert [lines[pair].get("stroke-dasharray") is None for pair in values] == [False, True, True]
    assert legend_of(picture) == ["coefficient", "−2", "−1", "0", "1"]


def test_a_positive_coefficient_has_the_colour_of_its_sign_where_all_are():
    graph = Graph.from_edges("ab", [("a", "-->", "b", {"coefficient": 3})])
    (edge,) = edges_of(drawn(graph, weight="coefficient")).values()
    assert line_of(edge).get("stroke") == LIGHT.line_diverging[-1]


# Distributions


def test_a_level_has_a_label_a_bar_and_a_share():
    picture = drawn(CHAIN, distributions={"b": Bars(("no", "yes"), (0.25, 0.75))})
    node = nodes_of(picture)["b"]
    assert texts_of(node) == ["b", "no", "25.0 %", "yes", "75.0 %"]
    short, long = (float(bar.get("width")) for bar in bars_in(node))
    assert long == pytest.approx(3 * short, abs=0.02)
    assert title_of(node) == "b: no 25.0 %; yes 75.0 %"
    assert dots_in(node) == []
    assert legend_of(picture) == []


def test_an_observed_level_is_marked_by_more_than_its_colour():
    bars = Bars(("no", "yes"), (0, 1), 1, prior=(0.75, 0.25))
    picture = drawn(CHAIN, distributions={"b": bars})
    node = nodes_of(picture)["b"]
    (dot,) = dots_in(node)
    label = next(text for text in node.iter(f"{SVG}text") if text.text == "yes")
    assert 0 < float(label.get("y")) - float(dot.get("cy")) < 6
    assert float(dot.get("cx")) < float(label.get("x"))
    assert len(bars_in(node, LIGHT.evidence)) == 1
    assert node.find(f"{SVG}rect").get("stroke") == LIGHT.evidence
    assert node.get("class") == "node observed"
    assert title_of(node) == "b: no 0 %, before 75.0 %; yes 100 %, before 25.0 % (observed)"
    assert legend_of(picture) == ["observed", "before the observation"]


def test_the_prior_is_a_tick_where_its_bar_would_end():
    bars = Bars(("no", "yes"), (0.5, 0.5), prior=(0.75, 0.25))
    node = nodes_of(drawn(CHAIN, distributions={"b": bars}))["b"]
    ticks = [
        float(path.get("d").removeprefix("M").split(",")[0])
        for path in node.iter(f"{SVG}path")
        if path.get("stroke") == LIGHT.ink
    ]
    start, half = (float(bars_in(node)[0].get(name)) for name in ("x", "width"))
    assert ticks == pytest.approx([start + 1.5 * half, start + 0.5 * half], abs=0.02)


def test_of_many_levels_the_most_probable_are_shown_in_their_order():
    shares = (0.02, 0.3, 0.03, 0.2, 0.05, 0.1, 0.1, 0.1, 0.1)
    bars = Bars(tuple("abcdefghi"), shares, prior=shares)
    shown = texts_of(nodes_of(drawn(CHAIN, distributions={"b": bars}))["b"])
    assert shown[1::2] == ["b", "d", "f", "g", "h", "+ 4 more"]
    assert shown[-1] == "20.0 %"


def test_an_observed_level_is_shown_however_many_there_are():
    bars = Bars(tuple("abcdefghi"), (0.2,) * 4 + (0.04,) * 5, 8)
    shown = texts_of(nodes_of(drawn(CHAIN, distributions={"b": bars}))["b"])
    assert shown[1::2] == ["a", "b", "c", "d", "i", "+ 4 more"]


def test_a_node_of_numbers_has_a_bell_curve_with_its_mean_and_spread():
    node = nodes_of(drawn(CHAIN, distributions={"b": Bell(12.345, 1.2)}))["b"]
    assert texts_of(node) == ["b", "12.3 ± 1.2"]
    assert title_of(node) == "b: 12.3 ± 1.2"
    (curve,) = (path for path in node.iter(f"{SVG}path") if path.get("fill") == LIGHT.bar)
    heights = [float(point.split(",")[1]) for point in curve.get("d")[1:-1].split("L")]
    assert heights[12] == min(heights)
    assert heights == heights[::-1]
    # At one standard deviation, a third of the way out.
    floor = float(node.find(f"{SVG}g/{SVG}path").get("d").split(",")[1].split("h")[0])
    assert (floor - heights[16]) / (floor - heights[12]) == pytest.approx(math.exp(-0.5), abs=1e-3)


def test_a_mixture_has_a_hump_for_each_of_its_parts():
    parts = ((0.75, 0.0, 1.0), (0.25, 8.0, 1.0))
    picture = drawn(CHAIN, distributions={"b": Bell(2.0, 3.6, parts=parts)})
    (path,) = (p for p in nodes_of(picture)["b"].iter(f"{SVG}path") if p.get("fill") == LIGHT.bar)
    points = [tuple(map(float, p.split(","))) for p in path.get("d").strip("MZ").split("L")]
    floor = points[0][1]
    humps = [
        (x, floor - y)
        for (_, a), (x, y), (_, b) in zip(points, points[1:], points[2:], strict=False)
        if y < a and y < b
    ]
    assert len(humps) == 2
    assert humps[1][1] / humps[0][1] == pytest.approx(1 / 3, abs=0.01)
    # From −3 to 11, with parts at 0 and at 8.
    assert (humps[1][0] - humps[0][0]) / (points[-1][0] - points[0][0]) == pytest.approx(
        8 / 14, abs=0.01
    )


def test_the_bell_curve_of_the_prior_shares_its_scale():
    picture = drawn(CHAIN, distributions={"b": Bell(1.0, 0.5, prior=(0.0, 1.0))})
    node = nodes_of(picture)["b"]
    (before,) = (path for path in node.iter(f"{SVG}path") if path.get("stroke-dasharray"))
    (after,) = (path for path in node.iter(f"{SVG}path") if path.get("fill") == LIGHT.bar)
    ends = [
        [float(point.split(",")[0]) for point in path.get("d").strip("MZ").split("L")]
        for path in (before, after)
    ]
    unit = (ends[0][-1] - ends[0][0]) / 6
    assert ends[1][0] - ends[0][0] == pytest.approx(2.5 * unit, abs=0.05)
    assert ends[1][-1] - ends[1][0] == pytest.approx(3 * unit, abs=0.05)
    assert legend_of(picture) == ["before the observation"]


def test_an_observed_number_is_a_line_and_a_dot():
    picture = drawn(CHAIN, distributions={"b": Bell(-2.5, 0, observed=True)})
    node = nodes_of(picture)["b"]
    assert texts_of(node) == ["b", "−2.5"]
    assert len(dots_in(node)) == 1
    assert title_of(node) == "b: −2.5 (observed)"
    assert legend_of(picture) == ["observed"]


def test_a_number_that_is_certain_was_not_observed():
    picture = drawn(CHAIN, distributions={"b": Bell(-2.5, 0)})
    node = nodes_of(picture)["b"]
    assert not dots_in(node)
    assert title_of(node) == "b: −2.5"
    assert legend_of(picture) == []


# Around the drawing


@pytest.mark.parametrize("n", [2, 30])
def test_legends_and_captions_never_overlap_the_drawing(n):
    names = [f"v{k:02d}" for k in range(n)]
    edges = [
        (a, type_, b, {"strength": 0.5 + k / 100})
        for k, ((a, b), type_) in enumerate(
            zip(itertools.pairwise(names), itertools.cycle(EDGE_TYPES), strict=False)
        )
    ]
    picture = drawn(
        Graph.from_edges(names, edges),
        weight="strength",
        heading="words above the picture " * 6,
        caption="words below the picture " * 9,
        distributions={names[0]: Bars(("a", "b"), (0, 1), 1, (0.5, 0.5))},
    )
    root = elements(picture)
    heading, drawing, legend, caption = root.findall(f"{SVG}g")
    x, y = map(float, drawing.get("transform")[len("translate(") : -1].split())
    above = [float(text.get("y")) for text in heading]
    keys = [(float(text.get("x")), float(text.get("y"))) for text in legend.iter(f"{SVG}text")]
    below = [float(text.get("y")) for text in caption]
    boxes = [node.find(f"{SVG}rect") for node in nodes_of(picture).values()]
    tops = [y + float(box.get("y")) for box in boxes]
    bottoms = [y + float(box.get("y")) + float(box.get("height")) for box in boxes]
    assert max(above) + 4 < min(tops)
    assert max(bottoms) < min(height for _, height in keys) - 9
    assert max(height for _, height in keys) < min(below) - 10
    assert max(below) + 6 < picture.height
    assert len(below) > 1
    # Within the picture, and not on each other.
    assert all(float(box.get("x")) + x >= 16 for box in boxes)
    placed = zip(keys, texts_of(legend), strict=True)
    spans = sorted((h, left, left + text_width(words, 11)) for (left, h), words in placed)
    assert all(end <= picture.width for _, _, end in spans)
    for (h, _, end), (other, left, _) in itertools.pairwise(spans):
        assert h != other or end < left


def test_the_legend_explains_the_marks_of_hidden_causes():
    graph = Graph.from_edges("abc", [("a", "<->", "b"), ("b", "o-o", "c")])
    assert legend_of(drawn(graph)) == ["hidden common cause", "arrow or tail: not known"]
    assert legend_of(drawn(CHAIN)) == []


def test_there_is_room_around_the_drawing():
    picture = drawn(CHAIN)
    (drawing,) = elements(picture).findall(f"{SVG}g")
    assert drawing.get("transform") == "translate(16 16)"
    assert picture.width == 40 + 32
    assert picture.height == 3 * 30 + 2 * 40 + 32
    assert elements(picture).get("viewBox") == f"0 0 {picture.width:g} {picture.height:g}"


# Tiers


def test_tiers_reach_the_layout_and_have_numbered_bands():
    given_tiers = []

    def watched(sizes, links, *, names, tiers=None):
        given_tiers.append(dict(zip(names, tiers, strict=True)))
        return in_a_column(sizes, links, names=names)

    tiers = (("a",), ("b", "not there"), ("c",))
    graph = Graph.from_edges("abcd", [("a", "-->", "b"), ("b", "-->", "c")])
    picture = draw_graph(GraphScene(graph, "", tiers=tiers), layout=watched)
    assert given_tiers == [{"a": 0, "b": 1, "c": 2, "d": None}]
    bands = next(g for g in elements(picture).iter(f"{SVG}g") if g.get("class") == "tiers")
    assert texts_of(bands) == ["tier 1", "tier 2", "tier 3"]
    # Nodes are 30 high and 40 apart: a band reaches 8 beyond its tier, and leaves out node d.
    assert [(float(b.get("y")), float(b.get("height"))) for b in bands.findall(f"{SVG}rect")] == [
        (-8, 46),
        (62, 46),
        (132, 46),
    ]
    left = min(float(node.find(f"{SVG}rect").get("x")) for node in nodes_of(picture).values())
    for text in bands.findall(f"{SVG}text"):
        assert float(text.get("x")) + text_width(text.text, 11) < left


def test_bands_reach_beyond_the_boxes_to_both_sides():
    scene = GraphScene(CHAIN, "", tiers=(("a",), ("b",), ("c",)))
    picture = draw_graph(scene)
    group = next(g for g in elements(picture).iter(f"{SVG}g") if g.get("class") == "tiers")
    band = group.find(f"{SVG}rect")
    left, right = (float(band.get("x")), float(band.get("x")) + float(band.get("width")))
    boxes = [node.find(f"{SVG}rect") for node in nodes_of(picture).values()]
    for box in boxes:
        assert left + 8 <= float(box.get("x"))
        assert float(box.get("x")) + float(box.get("width")) + 8 <= right
    # With the padding around, which is the same on both sides.
    assert right - left == pytest.approx(picture.width - 32, abs=0.02)


def test_nodes_without_a_tier_have_a_gap_in_the_band_they_stand_in():
    graph = Graph.from_edges("abc", [("a", "-->", "c"), ("b", "-->", "c")])
    picture = draw_graph(GraphScene(graph, "", tiers=(("a",), ("c",))))
    (gap,) = (r for r in elements(picture).iter(f"{SVG}rect") if r.get("class") == "no-tier")
    assert gap.get("fill") == LIGHT.background
    box = nodes_of(picture)["b"].find(f"{SVG}rect")
    place = {name: float(box.get(name)) for name in ("x", "y", "width", "height")}
    assert {name: float(gap.get(name)) for name in place} == {
        "x": place["x"] - 8,
        "y": place["y"] - 8,
        "width": place["width"] + 16,
        "height": place["height"] + 16,
    }


def test_arrows_against_the_tiers_are_named():
    graph = Graph.from_edges("abc", [("a", "-->", "b"), ("b", "-->", "c")])
    with pytest.warns(GmlWarning, match="^1 arrow points up, against the tiers: 'b --> c'$"):
        draw_graph(GraphScene(graph, "", tiers=(("c",), ("a", "b"))))


def test_tiers_that_a_layout_has_mixed_have_no_bands():
    def side_by_side(sizes, links, *, names, tiers=None):
        centres = tuple(Point(30.0 + 60 * k, 20.0) for k in range(len(sizes)))
        return Layout(centres, (), 60.0 * len(sizes), 40.0)

    scene = GraphScene(Graph.from_edges("ab", []), "", tiers=(("a",), ("b",)))
    picture = draw_graph(scene, layout=side_by_side)
    assert not [g for g in elements(picture).iter() if g.get("class") == "tiers"]

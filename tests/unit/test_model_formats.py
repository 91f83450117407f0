"""Model files: identity of write and read, nasty names, malformed and foreign files."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gml
from gml.data.dataset import Variable
from gml.errors import GmlWarning, GraphError, UsageError, quote
from gml.formats.cpt_table import dump_table, dump_text
from gml.formats.graphs import parse_graph, read_graph
from gml.formats.models import (
    MODEL_WRITERS,
    file_names,
    parse_model,
    read_model,
    write_cpt_folder,
    write_model,
)
from gml.model.bayesnet import CPT, BayesNet, ConditionalGaussian, LinearGaussian
from tests.model_files import (
    assert_same,
    assert_same_distributions,
    random_gaussian,
    random_mixed_model,
    random_network,
    refused_among_damaged,
)

NASTY = [
    'a"b', "a b", "", "a,b", "two\nlines", "é日🌳", "(x)", "{", "}", ";", "|", "//", "/*", "%", "<5", ">=5",
    "[0,10)", "1", "-1", "01", "1.5", "1e5", "table", "table5", "network", "node", "lymph_node", "a.b", "a-b",
    "&amp;", "]]>", " a", "a  b", "\\", "'", "data=5", "default", "Table", "5a", "_", "a?b", "\x1b",
]  # fmt: skip
TEXT = st.one_of(
    st.sampled_from(NASTY),
    st.from_regex(r"[A-Za-z_][A-Za-z0-9_.-]{0,6}", fullmatch=True),
    st.text(alphabet=st.characters(codec="utf-8"), max_size=6),
)
NAMES = st.lists(TEXT, min_size=1, max_size=6, unique=True)
LABELS = st.lists(TEXT, min_size=2, max_size=4, unique=True)
PLAIN = st.lists(
    st.from_regex(r"[a-z_][a-z0-9_]{0,6}", fullmatch=True), min_size=1, max_size=6, unique=True
)
# A label, then a number that says what its parent is; `a` may have more to it.
MIXED = (
    '{"nodes": [{"id": "y", "parents": ["a"], %s}, {"id": "a", "levels": ["u", "v"], "cpt": [[0.5, 0.5]]%s}]}'
)  # fmt: skip
SEEDS = st.integers(0, 2**32 - 1)


@settings(max_examples=150)
@given(SEEDS, NAMES, LABELS)
def test_json_holds_everything(seed, names, labels):
    net = random_network(
        np.random.default_rng(seed), names, labels, beside=True, shuffled=False, incomplete=True
    )
    text = MODEL_WRITERS["json"](net)
    assert_same(parse_model(text, "t"), net, beside=True)
    assert parse_graph(text, "t") == net.graph
    assert MODEL_WRITERS["json"](parse_model(text, "t")) == text


@pytest.mark.parametrize("format", ["bif", "xmlbif", "net"])
@settings(max_examples=150)
@given(SEEDS, NAMES, LABELS)
def test_nasty_names_come_back_or_are_refused(format, seed, names, labels):
    net = random_network(np.random.default_rng(seed), names, labels)
    try:
        text = MODEL_WRITERS[format](net)
    except GraphError as error:
        assert "cannot hold" in str(error) or "readers" in str(error)
        return
    assert_same(parse_model(text, "t"), net)


@pytest.mark.parametrize("format", ["bif", "xmlbif", "net"])
@settings(max_examples=100)
@given(SEEDS, PLAIN)
def test_plain_names_come_back(format, seed, names):
    names = [f"{name}_x" for name in names]
    net = random_network(np.random.default_rng(seed), names, ["yes", "no", "0", "17"])
    assert_same(parse_model(MODEL_WRITERS[format](net), "t"), net)


def test_extreme_floats_come_back():
    tiny = np.array([[5e-324, 1.0], [0.1 + 0.2, 0.7 - 4e-17], [1 / 3, 2 / 3], [1 - 9e-10, 0.0]])
    a = Variable("a", ("w", "x", "y", "z"))
    net = BayesNet(
        (CPT(a, (), np.full((1, 4), 0.25)), CPT(Variable("b", ("no", "yes")), (a,), tiny))
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for format in ("json", "bif", "xmlbif", "net"):
            assert_same(parse_model(MODEL_WRITERS[format](net), "t"), net)


def test_json_has_the_parents_in_node_order():
    a, b = Variable("a", ("0", "1")), Variable("b", ("x", "y", "z"))
    half = np.array([[0.5, 0.5]])
    rows = np.array([[k / 10, 1 - k / 10] for k in range(6)])
    c = CPT(Variable("c", ("n", "y")), (b, a), rows, np.arange(12).reshape(6, 2))
    net = BayesNet((CPT(a, (), half), CPT(b, (), np.full((1, 3), 1 / 3)), c))
    node = json.loads(MODEL_WRITERS["json"](net))["nodes"][2]
    assert node["parents"] == ["a", "b"]
    assert [row[0] for row in node["cpt"]] == [0.0, 0.2, 0.4, 0.1, 0.3, 0.5]
    assert [row[0] for row in node["counts"]] == [0, 4, 8, 2, 6, 10]


@settings(max_examples=100)
@given(SEEDS, NAMES)
def test_gaussian_json(seed, names):
    net = random_gaussian(np.random.default_rng(seed), names)
    text = MODEL_WRITERS["json"](net)
    assert parse_model(text, "t").cpds == net.cpds
    assert all("levels" not in node for node in json.loads(text)["nodes"])
    for format in ("bif", "xmlbif", "net"):
        with pytest.raises(GraphError, match="cannot hold a node of numbers"):
            MODEL_WRITERS[format](net)


@settings(max_examples=150)
@given(SEEDS, NAMES, LABELS)
def test_json_of_labels_and_numbers(seed, names, labels):
    net = random_mixed_model(np.random.default_rng(seed), names, labels)
    text = MODEL_WRITERS["json"](net)
    read = parse_model(text, "t")
    assert_same_distributions(read, net)
    assert read.learning == net.learning
    assert MODEL_WRITERS["json"](read) == text
    assert parse_graph(text, "t") == net.graph
    if any(variable.is_continuous for variable in net.variables):
        number = next(v.name for v in net.variables if v.is_continuous)
        for format in ("bif", "xmlbif", "net", "uai"):
            with pytest.raises(GraphError, match="cannot hold a node of numbers") as caught:
                MODEL_WRITERS[format](net)
            assert quote(number) in str(caught.value)


def test_regressions_stand_in_the_order_of_the_nodes():
    a, b = Variable("a", ("0", "1")), Variable("b", ("x", "y", "z"))
    u, v, y = (Variable(name, None) for name in "uvy")
    lines = tuple(
        LinearGaussian(y, (v, u), float(k), (k + 0.1, k + 0.2), 1.0, 5 + k) for k in range(6)
    )
    tables = [CPT(w, (), np.full((1, len(w.levels)), 1 / len(w.levels))) for w in (a, b)]
    alone = [LinearGaussian(w, (), 0.0, (), 1.0) for w in (u, v)]
    net = BayesNet((*tables, *alone, ConditionalGaussian(y, (v, b, u, a), lines)))
    node = json.loads(MODEL_WRITERS["json"](net))["nodes"][4]
    assert node["parents"] == ["a", "b", "u", "v"]
    assert [line["intercept"] for line in node["regressions"]] == [0, 2, 4, 1, 3, 5]
    assert node["regressions"][1]["coefficients"] == [2.2, 2.1]
    read = parse_model(MODEL_WRITERS["json"](net), "t")
    assert read.cpd("y").regressions[1].n == 7
    assert dump_table(net.cpd("y")).splitlines()[:6] == [
        "b,a,term,estimate,count",
        "x,0,(intercept),0.0,5",
        "x,0,v,0.1,5",
        "x,0,u,0.2,5",
        "x,0,(sd),1.0,5",
        "x,1,(intercept),1.0,6",
    ]


@pytest.mark.parametrize("n", [0, -3])
def test_a_regression_of_no_rows_is_refused(n):
    net = random_gaussian(np.random.default_rng(0), ["a"])
    content = json.loads(MODEL_WRITERS["json"](net))
    content["nodes"][0]["gaussian"]["n"] = n
    del content["graph"]["hash"]
    with pytest.raises(GraphError, match=f"'a' was fitted on {n} rows by its"):
        parse_model(json.dumps(content), "t")
    with pytest.raises(GraphError, match=f"'a' was fitted on {n} rows by its"):
        LinearGaussian(Variable("a", None), (), 0.0, (), 1.0, n)


HALF = np.array([[0.5, 0.5]])


@pytest.mark.parametrize(
    "format,names,labels",
    [
        ("bif", ["a b", "é", "a,b", "5", "1e5", "table", "timetable2", "a/b", "x[1]", "", "1-2"],
         ["a b", "é", "a,b", "1.5", "1e5", "table", "a/b", "[0;1]", "", "1-2", "<5", '"']),
        ("net", ["a b", "é", "a.b", "a-b", "5", "node", "data", ""],
         ["a b", "é", "a,b", "(a)", '"', "\\", "a//b", "data=5", "", "\n"]),
        ("xmlbif", ["a\tb", "a\nb", " a", "a ", "a  b", "", "\x1b"],
         ["a\tb", "a\nb", " a", "a ", "a  b", "", "\x1b"]),
    ],
)  # fmt: skip
def test_refused_names_and_levels_are_named(format, names, labels):
    variables = [
        *((name, Variable(name, ("no", "yes"))) for name in names),
        *((label, Variable("v", (label, "x"))) for label in labels),
    ]
    for bad, variable in variables:
        with pytest.raises(GraphError) as caught:
            MODEL_WRITERS[format](BayesNet((CPT(variable, (), HALF),)))
        assert repr(bad) in str(caught.value)


def test_bif_refuses_names_that_readers_confuse():
    half = np.array([[0.5, 0.5]])
    two = BayesNet(tuple(CPT(Variable(name, ("n", "y")), (), half) for name in ("Age", "age")))
    with pytest.raises(GraphError, match="'Age' and 'age'"):
        MODEL_WRITERS["bif"](two)
    one = BayesNet((CPT(Variable("a", ("only",)), (), np.array([[1.0]])),))
    for format in ("bif", "net"):
        with pytest.raises(GraphError, match="one level"):
            MODEL_WRITERS[format](one)
    assert_same(parse_model(MODEL_WRITERS["xmlbif"](one), "t"), one)


HEAD = (
    "network x { }\n"
    "variable a { type discrete [ 2 ] { x, y }; }\n"
    "variable c { type discrete [ 3 ] { u, v, w }; }\n"
    "probability ( a ) { table 0.25, 0.75; }\n"
)


@pytest.mark.parametrize(
    "body,rows",
    [
        # A full table has the child slowest, as pgmpy and pyAgrum read it.
        ("table 0.1, 0.2, 0.3, 0.4, 0.6, 0.4;", [[0.1, 0.3, 0.6], [0.2, 0.4, 0.4]]),
        ("default 0.2 0.3 0.5; (y) 0.1 0.2 0.7;", [[0.2, 0.3, 0.5], [0.1, 0.2, 0.7]]),
        ("(y) 1e-5, .99999 0; (x) 1, 0, 0.; property p;", [[1, 0, 0], [1e-5, 0.99999, 0]]),
        ('// c ; }\n("x") 1 0 0; /* ( } */ ( y ) 0 0 1;', [[1, 0, 0], [0, 0, 1]]),
    ],
)
def test_bif_tables(body, rows):
    net = parse_model(f"{HEAD}probability ( c | a ) {{ {body} }}\n", "t")
    np.testing.assert_array_equal(net.cpt("c").table, rows)


def test_bif_is_read_tolerantly():
    net = parse_model(
        '// made by hand\nvariable "a b" {\n  property x = y;\n  type discrete[2] { "x, y" "z;" };\n}\n'
        "variable c { type discrete [ 4 ] { <5, 5-10 kg, (10+), [a]:=%/. }; }\n"
        'probability ( c | "a b" ) { ("z;") 0.1 0.2 0.3 0.4; ("x, y") 1 0 0 0; }\n'
        'probability ( "a b" ) { table 0.5 0.5; }\n',
        "t",
    )
    assert net.names == ("a b", "c")
    assert net.variables[0].levels == ("x, y", "z;")
    assert net.variables[1].levels == ("<5", "5-10 kg", "(10+)", "[a]:=%/.")
    assert net.cpt("c").table[1].tolist() == [0.1, 0.2, 0.3, 0.4]
    # Blocks stand in any order, and parents may be separated by blanks.
    old = parse_model("probability ( c a ) { table 1 0 0 0 0 1; }\n" + HEAD, "t")
    assert old.graph.parents(1) == [0]


def test_net_is_read_tolerantly():
    net = parse_model(
        '% Hugin\nclass X {\n inputs = ();\n discrete node A { states = (1 2 ); label = "50 % {x}"; }\n'
        ' node B { label = ""; states = ("x y" "z"); subtype = label; }\n'
        " potential (A) { data = (0.5 0.5); }\n"
        " potential ( B | A ) { data = ((0.25 0.75) % A=1\n (1 0)); }\n}\n",
        "t",
    )
    assert [v.levels for v in net.variables] == [("1", "2"), ("x y", "z")]
    assert net.cpt("B").table.tolist() == [[0.25, 0.75], [1, 0]]


def bad_bif(definition):
    return f"{HEAD}{definition}\n"


C = "probability ( c | a ) {"


@pytest.mark.parametrize(
    "text,message",
    [
        (bad_bif(""), "variable 'c' has no table"),
        (bad_bif(C + " (x) 0.1 0.2 0.7; }"), "line 5: the table of 'c' has 1 of its 2 rows"),
        (bad_bif(C + "\n (x) 0.1 0.9;\n (y) 1 0 0; }"), "line 6: 2 numbers in the table of 'c'"),
        (bad_bif(C + " (x) 0.1 0.2 0.8; (y) 1 0 0; }"), "adds up to 1.1, not 1 (a=x)"),
        (bad_bif(C + " (x) -0.1 0.3 0.8; (y) 1 0 0; }"), "-0.1 in the table of 'c'"),
        pytest.param(bad_bif(C + " (x) nan 0 1; (y) 1 0 0; }"), "is not a probability (a=x)", id='text5-is no probability (a=x)'),
        (bad_bif(C + " (x) 1 0 0; (x) 1 0 0; }"), "row 'x' twice"),
        (bad_bif(C + " (q) 1 0 0; (y) 1 0 0; }"), "'q' is not a level of 'a'"),
        pytest.param(bad_bif(C + " (x, y) 1 0 0; }"), "must have one level for each", id='text8-not one level for each'),
        (bad_bif(C + " (x) 1 zero 0; (y) 1 0 0; }"), "'zero'"),
        (bad_bif("probability ( c | b ) { table 1 0 0; }"), "line 5: variable 'b' not found"),
        (bad_bif("probability ( c | c ) { table 1 0 0; }"), "'c' is twice"),
        (bad_bif("probability ( a ) { table 1 0; }"), "'a' has a second table"),
        (bad_bif("variable a { type discrete [ 2 ] { x, y }; }"), "line 5: variable 'a' is declared twice"),
        (bad_bif("variable d { type discrete [ 3 ] { x, y }; }"), "2 levels, not the 3"),
        (bad_bif("variable d { type discrete [ 3 ] { x }; }"), "1 level, not the 3"),
        (bad_bif("variable d { type discrete [ 2 ] { x, x }; }"), "the level 'x' twice"),
        (bad_bif("variable d { type continuous; }"), "line 5: 'type continuous' within"),
        (bad_bif(C + " (x) 1 0 0"), "the file ends within"),
        (HEAD.replace("( a ) { table 0.25, 0.75; }", "( a | c ) { table 1 1 1 0 0 0; }")
         + C + " table 1 1 0 0 0 0; }", "the graph has a cycle"),
        ("net { } " + "".join(f"node {x} {{ states = (x y); }} potential ({x} | {y}) {{ data = (1 0 1 0); }} "
                              for x, y in ("ab", "bc", "ca")), "the graph has a cycle: 'a' -> "),
        ("network x { } what ;", "where a variable"),
        ('variable "a { }', "a quote is never closed"),
        ("net { } node a { states = (\"x\" \"y\"); }", "variable 'a' has no table"),
        ("net { } continuous node a { }", "is a continuous node"),
        ("net { } node a { states = (x y); } potential (a) { data = (1 2 3); }", "3 numbers in the potential"),
        ("net { } node a { states = (x y); } potential (a) { }", "has no data"),
        ("net { } node a { }", 'has no "states'),
        ("net { } node a { states = (x y);", "the file ends within"),
        ("<BIF><NETWORK><VARIABLE/></NETWORK></BIF>", "a VARIABLE has no NAME"),
        ("<BIF><NETWORK>", "cannot be read as XML"),
        ('<BIF><NETWORK><VARIABLE TYPE="utility"><NAME>u</NAME></VARIABLE></NETWORK></BIF>', "not nature"),
        ("digraph { a -> b }", "gml fit-params"),
        ("<graphml></graphml>", "gml fit-params"),
        ('{"nodes": [{"id": "a", "levels": ["x", "y"]}]}', "without tables; learn them with gml fit-params"),
        ('{"nodes": [{"id": "a", "cpt": [[1]]}]}', "'a' has no \"levels\""),
        ('{"nodes": [{"id": "a", "levels": ["x", "y"], "cpt": [[1]]}]}', "is not 1 x 2"),
        ('{"nodes": [{"id": "a", "levels": ["x", "y"], "cpt": [["1", "0"]]}]}', "not a number"),
        ('{"nodes": [{"id": "a", "levels": ["x", "y"], "cpt": [[0.5, 0.6]]}]}', "adds up to 1.1"),
        ('{"nodes": [{"id": "a", "levels": ["x", "y"], "cpt": [[1, 0]], "parents": ["b"]}]}', "parent 'b' not found"),
        ('{"nodes": [{"id": "a", "gaussian": {}}]}', '"coefficients"'),
        ('{"nodes": [{"id": "a", "regressions": []}]}', "no parent with levels: one regression"),
        ('{"nodes": [{"id": "a", "regressions": [], "gaussian": {}}]}', 'has "gaussian" and "regressions" too'),
        (MIXED % ('"regressions": {}', ""), '"regressions" of \'y\' is not a list'),
        (MIXED % ('"regressions": [{}]', ""), '"regressions" of \'y\' are 1, not 2: one per configuration'),
        (MIXED % ('"regressions": [1, 2]', ""), "the regression of 'y' (a=u) is not an object"),
        (MIXED % ('"regressions": [{"intercept": 0, "coefficients": [], "sd": 1}, {"intercept": 0, "coefficients": [1], "sd": 1}]', ""),
         "the regression of 'y' must have one coefficient per parent"),
        (MIXED % ('"regressions": [{"intercept": 0, "coefficients": [], "sd": -1}, {}]', ""), "negative"),
        (MIXED % ('"gaussian": {"intercept": 0, "coefficients": [1], "sd": 1}', ""), 'needs "regressions", one per configuration'),
        ('{"nodes": [{"id": "y", "gaussian": {"intercept": 0, "coefficients": [], "sd": 1}}, {"id": "a", "levels": ["u", "v"],'
         ' "parents": ["y"], "cpt": [[1, 0]]}]}', "node 'y' has no \"levels\""),
        pytest.param('{"nodes": [{"id": "a", "levels": ["x"], "cpt": [[1]]}, {"id": "b", "levels": ["x"], "cpt": [[1]]}],'
         ' "edges": [{"source": "a", "target": "b"}]}', '"edges" do not agree with the "parents"', id='text41-"edges" are not those'),
    ],
)  # fmt: skip
def test_malformed(text, message):
    with pytest.raises(GraphError) as caught:
        parse_model(text, "file")
    assert message in str(caught.value)
    assert str(caught.value).startswith("file: ")
    assert "\n" not in str(caught.value)


def test_damaged_files_are_refused_and_nothing_else():
    net = random_network(np.random.default_rng(3), ["a", "b", "c", "d"], ["x", "y", "z"])
    texts = [MODEL_WRITERS[format](net) for format in ("json", "bif", "xmlbif", "net")]
    mixed = random_mixed_model(np.random.default_rng(3), ["a", "b", "c", "d"], ["x", "y", "z"])
    texts.append(MODEL_WRITERS["json"](mixed))
    pieces = [*'{}();,"|09-e \n<>/*%=[]\0é', "nan", "1e999", "table", "default", "null", "\ud800"]
    assert refused_among_damaged(texts, pieces, 3000) > 1000


def test_rounded_rows_are_divided_and_named_once():
    text = bad_bif(C + " (x) 0.3333333 0.3333333 0.3333333; (y) 0.5 0.25 0.2499999; }")
    with pytest.warns(GmlWarning) as caught:
        net = parse_model(text, "file")
    assert [str(w.message) for w in caught] == [
        "file: 2 rows add up to 1 only after rounding; divided by the sum"
    ]
    assert np.abs(net.cpt("c").table.sum(axis=1) - 1).max() < 1e-15


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress])
def test_compressed_files(tmp_path, compress, monkeypatch):
    net = random_network(np.random.default_rng(0), ["a", "b"], ["x", "y"])
    raw = compress(MODEL_WRITERS["bif"](net).encode())
    path = tmp_path / "any.name"
    path.write_bytes(raw)
    assert_same(read_model(path), net)
    assert read_graph(path) == net.graph
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(raw)))
    assert_same(read_model("-"), net)
    path.write_bytes(raw[:-9])
    with pytest.raises(GraphError, match="any.name: damaged"):
        read_model(path)


def test_missing_and_foreign_files(tmp_path):
    with pytest.raises(GraphError, match="No such file"):
        read_model(tmp_path / "nowhere.bif")
    (tmp_path / "x").write_bytes(b"network x {\n}\n\xff")
    with pytest.raises(GraphError, match="line 3: not utf-8 text"):
        read_model(tmp_path / "x")


def test_graphs_from_models_keep_the_levels():
    net = random_network(np.random.default_rng(0), ["a", "b", "c"], ["x", "y", "z"])
    for format in ("bif", "xmlbif", "net", "json"):
        graph = parse_graph(MODEL_WRITERS[format](net), "t")
        assert graph == net.graph
        assert graph.levels["a"] == net.variables[0].levels


def test_json_that_no_file_could_hold_is_refused():
    text = MODEL_WRITERS["json"](random_network(np.random.default_rng(1), ["a"], ["x", "y"]))
    with pytest.raises(GraphError, match="is not valid text: line 4 column "):
        parse_model(text.replace('"a"', '"\\ud800"'), "t")
    with pytest.raises(GraphError, match="NaN is not a number"):
        parse_model(text.replace('"kind"', '"learning": {"x": NaN}, "kind"'), "t")


def test_files_by_suffix_and_methods(tmp_path):
    assert gml.BayesNet
    net = random_network(np.random.default_rng(1), ["a", "b", "c"], ["x", "y", "z"])
    for suffix, start in [
        (".bif", "network"), (".xmlbif", "<?xml"), (".bifxml", "<?xml"), (".xml", "<?xml"), (".net", "net"),
        (".hugin", "net"), (".json", "{"),
    ]:  # fmt: skip
        path = tmp_path / f"m{suffix}"
        net.to_file(path)
        assert path.read_text().startswith(start)
        assert gml.BayesNet.from_file(path).names == net.names
    write_model(net, tmp_path / "odd", "bif")
    assert_same(gml.read_model(tmp_path / "odd"), net)
    with pytest.raises(UsageError, match="does not tell its format"):
        write_model(net, tmp_path / "odd")
    with pytest.raises(UsageError, match="`format` must be one of json, .*, not 'csv'"):
        write_model(net, tmp_path / "odd", "csv")


RAIN = Variable("rain", ("no", "yes"))
WET = CPT(
    Variable("wet", ("no", "yes")),
    (RAIN,),
    np.array([[0.9, 0.1], [0.5, 0.5]]),
    np.array([[9, 1], [0, 0]]),
    np.array([[[0.6, 0.98], [0.02, 0.4]], [[0.0, 1.0], [0.0, 1.0]]]),
)


def test_tables_as_csv():
    assert dump_table(WET) == (
        "rain,wet,p,lower,upper,count\n"
        "no,no,0.9,0.6,0.98,9\n"
        "no,yes,0.1,0.02,0.4,1\n"
        "yes,no,0.5,0.0,1.0,0\n"
        "yes,yes,0.5,0.0,1.0,0\n"
    )
    nasty = CPT(Variable('a,"b', ("x\ny", "")), (), np.array([[1 / 3, 2 / 3]]))
    assert list(csv.reader(io.StringIO(dump_table(nasty), newline=""))) == [
        ['a,"b', "p"], ["x\ny", repr(1 / 3)], ["", repr(2 / 3)],
    ]  # fmt: skip
    x = Variable("x", None)
    line = LinearGaussian(Variable("y", None), (x,), 1.5, (-2.0,), 0.25)
    assert dump_table(line) == "term,estimate\n(intercept),1.5\nx,-2.0\n(sd),0.25\n"


def test_tables_for_people():
    net = BayesNet((CPT(RAIN, (), np.array([[1 / 3, 2 / 3]])), WET))
    assert dump_text(net) == (
        "rain\n"
        "        no       yes\n"
        "  0.333333  0.666667\n"
        "\n"
        "wet given rain\n"
        "  rain         no        yes\n"
        "  no          0.9        0.1\n"
        "        0.6..0.98  0.02..0.4\n"
        "  yes         0.5        0.5  (never seen)\n"
        "             0..1       0..1\n"
    )


def test_file_names_are_safe_and_different(tmp_path):
    names = [
        "a",
        "A",
        "a/b",
        "a%2Fb",
        "..",
        ".",
        "",
        "con",
        "é",
        "e\u0301",
        "x" * 500,
        "x" * 499 + "y",
        "a b",
    ]
    made = file_names(names)
    assert len({name.casefold() for name in made}) == len(names)
    assert made[3] == "a%252Fb"
    half = np.array([[0.5, 0.5]])
    net = BayesNet(tuple(CPT(Variable(name, ("0", "1")), (), half) for name in names))
    write_cpt_folder(net, tmp_path / "cpts")
    files = sorted(path.name for path in (tmp_path / "cpts").iterdir())
    assert files == sorted(f"{name}.csv" for name in made)

"""Chow–Liu trees of numeric and categorical columns: optimal, fittable, the same from any engine."""

from __future__ import annotations

import itertools
import math

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

import gml
from gml.data.dataset import Dataset, Variable
from gml.errors import DataError, GmlWarning, UsageError
from gml.independence.pair_gains import NumericGains
from gml.learners.chowliu import chow_liu
from tests.graphs import all_trees, named_edges
from tests.sliced_rows import SlicedCounter

KINDS = ["llnnn", "lllnn", "lnlnl", "nnnnl", "llll", "nnnn", "lnnln"]


def mixed_data(seed, kinds, n=120, *, weights=False):
    """Columns that depend on one another; names in an order of their own."""
    rng = np.random.default_rng(seed)
    columns = []
    for kind in kinds:
        source = columns[rng.integers(len(columns))] if columns else np.zeros(n)
        signal = rng.uniform(0, 1.2) * (source - source.mean())
        number = signal + rng.normal(size=n) * rng.uniform(0.5, 2, size=3)[source.astype(int) % 3]
        levels = rng.integers(2, 5)
        cuts = np.quantile(number, np.arange(1, levels) / levels)
        columns.append(number if kind == "n" else np.searchsorted(cuts, number).astype(np.uint8))
    names = rng.permutation([f"{kind}{j}" for j, kind in enumerate(kinds)])
    order = [[f"{kind}{j}" for j, kind in enumerate(kinds)].index(name) for name in names]
    return Dataset(
        tuple(
            Variable(str(name), None if kinds[j] == "n" else tuple("pqrs"[: columns[j].max() + 1]))
            for name, j in zip(names, order, strict=True)
        ),
        tuple(columns[j] for j in order),
        rng.integers(0, 4, n) if weights else None,
    )


# ---------------------------------------------------------------------- the gains, by definition


def repeated(data):
    """The columns, each row as often as it counts."""
    times = np.ones(data.n_rows, dtype=int) if data.weights is None else data.weights
    return [np.repeat(column, times) for column in data.columns]


def is_numeric(data, j):
    return data.variables[j].levels is None


def gains_within(data, x, y):
    """Log-likelihood gain × rows, and df, of each form that the pair has among some rows."""
    cells, n = repeated(data), data.n
    if not is_numeric(data, x) and is_numeric(data, y):
        x, y = y, x
    a, b = cells[x], cells[y]
    if not is_numeric(data, x):
        table = pd.crosstab(a, b).to_numpy()
        apart = table.sum(1)[:, None] * table.sum(0)[None, :] / n
        seen = table > 0
        return [(float((table[seen] * np.log(table[seen] / apart[seen])).sum()), table.size)]
    if is_numeric(data, y):
        return [(-0.5 * n * math.log(1 - np.corrcoef(a, b)[0, 1] ** 2), 1)]
    groups = [a[b == level] for level in np.unique(b)]
    within = sum(float(((g - g.mean()) ** 2).sum()) for g in groups) / n
    one = 0.5 * n * (math.log(a.var()) - math.log(within))
    own = -math.inf
    if all(len(g) >= 3 and g.var() > 0 for g in groups):
        own = 0.5 * (n * math.log(a.var()) - sum(len(g) * math.log(g.var()) for g in groups))
    return [(one, len(groups) - 1), (own, 2 * (len(groups) - 1))]


def gain_of(data, x, y, given=None):
    """The gain in nats per row, df and penalised weight of the better form."""
    n, parts = data.n, [data]
    if given is not None:
        codes = data.columns[given]
        parts = [data.rows(codes == level) for level in np.unique(codes)]
        parts = [part for part in parts if part.n]
    forms = [gains_within(part, x, y) for part in parts]
    kinds = [is_numeric(data, x), is_numeric(data, y)]
    seen = [len(np.unique(repeated(data)[j])) for j in (x, y)]
    if not any(kinds):
        dfs = [(seen[0] - 1) * (seen[1] - 1)]
    elif all(kinds):
        dfs = [1]
    else:
        r = seen[kinds.index(False)]
        dfs = [r - 1, 2 * (r - 1)]
    found = []
    for k, df in enumerate(dfs):
        gain = sum(form[k][0] for form in forms) / n
        df *= len(parts)
        found.append((gain - df * math.log(n) / (2 * n), gain, df))
    weight, gain, df = max(found)
    return gain, df, weight


def df_of_means(data, x, y):
    """The levels, but one, of a pair of one categorical and one numeric column; else 0."""
    labels = [j for j in (x, y) if not is_numeric(data, j)]
    return len(np.unique(repeated(data)[labels[0]])) - 1 if len(labels) == 1 else 0


# ---------------------------------------------------------------------- brute force


def is_allowed(edges, numeric, n):
    """Whether no path between two categorical columns runs through numeric ones only."""
    graph = nx.Graph(edges)
    graph.add_nodes_from(range(n))
    among = graph.subgraph(j for j in range(n) if numeric[j])
    for component in nx.connected_components(among):
        around = [other for j in component for other in graph.neighbors(j) if not numeric[other]]
        if len(around) > 1:
            return False
    return True


def best_total(weights, numeric, *, forests):
    """The largest total of the trees, or forests, that are allowed."""
    n = len(numeric)
    best = -math.inf
    for tree in all_trees(n):
        tree = [(min(edge), max(edge)) for edge in tree]
        for size in range(n) if forests else [n - 1]:
            for kept in itertools.combinations(tree, size):
                total = sum(weights[edge] for edge in kept)
                if total > best and is_allowed(kept, numeric, n):
                    best = total
    return best


def weights_of(data, attributes, given=None):
    pairs = itertools.combinations(range(len(attributes)), 2)
    return {(a, b): gain_of(data, attributes[a], attributes[b], given)[2] for a, b in pairs}


@pytest.mark.parametrize("prune", ["none", "bic"])
@pytest.mark.parametrize("kinds", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_it_is_the_best_of_all_trees_that_are_allowed(seed, kinds, prune):
    data = mixed_data(seed, kinds, weights=seed % 2 == 1)
    columns = range(len(kinds))
    numeric = [is_numeric(data, j) for j in columns]
    graph = chow_liu(gml.MemoryCounter(data), prune=prune).graph
    edges = [graph.pair(edge) for edge in graph.edges]
    assert is_allowed(edges, numeric, len(kinds))
    if prune == "none":
        assert len(edges) == len(kinds) - 1
    weights = weights_of(data, columns)
    if not any(numeric) and prune == "none":
        weights = {pair: gain_of(data, *pair)[0] for pair in weights}
    best = best_total(weights, numeric, forests=prune == "bic")
    assert sum(weights[edge] for edge in edges) == pytest.approx(best, abs=1e-8)


def test_six_nodes_where_the_constraint_costs_edges():
    """Two categorical columns that only a numeric one joins in the tree of all weights."""
    costly = 0
    for seed in range(12):
        data = mixed_data(seed + 100, "lnlnnl", n=80)
        numeric = [is_numeric(data, j) for j in range(6)]
        weights = weights_of(data, range(6))
        graph = chow_liu(gml.MemoryCounter(data)).graph
        found = sum(weights[graph.pair(edge)] for edge in graph.edges)
        assert found == pytest.approx(best_total(weights, numeric, forests=False), abs=1e-8)
        free = nx.Graph()
        free.add_weighted_edges_from((a, b, w) for (a, b), w in weights.items())
        costly += not is_allowed(nx.maximum_spanning_tree(free).edges, numeric, 6)
    assert costly > 2


@pytest.mark.parametrize("kinds", ["lnlnn", "llnln", "nnnnl"])
@pytest.mark.parametrize("seed", range(3))
def test_tan_is_the_best_within_the_levels_of_the_class(seed, kinds):
    data = mixed_data(seed, kinds, n=400)
    name = next(v.name for v in data.variables if v.levels is not None)
    around = data.index(name)
    attributes = [j for j in range(5) if j != around]
    graph = chow_liu(gml.MemoryCounter(data), class_variable=name).graph
    weights = weights_of(data, attributes, around)
    total = 0.0
    for edge in graph.edges:
        source, target = graph.index(edge.source), graph.index(edge.target)
        if source == around:
            expected = gain_of(data, around, target)
        else:
            expected = gain_of(data, source, target, around)
            total += expected[2]
        found = (edge.attributes[key] for key in ("mi", "df", "weight"))
        assert tuple(found) == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert set(graph.children(around)) == set(attributes)
    numeric = [is_numeric(data, j) for j in attributes]
    assert total == pytest.approx(best_total(weights, numeric, forests=False), abs=1e-8)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(KINDS[:5]), st.booleans())
def test_gains_are_the_definition(seed, kinds, weights):
    data = mixed_data(seed, kinds, n=60, weights=weights)
    pairs = [
        pair
        for pair in itertools.combinations(range(len(kinds)), 2)
        if any(is_numeric(data, j) for j in pair)
    ]
    if not pairs:
        return
    found = NumericGains(gml.MemoryCounter(data)).of(pairs)
    for k, pair in enumerate(pairs):
        if found.lacks[k] is None:
            gain, df, _ = gain_of(data, *pair)
            assert (found.mi[k], found.df[k]) == (pytest.approx(gain, rel=1e-9, abs=1e-13), df)
            assert found.by_level[k] == (df == 2 * (df_of_means(data, *pair)))


# ---------------------------------------------------------------------- orders, engines, kinds


def content(graph):
    return {(e.source, e.type, e.target, tuple(sorted(e.attributes.items()))) for e in graph.edges}


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(KINDS),
    st.sampled_from(["none", "bic", "g"]),
    st.booleans(),
)
def test_neither_rows_nor_columns_nor_engines_matter(seed, kinds, prune, tan):
    data = mixed_data(seed, kinds, n=150)
    rng = np.random.default_rng(seed)
    rows, columns = rng.permutation(150), rng.permutation(len(kinds))
    other = Dataset(
        tuple(data.variables[j] for j in columns), tuple(data.columns[j][rows] for j in columns)
    )
    labels = sorted(v.name for v in data.variables if v.levels is not None)
    options = {"prune": prune, "class_variable": labels[0] if tan and labels else None}
    engines = [
        gml.MemoryCounter(data, threads=1),
        gml.MemoryCounter(other, threads=2),
        SlicedCounter(data, [20, 90, 91]),
    ]
    first, *others = [chow_liu(engine, **options) for engine in engines]
    for one in others:
        assert content(one.graph) == content(first.graph)
        assert one.total_mi == first.total_mi


@pytest.mark.parametrize("size", [1, 3])
def test_blocks_of_pairs_do_not_matter(monkeypatch, size):
    counter = gml.MemoryCounter(mixed_data(4, "lnlnlnn", n=30))
    whole = chow_liu(counter)
    monkeypatch.setattr("gml.learners.chowliu._BLOCK_PAIRS", size)
    assert content(chow_liu(counter).graph) == content(whole.graph)


def test_an_engine_in_passes_reads_rows_five_times():
    """Ranges and sums of all numbers, the tables, and ranges and sums within levels."""
    engine = SlicedCounter(mixed_data(1, "lnlnn"), [40])
    chow_liu(engine)
    assert engine.passes == 5


@pytest.mark.parametrize("seed", range(5))
def test_numeric_columns_alone_make_the_tree_of_largest_correlations(seed):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(60, 7)) @ rng.normal(size=(7, 7))
    names = list("gfabdce")
    result = gml.chowliu(pd.DataFrame(values, columns=names), numeric=names)
    r = np.abs(np.corrcoef(values.T))
    free = nx.Graph()
    free.add_weighted_edges_from((i, j, r[i, j]) for i, j in itertools.combinations(range(7), 2))
    expected = {frozenset(edge) for edge in nx.maximum_spanning_tree(free).edges}
    assert {frozenset(result.graph.pair(e)) for e in result.graph.edges} == expected
    assert result.graph.parents(names.index("a")) == []
    for edge in result.graph.edges:
        share = r[result.graph.pair(edge)] ** 2
        assert edge.attributes["mi"] == pytest.approx(-0.5 * math.log(1 - share), rel=1e-9)
        assert edge.attributes["df"] == 1 and "variances" not in edge.attributes


def test_ties_go_by_name():
    """Four numeric columns, orthogonal but for the first factor, and two equal categorical ones."""
    signs = np.array(list(itertools.product([-1.0, 1.0], repeat=5)))
    common = 2 * signs[:, 0]
    label = np.where(signs[:, 0] > 0, "up", "down")
    frame = pd.DataFrame(
        {"z": common + signs[:, 1], "w": common + signs[:, 2], "t": label, "s": label}
    )
    result = gml.chowliu(frame, numeric=["z", "w"])
    assert named_edges(result.graph) >= {("s", "-->", "w"), ("s", "-->", "z")}


# ---------------------------------------------------------------------- roots, pruning, refusals


def split_table():
    """A tree with categorical columns, and one of numeric ones that are independent of them."""
    rng = np.random.default_rng(11)
    n = 300
    site = rng.choice(["north", "south", "west"], n)
    kind = np.where(rng.random(n) < 0.8, np.where(site == "north", "k", "m"), "k")
    mass = (site == "south") * 2.0 + rng.normal(size=n)
    wind = rng.normal(size=n)
    return pd.DataFrame(
        {
            "wind": wind,
            "site": site,
            "mass": mass,
            "gust": wind + 0.3 * rng.normal(size=n),
            "kind": kind,
            "area": mass + rng.normal(size=n),
        }
    )


NUMERIC = ["wind", "mass", "gust", "area"]


def test_arrows_run_away_from_a_categorical_root():
    frame = split_table()
    result = gml.chowliu(frame, numeric=NUMERIC, prune="bic")
    assert named_edges(result.graph) == {
        ("kind", "-->", "site"),
        ("site", "-->", "mass"),
        ("mass", "-->", "area"),
        ("gust", "-->", "wind"),
    }
    turned = gml.chowliu(frame, numeric=NUMERIC, prune="bic", root="site")
    assert ("site", "-->", "kind") in named_edges(turned.graph)
    alone = gml.chowliu(frame, numeric=NUMERIC, prune="bic", root="wind")
    assert ("wind", "-->", "gust") in named_edges(alone.graph)
    lines = gml.chowliu(frame, numeric=NUMERIC, undirected=True)
    assert lines.graph.kind == "undirected" and lines.graph.n_edges == 5


def test_a_numeric_root_above_categorical_columns_is_refused():
    message = "the root 'area' is numeric, and its tree has categorical columns.*`root='site'`"
    with pytest.raises(UsageError, match=message):
        gml.chowliu(split_table(), numeric=NUMERIC, root="area")


def test_a_numeric_class_and_miller_madow_are_refused():
    with pytest.raises(UsageError, match="the class must be categorical, and 'mass' is numeric"):
        gml.chowliu(split_table(), numeric=NUMERIC, class_="mass")
    with pytest.raises(DataError, match="categorical columns, and .*'area', 'gust', .* numeric"):
        gml.chowliu(split_table(), numeric=NUMERIC, estimator="miller-madow")
    gml.chowliu(split_table()[["site", "kind"]], estimator="miller-madow")


def test_pruning_by_g_is_a_likelihood_ratio_test():
    frame = split_table()
    data = gml.read(frame, numeric=NUMERIC)
    names, n = list(frame), len(frame)
    p = {}
    for a, b in itertools.combinations(range(len(names)), 2):
        gain, df, _ = gain_of(data, a, b)
        p[frozenset((names[a], names[b]))] = chi2.sf(2 * n * gain, df)
    for alpha in (1e-12, 0.01, 0.2):
        graph = gml.chowliu(frame, numeric=NUMERIC, prune="g", alpha=alpha).graph
        edges = {frozenset((a, b)) for a, _, b in named_edges(graph)}
        assert edges and all(p[edge] <= alpha for edge in edges)
        # What is significant is joined, as far as that closes no cycle and breaks no rule.
        joined = nx.Graph([tuple(edge) for edge in edges])
        for pair in set(p) - edges:
            if all(name in NUMERIC for name in pair) and p[pair] <= alpha:
                assert nx.has_path(joined, *pair)


def test_tables_of_categorical_columns_carry_what_they_did():
    graph = gml.chowliu(split_table()[["site", "kind"]]).graph
    assert [set(edge.attributes) for edge in graph.edges] == [{"mi", "compelled"}]


def test_the_penguins(shared):
    """By formulas of the textbook, over the complete rows."""
    numeric = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]
    names = ["species", "island", "sex", *numeric]
    frame = pd.read_csv(shared / "data" / "real" / "penguins.csv")[names].dropna()
    result = gml.chowliu(frame.reset_index(drop=True), numeric=numeric)
    edges = {(e.source, e.target): e.attributes for e in result.graph.edges}
    assert set(edges) == {
        ("island", "sex"),
        ("island", "species"),
        ("species", "bill_depth_mm"),
        ("species", "bill_length_mm"),
        ("species", "flipper_length_mm"),
        ("flipper_length_mm", "body_mass_g"),
    }
    r = frame["flipper_length_mm"].corr(frame["body_mass_g"])
    rest = frame["body_mass_g"] - frame.groupby("species")["body_mass_g"].transform("mean")
    # Mass hangs from flippers rather than from species.
    assert -0.5 * math.log(1 - r * r) > 0.5 * math.log(
        frame["body_mass_g"].var(ddof=0) / rest.var(ddof=0)
    )
    assert edges["flipper_length_mm", "body_mass_g"]["mi"] == pytest.approx(
        -0.5 * math.log(1 - r * r), rel=1e-12
    )
    flipper = frame["flipper_length_mm"]
    rest = flipper - frame.groupby("species")["flipper_length_mm"].transform("mean")
    found = edges["species", "flipper_length_mm"]
    assert found["mi"] == pytest.approx(
        0.5 * math.log(flipper.var(ddof=0) / rest.var(ddof=0)), rel=1e-12
    )
    assert (found["df"], found["variances"]) == (2, "equal")
    assert found["weight"] == pytest.approx(found["mi"] - 2 * math.log(333) / 666, rel=1e-12)


def test_the_irises():
    """Petals hang together, and species from them; each weight by its formula."""
    from tests.golden.iris import COLUMNS, iris

    frame = iris()
    label = next(name for name in frame if name not in COLUMNS)
    frame[label] = frame[label].astype(str)
    result = gml.chowliu(frame, numeric=list(COLUMNS))
    names, n = result.graph.names, len(frame)

    def expected(a, b):
        if label not in (a, b):
            r = frame[a].corr(frame[b])
            return -0.5 * math.log(1 - r * r), 1
        y = a if b == label else b
        groups = [part for _, part in frame.groupby(label)[y]]
        within = sum(part.var(ddof=0) for part in groups) / 3  # 50 flowers each
        one = 0.5 * math.log(frame[y].var(ddof=0) / within)
        logs = sum(math.log(part.var(ddof=0)) for part in groups) / 3
        own = 0.5 * (math.log(frame[y].var(ddof=0)) - logs)
        # Two more parameters have to pay.
        return max((one, 2), (own, 4), key=lambda form: form[0] - form[1] * math.log(n) / (2 * n))

    edges = {(e.source, e.target): e.attributes for e in result.graph.edges}
    for pair, attributes in edges.items():
        mi, df = expected(*pair)
        assert (attributes["mi"], attributes["df"]) == (pytest.approx(mi, rel=1e-12), df)
    free = nx.Graph()
    for pair in itertools.combinations(frame, 2):
        mi, df = expected(*pair)
        free.add_edge(*pair, weight=mi - df * math.log(n) / (2 * n))
    best = {frozenset(pair) for pair in nx.maximum_spanning_tree(free).edges}
    # One categorical column is no constraint.
    assert {frozenset(pair) for pair in edges} == best
    assert result.graph.parents(names.index(label)) == []


def test_variances_by_level_are_taken_where_they_pay():
    rng = np.random.default_rng(3)
    label = rng.choice(list("abc"), 300)
    y = rng.normal(size=300) * np.where(label == "a", 1.0, np.where(label == "b", 3.0, 9.0))
    (edge,) = gml.chowliu(pd.DataFrame({"y": y, "label": label}), numeric=["y"]).graph.edges
    parts = [y[label == level] for level in "abc"]
    expected = 0.5 * (
        math.log(y.var()) - sum(len(part) / 300 * math.log(part.var()) for part in parts)
    )
    assert edge.attributes["variances"] == "by level" and edge.attributes["df"] == 4
    assert edge.attributes["mi"] == pytest.approx(expected, rel=1e-12)
    # With two rows a level has no variance of its own.
    few = pd.DataFrame({"y": [*y, 0.5, 0.7], "label": [*label, "d", "d"]})
    (edge,) = gml.chowliu(few, numeric=["y"]).graph.edges
    assert edge.attributes["variances"] == "equal" and edge.attributes["df"] == 3


# ---------------------------------------------------------------------- rows that do not suffice


def test_columns_that_determine_one_another_come_first():
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"celsius": rng.normal(10, 5, 80).round(1)})
    frame["fahrenheit"] = frame["celsius"] * 1.8 + 32
    frame["kelvin"] = frame["celsius"] + 273.15
    frame["grade"] = rng.choice(list("xyz"), 80)
    frame["mark"] = frame["grade"].map({"x": 1.0, "y": 2.5, "z": 7.0})
    numeric = ["celsius", "fahrenheit", "kelvin", "mark"]
    said = "3 edges have an infinite mi, .*: 'fahrenheit' from 'celsius'; 'kelvin' from"
    with pytest.warns(GmlWarning, match=said):
        result = gml.chowliu(frame, numeric=numeric)
    boundless = {(e.source, e.target) for e in result.graph.edges if e.attributes["mi"] == math.inf}
    # Among equals by name: celsius is joined to both others.
    assert ("grade", "mark") in boundless
    assert {frozenset(pair) for pair in boundless} == {
        frozenset(("grade", "mark")),
        frozenset(("celsius", "fahrenheit")),
        frozenset(("celsius", "kelvin")),
    }
    assert result.total_mi == math.inf
    for prune in ("bic", "g"):
        with pytest.warns(GmlWarning, match="one column follows from the other"):
            pruned = gml.chowliu(frame, numeric=numeric, prune=prune).graph
        assert pruned.n_edges == 3


def test_pairs_that_rows_do_not_suffice_for_are_named_and_not_joined():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"x": rng.normal(size=30), "y": rng.normal(size=30)})
    frame["group"] = ["rare"] * 3 + ["one"] * 14 + ["two"] * 13
    said = "'x' and 'y', 3 of 4 rows needed where group=rare"
    with pytest.warns(GmlWarning, match=f"1 pair of columns cannot be weighed.*{said}"):
        graph = gml.chowliu(frame, numeric=["x", "y"], class_="group").graph
    assert named_edges(graph) == {("group", "-->", "x"), ("group", "-->", "y")}
    frame.loc[frame["group"] == "two", "x"] = 4.0
    frame.loc[29, "group"] = "one"
    with pytest.warns(GmlWarning, match="no variance where group=two"):
        gml.chowliu(frame[3:].reset_index(drop=True), numeric=["x", "y"], class_="group")


@pytest.mark.filterwarnings("ignore::gml.errors.GmlWarning")
@pytest.mark.parametrize("n", [*range(1, 8), 12, 20])
@pytest.mark.parametrize("size", [1.0, 1e-308, 1e307])
def test_short_tables_of_any_magnitude_have_an_answer(n, size):
    rng = np.random.default_rng(n)
    frame = pd.DataFrame(
        {
            "a": rng.choice(["u", "v"], n),
            "b": rng.choice(list("pqr"), n),
            "x": rng.normal(size=n) * size,
            "y": rng.uniform(-1, 1, n) * size,
            "still": np.full(n, 2.5),
            "almost": np.where(np.arange(n) == 0, 1.0 + 2.0**-52, 1.0),
        }
    )
    for options in ({}, {"prune": "bic"}, {"prune": "g"}, {"class_": "a"}):
        graph = gml.chowliu(frame, numeric=["x", "y", "still", "almost"], **options).graph
        assert not graph.marks[4].any()
        for edge in graph.edges:
            assert not any(
                isinstance(value, float) and math.isnan(value) for value in edge.attributes.values()
            )


def test_numbers_far_from_zero_keep_their_digits():
    rng = np.random.default_rng(8)
    label = rng.choice(["m", "w"], 200)
    x = rng.normal(size=200) + (label == "m")
    near, far = (
        gml.chowliu(pd.DataFrame({"x": x + shift, "label": label}), numeric=["x"]).total_mi
        for shift in (0.0, 1e9)
    )
    assert far == pytest.approx(near, rel=1e-5)
    values = x + 1e9
    rest = (values - 1e9) - pd.Series(values - 1e9).groupby(label).transform("mean")
    assert far == pytest.approx(0.5 * math.log((values - 1e9).var() / rest.var(ddof=0)), rel=1e-9)


# ---------------------------------------------------------------------- what follows from a tree


@pytest.mark.parametrize("options", [{}, {"class_": "site"}, {"prune": "bic"}])
def test_trees_can_be_fitted_scored_and_queried(options):
    frame = split_table()
    # All configurations occur.
    frame["kind"] = np.where(np.arange(len(frame)) % 9 == 0, "m", frame["kind"])
    graph = gml.chowliu(frame, numeric=NUMERIC, **options).graph
    net = gml.fit(frame, graph)
    assert net.is_mixed
    data = gml.read(frame, numeric=NUMERIC)
    empty = gml.fit(frame, gml.Graph.from_edges(graph.names, [], numeric=tuple(NUMERIC)))
    gain = net.log_likelihood(data) - empty.log_likelihood(data)
    # Fits have variances by level everywhere, so that they gain no less.
    total = sum(edge.attributes["mi"] for edge in graph.edges)
    assert gain / len(frame) >= total - 1e-9
    assert net.query(["site"], {"mass": 1.0}) is not None

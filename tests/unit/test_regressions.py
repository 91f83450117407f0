"""Faults that were found once, each kept from coming back."""

from __future__ import annotations

import itertools
import json
import math

import mpmath
import numpy as np
import pytest

import gml
from gml.counts.counter import TableSet
from gml.data.dataset import Dataset, Variable
from gml.errors import CannotAnswer, DataError, GraphError, UsageError
from gml.formats.graphs import parse_graph
from gml.formats.json_graph import dump_json
from gml.formats.reports.rows import record
from gml.graph.graph import Graph
from gml.independence.registry import TESTS
from gml.kernel import reference
from gml.learners.chowliu import chow_liu

compiled = pytest.importorskip("gml.kernel._kernel")


def coded(columns, n_levels, weights=None):
    variables = tuple(
        Variable(f"v{j:02}", tuple(str(k) for k in range(r))) for j, r in enumerate(n_levels)
    )
    arrays = tuple(
        np.asarray(c, dtype=np.uint8 if r <= 255 else np.uint16)
        for c, r in zip(columns, n_levels, strict=True)
    )
    return Dataset(variables, arrays, weights)


def test_a_large_pair_within_a_batch_of_conditional_tests():
    rng = np.random.default_rng(0)
    n_levels = [300, 300, 2, 2]
    counter = gml.MemoryCounter(coded([rng.integers(0, r, 2000) for r in n_levels], n_levels))
    mixed = counter.statistics([(0, 1, ()), (2, 3, (0,))])
    alone = counter.statistics([(0, 1, ())])
    np.testing.assert_array_equal(mixed.ints[0], alone.ints[0])
    np.testing.assert_array_equal(mixed.floats[0], alone.floats[0])


def test_a_hundred_constant_conditioning_columns():
    rng = np.random.default_rng(0)
    columns = [rng.integers(0, 2, 50), rng.integers(0, 2, 50), *([np.zeros(50)] * 100)]
    test = TESTS["g"](gml.MemoryCounter(coded(columns, [2, 2] + [1] * 100)))
    assert test(0, 1, tuple(range(2, 102))) == test(0, 1)


def test_more_configurations_than_integers():
    rng = np.random.default_rng(1)
    z = rng.integers(0, 2, 400)
    columns = [rng.integers(0, 2, 400), rng.integers(0, 2, 400), *([z] * 70)]
    counter = gml.MemoryCounter(coded(columns, [2] * 72))
    given = tuple(range(2, 72))
    assert TESTS["g"](counter)(0, 1, given).df == 2.0**70
    (counts,) = counter.tables([TableSet((0, 1), (2,))])
    alpha = 1 / (4 * 2.0**70)
    expected = compiled.log_bayes_factor(counts.table, alpha)
    assert TESTS["bayes"](counter)(0, 1, given).statistic == expected


def exact_bayes_factor(table, alpha):
    with mpmath.workdps(60):
        r, c = table.shape[1:]
        alpha = mpmath.mpf(alpha)

        def rising(n, a):
            return mpmath.loggamma(n + a) - mpmath.loggamma(a)

        total = mpmath.mpf(0)
        for stratum in table.tolist():
            rows, columns = (
                [sum(row) for row in stratum],
                [sum(k) for k in zip(*stratum, strict=True)],
            )
            total += sum(rising(n, alpha) for row in stratum for n in row)
            total -= sum(rising(n, alpha * c) for n in rows)
            total -= sum(rising(n, alpha * r) for n in columns)
            total += rising(sum(rows), alpha * r * c)
        return float(total)


@pytest.mark.parametrize("size", [3, 1000, 10**8, 10**12])
@pytest.mark.parametrize("alpha", [1e-6, 0.25, 40.0, 1e15])
def test_bayes_factor_keeps_its_digits(size, alpha):
    rng = np.random.default_rng(size % 1000)
    table = rng.integers(size // 2, size, (2, 3, 2))
    table[0, 0, 0] = 0
    expected = exact_bayes_factor(table, alpha)
    for kernel in (compiled, reference):
        assert kernel.log_bayes_factor(table, alpha) == pytest.approx(
            expected, rel=1e-10, abs=1e-11
        )


def exact_fisher_z(x, y, given):
    """log10 p by elimination in 100 digits."""
    with mpmath.workdps(100):
        columns = [[mpmath.mpf(v) for v in c] for c in (*given, x, y)]
        n = len(x)
        centred = [[v - sum(c) / n for v in c] for c in columns]
        matrix = mpmath.matrix([[mpmath.fdot(a, b) for b in centred] for a in centred])
        inverse = matrix**-1
        k = len(given)
        r = -inverse[k, k + 1] / mpmath.sqrt(inverse[k, k] * inverse[k + 1, k + 1])
        z = mpmath.sqrt(n - k - 3) * mpmath.atanh(r)
        return float(mpmath.log10(mpmath.erfc(abs(z) / mpmath.sqrt(2))))


@pytest.mark.parametrize("noise", [1, 1e-3, 1e-5, 1e-7])
@pytest.mark.parametrize("where", ["pair", "given"])
def test_fisher_z_of_nearly_collinear_columns(noise, where):
    rng = np.random.default_rng(7)
    # integers: what is stored is what is meant
    x, w, v, u = (rng.integers(-(10**6), 10**6, 40) for _ in range(4))
    scale = round(1 / noise)
    near = x * scale + w
    x = x * 1.0
    columns = [x, near * 1.0] if where == "pair" else [v * 1.0, (w + v + u) * 1.0, x, near * 1.0]
    data = Dataset(tuple(Variable(f"c{j}", None) for j in range(len(columns))), tuple(columns))
    found = TESTS["fisher-z"](gml.MemoryCounter(data))(0, 1, tuple(range(2, len(columns))))
    expected = exact_fisher_z(columns[0], columns[1], columns[2:])
    assert found.log_p / math.log(10) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("factor", [10, 1000, 10**5])
def test_fisher_z_notices_an_exact_dependence_whatever_the_scale(factor):
    rng = np.random.default_rng(3)
    z1, w = rng.integers(-1000, 1000, 200), rng.integers(-10, 10, 200)
    columns = [w, w + rng.integers(0, 3, 200), z1, factor * z1 + w]
    data = Dataset(
        tuple(Variable(name, None) for name in ("x", "y", "z1", "z2")),
        tuple(np.asarray(c, dtype=np.float64) for c in columns),
    )
    with pytest.raises(DataError, match="'z1', 'z2', 'x' are perfect"):
        TESTS["fisher-z"](gml.MemoryCounter(data))(0, 1, (2, 3))


@pytest.mark.parametrize("kernel", [compiled, reference], ids=["compiled", "reference"])
def test_permutation_p_values_of_millions_of_rows(kernel):
    """Beyond the table of factorials: still close to the asymptotic p-value."""
    n = 4_000_000
    table = np.array([[[n // 4 + 700, n // 4], [n // 4, n // 4]]])
    found = kernel.table_statistics_of(table)
    log_p = compiled.log_chi2_upper(np.array([found.g[0]]), np.array([1.0]))[0]
    count = np.count_nonzero(kernel.permutation_draws(table, (1, 2), 0, 400) >= found.g[0] - 1e-9)
    p = math.exp(log_p)
    assert abs(count / 400 - p) < 5 * math.sqrt(p * (1 - p) / 400)


def test_kernels_draw_the_same_beyond_the_table_of_factorials():
    table = np.array([[[1_200_000, 900_000], [800_000, 1_000_003]]])
    args = (table, (5, 6), 0, 60)
    draws = compiled.permutation_draws(*args)
    np.testing.assert_allclose(draws, reference.permutation_draws(*args), rtol=1e-9, atol=1e-12)
    assert len(set(draws)) > 30


def test_too_many_rows_to_permute():
    data = coded([[0, 0, 1, 1], [0, 1, 0, 1]], [2, 2], np.array([10**14] * 4))
    with pytest.raises(CannotAnswer, match="too many to permute"):
        TESTS["permutation"](gml.MemoryCounter(data))(0, 1)


def test_tree_of_enormous_weights():
    rng = np.random.default_rng(2)
    cells = np.array(list(itertools.product([0, 1], repeat=3)))
    weights = rng.integers(1, 100, 8)
    trees = []
    for scale in (1, 10**12):
        data = coded(cells.T, [2] * 3, weights * scale)
        graph = chow_liu(gml.MemoryCounter(data)).graph
        trees.append([(e.source, e.target) for e in graph.edges])
    assert trees[0] == trees[1]


def test_a_tie_with_alpha_is_dependent_after_adjustment():
    from gml.independence.multiplicity import adjust

    data = coded([[0, 1] * 10, [0, 1] * 10], [2, 2])
    test = TESTS["permutation"](gml.MemoryCounter(data), permutations=199)
    result = test(0, 1)
    for m in range(1, 60):
        (adjusted, *_) = adjust([result.log_p] + [0.0] * (m - 1), "bonferroni")
        assert test.verdict(result, m / 200, adjusted) == "dependent"


def test_threads_share_the_budget(monkeypatch):
    used = []
    original = gml.MemoryCounter._in_chunks

    def spy(self, chunk, size, threads):
        used.append(threads)
        return original(self, chunk, size, threads)

    monkeypatch.setattr(gml.MemoryCounter, "_in_chunks", spy)
    rng = np.random.default_rng(0)
    data = coded([rng.integers(0, 200, 50) for _ in range(4)], [200] * 4)
    pairs = np.array([(0, 1), (0, 2), (1, 3)], dtype=np.int32)
    gml.MemoryCounter(data, threads=8, max_memory=700_000).pair_statistics(pairs)
    gml.MemoryCounter(data, threads=8).pair_statistics(pairs)
    assert used == [2, 8]


def test_rows_of_weight_zero_do_not_matter(tmp_path):
    path = tmp_path / "z.csv"
    path.write_text("a,b,w\n0,1,5\n1,0,5\n,1,0\n1,1,3\n")
    assert gml.read(path, weights="w").n == 13
    gaps = coded([[0, 1, 255], [0, 1, 1]], [2, 2], np.array([3, 4, 0]))
    assert chow_liu(gml.MemoryCounter(gaps)).graph.n_edges == 1


def test_unknown_names_are_refused():
    with pytest.raises(UsageError):
        gml.adjust([-3.0], "fdr")
    counter = gml.MemoryCounter(coded([[0, 1]], [2]))
    with pytest.raises(UsageError):
        TESTS["g"](counter, df="some")
    for options in ({"ess": math.inf}, {"ess": math.nan}, {"log_bf": math.nan}):
        with pytest.raises(UsageError):
            TESTS["bayes"](counter, **options)


def test_constant_column_is_independent_whatever_the_threshold():
    test = TESTS["bayes"](gml.MemoryCounter(coded([[0, 0], [0, 1]], [1, 2])), log_bf=-5.0)
    assert test.verdict(test(0, 1)) == "independent"


# ------------------------------------------------------------------ files


def shape(text):
    graph = parse_graph(text, "file")
    return {(e.source, e.type, e.target) for e in graph.edges}


def test_dot_lists_of_nodes_are_endpoints():
    assert shape("digraph { a,b -> c, d }") == {(x, "-->", y) for x in "ab" for y in "cd"}


@pytest.mark.parametrize("text", ["a->b;b->a;a->b", "a->b;a->b;b->a", "a->b [dir=none];b->a"])
def test_arrows_both_ways_are_undirected_in_any_order(text):
    assert shape(f"digraph {{ {text} }}") == {("a", "---", "b")}


def test_a_cycle_beside_a_bidirected_edge():
    with pytest.raises(GraphError, match="cycle"):
        parse_graph("digraph { a->b; b->c; c->a; d->e [dir=both] }", "file")


@pytest.mark.parametrize(
    "content",
    [
        {
            "nodes": [{"id": "a"}, {"id": "b"}],
            "edges": [{"source": "a", "target": "b", "type": ["x"]}],
        },
        {"nodes": [{"id": "a"}], "graph": {"kind": 5}},
    ],
)
def test_json_of_the_wrong_type(content):
    with pytest.raises(GraphError):
        parse_graph(json.dumps(content), "file")


def test_graphml_with_foreign_attributes():
    text = """<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
      <key id="k" for="node" attr.name="levels" attr.type="string"/>
      <key id="l" for="graph" attr.name="learning" attr.type="string"/>
      <graph edgedefault="directed"><data key="l">not JSON</data>
      <node id="a"><data key="k">[low, high]</data></node><node id="b"/>
      <edge source="a" target="b"/></graph></graphml>"""
    graph = parse_graph(text, "file")
    assert graph.levels == {}
    assert graph.n_edges == 1


def test_attributes_that_formats_use_themselves_are_left_out():
    graph = parse_graph(
        'digraph { a->b [type=x, source=z, key=k, id=7, mi=0.5, big="'
        + "1" * 5000
        + '", arabic="٣"] }',
        "file",
    )
    assert set(graph.attributes[0, 1]) == {"mi", "big", "arabic"}
    assert graph.attributes[0, 1]["arabic"] == "٣"
    assert parse_graph(dump_json(graph), "file") == graph


@pytest.mark.parametrize("format_", ["dot", "json", "graphml"])
def test_list_attributes_survive(format_):
    from gml.formats.graphs import WRITERS

    graph = Graph.from_edges("AB", [("A", "-->", "B", {"path": ["x", "y"], "mi": 0.5})])
    assert parse_graph(WRITERS[format_](graph), "file").attributes == graph.attributes


def test_graphml_refuses_control_characters_in_attributes():
    from gml.formats.graphml import dump_graphml

    with pytest.raises(GraphError, match="control character"):
        dump_graphml(Graph.from_edges("AB", [("A", "-->", "B", {"note": "\x01"})]))


def test_records_quote_line_ends():
    import csv
    import io

    values = ["a\rb", "c\nd", 'e"f', "g,h", ""]
    assert next(csv.reader(io.StringIO(record(values), newline=""))) == values


# ------------------------------------------------------------------ data


def test_duplicate_weights_column(tmp_path):
    path = tmp_path / "d.csv"
    path.write_text("A,F,F\nx,1,9\n")
    with pytest.raises(DataError, match="'F' more than once"):
        gml.read(path, weights="F")


def test_tsv_only_by_the_last_suffix(tmp_path):
    path = tmp_path / "survey.tsv.csv"
    path.write_text("A,B\nx,y\n")
    assert gml.read(path).names == ("A", "B")


def test_values_not_spellings_are_counted_for_bins(tmp_path):
    path = tmp_path / "d.csv"
    path.write_text("A\n1\n1.0\n01\n1e0\n")
    assert gml.read(path, bins=2).variables[0].levels == ("01", "1", "1.0", "1e0")


def test_width_of_an_enormous_range(tmp_path):
    from gml.data.discretize import parse_binning

    path = tmp_path / "d.csv"
    path.write_text("A\n-1e308\n0\n1e308\n")
    data = gml.read(path, cut={"A": parse_binning("width:3")})
    assert len(data.variables[0].levels) == 3
    with pytest.raises(UsageError):
        parse_binning("width:100000000")


def test_labels_with_enormous_exponents(tmp_path):
    path = tmp_path / "d.csv"
    path.write_text("A\n1e99999999999999999999\n2e99999999999999999999\n5\n")
    assert gml.read(path).variables[0].levels[0] == "5"


def test_schema_and_cut_of_one_column(tmp_path):
    from gml.data.discretize import parse_binning
    from gml.data.schema import parse_schema

    path = tmp_path / "d.csv"
    path.write_text("N\n1\n5\n")
    schema = parse_schema({"schema": "gml/1", "columns": {"N": {"levels": ["1", "5"]}}}, "s")
    data = gml.read(path, levels=schema, cut={"N": parse_binning("3")})
    assert data.variables[0].levels == ("[-inf,3)", "[3,inf)")


@pytest.mark.parametrize("cuts", ["[NaN]", "[1e400]", "[" + "9" * 400 + "]", "[0, Infinity]"])
def test_schema_cuts_are_finite(cuts):
    from gml.data.schema import parse_schema

    content = json.loads(f'{{"schema": "gml/1", "columns": {{"A": {{"cuts": {cuts}}}}}}}')
    with pytest.raises(DataError, match="finite"):
        parse_schema(content, "s")


def test_schema_levels_are_text():
    from gml.data.schema import parse_schema

    with pytest.raises(DataError, match="not valid text"):
        parse_schema({"schema": "gml/1", "columns": {"A": {"levels": ["\ud800"]}}}, "s")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-7"])
def test_wrong_encodings(tmp_path, encoding):
    path = tmp_path / "d.csv"
    path.write_bytes(b"A,B\nx,\xffy\n" * 3)
    with pytest.raises(DataError, match="name the right `encoding`"):
        gml.read(path, encoding=encoding)


@pytest.mark.parametrize("encoding", ["punycode", "undefined"])
def test_encodings_of_no_file(tmp_path, encoding):
    path = tmp_path / "d.csv"
    path.write_bytes(b"A,B\nx,\xffy\n" * 3)
    with pytest.raises(UsageError, match="not a character set"):
        gml.read(path, encoding=encoding)


def parquet(tmp_path, table):
    pq = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "d.parquet"
    pq.write_table(table, path)
    return path


def test_parquet_numbers_and_missing_tokens(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from gml.data.options import ReadOptions
    from gml.data.reading import read_dataset

    path = parquet(tmp_path, pa.table({"x": [1.5, -999.0, 2.0, None]}))
    options = ReadOptions(na=("-999.0",), missing="available", kinds="numbers")
    column = read_dataset(path, options).columns[0]
    np.testing.assert_array_equal(column, [1.5, np.nan, 2.0, np.nan])
    path = parquet(tmp_path, pa.table({"x": [1.5, math.inf]}))
    with pytest.raises(DataError, match="'inf' is not a number"):
        read_dataset(path, ReadOptions(kinds="numbers"))


def test_parquet_categories_that_nobody_has(tmp_path):
    pa = pytest.importorskip("pyarrow")
    dictionary = pa.DictionaryArray.from_arrays(
        pa.array([0, 299, 0], pa.int32()), pa.array([f"v{i}" for i in range(300)])
    )
    data = gml.read(parquet(tmp_path, pa.table({"x": dictionary})))
    assert data.variables[0].levels == ("v0", "v299")


def test_bad_parquet(tmp_path):
    pa = pytest.importorskip("pyarrow")
    path = tmp_path / "bad.parquet"
    path.write_bytes(b"PAR1" + b"garbage" * 20 + b"PAR1")
    with pytest.raises(DataError, match=r"bad\.parquet"):
        gml.read(path)
    with pytest.raises(DataError, match="lists and structures"):
        gml.read(parquet(tmp_path, pa.table({"x": [[1], [2]]})))
    (tmp_path / "README.txt").write_text("not Parquet")
    path.unlink()
    parquet(tmp_path, pa.table({"x": ["a", "b"]}))
    assert gml.read(tmp_path).n == 2

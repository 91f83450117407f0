"""The fit of models with numbers: sums over chunks beside NumPy over all rows at once."""

from __future__ import annotations

import math
import pickle
import warnings
from dataclasses import dataclass, replace

import numpy as np
import pytest
import scipy.stats

import gml
from gml.counts import chunked_rows
from gml.counts import open_stream as streams
from gml.counts.chunked_rows import ChunkedRows, RowsInMemory, RowsInPasses
from gml.counts.memory import MemoryCounter
from gml.counts.number_rows import NumberReader
from gml.counts.row_sums import NumberTable
from gml.data import row_spool
from gml.data.dataset import Dataset, Variable
from gml.data.number_summary import NumberValues
from gml.errors import GmlWarning
from gml.gate.density_moments import density_moments, read_candidates
from gml.gate.enough_rows import enough_rows
from gml.gate.families import family_counts
from gml.gate.gaussian_fit import gaussian_fit_check
from gml.gate.likely_rows import RowTables
from gml.gate.mixed_families import number_nodes
from gml.gate.mixed_fit import mixed_fit_check
from gml.gate.row_densities import NodeDensity, RowDensities
from gml.gate.selection import weak_parents
from gml.gate.settings import CheckSettings
from gml.model.bayesnet import CPT, BayesNet

LEVELS = {"a": ("s", "t"), "b": ("p", "q", "r")}
NUMBERS = ["x", "y", "z"]
EDGES = [("a", "b"), ("b", "y"), ("x", "y"), ("a", "z"), ("b", "z"), ("y", "z")]
SEEDS = range(6)


def table_of(n, seed, *, labels=True, gaps=False, weighted=False, shift=0.0):
    """Rows with labels a → b and numbers; b=r where a=s never occurs in rows without a shift."""
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 2, n)
    b = np.where(a == 0, rng.integers(0, 2 if shift == 0 else 3, n), rng.integers(0, 3, n))
    x = 100 + 3 * rng.standard_normal(n)
    y = 0.5 * b - 0.3 * x + rng.laplace(size=n) + shift
    z = (1 + a) * y + (1 + b) * rng.standard_normal(n)
    columns = {"a": a, "b": b, "x": x, "y": y, "z": z}
    if gaps:
        for name in columns:
            lacking = rng.random(n) < 0.05
            columns[name] = np.where(lacking, 255 if name in LEVELS else np.nan, columns[name])
        # A level that the model does not know.
        columns["a"] = np.where(rng.random(n) < 0.05, 2, columns["a"])
    names = list(columns) if labels else NUMBERS
    variables = [Variable(k, (*LEVELS[k], "new") if k in LEVELS else None) for k in names]
    cells = [columns[k].astype(np.uint8 if k in LEVELS else np.float64) for k in names]
    weights = rng.integers(0, 4, n) if weighted else None
    return Dataset(tuple(variables), tuple(cells), weights)


def model_of(*, labels=True):
    """A model of rows like these; without b=r where a=s."""
    names = [*LEVELS, *NUMBERS] if labels else NUMBERS
    edges = [(x, "-->", y) for x, y in EDGES if x in names and y in names]
    graph = gml.Graph.from_edges(names, edges, numeric=NUMBERS)
    data = table_of(2000, 99, labels=labels)
    known = [Variable(v.name, LEVELS.get(v.name)) for v in data.variables]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GmlWarning)
        return gml.fit(replace(data, variables=tuple(known)), graph, threads=1)


MODELS = {labels: model_of(labels=labels) for labels in (False, True)}


@dataclass(frozen=True)
class InChunks(ChunkedRows):
    """Rows in chunks of some sizes, pickled work and all, as an engine elsewhere has them."""

    chunks: tuple[Dataset, ...]
    times: int = 1
    keeps_order: bool = True

    @property
    def variables(self):
        return self.chunks[0].variables

    decimal = "."
    budget = 1 << 30

    def values(self, name):
        return NumberValues.joined(
            [NumberValues.of(c.select([name]).columns[0]) for c in self.chunks]
        )

    @property
    def n(self):
        return sum(chunk.n for chunk in self.chunks) // self.times

    def over(self, names, work):
        parts = [pickle.loads(pickle.dumps(work)).of(c.select(names)) for c in self.chunks]
        total, *others = pickle.loads(pickle.dumps(parts))
        for part in others:
            total = work.add(total, part)
        return total


def asked_of(rows, labels, counted=None, **reading):
    """The question about the fit of some rows, and the least likely of them.

    Labels are counted in `counted`, or in the rows themselves.
    """
    net, known = MODELS[labels], LEVELS if labels else ()
    table = NumberTable(rows, replace(NumberReader.of(rows.variables, known), **reading))
    nodes = number_nodes(net, table, 0.01)
    settings = CheckSettings(unlikely_rows=7)
    if not labels:
        families = [family for node in nodes for family in node.families]
        return gaussian_fit_check(net, families, table, settings.unlikely_rows)
    of_labels = BayesNet(tuple(cpd for cpd in net.cpds if isinstance(cpd, CPT)))
    counted = rows.data if counted is None else counted
    families = family_counts(of_labels, MemoryCounter(counted.select(list(LEVELS)), threads=1))
    selection = weak_parents(families, len(net.names), settings.alpha)
    return mixed_fit_check(net, families, nodes, selection, table, settings)


def brute_force(net, data):
    """For each row as often as it counts: ln P(labels), ln densities by node, Σ e², its number."""
    found = []
    weights = np.ones(data.n_rows, dtype=int) if data.weights is None else data.weights
    for row in range(data.n_rows):
        cells = {v.name: data.columns[j][row] for j, v in enumerate(data.variables)}
        labels, densities, squares = 0.0, [], 0.0
        for name in sorted(net.names):
            cpd = net.cpd(name)
            given = [int(cells[p.name]) for p in cpd.parents if not p.is_continuous]
            sizes = [len(p.levels) for p in cpd.parents if not p.is_continuous]
            if any(code >= size for code, size in zip(given, sizes, strict=True)):
                break
            place = int(np.ravel_multi_index(given, sizes)) if sizes else 0
            if isinstance(cpd, CPT):
                if cells[name] >= cpd.n_levels:
                    break
                counts = cpd.counts[place] + 0.5
                labels += math.log(counts[int(cells[name])] / counts.sum())
                continue
            line = cpd.regressions[place]
            at = line.intercept
            for parent, slope in zip(line.parents, line.coefficients, strict=True):
                at += slope * cells[parent.name]
            e = (cells[name] - at) / line.sd
            squares += e * e
            told = line.n is not None and enough_rows(line.n, len(line.parents) + 1)
            densities.append(scipy.stats.norm.logpdf(e) - math.log(line.sd) if told else 0.0)
        else:
            if not math.isnan(squares):
                found += [(labels, densities, squares, row)] * int(weights[row])
    return found


@pytest.mark.parametrize("labels", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_moments_are_those_of_plain_numpy(seed, labels):
    data = table_of(400, seed, labels=labels, gaps=seed % 2 > 0, weighted=seed % 3 > 0, shift=seed)
    net = MODELS[labels]
    rows = brute_force(net, data)
    of_labels, numbers = np.array([row[0] for row in rows]), np.array([sum(r[1]) for r in rows])
    question, _ = asked_of(RowsInMemory(data, 1), labels)
    check = question.check
    assert check.rows_new == len(rows)
    assert check.new["mean ln p"] == pytest.approx(np.mean(of_labels + numbers), rel=1e-10)
    if not labels:
        tables, counted = None, None
    else:
        cpds = BayesNet(tuple(cpd for cpd in net.cpds if isinstance(cpd, CPT)))
        counter = MemoryCounter(data.select(list(LEVELS)), threads=1)
        tables, counted = RowTables.of(family_counts(cpds, counter)), [0, 1, 3, 4, 5]
    nodes = tuple(NodeDensity.of(net.cpd(k), counted if k == "z" else None) for k in NUMBERS)
    densities = RowDensities(nodes, tables)
    table = NumberTable(RowsInMemory(data, 1), NumberReader.of(data.variables, LEVELS))
    # Near what the rows have, and so far away that they are gone through again.
    for expected in ((-1.0, -5.0), (1e6, -1e9)):
        found, _ = density_moments(table, densities, expected, 0)
        assert (found.n, found.n_rows) == (len(rows), data.n)
        of_nodes = np.mean([row[1] for row in rows], axis=0)
        assert found.densities == pytest.approx(of_nodes, rel=1e-10)
        columns = (found.labels, of_labels), (found.numbers, numbers)
        for moments, column in (*columns, (found.total, of_labels + numbers)):
            away = column - np.mean(column)
            assert moments.variance == pytest.approx(np.mean(away**2), rel=1e-10)
            assert moments.third == pytest.approx(np.mean(away**3), rel=1e-9)
        shared = np.mean((of_labels - np.mean(of_labels)) * (numbers - np.mean(numbers)))
        assert found.covariance == pytest.approx(shared, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("labels", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_neither_the_order_of_rows_nor_chunks_show(seed, labels, monkeypatch):
    data = table_of(500, seed, labels=labels, gaps=seed % 2 > 0, weighted=seed % 3 > 0, shift=seed)
    whole, unlikely = asked_of(RowsInMemory(data, 1), labels)
    order = np.random.default_rng(seed).permutation(data.n_rows)
    weights = None if data.weights is None else data.weights[order]
    columns = tuple(column[order] for column in data.columns)
    turned, others = asked_of(RowsInMemory(replace(data, columns=columns, weights=weights)), labels)
    assert turned.check == whole.check
    assert [replace(row, row=int(order[row.row - 1]) + 1) for row in others] == list(unlikely)
    for size in (3, 100):
        monkeypatch.setattr(chunked_rows, "_BLOCK_ROWS", size)
        found, rows = asked_of(RowsInMemory(data, 2), labels)
        assert (found.check, rows) == (whole.check, unlikely)
    monkeypatch.undo()
    monkeypatch.setattr("gml.gate.density_moments._PART_ROWS", 3)
    found, rows = asked_of(RowsInMemory(data, 1), labels)
    assert (found.check, rows) == (whole.check, unlikely)


@pytest.mark.parametrize("labels", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_unlikely_rows_are_those_of_brute_force(seed, labels, monkeypatch):
    data = table_of(300, seed, labels=labels, gaps=seed % 2 > 0, weighted=seed % 3 > 0)
    monkeypatch.setattr(chunked_rows, "_BLOCK_ROWS", 64)
    _, found = asked_of(RowsInMemory(data, 1), labels)
    scores = {}
    for of_labels, _, squares, row in brute_force(MODELS[labels], data):
        scores[row + 1] = of_labels + scipy.stats.chi2.logsf(squares, len(NUMBERS))
    expected = sorted(scores, key=lambda row: (scores[row], row))[:7]
    assert [row.row for row in found] == expected
    for row in found:
        assert row.log_probability == pytest.approx(scores[row.row], rel=1e-9)


@pytest.mark.parametrize("labels", [False, True])
def test_of_equal_rows_the_first_wins(labels):
    one = table_of(40, 3, labels=labels)
    twice = replace(one, columns=tuple(np.tile(column, 2) for column in one.columns))
    _, found = asked_of(RowsInMemory(one, 1), labels)
    _, again = asked_of(RowsInMemory(twice, 1), labels)
    best = [row.row for row in found][:3]
    assert [row.row for row in again][:6] == [r + shift for r in best for shift in (0, 40)]


@pytest.mark.parametrize("labels", [False, True])
def test_rows_that_were_delivered_several_times_count_once(labels):
    data = table_of(200, 4, labels=labels, gaps=True)
    blocks = tuple(data.blocks(45))
    columns = tuple(np.concatenate([c, c[::-1], c]) for c in data.columns)
    thrice = tuple(replace(data, columns=columns).blocks(45))
    one, unlikely = asked_of(InChunks(blocks), labels, data)
    three, others = asked_of(InChunks(thrice, 3), labels, data)
    assert (three.check, others) == (one.check, unlikely)


@pytest.mark.parametrize("labels", [False, True])
def test_where_rows_have_no_order_none_is_named(labels):
    data = table_of(200, 5, labels=labels)
    found, unlikely = asked_of(RowsInMemory(data, 1), labels)
    others, none = asked_of(InChunks((data,), keeps_order=False), labels, data)
    assert unlikely
    assert (others.check, none) == (found.check, ())


@pytest.mark.parametrize("labels", [False, True])
def test_rows_that_were_left_out_keep_the_numbers_of_others(labels):
    data = table_of(300, 6, labels=labels)
    keep = np.random.default_rng(6).random(300) < 0.5
    _, expected = asked_of(InChunks((data.rows(keep),)), labels, data)
    # Chunks of which rows were chosen, as of a stream.
    chunks = [chunk.rows(keep[k * 50 : k * 50 + 50]) for k, chunk in enumerate(data.blocks(50))]
    _, found = asked_of(InChunks(tuple(chunks)), labels, data)
    _, whole = asked_of(RowsInMemory(data.rows(keep), 1), labels)
    numbers = np.flatnonzero(keep) + 1
    assert [row.row for row in found] == [row.row for row in expected]
    assert [row.row for row in found] == [int(numbers[row.row - 1]) for row in whole]


@pytest.mark.parametrize("labels", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_stream_says_what_memory_says(labels, weighted, tmp_path, monkeypatch):
    monkeypatch.setattr(streams, "_LEAST_PIECE", 1 << 12)
    monkeypatch.setattr(streams, "_MOST_PIECE", 1 << 12)
    monkeypatch.setattr(row_spool, "LEAST_ROWS", 64)
    monkeypatch.setattr(row_spool, "MOST_ROWS", 64)
    data = table_of(500, 3, labels=labels, gaps=True, weighted=weighted, shift=0.5)
    frame = data.to_frame()
    if weighted:
        frame["w"] = data.weights
    path = tmp_path / "rows.csv"
    frame.to_csv(path, index=False)
    reading = {
        "columns": list(data.names),
        "numeric": NUMBERS,
        "levels": {v.name: v.levels for v in data.variables if v.levels},
        "missing": "available",
        "weights": "w" if weighted else None,
    }
    rows = gml.read(path, **reading)
    whole, unlikely = asked_of(RowsInMemory(rows, 1), labels)
    with gml.open_stream(path, **reading) as stream:
        found, others = asked_of(RowsInPasses(stream), labels, rows)
    assert (found.check, others) == (whole.check, unlikely)


def test_far_rows_are_left_out_and_the_others_keep_their_numbers():
    data = table_of(300, 7)
    x = data.columns[2].copy()
    x[:20] = 1e12
    columns = (*data.columns[:2], x, *data.columns[3:])
    far = replace(data, columns=columns)
    found, unlikely = asked_of(RowsInMemory(far, 1), True, near={"x": (0.0, 1e6)})
    others, rows = asked_of(RowsInMemory(data.rows(np.arange(300) >= 20), 1), True)
    assert found.check.rows_new == others.check.rows_new == 280
    assert [row.row for row in unlikely] == [row.row + 20 for row in rows]


@pytest.mark.parametrize("labels", [False, True])
@pytest.mark.parametrize("value", [1e60, 1e200, -1e300, math.inf])
def test_errors_that_cannot_be_squared_are_told_and_stand_first(value, labels):
    data = table_of(300, 8, labels=labels)
    columns = [column.copy() for column in data.columns]
    columns[data.index("x")][[250, 33]] = value
    found, unlikely = asked_of(RowsInMemory(replace(data, columns=tuple(columns)), 1), labels)
    # Without labels, no third moment is asked for.
    assert (found.check.message == "some errors are beyond what can be squared") == (
        labels or abs(value) > 1e100
    )
    assert {row.row for row in unlikely[:2]} == {34, 251}


def test_labels_that_are_all_alike_have_no_variance():
    data = table_of(100, 9)
    cells = (np.zeros(100, dtype=np.uint8), np.ones(100, dtype=np.uint8))
    data = replace(data, columns=(*cells, *data.columns[2:]))
    cpds = BayesNet(tuple(cpd for cpd in MODELS[True].cpds if isinstance(cpd, CPT)))
    counter = MemoryCounter(data.select(list(LEVELS)), threads=1)
    tables = RowTables.of(family_counts(cpds, counter))
    nodes = tuple(NodeDensity.of(MODELS[True].cpd(name)) for name in NUMBERS)
    table = NumberTable(RowsInMemory(data, 1), NumberReader.of(data.variables, LEVELS))
    found, least = density_moments(table, RowDensities(nodes, tables), (0.1, 0.2), 3)
    assert (found.labels.variance, found.labels.third) == (0.0, 0.0)
    assert found.total.variance == pytest.approx(found.numbers.variance, rel=1e-12)
    rows = read_candidates(table, RowDensities(nodes, tables), least)
    at = [row.position for row in least]
    assert {name: column.tolist() for name, column in rows.columns.items()} == {
        name: data.columns[j][at].tolist() for j, name in enumerate(data.names)
    }

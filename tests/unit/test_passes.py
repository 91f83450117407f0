"""How often an engine that reads rows in passes reads them, and what it answers without."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import gml
from gml.counts.answered_tables import turned
from gml.counts.known_tables import KnownTables, distinct_rows
from gml.counts.memory import MemoryCounter
from gml.errors import DataError
from gml.independence.registry import TESTS
from gml.learners.chowliu import chow_liu
from gml.learners.exact import exact
from gml.learners.ges import ges
from gml.learners.hillclimb import hill_climb
from gml.learners.imap import minimal_imap
from gml.learners.order_mcmc import order_mcmc
from gml.learners.pc import pc
from gml.scores.registry import SCORES
from tests.sliced_rows import SlicedCounter
from tests.unit.test_engines import content


class Watched(SlicedCounter):
    """Knows the tables of each pass."""

    def __init__(self, data, **options):
        super().__init__(data, range(60, data.n_rows, 900), **options)
        self.tables_of_passes = []

    def over_chunks(self, columns, work):
        self.tables_of_passes.append(getattr(work, "n_tables", 0))
        return super().over_chunks(columns, work)


@pytest.fixture
def asia():
    return gml.read("sample_data/asia.csv")


@pytest.fixture
def engine(asia):
    return Watched(asia, max_memory=1 << 26)


LEARNERS = {
    "chowliu": (lambda e: chow_liu(e).graph, 1),
    "pc": (lambda e: pc(TESTS["g"](e)), 8),
    "hc": (lambda e: hill_climb(SCORES["bic"](e)), 3),
    "hc with restarts": (lambda e: hill_climb(SCORES["bdeu"](e), tabu=5, restarts=2), 10),
    "ges": (lambda e: ges(SCORES["bic"](e)), 4),
    "exact": (lambda e: exact(SCORES["bic"](e)), 4),
    "exact, bdeu": (lambda e: exact(SCORES["bdeu"](e)), 4),
    "imap": (lambda e: minimal_imap(TESTS["g"](e), sorted(e.order.names)), 4),
    "orders": (lambda e: order_mcmc(SCORES["bdeu"](e), iterations=2000, chains=4), 3),
}


@pytest.mark.filterwarnings("ignore:the chains do not agree")
@pytest.mark.parametrize("name", LEARNERS)
def test_learners_need_few_passes_and_count_as_in_memory(asia, engine, name):
    """The numbers of tests and of scores are part of what they return."""
    learn, most = LEARNERS[name]
    assert content(learn(engine)) == content(learn(MemoryCounter(asia)))
    assert engine.passes <= most


def test_what_is_known_needs_no_pass(asia, engine):
    memory = MemoryCounter(asia)
    sets = [gml.TableSet((2,), (0, 1)), gml.TableSet((1, 0), (2,)), gml.TableSet((0, 2), (1,))]
    assert content(list(engine.tables(sets))) == content(list(memory.tables(sets)))
    # Three questions, and one table.
    assert engine.tables_of_passes == [1]
    more = [gml.TableSet((2,), (0,)), gml.TableSet((0,)), gml.TableSet((0, 1), (2,))]
    assert content(list(engine.tables(more))) == content(list(memory.tables(more)))
    assert engine.tables_of_passes == [1]


def test_what_is_expected_is_counted_with_the_next_pass(engine):
    expected = [gml.TableSet((3,), (4,)), gml.TableSet((5, 6))]
    engine.expect(lambda: expected)
    assert engine.tables_of_passes == []
    list(engine.tables([gml.TableSet((0,), (1,))]))
    assert engine.tables_of_passes == [3]
    list(engine.tables(expected))
    assert engine.tables_of_passes == [3]


def test_expectations_do_not_exceed_the_room(asia):
    engine = Watched(asia, max_memory=1 << 18)
    triples = [gml.TableSet((0,), (j, k)) for j in range(1, 8) for k in range(1, j)]
    engine.expect(lambda: iter(triples * 1000))
    list(engine.tables([gml.TableSet((0,), (1,))]))
    assert engine.tables_of_passes[0] < 40
    memory = MemoryCounter(asia)
    assert content(list(engine.tables(triples))) == content(list(memory.tables(triples)))


def test_a_margin_over_missing_values_is_counted_anew(tmp_path):
    path = tmp_path / "gaps.csv"
    path.write_text("a,b,c\n" + "x,u,p\ny,,q\nx,v,p\ny,u,q\nx,,p\n" * 50)
    data = gml.read(path, missing="available")
    engine, memory = Watched(data), MemoryCounter(data)
    whole, without_c, without_b = (
        gml.TableSet((0,), (1, 2)),
        gml.TableSet((0,), (1,)),
        gml.TableSet((0,), (2,)),
    )
    for asked, passes in ((whole, 1), (without_c, 1), (without_b, 2)):
        assert content(list(engine.tables([asked]))) == content(list(memory.tables([asked])))
        assert engine.passes == passes


def _known(n_levels, most_bytes):
    levels = np.array(n_levels, dtype=np.int32)
    known = KnownTables([False] * len(levels), levels, most_bytes)

    def keep(columns, table):
        rows = np.array([columns], dtype=np.int32)
        known.keep(rows, known.keys.of(rows), np.asarray(table, dtype=np.int64).reshape(-1))

    def cells(columns):
        rows = np.array([columns], dtype=np.int32)
        found, starts = known.find(rows, known.keys.of(rows))
        if not found[0]:
            return None
        return known.cells[starts[0] :][: levels[columns].prod()].tolist()

    return known, keep, cells


def test_tables_asked_for_longest_ago_make_room():
    _, keep, cells = _known([2] * 3, 2 * (64 + 16) + 40)
    for j in range(3):
        keep([j], [j, j])
        assert cells([0]) == [0, 0]
    assert [cells([j]) for j in range(3)] == [[0, 0], None, [2, 2]]


def test_tables_that_stay_are_whole_when_others_make_room():
    rng = np.random.default_rng(4)
    _, keep, cells = _known([2, 3, 4, 5, 2], 1 << 10)
    sets = [[j] for j in range(5)] + [[i, j] for j in range(5) for i in range(j)] + [[0, 2, 3]]
    kept = {}
    for _ in range(200):
        columns = sets[rng.integers(len(sets))]
        if cells(columns) is None:
            shape = np.array([2, 3, 4, 5, 2])[columns]
            kept[tuple(columns)] = rng.integers(0, 9, shape)
            keep(columns, kept[tuple(columns)])
        held = [(c, cells(list(c))) for c in kept]
        assert all(found is None or found == kept[c].reshape(-1).tolist() for c, found in held)
        assert sum(64 + 8 * len(found) for _, found in held if found) <= 1 << 10
        assert cells(columns) is not None


def test_a_table_is_turned_as_the_question_wants_it():
    rng = np.random.default_rng(3)
    table = rng.integers(0, 3, (2, 3, 4))
    levels = [1, 2, 1, 3, 4]
    known, keep, _ = _known(levels, 1 << 20)
    keep([1, 3, 4], table)
    found = turned(
        np.arange(1),
        np.array([[4, 1, 3]], dtype=np.int32),
        np.array(levels, dtype=np.int32),
        known.cells,
        np.zeros(1, dtype=np.int64),
    )
    assert found.levels.tolist() == [[4, 2, 3]]
    assert found.cells.reshape(4, 2, 3).tolist() == table.transpose(2, 0, 1).tolist()
    pairs = np.array([[1, 4], [3, 4], [1, 2], [1, 3]], dtype=np.int32)
    which, margins = known.margins(pairs, known.keys.of(pairs))
    assert which.tolist() == [0, 1, 3]
    sums = [table.sum(axis=axis).reshape(-1) for axis in (1, 0, 2)]
    assert margins.tolist() == np.concatenate(sums).tolist()


def test_sets_of_columns_with_the_same_hash_are_told_apart():
    known, keep, cells = _known([2] * 4, 1 << 20)
    known.keys.of_column[:] = 7
    keep([0, 1], [1, 2, 3, 4])
    assert cells([0, 1]) == [1, 2, 3, 4]
    assert cells([1, 2]) is None
    rows = np.array([[0, 1], [2, 3], [0, 1]], dtype=np.int32)
    firsts, which = distinct_rows(rows, known.keys.of(rows))
    assert rows[firsts][which].tolist() == rows.tolist()
    assert len(firsts) == 2
    single = np.array([[1], [2]], dtype=np.int32)
    found, margins = known.margins(single, known.keys.of(single))
    assert found.tolist() in ([], [0])
    assert margins.tolist() in ([], [4, 6])


def _numbers(n_rows, *, constant=()):
    rng = np.random.default_rng(1)
    values = {f"x{j}": rng.normal(size=n_rows).round(3) for j in range(5)}
    values |= {name: np.full(n_rows, 2.5) for name in constant}
    values["kind"] = rng.choice(["a", "b"], n_rows)
    return gml.read(pd.DataFrame(values), numeric=[name for name in values if name != "kind"])


def test_whether_numbers_vary_is_seen_in_one_pass():
    data = _numbers(80)
    engine = SlicedCounter(data, [30])
    score = SCORES["bic-cg"](engine)
    assert engine.passes == 1
    # Regressions need the ranges that were found.
    family = [(0, (1, 5))]
    assert score.batch(family) == SCORES["bic-cg"](MemoryCounter(data)).batch(family)
    assert engine.passes == 2


def test_the_first_of_numbers_that_do_not_vary_is_refused():
    data = _numbers(80, constant=["x3", "x2"])
    for counter in (SlicedCounter(data, [30]), MemoryCounter(data)):
        assert counter.constant_numbers() == ["x2", "x3"]
        with pytest.raises(DataError, match="'x2' has only one value"):
            SCORES["bic-cg"](counter)


def test_what_is_known_is_known_to_an_engine_over_some_columns(asia):
    memory = MemoryCounter(asia).select(["lung", "smoke", "asia"])
    engine = SlicedCounter(asia, [900, 2000])
    some = engine.select(["lung", "smoke", "asia"])
    wanted = [gml.TableSet((0,), (2, 1)), gml.TableSet((1, 0))]
    some.expect(lambda: [gml.TableSet((2, 0))])
    assert content(list(some.tables(wanted))) == content(list(memory.tables(wanted)))
    assert engine.passes == 1
    more = [gml.TableSet((2, 0)), gml.TableSet((1,), (0, 2))]
    again = engine.select(["lung", "smoke", "asia"])
    assert content(list(again.tables(more))) == content(list(memory.tables(more)))
    assert engine.passes == 1


def test_ranges_are_found_once_for_all_engines_over_some_columns():
    data = _numbers(80, constant=["x4"])
    engine = SlicedCounter(data, [30])
    assert engine.select(["x4", "x1"]).constant_numbers() == ["x4"]
    some, memory = (one.select(["x3", "x0"]) for one in (engine, MemoryCounter(data)))
    assert content(some.moments([1, 0])) == content(memory.moments([1, 0]))
    assert engine.passes == 2


def test_ranges_of_columns_without_gaps_are_over_all_rows():
    """However many rows lack another column."""
    values = {"x": [1.0, 9.0, 4.0, 2.0], "y": [3.0, None, 5.0, 6.0]}
    data = gml.read(pd.DataFrame(values), numeric=["x", "y"], missing="available")
    some, memory = (one.select(["x"]) for one in (SlicedCounter(data, [2]), MemoryCounter(data)))
    assert content(some.moments([0])) == content(memory.moments([0]))


@pytest.mark.parametrize("name", ["auto", "g", "mi-threshold"])
def test_reasons_of_insufficient_tests_take_no_pass(asia, name):
    said = []
    # So little memory that hardly a table is kept.
    engine, without_log = (SlicedCounter(asia, [900], max_memory=1 << 13) for _ in range(2))
    for counter in (MemoryCounter(asia), engine):
        test = TESTS[name](counter, min_per_cell=1000)
        log = []
        pc(test, log=log.append)
        said.append([(one.x, one.y, one.given, one.reason) for one in log])
    pc(TESTS[name](without_log, min_per_cell=1000))
    assert said[0] == said[1]
    assert any("for each of 8 cells" in (reason or "") for *_, reason in said[0])
    assert engine.passes == without_log.passes


def test_reasons_of_tests_within_groups_are_found_at_once():
    """However many tests are insufficient."""
    rng = np.random.default_rng(2)
    columns = {f"x{j}": rng.normal(size=40) for j in range(4)}
    columns |= {"a": rng.choice(list("pqrstuv"), 40), "b": rng.choice(list("pqrs"), 40)}
    data = gml.read(pd.DataFrame(columns), numeric=["x0", "x1", "x2", "x3"])
    engine, memory = SlicedCounter(data, [15]), MemoryCounter(data)
    triples = [(i, j, (4, 5)) for i in range(4) for j in range(i)]
    said = []
    for counter in (engine, memory):
        test = TESTS["cg"](counter)
        results = list(test.batch(triples))
        before = engine.passes
        said.append(test.reasons(triples, results, 0.05))
        assert engine.passes - before <= 4
    assert (
        said[0] == said[1] == [TESTS["cg"](memory).why_insufficient(*triple) for triple in triples]
    )
    assert all("rows needed where a=" in why for why in said[0])


@pytest.mark.parametrize("name", ["auto", "fisher-z", "dg"])
def test_reasons_of_tests_on_numbers_take_no_pass(name):
    x = [1.0, 2.0, 4.0, 3.0, None]
    data = gml.read(
        pd.DataFrame({"x": x, "y": x[::-1], "z": [3.0, 1.0, 4.0, 1.5, 9.0]}),
        numeric=["x", "y", "z"],
        missing="available",
    )
    engine = SlicedCounter(data, [2])
    test, in_memory = (TESTS[name](one) for one in (engine, MemoryCounter(data)))
    result = test(0, 1, (2,))
    passes = engine.passes
    said = test.reason(0, 1, (2,), result, 0.05)
    assert "3 of " in said
    assert engine.passes == passes
    assert said == in_memory.why_insufficient(0, 1, (2,))

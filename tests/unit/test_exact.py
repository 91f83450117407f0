"""The exact search against enumeration of every DAG, and what it promises beside the optimum."""

from __future__ import annotations

import itertools
import math
import tracemalloc

import numpy as np
import pytest

import gml
from gml.counts.counter import FamilyArray
from gml.data.dataset import Dataset, Variable
from gml.errors import CannotAnswer, DataError, UsageError
from gml.graph.bits import members
from gml.graph.equivalence import equivalence_class
from gml.learners.exact import exact, strong_components
from gml.learners.hillclimb import hill_climb
from gml.learners.parent_sets import all_parent_sets, best_parent_sets, choices_of
from gml.progress import Deadline
from gml.scores.base import RESOLUTION, EdgePrior, as_score, rounded

from ..graphs import all_dags, as_graph, cpdag_by_labelling

ON_LEVELS = ["loglik", "aic", "bic", "ebic", "bd", "bdeu", "bds", "bdj", "k2", "fnml", "qnml"]
ON_NUMBERS = ["loglik-g", "aic-g", "bic-g", "bge"]


def labels(n_columns, n_rows=150, seed=0, most_levels=3, weights=False):
    """Columns that depend on those before them; some configurations are never seen."""
    rng = np.random.default_rng(seed)
    levels = rng.integers(2, most_levels + 1, n_columns)
    columns = []
    for j in range(n_columns):
        noise = rng.integers(0, levels[j], n_rows)
        if j and rng.random() < 0.8:
            source = columns[rng.integers(j)] + (
                columns[rng.integers(j)] if rng.random() < 0.5 else 0
            )
            noise = np.where(rng.random(n_rows) < 0.7, source, noise)
        columns.append((noise % levels[j]).astype(np.uint8))
    names = rng.permutation([f"v{j:02d}" for j in range(n_columns)])
    variables = tuple(
        Variable(str(name), tuple("abc"[:k])) for name, k in zip(names, levels, strict=True)
    )
    counts = rng.integers(0, 4, n_rows) if weights else None
    return Dataset(variables, tuple(columns), counts)


def numbers(n_columns, n_rows=60, seed=0):
    rng = np.random.default_rng(seed)
    columns = []
    for j in range(n_columns):
        column = rng.normal(size=n_rows)
        if j:
            column += columns[rng.integers(j)] * rng.normal()
        columns.append(column)
    return Dataset(tuple(Variable(f"x{j}", None) for j in range(n_columns)), tuple(columns))


def score_of(name, n_columns, seed=0):
    data = numbers(n_columns, seed=seed) if name in ON_NUMBERS else labels(n_columns, seed=seed)
    return gml.SCORES[name](gml.MemoryCounter(data, threads=1))


def every_score(score, dags):
    """Rounded scores of DAGs, given by the parents of each node as bits of positions."""
    n = len(score.names)
    total = np.zeros(len(dags))
    for x in range(n):
        sets = [s for s in range(1 << n) if not s >> x & 1]
        values = rounded(as_score(score).batch([(x, tuple(members(s))) for s in sets]))
        local = np.full(1 << n, np.nan)
        local[sets] = values
        total += local[dags[:, x]]
    return total


def allowed(score, dags, max_parents=None, knowledge=None):
    """Which DAGs obey."""
    fine = np.ones(len(dags), dtype=bool)
    if max_parents is not None:
        fine &= (np.bitwise_count(dags) <= max_parents).all(axis=1)
    if knowledge is not None:
        required, forbidden = knowledge.required(score.names), knowledge.forbidden(score.names)
        for i, j in np.argwhere(required):
            fine &= dags[:, j] >> i & 1 == 1
        for i, j in np.argwhere(forbidden):
            fine &= dags[:, j] >> i & 1 == 0
    return fine


def parents_of(graph):
    return np.array([[sum(1 << i for i in graph.parents(j)) for j in range(len(graph.names))]])


def check_optimum(score, **limits):
    dags = all_dags(len(score.names))
    dags = dags[allowed(score, dags, **limits)]
    values = every_score(score, dags)
    result = exact(score, **limits)
    assert allowed(score, parents_of(result.graph), **limits).all()
    own = every_score(score, parents_of(result.graph))[0]
    # Equivalent DAGs differ by the rounding of their local scores, and of sums of large ones.
    rounding = max(RESOLUTION, np.spacing(abs(own)))
    noise = len(score.names) * rounding if score.equivalent else 0
    assert own >= values.max() - noise
    assert result.score == pytest.approx(own, abs=len(score.names) * RESOLUTION)
    assert result.complete
    return result


@pytest.mark.parametrize("name", ON_LEVELS + ON_NUMBERS)
@pytest.mark.parametrize("n_columns", [1, 2, 3, 4, 5])
def test_optimum_of_all_dags(name, n_columns):
    for seed in range(3):
        check_optimum(score_of(name, n_columns, seed))


@pytest.mark.parametrize("name", ON_LEVELS + ON_NUMBERS)
def test_optimum_within_limits(name):
    rng = np.random.default_rng(5)
    for seed in range(4):
        score = score_of(name, 5, seed)
        order = rng.permutation(score.names).tolist()
        told = gml.Knowledge(
            require=((order[0], order[1]), (order[1], order[3])),
            forbid=((order[0], order[4]), (order[2], order[3])),
            tiers=((order[0], order[2]), (order[3], order[4])) if seed % 2 else (),
        )
        check_optimum(score, max_parents=seed)
        check_optimum(score, knowledge=told)
        check_optimum(score, knowledge=told, max_parents=2)


@pytest.mark.parametrize("penalty", [3.0, -3.0])
def test_optimum_with_a_price_of_edges(penalty):
    score = EdgePrior(score_of("bdeu", 5), penalty)
    check_optimum(score)


def test_optimum_of_a_score_of_ones_own():
    class Own:
        names = ("b", "a", "d", "c")
        equivalent = False

        def local(self, child, parents):
            if (child, tuple(sorted(parents))) == (0, (3,)):
                return -math.inf
            return float(np.cos(7 * child + sum(3**p for p in parents)))

    check_optimum(Own())
    assert exact(Own()).families == 4 * 8


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_score_that_is_no_number(value):
    class Own:
        names = ("a", "b")

        def local(self, child, parents):
            return value if parents else 0.0

    with pytest.raises(DataError, match="not a finite number"):
        exact(Own())


def test_a_score_that_excludes_every_dag():
    class Own:
        names = ("b", "a", "c")

        def __init__(self, needed):
            self.needed = needed

        def local(self, child, parents):
            return 0.0 if self.needed.get(child, set()) <= set(parents) else -math.inf

    assert exact(Own({0: {1}, 1: {2}})).graph.n_edges == 2
    with pytest.raises(CannotAnswer, match="excludes every DAG of 'a', 'b'$"):
        exact(Own({0: {1}, 1: {0}}))
    with pytest.raises(CannotAnswer, match="excludes 'b', whatever its parents$"):
        exact(Own({0: {9}}))


def test_out_of_time_where_the_score_excludes_sets():
    class Passed:
        passed = True

    class Own:
        names = ("a", "b")

        def local(self, child, parents):
            return 0.0 if parents or child else -math.inf

    assert exact(Own()).graph.parents(0) == [1]
    with pytest.raises(CannotAnswer, match="excludes"):
        exact(Own(), deadline=Passed())


@pytest.mark.parametrize("offset", [0.0, -1e11, 1e14])
@pytest.mark.parametrize("scale", [1.0, 1e11, 1e13])
def test_scores_of_any_size(offset, scale):
    """Rows without number: what is compared are differences."""

    class Own:
        names = ("b", "a", "d", "c")
        equivalent = False

        def local(self, child, parents):
            worth = np.cos(7 * child + sum(3**p for p in parents)) if parents else 0.0
            return float(offset - scale * (2 - round(worth, 2)))

    found = exact(Own()).graph.parent_sets()
    dags = all_dags(4)
    values = [
        sum(
            round(float(np.cos(7 * x + sum(3**p for p in members(s)))), 2) if s else 0.0
            for x, s in enumerate(dag)
        )
        for dag in dags.tolist()
    ]
    best = dags[np.argmax(values)]
    assert [sum(1 << y for y in parents) for parents in found] == best.tolist()


@pytest.mark.parametrize("rows", [10**3, 10**11, 10**12, 10**15])
@pytest.mark.parametrize("name", ["bic", "bdeu"])
def test_any_number_of_rows(name, rows):
    variables = tuple(Variable(name, ("0", "1")) for name in "abc")
    columns = np.array([[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]] * 2, dtype=np.uint8)
    columns[4:, 2] = [0, 1, 0, 1]
    weights = np.array([4, 1, 1, 4, 4, 1, 1, 4]) * rows // 20
    data = Dataset(variables, tuple(np.ascontiguousarray(column) for column in columns.T), weights)
    check_optimum(gml.SCORES[name](gml.MemoryCounter(data, threads=1)))


def test_differences_too_large_to_add():
    class Own:
        names = ("a", "b")

        def local(self, child, parents):
            return 1e15 if parents else 0.0

    with pytest.raises(DataError, match="'a' .*6.9e\\+10 nats apart"):
        exact(Own())


@pytest.mark.parametrize("name", ON_LEVELS + ON_NUMBERS)
def test_ceilings_hold(name):
    """No family of a child with more parents is worth more than the ceiling."""
    for seed in range(3):
        score = score_of(name, 5, seed)
        for x in range(5):
            others = [j for j in range(5) if j != x]
            sets = [s for k in range(5) for s in itertools.combinations(others, k)]
            values, ceilings = score.bounded_batch([(x, s) for s in sets])
            np.testing.assert_array_equal(values, score.batch([(x, s) for s in sets]))
            for some, ceiling in zip(sets, ceilings, strict=True):
                for more, value in zip(sets, values, strict=True):
                    if set(some) <= set(more):
                        assert value <= ceiling + 1e-9 * abs(ceiling)


@pytest.mark.parametrize("ess", [1.0, 300.0])
def test_families_from_joints(ess):
    """BDeu of a family is a difference of what its columns and its parents are worth together."""
    score = gml.SCORES["bdeu"](gml.MemoryCounter(labels(9, 500, seed=8, weights=True)), ess=ess)
    for size in (0, 1, 2, 3, 8, 7, 3):
        rows = [
            (x, *s) for x in range(9) for s in itertools.combinations(range(9), size) if x not in s
        ]
        families = FamilyArray(np.array(rows, dtype=np.int32))
        for found, expected in zip(
            score.bounded_batch(families), score.bounded_batch(list(families)), strict=True
        ):
            np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-10)


@pytest.mark.parametrize("name", ["bic", "bdeu", "k2"])
def test_ceilings_leave_sets_out(name):
    score = gml.SCORES[name](gml.MemoryCounter(labels(9, 80, seed=2)))
    choices = choices_of(score)
    found = best_parent_sets(score, choices)
    assert found.families < choices.n_sets
    sets, values = all_parent_sets(score, choices)
    for x in range(9):
        local = dict(zip(sets[x].tolist(), rounded(values[x]).tolist(), strict=True))
        worth = [
            s
            for s, value in local.items()
            if all(local[t] < value for t in local if t != s and t & ~s == 0)
        ]
        assert sorted(found.sets[x].tolist()) == sorted(worth)


def test_ceilings_of_rows_that_count_in_part():
    data = labels(4, seed=1)
    part = Dataset(data.variables, data.columns, np.full(data.n_rows, 3), unit=2.0**-9)
    score = gml.SCORES["bdeu"](gml.MemoryCounter(part))
    check_optimum(score)


def test_array_of_families_is_a_list_of_families():
    score = gml.SCORES["ebic"](gml.MemoryCounter(labels(9, 300, weights=True)))
    for size in range(9):
        rows = np.array(
            [(0, *s) for s in itertools.combinations(range(1, 9), size)], dtype=np.int32
        )
        families = FamilyArray(rows)
        assert families[0] == (0, tuple(range(1, size + 1)))
        assert len(families[2:4]) == max(0, min(len(rows), 4) - 2)
        np.testing.assert_array_equal(score.batch(families), score.batch(list(families)))


@pytest.mark.parametrize("name", ["bic", "bdeu", "bds", "k2", "fnml"])
@pytest.mark.parametrize("weights", [False, True])
def test_order_of_families_does_not_reach_the_last_bit(name, weights):
    """Families that share parents are counted together."""
    data = labels(11, 700, seed=3, weights=weights)
    score = gml.SCORES[name](gml.MemoryCounter(data, threads=1))
    families = [(0, s) for k in range(11) for s in itertools.combinations(range(1, 11), k)]
    mixed = np.random.default_rng(0).permutation(len(families)).tolist()
    apart = np.array([score.local(*families[k]) for k in mixed])
    np.testing.assert_array_equal(score.batch(families)[mixed], apart)
    np.testing.assert_array_equal(score.batch([families[k] for k in mixed]), apart)


@pytest.mark.parametrize("name", ["bic", "bdeu", "k2"])
def test_order_of_rows_and_columns_does_not_matter(name):
    data = labels(8, 400, seed=4)
    expected = exact(gml.SCORES[name](gml.MemoryCounter(data)))
    edges = {(e.source, e.target) for e in expected.graph.edges}
    rng = np.random.default_rng(1)
    for _ in range(3):
        rows, columns = rng.permutation(data.n_rows), rng.permutation(8)
        other = Dataset(
            tuple(data.variables[j] for j in columns),
            tuple(np.ascontiguousarray(data.columns[j][rows]) for j in columns),
        )
        found = exact(gml.SCORES[name](gml.MemoryCounter(other)))
        assert {(e.source, e.target) for e in found.graph.edges} == edges
        assert found.score == expected.score
        assert found.components == expected.components


def test_ties_go_by_name():
    class Flat:
        names = ("b", "c", "a")

        def local(self, child, parents):
            return 1.0 if len(parents) == 1 else 0.0

    found = exact(Flat())
    # a is the sink of all, with the first parent by name; then b; then c.
    edges = {(e.source, e.target) for e in found.graph.edges}
    assert edges == {("b", "a"), ("c", "b")}


def test_equivalent_optima_have_one_representative():
    score = score_of("bic", 5, 1)
    graph = exact(score).graph
    matrix = (graph.marks == 2) & (graph.marks.T == 1)
    directed = cpdag_by_labelling(matrix)
    pattern = equivalence_class(graph)
    assert np.array_equal((pattern.marks == 2) & (pattern.marks.T == 1), directed)
    assert np.array_equal(exact(score).graph.marks, graph.marks)
    assert equivalence_class(as_graph(matrix)).kind == "cpdag"


def test_parts_are_solved_by_themselves():
    """Columns that come in independent blocks: the optimum of all is those of the blocks."""
    blocks = [labels(4, 300, seed=s) for s in (1, 2, 3)]
    rng = np.random.default_rng(0)
    variables = [
        Variable(f"{v.name}-{k}", v.levels)
        for k, block in enumerate(blocks)
        for v in block.variables
    ]
    columns = [
        np.ascontiguousarray(column[rows])
        for block in blocks
        for rows in [rng.permutation(300)]
        for column in block.columns
    ]
    whole = exact(gml.SCORES["bic"](gml.MemoryCounter(Dataset(tuple(variables), tuple(columns)))))
    parts = [exact(gml.SCORES["bic"](gml.MemoryCounter(block))) for block in blocks]
    assert whole.score == pytest.approx(sum(part.score for part in parts), abs=1e-5)
    assert max(whole.components) <= 4
    assert sum(whole.components) <= 12


def test_strong_components():
    assert strong_components({0: 0b100, 1: 0b001, 2: 0b010, 3: 0b001}) == [7, 8]
    assert strong_components({4: 0b11, 2: 0b10000}) == [4, 16]


@pytest.mark.parametrize("name", ["bic", "bdeu", "bds", "k2", "qnml"])
def test_constant_columns_are_isolated(name):
    data = labels(4, 60, seed=7)
    variables = (*data.variables, Variable("v99", ("a", "b", "c")))
    columns = (*data.columns, np.ones(60, dtype=np.uint8))
    found = exact(gml.SCORES[name](gml.MemoryCounter(Dataset(variables, columns))))
    assert not found.graph.marks[4].any()
    rest = exact(gml.SCORES[name](gml.MemoryCounter(data)))
    assert np.array_equal(found.graph.marks[:4, :4], rest.graph.marks)
    told = gml.Knowledge(require=(("v99", data.names[0]),))
    forced = exact(gml.SCORES[name](gml.MemoryCounter(Dataset(variables, columns))), knowledge=told)
    assert forced.graph.parents(0) == [4] or 4 in forced.graph.parents(0)


class Random:
    """No ceilings, so that every set is scored."""

    def __init__(self, n):
        self.names = tuple(f"v{j:02d}" for j in range(n))
        self.asked = 0

    def local(self, child, parents):
        self.asked += 1
        return float(np.sin(child * 31 + sum(p * p for p in parents)) + len(parents))


def test_what_does_not_fit_is_refused_before_it_is_scored():
    score = Random(40)
    with pytest.raises(CannotAnswer, match="sets.*`max_memory`.*`max_parents`.*gml ges"):
        exact(score, max_memory=1 << 30)
    assert score.asked == 40
    with pytest.raises(CannotAnswer, match="at most 64"):
        exact(Random(65))
    with pytest.raises(CannotAnswer, match="14 variables.*`max_memory`.*gml ges"):
        exact(Random(14), max_parents=1, max_memory=1 << 17)


def test_memory_stays_within_what_was_asked_for():
    limit = 24 << 20
    score = Random(13)
    exact(Random(3))
    tracemalloc.start()
    exact(score, max_memory=limit)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < limit


@pytest.mark.parametrize("name", ["bic", "bdeu", "k2"])
def test_search_finds_what_all_sets_have(name, monkeypatch):
    for seed in range(8):
        score = gml.SCORES[name](gml.MemoryCounter(labels(9, 400, seed=seed)))
        order = sorted(score.names)
        told = gml.Knowledge(require=((order[7], order[0]), (order[3], order[7])))
        expected = [exact(score), exact(score, knowledge=told, max_parents=2)]
        with monkeypatch.context() as patch:
            patch.setattr("gml.learners.exact._FEW", 1)
            found = [exact(score), exact(score, knowledge=told, max_parents=2)]
        for one, other in zip(found, expected, strict=True):
            assert one.complete
            assert one.score == other.score
            assert np.array_equal(one.graph.marks, other.graph.marks)


class Chain:
    """Each wants one of its neighbours, the one before it most: one part, few sets."""

    def __init__(self, n):
        self.names = tuple(f"v{j:02d}" for j in range(n))

    def local(self, child, parents):
        return float(sum({1: 9.0, -1: 8.0}.get(child - p, -1.0) for p in parents))


def test_search_beyond_all_sets():
    """The best DAGs of 2^40 sets of variables would never fit."""
    found = exact(Chain(40), max_parents=1, max_memory=256 << 20)
    assert (found.complete, found.components, found.score) == (True, (40,), 9.0 * 39)
    stopped = exact(Chain(40), max_parents=1, deadline=Deadline(0))
    assert not stopped.complete


def test_search_gives_way_to_all_sets(monkeypatch):
    """Where the search has no room for as little as all sets would take."""
    score = Random(11)
    expected = exact(score, max_parents=3)
    monkeypatch.setattr("gml.learners.exact._FEW", 1)
    monkeypatch.setattr("gml.learners.a_star._LEAST_STATES", 1 << 40)
    found = exact(score, max_parents=3)
    assert found.complete
    assert np.array_equal(found.graph.marks, expected.graph.marks)


def test_out_of_time():
    class Slow:
        passed_after = 0

        @property
        def passed(self):
            self.passed_after -= 1
            return self.passed_after < 0

    score = gml.SCORES["bdeu"](gml.MemoryCounter(labels(7, seed=3)))
    best = exact(score)
    told = gml.Knowledge(
        require=((score.names[0], score.names[1]), (score.names[1], score.names[2]))
    )
    complete = []
    for after in range(0, 60, 2):
        deadline = Slow()
        deadline.passed_after = after
        found = exact(score, deadline=deadline)
        assert not found.complete or found.score == best.score
        complete.append(found.complete)
        # What a short climb finds is the least that is written.
        assert hill_climb(score).score <= found.score + 1e-9 <= best.score + 2e-9
        deadline.passed_after = after
        forced = exact(score, deadline=deadline, knowledge=told)
        assert forced.graph.edge_type(0, 1) == forced.graph.edge_type(1, 2) == "-->"
    assert not complete[0]
    assert complete[-1]


def test_more_parents_are_required_than_allowed():
    score = score_of("bic", 3)
    a, b, c = score.names
    with pytest.raises(UsageError, match="2 parents are required"):
        exact(score, max_parents=1, knowledge=gml.Knowledge(require=((a, c), (b, c))))
    with pytest.raises(UsageError, match="must be 0 or more"):
        exact(score, max_parents=-1)

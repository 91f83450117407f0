"""PC against the oracle, against contradictory data, with knowledge, and with tests of a user's own."""

from __future__ import annotations

import itertools
import math
import time

import numpy as np
import pytest

import gml
from gml.data.dataset import Dataset, Variable
from gml.errors import DataError, UsageError
from gml.independence.base import CIResult
from gml.learners.pc import COLLIDER_RULES, pc
from gml.learners.skeleton import ON_INSUFFICIENT
from tests.graphs import (
    as_graph,
    compelled,
    cpdag_by_labelling,
    equivalent_dags,
    is_acyclic,
    is_cpdag,
    random_dag,
)


def directed_of(graph):
    return (graph.marks == 2) & (graph.marks.T == 1)


def small_sample(seed):
    """Few rows of a random network: tests that contradict one another."""
    rng = np.random.default_rng(seed)
    p, n = int(rng.integers(4, 9)), int(rng.integers(50, 800))
    dag = random_dag(rng, p, rng.uniform(0.3, 0.8))
    columns: dict[int, np.ndarray] = {}
    for j in topological(dag):
        levels = int(rng.integers(2, 4))
        parents = np.flatnonzero(dag[:, j])
        configuration = sum((columns[i] * 3**k for k, i in enumerate(parents)), np.zeros(n, int))
        tables = rng.dirichlet(np.full(levels, 0.6), 3 ** len(parents))
        columns[j] = (rng.random(n)[:, None] > tables.cumsum(axis=1)[configuration]).sum(axis=1)
    return dataset([columns[j] for j in range(p)])


def dataset(columns, names=None):
    names = names or [f"v{j}" for j in range(len(columns))]
    variables, codes = [], []
    for name, column in zip(names, columns, strict=True):
        levels, code = np.unique(column, return_inverse=True)
        variables.append(Variable(name, tuple(str(level) for level in levels)))
        codes.append(code.astype(np.uint8))
    return Dataset(tuple(variables), tuple(codes))


def learn(data, test="auto", **options):
    return pc(gml.TESTS[test](gml.MemoryCounter(data)), **options)


# ---------------------------------------------------------------------- the oracle


@pytest.mark.parametrize("block", range(40))
def test_the_oracle_gives_exactly_the_cpdag(block):
    """2000 random DAGs, sparse up to 30 nodes and dense up to 8."""
    rng = np.random.default_rng(block)
    for k in range(50):
        if k % 2:
            n = int(rng.integers(9, 31))
            dag = random_dag(rng, n, rng.uniform(0.3, 2.0) / n)
        else:
            dag = random_dag(rng, int(rng.integers(1, 9)), rng.random())
        rule = COLLIDER_RULES[k % 4] if len(dag) < 12 else ("max-p", "sepset")[k // 2 % 2]
        result = pc(gml.OracleTest(as_graph(dag)), colliders=rule)
        assert np.array_equal(result.graph.marks > 0, dag | dag.T)
        assert np.array_equal(directed_of(result.graph), cpdag_by_labelling(dag))
        assert result.complete and not result.changed and not result.ambiguous
        extension = directed_of(result.dag)
        assert is_acyclic(extension)
        assert np.array_equal(cpdag_by_labelling(extension), cpdag_by_labelling(dag))


@pytest.mark.parametrize("block", range(20))
def test_the_oracle_with_true_knowledge_gives_the_maximally_oriented_graph(block):
    """Brute force over the DAGs that agree, at five nodes."""
    rng = np.random.default_rng(1000 + block)
    names = list("ABCDE")
    for _ in range(20):
        dag = random_dag(rng, 5, rng.uniform(0.2, 1))
        require = dag & (rng.random((5, 5)) < 0.15)
        forbid = ~dag & (rng.random((5, 5)) < 0.2) & ~np.eye(5, dtype=bool)
        tiers, by_tier = (), np.zeros_like(dag)
        if rng.random() < 0.5:
            order = [v for v in topological(dag) if rng.random() < 0.8]
            cut = int(rng.integers(0, len(order) + 1))
            tiers = (tuple(names[v] for v in order[:cut]), tuple(names[v] for v in order[cut:]))
            late = np.isin(np.arange(5), order[cut:])[:, None]
            by_tier = late & np.isin(np.arange(5), order[:cut])[None, :]
        # A pair forbidden both ways is not tested, so that its triples stay undecided.
        forbid &= ~(forbid.T | by_tier.T | require)
        forbid_all = forbid | by_tier
        knowledge = gml.Knowledge(
            tuple((names[i], names[j]) for i, j in np.argwhere(require)),
            tuple((names[i], names[j]) for i, j in np.argwhere(forbid)),
            tiers,
        )
        agreeing = [
            other
            for other in equivalent_dags(dag)
            if not (require & ~other).any() and not (forbid_all & other).any()
        ]
        result = pc(gml.OracleTest(as_graph(dag, names)), knowledge=knowledge)
        assert np.array_equal(result.graph.marks > 0, dag | dag.T)
        assert np.array_equal(directed_of(result.graph), compelled(agreeing))
        assert any(np.array_equal(directed_of(result.dag), other) for other in agreeing)


def topological(dag):
    order, left = [], set(range(len(dag)))
    while left:
        node = min(v for v in left if not any(dag[u, v] for u in left))
        order.append(node)
        left.remove(node)
    return order


# ---------------------------------------------------------------------- validity


@pytest.mark.parametrize("block", range(20))
def test_every_answer_is_a_cpdag_however_the_tests_contradict(block):
    """500 random small samples, every rule."""
    changed = 0
    for k in range(25):
        data = small_sample(1000 * block + k)
        rule = COLLIDER_RULES[k % 4]
        test = ("auto", "g", "chi2", "mi-threshold", "bayes")[k % 5]
        policy = ON_INSUFFICIENT[k % 3]
        result = learn(data, test, alpha=0.05, colliders=rule, on_insufficient=policy)
        assert is_cpdag(result.graph)
        extension = directed_of(result.dag)
        assert is_acyclic(extension)
        assert np.array_equal(cpdag_by_labelling(extension), directed_of(result.graph))
        for triple in result.triples:
            x, c, y = (result.graph.index(name) for name in (triple.x, triple.k, triple.y))
            assert triple.collider == bool(extension[x, c] and extension[y, c])
        changed += len(result.changed)
    assert changed, "the samples are to contradict themselves"


def test_the_chordless_square_becomes_valid_and_says_so():
    """Four variables in a ring: PC finds the square, which has no DAG without a collider."""
    rows = []
    for a, b, c, d in itertools.product((0, 1), repeat=4):
        agreeing = (a == b) + (b == c) + (c == d) + (d == a)
        rows += [(a, b, c, d)] * (1 + 6 * agreeing**2)
    data = dataset(np.array(rows).T, list("abcd"))
    result = learn(data, alpha=0.01)
    assert result.graph.n_edges == 4
    assert not result.graph.adjacent(0, 2)
    assert not result.graph.adjacent(1, 3)
    assert is_cpdag(result.graph)
    assert result.changed or result.ambiguous


# ---------------------------------------------------------------------- invariance


@pytest.mark.parametrize("seed", range(12))
def test_shuffled_rows_and_columns_give_the_same_graph(seed):
    data = small_sample(seed)
    rng = np.random.default_rng(seed)
    rule = COLLIDER_RULES[seed % 4]
    expected = learn(data, colliders=rule, alpha=0.05)
    rows = rng.permutation(data.n)
    order = rng.permutation(len(data.names))
    shuffled = Dataset(
        tuple(data.variables[j] for j in order),
        tuple(np.ascontiguousarray(data.columns[j][rows]) for j in order),
    )
    found = learn(shuffled, colliders=rule, alpha=0.05)
    assert np.array_equal(found.graph.marks, expected.graph.marks[np.ix_(order, order)])
    assert found.tests == expected.tests
    assert {(t.x, t.k, t.y): t.weight for t in found.triples} == {
        (t.x, t.k, t.y): t.weight for t in expected.triples
    }
    assert [(s.x, s.y, s.given) for s in found.sepsets] == [
        (s.x, s.y, s.given) for s in expected.sepsets
    ]


def test_batches_do_not_change_the_result(monkeypatch):
    data = small_sample(3)
    logs = []
    for batch, least in ((1, 1), (7, 1), (1 << 15, 512)):
        monkeypatch.setattr("gml.learners.skeleton._BATCH", batch)
        monkeypatch.setattr("gml.learners.skeleton._LEAST_BATCH", least)
        log = []
        result = learn(data, alpha=0.05, log=log.append)
        logs.append((log, result.tests, result.collider_tests, result.graph))
    assert logs[0] == logs[1] == logs[2]


def test_last_bits_never_decide():
    """A column beside a relabelled copy of it: both separate equally well, whatever the rounding."""
    rng = np.random.default_rng(5)
    differing = 0
    for _ in range(30):
        a, k = rng.integers(0, 3, (2, 300))
        b = np.where(rng.random(300) < 0.6, k, rng.integers(0, 3, 300))
        c = np.where(rng.random(300) < 0.6, k, a)
        columns = [a, b, c, k, 2 - k]
        mirrored = [column.max() - column for column in columns]
        one, other = (learn(dataset(some), alpha=0.05) for some in (columns, mirrored))
        differing += not np.array_equal(one.graph.marks, other.graph.marks)
    assert differing == 0


@pytest.mark.parametrize("test", ["mi-threshold", "bayes"])
def test_ties_are_independent_in_every_kernel(test):
    """I = ln 2 = df·ln n/2n with four rows and df 4: not above the threshold."""
    tie = dataset([np.array([0, 0, 1, 2]), np.array([0, 3, 3, 1])])
    judge = gml.TESTS[test](gml.MemoryCounter(tie))
    found = judge(0, 1)
    if test == "mi-threshold":
        assert found.statistic == pytest.approx(math.log(2), rel=1e-14)
        assert judge.verdict(found) == "independent"
        assert learn(tie, test).graph.n_edges == 0
    else:
        level = gml.TESTS[test](gml.MemoryCounter(tie), log_bf=found.statistic * (1 - 1e-16))
        assert level.verdict(level(0, 1)) == "independent"


# ---------------------------------------------------------------------- the record


def test_the_log_has_every_test_that_counts_in_order():
    log = []
    result = learn(small_sample(5), alpha=0.05, log=log.append)
    skeleton = [record for record in log if record.phase == "skeleton"]
    assert len(skeleton) == sum(result.tests)
    assert len(log) - len(skeleton) == result.collider_tests
    keys = [(record.level, record.x, record.y) for record in skeleton]
    assert keys == sorted(keys)
    adjacent = {frozenset((e.source, e.target)) for e in result.graph.edges}
    for (level, x, y), group in itertools.groupby(skeleton, key=lambda r: (r.level, r.x, r.y)):
        verdicts = [record.verdict for record in group]
        assert "independent" not in verdicts[:-1], "the first separating set ends a pair"
        if verdicts[-1] == "independent":
            index = [result.graph.index(name) for name in (x, y)]
            assert frozenset(index) not in adjacent
            assert level == len(next(s.given for s in result.sepsets if (s.x, s.y) == (x, y)))


def test_sets_are_asked_once_and_from_the_neighbours_of_the_level():
    log = []
    learn(small_sample(8), alpha=0.05, log=log.append)
    asked = [(r.x, r.y, r.given) for r in log if r.phase == "skeleton"]
    assert len(asked) == len(set(asked))
    for x, y, given in asked:
        assert x < y and list(given) == sorted(given) and not {x, y} & set(given)


# ---------------------------------------------------------------------- knowledge


def chain():
    """a -> b -> c -> d, strongly."""
    rng = np.random.default_rng(0)
    columns = [rng.integers(0, 2, 2000)]
    for _ in range(3):
        columns.append(np.where(rng.random(2000) < 0.2, rng.integers(0, 2, 2000), columns[-1]))
    return dataset(columns, list("abcd"))


def test_required_edges_stay_and_forbidden_pairs_are_not_tested():
    log = []
    knowledge = gml.Knowledge(require=(("d", "a"),), forbid=(("a", "b"), ("b", "a")))
    result = learn(chain(), knowledge=knowledge, log=log.append)
    assert result.graph.edge_type(3, 0) == "-->"
    assert not result.graph.adjacent(0, 1)
    assert not {("a", "b"), ("a", "d")} & {(record.x, record.y) for record in log}
    assert result.graph.kind == "pdag"


def test_tiers_orient_and_limit_conditioning_sets():
    log = []
    knowledge = gml.Knowledge(tiers=(("d",), ("c",), ("a", "b")))
    result = learn(chain(), knowledge=knowledge, log=log.append)
    assert [e.type for e in result.graph.edges] == ["-->"] * 3
    assert result.graph.edge_type(3, 2) == result.graph.edge_type(2, 1) == "-->"
    tier = {name: k for k, group in enumerate(knowledge.tiers) for name in group}
    for record in log:
        assert all(tier[z] <= max(tier[record.x], tier[record.y]) for z in record.given)


@pytest.mark.parametrize(
    ("knowledge", "message"),
    [
        (gml.Knowledge(require=(("a", "b"), ("b", "a"))), "'a' -> 'b' and its reverse"),
        (gml.Knowledge(require=(("a", "b"),), forbid=(("a", "b"),)), "both required and forbidden"),
        (gml.Knowledge(require=(("a", "b"), ("b", "c"), ("c", "a"))), "'a' -> 'b' -> 'c' -> 'a'"),
        (gml.Knowledge(require=(("a", "b"),), tiers=(("b",), ("a",))), "earlier tier"),
        (gml.Knowledge(tiers=(("a",), ("b", "a"))), "'a' is in two tiers"),
        (gml.Knowledge(forbid=(("a", "a"),)), "from 'a' to itself"),
    ],
)
def test_contradictions_are_named(knowledge, message):
    with pytest.raises(DataError, match=message):
        learn(chain(), knowledge=knowledge)


def test_knowledge_that_directs_the_datas_own_edges_in_a_cycle_is_named():
    rng = np.random.default_rng(1)
    a, noise = rng.integers(0, 2, (2, 3000))
    b = np.where(rng.random(3000) < 0.6, a, noise)
    c = np.where(rng.random(3000) < 0.7, a & b, rng.integers(0, 2, 3000))
    data = dataset([a, b, c], list("abc"))
    knowledge = gml.Knowledge(forbid=(("b", "a"), ("c", "b"), ("a", "c")))
    assert learn(data).graph.n_edges == 3
    with pytest.raises(DataError, match="of the skeleton into a cycle: 'a' -> 'b' -> 'c' -> 'a'"):
        learn(data, knowledge=knowledge)


# ---------------------------------------------------------------------- insufficient tests


def function_of_two():
    """z = x and y with noise in nothing: given both, neither end of z can vary."""
    rng = np.random.default_rng(2)
    x, y = rng.integers(0, 2, (2, 4000))
    w = np.where(rng.random(4000) < 0.2, rng.integers(0, 2, 4000), x & y)
    return dataset([x, y, x & y, w], ["x", "y", "z", "w"])


def test_a_function_of_the_set_keeps_its_edges_unless_told_to_drop():
    edges = {
        policy: learn(function_of_two(), on_insufficient=policy).graph.n_edges
        for policy in ON_INSUFFICIENT
    }
    assert edges["keep"] == edges["auto"] > edges["drop"]


def test_too_few_rows_are_no_reason_to_keep_an_edge():
    """Copies of many levels: given one, the strata hold a row or two of the others."""
    rng = np.random.default_rng(3)
    first = rng.integers(0, 30, 60)
    data = dataset([np.where(rng.random(60) < 0.1, 30 + j, first) for j in range(5)])
    edges = {
        policy: learn(data, on_insufficient=policy).graph.n_edges for policy in ON_INSUFFICIENT
    }
    assert edges["keep"] > edges["auto"] == edges["drop"]


def test_a_constant_column_is_isolated():
    data = chain()
    flat = Dataset(
        (*data.variables, Variable("e", ("0",))), (*data.columns, np.zeros(data.n, np.uint8))
    )
    result = learn(flat)
    assert not result.graph.marks[4].any()


# ---------------------------------------------------------------------- tests of a user's own


class MyTest:
    """The least that a test needs: names, and the call."""

    def __init__(self, data):
        self.names = data.names
        self._test = gml.TESTS["auto"](gml.MemoryCounter(data))

    def __call__(self, x, y, given=()):
        found = self._test(x, y, given)
        return CIResult(found.statistic, found.df, found.log_p, None, found.n)


class MyVerdict(MyTest):
    """Without a p-value: a verdict of its own."""

    def __call__(self, x, y, given=()):
        found = self._test(x, y, given)
        return CIResult(found.log_p, None, None, None, found.n)

    def verdict(self, result, alpha, log_p=None):
        return "dependent" if result.statistic <= math.log(alpha) else "independent"


@pytest.mark.parametrize("seed", range(6))
def test_a_users_test_works_without_batches(seed):
    data = small_sample(seed)
    expected = learn(data, on_insufficient="keep")
    found = pc(MyTest(data), on_insufficient="keep")
    assert found.graph == expected.graph
    assert found.tests == expected.tests


def test_a_users_verdict_counts():
    data = chain()
    found = pc(MyVerdict(data), colliders="sepset")
    assert found.graph == learn(data, colliders="sepset").graph


# ---------------------------------------------------------------------- limits and options


def test_a_deadline_leaves_a_valid_graph():
    result = learn(chain(), deadline=gml.Deadline(0))
    assert not result.complete
    assert result.graph.n_edges == 6
    assert is_cpdag(result.graph)


def test_a_deadline_in_the_middle():
    class Slow(MyTest):
        def __call__(self, x, y, given=()):
            time.sleep(0.005)
            return super().__call__(x, y, given)

    result = pc(Slow(small_sample(1)), deadline=gml.Deadline(0.05))
    assert not result.complete
    assert result.tests[0] > 0
    assert is_cpdag(result.graph)


def test_max_cond_bounds_the_sets():
    log = []
    learn(small_sample(7), max_cond=1, log=log.append)
    assert {record.level for record in log} == {0, 1}


def test_unknown_options_are_refused():
    with pytest.raises(UsageError, match="max-p"):
        learn(chain(), colliders="none")
    with pytest.raises(UsageError, match="keep"):
        learn(chain(), on_insufficient="maybe")


def test_no_variables_and_one():
    assert learn(dataset([np.array([0, 1, 1])], ["a"])).graph.n_edges == 0


class NearCopies:
    """x — k — y and x — m, where k and m each separate x and y, m a little better."""

    name = "table"
    names = ("k", "m", "x", "y")

    def __call__(self, x, y, given):
        pair, sets = {self.names[x], self.names[y]}, {self.names[j] for j in given}
        p = 1e-9
        if (pair == {"k", "m"} and "x" in sets) or (pair == {"m", "y"} and "k" in sets):
            p = 0.5
        if pair == {"x", "y"} and len(sets) == 1:
            p = 0.3 if "k" in sets else 0.4
        return CIResult(1.0, 1.0, math.log(p), None, 1000)


def test_a_collider_that_sets_with_and_without_it_dispute_is_ambiguous():
    result = gml.pc(NearCopies(), alpha=0.05)
    (triple,) = [t for t in result.triples if (t.x, t.k, t.y) == ("x", "k", "y")]
    assert triple.collider
    assert triple.weight == pytest.approx(math.log(0.4 / 0.3), abs=1e-5)
    assert triple.ambiguous
    assert triple in result.ambiguous
    careful = gml.pc(NearCopies(), alpha=0.05, colliders="conservative")
    (open_,) = [t for t in careful.triples if (t.x, t.k, t.y) == ("x", "k", "y")]
    assert open_.weight == 0
    # At a level that only the set without k passes, there is no dispute.
    strict = gml.pc(NearCopies(), alpha=0.35)
    assert [t.ambiguous for t in strict.triples if t.k == "k"] == [False]

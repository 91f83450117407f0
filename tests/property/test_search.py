"""Moves of hill climbing and operators of GES against definitions by enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import gml
from gml.data.dataset import Dataset, Variable
from gml.errors import UsageError
from gml.graph.bits import bits_of
from gml.graph.essential import EssentialGraph
from gml.graph.graph import Graph
from gml.graph.knowledge import Knowledge
from gml.learners.ges import PHASES, Classes, ges
from gml.learners.ges_operators import Backward, Forward, Turning
from gml.learners.hillclimb import hill_climb
from gml.learners.local_scores import LocalScores
from gml.learners.search import Limits
from gml.progress import Deadline
from gml.scores.base import RESOLUTION, total
from tests.graphs import (
    as_graph,
    cpdag_by_labelling,
    equivalent_dags,
    is_acyclic,
    is_cpdag,
    random_dag,
)
from tests.networks import random_net
from tests.set_scores import PopulationScore, RandomScore, RandomSetScore, Reordered, score_of


def _any_class(score):
    return Classes(Limits.of(score, None, None), knows=False)


def _essential(matrix):
    return EssentialGraph([bits_of(np.flatnonzero(column).tolist()) for column in matrix.T])


def _matrix_of(parents):
    n = len(parents)
    return np.array([[bool(parents[j] >> i & 1) for j in range(n)] for i in range(n)])


def _class_key(matrix):
    return cpdag_by_labelling(matrix).tobytes() + (matrix | matrix.T).tobytes()


def _neighbours(matrix, kind):
    """The classes one edge away from any DAG of the class, by enumeration, as one DAG of each."""
    found = {}
    for dag in equivalent_dags(matrix):
        for i, j in itertools.permutations(range(len(dag)), 2):
            other = dag.copy()
            if kind == "forward" and not (dag[i, j] or dag[j, i]):
                other[i, j] = True
            elif kind == "backward" and dag[i, j]:
                other[i, j] = False
            elif kind == "turning" and dag[i, j]:
                other[i, j], other[j, i] = False, True
            else:
                continue
            if is_acyclic(other):
                found.setdefault(_class_key(other), other)
    found.pop(_class_key(matrix), None)
    return list(found.values())


@pytest.mark.parametrize("kind", [Forward, Backward, Turning])
def test_best_operator_is_the_best_neighbouring_class(kind):
    rng = np.random.default_rng(7)
    outcomes = {True: 0, False: 0}
    for _ in range(250):
        n = int(rng.integers(2, 6))
        matrix = random_dag(rng, n, rng.random())
        score = RandomSetScore(rng, n)
        gains = [
            score_of(score, other) - score_of(score, matrix)
            for other in _neighbours(matrix, kind.name)
        ]
        local = LocalScores(score)
        found = kind(local, _any_class(score), Deadline()).best(_essential(matrix))
        best = max(gains, default=0)
        outcomes[best > RESOLUTION] += 1
        if best <= RESOLUTION:
            assert found is None
            continue
        operator, after = found
        assert -operator.loss * RESOLUTION == pytest.approx(best, abs=RESOLUTION)
        dag = _matrix_of(after.dag)
        assert is_acyclic(dag)
        gain = score_of(score, dag) - score_of(score, matrix)
        assert gain == pytest.approx(best, abs=1e-9)
        assert after.parents == [
            bits_of(np.flatnonzero(column).tolist()) for column in cpdag_by_labelling(dag).T
        ]
    assert min(outcomes.values()) > 5


@pytest.mark.parametrize("kind", [Forward, Backward, Turning])
def test_operators_lead_to_every_neighbouring_class(kind):
    """A score that wants one class only makes its operator the one that gains."""
    rng = np.random.default_rng(3)
    compared = 0
    for _ in range(60):
        n = int(rng.integers(3, 6))
        matrix = random_dag(rng, n, rng.uniform(0.2, 0.9))
        wanted = {_class_key(other) for other in _neighbours(matrix, kind.name)}
        reached = set()
        for seed in range(200):
            if reached == wanted:
                break
            score = RandomSetScore(np.random.default_rng([n, seed]), n)
            limits = _any_class(score)
            phase = kind(LocalScores(score), limits, Deadline())
            graph = _essential(matrix)
            phase.best(graph)
            for operators in phase._operators.values():
                for operator in operators:
                    if phase._is_valid(graph, operator):
                        reached.add(_class_key(_matrix_of(phase._result(graph, operator))))
        assert reached == wanted
        compared += len(wanted)
    assert compared > 60


def test_kept_operators_are_those_found_anew():
    """Along a search, what a phase keeps is what a new one would find."""
    rng = np.random.default_rng(11)
    for _ in range(40):
        n = int(rng.integers(4, 8))
        score = RandomSetScore(rng, n)
        limits = _any_class(score)
        kept = [
            kind(LocalScores(score), limits, Deadline()) for kind in (Forward, Backward, Turning)
        ]
        graph = limits.first()
        for _ in range(25):
            for phase in kept:
                fresh = type(phase)(LocalScores(score), limits, Deadline())
                found, expected = phase.best(graph), fresh.best(graph)
                assert phase._operators == fresh._operators
                assert (found is None) == (expected is None)
            moves = [found for phase in kept if (found := phase.best(graph)) is not None]
            if not moves:
                break
            graph = moves[rng.integers(len(moves))][1]


def test_ges_finds_the_true_class_of_a_population():
    rng = np.random.default_rng(5)
    for trial in range(200):
        net = random_net(rng, int(rng.integers(2, 7)))
        result = ges(PopulationScore(net), phases=("forward", "backward"))
        truth = (net.graph.marks == 2) & (net.graph.marks.T == 1)
        expected = cpdag_by_labelling(truth)
        directed = (result.graph.marks == 2) & (result.graph.marks.T == 1)
        assert np.array_equal(result.graph.marks > 0, truth | truth.T), trial
        assert np.array_equal(directed, expected), trial


@pytest.mark.parametrize("extended", [False, True])
def test_ges_ends_where_no_neighbouring_class_is_better(extended):
    rng = np.random.default_rng(17)
    for _ in range(60):
        n = int(rng.integers(2, 6))
        score = RandomSetScore(rng, n)
        result = ges(score, extended=extended)
        assert is_cpdag(result.graph)
        dag = (result.dag.marks == 2) & (result.dag.marks.T == 1)
        assert result.score == pytest.approx(score_of(score, dag), abs=1e-9)
        for kind in PHASES:
            for other in _neighbours(dag, kind):
                assert score_of(score, other) <= result.score + RESOLUTION


@pytest.mark.parametrize("learn", [hill_climb, ges])
def test_every_step_of_the_trace_gains_what_it_says(learn):
    rng = np.random.default_rng(23)
    made = 0
    for seed in range(20):
        score = RandomSetScore(rng, 6)
        steps = []
        result = learn(score, restarts=0, seed=seed, trace=steps.append)
        assert result.steps == len(steps)
        made += len(steps)
        before = total(score, as_graph(np.zeros((6, 6), dtype=bool), list(score.names)))
        for step in steps:
            assert step.gain > 0
            assert step.score == pytest.approx(before + step.gain, abs=2 * RESOLUTION)
            before = step.score
        assert result.score == pytest.approx(before, abs=RESOLUTION)
    assert made > 20


def test_an_extended_search_leaves_lesser_optima():
    """It ends higher than the phases more often than lower, and its trace adds up."""
    rng = np.random.default_rng(29)
    higher = lower = lost = 0
    for _ in range(60):
        score = RandomSetScore(rng, 6)
        steps = []
        plain, result = ges(score), ges(score, extended=True, trace=steps.append)
        higher += result.score > plain.score + RESOLUTION
        lower += result.score < plain.score - RESOLUTION
        assert result.steps == len(steps)
        before = total(score, as_graph(np.zeros((6, 6), dtype=bool), list(score.names)))
        for step in steps:
            lost += step.gain < 0
            assert step.gain > 0 or (step.phase, step.move) == ("extended", "delete")
            assert step.score == pytest.approx(before + step.gain, abs=2 * RESOLUTION)
            before = step.score
        assert result.score == pytest.approx(before, abs=RESOLUTION)
    assert higher > 3 * lower
    assert lost > 0


def test_an_extended_search_tries_the_deletion_of_each_edge():
    """Nor does any deletion of x → y, which may not be inserted from then on, lead higher."""
    for classes, kinds, start, score in _ends_of_extended_searches():
        for operator in kinds[0].of_each_edge(start):
            graph = kinds[0].made(start, operator)
            with classes.without(operator.x, operator.y):
                assert _climbed(kinds, graph) <= score + RESOLUTION


def test_an_extended_search_tries_each_node_without_its_edges():
    for _, kinds, start, score in _ends_of_extended_searches():
        for node in range(len(start.dag)):
            left = [0 if y == node else given & ~(1 << node) for y, given in enumerate(start.dag)]
            assert _climbed(kinds, EssentialGraph(left)) <= score + RESOLUTION


def _ends_of_extended_searches():
    rng = np.random.default_rng(53)
    for _ in range(20):
        score = RandomSetScore(rng, 5)
        result = ges(score, extended=True)
        classes = _any_class(score)
        local = LocalScores(score)
        kinds = [kind(local, classes, Deadline()) for kind in (Backward, Turning, Forward)]
        names = sorted(score.names)
        marks = result.dag.marks[np.ix_(*[[result.dag.index(name) for name in names]] * 2)]
        yield classes, kinds, _essential((marks == 2) & (marks.T == 1)), result.score


def _climbed(kinds, graph):
    while found := next(filter(None, (kind.best(graph) for kind in kinds)), None):
        graph = found[1]
    return kinds[0]._local.total(graph.dag)


def test_a_deletion_of_an_earlier_class_is_made_only_where_it_is_one():
    """An operator is possible in a class if it is listed among its own, and not otherwise."""
    rng = np.random.default_rng(71)
    possible = impossible = 0
    for _ in range(200):
        score = RandomSetScore(rng, 5)
        phase = Backward(LocalScores(score), _any_class(score), Deadline())
        one, other = (_essential(random_dag(rng, 5, 0.6)) for _ in range(2))
        listed = {operator[1:] for y in range(5) for operator, _, _ in phase._candidates(other, y)}
        for operator in phase.of_each_edge(one):
            found = phase.made(other, operator)
            assert (found is not None) == (operator[1:] in listed)
            possible += found is not None
            impossible += found is None
    assert possible > 100
    assert impossible > 100


def test_an_extended_search_needs_all_phases():
    with pytest.raises(UsageError, match="`extended` needs all of forward, backward, turning"):
        ges(RandomSetScore(np.random.default_rng(1), 3), phases=("forward",), extended=True)


def _moves(matrix, limits_forbidden, required, max_parents):
    """Every DAG one move away, by definition."""
    n = len(matrix)
    for i, j in itertools.permutations(range(n), 2):
        for kind in ("add", "delete", "reverse"):
            other = matrix.copy()
            if kind == "add" and not (matrix[i, j] or matrix[j, i]):
                other[i, j] = True
            elif kind == "delete" and matrix[i, j]:
                other[i, j] = False
            elif kind == "reverse" and matrix[i, j]:
                other[i, j], other[j, i] = False, True
            else:
                continue
            if not is_acyclic(other) or (other.sum(axis=0) > max_parents).any():
                continue
            if (other & limits_forbidden).any() or (required & ~other).any():
                continue
            yield kind, i, j, other


@pytest.mark.parametrize("make", [RandomScore, RandomSetScore])
def test_climbing_makes_the_best_legal_move_from_every_graph(make):
    """hc's kept gains against the difference of full scores, from random starts, with limits."""
    rng = np.random.default_rng(29)
    for _ in range(40):
        n = int(rng.integers(2, 7))
        score = make(rng, n)
        names = list(score.names)
        matrix = random_dag(rng, n, 0.4)
        arcs = np.argwhere(matrix).tolist()
        require = tuple((names[i], names[j]) for i, j in arcs[:1])
        apart = [(i, j) for i, j in itertools.permutations(range(n), 2) if not matrix[i, j]]
        forbid = [(i, j) for i, j in apart if rng.random() < 0.15 and [j, i] not in arcs]
        knowledge = Knowledge(require, tuple((names[i], names[j]) for i, j in forbid))
        most = int(max(matrix.sum(axis=0).max(), rng.integers(1, n + 1)))
        steps = []
        hill_climb(
            score,
            start=as_graph(matrix, names),
            knowledge=knowledge,
            max_parents=most,
            trace=steps.append,
        )
        current = matrix
        required, forbidden = knowledge.required(names), knowledge.forbidden(names)
        for step in [*steps, None]:
            before = score_of(score, current)
            legal = list(_moves(current, forbidden, required, most))
            best = max((score_of(score, m) - before for *_, m in legal), default=0)
            if step is None:
                assert best <= RESOLUTION
                break
            assert step.gain == pytest.approx(best, abs=RESOLUTION)
            at = names.index(step.source), names.index(step.target)
            current = next(m for kind, i, j, m in legal if (kind, i, j) == (step.move, *at))


@pytest.mark.parametrize(
    ("learn", "options"),
    [
        *itertools.product((hill_climb, ges), ({}, {"restarts": 5, "seed": 3})),
        (ges, {"extended": True}),
    ],
)
def test_order_of_variables_does_not_matter(learn, options):
    rng = np.random.default_rng(31)
    for _ in range(10):
        n = 6
        score = RandomSetScore(rng, n)
        order = rng.permutation(n)
        one, other = learn(score, **options), learn(Reordered(score, order), **options)
        back = np.argsort(order)
        assert np.array_equal(other.graph.marks[np.ix_(back, back)], one.graph.marks)
        assert other.score == pytest.approx(one.score, abs=1e-9)


def test_ges_with_knowledge_stays_among_the_classes_that_respect_it():
    rng = np.random.default_rng(37)
    for _ in range(60):
        n = int(rng.integers(3, 6))
        score = RandomSetScore(rng, n)
        names = score.names
        arcs = [(names[i], names[j]) for i, j in np.argwhere(random_dag(rng, n, 0.5)).tolist()]
        knowledge = Knowledge(require=tuple(arcs[:1]), forbid=tuple((b, a) for a, b in arcs[1:3]))
        result = ges(score, knowledge=knowledge)
        dag = (result.dag.marks == 2) & (result.dag.marks.T == 1)
        assert not (dag & knowledge.forbidden(names)).any()
        assert not (knowledge.required(names) & ~dag).any()
        assert result.score == pytest.approx(score_of(score, dag), abs=1e-9)
        arrows = (result.graph.marks == 2) & (result.graph.marks.T == 1)
        respecting = [
            other
            for other in equivalent_dags(dag)
            if not (other & knowledge.forbidden(names)).any()
            and not (knowledge.required(names) & ~other).any()
        ]
        assert np.array_equal(arrows, np.logical_and.reduce(respecting))
        for kind in PHASES:
            for other in _neighbours(dag, kind):
                if score_of(score, other) > result.score + 2 * RESOLUTION:
                    assert not any(
                        not (d & knowledge.forbidden(names)).any()
                        and not (knowledge.required(names) & ~d).any()
                        for d in equivalent_dags(other)
                    )


def test_tabu_and_restarts_never_end_lower():
    rng = np.random.default_rng(41)
    better = 0
    for _ in range(30):
        score = RandomScore(rng, 6)
        plain = hill_climb(score).score
        tabu = hill_climb(score, tabu=10).score
        more = hill_climb(score, tabu=10, restarts=10).score
        assert plain <= tabu <= more
        better += plain < tabu
        assert ges(RandomSetScore(rng, 5), restarts=3).complete
    assert better > 5


class _Endless:
    """A deadline that passes after so many looks."""

    def __init__(self, looks):
        self.left = looks

    @property
    def passed(self):
        self.left -= 1
        return self.left < 0


@pytest.mark.parametrize("learn", [hill_climb, ges])
def test_a_deadline_is_told_wherever_it_passes(learn):
    """Between two restarts too."""
    score = RandomSetScore(np.random.default_rng(43), 5)
    whole = _Endless(10**9)
    assert learn(score, restarts=5, deadline=whole).complete
    used = 10**9 - whole.left
    for looks in range(used):
        assert not learn(score, restarts=5, deadline=_Endless(looks)).complete


@pytest.mark.parametrize("learn", [hill_climb, ges])
@pytest.mark.parametrize("weight", [1, 10**7, 10**12])
def test_large_scores_decide_as_small_ones_do(learn, weight):
    """Totals are never cut off, and last digits of large ones decide nothing."""
    rng = np.random.default_rng(47)
    for _ in range(10):
        small = RandomSetScore(rng, 4)

        class Large:
            names = small.names
            local = staticmethod(
                lambda child, parents, of=small: weight * (of.local(child, parents) - 50)
            )

        one, other = learn(small, restarts=3), learn(Large(), restarts=3)
        assert np.array_equal(one.graph.marks, other.graph.marks)
        assert other.score == pytest.approx(weight * (one.score - 200), rel=1e-12)


@pytest.mark.parametrize("learn", [hill_climb, ges])
def test_noise_of_large_scores_does_not_keep_the_search_going(learn):
    rng = np.random.default_rng(53)

    class Noisy(RandomSetScore):
        """Nothing depends on anything, up to the last digits of a large score."""

        def local(self, child, parents):
            return -1e13 + 1e-3 * float(rng.normal())

    assert learn(Noisy(rng, 5), restarts=2, deadline=_Endless(10**5)).complete


def test_a_little_room_changes_nothing():
    rng = np.random.default_rng(59)
    for _ in range(10):
        score = RandomSetScore(rng, 7)
        for learn in (hill_climb, ges):
            plenty, little = learn(score, restarts=3), learn(score, restarts=3, max_memory=1000)
            assert np.array_equal(plenty.graph.marks, little.graph.marks)
            assert little.families > plenty.families


@pytest.mark.parametrize("learn", [hill_climb, ges])
def test_a_column_of_one_value_has_no_edges(learn):
    """Its edges may cost nothing, so that random moves would leave them."""
    rng = np.random.default_rng(61)
    columns = [rng.integers(0, 2, 40).astype(np.uint8) for _ in range(4)]
    columns.append(np.zeros(40, dtype=np.uint8))
    levels = [("0", "1")] * 4 + [("1",)]
    variables = tuple(map(Variable, "abcdk", levels))
    for name in ("bic", "bdeu", "aic"):
        data = Dataset(variables, tuple(columns))
        score = gml.SCORES[name](gml.MemoryCounter(data))
        for seed in range(5):
            graph = learn(score, restarts=10, seed=seed).graph
            assert not graph.marks[graph.index("k")].any()
            told = Knowledge(require=(("k", "a"),))
            graph = learn(score, restarts=3, seed=seed, knowledge=told).graph
            assert np.flatnonzero(graph.marks[graph.index("k")]).tolist() == [graph.index("a")]


def test_a_class_to_start_with_is_taken_as_knowledge_wants_it():
    score = RandomSetScore(np.random.default_rng(67), 2, names=("a", "b"))
    line = Graph.from_edges("ab", [("a", "---", "b")], kind="cpdag")
    for arc in (("a", "b"), ("b", "a")):
        found = hill_climb(score, start=line, knowledge=Knowledge(require=(arc,)))
        assert found.graph.n_edges == 1
        hill_climb(score, start=line, knowledge=Knowledge(forbid=(arc,)))

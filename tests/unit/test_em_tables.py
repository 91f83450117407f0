"""EM on tables against brute force, and what it promises whatever the rows."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import gml
from gml.counts.memory import MemoryCounter
from gml.data.dataset import Variable
from gml.errors import CannotAnswer, DataError, GmlWarning, UsageError
from gml.model.bayesnet import BayesNet
from gml.model.em import identification, large_parts, table_layout
from gml.model.em.climbing import climb
from gml.model.em.fitting import EmSettings, fit_em
from gml.model.em.hidden_labels import order_of_levels
from gml.model.em.identification import model_rank
from gml.model.em.information import table_information
from gml.model.em.marginal_likelihood import cheeseman_stutz
from gml.model.em.open_parts import open_parts
from gml.model.em.table_fitting import table_problem
from gml.model.em.table_layout import layout_of
from gml.model.em.table_starts import starts
from gml.model.fit import fit, unseen_configurations
from gml.resources import limited_to
from tests.incomplete_rows import (
    joint_expected_counts,
    joint_log_likelihood,
    shuffled,
    table_of,
    weighted,
    with_holes,
    without,
)
from tests.networks import random_net
from tests.traced_memory import traced_memory

QUICK = EmSettings(restarts=2)
YES_NO = ("no", "yes")


def problem_of(seed, *, share=0.3, n=30, nodes=5, alpha=None, hide=True):
    """A random network, rows of it with holes, one of its nodes hidden, and the problem of EM."""
    rng = np.random.default_rng(seed)
    net = random_net(rng, nodes)
    data = with_holes(net.sample(n, seed=seed), rng, share)
    hidden = {}
    if hide and seed % 2:
        gone = net.names[int(rng.integers(nodes))]
        data = without(data, [gone])
        hidden = {gone: len(net.cpt(gone).variable.levels)}
    return net, data, table_problem(net.graph, data, hidden=hidden, alpha=alpha, threads=1), hidden


def net_at(problem, vector, net):
    """The network with these tables."""
    layout = problem.layout
    cpds = []
    for cpt in net.cpds:
        node = layout.names.index(cpt.variable.name)
        table = layout.in_graph_order(node, layout.table(vector, node))
        cpds.append(replace(cpt, table=table))
    return BayesNet(tuple(cpds))


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("most_states", [512, 1])
def test_the_e_step_is_enumeration(seed, most_states, monkeypatch):
    monkeypatch.setattr(large_parts, "MOST_STATES", most_states)
    net, data, problem, _ = problem_of(seed)
    if most_states == 1:
        assert problem.parts.small.n_questions == 0
    else:
        assert not problem.parts.large.trees
    at = next(starts(problem, 1, seed))
    there = net_at(problem, at, net)
    log_likelihood, _ = problem.expect(at)
    assert log_likelihood == pytest.approx(joint_log_likelihood(there, data), rel=1e-12)
    completed = problem.completed_counts(at)
    for j, wanted in enumerate(joint_expected_counts(there, data)):
        node = problem.layout.names.index(net.names[j])
        found = problem.layout.in_graph_order(node, problem.layout.table(completed, node))
        assert found == pytest.approx(wanted, rel=1e-11, abs=1e-12)


@pytest.mark.parametrize("prior", [None, ("bdeu", 2.0), ("k2", 1.0)])
def test_the_objective_never_falls(prior):
    for seed in range(60):
        _, _, problem, _ = problem_of(seed, alpha=prior, n=40, nodes=4)
        for start in starts(problem, 2, seed):
            found = climb(problem, start, most_steps=300)
            heights = np.array(found.objectives)
            assert (np.diff(heights) >= -1e-9 * np.abs(heights[1:])).all(), seed


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("prior", [None, ("bdeu", 3.0)])
def test_the_end_is_a_maximum(seed, prior):
    """Moving probability within a row gains nothing: the conditions of Karush, Kuhn and Tucker."""
    _, _, problem, _ = problem_of(seed, alpha=prior, n=60, nodes=4)
    found = climb(problem, next(starts(problem, 1, seed)))
    assert found.converged
    at = found.parameters

    def height(vector):
        return problem.expect(vector)[0] + problem.log_prior(vector)

    def slope(giver, taker):
        """By a one-sided difference of second order, which stays inside."""
        h = min(1e-5, at[giver] / 4)
        moved = []
        for k in (1, 2):
            there = at.copy()
            there[giver] -= k * h
            there[taker] += k * h
            moved.append(height(there))
        return (4 * moved[0] - moved[1] - 3 * found.objective) / (2 * h)

    for rows in problem.layout.rows:
        for cells in rows.cells.tolist():
            for giver in cells:
                for taker in cells:
                    if taker != giver and at[giver] > 1e-3:
                        gain = slope(giver, taker)
                        assert gain < 2e-3, (giver, taker)
                        if at[taker] > 1e-3:
                            # Inside there is no slope at all; what a difference leaves of the
                            # third derivative, 2n/θ², is its error.
                            least = min(at[giver], at[taker])
                            assert abs(gain) < 1e-5 + 2e-8 / least**2, (giver, taker)


def test_complete_rows_give_the_closed_form_bit_for_bit():
    net = random_net(np.random.default_rng(3), 6)
    data = net.sample(200, seed=2)
    rng = np.random.default_rng(4)
    several = weighted(data, rng.integers(0, 2**40, 200), 2.0**-38)
    for rows in (data, weighted(data, rng.integers(0, 5, 200)), several):
        for options in (
            {"method": "mle"},
            {"method": "bayes", "prior": "bdeu", "ess": 3.0},
            {"method": "bayes", "prior": "jeffreys"},
        ):
            wanted = fit(net.graph, MemoryCounter(rows, threads=1), **options)
            found = fit_em(net.graph, rows, **options)
            assert (found.report.steps, found.report.converged) == (1, True)
            for a, b in zip(found.net.cpds, wanted.cpds, strict=True):
                assert a.table.tobytes() == b.table.tobytes()
                assert a.counts.tobytes() == b.counts.tobytes()
                assert (a.expected_counts == b.counts).all()


@pytest.mark.parametrize("seed", [4, 5])
def test_orders_and_threads_change_no_bit(seed):
    net, data, _, hidden = problem_of(seed, n=300)
    found = fit_em(net.graph, data, hidden=hidden, settings=QUICK, threads=1)
    rng = np.random.default_rng(seed)
    others = [
        fit_em(net.graph, shuffled(data, rng), hidden=hidden, settings=QUICK, threads=1),
        fit_em(net.graph, data.select(data.names[::-1]), hidden=hidden, settings=QUICK, threads=1),
        fit_em(net.graph, data, hidden=hidden, settings=QUICK, threads=3),
    ]
    for other in others:
        assert other.report == found.report
        for a, b in zip(other.net.cpds, found.net.cpds, strict=True):
            assert a.table.tobytes() == b.table.tobytes()
            assert a.expected_counts.tobytes() == b.expected_counts.tobytes()


def test_the_order_of_nodes_only_turns_tables():
    net, data, _, hidden = problem_of(7, n=200)
    found = fit_em(net.graph, data, hidden=hidden, settings=QUICK)
    names = list(reversed(net.names))
    turned = gml.Graph.from_edges(
        names,
        [(parent.name, "-->", cpt.variable.name) for cpt in net.cpds for parent in cpt.parents],
    )
    other = fit_em(turned, data, hidden=hidden, settings=QUICK)
    assert other.report == found.report
    for name in names:
        a, b = other.net.cpt(name), found.net.cpt(name)
        rows = {
            frozenset(zip((p.name for p in b.parents), labels, strict=True)): row
            for labels, row in zip(b.configurations(), b.table, strict=True)
        }
        for labels, row in zip(a.configurations(), a.table, strict=True):
            assert (
                rows[frozenset(zip((p.name for p in a.parents), labels, strict=True))] == row
            ).all()


def test_weights_are_repetitions():
    _, data, _, _ = problem_of(2, n=40)
    net, *_ = problem_of(2, n=40)
    counts = np.random.default_rng(0).integers(0, 4, data.n_rows)
    repeated = replace(data, columns=tuple(np.repeat(c, counts) for c in data.columns))
    by_weight = fit_em(net.graph, weighted(data, counts), settings=QUICK)
    by_rows = fit_em(net.graph, repeated, settings=QUICK)
    in_units = fit_em(net.graph, weighted(data, counts * 1024, 2.0**-10), settings=QUICK)
    assert by_weight.report == by_rows.report
    for a, b, c in zip(by_weight.net.cpds, by_rows.net.cpds, in_units.net.cpds, strict=True):
        assert (a.table == b.table).all()
        assert a.table == pytest.approx(c.table, abs=1e-8)


def test_hidden_levels_are_numbered_by_size():
    rng = np.random.default_rng(0)
    rows = [
        [int(rng.random() < p) for p in ((0.9,) * 4 if k < 60 else (0.1,) * 4)] for k in range(200)
    ]
    items = [Variable(name, YES_NO) for name in "abcd"]
    graph = gml.Graph.from_edges(["z", *"abcd"], [("z", "-->", item) for item in "abcd"])
    nets = [
        fit_em(graph, table_of(items, rows), hidden={"z": 2}, settings=EmSettings(seed=seed)).net
        for seed in range(3)
    ]
    assert nets[0].cpt("z").table[0, 0] > 0.6
    assert nets[0].cpt("z").variable.levels == ("1", "2")
    assert (nets[0].cpt("a").table[:, 1] < 0.5).tolist() == [True, False]
    for net in nets[1:]:
        for name in ("z", *"abcd"):
            assert net.cpt(name).table == pytest.approx(nets[0].cpt(name).table, abs=1e-7)
    assert nets[0].cpt("z").counts is None
    assert nets[0].cpt("z").expected_counts.sum() == pytest.approx(200)


def test_levels_of_one_size_are_numbered_by_their_tables():
    items = [Variable(name, YES_NO) for name in "ab"]
    graph = gml.Graph.from_edges(["z", "a", "b"], [("z", "-->", "a"), ("z", "-->", "b")])
    data = table_of(items, [(0, 0), (1, 1)], [50, 50])
    for seed in range(4):
        settings = EmSettings(restarts=1, seed=seed)
        net = fit_em(graph, data, hidden={"z": 2}, settings=settings).net
        assert net.cpt("z").table[0] == pytest.approx([0.5, 0.5])
        assert net.cpt("a").table[0, 0] > net.cpt("a").table[1, 0]


def test_configurations_that_nothing_speaks_of_are_uniform():
    variables = [Variable("p", YES_NO), Variable("c", ("1", "2", "3"))]
    graph = gml.Graph.from_edges(["p", "c"], [("p", "-->", "c")])
    rows = [(0, 0), (0, 2), (1, -1), (-1, -1)]
    found = fit_em(graph, table_of(variables, rows, [5, 5, 3, 2]))
    assert found.net.cpt("c").table[1].tolist() == [1 / 3] * 3
    expected = found.net.cpt("c").expected_counts
    assert expected.sum() == pytest.approx(found.net.cpt("p").expected_counts.sum(), abs=1e-9)
    assert expected[1].tolist() == pytest.approx([found.net.cpt("p").expected_counts[0, 1] / 3] * 3)
    assert unseen_configurations(found.net) == {"c": [1]}
    assert found.net.cpt("p").table[0] == pytest.approx([10 / 13, 3 / 13])


def test_products_too_small_for_doubles():
    """A thousand improbable children of one missing node: ln P is about -7000."""
    names = [f"x{k:04d}" for k in range(1000)]
    cells = [Variable(name, YES_NO) for name in names]
    graph = gml.Graph.from_edges(["m", *names], [("m", "-->", name) for name in names])
    data = table_of([Variable("m", YES_NO), *cells], [[-1] + [1] * 1000, [0] + [1] * 1000])
    problem = table_problem(graph, data, hidden={}, alpha=None, threads=1)
    at = np.empty(problem.layout.kernel.n_cells)
    for node, name in enumerate(problem.layout.names):
        p = [0.5] if name == "m" else [1e-3, 2e-3]
        problem.layout.table(at, node)[:] = np.array([[1 - q, q] for q in p])
    log_likelihood, _ = problem.expect(at)
    low, high = 1000 * np.log(1e-3), 1000 * np.log(2e-3)
    wanted = np.log(0.5) + low + np.log(0.5) + np.logaddexp(low, high)
    assert log_likelihood == pytest.approx(wanted, rel=1e-13)


def test_a_row_of_probability_zero_is_named():
    variables = [Variable("p", YES_NO), Variable("c", YES_NO)]
    graph = gml.Graph.from_edges(["p", "c"], [("p", "-->", "c")])
    data = table_of(variables, [(0, 0), (1, 0), (-1, 1)])
    problem = table_problem(graph, data, hidden={}, alpha=None, threads=1)
    impossible = np.array([1.0, 0.0, 1.0, 0.0, 0.5, 0.5])
    with pytest.raises(CannotAnswer, match="data row 3 has probability 0"):
        problem.expect(impossible)


def test_bad_input():
    variables = [Variable("p", YES_NO), Variable("c", YES_NO)]
    graph = gml.Graph.from_edges(["p", "c"], [("p", "-->", "c")])
    silent = table_of(variables, [(0, -1), (1, -1)])
    with pytest.raises(DataError, match="'c' has no value in any row.*hidden.*bayes"):
        fit_em(graph, silent)
    found = fit_em(graph, silent, method="bayes", prior="k2")
    assert found.net.cpt("c").table == pytest.approx(0.5)
    with pytest.raises(UsageError, match="'c' is a column of the data"):
        fit_em(graph, silent, hidden={"c": 2})
    with pytest.raises(UsageError, match="'q' is not a node"):
        fit_em(graph, silent, hidden={"q": 2})
    with pytest.raises(UsageError, match="at least 1 level, not 0"):
        fit_em(graph, silent.select(["p"]), hidden={"c": 0})
    with pytest.raises(DataError, match="no column for 'c'.*hidden"):
        fit_em(graph, silent.select(["p"]))
    with pytest.raises(CannotAnswer, match="max_memory"):
        fit_em(graph, silent, method="bayes", max_memory=500)
    with pytest.raises(UsageError, match="must be at least 1, not 0"):
        EmSettings(restarts=0)


# ---------------------------------------------------------------------- information


def test_missing_completely_at_random_costs_its_share():
    data = table_of([Variable("x", ("a", "b", "c"))], [(0,), (1,), (2,), (-1,)], [10, 20, 40, 30])
    found = fit_em(gml.Graph.from_edges(["x"], []), data)
    assert found.report.missing_information == {"x": pytest.approx(0.3)}
    assert (found.report.rank, found.report.n_parameters) == (2, 2)


@pytest.mark.parametrize("most_states", [512, 1])
def test_information_is_the_second_derivative(most_states, monkeypatch):
    monkeypatch.setattr(large_parts, "MOST_STATES", most_states)
    rng = np.random.default_rng(5)
    net = random_net(rng, 4, p=0.6, most_levels=2)
    data = with_holes(net.sample(400, seed=5), rng, 0.25)
    problem = table_problem(net.graph, data, hidden={}, alpha=("k2", 1.0), threads=1)
    found = climb(problem, next(starts(problem, 1, 0)))
    at = found.parameters
    told = table_information(problem, at, problem.completed_counts(at))
    (rows,) = problem.layout.rows

    def height(p):
        there = at.copy()
        there[rows.cells[:, 1]], there[rows.cells[:, 0]] = p, 1 - p
        return problem.expect(there)[0] + problem.log_prior(there)

    p = at[rows.cells[:, 1]]
    h = 1e-4
    n = len(p)
    hessian = np.empty((n, n))
    steps = h * np.eye(n)
    for i in range(n):
        for j in range(n):
            hessian[i, j] = (
                height(p + steps[i] + steps[j])
                - height(p + steps[i] - steps[j])
                - height(p - steps[i] + steps[j])
                + height(p - steps[i] - steps[j])
            ) / (4 * h * h)
    wanted = np.sqrt(np.diag(np.linalg.inv(-hessian)))
    assert told.standard_errors[rows.cells[:, 1]] == pytest.approx(wanted, rel=2e-3)
    assert told.standard_errors[rows.cells[:, 0]] == pytest.approx(wanted, rel=2e-3)
    assert all(0 <= share < 1 for share in told.missing.values())


def test_intervals_without_missing_values():
    data = table_of([Variable("x", ("a", "b", "c"))], [(0,), (1,)], [30, 70])
    found = fit_em(gml.Graph.from_edges(["x"], []), data, intervals=0.95)
    (a, b, c) = found.net.cpt("x").intervals[0]
    reach = 1.959964 / np.sqrt(100 * 0.3 * 0.7)
    logit = np.log(0.3 / 0.7)
    assert a == pytest.approx(1 / (1 + np.exp([reach - logit, -reach - logit])), rel=1e-6)
    assert b == pytest.approx(1 - a[::-1], rel=1e-12)
    # The rule of three.
    assert c == pytest.approx([0, -np.log(0.05) / 100], rel=1e-6)


def latent(n_items, levels, k, n=500):
    rng = np.random.default_rng(1)
    names = [f"i{j}" for j in range(n_items)]
    items = [Variable(name, tuple("abcdef"[:levels])) for name in names]
    graph = gml.Graph.from_edges(["z", *names], [("z", "-->", name) for name in names])
    data = table_of(items, rng.integers(0, levels, (n, n_items)))
    return table_problem(graph, data, hidden={"z": k}, alpha=None, threads=1)


@pytest.mark.parametrize(
    ("n_items", "levels", "k", "rank"),
    [
        (4, 2, 2, 9),
        (4, 2, 3, 13),  # of 14 parameters: Goodman 1974
        (2, 2, 2, 3),  # of 5
        (3, 2, 2, 7),
        (2, 3, 2, 7),  # of 9: a matrix of rank 2
        (8, 2, 30, 255),  # of 269, as many as 256 cells tell; some of them barely
    ],
)
def test_rank(n_items, levels, k, rank):
    assert model_rank(latent(n_items, levels, k)) == rank


def of_many_configurations(n_levels):
    """A node with three parents that all have many levels, each configuration seen twice."""
    levels = tuple(str(k) for k in range(n_levels))
    variables = [*(Variable(name, levels) for name in "pqr"), Variable("c", YES_NO)]
    graph = gml.Graph.from_edges(list("pqrc"), [(parent, "-->", "c") for parent in "pqr"])
    rows = np.indices((n_levels, n_levels, n_levels, 2)).reshape(4, -1).T
    return graph, table_of(variables, [*rows.tolist(), [-1, 0, 0, 1]])


def test_information_is_given_up_before_it_takes_memory():
    graph, data = of_many_configurations(12)
    problem = table_problem(graph, data, hidden={}, alpha=None, threads=1)
    at = problem.best_tables(problem.observed_counts)
    completed = problem.completed_counts(at)
    with traced_memory() as peak:
        assert table_information(problem, at, completed) is None
    assert peak[0] < 5e6  # The directions alone would take 48 MB.


def test_a_fit_without_room_for_its_information_stays():
    graph, data = of_many_configurations(5)
    found = fit_em(graph, data, settings=QUICK, max_memory=3_000_000)
    assert found.report.missing_information == {}
    assert found.report.converged
    with pytest.raises(CannotAnswer, match=r"intervals.*a bootstrap gives intervals"):
        fit_em(graph, data, settings=QUICK, intervals=0.9, max_memory=3_000_000)
    assert fit_em(graph, data, settings=QUICK).report.missing_information["c"] > 0


def hidden_chain(n, cut):
    """Ten hidden coins in a chain, each with an item; a few rows lack the items from the fourth."""
    rng = np.random.default_rng(0)
    names = [f"i{k}" for k in range(10)]
    coins = [f"h{k}" for k in range(10)]
    edges = [*zip(coins, names, strict=True), *pairwise(coins)]
    graph = gml.Graph.from_edges([*names, *coins], [(a, "-->", b) for a, b in edges])
    rows = rng.integers(0, 2, (n, 10))
    rows[:cut, 3:] = -1
    data = table_of([Variable(name, YES_NO) for name in names], rows)
    return table_problem(graph, data, hidden=dict.fromkeys(coins, 2), alpha=None, threads=1)


def test_rank_is_unknown_where_some_parts_were_not_looked_at(monkeypatch):
    problem = hidden_chain(600, 100)
    assert problem.parts.large.trees and problem.parts.small.n_questions
    assert model_rank(problem) is None
    monkeypatch.setattr(large_parts, "MOST_STATES", 1024)
    wanted = model_rank(hidden_chain(600, 100))
    assert wanted < 59
    # Few parts speak of all that can be told; the first one alone does not.
    monkeypatch.setattr(identification, "MOST_SHAPES", 0)
    assert model_rank(hidden_chain(600, 100)) is None


def test_rank_is_given_up_without_room():
    problem = latent(3, 2, 2)
    assert model_rank(problem) == 7
    with limited_to(10_000):
        assert model_rank(problem) is None


# ---------------------------------------------------------------------- counts of all rows


def sparse_grid(side, n):
    """A grid of nodes, each with up to two parents, and rows of which three have one value."""
    names = [f"x{i:02d}{j:02d}" for i in range(side) for j in range(side)]
    edges = [(names[i * side + j], names[i * side + j + 1]) for i, j in np.ndindex(side, side - 1)]
    edges += [
        (names[i * side + j], names[(i + 1) * side + j]) for i, j in np.ndindex(side - 1, side)
    ]
    rows = np.random.default_rng(0).integers(0, 4, (n, len(names)))
    for k in range(3):
        seen = rows[k, k]
        rows[k] = -1
        rows[k, k] = seen
    graph = gml.Graph.from_edges(names, [(a, "-->", b) for a, b in edges])
    return graph, table_of([Variable(name, tuple("abcd")) for name in names], rows)


def test_a_fit_stays_where_the_counts_of_all_rows_have_no_room():
    graph, data = sparse_grid(9, 60)
    settings = EmSettings(restarts=1)
    with pytest.warns(GmlWarning, match="expected counts leave out what has nothing seen below"):
        found = fit_em(graph, data, settings=settings, max_memory=30_000_000)
    assert found.report.converged and not found.counts_all
    assert found.report.missing_information == {}
    # In the three rows, what lies behind the one value is left out.
    assert found.net.cpt("x0000").expected_counts.sum() == pytest.approx(60)
    assert found.net.cpt("x0808").expected_counts.sum() == pytest.approx(57)
    with pytest.raises(CannotAnswer, match=r"bdeu.*max_memory.*bic"):
        cheeseman_stutz(found, 1.0)
    quiet = EmSettings(restarts=1, expected_counts=False, information=False)
    again = fit_em(graph, data, settings=quiet, max_memory=30_000_000)
    assert again.report.log_likelihood == found.report.log_likelihood
    assert {cpd.expected_counts for cpd in again.net.cpds} == {None}


def test_levels_that_are_close_to_others_have_one_order():
    """Each size is next to the following one, so that all are equal, and profiles decide."""
    sizes = np.array([1.0, 1.0 + 0.9e-7, 1.0 + 1.8e-7])
    profiles = np.array([[0.2, 0.5], [0.3, 0.1], [0.2, 0.7]])
    for order in ([0, 1, 2], [2, 0, 1], [1, 2, 0], [2, 1, 0]):
        found = order_of_levels(sizes[order], profiles[order])
        assert [order[k] for k in found] == [1, 2, 0]
    # What is 0 but for rounding decides nothing.
    near = np.array([[1e-14, 0.1], [-1e-14, 0.2]])
    assert order_of_levels(np.ones(2), near) == [1, 0]


@pytest.mark.parametrize("seed", range(6))
def test_a_climb_goes_on_from_given_tables(seed):
    net, data, _, _ = problem_of(2 * seed, n=60)
    whole = fit_em(net.graph, data, settings=EmSettings(restarts=1))
    rough = fit_em(
        net.graph,
        data,
        settings=EmSettings(restarts=1, enough=1e-4, information=False, expected_counts=False),
    )
    assert rough.report.objective <= whole.report.objective + 1e-9
    assert all(cpd.expected_counts is None for cpd in rough.net.cpds)
    on = fit_em(net.graph, data, settings=EmSettings(restarts=1, start=rough.net))
    assert on.report.converged
    assert on.report.objective == pytest.approx(whole.report.objective, rel=1e-8)
    again = fit_em(net.graph, data, settings=EmSettings(restarts=1, start=whole.net))
    assert again.report.steps < whole.report.steps
    assert again.report.objective >= whole.report.objective - 1e-9


@pytest.mark.parametrize("seed", range(4))
def test_threads_change_no_bit_of_an_e_step(seed, monkeypatch):
    from gml.model.em import open_parts as module

    monkeypatch.setattr(module, "_BLOCK_WORK", 1)
    monkeypatch.setattr(large_parts, "MOST_STATES", 8)
    _, _, problem, _ = problem_of(seed, n=80, nodes=7)
    at = next(iter(starts(problem, 1, 0)))
    assert not problem.parts.is_worth_threads
    alone = problem.expect(at)
    monkeypatch.setattr(module, "_THREAD_WORK", 0)
    shared = replace(problem, threads=2, parts=replace(problem.parts))
    assert shared.parts.is_worth_threads
    together = shared.expect(at)
    assert alone[0] == together[0] and alone[1].tolist() == together[1].tolist()


def test_what_takes_more_than_there_is_names_both(tmp_path):
    rows = "".join(f"{a},{b}\n" for a in ("x", "y", "") for b in ("x", "", "y")) * 50
    (tmp_path / "t.csv").write_text("a,b\n" + rows)
    data = gml.read(tmp_path / "t.csv", missing="available")
    (tmp_path / "g.dot").write_text("digraph { a -> b }")
    graph = gml.read_graph(tmp_path / "g.dot")
    layout = layout_of(graph, {v.name: v for v in data.variables}, {})
    with pytest.raises(CannotAnswer, match="rows leave open would take over 8 bytes, more than"):
        open_parts(layout, data, budget=8)


def test_more_cells_than_can_be_numbered_are_refused_whatever_memory_there_is(monkeypatch):
    monkeypatch.setattr(table_layout, "_MOST_CELLS", 36)
    data = gml.read("sample_data/asia.csv")
    layout = layout_of(
        gml.read_graph("sample_data/asia.dot"), {v.name: v for v in data.variables}, {}
    )
    with pytest.raises(CannotAnswer, match="have 36 cells, and EM takes fewer than 36"):
        layout.require_room(1 << 40)

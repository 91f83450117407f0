"""The terms of a check's p-value, one by one, on counts that were written down.

What is expected comes from SciPy, from enumeration or from the formula by hand. Levels are so small
or so large that the term in question is what the p-value is made of.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import scipy.optimize
import scipy.special
import scipy.stats

import gml
from gml.data.dataset import Dataset, Variable
from gml.gate.check import Check
from gml.gate.decision import decide
from gml.gate.families import FamilyCounts
from gml.gate.monte_carlo import MONTE_CARLO, TAIL_OF_DRAWS, MonteCarlo
from gml.gate.question import Question
from gml.gate.schema_checks import ColumnCounts, schema_checks
from gml.gate.selection import Selection, weak_parents
from gml.gate.settings import Context
from gml.gate.table_checks import table_checks
from gml.model.baseline import Reference
from gml.model.bayesnet import CPT, BayesNet

from ..networks import fitted_to


def levels_of(size):
    return tuple(map(str, range(size)))


def rows_of(counts, names):
    """As many rows as the table says of each cell; an axis for each column."""
    counts = np.asarray(counts)
    cells = np.indices(counts.shape).reshape(counts.ndim, -1)
    columns = tuple(np.repeat(cell, counts.ravel()).astype(np.uint8) for cell in cells)
    variables = tuple(
        Variable(name, levels_of(size)) for name, size in zip(names, counts.shape, strict=True)
    )
    return Dataset(variables, columns)


def model_of(counts, names, *edges):
    """A model of these rows; an edge is written as "xy"."""
    return fitted_to(edges, rows_of(counts, names))


def run(model, rows, *, baseline=None, **settings):
    return gml.check_model(model, rows, gml.CheckSettings(threads=1, **settings), baseline=baseline)


def only(report, **wanted):
    """The one check with these attributes."""
    (check,) = (
        check
        for check in report.checks
        if all(getattr(check, name) == value for name, value in wanted.items())
    )
    return check


def family(old, new, sizes, name="child"):
    """Counts of a node with parents of these sizes."""
    old, new = np.array(old), np.array(new)
    parents = tuple(
        Variable(parent, levels_of(size)) for parent, size in zip("uvwxyz", sizes, strict=False)
    )
    levels = levels_of(old.shape[1])
    shares = (old + 0.5) / (old + 0.5).sum(axis=1, keepdims=True)
    return FamilyCounts(Variable(name, levels), parents, levels, old, new, shares)


def g_and_df(table):
    """G of a table of two variables and its degrees of freedom, empty rows and columns left out."""
    table = np.asarray(table)
    table = table[table.any(axis=1)][:, table.any(axis=0)]
    found = scipy.stats.chi2_contingency(table, correction=False, lambda_="log-likelihood")
    return found.statistic, found.dof


def assert_drawn(log_p, p, draws):
    """That (1 + r)/(1 + B) is what B draws give that reach the statistic with probability p."""
    least, most = (scipy.stats.binom.ppf(q, draws, p) for q in (1e-6, 1 - 1e-6))
    assert least - 1e-6 <= math.exp(log_p) * (1 + draws) - 1 <= most + 1e-6


# ---------------------------------------------------------------------- tables


def fisher_by_g(old, new):
    """P(G as large) over all 2×2 tables with these margins."""
    (first, second), n_new = np.add(old, new).tolist(), sum(new)
    shares = scipy.stats.hypergeom(first + second, first, n_new)

    def g(hits):
        table = np.array([[first - hits, second - n_new + hits], [hits, n_new - hits]])
        return g_and_df(table)[0]

    support = range(max(0, n_new - second), min(n_new, first) + 1)
    return sum(shares.pmf(hits) for hits in support if g(hits) >= g(new[0]) - 1e-9)


@pytest.mark.parametrize(
    ("old", "new", "how"), [([3, 61], [6, 58], "exact"), ([4, 60], [6, 58], "g")]
)
def test_a_row_that_expects_fewer_than_five_is_exact_though_it_does_not_decide(old, new, how):
    """4½ rows and 5 rows are expected of the rare level; p is far above the level of the run."""
    check = only(run(model_of(old, "x"), rows_of(new, "x"), alpha=1e-6, families=("tables",)))
    chi2 = scipy.stats.chi2.sf(*g_and_df([old, new]))
    exact = fisher_by_g(old, new)
    assert chi2 < 0.75 * exact, "the two can be told apart"
    assert check.test == how
    assert math.exp(check.log_p) == pytest.approx(exact if how == "exact" else chi2, rel=1e-9)


def test_a_sparse_row_of_more_levels_is_drawn_though_it_does_not_decide():
    old, new = [30, 30, 4], [30, 30, 4]
    check = only(run(model_of(old, "x"), rows_of(new, "x"), alpha=1e-6, families=("tables",)))
    assert check.test == MONTE_CARLO
    # All that are drawn reach G = 0.
    assert check.log_p == 0.0


@pytest.mark.parametrize(("weak", "choices"), [((), 1), ((1,), 6), ((0, 1), 15)])
def test_the_p_value_of_a_row_is_that_of_the_best_of_all_sets_of_weak_parents(weak, choices):
    """Of 7 nodes, 6 might be the parent, and 15 pairs of them the parents."""
    # Enough rows for χ² wherever; a p-value that is not to be settled; and few rows, twice.
    old = [[1000, 1000], [50, 50], [1, 21], [1, 1]]
    new = [[1100, 900], [60, 40], [8, 14], [1, 1]]
    selection = Selection({("child",): weak}, 7)
    settings = gml.CheckSettings(threads=1, alpha=0.01)
    questions = table_checks([family(old, new, (2, 2))], selection)
    *checks, whole = decide(questions, settings, accepted=())
    assert whole.kind == "table"
    chi2 = [scipy.stats.chi2.sf(*g_and_df([old[k], new[k]])) for k in (0, 1)]
    expected = [*chi2, fisher_by_g(old[2], new[2]), 1.0]
    assert [check.test for check in checks] == ["g", "g", "exact", "exact"]
    found = [math.exp(check.log_p) for check in checks]
    assert found == pytest.approx([min(1.0, choices * p) for p in expected], rel=1e-9)


def test_what_is_multiplied_by_its_choices_is_drawn_as_far_beyond_the_level():
    """Else (1 + 0)/(B + 1) times the choices could never fail."""
    asked = []

    def settle(monte_carlo):
        asked.append(monte_carlo.level)
        return math.log(1e-4), MONTE_CARLO

    check = Check("a", "tables", "row", ("x",), log_p=math.log(3e-3), effect=1.0)
    settings = gml.CheckSettings(threads=1, alpha=0.01)
    (found,) = decide([Question(check, settle, False, math.log(30))], settings, accepted=())
    assert asked == pytest.approx([0.01 / 30])
    assert math.exp(found.log_p) == pytest.approx(3e-3)


# ---------------------------------------------------------------------- selection


def with_g_about(g, n=400):
    """A 2×2 table of n rows with even margins, and the next one: G on either side of g."""
    quarter = n // 4
    tables = [[[quarter + k, quarter - k], [quarter - k, quarter + k]] for k in range(1, quarter)]
    above = next(k for k, table in enumerate(tables) if g_and_df(table)[0] > g)
    return tables[above - 1], tables[above]


# An edge of two nodes is weak unless p is below α e⁻⁷.
EDGE_OF_WEAK = scipy.stats.chi2.isf(0.01 * math.exp(-7), 1)


def test_a_parent_is_weak_unless_far_beyond_the_level_of_all_pairs():
    for n_nodes in (2, 12):
        bound = scipy.stats.chi2.isf(0.01 * math.exp(-7) / math.comb(n_nodes, 2), 1)
        below, above = with_g_about(bound)
        assert weak_parents([family(below, below, (2,))], n_nodes, 0.01).weak == {("child",): (0,)}
        assert weak_parents([family(above, above, (2,))], n_nodes, 0.01).weak == {("child",): ()}


def test_a_weak_edge_cannot_be_lost():
    """One row more or less in the model's counts; new rows without any dependence."""
    gone = np.full((2, 2), 50_000)
    below, above = with_g_about(EDGE_OF_WEAK)
    lost = [
        only(run(model_of(old, "xy", "xy"), rows_of(gone, "xy"), families=("structure",)))
        for old in (below, above, np.multiply(above, 4))
    ]
    assert [check.status for check in lost] == ["insufficient", "insufficient", "fail"]
    assert [check.log_p is None for check in lost] == [True, False, False]


def test_a_weak_edge_passes_if_the_new_rows_show_it():
    below, _ = with_g_about(EDGE_OF_WEAK)
    check = only(run(model_of(below, "xy", "xy"), rows_of(below, "xy"), families=("structure",)))
    assert (check.status, check.log_p) == ("pass", None)


def test_the_allowance_is_what_g_of_the_weak_parents_together_exceeds_its_mean_by():
    rng = np.random.default_rng(5)
    # v and w are weak, u is not; one level of v never comes with u = 0, one row has no counts.
    old = rng.integers(5, 30, (2, 2, 3, 2))
    old[0, 1], old[1, 0, 2] = 0, 0
    counted = family(old.reshape(12, 2), old.reshape(12, 2), (2, 2, 3))
    expected = 0.0
    for u in range(2):
        g, df = g_and_df(old[u].reshape(6, 2))
        expected += g - df
    assert expected > 0
    # Of four nodes three parents can be chosen in one way only, which takes nothing.
    found = Selection({("child",): (1, 2)}, 4).allowance([counted])
    assert found == pytest.approx(expected / old.sum(), rel=1e-9)
    # Of each node there is one, and never less than nothing.
    even = family([[50, 50], [50, 50]], [[1, 1], [1, 1]], (2,), "even")
    both = Selection({("child",): (1, 2), ("even",): (0,)}, 4)
    assert both.allowance([counted, even]) == pytest.approx(found)
    assert Selection({("child",): ()}, 4).allowance([counted]) == 0.0


# ---------------------------------------------------------------------- fit


def log_p_of_fit(logs, rows_old, dimension, loss):
    """By the formula, from ln p of the new rows."""
    n, s2 = len(logs), np.var(logs)
    variance = s2 * (1 / n + 1 / rows_old) + 2 * dimension / rows_old**2
    # Of the mean of n terms less the mean of n₀ others, upside down.
    third = np.mean((logs - np.mean(logs)) ** 3) * (1 / n**2 - 1 / rows_old**2)
    skewness = -third / variance**1.5
    z = loss / math.sqrt(variance)
    return scipy.stats.pearson3.logsf(z, skewness) if skewness > 0 else scipy.stats.norm.logsf(z)


@pytest.mark.parametrize("times", [1, 3])
def test_the_fit_varies_with_the_rows_and_with_the_parameters(times):
    """26 rows of 8 levels, one of them unseen: the parameters make up a third of the variance."""
    old = np.array([7, 6, 4, 3, 2, 2, 2, 0])
    new = times * np.array([3, 4, 2, 4, 3, 5, 6, 3])
    smooth = (old + 0.5) / (old + 0.5).sum()
    logs = np.repeat(np.log(smooth), new)
    seen = old[old > 0]
    before = np.sum(seen * np.log((seen - 0.5) / (old.sum() - 1 + 8 / 2))) / old.sum()
    loss = before - logs.mean()
    check = only(run(model_of(old, "x"), rows_of(new, "x"), families=("fit",)))
    assert check.statistic == pytest.approx(-loss, rel=1e-9)
    # Seven levels that were seen have six free probabilities.
    expected = log_p_of_fit(logs, old.sum(), 6, loss)
    assert loss > 0
    assert check.log_p == pytest.approx(expected, abs=1e-3)
    assert abs(expected - log_p_of_fit(logs, old.sum(), 0, loss)) > 0.1


def test_rows_that_are_all_as_likely_vary_with_the_parameters_alone():
    """Four cells of 25 rows: ln p of a row is ln ¼ whatever it is, and s² is 0."""
    check = only(
        run(
            model_of(np.full((2, 2), 25), "xy", "xy"),
            rows_of(np.full((2, 2), 50), "xy"),
            families=("fit",),
        )
    )
    loss = math.log(49.5 / 100) + math.log(24.5 / 50) - math.log(1 / 4)
    # One probability of x, and two of y.
    expected = scipy.stats.norm.logsf(loss / math.sqrt(2 * 3 / 100**2))
    assert check.log_p == pytest.approx(expected, rel=1e-6)


def test_the_fit_is_worse_only_beyond_the_allowance():
    old, _ = with_g_about(EDGE_OF_WEAK)
    new = np.full((2, 2), 500)
    g, df = g_and_df(old)
    allowance = (g - df) / 400
    check = only(run(model_of(old, "xy", "xy"), rows_of(new, "xy"), families=("fit",)))
    of_x = np.array([[200.5 / 401], [200.5 / 401]])
    of_y = (np.array(old) + 0.5) / (np.sum(old, axis=1, keepdims=True) + 1)
    logs = np.repeat(np.log(of_x * of_y).ravel(), new.ravel())
    before = math.log(199.5 / 400) + np.sum(old * np.log((np.array(old) - 0.5) / 200)) / 400
    loss = before - logs.mean()
    assert check.new["allowance"] == pytest.approx(allowance, rel=1e-9)
    assert check.effect == pytest.approx(max(0.0, loss - allowance), abs=1e-12)
    expected = log_p_of_fit(logs, 400, 3, loss - allowance)
    assert check.log_p == pytest.approx(expected, abs=1e-3)


# ---------------------------------------------------------------------- edges


def information(shares, weights):
    """I(u; child) of rows with these shares and weights; the last two axes are u and the child."""
    mixture = np.einsum("u,...uc->...c", weights, shares)[..., None, :]
    return np.einsum("u,...uc->...", weights, scipy.special.rel_entr(shares, mixture))


def spread_of_information(counts, weights):
    """Its variance: first order by differences, second order by hand; and its bias."""
    shares = counts / counts.sum(axis=1, keepdims=True)
    variance, bias, step = 0.0, 0.0, 1e-6
    for row, n in enumerate(counts.sum(axis=1)):
        up, down = shares.copy(), shares.copy()
        up[row] += [step, -step]
        down[row] -= [step, -step]
        slope = (information(up, weights) - information(down, weights)) / (2 * step)
        variance += slope**2 * shares[row, 0] * shares[row, 1] / n
        # χ² with one degree of freedom, times w(1 − w)/2n.
        scale = weights[row] * (1 - weights[row]) / (2 * n)
        bias += scale
        variance += 2 * scale**2
    return variance, bias


def p_of_loss_by_sharing_out(old, new):
    """P(a loss as large) over all ways to share the rows of a configuration out to both sides."""
    pooled, n_new = old + new, new.sum(axis=1)
    weights = old.sum(axis=1) / old.sum()
    ways = [scipy.stats.hypergeom(pooled[u].sum(), pooled[u, 0], n_new[u]) for u in (0, 1)]
    hits = [np.arange(way.support()[0], way.support()[1] + 1) for way in ways]
    drawn = np.stack(np.meshgrid(*hits, indexing="ij"), axis=-1)
    drawn = np.stack([drawn, n_new - drawn], axis=-1)

    def loss(before, after):
        sides = (counts / counts.sum(axis=-1, keepdims=True) for counts in (before, after))
        then, now = (information(shares, weights) for shares in sides)
        return then - now

    reaching = loss(pooled - drawn, drawn) >= loss(old, new) - 1e-9
    return float(np.sum(np.outer(ways[0].pmf(hits[0]), ways[1].pmf(hits[1])) * reaching))


def test_an_edge_is_lost_only_if_either_side_by_itself_says_so():
    """Labels were swapped: rows shared out anew tell nothing of u, and hardly vary in that.

    So none of these has even the small loss, of which the rows of either side are not at all sure.
    """
    old = np.array([[80, 20], [20, 80]])
    new = np.array([[26, 74], [74, 26]])
    check = only(run(model_of(old, "uv", "uv"), rows_of(new, "uv"), families=("structure",)))
    weights = np.array([0.5, 0.5])
    (var_old, bias_old), (var_new, bias_new) = (
        spread_of_information(counts, weights) for counts in (old, new)
    )
    loss = information(old / 100, weights) - information(new / 100, weights)
    assert check.statistic == pytest.approx(loss, rel=1e-9)
    z = (loss - bias_old + bias_new) / math.sqrt(var_old + var_new)
    expected = scipy.stats.norm.sf(z)
    assert p_of_loss_by_sharing_out(old, new) < 1e-6 < 0.05 < expected < 0.2
    assert check.test.startswith(MONTE_CARLO)
    assert math.exp(check.log_p) == pytest.approx(expected, rel=1e-5)


def test_an_edge_is_lost_only_if_rows_shared_out_anew_say_so():
    """Six new rows, of which the normal tail is far too sure: it says 2e-6."""
    old, new = np.array([[40, 0], [0, 40]]), np.array([[2, 1], [1, 2]])
    check = only(run(model_of(old, "uv", "uv"), rows_of(new, "uv"), families=("structure",)))
    exact = p_of_loss_by_sharing_out(old, new)
    assert 0.003 < exact < 0.01
    assert check.test == MONTE_CARLO
    assert_drawn(check.log_p, exact, 1000)


# ---------------------------------------------------------------------- drawing


def even_draw(key, first, last):
    """A thousand values, evenly spread from 9½ to 10½; of mean 10 − 1/2000 and variance 1/12."""
    return 9.5 + (np.arange(first, last) % 1000) / 1000


def test_the_tail_of_a_drawn_g_is_not_below_that_of_chi2():
    """Draws without a tail: a rare cell may have been missed."""
    log_p, how = MonteCarlo(1e-3).log_p("x", even_draw, 80.0, 1)
    assert how == TAIL_OF_DRAWS
    assert log_p == pytest.approx(scipy.stats.chi2.logsf(80.0, 9.9995), rel=1e-9)
    # What is not G is not known to have such a tail.
    log_p, how = MonteCarlo(1e-3).log_p("x", even_draw, 80.0, 1, of_g=False)
    assert how == TAIL_OF_DRAWS
    deviation = math.sqrt((1 - 1e-6) / 12)
    expected = scipy.stats.norm.logsf((80 - 9.9995) / deviation)
    assert log_p == pytest.approx(expected, rel=1e-6)


def test_the_tail_of_a_drawn_g_is_its_own_where_that_is_heavier():
    values = scipy.stats.expon.isf((np.arange(1000) + 0.5) / 1000, scale=10)

    def draw(key, first, last):
        return values[np.arange(first, last) % 1000]

    log_p, how = MonteCarlo(1e-3).log_p("x", draw, 300.0, 1)
    z = (300 - values.mean()) / values.std()
    expected = scipy.stats.pearson3.logsf(z, scipy.stats.skew(values))
    assert expected > scipy.stats.chi2.logsf(300, values.mean()) + 10
    assert how == TAIL_OF_DRAWS
    assert log_p == pytest.approx(expected, rel=1e-6)


# ---------------------------------------------------------------------- independences


def p_of_increase(statistic, n, reference, level):
    """γ + P(χ²(λn/n₀) ≥ s), one degree of freedom, for the dependence of the table below."""
    share = 0.05 * level
    # Two cells have 150 rows more than the 1150 that are expected.
    then, now = (
        1 + (s - 1) / (1 + math.log(1300 / 1150)) for s in (reference.statistic, statistic)
    )
    bound = scipy.optimize.brentq(
        lambda size: scipy.stats.ncx2.cdf(then, 1, size) - share, 1e-9, 1e4
    )
    return share + scipy.stats.ncx2.sf(now, 1, bound * n / reference.n)


# 4600 rows of two columns without an edge: G is 78, p below 1e-17.
DEPENDENT = np.array([[1300, 1000], [1000, 1300]])
PAIR = "structure:x independent of y"
# α over the checks that a model of two columns of two levels without an edge can have: 8 of the
# schema, 2 of tables, one of the structure and the fit.
LEVEL = 0.01 / 12


@pytest.mark.parametrize(
    ("reference", "decides"),
    [(Reference(40.0, 1.0, 4600), False), (Reference(4.0, 1.0, 4600), True)],
)
def test_a_dependence_that_was_known_has_the_p_value_of_its_increase(reference, decides):
    """However sure it is that there is a dependence."""
    model = model_of(DEPENDENT, "xy")
    statistic, df = g_and_df(DEPENDENT)
    expected = p_of_increase(statistic, 4600, reference, LEVEL)
    assert (expected <= 0.01) == decides
    known = gml.Baseline(references={PAIR: reference})
    report = run(model, rows_of(DEPENDENT, "xy"), baseline=known, families=("structure",))
    check = only(report)
    assert math.exp(check.log_p) == pytest.approx(expected, rel=1e-6)
    assert check.test == ("auto" if decides else "increase")
    assert report.failed == decides
    unknown = only(run(model, rows_of(DEPENDENT, "xy"), families=("structure",)))
    assert unknown.log_p == pytest.approx(scipy.stats.chi2.logsf(statistic, df), rel=1e-9)


def test_a_dependence_that_was_not_there_is_settled_by_permutation():
    """In 18 rows, where the model's thousand million show none: the less sure of both decides."""
    table = np.array([[8, 1], [1, 8]])
    known = gml.Baseline(references={PAIR: Reference(0.0, 1.0, 10**9)})
    report = run(
        model_of(table, "xy"), rows_of(table, "xy"), baseline=known, families=("structure",)
    )
    check = only(report)
    assert check.test == "permutation:monte-carlo"
    exact = fisher_by_g(table[0].tolist(), table[1].tolist())
    # Of two cells with 8 rows, where 4½ are expected; χ² of what is left has p = γ + P(χ² ≥ s).
    statistic, _ = g_and_df(table)
    increase = 0.05 * LEVEL + scipy.stats.chi2.sf(1 + (statistic - 1) / (1 + math.log(8 / 4.5)), 1)
    assert exact < increase < 0.01
    assert math.exp(check.log_p) == pytest.approx(increase, rel=1e-6)


# ---------------------------------------------------------------------- levels


def p_of_unseen(pooled, share, unseen):
    """P(levels that are all new have as many rows) over all sets of levels, each with share^c."""
    total = 0.0
    for chosen in itertools.product((False, True), repeat=len(pooled)):
        rows = sum(itertools.compress(pooled, chosen))
        if rows >= unseen:
            total += math.prod(
                share**c if is_new else 1 - share**c
                for c, is_new in zip(pooled, chosen, strict=True)
            )
    return total


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([3, 2, 1], [2, 2, 0, 1]),
        ([6, 1], [4, 0, 2, 1]),
        ([20, 3, 0, 1], [10, 0, 2, 1, 3, 2]),
        # Five rows either of one level or of five.
        ([25, 5], [4, 1, 5]),
        ([25, 5], [4, 1, 1, 1, 1, 1, 1]),
        # A twentieth of the rows: p is 8e-10.
        ([190], [3, 7]),
    ],
)
def test_unknown_levels_by_enumeration(before, after):
    before, after = np.array(before), np.array(after)
    table = (before + 0.5) / (before + 0.5).sum()
    net = BayesNet((CPT(Variable("x", levels_of(len(before))), (), table[None], before[None]),))
    columns = {"x": ColumnCounts(levels_of(len(after)), after)}
    _, levels = schema_checks(net, columns, Context())
    pooled = after.copy()
    pooled[: len(before)] += before
    unseen = int(after[len(before) :].sum())
    expected = p_of_unseen(pooled[pooled > 0].tolist(), after.sum() / pooled.sum(), unseen)
    assert expected > 1e-12
    assert levels.check.kind == "levels"
    assert levels.check.statistic == unseen
    assert math.exp(levels.check.log_p) == pytest.approx(expected, rel=1e-4)


# ---------------------------------------------------------------------- decision


def asked(*log_ps, effect=1.0):
    return [
        Question(Check(str(k), "tables", "row", ("x",), log_p=log_p, effect=effect))
        for k, log_p in enumerate(log_ps)
    ]


def test_what_cannot_happen_by_chance_counts_as_one_of_the_questions():
    """Two of four are impossible: the next is multiplied by two, not by four or by nothing."""
    questions = asked(math.log(0.004), -math.inf, math.log(0.3), -math.inf)
    checks = decide(questions, gml.CheckSettings(threads=1), accepted=())
    adjusted = [check.log_p_adjusted for check in checks]
    assert [adjusted[1], adjusted[3]] == [-math.inf, -math.inf]
    assert [math.exp(adjusted[0]), math.exp(adjusted[2])] == pytest.approx([0.008, 0.3])
    assert [checks[1].log_q, checks[3].log_q] == [-math.inf, -math.inf]
    ranking = [math.exp(checks[k].log_q) for k in (0, 2)]
    assert ranking == pytest.approx([0.004 * 4 / 3, 0.3])
    assert [check.status for check in checks] == ["fail", "fail", "pass", "fail"]


def test_an_adjusted_p_value_of_alpha_fails_and_one_above_does_not():
    for p, status in [(0.01, "fail"), (0.010001, "pass")]:
        (check,) = decide(asked(math.log(p)), gml.CheckSettings(threads=1), accepted=())
        assert check.status == status


def test_an_effect_of_what_is_asked_for_matters_and_one_below_does_not():
    """Shares of ½ and ¼, which have no rounding."""
    model, rows = model_of([500, 500], "x"), rows_of([250, 750], "x")
    for asked_for, failed in [(0.25, True), (math.nextafter(0.25, 1), False)]:
        report = run(model, rows, families=("tables",), min_effect={"tables": asked_for})
        assert only(report).effect == 0.25
        assert report.failed == failed
        assert any("below `min_effect`" in note for note in report.notes) != failed
    # What is asked of other families is not asked of this one.
    assert run(model, rows, families=("tables",), min_effect={"fit": 1.0}).failed

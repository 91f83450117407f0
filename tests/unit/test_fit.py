"""Parameters: estimates, priors, unseen configurations, intervals, numbers, held-out rows."""

from __future__ import annotations

import math

import numpy as np
import pytest

import gml
from gml.data.dataset import Dataset, Variable, fractional_weights
from gml.errors import CannotAnswer, DataError, GraphError, UsageError
from gml.model.bayesnet import CPT, BayesNet, LinearGaussian
from gml.model.fit import fit, require_all_seen
from gml.model.heldout import held_out
from gml.model.likelihood import log_likelihood
from tests.networks import asia, joint_of, random_net

LEVELS = ("a", "b", "c")


def table_of(x, y, levels=LEVELS):
    return Dataset(
        (Variable("x", levels), Variable("y", levels)),
        (np.array(x, dtype=np.uint8), np.array(y, dtype=np.uint8)),
    )


SMALL = table_of([0, 0, 0, 1, 1], [0, 0, 1, 1, 1])
XY = gml.Graph.from_edges(("x", "y"), [("x", "-->", "y")])


def small_net(**options):
    return fit(XY, gml.MemoryCounter(SMALL), **options)


def test_maximum_likelihood():
    net = small_net()
    assert net.cpt("x").table.tolist() == [[0.6, 0.4, 0.0]]
    cpt = net.cpt("y")
    assert cpt.table.tolist() == [[2 / 3, 1 / 3, 0], [0, 1, 0], [1 / 3, 1 / 3, 1 / 3]]
    assert cpt.counts.tolist() == [[2, 1, 0], [0, 2, 0], [0, 0, 0]]
    assert cpt.seen.tolist() == [True, True, False]


@pytest.mark.parametrize(
    ("prior", "ess", "alpha"),
    [("bdeu", 1.0, 1 / 9), ("bdeu", 10.0, 10 / 9), ("k2", 1.0, 1), ("uniform", 1.0, 1), ("jeffreys", 1.0, 0.5)],
)  # fmt: skip
def test_priors(prior, ess, alpha):
    cpt = small_net(method="bayes", prior=prior, ess=ess).cpt("y")
    expected = [[(2 + alpha), (1 + alpha), alpha], [alpha, 2 + alpha, alpha], [1, 1, 1]]
    expected = [[p / sum(row) for p in row] for row in expected]
    np.testing.assert_allclose(cpt.table, expected, rtol=1e-14)


def test_strict_names_a_configuration():
    with pytest.raises(CannotAnswer, match=r"1 configuration .* was never seen.* 'y' \(x=c\)"):
        require_all_seen(small_net())
    require_all_seen(fit(gml.Graph.from_edges(("x", "y"), []), gml.MemoryCounter(SMALL)))


def test_parents_stand_in_the_order_of_nodes():
    data = Dataset(
        (Variable("b", ("0", "1")), Variable("c", ("0", "1")), Variable("a", ("0", "1"))),
        tuple(np.array(c, dtype=np.uint8) for c in ([0, 0, 1], [0, 1, 1], [1, 0, 0])),
    )
    graph = gml.Graph.from_edges(("b", "c", "a"), [("a", "-->", "c"), ("b", "-->", "c")])
    cpt = fit(graph, gml.MemoryCounter(data)).cpt("c")
    assert [parent.name for parent in cpt.parents] == ["b", "a"]
    assert cpt.counts.tolist() == [[0, 1], [1, 0], [0, 1], [0, 0]]


def test_available_rows_serve_fitting():
    """Each table uses the rows that are complete in its own columns."""
    gaps = table_of([0, 255, 1, 1], [0, 1, 255, 1])
    net = fit(XY, gml.MemoryCounter(gaps))
    assert net.cpt("x").counts.tolist() == [[1, 2, 0]]
    assert net.cpt("y").counts.tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 0]]


def test_fractional_weights():
    weights, unit = fractional_weights(np.array([0.5, 0.25, 0.25, 1.0, 2.0]))
    data = Dataset(SMALL.variables, SMALL.columns, weights, unit=unit)
    net = fit(XY, gml.MemoryCounter(data))
    assert net.cpt("x").table.tolist() == [[0.25, 0.75, 0.0]]
    assert net.cpt("x").counts.tolist() == [[1.0, 3.0, 0.0]]
    assert log_likelihood(net, data) == pytest.approx(
        math.log(0.25) + 3 * math.log(0.75) + 0.75 * math.log(0.75) + 0.25 * math.log(0.25)
    )


def test_huge_tables_are_refused():
    levels = tuple(map(str, range(100)))
    names = [f"v{j}" for j in range(8)]
    data = Dataset(
        tuple(Variable(name, levels) for name in names),
        tuple(np.zeros(3, dtype=np.uint8) for _ in names),
    )
    graph = gml.Graph.from_edges(names, [(name, "-->", "v7") for name in names[:-1]])
    with pytest.raises(CannotAnswer, match="`max_memory`"):
        fit(graph, gml.MemoryCounter(data))


def test_large_tables_are_counted_cell_by_cell():
    """More cells than are counted at once: 300 × 300, of which three are seen."""
    levels = tuple(map(str, range(300)))
    codes = np.array([[0, 299], [7, 8], [7, 8]], dtype=np.uint16)
    data = Dataset((Variable("x", levels), Variable("y", levels)), tuple(codes.T.copy()))
    counts = fit(XY, gml.MemoryCounter(data)).cpt("y").counts
    assert counts.shape == (300, 300)
    assert {(int(i), int(j)): int(counts[i, j]) for i, j in np.argwhere(counts)} == {
        (0, 299): 1,
        (7, 8): 2,
    }


def test_wrong_calls():
    counter = gml.MemoryCounter(SMALL)
    with pytest.raises(GraphError, match="DAG is needed"):
        fit(gml.Graph.from_edges("xy", [("x", "---", "y")]), counter)
    with pytest.raises(DataError, match="no column for 'z'"):
        fit(gml.Graph.from_edges("xz", []), counter)
    with pytest.raises(UsageError, match="method"):
        fit(XY, counter, method="best")
    with pytest.raises(UsageError, match="ess"):
        fit(XY, counter, method="bayes", ess=0)


# ---------------------------------------------------------------- intervals


def test_intervals_are_quantiles_of_the_jeffreys_posterior():
    from scipy.stats import beta

    for options in ({"method": "mle"}, {"method": "bayes", "ess": 10.0}):
        cpt = small_net(intervals=0.9, **options).cpt("y")
        for row in range(3):
            for level in range(3):
                n, total = cpt.counts[row, level], cpt.counts[row].sum()
                expected = beta.ppf([0.05, 0.95], n + 0.5, total - n + 1)
                # As usual the interval holds 0 or 1 where no row or every row has the level.
                expected = 0 if n == 0 else expected[0], 1 if n == total else expected[1]
                np.testing.assert_allclose(cpt.intervals[row, level], expected, rtol=1e-9)
                assert (
                    expected[0] <= cpt.table[row, level] <= expected[1]
                    or options["method"] != "mle"
                )


def test_one_level_is_certain():
    data = Dataset((Variable("x", ("only",)),), (np.zeros(4, dtype=np.uint8),))
    cpt = fit(gml.Graph.from_edges("x", []), gml.MemoryCounter(data), intervals=0.95).cpt("x")
    assert cpt.table.tolist() == [[1.0]]
    assert cpt.intervals.tolist() == [[[1.0, 1.0]]]


@pytest.mark.parametrize("method", ["mle", "bayes"])
def test_interval_coverage(method):
    """95 % intervals of an alarm-like table hold the truth about 95 times in a hundred.

    For p from 0.02 to 0.9 and 10 to 200 rows per configuration, 4000 tables each way: equal-tailed
    Jeffreys intervals cover between 0.91 and 0.985 for a single p (Brown, Cai & DasGupta 2001),
    and within 0.94 to 0.965 on average over these.
    """
    rng = np.random.default_rng(0)
    truth = np.array([[0.9, 0.08, 0.02], [0.5, 0.3, 0.2], [0.25, 0.65, 0.1], [0.7, 0.05, 0.25]])
    sizes = [10, 40, 100, 200]
    inside = np.zeros((4, 3))
    n_tables = 1000
    parent, child = Variable("p", ("0", "1", "2", "3")), Variable("c", LEVELS)
    graph = gml.Graph.from_edges("pc", [("p", "-->", "c")])
    for _ in range(n_tables):
        counts = np.array([rng.multinomial(n, p) for n, p in zip(sizes, truth, strict=True)])
        codes = np.repeat(np.arange(12), counts.reshape(-1))
        columns = ((codes // 3).astype(np.uint8), (codes % 3).astype(np.uint8))
        options = {"method": method} if method == "mle" else {"method": method, "ess": 1.0}
        data = Dataset((parent, child), columns)
        bounds = fit(graph, gml.MemoryCounter(data), intervals=0.95, **options).cpt("c").intervals
        inside += (bounds[..., 0] <= truth) & (truth <= bounds[..., 1])
    coverage = inside / n_tables
    assert 0.94 < coverage.mean() < 0.965
    assert coverage.min() > 0.9


# ---------------------------------------------------------------- numbers


def numbers(seed=0, n=200):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(3, 2, n), rng.normal(-1, 0.5, n)
    c = 1.5 + 2 * a - 0.7 * b + rng.normal(0, 0.3, n)
    variables = tuple(Variable(name, None) for name in "abc")
    return Dataset(variables, (a, b, c))


ABC = gml.Graph.from_edges("abc", [("a", "-->", "c"), ("b", "-->", "c")])


def test_regressions():
    from scipy import stats

    data = numbers()
    net = fit(ABC, gml.MemoryCounter(data), intervals=0.9)
    cpd = net.cpd("c")
    a, b, c = data.columns
    x = np.column_stack([np.ones(len(a)), a, b])
    estimate, *_ = np.linalg.lstsq(x, c, rcond=None)
    residual = c - x @ estimate
    np.testing.assert_allclose([cpd.intercept, *cpd.coefficients], estimate, rtol=1e-12)
    assert cpd.sd == pytest.approx(math.sqrt((residual**2).mean()), rel=1e-12)
    assert cpd.n == 200
    sse, df = float((residual**2).sum()), 197
    spread = np.sqrt(sse / df * np.diag(np.linalg.inv(x.T @ x)))
    t = stats.t.ppf(0.95, df)
    for k in range(3):
        expected = estimate[k] - t * spread[k], estimate[k] + t * spread[k]
        np.testing.assert_allclose(cpd.intervals[k], expected, rtol=1e-9)
    expected = np.sqrt(sse / stats.chi2.ppf([0.95, 0.05], df))
    np.testing.assert_allclose(cpd.intervals[3], expected, rtol=1e-9)
    root = net.cpd("a")
    assert root.intercept == pytest.approx(a.mean(), rel=1e-13)
    assert net.n_parameters == 2 + 2 + 4
    assert cpd.to_frame().loc["a", "estimate"] == cpd.coefficients[0]


def test_numbers_that_cannot_be_fitted():
    data = numbers(n=3)
    weights, unit = fractional_weights(np.full(200, 0.01))
    light = Dataset(data.variables, numbers().columns, weights, unit=unit)
    with pytest.raises(CannotAnswer, match="2 rows are too few"):
        fit(ABC, gml.MemoryCounter(light), intervals=0.9)
    with pytest.raises(DataError, match="perfect"):
        fit(ABC, gml.MemoryCounter(data))
    with pytest.raises(
        DataError, match="leave one out, as by .*'c'.*, or give .*number_prior='ridge'"
    ):
        fit(ABC, gml.MemoryCounter(data), method="bayes")
    ridge = fit(ABC, gml.MemoryCounter(data), method="bayes", number_prior="ridge")
    assert all(cpd.sd > 0 and cpd.n == 3 for cpd in ridge.cpds)
    constant = Dataset(data.variables, (np.ones(3), *data.columns[1:]))
    with pytest.raises(DataError, match="'a' has only one value"):
        fit(ABC, gml.MemoryCounter(constant))


def test_density_of_numbers():
    data = numbers()
    net = fit(ABC, gml.MemoryCounter(data))
    score = gml.SCORES["loglik-g"](gml.MemoryCounter(data))
    assert log_likelihood(net, data) == pytest.approx(gml.total(score, ABC), rel=1e-12)
    other = numbers(1)
    expected = 0.0
    for cpd in net.cpds:
        mean = cpd.intercept + sum(
            (
                k * other.columns[other.index(p.name)]
                for k, p in zip(cpd.coefficients, cpd.parents, strict=True)
            ),
            np.zeros(200),
        )
        z = (other.columns[other.index(cpd.variable.name)] - mean) / cpd.sd
        expected += float(np.sum(-0.5 * z**2 - math.log(cpd.sd) - 0.5 * math.log(2 * math.pi)))
    assert log_likelihood(net, other) == pytest.approx(expected, rel=1e-12)


# ---------------------------------------------------------------- likelihood and held-out rows


def test_log_likelihood_is_that_of_the_rows():
    net = asia()
    joint = joint_of(net)
    data = net.sample(500, seed=3)
    order = [data.index(name) for name in net.names]
    expected = sum(
        math.log(joint[tuple(int(data.columns[j][i]) for j in order)]) for i in range(500)
    )
    assert net.log_likelihood(data) == pytest.approx(expected, rel=1e-12)
    impossible = Dataset(
        data.variables,
        tuple(
            np.array([0 if v.name in ("lung", "tub") else 1], dtype=np.uint8)
            for v in data.variables
        ),
    )
    assert net.log_likelihood(impossible) == -math.inf


def test_log_likelihood_refuses_other_data():
    net = asia()
    data = net.sample(10)
    with pytest.raises(UsageError, match="no column for 'dysp'"):
        net.log_likelihood(data.select([n for n in data.names if n != "dysp"]))
    turned = Dataset(tuple(Variable(v.name, v.levels[::-1]) for v in data.variables), data.columns)
    with pytest.raises(DataError, match="levels of"):
        net.log_likelihood(turned)


def test_held_out_loss_prefers_the_truth():
    """The likelihood never prefers the simpler graph; unseen rows do."""
    net = random_net(np.random.default_rng(4), 6, p=0.3)
    data = net.sample(400, seed=1)
    names = list(net.names)
    complete = gml.Graph.from_edges(
        names, [(names[i], "-->", names[j]) for i in range(6) for j in range(i + 1, 6)]
    )
    from gml.data.resampling import folds

    losses = {
        name: held_out(graph, folds(data, 5)).loss
        for name, graph in (("truth", net.graph), ("complete", complete))
    }
    score = gml.SCORES["loglik"](gml.MemoryCounter(data))
    assert gml.total(score, complete) > gml.total(score, net.graph)
    assert losses["truth"] < losses["complete"]


def test_held_out_loss_by_hand():
    train, test = table_of([0, 0, 1], [0, 1, 1]), table_of([0, 2], [0, 1])
    loss = held_out(XY, [(train, test)]).loss
    px = [2.5 / 4.5, 0.5 / 4.5]
    py = [1.5 / 3.5, 1 / 3]
    assert loss == pytest.approx(-sum(map(math.log, [*px, *py])) / 2, rel=1e-13)


# ---------------------------------------------------------------- the types


def test_numbers_of_any_size_are_fitted():
    data = numbers()
    large = Dataset(data.variables, tuple(column * 1e200 for column in data.columns))
    small, big = (fit(ABC, gml.MemoryCounter(d), intervals=0.9).cpd("c") for d in (data, large))
    assert big.coefficients == pytest.approx(small.coefficients, rel=1e-12)
    assert big.sd == pytest.approx(small.sd * 1e200, rel=1e-12)
    for one, other, scale in zip(small.intervals, big.intervals, (1e200, 1, 1, 1e200), strict=True):
        assert other == pytest.approx([bound * scale for bound in one], rel=1e-9)


@pytest.mark.parametrize("noise", [1e-5, 1e-7, 1e-9])
def test_intervals_of_nearly_collinear_parents(noise):
    """The half widths of intervals against mpmath with sixty digits."""
    import mpmath
    from scipy import stats

    rng = np.random.default_rng(1)
    a = rng.normal(size=60)
    b = a + noise * rng.normal(size=60)
    c = a + rng.normal(size=60)
    data = Dataset(tuple(Variable(name, None) for name in "abc"), (a, b, c))
    cpd = fit(ABC, gml.MemoryCounter(data), intervals=0.9).cpd("c")
    with mpmath.workdps(60):
        rows = zip(a.tolist(), b.tolist(), strict=True)
        x = mpmath.matrix([[1, mpmath.mpf(p), mpmath.mpf(q)] for p, q in rows])
        y = mpmath.matrix([mpmath.mpf(v) for v in c.tolist()])
        gram = (x.T * x) ** -1
        residual = y - x * (gram * (x.T * y))
        variance = sum(v * v for v in residual) / 57
        half = [float(mpmath.sqrt(variance * gram[k, k])) * stats.t.ppf(0.95, 57) for k in range(3)]
    for k, (low, high) in enumerate(cpd.intervals[:3]):
        # Columns are kept to 52 bits of their range, of which the noise is the last few.
        assert (high - low) / 2 == pytest.approx(half[k], rel=1e-9 + 1e-14 / noise)


def test_there_are_not_more_levels_than_codes():
    many = Variable("x", tuple(map(str, range(65536))))
    with pytest.raises(GraphError, match="65536 levels; the limit is 65535"):
        CPT(many, (), np.full((1, 65536), 1 / 65536))


def test_tables_are_checked():
    x, y = Variable("x", ("a", "b")), Variable("y", ("a", "b"))
    for table, message in [
        ([[0.5, 0.5]], "is not 2 x 2"),
        ([[0.5, 0.5], [0.7, 0.2]], r"adds up to 0.9, not 1 \(x=b\)"),
        ([[1.5, -0.5], [0.5, 0.5]], "is not a probability"),
        ([[math.nan, 0.5], [0.5, 0.5]], "is not a probability"),
    ]:
        with pytest.raises(GraphError, match=message):
            CPT(y, (x,), np.array(table))
    cpt = CPT(y, (x,), np.full((2, 2), 0.5))
    with pytest.raises(GraphError, match="parent 'x' not found"):
        BayesNet((cpt,))
    other = CPT(Variable("x", ("a", "c")), (), np.array([[0.5, 0.5]]))
    with pytest.raises(GraphError, match="levels of 'x' are different"):
        BayesNet((other, cpt))
    number = LinearGaussian(Variable("z", None), (), 0.0, (), 1.0)
    assert BayesNet((CPT(x, (), np.array([[0.5, 0.5]])), number)).is_mixed
    with pytest.raises(GraphError, match="no table"):
        BayesNet((number,)).cpt("z")
    back = CPT(x, (y,), np.full((2, 2), 0.5))
    with pytest.raises(GraphError, match="cycle"):
        BayesNet((back, cpt))


def test_frames():
    frame = asia().cpt("dysp").to_frame()
    assert list(frame.columns) == ["yes", "no"]
    assert frame.index.names == ["bronc", "either"]
    assert frame.loc[("yes", "no"), "yes"] == 0.8
    assert asia().cpt("smoke").to_frame().shape == (1, 2)


def test_fit_sample_fit_converges():
    """Tables fitted to a million rows are those that the rows were drawn from, by χ² on every row."""
    from scipy.stats import chi2

    net = random_net(np.random.default_rng(11), 12, p=0.3)
    data = net.sample(1_000_000, seed=5)
    again = fit(net.graph, gml.MemoryCounter(data))
    p_values = []
    for cpt, new in zip(net.cpds, again.cpds, strict=True):
        expected = cpt.table * new.counts.sum(axis=1, keepdims=True)
        for row in range(len(cpt.table)):
            if expected[row].min() < 5:
                continue
            statistic = float(np.sum((new.counts[row] - expected[row]) ** 2 / expected[row]))
            p_values.append(chi2.sf(statistic, len(expected[row]) - 1))
    assert len(p_values) > 40
    assert min(p_values) > 0.001 / len(p_values)
    assert 0.3 < np.mean(p_values) < 0.7

"""Networks of labels and numbers: fits, priors, likelihood and rows, against least squares."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import gml
from gml.data.dataset import Dataset, Variable
from gml.errors import CannotAnswer, DataError, GmlWarning, GraphError, UsageError
from gml.model.bayesnet import CPT, BayesNet, ConditionalGaussian, LinearGaussian
from gml.model.fit import fit, unseen_configurations
from gml.model.likelihood import log_likelihood
from gml.model.sample import sample
from tests.model_files import assert_same_distributions

SEX, SITE = Variable("sex", ("f", "m")), Variable("site", ("n", "e", "s"))
AGE, MASS = Variable("age", None), Variable("mass", None)
EDGES = [("sex", "-->", "site"), *((v, "-->", "mass") for v in ("sex", "site", "age"))]
GRAPH = gml.Graph.from_edges(["sex", "site", "age", "mass"], EDGES)
CONFIGURATIONS = list(itertools.product(range(2), range(3)))


def rows(n=600, seed=0):
    rng = np.random.default_rng(seed)
    sex, site = rng.integers(0, 2, n), rng.integers(0, 3, n)
    age = rng.normal(40, 10, n)
    mass = 50 + 10 * sex + 3 * site + (0.2 + 0.3 * sex) * age + (1 + site) * rng.normal(size=n)
    columns = (sex.astype(np.uint8), site.astype(np.uint8), age, mass)
    return Dataset((SEX, SITE, AGE, MASS), columns)


def group(data, sex, site):
    """Age and mass of the rows with these labels."""
    chosen = (data.columns[0] == sex) & (data.columns[1] == site)
    return data.columns[2][chosen], data.columns[3][chosen]


def least_squares(age, mass, prior=()):
    """Intercept, slope and ML deviation; `prior` has rows (weight, age, mass) besides."""
    weight = np.array([1.0] * len(age) + [row[0] for row in prior])
    age = np.array([*age, *(row[1] for row in prior)])
    mass = np.array([*mass, *(row[2] for row in prior)])
    root = np.sqrt(weight)
    design = np.column_stack([np.ones(len(age)), age])
    found = np.linalg.lstsq(design * root[:, None], mass * root, rcond=None)[0]
    left = mass - design @ found
    return [*found.tolist(), math.sqrt(float((weight * left**2).sum() / weight.sum()))]


def terms(line):
    return [line.intercept, *line.coefficients, line.sd]


def test_each_group_has_its_least_squares():
    data = rows()
    net = fit(GRAPH, gml.MemoryCounter(data))
    cpd = net.cpd("mass")
    assert isinstance(cpd, ConditionalGaussian) and isinstance(net.cpd("age"), LinearGaussian)
    assert net.is_mixed and not net.is_gaussian
    assert cpd.configurations()[4] == ("m", "e")
    for line, (sex, site) in zip(cpd.regressions, CONFIGURATIONS, strict=True):
        age, mass = group(data, sex, site)
        assert line.n == len(age)
        np.testing.assert_allclose(terms(line), least_squares(age, mass), rtol=1e-10)
    assert net.n_parameters == 1 + 4 + 2 + 18 == cpd.n_parameters + 7


def test_the_likelihood_is_the_sum_of_densities():
    data, other = rows(), rows(seed=1)
    net = fit(GRAPH, gml.MemoryCounter(data))
    expected = 0.0
    for j, name in enumerate(("sex", "site")):
        cpt = net.cpt(name)
        at = other.columns[0] if j else np.zeros(other.n_rows, dtype=int)
        expected += np.log(cpt.table[at, other.columns[j]]).sum()
    age = net.cpd("age")
    z = (other.columns[2] - age.intercept) / age.sd
    expected += (-0.5 * z**2 - math.log(age.sd * math.sqrt(2 * math.pi))).sum()
    for line, (sex, site) in zip(net.cpd("mass").regressions, CONFIGURATIONS, strict=True):
        x, y = group(other, sex, site)
        z = (y - line.intercept - line.coefficients[0] * x) / line.sd
        expected += (-0.5 * z**2 - math.log(line.sd * math.sqrt(2 * math.pi))).sum()
    assert net.log_likelihood(other) == pytest.approx(expected, rel=1e-12)
    assert log_likelihood(net, other.to_frame()) == pytest.approx(expected, rel=1e-12)


def test_an_impossible_label_is_not_made_up_for_by_densities():
    table = CPT(SEX, (), np.array([[1.0, 0.0]]))
    exact = LinearGaussian(AGE, (), 1.0, (), 0.0)
    data = Dataset((SEX, AGE), (np.array([1], dtype=np.uint8), np.array([1.0])))
    assert BayesNet((table, exact)).log_likelihood(data) == -math.inf


@pytest.mark.parametrize("options", [{}, {"method": "bayes"}, {"intervals": 0.9}])
def test_neither_rows_nor_columns_have_an_order(options):
    data = rows()
    net = fit(GRAPH, gml.MemoryCounter(data), **options)
    rng = np.random.default_rng(3)
    order = rng.permutation(data.n_rows)
    turned = [2, 3, 1, 0]
    shuffled = Dataset(
        tuple(data.variables[j] for j in turned), tuple(data.columns[j][order] for j in turned)
    )
    again = fit(GRAPH, gml.MemoryCounter(shuffled), **options)
    assert_same_distributions(net, again)
    other = gml.Graph.from_edges(["mass", "age", "site", "sex"], EDGES)
    last = fit(other, gml.MemoryCounter(shuffled), **options).cpd("mass")
    assert [parent.name for parent in last.parents] == ["age", "site", "sex"]
    for k, (sex, site) in enumerate(CONFIGURATIONS):
        assert last.regressions[site * 2 + sex] == net.cpd("mass").regressions[k]


def without(data, sex, site, keep=0):
    """The rows but those with these labels, of which the first few stay."""
    chosen = (data.columns[0] == sex) & (data.columns[1] == site)
    gone = np.flatnonzero(chosen)[keep:]
    left = np.delete(np.arange(data.n_rows), gone)
    return Dataset(data.variables, tuple(column[left] for column in data.columns))


def test_labels_never_seen_have_the_regression_on_all_rows():
    data = without(rows(), 1, 2)
    net = fit(GRAPH, gml.MemoryCounter(data))
    line = net.cpd("mass").regressions[5]
    assert line.n is None and line.rows is None
    np.testing.assert_allclose(terms(line), least_squares(*data.columns[2:]), rtol=1e-10)
    assert unseen_configurations(net) == {"mass": [5]}
    with pytest.warns(
        GmlWarning, match="1 configuration of parents was never seen, and is as all rows"
    ):
        gml.fit(data, GRAPH)
    with pytest.raises(CannotAnswer, match=r"never seen, for 'mass'.*\(sex=m, site=s\)"):
        gml.fit(data, GRAPH, strict=True)


def test_groups_with_too_few_rows_are_named():
    data = without(rows(), 1, 2, keep=3)
    with pytest.raises(CannotAnswer, match=r"1 configuration .* 'mass' has fewer than the 4 rows"):
        fit(GRAPH, gml.MemoryCounter(data))
    with pytest.raises(CannotAnswer, match=r"the first \(sex=m, site=s\) only 3; `method='bayes'`"):
        fit(GRAPH, gml.MemoryCounter(data))
    line = fit(GRAPH, gml.MemoryCounter(data), method="bayes").cpd("mass").regressions[5]
    assert line.n == 3 and line.sd > 0


def test_groups_without_variance_are_named():
    data = rows()
    still = (data.columns[0] == 1) & (data.columns[1] == 2)
    for column, message in (
        (np.where(still, 5.0, data.columns[3]), r"\(sex=m, site=s\): 'mass' has only one value"),
        (np.where(still, 2 * data.columns[2] + 1, data.columns[3]), "are perfect.*bayes"),
    ):
        changed = Dataset(data.variables, (*data.columns[:3], column))
        with pytest.raises(DataError, match=message):
            fit(GRAPH, gml.MemoryCounter(changed))
        line = fit(GRAPH, gml.MemoryCounter(changed), method="bayes").cpd("mass").regressions[5]
        assert line.sd > 0


@pytest.mark.parametrize("kind", ["pooled", "ridge"])
@pytest.mark.parametrize("weight", [1.0, 7.5])
def test_priors_are_rows_with_the_moments_of_all(kind, weight):
    data = without(rows(), 0, 1, keep=2)
    age, mass = data.columns[2:]
    slope = 0.0 if kind == "ridge" else np.cov(age, mass)[0, 1] / age.var(ddof=1)
    # Four rows with the means, variances and covariance that the prior asks for.
    away = math.sqrt(mass.var() - slope**2 * age.var())
    prior = [
        (weight / 4, age.mean() + a * age.std(), mass.mean() + slope * a * age.std() + b * away)
        for a in (-1, 1)
        for b in (-1, 1)
    ]
    options = {"method": "bayes", "number_prior": kind, "prior_rows": weight}
    net = fit(GRAPH, gml.MemoryCounter(data), **options)
    for line, labels in zip(net.cpd("mass").regressions, CONFIGURATIONS, strict=True):
        expected = least_squares(*group(data, *labels), prior)
        np.testing.assert_allclose(terms(line), expected, rtol=1e-9)
    marginal = net.cpd("age")
    assert (marginal.intercept, marginal.n) == (pytest.approx(age.mean(), rel=1e-12), data.n_rows)


def test_no_unit_of_measurement_matters():
    data = rows()
    moved = Dataset(data.variables, (*data.columns[:3], 1e-6 * data.columns[3] + 1e3))
    for kind in ("pooled", "ridge"):
        one, two = (
            fit(GRAPH, gml.MemoryCounter(some), method="bayes", number_prior=kind, prior_rows=50)
            for some in (data, moved)
        )
        for a, b in zip(one.cpd("mass").regressions, two.cpd("mass").regressions, strict=True):
            np.testing.assert_allclose(
                [*b.coefficients, b.sd], np.multiply(terms(a)[1:], 1e-6), 1e-6
            )


def test_a_ridge_stands_for_collinear_columns():
    data = rows()
    names = (*data.variables, Variable("twice", None))
    doubled = Dataset(names, (*data.columns, 2 * data.columns[2]))
    graph = gml.Graph.from_edges([v.name for v in names], [*EDGES, ("twice", "-->", "mass")])
    counter = gml.MemoryCounter(doubled)
    with pytest.raises(DataError, match="are perfect"):
        fit(graph, counter)
    with pytest.raises(DataError, match="number_prior='ridge'"):
        fit(graph, counter, method="bayes")
    line = fit(graph, counter, method="bayes", number_prior="ridge").cpd("mass").regressions[0]
    on_age, on_twice = line.coefficients
    assert on_age == pytest.approx(2 * on_twice, rel=1e-6)


def test_weights_are_rows():
    data = rows(200)
    weights = np.random.default_rng(0).integers(0, 4, 200)
    weighted = Dataset(data.variables, data.columns, weights)
    repeated = Dataset(data.variables, tuple(np.repeat(c, weights) for c in data.columns))
    nets = [fit(GRAPH, gml.MemoryCounter(some), method="bayes") for some in (weighted, repeated)]
    assert_same_distributions(*nets)


def test_intervals_are_those_of_the_group():
    data = rows()
    net = fit(GRAPH, gml.MemoryCounter(data), intervals=0.9)
    age, mass = group(data, 1, 1)
    alone = Dataset((AGE, MASS), (age, mass))
    edge = gml.Graph.from_edges(["age", "mass"], [("age", "-->", "mass")])
    expected = fit(edge, gml.MemoryCounter(alone), intervals=0.9).cpd("mass").intervals
    np.testing.assert_allclose(net.cpd("mass").regressions[4].intervals, expected, rtol=1e-12)
    few = without(data, 1, 2)
    lines = fit(GRAPH, gml.MemoryCounter(few), intervals=0.9).cpd("mass").regressions
    assert [line.intervals is None for line in lines] == [False] * 5 + [True]


def test_priors_belong_to_their_columns():
    data = rows()
    for options, message in (
        ({"number_prior": "ridge"}, "`number_prior` belongs to `method='bayes'`"),
        ({"prior_rows": 2.0}, "`prior_rows` belongs to `method='bayes'`"),
        ({"method": "bayes", "prior_rows": 0.0}, "`prior_rows` must be positive"),
        ({"method": "bayes", "number_prior": "flat"}, "number_prior"),
    ):
        with pytest.raises(UsageError, match=message):
            gml.fit(data, GRAPH, **options)
    labels = gml.Graph.from_edges(["sex", "site"], EDGES[:1])
    with pytest.raises(UsageError, match="`prior_rows` is for numbers"):
        gml.fit(data.select(["sex", "site"]), labels, method="bayes", prior_rows=2.0)
    numbers = gml.Graph.from_edges(["age", "mass"], EDGES[-1:])
    with pytest.raises(UsageError, match="`ess` is for labels"):
        gml.fit(data.select(["age", "mass"]), numbers, method="bayes", ess=2.0)


def test_rows_are_kept_by_configuration():
    data = rows()
    net = fit(GRAPH, gml.MemoryCounter(data))
    for line, labels in zip(net.cpd("mass").regressions, CONFIGURATIONS, strict=True):
        age, mass = group(data, *labels)
        left = (mass - line.intercept - line.coefficients[0] * age) / line.sd
        assert line.rows.means == pytest.approx([age.mean(), mass.mean()])
        assert line.rows.fourth == pytest.approx((left**4).mean())
        assert sum(line.rows.counts) == len(age)
    # The shares of all regressions add up to the variance of the density of the numbers.
    lines = [net.cpd("age"), *net.cpd("mass").regressions]
    variance = sum(line.n / data.n_rows * line.rows.fit.covariance for line in lines)
    assert variance > 0
    assert all(
        line.rows is None
        for line in fit(GRAPH, gml.MemoryCounter(data), method="bayes").cpd("mass").regressions
    )


# ---------------------------------------------------------------------- graphs


def mixed_frame():
    return rows().to_frame()


def test_a_class_gives_the_member_whose_labels_come_first():
    line = gml.Graph.from_edges(
        ["sex", "age", "mass"], [("sex", "---", "age"), ("age", "---", "mass")], kind="cpdag"
    )
    with pytest.warns(GmlWarning, match="one of the DAGs"):
        net = gml.fit(mixed_frame().drop(columns="site"), line, numeric=["age", "mass"])
    assert [[p.name for p in cpd.parents] for cpd in net.cpds] == [[], ["sex"], ["age"]]


@pytest.mark.parametrize(
    ("edges", "kind"),
    [
        ([("age", "-->", "sex")], "dag"),
        ([("sex", "---", "age"), ("age", "---", "site")], "cpdag"),
        ([("age", "-->", "sex"), ("mass", "-->", "sex")], "cpdag"),
    ],
)
def test_arrows_from_numbers_to_labels_are_refused(edges, kind):
    graph = gml.Graph.from_edges(["sex", "site", "age", "mass"], edges, kind=kind)
    with pytest.raises(
        GraphError,
        match="'age -> s.*a label has no distribution given numbers.*`score='bic-cg'` or `tiers`",
    ):
        gml.fit(mixed_frame(), graph, numeric=["age", "mass"])
    dag = gml.Graph.from_edges(["sex", "age"], [("age", "-->", "sex")])
    with pytest.raises(GraphError, match="'age -> sex': a label has no distribution"):
        fit(dag, gml.MemoryCounter(rows()))


def test_networks_are_checked():
    sex = CPT(SEX, (), np.array([[0.5, 0.5]]))
    lines = tuple(LinearGaussian(AGE, (), 0.0, (), 1.0) for _ in range(2))
    for make, message in (
        (lambda: CPT(SEX, (AGE,), np.ones((1, 2)) / 2), "its parent 'age' numbers"),
        (lambda: LinearGaussian(AGE, (SEX,), 0.0, (1.0,), 1.0), "on 'sex', which has levels"),
        (lambda: ConditionalGaussian(AGE, (), lines), "no parent with levels"),
        (lambda: ConditionalGaussian(AGE, (SEX,), lines[:1]), "must be 2, one per configuration"),
        (lambda: ConditionalGaussian(MASS, (SEX,), lines), "must all be on its parents"),
        (lambda: ConditionalGaussian(AGE, (SEX, MASS), lines), "must all be on its parents"),
        (lambda: BayesNet((ConditionalGaussian(AGE, (SEX,), lines),)), "parent 'sex' not found"),
        (lambda: BayesNet((sex, ConditionalGaussian(AGE, (SEX,), lines))).factors, "no factors"),
    ):
        with pytest.raises(GraphError, match=message):
            make()


# ---------------------------------------------------------------------- rows


def test_samples_have_the_moments_of_their_parameters():
    net = fit(GRAPH, gml.MemoryCounter(rows()))
    drawn = sample(net, 200_000, seed=5)
    n = drawn.n_rows
    for line, labels in zip(net.cpd("mass").regressions, CONFIGURATIONS, strict=True):
        age, mass = group(drawn, *labels)
        share = net.cpt("sex").table[0, labels[0]] * net.cpt("site").table[labels]
        assert abs(len(age) / n - share) < 5 * math.sqrt(share / n)
        intercept, slope, sd = least_squares(age, mass)
        scale = line.sd / math.sqrt(len(age))
        assert abs(slope - line.coefficients[0]) < 5 * scale / age.std()
        assert abs(sd - line.sd) < 5 * scale
        assert abs(intercept - line.intercept) < 5 * scale * (1 + age.mean() / age.std())


def test_rows_depend_on_seed_and_place_alone():
    net = fit(GRAPH, gml.MemoryCounter(rows()))
    whole = sample(net, 20_000, threads=1)
    for other in (sample(net, 20_000, threads=3), sample(net, 20_000)):
        for one, two in zip(whole.columns, other.columns, strict=True):
            np.testing.assert_array_equal(one, two)
    part = sample(net, 10, first_row=19_990)
    for one, two in zip(whole.columns, part.columns, strict=True):
        np.testing.assert_array_equal(one[19_990:], two)
    turned = BayesNet(tuple(net.cpds[j] for j in (3, 1, 0, 2)))
    for name, column in zip(turned.names, sample(turned, 100).columns, strict=True):
        np.testing.assert_array_equal(column, whole.columns[whole.index(name)][:100])


def test_interventions_cut_off_labels_and_numbers():
    net = fit(GRAPH, gml.MemoryCounter(rows()))
    frame = gml.sample(net, 1000, do={"sex": "m", "age": 30}).to_frame()
    assert set(frame["sex"]) == {"m"} and set(frame["age"]) == {30.0}
    site = frame["site"].value_counts(normalize=True)["e"]
    assert site == pytest.approx(net.cpt("site").table[1, 1], abs=0.08)
    assert set(gml.sample(net, 10, do={"mass": 3.5}).to_frame()["mass"]) == {3.5}


def test_weights_of_rows_given_labels_and_numbers():
    net = fit(GRAPH, gml.MemoryCounter(rows()))
    drawn = gml.sample(net, 50, evidence={"sex": "f", "mass": 60.0}, weighted=True)
    frame = drawn.to_frame()
    weights = drawn.weights * drawn.unit
    for k, (site, age) in enumerate(zip(frame["site"], frame["age"], strict=True)):
        line = net.cpd("mass").regressions[SITE.levels.index(site)]
        z = (60.0 - line.intercept - line.coefficients[0] * age) / line.sd
        density = math.exp(-0.5 * z * z) / (line.sd * math.sqrt(2 * math.pi))
        expected = net.cpt("sex").table[0, 0] * density
        assert weights[k] == pytest.approx(expected, rel=1e-6, abs=1e-12)


def test_folds_are_judged_by_density():
    from gml.data.resampling import folds
    from gml.model.heldout import held_out

    data = without(rows(), 1, 2, keep=2)
    found = held_out(GRAPH, folds(data, 3, seed=0))
    expected = []
    for train, test in folds(data, 3, seed=0):
        net = fit(GRAPH, gml.MemoryCounter(train), method="bayes", prior="jeffreys")
        expected.append(-net.log_likelihood(test) / test.n)
    assert found.by_split == pytest.approx(expected, rel=1e-12)
    assert math.isfinite(found.loss)


# ---------------------------------------------------------------------- figures


CLG = "A H B C D|A:H F|B:C E|B:D G|A:D:E:F"
PENGUINS = (
    "species sex island|species bill_length_mm|species:sex bill_depth_mm|species:sex "
    "flipper_length_mm|species:sex body_mass_g|species:sex:flipper_length_mm"
)


@pytest.mark.parametrize(
    ("file", "graph", "numbers", "expected", "size"),
    [
        ("simulated/clgaussian.test.csv", CLG, "DEGH", -20074.10787852, 51),
        (
            "real/penguins.csv",
            PENGUINS,
            ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"],
            -5257.16240118,
            63,
        ),
    ],
)
def test_published_likelihoods(shared, file, graph, numbers, expected, size):
    families = [node.split("|") for node in graph.split()]
    edges = [
        (parent, "-->", child)
        for child, *given in families
        for parent in (given[0].split(":") if given else ())
    ]
    dag = gml.Graph.from_edges([family[0] for family in families], edges)
    reading = {"numeric": list(numbers), "columns": list(dag.names), "missing": "drop"}
    data = gml.read(shared / "data" / file, **reading)
    net = gml.fit(data, dag)
    assert net.log_likelihood(data) == pytest.approx(expected, abs=5e-9)
    assert net.n_parameters == size


def test_a_regression_is_a_list_of_one():
    age, mass = Variable("age", None), Variable("mass", None)
    line = LinearGaussian(mass, (age,), 1.0, (2.0,), 3.0, intervals=((0.0, 2.0),) * 3)
    assert line.regressions == (line,) and line.configurations() == [()]
    assert line.number_parents == (age,) and line.label_parents == () and line.unseen == []
    assert line.has_intervals
    other = LinearGaussian(mass, (age,), 0.0, (2.0,), 3.0)
    assert line.with_regressions([other]) is other and not other.has_intervals
    given = ConditionalGaussian(mass, (Variable("sex", ("f", "m")), age), (line, other))
    turned = given.with_regressions([other, line])
    assert turned.regressions == (other, line) and turned.parents == given.parents

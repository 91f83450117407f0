"""Rows of labels and numbers: predictions, answers and draws, against questions one by one."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pandas as pd
import pytest

import gml
from gml.data.dataset import Variable
from gml.errors import CannotAnswer, UsageError
from gml.model.bayesnet import CPT, BayesNet, LinearGaussian
from gml.model.mixed.inference import MixedInference
from gml.model.mixed.mixture import mixture_moments, mixture_quantiles
from gml.model.mixed.rows import MixedRows, moments_of
from gml.model.posterior import posterior_rows
from gml.model.regressions import ConditionalGaussian
from gml.model.sample import draw_rows
from tests.mixed_networks import Enumerated, random_mixed


def rows_with_gaps(rng, net, names, n):
    """Rows of a network as evidence on some nodes: codes and numbers, some missing."""
    data = net.sample(n, seed=int(rng.integers(1000)))
    columns = [data.columns[data.index(name)].astype(np.float64) for name in names]
    values = np.column_stack(columns) if columns else np.empty((n, 0))
    values[rng.random(values.shape) < 0.3] = np.nan
    return values


def evidence_of(net, names, row):
    found = {}
    for name, value in zip(names, row.tolist(), strict=True):
        if not math.isnan(value):
            levels = net.variables[net.index(name)].levels
            found[name] = value if levels is None else levels[int(value)]
    return found


@pytest.mark.parametrize("seed", range(60))
def test_rows_are_questions_one_by_one(seed):
    rng = np.random.default_rng(seed)
    how = [{}, {"exact": 0.3}, {"zeros": 0.3}][seed % 3]
    net = random_mixed(rng, int(rng.integers(1, 5)), int(rng.integers(1, 6)), **how)
    names = [str(name) for name in rng.permutation(net.names)]
    cut = int(rng.integers(1, len(names) + 1))
    targets, observed = names[:cut][:3], names[cut:]
    values = rows_with_gaps(rng, net, observed, 12)
    found = MixedRows(net, targets).of(observed, values)
    moments = {name: moments_of(own) for name, own in found.numbers.items()}
    for k in range(12):
        given = MixedInference(net).given(evidence_of(net, observed, values[k]))
        assert found.log_evidence[k] == pytest.approx(given.log_evidence, rel=1e-10, abs=1e-10)
        for name in targets:
            if name in found.tables:
                np.testing.assert_allclose(
                    found.tables[name][k], given.label(name), rtol=1e-9, atol=1e-12
                )
            else:
                number = given.number(name)
                assert moments[name][0][k] == pytest.approx(number.mean, rel=1e-9, abs=1e-9)
                assert moments[name][1][k] == pytest.approx(number.sd, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_no_answer_depends_on_other_rows(seed):
    rng = np.random.default_rng(seed)
    net = random_mixed(rng, 4, 4)
    asked = MixedRows(net, ["x3", "d2"])
    observed = ["d0", "x0", "x1", "d3", "x2"]
    values = rows_with_gaps(rng, net, observed, 200)
    turn = rng.permutation(200)
    all_rows, turned = asked.of(observed, values), asked.of(observed, values[turn])
    alone = asked.of(observed, values[17:18])
    columns = rng.permutation(len(observed))
    shuffled = asked.of([observed[k] for k in columns], values[:, columns])
    for other, rows in ((turned, turn), (alone, slice(17, 18)), (shuffled, slice(None))):
        np.testing.assert_array_equal(all_rows.log_evidence[rows], other.log_evidence)
        np.testing.assert_array_equal(all_rows.tables["d2"][rows], other.tables["d2"])
        for first, second in zip(
            moments_of(all_rows.numbers["x3"]), moments_of(other.numbers["x3"]), strict=True
        ):
            np.testing.assert_array_equal(first[rows], second)


def clinic():
    """Two labels, two numbers."""
    sex, ill = Variable("sex", ("f", "m")), Variable("ill", ("no", "yes"))
    age, mass = Variable("age", None), Variable("mass", None)
    return BayesNet(
        (
            CPT(sex, (), np.array([[0.4, 0.6]])),
            CPT(ill, (sex,), np.array([[0.9, 0.1], [0.7, 0.3]])),
            LinearGaussian(age, (), 50.0, (), 12.0),
            ConditionalGaussian(
                mass,
                (sex, age, ill),
                tuple(
                    LinearGaussian(mass, (age,), 50.0 + 9 * k, (0.2 + 0.1 * k,), 4.0 + k)
                    for k in range(4)
                ),
            ),
        )
    )


def test_predictions_of_numbers():
    net = clinic()
    frame = net.sample(4000, seed=5).to_frame()
    found = net.predict(frame.drop(columns="ill"), "mass", interval=0.9)
    assert list(found.columns()) == ["mass_predicted", "mass_sd", "mass_lower", "mass_upper"]
    single = gml.query(net, "mass", {"sex": frame["sex"][3], "age": frame["age"][3]}, interval=0.9)[
        "mass"
    ]
    assert found.predicted[3] == pytest.approx(single.mean, rel=1e-12)
    assert found.bounds[3] == pytest.approx(single.interval(0.9), rel=1e-12)
    away = frame["mass"] - found.predicted
    metrics = found.metrics
    assert metrics.root_mean_squared_error == pytest.approx(math.sqrt((away**2).mean()), rel=1e-12)
    # A binomial share of 4000 rows.
    assert abs(metrics.coverage - 0.9) < 4 * math.sqrt(0.9 * 0.1 / 4000)
    losses = [
        -gml.query(net, "mass", {"sex": row.sex, "age": row.age})["mass"].log_density(row.mass)
        for row in frame[:20].itertuples()
    ]
    few = net.predict(frame.drop(columns="ill")[:20], "mass").metrics
    assert few.log_loss == pytest.approx(np.mean(losses), rel=1e-12)
    assert few.coverage is None


def test_predictions_of_labels():
    net = clinic()
    frame = net.sample(3000, seed=6).to_frame()
    found = net.predict(frame, "ill")
    assert found.metrics.rows == 3000
    truth = (frame["ill"] == "yes").to_numpy()
    p = np.where(truth, found.table[:, 1], found.table[:, 0])
    assert found.metrics.log_loss == pytest.approx(-np.log(p).mean(), rel=1e-12)
    with pytest.raises(UsageError, match="'ill' has levels"):
        net.predict(frame, "ill", interval=0.9)


def test_both_kinds_of_targets():
    frame = pd.DataFrame({"sex": ["f", None, "m"], "age": [40.0, 60.0, math.nan]}, index=[5, 6, 7])
    answers = gml.query(clinic(), ["ill", "mass"], batch=frame, interval=0.5)
    table = answers.to_frame()
    assert list(table.index) == [5, 6, 7]
    assert list(table) == [
        "ill=no", "ill=yes", "mass_mean", "mass_sd", "mass_lower", "mass_upper", "log10_p_evidence"
    ]  # fmt: skip
    assert table["ill=yes"][5] == pytest.approx(0.1, rel=1e-12)
    assert answers["ill"].shape == (3, 2)
    assert answers["mass"][0][0] == table["mass_mean"][5]
    nothing = gml.query(clinic(), ["ill", "mass"], batch=frame[:0])
    assert len(nothing) == 0


def test_intervals_of_gaussian_rows():
    x, y = Variable("x", None), Variable("y", None)
    net = BayesNet((LinearGaussian(x, (), 0.0, (), 1.0), LinearGaussian(y, (x,), 1.0, (2.0,), 3.0)))
    frame = pd.DataFrame({"x": [0.0, 1.0], "y": [1.0, 50.0]})
    found = net.predict(frame, "y", interval=0.95)
    z = 1.959963984540054
    np.testing.assert_allclose(found.bounds, [[1 - 3 * z, 1 + 3 * z], [3 - 3 * z, 3 + 3 * z]])
    assert found.metrics.coverage == 0.5


def test_impossible_rows_have_no_answer():
    c, d, x = Variable("c", ("a", "b")), Variable("d", ("a", "b")), Variable("x", None)
    lines = LinearGaussian(x, (), 0.0, (), 0.0), LinearGaussian(x, (), 1.0, (), 1.0)
    net = BayesNet(
        (
            CPT(c, (), np.array([[0.5, 0.5]])),
            CPT(d, (c,), np.eye(2)),
            ConditionalGaussian(x, (c,), lines),
        )
    )
    frame = pd.DataFrame({"d": ["a", "a", "b"], "x": [0.0, 3.0, 3.0]})
    with pytest.warns(UserWarning, match="1 row of evidence of probability 0"):
        found = net.predict(frame, "c")
    assert found.predicted.tolist() == ["a", None, "b"]
    with pytest.warns(UserWarning, match="1 row"):
        numbers = net.predict(pd.DataFrame({"c": ["a", "b"], "d": ["a", "a"]}), "x")
    assert numbers.possible.tolist() == [True, False]


# ---------------------------------------------------------------------- draws


@pytest.mark.parametrize("seed", range(6))
def test_rows_drawn_given_evidence(seed):
    rng = np.random.default_rng(seed)
    net = random_mixed(rng, 3, 4, exact=0.2 if seed % 2 else 0.0)
    truth = net.sample(1, seed=seed)
    evidence = {
        name: value if (levels := net.variables[net.index(name)].levels) is None else levels[value]
        for name in ("x3", "d0")
        for value in (truth.columns[truth.index(name)][0].item(),)
    }
    n = 40_000
    drawn = draw_rows(posterior_rows(net, evidence, seed=seed), n)
    given = MixedInference(net).given(evidence)
    for j, variable in enumerate(net.variables):
        column = drawn.columns[j]
        if variable.name in evidence:
            assert len(np.unique(column)) == 1
        elif variable.levels is None:
            number = given.number(variable.name)
            error = number.sd / math.sqrt(n)
            assert abs(column.mean() - number.mean) <= 5 * error + 1e-9 * abs(number.mean)
            if number.sd > 1e-9:
                below = np.mean(column <= number.quantile(0.3) + 1e-12)
                assert number.cdf(number.quantile(0.3)) == pytest.approx(below, abs=0.02)
        else:
            shares = np.bincount(column, minlength=len(variable.levels)) / n
            np.testing.assert_allclose(shares, given.label(variable.name), atol=5 * 0.5 / n**0.5)


def test_pairs_of_drawn_numbers():
    net = random_mixed(np.random.default_rng(11), 2, 4, p=0.7)
    evidence = {"x3": 0.4}
    n = 60_000
    drawn = draw_rows(posterior_rows(net, evidence, seed=2), n)
    expected = Enumerated(net, evidence)
    names = ["x0", "x1", "x2"]
    columns = np.array([drawn.columns[drawn.index(name)] for name in names])
    centre, covariance = expected.moments(names)
    sizes = np.sqrt(np.diag(covariance))
    assert np.abs(columns.mean(axis=1) - centre).max() < 5 * sizes.max() / math.sqrt(n)
    away = np.cov(columns) - covariance
    assert (np.abs(away) < 20 * np.outer(sizes, sizes) / math.sqrt(n)).all()


def test_weighted_rows_agree_with_exact_ones():
    net = clinic()
    rows = gml.sample(net, 40_000, evidence={"mass": 75.0}, weighted=True, seed=3)
    weights = rows.weights / rows.weights.sum()
    share = weights[rows.columns[rows.index("ill")] == 1].sum()
    assert share == pytest.approx(gml.query(net, "ill", {"mass": 75.0})["ill"]["yes"], abs=0.01)


def test_draws_over_budget_are_refused():
    net = random_mixed(np.random.default_rng(4), 4, 4, p=0.9)
    with pytest.raises(CannotAnswer, match="more than `max_memory` allows"):
        posterior_rows(net, {"x3": 1.0}, max_memory=200)


@pytest.mark.parametrize(
    "targets, what", [(["a", "b"], "the answers to"), (["x"], "the mixtures of")]
)
def test_answers_over_budget_are_refused_before_they_are_made(targets, what):
    net, n, budget = mixture_of_twelve(), 50_000, 800_000
    evidence = np.full((n, 1), np.nan)
    answers = MixedRows(net, targets, max_memory=budget)
    tracemalloc.start()
    with pytest.raises(CannotAnswer, match=f"{what} all rows would take"):
        answers.of(["y"], evidence)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # The patterns of evidence and the answer to which rows are possible, and nothing per component.
    assert peak < budget + 40 * n


def mixture_of_twelve():
    """A number with two labels for parents, and one that no other depends on."""
    a, b = Variable("a", tuple("pqr")), Variable("b", tuple("stuv"))
    x, y = Variable("x", None), Variable("y", None)
    lines = tuple(LinearGaussian(x, (), float(k), (), 1.0) for k in range(12))
    return BayesNet(
        (
            CPT(a, (), np.full((1, 3), 1 / 3)),
            CPT(b, (), np.full((1, 4), 1 / 4)),
            ConditionalGaussian(x, (a, b), lines),
            LinearGaussian(y, (), 0.0, (), 1.0),
        )
    )


def test_what_a_fit_keeps_of_its_rows_takes_no_memory_beside_them():
    net, n = mixture_of_twelve(), 400_000
    rows = net.sample(n, seed=1)
    tracemalloc.start()
    gml.fit(rows, net.graph, threads=1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * n * 12


# ---------------------------------------------------------------------- mixtures


def test_quantiles_of_mixtures_with_points():
    weight = np.array([[0.25, 0.5, 0.25]])
    mean, sd = np.array([[0.0, 1.0, 5.0]]), np.array([[1.0, 0.0, 2.0]])
    assert mixture_quantiles(0.5, weight, mean, sd)[0] == 1.0
    assert mixture_quantiles(0.3, weight, mean, sd)[0] == 1.0
    assert mixture_quantiles(0.01, weight, mean, sd)[0] < 0


@pytest.mark.parametrize("seed", range(20))
def test_quantiles_by_another_root_finder(seed):
    from scipy.optimize import brentq
    from scipy.special import ndtr

    rng = np.random.default_rng(seed)
    k = int(rng.integers(1, 9))
    weight = rng.dirichlet(np.ones(k))
    mean, sd = rng.normal(size=k) * 10.0 ** rng.integers(-3, 6), rng.gamma(1.0, size=k)
    for p in (0.001, 0.05, 0.5, 0.95, 0.999):
        found = mixture_quantiles(p, weight[None], mean[None], sd[None])[0]
        low, high = (mean - 10 * sd).min(), (mean + 10 * sd).max()
        expected = brentq(
            lambda x, p=p: weight @ ndtr((x - mean) / sd) - p, low, high, xtol=1e-14, rtol=1e-15
        )
        reached = weight @ ndtr((found - mean) / sd)
        assert found == pytest.approx(expected, rel=1e-10) or reached == pytest.approx(p, abs=1e-13)
    centre, spread = mixture_moments(weight[None], mean[None], sd[None])
    assert centre[0] == pytest.approx(weight @ mean)
    assert spread[0] == pytest.approx(math.sqrt(weight @ (sd**2 + mean**2) - (weight @ mean) ** 2))

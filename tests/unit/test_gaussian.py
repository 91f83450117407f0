"""Conditioning of networks of numbers: against the usual formula, and where that fails."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from gml.data.dataset import Variable
from gml.errors import CannotAnswer, UsageError
from gml.model.bayesnet import BayesNet, LinearGaussian
from gml.model.evidence import intervene
from gml.model.gaussian import errors_of, gaussian_posterior, means_of_rows
from gml.model.posterior import posterior_rows


def random_gaussian(rng, n):
    variables = [Variable(f"v{j}", None) for j in range(n)]
    cpds = []
    for j in range(n):
        parents = [i for i in range(j) if rng.random() < 0.5]
        cpds.append(
            LinearGaussian(
                variables[j],
                tuple(variables[i] for i in parents),
                float(rng.normal()),
                tuple(rng.normal(size=len(parents)).tolist()),
                float(rng.gamma(2.0)),
            )
        )
    return BayesNet(tuple(cpds[j] for j in rng.permutation(n)))


@pytest.mark.parametrize("seed", range(15))
def test_the_usual_formula(seed):
    rng = np.random.default_rng(seed)
    net = random_gaussian(rng, int(rng.integers(2, 8)))
    mean, factor = errors_of(net)
    covariance = factor @ factor.T
    names = [str(name) for name in rng.permutation(net.names)]
    observed, hidden = names[: len(names) // 2], names[len(names) // 2 :]
    evidence = {name: float(rng.normal()) for name in observed}
    o, h = [net.index(n) for n in observed], [net.index(n) for n in hidden]
    among, across = covariance[np.ix_(o, o)], covariance[np.ix_(h, o)]
    away = np.array(list(evidence.values())) - mean[o]
    found = gaussian_posterior(net, evidence, hidden)
    gain = across @ np.linalg.inv(among) if o else across
    np.testing.assert_allclose(found.mean, mean[h] + gain @ away, rtol=1e-9, atol=1e-9)
    expected = covariance[np.ix_(h, h)] - gain @ across.T
    np.testing.assert_allclose(found.factor @ found.factor.T, expected, rtol=1e-8, atol=1e-9)
    quadratic = away @ np.linalg.solve(among, away) if o else 0.0
    log_density = -0.5 * (
        len(o) * math.log(2 * math.pi) + (np.linalg.slogdet(among)[1] if o else 0) + quadratic
    )
    assert found.log_density == pytest.approx(log_density, rel=1e-9, abs=1e-9)
    values = np.array([[evidence[name] for name in observed], [np.nan] * len(observed)])
    means, deviations = means_of_rows(net, hidden, observed, values)
    np.testing.assert_allclose(means[0], found.mean, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(means[1], mean[h])
    np.testing.assert_allclose(deviations[0], [found.sd(k) for k in range(len(hidden))], rtol=1e-9)


def chain(sd_x, sd_y):
    x, y = Variable("x", None), Variable("y", None)
    return BayesNet(
        (
            LinearGaussian(x, (), 5.0, (), sd_x),
            LinearGaussian(y, (x,), 1.0, (2.0,), sd_y),
        )
    )


def test_a_small_error_beside_a_large_one():
    """A thousand million times the error: the covariance would have lost it."""
    net = chain(1000.0, 5e-4)
    found = gaussian_posterior(net, {"x": 7.0})
    assert found.mean.tolist() == [15.0]
    assert found.sd(0) == pytest.approx(5e-4, rel=1e-9)
    back = gaussian_posterior(net, {"y": 15.0})
    with mpmath.workdps(50):
        vx, vy = mpmath.mpf(1000) ** 2, mpmath.mpf("5e-4") ** 2
        sd = mpmath.sqrt(vx * vy / (4 * vx + vy))
    assert back.sd(0) == pytest.approx(float(sd), rel=1e-9)
    both = gaussian_posterior(net, {"x": 7.0, "y": 15.0005})
    expected = -0.5 * (2 / 1000) ** 2 - 0.5 - math.log(2 * math.pi * 1000 * 5e-4)
    assert both.log_density == pytest.approx(expected, rel=1e-8)
    rows = posterior_rows(net, {"x": 7.0}, seed=1)
    columns = rows.new_columns(20_000)
    rows.drawer()(0, columns)
    assert columns[1].std() == pytest.approx(5e-4, rel=0.03)


def test_what_the_evidence_leaves_of_a_prior_a_million_million_times_as_wide():
    """A chain that grows tenfold at each step, its end observed far out, against mpmath."""
    n = 30
    variables = [Variable(f"v{k:02}", None) for k in range(n)]
    cpds = [LinearGaussian(variables[0], (), 0.0, (), 1.0)]
    for before, now in itertools.pairwise(variables):
        cpds.append(LinearGaussian(now, (before,), 0.0, (10.0,), 1.0))
    found = gaussian_posterior(BayesNet(tuple(cpds)), {"v29": 1e14}, ["v14", "v00"])
    with mpmath.workdps(120):
        a = mpmath.matrix(n, n)
        for i in range(n):
            for k in range(i + 1):
                a[i, k] = mpmath.mpf(10) ** (i - k)
        s = a * a.T
        for name, at in (("v14", 14), ("v00", 0)):
            k = found.names.index(name)
            gain = s[at, 29] / s[29, 29]
            sd = mpmath.sqrt(s[at, at] - gain * s[at, 29])
            assert found.sd(k) == pytest.approx(float(sd), rel=1e-10)
            assert found.mean[k] == pytest.approx(float(gain * mpmath.mpf(10) ** 14), rel=1e-10)
        density = (
            -(mpmath.mpf(10) ** 28) / s[29, 29] / 2 - mpmath.log(2 * mpmath.pi * s[29, 29]) / 2
        )
    assert found.log_density == pytest.approx(float(density), rel=1e-10)


def test_an_intervention_beside_evidence():
    """A node set by hand has no error; the other way of conditioning gives the same."""
    net = chain(2.0, 0.5)
    fixed = intervene(net, {"x": 3.0})
    assert gaussian_posterior(fixed, {"y": 8.0}).sd(0) == 0.0
    third = LinearGaussian(Variable("z", None), (net.variables[1],), 0.0, (1.0,), 1.0)
    wider = BayesNet((*net.cpds, third))
    one = gaussian_posterior(intervene(wider, {"x": 3.0}), {"z": 8.0}, ["y"])
    # y ~ N(7, 0.25), z = y + N(0, 1)
    assert one.mean[0] == pytest.approx(7 + 0.25 / 1.25)
    assert one.sd(0) == pytest.approx(math.sqrt(0.25 / 1.25))


def test_numbers_of_any_size():
    tiny = BayesNet(tuple(LinearGaussian(Variable(n, None), (), 0.0, (), 1e-200) for n in "ab"))
    found = gaussian_posterior(tiny, {"a": 1e-200, "b": 0.0})
    assert found.log_density == pytest.approx(
        -0.5 - math.log(2 * math.pi) + 400 * math.log(10), rel=1e-12
    )
    assert gaussian_posterior(tiny, {"a": 0.0}).sd(0) == pytest.approx(1e-200)


def test_numbers_that_no_double_holds_are_refused():
    variables = [Variable(f"v{k:03}", None) for k in range(320)]
    cpds = [LinearGaussian(variables[0], (), 0.0, (), 1.0)]
    for before, now in itertools.pairwise(variables):
        cpds.append(LinearGaussian(now, (before,), 0.0, (10.0,), 1.0))
    with pytest.raises(CannotAnswer, match=r"beyond 1\.8e308"):
        gaussian_posterior(BayesNet(tuple(cpds)), {"v319": 1.0})


def test_no_order_changes_a_bit():
    rng = np.random.default_rng(4)
    net = random_gaussian(rng, 6)
    turned = BayesNet(tuple(net.cpds[j] for j in rng.permutation(6)))
    values = rng.normal(size=(40, 4))
    values[rng.random(values.shape) < 0.2] = np.nan
    observed = ["v1", "v2", "v3", "v5"]
    mean, sd = means_of_rows(net, ["v0", "v4"], observed, values)
    order = [2, 0, 3, 1]
    again = means_of_rows(turned, ["v0", "v4"], [observed[k] for k in order], values[:, order])
    assert again[0].tolist() == mean.tolist()
    assert again[1].tolist() == sd.tolist()
    alone = means_of_rows(net, ["v0", "v4"], observed, values[7:8])
    assert alone[0].tolist() == mean[7:8].tolist()
    evidence = {"v1": 0.3, "v5": -1.0}
    one, other = (gaussian_posterior(n, evidence, ["v0", "v2"]) for n in (net, turned))
    assert (one.mean.tolist(), one.log_density) == (other.mean.tolist(), other.log_density)


def test_what_follows_exactly_cannot_be_observed_besides():
    net = chain(2.0, 0.0)
    found = gaussian_posterior(net, {"x": 1.0})
    assert (found.mean[0], found.sd(0)) == (3.0, 0.0)
    assert gaussian_posterior(net, {}, ["x", "y"]).r(0, 1) == pytest.approx(1)
    assert found.r(0, 0) is None
    with pytest.raises(CannotAnswer, match="follow exactly"):
        gaussian_posterior(net, {"x": 1.0, "y": 3.0})
    with pytest.raises(UsageError, match="observed and asked for"):
        gaussian_posterior(net, {"x": 1.0}, ["x"])


def test_evidence_that_is_far_beyond_its_mean(tmp_path, capfd):
    """The density of 1e200 has no logarithm that a float could hold; at 1e308 nor has the mean."""
    from gml.cli.main import run

    rows = ["X,Y", *(f"{x},{3 * x + (x % 7) / 10}" for x in range(50))]
    (tmp_path / "d.csv").write_text("\n".join(rows) + "\n")
    (tmp_path / "g.dot").write_text("digraph { X -> Y }")
    model = str(tmp_path / "m.json")
    assert (
        run(
            [
                "fit-params",
                str(tmp_path / "d.csv"),
                str(tmp_path / "g.dot"),
                "--gaussian",
                "-o",
                model,
            ]
        )
        == 0
    )
    assert run(["query", model, "--target", "Y", "--evidence", "X=1e200", "-f", "json"]) == 0
    answer = json.loads(capfd.readouterr().out)
    assert (answer["evidence_density"], answer["log10_evidence_density"]) == (0.0, None)
    assert run(["query", model, "--target", "Y", "--evidence", "X=1e308"]) == 4
    assert (
        capfd.readouterr().err == "gml: error: some means given the evidence are beyond 1.8e308\n"
    )


def exact_posterior(net, evidence):
    """Means, the size of the terms that they are sums of, and standard deviations, in fractions."""
    mean, rows = {}, {}
    for j in net.order():
        cpd = net.cpds[j]
        row = [Fraction(0)] * len(net.names)
        row[j] = Fraction(cpd.sd)
        mean[j] = Fraction(cpd.intercept)
        for parent, coefficient in zip(cpd.parents, map(Fraction, cpd.coefficients), strict=True):
            i = net.index(parent.name)
            mean[j] += coefficient * mean[i]
            row = [a + coefficient * b for a, b in zip(row, rows[i], strict=True)]
        rows[j] = row
    observed = [net.index(name) for name in evidence]

    def product(i, j):
        return sum(a * b for a, b in zip(rows[i], rows[j], strict=True))

    def solved(right):
        lines = [
            [product(i, j) for j in observed] + [b] for i, b in zip(observed, right, strict=True)
        ]
        for k in range(len(lines)):
            swap = next(r for r in range(k, len(lines)) if lines[r][k])
            lines[k], lines[swap] = lines[swap], lines[k]
            for r in range(len(lines)):
                if r != k:
                    share = lines[r][k] / lines[k][k]
                    lines[r] = [a - share * b for a, b in zip(lines[r], lines[k], strict=True)]
        return [line[-1] / line[k] for k, line in enumerate(lines)]

    found = {}
    for j, name in enumerate(net.names):
        if name not in evidence:
            shared = [product(j, i) for i in observed]
            gain = solved(shared)
            terms = [mean[j]]
            for share, i in zip(gain, observed, strict=True):
                terms += [share * Fraction(evidence[net.names[i]]), -share * mean[i]]
            gone = sum(a * b for a, b in zip(shared, gain, strict=True))
            size = float(max(map(abs, terms)))
            found[name] = float(sum(terms)), size, math.sqrt(product(j, j) - gone)
    return found


@pytest.mark.parametrize("seed", range(12))
def test_errors_of_very_different_size(seed):
    """Ten orders of magnitude between the errors, and evidence a million of them away."""
    rng = np.random.default_rng(seed)
    variables = [Variable(f"v{j}", None) for j in range(6)]
    cpds = []
    for j, variable in enumerate(variables):
        parents = tuple(variables[i] for i in range(j) if rng.random() < 0.5)
        slopes = tuple(rng.choice([1.0, -2.5, 1e3, 1e-3], size=len(parents)).tolist())
        intercept, sd = float(rng.choice([0.0, -3.3, 1e6])), float(rng.choice([1e-6, 0.3, 1e4]))
        cpds.append(LinearGaussian(variable, parents, intercept, slopes, sd))
    net = BayesNet(tuple(cpds))
    for names in itertools.combinations(net.names, 2):
        evidence = dict(zip(names, (0.0, 1e6), strict=True))
        found = gaussian_posterior(net, evidence)
        exact = exact_posterior(net, evidence)
        for k, name in enumerate(found.names):
            mean, size, sd = exact[name]
            assert found.sd(k) == pytest.approx(sd, rel=1e-9)
            assert found.mean[k] == pytest.approx(mean, rel=0, abs=1e-5 * max(size, sd))


def test_what_nearly_follows_does_not_hide_what_does_exactly():
    """v0 is all but a multiple of v1: what is left of v2 beside them is magnified rounding."""
    v0, v1, v2 = (Variable(f"v{j}", None) for j in range(3))

    def net(spread, slopes):
        return BayesNet(
            (
                LinearGaussian(v2, (), 0.0, (), spread),
                LinearGaussian(v1, (v2,), 0.0, (0.24327142290597437,), 7.42268630007759),
                LinearGaussian(v0, (v2, v1), 0.0, slopes, 0.0),
            )
        )

    far = net(6.413613828213745, (-1.8838206785189173e-05, 0.21400952156422046))
    with pytest.raises(CannotAnswer, match="follow exactly from others"):
        gaussian_posterior(far, {"v0": 1.0, "v1": 2.0, "v2": 3.0})
    near = net(0.18672506283985163, (0.02179970555715154, 2.3973430263401356))
    found = gaussian_posterior(near, {"v0": 2.3973430263401356, "v1": 1.0})
    assert found.sd(0) == 0
    assert found.mean[0] == pytest.approx(0, abs=1e-12)

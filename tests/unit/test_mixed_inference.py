"""Networks of labels and numbers: every answer against all configurations and dense formulas."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from gml.data.dataset import Variable
from gml.errors import CannotAnswer, UsageError
from gml.model.bayesnet import CPT, BayesNet, LinearGaussian
from gml.model.evidence import intervene
from gml.model.gaussian import gaussian_posterior
from gml.model.inference import Inference
from gml.model.mixed.inference import MixedInference
from gml.model.mixed.moments import posterior_moments
from gml.model.query import best, query
from gml.model.regressions import ConditionalGaussian
from tests.mixed_networks import Enumerated, configurations_of, random_mixed
from tests.networks import random_net


def is_number(net, name):
    return net.variables[net.index(name)].is_continuous


def random_question(rng, net, scale):
    """Evidence on some nodes, and the others."""
    names = [str(name) for name in rng.permutation(net.names)]
    known = int(rng.integers(0, len(names)))
    evidence = {}
    for name in names[:known]:
        levels = net.variables[net.index(name)].levels
        evidence[name] = float(scale * rng.normal()) if levels is None else str(rng.choice(levels))
    return evidence, names[known:]


# Mild ones; improbable levels and far evidence, with weights that no double holds; exact links.
SORTS = {
    "mild": ({}, 1.0),
    "far": ({"zeros": 0.2, "scale": 1000.0}, 3000.0),
    "exact": ({"exact": 0.3}, 2.0),
}


@pytest.mark.parametrize("block", range(10))
@pytest.mark.parametrize("sort", SORTS)
def test_all_configurations(sort, block):
    how, scale = SORTS[sort]
    answered = 0
    for seed in range(40):
        rng = np.random.default_rng([block, seed, len(sort)])
        net = random_mixed(rng, int(rng.integers(1, 5)), int(rng.integers(1, 6)), **how)
        evidence, hidden = random_question(rng, net, scale)
        try:
            expected = Enumerated(net, evidence)
        except (CannotAnswer, ValueError):
            # The dense formulas know no numbers that follow exactly from others.
            continue
        answered += 1
        found = MixedInference(net).given(evidence)
        assert found.log_evidence == pytest.approx(expected.log_evidence, rel=1e-9, abs=1e-9)
        # Shares are differences of logarithms, and have the rounding of these.
        blur = 1e-9 + 1e-14 * abs(expected.log_evidence)
        for name in hidden:
            variable = net.variables[net.index(name)]
            if not variable.is_continuous:
                np.testing.assert_allclose(
                    found.label(name), expected.label(variable), rtol=1e-7, atol=blur
                )
                continue
            weight, mean, sd = expected.mixture(name)
            number = found.number(name)
            size = max(1.0, float(np.abs(mean).max()))
            centre = weight @ mean
            spread = math.sqrt(weight @ (sd**2 + (mean - centre) ** 2))
            assert number.mean == pytest.approx(centre, rel=1e-8, abs=blur * size)
            assert number.sd == pytest.approx(spread, rel=1e-7, abs=10 * blur * size)
    assert answered > 10


@pytest.mark.parametrize("seed", range(60))
def test_numbers_together_and_weak_marginals(seed):
    rng = np.random.default_rng(seed)
    net = random_mixed(rng, 3, 4)
    evidence, hidden = random_question(rng, net, 1.0)
    expected = Enumerated(net, evidence)
    found = MixedInference(net).given(evidence)
    numbers = [name for name in hidden if is_number(net, name)]
    if not numbers:
        return
    centre, covariance = expected.moments(numbers)
    moments = found.numbers_given_labels(numbers)
    np.testing.assert_allclose(moments.mean, centre, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(
        moments.r * np.outer(moments.sd, moments.sd), covariance, rtol=1e-8, atol=1e-9
    )
    ranked = MixedInference(net).ranked
    for k, name in enumerate(numbers):
        weak = posterior_moments(ranked, found.steps(), ranked.rank[name], None)
        assert weak == pytest.approx((centre[k], math.sqrt(covariance[k, k])), rel=1e-8, abs=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_numbers_given_labels(seed):
    rng = np.random.default_rng(seed)
    net = random_mixed(rng, 3, 3)
    evidence = {"x0": 0.5}
    answer = query(net, ["d1", "x2", "d0", "x1"], evidence)
    for row in answer.rows():
        levels = {"d1": row["d1"], "d0": row["d0"]}
        given = Enumerated(net, evidence | levels)
        whole = Enumerated(net, evidence)
        p = math.exp(given.log_evidence - whole.log_evidence)
        assert row["probability"] == pytest.approx(p, rel=1e-9, abs=1e-12)
        centre, covariance = given.moments(["x2", "x1"])
        assert (row["mean(x2)"], row["mean(x1)"]) == pytest.approx(tuple(centre), rel=1e-8)
        sd = np.sqrt(np.diag(covariance))
        assert (row["sd(x2)"], row["sd(x1)"]) == pytest.approx(tuple(sd), rel=1e-8)
        r = covariance[0, 1] / sd[0] / sd[1]
        assert row["r(x2,x1)"] == pytest.approx(r, rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("seed", range(12))
def test_numerical_integration(seed):
    from scipy.integrate import quad
    from scipy.stats import norm

    rng = np.random.default_rng(seed)
    a, x, y = Variable("a", ("n", "y")), Variable("x", None), Variable("y", None)
    p = float(rng.uniform(0.1, 0.9))
    on_x = [(float(rng.normal()), float(rng.gamma(2.0))) for _ in range(2)]
    on_y = [(float(rng.normal()), float(rng.normal()), float(rng.gamma(2.0))) for _ in range(2)]
    net = BayesNet(
        (
            ConditionalGaussian(
                y, (x, a), tuple(LinearGaussian(y, (x,), c, (b,), s) for c, b, s in on_y)
            ),
            CPT(a, (), np.array([[1 - p, p]])),
            ConditionalGaussian(x, (a,), tuple(LinearGaussian(x, (), m, (), s) for m, s in on_x)),
        )
    )
    seen = float(rng.normal())

    def density(value, k):
        m, s = on_x[k]
        c, b, t = on_y[k]
        prior = (1 - p, p)[k]
        return prior * norm.pdf(value, m, s) * norm.pdf(seen, c + b * value, t)

    def integral(weight):
        return [
            quad(
                lambda value, k=k: weight(value) * density(value, k),
                -60,
                60,
                epsabs=1e-13,
                epsrel=1e-12,
                limit=400,
                points=[on_x[k][0]],
            )[0]
            for k in range(2)
        ]

    total = integral(lambda value: 1.0)
    found = MixedInference(net).given({"y": seen})
    assert math.exp(found.log_evidence) == pytest.approx(sum(total), rel=1e-9)
    np.testing.assert_allclose(found.label("a"), np.array(total) / sum(total), rtol=1e-9)
    number = found.number("x")
    mean = sum(integral(lambda value: value)) / sum(total)
    assert number.mean == pytest.approx(mean, rel=1e-8, abs=1e-9)
    second = sum(integral(lambda value: (value - mean) ** 2)) / sum(total)
    assert number.sd == pytest.approx(math.sqrt(second), rel=1e-8)
    median = number.quantile(0.5)
    below = sum(quad(density, -60, median, args=(k,), limit=400)[0] for k in range(2))
    assert below / sum(total) == pytest.approx(0.5, abs=1e-7)


@pytest.mark.parametrize("seed", range(30))
def test_numbers_alone_are_the_gaussian_formulas(seed):
    rng = np.random.default_rng(seed)
    net = random_mixed(rng, 0, int(rng.integers(2, 8)), p=0.5)
    evidence, hidden = random_question(rng, net, 1.0)
    expected = gaussian_posterior(net, evidence, hidden)
    found = MixedInference(net).given(evidence)
    assert found.log_evidence == pytest.approx(expected.log_density, rel=1e-10, abs=1e-10)
    for k, name in enumerate(hidden):
        number = found.number(name)
        assert number.mean == pytest.approx(float(expected.mean[k]), rel=1e-9, abs=1e-10)
        assert number.sd == pytest.approx(expected.sd(k), rel=1e-9)


@pytest.mark.parametrize("seed", range(30))
def test_labels_alone_are_the_tables(seed):
    rng = np.random.default_rng(seed)
    net = random_net(rng, int(rng.integers(2, 8)), zeros=0.2)
    evidence, hidden = random_question(rng, net, 1.0)
    try:
        expected, log_evidence = Inference(net).posterior(evidence, hidden)
    except CannotAnswer:
        with pytest.raises(CannotAnswer, match="probability 0"):
            MixedInference(net).given(evidence)
        return
    found = MixedInference(net).given(evidence)
    assert found.log_evidence == pytest.approx(log_evidence, rel=1e-12, abs=1e-12)
    for name, table in found.label_marginals(hidden).items():
        np.testing.assert_allclose(table, expected[name], rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("seed", range(40))
def test_the_highest_density(seed):
    rng = np.random.default_rng(seed)
    net = random_mixed(rng, 3, 3, zeros=0.2 if seed % 2 else 0.0)
    evidence, hidden = random_question(rng, net, 1.0)
    try:
        expected = Enumerated(net, evidence)
    except ValueError:
        return
    heights = []
    for _, log_p, given in expected.rows:
        n = len(given.names)
        log_volume = np.linalg.slogdet(given.factor @ given.factor.T)[1] if n else 0.0
        heights.append(log_p - 0.5 * n * math.log(2 * math.pi) - 0.5 * log_volume)
    top = int(np.argmax(heights))
    levels, _, given = expected.rows[top]
    found = best(net, None, evidence)
    assert found.log_probability == pytest.approx(
        heights[top] - expected.log_evidence, rel=1e-9, abs=1e-9
    )
    for name in hidden:
        if is_number(net, name):
            value = given.mean[given.names.index(name)]
            assert found[name] == pytest.approx(value, rel=1e-8, abs=1e-9)
        else:
            assert found[name] == levels[name]


@pytest.mark.parametrize("seed", range(20))
def test_the_most_probable_labels(seed):
    rng = np.random.default_rng(seed)
    net = random_mixed(rng, 4, 3)
    evidence = {"x1": 0.3, "d0": "a"}
    expected = Enumerated(net, evidence)
    together = {}
    for (levels, _, _), weight in zip(expected.rows, expected.weights, strict=True):
        key = levels["d2"], levels["d1"]
        together[key] = together.get(key, 0.0) + weight
    found = best(net, ["d2", "d1"], evidence)
    assert (found["d2"], found["d1"]) == max(together, key=together.get)
    assert math.exp(found.log_probability) == pytest.approx(max(together.values()), rel=1e-9)
    with pytest.raises(UsageError, match="'x2' has numbers"):
        best(net, ["d2", "x2"], evidence)


@pytest.mark.parametrize("seed", range(15))
def test_setting_values_cuts_arrows(seed):
    rng = np.random.default_rng(seed)
    net = random_mixed(rng, 3, 4)
    do, evidence = {"x1": 2.0, "d1": "b"}, {"x3": 0.1}
    found = query(net, "x2", evidence, do=do)
    expected = Enumerated(intervene(net, do), evidence)
    weight, mean, _ = expected.mixture("x2")
    assert found["x2"].mean == pytest.approx(float(weight @ mean), rel=1e-9, abs=1e-9)
    assert found.log_evidence == pytest.approx(expected.log_evidence, rel=1e-9)


@pytest.mark.parametrize("seed", range(15))
def test_the_order_of_nodes_changes_no_bit(seed):
    rng = np.random.default_rng(seed)
    net = random_mixed(rng, 4, 4)
    evidence = {"x2": 0.5, "d1": "a", "x0": -1.0}
    turned = BayesNet(tuple(net.cpds[k] for k in rng.permutation(len(net.cpds))))
    backwards = dict(reversed(evidence.items()))
    first = query(net, evidence=evidence)
    second = query(turned, evidence=backwards)
    assert first.log_evidence == second.log_evidence
    by_node = [sorted(answer.rows(), key=str) for answer in (first, second)]
    assert by_node[0] == by_node[1]


# ---------------------------------------------------------------------- exact links


def exact_net():
    """A label c, a number x, and y = x in one configuration, x plus an error in the other."""
    c, x, y = Variable("c", ("exact", "loose")), Variable("x", None), Variable("y", None)
    lines = LinearGaussian(y, (x,), 0.0, (1.0,), 0.0), LinearGaussian(y, (x,), 0.0, (1.0,), 1.0)
    return BayesNet(
        (
            CPT(c, (), np.array([[0.01, 0.99]])),
            LinearGaussian(x, (), 0.0, (), 1.0),
            ConditionalGaussian(y, (c, x), lines),
        )
    )


def test_a_point_is_infinitely_more_probable_than_chance():
    net = exact_net()
    on_point = MixedInference(net).given({"x": 0.3, "y": 0.3})
    assert on_point.label("c").tolist() == [1.0, 0.0]
    off_point = MixedInference(net).given({"x": 0.3, "y": 0.4})
    assert off_point.label("c").tolist() == [0.0, 1.0]
    rounded = MixedInference(net).given({"x": 0.1 + 0.2, "y": 0.3})
    assert rounded.label("c").tolist() == [1.0, 0.0]


def test_evidence_off_the_only_point_is_impossible():
    net = exact_net()
    with pytest.raises(CannotAnswer, match="probability 0"):
        query(net, evidence={"c": "exact", "x": 1.0, "y": 2.0})
    answer = query(net, "x", {"c": "exact", "y": 2.0})
    assert answer["x"].mean == 2.0
    assert answer["x"].sd == 0.0
    assert answer["x"].quantile(0.1) == 2.0
    assert answer["x"].cdf(1.999) == 0.0
    assert answer["x"].cdf(2.0) == 1.0


def test_densities_that_cannot_be_compared():
    with pytest.raises(CannotAnswer, match="'y' varies in some configurations"):
        best(exact_net(), None, {})


def test_a_difference_of_equal_numbers_does_not_vary():
    names = [Variable(name, None) for name in "xyz"]
    x, y, z = names
    c = Variable("c", ("a", "b"))
    net = BayesNet(
        (
            CPT(c, (), np.array([[0.5, 0.5]])),
            ConditionalGaussian(
                x, (c,), tuple(LinearGaussian(x, (), m, (), 0.1) for m in (0.0, 7.0))
            ),
            LinearGaussian(y, (x,), 0.1, (0.3,), 0.0),
            LinearGaussian(z, (x, y), 0.0, (-0.3, 1.0), 0.0),
        )
    )
    found = query(net, ["z", "c"], {"y": 1.0}, each=True)
    assert found["z"].sd == pytest.approx(0.0, abs=1e-15)
    assert found["z"].mean == pytest.approx(0.1, rel=1e-12)
    with pytest.raises(CannotAnswer, match="probability 0"):
        query(net, "c", {"z": 0.2})


def test_weights_that_no_double_holds():
    c, x = Variable("c", ("a", "b", "z")), Variable("x", None)
    lines = tuple(LinearGaussian(x, (), m, (), 1.0) for m in (0.0, 1.0, 2.0))
    net = BayesNet((CPT(c, (), np.array([[0.2, 0.3, 0.5]])), ConditionalGaussian(x, (c,), lines)))
    found = MixedInference(net).given({"x": 1e6})
    expected = math.log(0.5) - 0.5 * (1e6 - 2) ** 2 - 0.5 * math.log(2 * math.pi)
    assert found.log_evidence == pytest.approx(expected, rel=1e-14)
    assert found.label("c").tolist() == [0.0, 0.0, 1.0]
    # The other label is impossible by what else is known, which no scaling may hide.
    d = Variable("d", ("no", "yes"))
    table = np.array([[1.0, 0.0], [0.5, 0.5], [1.0, 0.0]])
    more = BayesNet((*net.cpds, CPT(d, (c,), table)))
    assert MixedInference(more).given({"x": 1e6, "d": "yes"}).label("c").tolist() == [0, 1, 0]


# ---------------------------------------------------------------------- budget


def wide_net(n):
    """Numbers in a chain, each with a label of its own."""
    cpds, before = [], None
    for k in range(n):
        label, number = Variable(f"d{k}", ("a", "b")), Variable(f"x{k}", None)
        on = () if before is None else (before,)
        cpds.append(CPT(label, (), np.array([[0.3, 0.7]])))
        lines = tuple(LinearGaussian(number, on, m, (0.5,) * len(on), 1.0) for m in (0.0, 3.0))
        cpds.append(ConditionalGaussian(number, (label, *on), lines))
        before = number
    return BayesNet(tuple(cpds))


def test_what_does_not_fit_is_refused_before_it_is_made():
    net = wide_net(40)
    with pytest.raises(CannotAnswer, match="more than `max_memory` allows .* bring together"):
        query(net, "d0", {"x39": 1.0})


def test_moments_where_the_mixture_does_not_fit():
    net = wide_net(40)
    with pytest.warns(UserWarning, match="only its mean and sd"):
        answer = query(net, "x39")
    expected = sum(0.5**k * 2.1 for k in range(40))
    variance = sum(0.25**k * (1 + 9 * 0.21) for k in range(40))
    assert answer["x39"].mean == pytest.approx(expected, rel=1e-12)
    assert answer["x39"].sd == pytest.approx(math.sqrt(variance), rel=1e-12)
    assert answer.rows()[0]["50%"] is None
    with pytest.raises(CannotAnswer, match="mixture of 'x39' is not known"):
        answer["x39"].quantile(0.5)
    with pytest.raises(CannotAnswer, match="mixture of 'x39' is not known"):
        query(net, "x39", interval=0.9)
    small = query(wide_net(6), "x5", interval=0.9)["x5"]
    with pytest.warns(UserWarning, match="only its mean and sd"):
        squeezed = query(wide_net(6), "x5", max_memory=1000)["x5"]
    assert (squeezed.mean, squeezed.sd) == pytest.approx((small.mean, small.sd), rel=1e-12)


def test_labels_of_one_level_and_no_hidden_labels():
    c, one = Variable("c", ("a", "b")), Variable("one", ("only",))
    x = Variable("x", None)
    lines = tuple(LinearGaussian(x, (), float(k), (), 1.0) for k in range(2))
    net = BayesNet(
        (
            CPT(c, (one,), np.array([[0.5, 0.5]])),
            CPT(one, (), np.array([[1.0]])),
            ConditionalGaussian(x, (one, c), lines),
        )
    )
    answer = query(net, evidence={"c": "b"})
    assert answer["one"]["only"] == 1.0
    assert answer["x"].mean == 1.0
    assert not answer.is_density
    assert query(net, ["one", "c"]).table.tolist() == [[0.5, 0.5]]
    assert best(net)["one"] == "only"
    assert len(list(configurations_of(net))) == 2


def test_questions_that_make_no_sense():
    net = exact_net()
    for wrong, message in (
        (lambda: query(net, "q"), "node 'q' not found"),
        (lambda: query(net, "x", {"x": 1.0}), "both observed and asked for"),
        (lambda: query(net, ["x", "x"]), "lists a node twice"),
        (lambda: query(net, ["x", "c"], interval=0.9), "each target by itself"),
        (lambda: query(net, "c", interval=0.9), "'c' has levels"),
        (lambda: query(net, "x", interval=1.5), "between 0 and 1"),
    ):
        with pytest.raises(UsageError, match=message):
            wrong()


def test_pairs_of_quantiles_are_roots():
    rng = np.random.default_rng(3)
    net = random_mixed(rng, 3, 3, scale=5.0)
    number = query(net, "x2")["x2"]
    for p in (1e-12, 1e-6, 0.05, 0.5, 0.95, 1 - 1e-6):
        assert number.cdf(number.quantile(p)) == pytest.approx(p, rel=1e-10)
    ends = [number.quantile(p) for p in (0.01, 0.3, 0.7, 0.99)]
    assert all(low < high for low, high in itertools.pairwise(ends))

"""Inference on factors: undirected models need no junction tree of their own."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
import pytest

from gml.data.dataset import Variable
from gml.errors import CannotAnswer, GraphError
from gml.model.bayesnet import BayesNet, LinearGaussian
from gml.model.factor import Factor
from gml.model.inference import Inference
from gml.model.junction_tree import build_tree
from tests.networks import asia

PAIRS = ["ab", "bc", "cd", "da", "ac", "de", "ea"]


@dataclass
class Pairwise:
    """All that inference asks of a model."""

    variables: tuple[Variable, ...]
    factors: tuple[Factor, ...]

    def weights(self):
        """The product of all factors, an axis for each variable."""
        names = [variable.name for variable in self.variables]
        letters = {name: chr(ord("a") + k) for k, name in enumerate(names)}
        terms = ["".join(letters[v.name] for v in factor.scope) for factor in self.factors]
        out = "".join(letters.values())
        ones = [np.ones(len(v.levels)) for v in self.variables]
        return np.einsum(
            ",".join([*terms, *out]) + "->" + out, *(f.table for f in self.factors), *ones
        )


def loop(seed, scale=1.0, zeros=0.0):
    """A loop of four nodes with chords, and a fifth that hangs on two of them."""
    rng = np.random.default_rng(seed)
    variables = {name: Variable(name, tuple("xyz"[: rng.integers(2, 4)])) for name in "ecabd"}
    factors = []
    for pair in PAIRS:
        scope = tuple(variables[name] for name in pair)
        table = scale * rng.gamma(1.0, size=[len(v.levels) for v in scope])
        factors.append(Factor(scope, np.where(rng.random(table.shape) < zeros, 0.0, table)))
    factors.append(Factor((variables["b"],), rng.gamma(1.0, size=len(variables["b"].levels))))
    return Pairwise(tuple(variables.values()), tuple(factors))


def names_of(model):
    return [variable.name for variable in model.variables]


def levels_of(model, codes):
    return {
        variable.name: variable.levels[code]
        for variable, code in zip(model.variables, codes, strict=True)
    }


@pytest.mark.parametrize("zeros", [0.0, 0.15])
@pytest.mark.parametrize("scale", [1.0, 1e-250, 1e250])
@pytest.mark.parametrize("seed", range(6))
def test_an_undirected_model_against_brute_force(seed, scale, zeros):
    model = loop(seed, scale, zeros)
    weights = loop(seed, 1.0, zeros).weights()
    log_scale = len(PAIRS) * math.log(scale)
    inference = Inference(model)
    assert inference.log_z == pytest.approx(math.log(weights.sum()) + log_scale, rel=1e-12)
    joint = weights / weights.sum()
    names = names_of(model)
    for name, found in inference.marginals().items():
        others = tuple(k for k, other in enumerate(names) if other != name)
        np.testing.assert_allclose(found, joint.sum(axis=others), atol=1e-13)
    table, log_evidence = inference.joint(["d", "a"])
    expected = np.einsum("ecabd->da", joint)
    np.testing.assert_allclose(table, expected, atol=1e-13)
    assert log_evidence == 0
    best = inference.mpe()
    assert best.levels == levels_of(model, np.unravel_index(np.argmax(joint), joint.shape))
    assert math.exp(best.log_probability) == pytest.approx(joint.max(), rel=1e-10)


@pytest.mark.parametrize("seed", range(6))
def test_an_undirected_model_given_evidence(seed):
    model = loop(seed, 1e200, zeros=0.1)
    joint = loop(seed, 1.0, zeros=0.1).weights()
    joint /= joint.sum()
    inference = Inference(model)
    names = names_of(model)
    for code in range(2):
        kept = joint[:, code]
        evidence = {"c": "xyz"[code]}
        p = kept.sum()
        assert inference.log_probability(evidence) == pytest.approx(math.log(p), rel=1e-10)
        found, log_p = inference.posterior(evidence, ["a"])
        assert math.exp(log_p) == pytest.approx(p, rel=1e-10)
        np.testing.assert_allclose(found["a"], np.einsum("eabd->a", kept) / p, atol=1e-13)
        best = inference.map(["b", "d"], evidence)
        table = np.einsum("eabd->bd", kept) / p
        assert math.exp(best.log_probability) == pytest.approx(table.max(), rel=1e-10)
        at = [names.index("b"), names.index("d")]
        levels = [model.variables[k].levels for k in at]
        where = np.unravel_index(np.argmax(table), table.shape)
        assert list(best.levels.values()) == [levels[k][code] for k, code in enumerate(where)]
    codes = np.array([[0, 1], [1, -1], [-1, 0], [-1, -1]])
    rows, log_rows = inference.marginals_of_rows(["e"], ["a", "c"], codes)
    for k, (a, c) in enumerate(codes):
        kept = joint[:, slice(None) if c < 0 else [c]][:, :, slice(None) if a < 0 else [a]]
        if kept.sum() == 0:
            assert log_rows[k] == -math.inf
            continue
        np.testing.assert_allclose(
            rows["e"][k], kept.sum(axis=(1, 2, 3, 4)) / kept.sum(), atol=1e-13
        )
        assert math.exp(log_rows[k]) == pytest.approx(kept.sum(), rel=1e-10)


def test_the_order_of_factors_changes_no_bit():
    model = loop(3)
    turned = Pairwise(tuple(reversed(model.variables)), tuple(reversed(model.factors)))
    one, other = (Inference(m).posterior({"c": "x"}) for m in (model, turned))
    assert one[1] == other[1]
    assert {name: p.tolist() for name, p in one[0].items()} == {
        name: other[0][name].tolist() for name in one[0]
    }


def test_the_steps_of_a_posterior_are_its_joint():
    """Drawing from an undirected model needs no other way than from a directed one."""
    model = loop(1)
    joint = model.weights() / model.weights().sum()
    product = np.ones(joint.shape)
    for step in Inference(model).posterior_steps({}):
        axes = [*step.parents, step.node]
        table = step.table.reshape([joint.shape[a] for a in axes]).transpose(np.argsort(axes))
        product *= table.reshape([joint.shape[a] if a in axes else 1 for a in range(joint.ndim)])
    np.testing.assert_allclose(product, joint, atol=1e-13)


def test_a_variable_in_no_factor_is_uniform():
    a, b = Variable("a", ("x", "y")), Variable("b", ("u", "v", "w"))
    model = Pairwise((a, b), (Factor((a,), np.array([3.0, 1.0])),))
    inference = Inference(model)
    assert inference.log_z == pytest.approx(math.log(12))
    found, log_p = inference.posterior({"b": "v"})
    assert found["a"].tolist() == [0.75, 0.25]
    assert math.exp(log_p) == pytest.approx(1 / 3)
    assert inference.marginals()["b"] == pytest.approx([1 / 3] * 3)


def test_no_configuration_has_weight():
    a = Variable("a", ("x", "y"))
    factors = (Factor((a,), np.array([1.0, 0.0])), Factor((a,), np.array([0.0, 1.0])))
    with pytest.raises(CannotAnswer, match="the factors exclude everything"):
        Inference(Pairwise((a,), factors)).marginals()


def test_factors_of_a_network():
    net = asia()
    assert Inference(net).log_z == 0
    assert [factor.scope[-1] for factor in net.factors] == list(net.variables)
    loose = Pairwise(net.variables, tuple(Factor(f.scope, f.table) for f in net.factors))
    given = {"asia": "yes", "dysp": "yes"}
    one, other = Inference(net).posterior(given), Inference(loose).posterior(given)
    assert other[1] == pytest.approx(one[1], rel=1e-12)
    for name, table in one[0].items():
        np.testing.assert_allclose(other[0][name], table, atol=1e-13)


def test_conditional_factors_that_are_no_network_are_not_left_out():
    """Two tables in the same variable, or in a circle, do not add up to 1."""
    a, b = Variable("a", ("x", "y")), Variable("b", ("u", "v"))
    forth = Factor((a, b), np.array([[0.9, 0.1], [0.2, 0.8]]), conditional=True)
    back = Factor((b, a), np.array([[0.5, 0.5], [0.1, 0.9]]), conditional=True)
    expected = (forth.table * back.table.T).sum()
    assert Inference(Pairwise((a, b), (forth, back))).log_z == pytest.approx(math.log(expected))
    twice = Pairwise((a,), tuple(Factor((a,), np.array([0.3, 0.7]), True) for _ in range(2)))
    assert math.exp(Inference(twice).log_z) == pytest.approx(0.09 + 0.49)


def test_a_network_of_numbers_has_no_factors():
    net = BayesNet((LinearGaussian(Variable("a", None), (), 0.0, (), 1.0),))
    with pytest.raises(GraphError, match="no factors"):
        _ = net.factors
    with pytest.raises(GraphError, match="no factors"):
        Inference(net)


A, B, N = Variable("a", ("x", "y")), Variable("b", ("u",)), Variable("n", None)


@pytest.mark.parametrize(
    ("scope", "table", "message"),
    [
        ((A, A), np.ones((2, 2)), "lists a variable twice"),
        ((A, B), np.ones((1, 2)), "must be 2 x 1, not 1 x 2"),
        ((A,), np.array([1.0, -1.0]), "negative or not finite"),
        ((A,), np.array([1.0, math.nan]), "negative or not finite"),
        ((A,), np.array([1.0, math.inf]), "negative or not finite"),
        ((A, N), np.ones((2, 1)), "'n' has numbers"),
    ],
)
def test_no_factor(scope, table, message):
    with pytest.raises(GraphError, match=message):
        Factor(scope, table)


def test_a_factor_cannot_be_changed():
    mine = np.ones(2)
    factor = Factor((A,), mine)
    with pytest.raises(ValueError, match="read-only"):
        factor.table[0] = 2
    mine[0] = 3


def test_groups_are_eliminated_one_after_the_other():
    """Numbers before labels, say: whatever min-fill would rather do."""
    scopes = [list(pair) for pair in itertools.pairwise(range(6))]
    groups = [[1, 3, 5], [0, 2, 4]]
    order = [clique[-1] for clique in build_tree(scopes, [2] * 6, groups).cliques]
    assert set(order[:3]) == set(groups[0])
    assert set(order[3:]) == set(groups[1])
    tree = build_tree(scopes, [2] * 6, groups[:1], kept=groups[1])
    assert tree.cliques[-1] == (0, 2, 4)
    assert tree.parents == (3, 3, 3, -1)


# ---------------------------------------------------------------- what does not fit together


X0, X1 = Variable("x0", ("0", "1")), Variable("x1", ("0", "1"))
PAIR = Factor((X0, X1), np.array([[1.0, 2.0], [3.0, 4.0]]))


@pytest.mark.parametrize(
    ("second", "said"),
    [
        (Variable("x1", ("1", "0")), "the levels of 'x1' are different in a factor"),
        (Variable("x1", ("0", "1", "2")), "the levels of 'x1' are different in a factor"),
        (Variable("x2", ("0", "1")), "variable 'x1' not found"),
    ],
)
def test_factors_are_over_the_variables_of_the_model(second, said):
    with pytest.raises(GraphError, match=said):
        Inference(Pairwise((X0, second), (PAIR,)))


def test_factors_that_exclude_everything_have_no_probabilities():
    nothing = Inference(Pairwise((X0, X1), (Factor((X0, X1), np.zeros((2, 2))),)))
    for ask in (nothing.marginals, lambda: nothing.log_probability({"x0": "0"})):
        with pytest.raises(CannotAnswer):
            ask()


def test_a_conditional_factor_adds_up_to_1():
    with pytest.raises(GraphError, match="is conditional, but does not add up to 1 over 'x1'"):
        Factor((X0, X1), np.array([[1.0, 3.0], [2.0, 4.0]]), conditional=True)


def test_a_factor_may_be_a_number():
    assert Factor((), np.array(2.0)).table.shape == ()

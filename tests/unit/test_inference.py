"""Exact inference equals brute-force enumeration."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from gml.data.dataset import Variable
from gml.errors import CannotAnswer, UsageError
from gml.graph.triangulation import eliminate_by_min_fill
from gml.model.bayesnet import CPT, BayesNet
from gml.model.inference import Inference, most_probable
from tests.networks import asia, given, joint_of, marginal, random_evidence, random_net


@pytest.fixture(params=["compiled", "reference"])
def any_kernel(request, monkeypatch):
    import gml.kernel
    from gml.kernel import reference

    if request.param == "reference":
        monkeypatch.setattr(gml.kernel, "_loaded", reference)
    else:
        monkeypatch.setattr(gml.kernel, "_loaded", pytest.importorskip("gml.kernel._kernel"))


@pytest.mark.parametrize("seed", range(40))
def test_posteriors_are_those_of_the_joint(seed, any_kernel):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 9))
    net = random_net(rng, n, p=0.5, zeros=0.3 * (seed % 2))
    joint = joint_of(net)
    evidence = random_evidence(rng, net, n)
    kept = given(net, joint, evidence)
    p = kept.sum()
    inference = Inference(net)
    if p == 0:
        assert inference.log_probability(evidence) == -math.inf
        with pytest.raises(CannotAnswer, match="probability 0"):
            inference.marginals(evidence)
        return
    assert inference.log_probability(evidence) == pytest.approx(math.log(p), rel=1e-10, abs=1e-12)
    marginals, log_p = inference.posterior(evidence)
    assert log_p == pytest.approx(math.log(p), rel=1e-10, abs=1e-12)
    assert set(marginals) == set(net.names) - set(evidence)
    for name, found in marginals.items():
        np.testing.assert_allclose(found, marginal(kept, [net.index(name)]) / p, atol=1e-13)
        alone = inference.marginals(evidence, [name])[name]
        np.testing.assert_allclose(alone, found, atol=1e-13)
    hidden = [name for name in net.names if name not in evidence]
    targets = [str(name) for name in rng.permutation(hidden)[:3]] if hidden else []
    if targets:
        table, log_p = inference.joint(targets, evidence)
        expected = marginal(kept, [net.index(name) for name in targets]) / p
        np.testing.assert_allclose(table, expected, atol=1e-13)
        assert log_p == pytest.approx(math.log(p), rel=1e-10, abs=1e-12)


@pytest.mark.parametrize("seed", range(30))
def test_best_explanations(seed, any_kernel):
    rng = np.random.default_rng(100 + seed)
    n = int(rng.integers(2, 9))
    net = random_net(rng, n, p=0.5, zeros=0.2 * (seed % 2))
    evidence = random_evidence(rng, net, n // 2)
    kept = given(net, joint_of(net), evidence)
    if kept.sum() == 0:
        return
    inference = Inference(net)
    found = inference.mpe(evidence)
    best = np.unravel_index(np.argmax(kept), kept.shape)
    expected = {
        name: net.variables[j].levels[best[j]]
        for j, name in enumerate(net.names)
        if name not in evidence
    }
    assert found.levels == expected
    assert found.log_probability == pytest.approx(math.log(kept.max() / kept.sum()), abs=1e-10)
    assert found.log_evidence == pytest.approx(math.log(kept.sum()), abs=1e-10)
    targets = [str(name) for name in rng.permutation(list(expected))[:2]]
    table = marginal(kept, [net.index(name) for name in targets])
    best = np.unravel_index(np.argmax(table), table.shape)
    found = inference.map(targets, evidence)
    assert found.levels == {
        name: net.variables[net.index(name)].levels[code]
        for name, code in zip(targets, best, strict=True)
    }
    assert found.log_probability == pytest.approx(math.log(table.max() / kept.sum()), abs=1e-10)


def test_marginal_map_is_not_the_margin_of_the_mpe():
    a, b = Variable("a", ("x", "y")), Variable("b", ("1", "2", "3"))
    net = BayesNet(
        (
            CPT(a, (), np.array([[0.6, 0.4]])),
            CPT(b, (a,), np.array([[1 / 3, 1 / 3, 1 / 3], [1.0, 0.0, 0.0]])),
        )
    )
    inference = Inference(net)
    assert inference.mpe().levels == {"a": "y", "b": "1"}
    assert inference.map(["a"]).levels == {"a": "x"}
    assert math.exp(inference.map(["a"]).log_probability) == pytest.approx(0.6)


def test_a_larger_network():
    rng = np.random.default_rng(5)
    net = random_net(rng, 12, p=0.3)
    joint = joint_of(net)
    for _ in range(10):
        evidence = random_evidence(rng, net, 4)
        kept = given(net, joint, evidence)
        found = Inference(net).marginals(evidence)
        for name, table in found.items():
            expected = marginal(kept, [net.index(name)]) / kept.sum()
            np.testing.assert_allclose(table, expected, atol=1e-12)
        assert Inference(net).mpe(evidence).log_probability == pytest.approx(
            math.log(kept.max() / kept.sum()), abs=1e-10
        )


def test_all_evidence_patterns_of_asia():
    """Every one of the 3^8 ways to observe some of the nodes, as rows and one by one."""
    net = asia()
    joint = joint_of(net)
    rows = np.array(list(itertools.product((-1, 0, 1), repeat=8)), dtype=np.int64)
    inference = Inference(net)
    for target in ("lung", "asia"):
        axis = net.index(target)
        rest = [name for name in net.names if name != target]
        asked = rows[rows[:, axis] == -1]
        codes = np.delete(asked, axis, axis=1)
        found, log_p = inference.marginals_of_rows([target], rest, codes)
        for k, row in enumerate(asked):
            kept = joint[tuple(slice(None) if c < 0 else slice(c, c + 1) for c in row)]
            p = kept.sum()
            if p == 0:
                assert log_p[k] == -math.inf
                assert np.isnan(found[target][k]).all()
                continue
            assert log_p[k] == pytest.approx(math.log(p), rel=1e-9, abs=1e-12)
            np.testing.assert_allclose(found[target][k], marginal(kept, [axis]) / p, atol=1e-13)


def test_rows_do_not_depend_on_other_rows(any_kernel):
    """Many rows, one row and one question agree, the first two to the last bit."""
    rng = np.random.default_rng(8)
    net = random_net(rng, 6, p=0.5, names=list("abcdef"))
    observed = list("bcdef")
    sizes = [len(net.variables[net.index(name)].levels) for name in observed]
    codes = np.array([[rng.integers(-1, s) for s in sizes] for _ in range(300)], dtype=np.int64)
    assert (codes >= 0).all(axis=1).sum() > 5
    many, log_many = Inference(net).marginals_of_rows(["a"], observed, codes)
    for k in range(len(codes)):
        one, log_one = Inference(net).marginals_of_rows(["a"], observed, codes[k : k + 1])
        assert one["a"][0].tolist() == many["a"][k].tolist()
        assert log_one[0] == log_many[k]
        evidence = {
            name: net.variables[net.index(name)].levels[code]
            for name, code in zip(observed, codes[k], strict=True)
            if code >= 0
        }
        np.testing.assert_allclose(
            Inference(net).marginals(evidence, ["a"])["a"], many["a"][k], atol=1e-14
        )


def test_published_posteriors_of_asia():
    """Lauritzen & Spiegelhalter 1988: prior marginals, and given a visit to Asia and dyspnoea."""
    inference = Inference(asia())
    prior = {name: float(p[0]) for name, p in inference.marginals().items()}
    assert prior == pytest.approx(
        {
            "asia": 0.01, "tub": 0.0104, "smoke": 0.5, "lung": 0.055, "bronc": 0.45,
            "either": 0.064828, "xray": 0.11029004, "dysp": 0.4359706,
        },
        abs=1e-12,
    )  # fmt: skip
    evidence = {"asia": "yes", "dysp": "yes"}
    posterior, log_p = inference.posterior(evidence)
    assert math.exp(log_p) == pytest.approx(0.004501375, rel=1e-9)
    assert posterior["lung"][0] == pytest.approx(0.09952515, abs=5e-9)
    assert posterior["bronc"][0] == pytest.approx(0.8114021, abs=5e-8)
    assert posterior["tub"][0] == pytest.approx(0.08775096, abs=5e-9)


def test_improbable_evidence_does_not_underflow():
    """A thousand observations of probability 1e-3 each."""
    levels = ("a", "b")
    root = Variable("root", levels)
    cpts = [CPT(root, (), np.array([[0.5, 0.5]]))]
    for k in range(1000):
        child = Variable(f"c{k}", levels)
        cpts.append(CPT(child, (root,), np.array([[0.999, 0.001], [0.999, 0.001]])))
    inference = Inference(BayesNet(tuple(cpts)))
    posterior, log_p = inference.posterior({f"c{k}": "b" for k in range(1000)})
    assert log_p == pytest.approx(1000 * math.log(0.001), rel=1e-12)
    assert posterior["root"].tolist() == [0.5, 0.5]


@pytest.mark.parametrize("share", [1e-50, 1e-200, 1e-307])
def test_a_few_tiny_factors_do_not_underflow(share, any_kernel):
    """Two to eight observations whose product no double holds."""
    levels = ("x", "y")
    root = Variable("root", levels)
    cpts = [CPT(root, (), np.array([[0.5, 0.5]]))]
    for k in range(8):
        table = np.array([[share, 1 - share], [share / 10, 1 - share / 10]])
        cpts.append(CPT(Variable(f"c{k}", levels), (root,), table))
    inference = Inference(BayesNet(tuple(cpts)))
    for n in (2, 8):
        evidence = {f"c{k}": "x" for k in range(n)}
        posterior, log_p = inference.posterior(evidence)
        assert posterior["root"][1] / posterior["root"][0] == pytest.approx(10.0**-n, rel=1e-9)
        expected = n * math.log(share) + math.log(0.5 * (1 + 10.0**-n))
        assert log_p == pytest.approx(expected, rel=1e-12)
        assert inference.mpe(evidence).levels["root"] == "x"
    # Factors whose largest numbers do not meet
    a = np.array([[1.0 - share, share]])
    b = np.array([[share, 1 - share], [1 - share, share]])
    net = BayesNet((CPT(root, (), a), CPT(Variable("c", levels), (root,), b)))
    odds = Inference(net).marginals({"c": "x"})["root"]
    assert odds.tolist() == pytest.approx([0.5, 0.5])


def test_what_the_largest_hides_is_found_when_that_is_excluded(any_kernel):
    """240 features speak for a, by 10^470, and one excludes it."""
    h = Variable("h", ("a", "b"))
    no_yes = ("0", "1")
    cpts = [CPT(h, (), np.array([[0.5, 0.5]]))]
    for k in range(240):
        cpts.append(CPT(Variable(f"f{k}", no_yes), (h,), np.array([[0.1, 0.9], [0.99, 0.01]])))
    z, w = Variable("z", no_yes), Variable("w", no_yes)
    cpts.append(CPT(z, (h,), np.array([[1.0, 0.0], [0.5, 0.5]])))
    cpts.append(CPT(w, (h,), np.array([[0.5, 0.5], [0.25, 0.75]])))
    inference = Inference(BayesNet(tuple(cpts)))
    evidence = {f"f{k}": "1" for k in range(240)} | {"z": "1"}
    expected = 2 * math.log(0.5) + 240 * math.log(0.01)
    posterior, log_p = inference.posterior(evidence)
    assert log_p == pytest.approx(expected, rel=1e-12)
    assert posterior["h"].tolist() == [0.0, 1.0]
    assert posterior["w"].tolist() == pytest.approx([0.25, 0.75])
    assert inference.log_probability(evidence) == pytest.approx(expected, rel=1e-12)
    best = inference.mpe(evidence)
    assert best.levels == {"h": "b", "w": "1"}
    assert math.exp(best.log_probability) == pytest.approx(0.75)
    table, _ = inference.joint(["w", "h"], evidence)
    np.testing.assert_allclose(table, [[0.0, 0.25], [0.0, 0.75]], atol=1e-12)
    drawn = {step.node: step.table for step in inference.posterior_steps(evidence)}
    assert all(table.sum(axis=1) == pytest.approx(1) for table in drawn.values())
    names = [*evidence, "w"]
    codes = np.array([[1] * 241 + [-1], [1] * 241 + [0], [1] * 240 + [0, -1]], dtype=np.int64)
    rows, log_rows = inference.marginals_of_rows(["h"], names, codes)
    assert rows["h"].tolist()[:2] == [[0.0, 1.0], [0.0, 1.0]]
    assert log_rows[0] == pytest.approx(expected, rel=1e-12)
    assert rows["h"][2][0] == pytest.approx(1)


def test_a_wide_network_is_refused_before_it_is_computed():
    """Forty parents of one child each pair: the clique has all of them."""
    rng = np.random.default_rng(0)
    levels = ("a", "b")
    nodes = [Variable(f"x{j:02}", levels) for j in range(40)]
    cpts = [CPT(v, (), np.array([[0.5, 0.5]])) for v in nodes]
    for i, j in itertools.combinations(range(40), 2):
        table = rng.dirichlet([1, 1], 4)
        cpts.append(CPT(Variable(f"y{i}_{j}", levels), (nodes[i], nodes[j]), table))
    inference = Inference(BayesNet(tuple(cpts)), max_memory=1 << 30)
    with pytest.raises(CannotAnswer, match="treewidth is 39"):
        inference.marginals()
    # What is asked may need little: the children have no say in their parents.
    assert inference.marginals(targets=["x00"])["x00"].tolist() == [0.5, 0.5]


def test_the_order_of_nodes_changes_no_bit():
    rng = np.random.default_rng(3)
    net = random_net(rng, 9, p=0.5)
    turned = BayesNet(tuple(net.cpds[j] for j in rng.permutation(9)))
    evidence = {"n3": net.variables[3].levels[0]}
    one, other = Inference(net).marginals(evidence), Inference(turned).marginals(evidence)
    assert {name: p.tolist() for name, p in one.items()} == {
        name: other[name].tolist() for name in one
    }


def test_ties_go_to_the_first_level():
    half = np.array([[0.5, 0.5]])
    net = BayesNet(tuple(CPT(Variable(name, ("u", "v")), (), half) for name in "ab"))
    assert Inference(net).mpe().levels == {"a": "u", "b": "u"}
    assert most_probable(np.array([[0.5, 0.5 + 1e-16], [0.1, 0.9]])).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda i: i.marginals({"lungs": "yes"}), "did you mean 'lung'"),
        (lambda i: i.marginals({"lung": "Yes"}), "'lung' has no level 'Yes'; did you mean 'yes'?"),
        (lambda i: i.marginals({"lung": "yes"}, ["lung"]), "observed and asked for"),
        pytest.param(
            lambda i: i.joint(["lung", "lung"]), "lists a node twice", id="<lambda>-named twice"
        ),
        (lambda i: i.map(["nobody"]), "node 'nobody' not found"),
    ],
)
def test_wrong_questions(call, message):
    with pytest.raises(UsageError, match=message):
        call(Inference(asia()))


def test_everything_observed():
    net = asia()
    evidence = dict.fromkeys(net.names, "yes")
    joint = joint_of(net)[(0,) * 8]
    marginals, log_p = Inference(net).posterior(evidence)
    assert marginals == {}
    assert math.exp(log_p) == pytest.approx(joint, rel=1e-12)
    found = Inference(net).mpe(evidence)
    assert found.levels == {}
    assert found.log_probability == pytest.approx(0, abs=1e-12)


def test_nodes_of_one_level_are_no_axes(any_kernel):
    """A hundred certain parents make a clique of a hundred nodes and one cell."""
    only, two = ("only",), ("a", "b")
    parents = tuple(Variable(f"p{k:03}", only) for k in range(100))
    child, grandchild = Variable("child", two), Variable("z", two)
    net = BayesNet(
        (
            *(CPT(parent, (), np.ones((1, 1))) for parent in parents),
            CPT(child, parents, np.array([[0.3, 0.7]])),
            CPT(grandchild, (child, parents[0]), np.array([[0.9, 0.1], [0.2, 0.8]])),
        )
    )
    inference = Inference(net)
    found, log_p = inference.posterior({"z": "a"})
    assert math.exp(log_p) == pytest.approx(0.41)
    assert found["child"][0] == pytest.approx(0.27 / 0.41)
    assert found["p050"].tolist() == [1.0]
    table, _ = inference.joint(["p001", "child", "p000"])
    assert table.shape == (1, 2, 1)
    assert table.reshape(-1) == pytest.approx([0.3, 0.7])
    assert inference.joint(["p001", "p000"])[0].tolist() == [[1.0]]
    best = inference.mpe({"z": "a"}).levels
    assert best["child"] == "a"
    assert best["p099"] == "only"
    assert inference.map(["p000"], {"z": "a"}).levels == {"p000": "only"}
    names = [parent.name for parent in parents]
    codes = np.full((40, 101), -1, dtype=np.int64)
    codes[np.arange(40), np.arange(40)] = 0
    codes[1:, 100] = 1
    rows, log_rows = inference.marginals_of_rows(["child"], [*names, "z"], codes)
    assert rows["child"][0] == pytest.approx([0.3, 0.7])
    assert rows["child"][5] == pytest.approx([0.03 / 0.59, 0.56 / 0.59])
    assert log_rows[0] == pytest.approx(0, abs=1e-15)
    drawn = {step.node for step in inference.posterior_steps({"z": "a"})}
    assert drawn == set(range(101))


def test_min_fill_adds_no_edge_to_a_chordal_graph():
    """A tree of cliques is eliminated without fill, whatever the numbers of its nodes."""
    rng = np.random.default_rng(1)
    for _ in range(20):
        label = rng.permutation(12).tolist()
        cliques = [[label[k], label[k + 1], label[k + 2]] for k in range(0, 10, 2)]
        order = eliminate_by_min_fill(cliques, [2] * 12, [range(12)])
        assert max(found.neighbours.bit_count() for found in order) == 2
        assert sorted(found.node for found in order) == list(range(12))


def test_posterior_steps_are_a_network_of_the_posterior():
    rng = np.random.default_rng(6)
    net = random_net(rng, 7, p=0.5)
    evidence = random_evidence(rng, net, 3)
    kept = given(net, joint_of(net), evidence)
    product = np.ones_like(kept)
    done = {net.index(name) for name in evidence}
    for step in Inference(net).posterior_steps(evidence):
        assert set(step.parents) <= done | set(step.parents) & done
        done.add(step.node)
        axes = [*step.parents, step.node]
        order = np.argsort(axes)
        table = step.table.reshape([kept.shape[a] for a in axes]).transpose(order)
        product = product * table.reshape(
            [kept.shape[a] if a in axes else 1 for a in range(kept.ndim)]
        )
    mask = given(net, np.ones_like(kept), evidence)
    np.testing.assert_allclose(product * mask, kept / kept.sum(), atol=1e-13)

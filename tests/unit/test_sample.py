"""Rows drawn from networks have the law that the network says."""

from __future__ import annotations

import io
import itertools
import math

import numpy as np
import pytest

from gml import kernel
from gml.data.dataset import Variable, missing_mask
from gml.errors import CannotAnswer, GmlWarning, UsageError
from gml.kernel.plan import TableStep
from gml.model.bayesnet import CPT, BayesNet, LinearGaussian
from gml.model.evidence import intervene
from gml.model.gaussian import errors_of
from gml.model.posterior import posterior_rows
from gml.model.sample import Rows, csv_chunks, network_rows, sample, sampling_plan

N = 1_000_000


def random_net(n_nodes, seed, *, most_levels=4, most_parents=3):
    """A network in shuffled node order, some of whose probabilities are 0."""
    rng = np.random.default_rng(seed)
    variables = [
        Variable(f"v{j}", tuple(f"l{k}" for k in range(rng.integers(2, most_levels + 1))))
        for j in range(n_nodes)
    ]
    cpts = []
    for j, variable in enumerate(variables):
        chosen = rng.permutation(j)[: rng.integers(0, most_parents + 1)]
        parents = tuple(variables[k] for k in chosen)
        rows = math.prod(len(parent.levels) for parent in parents)
        table = rng.dirichlet(np.ones(len(variable.levels)), rows)
        table[rng.random(table.shape) < 0.1] = 0
        table[table.sum(axis=1) == 0, 0] = 1
        cpts.append(CPT(variable, parents, table / table.sum(axis=1, keepdims=True)))
    return BayesNet(tuple(cpts[j] for j in rng.permutation(n_nodes)))


def log_p(counts, probabilities):
    """ln p of Pearson's test that counts have these probabilities, small cells put together.

    None if fewer than two cells are left.
    """
    assert not counts[probabilities == 0].any()
    expected = counts.sum() * probabilities
    large = expected >= 5
    observed, expected = (
        np.append(values[large], values[~large].sum()) for values in (counts, expected)
    )
    if expected[-1] < 5:
        most = int(np.argmax(expected))
        observed[most] += observed[-1]
        expected[most] += expected[-1]
        observed, expected = observed[:-1], expected[:-1]
    if len(expected) < 2:
        return None
    statistic = ((observed - expected) ** 2 / expected).sum()
    df = np.array([len(expected) - 1.0])
    return float(kernel.active().log_chi2_upper(np.array([statistic]), df)[0])


def configurations(net, cpt, columns):
    index = np.zeros(len(columns[0]), dtype=np.int64)
    for parent in cpt.parents:
        index = index * len(parent.levels) + columns[net.index(parent.name)]
    return index


@pytest.mark.parametrize(("n_nodes", "seed"), [(5, 1), (37, 2), (37, 3)])
def test_every_row_of_every_table_fits(n_nodes, seed):
    net = random_net(n_nodes, seed)
    data = sample(net, N, seed=seed)
    found = []
    for j, cpt in enumerate(net.cpds):
        joint = configurations(net, cpt, data.columns) * cpt.n_levels + data.columns[j]
        counts = np.bincount(joint, minlength=cpt.table.size).reshape(cpt.table.shape)
        found += [log_p(*pair) for pair in zip(counts, cpt.table, strict=True)]
    tested = [p for p in found if p is not None]
    assert len(tested) > 2 * n_nodes
    # With a fixed seed this fails always or never; for a random one it would in one of 1000 runs.
    assert min(tested) > math.log(0.001 / len(tested))
    # And they are p-values: not all of them near 1 either.
    below = np.count_nonzero(np.array(tested) < math.log(0.5))
    assert abs(below - len(tested) / 2) < 5 * math.sqrt(len(tested) / 4)


def joint_of(net):
    """The joint table of a small network, axes in node order."""
    shape = tuple(len(variable.levels) for variable in net.variables)
    joint = np.ones(shape)
    for codes in itertools.product(*map(range, shape)):
        for j, cpt in enumerate(net.cpds):
            row = 0
            for parent in cpt.parents:
                row = row * len(parent.levels) + codes[net.index(parent.name)]
            joint[codes] *= cpt.table[row, codes[j]]
    return joint


def test_the_joint_distribution_fits():
    net = random_net(4, 5, most_levels=3)
    data = sample(net, N, seed=9)
    joint = joint_of(net)
    cells = np.ravel_multi_index(data.columns, joint.shape)
    counts = np.bincount(cells, minlength=joint.size)
    assert log_p(counts, joint.reshape(-1)) > math.log(0.001)


def test_rows_do_not_hang_together():
    """Consecutive rows are independent."""
    net = random_net(3, 6, most_levels=3)
    data = sample(net, N, seed=4)
    joint = joint_of(net).reshape(-1)
    cells = np.ravel_multi_index(data.columns, joint_of(net).shape)
    pairs = np.bincount(cells[::2] * joint.size + cells[1::2], minlength=joint.size**2)
    expected = np.outer(joint, joint).reshape(-1)
    assert log_p(pairs, expected) > math.log(0.001)


def test_a_cell_depends_on_seed_row_and_name_alone():
    net = random_net(12, 7)
    whole = sample(net, 40_000, seed=3, threads=1)
    for threads in (2, 3, 8):
        again = sample(net, 40_000, seed=3, threads=threads)
        assert all(map(np.array_equal, again.columns, whole.columns))
    part = sample(net, 5000, seed=3, first_row=8000)
    assert all(
        np.array_equal(a, b[8000:13000]) for a, b in zip(part.columns, whole.columns, strict=True)
    )
    other_order = BayesNet(tuple(reversed(net.cpds)))
    reordered = sample(other_order, 40_000, seed=3).select(whole.names)
    assert all(map(np.array_equal, reordered.columns, whole.columns))
    other_seed = sample(net, 40_000, seed=4)
    assert not all(map(np.array_equal, other_seed.columns, whole.columns))
    assert whole.variables == net.variables


def text_of(rows, n, **options):
    return b"".join(bytes(piece) for piece in csv_chunks(rows, n, **options))


@pytest.mark.parametrize("n", [0, 1, 8192, 8193, 50_000])
def test_text_is_what_the_dataset_has(n):
    import pandas as pd

    net = random_net(6, 8)
    texts = {text_of(network_rows(net, seed=1), n, threads=threads) for threads in (1, 2, 5)}
    assert len(texts) == 1
    frame = pd.read_csv(io.BytesIO(texts.pop()), dtype=str)
    assert tuple(frame.columns) == net.names
    data = sample(net, n, seed=1)
    for j, variable in enumerate(net.variables):
        levels = np.array(variable.levels)
        assert frame[variable.name].tolist() == levels[data.columns[j]].tolist()


def test_pieces_stay_small_when_labels_are_long():
    label = "x" * 100_000
    net = BayesNet((CPT(Variable("v", (label, "y")), (), np.array([[0.5, 0.5]])),))
    pieces = [len(piece) for piece in csv_chunks(network_rows(net), 100, threads=2)]
    assert len(pieces) > 2
    assert max(pieces) < 5_000_000


def test_intervention_cuts_the_node_from_its_parents():
    rain, wet, slips = (Variable(name, ("no", "yes")) for name in ("rain", "wet", "slips"))
    net = BayesNet(
        (
            CPT(rain, (), np.array([[0.8, 0.2]])),
            CPT(wet, (rain,), np.array([[0.9, 0.1], [0.2, 0.8]])),
            CPT(slips, (wet,), np.array([[0.99, 0.01], [0.7, 0.3]])),
        )
    )
    plain = sample(net, N)
    done = sample(intervene(net, {"wet": "yes"}), N)
    assert (done.columns[1] == 1).all()
    assert np.array_equal(done.columns[0], plain.columns[0])
    assert log_p(np.bincount(done.columns[2]), np.array([0.7, 0.3])) > math.log(0.001)
    assert net.cpt("wet").table.shape == (2, 2)
    for values in ({"wet": "maybe"}, {"wt": "yes"}, {"wet": 1.0}):
        with pytest.raises(UsageError):
            intervene(net, values)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_weights_estimate_the_probability_of_the_evidence(seed):
    net = random_net(5, 20 + seed, most_levels=3)
    joint = joint_of(net)
    codes = np.unravel_index(int(np.argmax(joint)), joint.shape)
    evidence = {net.names[j]: net.variables[j].levels[codes[j]] for j in (0, 3)}
    exact = joint[codes[0], :, :, codes[3]].sum()
    rows = network_rows(net, seed=seed, weighted=evidence)
    columns = rows.new_columns(N)
    weights = rows.drawer()(0, columns)
    assert (columns[0] == codes[0]).all()
    assert abs(weights.mean() - exact) <= 5 * weights.std() / math.sqrt(N) + 1e-12
    # A posterior too: that of node 1.
    posterior = joint[codes[0], :, :, codes[3]].sum(axis=(1, 2)) / exact
    for level, p in enumerate(posterior):
        residuals = weights * ((columns[1] == level) - p)
        assert abs(residuals.mean()) <= 5 * residuals.std() / math.sqrt(N) + 1e-12
    lines = text_of(rows, 5000, threads=2).decode().splitlines()
    assert lines[0].split(",") == [*net.names, "weight"]
    assert [float(line.rsplit(",", 1)[1]) for line in lines[1:]] == weights[:5000].tolist()


def test_weights_that_are_all_zero_are_warned_of():
    a, b = Variable("a", ("0", "1")), Variable("b", ("0", "1"))
    net = BayesNet(
        (CPT(a, (), np.array([[1.0, 0.0]])), CPT(b, (a,), np.array([[1.0, 0.0], [0.5, 0.5]])))
    )
    with pytest.warns(GmlWarning, match="all weights are 0"):
        text = text_of(network_rows(net, weighted={"b": "1"}), 3, threads=1)
    assert text == b"a,b,weight\n" + b"0,1,0.0\n" * 3


def test_a_node_named_weight_is_no_place_for_weights():
    weight = Variable("weight", ("0", "1"))
    net = BayesNet((CPT(weight, (), np.array([[0.5, 0.5]])),))
    text_of(network_rows(net), 3)
    with pytest.raises(UsageError, match="weight"):
        network_rows(net, weighted={"weight": "1"})


def test_any_plan_can_be_drawn():
    """Steps whose parents are not those of the network, as of a posterior."""
    net = random_net(3, 31, most_levels=3)
    joint = joint_of(net)
    level = int(np.argmax(joint.sum(axis=(0, 2))))
    evidence = {net.names[1]: net.variables[1].levels[level]}
    given = joint[:, level, :] / joint[:, level, :].sum()
    last = given.sum(axis=0)
    first = (given / np.where(last > 0, last, 1)).T
    steps = [TableStep(2, (), last[None, :]), TableStep(0, (2,), np.ascontiguousarray(first))]
    plan = sampling_plan(net, seed=5, steps=steps, observed=evidence)
    rows = Rows(net.variables, plan, 5)
    columns = rows.new_columns(N)
    assert rows.drawer()(0, columns) is None
    assert (columns[1] == level).all()
    counts = np.bincount(columns[0] * given.shape[1] + columns[2], minlength=given.size)
    assert log_p(counts, given.reshape(-1)) > math.log(0.001)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_rows_given_evidence_are_exact(seed):
    net = random_net(5, 50 + seed, most_levels=3)
    joint = joint_of(net)
    codes = np.unravel_index(int(np.argmax(joint)), joint.shape)
    evidence = {net.names[j]: net.variables[j].levels[codes[j]] for j in (1, 4)}
    rows = posterior_rows(net, evidence, seed=seed)
    columns = rows.new_columns(N)
    rows.drawer()(0, columns)
    assert (columns[1] == codes[1]).all()
    assert (columns[4] == codes[4]).all()
    given = joint[:, codes[1], :, :, codes[4]]
    cells = np.ravel_multi_index([columns[j] for j in (0, 2, 3)], given.shape)
    counts = np.bincount(cells, minlength=given.size)
    assert log_p(counts, given.reshape(-1) / given.sum()) > math.log(0.001 / 3)


def test_impossible_evidence():
    a, b = Variable("a", ("0", "1")), Variable("b", ("0", "1"))
    net = BayesNet((CPT(a, (), np.array([[1.0, 0.0]])), CPT(b, (a,), np.array([[1.0, 0], [0, 1]]))))
    for evidence in ({"b": "1"}, {"a": "0", "b": "1"}):
        with pytest.raises(CannotAnswer):
            posterior_rows(net, evidence)
    everything = text_of(posterior_rows(net, {"a": "0", "b": "0"}), 2)
    assert everything == b"a,b\n0,0\n0,0\n"
    with pytest.raises(UsageError):
        posterior_rows(net, {"b": "2"})


def test_missing_cells():
    net = random_net(4, 40)
    whole, holed = sample(net, N, seed=2), sample(net, N, seed=2, missing_rate=0.3)
    masks = [missing_mask(column) for column in holed.columns]
    for mask, a, b in zip(masks, whole.columns, holed.columns, strict=True):
        assert abs(mask.mean() - 0.3) < 5 * math.sqrt(0.21 / N)
        assert np.array_equal(a[~mask], b[~mask])
        # Missing at random: whatever the cell held.
        assert abs(mask[a == a[0]].mean() - 0.3) < 5 * math.sqrt(0.21 / np.sum(a == a[0]))
    assert abs((masks[0] & masks[1]).mean() - 0.09) < 5 * math.sqrt(0.09 / N)
    assert all(missing_mask(c).all() for c in sample(net, 100, missing_rate=1.0).columns)
    one = BayesNet((CPT(Variable("a", ("x",)), (), np.array([[1.0]])),))
    assert text_of(network_rows(one, missing_rate=1.0), 2) == b'a\n""\n""\n'
    empty = BayesNet((CPT(Variable("a", ("", "x")), (), np.array([[0.5, 0.5]])),))
    assert set(text_of(network_rows(empty), 50).split(b"\n")[1:-1]) == {b'""', b"x"}
    with pytest.raises(UsageError, match="level of 'a'"):
        network_rows(empty, missing_rate=0.1)


# ---------------------------------------------------------------------- numbers


@pytest.fixture
def gaussian():
    x, y, z = (Variable(name, None) for name in "xyz")
    return BayesNet(
        (
            LinearGaussian(z, (x, y), 1.0, (2.0, -1.0), 0.5),
            LinearGaussian(y, (x,), -3.0, (0.5,), 2.0),
            LinearGaussian(x, (), 10.0, (), 1.5),
        )
    )


def test_moments(gaussian):
    data = sample(gaussian, N, seed=1)
    z, y, x = data.columns
    assert data.names == ("z", "y", "x")
    errors = [(x - 10) / 1.5, (y - (-3 + 0.5 * x)) / 2, (z - (1 + 2 * x - y)) / 0.5]
    for e in errors:
        for power, moment, variance in [(1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96)]:
            assert abs((e**power).mean() - moment) < 5 * math.sqrt(variance / N)
    for a, b in itertools.combinations(errors, 2):
        assert abs((a * b).mean()) < 5 / math.sqrt(N)
    edges = kernel.active().normal_quantile(np.arange(1, 100) / 100)
    counts = np.bincount(np.searchsorted(edges, errors[0]), minlength=100)
    assert log_p(counts, np.full(100, 0.01)) > math.log(0.001)


def test_numbers_read_back(gaussian):
    texts = {text_of(network_rows(gaussian, seed=1), 9000, threads=threads) for threads in (1, 3)}
    assert len(texts) == 1
    lines = texts.pop().decode().splitlines()
    assert lines[0] == "z,y,x"
    read = np.array([[float(field) for field in line.split(",")] for line in lines[1:]])
    assert np.array_equal(read.T, np.array(sample(gaussian, 9000, seed=1).columns))
    assert lines[1] == ",".join(map(repr, read[0].tolist()))


def test_numbers_set_by_hand_observed_and_missing(gaussian):
    done = sample(intervene(gaussian, {"y": 7.25}), N, seed=3)
    assert (done.columns[1] == 7.25).all()
    error = done.columns[0] - (1 + 2 * done.columns[2] - 7.25)
    assert abs(error.std() - 0.5) < 0.005
    rows = network_rows(gaussian, seed=3, weighted={"y": 2.5})
    weights = rows.drawer()(0, rows.new_columns(N))
    variance = 0.25 * 2.25 + 4
    density = math.exp(-((2.5 - 2) ** 2) / 2 / variance) / math.sqrt(2 * math.pi * variance)
    assert abs(weights.mean() - density) < 5 * weights.std() / math.sqrt(N)
    text = text_of(network_rows(gaussian, seed=3, missing_rate=0.5, weighted={"y": 2.5}), 2000)
    fields = [line.split(",") for line in text.decode().splitlines()[1:]]
    assert 0.45 < np.mean([[not cell for cell in row[:3]] for row in fields]) < 0.55
    assert all(row[3] for row in fields)
    one = BayesNet((LinearGaussian(Variable("x", None), (), 0.0, (), 1.0),))
    assert text_of(network_rows(one, missing_rate=1.0), 2) == b'x\n""\n""\n'
    with pytest.raises(UsageError, match="numbers"):
        intervene(gaussian, {"y": "high"})
    constant = intervene(gaussian, {"y": 1.0})
    with pytest.raises(UsageError, match="does not vary"):
        network_rows(constant, weighted={"y": 1.0})


def test_numbers_given_evidence(gaussian):
    mean, factor = errors_of(gaussian)
    covariance = factor @ factor.T
    data = np.array(sample(gaussian, N, seed=6).columns)
    spread = np.sqrt(np.diag(covariance) / N)
    assert (np.abs(data.mean(axis=1) - mean) < 5 * spread).all()
    np.testing.assert_allclose(np.cov(data), covariance, rtol=0.02, atol=0.02)
    rows = posterior_rows(gaussian, {"z": 20.0}, seed=6)
    columns = rows.new_columns(N)
    rows.drawer()(0, columns)
    assert (columns[0] == 20).all()
    gain = covariance[1:, 0] / covariance[0, 0]
    given = covariance[1:, 1:] - np.outer(gain, covariance[0, 1:])
    found = np.array(columns[1:])
    expected = mean[1:] + gain * (20 - mean[0])
    assert (np.abs(found.mean(axis=1) - expected) < 5 * np.sqrt(np.diag(given) / N)).all()
    np.testing.assert_allclose(np.cov(found), given, rtol=0.02, atol=0.02)
    # What follows exactly from the evidence does not vary, and cannot be observed besides.
    x, y = Variable("x", None), Variable("y", None)
    copy = BayesNet((LinearGaussian(x, (), 0, (), 1.0), LinearGaussian(y, (x,), 1.0, (2.0,), 0.0)))
    rows = posterior_rows(copy, {"y": 5.0})
    columns = rows.new_columns(10)
    rows.drawer()(0, columns)
    np.testing.assert_allclose(columns[0], 2.0, rtol=1e-14)
    with pytest.raises(CannotAnswer, match="follow exactly"):
        posterior_rows(copy, {"x": 2.0, "y": 5.0})


def test_numbers_out_of_range():
    net = BayesNet((LinearGaussian(Variable("x", None), (), 0.0, (), 1.7e308),))
    with pytest.raises(CannotAnswer, match="'x'"), np.errstate(over="ignore"):
        text_of(network_rows(net), 1000, threads=1)

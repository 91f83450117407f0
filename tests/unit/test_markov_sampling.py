"""Rows of undirected models: exact or by Gibbs sampling, and whether chains have converged."""

from __future__ import annotations

import math

import numpy as np
import pytest

import gml
from gml.data.dataset import Variable
from gml.errors import CannotAnswer, UsageError
from gml.model.inference import Inference
from gml.model.markovnet import MarkovNet
from gml.model.sample import csv_chunks, draw_rows
from gml.model.undirected.chains import sampling
from gml.model.undirected.chains.annealing import annealed_log_z
from gml.model.undirected.chains.convergence import convergence, effective_samples, split_r_hat
from gml.model.undirected.chains.sampling import GibbsSettings, gibbs_stream, markov_rows
from gml.model.undirected.potential import Potential
from gml.model.undirected.terms import Terms
from gml.progress import Reporter, reporting_to
from tests.lattices import free_lattice_moments, lattice_net

A, B, C = Variable("A", ("n", "y")), Variable("B", ("x", "y", "z")), Variable("C", ("n", "y"))
QUICK = GibbsSettings(chains=64)


def random_model(seed=0, *, order=(0, 1, 2)):
    """A model of three variables with a term over all, and a cell that is impossible."""
    rng = np.random.default_rng(seed)
    variables = (A, B, C)
    whole = rng.normal(0, 0.7, (2, 3, 2))
    whole[0, 0, 0] = -np.inf
    parts = (Potential(variables, whole), Potential((A, B), rng.normal(0, 1, (2, 3))))
    return MarkovNet(tuple(variables[k] for k in order), parts)


class Told(Reporter):
    """Keeps what is told."""

    def __init__(self):
        self.messages = []

    def tell(self, message):
        self.messages.append(message)


def told(work):
    """What work returns, and what it says."""
    reporter = Told()
    with reporting_to(reporter):
        found = work()
    return found, " ".join(map(str, reporter.messages))


def assert_law(rows, net, evidence=None):
    """Counts of rows agree with the joint distribution, by Pearson's statistic."""
    names = [v.name for v in net.variables if v.name not in (evidence or {})]
    wanted, _ = Inference(net).joint(names, evidence)
    columns = {v.name: column for v, column in zip(rows.variables, rows.columns, strict=True)}
    counts = np.zeros(wanted.shape)
    np.add.at(counts, tuple(columns[name] for name in names), 1)
    expected = wanted * counts.sum()
    possible = expected > 0
    assert not counts[~possible].any()
    statistic = ((counts - expected)[possible] ** 2 / expected[possible]).sum()
    df = int(possible.sum()) - 1
    # Beyond this lies less than a thousandth of the law, for up to eleven degrees of freedom.
    assert statistic < df + 3.1 * math.sqrt(2 * df) + 6


@pytest.mark.parametrize("gibbs", [None, QUICK], ids=["exact", "Gibbs"])
@pytest.mark.parametrize("evidence", [None, {"B": "z"}, {"A": "n", "C": "n"}])
def test_rows_have_the_law_of_the_model(gibbs, evidence):
    net = random_model()
    rows, said = told(lambda: sampling.sample(net, 20_000, evidence=evidence, gibbs=gibbs, seed=5))
    assert_law(rows, net, evidence)
    assert [v.name for v in rows.variables] == ["A", "B", "C"]
    assert said.startswith("rows are drawn exactly" if gibbs is None else "rows are drawn by Gibbs")


def frame(rows):
    return rows.to_frame()[["A", "B", "C"]].to_numpy().tolist()


@pytest.mark.parametrize("gibbs", [None, QUICK], ids=["exact", "Gibbs"])
def test_more_rows_begin_with_the_same_ones(gibbs):
    """Neither the number of rows, nor threads, nor the order of columns changes a row; a seed does."""
    net = random_model()
    whole = sampling.sample(net, 1000, gibbs=gibbs, seed=3)
    assert frame(sampling.sample(net, 150, gibbs=gibbs, seed=3)) == frame(whole)[:150]
    assert frame(sampling.sample(net, 1000, gibbs=gibbs, seed=3, threads=3)) == frame(whole)
    turned = random_model(order=(2, 0, 1))
    assert frame(sampling.sample(turned, 1000, gibbs=gibbs, seed=3)) == frame(whole)
    assert frame(sampling.sample(net, 1000, gibbs=gibbs, seed=4)) != frame(whole)


def test_text_has_the_rows_of_the_table_and_a_stream_can_start_again():
    rows = markov_rows(random_model(), gibbs=QUICK, seed=1, missing_rate=0.1)
    table = draw_rows(rows, 20_000)
    text = b"".join(bytes(part) for part in csv_chunks(rows, 20_000, threads=2)).decode()
    levels = [[*v.levels, ""] for v in table.variables]
    lines = ["A,B,C"] + [
        ",".join(levels[j][-1 if code == 255 else code] for j, code in enumerate(row))
        for row in zip(*table.columns, strict=True)
    ]
    assert text.splitlines() == lines
    share = np.mean([(column == 255).mean() for column in table.columns])
    assert abs(share - 0.1) < 4 * math.sqrt(0.09 / 60_000)


def test_without_room_for_the_junction_tree_chains_are_run():
    net = lattice_net(6, 0.2)
    rows, said = told(lambda: markov_rows(net, max_memory=1000, seed=2))
    assert "by Gibbs sampling: 256 chains after" in said
    assert "the worst R̂ is 1.00" in said
    drawn = draw_rows(rows, 20_000)
    _, means = free_lattice_moments(6, 0.2)
    products = [1 - 2.0 * (drawn.columns[a] ^ drawn.columns[b]).mean() for a, b in sorted(means)]
    wanted = np.array([means[pair] for pair in sorted(means)])
    errors = np.sqrt((1 - wanted**2) / 20_000)
    # Of 60 normal scores, one is beyond 4 in 1 run of 260.
    assert np.abs((products - wanted) / errors).max() < 4


def test_rows_of_chains_are_nearly_independent():
    """The stated thinning leaves few correlations from one row of a chain to its next."""
    net = lattice_net(6, 0.35)
    rows = markov_rows(net, gibbs=GibbsSettings(chains=256), seed=4)
    drawn = draw_rows(rows, 256 * 200)
    states = np.stack(drawn.columns).reshape(36, 200, 256).transpose(1, 0, 2)
    found = convergence(net.terms, states)
    assert found.r_hat < 1.005
    assert found.samples > 0.8 * found.draws


def test_chains_that_do_not_mix_are_refused():
    net = lattice_net(5, 1.5)
    with pytest.raises(
        CannotAnswer, match=r"not converged after 7880 sweeps of 64 chains: the worst R̂ is (inf|\d)"
    ):
        markov_rows(net, gibbs=GibbsSettings(chains=64, burn_in=200))


def test_chains_without_a_possible_state_are_refused():
    never = np.array([[0.0, -np.inf], [-np.inf, -np.inf]])
    net = MarkovNet((A, C), (Potential((A, C), never),))
    with pytest.raises(CannotAnswer, match="8 of 8 chains have found no possible state"):
        gibbs_stream(net, {"A": "y"}, settings=GibbsSettings(chains=8, burn_in=4))


def test_a_burn_in_is_not_refused_because_few_sweeps_were_judged():
    """64 states of half a chain have an R̂ of 1.01 if a state is worth less than half a draw."""
    net = lattice_net(2, 0.6)
    stream = gibbs_stream(net, settings=GibbsSettings(burn_in=100))
    assert stream.burn_in == 100
    assert stream.convergence.r_hat <= 1.01
    # The time is that of sweeps, however many lie between the states.
    assert stream.thin == pytest.approx(gibbs_stream(net).thin, rel=0.3)


def test_settings_that_make_no_sense():
    for name, least in (("burn_in", 1), ("thin", 1), ("chains", 4)):
        with pytest.raises(UsageError, match=f"{name}.* must be at least {least}"):
            GibbsSettings(**{name: 0})


def test_few_chains_are_judged_by_more_states():
    stream = gibbs_stream(random_model(), settings=GibbsSettings(chains=4))
    assert stream.convergence.draws == 1 << 15
    assert stream.convergence.r_hat < 1.005


def test_settings_are_used():
    stream = gibbs_stream(random_model(), settings=GibbsSettings(burn_in=300, thin=7, chains=32))
    assert (stream.burn_in, stream.thin, stream.chains.n_chains) == (300, 7, 32)


def test_the_front_door():
    net = random_model()
    assert frame(gml.sample(net, 50, seed=2)) == frame(net.sample(50, seed=2))
    with pytest.raises(UsageError, match="do.* no arrows to cut"):
        gml.sample(net, 5, do={"A": "y"})
    with pytest.raises(UsageError, match="weighted.* need no weights"):
        gml.sample(net, 5, evidence={"A": "y"}, weighted=True)
    with pytest.raises(UsageError, match="has no level 'q'"):
        gml.sample(net, 5, evidence={"A": "q"})
    with pytest.raises(CannotAnswer, match="probability 0"):
        gml.sample(net, 5, evidence={"A": "n", "B": "x", "C": "n"})
    directed = gml.fit("sample_data/asia.csv", "sample_data/asia.dot")
    with pytest.raises(UsageError, match="thin.* is for undirected models"):
        gml.sample(directed, 5, thin=3)


# ---------------------------------------------------------------------- convergence


def autoregressive(rng, n_draws, n_chains, correlation):
    """Chains of two values that stay with a probability, whose lag-t correlation is its power."""
    states = np.empty((n_draws, n_chains), dtype=np.int64)
    states[0] = rng.integers(0, 2, n_chains)
    for t in range(1, n_draws):
        fresh = rng.integers(0, 2, n_chains)
        states[t] = np.where(rng.random(n_chains) < correlation, states[t - 1], fresh)
    return states[None].astype(np.float64)


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9])
def test_the_effective_sample_size_of_known_chains(correlation):
    """(1 − ρ)/(1 + ρ) of the draws, on average over repetitions."""
    rng = np.random.default_rng(1)
    n = 400 * 64
    found = [effective_samples(autoregressive(rng, 400, 64, correlation))[0] / n for _ in range(12)]
    wanted = (1 - correlation) / (1 + correlation)
    error = np.std(found, ddof=1) / math.sqrt(len(found))
    assert abs(np.mean(found) - wanted) < 3 * error + 0.02 * wanted


def test_r_hat_by_its_definition():
    rng = np.random.default_rng(2)
    series = rng.normal(size=(1, 11, 3)) + np.array([0, 0, 1.5])
    halves = [series[0, part, chain] for chain in range(3) for part in (slice(0, 5), slice(6, 11))]
    within = np.mean([half.var(ddof=1) for half in halves])
    between = 5 * np.var([half.mean() for half in halves], ddof=1)
    wanted = math.sqrt((4 / 5 * within + between / 5) / within)
    assert split_r_hat(series)[0] == pytest.approx(wanted, rel=1e-12)


def test_chains_that_drift_or_stay_apart_are_seen():
    terms = Terms.of([A, C], [["A", "C"]])
    rng = np.random.default_rng(3)
    even = rng.integers(0, 2, (100, 2, 16))
    assert convergence(terms, even).r_hat < 1.02
    drifting = even.copy()
    drifting[50:] |= rng.integers(0, 2, (50, 2, 16))
    assert convergence(terms, drifting).r_hat > 1.05
    # Each is even for itself, and only together they stay apart.
    tied = even.copy()
    tied[:, 1, :8], tied[:, 1, 8:] = tied[:, 0, :8], 1 - tied[:, 0, 8:]
    # Shares of ½ and 0: W = ⅛ and the variance of the means 1/16.
    assert convergence(terms, tied).r_hat == pytest.approx(math.sqrt(1.5), abs=0.03)
    assert convergence(Terms.of([A, C], []), tied).r_hat < 1.02


def test_moments_that_never_vary_say_nothing():
    found = convergence(Terms.of([A], []), np.zeros((10, 1, 4), dtype=np.uint8))
    assert (found.r_hat, found.samples, found.autocorrelation_time) == (1.0, 40.0, 1.0)


# ---------------------------------------------------------------------- annealing


@pytest.mark.parametrize("seed", range(3))
def test_annealing_agrees_with_inference(seed):
    """Terms of two and three variables, several levels, and an impossible cell."""
    net = random_model(seed)
    terms = net.terms
    scopes = [(0, 1, 2), (0, 1)]
    tables = [potential.table for potential in net.potentials]
    wanted = Inference(net).log_z + net.log_scale
    found = annealed_log_z(terms, scopes, tables, steps=200, seed=seed)
    assert abs(found.log_z - wanted) < 3.5 * found.error < 0.05
    again = annealed_log_z(terms, scopes, tables, steps=200, seed=seed, threads=2)
    assert again == found


def test_annealing_without_interactions_is_exact():
    rng = np.random.default_rng(0)
    terms = Terms.of([A, B, C], [])
    tables = [rng.normal(0, 2, size) for size in terms.sizes]
    found = annealed_log_z(terms, terms.generators, tables, steps=5, chains=16)
    wanted = math.fsum(math.log(np.exp(table).sum()) for table in tables)
    assert found.log_z == pytest.approx(wanted, abs=1e-12)
    assert found.error < 1e-12
    assert found.samples == pytest.approx(16)


def test_annealing_of_nothing_possible_and_out_of_time():
    terms = Terms.of([A, C], [["A", "C"]])
    with pytest.raises(CannotAnswer, match="possible state"):
        annealed_log_z(terms, [(0, 1)], [np.full((2, 2), -np.inf)], steps=3)
    with pytest.raises(CannotAnswer, match="max_seconds.* passed at step 1 of 7"):
        annealed_log_z(terms, [], [], steps=7, deadline=gml.progress.Deadline(0))

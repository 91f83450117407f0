"""Persistent contrastive divergence finds the maximum of the likelihood, within its errors."""

import csv
from itertools import combinations, product

import numpy as np
import pytest

import gml
from gml.data.dataset import Dataset, Variable
from gml.errors import CannotAnswer, UsageError
from gml.formats.moment_trace import written_moment_trace
from gml.model.undirected.chains import contrastive
from gml.model.undirected.chains.contrastive import fit_contrastive
from gml.model.undirected.chains.gibbs import GibbsChains
from gml.model.undirected.chains.moment_checks import ExactMoments
from gml.model.undirected.chains.moment_gaps import bonferroni_bound, largest_margin_gap
from gml.model.undirected.chains.moments import ChainMoments
from gml.model.undirected.coefficients import Coefficients
from gml.model.undirected.exact.fit_exact import fit_exact
from gml.model.undirected.fitting import Penalty
from gml.model.undirected.observed import observed_margins, tables_over
from gml.model.undirected.pseudo.likelihood import fit_pseudo
from gml.model.undirected.pseudo.start import pseudo_start
from gml.model.undirected.terms import Terms
from gml.progress import Deadline
from tests.log_linear_fits import counter_of_table


def drawn(sizes, scopes, n, seed):
    """A random model over a few variables, and rows drawn from it by enumeration."""
    rng = np.random.default_rng(seed)
    variables = tuple(Variable(f"x{k}", tuple("abcd"[:size])) for k, size in enumerate(sizes))
    terms = Terms.of(variables, [[f"x{k}" for k in scope] for scope in scopes])
    coefficients = Coefficients(terms)
    vector = rng.normal(0, 0.35, coefficients.size)
    cells = np.array(list(product(*map(range, sizes))))
    weights = np.exp(ChainMoments(coefficients).each(cells.T) @ vector)
    counts = rng.multinomial(n, weights / weights.sum())
    columns = tuple(np.repeat(column, counts).astype(np.uint8) for column in cells.T)
    return Dataset(variables, columns), terms, vector


def newton(data, terms, *, l2=0.0, smoothing=0.0):
    """The maximum of the likelihood by enumeration, and the covariance of its features."""
    coefficients = Coefficients(terms)
    counter = gml.MemoryCounter(data)
    n = data.n + smoothing
    tables = tables_over(counter, terms, terms.all)
    observed = coefficients.moments([(t + smoothing / t.size) / n for t in tables])
    cells = np.array(list(product(*map(range, terms.sizes))))
    features = ChainMoments(coefficients).each(cells.T)
    ridge = 2 * l2 / n * coefficients.is_joint
    vector = np.zeros(coefficients.size)
    for _ in range(50):
        shares = np.exp(features @ vector)
        shares /= shares.sum()
        means = shares @ features
        second = (features * shares[:, None]).T @ features - np.outer(means, means)
        step = observed - means - ridge * vector
        vector = vector + np.linalg.solve(second + np.diag(ridge), step)
    assert np.abs(step).max() < 1e-12
    return vector, second


def ferromagnet(n, strength=0.5):
    """Rows of eight spins that all pull at one another: hardly any sweep leaves either mode."""
    rng = np.random.default_rng(0)
    spins = np.array(list(product([-1, 1], repeat=8)))
    total = spins.sum(axis=1)
    weights = np.exp(0.02 * total + strength * (total**2 - 8) / 2)
    counts = rng.multinomial(n, weights / weights.sum())
    variables = tuple(Variable(f"x{k}", ("n", "y")) for k in range(8))
    columns = tuple(np.repeat(column > 0, counts).astype(np.uint8) for column in spins.T)
    data = Dataset(variables, columns)
    return data, Terms.of(variables, combinations(data.names, 2))


MODELS = {
    "cycle": ((2, 2, 2, 2), [(0, 1), (1, 2), (2, 3), (0, 3)]),
    "levels": ((2, 3, 2), [(0, 1), (1, 2), (0, 2)]),
    "triple": ((2, 2, 3, 2), [(0, 1, 2), (2, 3)]),
}


@pytest.mark.parametrize("name", MODELS)
def test_pcd_is_near_the_exact_maximum(name):
    sizes, scopes = MODELS[name]
    data, terms, _ = drawn(sizes, scopes, 1000, seed=3)
    found = fit_contrastive(gml.MemoryCounter(data), terms, seed=1)
    exact, second = newton(data, terms)
    difference = Coefficients(terms).vector(found.tables) - exact
    # In units of what chance in the rows does, over all directions at once.
    distance = np.sqrt(1000 * difference @ second @ difference / len(difference))
    assert found.converged and found.method == "pcd"
    assert distance < 0.4
    assert found.gap is not None and found.gap < 0.02
    assert "0 of" in found.notes[0]


def exact_gaps(data, terms, found):
    """Observed less expected moments, by enumeration, and the variances of the features."""
    coefficients = Coefficients(terms)
    counts = tables_over(gml.MemoryCounter(data), terms, terms.all)
    cells = np.array(list(product(*map(range, terms.sizes)))).T
    features = ChainMoments(coefficients).each(cells)
    logs = features @ coefficients.vector(found.tables)
    for support in found.supports:
        logs += support.wall[tuple(cells[k] for k in support.scope)]
    shares = np.exp(logs - logs.max())
    shares /= shares.sum()
    means = shares @ features
    observed = coefficients.moments([table / data.n for table in counts])
    return observed - means, shares @ features**2 - means**2


@pytest.mark.parametrize("by_tree", [True, False])
@pytest.mark.parametrize("name", MODELS)
def test_moments_at_a_fit_that_converged_are_those_observed(name, by_tree, monkeypatch):
    if not by_tree:
        monkeypatch.setattr(ExactMoments, "if_small", lambda *_: None)
    sizes, scopes = MODELS[name]
    data, terms, _ = drawn(sizes, scopes, 1000, seed=3)
    found = fit_contrastive(gml.MemoryCounter(data), terms, seed=4)
    gaps, variances = exact_gaps(data, terms, found)
    assert found.converged
    # Bonferroni over moments, with the errors of as many independent states as were averaged:
    # fifty per row, of which a sweep keeps about half of what it was.
    errors = np.sqrt(variances * 2 / (50 * data.n))
    assert (np.abs(gaps) <= bonferroni_bound(len(gaps), None) * errors).all()


@pytest.mark.parametrize("name", MODELS)
def test_moments_of_pcd_are_within_bonferroni_adjusted_errors(name):
    """Exact moments at the points of independent runs; their spread is the Monte Carlo error."""
    from scipy.stats import t

    data, terms, _ = drawn(*MODELS[name], 1000, seed=3)
    counter = gml.MemoryCounter(data)
    runs = [fit_contrastive(counter, terms, seed=seed) for seed in range(10)]
    gaps = np.array([exact_gaps(data, terms, found)[0] for found in runs])
    errors = gaps.std(axis=0, ddof=1)
    bound = float(t.isf(0.025 / gaps.size, len(runs) - 1))
    assert (np.abs(gaps) <= bound * errors).all()
    # Beside what chance does in the data, the errors are small: squares of 1/16 on average.
    variances = exact_gaps(data, terms, runs[0])[1]
    assert np.mean(errors**2 / (variances / data.n)) < 1 / 16


@pytest.mark.parametrize("by_tree", [True, False])
@pytest.mark.parametrize("n", [50, 2000])
def test_chains_that_stay_where_the_data_are_do_not_converge(n, by_tree, monkeypatch):
    if not by_tree:
        monkeypatch.setattr(ExactMoments, "if_small", lambda *_: None)
    data, terms = ferromagnet(n)
    found = fit_contrastive(
        gml.MemoryCounter(data), terms, penalty=Penalty(l2=0.01), iterations=200
    )
    gaps, variances = exact_gaps(data, terms, found)
    assert np.abs(gaps / np.sqrt(variances.mean() / n)).max() > 2
    assert not found.converged


def test_many_rows_need_many_states():
    data, terms, _ = drawn(*MODELS["cycle"], 100_000, seed=3)
    counter = gml.MemoryCounter(data)
    assert not fit_contrastive(counter, terms, chains=20, iterations=200, seed=1).converged
    found = fit_contrastive(counter, terms, seed=1)
    exact, second = newton(data, terms)
    difference = Coefficients(terms).vector(found.tables) - exact
    assert found.algorithm.startswith("5000 chains") and found.converged
    assert 0.5 * data.n * difference @ second @ difference < 0.5


def test_penalty_and_smoothing_are_those_of_the_exact_maximum():
    data, terms, _ = drawn(*MODELS["cycle"], 300, seed=5)
    coefficients = Coefficients(terms)
    for penalty in (Penalty(l2=100.0), Penalty(smoothing=300.0)):
        found = fit_contrastive(gml.MemoryCounter(data), terms, penalty=penalty, seed=2)
        exact, second = newton(data, terms, l2=penalty.l2, smoothing=penalty.smoothing)
        plain, _ = newton(data, terms)
        difference = coefficients.vector(found.tables) - exact
        assert found.converged
        assert np.sqrt(300 * difference @ second @ difference / len(difference)) < 0.4
        assert np.linalg.norm(difference) < 0.3 * np.linalg.norm(plain - exact)


def test_l1_keeps_terms_at_zero():
    data, terms, _ = drawn((2, 2, 2, 2), list(combinations(range(4), 2)), 500, seed=6)
    found = fit_contrastive(
        gml.MemoryCounter(data), terms, penalty=Penalty(l1=150.0), seed=1, iterations=400
    )
    pairs = [float(np.abs(table).max()) for table in found.tables[4:]]
    assert 0 < sum(value == 0 for value in pairs) < 6
    everything = fit_contrastive(
        gml.MemoryCounter(data), terms, penalty=Penalty(l1=5000.0), seed=1, iterations=200
    )
    assert all((table == 0).all() for table in everything.tables[4:]) and everything.converged


def test_contrastive_divergence_stops_where_its_own_gap_vanishes():
    data, terms, _ = drawn(*MODELS["cycle"], 500, seed=7)
    counter = gml.MemoryCounter(data)
    found = fit_contrastive(counter, terms, persistent=False, sweeps=2, seed=1)
    assert found.converged and found.method == "cd" and found.gap is None
    assert any("biased" in note for note in found.notes)
    exact, _ = newton(data, terms)
    assert np.abs(Coefficients(terms).vector(found.tables) - exact).max() < 0.15
    with pytest.raises(CannotAnswer, match="contrastive divergence needs rows"):
        from gml.counts.count_file_engine import CountFileCounter

        counts = CountFileCounter(gml.count(data, sets=[list(data.names)]))
        fit_contrastive(counts, terms, persistent=False)


def test_the_same_seed_whatever_the_order_of_rows_and_columns():
    data, terms, _ = drawn(*MODELS["levels"], 200, seed=8)
    shuffled = np.random.default_rng(0).permutation(data.n_rows)
    other = Dataset(data.variables[::-1], tuple(c[shuffled] for c in data.columns[::-1]))
    one, two, three = (
        fit_contrastive(gml.MemoryCounter(d), terms, seed=seed, iterations=30, chains=50)
        for d, seed in ((data, 1), (other, 1), (data, 2))
    )
    equal = [(a == b).all() for a, b in zip(one.tables, two.tables, strict=True)]
    assert all(equal)
    assert not (one.tables[0] == three.tables[0]).all()


def test_a_cell_without_rows_is_excluded_and_never_visited():
    data, terms, _ = drawn(*MODELS["levels"], 500, seed=9)
    data = data.rows(~((data.columns[0] == 1) & (data.columns[1] == 2)))
    found = fit_contrastive(gml.MemoryCounter(data), terms, seed=1, iterations=300)
    assert found.converged
    assert not found.supports[0].possible[1, 2] and found.supports[0].possible.sum() == 5
    assert max(float(np.abs(table).max()) for table in found.tables) < 5


def test_too_few_steps_are_said_to_be_too_few():
    data, terms, _ = drawn(*MODELS["cycle"], 2000, seed=3)
    counter = gml.MemoryCounter(data)
    far = fit_contrastive(counter, terms, penalty=Penalty(l1=1e6), iterations=1)
    found = fit_contrastive(counter, terms, start=far, iterations=1, rate=1e-9)
    assert not found.converged and "gaps are too large" in found.notes[0]
    stopped = fit_contrastive(counter, terms, deadline=Deadline(0))
    assert not stopped.converged and stopped.iterations == 1


@pytest.mark.parametrize(
    ("option", "value"), [("chains", 1), ("sweeps", 0), ("iterations", 0), ("rate", 0.0)]
)
def test_bad_options_are_refused_by_name(option, value):
    data, terms, _ = drawn(*MODELS["cycle"], 50, seed=3)
    with pytest.raises(UsageError, match=f"`{option}` must be"):
        fit_contrastive(gml.MemoryCounter(data), terms, **{option: value})


def test_only_a_start_without_a_maximum_is_penalised():
    # These four rows leave the pseudo-likelihood without a maximum, but not the smoothed one.
    variables = tuple(Variable(f"x{k}", ("a", "b")) for k in range(3))
    terms = Terms.of(variables, combinations(["x0", "x1", "x2"], 2))
    rows = np.array([[0, 1, 0, 1], [0, 1, 1, 0], [0, 1, 1, 1]], dtype=np.uint8)
    counter = gml.MemoryCounter(Dataset(variables, tuple(rows)))
    found = pseudo_start(counter, terms, Penalty(), None, None, None)
    ridge = fit_pseudo(counter, terms, penalty=Penalty(l2=1.0))
    assert [t.tolist() for t in found.tables] == [t.tolist() for t in ridge.tables]
    smoothing = Penalty(smoothing=2.0)
    smoothed = fit_pseudo(counter, terms, penalty=smoothing)
    found = pseudo_start(counter, terms, smoothing, None, None, None)
    assert [t.tolist() for t in found.tables] == [t.tolist() for t in smoothed.tables]
    with pytest.raises(CannotAnswer, match="memory"):
        pseudo_start(counter, terms, Penalty(), None, 1, None)


def test_the_budget_and_the_threads_are_those_asked_for(monkeypatch):
    data, terms, _ = drawn(*MODELS["levels"], 200, seed=8)
    counter = gml.MemoryCounter(data)
    with pytest.raises(CannotAnswer, match="the moments of the chains.*memory"):
        fit_contrastive(counter, terms, start=fit_pseudo(counter, terms), max_memory=1000)
    asked = []

    class Watched(GibbsChains):
        def __init__(self, *args, threads, **options):
            asked.append(threads)
            super().__init__(*args, threads=threads, **options)

    monkeypatch.setattr(contrastive, "GibbsChains", Watched)
    monkeypatch.setattr(ExactMoments, "if_small", lambda *_: None)
    fit_contrastive(counter, terms, threads=1, iterations=100)
    assert asked == [1, 1]


def test_the_trace_has_a_line_per_step(tmp_path):
    data, terms, _ = drawn(*MODELS["levels"], 200, seed=8)
    counter = gml.MemoryCounter(data)
    path = tmp_path / "trace.csv"
    with written_moment_trace(path, terms) as trace:
        found = fit_contrastive(counter, terms, iterations=20, chains=50, trace=trace)
    header, *lines = csv.reader(path.read_text().splitlines())
    assert header[:6] == ["step", "rate", "gap", "x0", "x1 1", "x1 2"]
    assert "x0,x1 2" in header and len(header) == 3 + terms.dimension
    assert [line[0] for line in lines] == [str(k) for k in range(found.iterations + 1)]
    shares = observed_margins(counter, terms).margins[0].sum(axis=1)
    assert float(lines[0][3]) == pytest.approx(shares[1] - shares[0], abs=1e-15)
    rates = [float(line[1]) for line in lines[1:]]
    assert rates == sorted(rates, reverse=True) and rates[0] == 0.5
    # Every field is a number that reads back as itself.
    assert all(repr(float(field)) == field for line in lines for field in line[1:])


def test_a_gap_of_moments_is_one_of_margins():
    sizes, scopes = MODELS["triple"]
    data, terms, _ = drawn(sizes, scopes, 300, seed=4)
    other, _, _ = drawn(sizes, scopes, 300, seed=11)
    coefficients = Coefficients(terms)
    moments, margins = [], []
    for rows in (data, other):
        counter = gml.MemoryCounter(rows)
        moments.append(
            coefficients.moments([t / 300 for t in tables_over(counter, terms, terms.all)])
        )
        margins.append(observed_margins(counter, terms).margins)
    wanted = max(float(np.abs(a - b).max()) for a, b in zip(*margins, strict=True))
    assert largest_margin_gap(coefficients, moments[0] - moments[1]) == pytest.approx(wanted)


def test_means_of_chains_are_means_of_features():
    for sizes, scopes in MODELS.values():
        data, terms, _ = drawn(sizes, scopes, 100, seed=4)
        features = ChainMoments(Coefficients(terms))
        states = np.array(data.columns)
        each = features.each(states)
        assert features.means(states) == pytest.approx(each.mean(axis=0))
        groups = each[:98].reshape(14, 7, -1).mean(axis=1)
        assert features.group_means(states, 14) == pytest.approx(groups)


def test_the_bound_is_the_quantile_of_student():
    from scipy.special import stdtrit

    for n_moments in (1, 10, 20_000):
        wanted = -float(stdtrit(99, 0.025 / n_moments))
        assert bonferroni_bound(n_moments, 100) == pytest.approx(wanted, rel=1e-3)


BOUNDARY = np.array([0, 5, 7, 3, 4, 6, 8, 0]).reshape(2, 2, 2)


@pytest.mark.parametrize("persistent", [True, False])
def test_a_maximum_at_infinity_without_empty_margins_is_refused(persistent):
    """All pairs of levels occur, and yet two cells of the maximum have probability 0."""
    counter = counter_of_table(BOUNDARY)
    terms = Terms.of(counter.variables, ["AB", "AC", "BC"])
    with pytest.raises(CannotAnswer, match="at infinity, where A = 0, B = 0, C = 0 is impossible"):
        fit_contrastive(counter, terms, persistent=persistent)
    penalised = fit_contrastive(counter, terms, penalty=Penalty(l2=1.0), persistent=persistent)
    assert penalised.converged


def test_a_maximum_that_may_lie_at_infinity_has_not_converged(monkeypatch):
    """Without a junction tree nobody knows."""

    def refuse(*_args, **_options):
        raise CannotAnswer("the tree would take more than there is")

    counter = counter_of_table(BOUNDARY)
    terms = Terms.of(counter.variables, ["AB", "AC", "BC"])
    monkeypatch.setattr("gml.model.undirected.boundary.excluded_cells.facial_set", refuse)
    found = fit_contrastive(counter, terms, iterations=200)
    assert not found.converged and any("may lie at infinity" in note for note in found.notes)


def test_empty_cells_alone_are_excluded_and_not_refused():
    """Nor is a start that says nothing about the maximum: the tree is asked."""
    table = BOUNDARY + 1
    table[0, 1] = 0
    counter = counter_of_table(table)
    terms = Terms.of(counter.variables, ["AB", "AC", "BC"])
    start = fit_exact(counter, terms)
    found = fit_contrastive(counter, terms, start=start)
    assert found.converged
    assert [support.scope for support in found.supports] == [(0, 1)]

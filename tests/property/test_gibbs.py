"""The Gibbs sampler of the kernel draws the states of its reference, and the law of the model."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from gml.data.dataset import Variable
from gml.kernel import reference
from gml.kernel.gibbs_plan import GibbsPlan, ScopeLayout
from gml.model.undirected.chains.gibbs import GibbsChains
from gml.model.undirected.terms import Terms

N_CHAINS = 192


def random_model(rng, n_levels, n_scopes, most_members):
    """Scopes over variables, and tables whose impossible cells are enormous losses."""
    scopes = []
    for _ in range(n_scopes):
        size = int(rng.integers(1, most_members + 1))
        scopes.append(tuple(sorted(rng.permutation(len(n_levels))[:size].tolist())))
    layout = ScopeLayout.of(scopes, n_levels)
    numbers = rng.normal(0, 1.5, layout.n_cells)
    numbers[rng.random(layout.n_cells) < 0.05] = -1e9
    return scopes, layout, numbers


def plan_of(rng, scopes, n_levels, *, drawn=None, most_cells=4096):
    keys = rng.integers(0, 1 << 63, (len(n_levels), 2)).astype(np.uint64)
    drawn = range(len(n_levels)) if drawn is None else drawn
    return GibbsPlan.of(scopes, n_levels, keys, drawn=drawn, most_cells=most_cells)


def drawn_by(kernel, plan, numbers, states, first_sweep=0, n_sweeps=4):
    sampler = kernel.GibbsSampler(plan)
    sampler.set_tables(numbers)
    found = states.copy()
    sampler.sweep(found, 0, found.shape[1], first_sweep, n_sweeps)
    return found


# Two levels in blankets of every size that is compiled apart; many levels; few; wide codes.
SHAPES = [
    ([2] * 12, 25, 2),
    ([2] * 12, 14, 4),
    ([2, 3, 4, 5, 8, 2, 3], 10, 3),
    ([9, 2, 2, 17, 3], 6, 3),
    ([300, 2, 3], 4, 2),
    ([1, 2, 3, 1], 5, 3),
]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("n_levels", "n_scopes", "most_members"), SHAPES)
def test_the_kernel_draws_what_the_reference_draws(
    compiled, n_levels, n_scopes, most_members, seed
):
    rng = np.random.default_rng(seed)
    scopes, _, numbers = random_model(rng, n_levels, n_scopes, most_members)
    kind = np.uint16 if max(n_levels) > 256 else np.uint8
    states = np.stack([rng.integers(0, r, N_CHAINS) for r in n_levels]).astype(kind)
    plan = plan_of(rng, scopes, n_levels)
    wanted = drawn_by(reference, plan, numbers, states)
    assert np.array_equal(drawn_by(compiled, plan, numbers, states), wanted)
    assert not np.array_equal(wanted, states)


@pytest.mark.parametrize("n_levels", [[2] * 10, [2, 3, 4, 5, 3, 2]])
def test_listed_thresholds_or_sums_make_no_difference(compiled, n_levels):
    rng = np.random.default_rng(7)
    scopes, _, numbers = random_model(rng, n_levels, 12, 3)
    states = np.stack([rng.integers(0, r, N_CHAINS) for r in n_levels]).astype(np.uint8)
    found = [
        drawn_by(compiled, plan_of(np.random.default_rng(1), scopes, n_levels, most_cells=most), numbers, states)
        for most in (0, 64, 1 << 16)
    ]  # fmt: skip
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])


@pytest.mark.parametrize("n_levels", [2, 3, 8, 9])
@pytest.mark.parametrize("n_neighbours", range(11))
def test_a_spin_with_any_number_of_neighbours(compiled, n_neighbours, n_levels):
    """Up to eight neighbours of two levels are looked up in bytes, more in another way."""
    rng = np.random.default_rng(n_neighbours)
    sizes = [n_levels] + [2] * n_neighbours
    scopes = [(0,), *((0, k) for k in range(1, n_neighbours + 1))]
    numbers = rng.normal(0, 1, ScopeLayout.of(scopes, sizes).n_cells)
    states = np.stack([rng.integers(0, r, N_CHAINS) for r in sizes]).astype(np.uint8)
    plan = plan_of(rng, scopes, sizes, most_cells=1 << 20)
    wanted = drawn_by(reference, plan, numbers, states)
    assert np.array_equal(drawn_by(compiled, plan, numbers, states), wanted)


def test_ties_of_the_highest_byte_are_settled_by_the_other_bits(compiled):
    """Without neighbours and with a threshold in the middle of a byte, 1 of 256 chains is a tie."""
    plan = plan_of(np.random.default_rng(3), [(0,)], [2])
    numbers = np.log([0.500_9, 0.499_1])
    states = np.zeros((1, 1 << 16), dtype=np.uint8)
    found = drawn_by(compiled, plan, numbers, states, n_sweeps=1)
    assert np.array_equal(found, drawn_by(reference, plan, numbers, states, n_sweeps=1))


def test_parts_of_chains_and_of_sweeps_make_the_whole(compiled):
    rng = np.random.default_rng(5)
    n_levels = [2, 3, 2, 4]
    scopes, _, numbers = random_model(rng, n_levels, 5, 3)
    states = np.zeros((4, N_CHAINS), dtype=np.uint8)
    plan = plan_of(rng, scopes, n_levels)
    whole = drawn_by(compiled, plan, numbers, states, n_sweeps=5)
    sampler = compiled.GibbsSampler(plan)
    sampler.set_tables(numbers)
    for first, last in ((64, 192), (0, 64)):
        for sweep, more in ((0, 2), (2, 3)):
            sampler.sweep(states, first, last, sweep, more)
    assert np.array_equal(states, whole)


def test_only_whole_groups_are_drawn(compiled):
    sampler = compiled.GibbsSampler(plan_of(np.random.default_rng(0), [(0,)], [2]))
    sampler.set_tables(np.zeros(2))
    with pytest.raises(ValueError, match="whole groups"):
        sampler.sweep(np.zeros((1, 64), dtype=np.uint8), 0, 32, 0, 1)


@pytest.mark.parametrize("odd", [np.inf, -np.inf, np.nan])
def test_tables_that_are_not_finite_are_refused(compiled, odd):
    """There is no threshold between levels that are all impossible."""
    for kernel in (compiled, reference):
        sampler = kernel.GibbsSampler(plan_of(np.random.default_rng(0), [(0,)], [2]))
        with pytest.raises(ValueError, match="finite"):
            sampler.set_tables(np.array([0.0, odd]))
        with pytest.raises(ValueError, match="no tables"):
            sampler.sweep(np.zeros((1, 64), dtype=np.uint8), 0, 64, 0, 1)


def test_states_and_numbers_must_be_those_of_the_tables(compiled):
    """What does not fit is refused before anything is read or written beyond its end."""
    rng = np.random.default_rng(0)
    sampler = compiled.GibbsSampler(plan_of(rng, [(0, 1), (1, 2)], [2, 2, 2]))
    sampler.set_tables(np.zeros(8))
    layout = ScopeLayout.of([(0, 1), (1, 2)], [2, 2, 2])
    few, right = np.zeros((2, 64), dtype=np.uint8), np.zeros((3, 64), dtype=np.uint8)
    with pytest.raises(ValueError, match="variables of the plan"):
        sampler.sweep(few, 0, 64, 0, 1)
    for call in (compiled.count_states, lambda *of: compiled.sum_states(*of, np.zeros(8))):
        with pytest.raises(ValueError, match="more variables"):
            call(layout, few, 64)
        with pytest.raises(ValueError, match="fewer chains"):
            call(layout, right, 65)
    with pytest.raises(ValueError, match="numbers of the tables"):
        compiled.sum_states(layout, right, 64, np.zeros(7))


@pytest.mark.parametrize("n_levels", [[2, 3, 4, 2], [17, 16, 2, 5], [300, 2, 3, 2]])
def test_cells_are_counted_and_summed_as_in_the_reference(compiled, n_levels):
    rng = np.random.default_rng(2)
    scopes, layout, numbers = random_model(rng, n_levels, 12, 3)
    numbers[::7] = -np.inf
    kind = np.uint16 if max(n_levels) > 256 else np.uint8
    states = np.stack([rng.integers(0, r, 2112) for r in n_levels]).astype(kind)
    counts = compiled.count_states(layout, states, 2099)
    assert np.array_equal(counts, reference.count_states(layout, states, 2099))
    assert counts.sum() == 2099 * len(scopes)
    sums = compiled.sum_states(layout, states, 2099, numbers)
    assert np.array_equal(sums, reference.sum_states(layout, states, 2099, numbers))


def test_random_bits_are_even_and_unrelated():
    """Even draws of 4 096 chains in 64 sweeps: levels, neighbouring chains, sweeps and names."""
    terms = Terms.of([Variable(name, tuple("abcd")) for name in "AB"], [])
    chains = GibbsChains(terms, [], [], n_chains=4096)
    draws = []
    for _ in range(64):
        chains.sweep()
        draws.append(chains.states.copy())
    codes = np.stack(draws).astype(np.int64)
    pairs = {
        "chains": codes[:, :, :-1] * 4 + codes[:, :, 1:],
        "every fourth chain": codes[:, :, :-4] * 4 + codes[:, :, 4:],
        "sweeps": codes[:-1] * 4 + codes[1:],
        "names": codes[:, 0] * 4 + codes[:, 1],
    }
    for what, found in pairs.items():
        counts = np.bincount(found.reshape(-1), minlength=16)
        # Overlapping pairs have a wider law than 15 degrees of freedom, whose 1 − 1e-6 quantile is 55.
        statistic = ((counts - counts.mean()) ** 2 / counts.mean()).sum()
        assert statistic < 60, what


def enumerated(terms, scopes, tables):
    """The distribution of all variables together."""
    logs = np.zeros(terms.sizes)
    for scope, table in zip(scopes, tables, strict=True):
        shape = [terms.sizes[k] if k in scope else 1 for k in range(len(terms.sizes))]
        logs = logs + table.reshape(shape)
    weights = np.exp(logs - logs.max())
    return weights / weights.sum()


@pytest.mark.parametrize("seed", range(6))
def test_a_sweep_leaves_the_law_of_the_model(seed):
    """Chains that start from exact draws are exact draws after each of three sweeps."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 5, 5).tolist()
    variables = [Variable(f"v{k}", tuple(map(str, range(size)))) for k, size in enumerate(sizes)]
    names = [variable.name for variable in variables]
    scopes = [pair for pair in itertools.combinations(range(5), 2) if rng.random() < 0.5] + [
        (0, 2, 4)
    ]
    terms = Terms.of(variables, [[names[k] for k in scope] for scope in scopes])
    tables = [rng.normal(0, 1, terms.shape(scope)) for scope in scopes]
    tables[0][0, 0] = -np.inf
    joint = enumerated(terms, scopes, tables)
    n = 40_000
    chains = GibbsChains(terms, scopes, tables, n_chains=n, seed=seed)
    flat = rng.choice(joint.size, n, p=joint.reshape(-1))
    chains.states = np.stack(np.unravel_index(flat, joint.shape))
    for _ in range(3):
        chains.sweep()
        counts = np.bincount(
            np.ravel_multi_index(tuple(chains.states), joint.shape), minlength=joint.size
        )
        expected = n * joint.reshape(-1)
        assert not counts[expected == 0].any()
        kept = expected >= 5
        statistic = ((counts - expected)[kept] ** 2 / expected[kept]).sum()
        # The law of a chi-square statistic is close to normal beyond fifty cells: 5 standard deviations.
        df = int(kept.sum()) - 1
        assert abs(statistic - df) < 5 * np.sqrt(2 * df) + 10


def test_names_and_chains_decide_alone():
    """Neither other variables, nor more chains, nor threads change what a chain does."""
    a, b, c = (Variable(name, ("n", "y", "z")) for name in "ABC")
    table = np.arange(9.0).reshape(3, 3) / 5
    few = Terms.of([a, c], [["A", "C"]])
    more = Terms.of([c, b, a], [["A", "C"]])
    small = GibbsChains(few, [(0, 1)], [table], n_chains=70, seed=3, threads=1)
    large = GibbsChains(more, [(0, 2)], [table], n_chains=100_000, seed=3, threads=3)
    for chains in (small, large):
        chains.sweep(30)
    assert np.array_equal(small.states, large.states[[0, 2], :70])
    other = GibbsChains(few, [(0, 1)], [table], n_chains=70, seed=4)
    other.sweep(30)
    assert not np.array_equal(other.states, small.states)


def test_fixed_variables_stay_and_tables_may_change():
    a, b = (Variable(name, ("n", "y")) for name in "AB")
    terms = Terms.of([a, b], [["A", "B"]])
    alike = np.array([[0.0, -np.inf], [-np.inf, 0.0]])
    chains = GibbsChains(terms, [(0, 1)], [alike], n_chains=50, fixed={0: 1})
    chains.sweep()
    assert (chains.states == 1).all()
    chains.set_tables([alike[::-1]])
    chains.sweep()
    assert (chains.states[0] == 1).all()
    assert (chains.states[1] == 0).all()
    assert np.array_equal(chains.margins([(0, 1), (1,)])[0], [[0, 0], [1, 0]])


def test_beta_weakens_the_tables():
    a = Variable("A", ("n", "y"))
    terms = Terms.of([a], [])
    chains = GibbsChains(terms, [(0,)], [np.array([0.0, 3.0])], n_chains=100_000)
    for beta in (0.0, 0.5, 1.0, 2.0):
        chains.sweep(beta=beta)
        share = 1 / (1 + np.exp(-3 * beta))
        error = np.sqrt(share * (1 - share) / chains.n_chains)
        assert abs(chains.margins([(0,)])[0][1] - share) < 4 * error

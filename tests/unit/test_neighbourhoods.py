"""Neighbourhood selection: what it promises, what it refuses, and what must not matter."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import gml
from gml import kernel
from gml.data.dataset import Dataset, Variable
from gml.errors import CannotAnswer, DataError, UsageError
from gml.kernel import reference
from gml.kernel.penalty_paths import PathRule
from gml.learners.grouped_columns import PredictorTable
from gml.learners.neighbourhoods import neighbourhood_graph
from gml.progress import Deadline
from gml.resources import limited_to
from tests.predictor_tables import dependent_labels


def learned(dataset, **options):
    """The graph as sorted pairs of names."""
    graph = neighbourhood_graph(gml.MemoryCounter(dataset), **options).graph
    assert graph.kind == "undirected"
    return sorted(tuple(sorted((e.source, e.target))) for e in graph.edges)


def figures(dataset, **options):
    """All that was found, by name of the column."""
    found = neighbourhood_graph(gml.MemoryCounter(dataset), **options).neighbourhoods
    return {one.name: (one.penalty, one.loss, one.parameters, one.norms) for one in found}


@pytest.fixture(scope="module")
def mixed():
    return dependent_labels(np.random.default_rng(3), [2, 3, 2, 4, 2], 600)


def test_chain_is_found(mixed):
    """Numbers that are cut are no chain any more, so neighbours of neighbours may be joined."""
    found = set(learned(mixed))
    assert {("v0", "v1"), ("v1", "v2"), ("v2", "v3"), ("v3", "v4")} <= found
    assert found.isdisjoint({("v0", "v3"), ("v0", "v4"), ("v1", "v4")})


@pytest.mark.parametrize("criterion", ["ebic", "folds"])
def test_order_of_rows_and_columns_does_not_matter(mixed, criterion):
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(mixed.n_rows), rng.permutation(5)
    moved = Dataset(
        tuple(mixed.variables[j] for j in columns),
        tuple(np.ascontiguousarray(mixed.columns[j][rows]) for j in columns),
    )
    options = {"criterion": criterion, "folds": 3, "n_penalties": 20}
    assert figures(moved, **options) == figures(mixed, **options)


def test_order_of_levels_does_not_matter(mixed):
    """Labels that are coded the other way round: the same norms, but for rounding."""
    turned = Dataset(
        tuple(replace(v, levels=v.levels[::-1]) for v in mixed.variables),
        tuple(
            (len(v.levels) - 1 - column).astype(np.uint8)
            for v, column in zip(mixed.variables, mixed.columns, strict=True)
        ),
    )
    one, other = figures(mixed), figures(turned)
    for name, (penalty, loss, parameters, norms) in one.items():
        assert other[name][0] == pytest.approx(penalty, rel=1e-9)
        assert other[name][1] == pytest.approx(loss, rel=1e-9)
        assert other[name][2] == parameters
        assert other[name][3] == pytest.approx(norms, rel=1e-6)


@pytest.mark.parametrize("criterion", ["ebic", "folds"])
def test_threads_do_not_matter(mixed, criterion):
    options = {"criterion": criterion, "folds": 3, "n_penalties": 20}
    assert figures(mixed, threads=1, **options) == figures(mixed, threads=3, **options)


@pytest.mark.parametrize("criterion", ["ebic", "folds"])
def test_weights_are_repeated_rows(mixed, criterion):
    times = np.random.default_rng(1).integers(0, 4, mixed.n_rows)
    weighted = replace(mixed, weights=times.astype(np.int64))
    repeated = replace(mixed, columns=tuple(np.repeat(c, times) for c in mixed.columns))
    options = {"criterion": criterion, "folds": 3, "n_penalties": 20}
    assert figures(weighted, **options) == figures(repeated, **options)


def test_units_of_weights_count_rows(mixed):
    """Weights in sixteenths are a sixteenth as many rows, which the extended BIC knows."""
    many = replace(mixed, weights=np.full(mixed.n_rows, 16, dtype=np.int64))
    assert figures(replace(many, unit=1 / 16)) == figures(mixed)
    assert figures(many) != figures(mixed)


def test_folds_of_fractional_weights_are_refused(mixed):
    halves = replace(mixed, weights=np.full(mixed.n_rows, 2, dtype=np.int64), unit=0.5)
    with pytest.raises(UsageError, match="criterion.*weights.fractional.*ebic"):
        learned(halves, criterion="folds")


@pytest.mark.parametrize("gamma", [0, 0.25])
def test_the_best_of_the_whole_path_is_chosen(gamma):
    """Columns that depend on one another strongly: blocks leave the path again."""
    rng = np.random.default_rng(201)
    p, n = int(rng.integers(5, 15)), int(rng.choice([60, 200, 1000]))
    codes = (rng.random((n, p)) < rng.uniform(0.1, 0.9, p)).astype(np.uint8)
    for _ in range(p):
        a, b = rng.choice(p, 2, replace=False)
        copied = rng.random(n) < rng.uniform(0.2, 0.9)
        codes[:, a] = np.where(copied, codes[:, b], codes[:, a])
    variables = tuple(Variable(f"v{j}", ("n", "y")) for j in range(p))
    dataset = Dataset(variables, tuple(np.ascontiguousarray(column) for column in codes.T))
    table = PredictorTable.of(dataset)
    predictors = table.predictors(table.counts / table.counts.sum())
    cost = (np.log(n) + 2 * gamma * np.log(p - 1)) / n
    found = neighbourhood_graph(gml.MemoryCounter(dataset), gamma=gamma).neighbourhoods
    for column, one in enumerate(found):
        whole = kernel.active().penalty_path(*predictors.regression(column), PathRule(100, 1e-4))
        least = (2 * whole.losses + cost * whole.parameters).min()
        assert 2 * one.loss + cost * one.parameters == pytest.approx(least, abs=1e-12)


def test_and_keeps_what_both_chose():
    dataset = dependent_labels(np.random.default_rng(8), [2] * 8, 250)
    found = neighbourhood_graph(gml.MemoryCounter(dataset)).neighbourhoods
    chosen = {(one.name, other) for one in found for other in one.norms}
    both = sorted((a, b) for a, b in chosen if a < b and (b, a) in chosen)
    either = sorted({tuple(sorted(pair)) for pair in chosen})
    assert learned(dataset, rule="and") == both
    assert learned(dataset, rule="or") == either
    assert both != either


def test_conditions_of_a_minimum_hold(mixed):
    for one in neighbourhood_graph(gml.MemoryCounter(mixed)).neighbourhoods:
        assert 0 <= one.gap <= 1e-7


def test_larger_gamma_chooses_fewer(mixed):
    sizes = [len(learned(mixed, gamma=gamma, rule="or")) for gamma in (0, 0.25, 1, 100)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > sizes[-1] == 0


def test_one_level_columns_are_alone_and_change_nothing(mixed):
    constant = Dataset(
        (*mixed.variables, Variable("c", ("only", "unseen"))),
        (*mixed.columns, np.zeros(mixed.n_rows, dtype=np.uint8)),
    )
    found = figures(constant)
    assert found.pop("c")[1:] == (0.0, 0, {})
    assert found == figures(mixed)


def test_levels_that_do_not_occur_change_nothing(mixed):
    more = tuple(replace(v, levels=("absent", *v.levels, "unseen")) for v in mixed.variables)
    shifted = Dataset(more, tuple((column + 1).astype(np.uint8) for column in mixed.columns))
    assert figures(shifted) == figures(mixed)


@pytest.mark.parametrize("n", [1, 2])
def test_few_columns_and_rows(n):
    dataset = dependent_labels(np.random.default_rng(0), [2] * n, 4)
    assert learned(dataset) in ([], [("v0", "v1")])
    assert learned(replace(dataset, columns=tuple(c[:1] for c in dataset.columns))) == []


def test_columns_beyond_255_levels():
    codes = (np.arange(520) % 260).astype(np.uint16)
    names = tuple(str(level) for level in range(260))
    table = PredictorTable.of(Dataset((Variable("many", names),), (codes,)))
    bits = np.unpackbits(table.masks, axis=1, count=260, bitorder="little")
    assert np.array_equal(bits, np.eye(260, dtype=np.uint8)[1:])
    assert table.counts.tolist() == [2] * 260


def test_rare_level_in_one_fold():
    """A row whose level the rest of its fold lacks is not predicted, and nothing is infinite."""
    dataset = dependent_labels(np.random.default_rng(2), [3, 2, 2], 120)
    first = dataset.columns[0].copy()
    first[first == 2] = 1
    first[0] = 2
    rare = replace(dataset, columns=(first, *dataset.columns[1:]))
    found = figures(rare, criterion="folds", folds=4, n_penalties=15)
    assert all(np.isfinite(one[:2]).all() for one in found.values())


def test_folds_take_the_largest_penalty_within_an_error(mixed):
    """The choice for one column, made again from paths of the reference."""
    from gml.data.resampling import fold_counts
    from gml.kernel.penalty_paths import PathRule

    table = PredictorTable.of(mixed)
    grouped, response = table.predictors(table.counts / table.counts.sum()).regression(2)
    penalties = reference.penalty_path(grouped, response, PathRule(12, 1e-4)).penalties
    means, sizes = [], []
    for held_out in fold_counts(table.counts, 4, seed=7):
        rest = table.counts - held_out
        again = table.predictors(rest / rest.sum()).regression(2, held_out.astype(float))
        path = reference.penalty_path(*again, PathRule(12, 1e-4, penalties))
        means.append(path.held_out / held_out.sum())
        sizes.append(held_out.sum())
    average = np.average(means, axis=0, weights=sizes)
    least = average.argmin()
    error = np.std([mean[least] for mean in means], ddof=1) / 2
    expected = penalties[np.flatnonzero(average <= average[least] + error)[0]]
    found = figures(mixed, criterion="folds", folds=4, seed=7, n_penalties=12)
    assert found["v2"][0] == pytest.approx(expected, rel=1e-9)
    assert expected > penalties[least]


def test_seed_of_folds(mixed):
    options = {"criterion": "folds", "folds": 2, "n_penalties": 40}
    found = [figures(mixed, seed=seed, **options) for seed in (0, 0, 1, 2)]
    assert found[0] == found[1]
    assert found[0] != found[2] or found[0] != found[3]


def test_deadline(mixed):
    with pytest.raises(
        CannotAnswer, match=r"`max_seconds` ran out after the regressions of 0 of 5"
    ):
        neighbourhood_graph(gml.MemoryCounter(mixed), deadline=Deadline(0))


@pytest.mark.parametrize("criterion", ["ebic", "folds"])
def test_deadline_within_a_regression(mixed, criterion, monkeypatch):
    """Time that is up while a path is under way ends it, and nothing is made of its beginning."""
    from gml import kernel

    class Watched:
        penalty_path = staticmethod(reference.penalty_path)

    class Late(Deadline):
        looks = 0

        @property
        def passed(self):
            self.looks += 1
            return self.looks > 30

    monkeypatch.setattr(kernel, "active", Watched)
    late = Late()
    with pytest.raises(CannotAnswer, match=r"`max_seconds` ran out after the regressions of [01] "):
        neighbourhood_graph(
            gml.MemoryCounter(mixed), criterion=criterion, folds=3, threads=1, deadline=late
        )
    assert late.looks == 31


def test_too_many_levels_are_refused_at_once():
    codes = np.arange(2400) % 1200
    many = Dataset(
        (Variable("many", tuple(map(str, range(1200)))), Variable("two", ("0", "1"))),
        (codes.astype(np.uint16), (np.arange(2400) % 2).astype(np.uint8)),
    )
    with pytest.raises(CannotAnswer) as caught:
        neighbourhood_graph(gml.MemoryCounter(many))
    assert str(caught.value) == (
        "the regression of 'many', which has 1200 levels, would have more than 2,000 coefficients "
        "at once, which takes too long: leave columns with many levels out, or join levels"
    )


def test_budget(mixed):
    wide = dependent_labels(np.random.default_rng(0), [40] * 6, 3000)
    with limited_to(6_000_000), pytest.raises(CannotAnswer, match=r"`max_memory` allows"):
        neighbourhood_graph(gml.MemoryCounter(wide), threads=1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"criterion": "aic"}, "`criterion` must be one of ebic, folds, not 'aic'"),
        ({"rule": "xor"}, "`rule` must be one of and, or, not 'xor'"),
        ({"gamma": -0.1}, "`gamma` must be 0 or more and finite, not -0.1"),
        ({"gamma": float("nan")}, "`gamma` must be 0 or more and finite, not nan"),
        ({"folds": 1}, "`folds` must be at least 2, not 1"),
        ({"n_penalties": 1}, "`n_penalties` must be at least 2, not 1"),
        ({"threads": 0}, "`threads` must be at least 1, not 0"),
    ],
)
def test_bad_parameters(mixed, options, message):
    with pytest.raises(UsageError) as caught:
        neighbourhood_graph(gml.MemoryCounter(mixed), **options)
    assert str(caught.value) == message


def test_more_folds_than_rows(mixed):
    few = replace(mixed, columns=tuple(c[:5] for c in mixed.columns))
    with pytest.raises(CannotAnswer, match="5 rows cannot be split into 10 parts"):
        neighbourhood_graph(gml.MemoryCounter(few), criterion="folds")


def test_missing_values_are_refused(tmp_path):
    path = tmp_path / "gaps.csv"
    path.write_text("a,b\n0,1\n,0\n1,1\n")
    counter = gml.MemoryCounter(gml.read(path, missing="available"))
    with pytest.raises(UsageError, match=r"missing values: use `missing=drop`|missing values"):
        neighbourhood_graph(counter)


def test_numbers_are_refused():
    dataset = Dataset((Variable("x", None),), (np.arange(3.0),))
    with pytest.raises(DataError, match="column 'x' is numeric"):
        neighbourhood_graph(gml.MemoryCounter(dataset))


def test_engines_without_rows_are_refused(mixed):
    class Tables(gml.MemoryCounter):
        def rows(self):
            return None

    with pytest.raises(CannotAnswer, match="neighbourhood selection needs rows"):
        neighbourhood_graph(Tables(mixed))


def test_no_rows():
    dataset = dependent_labels(np.random.default_rng(0), [2, 2], 4)
    empty = replace(dataset, columns=tuple(c[:0] for c in dataset.columns))
    with pytest.raises(CannotAnswer, match="no rows are left"):
        neighbourhood_graph(gml.MemoryCounter(empty))

"""Mixtures: EM that never falls, ends where nothing can be gained, and whatever order rows have."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

import gml
from gml.errors import CannotAnswer, DataError, UsageError
from gml.model.em.climbing import climb
from gml.model.mixtures.covariances import MODELS, matrices_of
from gml.model.mixtures.densities import (
    DiagonalDensities,
    WideDiagonalDensities,
    densities_of,
)
from gml.model.mixtures.fitting import MixtureData, MixtureSettings, fit_mixture
from gml.model.mixtures.identification import generic_rank
from gml.model.mixtures.problem import MixtureProblem
from gml.model.mixtures.rows import mixture_rows
from gml.model.mixtures.starts import starts
from gml.progress import Deadline
from gml.resources import limited_to
from tests.traced_memory import traced_memory

pytestmark = pytest.mark.filterwarnings("ignore::gml.GmlWarning")

NUMBERS = ["u", "v", "w"]


def table(seed, rows=100, holes=0.0, labels=3, numbers=3):
    """Two classes of rows with labels and numbers, some of them missing."""
    rng = np.random.default_rng(seed)
    of_row = rng.random(rows) < 0.4
    found = {}
    for j in range(labels):
        p = np.where(of_row, 0.8, 0.25)
        codes = rng.binomial(2, p, rows)
        found["cab"[j]] = np.array(["x", "y", "z"])[codes].astype(object)
    turn = rng.normal(size=(3, 3))
    values = rng.normal(size=(rows, 3)) @ turn * 0.6 + np.where(of_row, 2.0, 0.0)[:, None]
    for j in range(numbers):
        found[NUMBERS[j]] = values[:, j] * 10.0**j
    frame = pd.DataFrame(found)
    return frame.mask(rng.random(frame.shape) < holes)


def read(frame, **how):
    numeric = [name for name in frame if name in NUMBERS]
    return gml.Dataset.from_frame(frame, missing="available", numeric=numeric, **how)


def problem_of(frame, model, n_classes=2, **how):
    settings = MixtureSettings(regularise=how.get("regularise", 0.0))
    data = MixtureData(mixture_rows(read(frame)), settings)
    rows = data.rows_for(MODELS[model])
    return MixtureProblem(
        rows, n_classes, MODELS[model], reference=data.reference(MODELS[model]), **how
    )


def log_density(row, net_parameters, rows):
    """ln of the density of one row of the table, from the definition."""
    shares, tables, means, covariances = net_parameters
    matrices = matrices_of(covariances, len(shares), len(rows.numbers))
    terms = []
    for k, share in enumerate(shares):
        total = math.log(share)
        for j, variable in enumerate(rows.labels):
            label = row[variable.name]
            if isinstance(label, str):
                total += math.log(tables[rows.offsets[j] + variable.levels.index(label), k])
        there = [i for i, v in enumerate(rows.numbers) if not math.isnan(row[v.name])]
        if there:
            scale = rows.scale[there]
            mean = means[k, there] * scale + rows.centre[there]
            covariance = matrices[k][np.ix_(there, there)] * np.outer(scale, scale)
            away = np.array([row[rows.numbers[i].name] for i in there]) - mean
            total -= 0.5 * (
                away @ np.linalg.solve(covariance, away)
                + np.linalg.slogdet(covariance)[1]
                + len(there) * math.log(2 * math.pi)
            )
        terms.append(total)
    top = max(terms)
    return top + math.log(sum(math.exp(term - top) for term in terms))


def place_of(row, rows):
    """Which of the distinct rows a row of the table is."""
    labels = [row[v.name] for v in rows.labels]
    codes = [
        v.levels.index(label) if isinstance(label, str) else len(v.levels)
        for v, label in zip(rows.labels, labels, strict=True)
    ]
    numbers = np.array([row[v.name] for v in rows.numbers], dtype=float)
    values = (numbers - rows.centre) / rows.scale
    same = (rows.codes == codes).all(axis=1)
    same &= np.isclose(rows.values, values, rtol=1e-12, equal_nan=True).all(axis=1)
    (found,) = np.flatnonzero(same)
    return found


def parts(parameters):
    return parameters.shares, parameters.tables, parameters.means, parameters.covariances


@pytest.mark.parametrize("holes", [0.0, 0.25])
@pytest.mark.parametrize("model", MODELS)
def test_the_likelihood_is_that_of_the_definition(model, holes):
    frame = table(1, rows=60, holes=holes)
    problem = problem_of(frame, model, 3)
    at = next(starts(problem.rows, 3, MODELS[model], seed=3, count=1))
    at = problem.step(at).parameters
    parameters = problem.space.of(at)
    expected = [
        log_density(row, parts(parameters), problem.rows) for row in frame.to_dict("records")
    ]
    assert problem.plain(parameters).objective == pytest.approx(math.fsum(expected), rel=1e-12)
    shares, logs = problem.shares(parameters)
    assert shares.sum(axis=1) == pytest.approx(np.ones(len(shares)), abs=1e-12)
    each = np.repeat(logs, problem.rows.weights.astype(int))
    some = np.array(expected)[frame.notna().any(axis=1)]
    assert sorted(each) == pytest.approx(sorted(some), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("regularise", [0.0, 0.1])
@pytest.mark.parametrize("holes", [0.0, 0.2])
@pytest.mark.parametrize("model", MODELS)
def test_climbs_never_fall(model, holes, regularise):
    for seed in range(2):
        frame = table(seed, rows=80, holes=holes)
        problem = problem_of(frame, model, 2 + seed, regularise=regularise)
        at = next(starts(problem.rows, problem.n_classes, problem.model, seed=seed, count=1))
        before = -math.inf
        for _ in range(8):
            step = problem.step(at)
            assert step.objective >= before - 1e-11 * abs(step.objective)
            before, at = step.objective, step.parameters
        found = climb(problem, at, most_steps=40)
        gains = np.diff(found.objectives)
        assert (gains >= -1e-11 * abs(found.objective)).all()


@pytest.mark.parametrize("model", MODELS)
def test_nothing_can_be_gained_at_the_end(model):
    """KKT: where a probability is positive, moving it gains nothing; at 0, it loses."""
    frame = table(5, holes=0.1)
    problem = problem_of(frame, model)
    found = climb(problem, next(starts(problem.rows, 2, MODELS[model], seed=0, count=1)))
    assert found.converged
    best = problem.space.of(found.parameters)
    n = problem.rows.n

    def gain(change, step=1e-5):
        moved = problem.space.of(found.parameters.copy())
        change(moved, step)
        return (problem.plain(moved).objective - found.objective) / (step * n)

    def towards(values, k, step):
        values *= 1 - step
        values[k] += step

    slopes = [gain(lambda p, s, k=k: towards(p.shares, k, s)) for k in range(2)]
    for j, variable in enumerate(problem.rows.labels):
        at = int(problem.rows.offsets[j])
        for k in range(2):
            for level in range(len(variable.levels)):
                slopes.append(
                    gain(lambda p, s: towards(p.tables[at : at + 3, k], level, s))  # noqa: B023
                )
    for i in np.ndindex(best.means.shape):
        for sign in (1, -1):
            slopes.append(gain(lambda p, s: p.means.__setitem__(i, p.means[i] + sign * s)))  # noqa: B023
    for i in np.ndindex(best.covariances.shape[:1]):
        for sign in (1, -1):
            slopes.append(gain(lambda p, s: _scaled(p.covariances, i[0], 1 + sign * s)))  # noqa: B023
    assert max(slopes) < 1e-4


def _scaled(covariances, k, factor):
    covariances[k] = covariances[k] * factor


def test_moments_of_a_step_are_those_of_complete_rows():
    frame = table(2)
    found = fit_mixture(MixtureData(mixture_rows(read(frame))), 1, MODELS["VVV"], MixtureSettings())
    rows = mixture_rows(read(frame))
    values = frame[NUMBERS].to_numpy(float)
    covariance = np.cov(values.T, bias=True) / np.outer(rows.scale, rows.scale)
    assert found.parameters.covariances[0] == pytest.approx(covariance, rel=1e-10)
    assert found.ends == (found.log_likelihood,)


@pytest.mark.parametrize("holes", [0.0, 0.2])
def test_no_order_shows(holes):
    frame = table(7, holes=holes)
    first = gml.mixture(read(frame), components=2, covariance="VVV", em_restarts=2)
    shuffled = frame.sample(frac=1, random_state=1)[["w", "b", "u", "a", "v", "c"]]
    second = gml.mixture(read(shuffled), components=2, covariance="VVV", em_restarts=2)
    assert first.chosen.ends == second.chosen.ends
    for name in frame:
        left, right = first.model.cpd(name), second.model.cpd(name)
        if name in NUMBERS:
            for a, b in zip(left.regressions, right.regressions, strict=True):
                assert (a.sd, a.intercept) == pytest.approx((b.sd, b.intercept), rel=1e-12)
        else:
            assert np.array_equal(left.table, right.table)


def test_threads_change_no_bit(monkeypatch):
    from gml.model.mixtures import problem, rows

    monkeypatch.setattr(problem, "_FEW_ROWS", 0)
    monkeypatch.setattr(rows, "BLOCK_ROWS", 16)
    frame = table(8, holes=0.1)
    one, two = (
        gml.mixture(read(frame), components=2, covariance="EEE", em_restarts=2, threads=threads)
        for threads in (1, 2)
    )
    assert one.chosen.ends == two.chosen.ends
    assert np.array_equal(one.chosen.parameters.means, two.chosen.parameters.means)


def test_equal_rows_are_weights():
    frame = table(9, labels=3, numbers=0)
    counted = frame.value_counts().reset_index(name="times")
    whole = gml.mixture(frame, components=2, em_restarts=3)
    weighted = gml.mixture(counted, components=2, em_restarts=3, weights="times")
    assert whole.chosen.ends == weighted.chosen.ends
    assert whole.chosen.bic == weighted.chosen.bic


def test_the_network_has_the_likelihood_of_the_mixture():
    frame = table(3, rows=40)
    for model in ("VVI", "EEE", "VII"):
        found = gml.mixture(read(frame), components=2, covariance=model, em_restarts=1)
        hidden = found.model
        total = 0.0
        rows = MixtureData(mixture_rows(read(frame))).rows_for(MODELS[model])
        for row in frame.to_dict("records"):
            total += log_density(row, parts(found.chosen.parameters), rows)
        by_class = []
        for level in hidden.cpt("class").variable.levels:
            full = frame.assign(**{"class": level})
            by_class.append(_row_logs(hidden, full))
        assert np.logaddexp.reduce(by_class).sum() == pytest.approx(total, rel=1e-10)


def _row_logs(net, frame):
    """ln of the density of complete rows, node by node."""
    found = np.zeros(len(frame))
    for cpd in net.cpds:
        name = cpd.variable.name
        for i, row in enumerate(frame.to_dict("records")):
            k = int(row["class"]) - 1
            if name == "class":
                found[i] += math.log(cpd.table[0, k])
            elif name in NUMBERS:
                line = cpd.regressions[k]
                mean = line.intercept + sum(
                    slope * row[parent.name]
                    for slope, parent in zip(line.coefficients, line.parents, strict=True)
                )
                away = (row[name] - mean) / line.sd
                found[i] += -0.5 * away**2 - math.log(line.sd) - 0.5 * math.log(2 * math.pi)
            else:
                found[i] += math.log(cpd.table[k, cpd.variable.levels.index(row[name])])
    return found


def test_profiles_have_the_moments_of_the_classes():
    frame = table(4)
    found = gml.mixture(read(frame), components=2, covariance="VVV", em_restarts=2)
    rows, parameters = mixture_rows(read(frame)), found.chosen.parameters
    profiles = {one.variable.name: one for one in found.profiles.columns}
    for j, variable in enumerate(rows.numbers):
        means = parameters.means[:, j] * rows.scale[j] + rows.centre[j]
        sds = np.sqrt(parameters.covariances[:, j, j]) * rows.scale[j]
        assert profiles[variable.name].means == pytest.approx(means, rel=1e-10)
        assert profiles[variable.name].sds == pytest.approx(sds, rel=1e-10)


def test_classes_are_predicted_as_the_mixture_has_them():
    frame = table(6, rows=40, holes=0.2)
    found = gml.mixture(read(frame), components=3, covariance="EEE", em_restarts=2)
    data = MixtureData(mixture_rows(read(frame)))
    problem = MixtureProblem(data.rows, 3, MODELS["EEE"], reference=None)
    shares, _ = problem.shares(found.chosen.parameters)
    for row in frame.head(15).to_dict("records"):
        known = {name: value for name, value in row.items() if value == value}
        answer = found.model.query("class", known)["class"]
        expected = shares[place_of(row, data.rows)]
        assert [answer[level] for level in ("1", "2", "3")] == pytest.approx(expected, abs=1e-9)


def test_many_rows_of_labels_are_made_distinct_in_parts(monkeypatch):
    from gml.data import row_groups as module

    frame = table(10, rows=500, holes=0.1, numbers=0)
    whole = mixture_rows(read(frame))
    monkeypatch.setattr(module, "_PART_ROWS", 40)
    in_parts = mixture_rows(read(frame))
    assert whole.codes.tolist() == in_parts.codes.tolist()
    assert whole.weights.tolist() == in_parts.weights.tolist()


def test_a_class_of_equal_rows_is_discarded_and_named():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(40, 2)) + np.where(np.arange(40) < 20, -2.5, 2.5)[:, None]
    values[:3] = 4.0, -2.0
    frame = pd.DataFrame(values, columns=["u", "v"])
    with pytest.warns(gml.GmlWarning, match="a class of 3 rows without volume, at u=4, v=-2"):
        found = gml.mixture(frame, components=3, covariance="VII", gaussian=True)
    assert found.chosen.discarded
    assert len(found.chosen.ends) == 20
    assert found.chosen.ends.count(None) == len(found.chosen.discarded)
    assert found.chosen.log_likelihood == max(x for x in found.chosen.ends if x is not None)
    bounded = gml.mixture(frame, components=3, covariance="VII", gaussian=True, regularise=0.01)
    assert not bounded.chosen.discarded


def test_where_all_starts_collapse_nothing_is_answered():
    frame = pd.DataFrame({"u": [0.0] * 5 + [1.0] * 5, "v": [0.0] * 5 + [1.0, 1, 1, 1, 1.5]})
    with pytest.raises(CannotAnswer, match="no bound: a class of 5 rows without volume"):
        gml.mixture(frame, components=2, covariance="VVI", gaussian=True)


def test_regularised_variances_have_a_floor():
    frame = table(11, labels=0)
    for model in ("VII", "VVI", "VVV"):
        found = gml.mixture(
            read(frame), components=2, covariance=model, regularise=0.5, em_restarts=1
        )
        matrices = matrices_of(found.chosen.parameters.covariances, 2, 3)
        assert np.linalg.eigvalsh(matrices).min() >= 0.5 - 1e-12


def test_models_that_are_the_same_are_fitted_once():
    frame = table(12, labels=0, numbers=1)
    found = gml.mixture(read(frame), components="1..2", em_restarts=2)
    assert [(fit.n_classes, fit.covariance) for fit in found.fits] == [
        (1, "EII"),
        (2, "EII"),
        (2, "VII"),
    ]


def test_criteria():
    frame = table(13)
    found = gml.mixture(read(frame), components="1..3", covariance="EEE", em_restarts=2)
    for fit in found.fits:
        assert fit.bic == pytest.approx(
            fit.log_likelihood - 0.5 * fit.n_parameters * math.log(100), rel=1e-14
        )
        assert fit.icl <= fit.bic
    assert found.chosen.bic == max(fit.bic for fit in found.fits)
    folded = gml.mixture(read(frame), components="1..2", covariance="EEE", em_restarts=2, folds=4)
    assert folded.criterion == "folds"
    assert folded.chosen.n_classes == 2
    assert all(fit.held_out < fit.log_likelihood for fit in folded.fits)


def test_held_out_rows_are_those_of_other_folds():
    """With one class, each fold is a normal distribution of the rows outside it."""
    frame = table(14, rows=40, labels=0)
    found = gml.mixture(read(frame), components=1, covariance="VVV", folds=40)
    values = frame[NUMBERS].to_numpy(float)
    total = 0.0
    for i in range(40):
        rest = np.delete(values, i, axis=0)
        away, covariance = values[i] - rest.mean(axis=0), np.cov(rest.T, bias=True)
        total -= 0.5 * (
            away @ np.linalg.solve(covariance, away)
            + np.linalg.slogdet(2 * math.pi * covariance)[1]
        )
    assert found.chosen.held_out == pytest.approx(total, rel=1e-9)


@pytest.mark.parametrize(
    ("sizes", "n_classes", "rank"),
    [
        ((2, 2, 2), 2, 7),
        ((2, 2), 2, 3),
        ((2, 2, 2, 2), 3, 13),
        ((3, 3, 3), 2, 13),
        ((2,) * 7, 3, 23),
        # Constants tell nothing of classes, and what is left of their sums is rounding.
        ((1, 1, 1), 3, 0),
        ((1, 2, 2), 3, 3),
        ((1, 2, 2, 2, 2, 2), 3, 17),
    ],
)
def test_ranks(sizes, n_classes, rank):
    labels = tuple(
        gml.Variable(f"x{j}", tuple(map(str, range(size)))) for j, size in enumerate(sizes)
    )
    assert generic_rank(labels, n_classes) == rank


def test_covariances_that_hardly_any_row_sees_whole_are_discarded_and_named():
    rng = np.random.default_rng(3)
    numbers = 0.99**0.5 * rng.normal(size=(100, 1)) + 0.1 * rng.normal(size=(100, 5))
    numbers[rng.random(numbers.shape) < 0.6] = np.nan
    rows = gml.Dataset(tuple(gml.Variable(name, None) for name in "abcde"), tuple(numbers.T.copy()))
    with pytest.warns(gml.GmlWarning) as said:
        found = gml.mixture(rows, components="1..2", em_restarts=2)
    (warning,) = [str(one.message) for one in said if "discarded" in str(one.message)]
    assert "1 EEE: a class of" in warning and "classes that share a covariance" in warning
    assert "`regularise=0.01` gives mixtures without an end one" in warning
    fits = {(fit.n_classes, fit.covariance): fit for fit in found.fits}
    assert fits[1, "EEE"].parameters is None and len(fits[1, "EEE"].discarded) == 1
    assert fits[2, "VVI"].log_likelihood is not None
    blurred = gml.mixture(rows, components=1, covariance="EEE", regularise=0.01)
    assert blurred.chosen.log_likelihood > fits[1, "EEI"].log_likelihood


def test_bad_tables():
    frame = table(15, rows=30)
    with pytest.raises(DataError, match="'u' has the same number in all rows"):
        gml.mixture(read(frame.assign(u=3.0)), components=2)
    with pytest.raises(DataError, match="'u' is wholly missing"):
        gml.mixture(read(frame.assign(u=np.nan)), components=2)
    with pytest.raises(CannotAnswer, match="'u', 'v', 'w' are linear functions of one"):
        gml.mixture(read(frame.assign(w=frame.u + frame.v)), components=2, covariance="VVV")
    with pytest.warns(gml.GmlWarning, match="EEE and VVV are left out"):
        found = gml.mixture(read(frame.assign(w=frame.u + frame.v)), components=2, em_restarts=2)
    assert {fit.covariance for fit in found.fits} == {"EII", "VII", "EEI", "VVI"}
    with pytest.raises(UsageError, match="is for numbers"):
        gml.mixture(read(frame[["a", "b"]]), components=2, covariance="VVV")
    with pytest.raises(CannotAnswer, match="31 classes cannot be told apart in 30 different rows"):
        gml.mixture(read(frame), components=31)
    with pytest.raises(UsageError, match="is a column of the data"):
        gml.mixture(read(frame), name="a")


def test_a_column_of_labels_wholly_missing():
    frame = pd.DataFrame({"a": ["x", "y", "x"], "b": [None, None, None]})
    with pytest.raises(DataError, match="'b' is wholly missing"):
        gml.mixture(frame, components=1)


def test_rows_with_nothing_observed_change_nothing():
    frame = table(16, labels=0)
    empty = pd.concat([frame, pd.DataFrame([[np.nan] * 3], columns=NUMBERS)], ignore_index=True)
    one, two = (
        gml.mixture(read(t), components=2, covariance="VVV", em_restarts=3) for t in (frame, empty)
    )
    assert one.chosen.log_likelihood == pytest.approx(two.chosen.log_likelihood, rel=1e-12)
    assert (two.rows, two.chosen.bic) == (one.rows, pytest.approx(one.chosen.bic, rel=1e-12))


def test_the_result_is_shown():
    found = gml.mixture(read(table(17)), components=2, covariance="EEE", em_restarts=2)
    assert "Mixture: 2 classes, covariances EEE" in found._repr_html_()
    frame = found.to_frame()
    assert frame["log_likelihood"].tolist() == [found.chosen.log_likelihood]
    assert found.graph.hidden == ("class",)


@pytest.mark.parametrize("observed", [[0, 1, 2], [0, 2], []])
def test_wide_classes_have_the_moments_of_others(observed):
    rng = np.random.default_rng(20)
    means, variances = rng.normal(size=(2, 3)), rng.uniform(0.1, 2, (2, 3))
    values, shares = rng.normal(size=(30, len(observed))), rng.random((2, 30))
    found = []
    for kind in (DiagonalDensities, WideDiagonalDensities):
        one = kind(means, variances, np.array(observed, dtype=np.intp))
        z = one.standardised(values)
        found.append((one.log_densities(z), *one.restored(one.moments(z, shares))))
    for mine, other in zip(*found, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-12, atol=1e-12)


def test_narrow_classes_lose_no_digits():
    narrow = densities_of(np.zeros((2, 1)), np.array([[1.0], [1e-6]]), np.array([0]))
    assert isinstance(narrow, DiagonalDensities)


# ---------------------------------------------------------------------- holes of many kinds


@pytest.mark.parametrize("entries", [1, 2])
def test_rows_with_holes_of_their_own_are_as_one_by_one(entries):
    """Batches of rows against rows alone, whose densities are compared with the definition."""
    rng = np.random.default_rng(21)
    turn = rng.normal(size=(entries, 4, 4))
    means, covariances = rng.normal(size=(2, 4)), turn @ turn.swapaxes(1, 2)
    observed = np.array([np.sort(rng.permutation(4)[:2]) for _ in range(9)])
    values, shares = rng.normal(size=(9, 2)), rng.random((2, 9))
    together = densities_of(means, covariances, observed)
    z = together.standardised(values)
    logs = together.log_densities(z)
    sums = together.restored(together.moments(z, shares))
    for k, seen in enumerate(observed):
        alone = densities_of(means, covariances, seen)
        z = alone.standardised(values[k : k + 1])
        np.testing.assert_allclose(logs[:, k : k + 1], alone.log_densities(z), rtol=1e-12)
        own = alone.restored(alone.moments(z, shares[:, k : k + 1]))
        sums = type(sums)(*(a - b for a, b in zip(sums, own, strict=True)))
    for left in sums:
        np.testing.assert_allclose(left, 0.0, atol=1e-12)


@pytest.mark.parametrize("observed", [[0, 1, 2], [0, 2], []])
def test_masked_classes_have_the_moments_of_others(observed):
    rng = np.random.default_rng(22)
    means, variances = rng.normal(size=(2, 3)), rng.uniform(0.1, 2, (2, 3))
    values, shares = np.full((30, 3), np.nan), rng.random((2, 30))
    values[:, observed] = rng.normal(size=(30, len(observed)))
    one = DiagonalDensities(means, variances, np.array(observed, dtype=np.intp))
    other = densities_of(means, variances, None)
    a, b = one.standardised(values[:, observed]), other.standardised(values)
    np.testing.assert_allclose(other.log_densities(b), one.log_densities(a), rtol=1e-13)
    for mine, theirs in zip(
        other.restored(other.moments(b, shares)), one.restored(one.moments(a, shares)), strict=True
    ):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(("model", "most"), [("VVV", 60), ("VVI", 3)])
def test_rows_with_many_patterns_of_holes_are_taken_together(model, most):
    rng = np.random.default_rng(23)
    values = rng.normal(size=(3000, 12))
    values[rng.random(values.shape) < 0.4] = np.nan
    names = [f"x{j:02}" for j in range(12)]
    frame = pd.DataFrame(values, columns=names)
    rows = mixture_rows(gml.Dataset.from_frame(frame, missing="available", numeric=names))
    blocks = rows.blocks_for(MODELS[model].form, 4)
    assert len(blocks) < most
    taken = np.concatenate([np.arange(len(rows.weights))[block.rows] for block in blocks])
    assert sorted(taken.tolist()) == list(range(len(rows.weights)))


def test_the_covariance_of_all_rows_keeps_to_the_limits_of_a_climb():
    frame = table(24, holes=0.3)
    rows = mixture_rows(read(frame))
    at_once = MixtureData(rows, MixtureSettings(most_steps=1)).covariance
    whole = MixtureData(rows)
    assert np.abs(at_once - whole.covariance).max() > 1e-3
    late = Deadline(1e-9)
    assert late.passed
    in_time = MixtureData(rows, MixtureSettings(deadline=late)).covariance
    assert np.abs(in_time - whole.covariance).max() > 1e-3
    # One class of any covariance is the same distribution.
    one = fit_mixture(whole, 1, MODELS["VVV"], MixtureSettings()).parameters.covariances[0]
    np.testing.assert_allclose(whole.covariance, one, rtol=1e-6, atol=1e-8)
    # A part of the rows is compared with all of them.
    part = whole.weighing(np.where(np.arange(len(rows.weights)) < 4, rows.weights, 0.0))
    assert part.reference(MODELS["VVV"]) is whole.reference(MODELS["VVV"])


def test_a_mixture_without_room_is_refused_before_it_is_fitted():
    with limited_to(1_000_000), pytest.raises(CannotAnswer, match=r"sums of a mixture.*max_memory"):
        problem_of(table(25), "VVV", 900)


def test_folds_of_rows_that_count_often_take_no_room_for_each():
    rows = pd.DataFrame({"a": ["x", "y", "y"], "b": ["x", "x", "y"], "n": [3_000_000, 2, 999_999]})
    with traced_memory() as peak:
        found = gml.mixture(rows, components=1, weights="n", folds=2)
    assert found.rows == 4_000_001
    # One class: what is left out has nearly the density of the rest.
    assert found.chosen.held_out == pytest.approx(found.chosen.log_likelihood, rel=1e-4)
    assert peak[0] < 10e6


def test_a_mixture_reports_and_numbers_as_a_fit_with_a_hidden_node():
    """The same model by both engines: naive Bayes with a class that nobody saw."""
    frame = table(26, rows=150, numbers=1)
    mixed = gml.mixture(read(frame), components=2, covariance="VVV", em_restarts=4)
    graph = gml.Graph.from_edges(
        [*frame, "class"], [("class", "-->", name) for name in frame], kind="dag"
    )
    net = gml.fit(read(frame), graph, hidden={"class": 2}, em_restarts=4)
    one, other = (model.learning.written()["em"] for model in (mixed.model, net))
    assert one.keys() == other.keys()
    assert one["log_likelihood"] == pytest.approx(other["log_likelihood"], abs=1e-6)
    assert one["parameters"] == other["parameters"]
    for name in ("a", "b", "c", "class"):
        assert mixed.model.cpt(name).table == pytest.approx(net.cpt(name).table, abs=1e-5)


def test_steps_are_those_of_the_best_start():
    with pytest.warns(gml.GmlWarning, match=r"had not converged after 1[0-2] steps"):
        gml.mixture(
            read(table(27, holes=0.2)), components=3, covariance="VVV", em_restarts=5, em_steps=10
        )


def test_folds_of_fractional_weights_are_refused():
    """Rows that answer alike would all be left out together, with whatever they weigh."""
    frame = table(1, rows=40, numbers=0).assign(w=np.linspace(0.5, 1.5, 40))
    how = {"components": 2, "weights_fractional": "w"}
    for more in ({"criterion": "folds"}, {"folds": 5}):
        with pytest.raises(UsageError, match=r"splits whole rows.*weights_fractional"):
            gml.mixture(frame, **how, **more)
    assert gml.mixture(frame, em_restarts=2, **how).chosen.n_classes == 2

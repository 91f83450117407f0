"""What EM promises of every problem, on problems drawn at random.

The objective never falls, with and without acceleration; where a climb has ended, nothing is to be
gained by moving a parameter (the conditions of Karush, Kuhn and Tucker, by differences); the E-step
is what enumeration finds; expected counts add up to the rows; complete rows have the closed form,
in one step. `benchmarks/em_conditions.py` goes through thousands of problems, the tests through
some.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

import gml
from gml.counts.memory import MemoryCounter
from gml.data.dataset import Dataset
from gml.errors import CannotAnswer, DataError
from gml.model.bayesnet import BayesNet
from gml.model.em.climbing import climb
from gml.model.em.fitting import fit_em
from gml.model.em.number_expectations import Expectation
from gml.model.em.number_families import Families, Parameters
from gml.model.em.number_fitting import number_problem
from gml.model.em.number_rows import number_rows
from gml.model.em.number_starts import available_estimate, pooled_regressions
from gml.model.em.number_starts import starts as number_starts
from gml.model.em.table_fitting import table_problem
from gml.model.em.table_starts import starts as table_starts
from gml.model.fit import fit
from gml.model.fit_priors import PRIORS
from gml.model.mixtures.covariances import MODELS, matrices_of
from gml.model.mixtures.fitting import MixtureData, MixtureSettings
from gml.model.mixtures.problem import MixtureProblem
from gml.model.mixtures.rows import mixture_rows
from gml.model.mixtures.starts import starts as mixture_starts
from gml.model.regression_prior import NUMBER_PRIORS, RegressionPrior

from .incomplete_rows import joint_expected_counts, joint_log_likelihood, weighted, without
from .incomplete_rows import with_holes as labels_with_holes
from .mixed_networks import random_mixed
from .networks import random_net
from .numbers_with_holes import drawn_parameters, enumerated, with_holes

MOST_FALL = 1e-9
"""The share of the objective by which it may fall."""
MOST_SLOPE = 1e-5
"""What moving a parameter may gain at first, per row: probabilities by their logarithms."""
MOST_GAP = 1e-8
"""How far sums may be from enumeration, per row."""

# Below this, a probability is looked at as one that is 0.
_BOUNDARY = 1e-5
_PRIORS_OF_TABLES = (None, *((prior, 1.5) for prior in PRIORS))


@dataclass
class Conditions:
    """The worst of what was found, and how much was looked at."""

    problems: int = 0
    climbs: int = 0
    converged: int = 0
    collapsed: int = 0
    steps: int = 0
    fall: float = 0.0
    slope: float = 0.0
    e_step_gap: float = 0.0
    count_gap: float = 0.0
    closed_form_gap: float = 0.0
    closed_forms: int = 0
    apart: float = 0.0
    """How far the ends of plain and accelerated climbs lie apart, where both converged."""
    broken: list[str] = field(default_factory=list)

    def worst(self, name, value, limit, which):
        """Keep the largest of some figures, and name the problem where it is too large."""
        setattr(self, name, max(getattr(self, name), value))
        if not value <= limit:
            self.broken.append(f"{which}: {name} {value:.3g}")


class Plain:
    """A problem of EM whose climbs are not accelerated."""

    def __init__(self, problem):
        self.step = problem.step

    def admitted(self, wanted, near):
        """Refuse every extrapolation."""
        return None


def climb_both_ways(found, problem, start, which, most_steps):
    """Climb with and without acceleration; return the accelerated one unless it collapsed."""
    ends = [climb(one, start, most_steps=most_steps) for one in (problem, Plain(problem))]
    for end in ends:
        found.climbs += 1
        found.steps += end.steps
        if end.flaw is not None:
            found.collapsed += 1
            continue
        found.converged += end.converged
        heights = np.array(end.objectives)
        falls = (heights[:-1] - heights[1:]) / np.maximum(np.abs(heights[1:]), 1e-9)
        found.worst("fall", float(falls.max(initial=0.0)), MOST_FALL, which)
    first, second = ends
    if first.converged and second.converged and first.objective != second.objective:
        found.apart = max(found.apart, abs(first.objective / second.objective - 1))
    return first if first.flaw is None else None


def simplex_slopes(height, shares):
    """What is gained by moving shares that add up to 1 towards each of them.

    `height` takes shares. That of one inside is by its logarithm; that of one at 0, where the
    height may only fall, by itself.
    """
    top = height(shares)
    found = []
    for k, share in enumerate(shares.tolist()):
        towards = -shares.copy()
        towards[k] += 1.0
        if share > 1 - 1e-12:
            continue
        if share > _BOUNDARY:
            h = 3e-4 * share / (1 - share)
            h = min(h, 3e-4)
            slope = (height(shares + h * towards) - height(shares - h * towards)) / (2 * h)
            found.append(abs(slope) * share)
        else:
            # Concave along this line, so that the secant is never steeper than the slope.
            h = 1e-5
            found.append((height(shares + h * towards) - top) * 1.0)
    return found


# ---------------------------------------------------------------------- tables


def examine_tables(found, seed):
    """A network of labels: hidden nodes, weights and every prior take turns."""
    rng = np.random.default_rng([seed, 1])
    net = random_net(rng, int(rng.integers(2, 6)), p=0.5, zeros=0.2 * (seed % 3 == 0))
    complete = net.sample(int(rng.integers(10, 80)), seed=seed)
    if seed % 4 == 1:
        complete = weighted(complete, rng.integers(1, 6, complete.n_rows))
    alpha = _PRIORS_OF_TABLES[seed % len(_PRIORS_OF_TABLES)]
    which = f"tables {seed}, prior {alpha}"
    _closed_form_of_tables(found, net, complete, alpha, which)
    rows, hidden = labels_with_holes(complete, rng, float(rng.uniform(0.05, 0.5))), {}
    if seed % 2:
        gone = net.names[int(rng.integers(len(net.names)))]
        rows, hidden = without(rows, [gone]), {gone: len(net.cpt(gone).variable.levels)}
    try:
        problem = table_problem(net.graph, rows, hidden=hidden, alpha=alpha, threads=1)
    except DataError:  # a column without a value, and no prior
        return
    found.problems += 1
    start = list(table_starts(problem, 2, seed))[-1]
    _enumeration_of_tables(found, problem, net, rows, start, which)
    if problem.parts.is_empty:
        return
    end = climb_both_ways(found, problem, start, which, most_steps=2000)
    if end is not None and end.converged:
        _maximum_of_tables(found, problem, end.parameters, rows.n, which)


def _closed_form_of_tables(found, net, rows, alpha, which):
    options = {"method": "mle"}
    if alpha is not None:
        options = {"method": "bayes", "prior": alpha[0], "ess": alpha[1]}
    wanted = fit(net.graph, MemoryCounter(rows, threads=1), **options)
    mine = fit_em(net.graph, rows, **options)
    gap = max(
        float(np.abs(a.table - b.table).max())
        for a, b in zip(mine.net.cpds, wanted.cpds, strict=True)
    )
    found.closed_forms += 1
    found.worst("closed_form_gap", gap + (mine.report.steps != 1), 0.0, which)


def _enumeration_of_tables(found, problem, net, rows, at, which):
    layout = problem.layout
    tables = [
        layout.in_graph_order(j, layout.table(at, j))
        for j in (layout.names.index(name) for name in net.names)
    ]
    there = BayesNet(tuple(replace(cpt, table=t) for cpt, t in zip(net.cpds, tables, strict=True)))
    height, _ = problem.expect(at)
    wanted = joint_log_likelihood(there, rows)
    gap = abs(height - wanted) / max(1.0, abs(wanted))
    completed = problem.completed_counts(at)
    for j, counts in enumerate(joint_expected_counts(there, rows)):
        node = layout.names.index(net.names[j])
        mine = layout.in_graph_order(node, layout.table(completed, node))
        gap = max(gap, float(np.abs(mine - counts).max()) / rows.n)
        found.worst("count_gap", abs(float(mine.sum()) / rows.n - 1), 1e-11, which)
    found.worst("e_step_gap", gap, MOST_GAP, which)


def _maximum_of_tables(found, problem, at, n, which):
    for rows in problem.layout.rows:
        for cells in rows.cells:

            def height(shares, cells=cells):
                there = at.copy()
                there[cells] = shares
                return problem.expect(there)[0] + problem.log_prior(there)

            slopes = simplex_slopes(height, at[cells])
            found.worst("slope", max(slopes, default=0.0) / n, MOST_SLOPE, which)


# ---------------------------------------------------------------------- numbers, and labels beside


def examine_numbers(found, seed, *, labels):
    """A network of numbers, or of numbers and labels: priors and hidden nodes take turns."""
    rng = np.random.default_rng([seed, 2 + labels])
    n_labels = int(rng.integers(1, 4)) if labels else 0
    n_numbers = int(rng.integers(1, 4)) if labels else int(rng.integers(2, 7))
    net = random_mixed(rng, n_labels, n_numbers, p=0.5 if labels else 0.7, most_levels=2 + seed % 2)
    complete = net.sample(int(rng.integers(60, 250)), seed=seed)
    prior = (None, *NUMBER_PRIORS)[seed % 3]
    given = {
        "alpha": None if prior is None else (PRIORS[seed % len(PRIORS)], 1.5),
        "regression_prior": None if prior is None else RegressionPrior(prior, 2.0),
    }
    which = f"{'mixed' if labels else 'gaussian'} {seed}, prior {prior} {given['alpha']}"
    _closed_form_of_numbers(found, net, complete, given, which)
    rows, hidden = with_holes(rng, complete, float(rng.uniform(0.05, 0.3))), {}
    label_nodes = [v.name for v in net.variables if not v.is_continuous]
    if label_nodes and seed % 4 == 3:
        gone = label_nodes[int(rng.integers(len(label_nodes)))]
        rows, hidden = without(rows, [gone]), {gone: len(net.cpt(gone).variable.levels)}
    _enumeration_of_numbers(found, rng, net, rows, hidden, which)
    try:
        problem, data = number_problem(net.graph, rows, hidden=hidden, **given)
    except (DataError, CannotAnswer):  # too few rows of a configuration, and no prior
        return
    found.problems += 1
    if problem.expectation.is_complete:
        return
    estimate = available_estimate(
        problem.families, data, pooled_regressions(problem.families, data)
    )
    start = list(number_starts(problem.families, data, estimate, 1 + seed % 2, seed))[-1]
    end = climb_both_ways(found, problem, start, which, most_steps=1000)
    if end is not None and end.converged:
        _maximum_of_numbers(found, problem, end.parameters, data.n, which)


def _closed_form_of_numbers(found, net, rows, given, which):
    options = {"method": "mle"}
    if given["alpha"] is not None:
        options = {
            "method": "bayes",
            "number_prior": given["regression_prior"].kind,
            "prior_rows": given["regression_prior"].rows,
        }
        if any(not variable.is_continuous for variable in net.variables):
            options["prior"] = given["alpha"][0]
            if given["alpha"][0] == "bdeu":
                options["ess"] = given["alpha"][1]
    try:
        wanted = gml.fit(rows, net.graph, **options)
    except (DataError, CannotAnswer):
        return
    mine = fit_em(net.graph, rows, **options)
    gap = float(mine.report.steps != 1)
    for a, b in zip(mine.net.cpds, wanted.cpds, strict=True):
        if not a.variable.is_continuous:
            gap = max(gap, float(np.abs(a.table - b.table).max()))
            continue
        for x, y in zip(
            getattr(a, "regressions", (a,)), getattr(b, "regressions", (b,)), strict=True
        ):
            u, v = (np.array([one.intercept, *one.coefficients, one.sd]) for one in (x, y))
            gap = max(gap, float((np.abs(u - v) / (1 + np.abs(v))).max()))
    found.closed_forms += 1
    found.worst("closed_form_gap", gap, 1e-9, which)


def _enumeration_of_numbers(found, rng, net, rows, hidden, which):
    few = rows.select(rows.names)
    few = Dataset(few.variables, tuple(column[:20] for column in few.columns))
    try:
        data = number_rows(net.names, few, hidden)
    except DataError:  # a column of one value
        return
    families = Families.of(net.graph, data)
    at = drawn_parameters(rng, families)
    wanted = enumerated(families, data, at)
    mine = Expectation(families, data, keep_barren=True)(at)
    gap = abs(mine.log_likelihood - wanted.log_likelihood) / max(1.0, abs(wanted.log_likelihood))
    for one, other in zip(
        (*mine.products, *mine.counts), (*wanted.products, *wanted.counts), strict=True
    ):
        gap = max(gap, float((np.abs(one - other) / (1 + np.abs(other))).max()))
    found.worst("e_step_gap", gap, MOST_GAP, which)
    totals = [p[:, 0, 0].sum() for p in mine.products] + [c.sum() for c in mine.counts]
    found.worst("count_gap", max(abs(t / data.n - 1) for t in totals), 1e-11, which)


def _maximum_of_numbers(found, problem, vector, n, which):
    families = problem.families
    at = families.parameters(vector)

    def height(there):
        return problem.log_likelihood(there) + problem.log_prior(there)

    slopes = []
    place = 0
    for j, one in enumerate(at.regressions):
        free = problem.estimated(j)
        for part, width in ((one.terms, one.terms.shape[1]), (one.log_sd, 1)):
            for k in range(part.size):
                # Terms by the deviations that they are to explain.
                unit = float(np.exp(one.log_sd[k // width])) if part is one.terms else 1.0
                if free[k // width]:
                    move = np.zeros(len(vector))
                    move[place + k] = 1e-5 * unit
                    ahead = height(families.parameters(vector + move))
                    behind = height(families.parameters(vector - move))
                    slopes.append(abs(ahead - behind) / 2e-5)
            place += part.size
    for j, table in enumerate(at.tables):
        for row in range(len(table)):

            def moved(shares, j=j, row=row):
                tables = [one.copy() for one in at.tables]
                tables[j][row] = shares
                return height(Parameters(at.regressions, tuple(tables)))

            slopes += simplex_slopes(moved, table[row])
    found.worst("slope", max(slopes) / n, MOST_SLOPE, which)


# ---------------------------------------------------------------------- mixtures


def examine_mixtures(found, seed):
    """A mixture of labels, numbers or both, with every model of covariances."""
    rng = np.random.default_rng([seed, 4])
    n_labels, n_numbers = ((3, 0), (2, 2), (0, 3), (4, 1))[seed % 4]
    model = MODELS[list(MODELS)[int(rng.integers(len(MODELS)))]]
    regularise = 0.0 if seed % 3 else 0.05
    frame = _rows_of_classes(rng, n_labels, n_numbers)
    frame = frame.mask(rng.random(frame.shape) < (0.0, 0.15, 0.3)[seed % 3])
    rows = gml.Dataset.from_frame(
        frame, missing="available", numeric=[name for name in frame if name.startswith("x")]
    )
    which = f"mixture {seed}, {n_labels} labels, {n_numbers} numbers, {model.name}"
    data = MixtureData(mixture_rows(rows), MixtureSettings(regularise=regularise))
    problem = MixtureProblem(
        data.rows_for(model),
        int(rng.integers(2, 5)),
        model,
        reference=data.reference(model) if n_numbers else None,
        regularise=regularise,
    )
    found.problems += 1
    start = next(mixture_starts(problem.rows, problem.n_classes, model, seed=seed, count=1))
    sums = problem.expected(problem.space.of(start))
    found.worst("count_gap", abs(sums.sizes.sum() / problem.rows.n - 1), 1e-11, which)
    end = climb_both_ways(found, problem, start, which, most_steps=2000)
    if end is not None and end.converged:
        _maximum_of_mixture(found, problem, end.parameters, which)


def _rows_of_classes(rng, n_labels, n_numbers):
    n = int(rng.integers(60, 200))
    of_row = rng.integers(0, 2, n)
    columns = {
        f"d{j}": np.array(list("xyz"))[rng.binomial(2, np.where(of_row, 0.8, 0.25), n)].astype(
            object
        )
        for j in range(n_labels)
    }
    turned = rng.normal(size=(n, 3)) @ rng.normal(size=(3, 3))
    for j in range(n_numbers):
        columns[f"x{j}"] = (turned[:, j] + 2.5 * of_row) * 10.0**j
    return pd.DataFrame(columns)


def _maximum_of_mixture(found, problem, vector, which):
    here = problem.space.of(vector)

    def height(**parts):
        return problem.expected(replace(here, **parts)).objective

    slopes = simplex_slopes(lambda shares: height(shares=shares), here.shares)
    for j, variable in enumerate(problem.rows.labels):
        own = slice(
            int(problem.rows.offsets[j]), int(problem.rows.offsets[j]) + len(variable.levels)
        )
        for k in range(problem.n_classes):
            if here.shares[k] * problem.rows.n < 1e-6:
                continue

            def moved(shares, own=own, k=k):
                tables = here.tables.copy()
                tables[own, k] = shares
                return height(tables=tables)

            slopes += simplex_slopes(moved, here.tables[own, k])
    slopes += _slopes_of_numbers(height, here)
    found.worst("slope", max(slopes) / problem.rows.n, MOST_SLOPE, which)


def _slopes_of_numbers(height, here):
    slopes = []
    if not here.means.shape[1]:
        return slopes
    roots = np.linalg.cholesky(matrices_of(here.covariances, *here.means.shape))
    for k, j in np.ndindex(here.means.shape):
        move = np.zeros_like(here.means)
        move[k] = 1e-5 * roots[k][:, j]
        slopes.append(abs(height(means=here.means + move) - height(means=here.means - move)) / 2e-5)
    for change in _changes_of_covariances(here.covariances):
        ahead = height(covariances=here.covariances + 1e-5 * change)
        slopes.append(abs(ahead - height(covariances=here.covariances - 1e-5 * change)) / 2e-5)
    return slopes


def _changes_of_covariances(covariances):
    """Directions in which covariances may move, as large as they are themselves."""
    for at in np.ndindex(covariances.shape):
        change = np.zeros_like(covariances)
        change[at] = 1.0
        if change.ndim == 3:
            root = np.linalg.cholesky(covariances)
            yield root @ (change + change.swapaxes(1, 2)) / 2 @ root.swapaxes(1, 2)
        else:
            yield change * covariances


EXAMINED = {
    "tables": examine_tables,
    "gaussian": lambda found, seed: examine_numbers(found, seed, labels=False),
    "mixed": lambda found, seed: examine_numbers(found, seed, labels=True),
    "mixtures": examine_mixtures,
}

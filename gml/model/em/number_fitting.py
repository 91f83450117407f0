"""Fit a network with numbers, alone or beside labels, to incomplete rows by EM."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml.data.dataset import Dataset
from gml.errors import CannotAnswer, DataError, GmlError, listing, parameter
from gml.graph.graph import Graph
from gml.kernel.blas import one_blas_thread
from gml.model.bayesnet import BayesNet
from gml.model.conditional_fit import SPARE_ROWS, NoEstimate, too_few_rows
from gml.model.em.climbing import Climb, Climbs, Collapsed, climb_from
from gml.model.em.em_report import EmFit, EmReport, EmSettings, refuse_silent, warn_of_left_out
from gml.model.em.normal import normal_em
from gml.model.em.number_expectations import Expectation, available_sums
from gml.model.em.number_families import Families, NumberFamily
from gml.model.em.number_information import Information, information
from gml.model.em.number_intervals import intervals_of
from gml.model.em.number_maximum import Fixed, NumberProblem, Priors, added_rows
from gml.model.em.number_network import in_units, network, numbered, parameters_of, with_intervals
from gml.model.em.number_rows import MISSING, NumberRows, number_rows
from gml.model.em.number_starts import available_estimate, pooled_regressions, starts
from gml.model.fit_priors import prior_count
from gml.model.regression_prior import RegressionPrior
from gml.progress import Deadline
from gml.resources import available_threads, require_memory

Array = NDArray[np.float64]

# Copies of all sums: those of tasks, of parameters, and of the network.
_COPIES = 8


class CollapsedClimb(NoEstimate, DataError):
    """The only climb came to regressions without errors, or without rows."""


def fit_numbers(
    graph: Graph,
    rows: Dataset,
    *,
    hidden: Mapping[str, int],
    alpha: tuple[str, float] | None,
    regression_prior: RegressionPrior | None,
    settings: EmSettings,
    intervals: float | None = None,
    max_memory: int | None = None,
    threads: int | None = None,
) -> EmFit:
    """Fit tables and regressions; `alpha` is the prior of tables and its equivalent sample size.

    Both priors are None for maximum likelihood; `intervals` is the level of intervals from the
    observed information.
    """
    with one_blas_thread():
        problem, data = number_problem(
            graph,
            rows,
            hidden=hidden,
            alpha=alpha,
            regression_prior=regression_prior,
            deadline=settings.deadline,
            max_memory=max_memory,
            threads=threads,
        )
        climbs = _climbs(problem, data, settings)
        if climbs.best.flaw is not None:
            raise _collapsed(climbs, data, regression_prior)
        families = problem.families
        at = families.parameters(climbs.best.parameters)
        wants_information = intervals is not None or settings.information
        expectation, counts_all = problem.expectation, True
        if settings.expected_counts or wants_information or data.hidden:
            expectation, counts_all = _completed(problem, data, max_memory, threads)
        found = expectation(at)
        at, found = numbered(families, data.hidden, at, found)
        said = None
        if intervals is not None or (settings.information and not data.is_complete):
            said = information(
                problem,
                data,
                at,
                found,
                threads=threads or available_threads(),
                deadline=settings.deadline,
            )
        available = available_sums(families, data)
        expected = found if settings.expected_counts else None
        net = network(graph, families, at, expected, available, data.hidden, rows.unit)
        net = in_units(net, data)
        if intervals is not None:
            bounds = intervals_of(said, problem, data, at, intervals)
            net = with_intervals(net, families, bounds)
        report = _report(climbs, problem, net, data, said)
        if not counts_all:
            # Shares are of what the counts of all rows would tell.
            report = replace(report, missing_information={})
        return EmFit(net, report, counts_all)


def number_problem(
    graph: Graph,
    rows: Dataset,
    *,
    hidden: Mapping[str, int],
    alpha: tuple[str, float] | None = None,
    regression_prior: RegressionPrior | None = None,
    deadline: Deadline | None = None,
    max_memory: int | None = None,
    threads: int | None = None,
) -> tuple[NumberProblem, NumberRows]:
    """Return what EM is to maximise, and the rows as it reads them."""
    data = number_rows(graph.names, rows, hidden)
    _require_values(data, has_prior=alpha is not None)
    families = Families.of(graph, data)
    _require_room(families, max_memory)
    moments = _PooledMoments(
        families,
        data,
        deadline=deadline,
        max_memory=max_memory,
        threads=threads or available_threads(),
    )
    priors = _priors(families, moments, alpha, regression_prior)
    fixed = [
        _fixed(families, data, j) if priors.products[j] is None else None
        for j in range(len(families.numbers))
    ]
    expectation = Expectation(
        families, data, threads=threads or available_threads(), max_memory=max_memory
    )
    return NumberProblem(families, expectation, priors, fixed, data.log_scales), data


def _require_values(data: NumberRows, *, has_prior: bool) -> None:
    silent = [
        variable.name
        for k, variable in enumerate(data.labels)
        if k not in data.hidden and not (data.codes[:, k] != MISSING).any()
    ]
    if not has_prior:
        refuse_silent(silent)


def _require_room(families: Families, max_memory: int | None) -> None:
    cells = sum(f.n_configs * (f.n_terms + 1) ** 2 for f in families.numbers)
    cells += sum(f.n_configs * f.n_levels for f in families.labels)
    require_memory(8 * _COPIES * cells, max_memory, "the sums of all families")


def _climbs(problem: NumberProblem, data: NumberRows, settings: EmSettings) -> Climbs:
    """Climb from all starts; where nothing is missing, one step is all."""
    families, expectation = problem.families, problem.expectation
    if expectation.is_complete:
        try:
            at = problem.maximum(expectation.seen).vector()
            value = problem.step(at).objective
            climb = Climb(at, value, (value,), 1, 0.0, 0.0, converged=True)
        except Collapsed as error:
            climb = Climb(np.zeros(0), -np.inf, (), 1, 0.0, 0.0, converged=False, flaw=str(error))
        return Climbs((climb,), climb)
    return climb_from(
        problem,
        _starts(families, data, settings),
        settings.restarts,
        most_steps=settings.most_steps,
        deadline=settings.deadline,
        enough=settings.enough,
    )


def _starts(families: Families, data: NumberRows, settings: EmSettings) -> Iterator[Array]:
    """The given start if there is one, and drawn ones."""
    given = settings.start
    if given is not None:
        yield parameters_of(given, families, data).vector()
        if settings.restarts == 1:
            return
    estimate = available_estimate(families, data, pooled_regressions(families, data))
    own = starts(families, data, estimate, settings.restarts, settings.seed)
    yield from own if given is None else islice(own, 1, None)


def _collapsed(
    climbs: Climbs, data: NumberRows, regression_prior: RegressionPrior | None
) -> GmlError:
    """What to say where no climb counts."""
    flaw = climbs.best.flaw
    ways = []
    if data.hidden:
        ways.append(f"give fewer levels to {listing(data.labels[k].name for k in data.hidden)}")
    if regression_prior is None:
        ways.append(f"give {parameter('method', 'bayes')}, which draws on the other rows")
    if regression_prior is None or regression_prior.kind != "ridge":
        ridge = f"{parameter('method', 'bayes')} and {parameter('number_prior', 'ridge')}"
        ways.append(f"give {ridge}")
    way_out = f"; {', or '.join(ways)}" if ways else ""
    if len(climbs.all) > 1:
        return CannotAnswer(
            f"all {len(climbs.all)} starts of EM collapsed, the first because {flaw}{way_out}"
        )
    return CollapsedClimb(f"{flaw}{way_out}")


def _priors(
    families: Families,
    moments: _PooledMoments,
    alpha: tuple[str, float] | None,
    regression_prior: RegressionPrior | None,
) -> Priors:
    products: list[Array | None] = []
    for family in families.numbers:
        if regression_prior is None or (regression_prior.kind == "pooled" and not family.labels):
            products.append(None)
            continue
        means, covariance = (
            moments.joint(family) if regression_prior.kind == "pooled" else moments.apart(family)
        )
        products.append(added_rows(regression_prior.rows, means, covariance))
    alphas = tuple(
        0.0 if alpha is None else prior_count(*alpha, f.n_configs * f.n_levels)
        for f in families.labels
    )
    return Priors(tuple(products), alphas, tuple(np.log(moments.data.scales).tolist()))


class _PooledMoments:
    """Moments of the numbers of a family, whatever the labels."""

    def __init__(self, families: Families, data: NumberRows, **bounds: Any) -> None:
        self.data = data
        self._families = families
        self._bounds = bounds
        self._known: dict[tuple[int, ...], tuple[Array, Array]] = {}

    def apart(self, family: NumberFamily) -> tuple[Array, Array]:
        """Mean and variance of each number where it was seen, and no covariances."""
        each = [self._of((k,)) for k in family.members]
        means = np.array([mean[0] for mean, _ in each])
        return means, np.diag([variance[0, 0] for _, variance in each])

    def joint(self, family: NumberFamily) -> tuple[Array, Array]:
        """Those of highest likelihood."""
        return self._of(tuple(family.members))

    def _of(self, members: tuple[int, ...]) -> tuple[Array, Array]:
        if members not in self._known:
            data = self.data
            seen = data.seen[:, members]
            values = np.where(seen, data.z[:, members], np.nan)
            used = seen.any(axis=1)
            if seen[used].all():
                own, weights = values[used], data.weights[used]
                mean = np.einsum("r,ri->i", weights, own) / weights.sum()
                away = own - mean
                covariance = np.einsum("r,ri,rj->ij", weights, away, away) / weights.sum()
                self._known[members] = mean, covariance
            else:
                names = [self._families.number_variables[k].name for k in members]
                found = normal_em(values, data.weights, names=names, **self._bounds)
                self._known[members] = found.mean, found.covariance
        return self._known[members]


def _fixed(families: Families, data: NumberRows, j: int) -> Fixed | None:
    """Configurations of a number that no row has, as far as labels were seen.

    One with fewer rows than a regression needs is refused.
    """
    family = families.numbers[j]
    seen = [k for k in family.labels if k not in data.hidden]
    if not seen:
        return None
    sizes = [families.labels[k].n_levels for k in seen]
    known = data.seen[:, family.child] & (data.codes[:, seen] != MISSING).all(axis=1)
    counts = np.zeros(sizes)
    np.add.at(counts, tuple(data.codes[known][:, seen].T), data.weights[known])
    # The same for all levels of hidden parents.
    shape = [1 if k in data.hidden else families.labels[k].n_levels for k in family.labels]
    spread = np.broadcast_to(counts.reshape(shape), family.sizes).reshape(-1)
    least = family.n_terms + SPARE_ROWS
    few = np.flatnonzero((spread > 0) & (spread < least))
    if len(few):
        variable = families.number_variables[family.child]
        where = families.where(family, int(few[0]))
        raise too_few_rows(variable, len(few), least, where, float(spread[few[0]]))
    if (spread > 0).all():
        return None
    pooled = pooled_regressions(families, data)[j]
    return Fixed(spread == 0, pooled.terms[0], float(pooled.log_sd[0]))


def _completed(
    problem: NumberProblem, data: NumberRows, max_memory: int | None, threads: int | None
) -> tuple[Expectation, bool]:
    """E-steps that say how rows would fall if they were complete, and whether they do.

    Where that would enumerate too much, nodes with nothing seen below them are left out.
    """
    n = threads or available_threads()
    try:
        return (
            Expectation(problem.families, data, keep_barren=True, threads=n, max_memory=max_memory),
            True,
        )
    except CannotAnswer as error:
        warn_of_left_out(error)
        return problem.expectation, False


def _report(
    climbs: Climbs,
    problem: NumberProblem,
    net: BayesNet,
    data: NumberRows,
    said: Information | None,
) -> EmReport:
    at = problem.families.parameters(climbs.best.parameters)
    rank, missing = _identified(net, data, said)
    return EmReport.of(
        climbs,
        log_likelihood=climbs.best.objective - problem.log_prior(at),
        n_parameters=net.n_parameters,
        rank=rank,
        missing_information=missing,
    )


def _identified(
    net: BayesNet, data: NumberRows, said: Information | None
) -> tuple[int | None, Mapping[str, float]]:
    """The rank, and the share of information that is missing by node."""
    if data.is_complete:
        return net.n_parameters, dict.fromkeys(net.names, 0.0)
    if said is None:
        return None, {}
    missing = said.missing()
    return (
        net.n_parameters - said.n_undetermined,
        {name: missing[name] for name in net.names if name in missing},
    )

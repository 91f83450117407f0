"""Fit an undirected model to data: which method, and the model that its terms make.

`auto` is exact maximum likelihood where the tables of the junction tree stay small; beyond that,
the pseudo-likelihood starts persistent contrastive divergence, which approaches the same maximum.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml.counts.counter import Counter
from gml.errors import (
    CannotAnswer,
    UsageError,
    agreeing,
    counted,
    parameter,
    require_one_of,
    require_whole,
)
from gml.model.markovnet import MarkovNet
from gml.model.undirected.exact.clique_margins import CliqueMargins
from gml.model.undirected.fitting import FEWEST_CHAINS, NO_PENALTY, Fitted, Penalty, Support
from gml.model.undirected.gauge import CODINGS, SUM_TO_ZERO, require_two_levels, zero_one
from gml.model.undirected.observed import tables_over
from gml.model.undirected.potential import Potential
from gml.model.undirected.terms import Terms
from gml.progress import Deadline, reporter
from gml.resources import format_size

METHODS = ("auto", "exact", "pl", "pcd", "cd")
BY_CHAINS = ("auto", "pcd", "cd")
"""The methods that may draw chains of samples."""

# Cells of all cliques up to which `auto` is exact: some hundred passes over them take a minute.
_EXACT_CELLS = 1 << 24

Trace = Callable[[Any], None]


@dataclass(frozen=True)
class Chains:
    """How contrastive divergence goes: None is for its defaults."""

    chains: int | None = None
    sweeps: int | None = None
    iterations: int | None = None
    rate: float | None = None

    def __post_init__(self) -> None:
        require_whole(FEWEST_CHAINS, chains=self.chains)
        require_whole(1, sweeps=self.sweeps, iterations=self.iterations)
        if self.rate is not None and not 0 < self.rate < math.inf:
            raise UsageError(f"{parameter('rate')} must be positive and finite, not {self.rate}")

    def given(self) -> dict[str, Any]:
        """Return what was asked for, by name."""
        return {name: value for name, value in vars(self).items() if value is not None}


def fit_markov(
    counter: Counter,
    terms: Terms,
    *,
    method: str = "auto",
    penalty: Penalty = NO_PENALTY,
    coding: str = SUM_TO_ZERO,
    errors: bool = False,
    intervals: float | None = None,
    chains: Chains | None = None,
    seed: int = 0,
    trace: Trace | None = None,
    threads: int | None = None,
    max_memory: int | None = None,
    deadline: Deadline | None = None,
) -> MarkovNet:
    """Fit the terms of a log-linear model, and say how well it fits.

    Examples
    --------
    >>> import gml
    >>> counter = gml.MemoryCounter(gml.read("sample_data/asia.csv"))
    >>> terms = Terms.of(counter.variables, [["smoke", "lung"], ["smoke", "bronc"]])
    >>> net = fit_markov(counter, terms)
    >>> net.summary.algorithm, round(net.summary.log_likelihood, 2)
    ('closed-form', -14356.94)
    """
    require_one_of("method", method, METHODS)
    require_one_of("coding", coding, CODINGS)
    if coding != SUM_TO_ZERO:
        require_two_levels(terms)
    if intervals is not None and not 0 < intervals < 1:
        raise UsageError(f"{parameter('intervals')} must be between 0 and 1, not {intervals}")
    fitted = _fitted(
        counter,
        terms,
        method,
        penalty,
        chains or Chains(),
        seed,
        trace,
        threads,
        max_memory,
        deadline or Deadline(),
    )
    for note in fitted.notes:
        (reporter().tell if fitted.converged else reporter().warn)(note)
    from gml.model.undirected.quality.goodness import summarise

    summary = summarise(
        counter,
        terms,
        fitted,
        penalty,
        max_memory=max_memory,
        seed=seed,
        threads=threads,
        deadline=deadline,
    )
    if coding != SUM_TO_ZERO and summary.log_z is not None:
        # Terms of the coding 01 are 0 where every variable has its first level.
        first = math.fsum(float(table.flat[0]) for table in fitted.tables)
        summary = replace(summary, log_z=summary.log_z - first)
    left = _without_zeros(terms, fitted) if penalty.l1 else terms
    potentials = _potentials(counter, terms, fitted, coding, left)
    if errors or intervals is not None:
        from gml.model.undirected.quality.errors_of_terms import standard_errors

        found = standard_errors(
            counter,
            terms,
            fitted,
            penalty,
            coding=coding,
            max_memory=max_memory,
            seed=seed,
            threads=threads,
            deadline=deadline,
        )
        potentials = _with_errors(potentials, found, intervals)
    if left != terms:
        summary = replace(summary, n_dropped=len(terms.all) - len(left.all))
        reporter().tell(_dropped(terms, left))
        potentials = _only(left, terms, potentials)
    in_order = {variable.name: variable for variable in terms.variables}
    variables = tuple(in_order[v.name] for v in counter.variables if v.name in in_order)
    return MarkovNet(variables, potentials, coding, summary)


def _fitted(
    counter: Counter,
    terms: Terms,
    method: str,
    penalty: Penalty,
    chains: Chains,
    seed: int,
    trace: Trace | None,
    threads: int | None,
    max_memory: int | None,
    deadline: Deadline,
) -> Fitted:
    method = chosen_method(method, terms, max_memory=max_memory)
    if method == "exact":
        from gml.model.undirected.exact.fit_exact import fit_exact

        return fit_exact(counter, terms, penalty=penalty, max_memory=max_memory, deadline=deadline)
    if method == "pl":
        from gml.model.undirected.pseudo.likelihood import fit_pseudo

        return fit_pseudo(
            counter,
            terms,
            penalty=penalty,
            threads=threads,
            max_memory=max_memory,
            deadline=deadline,
        )
    from gml.model.undirected.chains.contrastive import fit_contrastive

    return fit_contrastive(
        counter,
        terms,
        penalty=penalty,
        persistent=method == "pcd",
        seed=seed,
        trace=trace,
        threads=threads,
        max_memory=max_memory,
        deadline=deadline,
        **chains.given(),
    )


def chosen_method(method: str, terms: Terms, *, max_memory: int | None = None) -> str:
    """Return the method; `auto` is `exact` if its tables are small enough for many passes."""
    require_one_of("method", method, METHODS)
    if method != "auto":
        return method
    try:
        cliques = CliqueMargins(terms, terms.generators, max_memory=max_memory).cliques
    except CannotAnswer as error:
        reason = f"{error}"
    else:
        cells = sum(int(np.prod(terms.shape(clique))) for clique in cliques)
        if cells <= _EXACT_CELLS:
            return "exact"
        reason = f"the junction tree has {format_size(8 * cells)} of tables"
    reporter().warn(
        f"{reason}; so the fit is by the pseudo-likelihood and then by {parameter('method', 'pcd')}"
    )
    return "pcd"


def _without_zeros(terms: Terms, fitted: Fitted) -> Terms:
    """Leave out the terms that are 0 throughout, but for parts of terms that are not."""
    zipped = zip(terms.all, fitted.tables, strict=True)
    scopes = [[terms.names[k] for k in scope] for scope, table in zipped if table.any()]
    return Terms.of(terms.variables, scopes)


def _only(left: Terms, terms: Terms, potentials: Sequence[Potential]) -> tuple[Potential, ...]:
    """Keep the terms that are left, and all that follows the terms."""
    kept, n_terms = {*left.all}, len(terms.all)
    found = zip(terms.all, potentials[:n_terms], strict=True)
    return (*(own for scope, own in found if scope in kept), *potentials[n_terms:])


def _dropped(terms: Terms, left: Terms) -> str:
    n_terms, n_edges = len(terms.all) - len(left.all), terms.graph.n_edges - left.graph.n_edges
    edges = f", and with them {counted(n_edges, 'edge')}" if n_edges else ""
    said = f"{counted(n_terms, 'term')} {agreeing(n_terms, 'is', 'are')} exactly 0"
    return f"by {parameter('l1')}, {said} and left out of the model{edges}"


def _potentials(
    counter: Counter, terms: Terms, fitted: Fitted, coding: str, left: Terms
) -> tuple[Potential, ...]:
    """Make a potential of every term; the generators of what is left have their counts."""
    tables = list(fitted.tables)
    if coding != SUM_TO_ZERO:
        tables = zero_one(terms, tables)
    counts = tables_over(counter, left, left.generators)
    of_generator = dict(zip(left.generators, counts, strict=True))
    found = [
        Potential(tuple(terms.variables[i] for i in scope), table, counts=of_generator.get(scope))
        for scope, table in zip(terms.all, tables, strict=True)
    ]
    return (*found, *(_boundary(terms, support) for support in fitted.supports))


def _with_errors(
    potentials: Sequence[Potential], errors: Sequence[NDArray[np.float64]], level: float | None
) -> tuple[Potential, ...]:
    """Give the terms, which come first, their standard errors and bounds."""
    from gml.model.undirected.quality.errors_of_terms import intervals

    found = [
        replace(
            potential,
            errors=own,
            intervals=None if level is None else intervals(potential.table, own, level),
        )
        for potential, own in zip(potentials, errors, strict=False)
    ]
    return (*found, *potentials[len(errors) :])


def _boundary(terms: Terms, support: Support) -> Potential:
    scope = tuple(terms.variables[i] for i in support.scope)
    return Potential(scope, support.wall, is_boundary=True)

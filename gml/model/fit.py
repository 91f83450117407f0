"""Parameters of a DAG from data: maximum likelihood, or the mean under conjugate priors.

mle: n/nⱼ; bayes: (n + α)/(nⱼ + rα), with α = ess/(r·q) for the prior bdeu, 1 for k2 and uniform, ½
for jeffreys, over declared levels. A configuration of the parents that occurs in no row is uniform,
and its counts are zeros. Intervals of a table have equal tails and come from the Jeffreys posterior
whatever the estimate is: p is Beta(n + ½, nⱼ − n + (r−1)/2); as usual they begin at 0 if no row has
the level, and end at 1 if every row has it (Brown, Cai & DasGupta 2001, section 4.1.2).

A node of numbers gets the least-squares regression on its parents, from exact cross-products, with
variance SSE/n: `regression_fit`; one per configuration of the labels among them: `conditional_fit`;
under normal–inverse-gamma priors: `regression_prior`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml.counts.counter import Counter, Family
from gml.data.dataset import Variable
from gml.errors import (
    CannotAnswer,
    DataError,
    GraphError,
    UsageError,
    counted,
    listing,
    parameter,
    quote,
)
from gml.graph.graph import Graph
from gml.graph.open_arrows import compelled_arrows
from gml.model.bayesnet import CPT, BayesNet
from gml.model.conditional_fit import fit_number
from gml.model.configurations import described_row
from gml.model.fit_priors import JEFFREYS, FitPriors, prior_count
from gml.model.kept.rows import with_rows
from gml.model.network import Cpd
from gml.progress import tracked
from gml.resources import budget_in_force, require_memory

# Bytes per cell as counts, numbers and text, measured; and of its intervals.
_CELL_BYTES = 180
_INTERVAL_BYTES = 470
# What a regression takes beside its terms, with what it keeps of its rows.
_REGRESSION_BYTES = 4000


def fit(
    graph: Graph,
    counter: Counter,
    *,
    method: str = FitPriors.method,
    prior: str = FitPriors.prior,
    ess: float = FitPriors.ess,
    number_prior: str = FitPriors.number_prior,
    prior_rows: float = FitPriors.prior_rows,
    intervals: float | None = None,
    max_memory: int | None = None,
) -> BayesNet:
    """Fit the tables and regressions of a DAG.

    `prior` and `ess` are for tables, `number_prior` and `prior_rows` for regressions.

    Examples
    --------
    >>> import gml
    >>> counter = gml.MemoryCounter(gml.read("sample_data/asia.csv"))
    >>> net = fit(gml.read_graph("sample_data/asia.dot"), counter)
    >>> net.cpt("lung").table.round(4).tolist()
    [[0.9896, 0.0104], [0.9076, 0.0924]]
    """
    priors = FitPriors(method, prior, ess, number_prior, prior_rows)
    priors.require_fitting(graph)
    if intervals is not None and not 0 < intervals < 1:
        raise UsageError(f"{parameter('intervals')} must be between 0 and 1, not {intervals}")
    position = {variable.name: j for j, variable in enumerate(counter.variables)}
    missing = [name for name in graph.names if name not in position]
    if missing:
        raise DataError(f"no column for {listing(missing)}")
    empty = [name for name in graph.names if counter.variables[position[name]].levels == ()]
    if empty:
        raise DataError(f"no values in column {listing(empty)}")
    columns = [position[name] for name in graph.names]
    families = [
        (columns[j], tuple(columns[i] for i in parents))
        for j, parents in enumerate(graph.parent_sets())
    ]
    _require_labels_first(graph, counter, families)
    of_tables, of_regressions = priors.of_tables, priors.of_regressions
    budget = budget_in_force(max_memory)
    n_bytes = _CELL_BYTES + (0 if intervals is None else _INTERVAL_BYTES)
    _require_room(counter, families, n_bytes, budget)
    with_levels = [family for family in families if not _is_number(counter, family[0])]
    tables = counter.family_tables(with_levels)
    cpds: list[Cpd] = []
    for child, parents in tracked("fitting nodes", families):
        if _is_number(counter, child):
            cpds.append(fit_number(counter, child, parents, prior=of_regressions, level=intervals))
            continue
        cells = next(tables)
        members = [counter.variables[j] for j in (*parents, child)]
        scaled: NDArray[Any] = cells if counter.unit == 1 else cells * counter.unit
        alpha = 0.0 if of_tables is None else prior_count(*of_tables, cells.size)
        cpt = CPT(members[-1], tuple(members[:-1]), probabilities(scaled, alpha), scaled)
        if intervals is not None:
            cpt = replace(cpt, intervals=_beta_intervals(scaled, intervals))
        cpds.append(cpt)
    found = with_rows(cpds, counter, is_least_squares=of_regressions is None)
    return BayesNet(found, compelled=compelled_arrows(graph))


def _is_number(counter: Counter, column: int) -> bool:
    return counter.variables[column].is_continuous


def _require_labels_first(graph: Graph, counter: Counter, families: Sequence[Family]) -> None:
    """Refuse arrows from numbers to labels, which have no distribution here."""
    arcs = [
        f"{counter.variables[parent].name} -> {counter.variables[child].name}"
        for child, parents in families
        if not _is_number(counter, child)
        for parent in parents
        if _is_number(counter, parent)
    ]
    if arcs:
        raise GraphError(f"{listing(arcs)}: a label has no distribution given numbers")


def unseen_configurations(net: BayesNet) -> dict[str, list[int]]:
    """Return, by node, the rows of tables, or regressions, that no row of the data supports."""
    found = {}
    for cpd in net.cpds:
        unseen: list[int] = []
        if not isinstance(cpd, CPT):
            unseen = cpd.unseen
        elif cpd.seen is not None:
            unseen = np.flatnonzero(~cpd.seen).tolist()
        if unseen:
            found[cpd.variable.name] = unseen
    return found


def require_all_seen(net: BayesNet) -> None:
    """Refuse a network with configurations of parents that occur in no row."""
    unseen = unseen_configurations(net)
    if unseen:
        name, rows = next(iter(unseen.items()))
        number = sum(map(len, unseen.values()))
        raise CannotAnswer(
            f"{counted(number, 'configuration')} of parents {'was' if number == 1 else 'were'} "
            f"never seen, for {listing(unseen)}; the first: {quote(name)}"
            f"{described_row(_parents_with_levels(net.cpd(name)), rows[0])}"
        )


def _parents_with_levels(cpd: Cpd) -> tuple[Variable, ...]:
    return tuple(parent for parent in cpd.parents if not parent.is_continuous)


def probabilities(cells: NDArray[Any], alpha: float) -> NDArray[np.float64]:
    """Return (n + α)/(nⱼ + rα); a row without data is uniform."""
    totals = cells.sum(axis=1, keepdims=True)
    shares: NDArray[np.float64]
    if totals.all():
        shares = (cells + alpha) / (totals + cells.shape[1] * alpha)
        return shares
    shares = np.full(cells.shape, 1.0 / cells.shape[1])
    seen = totals[:, 0] > 0
    shares[seen] = probabilities(cells[seen], alpha)
    return shares


def _require_room(counter: Counter, families: Sequence[Family], n_bytes: int, budget: int) -> None:
    """Refuse tables and regressions that would not fit, taken together, and name the largest."""
    sizes = []
    for child, parents in families:
        cells = math.prod(counter.n_levels[j] for j in (child, *parents))
        is_number = _is_number(counter, child)
        each = n_bytes + _REGRESSION_BYTES + n_bytes * len(parents) if is_number else n_bytes
        sizes.append(cells * each)
    child, parents = families[sizes.index(max(sizes))]
    what = (
        f"the tables, the largest that of {quote(counter.variables[child].name)} given "
        f"{len(parents)} parents,"
    )
    require_memory(sum(sizes), budget, what)


def _beta_intervals(cells: NDArray[Any], level: float) -> NDArray[np.float64]:
    from scipy.special import betaincinv

    if cells.shape[1] == 1:
        return np.ones((*cells.shape, 2))
    totals = cells.sum(axis=1, keepdims=True)
    a = cells + JEFFREYS
    b = totals - cells + JEFFREYS * (cells.shape[1] - 1)
    tail = (1 - level) / 2
    lower = np.where(cells == 0, 0.0, betaincinv(a, b, tail))
    upper = np.where(cells == totals, 1.0, 1 - betaincinv(b, a, tail))
    return np.stack([lower, upper], axis=-1)

"""Parameters of a DAG from data: maximum likelihood, or the mean under Dirichlet priors.

mle: n/nⱼ; bayes: (n + α)/(nⱼ + rα), with α = ess/(r·q) for the prior bdeu, 1 for k2 and uniform, ½
for jeffreys, over declared levels. A configuration of the parents that occurs in no row is uniform,
and its counts are zeros. Intervals of a table have equal tails and come from the Jeffreys posterior
whatever the estimate is: p is Beta(n + ½, nⱼ − n + (r−1)/2); as usual they begin at 0 if no row has
the level, and end at 1 if every row has it (Brown, Cai & DasGupta 2001, section 4.1.2).

A node of numbers gets the least-squares regression on its parents, from exact cross-products, with
variance SSE/n. Its intervals are those of the posterior under Jeffreys' prior: Student's t with
n − |pa| − 1 degrees of freedom for the coefficients, χ² for the variance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml.counts.counter import Counter, Family, Moments
from gml.counts.exact_algebra import inverse, regression
from gml.errors import (
    CannotAnswer,
    DataError,
    GraphError,
    UsageError,
    counted,
    listing,
    parameter,
    quote,
    require_one_of,
)
from gml.graph.graph import Graph
from gml.model.bayesnet import CPT, BayesNet, LinearGaussian
from gml.model.configurations import described_row
from gml.model.kept_rows import with_rows
from gml.progress import tracked
from gml.resources import budget_in_force, require_memory

METHODS = ("mle", "bayes")
PRIORS = ("bdeu", "k2", "jeffreys", "uniform")
_JEFFREYS = 0.5
# Bytes per cell as counts, numbers and text, measured; and of its intervals.
_CELL_BYTES = 180
_INTERVAL_BYTES = 470


def fit(
    graph: Graph,
    counter: Counter,
    *,
    method: str = "mle",
    prior: str = "bdeu",
    ess: float = 1.0,
    intervals: float | None = None,
    max_memory: int | None = None,
) -> BayesNet:
    """Fit the tables (or regressions) of a DAG.

    Examples
    --------
    >>> import gml
    >>> counter = gml.MemoryCounter(gml.read("sample_data/asia.csv"))
    >>> net = fit(gml.read_graph("sample_data/asia.dot"), counter)
    >>> net.cpt("lung").table.round(4).tolist()
    [[0.9896, 0.0104], [0.9076, 0.0924]]
    """
    if graph.kind != "dag":
        raise GraphError(f"a DAG is needed, not a graph of kind {graph.kind}")
    for name, value, choices in (("method", method, METHODS), ("prior", prior, PRIORS)):
        require_one_of(name, value, choices)
    if intervals is not None and not 0 < intervals < 1:
        raise UsageError(f"{parameter('intervals')} must be between 0 and 1, not {intervals}")
    if not 0 < ess < math.inf:
        raise UsageError(f"{parameter('ess')} must be positive and finite, not {ess}")
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
    numbers = [name for name in graph.names if counter.variables[position[name]].is_continuous]
    if numbers:
        labels = [name for name in graph.names if name not in numbers]
        if labels:
            raise UsageError(
                f"{listing(numbers)} hold numbers and {listing(labels)} labels, but a model has "
                f"only one kind; cut the numbers with {parameter('bins')} or {parameter('cut')}"
            )
        if method != "mle":
            raise UsageError(
                f"{parameter('method', 'bayes')} is for levels; numbers are fitted by mle"
            )
        cpds = [
            _regress(counter, child, parents, intervals)
            for child, parents in tracked("fitting nodes", families)
        ]
        return BayesNet(with_rows(cpds, counter))
    budget = budget_in_force(max_memory)
    n_bytes = _CELL_BYTES + (0 if intervals is None else _INTERVAL_BYTES)
    _require_room(counter, families, n_bytes, budget)
    cpts = []
    tables = counter.family_tables(families)
    for (child, parents), cells in zip(tracked("fitting nodes", families), tables, strict=True):
        members = [counter.variables[j] for j in (*parents, child)]
        scaled: NDArray[Any] = cells if counter.unit == 1 else cells * counter.unit
        alpha = 0.0 if method == "mle" else _prior_count(prior, ess, cells.size)
        cpt = CPT(members[-1], tuple(members[:-1]), probabilities(scaled, alpha), scaled)
        if intervals is not None:
            cpt = replace(cpt, intervals=_beta_intervals(scaled, intervals))
        cpts.append(cpt)
    return BayesNet(tuple(cpts))


def unseen_configurations(net: BayesNet) -> dict[str, list[int]]:
    """Return, by node, the rows of tables that no row of the data supports."""
    return {
        cpd.variable.name: np.flatnonzero(~cpd.seen).tolist()
        for cpd in net.cpds
        if isinstance(cpd, CPT) and cpd.seen is not None and not cpd.seen.all()
    }


def require_all_seen(net: BayesNet) -> None:
    """Refuse a network with configurations of parents that occur in no row."""
    unseen = unseen_configurations(net)
    if unseen:
        name, rows = next(iter(unseen.items()))
        number = sum(map(len, unseen.values()))
        raise CannotAnswer(
            f"{counted(number, 'configuration')} of parents {'was' if number == 1 else 'were'} "
            f"never seen, for {listing(unseen)}; the first: {quote(name)}"
            f"{described_row(net.cpt(name).parents, rows[0])}"
        )


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


def _prior_count(prior: str, ess: float, cells: int) -> float:
    return {"bdeu": ess / cells, "k2": 1.0, "uniform": 1.0, "jeffreys": _JEFFREYS}[prior]


def _require_room(counter: Counter, families: Sequence[Family], n_bytes: int, budget: int) -> None:
    """Refuse tables that would not fit, taken together, and name the largest."""
    cells = [
        math.prod(len(counter.variables[j].levels or ()) for j in (child, *parents))
        for child, parents in families
    ]
    child, parents = families[cells.index(max(cells))]
    what = (
        f"the tables, the largest that of {quote(counter.variables[child].name)} given "
        f"{len(parents)} parents,"
    )
    require_memory(n_bytes * sum(cells), budget, what)


def _beta_intervals(cells: NDArray[Any], level: float) -> NDArray[np.float64]:
    from scipy.special import betaincinv

    if cells.shape[1] == 1:
        return np.ones((*cells.shape, 2))
    totals = cells.sum(axis=1, keepdims=True)
    a = cells + _JEFFREYS
    b = totals - cells + _JEFFREYS * (cells.shape[1] - 1)
    tail = (1 - level) / 2
    lower = np.where(cells == 0, 0.0, betaincinv(a, b, tail))
    upper = np.where(cells == totals, 1.0, 1 - betaincinv(b, a, tail))
    return np.stack([lower, upper], axis=-1)


def _regress(
    counter: Counter, child: int, parents: Sequence[int], level: float | None
) -> LinearGaussian:
    members = [*parents, child]
    names = [counter.variables[j].name for j in members]
    moments = counter.moments(members)
    if moments.cross[-1][-1] == 0:
        raise DataError(
            f"column {quote(names[-1])} has only one value; no normal distribution fits"
        )
    exact, left = regression(moments.cross, names)
    scales = moments.scales
    sd_q = math.sqrt(float(left / moments.n**2))
    try:
        # q = x·2^scale: coefficients of q become those of x.
        coefficients = [
            math.ldexp(float(value), scales[k] - scales[-1]) for k, value in enumerate(exact)
        ]
        intercept = moments.means[-1] - math.fsum(
            value * moments.means[k] for k, value in enumerate(coefficients)
        )
        sd = math.ldexp(sd_q, -scales[-1])
        vanished = any(value and not kept for value, kept in zip(exact, coefficients, strict=True))
    except OverflowError:
        vanished = True
    if vanished:
        raise DataError(f"the magnitudes of the numbers of {listing(names)} differ too much")
    n = moments.n * counter.unit
    fitted = LinearGaussian(
        counter.variables[child],
        tuple(counter.variables[j] for j in parents),
        intercept,
        tuple(coefficients),
        sd,
        int(n) if counter.unit == 1 else n,
    )
    if level is None:
        return fitted
    return replace(fitted, intervals=_regression_intervals(fitted, moments, sd_q, n, level))


def _regression_intervals(
    fitted: LinearGaussian, moments: Moments, sd_q: float, n: float, level: float
) -> tuple[tuple[float, float], ...]:
    """Bounds of the intercept, the coefficients and the standard deviation.

    Computed for the columns in fixed point, whose numbers are of moderate size, then scaled back.
    """
    from scipy.special import chdtri, stdtrit

    size = len(fitted.parents)
    df = n - size - 1
    name = fitted.variable.name
    if df <= 0:
        raise CannotAnswer(f"{n:g} rows are too few for intervals of {quote(name)}")
    exact = inverse([row[:size] for row in moments.cross[:size]])
    means = [
        Fraction(mean) * Fraction(2) ** scale
        for mean, scale in zip(moments.means[:size], moments.scales[:size], strict=True)
    ]
    about_zero = sum(
        (means[i] * exact[i][j] * means[j] for i in range(size) for j in range(size)), Fraction(0)
    )
    t = float(stdtrit(df, 0.5 + level / 2)) * sd_q / math.sqrt(df)
    n_squared = Fraction(moments.n) ** 2
    spread = [
        1.0 + float(n_squared * about_zero),
        *(float(n_squared * exact[k][k]) for k in range(size)),
    ]
    # The intercept has the scale of the child, a coefficient that of child over parent.
    shifts = [-moments.scales[-1], *(s - moments.scales[-1] for s in moments.scales[:-1])]
    bounds = []
    for estimate, part, shift in zip(
        (fitted.intercept, *fitted.coefficients), spread, shifts, strict=True
    ):
        half = math.ldexp(t * math.sqrt(part), shift)
        bounds.append((estimate - half, estimate + half))
    tail = (1 - level) / 2
    low, high = float(chdtri(df, tail)), float(chdtri(df, 1 - tail))
    return (*bounds, (fitted.sd * math.sqrt(n / low), fitted.sd * math.sqrt(n / high)))

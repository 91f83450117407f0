"""What scores ask of undirected models: the largest likelihood, and a fit to predict other rows by.

Only models without a closed form come here: the likelihood of a decomposable one is that of a DAG.

A fit to predict by is smoothed, as rows that were not fitted may have cells of which none was seen.
The prior rows are spread evenly over the full joint table, so that all margins agree:

- `bdeu`: as many as its equivalent sample size, which for a decomposable graph is what the same
  prior adds to the tables of its DAG;
- `jeffreys`: ½ per cell of the largest table of the model, the prior of Jeffreys if that is the
  only one; `k2` and `uniform`: 1 per cell of it.
"""

from __future__ import annotations

import math

from gml.counts.counter import Counter
from gml.model.markovnet import MarkovNet
from gml.model.undirected.exact.fit_exact import fit_exact
from gml.model.undirected.fitting import Penalty
from gml.model.undirected.gauge import tables_of_terms
from gml.model.undirected.observed import observed_margins
from gml.model.undirected.potential import Potential
from gml.model.undirected.terms import Terms
from gml.progress import reporter

_PER_CELL = {"jeffreys": 0.5, "k2": 1.0, "uniform": 1.0}


def largest_log_likelihood(
    counter: Counter, terms: Terms, *, name: str = "the model", max_memory: int | None = None
) -> float:
    """Return ln P(data) at its maximum; warns, by `name`, if that was not reached.

    Examples
    --------
    >>> import gml
    >>> counter = gml.MemoryCounter(gml.read("sample_data/asia.csv"))
    >>> square = [["asia", "tub"], ["tub", "lung"], ["lung", "smoke"], ["smoke", "asia"]]
    >>> round(largest_log_likelihood(counter, Terms.of(counter.variables, square)), 3)
    -14597.572
    """
    fitted = fit_exact(counter, terms, max_memory=max_memory)
    if not fitted.converged:
        gap = "" if fitted.gap is None else f": a margin is {fitted.gap:.2g} off"
        reporter().warn(f"{name}: the maximum of the likelihood was not reached{gap}")
    observed = observed_margins(counter, terms)
    assert fitted.log_z is not None
    tables = tables_of_terms(terms, fitted.tables)
    found = [
        float((counts * table).sum()) for counts, table in zip(observed.counts, tables, strict=True)
    ]
    return math.fsum([*found, -observed.rows * fitted.log_z])


def fit_smoothed(
    counter: Counter,
    terms: Terms,
    *,
    prior: str = "jeffreys",
    ess: float = 1.0,
    max_memory: int | None = None,
) -> MarkovNet:
    """Fit a model under a prior, so that no cell has probability 0."""
    largest = max(math.prod(terms.shape(scope)) for scope in terms.generators)
    rows = ess if prior == "bdeu" else _PER_CELL[prior] * largest
    fitted = fit_exact(counter, terms, penalty=Penalty(smoothing=rows), max_memory=max_memory)
    potentials = [
        Potential(tuple(terms.variables[k] for k in scope), table)
        for scope, table in zip(terms.all, fitted.tables, strict=True)
    ]
    return MarkovNet(terms.variables, tuple(potentials))

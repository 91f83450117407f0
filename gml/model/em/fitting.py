"""Fit a network to incomplete rows by EM, with hidden nodes where some are asked for.

`fit_em` finds the tables and regressions of highest observed-data likelihood or, with priors, of
highest ll + Σ α ln θ: MAP-EM with the pseudo-counts of `gml.model.fit`, so that complete rows give
exactly its answer. Values are taken to be missing at random (Rubin 1976). From each of several
starts it climbs (`climbing`); the best end counts, and the report says how often it was reached.
"""

from __future__ import annotations

from collections.abc import Mapping

from gml.data.dataset import Dataset
from gml.errors import DataError, UsageError, listing, parameter, quote
from gml.graph.graph import Graph
from gml.model.em.em_report import EmFit, EmReport, EmSettings
from gml.model.em.number_fitting import fit_numbers
from gml.model.em.table_fitting import fit_tables
from gml.model.fit_priors import FitPriors

__all__ = ["EmFit", "EmReport", "EmSettings", "fit_em"]


def fit_em(
    graph: Graph,
    rows: Dataset,
    *,
    hidden: Mapping[str, int] | None = None,
    method: str = FitPriors.method,
    prior: str = FitPriors.prior,
    ess: float = FitPriors.ess,
    number_prior: str = FitPriors.number_prior,
    prior_rows: float = FitPriors.prior_rows,
    intervals: float | None = None,
    settings: EmSettings | None = None,
    max_memory: int | None = None,
    threads: int | None = None,
) -> EmFit:
    """Fit the tables and regressions of a DAG to rows with missing values.

    `hidden` gives the number of levels of nodes that are not columns; `intervals` is the level of
    intervals from the observed information.

    Examples
    --------
    >>> import gml
    >>> data = gml.read("sample_data/asia.csv")
    >>> found = fit_em(gml.read_graph("sample_data/asia.dot"), data)
    >>> found.net.cpt("lung").table.round(4).tolist(), found.report.steps
    ([[0.9896, 0.0104], [0.9076, 0.0924]], 1)
    """
    priors = FitPriors(method, prior, ess, number_prior, prior_rows)
    priors.require_fitting(graph)
    if intervals is not None and not 0 < intervals < 1:
        raise UsageError(f"{parameter('intervals')} must be between 0 and 1, not {intervals}")
    unseen = dict(hidden or {})
    _require_nodes(graph, rows, unseen)
    chosen = settings or EmSettings()
    columns = [rows.variables[rows.index(name)] for name in graph.names if name not in unseen]
    if not any(column.is_continuous for column in columns):
        return fit_tables(
            graph,
            rows,
            hidden=unseen,
            alpha=priors.of_tables,
            intervals=intervals,
            settings=chosen,
            max_memory=max_memory,
            threads=threads,
        )
    return fit_numbers(
        graph,
        rows,
        hidden=unseen,
        alpha=priors.of_tables,
        regression_prior=priors.of_regressions,
        settings=chosen,
        intervals=intervals,
        max_memory=max_memory,
        threads=threads,
    )


def _require_nodes(graph: Graph, rows: Dataset, hidden: Mapping[str, int]) -> None:
    """Check that every node is a column with values or hidden, and not both."""
    known = set(rows.names)
    for name, levels in hidden.items():
        if name not in graph.names:
            raise UsageError(f"{parameter('hidden')}: {quote(name)} is not a node of the graph")
        if name in known:
            raise UsageError(f"{parameter('hidden')}: {quote(name)} is a column of the data")
        if levels < 1:
            raise UsageError(
                f"{parameter('hidden')}: {quote(name)} must have at least 1 level, not {levels}"
            )
    lacking = [name for name in graph.names if name not in known and name not in hidden]
    if lacking:
        raise DataError(
            f"no column for {listing(lacking)}; {parameter('hidden')} makes a hidden node of one"
        )
    empty = [
        name
        for name in graph.names
        if name not in hidden and rows.variables[rows.index(name)].levels == ()
    ]
    if empty:
        raise DataError(
            f"no values in column {listing(empty)}; leave it out ({parameter('exclude', empty)}), "
            f"let gml fit-params take it for a hidden node ({parameter('hidden')}), or declare its "
            f"levels ({parameter('levels')}) and give it a prior ({parameter('method', 'bayes')})"
        )

"""The tables of a graph on data: gml.fit_params (gml.fit), `gml fit-params`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gml.counts.counter import rows_counted
from gml.data.options import DEFAULT_NA
from gml.errors import UsageError, agreeing, counted, listing, parameter
from gml.graph.provenance import Provenance
from gml.model.bayesnet import BayesNet
from gml.model.fit import fit, require_all_seen, unseen_configurations
from gml.parameters import FOR_LABELS
from gml.progress import reporter
from gml.verbs.shared.data_input import Data, is_data, is_path, open_data
from gml.verbs.shared.graph_input import GraphLike, given_graph
from gml.verbs.shared.keywords import answers_misspelling
from gml.verbs.shared.recording import records_keywords


@records_keywords
@answers_misspelling()
def fit_params(
    data: Data,
    graph: GraphLike,
    *,
    method: str = "mle",
    prior: str | None = None,
    ess: float | None = None,
    intervals: float | None = None,
    strict: bool = False,
    gaussian: bool = False,
    threads: int | None = None,
    asked: Mapping[str, Any] | None = None,
    **reading: Any,
) -> BayesNet:
    """Fit the conditional probability tables of a graph.

    Parameters
    ----------
    data
        A path, a DataFrame, a Dataset or a Counter.
    graph
        A graph, a path, or the result of a learner; a CPDAG gets the tables of one of its DAGs,
        with a warning.
    method
        `mle`: shares of rows; `bayes`: their mean under a Dirichlet prior.
    prior, ess
        For `method="bayes"`: `bdeu` (ess rows over the table), `k2` or `uniform` (1 per cell), or
        `jeffreys` (half a row per cell).
    intervals
        Add bounds that hold the truth with this probability.
    strict
        Refuse a configuration of parents that occurs in no row.
    gaussian
        Treat the columns as numbers: fit linear regressions.
    threads
        Threads; all cores by default.
    asked
        What the provenance records as asked for; by default the keywords of the call.
    **reading
        How to read the data; see `gml.read`.

    Examples
    --------
    >>> import gml
    >>> net = gml.fit("sample_data/asia.csv", "sample_data/asia.dot")
    >>> net.cpt("lung").table.round(4).tolist()
    [[0.9896, 0.0104], [0.9076, 0.0924]]
    """
    if is_data(graph) and not is_path(graph):
        raise UsageError("the data come first, then the graph: fit(data, graph)")
    _require_fitting(method, prior, ess, gaussian, [*reading, *(["strict"] * strict)])
    given = given_graph(graph)
    dag = given.dag()
    if given.graph.kind != "dag":
        reporter().warn(
            f"{given.name}: a {given.graph.kind}; the tables are those of one of the DAGs it "
            "stands for"
        )
    counter = open_data(
        data,
        fractional=True,
        used=given.columns(),
        declared=given.graph.levels,
        undeclared="numbers" if gaussian else "labels",
        takes_numbers=parameter("gaussian"),
        threads=threads,
        **reading,
    )
    net = fit(
        dag,
        counter,
        method=method,
        prior=prior or "bdeu",
        ess=1.0 if ess is None else ess,
        intervals=intervals,
    )
    if strict:
        require_all_seen(net)
    unseen = unseen_configurations(net)
    if unseen:
        n_unseen = sum(map(len, unseen.values()))
        seen = agreeing(n_unseen, "was never seen, and is", "were never seen, and are")
        reporter().warn(
            f"{counted(n_unseen, 'configuration')} of parents {seen} uniform: for {listing(unseen)}"
        )
    learning = Provenance.of(
        "fit-params",
        options=asked or {},
        rows=rows_counted(counter),
        data=counter.digest,
    )
    treated = counter.missing_treatment
    tokens = None if treated is None else treated.na
    if tokens is not None and {*tokens} != {*DEFAULT_NA} and "na" not in learning.options:
        learning = learning.also(na=list(tokens))
    if treated is not None and treated.policy != "error":
        cells = {name: counter.in_rows(units) for name, units in treated.cells.items()}
        rows = counter.in_rows(treated.rows)
        learning = learning.also(missing={"policy": treated.policy, "rows": rows, "columns": cells})
    return replace(net, learning=learning)


def _require_fitting(
    method: str, prior: str | None, ess: float | None, gaussian: bool, given: list[str]
) -> None:
    """Refuse what does not go together."""
    if method != "bayes":
        for name, value in (("prior", prior), ("ess", ess)):
            if value is not None:
                raise UsageError(f"{parameter(name)} belongs to {parameter('method', 'bayes')}")
    if prior not in (None, "bdeu") and ess is not None:
        raise UsageError(f"{parameter('ess')} belongs to {parameter('prior', 'bdeu')}")
    if gaussian:
        if method == "bayes":
            raise UsageError(
                f"{parameter('method', 'bayes')} is for levels; numbers are fitted by mle"
            )
        for name in (*FOR_LABELS, "strict"):
            if name in given:
                raise UsageError(f"{parameter(name)} does not go with {parameter('gaussian')}")

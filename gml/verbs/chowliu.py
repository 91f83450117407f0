"""The maximum-likelihood tree of a table: gml.chowliu, `gml chowliu`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gml.errors import UsageError, parameter
from gml.graph.provenance import Provenance
from gml.learners.chowliu import ChowLiuResult, chow_liu
from gml.verbs.shared.data_input import Data, open_data
from gml.verbs.shared.keywords import answers_misspelling
from gml.verbs.shared.planned_call import plannable
from gml.verbs.shared.recording import described, records_keywords


@plannable("chowliu")
@records_keywords
@answers_misspelling()
def chowliu(
    data: Data,
    *,
    root: str | None = None,
    undirected: bool = False,
    estimator: str = "ml",
    prune: str = "none",
    alpha: float | None = None,
    df: str | None = None,
    class_: str | None = None,
    threads: int | None = None,
    asked: Mapping[str, Any] | None = None,
    **reading: Any,
) -> ChowLiuResult:
    """Learn the maximum-likelihood tree (Chow & Liu 1968), a forest or a TAN model.

    Parameters
    ----------
    data
        A path, a DataFrame, a Dataset or a Counter.
    root
        Direct the tree away from this column; by default the first by name.
    undirected
        Do not direct the tree.
    estimator
        Estimator of the mutual information: `ml` or `miller-madow`.
    prune
        `bic` or `g` for a forest: edges that pay by BIC, or that the G test calls dependent.
    alpha, df
        Level and degrees of freedom (`full` or `adjusted`) of `prune="g"`.
    class_
        Learn a tree-augmented naive Bayes model for this column.
    threads
        Threads; all cores by default.
    asked
        What the provenance records as asked for; by default the keywords of the call.
    **reading
        How to read the data; see `gml.read`.

    Examples
    --------
    >>> import gml
    >>> gml.chowliu("sample_data/asia.csv", prune="bic").graph.n_edges
    6
    """
    if prune != "g":
        for name, value in (("alpha", alpha), ("df", df)):
            if value is not None:
                raise UsageError(f"{parameter(name)} belongs to {parameter('prune', 'g')}")
    if undirected and root is not None:
        raise UsageError(f"{parameter('undirected')} and {parameter('root')} contradict each other")
    if reading.get("missing") == "available":
        raise UsageError(
            f"{parameter('missing', 'available')}: pairs counted on different rows cannot be "
            "compared; use drop or level"
        )
    counter = open_data(data, offer_available=False, threads=threads, **reading)
    result = chow_liu(
        counter,
        root=root,
        directed=not undirected,
        estimator=estimator,
        prune=prune,
        class_variable=class_,
        alpha=0.05 if alpha is None else alpha,
        df=df or "full",
    )
    learning = Provenance.of(
        "chowliu",
        options=asked or {},
        rows=counter.n,
        pairs=result.n_pairs,
        total_mi=result.total_mi,
        data=counter.digest,
    )
    return described(result, counter, learning)

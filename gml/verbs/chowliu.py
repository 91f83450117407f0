"""The maximum-likelihood tree of a table: gml.chowliu, `gml chowliu`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, cast

from gml.counts.open_count_file import is_counted
from gml.data.options import ReadingKeywords
from gml.errors import UsageError, parameter
from gml.graph.provenance import Provenance
from gml.learners.chowliu import ChowLiuResult, chow_liu
from gml.verbs.shared.data_input import Data, is_read, open_data, with_categories
from gml.verbs.shared.front_door import front_door
from gml.verbs.shared.planned_call import plannable
from gml.verbs.shared.recording import described, recorded, records_keywords


@front_door()
@plannable("chowliu")
@records_keywords
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

    Columns may be categorical, numeric or both; `gml.learners.chowliu` says how pairs of them are
    weighed. A numeric column has no arrow to a categorical one, so that `gml.fit` makes a
    conditional Gaussian network of the graph.

    Parameters
    ----------
    data
        A path, a DataFrame, a Dataset or a Counter.
    root
        Direct the tree away from this column; by default the first by name, in a tree with
        categorical columns the first of these.
    undirected
        Do not direct the tree.
    estimator
        Estimator of the mutual information: `ml`, or `miller-madow` for categorical columns.
    prune
        `bic` or `g` for a forest: edges that pay by BIC, or that the G test, or that of the
        likelihood ratio where a column is numeric, calls dependent.
    alpha, df
        Level and degrees of freedom (`full` or `adjusted`) of `prune="g"`.
    class_
        Learn a tree-augmented naive Bayes model for this categorical column.
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
    >>> tree = gml.chowliu("sample_data/flats.csv", numeric=["size", "rent", "heating"]).graph
    >>> tree.parents("rent")
    ['district']
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
    if class_ is not None and is_read(data) and not is_counted(data):
        reading = {**with_categories(cast("ReadingKeywords", reading), [class_])}
    counter = open_data(
        data,
        offer_available=False,
        takes_numbers=parameter("numeric"),
        threads=threads,
        **reading,
    )
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
        options=recorded(asked, counter),
        rows=counter.n,
        pairs=result.n_pairs,
        total_mi=result.total_mi if math.isfinite(result.total_mi) else None,
        data=counter.digest,
    )
    return described(result, counter, learning)

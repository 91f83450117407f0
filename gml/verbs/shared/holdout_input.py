"""Rows that a model is judged by, read as those that it was fitted on were."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, cast

from gml.counts.counter import Counter
from gml.data.columns import Choice
from gml.data.dataset import Dataset
from gml.data.discretize import cuts_of_levels
from gml.data.options import ReadingKeywords, Undeclared, reading_options
from gml.data.schema import with_kinds
from gml.errors import UsageError, parameter, place
from gml.verbs.shared.data_input import Data, name_of, open_data
from gml.verbs.shared.declared_columns import DeclaredColumns
from gml.verbs.shared.dialects import declaring
from gml.verbs.shared.graph_input import GivenGraph

Splits = Callable[[], Sequence[tuple[Dataset | Counter, Dataset | Counter]]]
"""What to fit on and what to predict, made again by each call."""


@contextmanager
def naming_holdout(holdout: Data) -> Iterator[None]:
    """Say of what a call asks for in vain, such as a column, that the held-out data lack it."""
    try:
        yield
    except UsageError as error:
        where = place(name_of(holdout, "the holdout"))
        raise UsageError(f"{parameter('holdout')}: {where}: {error}") from None


def open_holdout(
    holdout: Data,
    counter: Counter,
    *,
    used: Choice,
    declared: DeclaredColumns,
    fixed: Collection[str],
    source: str,
    reading: Mapping[str, Any],
    undeclared: Undeclared = "auto",
    takes_numbers: str | None = None,
) -> Counter:
    """Open held-out data whose columns are those of a counter.

    Levels that are declared, those of the `fixed` columns, and intervals chosen from the counter's
    data hold for held-out rows too; messages say that `source` declares them.
    """
    options = reading_options(**declaring(cast("ReadingKeywords", reading), declared))
    cut = {
        variable.name: variable.levels
        for variable in counter.variables
        if variable.levels is not None
        and (options.bins is not None or variable.name in options.cut)
        and cuts_of_levels(variable.levels) is not None
    }
    others = {name: how for name, how in options.cut.items() if name not in cut}
    levels = with_kinds(options.levels, counter.variables)
    same = {**reading, "levels": levels, "bins": None, "cut": others or None}
    same["discretize"] = same["discretize_class"] = None
    if isinstance(holdout, Dataset | Counter):
        same = {}
    known = {v.name: v.levels for v in counter.variables if v.levels and v.name in fixed}
    with naming_holdout(holdout):
        return open_data(
            holdout,
            fractional=True,
            used=used,
            declared=DeclaredColumns(source, known | cut),
            undeclared=undeclared,
            offer_available=False,
            takes_numbers=takes_numbers,
            **same,
        )


def splits_of(
    counter: Counter,
    holdout: Data | None,
    folds: int | None,
    seed: int,
    first: GivenGraph,
    declared: DeclaredColumns,
    undeclared: Undeclared,
    reading: Mapping[str, Any],
) -> Splits:
    """What to fit on and what to predict, made again for each graph rather than kept."""
    if folds is not None:
        from gml.data.resampling import folds as folds_of

        rows = counter.require_rows(parameter("folds"))
        return lambda: folds_of(rows, folds, seed=seed)
    from gml.model.heldout import with_common_levels

    assert holdout is not None
    name = name_of(holdout, "the holdout")
    predicted = open_holdout(
        holdout,
        counter,
        used=GivenGraph(first.graph, name).columns(),
        declared=declared,
        fixed=declared.levels,
        source=first.name,
        undeclared=undeclared,
        reading=reading,
    )
    decimal = reading_options(**cast("ReadingKeywords", reading)).decimal
    split = with_common_levels(counter, predicted, decimal=decimal)
    return lambda: [split]

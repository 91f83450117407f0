"""Open a count file as data: the columns asked for, with the levels that options declare."""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import TypeGuard

from gml.counts.count_file_engine import CountFileCounter
from gml.counts.count_parquet import read_counts
from gml.counts.countfile import CountFile
from gml.counts.recoding import declared_recoding
from gml.data.columns import Choice, choose_columns
from gml.data.options import ReadOptions
from gml.data.parquet import is_count_file
from gml.data.schema import NUMERIC
from gml.errors import CannotAnswer, UsageError, agreeing, counted, listing, parameter, share_of
from gml.ledger import noted_digest
from gml.progress import reporter

_ABOUT_ROWS = (
    *("delimiter", "decimal", "encoding", "strip", "na", "weights", "weights_fractional"),
    *("bins", "discretize", "discretize_class", "cut", "kinds", "max_levels"),
    "min_complete",
    *("engine", "spool", "spool_keep", "master"),
)


def is_counted(source: object) -> TypeGuard[str | os.PathLike[str]]:
    """Whether a source of data is a count file; standard input never is.

    Examples
    --------
    >>> is_counted("sample_data/asia.csv")
    False
    """
    if not isinstance(source, str | os.PathLike) or os.fspath(source) == "-":
        return False
    return is_count_file(source)


def open_counts(
    path: str | os.PathLike[str],
    options: ReadOptions,
    *,
    given: Collection[str] = (),
    used: Choice | None = None,
    threads: int | None = None,
) -> CountFileCounter:
    """Return the engine over the tables of a count file, for the columns used.

    `given` names the options that were asked for: those that are about rows are refused, and so is
    a way of treating missing values that differs from the one used for counting.
    """
    where = str(path)
    for option in _ABOUT_ROWS:
        if option in given:
            raise UsageError(f"{parameter(option)} is about rows, and {where} is a count file")
    counts = read_counts(path)
    if "missing" in given and options.missing != counts.options.missing:
        raise UsageError(
            f"{parameter('missing', options.missing)}: {where} was counted with "
            f"{parameter('missing', counts.options.missing)}"
        )
    chosen = [counts.names[j] for j in choose_columns(counts.names, options, used, where)]
    _require_kinds(counts, chosen, options, where)
    _warn_of_dropped_rows(counts, chosen)
    recodings = {
        name: new
        for name in chosen
        if (new := declared_recoding(counts, name, options, where)) is not None
    }
    return CountFileCounter(
        counts,
        columns=chosen,
        recodings=recodings,
        where=where,
        digest=noted_digest(path),
        threads=threads,
        dialect=options.dialect,
    )


def _require_kinds(
    counts: CountFile, chosen: Collection[str], options: ReadOptions, where: str
) -> None:
    """Refuse columns that were counted as another kind than a method or a declaration says."""
    counted_as = {column.name: column for column in counts.columns if column.name in chosen}
    labels = [name for name in chosen if not counted_as[name].is_numeric]
    if options.kinds == "numbers" and len(labels) == len(chosen):
        raise CannotAnswer(
            f"{where}: its columns were counted as labels, so it has no numbers; count the rows "
            f"again: {parameter('numeric')}"
        )
    kinds = options.levels.kinds
    wrong = [name for name in labels if name in options.numeric or kinds.get(name) == NUMERIC]
    if wrong:
        raise CannotAnswer(
            f"{where}: {listing(wrong)} {agreeing(len(wrong), 'was', 'were')} counted as labels, "
            f"not as numbers; count the rows again: {parameter('numeric', wrong)}"
        )
    wrong = [
        name
        for name in chosen
        if counted_as[name].is_numeric
        and (
            kinds.get(name, NUMERIC) != NUMERIC
            or name in options.labels
            or options.declared_levels(name) is not None
            or options.declared_intervals(name) is not None
        )
    ]
    if wrong:
        raise CannotAnswer(
            f"{where}: {listing(wrong)} {agreeing(len(wrong), 'was', 'were')} counted as numbers, "
            f"and are declared categorical; count the rows again: {parameter('labels', wrong)}"
        )


def _warn_of_dropped_rows(counts: CountFile, chosen: list[str]) -> None:
    if not counts.dropped:
        return
    share = share_of(counts.dropped, counts.n + counts.dropped)
    were = agreeing(counts.dropped, "was", "were")
    dropped = (
        f"{counted(counts.dropped, 'row')} {were} dropped when counting ({share}), for missing "
        "values"
    )
    n_columns = len(counts.columns)
    if len(chosen) < n_columns:
        reporter().warn(
            f"{dropped} in any of {n_columns} columns, of which {len(chosen)} "
            f"{agreeing(len(chosen), 'is', 'are')} used here"
        )
    else:
        reporter().tell(dropped)

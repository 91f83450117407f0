"""What is said about labels and intervals of a table: one line each, naming all columns."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from gml.data.dataset import Dataset, Variable
from gml.data.kind_rule import SettledKind
from gml.errors import counted, listing, parameter, quote
from gml.progress import reporter

_SHOWN = 8


def tell_kinds(kinds: Mapping[str, SettledKind]) -> None:
    """Name the columns that the rule took for numeric, and those that only a few words keep."""
    numeric = [
        f"{quote(name)} ({counted(kind.present, 'number')} from {kind.low:.15g} to {kind.high:.15g}"
        f"{'; identifiers?' if kind.like_identifiers else ''})"
        for name, kind in kinds.items()
        if kind.is_numeric
    ]
    if numeric:
        are = "column is" if len(numeric) == 1 else "columns are"
        reporter().tell(
            f"{len(numeric)} {are} numeric by {'its' if len(numeric) == 1 else 'their'} values: "
            f"{_shortened(numeric)}; {parameter('kinds', 'labels')} treats values as categories"
        )
    written: dict[str, list[str]] = {}
    for name, kind in kinds.items():
        if kind.written is not None:
            written.setdefault(kind.written, []).append(quote(name))
    for how, names in written.items():
        are = "column is" if len(names) == 1 else "columns are"
        reporter().warn(
            f"{len(names)} {are} categorical that would be numeric: {_shortened(names)}; {how}"
        )
    for name, kind in kinds.items():
        if kind.words and kind.written is None:
            few = f"{kind.word_cells} of {kind.present}: {', '.join(kind.words[:_SHOWN])}"
            tokens = " ".join(parameter("na", word) for word in kind.words[:_SHOWN])
            reporter().warn(
                f"column {quote(name)} is categorical, as not all of its values are numbers "
                f"({few}); {tokens} {'makes them' if kind.word_cells > 1 else 'makes it'} missing"
            )


def warn_of_fewer_intervals(asked: Mapping[str, tuple[int, int]]) -> None:
    """Name the columns that were cut into fewer intervals than asked for, given both numbers."""
    if asked:
        columns = [f"{quote(name)} {got}, not {bins}" for name, (bins, got) in asked.items()]
        reporter().warn(
            "fewer intervals than asked for, as several quantiles fall on one value: "
            + _shortened(columns)
        )


def warn_of_no_cuts(names: Sequence[str], class_name: str) -> None:
    """Name the columns that were not cut, as they say too little about a class."""
    if names:
        columns = [quote(name) for name in names]
        reporter().warn(
            f"mdlp finds no cut that says enough about {class_name}, so one interval is left of "
            + _shortened(columns)
        )


def warn_of_blanks(variables: Iterable[Variable]) -> None:
    """Name the columns whose labels all begin with a blank, or differ only in blanks around."""
    columns, blanks = [], []
    for variable in variables:
        if variable.levels and all(level.startswith(" ") for level in variable.levels):
            blanks.append(quote(variable.name))
        groups = _alike_but_for_blanks(variable.levels or ())
        if groups:
            alike = ", ".join(" and ".join(map(quote, group)) for group in groups[:_SHOWN])
            columns.append(f"column {quote(variable.name)} has {alike}")
    if blanks:
        reporter().warn(
            f"all labels begin with a blank in {counted(len(blanks), 'column')}: "
            f"{_shortened(blanks)}; {parameter('strip')} takes blanks off"
        )
    if columns:
        reporter().warn(
            f"labels that differ only in the blanks around them are different levels: "
            f"{_shortened(columns)}; {parameter('strip')} takes blanks off"
        )


def warn_of_levels_without_weight(
    dataset: Dataset, candidates: Mapping[str, Collection[str]]
) -> None:
    """Name the levels among the candidates that no row has, as those that had them weigh 0."""
    unseen = {}
    for variable, column in zip(dataset.variables, dataset.columns, strict=True):
        if variable.levels is not None and candidates.get(variable.name):
            occurs = np.bincount(column, minlength=len(variable.levels)) > 0
            unseen[variable.name] = [
                level for level, seen in zip(variable.levels, occurs, strict=False) if not seen
            ]
    tell_levels_without_weight(unseen, candidates)


def tell_levels_without_weight(
    unseen: Mapping[str, Sequence[str]], candidates: Mapping[str, Collection[str]]
) -> None:
    """Name the same, given the levels of columns that no row has."""
    columns = []
    for name, levels in unseen.items():
        alone = [level for level in levels if level in candidates.get(name, ())]
        if alone:
            columns.append(f"{listing(alone)} of column {quote(name)}")
    if columns:
        reporter().warn(f"levels that only rows of weight 0 have: {_shortened(columns)}")


def _alike_but_for_blanks(levels: Sequence[str]) -> list[list[str]]:
    """Return the groups of levels that are the same without the blanks around them.

    Examples
    --------
    >>> _alike_but_for_blanks([" 1", "1", "2", "x "])
    [[' 1', '1']]
    """
    if all(level == level.strip() for level in levels):
        return []
    groups: dict[str, list[str]] = {}
    for level in levels:
        groups.setdefault(level.strip(), []).append(level)
    return [group for group in groups.values() if len(group) > 1]


def _shortened(items: Sequence[str]) -> str:
    more = f" and {len(items) - _SHOWN} more" if len(items) > _SHOWN else ""
    return ", ".join(items[:_SHOWN]) + more

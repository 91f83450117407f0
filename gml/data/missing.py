"""What becomes of missing values: an error, dropped rows, a level of their own, or kept."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml.data.dataset import Dataset, Variable, code_type, has_missing, missing_mask
from gml.data.levels import NA_LEVEL
from gml.data.missing_patterns import GapTally, tell_missing_together
from gml.errors import CannotAnswer, DataError, counted, listing, parameter, quote, share_of
from gml.printable_text import plain_count
from gml.progress import reporter

FRAME = "the frame"
"""What messages call a DataFrame."""

_MANY_DROPPED = 0.2
_MOST_DROPPED = 0.9
_HALF, _FEW_LEFT = 0.5, 30
_MOST_NAMED = 100
_WORST_NAMED = 3


def count_missing(dataset: Dataset, policy: str, tokens: Collection[str]) -> dict[str, int]:
    """Return the missing cells of columns that have some, with their weights (in units).

    Where a level `NA` is declared for missing cells, a cell that says `NA` is missing too.
    """
    gaps = zip(dataset.names, _gaps(dataset, policy, tokens), strict=True)
    counts = {name: dataset.count(mask) for name, mask in gaps if mask is not None}
    return {name: cells for name, cells in counts.items() if cells}


def _gaps(
    dataset: Dataset, policy: str, tokens: Collection[str]
) -> Iterator[NDArray[np.bool_] | None]:
    """Which cells of each column are missing, None where none is."""
    for variable, column in zip(dataset.variables, dataset.columns, strict=True):
        mask = missing_mask(column) if has_missing(column) else None
        levels = variable.levels or ()
        if policy == "level" and NA_LEVEL in levels and NA_LEVEL in tokens:
            said = column == levels.index(NA_LEVEL)
            mask = said if mask is None else mask | said
        yield mask


def warn_of_level_in_common(dataset: Dataset, tokens: Collection[str]) -> None:
    """Warn about columns that are missing together, where that is to be a level."""
    tally = GapTally(len(dataset.names))
    tally.see([*_gaps(dataset, "level", tokens)], dataset.n_rows)
    tell_missing_together(tally, dataset.names, dataset.n_rows)


def missing_as_read(dataset: Dataset) -> tuple[int, Mapping[str, int]]:
    """The rows of a table that was read, and its missing cells, before these were treated.

    Rows may have been chosen since: then these are all, but for those that had been dropped.
    """
    origin = dataset.origin
    if origin is not None and origin.policy == "drop":
        return origin.n, origin.missing
    if origin is None or origin.policy != "level":
        return dataset.n, count_missing(dataset, "available", ())
    cells = {}
    for name in origin.missing:
        if name in dataset.names:
            j = dataset.index(name)
            level = (dataset.variables[j].levels or ()).index(NA_LEVEL)
            cells[name] = dataset.count(dataset.columns[j] == level)
    return dataset.n, {name: n for name, n in cells.items() if n}


def why_empty(dataset: Dataset | None, where: str) -> str:
    """Say why nothing is left of a table to count."""
    origin = None if dataset is None else dataset.origin
    if dataset is None or origin is None or origin.n:
        return "no rows are left to count"
    return why_no_rows(where, weighted=dataset.weights is not None)


def why_no_rows(where: str, *, weighted: bool) -> str:
    """Say that a table had no rows to begin with."""
    if weighted:
        return "no rows are left to count: there are none, or all weigh 0"
    return "has no rows" if where == FRAME else "has a header, but no rows"


def apply_missing_policy(
    dataset: Dataset,
    policy: str,
    where: str,
    *,
    offer_available: bool = True,
    offer_em: bool = False,
    offer_exclude: bool = True,
    advice: str | None = None,
    declared: Collection[str] = (),
    min_complete: int | None = None,
    unweighed: Mapping[str, NDArray[np.bool_]] | None = None,
) -> Dataset:
    """Treat the missing cells of all columns; `declared` names those whose levels are declared.

    `level` turns missing cells into a declared level `NA`; a label `NA` in the data collides with
    it, and numbers with gaps are refused. `drop` is refused where too few rows are complete
    (`require_complete`). `unweighed` says, by the column of weights, which rows are to be dropped
    for lack of one.
    """
    if policy == "available":
        return dataset
    gaps = {
        j: missing_mask(column) for j, column in enumerate(dataset.columns) if has_missing(column)
    }
    numbers = [dataset.names[j] for j in gaps if dataset.variables[j].is_continuous]
    if policy == "level" and numbers:
        raise numbers_have_no_level(numbers, offer_em=offer_em)
    if not gaps and not unweighed:
        return dataset
    if policy == "error":
        found = {dataset.names[j]: int(np.count_nonzero(mask)) for j, mask in gaps.items()}
        raise refused_gaps(
            found,
            where,
            numbers,
            offer_available=offer_available,
            offer_em=offer_em,
            advice=advice,
        )
    if policy == "drop":
        by_name = {dataset.names[j]: mask for j, mask in gaps.items()}
        lacking = {**by_name, **(unweighed or {})}
        incomplete = np.logical_or.reduce(list(lacking.values()))
        found = {name: int(np.count_nonzero(mask)) for name, mask in lacking.items()}
        kept = dataset.rows(~incomplete)
        without = sum(int(np.count_nonzero(mask)) for mask in (unweighed or {}).values())
        require_complete(
            dataset.in_rows(kept.n),
            rows_with_unweighed(dataset.in_rows(dataset.n), dataset.n_rows, without),
            {name: rows for name, rows in found.items() if name in by_name},
            where,
            min_complete=min_complete,
            offer_available=offer_available,
            offer_em=offer_em,
            offer_exclude=offer_exclude,
        )
        tell_dropped(dataset.n_rows - kept.n_rows, dataset.n_rows, found)
        return kept
    variables, columns = list(dataset.variables), list(dataset.columns)
    for j, mask in gaps.items():
        known = variables[j].name in declared
        variables[j], columns[j] = _as_level(variables[j], columns[j], mask, declared=known)
    return replace(dataset, variables=tuple(variables), columns=tuple(columns))


def refused_gaps(
    gaps: Mapping[str, int],
    where: str,
    numbers: Collection[str],
    *,
    offer_available: bool,
    offer_em: bool,
    advice: str | None = None,
) -> DataError:
    """Say how many rows lack a value, by column, and what can be done; `numbers` are no labels.

    `advice` is said in place of the choices.
    """
    per_column = ", ".join(
        f"{quote(name)} {count}" for name, count in islice(gaps.items(), _MOST_NAMED)
    )
    if len(gaps) > _MOST_NAMED:
        per_column += f" and {len(gaps) - _MOST_NAMED} more columns"
    if advice is not None:
        return DataError(f"{where}: missing values: {per_column}; {advice}")
    choices = [f"{parameter('missing', 'drop')} (complete rows only)"]
    choices += ["em (fit to what was seen of each row)"] * offer_em
    choices += ["available (rows complete in each table)"] * offer_available
    choices += ["level (a level of their own)"] * (not numbers)
    return DataError(f"{where}: missing values: {per_column}; choose {_either(choices)}")


def _either(choices: Sequence[str]) -> str:
    *first, last = choices
    return f"{', '.join(first)} or {last}" if first else last


def numbers_have_no_level(names: Sequence[str], *, offer_em: bool) -> DataError:
    """Say that a missing number is no level."""
    one = len(names) == 1
    policies = ["em", "drop"] if offer_em else ["drop"]
    return DataError(
        f"{parameter('missing', 'level')} is for categorical columns, and {listing(names)} "
        f"{'is' if one else 'are'} numeric, with missing values; cut {'it' if one else 'them'} "
        f"({parameter('bins', 4)}), take the numbers for labels ({parameter('labels', [*names])}), "
        f"or choose {parameter('missing', policies[0])}{' or drop' * (len(policies) > 1)}"
    )


def rows_with_unweighed(n: float, rows: int, unweighed: int) -> float:
    """How much all rows weigh, if those without a weight weigh as much as others on average."""
    if not unweighed:
        return n
    return round(n * rows / (rows - unweighed)) if rows > unweighed else rows


def require_complete(
    complete: float,
    rows: float,
    gaps: Mapping[str, int],
    where: str,
    *,
    min_complete: int | None,
    offer_available: bool,
    offer_em: bool,
    offer_exclude: bool,
) -> None:
    """Refuse to drop rows where too few are complete; both numbers are weighted.

    They are too few if there are fewer than `min_complete`; where that is not given, if over 90 %
    of the rows would be dropped, or over half with fewer than 30 left. `gaps` says how many rows
    lack each column.
    """
    dropped = rows - complete
    if min_complete is None:
        few_left = dropped > _HALF * rows and complete < _FEW_LEFT
        too_few = few_left or dropped > _MOST_DROPPED * rows
    else:
        too_few = complete < min_complete
    if rows == 0 or (complete and not too_few):
        return
    are = "is" if 1 in (complete, rows) else "are"
    found = f"{plain_count(complete)} of {counted(rows, 'row')} {are} complete"
    limit = (
        "" if min_complete is None else f", fewer than {parameter('min_complete', min_complete)}"
    )
    worst = sorted(gaps, key=lambda name: (-gaps[name], name))
    most = ", ".join(f"{quote(name)} {gaps[name]}" for name in worst[:_WORST_NAMED])
    choices = [f"{parameter('missing', 'em')} (fit to what was seen of each row)"] * offer_em
    choices += [
        f"{parameter('missing', 'available')} (rows complete in each table)"
    ] * offer_available
    choices += [f"{parameter('exclude', worst[:1])} (the emptiest)"] * (
        offer_exclude and bool(worst)
    )
    if complete >= 1:
        choices += [f"{parameter('min_complete', int(complete))} (go on with so few)"]
    raise CannotAnswer(
        f"{where}: {parameter('missing', 'drop')} leaves too few rows: {found}{limit}"
        + (f"; most often missing: {most}" if most else "")
        + (f"; choose {_either(choices)}" if choices else "")
    )


def tell_dropped(dropped: int, n_rows: int, gaps: Mapping[str, int]) -> None:
    """Say how many rows are dropped, given how many lack each column; if many, as a warning."""
    worst = max(gaps, key=lambda name: gaps[name])
    message = (
        f"{dropped} of {counted(n_rows, 'row')} dropped for missing values "
        f"({share_of(dropped, n_rows)}), {gaps[worst]} of them missing {quote(worst)}"
    )
    many = dropped > _MANY_DROPPED * n_rows
    (reporter().warn if many else reporter().tell)(message)


def _as_level(
    variable: Variable, column: NDArray[Any], mask: NDArray[np.bool_], *, declared: bool
) -> tuple[Variable, NDArray[Any]]:
    assert variable.levels is not None
    levels = levels_with_gaps(variable, declared=declared)
    codes = column.astype(code_type(len(levels)))
    codes[mask] = levels.index(NA_LEVEL)
    return Variable(variable.name, levels), codes


def levels_with_gaps(variable: Variable, *, declared: bool) -> tuple[str, ...]:
    """The levels of a column whose missing cells are one of them."""
    levels = variable.levels or ()
    if declared and NA_LEVEL in levels:
        return levels
    if NA_LEVEL in levels:
        raise DataError(
            f"column {quote(variable.name)}: {parameter('missing', 'level')} would add "
            f"{NA_LEVEL!r}, which is already a label"
        )
    return (*levels, NA_LEVEL)

"""Which columns of a table are read, and as what."""

from __future__ import annotations

from collections import Counter as Multiset
from collections.abc import Callable, Collection, Sequence

from gml.data.dataset import MAX_LEVELS
from gml.data.levels import NA_LEVEL
from gml.data.options import ReadOptions
from gml.errors import DataError, UsageError, listing, parameter, quote, unknown_name
from gml.kernel.layout import CODES8, NUMBERS, SKIP, ColumnSpec
from gml.resources import require_memory

# Bytes of a column before it has rows: its levels and their hash, and the objects around them.
_COLUMN_BYTES = 3600
# Up to so many the budget is not asked: the interpreter itself takes ten times more.
_FEW_COLUMNS = 1000
# Labels of a column whose values say what it is, before it can only be numeric, or too long.
_KEPT_LABELS = 255

Choice = Callable[[Sequence[str]], Sequence[str]]
"""Picks the columns to use, given the names of all."""


def choose_columns(
    names: Sequence[str], options: ReadOptions, used: Choice | None, where: str
) -> list[int]:
    """Return the positions of the columns used, in the order asked for or in that of the file."""
    # A name that occurs twice stands for its first column; it is refused if it is used.
    position = {name: j for j, name in reversed(list(enumerate(names)))}
    wanted = _wanted_names(names, options)
    weights = options.weights_column
    if used is not None:
        left, wanted = wanted, list(used(wanted))
        offered = set(left)
        for name in wanted:
            if name not in position:
                raise UsageError(unknown_name("column", name, left))
            if name not in offered:
                raise UsageError(f"column {quote(name)} is left out by the options")
    read = {*wanted, *([] if weights is None else [weights])}
    if "" in read:
        raise DataError(
            f"{where}: a column without a name is in use; choose others with "
            f"{parameter('columns')} or {parameter('exclude')} '\"\"'"
        )
    _refuse_repeated(names, read, where)
    if not wanted:
        raise UsageError("no columns are left")
    _require_room_for(len(wanted))
    return [position[name] for name in wanted]


def all_columns(names: Sequence[str], options: ReadOptions, where: str) -> list[int]:
    """Return the positions of all columns that the options leave, whatever their names.

    A name that occurs twice stands for all its columns, unless it is that of the weights.
    """
    wanted = _wanted_names(names, options)
    _refuse_repeated(names, {options.weights_column or ""} - {""}, where)
    at: dict[str, list[int]] = {}
    for j, name in enumerate(names):
        at.setdefault(name, []).append(j)
    chosen = [j for name in dict.fromkeys(wanted) for j in at[name]]
    if not chosen:
        raise UsageError("no columns are left")
    _require_room_for(len(chosen))
    return chosen if options.columns is not None else sorted(chosen)


def _wanted_names(names: Sequence[str], options: ReadOptions) -> list[str]:
    """Return the names that the options leave, all of which there must be."""
    known = set(names)
    by_class = () if options.discretize_class is None else (options.discretize_class,)
    kinds = (*options.numeric, *options.labels)
    told = (*(options.columns or ()), *options.exclude, *options.cut, *kinds, *by_class)
    for name in told:
        if name not in known:
            raise UsageError(unknown_name("column", name, names))
    weights = options.weights_column
    if weights is not None and weights not in known:
        raise UsageError(unknown_name("weights column", weights, names))
    repeated = [name for name, times in Multiset(options.columns or ()).items() if times > 1]
    if repeated:
        raise UsageError(f"{parameter('columns')} lists {listing(repeated)} twice")
    wanted = list(options.columns) if options.columns is not None else list(names)
    dropped = {*options.exclude, *options.left_out} | ({weights} if weights is not None else set())
    return [name for name in wanted if name not in dropped]


def _refuse_repeated(names: Sequence[str], used: Collection[str], where: str) -> None:
    twice = [name for name, times in Multiset(names).items() if times > 1 and name in used]
    if twice:
        raise DataError(
            f"{where}: the header has {listing(twice)} more than once; choose other columns with "
            f"{parameter('columns')}"
        )


def _require_room_for(n_columns: int) -> None:
    if n_columns > _FEW_COLUMNS:
        require_memory(_COLUMN_BYTES * n_columns, None, f"reading {n_columns} columns")


def column_specs(
    names: Sequence[str], chosen: Sequence[int], options: ReadOptions
) -> list[ColumnSpec]:
    """Return what each column is read as: labels, numbers, or not at all."""
    specs = [ColumnSpec(SKIP)] * len(names)
    for j in chosen:
        name = names[j]
        if name == options.identifier:
            specs[j] = ColumnSpec(CODES8, options.most_labels(name))
        elif name in options.maybe_numbers:
            specs[j] = ColumnSpec(CODES8, MAX_LEVELS, numbers_on_overflow=True)
        elif options.is_numeric(name):
            specs[j] = ColumnSpec(NUMBERS)
        elif (declared := options.declared_levels(name)) is not None:
            specs[j] = ColumnSpec(CODES8, MAX_LEVELS, declared)
        elif (intervals := options.declared_intervals(name)) is not None:
            known = (NA_LEVEL,) if NA_LEVEL in intervals else ()
            specs[j] = ColumnSpec(CODES8, MAX_LEVELS, known=known, numbers_on_overflow=True)
        elif name in options.labels:
            specs[j] = ColumnSpec(CODES8, options.most_labels(name))
        elif options.binning(name) is not None:
            specs[j] = ColumnSpec(NUMBERS)
        elif expected := options.expected_levels(name):
            most = max(options.max_levels, len(expected))
            specs[j] = ColumnSpec(CODES8, most, known=expected)
        elif options.bins is not None:
            most = max(MAX_LEVELS, options.most_labels(name))
            specs[j] = ColumnSpec(CODES8, most, numbers_on_overflow=True)
        elif options.goes_by_rule(name):
            most = max(_KEPT_LABELS, options.most_labels(name))
            specs[j] = ColumnSpec(CODES8, most, numbers_on_overflow=True, plain_numbers=True)
        else:
            specs[j] = ColumnSpec(CODES8, options.most_labels(name))
    if options.weights_column is not None:
        # The kernel refuses a weight that is missing by its line; rows are dropped after reading.
        counts = options.weights is not None and options.missing != "drop"
        specs[names.index(options.weights_column)] = ColumnSpec(NUMBERS, counts=counts)
    return specs

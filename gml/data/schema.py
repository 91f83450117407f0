"""The schema file (`levels`, `gml profile`): columns and their levels, how the table is read.

Of each column it has the type, levels or cut points; `gml.data.dialect` says what it has of the
table. A column of type `numeric` holds numbers; `nominal` and `ordinal` mean labels, in the order
of their levels if these are declared, otherwise in the usual one. Levels that are all intervals are
treated as such: cells may hold their names, or numbers that lie in them. The rest of a profile
(counts, rates, the order of levels, columns without levels) is for people, and is not enforced.
"""

from __future__ import annotations

import itertools
import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gml.data.dataset import MAX_LEVELS, Variable
from gml.data.dialect import NAMES as READING
from gml.data.dialect import Dialect, parse_dialect
from gml.data.discretize import cuts_of_levels
from gml.data.json_text import parse_json
from gml.data.number_summary import NumberSummary, parse_summary
from gml.data.text_file import read_text
from gml.errors import DataError, parameter, place, quote, unknown_name

_KEYS = ("schema", "columns", "others", "rows", "missing_patterns", "hash", *READING)
# How each form of the table that `gml profile` prints begins.
_PRINTED = re.compile(r'column( +\w+)+\n|column,guess,|\| column \||\{"column":')
NUMERIC, NOMINAL, ORDINAL = KINDS = ("numeric", "nominal", "ordinal")
"""The types of columns that can be declared: numbers, and labels without and with an order."""


@dataclass(frozen=True)
class Schema:
    """What is declared about a table."""

    levels: dict[str, tuple[str, ...]] = field(default_factory=dict)
    intervals: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Levels that are intervals: cells may hold these labels, or numbers that lie in them."""
    expected: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Levels that come first, whether they occur or not; others may follow."""
    cuts: dict[str, tuple[float, ...]] = field(default_factory=dict)
    na: tuple[str, ...] | None = None
    rows: int | float | None = None
    """Rows of the table that was profiled."""
    missing: dict[str, int | float] = field(default_factory=dict)
    """Missing cells of its columns, where known."""
    kinds: dict[str, str] = field(default_factory=dict)
    """The types of columns, one of `KINDS`, where declared."""
    categorical: frozenset[str] = frozenset()
    """Columns that are text in their source, or have to be categorical: values do not decide."""
    numbers: dict[str, NumberSummary] = field(default_factory=dict)
    """What was found about columns of numbers."""
    dialect: Dialect = field(default_factory=dict)
    """How the table is read, where no option says so."""


def with_levels(schema: Schema, levels: Mapping[str, tuple[str, ...]]) -> Schema:
    """Declare the levels of columns that a schema does not mention."""
    new_levels, intervals = dict(schema.levels), dict(schema.intervals)
    for name, declared in levels.items():
        if not any(name in said for said in (schema.levels, schema.intervals, schema.cuts)):
            kind = new_levels if cuts_of_levels(declared) is None else intervals
            kind[name] = declared
    return replace(schema, levels=new_levels, intervals=intervals)


def with_kinds(schema: Schema, variables: Iterable[Variable]) -> Schema:
    """Declare the types of columns that a schema does not mention, as those of variables are.

    Examples
    --------
    >>> with_kinds(Schema(), [Variable("age", None), Variable("sex", ("f", "m"))]).kinds
    {'age': 'numeric', 'sex': 'nominal'}
    """
    said = {*schema.levels, *schema.intervals, *schema.cuts, *schema.kinds}
    kinds = {v.name: NUMERIC if v.is_continuous else NOMINAL for v in variables}
    new = {name: kind for name, kind in kinds.items() if name not in said}
    return replace(schema, kinds={**schema.kinds, **new})


def with_categorical(schema: Schema, names: Iterable[str]) -> Schema:
    """Take columns for categorical whatever their values are, unless the schema says otherwise."""
    return replace(schema, categorical=schema.categorical | frozenset(names))


def declared_by(levels: Mapping[str, Sequence[str]]) -> Schema:
    """Return the schema that declares the levels of columns, and nothing else.

    Examples
    --------
    >>> declared_by({"size": ["small", "large"]}).levels
    {'size': ('small', 'large')}
    """
    where = parameter("levels")
    declared = {
        name: _levels(
            list(found) if isinstance(found, Sequence) and not isinstance(found, str) else found,
            f"{where}: column {quote(name)}",
        )
        for name, found in levels.items()
    }
    return with_levels(Schema(), declared)


def read_schema(path: str | os.PathLike[str]) -> Schema:
    """Read a schema file."""
    where, text = place(path), read_text(path, hashed=True)
    if _PRINTED.match(text):
        raise DataError(
            f"{where}: this is the table that gml profile prints, not a schema; "
            "gml profile DATA -o schema.json writes the schema"
        )
    return parse_schema(parse_json(text, where), where)


def parse_schema(content: Any, where: str) -> Schema:
    """Check the content of a schema file."""
    if not isinstance(content, dict) or content.get("schema") != "gml/1":
        raise DataError(f'{where}: not a schema file: "schema": "gml/1" is missing')
    for key in content:
        if key not in _KEYS:
            raise DataError(f"{where}: not a schema file: {unknown_name('key', key, _KEYS)}")
    columns = content.get("columns", {})
    if not isinstance(columns, dict):
        raise DataError(f'{where}: "columns" is not an object')
    levels: dict[str, tuple[str, ...]] = {}
    cuts: dict[str, tuple[float, ...]] = {}
    missing: dict[str, int | float] = {}
    kinds: dict[str, str] = {}
    numbers: dict[str, NumberSummary] = {}
    rows = None if "rows" not in content else _count(content["rows"], f'{where}: "rows"')
    for name, declared in columns.items():
        if not isinstance(declared, dict):
            raise DataError(f"{where}: column {quote(name)} is not an object")
        # A column of which no value was seen has an empty list, one that can have no levels null.
        if declared.get("levels") not in (None, []):
            levels[name] = _levels(declared["levels"], f"{where}: column {quote(name)}")
        if "cuts" in declared:
            cuts[name] = _cuts(declared["cuts"], f"{where}: column {quote(name)}")
        if name in levels and name in cuts:
            raise DataError(f"{where}: column {quote(name)} has both levels and cuts")
        if "type" in declared:
            kinds[name] = _kind(declared, f"{where}: column {quote(name)}")
        if declared.get("numbers") is not None:
            numbers[name] = parse_summary(declared["numbers"], f"{where}: column {quote(name)}")
        if "missing" in declared:
            what = f'{where}: column {quote(name)}: "missing"'
            missing[name] = _count(declared["missing"], what)
            if rows is not None and missing[name] > rows:
                raise DataError(f"{what} is more than the number of rows")
    intervals = {name: found for name, found in levels.items() if cuts_of_levels(found) is not None}
    labels = {name: found for name, found in levels.items() if name not in intervals}
    dialect = parse_dialect(content, where)
    return Schema(
        labels,
        intervals,
        cuts=cuts,
        na=dialect["na"].value if "na" in dialect else None,
        rows=rows,
        missing=missing,
        kinds=kinds,
        numbers=numbers,
        dialect=dialect,
    )


def _count(value: Any, what: str) -> int | float:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0 <= value < math.inf:
        raise DataError(f"{what} is not a count")
    found: int | float = value
    return found


def _kind(declared: Mapping[str, Any], where: str) -> str:
    kind = declared["type"]
    if kind not in KINDS:
        raise DataError(f'{where}: "type" must be one of {", ".join(KINDS)}, not {kind!r}')
    made = [key for key in ("levels", "cuts") if declared.get(key) is not None]
    if kind == NUMERIC and made:
        raise DataError(
            f"{where}: has {made[0]}, which make labels, but its type is numeric; leave out one of "
            "them"
        )
    found: str = kind
    return found


def _levels(value: Any, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(level, str) for level in value):
        raise DataError(f"{where}: levels are not a list of strings")
    if len(set(value)) != len(value):
        raise DataError(f"{where}: a level is declared twice")
    if not all(map(is_text, value)):
        raise DataError(f"{where}: a level is not valid text")
    if not 1 <= len(value) <= MAX_LEVELS:
        raise DataError(f"{where}: {len(value)} levels; there can be 1 to {MAX_LEVELS}")
    return tuple(value)


def _cuts(value: Any, where: str) -> tuple[float, ...]:
    numbers = isinstance(value, list) and all(
        isinstance(cut, int | float) and not isinstance(cut, bool) for cut in value
    )
    if not numbers:
        raise DataError(f"{where}: cuts are not a list of numbers")
    try:
        cuts = tuple(float(cut) for cut in value)
    except OverflowError:
        cuts = (math.inf,)
    rising = all(low < high for low, high in itertools.pairwise(cuts))
    if not cuts or not rising or not all(map(math.isfinite, cuts)):
        raise DataError(f"{where}: cuts are not finite and strictly increasing")
    return cuts


def is_text(value: str) -> bool:
    """Whether a string can be written as UTF-8 (half a surrogate pair cannot)."""
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True

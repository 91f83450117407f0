"""Constraint files of maximum entropy and raking: JSON, and CSV (see `constraints_csv`).

JSON has a list of "constraints", each with an optional "name" that messages use:

    {"variables": {"A": ["n", "y"], "die": ["1", "2", "3", "4", "5", "6"]},
     "constraints": [
       {"margin": ["A", "B"], "probabilities": {"n": {"x": 0.1, "z": 0.2}, "y": {"x": 0.7}}},
       {"margin": ["A"], "counts": [30, 70]},
       {"margin": ["B"], "percent": {"x": 80, "z": 20}},
       {"expectation": {"die": {"1": 1, "2": 2, "3": 3, "4": 4, "5": 5, "6": 6}}, "equals": 4.5},
       {"expectation": {"A": {"y": 1}, "B": {"z": 2}}, "at_most": 1.2, "name": "cost"},
       {"probability": {"A": "y"}, "given": {"B": "z"}, "at_least": 0.3}]}

Values of a margin, and numbers of an expectation, are objects by label (a label that is missing has
0), or one flat list in the order of the declared levels, the last variable fastest. "variables" is
for those lists, for levels that no constraint names and for variables that none has; where it has a
variable, other labels of it are refused. One numeric variable takes the place of all that:

    {"numeric": {"name": "wait", "support": [0, null], "mean": 2.0, "variance": 1.5}}

"support" has the ends, null where there is none, "moments" further E xᵏ by k: {"3": 10.5}.

Margins of single variables, in counts or anything else that has the same total, may be short:

    {"sex": {"m": 490, "f": 510}, "age": {"young": 300, "old": 700}}
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from gml.data.json_text import parse_json
from gml.data.text_file import read_text
from gml.errors import DataError, double_quoted, listing, nearest_name, place, quote, unknown_name
from gml.formats.constraint_keys import require_keys
from gml.formats.constraints_csv import PERCENTAGES, constraints_of_csv
from gml.formats.constraints_numeric import moments_of
from gml.kernel.layout import MOST_AXES
from gml.model.entropy.constraints import (
    AT_LEAST,
    AT_MOST,
    EQUALS,
    Cell,
    Conditional,
    Constraint,
    Constraints,
    Expectation,
    Margin,
    NumericMoments,
    common_total,
    margin_of_values,
)
from gml.model.entropy.finite_numbers import require_number

Levels = Mapping[str, Sequence[str]]

_KEYS = ("variables", "constraints", "numeric")
_RELATION_KEYS = {"equals": EQUALS, "at_most": AT_MOST, "at_least": AT_LEAST}
_KINDS = {
    "margin": ("probabilities", "counts", "percent"),
    "expectation": tuple(_RELATION_KEYS),
    "probability": ("given", *_RELATION_KEYS),
}

_WHATS = {"percent": PERCENTAGES}


def read_constraints(
    path: str | os.PathLike[str], *, normalise: bool = False, levels: Levels | None = None
) -> Constraints | NumericMoments:
    """Read a constraint file; its content tells the format.

    Parameters
    ----------
    path
        A JSON or CSV file.
    normalise
        Scale every margin to 1, whatever its values add up to.
    levels
        All variables that there are, with their levels, where a model says so.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "known.csv")
    ...     _ = path.write_text("sex,age,count\\nm,,490\\nf,,510\\n,young,300\\n,old,700\\n")
    ...     found = read_constraints(path)
    >>> [margin.names for margin in found.margins], found.total
    ([('sex',), ('age',)], 1000.0)
    """
    where = place(path)
    text = read_text(path, hashed=True)
    start = text.lstrip()
    if not start:
        raise DataError(f"{where}: the file is empty: there are no constraints")
    if start.startswith(("{", "[")):
        content = parse_json(text, where, once=True)
        return constraints_of(content, where, normalise=normalise, levels=levels)
    found = constraints_of_csv(text, path, normalise=normalise)
    require_known(found, levels)
    return found


def read_margins(path: str | os.PathLike[str], *, normalise: bool = False) -> Constraints:
    """Read a constraint file that has margins and nothing else, as raking needs.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "known.csv")
    ...     _ = path.write_text("sex,count\\nm,49\\nf,51\\n")
    ...     read_margins(path).items[0].cells
    {('m',): 0.49, ('f',): 0.51}
    """
    return only_margins(read_constraints(path, normalise=normalise), place(path))


def only_margins(found: Constraints | NumericMoments, where: str) -> Constraints:
    """Refuse anything but margins."""
    if isinstance(found, NumericMoments):
        raise DataError(f"{where}: a numeric variable; only margins can be used here")
    for item in found.items:
        if not isinstance(item, Margin):
            raise DataError(f"{where}: {item.title}: not a margin; only margins can be used here")
    return found


def constraints_of(
    content: Any, where: str, *, normalise: bool = False, levels: Levels | None = None
) -> Constraints | NumericMoments:
    """Return the constraints in JSON that was parsed, or in the same as Python objects.

    Examples
    --------
    >>> content = {"constraints": [{"probability": {"rain": "yes"}, "equals": 0.3}]}
    >>> constraints_of(content, "here").items[0].value
    0.3
    """
    if not isinstance(content, Mapping):
        raise DataError(f'{where}: not an object with "constraints" or "numeric"')
    if _are_margins(content):
        found = _margins_by_name(content, where, normalise)
        require_known(found, levels)
        return found
    _refuse_bare_lists(content, where)
    require_keys({key: None for key in content if key != "schema"}, _KEYS, where)
    if "numeric" in content:
        if "constraints" in content or "variables" in content:
            raise DataError(
                f'{where}: "numeric" is one variable alone, without "constraints" and "variables"'
            )
        return moments_of(content["numeric"], f'{where}: "numeric"')
    declared = _declared(content.get("variables", {}), where)
    given = content.get("constraints")
    if not isinstance(given, Sequence) or isinstance(given, str) or not given:
        raise DataError(f'{where}: "constraints" must be a list of at least one constraint')
    known = {**(levels or {}), **declared}
    items: list[Constraint] = []
    totals: list[tuple[Margin, float]] = []
    try:
        for k, one in enumerate(given):
            item, total = _constraint(one, f"constraint {k + 1}", known, normalise)
            items.append(item)
            if total is not None and isinstance(item, Margin):
                totals.append((item, total))
        total = common_total(totals, normalise=normalise)
    except DataError as error:
        raise DataError(f"{where}: {error}") from None
    found = Constraints(tuple(items), declared, where, total)
    require_known(found, levels)
    return found


def _are_margins(content: Mapping[Any, Any]) -> bool:
    """Whether an object has margins by variable, and no key that may be meant for another."""
    known = (*_KEYS, "schema")
    return bool(content) and all(
        isinstance(values, Mapping) and isinstance(key, str) and nearest_name(key, known) is None
        for key, values in content.items()
    )


def _refuse_bare_lists(content: Mapping[Any, Any], where: str) -> None:
    """Refuse margins by variable in which a list does not say what its levels are."""
    known = (*_KEYS, "schema")
    for key, values in content.items():
        if not isinstance(key, str) or nearest_name(key, known) is not None:
            return
        if isinstance(values, list) and all(isinstance(v, int | float) for v in values):
            raise DataError(
                f'{where}: {quote(key)}: a list of numbers needs the levels, in "variables"; or '
                f'write {{{double_quoted(key)}: {{"level": number, ...}}}}'
            )


def _margins_by_name(content: Mapping[str, Any], where: str, normalise: bool) -> Constraints:
    """Return the margins of single variables, in counts, which have a common total."""
    try:
        found = [
            margin_of_values(
                (name,), _cells(values, (name,), quote(name), {}), "counts", normalise=normalise
            )
            for name, values in content.items()
        ]
        total = common_total(found, normalise=normalise)
    except DataError as error:
        raise DataError(f"{where}: {error}") from None
    return Constraints(tuple(margin for margin, _ in found), {}, where, total)


def require_known(found: Constraints, levels: Levels | None) -> None:
    """Refuse labels that are not declared, and variables and levels that a model does not have."""
    known: dict[str, Sequence[str]] = {**(levels or {}), **found.declared}
    for name, labels in found.declared.items():
        if levels is not None and name not in levels:
            raise DataError(f"{found.where}: {unknown_name('variable', name, levels)}")
        if levels is not None and set(labels) != set(levels[name]):
            raise DataError(
                f"{found.where}: the levels of {quote(name)} are {listing(labels)}, but "
                f"{listing(levels[name])} in the model"
            )
    for item in found.items:
        for name, label in item.labels():
            if name not in known and levels is not None:
                raise DataError(
                    f"{found.where}: {item.title}: {unknown_name('variable', name, levels)}"
                )
            if name in known and label not in known[name]:
                raise DataError(
                    f"{found.where}: {item.title}: "
                    f"{unknown_name('level', label, known[name], owner=name)}"
                )


def _declared(given: Any, where: str) -> dict[str, tuple[str, ...]]:
    if not isinstance(given, Mapping):
        raise DataError(f'{where}: "variables" must be an object of levels by name')
    found = {}
    for name, labels in given.items():
        _require_label(name, f'{where}: "variables": the name of a variable')
        if not isinstance(labels, list | tuple) or not labels:
            raise DataError(f'{where}: "variables": {quote(name)} must be a list of levels')
        for label in labels:
            _require_label(label, f'{where}: "variables": a level of {quote(name)}')
        if len(set(labels)) < len(labels):
            raise DataError(f'{where}: "variables": {quote(name)} has a level twice')
        found[name] = tuple(labels)
    return found


def _require_label(label: Any, what: str) -> None:
    if not isinstance(label, str):
        raise DataError(f"{what} must be text, not {label!r}")


def _constraint(
    given: Any, at: str, known: Levels, normalise: bool
) -> tuple[Constraint, float | None]:
    """Return a constraint, and the total of the counts of a margin."""
    if isinstance(given, Constraint):
        return given, None
    if not isinstance(given, Mapping):
        raise DataError(f"{at} is not an object")
    name = given.get("name", "")
    _require_label(name, f'{at}: the "name"')
    kinds = [kind for kind in _KINDS if kind in given]
    if len(kinds) != 1:
        found = f", not {listing(kinds)}" if kinds else ""
        raise DataError(f"{at} must have one of {listing(_KINDS)}{found}")
    kind = kinds[0]
    require_keys(given, (kind, *_KINDS[kind], "name"), at)
    called = {"name": name, "place": at}
    if kind == "margin":
        return _margin(given, at, known, called, normalise)
    relation, value = _relation(given, at)
    if kind == "expectation":
        numbers = given["expectation"]
        if not isinstance(numbers, Mapping):
            raise DataError(f'{at}: "expectation" must be an object of numbers by variable')
        by_label = {
            key: {cell[0]: number for cell, number in _cells(found, (key,), at, known).items()}
            for key, found in numbers.items()
        }
        return Expectation(by_label, relation, value, **called), None
    event, condition = (
        _assignment(given.get(key, {}), f'{at}: "{key}"') for key in ("probability", "given")
    )
    return Conditional(event, condition, relation, value, **called), None


def _margin(
    given: Mapping[str, Any], at: str, known: Levels, called: dict[str, str], normalise: bool
) -> tuple[Margin, float | None]:
    names = given["margin"]
    names = [names] if isinstance(names, str) else names
    if not isinstance(names, list | tuple) or not names:
        raise DataError(f'{at}: "margin" must be a list of variables')
    if len(names) > MOST_AXES:
        raise DataError(f'{at}: the "margin" has {len(names)} variables; the limit is {MOST_AXES}')
    for name in names:
        _require_label(name, f'{at}: a variable of the "margin"')
    twice = [name for name in names if list(names).count(name) > 1]
    if twice:
        raise DataError(f'{at}: the "margin" has {quote(twice[0])} twice')
    values = [key for key in _KINDS["margin"] if key in given]
    if len(values) != 1:
        raise DataError(f'{at}: a "margin" needs one of "probabilities", "counts" or "percent"')
    cells = _cells(given[values[0]], tuple(names), at, known)
    what = _WHATS.get(values[0], values[0])
    margin, total = margin_of_values(tuple(names), cells, what, normalise=normalise, **called)
    return margin, total if what == "counts" else None


def _cells(given: Any, names: tuple[str, ...], at: str, known: Levels) -> dict[Cell, Any]:
    """Return numbers by cell from nested objects, or from a flat list of all of them."""
    if isinstance(given, Mapping):
        found: dict[Cell, Any] = {}
        _unnest(given, names, (), found, at)
        if not found:
            raise DataError(f"{at}: no level of {listing(names)} has a number")
        return found
    if not isinstance(given, list | tuple):
        raise DataError(f"{at}: numbers of {listing(names)} must be an object by level, or a list")
    for name in names:
        if name not in known:
            raise DataError(
                f"{at}: a list of numbers needs the levels of {quote(name)} in their order; "
                'declare them in "variables"'
            )
    n_cells = math.prod(len(known[name]) for name in names)
    if len(given) != n_cells:
        raise DataError(f"{at}: {len(given)} numbers for the {n_cells} cells of {listing(names)}")
    return dict(zip(product(*(known[name] for name in names)), given, strict=True))


def _unnest(
    given: Any, names: tuple[str, ...], above: Cell, found: dict[Cell, Any], at: str
) -> None:
    if len(above) == len(names):
        if isinstance(given, Mapping):
            raise DataError(f"{at}: more levels than variables below {quote(above[-1])}")
        found[above] = given
        return
    if not isinstance(given, Mapping):
        raise DataError(
            f"{at}: below {listing(above)} there must be an object by level of "
            f"{quote(names[len(above)])}"
        )
    for label, inner in given.items():
        _require_label(label, f"{at}: a level of {quote(names[len(above)])}")
        _unnest(inner, names, (*above, label), found, at)


def _assignment(given: Any, what: str) -> dict[str, str]:
    if not isinstance(given, Mapping):
        raise DataError(f"{what} must be an object of levels by variable")
    for name, label in given.items():
        _require_label(name, f"{what}: a variable")
        _require_label(label, f"{what}: the level of {quote(name)}")
    return dict(given)


def _relation(given: Mapping[str, Any], at: str) -> tuple[str, float]:
    keys = [key for key in _RELATION_KEYS if key in given]
    if len(keys) != 1:
        raise DataError(f"{at} must have one of {listing(_RELATION_KEYS)}")
    return _RELATION_KEYS[keys[0]], require_number(given[keys[0]], f'{at}: "{keys[0]}"')

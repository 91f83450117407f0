"""Which columns hold labels and which numbers, for methods that can use only one kind."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from gml.data.dataset import Variable
from gml.errors import DataError, listing, parameter
from gml.parameters import LABELS, NUMBERS


def kind_of(variable: Variable) -> str:
    """Return the kind of a column."""
    return NUMBERS if variable.is_continuous else LABELS


def kinds_of(variables: Iterable[Variable]) -> tuple[str, ...]:
    """Return the kinds that occur among columns, labels first.

    Examples
    --------
    >>> kinds_of([Variable("age", None), Variable("sex", ("f", "m"))])
    ('labels', 'numbers')
    """
    found = {kind_of(variable) for variable in variables}
    return tuple(kind for kind in (LABELS, NUMBERS) if kind in found)


def require_kinds(who: str, usable: Collection[str], variables: Iterable[Variable]) -> None:
    """Refuse columns of a kind that cannot be used, and say what can be done.

    Examples
    --------
    >>> require_kinds("fisher-z", (NUMBERS,), [Variable("age", None), Variable("sex", ("f", "m"))])
    Traceback (most recent call last):
        ...
    gml.errors.DataError: fisher-z is for numeric columns, and column 'sex' is categorical; leave \
it out (`exclude`), or choose another method
    """
    bad = sorted(variable.name for variable in variables if kind_of(variable) not in usable)
    if not bad:
        return
    one = len(bad) == 1
    columns = f"{'column' if one else 'columns'} {listing(bad)} {'is' if one else 'are'}"
    it = "it" if one else "them"
    leave_out = f"leave {it} out ({parameter('exclude')})"
    if NUMBERS in usable:
        raise DataError(
            f"{who} is for numeric columns, and {columns} categorical; {leave_out}, or choose "
            "another method"
        )
    raise DataError(
        f"{who} is for categorical columns, and {columns} numeric; cut {it} into intervals "
        f"({parameter('bins', 4)}), treat values as categories ({parameter('kinds', 'labels')}), "
        f"or {leave_out}"
    )


def require_labels(variables: Iterable[Variable]) -> None:
    """Refuse columns of numbers where tables are to be counted.

    Examples
    --------
    >>> require_labels([Variable("A", ("x", "y"))])
    """
    require_kinds("a table", (LABELS,), variables)

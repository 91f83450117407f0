"""Which columns hold labels and which numbers, for methods that can use only one kind."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from gml.data.dataset import Variable
from gml.errors import UsageError, listing, parameter
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
    gml.errors.UsageError: fisher-z needs numbers, and column 'sex' has labels; leave it out \
(`exclude`), or choose a test or score of labels
    """
    bad = sorted(variable.name for variable in variables if kind_of(variable) not in usable)
    if not bad:
        return
    one = len(bad) == 1
    columns = f"column {listing(bad)} has" if one else f"columns {listing(bad)} have"
    it = "it" if one else "them"
    leave_out = f"leave {it} out ({parameter('exclude')})"
    if NUMBERS in usable:
        raise UsageError(
            f"{who} needs numbers, and {columns} labels; {leave_out}, or choose a test or score of "
            "labels"
        )
    raise UsageError(
        f"{who} needs labels, and {columns} numbers; take {it} out of {parameter('numeric')} (or "
        f"the schema) and cut {it} by {parameter('bins')} or {parameter('cut')}, {leave_out}, or "
        "choose a test or score of numbers"
    )


def require_labels(variables: Iterable[Variable]) -> None:
    """Refuse columns of numbers where tables are to be counted.

    Examples
    --------
    >>> require_labels([Variable("A", ("x", "y"))])
    """
    require_kinds("a table", (LABELS,), variables)

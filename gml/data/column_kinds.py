"""Which columns hold labels and which numbers, for methods that can use only one kind."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from gml.data.dataset import Variable
from gml.errors import UsageError, listing, parameter
from gml.parameters import LABELS, NUMBERS


def kind_of(variable: Variable) -> str:
    """Return the kind of a column."""
    return NUMBERS if variable.is_continuous else LABELS


def require_kinds(who: str, usable: Collection[str], variables: Sequence[Variable]) -> None:
    """Refuse columns of a kind that a test or score cannot use.

    Examples
    --------
    >>> require_kinds("g", (LABELS,), [Variable("age", None), Variable("sex", ("f", "m"))])
    Traceback (most recent call last):
        ...
    gml.errors.UsageError: g needs labels, but 'age' has numbers; cut them into intervals (`bins`), leave the column out (`exclude`), or choose a method for numbers
    """  # noqa: E501
    bad = sorted(v.name for v in variables if kind_of(v) not in usable)
    if not bad:
        return
    which = listing(bad) if len(bad) == 1 else f"each of {listing(bad)}"
    out = f"leave the column{'s' * (len(bad) > 1)} out ({parameter('exclude')})"
    if NUMBERS in usable:
        raise UsageError(
            f"{who} needs numbers, but {which} has labels; {out}, or choose a method for labels"
        )
    raise UsageError(
        f"{who} needs labels, but {which} has numbers; cut them into intervals "
        f"({parameter('bins')}), {out}, or choose a method for numbers"
    )

"""Levels that constraints name beside a margin that does not list them, and so makes impossible.

Of a margin, cells that are not listed have the probability 0. A level that only another constraint
names is therefore impossible, which is hardly ever meant: a slip of the pen, as a rule. Given such
a level, a probability says nothing, and is refused; elsewhere there is a warning. Levels that are
declared, or that a margin lists with 0, are meant.
"""

from __future__ import annotations

from collections.abc import Mapping

from gml.errors import DataError, listing, nearest_name, quote
from gml.model.entropy.constraints import AT_LEAST, Conditional, Constraint, Constraints, Margin
from gml.progress import reporter


def check_unlisted_levels(constraints: Constraints) -> None:
    """Refuse a condition on a level that a margin does not list, and warn of other such levels.

    Examples
    --------
    >>> sex = Margin(("sex",), {("m",): 0.49, ("f",): 0.51})
    >>> vote = Conditional({"vote": "yes"}, {"sex": "F"}, ">=", 0.6)
    >>> check_unlisted_levels(Constraints((sex, vote), {"vote": ("no", "yes")}))
    Traceback (most recent call last):
    gml.errors.DataError: the constraints: P(vote='yes' | sex='F'): the margin of 'sex' has no \
level 'F', so that it is impossible and nothing is said of it; did you mean 'f'? it has 'm', 'f'; \
if it is meant, list it there with 0
    """
    margins: dict[str, Margin] = {}
    listed: dict[str, dict[str, None]] = {}
    for margin in constraints.margins:
        for name, label in margin.labels():
            margins.setdefault(name, margin)
            listed.setdefault(name, {})[label] = None
    for item in constraints.items:
        if isinstance(item, Margin):
            continue
        given = item.given if isinstance(item, Conditional) else {}
        for name, label in item.labels():
            known = listed.get(name)
            if known is None or label in known or name in constraints.declared:
                continue
            near = nearest_name(label, known)
            hint = f"did you mean {quote(near)}? " if near else ""
            start = f"{constraints.where}: {item.title}: {margins[name].title} has no level "
            if name in given:
                raise DataError(
                    f"{start}{quote(label)}, so that it is impossible and nothing is said of it; "
                    f"{hint}it has {listing(known)}; if it is meant, list it there with 0"
                )
            reporter().warn(
                f"{start}{quote(label)}, so that its probability is 0; {hint}it has "
                f"{listing(known)}"
            )


def warn_of_impossible_conditions(constraints: Constraints) -> None:
    """Warn of probabilities given what another constraint alone makes impossible: they say nothing.

    Examples
    --------
    >>> import warnings
    >>> never = Conditional({"A": "y"}, {}, "=", 0.0)
    >>> empty = Conditional({"B": "y"}, {"A": "y"}, "=", 0.3)
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_of_impossible_conditions(Constraints((never, empty)))
    >>> print(caught[0].message)
    the constraints: P(B='y' | A='y'): P(A='y') makes what is given impossible, so that this \
constraint says nothing
    """
    excluding = [item for item in constraints.items if _may_exclude(item)]
    for item in constraints.items:
        if not isinstance(item, Conditional) or not item.given:
            continue
        other = next((other for other in excluding if _excludes(other, item.given)), None)
        if other is not None:
            reporter().warn(
                f"{constraints.where}: {item.title}: {other.title} makes what is given impossible, "
                "so that this constraint says nothing"
            )


def _may_exclude(item: Constraint) -> bool:
    if isinstance(item, Conditional):
        return not item.given and item.value == 0 and item.relation != AT_LEAST
    return isinstance(item, Margin)


def _excludes(item: Constraint, cell: Mapping[str, str]) -> bool:
    """Whether a constraint alone gives a cell the probability 0."""
    if isinstance(item, Conditional):
        return item.event.items() <= cell.items()
    names = [name for name in item.names if name in cell]
    if not names or not isinstance(item, Margin):
        return False
    return not item.collapsed(names).get(tuple(cell[name] for name in names), 0.0)

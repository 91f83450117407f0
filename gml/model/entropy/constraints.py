"""What is known about a distribution: margins, expectations and conditional probabilities.

All are linear in the cells p of the joint. A margin says Σ p = a for each of its cells, an
expectation E f = a, E f ≤ a or E f ≥ a for a sum f of numbers attached to levels, and a conditional
probability P(A|B) = c is P(A, B) − c P(B) = 0, so that it holds where P(B) is 0 too.

Sums that should agree (a margin with 1, the counts of two margins, two margins where they overlap)
may differ by `AGREEMENT`, relative to the total, and no more: what is off by a rounded digit is
refused unless margins are to be normalised, since nobody can tell which of the numbers is meant.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from gml.data.levels import order_levels
from gml.errors import DataError, listing, parameter, quote
from gml.model.entropy.finite_numbers import require_number

AGREEMENT = 1e-9
"""How far sums may differ that should agree, as a share of the total."""

_LARGEST = 1e100
_WHOLES = {"probabilities": 1.0, "percentages": 100.0}

EQUALS, AT_MOST, AT_LEAST = RELATIONS = ("=", "<=", ">=")
"""How the two sides of a constraint compare."""

Cell = tuple[str, ...]


def _title(of: Margin | Expectation | Conditional) -> str:
    if of.name:
        return quote(of.name)
    return f"{of.place} ({of.description})" if of.place else of.description


@dataclass(frozen=True)
class Margin:
    """The probabilities of all cells of some variables; a cell that is not listed has none.

    Examples
    --------
    >>> Margin(("sex",), {("m",): 0.49, ("f",): 0.51}).title
    "the margin of 'sex'"
    >>> Margin(("sex",), {("m",): 0.49, ("f",): 0.52})
    Traceback (most recent call last):
    gml.errors.DataError: the margin of 'sex': the probabilities add up to 1.01, which is 0.01 \
more than 1; `normalise` scales every margin to 1
    """

    names: tuple[str, ...]
    cells: Mapping[Cell, float]
    name: str = ""
    place: str = ""
    """Where it stands in its file, for messages."""
    relation: ClassVar[str] = EQUALS

    def __post_init__(self) -> None:
        _require_distinct(self.names, self.title)
        for cell, value in self.cells.items():
            if len(cell) != len(self.names):
                raise DataError(f"{self.title}: a cell has {len(cell)} levels: {listing(cell)}")
            _require_mass(value, f"{self.title}: {_shown(self.names, cell)}")
        total = math.fsum(self.cells.values())
        if not abs(total - 1) <= AGREEMENT:
            raise DataError(f"{self.title}: {sum_is_off('probabilities', total, 1)}")

    @property
    def description(self) -> str:
        """What it constrains, in words."""
        return f"the margin of {listing(self.names)}"

    @property
    def title(self) -> str:
        """What messages call it: its name, or where it stands and what it constrains."""
        return _title(self)

    def labels(self) -> Iterable[tuple[str, str]]:
        """The variables and levels that it names."""
        for cell in self.cells:
            yield from zip(self.names, cell, strict=True)

    def collapsed(self, names: Sequence[str]) -> dict[Cell, float]:
        """Return the margin of some of its variables, in the order of these names.

        Examples
        --------
        >>> Margin(("A", "B"), {("n", "x"): 0.25, ("y", "x"): 0.75}).collapsed(["B"])
        {('x',): 1.0}
        """
        axes = [self.names.index(name) for name in names]
        parts: dict[Cell, list[float]] = {}
        for cell, value in self.cells.items():
            parts.setdefault(tuple(cell[axis] for axis in axes), []).append(value)
        return {cell: math.fsum(values) for cell, values in parts.items()}


@dataclass(frozen=True)
class Expectation:
    """The expectation of a sum of numbers attached to levels: 0 for levels that are not named.

    Examples
    --------
    >>> faces = {str(face): face for face in range(1, 7)}
    >>> Expectation({"die": faces}, "=", 4.5, name="Jaynes").title
    "'Jaynes'"
    """

    numbers: Mapping[str, Mapping[str, float]]
    relation: str
    value: float
    name: str = ""
    place: str = ""

    def __post_init__(self) -> None:
        if not self.numbers:
            raise DataError(f"{self.title}: it names no variable")
        for name, numbers in self.numbers.items():
            if not numbers:
                raise DataError(f"{self.title}: {quote(name)} has no numbers")
            for label, number in numbers.items():
                _require_modest(number, f"{self.title}: {_shown([name], [label])}")
        _require_modest(self.value, f"{self.title}: the value")
        _require_relation(self.relation, self.title)

    @property
    def names(self) -> tuple[str, ...]:
        """The variables that have numbers."""
        return tuple(self.numbers)

    @property
    def description(self) -> str:
        """What it constrains, in words."""
        return f"the expectation over {listing(self.numbers)}"

    @property
    def title(self) -> str:
        """What messages call it: its name, or where it stands and what it constrains."""
        return _title(self)

    def labels(self) -> Iterable[tuple[str, str]]:
        """The variables and levels that it names."""
        return ((name, label) for name, numbers in self.numbers.items() for label in numbers)


@dataclass(frozen=True)
class Conditional:
    """The probability of levels given others, or of a cell where nothing is given.

    Examples
    --------
    >>> Conditional({"rain": "yes"}, {"clouds": "no"}, "<=", 0.1).title
    "P(rain='yes' | clouds='no')"
    """

    event: Mapping[str, str]
    given: Mapping[str, str]
    relation: str
    value: float
    name: str = ""
    place: str = ""

    def __post_init__(self) -> None:
        if not self.event:
            raise DataError(f"{self.title}: it names no level")
        both = [name for name in self.event if name in self.given]
        if both:
            raise DataError(f"{self.title}: {listing(both)} is in the event and in what is given")
        require_number(self.value, f"{self.title}: the probability")
        if not 0 <= self.value <= 1:
            raise DataError(
                f"{self.title}: the probability must be between 0 and 1, not {self.value:g}"
            )
        _require_relation(self.relation, self.title)

    @property
    def names(self) -> tuple[str, ...]:
        """The variables of the event, then those of what is given."""
        return (*self.event, *self.given)

    @property
    def description(self) -> str:
        """What it constrains, in symbols."""
        event = _shown(list(self.event), list(self.event.values()))
        given = _shown(list(self.given), list(self.given.values()))
        return f"P({event} | {given})" if given else f"P({event})"

    @property
    def title(self) -> str:
        """What messages call it: its name, or where it stands and what it constrains."""
        return _title(self)

    def labels(self) -> Iterable[tuple[str, str]]:
        """The variables and levels that it names."""
        yield from self.event.items()
        yield from self.given.items()


Constraint = Margin | Expectation | Conditional


@dataclass(frozen=True)
class NumericMoments:
    """Raw moments E xᵏ of one numeric variable, and the interval in which it lies."""

    name: str
    support: tuple[float, float]
    """The ends, infinite where there is none."""
    moments: Mapping[int, float]
    """E xᵏ by k, without k = 0."""
    variance: float | None = None
    """If it was given: beside a large mean, the second moment has lost its digits."""


@dataclass(frozen=True)
class Constraints:
    """Constraints that should hold together, and the levels of the variables that they name."""

    items: tuple[Constraint, ...]
    declared: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Levels that were declared, in their order, of variables that need not be constrained."""
    where: str = "the constraints"
    """What messages call them: the file."""
    total: float | None = None
    """What counts add up to, if there are counts and all margins agree about it."""

    @property
    def levels(self) -> dict[str, tuple[str, ...]]:
        """The levels of all variables, by name: those declared, or else all that are named.

        Examples
        --------
        >>> die = Expectation({"die": {"10": 1, "9": 2}}, "=", 1.5)
        >>> Constraints((die,), {"coin": ("heads", "tails")}).levels
        {'coin': ('heads', 'tails'), 'die': ('9', '10')}
        """
        named: dict[str, dict[str, None]] = {}
        for item in self.items:
            for name, label in item.labels():
                if name not in self.declared:
                    named.setdefault(name, {})[label] = None
        found = {name: order_levels(list(labels)) for name, labels in named.items()}
        return {**self.declared, **found}

    @property
    def margins(self) -> tuple[Margin, ...]:
        """Those that are margins."""
        return tuple(item for item in self.items if isinstance(item, Margin))


def margin_of_values(
    names: tuple[str, ...],
    values: Mapping[Cell, float],
    what: str,
    *,
    name: str = "",
    place: str = "",
    normalise: bool = False,
) -> tuple[Margin, float]:
    """Return a margin from "probabilities", "percentages" or "counts", and their sum.

    Examples
    --------
    >>> margin_of_values(("sex",), {("m",): 1, ("f",): 3}, "counts")
    (Margin(names=('sex',), cells={('m',): 0.25, ('f',): 0.75}, name='', place=''), 4.0)
    """
    title = _title(Margin(names, {("",) * len(names): 1.0}, name, place))
    for cell, value in values.items():
        _require_mass(value, f"{title}: {_shown(names, cell)}")
    try:
        total = math.fsum(values.values())
    except OverflowError:
        raise DataError(f"{title}: the {what} add up to more than 1.8e308") from None
    if total == 0:
        raise DataError(f"{title}: the {what} are all 0")
    wanted = _WHOLES.get(what, total)
    if not normalise and not abs(total - wanted) <= AGREEMENT * wanted:
        raise DataError(f"{title}: {sum_is_off(what, total, wanted)}")
    cells = {cell: float(value) / total for cell, value in values.items()}
    return Margin(names, cells, name, place), total


def common_total(totals: Sequence[tuple[Margin, float]], *, normalise: bool) -> float | None:
    """Return what the counts of margins add up to; refuse two that disagree.

    With `normalise` they may, and then there is no common total.
    """
    if not totals:
        return None
    first, total = totals[0]
    for margin, other in totals[1:]:
        if abs(other - total) <= AGREEMENT * total:
            continue
        if normalise:
            return None
        raise DataError(
            f"{margin.title}: the counts add up to {other:.12g}, which is "
            f"{_difference(other, total)} than {total:.12g}, those of {first.title}; "
            f"{parameter('normalise')} scales every margin to 1"
        )
    return total


def sum_is_off(what: str, total: float, wanted: float) -> str:
    """Say that values do not add up to what they should, and by how much."""
    return (
        f"the {what} add up to {total:.12g}, which is {_difference(total, wanted)} than "
        f"{wanted:.12g}; {parameter('normalise')} scales every margin to 1"
    )


def _difference(found: float, wanted: float) -> str:
    return f"{abs(found - wanted):.6g} {'more' if found > wanted else 'less'}"


def require_agreement(margins: Sequence[Margin], where: str) -> None:
    """Refuse two margins that give different probabilities where they overlap.

    Margins are compared in their order, each with the first that has the same variables in common,
    and the largest difference is named.

    Examples
    --------
    >>> one = Margin(("A", "B"), {("n", "x"): 0.25, ("y", "x"): 0.75})
    >>> require_agreement([one, Margin(("A",), {("n",): 0.3, ("y",): 0.7})], "m.csv")
    Traceback (most recent call last):
    gml.errors.DataError: m.csv: the margin of 'A': P(A='n') = 0.3, which is 0.05 more than the \
0.25 of the margin of 'A', 'B'
    """
    by_variable: dict[str, list[int]] = {}
    for k, margin in enumerate(margins):
        for name in margin.names:
            by_variable.setdefault(name, []).append(k)
    shared: dict[frozenset[str], None] = {}
    for k, margin in enumerate(margins):
        others = sorted({j for name in margin.names for j in by_variable[name] if j < k})
        own = set(margin.names)
        shared.update((frozenset(own.intersection(margins[j].names)), None) for j in others)
    for names in shared:
        _require_same([m for m in margins if names.issubset(m.names)], sorted(names), where)


def _require_same(margins: Sequence[Margin], names: list[str], where: str) -> None:
    first = margins[0].collapsed(names)
    for margin in margins[1:]:
        own = margin.collapsed(names)
        # Two differences that only rounding tells apart are a tie, and the first cell is named.
        worst = max(
            sorted({*first, *own}),
            key=lambda cell: round(abs(own.get(cell, 0.0) - first.get(cell, 0.0)), 12),
        )
        found, wanted = own.get(worst, 0.0), first.get(worst, 0.0)
        if abs(found - wanted) > AGREEMENT:
            raise DataError(
                f"{where}: {margin.title}: P({_shown(names, worst)}) = {found:.12g}, which is "
                f"{_difference(found, wanted)} than the {wanted:.12g} of {margins[0].title}"
            )


def _shown(names: Sequence[str], labels: Sequence[str]) -> str:
    return ", ".join(f"{name}={quote(label)}" for name, label in zip(names, labels, strict=True))


def _require_distinct(names: Sequence[str], title: str) -> None:
    if not names:
        raise DataError(f"{title}: a margin of no variables")
    twice = [name for name in names if list(names).count(name) > 1]
    if twice:
        raise DataError(f"{title}: {quote(twice[0])} appears twice")


def _require_mass(value: object, what: str) -> None:
    require_number(value, what)
    if value < 0:  # type: ignore[operator]
        raise DataError(f"{what} is {value:g}; it must not be negative")


def _require_modest(value: object, what: str) -> None:
    """Refuse a number whose products with others are no doubles."""
    require_number(value, what)
    if abs(value) > _LARGEST:  # type: ignore[arg-type]
        raise DataError(f"{what} must be between -{_LARGEST:g} and {_LARGEST:g}, not {value:g}")


def _require_relation(relation: str, title: str) -> None:
    if relation not in RELATIONS:
        raise DataError(
            f"{title}: the relation must be one of {', '.join(RELATIONS)}, not {relation!r}"
        )

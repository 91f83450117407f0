"""How a check is to decide, and what is known besides the rows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import NamedTuple

from gml.data.lazily import Lazily
from gml.data.number_summary import Numbers, NumberSummary
from gml.errors import UsageError, parameter
from gml.gate.check import FAMILIES

_UNLIKELY_ROWS = 5


@dataclass(frozen=True)
class CheckSettings:
    """How to decide: the level of the whole run, effects that matter, and what a failure means."""

    alpha: float = 0.01
    min_effect: Mapping[str, float] = field(default_factory=dict)
    """By family; 0 if not given."""
    families: Collection[str] = FAMILIES
    warn: Collection[str] = ()
    """Families whose failures only warn."""
    seed: int = 0
    threads: int | None = None
    unlikely_rows: int = _UNLIKELY_ROWS

    def __post_init__(self) -> None:
        for name in (*self.families, *self.warn, *self.min_effect):
            if name not in FAMILIES:
                raise UsageError(f"{name!r} is not one of {', '.join(FAMILIES)}")
        alpha: object = self.alpha
        if not (isinstance(alpha, Real) and 0 < float(alpha) < 1):
            raise UsageError(f"{parameter('alpha')} must be between 0 and 1, not {self.alpha!r}")


class MissingCells(NamedTuple):
    """How many rows lack a value in a column."""

    missing: int
    rows: int


@dataclass(frozen=True)
class Context:
    """What is known about the data besides their rows, and about the past."""

    data: str = "data"
    model: str = "model"
    declared: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Levels that were declared by hand: a value beyond them fails, however rare."""
    other_columns: Collection[str] = ()
    """Columns of the data that the model does not have."""
    left_out: Collection[str] = ()
    """Columns of the model that are not to be checked."""
    missing_before: Mapping[str, MissingCells] = field(default_factory=dict)
    missing_now: Mapping[str, MissingCells] = field(default_factory=dict)
    """Missing cells by column, where they are known."""
    numbers_before: Mapping[str, NumberSummary] = field(default_factory=dict)
    numbers_now: Mapping[str, Numbers] = field(default_factory=dict)
    """The numbers of columns that were cut, where they are known."""
    uncut_repeats: Mapping[int, int] | None = None
    """How many different rows occur how often, numbers as they are, where that is known."""
    notes: tuple[str, ...] = ()
    as_read: Callable[[int], int] = lambda row: row
    """Where a row stood among those that were read, if some were left out since; from 0."""

    def numbers(self, names: Iterable[str]) -> Mapping[str, tuple[NumberSummary, Numbers]]:
        """The numbers of these columns before and now, where both are known."""

        def both(name: str) -> tuple[NumberSummary, Numbers] | None:
            now = self.numbers_now.get(name)
            return None if now is None else (self.numbers_before[name], now)

        return Lazily([name for name in names if name in self.numbers_before], both)

    def missing(self, name: str) -> tuple[MissingCells, MissingCells] | None:
        """The missing cells of a column before and now; None if either is not known."""
        before, now = self.missing_before.get(name), self.missing_now.get(name)
        return None if before is None or now is None else (before, now)

"""Mappings whose values are worked out when somebody asks for them, and need not be kept."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import TypeVar

Value = TypeVar("Value")


class Lazily(Mapping[str, Value]):
    """What a function makes of each of some names; names for which it has nothing are left out.

    Only the last value that was asked for is kept.

    Examples
    --------
    >>> squares = Lazily(["2", "x", "3"], lambda name: int(name) ** 2 if name.isdigit() else None)
    >>> squares["3"], "x" in squares, list(squares)
    (9, False, ['2', '3'])
    """

    def __init__(self, names: Collection[str], of: Callable[[str], Value | None]) -> None:
        self._names = names
        self._of = of
        self._last: tuple[str, Value | None] | None = None

    def __getitem__(self, name: str) -> Value:
        if name not in self._names:
            raise KeyError(name)
        if self._last is None or self._last[0] != name:
            self._last = None
            self._last = name, self._of(name)
        found = self._last[1]
        if found is None:
            raise KeyError(name)
        return found

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._names if name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)

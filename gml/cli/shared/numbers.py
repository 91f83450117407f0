"""Types of options that are numbers: every such option has one of these four."""

from __future__ import annotations

from typing import Any

import click

_LARGEST = 1e300
_LARGEST_INTEGER = (1 << 63) - 1


class _Finite:
    """Refuses what no computation can use: NaN, infinity, and numbers next to it."""

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        number: float = super().convert(value, param, ctx)  # type: ignore[misc]
        if not -_LARGEST <= number <= _LARGEST:
            raise click.BadParameter(f"{number} is not a finite number", ctx, param)
        # A zero that is written -0.0 is the same zero.
        return number + 0.0


class Real(_Finite, click.types.FloatParamType):
    """A finite number."""


class RealRange(_Finite, click.FloatRange):
    """A finite number within bounds."""


class _Countable:
    """Refuses integers that 64 bits cannot hold."""

    def convert(self, value: Any, param: Any, ctx: Any) -> int:
        try:
            number: int = super().convert(value, param, ctx)  # type: ignore[misc]
        except click.BadParameter:
            if (whole := _whole_number(value)) is None:
                raise
            raise click.BadParameter(f"write {value} as {whole}", ctx, param) from None
        if not -_LARGEST_INTEGER <= number <= _LARGEST_INTEGER:
            raise click.BadParameter("is too large: at most 2^63 - 1", ctx, param)
        return number


def _whole_number(value: Any) -> int | None:
    """Return the whole number that a text such as 1e6 means, if it means one.

    Examples
    --------
    >>> _whole_number("1e6"), _whole_number("2.50e1"), _whole_number("0.5"), _whole_number("many")
    (1000000, 25, None, None)
    """
    try:
        number = float(str(value))
    except ValueError:
        return None
    # A number that click itself can read is refused for another reason.
    if not number.is_integer() or abs(number) >= 2**53 or str(value).lstrip("+-").isdigit():
        return None
    return int(number)


class Whole(_Countable, click.types.IntParamType):
    """An integer."""


class WholeRange(_Countable, click.IntRange):
    """An integer within bounds."""

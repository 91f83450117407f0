"""A call of a verb by a command line that wants to know what it would cost, and not to make it.

The command line parses its words as ever and calls the verb; where its run is only planned, the
call goes no further than the front door, so that no other place knows what options there are.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from gml.ledger import is_only_planned

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")


class PlannedCall(Exception):
    """The call that would have been made: of which command, on which data, with what besides."""

    def __init__(self, command: str, data: Any, given: tuple[Any, ...], keywords: Any) -> None:
        super().__init__(command)
        self.command = command
        self.data = data
        self.given = given
        self.keywords: dict[str, Any] = keywords


def plannable(
    command: str,
) -> Callable[[Callable[_Parameters, _Result]], Callable[_Parameters, _Result]]:
    """Let a verb raise `PlannedCall` if the run of its data, which come first, is only planned."""

    def decorate(verb: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
        @functools.wraps(verb)
        def wrapper(*args: _Parameters.args, **keywords: _Parameters.kwargs) -> _Result:
            if args and is_only_planned(args[0]):
                raise PlannedCall(command, args[0], args[1:], keywords)
            return verb(*args, **keywords)

        return wrapper

    return decorate

"""Under which heading the help of a command lists an option.

Decorators that several commands share say it once, where they declare their options; what a command
declares itself comes first, without one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

DATA = "Data"
TEST = "Test"
SCORE = "Score"
STRUCTURE = "Structure"
CHAINS = "Contrastive divergence"
EM = "EM"
KNOWLEDGE = "Knowledge"
OUTPUT = "Output"
RUN = "Run"

HEADINGS = (STRUCTURE, CHAINS, EM, DATA, TEST, SCORE, KNOWLEDGE, OUTPUT, RUN)
"""In this order, after the options of the command itself."""

_HEADING = "gml_heading"

Declared = Callable[[Any], Any]
Declare = TypeVar("Declare", bound=Declared)


def under(heading: str | None) -> Callable[[Declare], Declare]:
    """Let the options that a decorator declares stand under a heading, but for those that have one.

    It is for decorators of commands, such as click.option returns.
    """

    def headed(declare: Declare) -> Declare:
        def decorate(function: Any) -> Any:
            before = len(getattr(function, "__click_params__", ()))
            declared = declare(function)
            with_heading(heading, *declared.__click_params__[before:])
            return declared

        return decorate  # type: ignore[return-value]

    return headed


def with_heading(heading: str | None, *parameters: click.Parameter) -> list[click.Parameter]:
    """Put parameters under a heading, unless they have one, and return them."""
    for parameter in parameters:
        if heading_of(parameter) is None:
            setattr(parameter, _HEADING, heading)
    return list(parameters)


def heading_of(parameter: click.Parameter) -> str | None:
    """Return the heading of an option; None for those of the command itself."""
    found: str | None = getattr(parameter, _HEADING, None)
    return found

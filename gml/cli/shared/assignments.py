"""Values of nodes in options: `--do A=x,"B, b"=y`.

A list of assignments is one CSV record, except that double quotes may also stand around the name or
the value alone, and that an interval [a,b) needs none. A number stands for the interval that it
lies in. A name or a level may hold an equals sign: of all ways to cut an assignment in two, the one
counts whose halves are a node and a level of it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gml.data.discretize import Intervals, cuts_of_levels
from gml.errors import UsageError, quote, unknown_name

if TYPE_CHECKING:
    from gml.data.dataset import Variable

Function = TypeVar("Function", bound=Callable[..., Any])

_INTERVAL = re.compile(r"\[[^\s,\[\]()]+,[^\s,\[\]()]+\)(?=,|$)")


def assignments_option(*flags: str, help_: str) -> Callable[[Function], Function]:
    """An option that takes assignments; given again, it adds to them."""

    def joined(ctx: click.Context, param: click.Parameter, value: Any) -> tuple[str, ...]:
        return tuple(item for text in value for item in split_assignments(text))

    return click.option(*flags, multiple=True, metavar="A=x,B=y", callback=joined, help=help_)


def split_assignments(text: str) -> list[str]:
    """Cut a list at its commas and remove the quotes.

    Examples
    --------
    >>> split_assignments('A=x,"B, b"=y,C="1,""5",D=6"')
    ['A=x', 'B, b=y', 'C=1,"5', 'D=6"']
    >>> split_assignments("Age=[18,65),Sex=f")
    ['Age=[18,65)', 'Sex=f']
    """
    items = [""]
    at = 0
    opens = True
    while at < len(text):
        character = text[at]
        interval = _INTERVAL.match(text, at) if opens else None
        if interval is not None:
            items[-1] += interval[0]
            at = interval.end()
            opens = False
            continue
        if character == '"' and opens:
            quoted, at = _quoted(text, at + 1)
            items[-1] += quoted
            opens = False
            continue
        if character == ",":
            items.append("")
        else:
            items[-1] += character
        opens = character in ",="
        at += 1
    return items


def _quoted(text: str, at: int) -> tuple[str, int]:
    """What stands between quotes, doubled ones for one, and the place behind."""
    found = ""
    while True:
        end = text.find('"', at)
        if end < 0:
            raise UsageError(f"{text!r}: a double quote is not closed")
        found += text[at:end]
        if text[end + 1 : end + 2] != '"':
            return found, end + 1
        found += '"'
        at = end + 2


def resolve_assignments(
    items: Sequence[str], variables: Sequence[Variable], option: str
) -> dict[str, str | float]:
    """Return the level, or the number, that each assignment gives to a node."""
    known = {variable.name: variable for variable in variables}
    values: dict[str, str | float] = {}
    for item in items:
        name, value = _resolve(item, known, option)
        if name in values:
            raise UsageError(f"{option} names {quote(name)} twice")
        values[name] = value
    return values


def _resolve(item: str, known: dict[str, Variable], option: str) -> tuple[str, str | float]:
    cuts = [k for k, character in enumerate(item) if character == "="]
    if not cuts:
        raise UsageError(f"{option} {quote(item)}: write NODE=VALUE")
    named = [(item[:k], item[k + 1 :]) for k in cuts if item[:k] in known]
    if not named:
        raise UsageError(f"{option}: {unknown_name('node', item[: cuts[0]], known)}")
    found = [(name, value) for name, value in named if _fits(value, known[name])]
    if len(found) > 1:
        ways = " or ".join(f"{quote(name)} = {quote(value)}" for name, value in found)
        raise UsageError(f"{option} {quote(item)} could mean {ways}")
    if found:
        name, text = found[0]
        return name, _value(text, known[name])
    name, text = named[0]
    levels = known[name].levels
    if levels is None:
        raise UsageError(f"{option}: node {quote(name)} has numbers, and {quote(text)} is none")
    raise UsageError(f"{option}: {unknown_name(f'level of {quote(name)}', text, levels)}")


def _value(text: str, variable: Variable) -> str | float:
    """The number, or the level, which a number may stand for that lies in it."""
    if variable.levels is None:
        return float(text)
    if text not in variable.levels and cuts_of_levels(variable.levels) is not None:
        place = Intervals(variable.levels).code_of(text)
        return text if place is None else variable.levels[place]
    return text


def _fits(value: str, variable: Variable) -> bool:
    if variable.levels is not None:
        if value in variable.levels or cuts_of_levels(variable.levels) is None:
            return value in variable.levels
        return Intervals(variable.levels).code_of(value) is not None
    try:
        return math.isfinite(float(value))
    except ValueError:
        return False

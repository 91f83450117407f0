"""Values of nodes in options: `--do A=x,"B, b"=y`.

A list of assignments is one CSV record, except that double quotes may also enclose the name or the
value alone, and that an interval [a,b) needs none. A number stands for the interval that it lies
in. A name or a level may contain an equals sign: of all ways to cut an assignment in two, the one
counts whose halves are a node and one of its levels.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

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
    """The text between quotes, doubled ones meaning one, and the position after it."""
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
            raise UsageError(f"{option} lists {quote(name)} twice")
        values[name] = value
    return values


def _resolve(item: str, known: dict[str, Variable], option: str) -> tuple[str, str | float]:
    from gml.verbs.shared.model_input import unknown_value, value_of

    cuts = [k for k, character in enumerate(item) if character == "="]
    if not cuts:
        raise UsageError(f"{option} {quote(item)}: write NODE=VALUE")
    named = [(item[:k], item[k + 1 :]) for k in cuts if item[:k] in known]
    if not named:
        raise UsageError(f"{option}: {unknown_name('node', item[: cuts[0]], known)}")
    meant = [(name, text, value_of(known[name], text)) for name, text in named]
    found = [(name, text, value) for name, text, value in meant if value is not None]
    if len(found) > 1:
        ways = " or ".join(f"{quote(name)} = {quote(text)}" for name, text, _ in found)
        raise UsageError(f"{option} {quote(item)} could mean {ways}")
    if not found:
        name, text = named[0]
        raise UsageError(f"{option}: {unknown_value(known[name], text)}")
    name, _, value = found[0]
    return name, value

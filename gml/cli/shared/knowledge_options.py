"""--require, --forbid, --tiers and --knowledge: what a learner is told beforehand."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any, TypeVar

import click

from gml.cli.shared.option_groups import KNOWLEDGE, under
from gml.cli.shared.run import claim_input
from gml.errors import UsageError

Function = TypeVar("Function", bound=Callable[..., Any])

_QUOTED = r'\s*"((?:[^"]|"")*)"\s*'


def parse_groups(text: str, separator: str, what: str) -> list[list[str]]:
    """Split `A,B < C` at the separator and commas; names may be in double quotes.

    Returns the names between separators, one list each.

    Examples
    --------
    >>> parse_groups('A, "b < c" < D', "<", "--tiers")
    [['A', 'b < c'], ['D']]
    """
    groups: list[list[str]] = [[]]
    at = 0
    bare = re.compile(rf"((?:(?!{re.escape(separator)})[^,])*)")
    while True:
        match = re.compile(_QUOTED).match(text, at)
        if match:
            name = match[1].replace('""', '"')
        else:
            match = bare.match(text, at)
            assert match is not None
            name = match[1].strip()
            if not name or '"' in name:
                raise UsageError(f"{what} {text!r}: a name is missing or has a stray quote")
        groups[-1].append(name)
        at = match.end()
        if at == len(text):
            return groups
        if text.startswith(separator, at):
            groups.append([])
            at += len(separator)
        elif text[at] == ",":
            at += 1
        else:
            raise UsageError(f"{what} {text!r}: expected {separator} or a comma at {text[at:]!r}")


def parse_arcs(text: str, what: str) -> list[tuple[str, str]]:
    """Read `A->B,C->D`.

    Examples
    --------
    >>> parse_arcs('A->B, "x->y"->C', "--require")
    [('A', 'B'), ('x->y', 'C')]
    """
    groups = parse_groups(text, "->", what)
    names = [name for group in groups for name in group]
    ends = [0, *(len(group) for group in groups[1:-1]), 0]
    well_formed = len(groups) > 1 and len(groups[0]) == len(groups[-1]) == 1
    if not well_formed or any(size != 2 for size in ends[1:-1]):
        raise UsageError(f"{what} {text!r}: write A->B, several as A->B,C->D")
    return list(zip(names[::2], names[1::2], strict=True))


@under(KNOWLEDGE)
def knowledge_options(function: Function) -> Function:
    """The four options, injected in `keywords`."""

    @click.option(
        "--require", multiple=True, metavar="A->B", help="Require this edge (repeatable)."
    )
    @click.option("--forbid", multiple=True, metavar="A->B", help="Forbid this edge (repeatable).")
    @click.option(
        "--tiers",
        metavar="TIERS",
        help="Forbid edges to earlier tiers: 'A,B < C' has none from C to A or B.",
    )
    @click.option(
        "--knowledge", metavar="FILE", help="Read such knowledge from a JSON or Tetrad file."
    )
    @functools.wraps(function)
    def wrapper(
        *args: Any,
        require: tuple[str, ...],
        forbid: tuple[str, ...],
        tiers: str | None,
        knowledge: str | None,
        keywords: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> Any:
        told: dict[str, Any] = {}
        if knowledge == "-":
            raise UsageError("--knowledge is a file; standard input is for the data")
        if knowledge is not None:
            told["knowledge"] = claim_input(knowledge, "knowledge")
        for option, texts in (("require", require), ("forbid", forbid)):
            if texts:
                told[option] = [arc for text in texts for arc in parse_arcs(text, f"--{option}")]
        if tiers is not None:
            told["tiers"] = parse_groups(tiers, "<", "--tiers")
        return function(*args, keywords={**(keywords or {}), **told}, **kwargs)

    return wrapper  # type: ignore[return-value]

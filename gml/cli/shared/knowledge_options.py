"""--require, --forbid, --tiers and --knowledge: what a learner is told beforehand."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gml.cli.shared.run import claim_input
from gml.errors import DataError, UsageError, unknown_name

if TYPE_CHECKING:
    from gml.graph.knowledge import Knowledge

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


@dataclass(frozen=True)
class KnowledgeRequest:
    """Knowledge from options and from a file, not yet checked against the data."""

    from_options: Knowledge
    path: str | None

    def resolve(self, names: Sequence[str]) -> Knowledge:
        """Return the knowledge about variables of these names."""
        from gml.formats.knowledge import read_knowledge
        from gml.graph.knowledge import Knowledge

        told = self.from_options.renamed(_padded_names(self.from_options.names, names))
        known = set(names)
        for name in told.names:
            if name not in known:
                raise UsageError(unknown_name("column", name, names))
        from_file = Knowledge() if self.path is None else read_knowledge(self.path)
        for name in from_file.names:
            if name not in known:
                raise DataError(f"{self.path}: {unknown_name('column', name, names)}")
        knowledge = told + from_file
        knowledge.require_consistent()
        return knowledge


def _padded_names(wanted: Sequence[str], names: Sequence[str]) -> dict[str, str]:
    """Columns that are meant although their blanks at either end were left out."""
    known = set(names)
    stripped: dict[str, list[str]] = {}
    for column in names:
        stripped.setdefault(column.strip(), []).append(column)
    return {
        name: stripped[name][0]
        for name in wanted
        if name not in known and len(stripped.get(name, ())) == 1
    }


def knowledge_options(function: Function) -> Function:
    """The four options, injected as `knowledge`."""

    @click.option(
        "--require", multiple=True, metavar="A->B", help="This edge is there (repeatable)."
    )
    @click.option("--forbid", multiple=True, metavar="A->B", help="This edge is not (repeatable).")
    @click.option("--tiers", metavar="TIERS", help="'A,B < C': no edge from C to A or B.")
    @click.option("--knowledge", metavar="FILE", help="The same from a JSON or Tetrad file.")
    @functools.wraps(function)
    def wrapper(
        *args: Any,
        require: tuple[str, ...],
        forbid: tuple[str, ...],
        tiers: str | None,
        knowledge: str | None,
        **kwargs: Any,
    ) -> Any:
        from gml.graph.knowledge import Knowledge

        if knowledge == "-":
            raise UsageError("--knowledge is a file; standard input is for the data")
        if knowledge is not None:
            claim_input(knowledge, "knowledge")
        told = Knowledge(
            tuple(arc for text in require for arc in parse_arcs(text, "--require")),
            tuple(arc for text in forbid for arc in parse_arcs(text, "--forbid")),
            ()
            if tiers is None
            else tuple(tuple(tier) for tier in parse_groups(tiers, "<", "--tiers")),
        )
        return function(*args, knowledge=KnowledgeRequest(told, knowledge), **kwargs)

    return wrapper  # type: ignore[return-value]

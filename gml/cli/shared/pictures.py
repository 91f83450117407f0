"""Pictures, which gml does not draw: the command that was typed, as a pipe to Graphviz."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

import click

from gml.formats.suffixes import DRAWN_BY_GRAPHVIZ, PICTURES

_TYPED = "gml.typed"
_OUTPUT_OPTIONS = ("-o", "--output", "-f", "--format")


def remember_typed(ctx: click.Context, words: Sequence[str]) -> None:
    """Keep the words after the name of the command, before parsing takes them."""
    ctx.meta[_TYPED] = list(words)


def pipe_to_graphviz(ctx: click.Context, picture: str, path: str | None = None) -> str:
    """Say which pipe makes the picture that a command was asked for.

    A command that writes no DOT, but a model, has the graph of it converted.
    """
    words = [*ctx.command_path.split(), *_without_output(ctx.meta.get(_TYPED, []), path)]
    if not _writes_dot(ctx.command):
        words = ["gml", "convert", str(ctx.params.get("graph_path", "GRAPH")), "-"]
    drawn = ["dot", f"-T{picture}", "-o", path or f"graph.{picture}"]
    return f"{DRAWN_BY_GRAPHVIZ}: {shlex.join(words)} -f dot | {shlex.join(drawn)}"


def picture_pipe(ctx: click.Context, option: str, words: Sequence[str]) -> str:
    """Say which pipe makes the picture that an option such as --svg g.svg, which is none, wants."""
    own = [word for word in words if word.partition("=")[0] == option or _kind(word)]
    path = next((word for word in own if word.partition("=")[0] != option), None)
    remember_typed(ctx, [word for word in words if word not in own])
    named = option.lstrip("-")
    picture = named if named in PICTURES else _kind(path or "") or "svg"
    return pipe_to_graphviz(ctx, picture, path)


def _kind(word: str) -> str | None:
    suffix = Path(word).suffix[1:].lower()
    return suffix if suffix in PICTURES else None


def _writes_dot(command: click.Command) -> bool:
    types = [option.type for option in command.params if option.name == "format_"]
    return any(isinstance(known, click.Choice) and "dot" in known.choices for known in types)


def _without_output(words: Sequence[str], path: str | None) -> list[str]:
    """The words without -o and -f; a file that is an argument gives way to standard output."""
    kept: list[str] = []
    rest = iter(words)
    for word in rest:
        name, equals, _ = word.partition("=")
        if name in _OUTPUT_OPTIONS and not equals:
            next(rest, None)
        elif name not in _OUTPUT_OPTIONS and word[:2] not in _OUTPUT_OPTIONS:
            kept.append("-" if word == path else word)
    return kept

"""What people mean by commands and options that do not exist, and by arguments in a wrong order."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

import click

from gml.errors import UsageError, nearest_name, quote, unknown_name
from gml.formats.suffixes import PICTURE_SUFFIXES, PICTURES
from gml.path_kinds import is_there
from gml.synonyms import COMMANDS_MEANT, OPTIONS_MEANT
from gml.verbs.shared.swapped import SwappedArguments

# By the word that the usage line has for it.
_ARGUMENTS_MEANT = {
    "DATA": ("--data", "--input", "--file", "--csv", "--in", "-i"),
    "GRAPH": ("--graph", "--dag", "--network", "--structure", "-g"),
    "MODEL": ("--model", "--network", "--net", "--bif", "-m"),
    "X": ("--x",),
    "Y": ("--y",),
}
_PICTURE_ENDS = tuple(PICTURE_SUFFIXES)
_PICTURE_OPTIONS = ("--plot", "--draw", "--svg", "--png", "--pdf", "--show", "--picture")


def unknown_command(name: str, commands: Mapping[str, str]) -> str:
    """Say what to call in place of a command that there is not.

    Examples
    --------
    >>> unknown_command("fit", {})
    "there is no command 'fit'; use gml fit-params DATA GRAPH -o model.json"
    """
    meant = COMMANDS_MEANT.get(name.lower().replace("_", "-"))
    if meant is not None:
        return f"there is no command {quote(name)}; use {meant}"
    if is_there(name):
        return f"{quote(name)} is a file; name a command before it, as in gml profile {name}"
    return unknown_name("command", name, commands)


def unknown_option(ctx: click.Context, name: str, args: list[str]) -> str:
    """Say which option or argument of a command was meant by one that it does not have."""
    command = ctx.command
    name = _as_written(name, args)
    options = [option for parameter in _options(command) for option in parameter.opts]
    intro = f"there is no option {name}"
    if "-" + name in options:
        return f"{intro}; long options have two dashes: -{name}"
    for meant, words in OPTIONS_MEANT.items():
        if name.lower() in words and meant.partition(" ")[0] in options:
            return f"{intro}; use {_both_names(command, meant)}"
    for parameter in command.params:
        if isinstance(parameter, click.Argument):
            metavar = (parameter.metavar or str(parameter.name).upper()).partition(".")[0]
            if name.lower() in _ARGUMENTS_MEANT.get(metavar, ()):
                usage = " ".join(_usage(command))
                return f"{intro}; {metavar} needs none: gml {command.name} {usage}"
    if name in _PICTURE_OPTIONS:
        return f"{intro}; {_way_to_picture(command, name, args)}"
    # --target for --targets is nearer than an option of another command.
    if plural := [option for option in (f"{name}s", name.removesuffix("s")) if option in options]:
        return f"{intro}; did you mean {plural[0]}?"
    if owners := _owners(ctx.find_root(), name):
        others = ", ".join(owners[:3]) + (" and others" if len(owners) > 3 else "")
        return f"{intro} of gml {command.name}, but of {others}"
    near = nearest_name(name, [option for option in options if option.startswith("--")])
    return f"{intro}; did you mean {near}?" if near else intro


def _way_to_picture(command: click.Command, option: str, words: list[str]) -> str:
    """Say how to get the picture that an option such as --svg g.svg, which is none, wants."""
    named = option.lstrip("-")
    kind = named if named in PICTURES else PICTURES[0]
    values = (word.removeprefix(f"{option}=") for word in words)
    path = next((word for word in values if word.lower().endswith(_PICTURE_ENDS)), f"graph.{kind}")
    output = [each for each in _options(command) if each.name == "format_"]
    if any(isinstance(each.type, click.Choice) and "svg" in each.type.choices for each in output):
        return f"use -o {shlex.quote(path)}"
    return f"gml draw GRAPH -o {shlex.quote(path)} draws a graph or a model"


def _as_written(name: str, args: list[str]) -> str:
    """The whole word, where click names only the first letter after a single dash."""
    if name.startswith("--"):
        return name
    words = (arg.partition("=")[0] for arg in args if arg.startswith(name[:2]))
    return next((word for word in words if len(word) > 2), name)


def _options(command: click.Command) -> list[click.Option]:
    return [parameter for parameter in command.params if isinstance(parameter, click.Option)]


def _both_names(command: click.Command, meant: str) -> str:
    """An option with its short name, if it has one."""
    name, space, value = meant.partition(" ")
    for parameter in _options(command):
        if name in parameter.opts and not value:
            return " or ".join(parameter.opts)
    return name + space + value


def _usage(command: click.Command) -> list[str]:
    arguments = (parameter for parameter in command.params if isinstance(parameter, click.Argument))
    return [argument.metavar or str(argument.name).upper() for argument in arguments]


def _owners(root: click.Context, name: str) -> list[str]:
    """The commands that have an option."""
    if not isinstance(root.command, click.Group):
        return []
    found = [
        (other, root.command.get_command(root, other)) for other in root.command.list_commands(root)
    ]
    return [
        f"gml {other}"
        for other, command in found
        if command is not None and any(name in option.opts for option in _options(command))
    ]


def in_right_order(error: SwappedArguments, ctx: click.Context) -> UsageError:
    """Say with which command the data would come first: the table takes the place of the graph."""
    data = _files(ctx.params.get("data_path")) or _files(ctx.params.get("data_paths"))
    for parameter in ctx.command.params:
        graphs = _files(ctx.params.get(str(parameter.name)))
        if error.graph in data and error.table in graphs:
            option = [] if isinstance(parameter, click.Argument) else [parameter.opts[-1]]
            tables = [path for path in data if path != error.graph]
            others = [path for path in graphs if path != error.table]
            words = [*tables, error.table, *option, error.graph, *others]
            return UsageError(f"{error}, {ctx.command_path} {shlex.join(words)}")
    return error


def misplaced_file(command: click.Command, ctx: click.Context) -> str | None:
    """Say so if a table was given as a graph or model."""
    from gml.formats.recognition import begins_like_table

    for parameter in command.params:
        what = _GRAPHS.get((parameter.metavar or "").split(" ")[0].rstrip("."))
        for path in _files(ctx.params.get(str(parameter.name))) if what is not None else ():
            if path != "-" and begins_like_table(path):
                return f"{quote(path)} is a table, where {what}"
    return None


def _files(given: object) -> tuple[str, ...]:
    """The words that were given for a parameter."""
    words = given if isinstance(given, tuple) else (given,)
    return tuple(word for word in words if isinstance(word, str))


_GRAPHS = {
    "GRAPH": "a graph is wanted; learn one with gml ges DATA -o graph.json",
    "MODEL": "a model is wanted; fit one with gml fit-params DATA GRAPH -o model.json",
}

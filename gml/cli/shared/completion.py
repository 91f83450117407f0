"""What may come next on a command line: commands, options, choices, columns, levels, files.

What the help calls the value of an option says what it is: COLUMN or VAR is a column of the data,
NAMES a list of them, A=x,B=y values of the nodes of a model.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass

import click

from gml import SCORES
from gml.cli.shared.parameter_types import NameList, OutputFile
from gml.cli.shared.run import file_named
from gml.errors import UsageError, csv_record, double_quoted

_FILES = ("DATA", "GRAPH", "MODEL", "SOURCE", "FILE", "SCHEMA", "IN", "LOG", "COUNTS", "DIR")
_COLUMN = ("COLUMN", "VAR", "NODE", "X", "Y", "A", "B")


@dataclass(frozen=True)
class Candidates:
    """What the word may become, each with a description.

    `goes_on`: more may follow in the same word, so no space does. `files`: it may be a path.
    """

    words: tuple[tuple[str, str], ...] = ()
    goes_on: bool = False
    files: bool = False


def candidates(cli: click.Group, words: list[str], incomplete: str) -> Candidates:
    """Return what an incomplete word may become, after the words before it (without `gml`)."""
    # A command keeps the help option of its first context, so that every one needs the settings.
    root = click.Context(cli, info_name="gml", resilient_parsing=True, **cli.context_settings)
    given = _until_command(root, words)
    if given is None:
        return _matching(
            incomplete, _options(cli, root) if incomplete[:1] == "-" else _commands(cli)
        )
    name, rest = given
    command = cli.get_command(root, name)
    if command is None:
        return Candidates()
    option, start = _awaited(command, rest, incomplete)
    known = rest[:-1] if option is not None and not start else rest
    with command.make_context(name, list(known), parent=root, resilient_parsing=True) as ctx:
        if option is not None:
            return _prefixed(start, _of(option, ctx, incomplete[len(start) :]))
        if incomplete[:1] == "-" and "--" not in rest:
            return _matching(incomplete, _options(command, root))
        for parameter in command.params:
            if isinstance(parameter, click.Argument) and _is_open(parameter, ctx):
                return _of(parameter, ctx, incomplete)
    return Candidates()


def _until_command(root: click.Context, words: list[str]) -> tuple[str, list[str]] | None:
    """The name of the command and the words after it; options of gml may stand before it."""
    cli = root.command
    try:
        context = click.Context(
            cli, parent=root, resilient_parsing=True, allow_interspersed_args=False
        )
        _, rest, _ = cli.make_parser(context).parse_args(list(words))
    except click.UsageError:
        return None
    return (rest[0], rest[1:]) if rest else None


def _commands(cli: click.Group) -> list[tuple[str, str]]:
    from gml.cli.main import COMMANDS

    return list(COMMANDS.items())


def _options(command: click.Command, root: click.Context) -> list[tuple[str, str]]:
    """The long name of each option, the short one where there is no other, with its help."""
    context = click.Context(command, parent=root, resilient_parsing=True)
    found = [each for each in command.get_params(context) if isinstance(each, click.Option)]
    return [
        (each.opts[-1], (each.help or "").partition(". ")[0]) for each in found if not each.hidden
    ]


def _awaited(
    command: click.Command, words: list[str], incomplete: str
) -> tuple[click.Option | None, str]:
    """The option that the word is the value of, and what of the word belongs to its name."""
    options = [each for each in command.params if isinstance(each, click.Option)]
    by_name = {name: each for each in options if not each.is_flag for name in each.opts}
    if "--" in words:
        return None, ""
    if words and words[-1] in by_name:
        return by_name[words[-1]], ""
    name, equals, _ = incomplete.partition("=")
    if equals and name in by_name:
        return by_name[name], name + equals
    return None, ""


def _is_open(argument: click.Argument, ctx: click.Context) -> bool:
    return argument.nargs == -1 or ctx.params.get(str(argument.name)) is None


def _of(parameter: click.Parameter, ctx: click.Context, incomplete: str) -> Candidates:
    """What the value of a parameter may be."""
    metavar = (parameter.metavar or str(parameter.name).upper()).rstrip(".")
    what = metavar.split(" ")[0].split(".")[0]
    if isinstance(parameter.type, click.Choice):
        return _matching(incomplete, ((str(choice), "") for choice in parameter.type.choices))
    if "--score" in parameter.opts:
        return _in_list(incomplete, SCORES)
    if isinstance(parameter.type, NameList):
        return _in_list(incomplete, parameter.type.choices or _names(ctx))
    if metavar == "[COMMAND|TOPIC]":
        from gml.cli.main import COMMANDS
        from gml.verbs.help import TOPICS

        titles = {name: title for name, (title, _) in TOPICS.items()}
        return _matching(incomplete, {**titles, **COMMANDS}.items())
    if metavar == "A=x,B=y":
        return _in_assignments(incomplete, ctx)
    if metavar == "COLUMN=HOW" and "=" not in incomplete:
        names = ((f"{name}=", "") for name in _names(ctx))
        return Candidates(_matching(incomplete, names).words, goes_on=True)
    if metavar == "A->B":
        return _in_arc(incomplete, _names(ctx))
    if what in _COLUMN:
        return _matching(incomplete, ((name, "") for name in _names(ctx)))
    if isinstance(parameter.type, OutputFile) or what in _FILES:
        return Candidates(files=True)
    return Candidates()


def _names(ctx: click.Context) -> list[str]:
    """The columns of the data, or the nodes of the model, that stand before."""
    from gml.verbs.shared.known_names import column_names, log_names, node_levels

    given = ctx.params
    if data := file_named(ctx, "DATA"):
        return column_names(data, delimiter=given.get("delimiter"), encoding=given.get("encoding"))
    if log := file_named(ctx, "LOG"):
        return log_names(log)
    source = file_named(ctx, "SOURCE") or ""
    return list(node_levels(file_named(ctx, "MODEL") or source)) or column_names(source)


def _matching(incomplete: str, found: Iterable[tuple[str, str]]) -> Candidates:
    return Candidates(tuple(each for each in found if each[0].startswith(incomplete)))


def _prefixed(start: str, found: Candidates) -> Candidates:
    words = tuple((start + word, about) for word, about in found.words)
    return Candidates(words, found.goes_on, found.files)


def _in_list(incomplete: str, names: Iterable[str]) -> Candidates:
    """Names for the last place of a list, which is one CSV record; none that it has already."""
    before, last = _last_item(incomplete)
    used = set(next(csv.reader([before]), []))
    words = [
        (before + quoted, "")
        for name in names
        if name not in used and (quoted := csv_record([name])).startswith(last)
    ]
    # An item that is typed without its quote means the same name.
    words += [
        (before + csv_record([name]), "")
        for name in names
        if name not in used and csv_record([name]) != name and last and name.startswith(last)
    ]
    return Candidates(tuple(words), goes_on=True)


def _last_item(text: str) -> tuple[str, str]:
    """Cut a list after its last comma outside of quotes."""
    at, is_quoted = 0, False
    for k, character in enumerate(text):
        if character == '"':
            is_quoted = not is_quoted
        elif character == "," and not is_quoted:
            at = k + 1
    return text[:at], text[at:]


def _in_assignments(incomplete: str, ctx: click.Context) -> Candidates:
    """NODE= or, after the equals sign, NODE=LEVEL, for the last place of a list."""
    from gml.verbs.shared.known_names import node_levels

    levels = node_levels(file_named(ctx, "MODEL") or file_named(ctx, "SOURCE") or "")
    before, last = _last_item(incomplete)
    node, equals, _ = last.partition("=")
    if not equals:
        words = [(f"{before}{_assigned(name)}=", "") for name in levels]
        found = _matching(incomplete, words)
        return Candidates(found.words, goes_on=True)
    named = next((name for name in levels if node in (name, _assigned(name))), None)
    if named is None:
        return Candidates()
    words = [(f"{before}{node}={_assigned(level)}", "") for level in levels[named]]
    return Candidates(_matching(incomplete, words).words, goes_on=True)


def _assigned(text: str) -> str:
    """A name or a level as assignments have it: in quotes if it has a comma, but not [a,b)."""
    from gml.cli.shared.assignments import split_assignments

    try:
        is_plain = split_assignments(f"A={text}") == [f"A={text}"]
    except UsageError:
        is_plain = False
    return text if is_plain else double_quoted(text)


def _in_arc(incomplete: str, names: list[str]) -> Candidates:
    """A-> or, after the arrow, A->B."""
    before, arrow, _ = incomplete.rpartition("->")
    if before.count('"') % 2:
        # The arrow is within the quotes of a name.
        before = arrow = ""
    quoted = (
        double_quoted(name) if set(name) & set(',"<>') or name != name.strip() else name
        for name in names
    )
    words = [(f"{before}{arrow}{name}" + ("" if arrow else "->"), "") for name in quoted]
    return Candidates(_matching(incomplete, words).words, goes_on=not arrow)

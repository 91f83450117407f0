"""gml help [COMMAND|TOPIC]: what a command does, and what there is to choose from."""

from __future__ import annotations

import inspect
from typing import Any

import click

from gml.cli.shared.command import Command
from gml.cli.shared.common_options import common_options
from gml.cli.shared.option_groups import heading_of
from gml.cli.shared.output import TextOutput
from gml.cli.shared.output_options import text_output
from gml.errors import UsageError, unknown_name
from gml.text_table import aligned


@click.command(
    "help",
    cls=Command,
    epilog="\b\nExamples:\n"
    "  gml help                       # the commands and the topics\n"
    "  gml help pc                    # as gml pc --help\n"
    "  gml help tests\n"
    "  gml help scores -f json | jq '.entries[].name'\n"
    "  gml help exit-codes",
)
@click.argument("name", metavar="[COMMAND|TOPIC]", required=False)
@text_output
@common_options
def command(name: str | None, out: TextOutput) -> None:
    """Explain a command or a topic.

    The topics are tests, scores, undirected, formats, missing, knowledge, constraints, pictures,
    engines and exit-codes: what there is to choose from, as gml itself knows it; as JSON for
    programs.
    """
    from gml.cli.main import COMMANDS
    from gml.verbs.help import OTHER_NAMES, TOPICS, help

    if name is None:
        out.write(*_overview())
    elif name in COMMANDS:
        out.write(*_of_command(name))
    elif name in TOPICS or name in OTHER_NAMES:
        topic = help(name)
        out.write(topic.text, topic.facts())
    else:
        raise UsageError(unknown_name("command or topic", name, [*TOPICS, *COMMANDS]))


def _overview() -> tuple[str, dict[str, Any]]:
    from gml.cli.main import GROUPS
    from gml.verbs.help import TOPICS

    root = click.get_current_context().find_root()
    titles = {name: title for name, (title, _) in TOPICS.items()}
    lines = aligned(list(titles.items()), indent="  ")
    text = "\n".join([root.get_help(), "", "Topics (gml help TOPIC):", *lines, ""])
    return text, {"commands": GROUPS, "topics": titles}


def _of_command(name: str) -> tuple[str, dict[str, Any]]:
    from gml.cli.main import COMMANDS, cli

    root = click.get_current_context().find_root()
    found = cli.get_command(root, name)
    assert found is not None
    context = click.Context(found, info_name=name, parent=root)
    facts = {
        "command": name,
        "summary": COMMANDS[name],
        "usage": " ".join([context.command_path, *found.collect_usage_pieces(context)]),
        "about": inspect.cleandoc(found.help or ""),
        "parameters": [_described(each, context) for each in found.get_params(context)],
    }
    return found.get_help(context) + "\n", facts


def _described(parameter: click.Parameter, context: click.Context) -> dict[str, Any]:
    is_option = isinstance(parameter, click.Option)
    is_flag = isinstance(parameter, click.Option) and parameter.is_flag
    default = parameter.get_default(context, call=False)
    is_plain = isinstance(default, str | int | float | bool)
    return {
        "names": list(parameter.opts) if is_option else [parameter.make_metavar(context)],
        "kind": "flag" if is_flag else "option" if is_option else "argument",
        "value": None if is_flag or not is_option else parameter.make_metavar(context),
        "choices": [*parameter.type.choices] if isinstance(parameter.type, click.Choice) else None,
        "default": default if is_plain and not is_flag else None,
        "required": parameter.required,
        "repeatable": bool(getattr(parameter, "multiple", False)) or parameter.nargs == -1,
        "group": heading_of(parameter),
        "help": getattr(parameter, "help", None),
    }

"""gml completion SHELL: a script that completes command lines."""

from __future__ import annotations

import click

from gml.cli.shared.command import Command
from gml.cli.shared.common_options import common_options
from gml.cli.shared.output import RowOutput
from gml.cli.shared.output_options import file_output
from gml.cli.shared.shells import SCRIPTS


@click.command(
    "completion",
    cls=Command,
    epilog="\b\nExamples:\n"
    "  source <(gml completion bash)                    # now; or in ~/.bashrc\n"
    "  source <(gml completion zsh)                     # now; or in ~/.zshrc\n"
    "  gml completion fish | source                     # now\n"
    "  gml completion fish -o ~/.config/fish/completions/gml.fish",
)
@click.argument("shell", metavar="bash|zsh|fish", type=click.Choice(list(SCRIPTS)))
@click.option("--line", hidden=True, help="Answer what may come next on this line.")
@click.option("--breaks", hidden=True, default="", help="Where bash begins a new word.")
@file_output
@common_options
def command(shell: str, line: str | None, breaks: str, out: RowOutput) -> None:
    """Print a script that lets a shell complete command lines of gml with the Tab key.

    It completes commands, options and their choices, columns of the table that is named on the
    line, nodes of a model and, after --evidence NODE=, their levels.
    """
    text = SCRIPTS[shell] if line is None else _answer(line, shell, breaks)
    out.write([text.encode("utf-8", "surrogateescape")])


def _answer(line: str, shell: str, breaks: str) -> str:
    """What the script of a shell is told."""
    from gml.cli.main import cli
    from gml.cli.shared.completion import candidates
    from gml.cli.shared.shells import as_typed, typed_line

    typed = typed_line(line)
    found = candidates(cli, typed.words, typed.value)
    if found.files:
        return "files\n"
    lines = ["more" if found.goes_on else "word"]
    for word, about in found.words:
        written = as_typed(word, typed, shell, breaks)
        if written is not None:
            has_about = about and shell != "bash"
            lines.append(f"{written}\t{about}" if has_about else written)
    return "\n".join(lines) + "\n"

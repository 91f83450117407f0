"""Write docs/commands.md: the command reference, from what --help prints.

python docs/make_reference.py          # or: make docs
"""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from gml.cli.main import COMMANDS, cli

TARGET = Path(__file__).with_name("commands.md")


def help_of(*args: str) -> str:
    """Return the help text of a command, or of gml itself."""
    result = CliRunner().invoke(cli, [*args, "--help"], prog_name="gml", terminal_width=100)
    return result.output.rstrip("\n")


def reference() -> str:
    """Return the whole page."""
    parts = [
        "# Command reference",
        "",
        "Made from `--help` by `make docs`; a test fails when this page is out of date.",
        "",
        "## gml",
        "",
        "```text",
        help_of(),
        "```",
    ]
    for name in COMMANDS:
        parts += ["", f"## gml {name}", "", "```text", help_of(name), "```"]
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    TARGET.write_text(reference(), encoding="utf-8")

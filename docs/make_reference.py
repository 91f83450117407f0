"""Write what the documentation has from the code itself.

docs/commands.md is what --help prints; the tables of tests and scores in docs/methods.md are what
these say of themselves.

python docs/make_reference.py          # or: make docs
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from click.testing import CliRunner

from gml.cli.main import COMMANDS, cli
from gml.errors import parameter, with_flags
from gml.independence.registry import TESTS
from gml.parameters import Option
from gml.scores.registry import SCORES
from gml.verbs.shared.topic_text import marked

TARGET = Path(__file__).with_name("commands.md")
METHODS = Path(__file__).with_name("methods.md")


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


def tests_table() -> str:
    """Return the table of the independence tests."""
    return _table(
        (parameter("test"), "", "statistic", "dependent iff", "for", "options"),
        (
            (
                name,
                test.summary,
                test.formula,
                test.rule,
                " and ".join(test.columns),
                _names(test.options),
            )
            for name, test in TESTS.items()
        ),
    )


def scores_table() -> str:
    """Return the table of the scores."""
    return _table(
        (parameter("score"), "", "a node's part", "equivalent", "for", "options"),
        (
            (
                name,
                score.summary,
                score.formula,
                "yes" if score.equivalent else "no",
                " and ".join(score.columns),
                _names(score.options),
            )
            for name, score in SCORES.items()
        ),
    )


def _names(options: Iterable[Option]) -> str:
    return ", ".join(parameter(option.name) for option in options)


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    cells = [[_cell(cell) for cell in line] for line in lines]
    return "".join(f"| {' | '.join(line)} |\n" for line in cells)


def _cell(text: str) -> str:
    return with_flags(marked(text)).replace("|", "\\|")


def with_tables(page: str) -> str:
    """Return a page with the tables between its marks made anew."""
    for name, table in (("tests", tests_table()), ("scores", scores_table())):
        marked = re.compile(f"(<!-- table of {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        page = marked.sub(lambda found, table=table: f"{found[1]}{table}{found[2]}", page)
    return page


if __name__ == "__main__":
    TARGET.write_text(reference(), encoding="utf-8")
    METHODS.write_text(with_tables(METHODS.read_text(encoding="utf-8")), encoding="utf-8")

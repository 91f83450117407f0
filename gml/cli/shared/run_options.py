"""Options about the run that may stand before the command as well as after it: gml -q pc …"""

from __future__ import annotations

from typing import Any, NamedTuple

import click

from gml.cli.shared.option_groups import RUN, Declared, under


class RunOption(NamedTuple):
    """An option of many commands; a flag unless it has a metavar."""

    flags: tuple[str, ...]
    help: str
    metavar: str | None = None

    def declared(self, **how: Any) -> Declared:
        """Return the decorator that declares it for a command."""
        return under(RUN)(click.option(*self.flags, **self._described, **how))

    def before_command(self) -> click.Option:
        """Return the option for gml itself, which hands it on to the command as it is."""
        return click.Option(self.flags, expose_value=False, **self._described)

    @property
    def _described(self) -> dict[str, Any]:
        about: dict[str, Any] = {"metavar": self.metavar} if self.metavar else {"is_flag": True}
        return {"help": self.help, **about}


QUIET = RunOption(("-q", "--quiet"), "Show no warnings and no progress.")
VERBOSE = RunOption(("-v", "--verbose"), "Say what is being done.")
DEBUG = RunOption(("--debug",), "Show a traceback with an error.")
IF_CHANGED = RunOption(
    ("--if-changed",), "Leave a file and its time stamp alone if its content would not change."
)
MAX_MEMORY = RunOption(
    ("--max-memory",),
    "Refuse what would take more memory than this (500M, 2G), such as large tables, before it is "
    "made; by default half of what is free. gml itself takes about 60M.",
    "SIZE",
)
THREADS = RunOption(("--threads",), "Number of threads; by default all cores.", "N")

ANYWHERE = (QUIET, VERBOSE, DEBUG, IF_CHANGED, MAX_MEMORY, THREADS)


def handed_on(
    options: list[click.Option], given: dict[str, Any], command: click.Command | None
) -> list[str]:
    """Return the words that give a command those options that stood before it and that it has."""
    own = [name for parameter in command.params for name in parameter.opts] if command else []
    words: list[str] = []
    for option in options:
        if str(option.name) in given and option.opts[-1] in own:
            words.append(option.opts[-1])
            if not option.is_flag:
                words.append(str(given[str(option.name)]))
    return words

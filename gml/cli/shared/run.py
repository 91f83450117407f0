"""What a run knows about itself: the options given, the files that it reads and writes."""

from __future__ import annotations

import click

from gml.errors import UsageError
from gml.ledger import STANDARD_OUTPUT, Input, Ledger, RunPath
from gml.path_kinds import is_folder

_LEDGER = "gml.ledger"


def was_given(name: str) -> bool:
    """Whether an option was given: on the command line, in the environment or in a file."""
    source = click.get_current_context().get_parameter_source(name)
    return source in (
        click.core.ParameterSource.COMMANDLINE,
        click.core.ParameterSource.ENVIRONMENT,
        click.core.ParameterSource.DEFAULT_MAP,
    )


def setting_of(name: str) -> str | None:
    """Where in a file of settings the value of an option comes from; None if it does not."""
    context = click.get_current_context()
    parameter = next((p for p in context.command.params if p.name == name), None)
    settings = context.meta.get("gml.config")
    found: str | None = None if settings is None else settings.origin(context, parameter)
    return found


def file_named(ctx: click.Context, word: str) -> str | None:
    """Return the first file that an argument names, by the word that the usage line has for it."""
    for parameter in ctx.command.params:
        if isinstance(parameter, click.Argument):
            metavar = parameter.metavar or str(parameter.name).upper()
            if metavar.split(" ")[0].rstrip(".") == word:
                given = ctx.params.get(str(parameter.name))
                first = given[0] if isinstance(given, tuple) and given else given
                return first if isinstance(first, str) else None
    return None


def run_ledger() -> Ledger:
    """Return the ledger of the run, which all its contexts share."""
    found: Ledger = click.get_current_context().meta.setdefault(_LEDGER, Ledger())
    return found


def claim_input(
    path: str, role: str, *, several: bool = False, replaceable: bool = False
) -> RunPath:
    """Note an input, which no output may replace, and let only one argument be `-`.

    One that is `replaceable` is read before anything is written, and may be written again.
    `role` is the name of the argument or option, under which a JSON output has its hash: a list of
    them where `several` can be named. The path to read is returned.
    """
    kept = run_ledger()
    if path == "-" and any(other.path == "-" for other in kept.inputs):
        raise UsageError("only one argument can be - (standard input)")
    if click.get_current_context().params.get("depfile") is not None:
        from gml.formats.depfile import require_holdable

        require_holdable(path)
    files: list[str] = []
    if is_folder(path):
        from gml.formats.depfile import input_files

        files = input_files(path)
    kept.claim(Input(role, path, several), files, replaceable=replaceable)
    return RunPath(path, kept)


def plan_output(path: str, option: str, *, folder: bool = False) -> RunPath:
    """Refuse, before any work, what cannot be written, is an input or another output.

    A `folder` to write into may exist, and nothing else may have its name. The path to write to is
    returned.
    """
    from pathlib import Path

    target = Path(path)
    try:
        if target.is_dir() and not folder:
            raise UsageError(f"cannot write {path!r}: it is a folder")
        if folder and target.exists() and not target.is_dir():
            raise UsageError(f"cannot write into {path!r}: it is not a folder")
        if not folder and not target.parent.is_dir():
            raise UsageError(f"cannot write {path!r}: there is no folder {str(target.parent)!r}")
        kept = run_ledger()
        kept.plan(path, option)
    except FileNotFoundError:
        raise UsageError(
            f"cannot write {path!r}: the current folder is gone; change to another, or name a "
            "whole path"
        ) from None
    except OSError as error:
        raise UsageError(f"cannot write {path!r}: {error.strerror}") from None
    except ValueError:
        # A null character, which only a file of settings can have.
        raise UsageError(f"cannot write {path!r}: no file can have this name") from None
    return RunPath(path, kept)


def plan_result(path: str | None) -> None:
    """Note that the result goes to standard output, where no file is named for it."""
    if path in (None, STANDARD_OUTPUT):
        run_ledger().plan(STANDARD_OUTPUT, "the result")

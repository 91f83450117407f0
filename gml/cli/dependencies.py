"""--depfile: what the files that a command wrote depend on, written last and if all went well."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import click

from gml.atomic import is_special, write_whole
from gml.cli.options import OutputFile, run_ledger
from gml.cli.output import require_writable
from gml.errors import UsageError
from gml.formats.depfile import depfile_text, require_make_name


@contextmanager
def writing_depfile(path: str) -> Iterator[None]:
    """Write the dependencies after a block that ended without an error."""
    planned = _planned_outputs()
    if path == "-":
        raise UsageError("--depfile needs a file; standard output is for the result")
    if not planned:
        raise UsageError("--depfile is about files that are written: name one with -o")
    if os.path.realpath(path) in map(os.path.realpath, planned):
        raise UsageError("two outputs have the same file")
    for name in planned:
        require_make_name(name)
    require_writable(path)
    yield
    # Again: inputs may have come to be known since.
    require_writable(path)
    kept = run_ledger()
    inputs = dict.fromkeys(name for item in kept.inputs for name in _files(item.path))
    text = depfile_text(list(dict.fromkeys(kept.outputs)), list(inputs))
    write_whole(path, text.encode("utf-8", "surrogateescape"))


def require_holdable(path: str) -> None:
    """Refuse an input whose name no makefile can hold, before the work."""
    for name in _files(path):
        require_make_name(name)


def _planned_outputs() -> list[str]:
    """The files and folders that the options name; not devices and pipes.

    Some are known to be fit for writing already, others are looked at by the command itself.
    """
    context = click.get_current_context()
    named = [
        context.params.get(str(parameter.name))
        for parameter in context.command.params
        if isinstance(parameter.type, OutputFile) and parameter.name != "depfile"
    ]
    typed = [
        path
        for path in named
        if path not in (None, "-") and (os.path.isdir(path) or not is_special(path))  # noqa: PTH112
    ]
    return [*typed, *run_ledger().planned]


def _files(path: str) -> list[str]:
    """The files behind an input: those of a folder; none for what is read once and gone."""
    if path == "-" or (is_special(path) and not os.path.isdir(path)):  # noqa: PTH112
        return []
    from gml.data.parquet import parquet_files

    return parquet_files(path)

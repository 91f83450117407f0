"""--depfile: what the files that a command wrote depend on, written last and if all went well."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from gml.atomic import is_special, write_whole
from gml.cli.shared.options import run_ledger
from gml.errors import UsageError
from gml.formats.depfile import depfile_text, require_make_name


@contextmanager
def writing_depfile(path: str) -> Iterator[None]:
    """Write the dependencies after a block that ended without an error."""
    kept = run_ledger()
    if path == "-":
        raise UsageError("--depfile needs a file; standard output is for the result")
    planned = [name for name in kept.planned if name != path and _is_file_or_folder(name)]
    if not planned:
        raise UsageError("--depfile is about files that are written: name one with -o")
    for name in planned:
        require_make_name(name)
    yield
    inputs = dict.fromkeys(name for item in kept.inputs for name in _files(item.path))
    text = depfile_text(list(dict.fromkeys(kept.outputs)), list(inputs))
    write_whole(path, text.encode("utf-8", "surrogateescape"))


def require_holdable(path: str) -> None:
    """Refuse an input whose name no makefile can hold, before the work."""
    for name in _files(path):
        require_make_name(name)


def _is_file_or_folder(path: str) -> bool:
    """Whether an output is one to name in a makefile; not a device or pipe."""
    return path != "-" and (os.path.isdir(path) or not is_special(path))  # noqa: PTH112


def _files(path: str) -> list[str]:
    """The files behind an input: those of a folder; none for what is read once and gone."""
    if path == "-" or (is_special(path) and not os.path.isdir(path)):  # noqa: PTH112
        return []
    from gml.data.parquet import parquet_files

    return parquet_files(path)

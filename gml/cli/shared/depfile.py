"""--depfile: what the files that a command wrote depend on, written last if all went well."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from gml.atomic import names_file, write_whole
from gml.cli.shared.run import run_ledger
from gml.errors import UsageError
from gml.formats.depfile import depfile_text, input_files, require_make_name
from gml.path_kinds import is_folder


@contextmanager
def writing_depfile(path: str) -> Iterator[None]:
    """Write the dependencies after a block that ended without an error."""
    kept = run_ledger()
    if path == "-":
        raise UsageError("--depfile needs a file; standard output is for the result")
    planned = [name for name in kept.planned if name != path and _is_file_or_folder(name)]
    if not planned:
        raise UsageError("--depfile needs a file that is written: name one with -o")
    for name in planned:
        require_make_name(name)
    yield
    inputs = dict.fromkeys(name for item in kept.inputs for name in input_files(item.path))
    text = depfile_text(list(dict.fromkeys(kept.outputs)), list(inputs))
    write_whole(path, text.encode("utf-8", "surrogateescape"))


def _is_file_or_folder(path: str) -> bool:
    """Whether an output is one to name in a makefile; not a device or pipe."""
    return is_folder(path) or names_file(path)

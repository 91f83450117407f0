"""What a check takes as deliveries: tables and folders; and why one cannot be checked."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from gml.errors import DataError, GmlError, UsageError, place
from gml.gate.result import CheckReport, Rejection
from gml.path_kinds import is_folder
from gml.verbs.shared.data_input import is_path

_MOST_FILES = 100_000
# As Arrow and Spark do: they leave files such as _SUCCESS beside those of a table.
_HIDDEN = (".", "_")
_LINE = re.compile(r"(?:about )?line (\d+)\b")


def tables_in(path: str | os.PathLike[str]) -> list[str]:
    """Return the files of a folder of tables, by name; what is one table is returned as it is.

    A folder that holds nothing but Parquet is one table. Hidden files do not count: those whose
    names, or those of folders above them, begin with a dot or an underscore.

    Examples
    --------
    >>> tables_in("sample_data/asia.csv")
    ['sample_data/asia.csv']
    """
    if not names_folder(path):
        return [os.fspath(path)]
    found: list[tuple[str, ...]] = []
    for folder, folders, names in os.walk(path):
        folders[:] = [name for name in folders if not name.startswith(_HIDDEN)]
        inside = Path(folder).relative_to(path).parts
        found += [(*inside, name) for name in names if not name.startswith(_HIDDEN)]
        if len(found) > _MOST_FILES:
            raise DataError(f"{place(path)}: a folder of more than {_MOST_FILES} files")
    if not found:
        raise DataError(f"{place(path)}: a folder without any table")
    if all(parts[-1].endswith(".parquet") for parts in found):
        return [os.fspath(path)]
    return [str(Path(path, *parts)) for parts in sorted(found)]


def names_folder(path: str | os.PathLike[str]) -> bool:
    """Whether a path is a folder, and not standard input."""
    return os.fspath(path) != "-" and is_folder(path)


def deliveries_in(given: Sequence[Any]) -> list[Any]:
    """Return the deliveries in a list: what is given, and the tables of folders."""
    found: list[Any] = []
    for item in given:
        if is_path(item) and names_folder(item):
            files = tables_in(item)
            found += [item] if files == [os.fspath(item)] else files
        else:
            found.append(item)
    if not found:
        raise UsageError("there are no data to check: the list is empty")
    return found


def rejection(error: GmlError, files: Iterable[str]) -> Rejection:
    """Say why nothing was checked, and where among the files that are read the problem is."""
    message = str(error)
    for file in files:
        before = f"{place(file)}: "
        if message.startswith(before):
            found = _LINE.match(message, len(before))
            return Rejection(error, message, file, None if found is None else int(found[1]))
    return Rejection(error, message)


def rejected(rejection: Rejection, data: str, model: str, alpha: float) -> CheckReport:
    """Return the report on a delivery that could not be checked."""
    return CheckReport((), alpha, data, model, rows=0, model_rows=None, error=rejection)

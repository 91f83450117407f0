"""The names that a file offers, for whoever completes a command line: columns, nodes, levels."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from gml.data.options import reading_options
from gml.errors import GmlError
from gml.path_kinds import is_file, is_folder
from gml.progress import Reporter, reporting_to

_LONGEST_LINE = 1 << 24


class _Silent(Reporter):
    """Says nothing: a completion has no place for warnings."""

    def warn(self, message: str) -> None:
        """Drop the message."""


def column_names(
    path: str, *, delimiter: str | None = None, encoding: str | None = None
) -> list[str]:
    """Return the columns of a table; none of what cannot be read. Only the header is read.

    Examples
    --------
    >>> column_names("sample_data/asia.csv")[:3]
    ['asia', 'tub', 'smoke']
    """
    # A pipe can be read only once, and not here.
    if not _is_stored(path):
        return []
    try:
        with reporting_to(_Silent()):
            return _columns(path, delimiter, encoding)
    except GmlError:
        return []


def columns_in(data: Any) -> list[str]:
    """Return the columns of whatever a verb takes as data, for a message; none if there are none.

    Examples
    --------
    >>> import gml
    >>> columns_in(gml.read("sample_data/asia.csv", columns=["smoke", "lung"]))
    ['smoke', 'lung']
    """
    if isinstance(data, str | os.PathLike):
        return column_names(str(os.fspath(data)))
    variables = getattr(data, "variables", None)
    if variables is not None:
        return [variable.name for variable in variables]
    return [str(name) for name in getattr(data, "columns", ())]


def _columns(path: str, delimiter: str | None, encoding: str | None) -> list[str]:
    from gml.counts.count_parquet import read_counts
    from gml.counts.open_count_file import is_counted
    from gml.data.parquet import is_parquet, open_parquet
    from gml.data.records import open_records

    options = reading_options(delimiter=delimiter, encoding=encoding)
    if is_counted(path):
        return list(read_counts(path).names)
    if is_parquet(path):
        with open_parquet(path, options) as table:
            return list(table.names)
    with open_records(path, options) as records:
        return list(records.names)


def node_levels(path: str) -> dict[str, tuple[str, ...]]:
    """Return the nodes of a graph or model with their levels, as far as they are known.

    Examples
    --------
    >>> node_levels("sample_data/asia.dot")["lung"]
    ()
    """
    if not _is_stored(path):
        return {}
    from gml.verbs.shared.graph_input import given_graph

    try:
        with reporting_to(_Silent()):
            given = given_graph(path, takes_fields=True)
    except GmlError:
        return {}
    levels = dict(given.graph.levels)
    if given.model is not None:
        levels.update({each.name: each.levels or () for each in given.model.variables})
    return {name: tuple(levels.get(name, ())) for name in given.graph.names}


def log_names(path: str) -> list[str]:
    """Return the columns that a log of tests is about, which its first line names.

    Examples
    --------
    >>> log_names("sample_data/asia.csv")
    []
    """
    if not _is_stored(path):
        return []
    try:
        with Path(path).open(encoding="utf-8") as file:
            first = json.loads(file.readline(_LONGEST_LINE))
        return [str(name) for name in first["names"]]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def _is_stored(path: str) -> bool:
    """Whether it is a file or a folder; a name that neither can have is no error."""
    return is_file(path) or is_folder(path)

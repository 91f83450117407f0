"""The text of a graph or model file: decompressed by content, decoded, from a path or a pipe."""

from __future__ import annotations

import os

from gml.data import text_file
from gml.errors import DataError, GraphError


def read_text(path: str | os.PathLike[str]) -> str:
    """Return the text of a file, or of standard input for `-`, as `gml.data.text_file` reads it."""
    try:
        return text_file.read_text(path)
    except DataError as error:
        raise GraphError(str(error)) from None

"""What a path leads to, for any path: where pathlib may raise, the answer is no.

That is so for names that no file can have, such as one with a null character, and in folders that
may not be searched; whoever opens the file says what is wrong.
"""

from __future__ import annotations

import os

AnyPath = str | os.PathLike[str]


def is_file(path: AnyPath) -> bool:
    """Whether a path is a regular file.

    Examples
    --------
    >>> is_file("sample_data/asia.csv"), is_file("sample_data"), is_file("a\\0b")
    (True, False, False)
    """
    return os.path.isfile(path)  # noqa: PTH113


def is_folder(path: AnyPath) -> bool:
    """Whether a path is a folder."""
    return os.path.isdir(path)  # noqa: PTH112


def is_there(path: AnyPath) -> bool:
    """Whether a path is anything at all."""
    return os.path.exists(path)  # noqa: PTH110

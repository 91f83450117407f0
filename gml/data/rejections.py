"""Which table an error is about, for those who have several inputs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from gml.errors import DataError


@contextmanager
def about(source: object) -> Iterator[None]:
    """Let errors within a block know which table they are about, if it is not known yet.

    Examples
    --------
    >>> try:
    ...     with about("t.csv"):
    ...         raise DataError("no rows")
    ... except DataError as error:
    ...     error.source
    't.csv'
    """
    try:
        yield
    except DataError as error:
        if error.source is None:
            error.source = source
        raise

"""Graphs and data in a wrong order: recognised by what the files hold, once a verb refuses one."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar

from gml.errors import DataError, UsageError, place

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")


class SwappedArguments(UsageError):
    """A graph or model was given as the data, and the table in its place.

    `graph` and `table` are their paths, for who knows how the call should have been written.
    """

    def __init__(self, graph: str, kind: str, table: str) -> None:
        files = f"{place(graph)!r} is {kind}, and {place(table)!r} is a table"
        super().__init__(f"{files}: data come first")
        self.graph = graph
        self.table = table
        self._made_of = (graph, kind, table)

    def __reduce__(self) -> tuple[type[SwappedArguments], tuple[str, str, str]]:
        return type(self), self._made_of


def answers_swapped(
    *graphs: str,
) -> Callable[[Callable[_Parameters, _Result]], Callable[_Parameters, _Result]]:
    """Let a verb say so if `data` is a graph or model, and one of these parameters a table.

    Of several deliveries any may be the model: the first that is one counts.

    Examples
    --------
    >>> import gml
    >>> gml.fit("sample_data/asia.dot", "sample_data/asia.csv")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    gml.verbs.shared.swapped.SwappedArguments: 'sample_data/asia.dot' is a DOT graph, and ...
    """

    def decorate(verb: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
        # Kept, as it takes longer to find out than the rest of this.
        signature = inspect.signature(verb)

        @functools.wraps(verb)
        def wrapper(*args: _Parameters.args, **keywords: _Parameters.kwargs) -> _Result:
            given = signature.bind_partial(*args, **keywords).arguments
            with answering_swapped(given.get("data"), [given.get(name) for name in graphs]):
                return verb(*args, **keywords)

        return wrapper

    return decorate


@contextmanager
def answering_swapped(data: Any, graphs: Any) -> Iterator[None]:
    """Say so if what is rejected within a block is rejected because the order is wrong."""
    try:
        yield
    except DataError as error:
        swapped = _swapped(data, graphs)
        if swapped is None:
            raise
        raise swapped from error


def _swapped(data: Any, graphs: Any) -> SwappedArguments | None:
    from gml.formats.recognition import begins_like_table, graph_kind

    table = next((path for path in _paths(graphs) if begins_like_table(path)), None)
    if table is None:
        return None
    kinds = ((path, graph_kind(path)) for path in _paths(data))
    return next((SwappedArguments(path, kind, table) for path, kind in kinds if kind), None)


def _paths(given: Any) -> Iterator[str]:
    """The paths among what was given, in lists or not."""
    given = list(given.values()) if isinstance(given, Mapping) else given
    for item in given if isinstance(given, list | tuple) else [given]:
        if isinstance(item, list | tuple):
            yield from _paths(item)
        elif isinstance(item, str | os.PathLike):
            yield str(os.fspath(item))

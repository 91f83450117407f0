"""What a result says about how it was made.

A verb says what it did, and what it was asked for: the keywords of the call, or the options of the
command line.
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar

from gml.calls import parameters_of
from gml.counts.counter import Counter
from gml.data.options import names_of
from gml.graph.graph import Graph
from gml.graph.provenance import Provenance
from gml.verbs.shared.unrecorded import UNRECORDED

if TYPE_CHECKING:
    from gml.graph.knowledge import Knowledge

_Parameters = ParamSpec("_Parameters")
_NAMES = {"columns", "exclude", "labels", "na", "numeric", "order", "phases"}


class _Learned(Protocol):
    @property
    def graph(self) -> Graph: ...


_Result = TypeVar("_Result")
_Graphs = TypeVar("_Graphs", bound=_Learned)


def records_keywords(
    function: Callable[_Parameters, _Result],
) -> Callable[_Parameters, _Result]:
    """Tell a verb what it was `asked` for, unless the caller does; its provenance records that."""
    names = parameters_of(inspect.unwrap(function))

    @functools.wraps(function)
    def wrapper(*args: _Parameters.args, **keywords: _Parameters.kwargs) -> _Result:
        if keywords.get("asked") is None:
            keywords["asked"] = plain_keywords({**dict(zip(names, args, strict=False)), **keywords})
        return function(*args, **keywords)

    return wrapper


def plain_keywords(keywords: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keywords that a file can hold and that bear on the result."""
    return {
        name.rstrip("_"): list(names_of(name, value)) if name in _NAMES else _plain(value)
        for name, value in sorted(keywords.items())
        if name not in UNRECORDED and _is_plain(value)
    }


def described(result: _Graphs, counter: Counter, learning: Provenance) -> _Graphs:
    """Return a result whose graphs know what the columns hold, and have their provenance."""
    levels = {v.name: v.levels for v in counter.variables if v.levels is not None}
    numeric = tuple(v.name for v in counter.variables if v.levels is None)
    learning = with_kinds(learning, counter)
    changed = {
        name: replace(graph, learning=learning, levels=levels, numeric=numeric)
        for name in ("graph", "dag")
        if isinstance(graph := getattr(result, name, None), Graph)
    }
    return replace(result, **changed)  # type: ignore[type-var]


def with_kinds(learning: Provenance, counter: Counter) -> Provenance:
    """Say which columns were numeric by their values alone."""
    by_rule = [v.name for v in counter.variables if v.name in counter.by_rule]
    return learning.also(kinds={"numeric": by_rule}) if by_rule else learning


def recorded(
    asked: Mapping[str, Any] | None, counter: Counter, *, policy: bool = True
) -> dict[str, Any]:
    """Return the options to record: those asked for, and how the data were read in the end.

    A schema or a graph may have said so. An encoding stays only where it was needed, and what
    became of missing values, the `policy`, is taken from the data unless that is said elsewhere.
    """
    found, treated = dict(asked or {}), counter.missing_treatment
    dialect = (treated and treated.dialect) or {}
    if "encoding" not in dialect:
        found.pop("encoding", None)
    known = dict(dialect)
    if policy and treated is not None and treated.policy != "error":
        known["missing"] = treated.policy
    return dict(sorted({**known, **found}.items()))


def learned_by(
    command: str,
    counter: Counter,
    settings: Mapping[str, Any],
    knowledge: Knowledge,
    asked: Mapping[str, Any] | None,
    *,
    rows: int | float | None = None,
) -> Provenance:
    """Say how a graph is learned from data with some settings."""
    learning = Provenance.of(
        command,
        options=recorded(asked, counter),
        settings=settings,
        rows=counter.n if rows is None else rows,
        data=counter.digest,
    )
    if not knowledge:
        return learning
    from gml.formats.knowledge import as_json

    return learning.also(knowledge=as_json(knowledge))


def _is_plain(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    if isinstance(value, Mapping):
        return all(isinstance(key, str) and _is_plain(item) for key, item in value.items())
    return value is not None and isinstance(value, str | int | float | bool | os.PathLike)


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return os.fspath(value) if isinstance(value, os.PathLike) else value

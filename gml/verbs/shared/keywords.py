"""Keywords of verbs: a misspelt one is answered with the nearest; a schema stands for some."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, ParamSpec, TypeVar

from gml.data.dialect import tell_of_difference
from gml.data.options import KEYWORDS, schema_of
from gml.errors import UnknownParameter, unknown_name
from gml.parameters import Entry, options_of

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")
_ASKED = "asked"


def answers_misspelling(
    *registries: Mapping[str, Entry],
    reading: Collection[str] = KEYWORDS,
    elsewhere: Mapping[str, str] = MappingProxyType({}),
) -> Callable[[Callable[_Parameters, _Result]], Callable[_Parameters, _Result]]:
    """Let a verb refuse a keyword that it does not have, with a hint.

    What a schema (`levels`) says of missing values is a keyword too, unless that is given.

    The keywords of a verb are its parameters, the options of the entries of registries, and those
    of reading. `elsewhere` says how else to get what some other keywords would be for.

    Examples
    --------
    >>> @answers_misspelling()
    ... def learn(data, *, alpha=0.05, **reading):
    ...     return alpha
    >>> learn("survey.csv", alhpa=0.01)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    gml.errors.UnknownParameter: parameter 'alhpa' not found; did you mean 'alpha'? there are ...
    """

    def decorate(verb: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
        own = parameters_of(verb)

        @functools.wraps(verb)
        def wrapper(*args: _Parameters.args, **keywords: _Parameters.kwargs) -> _Result:
            others = [name for name in keywords if name not in own and name not in reading]
            if others:
                options = [name for registry in registries for name in options_of(registry)]
                # What the command line hands over is not for users.
                known = [*(name for name in own if name != _ASKED), *options, *reading]
                for name in others:
                    if name in elsewhere:
                        raise UnknownParameter(f"parameter {name!r} not found: {elsewhere[name]}")
                    if name not in known:
                        raise UnknownParameter(unknown_name("parameter", name, known))
            if "levels" in reading and keywords.get("levels") is not None:
                _take_policy(keywords, recorded=_ASKED in own)
            return verb(*args, **keywords)

        return wrapper

    return decorate


def _take_policy(keywords: dict[str, Any], *, recorded: bool) -> None:
    """Let verbs see what a schema says of missing values, which many look at before they read.

    Of a policy that was asked for, the schema says nothing from now on.
    """
    schema = schema_of(keywords["levels"])
    said = schema.dialect.get("missing")
    if said is not None and keywords.get("missing") is None:
        keywords["missing"] = said.value
        if recorded:
            keywords[_ASKED] = {**(keywords.get(_ASKED) or {}), "missing": said.value}
    elif said is not None and keywords["missing"] != said.value:
        tell_of_difference("missing", keywords["missing"], said)
        rest = {name: other for name, other in schema.dialect.items() if name != "missing"}
        schema = replace(schema, dialect=rest)
    keywords["levels"] = schema


def parameters_of(function: Callable[..., object]) -> tuple[str, ...]:
    """Return the names of the parameters of a function, in their order."""
    code = function.__code__
    return tuple(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])

"""The front door of every verb: calls that are wrong are answered with what would be right.

A misspelt keyword is answered with the nearest that the verb has, one of another package with what
gml calls it, and a missing argument with what it can be. What goes wrong further on is an error of
the line that called.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, ParamSpec, TypeVar

from gml.calls import Choices, ends_at_caller, parameters_of, require_arguments
from gml.data.dialect import tell_of_difference
from gml.data.options import KEYWORDS, schema_of
from gml.errors import UnknownParameter, unknown_name
from gml.independence.registry import TESTS
from gml.parameters import Entry, canonical, options_of
from gml.scores.registry import RIVALS, SCORES
from gml.synonyms import parameter_meant

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")
_ASKED = "asked"
_NOTHING: Mapping[str, Any] = MappingProxyType({})


def front_door(
    *registries: Mapping[str, Entry],
    reading: Collection[str] | None = KEYWORDS,
    elsewhere: Mapping[str, str] = _NOTHING,
    choices: Mapping[str, Choices] = _NOTHING,
) -> Callable[[Callable[_Parameters, _Result]], Callable[_Parameters, _Result]]:
    """Let a verb refuse calls that are wrong, with a hint; it stands above other decorators.

    The keywords of a verb are its parameters, the options of the entries of registries, and those
    of reading (None: any); what a schema (`levels`) says of missing values is one too, unless that
    is given. `elsewhere` says how else to get what some other keywords would be for,
    `choices` what there is for an argument that is missing.

    Examples
    --------
    >>> @front_door()
    ... def learn(data, *, alpha=0.05, **reading):
    ...     return alpha
    >>> learn("survey.csv", alhpa=0.01)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    gml.errors.UnknownParameter: parameter 'alhpa' not found; did you mean 'alpha'? there are ...
    >>> learn("survey.csv", significance_level=0.01)
    Traceback (most recent call last):
    gml.errors.UnknownParameter: parameter 'significance_level' not found; use `alpha`
    >>> learn("survey.csv", 0.01)
    Traceback (most recent call last):
    gml.calls.WrongCall: all but `data` need their names: `alpha`
    """

    def decorate(verb: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
        own = parameters_of(inspect.unwrap(verb))

        @ends_at_caller
        @functools.wraps(verb)
        def wrapper(*args: _Parameters.args, **keywords: _Parameters.kwargs) -> _Result:
            others = [name for name in keywords if name not in own and name not in (reading or ())]
            if others and reading is not None:
                options = [name for registry in registries for name in options_of(registry)]
                # What the command line hands over is not for users.
                known = [*(name for name in own if name != _ASKED), *options, *reading]
                for name in others:
                    _require_known(name, known, elsewhere)
            require_arguments(inspect.unwrap(verb), args, keywords, choices)
            keywords.update(_canonical_names(keywords))
            if reading is not None and "levels" in reading and keywords.get("levels") is not None:
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


def _canonical_names(keywords: Mapping[str, Any]) -> dict[str, Any]:
    """The tests and scores among keywords, as their registries call them."""
    found = {}
    for key in ("test", "score"):
        given = keywords.get(key)
        if given is not None:
            known = TESTS if key == "test" else [*SCORES, *RIVALS]
            several = isinstance(given, list | tuple)
            found[key] = (
                [canonical(one, known) for one in given] if several else canonical(given, known)
            )
    return found


def _require_known(name: str, known: Collection[str], elsewhere: Mapping[str, str]) -> None:
    """Refuse a keyword that a verb does not have."""
    if name in elsewhere:
        raise UnknownParameter(f"parameter {name!r} not found: {elsewhere[name]}")
    if name not in known:
        meant = parameter_meant(name, known)
        if meant is not None:
            raise UnknownParameter(f"parameter {name!r} not found; use {meant}")
        raise UnknownParameter(unknown_name("parameter", name, known))

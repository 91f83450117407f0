"""Keywords of verbs: a misspelt one is answered with the nearest that the verb has."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import ParamSpec, TypeVar

from gml.data.options import KEYWORDS
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
            return verb(*args, **keywords)

        return wrapper

    return decorate


def parameters_of(function: Callable[..., object]) -> tuple[str, ...]:
    """Return the names of the parameters of a function, in their order."""
    code = function.__code__
    return tuple(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])

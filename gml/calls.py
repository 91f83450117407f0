"""Calls from outside: arguments that are too few or too many, and where tracebacks end.

What is wrong with a call is an error of the line that made it, and its traceback ends there.
"""

from __future__ import annotations

import functools
import inspect
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, ParamSpec, TypeVar

from gml.errors import GmlError, UsageError, listing, parameter

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")
_DEBUG = "GML_DEBUG"
_NAMED = 5

Choices = Callable[[Any], Iterable[str]]
"""What can be chosen, given the first argument of a verb, if there is one."""


class WrongCall(UsageError, TypeError):
    """An argument too few or too many; Python's own error for that is a TypeError."""


def ends_at_caller(
    function: Callable[_Parameters, _Result],
) -> Callable[_Parameters, _Result]:
    """Let the traceback of a `GmlError` that leaves a function end with the line that called it.

    Other errors are bugs and keep all frames, and so does everything where gml calls itself, as the
    command line does, or the environment variable GML_DEBUG is set.
    """

    @functools.wraps(function)
    def wrapper(*args: _Parameters.args, **keywords: _Parameters.kwargs) -> _Result:
        try:
            return function(*args, **keywords)
        except GmlError as error:
            if _is_foreign(sys._getframe(1).f_globals.get("__name__")):
                error.__traceback__ = None
                # What it was made of is as little the caller's business; it stays in __context__.
                error.__cause__ = None
                error.__suppress_context__ = True
            # `raise error` would add this frame to the traceback again.
            raise

    return wrapper


def _is_foreign(module: object) -> bool:
    """Whether a call came from outside gml, and nobody debugs gml."""
    inside = isinstance(module, str) and module.partition(".")[0] == "gml"
    return not inside and not os.environ.get(_DEBUG)


def public(
    function: Callable[_Parameters, _Result],
    choices: Mapping[str, Choices] = MappingProxyType({}),
) -> Callable[_Parameters, _Result]:
    """Let a function refuse a call with arguments too few or too many; errors end at the caller.

    `choices` says what there is for an argument that is missing.

    Examples
    --------
    >>> @public
    ... def half(number, *, digits=3):
    ...     return round(number / 2, digits)
    >>> half()
    Traceback (most recent call last):
    gml.calls.WrongCall: half needs `number`
    """

    @ends_at_caller
    @functools.wraps(function)
    def wrapper(*args: _Parameters.args, **keywords: _Parameters.kwargs) -> _Result:
        require_arguments(function, args, keywords, choices)
        return function(*args, **keywords)

    return wrapper


def require_arguments(
    verb: Callable[..., object],
    args: tuple[Any, ...],
    keywords: Mapping[str, Any],
    choices: Mapping[str, Choices] = MappingProxyType({}),
) -> None:
    """Refuse a call with an argument too few or too many."""
    code, own = verb.__code__, parameters_of(verb)
    places, named = own[: code.co_argcount], own[code.co_argcount :]
    if places[:1] == ("self",):
        places, args = places[1:], args[1:]
    if len(args) > len(places) and not code.co_flags & inspect.CO_VARARGS:
        first = ", ".join(map(parameter, places))
        others = ", ".join(map(parameter, named[:_NAMED]))
        raise WrongCall(f"all but {first} need their names" + (f": {others}" if others else ""))
    for name in places[: len(args)]:
        if name in keywords:
            raise WrongCall(f"{parameter(name)} is given twice, by its place and by its name")
    optional = {*places[len(places) - len(verb.__defaults__ or ()) :], *(verb.__kwdefaults__ or ())}
    for name in (*places[len(args) :], *named):
        if name not in keywords and name not in optional:
            about = _description(verb, name)
            wanted = f"{verb.__name__} needs {parameter(name)}" + (f": {about}" if about else "")
            given = args[0] if args else keywords.get(places[0])
            known = listing(choices[name](given)) if name in choices else ""
            raise WrongCall(wanted + (f"; there are {known}" if known else ""))


def _description(verb: Callable[..., object], name: str) -> str:
    """What the documentation of a verb says of a parameter at first."""
    is_about, words = False, []
    for line in (inspect.getdoc(verb) or "").splitlines():
        if line[:1].strip():
            is_about = name in line.replace("*", "").split(", ")
        elif is_about:
            words += line.split()
    said = " ".join(words).partition(". ")[0].partition("; ")[0].rstrip(".")
    return said if said[1:2].isupper() else said[:1].lower() + said[1:]


def parameters_of(function: Callable[..., object]) -> tuple[str, ...]:
    """Return the names of the parameters of a function, in their order."""
    code = function.__code__
    return tuple(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])

"""Options whose values go to the library as they are.

A decorator made here declares options and injects `keywords`: the options that were given, by the
names of the library's parameters. What was not given is left to the library and its defaults.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from gml.cli.shared.option_groups import Declared, under
from gml.cli.shared.run import was_given

Function = TypeVar("Function", bound=Callable[..., Any])


def keyword_options(
    *options: Declared, names: Mapping[str, str] | None = None, heading: str | None = None
) -> Callable[[Function], Function]:
    """Declare options, in this order; `names` has parameters whose names differ.

    In the help they stand under a heading, if one is given.
    """

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            raw = {name: kwargs.pop(name) for name in declared}
            given = {
                (names or {}).get(name, name): value
                for name, value in raw.items()
                if was_given(name)
            }
            return function(*args, keywords=kwargs.pop("keywords", {}) | given, **kwargs)

        before = len(getattr(wrapper, "__click_params__", ()))
        for option in reversed(options):
            wrapper = under(heading)(option)(wrapper)
        parameters: list[click.Parameter] = wrapper.__click_params__  # type: ignore[attr-defined]
        declared = [str(parameter.name) for parameter in parameters[before:]]
        return wrapper  # type: ignore[return-value]

    return decorate

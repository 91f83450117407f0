"""The options that choose an independence test, the same for every command that tests."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from gml import TESTS, check_test
from gml.cli.shared.common_options import alpha_option
from gml.cli.shared.declared_options import click_option
from gml.cli.shared.keyword_options import keyword_options
from gml.cli.shared.option_groups import TEST
from gml.parameters import Entry, options_of, owners_of

Function = TypeVar("Function", bound=Callable[..., Any])


def test_options(
    default: str,
    *,
    alpha: float,
    df: str,
    shared: Mapping[str, Entry] | None = None,
    beside: Mapping[str, Entry] | None = None,
) -> Callable[[Function], Function]:
    """--test and what belongs to it, injected in `keywords`.

    Entries of `shared` use options of the same names too; where `beside` is given, its entries
    declare these, and the command a seed for all that is random. Where neither is so, options that
    mean nothing to the test are refused at once, before what computes is loaded.
    """
    known = "; ".join(f"{name}: {test.summary}" for name, test in TESTS.items())
    options = [
        click.option(
            "--test",
            type=click.Choice(list(TESTS), case_sensitive=False),
            default=default,
            show_default=True,
            help=f"Test to use. {known}.",
        ),
        alpha_option("Dependent if p is at most this.", alpha),
    ]
    defaults = {"df": df}
    for name, option in options_of(TESTS).items():
        if beside and (owners_of(beside, name) or option.kind == "seed"):
            continue
        others = [shared] if shared and owners_of(shared, name) else []
        options.append(click_option(option, TESTS, *others, default=defaults.get(name)))
    declare = keyword_options(*options, heading=TEST)
    return declare if shared or beside else lambda function: declare(_checked(function, default))


def _checked(function: Function, default: str) -> Function:
    # A seed may be that of other random numbers too.
    of_tests = {name for name, option in options_of(TESTS).items() if option.kind != "seed"}

    @functools.wraps(function)
    def wrapper(*args: Any, keywords: dict[str, Any], **kwargs: Any) -> Any:
        check_test(
            keywords.get("test", default),
            [name for name in keywords if name in of_tests or name == "alpha"],
        )
        return function(*args, keywords=keywords, **kwargs)

    return wrapper  # type: ignore[return-value]

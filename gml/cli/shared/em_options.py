"""How commands that fit by EM are told about hidden nodes, starts and limits."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from gml.cli.shared.assignments import split_assignments
from gml.cli.shared.common_options import seed_option
from gml.cli.shared.keyword_options import keyword_options
from gml.cli.shared.numbers import WholeRange
from gml.cli.shared.option_groups import EM
from gml.errors import UsageError, quote

Function = TypeVar("Function", bound=Callable[..., Any])


def _split(ctx: click.Context, param: click.Parameter, value: Any) -> tuple[str, ...]:
    return tuple(item for text in value for item in split_assignments(text))


hidden_option = keyword_options(
    click.option(
        "--hidden",
        multiple=True,
        metavar="H=3,G=2",
        callback=_split,
        help="Nodes of GRAPH that are not columns of DATA, with how many levels each has.",
    ),
    heading=EM,
)

limit_options = keyword_options(
    click.option(
        "--em-restarts",
        type=WholeRange(min=1),
        default=20,
        show_default=True,
        metavar="N",
        help="How many times EM starts; the best end is taken.",
    ),
    click.option(
        "--em-steps",
        type=WholeRange(min=1),
        default=100_000,
        show_default=True,
        metavar="N",
        help="Most steps of EM from each start.",
    ),
    heading=EM,
)


def em_options(function: Function) -> Function:
    """--hidden, --em-restarts, --em-steps and --seed, injected in `keywords`."""

    @functools.wraps(function)
    def wrapper(*args: Any, keywords: dict[str, Any], **kwargs: Any) -> Any:
        if "hidden" in keywords:
            keywords["hidden"] = hidden_levels(keywords["hidden"])
        return function(*args, keywords=keywords, **kwargs)

    declared = hidden_option(limit_options(keyword_options(seed_option)(wrapper)))
    return declared  # type: ignore[return-value]


def hidden_levels(items: Sequence[str]) -> dict[str, int]:
    """Return how many levels each hidden node is to have, from NAME=K.

    Examples
    --------
    >>> hidden_levels(["H=3", "a=b=2"])
    {'H': 3, 'a=b': 2}
    """
    found: dict[str, int] = {}
    for item in items:
        name, equals, levels = item.rpartition("=")
        if not equals or not levels.strip().isdecimal():
            raise UsageError(
                f"--hidden {quote(item)}: write NODE=K, with the number of its levels: H=3"
            )
        if name in found:
            raise UsageError(f"--hidden lists {quote(name)} twice")
        found[name] = int(levels)
    return found

"""Click options from what tests and scores declare."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import click

from gml.cli.shared.numbers import Real, RealRange, WholeRange
from gml.cli.shared.option_groups import RUN, under
from gml.parameters import Entry, Option, owners_of


def click_option(
    option: Option, *registries: Mapping[str, Entry], default: float | str | None = None
) -> Callable[[Any], Any]:
    """Declare an option; its help ends with the entries of registries that take it."""

    def check(ctx: click.Context, param: click.Parameter, value: Any) -> Any:
        problem = option.problem(value)
        if problem is not None:
            raise click.BadParameter(problem, ctx, param)
        return value

    takers = "; ".join(_takers(registry, option.name) for registry in registries)
    # A seed may be that of other random numbers too.
    suffix = f" ({takers})" if takers and option.kind != "seed" else ""
    declared = click.option(
        "--" + option.name.replace("_", "-"),
        type=_type_of(option),
        default=option.default if default is None else default,
        show_default=True,
        metavar=option.metavar,
        callback=check,
        help=f"{option.help}{suffix}.",
    )
    return under(RUN)(declared) if option.kind == "seed" else declared


def _takers(registry: Mapping[str, Entry], option: str) -> str:
    takers = owners_of(registry, option)
    others = [name for name in registry if name not in takers]
    if len(takers) <= len(others):
        return ", ".join(takers)
    return f"all but {', '.join(others)}" if others else "all"


def _whole(bound: float | None) -> int | None:
    return None if bound is None else int(bound)


def _type_of(option: Option) -> click.ParamType[Any]:
    if option.kind == "choice":
        return click.Choice(option.choices)
    if option.kind == "seed":
        # Any integer seeds a generator, however large.
        return click.IntRange(min=0)
    if option.kind == "whole":
        return WholeRange(min=_whole(option.least), max=_whole(option.most))
    # Two bounds of a real number are far apart: the help is better without them.
    is_range = option.least is not None and option.most is None
    return RealRange(min=option.least) if is_range else Real()

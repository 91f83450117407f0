"""Types of parameters that click does not have: lists of names, files to be written."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import click

from gml.cli.shared.run import plan_output
from gml.errors import UsageError
from gml.parameters import canonical

Function = TypeVar("Function", bound=Callable[..., Any])


def parse_list(text: str) -> tuple[str, ...]:
    """Read names from one CSV record.

    Examples
    --------
    >>> parse_list('A,"b,c"')
    ('A', 'b,c')
    """
    try:
        records = list(csv.reader([text], strict=True))
    except csv.Error as error:
        raise UsageError(f"{text!r} is not a list of names: {error}") from None
    return tuple(records[0]) if records else ()


class NameList(click.ParamType[tuple[str, ...]]):
    """A list of names, as one CSV record; `choices` are all that there can be, if not columns."""

    name = "names"

    def __init__(self, choices: Iterable[str] = ()) -> None:
        self.choices = tuple(choices)

    def convert(self, value: Any, param: Any, ctx: Any) -> tuple[str, ...]:
        names = value if isinstance(value, tuple) else parse_list(value)
        return tuple(canonical(name, self.choices) for name in names)


class OutputFormat(click.Choice[str]):
    """A format of the result; pictures that gml does not draw are answered with others."""

    def convert(self, value: Any, param: Any, ctx: Any) -> str:
        from gml.formats.suffixes import OTHER_PICTURES, PICTURES, not_drawn

        picture = str(value).lower()
        if picture in OTHER_PICTURES and "svg" in self.choices and ctx is not None:
            # Where only pictures are written, one of them is text.
            shown = self.choices if self.choices[0] == "svg" else PICTURES
            raise click.BadParameter(not_drawn(picture, shown), ctx, param)
        return super().convert(value, param, ctx)


class OutputFile(click.ParamType[str]):
    """A file (or a folder of files) that the command writes, which must be fit for that."""

    name = "file"

    def __init__(self, *, folder: bool = False) -> None:
        self._folder = folder

    def convert(self, value: Any, param: Any, ctx: Any) -> str:
        # Each command decides whether it can be standard output.
        if value != "-" and param is not None and not (ctx is None or ctx.resilient_parsing):
            named = param.metavar if isinstance(param, click.Argument) else param.opts[-1]
            return plan_output(value, str(named), folder=self._folder)
        return str(value)


def name_list_option(
    *flags: str, help_: str, choices: Iterable[str] = (), required: bool = False
) -> Callable[[Function], Function]:
    """An option that takes names as one CSV record; given again, it adds to them."""

    def joined(ctx: click.Context, param: click.Parameter, value: Any) -> tuple[str, ...]:
        return tuple(name for names in value for name in names)

    return click.option(
        *flags,
        type=NameList(choices),
        multiple=True,
        callback=joined,
        required=required,
        help=help_,
    )

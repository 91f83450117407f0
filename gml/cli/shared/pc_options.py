"""The options of PC, for `pc` and for averages of its graphs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from gml.cli.shared.keyword_options import keyword_options
from gml.cli.shared.numbers import WholeRange
from gml.cli.shared.option_groups import TEST
from gml.cli.shared.test_options import test_options
from gml.parameters import Entry

Function = TypeVar("Function", bound=Callable[..., Any])

_USE_OF_TESTS = keyword_options(
    click.option(
        "--max-cond", type=WholeRange(min=0), help="Condition on at most this many columns."
    ),
    click.option(
        "--colliders",
        type=click.Choice(["max-p", "sepset", "conservative", "majority"]),
        default="max-p",
        show_default=True,
        help="Rule by which colliders are found.",
    ),
    click.option(
        "--on-insufficient",
        type=click.Choice(["auto", "keep", "drop"]),
        default="auto",
        show_default=True,
        help="Keep or drop an edge whose test the data cannot decide; auto: keep it if there are "
        "enough rows.",
    ),
    click.option(
        "--missing-correction",
        type=click.Choice(["none", "mvpc"]),
        default="none",
        show_default=True,
        help="With --missing available: find what makes values missing, and weight rows in tests "
        "that would take that for an edge (MVPC).",
    ),
    heading=TEST,
)


def pc_options(*, beside: Mapping[str, Entry] | None = None) -> Callable[[Function], Function]:
    """The test and what PC does with it, injected in `keywords`; see test_options for `beside`."""

    def decorate(function: Function) -> Function:
        tests = test_options("auto", alpha=0.01, df="adjusted", beside=beside)
        return tests(_USE_OF_TESTS(function))

    return decorate

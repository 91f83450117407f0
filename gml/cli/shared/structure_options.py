"""How an undirected graph is learned: the options that `mrf` and `average` share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from gml.cli.shared.keyword_options import keyword_options
from gml.cli.shared.numbers import RealRange, WholeRange
from gml.cli.shared.option_groups import STRUCTURE

Function = TypeVar("Function", bound=Callable[..., Any])

_CRITERION = (
    click.option(
        "--criterion",
        type=click.Choice(["ebic", "folds"]),
        default="ebic",
        show_default=True,
        help="What chooses the penalties of --structure l1.",
    ),
    click.option(
        "--folds",
        type=WholeRange(min=2),
        metavar="K",
        help="Parts of the data for --criterion folds; 10 by default.",
    ),
)


def structure_options(
    structures: Sequence[str], help_: str, *, with_criterion: bool = False
) -> Callable[[Function], Function]:
    """--structure and what belongs to it, injected in `keywords`; the first is the default."""
    return keyword_options(
        click.option(
            "--structure",
            type=click.Choice(structures),
            default=structures[0],
            show_default=True,
            help=help_,
        ),
        click.option(
            "--max-clique",
            type=WholeRange(min=1),
            metavar="K",
            help="Most columns of a clique of --structure forward.",
        ),
        click.option(
            "--prune",
            type=click.Choice(["none", "bic", "g"]),
            default="none",
            show_default=True,
            help="Leave edges of --structure tree out that do not raise BIC, or that the G test "
            "calls none.",
        ),
        *(_CRITERION if with_criterion else ()),
        click.option(
            "--gamma",
            type=RealRange(min=0),
            default=0.25,
            show_default=True,
            help="How much the eBIC of --structure l1 dislikes many neighbours.",
        ),
        click.option(
            "--rule",
            type=click.Choice(["and", "or"]),
            default="and",
            show_default=True,
            help="An edge of --structure l1 needs the regressions of both its ends, or of one.",
        ),
        heading=STRUCTURE,
    )

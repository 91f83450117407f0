"""The options that choose scores, the same for every command that scores."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from gml import (
    EDGE_PENALTY,
    RIVALS,
    SCORES,
    SEARCH_SCORES,
    check_score_options,
    check_scores,
)
from gml.cli.shared.declared_options import click_option
from gml.cli.shared.keyword_options import keyword_options
from gml.cli.shared.option_groups import SCORE
from gml.cli.shared.parameter_types import NameList
from gml.errors import UsageError
from gml.parameters import LABELS, NUMBERS, Entry, canonical, options_of, owners_of

Function = TypeVar("Function", bound=Callable[..., Any])


def _known_scores() -> str:
    kinds = {(LABELS,): "", (NUMBERS,): "for numbers ", (LABELS, NUMBERS): "for both "}
    return "; ".join(
        said + ", ".join(name for name, score in SCORES.items() if score.columns == columns)
        for columns, said in kinds.items()
    )


def score_options(
    *,
    several: bool = True,
    show_default: str = "bic; bic-g for numbers, bic-dg for both",
    shared: Mapping[str, Entry] | None = None,
    either: bool = False,
) -> Callable[[Function], Function]:
    """--score and what belongs to it, injected in `keywords`; one score unless `several`.

    By default the library chooses by the columns. Entries of `shared` use options of the same names
    too; where there are none, options that mean nothing to the scores are refused at once, before
    what computes is loaded. With `either`, the score may be left to a search by each of two.
    """
    choices = RIVALS if either else {}
    rule = "".join(
        f" Or {name}: the better of the graphs by {' and '.join(of)}."
        for name, of in choices.items()
    )
    options = [
        click.option(
            "--score",
            "names",
            type=NameList([*SCORES, *choices]),
            show_default=show_default,
            metavar="NAMES" if several else "NAME",
            help=f"{'One or more' if several else 'One'} of {_known_scores()}.{rule}",
        )
    ]
    for name, option in options_of(SCORES).items():
        others = [shared] if shared and owners_of(shared, name) else []
        options.append(click_option(option, SCORES, *others))
    options.append(click_option(EDGE_PENALTY))
    declare = keyword_options(*options, names={"names": "score"}, heading=SCORE)
    of_scores = options_of(SCORES)

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def wrapper(*args: Any, keywords: dict[str, Any], **kwargs: Any) -> Any:
            names = keywords.get("score")
            if names is not None and not several:
                if len(names) != 1:
                    raise UsageError("--score must name one score to search by")
                keywords = {**keywords, "score": names[0]}
            if not shared:
                given = [name for name in keywords if name in of_scores]
                if names is None:
                    check_score_options([*SEARCH_SCORES.values()], given)
                elif len(names) == 1 and names[0] in choices:
                    check_score_options(choices[names[0]], given)
                else:
                    check_scores(names, given)
            return function(*args, keywords=keywords, **kwargs)

        return declare(wrapper)  # type: ignore[return-value]

    return decorate


def score_instead_options(*, shared: Mapping[str, Entry]) -> Callable[[Function], Function]:
    """--score NAME in place of the tests, injected in `keywords`.

    Stands below `test_options`, which declares the options that entries of `shared` use too.
    """
    own = [option for name, option in options_of(SCORES).items() if not owners_of(shared, name)]
    return keyword_options(
        click.option(
            "--score",
            metavar="NAME",
            callback=lambda ctx, parameter, name: canonical(name, SCORES),
            help=f"Score instead of testing: {_known_scores()}.",
        ),
        *(click_option(option, SCORES) for option in own),
        click_option(EDGE_PENALTY),
        heading=SCORE,
    )

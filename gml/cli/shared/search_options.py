"""What commands that search by a score share."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import click

from gml.cli.shared.common_options import max_seconds_option, safe_csv_option
from gml.cli.shared.keyword_options import keyword_options
from gml.cli.shared.knowledge_options import knowledge_options
from gml.cli.shared.numbers import WholeRange
from gml.cli.shared.option_groups import OUTPUT, under
from gml.cli.shared.parameter_types import OutputFile
from gml.cli.shared.score_options import score_options
from gml.errors import UsageError

if TYPE_CHECKING:
    from gml.learners.search import Trace

Function = TypeVar("Function", bound=Callable[..., Any])

Tracing: TypeAlias = "AbstractContextManager[Trace | None]"
"""Opens what takes the steps of a search."""

max_parents_option = keyword_options(
    click.option("--max-parents", type=WholeRange(min=0), help="Most parents of a node.")
)

tabu_option = keyword_options(
    click.option(
        "--tabu",
        type=WholeRange(min=0),
        default=0,
        metavar="LENGTH",
        help="Go on at a loss for LENGTH moves, leaving the edges of the last LENGTH alone; 0: do "
        "not.",
    )
)

restart_options = keyword_options(
    click.option(
        "--restarts",
        type=WholeRange(min=0),
        default=0,
        metavar="N",
        help="Search N times more, each time from the best graph with random changes.",
    ),
    click.option(
        "--perturb",
        type=WholeRange(min=1),
        metavar="K",
        help="Random changes per restart; by default drawn each time, up to one per column.",
    ),
)


def search_options(function: Function) -> Function:
    """The score, --max-parents, knowledge and --max-seconds, injected in `keywords`."""
    return _limits(score_options(several=False), function)


def greedy_search_options(function: Function) -> Function:
    """The same for a search that may be tried by each of two scores."""
    return _limits(score_options(several=False, either=True), function)


def _limits(scored: Callable[[Function], Function], function: Function) -> Function:
    return scored(max_parents_option(knowledge_options(max_seconds_option(function))))


@under(OUTPUT)
def trace_option(function: Function) -> Function:
    """--trace FILE.csv, injected as `tracing`, within which the steps of a search are taken."""
    declared = click.option(
        "--trace",
        "trace_path",
        type=OutputFile(),
        metavar="FILE.csv",
        help="Write every move of the search to this file, with its gain and the new score.",
    )

    @functools.wraps(function)
    def wrapper(*args: Any, trace_path: str | None, safe_csv: bool, **kwargs: Any) -> Any:
        from gml.verbs.shared.score_search import tracing

        if trace_path == "-":
            raise UsageError("--trace needs a file; standard output is for the graph")
        return function(*args, tracing=tracing(trace_path, safe_csv=safe_csv), **kwargs)

    return safe_csv_option(declared(wrapper))  # type: ignore[return-value]

"""What commands that search by a score share: their options, and how a result is written."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gml import __version__
from gml.cli.shared.common_options import (
    OUT_OF_TIME,
    chosen_options,
    max_seconds_option,
    safe_csv_option,
)
from gml.cli.shared.data_options import DataRequest
from gml.cli.shared.knowledge_options import KnowledgeRequest, knowledge_options
from gml.cli.shared.numbers import WholeRange
from gml.cli.shared.output import GraphOutput
from gml.cli.shared.parameter_types import OutputFile
from gml.cli.shared.score_options import ScoreRequest, score_options
from gml.errors import UsageError
from gml.progress import Deadline, reporter

if TYPE_CHECKING:
    from gml.counts.counter import Counter
    from gml.graph.graph import Graph
    from gml.graph.knowledge import Knowledge
    from gml.learners.search import SearchResult, Step, Trace
    from gml.scores.base import DecomposableScore

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class PreparedSearch:
    """The data counted, the score over them, and what limits the search."""

    counter: Counter
    score: DecomposableScore
    max_parents: int | None
    knowledge: Knowledge
    deadline: Deadline
    learning: dict[str, Any]

    def write(self, out: GraphOutput, graph: Graph, result: SearchResult, **found: Any) -> int:
        """Write the graph that was found; returns the exit code."""
        levels = {v.name: v.levels for v in self.counter.variables if v.levels is not None}
        learning = self.learning | {
            "score": result.score,
            "scores_computed": result.families,
            "steps": result.steps,
            **found,
        }
        if not result.complete:
            learning["complete"] = False
        reporter().note(
            f"score {result.score:.6f}, {result.steps} steps, {result.families} local scores"
        )
        out.write(replace(graph, levels=levels), learning)
        if result.complete:
            return 0
        reporter().warn("stopped by --max-seconds: the best graph so far was written")
        return OUT_OF_TIME


@dataclass(frozen=True)
class SearchRequest:
    """The score to search by, and what limits the search; not yet checked against the data."""

    scoring: ScoreRequest
    max_parents: int | None
    knowledge: KnowledgeRequest
    deadline: Deadline

    def require_equivalent(self, command: str) -> None:
        """Refuse a score that tells equivalent DAGs apart."""
        self.scoring.require_equivalent(command)

    def prepare(self, data: DataRequest, out: GraphOutput | None) -> PreparedSearch:
        """Read the data and make the score; without `out` no graph is written."""
        from gml.counts.counter import rows_counted
        from gml.formats.knowledge import as_json

        if data.options.missing == "available":
            raise UsageError(
                "a search compares families on the same rows; --missing available is for tests and "
                "fitting (use drop or level)"
            )
        context = click.get_current_context()
        counter = data.open(
            undeclared="numbers" if self.scoring.numeric else "labels",
            offer_available=False,
        )
        knowledge = self.knowledge.resolve([variable.name for variable in counter.variables])
        learning: dict[str, Any] = {
            "command": context.info_name,
            "options": chosen_options(),
            "settings": {"score": self.scoring.names[0], "max_parents": self.max_parents},
            "version": __version__,
            "rows": rows_counted(counter),
            "data": counter.digest,
        }
        if knowledge:
            learning["knowledge"] = as_json(knowledge)
        score = self.scoring.make(counter)[0]
        return PreparedSearch(counter, score, self.max_parents, knowledge, self.deadline, learning)


def search_options(function: Function) -> Function:
    """The score, --max-parents, knowledge and --max-seconds, injected as `search`."""

    @score_options(several=False)
    @click.option("--max-parents", type=WholeRange(min=0), help="Most parents of a node.")
    @knowledge_options
    @max_seconds_option
    @functools.wraps(function)
    def wrapper(
        *args: Any,
        scoring: ScoreRequest,
        max_parents: int | None,
        knowledge: KnowledgeRequest,
        deadline: Deadline,
        **kwargs: Any,
    ) -> Any:
        search = SearchRequest(scoring, max_parents, knowledge, deadline)
        return function(*args, search=search, **kwargs)

    return wrapper  # type: ignore[return-value]


tabu_option = click.option(
    "--tabu",
    type=WholeRange(min=0),
    default=0,
    metavar="LENGTH",
    help="Go on at a loss for LENGTH moves, leaving the edges of the last LENGTH alone; 0: do not.",
)


def restart_options(function: Function) -> Function:
    """--restarts N and --perturb K, injected as they are."""

    @click.option(
        "--restarts",
        type=WholeRange(min=0),
        default=0,
        metavar="N",
        help="Search N times more, each time from the best graph with random changes.",
    )
    @click.option(
        "--perturb",
        type=WholeRange(min=1),
        metavar="K",
        help="Random changes of a restart; drawn anew each time, up to one a column.",
    )
    @functools.wraps(function)
    def wrapper(*args: Any, restarts: int, perturb: int | None, **kwargs: Any) -> Any:
        if perturb is not None and not restarts:
            raise UsageError("--perturb is for --restarts")
        return function(*args, restarts=restarts, perturb=perturb, **kwargs)

    return wrapper  # type: ignore[return-value]


def trace_option(function: Function) -> Function:
    """--trace FILE.csv, injected as `trace_path`."""

    @click.option(
        "--trace",
        "trace_path",
        type=OutputFile(),
        metavar="FILE.csv",
        help="Write every move of the search, with its gain and the score then.",
    )
    @functools.wraps(function)
    def wrapper(*args: Any, trace_path: str | None, **kwargs: Any) -> Any:
        if trace_path == "-":
            raise UsageError("--trace needs a file; standard output is for the graph")
        return function(*args, trace_path=trace_path, **kwargs)

    return safe_csv_option(wrapper)  # type: ignore[return-value]


@contextmanager
def tracing(path: str | None) -> Iterator[Trace | None]:
    """Yield what takes the steps of a search, into a file that appears whole; None without one."""
    if path is None:
        yield None
        return
    from gml.atomic import whole_file
    from gml.formats.search_trace import HEADER, record

    with whole_file(path) as file:
        file.write(HEADER)
        number = 0

        def write(step: Step) -> None:
            nonlocal number
            number += 1
            file.write(record(number, step))

        yield write

"""gml exact DATA: the DAG of the highest score."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from gml.cli.shared.common_options import OUT_OF_TIME, common_options
from gml.cli.shared.data_options import DataRequest, fitting_data_options
from gml.cli.shared.graph_arguments import extended, read_graph_argument, require_columns
from gml.cli.shared.output import GraphOrReport, graph_or_report_output
from gml.cli.shared.search_options import PreparedSearch, SearchRequest, search_options
from gml.errors import UsageError, place
from gml.progress import reporter

if TYPE_CHECKING:
    from gml.graph.graph import Graph
    from gml.learners.exact import ExactResult


@click.command(
    "exact",
    epilog="\b\nExamples:\n"
    "  gml exact survey.csv                           # DAG as DOT on standard output\n"
    "  gml exact survey.csv --score bdeu --ess 10 --cpdag -o graph.json\n"
    "  gml exact survey.csv --max-parents 3 --tiers 'Age,Sex < Education < Income'\n"
    "  gml exact survey.csv --against hc.dot --against expert.dot\n"
    "  gml exact survey.csv --against hc.dot -f json -o optimum.dot\n"
    "  gml exact heights.csv --score bge\n"
    "\n\b\n"
    "Exit code 4: it would take more than --max-memory; nothing was written.\n"
    "Exit code 5: stopped by --max-seconds; the best graph so far was written.",
)
@fitting_data_options
@search_options
@click.option(
    "--against",
    multiple=True,
    metavar="GRAPH",
    help="Report how far this graph is from the optimum (repeatable).",
)
@click.option("--cpdag", is_flag=True, help="Write the equivalence class of the DAG instead.")
@graph_or_report_output
@common_options
def command(
    data: DataRequest,
    search: SearchRequest,
    against: tuple[str, ...],
    cpdag: bool,
    outputs: GraphOrReport,
) -> int:
    """Learn the DAG of the highest score on DATA: no other has a higher one.

    It is meant for some 20 to 25 columns, and for 40 with --max-parents 3 or --tiers; with over 25
    that depend on one another, the search itself shows whether --max-memory is enough. With fnml,
    qnml and bge every set of parents is scored: 20 columns take long unless --max-parents is given.
    Of equivalent DAGs the result is always the same one; --cpdag writes what they share, with
    knowledge the maximally oriented PDAG.

    With --against, the result is a report: the score of each GRAPH and its gap to the optimum, in
    nats; the optimum itself is written with -o only. A GRAPH that breaks --max-parents or knowledge
    may score more than the optimum.
    """
    from gml.graph.equivalence import equivalence_class
    from gml.learners.exact import exact

    if cpdag and search.scoring.not_equivalent:
        raise UsageError(
            f"--cpdag: {search.scoring.names[0]} tells equivalent DAGs apart; leave it out, or use "
            "bic, bdeu or another score-equivalent one"
        )
    report = outputs.report() if against else None
    out = outputs.graph(with_report=bool(against))
    rivals = [_Rival(path, search) for path in against]
    ready = search.prepare(data, out)
    for rival in rivals:
        require_columns(rival.dag, rival.path, ready.score.names)
    result = exact(
        ready.score,
        max_parents=ready.max_parents,
        knowledge=ready.knowledge,
        deadline=ready.deadline,
    )
    parts = ", ".join(map(str, result.components)) or "one variable each"
    reporter().note(f"{result.kept} sets of parents worth having; parts of {parts} variables")
    if out is not None:
        graph = equivalence_class(result.dag, ready.knowledge) if cpdag else result.dag
        found = {"sets_kept": result.kept, "components": list(result.components)}
        code = ready.write(out, graph, result, **found)
    else:
        code = _said_without_graph(result)
    if report is not None:
        report.write(_gaps(rivals, ready, result))
    return code


class _Rival:
    """A graph to compare with the optimum."""

    def __init__(self, path: str, search: SearchRequest) -> None:
        self.path = path
        graph = read_graph_argument(path, "against", several=True)
        if graph.kind != "dag" and search.scoring.not_equivalent:
            raise UsageError(
                f"{place(path)}: a graph of kind {graph.kind} has no score by "
                f"{search.scoring.names[0]}, which tells equivalent DAGs apart"
            )
        self.dag: Graph = extended(graph, path)


def _gaps(
    rivals: Sequence[_Rival], ready: PreparedSearch, result: ExactResult
) -> list[dict[str, Any]]:
    """A row for the optimum and one for each graph, the best first, ties in the order given."""
    from gml.scores.base import rounded, total

    rows: list[dict[str, Any]] = [
        {"graph": place(rival.path), "score": total(ready.score, rival.dag)} for rival in rivals
    ]
    for row in rows:
        row["gap"] = rounded(result.score - row["score"]) + 0.0
    rows.sort(key=lambda row: row["gap"])
    best = "optimum" if result.complete else "best so far"
    return [{"graph": best, "score": result.score, "gap": 0.0}, *rows]


def _said_without_graph(result: ExactResult) -> int:
    reporter().note(f"score {result.score:.6f}, {result.families} local scores")
    if result.complete:
        return 0
    reporter().warn("stopped by --max-seconds: the gaps are to the best graph so far")
    return OUT_OF_TIME

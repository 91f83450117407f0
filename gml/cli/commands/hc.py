"""gml hc DATA: hill climbing over DAGs."""

from __future__ import annotations

import click

from gml.cli.shared.common_options import common_options, seed_option
from gml.cli.shared.data_options import DataRequest, fitting_data_options
from gml.cli.shared.graph_arguments import read_graph_argument, require_columns
from gml.cli.shared.output import GraphOutput, graph_output
from gml.cli.shared.run import was_given
from gml.cli.shared.search_options import (
    SearchRequest,
    restart_options,
    search_options,
    tabu_option,
    trace_option,
    tracing,
)
from gml.errors import UsageError


@click.command(
    "hc",
    epilog="\b\nExamples:\n"
    "  gml hc survey.csv                              # DAG as DOT on standard output\n"
    "  gml hc survey.csv --tabu 20 --restarts 50 -o graph.json\n"
    "  gml hc survey.csv --score bdeu --ess 10 --max-parents 4 --cpdag -o graph.dot\n"
    "  gml hc survey.csv --start graph.dot --forbid 'Income->Age' -f text\n"
    "  gml hc survey.csv --trace steps.csv -o graph.dot\n"
    "  gml hc heights.csv --score bic-g\n"
    "\n\b\n"
    "Exit code 5: stopped by --max-seconds; the best graph so far was written.",
)
@fitting_data_options
@search_options
@tabu_option
@restart_options
@click.option("--start", metavar="GRAPH", help="Begin with this graph, not with the empty one.")
@click.option("--cpdag", is_flag=True, help="Write the equivalence class of the DAG instead.")
@seed_option
@trace_option
@graph_output
@common_options
def command(
    data: DataRequest,
    search: SearchRequest,
    tabu: int,
    restarts: int,
    perturb: int | None,
    start: str | None,
    cpdag: bool,
    seed: int,
    trace_path: str | None,
    out: GraphOutput,
) -> int:
    """Learn a DAG from DATA that no change of one edge improves (hill climbing).

    The edge whose adding, deleting or reversing raises the score most is changed, until none does.
    That often ends far below the best graph: --tabu and --restarts go on from there (--tabu 15
    --restarts 50 is a good start), and gml ges searches over equivalence classes instead.
    """
    from gml.graph.equivalence import equivalence_class
    from gml.learners.hillclimb import hill_climb

    if was_given("seed") and not restarts:
        raise UsageError("--seed is for --restarts")
    if cpdag:
        search.require_equivalent("--cpdag")
    begin = None if start is None else read_graph_argument(start, "start")
    prepared = search.prepare(data, out)
    if begin is not None:
        require_columns(begin, str(start), prepared.score.names)
    with tracing(trace_path) as trace:
        result = hill_climb(
            prepared.score,
            max_parents=prepared.max_parents,
            knowledge=prepared.knowledge,
            start=begin,
            tabu=tabu,
            restarts=restarts,
            perturb=perturb,
            seed=seed,
            deadline=prepared.deadline,
            trace=trace,
        )
        graph = result.dag
        if cpdag:
            graph = equivalence_class(result.dag, prepared.knowledge)
        return prepared.write(out, graph, result)

"""gml hc DATA: hill climbing over DAGs."""

from __future__ import annotations

from typing import Any

import click

from gml.cli.shared.command import Command
from gml.cli.shared.common_options import chosen_options, common_options, exit_code, seed_option
from gml.cli.shared.data_options import DataRequest, em_data_options
from gml.cli.shared.keyword_options import keyword_options
from gml.cli.shared.output import GraphOutput
from gml.cli.shared.output_options import graph_output
from gml.cli.shared.planning import dry_run_option
from gml.cli.shared.run import claim_input
from gml.cli.shared.search_options import (
    Tracing,
    greedy_search_options,
    restart_options,
    tabu_option,
    trace_option,
)


@click.command(
    "hc",
    cls=Command,
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
@em_data_options
@greedy_search_options
@tabu_option
@restart_options
@click.option(
    "--start", metavar="GRAPH", help="Begin with this graph; by default with the empty one."
)
@keyword_options(
    click.option("--cpdag", is_flag=True, help="Write the equivalence class of the DAG instead."),
    seed_option,
)
@trace_option
@graph_output
@dry_run_option
@common_options
def command(
    data: DataRequest,
    keywords: dict[str, Any],
    start: str | None,
    tracing: Tracing,
    out: GraphOutput,
) -> int:
    """Learn a DAG from DATA that no change of one edge improves (hill climbing).

    Each step adds, deletes or reverses the edge that raises the score most, until none does. That
    often ends far below the best graph: --tabu and --restarts continue from there (--tabu 15
    --restarts 50 is a good start), and gml ges searches over equivalence classes instead.
    """
    from gml.verbs.hc import hc

    if start is not None:
        start = claim_input(start, "start")
    with tracing as trace:
        result = hc(
            data.path,
            start=start,
            trace=trace,
            threads=data.threads,
            asked=chosen_options(),
            **keywords,
            **data.reading,
        )
        out.write(result.graph)
    return exit_code(result)

"""gml ges DATA: greedy equivalence search."""

from __future__ import annotations

from typing import Any

import click

from gml.cli.shared.command import Command
from gml.cli.shared.common_options import chosen_options, common_options, exit_code, seed_option
from gml.cli.shared.data_options import DataRequest, em_data_options
from gml.cli.shared.keyword_options import keyword_options
from gml.cli.shared.output import GraphOutput
from gml.cli.shared.output_options import graph_output
from gml.cli.shared.parameter_types import NameList
from gml.cli.shared.planning import dry_run_option
from gml.cli.shared.search_options import (
    Tracing,
    greedy_search_options,
    restart_options,
    trace_option,
)


@click.command(
    "ges",
    cls=Command,
    epilog="\b\nExamples:\n"
    "  gml ges survey.csv                             # CPDAG as DOT on standard output\n"
    "  gml ges survey.csv --restarts 50 -o graph.json\n"
    "  gml ges survey.csv --score bdeu --ess 10 -f text\n"
    "  gml ges survey.csv --tiers 'Age,Sex < Education < Income' -o graph.dot\n"
    "  gml ges survey.csv --phases forward,backward --dag -o dag.json\n"
    "  gml ges heights.csv --score bic-g --extended\n"
    "  gml ges heights.csv --score bge\n"
    "\n\b\n"
    "Exit code 5: stopped by --max-seconds; the best graph so far was written.",
)
@em_data_options
@greedy_search_options
@keyword_options(
    click.option(
        "--phases",
        type=NameList(("forward", "backward", "turning")),
        default="forward,backward,turning",
        show_default=True,
        metavar="NAMES",
        help="Phases to repeat in this order until none gains.",
    ),
    click.option(
        "--extended",
        is_flag=True,
        help="Prefer deletions, and try what comes of deleting each edge: slower, often better.",
    ),
)
@restart_options
@click.option("--dag", is_flag=True, help="Write a DAG of the equivalence class instead.")
@keyword_options(seed_option)
@trace_option
@graph_output
@dry_run_option
@common_options
def command(
    data: DataRequest,
    keywords: dict[str, Any],
    dag: bool,
    tracing: Tracing,
    out: GraphOutput,
) -> int:
    """Learn a CPDAG from DATA by greedy search over equivalence classes (GES).

    Edges are inserted, deleted and turned in whole classes of DAGs that no data can tell apart,
    until nothing raises the score. With enough rows the result is the true class; with fewer there
    may be a better one, which --extended, --restarts or gml hc --tabu 15 --restarts 50 may find.
    With knowledge the result is the maximally oriented PDAG.
    """
    from gml.verbs.ges import ges

    with tracing as trace:
        result = ges(
            data.path,
            trace=trace,
            threads=data.threads,
            asked=chosen_options(),
            **keywords,
            **data.reading,
        )
        out.write(result.dag if dag else result.graph)
    return exit_code(result)

"""gml exact DATA: the DAG with the highest score."""

from __future__ import annotations

from typing import Any

import click

from gml import scores_without_ceilings
from gml.cli.shared.command import Command
from gml.cli.shared.common_options import chosen_options, common_options, exit_code
from gml.cli.shared.data_options import DataRequest, fitting_data_options
from gml.cli.shared.keyword_options import keyword_options
from gml.cli.shared.output import GraphOrReport
from gml.cli.shared.output_options import graph_or_report_output
from gml.cli.shared.planning import dry_run_option
from gml.cli.shared.run import claim_input
from gml.cli.shared.search_options import search_options


def _slow_scores() -> str:
    *others, last = scores_without_ceilings()
    return f"{', '.join(others)} and {last}"


_HELP = f"""Learn the DAG with the highest score on DATA: no other scores higher.

It is meant for 20 to 25 columns, or 40 with --max-parents 3 or --tiers; with more than 25 that
depend on one another, only the search itself shows whether --max-memory is enough. With
{_slow_scores()} every set of parents is scored: 20 columns take long unless --max-parents is
given. Among equivalent DAGs the result is always the same one; --cpdag writes what they share or,
with knowledge, the maximally oriented PDAG.

With --against, the result is a report: the score of each GRAPH and its gap to the optimum, in
nats; the optimum itself is written only with -o. A GRAPH that breaks --max-parents or knowledge may
score higher than the optimum.
"""


@click.command(
    "exact",
    cls=Command,
    help=_HELP,
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
@keyword_options(
    click.option("--cpdag", is_flag=True, help="Write the equivalence class of the DAG instead.")
)
@graph_or_report_output
@dry_run_option
@common_options
def command(
    data: DataRequest,
    keywords: dict[str, Any],
    against: tuple[str, ...],
    outputs: GraphOrReport,
) -> int:
    """Learn the DAG with the highest score on DATA."""
    from gml.verbs.exact import exact

    report = outputs.report() if against else None
    out = outputs.graph(with_report=bool(against))
    others = [claim_input(path, "against", several=True) for path in against]
    result = exact(
        data.path,
        against=others,
        threads=data.threads,
        asked=chosen_options(),
        **keywords,
        **data.reading,
    )
    if out is not None:
        out.write(result.graph)
    if report is not None:
        report.write([vars(gap) for gap in result.gaps])
    return exit_code(result)

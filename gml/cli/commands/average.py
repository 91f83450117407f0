"""gml average DATA: how certain each edge is, over samples or over all graphs."""

from __future__ import annotations

from typing import Any

import click

from gml import SCORES, TESTS
from gml.cli.shared.chain_options import chain_options
from gml.cli.shared.command import Command
from gml.cli.shared.common_options import (
    chosen_options,
    common_options,
    exit_code,
    max_seconds_option,
    safe_csv_option,
    seed_option,
)
from gml.cli.shared.data_options import DataRequest, data_options
from gml.cli.shared.keyword_options import keyword_options
from gml.cli.shared.knowledge_options import knowledge_options
from gml.cli.shared.numbers import RealRange, WholeRange
from gml.cli.shared.output import GraphOutput, ReportOutput
from gml.cli.shared.output_options import graph_output
from gml.cli.shared.parameter_types import OutputFile
from gml.cli.shared.pc_options import pc_options
from gml.cli.shared.planning import dry_run_option
from gml.cli.shared.score_options import score_options
from gml.cli.shared.search_options import restart_options, tabu_option
from gml.cli.shared.structure_options import structure_options
from gml.errors import UsageError
from gml.verbs.shared.averaged_learners import BY, MOST_PARENTS
from gml.verbs.shared.structure_names import STRUCTURES_AVERAGED


@click.command(
    "average",
    cls=Command,
    epilog="\b\nExamples:\n"
    "  gml average survey.csv --by hc                    # 200 bootstrap samples\n"
    "  gml average survey.csv --by ges --bootstrap 500 --seed 1 -f text\n"
    "  gml average survey.csv --by hc --score bdeu --ess 5 --threshold 0.85 -o graph.json\n"
    "  gml average survey.csv --by exact --max-parents 3 -f text  # up to about 20 columns\n"
    "  gml average genes.csv --by order-mcmc --candidates 10 --chains 8 -o graph.json\n"
    "  gml average survey.csv --by mrf --structure l1 -f text     # undirected graphs\n"
    "  gml average survey.csv --by pc --alpha 0.001 --probabilities pairs.csv -o graph.dot\n"
    "\n\b\n"
    "Exit code 5: stopped by --max-seconds; what was ready is averaged (4: nothing was).",
)
@data_options
@click.option(
    "--by",
    type=click.Choice(BY),
    required=True,
    help="What to average: the graphs that hc, ges, pc or, undirected, mrf learn from samples of "
    "the rows, or all DAGs by their posterior probability: exact, or order-mcmc for many columns.",
)
@keyword_options(
    click.option(
        "--bootstrap",
        type=WholeRange(min=2),
        default=200,
        show_default=True,
        metavar="N",
        help="Number of samples: for learners by a score as many rows as there are, with "
        "replacement; for pc, --structure l1 and --prune g half of the rows.",
    ),
    click.option(
        "--threshold",
        type=RealRange(min=0, max=1, min_open=True),
        help="Least strength of an edge; by default found from the data, 0.5 for a posterior.",
    ),
)
@score_options(
    several=False,
    show_default="bic, bic-g for numbers, bic-dg for both; exact and order-mcmc: bdeu, bge, bic-dg",
    shared=TESTS,
)
@keyword_options(
    click.option(
        "--max-parents",
        type=WholeRange(min=0),
        help=f"Most parents of a node; {MOST_PARENTS} by default for order-mcmc.",
    )
)
@structure_options(
    STRUCTURES_AVERAGED,
    "What --by mrf learns: decomposable graphs by --score, the Chow–Liu tree, or neighbourhoods by "
    "penalised regressions.",
)
@tabu_option
@restart_options
@chain_options
@pc_options(beside=SCORES)
@knowledge_options
@keyword_options(seed_option)
@click.option("--dag", is_flag=True, help="Write a DAG of the equivalence class instead.")
@click.option(
    "--probabilities",
    type=OutputFile(),
    metavar="FILE",
    help="Write strength and direction of all pairs, edges or not, to this file: .csv .json .txt …",
)
@safe_csv_option
@max_seconds_option
@graph_output
@dry_run_option
@common_options
def command(
    data: DataRequest,
    by: str,
    keywords: dict[str, Any],
    dag: bool,
    probabilities: str | None,
    safe_csv: bool,
    out: GraphOutput,
) -> int:
    """Learn from DATA how certain each edge is: average many graphs instead of picking one.

    hc, ges and pc are run on many samples of the rows; `strength` is the share of graphs that have
    an edge, and `direction` the share of these with this direction, where an undirected edge
    counts half. exact sums over all DAGs instead, and order-mcmc over those of many orders:
    `strength` is then the posterior probability of an edge in either direction, under a prior that
    is uniform over orders and sets of parents. The averaged graph has the edges whose strength
    reaches the threshold, and is always a valid CPDAG or, with knowledge, a maximally oriented
    PDAG: arrows follow from its colliders, so one may point against a weak majority. With mrf it
    is undirected: `strength` is the stability of an edge.
    """
    from gml.formats.reports.rows import MadeAnew
    from gml.formats.suffixes import REPORT_SUFFIXES, format_of
    from gml.verbs.average import average

    pairs = None
    if probabilities == "-":
        raise UsageError("--probabilities needs a file; standard output is for the graph")
    if probabilities is not None:
        format_ = format_of(probabilities, REPORT_SUFFIXES, or_option="")
        pairs = ReportOutput(probabilities, format_, safe_csv)
    if dag and by == "mrf":
        raise UsageError("--dag does not go with --by mrf, whose graphs have no directions")
    averaged = average(
        data.path, by, threads=data.threads, asked=chosen_options(), **keywords, **data.reading
    )
    # First: a format may refuse the names, and then the shares do not appear either.
    out.write(averaged.dag if dag and averaged.dag is not None else averaged.graph)
    if pairs is not None:
        shares = averaged.shares
        number = len(shares.names) * (len(shares.names) - 1) // 2
        pairs.write(MadeAnew(number, lambda: (pair._asdict() for pair in shares.pairs())))
    return exit_code(averaged)

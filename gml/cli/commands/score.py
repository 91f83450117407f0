"""gml score DATA GRAPH…: how well graphs fit."""

from __future__ import annotations

from typing import Any

import click

from gml.cli.shared.command import Command
from gml.cli.shared.common_options import common_options, exit_code, max_seconds_option
from gml.cli.shared.data_options import DataRequest, em_data_options
from gml.cli.shared.em_options import em_options
from gml.cli.shared.keyword_options import keyword_options
from gml.cli.shared.numbers import Real, WholeRange
from gml.cli.shared.output import ScoreOutput
from gml.cli.shared.output_options import score_output
from gml.cli.shared.planning import dry_run_option
from gml.cli.shared.run import claim_input
from gml.cli.shared.score_options import score_options


@click.command(
    "score",
    cls=Command,
    epilog="\b\nExamples:\n"
    "  gml score survey.csv graph.dot\n"
    "  gml score survey.csv a.dot b.dot --score bdeu,bic --ess 10\n"
    "  gml score survey.csv graph.json --per-node -f csv\n"
    "  gml score survey.csv new.dot --compare-to accepted.dot -o /dev/null || echo worse\n"
    "  gml score survey.csv a.dot b.dot --folds 10\n"
    "  gml score survey.csv tan.dot bayes.dot --folds 10 --predict Class\n"
    "  gml score heights.csv graph.dot --score bge\n"
    "  gml score holes.csv a.dot b.dot --missing em --score bic,bdeu\n"
    "\n\b\n"
    "Exit codes with --fail-under or --compare-to: 0 as good, 1 worse.",
)
@em_data_options
@click.argument("graph_paths", metavar="GRAPH...", nargs=-1, required=True)
@score_options()
@keyword_options(
    click.option("--per-node", is_flag=True, help="Also report the score of each node."),
    click.option(
        "--explain",
        is_flag=True,
        help="Report the likelihood as n(ΣI(x;pa) − ΣH(x)), node by node.",
    ),
    click.option(
        "--fail-under",
        type=Real(),
        metavar="X",
        help="Exit 1 if the (first) score of a graph is below X.",
    ),
    click.option("--compare-to", metavar="GRAPH", help="Exit 1 if a graph is worse than this one."),
    click.option(
        "--holdout", metavar="FILE", help="Fit on DATA, and report how well FILE is predicted."
    ),
    click.option(
        "--folds",
        type=WholeRange(min=2),
        metavar="K",
        help="Report the same by K-fold cross-validation.",
    ),
    click.option(
        "--predict",
        metavar="COLUMN",
        help="Also report how well COLUMN is predicted from the others in those rows: accuracy, "
        "log loss, Brier score; with -f json, the confusion table.",
    ),
    click.option(
        "--prior",
        type=click.Choice(["jeffreys", "k2", "uniform", "bdeu"]),
        help="Prior of the tables fitted for --holdout and --folds.  [default: jeffreys; bdeu if a "
        "graph is undirected and not decomposable]",
    ),
)
@em_options
@max_seconds_option
@score_output
@dry_run_option
@common_options
def command(
    data: DataRequest, graph_paths: tuple[str, ...], keywords: dict[str, Any], out: ScoreOutput
) -> int:
    """Score graphs on DATA (higher is better); several are ranked by the first score.

    A graph that stands for several DAGs (a CPDAG, a decomposable undirected graph) is scored
    through one of them, by scores that give equivalent DAGs the same value. Other undirected graphs
    and models are fitted by maximum likelihood, and have loglik, aic and bic. Differences are from
    the best graph by that score; log10_bf is the decimal logarithm of the Bayes factor against it
    (approximate for bic; not with --edge-penalty). With --holdout or --folds, heldout is the mean
    −ln p per row that was not fitted, in nats (lower is better), and ranks the graphs; with
    --predict, the log loss of the column does. With --missing em, and for --hidden nodes, scores
    are loglik, aic and bic of what was seen of each row, and bdeu as Cheeseman and Stutz
    approximate it.
    """
    from gml.verbs.score import score

    graphs = [claim_input(path, "graph", several=True) for path in graph_paths]
    for role in ("compare_to", "holdout"):
        if role in keywords:
            keywords[role] = claim_input(keywords[role], role)
    report = score(data.path, graphs, threads=data.threads, **keywords, **data.reading)
    out.write(report.graphs, report.rows)
    return 1 if report.is_worse else exit_code(report)

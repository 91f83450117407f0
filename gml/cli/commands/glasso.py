"""gml glasso DATA: the graphical lasso."""

from __future__ import annotations

from typing import Any

import click

from gml.cli.shared.command import Command
from gml.cli.shared.common_options import (
    chosen_options,
    common_options,
    exit_code,
    max_seconds_option,
    seed_option,
)
from gml.cli.shared.data_options import DataRequest, data_options
from gml.cli.shared.keyword_options import keyword_options
from gml.cli.shared.numbers import RealRange, WholeRange
from gml.cli.shared.output import GraphOutput
from gml.cli.shared.output_options import graph_output

_options = keyword_options(
    click.option(
        "--l1",
        type=RealRange(min=0),
        metavar="WEIGHT",
        help="The penalty, in units of correlations; by default --criterion chooses it.",
    ),
    click.option(
        "--criterion",
        type=click.Choice(["ebic", "folds"]),
        default="ebic",
        show_default=True,
        help="Choose the penalty by the extended BIC, or by the likelihood of held-out rows.",
    ),
    click.option(
        "--gamma",
        type=RealRange(min=0),
        default=0.5,
        show_default=True,
        help="How much the extended BIC dislikes many edges among many columns; 0: the BIC.",
    ),
    click.option(
        "--folds",
        type=WholeRange(min=2),
        metavar="K",
        help="Parts of the data for --criterion folds, which it implies; 10 by default.",
    ),
    click.option(
        "--n-penalties",
        type=WholeRange(min=2, max=10_000),
        default=100,
        show_default=True,
        metavar="N",
        help="Penalties to look at.",
    ),
    click.option("--raw", is_flag=True, help="Penalise covariances instead of correlations."),
    click.option(
        "--transform",
        type=click.Choice(["none", "rank", "normal"]),
        default="none",
        show_default=True,
        help="Correlations of ranks, 2 sin(πρ/6), or of normal scores: for columns that are normal "
        "on another scale.",
    ),
    click.option(
        "--refit/--no-refit",
        default=None,
        help="Fit graphs again without a penalty, and choose among these; by default unless --l1 "
        "is given.",
    ),
)


@click.command(
    "glasso",
    cls=Command,
    epilog="\b\nExamples:\n"
    "  gml glasso heights.csv                        # DOT on standard output\n"
    "  gml glasso heights.csv -o graph.svg           # a picture; negative edges are dashed\n"
    "  gml glasso heights.csv --gamma 0 -f text      # more edges, for people\n"
    "  gml glasso heights.csv --transform rank --folds 5 -o graph.json\n"
    "  gml glasso heights.csv --l1 0.1 --exclude id  # one penalty\n"
    "\n\b\n"
    "Exit code 5: stopped by --max-seconds; the best graph so far was written.",
)
@data_options
@_options
@keyword_options(seed_option)
@max_seconds_option
@graph_output
@common_options
def command(data: DataRequest, keywords: dict[str, Any], out: GraphOutput) -> int:
    """Learn an undirected graph of numeric columns by the graphical lasso.

    Columns are joined where the precision matrix, estimated with a penalty on its entries off the
    diagonal, is not 0; edges carry "partial_correlation", given all other columns, as the estimate
    without a penalty on the same graph has it. All columns must hold numbers. There may be more
    columns than rows.
    """
    from gml.verbs.glasso import glasso

    result = glasso(
        data.path, threads=data.threads, asked=chosen_options(), **keywords, **data.reading
    )
    out.write(result.graph)
    return exit_code(result)

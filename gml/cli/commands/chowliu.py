"""gml chowliu DATA: the maximum-likelihood tree."""

from __future__ import annotations

from typing import Any

import click

from gml import DF
from gml.cli.shared.command import Command
from gml.cli.shared.common_options import alpha_option, chosen_options, common_options
from gml.cli.shared.data_options import DataRequest, data_options
from gml.cli.shared.declared_options import click_option
from gml.cli.shared.keyword_options import keyword_options
from gml.cli.shared.output import GraphOutput
from gml.cli.shared.output_options import graph_output
from gml.cli.shared.planning import dry_run_option


@click.command(
    "chowliu",
    cls=Command,
    epilog="\b\nExamples:\n"
    "  gml chowliu survey.csv                        # DOT on standard output\n"
    "  gml chowliu survey.csv -o tree.svg            # a picture\n"
    "  gml chowliu survey.csv --root Age -o tree.json\n"
    "  gml chowliu survey.csv --prune bic -f text    # a forest, for people\n"
    "  gml chowliu survey.csv --class Vote           # tree-augmented naive Bayes\n"
    "  gml chowliu flats.csv --numeric size,rent     # categorical and numeric columns\n"
    "  gml chowliu counts.csv --weights Freq         # an aggregated table",
)
@data_options
@keyword_options(
    click.option(
        "--root",
        metavar="VAR",
        help="Direct the tree away from VAR; by default the first name, of a categorical column if "
        "there is one.",
    ),
    click.option("--undirected", is_flag=True, help="Do not direct the tree."),
    click.option(
        "--estimator",
        type=click.Choice(["ml", "miller-madow"]),
        default="ml",
        show_default=True,
        help="Estimator of the mutual information; miller-madow is for categorical columns.",
    ),
    click.option(
        "--prune",
        type=click.Choice(["none", "bic", "g"]),
        default="none",
        show_default=True,
        help="Learn a forest: only edges that raise BIC, or that the G test (the likelihood ratio, "
        "for numeric columns) calls dependent.",
    ),
    alpha_option("Level of --prune g."),
    click_option(DF._replace(help="Degrees of freedom of --prune g")),
    click.option(
        "--class",
        "class_",
        metavar="VAR",
        help="Learn a tree-augmented naive Bayes model for VAR, which is categorical.",
    ),
)
@graph_output
@dry_run_option
@common_options
def command(data: DataRequest, keywords: dict[str, Any], out: GraphOutput) -> None:
    """Learn the maximum-likelihood tree of DATA (Chow & Liu 1968).

    The result is the spanning tree with the largest total mutual information, directed away from
    the root; edges carry theirs in nats as "mi". Columns with only one value stay isolated.

    Numeric columns are taken as normal, below a categorical column about the mean of each level.
    With some, edges are ranked by "weight", the mutual information less its price by BIC for "df"
    parameters, and no arrow leads from a numeric column to a categorical one.
    """
    from gml.verbs.chowliu import chowliu

    out.write(
        chowliu(
            data.path, threads=data.threads, asked=chosen_options(), **keywords, **data.reading
        ).graph
    )

"""gml chowliu DATA: the maximum-likelihood tree."""

from __future__ import annotations

import click

from gml import __version__
from gml.cli.shared.common_options import alpha_option, chosen_options, common_options, df_option
from gml.cli.shared.data_options import DataRequest, data_options
from gml.cli.shared.output import GraphOutput, graph_output
from gml.cli.shared.run import was_given
from gml.errors import UsageError


@click.command(
    "chowliu",
    epilog="\b\nExamples:\n"
    "  gml chowliu survey.csv                        # DOT on standard output\n"
    "  gml chowliu survey.csv | dot -Tsvg > tree.svg\n"
    "  gml chowliu survey.csv --root Age -o tree.json\n"
    "  gml chowliu survey.csv --prune bic -f text    # a forest, for people\n"
    "  gml chowliu survey.csv --class Vote           # tree-augmented naive Bayes\n"
    "  gml chowliu counts.csv --weights Freq         # an aggregated table",
)
@data_options
@click.option(
    "--root", metavar="VAR", help="Direct the tree away from here; default: first by name."
)
@click.option("--undirected", is_flag=True, help="Do not direct the tree.")
@click.option(
    "--estimator",
    type=click.Choice(["ml", "miller-madow"]),
    default="ml",
    show_default=True,
    help="Of the mutual information.",
)
@click.option(
    "--prune",
    type=click.Choice(["none", "bic", "g"]),
    default="none",
    show_default=True,
    help="A forest: edges that pay by BIC, or that the G test calls dependent.",
)
@alpha_option("Level of --prune g.")
@df_option("Degrees of freedom of --prune g.")
@click.option("--class", "class_", metavar="VAR", help="Tree-augmented naive Bayes for VAR.")
@graph_output
@common_options
def command(
    data: DataRequest,
    root: str | None,
    undirected: bool,
    estimator: str,
    prune: str,
    alpha: float,
    df: str,
    class_: str | None,
    out: GraphOutput,
) -> None:
    """Learn the maximum-likelihood tree of DATA (Chow & Liu 1968).

    The spanning tree with the largest total mutual information, directed away from the root; edges
    carry it in nats as "mi". Columns that hold one value only stay isolated.
    """
    from gml.learners.chowliu import chow_liu

    if prune != "g":
        for name in ("alpha", "df"):
            if was_given(name):
                raise UsageError(f"--{name} belongs to --prune g")
    if undirected and root is not None:
        raise UsageError("--undirected and --root contradict each other")
    if data.options.missing == "available":
        raise UsageError(
            "--missing available: pairs counted on different rows cannot be compared; use drop or "
            "level"
        )
    counter = data.open(offer_available=False)
    result = chow_liu(
        counter,
        root=root,
        directed=not undirected,
        estimator=estimator,
        prune=prune,
        class_variable=class_,
        alpha=alpha,
        df=df,
    )
    learning = {
        "command": "chowliu",
        "options": chosen_options(),
        "version": __version__,
        "rows": counter.n,
        "pairs": result.n_pairs,
        "total_mi": result.total_mi,
        "data": counter.digest,
    }
    out.write(result.graph, learning)

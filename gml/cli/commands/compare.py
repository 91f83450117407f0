"""gml compare GRAPH GRAPH…: how graphs differ from a reference."""

from __future__ import annotations

import click

from gml.cli.shared.command import Command
from gml.cli.shared.common_options import common_options
from gml.cli.shared.numbers import WholeRange
from gml.cli.shared.output import ComparisonOutput
from gml.cli.shared.output_options import comparison_output
from gml.cli.shared.run import claim_input
from gml.errors import UsageError


@click.command(
    "compare",
    cls=Command,
    epilog="\b\nExamples:\n"
    "  gml compare truth.dot learned.json\n"
    "  gml compare truth.bif pc.dot tree.dot -f csv\n"
    "  gml pc survey.csv | gml compare accepted.dot - --fail-on-difference\n"
    "  gml compare truth.dot learned.dot --as dag --max-shd 3 -o /dev/null || echo too far\n"
    "  gml compare old.json new.json -f json        # for models, KL by node too\n"
    "\n\b\n"
    "Exit codes with --max-shd or --fail-on-difference: 0 close enough, 1 not.",
)
@click.argument("graph_paths", metavar="GRAPH GRAPH...", nargs=-1, required=True)
@click.option(
    "--as",
    "view",
    type=click.Choice(["cpdag", "dag"]),
    default="cpdag",
    show_default=True,
    help="Compare equivalence classes, or DAGs (a class by its first DAG by name).",
)
@click.option("--max-shd", type=WholeRange(min=0), metavar="N", help="Exit 1 if an SHD is above N.")
@click.option("--fail-on-difference", is_flag=True, help="Exit 1 if any edge differs.")
@comparison_output
@common_options
def command(
    graph_paths: tuple[str, ...],
    view: str,
    max_shd: int | None,
    fail_on_difference: bool,
    out: ComparisonOutput,
) -> int:
    """Compare each GRAPH with the first one, the reference; all must have the same nodes.

    shd is the number of pairs of nodes whose edge differs between the CPDAGs: a DAG stands for its
    CPDAG, other graphs are compared as they are. dag_shd compares DAGs, if both are DAGs or with
    --as dag, which also decides what the rates, the differences and the exit code are about. sid
    counts the effects that a graph gets wrong if the reference, a DAG, is true; for a graph that
    stands for several DAGs it is a range. For two models with the same levels, kl is the exact
    divergence of the second from the reference in nats, with one term per node if both have arrows.
    Two undirected graphs are compared edge by edge.
    """
    from gml.verbs.compare import compare

    if len(graph_paths) < 2:
        raise UsageError("give a reference and at least one graph to compare with it")
    if fail_on_difference and max_shd is not None:
        raise UsageError("--fail-on-difference means --max-shd 0: give only one of them")
    graphs = [claim_input(path, "graph", several=True) for path in graph_paths]
    found = compare(*graphs, as_=view)
    out.write(found.pairs)
    most = 0 if fail_on_difference else max_shd
    return 1 if most is not None and found.distance > most else 0

"""gml compare GRAPH GRAPH…: how graphs differ from a reference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from gml.cli.shared.common_options import common_options
from gml.cli.shared.numbers import WholeRange
from gml.cli.shared.output import ComparisonOutput, comparison_output
from gml.cli.shared.run import claim_input
from gml.errors import CannotAnswer, GraphError, UsageError, listing, place
from gml.progress import reporter

if TYPE_CHECKING:
    from gml.formats.reports.comparisons import ComparedPair
    from gml.graph.graph import Graph
    from gml.model.bayesnet import BayesNet
    from gml.model.compare import Divergence


@click.command(
    "compare",
    epilog="\b\nExamples:\n"
    "  gml compare truth.dot learned.json\n"
    "  gml compare truth.bif pc.dot tree.dot -f csv\n"
    "  gml pc survey.csv | gml compare accepted.dot - --fail-on-difference\n"
    "  gml compare truth.dot learned.dot --as dag --max-shd 3 -o /dev/null || echo too far\n"
    "  gml compare old.json new.json -f json        # of models, KL by node too\n"
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
    help="Compare equivalence classes, or DAGs (of a class the first by name).",
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
    """Compare each GRAPH with the first one, the reference; they have the same nodes.

    shd is the number of pairs of nodes whose edge differs between the CPDAGs: a DAG is taken for
    its CPDAG, other graphs as they are. dag_shd compares DAGs, if both are or with --as dag, which
    says what the rates, the differences and the exit code are about too. sid counts the effects
    that a graph gets wrong if the reference, a DAG, is true; from least to greatest for a graph
    that stands for several DAGs. Of two models with the same levels, kl is the divergence of the
    second from the reference in nats, exactly, with a term for each node.
    """
    if len(graph_paths) < 2:
        raise UsageError("give a reference and at least one graph to compare with it")
    if fail_on_difference and max_shd is not None:
        raise UsageError("--fail-on-difference is --max-shd 0: give one of them")
    for path in graph_paths:
        claim_input(path, "graph", several=True)
    graphs = [_read(path) for path in graph_paths]
    for argument in graphs:
        argument.warn_if_invalid()
    pairs = [_compared(graphs[0], other, view) for other in graphs[1:]]
    out.write(pairs)
    most = 0 if fail_on_difference else max_shd
    return 1 if most is not None and any(pair.found.distance > most for pair in pairs) else 0


@dataclass(frozen=True)
class _Argument:
    """A graph, with its tables if it has them."""

    path: str
    graph: Graph
    net: BayesNet | None

    def warn_if_invalid(self) -> None:
        """Say that a graph is not what it is said to be; it is compared all the same."""
        from gml.graph.comparison import is_equivalence_class

        if self.graph.kind == "cpdag" and not is_equivalence_class(self.graph):
            reporter().warn(f"{self.path}: not the CPDAG of any DAG; compared as it is")


def _read(path: str) -> _Argument:
    from gml.data.text_file import read_text
    from gml.formats.models import parse_any
    from gml.model.bayesnet import BayesNet

    found = parse_any(read_text(path, error=GraphError), place(path))
    if isinstance(found, BayesNet):
        return _Argument(place(path), found.graph, found)
    return _Argument(place(path), found, None)


def _compared(a: _Argument, b: _Argument, view: str) -> ComparedPair:
    from gml.formats.reports.comparisons import ComparedPair
    from gml.graph.comparison import compare_graphs, require_same_nodes

    require_same_nodes(a.graph, b.graph, a.path, b.path)
    if view == "dag":
        _require_dag(a)
        _require_dag(b)
    try:
        found = compare_graphs(a.graph, b.graph, view=view)
    except GraphError as error:
        raise GraphError(f"{a.path} and {b.path}: {error}") from None
    if found.sid is not None and not found.sid.exact:
        reporter().note(f"{b.path}: the bounds of the SID hold, but may be wide")
    return ComparedPair(a.path, b.path, view, found, _divergence(a, b))


def _require_dag(argument: _Argument) -> None:
    """Refuse a graph that stands for no DAG, by its own name."""
    from gml.cli.shared.graph_arguments import extended

    extended(argument.graph, argument.path)


def _divergence(a: _Argument, b: _Argument) -> Divergence | None:
    """KL if both are models; None, with a warning, where levels differ or tables do not fit."""
    from gml.model.compare import kl_divergence

    if a.net is None or b.net is None:
        return None
    try:
        found = kl_divergence(a.net, b.net)
    except (GraphError, CannotAnswer) as error:
        reporter().warn(f"no KL of {b.path}: {error}")
        return None
    infinite = [name for name, term in found.nodes.items() if term == float("inf")]
    if infinite:
        reporter().warn(
            f"{b.path}: KL is infinite, as it excludes what {a.path} allows at {listing(infinite)}"
        )
    return found

"""gml convert IN OUT: from one graph or model format to another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from gml.cli.shared.common_options import common_options
from gml.cli.shared.format_losses import TABLES_ONLY, TITLES, beside_tables, warn_of_loss
from gml.cli.shared.output import ConvertedOutput
from gml.cli.shared.parameter_types import OutputFile
from gml.cli.shared.run import claim_input, run_ledger
from gml.errors import GraphError, UsageError, place

if TYPE_CHECKING:
    from gml.graph.graph import Graph
    from gml.model.bayesnet import BayesNet

_FORMATS = ("json", "bif", "xmlbif", "net", "dot", "graphml", "text")


@click.command(
    "convert",
    epilog="\b\nExamples:\n"
    "  gml convert alarm.bif.gz alarm.json\n"
    "  gml convert model.json model.xmlbif\n"
    "  gml convert model.json - -f text             # the tables, for people\n"
    "  gml convert asia.net - -f dot | dot -Tsvg > asia.svg\n"
    "  gml pc survey.csv -f json | gml convert - graph.graphml",
)
@click.argument("in_path", metavar="IN")
@click.argument("out_path", metavar="OUT", type=OutputFile())
@click.option(
    "-f",
    "--format",
    "format_",
    type=click.Choice(_FORMATS),
    help="Output format; by default the suffix of OUT picks it.",
)
@common_options
def command(in_path: str, out_path: str, format_: str | None) -> None:
    """Convert a graph or model file; either can be - (OUT only with --format).

    IN is JSON, DOT, GraphML, BIF, XMLBIF or NET, told by its content, also compressed. The suffix
    of OUT picks the format: .json .bif .xmlbif .bifxml .net .hugin .dot .gv .graphml .txt, and .xml
    for XMLBIF of a model and GraphML of a graph. JSON holds everything; what another format does
    not hold is named in a warning. A format of models needs tables (gml fit-params).
    """
    from gml.data.text_file import read_text
    from gml.formats.models import MODEL_WRITERS, parse_any
    from gml.model.bayesnet import BayesNet

    claim_input(in_path, "in")
    suffix_choice = None if format_ else _by_suffix(out_path)
    run_ledger().wants_digests = "json" in (format_, *(suffix_choice or {}).values())
    found = parse_any(read_text(in_path, error=GraphError), place(in_path))
    is_model = isinstance(found, BayesNet)
    chosen = format_ or (suffix_choice or {})[is_model]
    out = ConvertedOutput(out_path, chosen)
    if isinstance(found, BayesNet) and chosen in MODEL_WRITERS:
        text = MODEL_WRITERS[chosen](found)
        warn_of_loss(chosen, beside_tables(found) if chosen in TABLES_ONLY else [])
    else:
        text = _as_graph(found, chosen, place(in_path))
    out.write(text)


def _by_suffix(path: str) -> dict[bool, str]:
    """The format that a suffix picks for a model (True) and for a graph (False)."""
    from gml.atomic import is_special
    from gml.formats.suffixes import GRAPH_SUFFIXES, MODEL_SUFFIXES, format_of

    if path == "-" or is_special(path):
        raise UsageError(f"say with --format what to write to {path!r}")
    return {
        True: format_of(path, {**GRAPH_SUFFIXES, **MODEL_SUFFIXES}),
        False: format_of(path, {**MODEL_SUFFIXES, **GRAPH_SUFFIXES}),
    }


def _as_graph(found: Graph | BayesNet, chosen: str, where: str) -> str:
    from gml.formats.graphs import WRITERS
    from gml.model.bayesnet import BayesNet

    graph = found.graph if isinstance(found, BayesNet) else found
    if chosen not in WRITERS:
        wanted = "" if graph.kind == "dag" else f" of a DAG, which this {graph.kind} is not"
        raise GraphError(
            f"{where}: {TITLES[chosen]} holds a model, and this is a graph without tables; learn "
            f"them with gml fit-params DATA GRAPH{wanted}"
        )
    text = WRITERS[chosen](graph)
    lost = ["the tables", *beside_tables(found)] if isinstance(found, BayesNet) else []
    how = "how it was learned"
    if chosen == "graphml":
        lost = [item for item in lost if item != how]
    if chosen == "dot":
        lost += ["the levels"] * bool(graph.levels)
        lost += [how] * (bool(graph.learning) and how not in lost)
    warn_of_loss(chosen, lost)
    return text

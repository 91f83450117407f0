"""gml draw GRAPH: pictures of graphs and models, and plots."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from gml.cli.shared.assignments import assignments_option, resolve_assignments
from gml.cli.shared.command import Command
from gml.cli.shared.common_options import common_options, seed_option
from gml.cli.shared.data_options import DataRequest, reading_options_alone
from gml.cli.shared.keyword_options import keyword_options
from gml.cli.shared.knowledge_options import parse_groups
from gml.cli.shared.numbers import RealRange, WholeRange
from gml.cli.shared.option_groups import KNOWLEDGE, OUTPUT, under
from gml.cli.shared.output import PictureOutput
from gml.cli.shared.output_options import picture_output
from gml.cli.shared.parameter_types import name_list_option
from gml.cli.shared.run import claim_input, was_given
from gml.errors import UsageError

_NOT_IN_TEXT = ("evidence", "against", "weight", "theme", "layout", "tiers", "knowledge")
# Text has no room for bars anyway; whoever asks for anything else is told what is wrong with it.
_IN_TEXT = {"kind", "radius", "bars"}


@click.command(
    "draw",
    cls=Command,
    epilog="\b\nExamples:\n"
    "  gml draw graph.json -o graph.svg\n"
    "  gml draw model.json --evidence Smoker=yes -o posterior.png\n"
    "  gml draw learned.json --against truth.bif --theme dark -o differences.html\n"
    "  gml draw alarm.bif --around HR --radius 2 -o near.pdf\n"
    "  gml chowliu survey.csv | gml draw - -f text      # in the terminal\n"
    "  gml draw --kind matrix survey.csv -o information.svg\n"
    "  gml draw --kind losses survey.csv a.dot b.dot -o losses.svg\n"
    "  gml hc survey.csv --trace trace.csv -o hc.json && gml draw --kind trace trace.csv > t.svg\n"
    "  gml average survey.csv --by hc -o a.json && gml draw --kind strengths a.json > s.svg\n"
    "  gml draw --kind cpt model.json --node Cancer -o cancer.svg\n"
    "  gml mixture survey.csv -o m.json && gml draw --kind classes m.json -o classes.svg",
)
@click.argument("source_paths", metavar="SOURCE...", nargs=-1, required=True)
@keyword_options(
    click.option(
        "--kind",
        type=click.Choice(["graph", "matrix", "trace", "strengths", "losses", "cpt", "classes"]),
        default="graph",
        show_default=True,
        help="Draw the graph; a heat map; the score of a search by step; strengths of edges; the "
        "held-out loss of graphs; the table of a node; the classes of a mixture.",
    ),
    click.option(
        "--against",
        metavar="GRAPH",
        help="Show how the edges differ from those of this graph: two DAGs arrow by arrow (dag_shd "
        "of gml compare), others as CPDAGs (its shd).",
    ),
)
@assignments_option("--evidence", help_="Observe these values, and show posteriors: A=x,B=y.")
@name_list_option("--around", help_="Draw only the nodes near these: A,B.")
@keyword_options(
    click.option(
        "--radius",
        type=WholeRange(min=0),
        metavar="N",
        help="Nodes near those of --around are at most N edges away; 2 by default.",
    ),
    click.option(
        "--weight",
        metavar="ATTRIBUTE",
        default="auto",
        show_default=True,
        help="Show this of edges by width and colour: strength, mi, coefficient, coupling, another "
        "attribute or none; auto is what they have.",
    ),
    click.option("--data", metavar="DATA", help="Show mutual information in this table."),
    click.option(
        "--bars/--no-bars",
        default=True,
        help="Show the distribution of each node of a model, or do not.",
    ),
    click.option("--node", metavar="NODE", help="The node of --kind cpt, or that of the classes."),
    click.option(
        "--threshold",
        type=RealRange(min=0, max=1),
        metavar="S",
        help="Threshold of --kind strengths; by default the one that the graph was made with, and "
        "not below it.",
    ),
    click.option(
        "--folds",
        type=WholeRange(min=2),
        metavar="K",
        help="Folds of --kind losses; 10 by default.",
    ),
    seed_option,
)
@reading_options_alone
@under(KNOWLEDGE)(
    click.option("--tiers", metavar="TIERS", help="Draw tiers as ranks: 'A,B < C' has C below.")
)
@under(KNOWLEDGE)(
    click.option("--knowledge", metavar="FILE", help="Take tiers from a JSON or Tetrad file.")
)
@keyword_options(
    click.option(
        "--theme",
        type=click.Choice(["light", "dark", "print"]),
        default="light",
        show_default=True,
        help="Colours, or greys for print.",
    ),
    click.option(
        "--layout",
        type=click.Choice(["layered", "dot"]),
        default="layered",
        show_default=True,
        help="Place nodes by gml, or by Graphviz if it is installed.",
    ),
    heading=OUTPUT,
)
@under(OUTPUT)(
    click.option(
        "--scale",
        type=RealRange(min=0, min_open=True),
        default=2.0,
        show_default=True,
        metavar="N",
        help="Pixels of a PNG for each of the picture's.",
    )
)
@picture_output
@common_options
def command(
    source_paths: tuple[str, ...],
    evidence: tuple[str, ...],
    around: tuple[str, ...],
    tiers: str | None,
    knowledge: str | None,
    scale: float,
    data: DataRequest,
    keywords: dict[str, Any],
    out: PictureOutput,
) -> None:
    """Draw SOURCE, a graph or a model, as SVG, PNG, PDF, HTML or text.

    Arrows point down. The nodes of a model show their distribution, and with --evidence their
    posterior, with a tick for what it was before. With --against, edges that are added, missing or
    reversed have colours and line styles of their own. PNG and PDF need the extra draw: pip install
    'gml[draw]'.

    Other kinds have other sources: matrix, a table or a model for mutual information, a graph with
    strengths or partial correlations, or an undirected model with couplings; trace, the file of
    --trace; strengths, a graph of gml average; losses, a table and graphs; cpt, a model, as
    fit-params --intervals makes it; classes, a model that gml mixture made.
    """
    from gml.verbs.draw import draw, graph_in_text, graph_to_draw, model_for_evidence

    if was_given("scale") and out.format != "png":
        raise UsageError(f"--scale is for PNG, not for {out.format}")
    for name in _NOT_IN_TEXT:
        if out.format == "text" and was_given(name):
            raise UsageError(f"--{name} does not show in text; write SVG, HTML, PNG or PDF")
    if was_given("around") and not around:
        raise UsageError("--around names no node")
    for role in ("against", "data"):
        if role in keywords:
            keywords[role] = claim_input(keywords[role], role)
    kind = keywords.get("kind", "graph")
    if knowledge is not None:
        keywords["knowledge"] = claim_input(knowledge, "knowledge")
    if tiers is not None:
        keywords["tiers"] = parse_groups(tiers, "<", "--tiers")
    sources: list[Any] = [claim_input(path, "source", several=True) for path in source_paths]
    is_graph_alone = kind == "graph" and len(sources) == 1 and not data.reading
    if out.format == "text" and is_graph_alone and set(keywords) <= _IN_TEXT:
        radius = keywords.get("radius")
        out.write_text(partial(graph_in_text, sources[0], around=around, radius=radius))
        return
    if evidence and kind != "graph":
        # The library says that this kind has no evidence, whatever it is.
        keywords["evidence"] = dict.fromkeys(evidence)
    elif evidence:
        sources[0] = graph_to_draw(sources[0])
        variables = model_for_evidence(sources[0]).variables
        keywords["evidence"] = resolve_assignments(evidence, variables, "--evidence")
    picture = draw(*sources, around=around, threads=data.threads, **keywords, **data.reading)
    out.write(picture, scale=scale)

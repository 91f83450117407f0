"""gml convert IN OUT: from one graph or model format to another."""

from __future__ import annotations

import click

from gml.cli.shared.command import Command
from gml.cli.shared.common_options import common_options
from gml.cli.shared.output import ConvertedOutput, require_picture
from gml.cli.shared.parameter_types import OutputFile, OutputFormat
from gml.cli.shared.run import claim_input, plan_result, run_ledger
from gml.errors import UsageError
from gml.formats.suffixes import PICTURES

_FORMATS = ("json", "bif", "xmlbif", "net", "uai", "dot", "graphml", "text", *PICTURES)


@click.command(
    "convert",
    cls=Command,
    epilog="\b\nExamples:\n"
    "  gml convert alarm.bif.gz alarm.json\n"
    "  gml convert model.json model.xmlbif\n"
    "  gml convert model.json model.bif --sanitize  # for names that BIF cannot hold\n"
    "  gml convert model.json - -f text             # the tables, for people\n"
    "  gml convert asia.bif asia.uai                # for programs of the UAI competitions\n"
    "  gml convert alarm.bif alarm.json --to undirected\n"
    "  gml convert asia.net asia.svg                # a picture; gml draw has more to say on it\n"
    "  gml pc survey.csv -f json | gml convert - graph.graphml",
)
@click.argument("in_path", metavar="IN")
@click.argument("out_path", metavar="OUT", type=OutputFile())
@click.option(
    "-f",
    "--format",
    "format_",
    type=OutputFormat(_FORMATS),
    help="Output format; by default the suffix of OUT picks it.",
)
@click.option(
    "--sanitize",
    is_flag=True,
    help="Replace names that BIF, XMLBIF or NET cannot hold; comments in OUT lead back to them.",
)
@click.option(
    "--to",
    type=click.Choice(["dag", "undirected"]),
    help="Make arrows, or drop them: of models with the same distribution.",
)
@common_options
def command(
    in_path: str, out_path: str, format_: str | None, sanitize: bool, to: str | None
) -> None:
    """Convert a graph or model file; either can be - (OUT only with --format).

    IN is JSON, DOT, GraphML, BIF, XMLBIF, NET or UAI, recognised by its content, compressed or not.
    The suffix of OUT picks the format: .json .bif .xmlbif .bifxml .net .hugin .uai .dot .gv
    .graphml .txt, and .xml for XMLBIF (a model) or GraphML (a graph); .svg .png .pdf .html make a
    picture. JSON holds everything; a warning names what another format cannot hold. Model formats
    need tables (gml fit-params).

    BIF, XMLBIF and NET need arrows, which a decomposable undirected model gets; --to dag and
    --to undirected ask for them, or for none. The distribution stays the same. A graph with --to
    undirected becomes the moral one of a DAG.
    """
    from gml.atomic import names_file
    from gml.formats.suffixes import formats_of
    from gml.verbs.convert import convert
    from gml.verbs.shared.graph_input import given_graph

    plan_result(out_path)
    source = claim_input(in_path, "in")
    if format_ is None and not names_file(out_path):
        raise UsageError(f"say with --format what to write to {out_path!r}")
    possible = formats_of(out_path) if format_ is None else (format_,)
    run_ledger().wants_digests = "json" in possible
    if possible[0] in PICTURES:
        require_picture(possible[0], out_path)
    given = given_graph(source)
    found = convert(
        given,
        format_,
        path=out_path,
        to=to,
        sanitize=sanitize,
        inputs=run_ledger().input_hashes(),
    )
    ConvertedOutput(out_path, found.format).write(found.content)

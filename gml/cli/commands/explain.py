"""gml explain LOG A B: why PC has an edge there, or none."""

from __future__ import annotations

from typing import Any

import click

from gml.cli.shared.command import Command
from gml.cli.shared.common_options import common_options
from gml.cli.shared.output import TextOutput
from gml.cli.shared.output_options import text_output
from gml.cli.shared.run import claim_input
from gml.errors import with_flags
from gml.printable_text import printable


@click.command(
    "explain",
    cls=Command,
    epilog="\b\nExamples:\n"
    "  gml pc survey.csv --test-log log.jsonl -o graph.dot\n"
    "  gml explain log.jsonl Age Vote\n"
    "  gml explain log.jsonl Age Vote -f json | jq .edge",
)
@click.argument("log")
@click.argument("a")
@click.argument("b")
@text_output
@common_options
def command(log: str, a: str, b: str, out: TextOutput) -> None:
    """Say why there is an edge between A and B, or none, and why it has its direction.

    LOG is a file written by gml pc --test-log.
    """
    from gml.verbs.explain import explain

    found = explain(claim_input(log, "log"), a, b)
    sentences = [with_flags(sentence) for sentence in found.sentences]
    facts: dict[str, Any] = {
        "explanation": sentences,
        "edge": found.edge,
        "tests": list(found.tests),
        "triples": list(found.triples),
    }
    out.write("".join(f"{printable(sentence)}\n" for sentence in sentences), facts)

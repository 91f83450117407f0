"""gml explain LOG A B: why PC has an edge there, or none."""

from __future__ import annotations

from typing import Any

import click

from gml.cli.shared.common_options import common_options
from gml.cli.shared.output import TextOutput, text_output
from gml.cli.shared.run import claim_input
from gml.errors import printable


@click.command(
    "explain",
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
    """Say why there is an edge between A and B or none, and why it has its direction.

    LOG is what gml pc --test-log wrote.
    """
    from gml.formats.test_log import read_log
    from gml.learners.explain import explain

    claim_input(log, "log")
    found = explain(read_log(log, (a, b)), a, b)
    facts: dict[str, Any] = {
        "explanation": list(found.sentences),
        "edge": found.edge,
        "tests": list(found.tests),
        "triples": list(found.triples),
    }
    out.write("".join(f"{printable(sentence)}\n" for sentence in found.sentences), facts)

"""gml report DATA MODEL: one page with all that is known."""

from __future__ import annotations

from typing import Any

import click

from gml.cli.shared.command import Command
from gml.cli.shared.common_options import alpha_option, common_options
from gml.cli.shared.data_options import DataRequest, checked_data_options
from gml.cli.shared.keyword_options import keyword_options
from gml.cli.shared.numbers import WholeRange
from gml.cli.shared.output import RowOutput
from gml.cli.shared.output_options import page_output
from gml.cli.shared.run import claim_input


@click.command(
    "report",
    cls=Command,
    epilog="\b\nExamples:\n"
    "  gml report survey.csv model.json -o report.html\n"
    "  gml pc survey.csv --test-log log.jsonl -o graph.json\n"
    "  gml average survey.csv --by hc -o averaged.json\n"
    "  gml report survey.csv model.json --test-log log.jsonl --strengths averaged.json \\\n"
    "      -o report.html\n"
    "  gml report new.csv model.json --baseline accepted.json --title 'May' -o may.html",
)
@checked_data_options
@click.argument("model_path", metavar="MODEL")
@keyword_options(
    click.option(
        "--test-log",
        metavar="FILE",
        help="Say why there is an edge, or none, from this log of gml pc --test-log.",
    ),
    click.option(
        "--strengths",
        metavar="GRAPH",
        help="Show how certain edges are, from this graph of gml average.",
    ),
    click.option(
        "--baseline",
        metavar="FILE",
        help="Accept the violations listed in this file, in place of those that the model holds.",
    ),
    click.option(
        "--check/--no-check",
        default=True,
        help="Check the model as gml check does, or leave that out: it takes long for many nodes.",
    ),
    alpha_option("Chance of a false alarm in the check.", 0.01),
    click.option(
        "--folds",
        type=WholeRange(min=2),
        default=10,
        show_default=True,
        metavar="K",
        help="Folds of the cross-validation that finds the held-out loss.",
    ),
    click.option("--title", metavar="TEXT", help="Title of the page; by default the files."),
)
@page_output
@common_options
def command(data: DataRequest, model_path: str, keywords: dict[str, Any], out: RowOutput) -> None:
    """Write one HTML page with all that is known of MODEL on DATA.

    The page is one file that loads nothing, and opens in any browser: the graph to explore (choose
    a node to see its table, observe or set its values, and see all posteriors move, by exact
    inference), the columns of DATA, mutual information, the tests behind each edge (--test-log),
    scores and held-out loss, strengths of edges (--strengths), a check of the model as gml check
    makes it, and the hashes of all inputs. An undirected MODEL has its fit, couplings and factors
    in place of interventions. A section without its input says which option fills it.
    A check that fails is part of the page, not of the exit code.
    """
    from gml.verbs.report import report

    for role in ("test_log", "strengths", "baseline"):
        if role in keywords:
            keywords[role] = claim_input(keywords[role], role)
    page = report(
        data.path,
        claim_input(model_path, "model"),
        threads=data.threads,
        **keywords,
        **data.reading,
    )
    out.write([page.html.encode("utf-8")])

"""gml imap DATA --order A,B,C: a DAG whose edges follow an order."""

from __future__ import annotations

from typing import Any

import click

from gml import SCORES, TESTS
from gml.cli.shared.command import Command
from gml.cli.shared.common_options import (
    chosen_options,
    common_options,
    exit_code,
    max_seconds_option,
)
from gml.cli.shared.data_options import DataRequest, data_options
from gml.cli.shared.keyword_options import keyword_options
from gml.cli.shared.knowledge_options import knowledge_options
from gml.cli.shared.numbers import WholeRange
from gml.cli.shared.output import GraphOutput
from gml.cli.shared.output_options import graph_output
from gml.cli.shared.parameter_types import NameList
from gml.cli.shared.planning import dry_run_option
from gml.cli.shared.score_options import score_instead_options
from gml.cli.shared.test_options import test_options


@click.command(
    "imap",
    cls=Command,
    epilog="\b\nExamples:\n"
    "  gml imap survey.csv --order Age,Sex,Education,Income\n"
    "  gml imap survey.csv --order Age,Sex,Income --alpha 0.001 -o graph.json\n"
    "  gml imap survey.csv --order Age,Sex,Income --score k2 --max-parents 3   # the K2 algorithm\n"
    "  gml imap heights.csv --order father,mother,child --test fisher-z -f text\n"
    "\n\b\n"
    "Exit code 5: stopped by --max-seconds; the graph so far was written.",
)
@data_options
@click.option(
    "--order",
    type=NameList(),
    required=True,
    help="The columns to use, causes before effects: A,B,C.",
)
@test_options("auto", alpha=0.01, df="adjusted", shared=SCORES)
@score_instead_options(shared=TESTS)
@keyword_options(
    click.option("--max-parents", type=WholeRange(min=0), help="Most parents of a node.")
)
@knowledge_options
@max_seconds_option
@graph_output
@dry_run_option
@common_options
def command(
    data: DataRequest, keywords: dict[str, Any], order: tuple[str, ...], out: GraphOutput
) -> int:
    """Learn the DAG for an order of the columns that can spare no edge (a minimal I-map).

    Each column gets its parents from those before it in the order: the smallest set that makes it
    independent of the others. They are found by independence tests, by growing and then shrinking
    the set; with --score, by greedy search instead, as in the K2 algorithm. Only a test that says
    dependent makes an edge.
    """
    from gml.verbs.imap import imap

    result = imap(
        data.path, order, threads=data.threads, asked=chosen_options(), **keywords, **data.reading
    )
    out.write(result.graph)
    return exit_code(result)

"""gml notears DATA: a linear DAG by continuous optimisation."""

from __future__ import annotations

from typing import Any

import click

from gml.cli.shared.command import Command
from gml.cli.shared.common_options import (
    chosen_options,
    common_options,
    exit_code,
    max_seconds_option,
)
from gml.cli.shared.data_options import DataRequest, data_options
from gml.cli.shared.keyword_options import keyword_options
from gml.cli.shared.numbers import RealRange
from gml.cli.shared.output import GraphOutput
from gml.cli.shared.output_options import graph_output


@click.command(
    "notears",
    cls=Command,
    epilog="\b\nExamples:\n"
    "  gml notears heights.csv -f text               # edges with their weights\n"
    "  gml notears heights.csv --raw -o dag.svg      # arrows follow variances, and so units\n"
    "  gml notears heights.csv --threshold 0.1 --l1 0.01 -o dag.json\n"
    "  gml ges heights.csv --score bic-g             # what scale cannot decide\n"
    "\n\b\n"
    "Exit code 5: stopped by --max-seconds; the weights so far were written.",
)
@data_options
@keyword_options(
    click.option(
        "--l1",
        type=RealRange(min=0),
        default=0.03,
        show_default=True,
        metavar="WEIGHT",
        help="The penalty on weights.",
    ),
    click.option(
        "--threshold",
        type=RealRange(min=0),
        default=0.3,
        show_default=True,
        metavar="WEIGHT",
        help="Leave out weights below; raised if there is a cycle otherwise.",
    ),
    click.option("--raw", is_flag=True, help="Do not standardise the columns."),
)
@max_seconds_option
@graph_output
@common_options
def command(data: DataRequest, keywords: dict[str, Any], out: GraphOutput) -> int:
    """Learn a linear DAG of numeric columns by continuous optimisation (NOTEARS, as DAGMA).

    For comparison with others, not for causes: least squares follows variances, so that arrows on
    raw columns are an artefact of units. Columns are standardised unless --raw is given, and
    varsortability says how far the raw variances agree with the arrows. Edges carry "weight".
    """
    from gml.verbs.notears import notears

    result = notears(
        data.path, threads=data.threads, asked=chosen_options(), **keywords, **data.reading
    )
    out.write(result.graph)
    return exit_code(result)

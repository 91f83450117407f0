"""gml sample MODEL -n N: rows drawn from a model."""

from __future__ import annotations

import click

from gml.cli.shared.common_options import common_options, seed_option, threads_option
from gml.cli.shared.model_arguments import AskedModel, ModelRequest, model_options
from gml.cli.shared.numbers import RealRange, WholeRange
from gml.cli.shared.output import RowOutput, row_output
from gml.errors import UsageError, listing
from gml.progress import reporter

_MOST_ROWS = 1 << 62


@click.command(
    "sample",
    epilog="\b\nExamples:\n"
    "  gml sample model.json -n 1000 > rows.csv\n"
    "  gml sample alarm.bif -n 1000000 --seed 7 -o rows.csv\n"
    "  gml sample model.json -n 1000 --do Smoker=yes       # had everybody smoked\n"
    "  gml sample model.json -n 1000 --evidence Cancer=yes\n"
    "  gml sample model.json -n 1000 --missing-rate 0.05   # to try out --missing\n"
    "  gml sample model.json -n 10000 | gml pc -           # does PC find the model?",
)
@model_options
@click.option(
    "-n",
    type=WholeRange(min=0, max=_MOST_ROWS),
    required=True,
    metavar="N",
    help="Number of rows.",
)
@click.option(
    "--weighted",
    is_flag=True,
    help='Rows that are not exact, with the likelihood of the evidence as last column "weight".',
)
@click.option(
    "--missing-rate",
    type=RealRange(min=0, max=1),
    default=0.0,
    show_default=True,
    metavar="P",
    help="Leave each cell empty with this probability.",
)
@seed_option
@threads_option
@row_output
@common_options
def command(
    model: ModelRequest,
    n: int,
    weighted: bool,
    missing_rate: float,
    seed: int,
    threads: int | None,
    out: RowOutput,
) -> None:
    """Draw rows from MODEL as CSV, with its labels, columns in its order.

    The same seed gives the same rows, whatever the number of threads; more rows with the same seed
    begin with the same ones.
    """
    from gml.model.sample import csv_chunks, network_rows

    if weighted and not model.evidence:
        raise UsageError("--weighted belongs to --evidence")
    asked = model.read()
    if asked.observed and not weighted:
        from gml.model.posterior import posterior_rows

        rows = posterior_rows(
            asked.net,
            asked.observed,
            seed=seed,
            missing_rate=missing_rate,
        )
    else:
        rows = network_rows(
            asked.net, seed=seed, missing_rate=missing_rate, weighted=asked.observed
        )
    _warn_of_missing_tokens(asked)
    out.write(csv_chunks(rows, n, threads=threads))


def _warn_of_missing_tokens(asked: AskedModel) -> None:
    from gml.data.options import DEFAULT_NA

    tokens = {
        level
        for variable in asked.net.variables
        for level in variable.levels or ()
        if level.strip(" ") in DEFAULT_NA
    }
    if tokens:
        reporter().warn(
            f"a level is named {listing(sorted(tokens))}, which other commands read as missing; "
            "give them the model, or --na"
        )

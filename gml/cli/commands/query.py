"""gml query MODEL: what a model says, given evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from gml.cli.shared.command import Command
from gml.cli.shared.common_options import common_options
from gml.cli.shared.data_options import row_reading_options
from gml.cli.shared.model_arguments import ModelRequest, model_options
from gml.cli.shared.output import AnswerOutput, RowOutput
from gml.cli.shared.output_options import answer_output
from gml.cli.shared.parameter_types import name_list_option
from gml.cli.shared.run import claim_input, was_given
from gml.errors import UsageError

if TYPE_CHECKING:
    from gml import ReadOptions


@click.command(
    "query",
    cls=Command,
    epilog="\b\nExamples:\n"
    "  gml query model.json --evidence Smoker=yes,Xray=positive\n"
    "  gml query alarm.bif --target BP,HR --evidence CVP=HIGH   # the joint of both\n"
    "  gml query model.json --target Cancer --do Smoker=no\n"
    "  gml query model.json --mpe --evidence Xray=positive\n"
    "  gml query model.json --target Cancer --batch patients.csv -o answers.csv\n"
    "  gml query model.json --predict Cancer --batch patients.csv -o predicted.csv",
)
@model_options
@name_list_option(
    "-t", "--target", help_="Joint distribution of these nodes: A,B; by default each node."
)
@click.option("--each", is_flag=True, help="Answer for the targets one by one, not jointly.")
@click.option("--mpe", is_flag=True, help="Find the most probable values of all unobserved nodes.")
@click.option("--map", "map_", is_flag=True, help="Find the most probable values of the targets.")
@click.option("--batch", metavar="FILE", help="Answer for each row of evidence in this CSV file.")
@click.option(
    "--predict",
    metavar="COLUMN",
    help="Add the most probable level of COLUMN and its probability to each row of --batch.",
)
@click.option(
    "--missing",
    type=click.Choice(["unobserved", "level"]),
    default="unobserved",
    show_default=True,
    help="Treat missing cells of --batch as not observed, or as the level NA if a node has it.",
)
@click.option(
    "--ignore-unknown",
    is_flag=True,
    help="Treat cells of --batch that are not levels of their node as missing.",
)
@row_reading_options
@answer_output
@common_options
def command(
    model: ModelRequest,
    target: tuple[str, ...],
    each: bool,
    mpe: bool,
    map_: bool,
    batch: str | None,
    predict: str | None,
    missing: str,
    ignore_unknown: bool,
    reading: ReadOptions,
    out: AnswerOutput,
) -> None:
    """Ask MODEL for posterior probabilities, exactly.

    Without --target, the answer has the distribution of each unobserved node; several targets have
    their joint distribution. A level with a comma needs quotes, 'A="x, y"'; a number stands for
    the interval that it lies in. For numbers (models of fit-params --gaussian) the answer has
    means and standard deviations.

    Rows of --batch observe the nodes that the file has as columns; a missing cell observes nothing,
    and columns without a node are ignored. The result is CSV: the columns of the file, followed by
    the probability of each level of each target, and that of the row's evidence.
    """
    from gml.verbs.query import check_batch, check_question, query
    from gml.verbs.shared.row_queries import csv_of_rows, row_inference

    check_question(target, each=each, mpe=mpe, map=map_)
    if batch is None:
        _require_batch()
        out.write(query(**model.read(), target=target, each=each, mpe=mpe, map=map_))
        return
    check_batch(target, predict, each=each, best=mpe or map_)
    batch = claim_input(batch, "batch")
    _require_csv(out)
    rows = csv_of_rows(
        row_inference(**model.read(), target=target, predict=predict),
        batch,
        missing=missing,
        ignore_unknown=ignore_unknown,
        reading=reading,
        safe_csv=out.safe_csv,
    )
    RowOutput(out.path).write(rows)


def _require_batch() -> None:
    """Refuse options that are about rows."""
    for name in ("predict", "missing", "ignore_unknown"):
        if was_given(name):
            raise UsageError(f"--{name.replace('_', '-')} needs --batch FILE")


def _require_csv(out: AnswerOutput) -> None:
    """Rows are CSV; another format that was asked for is refused."""
    from gml.atomic import names_file

    if out.format != "csv" and (was_given("format_") or names_file(out.path)):
        raise UsageError(f"--batch writes CSV, not {out.format}")

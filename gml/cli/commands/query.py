"""gml query MODEL: what a model says, given evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from gml.cli.shared.command import Command
from gml.cli.shared.common_options import common_options
from gml.cli.shared.data_options import row_reading_options
from gml.cli.shared.model_arguments import ModelRequest, model_options
from gml.cli.shared.numbers import RealRange
from gml.cli.shared.output import AnswerOutput, MetricsOutput, RowOutput
from gml.cli.shared.output_options import answer_output
from gml.cli.shared.parameter_types import OutputFile, name_list_option
from gml.cli.shared.run import claim_input, was_given
from gml.errors import UsageError
from gml.progress import reporter

if TYPE_CHECKING:
    from gml.formats.reports.predictions import AnyMetrics


@click.command(
    "query",
    cls=Command,
    epilog="\b\nExamples:\n"
    "  gml query model.json --evidence Smoker=yes,Xray=positive\n"
    "  gml query alarm.bif --target BP,HR --evidence CVP=HIGH   # the joint of both\n"
    "  gml query model.json --target Cancer --do Smoker=no\n"
    "  gml query model.json --mpe --evidence Xray=positive\n"
    "  gml query model.json --target Cancer --batch patients.csv -o answers.csv\n"
    "  gml query model.json --predict Cancer --batch patients.csv -o predicted.csv\n"
    "  gml query model.json --predict Cancer --batch known.csv --metrics m.json -o /dev/null\n"
    "  gml query mixed.json --predict Weight --interval 0.9 --batch patients.csv -o w.csv\n"
    "  gml query field.json --mpe --batch patients.csv -o decoded.csv   # a model of gml crf",
)
@model_options
@name_list_option(
    "-t", "--target", help_="Joint distribution of these nodes: A,B; by default each node."
)
@click.option("--each", is_flag=True, help="Answer for the targets one by one, not jointly.")
@click.option(
    "--mpe",
    is_flag=True,
    help="Find the most probable values of all unobserved nodes; of a conditional field, for each "
    "row of --batch too.",
)
@click.option("--map", "map_", is_flag=True, help="Find the most probable values of the targets.")
@click.option(
    "--interval",
    type=RealRange(min=0, max=1, min_open=True, max_open=True),
    metavar="P",
    help="Bounds of each number that have probability P between them, with equal tails: quantiles "
    "of its distribution, or two columns for the rows of --batch.",
)
@click.option(
    "--batch", metavar="FILE", help="Answer for each row of evidence in this file: CSV or Parquet."
)
@click.option(
    "--predict",
    metavar="COLUMN",
    help="Add the most probable level of COLUMN and its probability (a number: its mean and "
    "standard deviation) to each row of --batch.",
)
@click.option(
    "--metrics",
    type=OutputFile(),
    metavar="FILE",
    help="Write how good the predictions are (the file has COLUMN): accuracy, log loss, Brier "
    "score and confusion table, or errors of numbers and coverage of --interval; the suffix picks "
    "the format.",
)
@click.option(
    "--missing",
    type=click.Choice(["unobserved", "level"]),
    default="unobserved",
    show_default=True,
    help="Treat missing cells of --batch as not observed, or as the level NA if a node has it. A "
    "conditional field refuses an input that is not observed.",
)
@click.option(
    "--ignore-unknown",
    is_flag=True,
    help="Treat cells of --batch that are not levels of their node as missing; a conditional field "
    "answers without the inputs that are missing.",
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
    interval: float | None,
    batch: str | None,
    predict: str | None,
    metrics: str | None,
    missing: str,
    ignore_unknown: bool,
    reading: dict[str, Any],
    out: AnswerOutput,
) -> None:
    """Ask MODEL for posterior probabilities, exactly.

    Without --target, the answer has the distribution of each unobserved node; several targets have
    their joint distribution. A level with a comma needs quotes, 'A="x, y"'; a number stands for the
    interval that it lies in. For numbers (models of fit-params --gaussian) the answer has means and
    standard deviations; beside labels (--numeric) a number is a mixture, with quantiles at 5, 50
    and 95 % or those of --interval, and --mpe maximises the joint density. An undirected model
    answers everything but --do. A conditional field (gml crf) needs a value of every input, and
    answers about its targets; one of sequences is asked about the rows of --batch alone: --predict
    takes the most probable label of each row, --mpe the most probable labels of each sequence.

    If an answer to --do rests on an arrow that the data leave open (gml chose it from the
    equivalence class, and --require or --tiers of the learner did not settle it), a warning names
    the arrow, and "rests_on" of JSON has it. A graph that somebody drew is taken as drawn.

    Rows of --batch observe the nodes that the file has as columns; a missing cell observes nothing
    (a conditional field, which needs every input, refuses it: see --missing, --ignore-unknown), and
    columns without a node are ignored. The result is CSV: the columns of the file, followed by
    the probability of each level of each target, and that of the row's evidence.

    If the file has the column that --predict asks for, it is not evidence: standard error tells how
    good the predictions are.
    """
    from gml.formats.reports.predictions import summary
    from gml.verbs.query import check_batch, check_question, query
    from gml.verbs.shared.row_queries import csv_of_rows, row_inference

    check_question(target, each=each, mpe=mpe, map=map_)
    if batch is None:
        _require_batch()
        out.write(
            query(**model.read(), target=target, each=each, mpe=mpe, map=map_, interval=interval)
        )
        return
    check_batch(target, predict, each=each, mpe=mpe, map=map_)
    batch = claim_input(batch, "batch")
    _require_csv(out)
    judged: list[AnyMetrics] = []
    metrics_out = _metrics_output(metrics, predicts=predict is not None or mpe)
    rows = csv_of_rows(
        row_inference(**model.read(), target=target, predict=predict, mpe=mpe, interval=interval),
        batch,
        missing=missing,
        ignore_unknown=ignore_unknown,
        reading=reading,
        safe_csv=out.safe_csv,
        judge=judged.append,
        needs_truth=metrics is not None,
    )
    RowOutput(out.path).write(rows)
    # A reader that went away leaves nothing to judge.
    for found in judged:
        reporter().tell(summary(found))
        if metrics_out is not None:
            metrics_out.write(found)


def _require_batch() -> None:
    """Refuse options that are about rows."""
    for name in ("predict", "metrics", "missing", "ignore_unknown"):
        if was_given(name):
            raise UsageError(f"--{name.replace('_', '-')} needs --batch FILE")


def _metrics_output(path: str | None, *, predicts: bool) -> MetricsOutput | None:
    """Where the figures go, if anywhere but to standard error."""
    if path is None:
        return None
    if not predicts:
        raise UsageError("--metrics is about predictions; say --predict COLUMN")
    from gml.formats.suffixes import REPORT_SUFFIXES, format_of

    return MetricsOutput(path, format_of(path, REPORT_SUFFIXES, or_option=""))


def _require_csv(out: AnswerOutput) -> None:
    """Rows are CSV; another format that was asked for is refused."""
    from gml.atomic import names_file

    if out.format != "csv" and (was_given("format_") or names_file(out.path)):
        raise UsageError(f"--batch writes CSV, not {out.format}")

"""gml query MODEL: what a model says, given evidence."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from gml.cli.shared.model_arguments import AskedModel, ModelRequest, model_options
from gml.cli.shared.options import (
    claim_input,
    common_options,
    name_list_option,
    row_reading_options,
    was_given,
)
from gml.cli.shared.output import AnswerOutput, RowOutput, answer_output
from gml.errors import UsageError

if TYPE_CHECKING:
    from gml.data.options import ReadOptions
    from gml.formats.reports.answers import Answer


@click.command(
    "query",
    epilog="\b\nExamples:\n"
    "  gml query model.json --evidence Smoker=yes,Xray=positive\n"
    "  gml query alarm.bif --target BP,HR --evidence CVP=HIGH   # the joint of both\n"
    "  gml query model.json --target Cancer --do Smoker=no\n"
    "  gml query model.json --mpe --evidence Xray=positive\n"
    "  gml query model.json --target Cancer --batch patients.csv -o answers.csv\n"
    "  gml query model.json --predict Cancer --batch patients.csv -o predicted.csv",
)
@model_options
@name_list_option("-t", "--target", help_="Nodes asked for: A,B; their joint. Default: every node.")
@click.option("--each", is_flag=True, help="The targets one by one, not jointly.")
@click.option("--mpe", is_flag=True, help="The most probable values of all unobserved nodes.")
@click.option("--map", "map_", is_flag=True, help="The most probable values of the targets.")
@click.option("--batch", metavar="FILE", help="A CSV file of evidence: an answer for each row.")
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
    help="Missing cells of --batch: not observed, or the level NA of nodes that have it.",
)
@click.option(
    "--ignore-unknown",
    is_flag=True,
    help="Take cells of --batch that are no level of their node for missing.",
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

    Without --target every unobserved node has its own distribution in the answer; several targets
    have their joint one. A level with a comma goes in quotes, 'A="x, y"'; a number stands for the
    interval that it lies in. Of numbers (models by fit-params --gaussian) the answer has means and
    standard deviations.

    Rows of --batch observe the nodes that the file has as columns; a missing cell observes nothing,
    and columns without a node are ignored. The result is CSV, the columns of the file and behind
    them the probability of each level of each target, and that of the row's evidence.
    """
    _check(target, each, mpe=mpe, map_=map_, batch=batch, predict=predict)
    if batch is not None:
        claim_input(batch, "batch")
        _require_csv(out)
    asked = model.read()
    if batch is not None:
        from gml.cli.shared.query_rows import RowQuestion, answers_to_rows

        targets = target if predict is None else (predict,)
        question = RowQuestion(
            batch, reading, targets, predict is not None, missing == "level", ignore_unknown
        )
        RowOutput(out.path).write(answers_to_rows(asked, question))
        return
    if asked.net.is_gaussian:
        out.write(_gaussian_answer(asked, target, joint=not each, best=mpe or map_))
    elif mpe or map_:
        out.write(_explanation(asked, target))
    else:
        out.write(_posterior(asked, target, joint=not each))


def _require_csv(out: AnswerOutput) -> None:
    """Rows are CSV; another format that was asked for is refused."""
    from gml.atomic import is_special

    by_suffix = out.path not in (None, "-") and not is_special(str(out.path))
    if out.format != "csv" and (was_given("format_") or by_suffix):
        raise UsageError(f"--batch writes CSV, not {out.format}")


def _check(
    target: tuple[str, ...],
    each: bool,
    *,
    mpe: bool,
    map_: bool,
    batch: str | None,
    predict: str | None,
) -> None:
    if mpe and (map_ or target):
        raise UsageError("--mpe is about all unobserved nodes; for some, --map and --target")
    if map_ and not target:
        raise UsageError("--map needs --target")
    if each and (map_ or len(target) < 2):
        raise UsageError("--each is for several targets")
    if predict is not None and batch is None:
        raise UsageError("--predict needs --batch FILE")
    if batch is None:
        for name in ("missing", "ignore_unknown"):
            if was_given(name):
                raise UsageError(f"--{name.replace('_', '-')} is about --batch")
    else:
        if mpe or map_:
            raise UsageError("--batch answers with probabilities of each --target, or --predict")
        if each:
            raise UsageError("--batch answers for each target by itself anyway, without --each")
        if (predict is None) == (not target):
            raise UsageError("--batch needs either --target or --predict")


def _explanation(asked: AskedModel, target: Sequence[str]) -> Answer:
    """The best values of the targets, or of all unobserved nodes."""
    from gml.formats.reports.answers import Answer
    from gml.model.inference import Inference

    inference = Inference(asked.net)
    found = inference.map(target, asked.levels) if target else inference.mpe(asked.levels)
    rows = [{"node": name, "level": level} for name, level in found.levels.items()]
    log_probability = min(0.0, found.log_probability)
    return Answer(
        rows, asked.observed, asked.done, found.log_evidence, log_probability=log_probability
    )


def _posterior(asked: AskedModel, target: Sequence[str], *, joint: bool) -> Answer:
    """The distribution of each node, or the joint one of several targets."""
    from gml.formats.reports.answers import Answer
    from gml.model.inference import Inference

    inference = Inference(asked.net)
    levels = {variable.name: variable.levels or () for variable in asked.net.variables}
    rows: list[dict[str, Any]]
    if len(target) > 1 and joint:
        table, log_evidence = inference.joint(target, asked.levels)
        cells = itertools.product(*(levels[name] for name in target))
        column = "probability"
        while column in target:
            column += "_"
        rows = [
            {**dict(zip(target, cell, strict=True)), column: float(p)}
            for cell, p in zip(cells, table.reshape(-1), strict=True)
        ]
        return Answer(rows, asked.observed, asked.done, log_evidence)
    marginals, log_evidence = inference.posterior(asked.levels, target or None)
    rows = [
        {"node": name, "level": level, "probability": float(p)}
        for name, table in marginals.items()
        for level, p in zip(levels[name], table, strict=True)
    ]
    return Answer(rows, asked.observed, asked.done, log_evidence)


def _gaussian_answer(
    asked: AskedModel, target: Sequence[str], *, joint: bool, best: bool
) -> Answer:
    """Mean and standard deviation of each node; several targets with their correlations too."""
    from gml.formats.reports.answers import Answer
    from gml.model.gaussian import gaussian_posterior

    numbers = {name: float(value) for name, value in asked.observed.items()}
    posterior = gaussian_posterior(asked.net, numbers, target or None)
    rows: list[dict[str, Any]] = []
    for i, name in enumerate(posterior.names):
        if best:
            rows.append({"node": name, "value": float(posterior.mean[i])})
            continue
        row = {"node": name, "mean": float(posterior.mean[i]), "sd": posterior.sd(i)}
        if joint and len(target) > 1:
            row |= {f"r({other})": posterior.r(i, j) for j, other in enumerate(posterior.names)}
        rows.append(row)
    return Answer(rows, numbers, asked.done, posterior.log_density, is_density=True)

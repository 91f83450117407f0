"""gml query MODEL: what a model says, given evidence."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from gml.cli.assignments import assignments_option, resolve_assignments
from gml.cli.options import claim_input, common_options, name_list_option, row_reading_options
from gml.cli.output import AnswerOutput, RowOutput, answer_output
from gml.errors import CannotAnswer, UsageError, quote

if TYPE_CHECKING:
    from gml.data.options import ReadOptions
    from gml.formats.reports.answers import Answer
    from gml.model.bayesnet import BayesNet

Values = Mapping[str, str | float]


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
@click.argument("model")
@name_list_option("-t", "--target", help_="Nodes asked for: A,B; their joint. Default: every node.")
@click.option("--each", is_flag=True, help="The targets one by one, not jointly.")
@assignments_option("--evidence", help_="Values observed, after what --do sets.")
@assignments_option("--do", help_="Set nodes by hand, which cuts them from their parents.")
@click.option("--mpe", is_flag=True, help="The most probable values of all unobserved nodes.")
@click.option("--map", "map_", is_flag=True, help="The most probable values of the targets.")
@click.option("--batch", metavar="FILE", help="A CSV file of evidence: an answer for each row.")
@click.option(
    "--predict",
    metavar="COLUMN",
    help="Add the most probable level of COLUMN and its probability to each row of --batch.",
)
@row_reading_options
@click.option("--max-memory", metavar="SIZE", help="Limit for tables; half of what is free.")
@answer_output
@common_options
def command(
    model: str,
    target: tuple[str, ...],
    each: bool,
    evidence: tuple[str, ...],
    do: tuple[str, ...],
    mpe: bool,
    map_: bool,
    batch: str | None,
    predict: str | None,
    reading: ReadOptions,
    max_memory: str | None,
    out: AnswerOutput,
) -> None:
    """Ask MODEL for posterior probabilities, exactly.

    Without --target every unobserved node has its own distribution in the answer; several targets
    have their joint one. Rows of --batch observe the nodes that the file has as columns, an empty
    or missing cell observes nothing; columns without a node are ignored. The answers are CSV: the
    probability of each level of each target, and that of the row's evidence.
    """
    from gml.counts.resources import parse_size
    from gml.formats.models import read_model
    from gml.model.sample import intervene

    _check(target, each, mpe=mpe, map_=map_, batch=batch, predict=predict)
    claim_input(model)
    if batch is not None:
        claim_input(batch)
    out.require_writable()
    budget = None if max_memory is None else parse_size(max_memory)
    net = read_model(model)
    done = resolve_assignments(do, net.variables, "--do")
    observed = resolve_assignments(evidence, net.variables, "--evidence")
    for name in observed:
        if name in done:
            raise UsageError(f"{quote(name)} is both set by --do and observed")
    net = intervene(net, done)
    if batch is not None:
        from gml.cli.query_rows import answers_to_rows

        if net.is_gaussian:
            raise UsageError("--batch is for models of levels")
        rows = answers_to_rows(
            net,
            batch,
            reading,
            target=target,
            predict=predict,
            evidence={name: str(level) for name, level in observed.items()},
            max_memory=budget,
        )
        RowOutput(out.path).write(rows)
        return
    asked = _gaussian_answer if net.is_gaussian else _answer
    out.write(asked(net, target, observed, done, each=each, mpe=mpe, map_=map_, budget=budget))


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
    if batch is not None:
        if mpe or map_ or each:
            raise UsageError("--batch answers with probabilities of each --target, or --predict")
        if (predict is None) == (not target):
            raise UsageError("--batch needs either --target or --predict")


def _answer(
    net: BayesNet,
    target: Sequence[str],
    observed: Values,
    done: Values,
    *,
    each: bool,
    mpe: bool,
    map_: bool,
    budget: int | None,
) -> Answer:
    from gml.formats.reports.answers import Answer
    from gml.model.query import Inference

    inference = Inference(net, max_memory=budget)
    evidence = {name: str(level) for name, level in observed.items()}
    if mpe or map_:
        found = inference.mpe(evidence) if mpe else inference.map(target, evidence)
        rows: list[dict[str, Any]] = [
            {"node": name, "level": level} for name, level in found.levels.items()
        ]
        return Answer(
            rows,
            evidence,
            done,
            found.log_evidence,
            log_probability=min(0.0, found.log_probability),
        )
    levels = {variable.name: variable.levels or () for variable in net.variables}
    if len(target) > 1 and not each:
        table, log_evidence = inference.joint(target, evidence)
        cells = itertools.product(*(levels[name] for name in target))
        column = "p" if "probability" in target else "probability"
        rows = [
            {**dict(zip(target, cell, strict=True)), column: float(p)}
            for cell, p in zip(cells, table.reshape(-1), strict=True)
        ]
        return Answer(rows, evidence, done, log_evidence)
    marginals, log_evidence = inference.posterior(evidence, target or None)
    rows = [
        {"node": name, "level": level, "probability": float(p)}
        for name, table in marginals.items()
        for level, p in zip(levels[name], table, strict=True)
    ]
    return Answer(rows, evidence, done, log_evidence)


def _gaussian_answer(
    net: BayesNet,
    target: Sequence[str],
    observed: Values,
    done: Values,
    *,
    each: bool,
    mpe: bool,
    map_: bool,
    budget: int | None,
) -> Answer:
    """Mean and standard deviation of each node; several targets with their correlations too."""
    from gml.formats.reports.answers import Answer
    from gml.model.gaussian import gaussian_posterior

    if budget is not None and 16 * len(net.names) ** 2 > budget:
        raise CannotAnswer("the covariance of all nodes is more than --max-memory allows")
    numbers = {name: float(value) for name, value in observed.items()}
    posterior = gaussian_posterior(net, numbers, target or None)
    joint = len(target) > 1 and not each
    rows: list[dict[str, Any]] = []
    for i, name in enumerate(posterior.names):
        if mpe or map_:
            rows.append({"node": name, "value": float(posterior.mean[i])})
            continue
        row = {"node": name, "mean": float(posterior.mean[i]), "sd": posterior.sd(i)}
        if joint:
            row |= {f"r({other})": posterior.r(i, j) for j, other in enumerate(posterior.names)}
        rows.append(row)
    return Answer(rows, numbers, done, posterior.log_density, is_density=True)

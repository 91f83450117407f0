"""gml.query: what a model says, given evidence; for one case, or for each row of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Unpack, overload

from gml.data.options import given_keywords
from gml.errors import UsageError, parameter
from gml.model.answer import Answer
from gml.model.conditional.field import ConditionalField
from gml.model.conditional.questions import best_of_field, query_field
from gml.model.query import Names, best, names_of
from gml.model.query import query as ask
from gml.model.row_answers import RowAnswers
from gml.model.sequences.chain_field import ChainField
from gml.verbs.shared.front_door import front_door
from gml.verbs.shared.model_input import AskedSource, open_asked_model
from gml.verbs.shared.row_queries import (
    RowReading,
    RowSource,
    answers_of_rows,
    require_asked,
    row_inference,
)


@overload
def query(
    model: AskedSource,
    target: Names = None,
    evidence: Mapping[str, Any] | None = None,
    do: Mapping[str, Any] | None = None,
    *,
    each: bool = False,
    mpe: bool = False,
    map: bool = False,
    interval: float | None = None,
    max_memory: int | None = None,
    batch: None = None,
) -> Answer: ...
@overload
def query(
    model: AskedSource,
    target: Names = None,
    evidence: Mapping[str, Any] | None = None,
    do: Mapping[str, Any] | None = None,
    *,
    mpe: bool = False,
    interval: float | None = None,
    max_memory: int | None = None,
    batch: RowSource,
    predict: str | None = None,
    missing: str | None = None,
    ignore_unknown: bool = False,
    **reading: Unpack[RowReading],
) -> RowAnswers: ...
@front_door(reading=tuple(RowReading.__annotations__))
def query(
    model: AskedSource,
    target: Names = None,
    evidence: Mapping[str, Any] | None = None,
    do: Mapping[str, Any] | None = None,
    *,
    each: bool = False,
    mpe: bool = False,
    map: bool = False,
    interval: float | None = None,
    max_memory: int | None = None,
    batch: RowSource | None = None,
    predict: str | None = None,
    missing: str | None = None,
    ignore_unknown: bool = False,
    **reading: Unpack[RowReading],
) -> Answer | RowAnswers:
    """Ask a model for posterior probabilities, or for the most probable values, exactly.

    Parameters
    ----------
    model
        With arrows or without, a conditional field (whose inputs must all be observed), or a file
        of one.
    target
        A node, or several for their joint distribution; by default every node on its own.
    evidence
        Values observed, after what `do` sets. A number is the text of a level, or else stands for
        the interval that it lies in.
    do
        Values set by hand, which cuts nodes off from their parents, and so needs arrows; a warning
        and `rests_on` of the answer name those among them that the data leave open.
    each
        Whether the targets are answered one by one, not jointly.
    mpe
        Whether to find the most probable values of all unobserved nodes; for rows, of a conditional
        field.
    map
        Whether to find the most probable values of the targets.
    interval
        The probability that the bounds of each number have between them, with equal tails: the
        outer quantiles of its distribution, or bounds for each row.
    max_memory
        Bytes that tables may take; by default half of what is free.
    batch
        Rows of evidence, each of which has an answer of its own, target by target: a CSV or Parquet
        file, a DataFrame or a Dataset. Columns that are nodes are observed, the others are ignored.
    predict
        A node instead of targets, whose most probable level is found for each row.
    missing
        What a missing cell of a row says: nothing (`unobserved`, the default), or that the node
        has the level NA (`level`). A conditional field refuses an input that is not observed.
    ignore_unknown
        Whether cells that are not levels of their node are treated as missing; a conditional field
        then answers without the inputs that are missing.
    **reading
        How a file of rows is read: `delimiter`, `decimal`, `encoding`, `na`; see `gml.read`. What
        is not given is as for the rows that the model was fitted on.

    Examples
    --------
    >>> import gml
    >>> counter = gml.MemoryCounter(gml.read("sample_data/asia.csv"))
    >>> net = gml.fit(counter, gml.read_graph("sample_data/asia.dot"))
    >>> answer = query(net, "lung", {"xray": "yes"})
    >>> round(answer["lung"]["yes"], 4)
    0.4783
    >>> query(net, evidence={"xray": "yes"}, mpe=True)["smoke"]
    'yes'
    >>> answers = query(net, ["lung", "bronc"], batch="sample_data/asia.csv")
    >>> list(answers.to_frame())
    ['lung=no', 'lung=yes', 'bronc=no', 'bronc=yes', 'p_evidence']
    >>> query(net, batch=gml.read("sample_data/asia.csv"), predict="lung").predicted[0]
    'no'
    """
    names = names_of(target)
    given = given_keywords(reading)
    check_question(names, each=each, mpe=mpe, map=map)
    if batch is not None:
        check_batch(names, predict, each=each, mpe=mpe, map=map)
        return answers_of_rows(
            row_inference(
                model,
                names,
                evidence,
                do,
                predict=predict,
                mpe=mpe,
                interval=interval,
                max_memory=max_memory,
            ),
            batch,
            missing="unobserved" if missing is None else missing,
            ignore_unknown=ignore_unknown,
            reading={name: reading[name] for name in given},  # type: ignore[literal-required]
        )
    about_rows = {"predict": predict, "missing": missing, "ignore_unknown": ignore_unknown}
    idle = [*(name for name, value in about_rows.items() if value), *given]
    if idle:
        raise UsageError(f"{parameter(idle[0])} needs {parameter('batch')}")
    net = open_asked_model(model)
    if isinstance(net, ChainField):
        raise UsageError(
            "a field of sequences is asked about their rows: give them with " + parameter("batch")
        )
    if interval is not None and (mpe or map or isinstance(net, ConditionalField)):
        raise UsageError(f"{parameter('interval')} is about distributions of numbers")
    if isinstance(net, ConditionalField):
        if mpe or map:
            return best_of_field(net, names, evidence, do=do, max_memory=max_memory)
        return query_field(net, names, evidence, do=do, each=each, max_memory=max_memory)
    if mpe or map:
        return best(net, names, evidence, do=do, max_memory=max_memory)
    return ask(net, names, evidence, do=do, each=each, interval=interval, max_memory=max_memory)


def check_question(target: Sequence[str], *, each: bool, mpe: bool, map: bool) -> None:
    """Refuse what cannot be asked together."""
    if mpe and (map or target):
        raise UsageError(
            f"{parameter('mpe')} is about all unobserved nodes; for some, {parameter('map')} and "
            f"{parameter('target')}"
        )
    if map and not target:
        raise UsageError(f"{parameter('map')} needs {parameter('target')}")
    if each and (map or len(target) < 2):
        raise UsageError(f"{parameter('each')} is for several targets")


def check_batch(
    target: Sequence[str], predict: str | None, *, each: bool, mpe: bool, map: bool
) -> None:
    """Refuse what cannot be asked about rows."""
    batch = parameter("batch")
    if map:
        raise UsageError(
            f"{batch} answers with probabilities of each {parameter('target')}, or "
            f"{parameter('predict')}"
        )
    if mpe:
        if predict is not None:
            raise UsageError(
                f"{parameter('mpe')} finds all targets together, {parameter('predict')} one by "
                "itself; choose one"
            )
        return
    if each:
        raise UsageError(
            f"{batch} answers for each target on its own anyway; leave out {parameter('each')}"
        )
    require_asked(target, predict)

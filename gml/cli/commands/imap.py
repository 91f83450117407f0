"""gml imap DATA --order A,B,C: a DAG whose edges follow an order."""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter as Multiset
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from gml import __version__
from gml.cli.shared.common_options import (
    OUT_OF_TIME,
    chosen_options,
    common_options,
    max_seconds_option,
)
from gml.cli.shared.data_options import DataRequest, data_options
from gml.cli.shared.knowledge_options import KnowledgeRequest, knowledge_options
from gml.cli.shared.numbers import WholeRange
from gml.cli.shared.output import GraphOutput, graph_output
from gml.cli.shared.parameter_types import NameList
from gml.cli.shared.score_options import ScoreRequest, score_instead_options
from gml.cli.shared.test_options import TestRequest, test_options
from gml.errors import UsageError, listing, unknown_name
from gml.progress import Deadline, reporter
from gml.scores.registry import SCORES

if TYPE_CHECKING:
    from gml.counts.counter import Counter
    from gml.data.columns import Choice
    from gml.graph.knowledge import Knowledge
    from gml.learners.imap import ImapResult
    from gml.scores.base import DecomposableScore


@click.command(
    "imap",
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
    help="The columns used, causes before effects: A,B,C.",
)
@test_options("auto", alpha=0.01, df="adjusted", shared=SCORES)
@score_instead_options
@click.option("--max-parents", type=WholeRange(min=0), help="Parents of a node, at most.")
@knowledge_options
@max_seconds_option
@graph_output
@common_options
def command(
    data: DataRequest,
    order: tuple[str, ...],
    testing: TestRequest,
    scoring: ScoreRequest | None,
    max_parents: int | None,
    knowledge: KnowledgeRequest,
    deadline: Deadline,
    out: GraphOutput,
) -> int:
    """Learn the DAG for an order of the columns in which no edge can be spared (a minimal I-map).

    Each column gets its parents from those before it in the order: the smallest set that makes it
    independent of the others. They are found by independence tests, growing and then shrinking the
    set; with --score by greedy search instead, as in the K2 algorithm. Only a test that says
    dependent makes an edge.
    """
    from gml.formats.knowledge import as_json

    if scoring is None:
        testing.check()
        testing.require_reachable_level()
    elif data.options.missing == "available":
        raise UsageError(
            "--missing available: families on different rows cannot be compared; use drop or level"
        )
    numeric = testing.numeric if scoring is None else scoring.numeric
    counter = data.open(
        used=_columns_of(order, data.options.columns),
        undeclared="numbers" if numeric else "labels",
        offer_available=scoring is None,
    )
    names = [variable.name for variable in counter.variables]
    told = knowledge.resolve(names)
    learning: dict[str, Any] = {
        "command": "imap",
        "options": chosen_options(),
        "settings": {"order": list(order), "max_parents": max_parents},
        "version": __version__,
        "rows": counter.n,
        "data": counter.digest,
    }
    if told:
        learning["knowledge"] = as_json(told)
    limits: dict[str, Any] = {"max_parents": max_parents, "deadline": deadline}
    if scoring is None:
        from gml.learners.imap import minimal_imap

        test = testing.make(counter, data.threads)
        result = minimal_imap(test, order, alpha=testing.alpha, knowledge=told, **limits)
        learning["settings"] |= {"test": testing.name, "alpha": testing.reported_alpha}
        learning["tests"] = result.asked
    else:
        from gml.learners.imap import greedy_imap

        (score,) = scoring.make(counter)
        result = greedy_imap(score, order, knowledge=_with_constants(told, score), **limits)
        learning["settings"] |= {"score": score.name}
        learning |= {"scores": result.asked, "score": result.score}
    return _write(result, counter, learning, out)


def _columns_of(order: Sequence[str], columns: Sequence[str] | None) -> Choice:
    """Pick the columns of the order, as they stand in the file or in --columns."""

    def used(names: Sequence[str]) -> Sequence[str]:
        twice = [name for name, times in Multiset(order).items() if times > 1]
        if twice:
            raise UsageError(f"--order has {listing(twice)} twice")
        known, placed = set(names), set(order)
        for name in order:
            if name not in known:
                raise UsageError(f"--order: {unknown_name('column', name, names)}")
        left = [name for name in names if name not in placed]
        if columns is not None and left:
            raise UsageError(f"--columns has {listing(left)}, which --order does not place")
        if left:
            reporter().note(f"not in the order, ignored: {listing(left)}")
        return [name for name in names if name in order]

    return used


def _with_constants(knowledge: Knowledge, score: DecomposableScore) -> Knowledge:
    """Keep columns of one value without edges, which some scores would give them for nothing."""
    from gml.graph.knowledge import Knowledge

    constant = {score.names[j] for j in score.constants()}
    arcs = [
        arc
        for arc in itertools.permutations(score.names, 2)
        if constant & set(arc) and arc not in knowledge.require
    ]
    return knowledge + Knowledge(forbid=tuple(arcs))


def _write(result: ImapResult, counter: Counter, learning: dict[str, Any], out: GraphOutput) -> int:
    what = "tests" if result.score is None else "families scored"
    reporter().note(f"{result.asked} {what}")
    if not result.complete:
        learning["complete"] = False
    levels = {v.name: v.levels for v in counter.variables if v.levels is not None}
    out.write(dataclasses.replace(result.graph, levels=levels), learning)
    if result.complete:
        return 0
    reporter().warn("stopped by --max-seconds: edges may be missing, or too many")
    return OUT_OF_TIME

"""A minimal I-map of a table for an order of its columns: gml.imap, `gml imap`."""

from __future__ import annotations

import itertools
import os
from collections import Counter as Multiset
from collections.abc import Mapping, Sequence
from typing import Any

from gml.data.columns import Choice
from gml.data.options import names_of
from gml.errors import UsageError, listing, parameter, unknown_name
from gml.graph.knowledge import Knowledge
from gml.independence.registry import TESTS
from gml.learners.imap import ImapResult, greedy_imap, minimal_imap
from gml.parameters import options_of, owners_of
from gml.progress import Deadline, reporter
from gml.scores.base import DecomposableScore, same_rows
from gml.scores.registry import SCORES
from gml.verbs.shared.chosen_methods import (
    ChosenScore,
    ChosenTest,
    choose_score,
    choose_test,
    score_of_numbers,
    test_of_numbers,
)
from gml.verbs.shared.data_input import Data, open_data
from gml.verbs.shared.front_door import front_door
from gml.verbs.shared.knowledge_input import Arcs, Tiers, known_of
from gml.verbs.shared.known_names import columns_in
from gml.verbs.shared.picked_tests import tests_picked
from gml.verbs.shared.planned_call import plannable
from gml.verbs.shared.recording import described, learned_by, records_keywords
from gml.verbs.shared.sparse_tables import warn_of_sparse_tables

ALPHA = 0.01


@front_door(TESTS, SCORES, choices={"order": columns_in})
@plannable("imap")
@records_keywords
def imap(
    data: Data,
    order: str | Sequence[str],
    *,
    test: str | None = None,
    alpha: float | None = None,
    score: str | None = None,
    edge_penalty: float | None = None,
    max_parents: int | None = None,
    knowledge: Knowledge | str | os.PathLike[str] | None = None,
    require: Arcs = (),
    forbid: Arcs = (),
    tiers: Tiers = (),
    max_seconds: float | None = None,
    threads: int | None = None,
    asked: Mapping[str, Any] | None = None,
    **options: Any,
) -> ImapResult:
    """Learn the DAG for an order of the columns that can spare no edge.

    Parameters
    ----------
    data
        A path, a DataFrame, a Dataset or a Counter.
    order
        The columns used, causes before effects.
    test, alpha
        One of `gml.TESTS` (`auto` by default) and its level, 0.01 by default.
    score, edge_penalty
        One of `gml.SCORES`: find the parents by greedy search instead, as in the K2 algorithm.
    max_parents
        Most parents of a node.
    knowledge, require, forbid, tiers
        What is known beforehand: a `Knowledge` or a file, pairs of names, groups of names from
        causes to effects.
    max_seconds
        Stop after this time with what is there; the result says so.
    threads
        Threads; all cores by default.
    asked
        What the provenance records as asked for; by default the keywords of the call.
    **options
        Options of the test or score, and how to read the data; see `gml.read`.

    Examples
    --------
    >>> import gml
    >>> order = ["smoke", "lung", "bronc", "dysp"]
    >>> gml.imap("sample_data/asia.csv", order).graph
    <Graph: dag, 4 nodes, 4 edges: smoke --> lung, smoke --> bronc, lung --> dysp, bronc --> dysp>
    """
    deadline = Deadline(max_seconds)
    order = names_of("order", order)
    chosen: ChosenTest | ChosenScore
    if score is None:
        _refuse_scores_options(edge_penalty, options)
        chosen, reading = choose_test(test, alpha, options, default_alpha=ALPHA, df="adjusted")
        chosen.require_reachable_level()
        chosen.require_conditional("an order needs tests given what comes first")
    else:
        _refuse_tests_options({"test": test, "alpha": alpha, **options})
        chosen, reading = choose_score(score, edge_penalty or 0.0, options)
        if reading.get("missing") == "available" and not chosen.takes_gaps:
            raise same_rows()
    counter = open_data(
        data,
        used=_columns_of(order, reading.get("columns")),
        undeclared=chosen.undeclared,
        offer_available=isinstance(chosen, ChosenTest) or chosen.takes_gaps,
        takes_numbers=test_of_numbers() if score is None else score_of_numbers(),
        threads=threads,
        **reading,
    )
    told = known_of([v.name for v in counter.variables], knowledge, require, forbid, tiers)
    settings: dict[str, Any] = {"order": list(order), "max_parents": max_parents}
    limits: dict[str, Any] = {"max_parents": max_parents, "deadline": deadline}
    if isinstance(chosen, ChosenTest):
        made = chosen.make(counter, threads)
        result = minimal_imap(made, order, alpha=chosen.alpha, knowledge=told, **limits)
        warn_of_sparse_tables(chosen.name, result.strained)
        settings |= {"test": chosen.name, "alpha": chosen.reported_alpha}
        settings |= tests_picked(chosen, counter)
        found: dict[str, Any] = {"tests": result.asked}
    else:
        told = chosen.limited(told, counter.variables)
        scored = chosen.make(counter)
        result = greedy_imap(scored, order, knowledge=_with_constants(told, scored), **limits)
        settings["score"] = scored.name
        found = {"scores": result.asked, "score": result.score}
        for remark in scored.remarks():
            reporter().warn(remark)
    reporter().note(f"{result.asked} {'tests' if result.score is None else 'families scored'}")
    if not result.complete:
        found["complete"] = False
        reporter().warn(f"stopped by {parameter('max_seconds')}: edges may be missing, or too many")
    return described(
        result, counter, learned_by("imap", counter, settings, told, asked).also(**found)
    )


def _refuse_scores_options(edge_penalty: float | None, options: Mapping[str, Any]) -> None:
    alone = [name for name in options_of(SCORES) if not owners_of(TESTS, name)]
    given = [name for name in alone if name in options]
    if edge_penalty is not None:
        given.append("edge_penalty")
    if given:
        raise UsageError(f"{parameter(given[0])} belongs to {parameter('score')}")


def _refuse_tests_options(given: Mapping[str, Any]) -> None:
    """Refuse options of tests that are not options of scores too, if a score is used instead."""
    for option in ("test", "alpha", *options_of(TESTS)):
        if given.get(option) is not None and not owners_of(SCORES, option):
            raise UsageError(
                f"{parameter(option)} is about tests, and {parameter('score')} asks for none"
            )


def _columns_of(order: Sequence[str], columns: Sequence[str] | None) -> Choice:
    """Pick the columns of the order, as they stand in the data or in `columns`."""

    def used(names: Sequence[str]) -> Sequence[str]:
        twice = [name for name, times in Multiset(order).items() if times > 1]
        if twice:
            raise UsageError(f"{parameter('order')} lists {listing(twice)} twice")
        known, placed = set(names), set(order)
        for name in order:
            if name not in known:
                raise UsageError(f"{parameter('order')}: {unknown_name('column', name, names)}")
        left = [name for name in names if name not in placed]
        if columns is not None and left:
            raise UsageError(
                f"{parameter('columns')} has {listing(left)}, which {parameter('order')} does not "
                "place"
            )
        if left:
            reporter().note(f"not in the order, ignored: {listing(left)}")
        return [name for name in names if name in placed]

    return used


def _with_constants(knowledge: Knowledge, score: DecomposableScore) -> Knowledge:
    """Keep columns of one value without edges, to which some scores would not object."""
    constant = {score.names[j] for j in score.constants()}
    arcs = [
        arc
        for arc in itertools.permutations(score.names, 2)
        if constant & set(arc) and arc not in knowledge.require
    ]
    return knowledge + Knowledge(forbid=tuple(arcs))

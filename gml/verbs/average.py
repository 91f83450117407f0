"""How certain each edge is, over samples or over all graphs: gml.average, `gml average`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gml.errors import UsageError, parameter, require_one_of
from gml.graph.knowledge import Knowledge
from gml.independence.registry import TESTS
from gml.learners.averaging import Averaged
from gml.parameters import options_of, owners_of
from gml.progress import Deadline
from gml.scores.registry import POSTERIOR_SCORES, SCORES, SEARCH_SCORES
from gml.verbs.shared.averaged_learners import (
    BY,
    BY_ORDERS,
    BY_SAMPLES,
    BY_SCORE,
    MOST_PARENTS,
)
from gml.verbs.shared.chosen_methods import (
    choose_score,
    choose_test,
    score_of_numbers,
    test_of_numbers,
)
from gml.verbs.shared.collider_warnings import warn_of_average
from gml.verbs.shared.data_input import Data, open_data
from gml.verbs.shared.front_door import front_door
from gml.verbs.shared.knowledge_input import Arcs, Tiers, known_of
from gml.verbs.shared.over_orders import Posterior
from gml.verbs.shared.over_samples import (
    Limits,
    OnSamples,
    PcOnSamples,
    SearchOnSamples,
    UndirectedOnSamples,
    over_samples,
)
from gml.verbs.shared.pc_settings import (
    ALPHA,
    PcSettings,
    require_available,
    require_average,
    takes_seed,
)
from gml.verbs.shared.picked_tests import tests_picked
from gml.verbs.shared.planned_call import plannable
from gml.verbs.shared.recording import described, learned_by, records_keywords
from gml.verbs.shared.structure_names import STRUCTURES_AVERAGED
from gml.verbs.shared.undirected_structures import choose_structure

BOOTSTRAP = 200
_CHAIN = ("candidates", "iterations", "burn_in", "thin", "chains")
_OF_PC = ("test", "alpha", "max_cond", "colliders", "on_insufficient", "missing_correction")
_OF_MRF = ("structure", "max_clique", "prune", "gamma", "rule")
_LEARNERS_OF = {
    "bootstrap": BY_SAMPLES,
    "seed": (*BY_SAMPLES, "order-mcmc"),
    **dict.fromkeys(("score", "edge_penalty"), (*BY_SCORE, "mrf")),
    "max_parents": BY_SCORE,
    **dict.fromkeys(_OF_MRF, ("mrf",)),
    **dict.fromkeys(_CHAIN, ("order-mcmc",)),
    "tabu": ("hc",),
    **dict.fromkeys(("restarts", "perturb"), ("hc", "ges")),
    **dict.fromkeys(_OF_PC, ("pc",)),
}


@front_door(TESTS, SCORES, choices={"by": lambda _: BY})
@plannable("average")
@records_keywords
def average(
    data: Data,
    by: str,
    *,
    bootstrap: int | None = None,
    threshold: float | None = None,
    seed: int | None = None,
    score: str | None = None,
    edge_penalty: float | None = None,
    max_parents: int | None = None,
    tabu: int | None = None,
    restarts: int | None = None,
    perturb: int | None = None,
    candidates: int | None = None,
    iterations: int | None = None,
    burn_in: int | None = None,
    thin: int | None = None,
    chains: int | None = None,
    test: str | None = None,
    alpha: float | None = None,
    max_cond: int | None = None,
    colliders: str | None = None,
    on_insufficient: str | None = None,
    missing_correction: str | None = None,
    structure: str | None = None,
    max_clique: int | None = None,
    prune: str | None = None,
    gamma: float | None = None,
    rule: str | None = None,
    knowledge: Knowledge | str | os.PathLike[str] | None = None,
    require: Arcs = (),
    forbid: Arcs = (),
    tiers: Tiers = (),
    max_seconds: float | None = None,
    threads: int | None = None,
    asked: Mapping[str, Any] | None = None,
    **options: Any,
) -> Averaged:
    """Learn how certain each edge is: average many graphs instead of picking one.

    Parameters
    ----------
    data
        A path, a DataFrame, a Dataset or a Counter.
    by
        What to average: the graphs that `hc`, `ges` or `pc`, or the undirected ones that `mrf`
        learn from samples of the rows, or all DAGs by their posterior probability: `exact`, or
        `order-mcmc` for many columns.
    bootstrap, seed
        Number of samples, 200 by default: for learners by a score of as many rows as there are,
        with replacement; for pc and for `structure="l1"` or `prune="g"` of half of the rows.
    threshold
        Least strength of an edge; by default found from the data, 0.5 for a posterior.
    score, edge_penalty, max_parents, tabu, restarts, perturb
        For the searches; see `gml.hc` and `gml.ges`. The score is bic, or bdeu for
        posteriors; for numbers bic-g or bge; for numbers beside labels bic-dg.
    candidates, iterations, burn_in, thin, chains
        For `by="order-mcmc"`: candidate parents per variable, steps per chain, steps before
        these, steps from one sample to the next, and the number of chains.
    test, alpha, max_cond, colliders, on_insufficient, missing_correction
        For `by="pc"`; see `gml.pc`.
    structure, max_clique, prune, gamma, rule
        For `by="mrf"`: `forward` (the default, by `score`, with cliques of so many columns at
        most), `tree` (`prune`: `bic` or `g` for a forest) or `l1` (`gamma` of its eBIC, and `and`
        or `or`); see `gml.mrf`.
    knowledge, require, forbid, tiers
        What is known beforehand: a `Knowledge` or a file, pairs of names, groups of names from
        causes to effects; not for undirected graphs.
    max_seconds
        Stop after this time with what is ready; the result says so.
    threads
        Threads; all cores by default.
    asked
        What the provenance records as asked for; by default the keywords of the call.
    **options
        Options of the score or test, and how to read the data; see `gml.read`.

    Examples
    --------
    >>> import gml
    >>> averaged = gml.average("sample_data/asia.csv", by="hc", bootstrap=20)
    >>> averaged.replicates, averaged.graph.kind
    (20, 'cpdag')
    """
    deadline = Deadline(max_seconds)
    given = _given(
        bootstrap=bootstrap,
        seed=seed,
        score=score,
        edge_penalty=edge_penalty,
        max_parents=max_parents,
        candidates=candidates,
        iterations=iterations,
        burn_in=burn_in,
        thin=thin,
        chains=chains,
        tabu=tabu,
        restarts=restarts,
        perturb=perturb,
        test=test,
        alpha=alpha,
        max_cond=max_cond,
        colliders=colliders,
        on_insufficient=on_insufficient,
        missing_correction=missing_correction,
        structure=structure,
        max_clique=max_clique,
        prune=prune,
        gamma=gamma,
        rule=rule,
    )
    _require_fitting(by, given, options)
    if by == "mrf":
        _require_no_directions(knowledge=knowledge, require=require, forbid=forbid, tiers=tiers)
    require_average(bootstrap, threshold)
    if seed is not None and takes_seed(test):
        options["seed"] = seed
    learner, reading = _learner(by, given, options, seed or 0)
    if missing_correction is not None:
        require_available(data, reading, missing_correction)
    counter = open_data(
        data,
        undeclared=learner.undeclared,
        offer_available=by == "pc",
        takes_numbers=_takers_of_numbers(by),
        threads=threads,
        **reading,
    )
    known = known_of([v.name for v in counter.variables], knowledge, require, forbid, tiers)
    if isinstance(learner, SearchOnSamples | Posterior):
        learner = replace(learner, score=learner.score.for_columns(counter.variables))
        known = learner.score.limited(known, counter.variables)
    limits = Limits(threshold, known, deadline, threads)
    settings: dict[str, Any] = {"by": by}
    if isinstance(learner, Posterior):
        settings |= learner.shown
        averaged, found = learner.average(counter, limits)
    else:
        replicates = BOOTSTRAP if bootstrap is None else bootstrap
        settings |= {"bootstrap": replicates, "seed": seed or 0, **learner.shown}
        if isinstance(learner, PcOnSamples):
            learner.settings.require_correctable(counter.variables)
            settings |= tests_picked(learner.settings.test, counter)
        averaged, found = over_samples(
            counter, learner, replicates, seed or 0, limits, parameter("by", by)
        )
    warn_of_average(averaged, "replicates" if by in BY_SAMPLES else "edges")
    return described(
        averaged, counter, learned_by("average", counter, settings, known, asked).also(**found)
    )


def _given(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _require_fitting(by: str, given: Mapping[str, Any], options: Mapping[str, Any]) -> None:
    """Refuse a learner that is none, and what means nothing to the one asked for."""
    require_one_of("by", by, BY)
    fitting = dict(_LEARNERS_OF)
    for name in options_of(TESTS):
        if not owners_of(SCORES, name):
            fitting.setdefault(name, ("pc",))
    for name in options_of(SCORES):
        if not owners_of(TESTS, name):
            fitting[name] = (*BY_SCORE, "mrf")
    for name in (*given, *options):
        learners = fitting.get(name)
        if learners is not None and by not in learners:
            raise UsageError(
                f"{parameter(name)} does not go with {parameter('by', by)} "
                f"(only with {', '.join(learners)})"
            )


def _require_no_directions(**known: Any) -> None:
    """Refuse knowledge of directions about graphs that have none."""
    for name, value in known.items():
        if value is not None and value != ():
            raise UsageError(
                f"{parameter(name)} does not go with {parameter('by', 'mrf')}: undirected graphs "
                "have no causes and effects"
            )


def _takers_of_numbers(by: str) -> str | None:
    """What to advise for columns of numbers, if anything is."""
    if by == "mrf":
        return None
    return score_of_numbers() if by in BY_SCORE else test_of_numbers()


def _learner(
    by: str, given: Mapping[str, Any], options: Mapping[str, Any], seed: int
) -> tuple[OnSamples | Posterior, dict[str, Any]]:
    """Check the options of what learns; returns it, and how to read the data."""
    if by == "mrf":
        name = given.get("structure", STRUCTURES_AVERAGED[0])
        require_one_of("structure", name, STRUCTURES_AVERAGED)
        about = {key: given[key] for key in ("score", "edge_penalty", *_OF_MRF[1:]) if key in given}
        structure, reading = choose_structure(name, {**options, **about})
        return UndirectedOnSamples(structure, seed), reading
    if by == "pc":
        test, reading = choose_test(
            given.get("test"),
            given.get("alpha"),
            options,
            default_alpha=ALPHA,
            df="adjusted",
        )
        test.require_reachable_level()
        chosen = {name: given[name] for name in _OF_PC[2:] if name in given}
        return PcOnSamples(PcSettings(test, **chosen)), reading
    score, reading = choose_score(
        given.get("score"),
        given.get("edge_penalty", 0.0),
        options,
        POSTERIOR_SCORES if by in BY_ORDERS else SEARCH_SCORES,
    )
    max_parents = given.get("max_parents")
    if by in BY_ORDERS:
        score.require_likelihood(parameter("by", by))
        if by == "order-mcmc" and max_parents is None:
            max_parents = MOST_PARENTS
        chain = {name: given[name] for name in _CHAIN if name in given}
        return Posterior(by, score, max_parents, chain, seed), reading
    if by == "ges":
        score.require_equivalent("ges")
    restarts, perturb = given.get("restarts", 0), given.get("perturb")
    if perturb is not None and not restarts:
        raise UsageError(f"{parameter('perturb')} is for {parameter('restarts')}")
    return SearchOnSamples(
        by, score, max_parents, given.get("tabu", 0), restarts, perturb, seed
    ), reading

"""The PC algorithm on a table: gml.pc, `gml pc`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, cast, overload

from gml.errors import UsageError, listing, parameter, quote
from gml.graph.knowledge import Knowledge
from gml.independence.adapted_test import as_test
from gml.independence.base import CITest, IndependenceTest
from gml.independence.registry import TESTS
from gml.learners import pc as learner
from gml.learners.pc import PcResult as PcResult
from gml.learners.skeleton import Log
from gml.printable_text import printable
from gml.progress import Deadline, reporter
from gml.verbs.shared.chosen_methods import choose_test, test_of_numbers
from gml.verbs.shared.collider_warnings import (
    shown_collider,
    warn_of_ambiguity,
    warn_of_average,
    warn_of_contradictions,
)
from gml.verbs.shared.data_input import Data, is_data, open_data, require_decider
from gml.verbs.shared.front_door import front_door
from gml.verbs.shared.knowledge_input import Arcs, Tiers, known_of
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

if TYPE_CHECKING:
    from gml.formats.test_log import TestLog
    from gml.learners.averaging import Averaged
    from gml.learners.missingness_correction import Corrected

# ln 2: as much evidence as the toss of a coin.
_WEAK = 0.69


@overload
def pc(
    data: Data | CITest,
    *,
    test: str | None = None,
    alpha: float | None = None,
    max_cond: int | None = None,
    colliders: str = "max-p",
    on_insufficient: str = "auto",
    missing_correction: str = "none",
    knowledge: Knowledge | str | os.PathLike[str] | None = None,
    require: Arcs = (),
    forbid: Arcs = (),
    tiers: Tiers = (),
    max_seconds: float | None = None,
    threads: int | None = None,
    asked: Mapping[str, Any] | None = None,
    test_log: TestLog | str | os.PathLike[str] | None = None,
    bootstrap: None = None,
    threshold: float | None = None,
    seed: int | None = None,
    **options: Any,
) -> PcResult: ...
@overload
def pc(
    data: Data,
    *,
    bootstrap: int,
    threshold: float | None = None,
    seed: int | None = None,
    **options: Any,
) -> Averaged: ...
@front_door(TESTS)
@plannable("pc")
@records_keywords
def pc(
    data: Data | CITest,
    *,
    test: str | None = None,
    alpha: float | None = None,
    max_cond: int | None = None,
    colliders: str = "max-p",
    on_insufficient: str = "auto",
    missing_correction: str = "none",
    knowledge: Knowledge | str | os.PathLike[str] | None = None,
    require: Arcs = (),
    forbid: Arcs = (),
    tiers: Tiers = (),
    max_seconds: float | None = None,
    threads: int | None = None,
    asked: Mapping[str, Any] | None = None,
    test_log: TestLog | str | os.PathLike[str] | None = None,
    bootstrap: int | None = None,
    threshold: float | None = None,
    seed: int | None = None,
    **options: Any,
) -> PcResult | Averaged:
    """Learn a CPDAG by independence tests (the PC algorithm, order-independent).

    Parameters
    ----------
    data
        A path, a DataFrame, a Dataset or a Counter; or a test of your own.
    test
        One of `gml.TESTS`, auto by default.
    alpha
        Level of the tests, 0.01 by default.
    max_cond
        Largest conditioning set.
    colliders
        How colliders are found: `max-p`, `sepset`, `conservative` or `majority`.
    on_insufficient
        What to do with an edge whose test the data cannot decide: `keep`, `drop`, or `auto`,
        which keeps it if there are enough rows.
    missing_correction
        `mvpc` finds what makes values missing, and weights rows in tests that would otherwise take
        that for an edge; for `missing="available"`, labels alone or numbers alone.
    knowledge, require, forbid, tiers
        What is known beforehand: a `Knowledge` or a file, pairs of names, groups of names from
        causes to effects. The result is then the maximally oriented PDAG.
    max_seconds
        Stop after this time with what is there; the result says so.
    threads
        Threads; all cores by default.
    test_log
        A file for every test, which `gml.explain` reads; or a `TestLog`.
    bootstrap
        Number of half-samples of the rows to learn from instead; the graphs are averaged, and the
        result is that of `gml.average(data, by="pc")`.
    threshold
        Least strength of an edge of the average; by default found from the data.
    seed
        Seed of the samples, and of a test that draws random numbers.
    asked
        What the provenance records as asked for; by default the keywords of the call.
    **options
        Options of the test (`gml.TESTS[test].options`), and how to read the data; see `gml.read`.

    Examples
    --------
    >>> import gml
    >>> result = gml.pc("sample_data/asia.csv", alpha=0.01)
    >>> result.graph.kind, result.graph.n_edges, sum(result.tests)
    ('cpdag', 7, 108)
    >>> gml.pc("sample_data/asia.csv", bootstrap=20, seed=1).replicates
    20
    """
    deadline = Deadline(max_seconds)
    _require_fitting(bootstrap, threshold, test_log)
    if seed is not None and (bootstrap is None or takes_seed(test)):
        options["seed"] = seed
    if not is_data(data):
        if missing_correction != "none":
            options["missing_correction"] = missing_correction
        given = _given_test(data, test, options, bootstrap)
        level = ALPHA if alpha is None else alpha
        how: dict[str, Any] = {
            "colliders": colliders,
            "on_insufficient": on_insufficient,
            "max_cond": max_cond,
        }
        known = known_of(given.names, knowledge, require, forbid, tiers)
        return _logged(
            lambda log: learner.pc(
                given, alpha=level, **how, knowledge=known, deadline=deadline, log=log
            ),
            test_log,
            (given.names, {"test": given.name, "alpha": level, **how}, known),
        )
    chosen, reading = choose_test(test, alpha, options, default_alpha=ALPHA, df="adjusted")
    settings = PcSettings(chosen, max_cond, colliders, on_insufficient, missing_correction)
    require_available(data, reading, missing_correction)
    chosen.require_reachable_level()
    counter = open_data(
        data,
        undeclared=chosen.undeclared,
        takes_numbers=test_of_numbers(),
        threads=threads,
        **reading,
    )
    names = [v.name for v in counter.variables]
    known = known_of(names, knowledge, require, forbid, tiers)
    settings.require_correctable(counter.variables)
    shown = {**settings.shown, **tests_picked(chosen, counter)}
    learning = learned_by("pc", counter, shown, known, asked)
    if bootstrap is not None:
        from gml.verbs.shared.over_samples import Limits, PcOnSamples, over_samples

        limits = Limits(threshold, known, deadline, threads)
        averaged, found = over_samples(
            counter, PcOnSamples(settings), bootstrap, seed or 0, limits, parameter("bootstrap")
        )
        warn_of_average(averaged, "tests")
        return described(averaged, counter, learning.also(**found))
    result = _logged(
        lambda log: settings.learn(counter, threads, knowledge=known, deadline=deadline, log=log),
        test_log,
        (names, shown, known),
    )
    _report(result)
    learning = learning.also(
        tests=sum(result.tests),
        tests_by_level=list(result.tests),
        collider_tests=result.collider_tests,
    )
    if result.corrected is not None:
        learning = learning.also(
            missing_causes={name: list(some) for name, some in result.corrected.causes.of.items()},
            cause_tests=result.corrected.causes.tests,
            correction_tests=result.corrected.tests,
            edges_corrected=[list(pair) for pair in result.corrected.removed],
        )
    if not result.complete:
        learning = learning.also(complete=False)
    return described(result, counter, learning)


def _require_fitting(bootstrap: int | None, threshold: float | None, test_log: object) -> None:
    """Refuse what is about one run if there are many, and the other way round."""
    require_average(bootstrap, threshold)
    if threshold is not None and bootstrap is None:
        raise UsageError(f"{parameter('threshold')} belongs to {parameter('bootstrap')}")
    if test_log is not None and bootstrap is not None:
        raise UsageError(
            f"{parameter('test_log')} is about one run; leave out {parameter('bootstrap')}"
        )


def _given_test(
    data: object, test: str | None, options: Mapping[str, Any], bootstrap: int | None
) -> IndependenceTest:
    """Return the test that was given in place of data, which has a name and options already."""
    require_decider(data, "test", CITest)
    if bootstrap is not None:
        raise UsageError(f"{parameter('bootstrap')} needs data, of which a test has no samples")
    decided = [*options, *([] if test is None else ["test"])]
    if decided:
        raise UsageError(
            f"{', '.join(map(parameter, decided))}: a test that is given has its options"
        )
    return as_test(cast("CITest", data))


def opened_log(
    test_log: TestLog | str | os.PathLike[str] | None,
) -> AbstractContextManager[TestLog | None]:
    """Return what every test goes to; a path is a file that appears whole."""
    if not isinstance(test_log, str | os.PathLike):
        return nullcontext(test_log)
    from gml.formats.test_log import TestLog

    return TestLog(test_log)


def _logged(
    learn: Callable[[Log | None], PcResult],
    test_log: TestLog | str | os.PathLike[str] | None,
    run: tuple[Sequence[str], dict[str, Any], Knowledge],
) -> PcResult:
    """Learn, with every test on file if that is wanted."""
    with opened_log(test_log) as log:
        if log is None:
            return learn(None)
        log.begin(*run)
        result = learn(log.test)
        log.finish(result)
        return result


def _report(result: PcResult) -> None:
    """Warn about contradictions, and note how much work it was."""
    warn_of_contradictions(result.triples, "tests")
    warn_of_ambiguity(result)
    reporter().note(
        f"{sum(result.tests)} tests for the skeleton, {result.collider_tests} for colliders"
    )
    if result.corrected is not None:
        _report_correction(result.corrected)
    weak = [t for t in result.triples if t.collider and 0 < t.weight < _WEAK]
    if weak:
        shown = ", ".join(f"{shown_collider(t)} ({t.weight:.2g})" for t in weak)
        reporter().note(f"colliders by less than a factor of 2 in p (ln): {shown}")
    if not result.complete:
        reporter().warn(
            f"stopped by {parameter('max_seconds')}: tests are missing, so edges may be too many "
            "and arrows wrong"
        )


def _report_correction(found: Corrected) -> None:
    """Say what makes values missing, and what came of that."""
    causes = [f"{quote(name)} by {listing(some)}" for name, some in found.causes.of.items() if some]
    made = "; ".join(causes) or "nothing was found that makes values missing"
    reporter().note(f"made missing: {made}" if causes else made)
    removed = [f"{printable(x)} --- {printable(y)}" for x, y in found.removed]
    if removed:
        reporter().note(f"edges that only missing values made: {', '.join(removed)}")
    if found.never_there:
        reporter().warn(
            f"no values at all of {listing(found.never_there)} where their causes have some "
            "configuration: nothing can stand in for these rows"
        )

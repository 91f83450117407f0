"""The PC algorithm on a table: gml.pc, `gml pc`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from gml.counts.counter import Counter
from gml.errors import UsageError, parameter
from gml.formats.test_log import TestLog
from gml.graph.knowledge import Knowledge
from gml.independence.base import CITest, as_test
from gml.learners import pc as learner
from gml.learners.pc import PcResult as PcResult
from gml.learners.skeleton import Log
from gml.progress import Deadline, reporter
from gml.verbs.choosing import ChosenTest, choose_test
from gml.verbs.colliders import shown_collider, warn_of_contradictions
from gml.verbs.knowing import Arcs, Tiers, known_of
from gml.verbs.opening import Data, is_data, open_data
from gml.verbs.recording import described, learned_by, records_keywords

ALPHA = 0.01
# ln 2: as much evidence as the toss of a coin.
_WEAK = 0.69


@dataclass(frozen=True)
class PcSettings:
    """The test, and how PC uses it."""

    test: ChosenTest
    max_cond: int | None = None
    colliders: str = "max-p"
    on_insufficient: str = "auto"

    @property
    def shown(self) -> dict[str, Any]:
        """The settings, for the provenance."""
        return {
            "test": self.test.name,
            "alpha": self.test.reported_alpha,
            "colliders": self.colliders,
            "on_insufficient": self.on_insufficient,
            "max_cond": self.max_cond,
        }

    def learn(
        self,
        counter: Counter,
        threads: int | None,
        *,
        knowledge: Knowledge,
        deadline: Deadline,
        log: Log | None = None,
    ) -> PcResult:
        """Run PC on what a counter counts."""
        return learner.pc(
            self.test.make(counter, threads),
            alpha=self.test.alpha,
            max_cond=self.max_cond,
            colliders=self.colliders,
            on_insufficient=self.on_insufficient,
            knowledge=knowledge,
            deadline=deadline,
            log=log,
        )


@records_keywords
def pc(
    data: Data | CITest,
    *,
    test: str = "auto",
    alpha: float | None = None,
    max_cond: int | None = None,
    colliders: str = "max-p",
    on_insufficient: str = "auto",
    knowledge: Knowledge | str | os.PathLike[str] | None = None,
    require: Arcs = (),
    forbid: Arcs = (),
    tiers: Tiers = (),
    max_seconds: float | None = None,
    threads: int | None = None,
    log: TestLog | None = None,
    **options: Any,
) -> PcResult:
    """Learn a CPDAG by independence tests (the PC algorithm, order-independent).

    Parameters
    ----------
    data
        A path, a DataFrame, a Dataset or a Counter; or a test of your own.
    test
        One of `gml.TESTS`.
    alpha
        Level of the tests, 0.01 by default.
    max_cond
        Largest conditioning set.
    colliders
        How colliders are found: `max-p`, `sepset`, `conservative` or `majority`.
    on_insufficient
        What to do with an edge whose test the data cannot decide: `keep`, `drop`, or `auto`,
        which keeps it if there are enough rows.
    knowledge, require, forbid, tiers
        What is known beforehand: a `Knowledge` or a file, pairs of names, groups of names from
        causes to effects. The result is then the maximally oriented PDAG.
    max_seconds
        Stop after this time with what is there; the result says so.
    threads
        Threads; all cores by default.
    log
        Called with every test, for `gml.explain`.
    **options
        Options of the test (`gml.TESTS[test].options`), and how to read the data; see `gml.read`.

    Examples
    --------
    >>> import gml
    >>> gml.pc("sample_data/asia.csv", alpha=0.01).graph
    <Graph: cpdag, 8 nodes, 7 edges: tub --> either, smoke --- lung, smoke --- bronc, …>
    """
    deadline = Deadline(max_seconds)
    if not is_data(data):
        given = as_test(cast("CITest", data))
        return _by_given_test(
            given,
            options,
            alpha=ALPHA if alpha is None else alpha,
            max_cond=max_cond,
            colliders=colliders,
            on_insufficient=on_insufficient,
            knowledge=known_of(given.names, knowledge, require, forbid, tiers),
            deadline=deadline,
            log=None if log is None else log.test,
        )
    chosen, reading = choose_test(test, alpha, options, default_alpha=ALPHA, df="adjusted")
    settings = PcSettings(chosen, max_cond, colliders, on_insufficient)
    chosen.require_reachable_level()
    counter = open_data(data, undeclared=chosen.undeclared, threads=threads, **reading)
    known = known_of([v.name for v in counter.variables], knowledge, require, forbid, tiers)
    if log is not None:
        log.begin([v.name for v in counter.variables], settings.shown, known)
    result = settings.learn(
        counter, threads, knowledge=known, deadline=deadline, log=None if log is None else log.test
    )
    if log is not None:
        log.finish(result)
    _report(result)
    learning = learned_by("pc", counter, settings.shown, known).also(
        tests=sum(result.tests),
        tests_by_level=list(result.tests),
        collider_tests=result.collider_tests,
    )
    if not result.complete:
        learning = learning.also(complete=False)
    return described(result, counter, learning)


def _by_given_test(test: CITest, options: Mapping[str, Any], **settings: Any) -> PcResult:
    if options:
        raise UsageError(
            f"{', '.join(map(parameter, options))}: a test that is given has its options"
        )
    result = learner.pc(test, **settings)
    _report(result)
    return result


def _report(result: PcResult) -> None:
    """Warn about contradictions, and note how much work it was."""
    warn_of_contradictions(result.triples, "tests")
    if result.ambiguous:
        shown = ", ".join(f"{t.x} - {t.k} - {t.y}" for t in result.ambiguous)
        reporter().warn(
            "the tests leave open whether these are colliders, so none is made without need: "
            + shown
        )
    reporter().note(
        f"{sum(result.tests)} tests for the skeleton, {result.collider_tests} for colliders"
    )
    weak = [t for t in result.triples if t.collider and 0 < t.weight < _WEAK]
    if weak:
        shown = ", ".join(f"{shown_collider(t)} ({t.weight:.2g})" for t in weak)
        reporter().note(f"colliders by less than a factor of 2 in p (ln): {shown}")
    if not result.complete:
        reporter().warn(
            f"stopped by {parameter('max_seconds')}: tests are missing, so edges may be too many "
            "and arrows wrong"
        )

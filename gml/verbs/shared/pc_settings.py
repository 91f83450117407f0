"""How PC is asked to learn: from all rows, or from each of many samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gml.counts.counter import Counter
from gml.errors import UsageError, parameter, require_whole
from gml.graph.knowledge import Knowledge
from gml.independence.registry import TESTS
from gml.learners.pc import PcResult, pc
from gml.learners.skeleton import Log
from gml.parameters import owners_of
from gml.progress import Deadline
from gml.verbs.shared.chosen_methods import ChosenTest

ALPHA = 0.01
_NOTHING_GIVEN = parameter("max_cond", 0)


@dataclass(frozen=True)
class PcSettings:
    """The test, and how PC uses it."""

    test: ChosenTest
    max_cond: int | None = None
    colliders: str = "max-p"
    on_insufficient: str = "auto"

    def __post_init__(self) -> None:
        """Refuse a test that cannot condition, unless nothing is ever given."""
        if self.max_cond != 0:
            self.test.require_conditional(f"PC conditions on others unless {_NOTHING_GIVEN}")

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
        return pc(
            self.test.make(counter, threads),
            alpha=self.test.alpha,
            max_cond=self.max_cond,
            colliders=self.colliders,
            on_insufficient=self.on_insufficient,
            knowledge=knowledge,
            deadline=deadline,
            log=log,
        )


def takes_seed(test: str | None) -> bool:
    """Whether a test draws random numbers itself."""
    return test in owners_of(TESTS, "seed")


def require_average(bootstrap: int | None, threshold: float | None) -> None:
    """Refuse a number of samples, and a least strength of an edge, that make no average."""
    require_whole(2, bootstrap=bootstrap)
    if threshold is not None and not 0 < threshold <= 1:
        raise UsageError(f"{parameter('threshold')} must be above 0 and at most 1, not {threshold}")

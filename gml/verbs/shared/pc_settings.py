"""How PC is asked to learn: from all rows, or from each of many samples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from gml.counts.counter import Counter
from gml.data.dataset import Variable
from gml.errors import UsageError, parameter, require_one_of, require_whole
from gml.graph.knowledge import Knowledge
from gml.independence.registry import TESTS
from gml.learners.missingness_correction import (
    CORRECTIONS,
    MissingnessCorrection,
    require_weighted_form,
)
from gml.learners.pc import PcResult, pc
from gml.learners.skeleton import Log
from gml.parameters import owners_of
from gml.progress import Deadline
from gml.verbs.shared.chosen_methods import ChosenTest
from gml.verbs.shared.data_input import Data, is_read

ALPHA = 0.01
NO_CORRECTION = CORRECTIONS[0]
_NOTHING_GIVEN = parameter("max_cond", 0)


@dataclass(frozen=True)
class PcSettings:
    """The test, and how PC uses it."""

    test: ChosenTest
    max_cond: int | None = None
    colliders: str = "max-p"
    on_insufficient: str = "auto"
    missing_correction: str = NO_CORRECTION

    def __post_init__(self) -> None:
        """Refuse a test that cannot condition, unless nothing is ever given."""
        require_one_of("missing_correction", self.missing_correction, CORRECTIONS)
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
            **({"missing_correction": self.missing_correction} if self.corrects else {}),
        }

    @property
    def corrects(self) -> bool:
        """Whether edges that only missing values make are looked for."""
        return self.missing_correction != NO_CORRECTION

    def require_correctable(self, variables: Iterable[Variable]) -> None:
        """Refuse a correction that tests of such columns do not have."""
        if self.corrects:
            require_weighted_form(self.test.name, self.test.options, variables)

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
        test = self.test.make(counter, threads)
        correction = None
        if self.corrects and counter.missing:
            correction = MissingnessCorrection(
                counter, lambda other: self.test.make(other, threads), test, threads
            )
        return pc(
            test,
            alpha=self.test.alpha,
            max_cond=self.max_cond,
            colliders=self.colliders,
            on_insufficient=self.on_insufficient,
            knowledge=knowledge,
            correction=correction,
            deadline=deadline,
            log=log,
        )


def takes_seed(test: str | None) -> bool:
    """Whether a test draws random numbers itself."""
    return test in owners_of(TESTS, "seed")


def require_available(data: Data, reading: Mapping[str, Any], missing_correction: str) -> None:
    """Refuse a correction of tests that never see a gap."""
    if missing_correction == NO_CORRECTION or not is_read(data):
        return
    if reading.get("missing") != "available":
        raise UsageError(
            f"{parameter('missing_correction', missing_correction)} is for tests on the rows that "
            f"each of them has: give {parameter('missing', 'available')} too"
        )


def require_average(bootstrap: int | None, threshold: float | None) -> None:
    """Refuse a number of samples, and a least strength of an edge, that make no average."""
    require_whole(2, bootstrap=bootstrap)
    if threshold is not None and not 0 < threshold <= 1:
        raise UsageError(f"{parameter('threshold')} must be above 0 and at most 1, not {threshold}")

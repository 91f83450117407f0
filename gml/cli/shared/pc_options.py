"""What commands that learn by tests share: the options of PC."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gml.cli.shared.numbers import WholeRange
from gml.cli.shared.test_options import TestRequest, test_options

if TYPE_CHECKING:
    from gml.counts.counter import Counter
    from gml.graph.knowledge import Knowledge
    from gml.learners.pc import PcResult
    from gml.learners.skeleton import Log
    from gml.progress import Deadline

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class PcRequest:
    """The test, and how PC uses it."""

    testing: TestRequest
    max_cond: int | None
    colliders: str
    on_insufficient: str

    @property
    def shown(self) -> dict[str, Any]:
        """The settings, for `learning` in the output."""
        return {
            "test": self.testing.name,
            "alpha": self.testing.reported_alpha,
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
        from gml.learners.pc import pc

        return pc(
            self.testing.make(counter, threads),
            alpha=self.testing.alpha,
            max_cond=self.max_cond,
            colliders=self.colliders,
            on_insufficient=self.on_insufficient,
            knowledge=knowledge,
            deadline=deadline,
            log=log,
        )


def pc_options(*, without: tuple[str, ...] = ()) -> Callable[[Function], Function]:
    """The test and what PC does with it, injected as `pc`; see test_options for `without`."""

    def decorate(function: Function) -> Function:
        @test_options("auto", alpha=0.01, df="adjusted", without=without)
        @click.option("--max-cond", type=WholeRange(min=0), help="Condition on at most this many.")
        @click.option(
            "--colliders",
            type=click.Choice(["max-p", "sepset", "conservative", "majority"]),
            default="max-p",
            show_default=True,
            help="How colliders are found.",
        )
        @click.option(
            "--on-insufficient",
            type=click.Choice(["auto", "keep", "drop"]),
            default="auto",
            show_default=True,
            help="An edge whose test the data cannot decide; auto: keep it if there are rows "
            "enough.",
        )
        @functools.wraps(function)
        def wrapper(
            *args: Any,
            testing: TestRequest,
            max_cond: int | None,
            colliders: str,
            on_insufficient: str,
            **kwargs: Any,
        ) -> Any:
            request = PcRequest(testing, max_cond, colliders, on_insufficient)
            return function(*args, pc=request, **kwargs)

        return wrapper  # type: ignore[return-value]

    return decorate

"""The options that choose an independence test, the same for every command that tests."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gml.cli.shared.common_options import alpha_option, df_option, ess_option, seed_option
from gml.cli.shared.numbers import Real, RealRange, WholeRange
from gml.cli.shared.run import was_given
from gml.errors import UsageError

if TYPE_CHECKING:
    from gml.counts.counter import Counter
    from gml.independence.base import CITest

Function = TypeVar("Function", bound=Callable[..., Any])

_MOST_PERMUTATIONS = 10**9
_TESTS = ["auto", "g", "chi2", "mi-threshold", "bayes", "permutation", "fisher-z"]
_ON_LEVELS = ("auto", "g", "chi2", "mi-threshold", "bayes", "permutation")
_BY_P_VALUE = ("auto", "g", "chi2", "permutation", "fisher-z")
_OPTIONS_OF = {
    "df": ("g", "chi2"),
    "permutations": ("permutation",),
    "seed": ("permutation",),
    "ess": ("bayes",),
    "log_bf": ("bayes",),
    "min_per_cell": _ON_LEVELS,
}
_OTHER_OPTIONS_OF = {
    "alpha": _BY_P_VALUE,
    "adjust": _BY_P_VALUE,
    "bins": _ON_LEVELS,
    "discretize": _ON_LEVELS,
    "cut": _ON_LEVELS,
    "levels": _ON_LEVELS,
}


@dataclass(frozen=True)
class TestRequest:
    """Which test, its level, and the options that belong to it."""

    name: str
    alpha: float
    options: dict[str, Any]

    @property
    def numeric(self) -> bool:
        """Whether the test is on numbers."""
        return self.name == "fisher-z"

    @property
    def reported_alpha(self) -> float | None:
        """The level, if the test has one."""
        return self.alpha if self.name in _BY_P_VALUE else None

    def make(self, counter: Counter, threads: int | None = None) -> CITest:
        """Return the test over a counter."""
        from gml.independence.registry import TESTS

        wanted = {
            option: value
            for option, value in self.options.items()
            if self.name in _OPTIONS_OF[option]
        }
        if self.name == "permutation":
            wanted["threads"] = threads
        return TESTS[self.name](counter, **wanted)

    def require_reachable_level(self) -> None:
        """Refuse a permutation test that could never reject."""
        permutations = self.options["permutations"]
        if self.name == "permutation" and 1 / (permutations + 1) > self.alpha:
            raise UsageError(
                f"--permutations {permutations} cannot reach --alpha {self.alpha:g}; use "
                f"{math.ceil(1 / self.alpha) - 1} or more"
            )

    @staticmethod
    def refuse_options() -> None:
        """Refuse the options of tests where a score is asked instead; --ess is for both."""
        for option in ("test", "alpha", *_OPTIONS_OF):
            if option != "ess" and was_given(option):
                flag = "--" + option.replace("_", "-")
                raise UsageError(f"{flag} is about tests, and --score asks for none")

    def check(self, *, seeded: bool = False) -> None:
        """Refuse options that mean nothing to the test; `seeded`: the seed has another use."""
        for option, tests in (_OPTIONS_OF | _OTHER_OPTIONS_OF).items():
            if option == "seed" and seeded:
                continue
            if was_given(option) and self.name not in tests:
                flag = "--" + option.replace("_", "-")
                raise UsageError(
                    f"{flag} does not go with --test {self.name} (but {', '.join(tests)})"
                )


def test_options(
    default: str,
    *,
    alpha: float,
    df: str,
    ess: str = "Of --test bayes.",
    without: tuple[str, ...] = (),
) -> Callable[[Function], Function]:
    """--test and what belongs to it, injected as `testing`; `ess` is the help of --ess.

    Options in `without` are declared by others, who use them too.
    """
    options = {
        "test": click.option(
            "--test",
            type=click.Choice(_TESTS),
            default=default,
            show_default=True,
            help="Which test; auto: G on dense tables, X² by its exact moments on sparse ones.",
        ),
        "alpha": alpha_option("Dependent if p is at most this.", alpha),
        "df": df_option(
            "Degrees of freedom of g and chi2: all seen levels, or non-empty rows and columns.", df
        ),
        "permutations": click.option(
            "--permutations",
            type=WholeRange(min=1, max=_MOST_PERMUTATIONS),
            default=5000,
            show_default=True,
            help="Tables drawn by --test permutation.",
        ),
        "ess": ess_option(ess),
        "log_bf": click.option(
            "--log-bf",
            type=Real(),
            default=0.0,
            show_default=True,
            help="--test bayes: dependent above this.",
        ),
        "min_per_cell": click.option(
            "--min-per-cell",
            type=RealRange(min=0),
            default=0.0,
            help="Insufficient with fewer rows than this a cell; off.",
        ),
        "seed": seed_option,
    }

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def wrapper(*args: Any, test: str, alpha: float, **kwargs: Any) -> Any:
            given = click.get_current_context().params
            chosen = {
                name: given[name] if name in without else kwargs.pop(name) for name in _OPTIONS_OF
            }
            return function(*args, testing=TestRequest(test, alpha, chosen), **kwargs)

        for name, option in reversed(options.items()):
            if name not in without:
                wrapper = option(wrapper)
        return wrapper  # type: ignore[return-value]

    return decorate

"""The options that choose an independence test, the same for every command that tests."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gml.cli.shared.common_options import alpha_option
from gml.cli.shared.declared_options import click_option
from gml.cli.shared.run import was_given
from gml.errors import UsageError
from gml.independence.registry import FOR_P_VALUES, TESTS, check_test, make_test
from gml.parameters import FOR_LABELS, LABELS, Described, options_of, owners_of

if TYPE_CHECKING:
    from gml.counts.counter import Counter
    from gml.independence.base import CounterTest

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class TestRequest:
    """Which test, its level, and the options of all tests."""

    name: str
    alpha: float
    options: dict[str, Any]

    @property
    def numeric(self) -> bool:
        """Whether the test is for numbers alone."""
        return LABELS not in TESTS[self.name].columns

    @property
    def reported_alpha(self) -> float | None:
        """The level, if the test has one."""
        return self.alpha if TESTS[self.name].p_value else None

    @property
    def own_options(self) -> dict[str, Any]:
        """The options of the test."""
        return {option.name: self.options[option.name] for option in TESTS[self.name].options}

    def make(self, counter: Counter, threads: int | None = None) -> CounterTest:
        """Return the test over a counter."""
        return make_test(self.name, counter, threads=threads, **self.own_options)

    def require_reachable_level(self) -> None:
        """Refuse a test that could never reject."""
        TESTS[self.name].require_level(self.alpha, self.own_options)

    @staticmethod
    def refuse_options(shared: Mapping[str, Described]) -> None:
        """Refuse the options of tests where a score is asked instead, but those that it shares."""
        for option in ("test", "alpha", *options_of(TESTS)):
            if was_given(option) and not owners_of(shared, option):
                flag = "--" + option.replace("_", "-")
                raise UsageError(f"{flag} is about tests, and --score asks for none")

    def check(self, *, seeded: bool = False) -> None:
        """Refuse options that mean nothing to the test; `seeded`: the seed has another use."""
        known = (*options_of(TESTS), *FOR_P_VALUES, *FOR_LABELS)
        given = [option for option in known if was_given(option)]
        check_test(self.name, [option for option in given if not (option == "seed" and seeded)])


def test_options(
    default: str,
    *,
    alpha: float,
    df: str,
    shared: Mapping[str, Described] | None = None,
    without: tuple[str, ...] = (),
) -> Callable[[Function], Function]:
    """--test and what belongs to it, injected as `testing`.

    Entries of `shared` use options of the same names too; options in `without` are declared by
    others, who use them too.
    """
    defaults = {"df": df}
    known = "; ".join(f"{name}: {test.summary}" for name, test in TESTS.items())
    options = {
        "test": click.option(
            "--test",
            type=click.Choice(list(TESTS)),
            default=default,
            show_default=True,
            help=f"Which test. {known}.",
        ),
        "alpha": alpha_option("Dependent if p is at most this.", alpha),
    }
    for name, option in options_of(TESTS).items():
        others = [shared] if shared and owners_of(shared, name) else []
        options[name] = click_option(option, TESTS, *others, default=defaults.get(name))

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def wrapper(*args: Any, test: str, alpha: float, **kwargs: Any) -> Any:
            given = click.get_current_context().params
            chosen = {
                name: given[name] if name in without else kwargs.pop(name)
                for name in options_of(TESTS)
            }
            return function(*args, testing=TestRequest(test, alpha, chosen), **kwargs)

        for name, option in reversed(options.items()):
            if name not in without:
                wrapper = option(wrapper)
        return wrapper  # type: ignore[return-value]

    return decorate

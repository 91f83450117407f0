"""What registries know of tests and scores before there are data, and of the options they take.

An entry states each fact once. What checks values given in Python, what the command line declares,
and the tables in the documentation all read it there; what computes is loaded when it is wanted, so
that asking for help does not wait for it.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Literal, NamedTuple

from gml.errors import UsageError, parameter

TRANSFORMS = ("none", "rank", "normal")
"""What can be done to numbers before they are correlated (`gml.counts.rank_correlations`)."""

LABELS = "labels"
NUMBERS = "numbers"
"""The kinds of columns that a test or score can use."""

FOR_LABELS = ("bins", "discretize", "discretize_class", "cut")
"""Parameters of reading that make labels, and so mean nothing to a method for numbers alone."""

# Beyond these, logarithms of gamma functions make no sense.
_LEAST_PRIOR = 1e-100


def canonical(name: Any, known: Iterable[str]) -> Any:
    """Return a name as the registry of tests or scores has it, however its letters are written.

    Examples
    --------
    >>> canonical("BDeu", ["bic", "bdeu"]), canonical("bix", ["bic"]), canonical(None, ["bic"])
    ('bdeu', 'bix', None)
    """
    if not isinstance(name, str):
        return name
    return next((one for one in known if one.casefold() == name.casefold()), name)


class Option(NamedTuple):
    """One option: its name in Python, its kind, its default, one line of help, and its bounds."""

    name: str
    kind: Literal["real", "whole", "seed", "choice"]
    default: float | str
    help: str
    least: float | None = None
    most: float | None = None
    choices: tuple[str, ...] = ()
    metavar: str | None = None

    def problem(self, value: Any) -> str | None:
        """Say what is wrong with a value, if anything is.

        Examples
        --------
        >>> Option("draws", "whole", 10, "Tables to draw", least=1).problem(0)
        'must be at least 1, not 0'
        """
        if self.kind == "choice":
            known = value in self.choices
            return None if known else f"must be one of {', '.join(self.choices)}, not {value!r}"
        if self.kind == "real":
            if not isinstance(value, Real) or not math.isfinite(value):
                return f"must be a finite number, not {value!r}"
        elif not isinstance(value, Integral):
            return f"must be a whole number, not {value!r}"
        least = 0 if self.kind == "seed" else self.least
        too_small = least is not None and value < least
        if not too_small and (self.most is None or value <= self.most):
            return None
        if self.most is None:
            return f"must be at least {least:g}, not {value!r}"
        return f"must be between {_short(least)} and {_short(self.most)}, not {value!r}"

    def checked(self, value: Any) -> Any:
        """Return a value of the option, or refuse it."""
        problem = self.problem(value)
        if problem is not None:
            raise UsageError(f"{parameter(self.name)} {problem}")
        if self.kind == "choice":
            return value
        return float(value) if self.kind == "real" else int(value)


def _short(bound: float | None) -> str:
    return f"{bound:g}".replace("e+0", "e").replace("e+", "e")


def prior_rows(name: str, help_: str) -> Option:
    """Return an option that says how many rows a prior counts for."""
    return Option(name, "real", 1.0, help_, least=_LEAST_PRIOR, most=1 / _LEAST_PRIOR)


ESS = prior_rows("ess", "Equivalent sample size of the prior")
"""The option that the Bayesian test and scores share."""

PRIOR_ROWS = prior_rows("prior_rows", "Rows that --number-prior is worth, in each regression")
"""How much the prior of a regression counts."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Entry:
    """A test or score of a registry: its facts, and where the class is that computes it."""

    name: str
    home: str | Callable[..., Any]
    """The class, or where it is: `module:Class`."""
    summary: str
    """What it is, in a few words."""
    formula: str
    """What it computes."""
    columns: tuple[str, ...] = (LABELS,)
    """The kinds of columns that it can use."""
    options: tuple[Option, ...] = ()

    def values(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return a checked value for each option: what was given, else its default.

        Examples
        --------
        >>> entry = Entry(name="bdeu", home="…", summary="…", formula="…", options=(ESS,))
        >>> entry.values({"ess": 10})
        {'ess': 10.0}
        """
        known = [option.name for option in self.options]
        for name in given:
            if name not in known:
                takes = ", ".join(map(parameter, known)) or "none"
                raise UsageError(f"{self.name} has no option {parameter(name)}; it takes {takes}")
        return {
            option.name: option.checked(given.get(option.name, option.default))
            for option in self.options
        }

    def load(self) -> Callable[..., Any]:
        """Return the class."""
        if not isinstance(self.home, str):
            return self.home
        module, _, name = self.home.partition(":")
        found: Callable[..., Any] = getattr(importlib.import_module(module), name)
        return found


def options_of(registry: Mapping[str, Entry]) -> dict[str, Option]:
    """Return the options of all entries by name, each once."""
    found: dict[str, Option] = {}
    for entry in registry.values():
        for option in entry.options:
            found.setdefault(option.name, option)
    return found


def owners_of(registry: Mapping[str, Entry], option: str) -> list[str]:
    """Return the names of the entries that take an option."""
    return [
        name
        for name, entry in registry.items()
        if option in [declared.name for declared in entry.options]
    ]

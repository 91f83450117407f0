"""The tests by their short labels, and the checks of what is asked of them.

An entry is all that the command line, the checks of options and the documentation know of a test;
whoever adds one writes the class that computes it (`CounterTest`) and its entry here. This module
imports nothing that computes: commands read it when they declare their options.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gml.errors import UsageError, parameter, unknown_name
from gml.parameters import (
    ESS,
    FOR_LABELS,
    LABELS,
    NUMBERS,
    TRANSFORMS,
    Entry,
    Option,
    options_of,
    owners_of,
)

if TYPE_CHECKING:
    from gml.counts.counter import Counter
    from gml.independence.base import CounterTest

ADJUSTMENTS = ("none", "bonferroni", "holm", "bh", "by")
"""How the p-values of many tests are adjusted (`gml.independence.multiplicity`)."""

FOR_P_VALUES = ("alpha", "adjust")
"""Parameters that concern a level, and so mean nothing to a test without p-values."""


@dataclass(frozen=True, kw_only=True, eq=False)
class KnownTest(Entry):
    """An entry of TESTS, which makes the test when it is called with a counter."""

    statistic: str
    """What the statistic is called."""
    scaled_statistic: str | None = None
    """What it is called where its degrees of freedom are no whole number."""
    rule: str = "p ≤ α"
    """When x and y are dependent."""
    p_value: bool = True
    """Whether it has a p-value, and so a level α."""
    df_rule: str | None = None
    """How degrees of freedom are counted, where there are any and no option says it."""
    conditional: bool = True
    """Whether it takes a conditioning set."""
    draws: str | None = None
    """The option with the number B of tables drawn: no p-value is then below 1/(B + 1)."""

    def __call__(
        self, counter: Counter, *, threads: int | None = None, **options: Any
    ) -> CounterTest:
        """Return the test over the columns of a counter."""
        test: CounterTest = self.load()(self, counter, threads=threads, **options)
        return test

    def statistic_at(self, df: float | None) -> str:
        """Return what the statistic of a result with so many degrees of freedom is called."""
        if self.scaled_statistic is None or (df is not None and float(df).is_integer()):
            return self.statistic
        return self.scaled_statistic

    def least_p(self, values: Mapping[str, Any]) -> float:
        """Return what no p-value is below, by the values of all options."""
        return 0.0 if self.draws is None else 1 / (values[self.draws] + 1)

    def too_few_draws(self, alpha: float, values: Mapping[str, Any]) -> str | None:
        """Say that no p-value can be as low as alpha, where draws are too few for that."""
        if self.draws is None or self.least_p(values) <= alpha:
            return None
        return (
            f"p is at least {self.least_p(values):.3g} with {values[self.draws]} draws, above "
            f"{parameter('alpha', alpha)}: {math.ceil(1 / alpha) - 1} or more are needed"
        )

    def require_conditional(self, what: str) -> None:
        """Refuse a test of two columns alone for something that conditions on others."""
        if not self.conditional:
            known = [name for name, test in TESTS.items() if test.conditional]
            others = " or ".join(parameter("test", name) for name in known[-2:])
            raise UsageError(
                f"{parameter('test', self.name)} tests two columns alone, and {what}; use {others}"
            )

    def require_level(self, alpha: float, options: Mapping[str, Any]) -> None:
        """Refuse options with which the test could never reject at a level."""
        values = self.values(options)
        if self.draws is not None and self.least_p(values) > alpha:
            raise UsageError(
                f"{parameter(self.draws, values[self.draws])} cannot reach "
                f"{parameter('alpha', alpha)}; use {math.ceil(1 / alpha) - 1} or more"
            )


_MIN_PER_CELL = Option(
    "min_per_cell", "real", 0.0, "Insufficient with fewer rows than this per cell; 0: off", least=0
)
DF = Option(
    "df",
    "choice",
    "full",
    "Degrees of freedom: all seen levels, or non-empty rows and columns",
    choices=("full", "adjusted"),
)
_LOG_BF = Option("log_bf", "real", 0.0, "Dependent if ln of the Bayes factor is above this")
_PERMUTATIONS = Option(
    "permutations",
    "whole",
    5000,
    "Tables or permutations to draw",
    least=1,
    most=10**9,
    metavar="B",
)
_TRANSFORM = Option(
    "transform",
    "choice",
    "none",
    "Numbers as they are, by their ranks, or by the normal scores of these",
    choices=TRANSFORMS,
)
_SEED = Option("seed", "seed", 0, "Of the random numbers")

_NULL = Option(
    "null",
    "choice",
    "auto",
    "Where p is from; auto: permutations below 200 rows, then gamma (hsic) or three-moment (dcor)",
    choices=("auto", "gamma", "three-moment", "permutation"),
)
_FEATURES = Option(
    "features", "whole", 10, "Random features of each of the two columns", least=1, most=100
)
_GIVEN_FEATURES = Option(
    "given_features", "whole", 300, "Features of what is given, at most", least=1, most=2000
)

PICKED = {
    "labels": "auto",
    "numbers": "fisher-z",
    "two labels given numbers": "dg",
    "a label and a number": "dg",
    "two numbers given labels": "dg",
}
"""The test that `auto` uses in each situation; for labels alone it has one of its own."""

_FOR_NUMBERS = PICKED["numbers"]
_FOR_BOTH = " or ".join(
    dict.fromkeys(test for where, test in PICKED.items() if where not in ("labels", "numbers"))
)

TESTS: dict[str, KnownTest] = {
    test.name: test
    for test in (
        KnownTest(
            name="auto",
            home="gml.independence.automatic:AutoTest",
            summary=(
                f"G or, on sparse tables, scaled X²; {_FOR_NUMBERS} for numbers, {_FOR_BOTH} for "
                "both"
            ),
            statistic="G",
            scaled_statistic="scaled X²",
            formula=f"G with adjusted df, or X² scaled; that of {_FOR_NUMBERS} or of {_FOR_BOTH}",
            rule="p ≤ α, χ² distribution",
            columns=(LABELS, NUMBERS),
            options=(_MIN_PER_CELL, _TRANSFORM),
            df_rule="auto",
        ),
        KnownTest(
            name="g",
            home="gml.independence.contingency:GTest",
            summary="the likelihood ratio G",
            statistic="G",
            formula="G",
            rule="p ≤ α, χ² distribution",
            options=(DF, _MIN_PER_CELL),
        ),
        KnownTest(
            name="chi2",
            home="gml.independence.contingency:PearsonTest",
            summary="Pearson's X²",
            statistic="X²",
            formula="X²",
            rule="p ≤ α, χ² distribution",
            options=(DF, _MIN_PER_CELL),
        ),
        KnownTest(
            name="mi-threshold",
            home="gml.independence.contingency:ThresholdTest",
            summary="mutual information against the threshold of BIC",
            statistic="I",
            formula="I",
            rule="I > df·ln n/2n, full df: the edge raises BIC",
            p_value=False,
            options=(_MIN_PER_CELL,),
            df_rule="full",
        ),
        KnownTest(
            name="bayes",
            home="gml.independence.bayes:BayesFactorTest",
            summary="the Bayes factor of dependence",
            statistic="ln BF",
            formula="ln BF = BDeu(x | y,Z) − BDeu(x | Z)",
            rule="ln BF > `log_bf`",
            p_value=False,
            options=(ESS, _LOG_BF, _MIN_PER_CELL),
        ),
        KnownTest(
            name="permutation",
            home="gml.independence.permutation:PermutationTest",
            summary="G against its permutation distribution",
            statistic="G",
            formula="G",
            rule="p = (1 + #{G* ≥ G − 10⁻⁹})/(B+1) ≤ α",
            options=(_PERMUTATIONS, _SEED, _MIN_PER_CELL),
            draws="permutations",
        ),
        KnownTest(
            name="fisher-z",
            home="gml.independence.fisher_z:FisherZTest",
            summary="the partial correlation of numbers",
            statistic="z",
            formula="√(n−|Z|−3)·atanh r, r the partial correlation",
            rule="two-sided normal p ≤ α",
            columns=(NUMBERS,),
            options=(_TRANSFORM,),
        ),
        KnownTest(
            name="dg",
            home="gml.independence.degenerate_gaussian:DegenerateGaussianTest",
            summary="correlation of numbers and of indicators of levels (degenerate Gaussian)",
            statistic="−c ln Λ",
            formula="−(n−1−q−(a+b+1)/2)·ln Λ, Λ of a, b columns of x, y given q",
            rule="p ≤ α, χ² distribution",
            columns=(LABELS, NUMBERS),
            options=(_TRANSFORM,),
            df_rule="columns",
        ),
        KnownTest(
            name="cg",
            home="gml.independence.conditional_gaussian:ConditionalGaussianTest",
            summary="likelihood ratio of regressions within configurations of labels "
            "(conditional Gaussian)",
            statistic="2 ln LR",
            formula="2 ln of the likelihood ratio, variances by maximum likelihood",
            rule="p ≤ α, χ² distribution",
            columns=(LABELS, NUMBERS),
            options=(_TRANSFORM,),
            df_rule="parameters",
        ),
        KnownTest(
            name="hsic",
            home="gml.independence.hsic:HsicTest",
            summary="HSIC of two columns of any kind",
            statistic="n·HSIC",
            formula="Σ K̃L̃/n, Gaussian or delta kernels",
            rule="p ≤ α, by permutations or a gamma distribution",
            columns=(LABELS, NUMBERS),
            conditional=False,
            options=(_NULL, _PERMUTATIONS, _SEED),
            draws="permutations",
        ),
        KnownTest(
            name="dcor",
            home="gml.independence.distance_correlation:DistanceCorrelationTest",
            summary="the distance correlation of two columns of any kind",
            statistic="dCor",
            formula="√(dCov²(x,y)/√(dCov²(x,x)·dCov²(y,y)))",
            rule="p ≤ α, by permutations or as a weighted sum of χ²₁",
            columns=(LABELS, NUMBERS),
            conditional=False,
            options=(_NULL, _PERMUTATIONS, _SEED),
            draws="permutations",
        ),
        KnownTest(
            name="kci",
            home="gml.independence.kci:KciTest",
            summary="kernel conditional independence, for up to some thousand rows",
            statistic="T/n",
            formula="Σ K̃L̃/n, what ridge regressions on Z leave of the kernels",
            rule="p ≤ α, weighted sum of χ²₁",
            columns=(LABELS, NUMBERS),
        ),
        KnownTest(
            name="rcit",
            home="gml.independence.rcit:RcitTest",
            summary="the same by random features, for many rows",
            statistic="n·‖C‖²",
            formula="n‖C‖², C the covariances of what ridge regressions on Z leave of features",
            rule="p ≤ α, weighted sum of χ²₁",
            columns=(LABELS, NUMBERS),
            options=(_FEATURES, _GIVEN_FEATURES, _SEED),
        ),
    )
}
"""The tests by their labels; an entry makes its test over a counter.

>>> import gml
>>> counter = gml.MemoryCounter(gml.read("sample_data/asia.csv"))
>>> gml.TESTS["g"](counter, df="adjusted")(0, 1).df
1.0
"""


def make_test(
    name: str, counter: Counter, *, threads: int | None = None, **options: Any
) -> CounterTest:
    """Return a test over the columns of a counter, by its label and options.

    Examples
    --------
    >>> import gml
    >>> counter = gml.MemoryCounter(gml.read("sample_data/asia.csv"))
    >>> test = make_test("g", counter, df="adjusted")
    >>> test(0, 1).df
    1.0
    >>> make_test("g", counter, log_bf=2.0)
    Traceback (most recent call last):
        ...
    gml.errors.UsageError: `log_bf` does not go with `test='g'` (only with bayes)
    """
    check_test(name, options)
    return TESTS[name](counter, threads=threads, **options)


def check_test(name: str, given: Iterable[str]) -> None:
    """Refuse an unknown test, and parameters that were given but mean nothing to it.

    These are options of tests, and those that say how values become labels or which p is small.
    """
    if name not in TESTS:
        raise UsageError(unknown_name("test", name, TESTS))
    for option in given:
        fitting = tests_that_take(option)
        if not fitting:
            known = ", ".join(map(parameter, options_of(TESTS)))
            raise UsageError(f"no test has an option {parameter(option)}; there are {known}")
        if name not in fitting:
            raise UsageError(
                f"{parameter(option)} does not go with {parameter('test', name)} "
                f"(only with {', '.join(fitting)})"
            )


def tests_that_take(option: str) -> list[str]:
    """Return the tests to which a parameter means something."""
    if option in FOR_P_VALUES:
        return [name for name, test in TESTS.items() if test.p_value]
    if option in FOR_LABELS:
        return [name for name, test in TESTS.items() if LABELS in test.columns]
    return owners_of(TESTS, option)

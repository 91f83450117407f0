"""gml indtest DATA X Y: is X independent of Y given Z?"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import click

from gml.cli.options import (
    DataRequest,
    alpha_option,
    claim_standard_input,
    common_options,
    data_options,
    df_option,
    finite,
    name_list_option,
    seed_option,
    was_given,
)
from gml.cli.output import ReportOutput, report_output
from gml.errors import GraphError, UsageError, listing, place, unknown_name
from gml.progress import reporter

if TYPE_CHECKING:
    from gml.data.reading import Choice
    from gml.independence.base import CIResult, CITest

Question = tuple[str, str, tuple[str, ...]]

_TESTS = ["g", "chi2", "mi-threshold", "bayes", "permutation", "fisher-z"]
_ON_LEVELS = ("g", "chi2", "mi-threshold", "bayes", "permutation")
_OPTIONS_OF = {
    "df": ("g", "chi2"),
    "permutations": ("permutation",),
    "seed": ("permutation",),
    "ess": ("bayes",),
    "log_bf": ("bayes",),
    "alpha": ("g", "chi2", "permutation", "fisher-z"),
    "adjust": ("g", "chi2", "permutation", "fisher-z"),
    "min_per_cell": _ON_LEVELS,
    "bins": _ON_LEVELS,
    "discretize": _ON_LEVELS,
    "cut": _ON_LEVELS,
    "levels": _ON_LEVELS,
}


@click.command(
    "indtest",
    epilog="\b\nExamples:\n"
    "  gml indtest survey.csv Age Vote --given Region,Sex\n"
    "  gml indtest survey.csv Age Vote --expect independent -o /dev/null || echo changed\n"
    "  gml indtest survey.csv --all-pairs --adjust holm -f csv\n"
    "  gml indtest survey.csv --implied model.dot --adjust bh\n"
    "  gml indtest small.csv A B --test permutation --permutations 20000 --seed 1\n"
    "  gml indtest heights.csv father son --test fisher-z\n"
    "\n\b\n"
    "Exit codes with --expect: 0 as expected, 1 not, 4 the data cannot tell.",
)
@data_options
@click.argument("x", required=False)
@click.argument("y", required=False)
@name_list_option("-z", "--given", help_="Condition on these: A,B.")
@click.option("--all-pairs", is_flag=True, help="Test every pair of columns.")
@click.option("--implied", metavar="GRAPH", help="Test what a DAG implies, pair by pair.")
@click.option(
    "--test",
    "test_name",
    type=click.Choice(_TESTS),
    default="g",
    show_default=True,
    help="Which test.",
)
@alpha_option("Dependent if p is at most this.")
@df_option("Degrees of freedom of g and chi2: all seen levels, or non-empty rows and columns.")
@click.option(
    "--adjust",
    type=click.Choice(["none", "bonferroni", "holm", "bh", "by"]),
    default="none",
    show_default=True,
    help="Adjust p-values for the number of tests.",
)
@click.option(
    "--permutations",
    type=click.IntRange(min=1),
    default=5000,
    show_default=True,
    help="Tables drawn by --test permutation.",
)
@click.option(
    "--ess", type=float, default=1.0, show_default=True, callback=finite, help="Of --test bayes."
)
@click.option(
    "--log-bf",
    type=float,
    default=0.0,
    show_default=True,
    callback=finite,
    help="--test bayes: dependent above this.",
)
@click.option(
    "--min-per-cell",
    type=click.FloatRange(min=0),
    default=0.0,
    callback=finite,
    help="Insufficient with fewer rows than this a cell; off.",
)
@click.option(
    "--expect",
    type=click.Choice(["independent", "dependent"]),
    help="Exit 1 if a verdict is another one, 4 if the data cannot tell.",
)
@seed_option
@report_output
@common_options
def command(
    data: DataRequest,
    x: str | None,
    y: str | None,
    given: tuple[str, ...],
    all_pairs: bool,
    implied: str | None,
    test_name: str,
    alpha: float,
    adjust: str,
    expect: str | None,
    out: ReportOutput,
    **test_options: Any,
) -> int:
    """Test whether X and Y are independent, given other columns.

    The report has the statistic, degrees of freedom, p-value and its logarithm, the mutual
    information in nats, Cramér's V and a verdict: independent, dependent, or insufficient when the
    data cannot tell.
    """
    _check_options(test_name)
    ask, used = _questioner(x, y, given, all_pairs, implied)
    counter = data.counter(used=used, numeric=test_name == "fisher-z")
    questions = ask([variable.name for variable in counter.variables])
    position = {variable.name: j for j, variable in enumerate(counter.variables)}
    test = _make_test(test_name, counter, data.threads, test_options)
    results = test.batch(
        [(position[a], position[b], tuple(position[c] for c in z)) for a, b, z in questions]
    )
    _warn_of_sparse_tables(results)
    rows = _report(
        questions, results, test, alpha if was_used("alpha", test_name) else None, adjust
    )
    out.write(rows)
    return _answer([row["verdict"] for row in rows], expect)


def _warn_of_sparse_tables(results: Sequence[CIResult]) -> None:
    sparse = sum(result.df is not None and result.df > result.n > 0 for result in results)
    if sparse:
        reporter().warn(
            f"{sparse} of {len(results)} tests have more degrees of freedom than rows: p-values "
            "of little meaning; cut numbers (--bins), use --test permutation or --min-per-cell"
        )


def was_used(option: str, test_name: str) -> bool:
    """Whether an option means something to a test."""
    return test_name in _OPTIONS_OF[option]


def _check_options(test_name: str) -> None:
    for option, tests in _OPTIONS_OF.items():
        if was_given(option) and test_name not in tests:
            flag = "--" + option.replace("_", "-")
            raise UsageError(f"{flag} does not go with --test {test_name} (but {', '.join(tests)})")


def _questioner(
    x: str | None, y: str | None, given: tuple[str, ...], all_pairs: bool, implied: str | None
) -> tuple[Callable[[Sequence[str]], list[Question]], Choice | None]:
    """Return what to ask, given the names of the columns read, and which columns to read."""
    asked_for = sum((x is not None, all_pairs, implied is not None))
    if asked_for > 1:
        raise UsageError("X and Y, --all-pairs and --implied exclude one another")
    if asked_for == 0 or (x is None) != (y is None):
        raise UsageError("name X and Y, or say --all-pairs or --implied GRAPH")
    named = [name for name in (x, y, *given) if name is not None]
    if len(set(named)) != len(named):
        raise UsageError("X, Y and --given are different columns")
    if x is not None and y is not None:
        asked: list[Question] = [(x, y, given)]
        return lambda names: asked, lambda names: [x, y, *given]
    if all_pairs:
        return lambda names: _pairs(names, given), None
    assert implied is not None
    if given:
        raise UsageError("--implied brings its own conditioning sets; --given contradicts")
    return _implied(implied)


def _pairs(names: Sequence[str], given: tuple[str, ...]) -> list[Question]:
    for name in given:
        if name not in names:
            raise UsageError(unknown_name("column", name, names))
    rest = sorted(set(names) - set(given))
    if len(rest) < 2:
        raise UsageError("--all-pairs needs two columns beside --given")
    return [(a, b, given) for a, b in combinations(rest, 2)]


def _implied(path: str) -> tuple[Callable[[Sequence[str]], list[Question]], Choice]:
    from gml.formats.graphs import read_graph
    from gml.independence.implied import implied_independences

    claim_standard_input(path)
    graph = read_graph(path)
    questions = implied_independences(graph)

    def used(names: Sequence[str]) -> Sequence[str]:
        for name in graph.names:
            if name not in names:
                raise GraphError(f"{place(path)}: {unknown_name('column', name, names)}")
        ignored = [name for name in names if name not in graph.names]
        if ignored:
            reporter().warn(f"not in the graph, ignored: {listing(ignored)}")
        if not questions:
            reporter().warn("the graph implies no independence: every pair has an edge")
        return graph.names

    return lambda names: questions, used


def _make_test(name: str, counter: Any, threads: int | None, options: dict[str, Any]) -> CITest:
    from gml.independence.registry import TESTS

    wanted = {
        option: value
        for option, value in options.items()
        if option in _OPTIONS_OF and was_used(option, name)
    }
    if name == "permutation":
        wanted["threads"] = threads
    return TESTS[name](counter, **wanted)


def _report(
    questions: Sequence[Question],
    results: Sequence[CIResult],
    test: CITest,
    alpha: float | None,
    adjust: str,
) -> list[dict[str, Any]]:
    from gml.independence.multiplicity import adjust as adjusted_p

    adjusted = adjusted_p([result.log_p for result in results], adjust)
    rows = []
    for (x, y, given), result, log_adjusted in zip(questions, results, adjusted, strict=True):
        rows.append(
            {
                "x": x,
                "y": y,
                "given": list(given),
                "test": test.name,
                "df_rule": getattr(test, "df_rule", None),
                "statistic": result.statistic,
                "df": _whole(result.df),
                "p_value": _probability(result.log_p),
                "log10_p": None if result.log_p is None else result.log_p / math.log(10) + 0.0,
                "p_adjusted": None if adjust == "none" else _probability(log_adjusted),
                "mi": result.mi,
                "cramers_v": result.cramers_v,
                "n": result.n,
                "alpha": alpha,
                "verdict": test.verdict(result, alpha or 0.0, log_adjusted),
            }
        )
    return rows


def _probability(log_p: float | None) -> float | None:
    """p to the 15 digits that its logarithm holds, so that 1/200 is 0.005."""
    return None if log_p is None else float(f"{math.exp(log_p):.15g}")


def _whole(number: float | None) -> int | float | None:
    return int(number) if number is not None and number.is_integer() else number


def _answer(verdicts: Sequence[str], expect: str | None) -> int:
    if expect is None or all(verdict == expect for verdict in verdicts):
        return 0
    opposite = {"independent": "dependent", "dependent": "independent"}[expect]
    return 1 if opposite in verdicts else 4

"""gml indtest DATA X Y: is X independent of Y given Z?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import click

from gml.cli.graphs import columns_of, read_graph_argument
from gml.cli.options import DataRequest, common_options, data_options, name_list_option
from gml.cli.output import ReportOutput, report_output
from gml.cli.testing import TestRequest, test_options
from gml.errors import UsageError, unknown_name
from gml.progress import reporter

if TYPE_CHECKING:
    from gml.data.reading import Choice
    from gml.independence.base import CIResult, CITest

Question = tuple[str, str, tuple[str, ...]]


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
@test_options("g", alpha=0.05, df="full")
@click.option(
    "--adjust",
    type=click.Choice(["none", "bonferroni", "holm", "bh", "by"]),
    default="none",
    show_default=True,
    help="Adjust p-values for the number of tests.",
)
@click.option(
    "--expect",
    type=click.Choice(["independent", "dependent"]),
    help="Exit 1 if a verdict is another one, 4 if the data cannot tell.",
)
@report_output
@common_options
def command(
    data: DataRequest,
    x: str | None,
    y: str | None,
    given: tuple[str, ...],
    all_pairs: bool,
    implied: str | None,
    testing: TestRequest,
    adjust: str,
    expect: str | None,
    out: ReportOutput,
) -> int:
    """Test whether X and Y are independent, given other columns.

    The report has the statistic, degrees of freedom, p-value and its logarithm, the mutual
    information in nats, Cramér's V and a verdict: independent, dependent, or insufficient when the
    data cannot tell.
    """
    testing.check()
    ask, used = _questioner(x, y, given, all_pairs, implied)
    counter = data.counter(used=used, numeric=testing.numeric)
    questions = ask([variable.name for variable in counter.variables])
    position = {variable.name: j for j, variable in enumerate(counter.variables)}
    test = testing.make(counter, data.threads)
    results = test.batch(
        [(position[a], position[b], tuple(position[c] for c in z)) for a, b, z in questions]
    )
    _warn_of_sparse_tables(results)
    rows = _report(questions, results, test, testing.reported_alpha, adjust)
    out.write(rows)
    return _answer([row["verdict"] for row in rows], expect)


def _warn_of_sparse_tables(results: Sequence[CIResult]) -> None:
    sparse = sum(result.df is not None and result.df > result.n > 0 for result in results)
    if sparse:
        reporter().warn(
            f"{sparse} of {len(results)} tests have more degrees of freedom than rows: p-values "
            "of little meaning; cut numbers (--bins), use --test permutation or --min-per-cell"
        )


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
    from gml.independence.implied import implied_independences

    graph = read_graph_argument(path, "implied")
    questions = implied_independences(graph)
    columns = columns_of(graph, path)

    def used(names: Sequence[str]) -> Sequence[str]:
        chosen = columns(names)
        if not questions:
            reporter().warn("the graph implies no independence: every pair has an edge")
        return chosen

    return lambda names: questions, used


def _report(
    questions: Sequence[Question],
    results: Sequence[CIResult],
    test: CITest,
    alpha: float | None,
    adjust: str,
) -> list[dict[str, Any]]:
    from gml.formats.reports.tests import numbers_of, probability
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
                **numbers_of(result),
                "p_adjusted": None if adjust == "none" else probability(log_adjusted),
                "mi": result.mi,
                "cramers_v": result.cramers_v,
                "n": result.n,
                "alpha": alpha,
                "verdict": test.verdict(result, alpha or 0.0, log_adjusted),
            }
        )
    return rows


def _answer(verdicts: Sequence[str], expect: str | None) -> int:
    if expect is None or all(verdict == expect for verdict in verdicts):
        return 0
    opposite = {"independent": "dependent", "dependent": "independent"}[expect]
    return 1 if opposite in verdicts else 4

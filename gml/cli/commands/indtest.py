"""gml indtest DATA X Y: is X independent of Y given Z?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations, islice
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from gml.cli.shared.common_options import common_options
from gml.cli.shared.data_options import DataRequest, data_options
from gml.cli.shared.graph_arguments import columns_of, read_graph_argument
from gml.cli.shared.output import ReportOutput, report_output
from gml.cli.shared.parameter_types import name_list_option
from gml.cli.shared.test_options import TestRequest, test_options
from gml.errors import UsageError, unknown_name
from gml.independence.multiplicity import METHODS
from gml.progress import reporter
from gml.resources import require_memory

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from gml.counts.counter import Triple
    from gml.data.columns import Choice
    from gml.independence.base import IndependenceTest, ResultArrays

Question = tuple[str, str, tuple[str, ...]]

_BATCH = 1 << 15
# Six numbers and two flags; to adjust p-values they are sorted.
_BYTES_PER_TEST = 50
_BYTES_TO_ADJUST = 56


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
    type=click.Choice(METHODS),
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
    counter = data.open(used=used, undeclared="numbers" if testing.numeric else "labels")
    questions = ask([variable.name for variable in counter.variables])
    test = testing.make(counter, data.threads)
    results = _results(questions, test, adjust)
    _warn_of_sparse_tables(results)
    report = _Report(questions, results, test, testing.reported_alpha, adjust)
    out.write(report)
    return 0 if expect is None else _answer({row["verdict"] for row in report}, expect)


class _Questions(NamedTuple):
    """How many questions there are, and how to go through them, as often as need be."""

    number: int
    each: Callable[[], Iterator[Question]]


def _results(questions: _Questions, test: IndependenceTest, adjust: str) -> ResultArrays:
    """Run the tests in batches: of each, numbers are kept and nothing else."""
    from gml.independence.base import ResultArrays

    kept = _BYTES_PER_TEST + (0 if adjust == "none" else _BYTES_TO_ADJUST)
    require_memory(questions.number * kept, None, f"the results of {questions.number} tests")
    position = {name: j for j, name in enumerate(test.names)}
    asked = questions.each()
    results = None
    for start in range(0, max(1, questions.number), _BATCH):
        if start:
            reporter().status(f"testing: {start:,} of {questions.number:,}")
        part = test.batch(_triples(islice(asked, _BATCH), position))
        if results is None:
            results = ResultArrays.room(questions.number, part)
        results.put(start, part)
    reporter().status(None)
    assert results is not None
    return results


def _triples(questions: Iterable[Question], position: Mapping[str, int]) -> Sequence[Triple]:
    from gml.counts.counter import TripleArray

    triples = [(position[a], position[b], tuple(position[c] for c in z)) for a, b, z in questions]
    if len({len(given) for _, _, given in triples}) != 1:
        return triples
    import numpy as np

    return TripleArray(np.array([(a, b, *given) for a, b, given in triples], dtype=np.int32))


def _warn_of_sparse_tables(results: ResultArrays) -> None:
    if results.df is None:
        return
    sparse = int(((results.df > results.n) & (results.n > 0)).sum())
    if sparse:
        reporter().warn(
            f"{sparse} of {len(results)} tests have more degrees of freedom than rows: p-values "
            "of little meaning; cut numbers (--bins), use --test permutation or --min-per-cell"
        )


def _questioner(
    x: str | None, y: str | None, given: tuple[str, ...], all_pairs: bool, implied: str | None
) -> tuple[Callable[[Sequence[str]], _Questions], Choice | None]:
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
        one = _Questions(1, lambda: iter([(x, y, given)]))
        return lambda names: one, lambda names: [x, y, *given]
    if all_pairs:
        return lambda names: _pairs(names, given), None
    assert implied is not None
    if given:
        raise UsageError("--implied brings its own conditioning sets; --given contradicts")
    return _implied(implied)


def _pairs(names: Sequence[str], given: tuple[str, ...]) -> _Questions:
    for name in given:
        if name not in names:
            raise UsageError(unknown_name("column", name, names))
    rest = sorted(set(names) - set(given))
    if len(rest) < 2:
        raise UsageError("--all-pairs needs two columns beside --given")
    return _Questions(
        len(rest) * (len(rest) - 1) // 2,
        lambda: ((a, b, given) for a, b in combinations(rest, 2)),
    )


def _implied(path: str) -> tuple[Callable[[Sequence[str]], _Questions], Choice]:
    from gml.independence.implied import each_implied

    graph = read_graph_argument(path, "implied")
    n_nodes = len(graph.names)
    questions = _Questions(
        n_nodes * (n_nodes - 1) // 2 - graph.n_edges, lambda: each_implied(graph)
    )
    columns = columns_of(graph, path)

    def used(names: Sequence[str]) -> Sequence[str]:
        chosen = columns(names)
        if not questions.number:
            reporter().warn("the graph implies no independence: every pair has an edge")
        return chosen

    return lambda names: questions, used


class _Report:
    """The rows of the report, made again each time they are gone through."""

    def __init__(
        self,
        questions: _Questions,
        results: ResultArrays,
        test: IndependenceTest,
        alpha: float | None,
        adjust: str,
    ) -> None:
        self._questions = questions
        self._results = results
        self._test = test
        self._alpha = alpha
        self._adjusted = None if adjust == "none" else _adjusted(results, adjust)

    def __len__(self) -> int:
        return self._questions.number

    def __iter__(self) -> Iterator[dict[str, Any]]:
        from gml.formats.reports.tests import numbers_of, probability

        test, alpha, adjusted = self._test, self._alpha, self._adjusted
        asked = zip(self._questions.each(), self._results, strict=True)
        for k, ((x, y, given), result) in enumerate(asked):
            log_p = result.log_p
            if adjusted is not None and log_p is not None:
                log_p = float(adjusted[k])
            yield {
                "x": x,
                "y": y,
                "given": list(given),
                "test": test.name,
                "df_rule": test.df_rule,
                **numbers_of(result),
                "p_adjusted": None if adjusted is None else probability(log_p),
                "mi": result.mi,
                "cramers_v": result.cramers_v,
                "n": result.n,
                "alpha": alpha,
                "verdict": test.verdict(result, alpha or 0.0, log_p),
            }


def _adjusted(results: ResultArrays, method: str) -> NDArray[np.float64]:
    import numpy as np

    from gml.independence.multiplicity import adjusted

    log_p = np.nan if results.log_p is None else results.log_p
    return adjusted(np.where(results.sufficient, log_p, np.nan), method)


def _answer(verdicts: set[str], expect: str) -> int:
    if verdicts <= {expect}:
        return 0
    opposite = {"independent": "dependent", "dependent": "independent"}[expect]
    return 1 if opposite in verdicts else 4

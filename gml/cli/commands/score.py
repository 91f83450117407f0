"""gml score DATA GRAPH…: how well graphs fit."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import click

from gml.cli.shared.common_options import common_options, seed_option
from gml.cli.shared.data_options import DataRequest, fitting_data_options
from gml.cli.shared.graph_arguments import (
    columns_of,
    declared_levels,
    extended,
    read_graph_argument,
)
from gml.cli.shared.numbers import Real, WholeRange
from gml.cli.shared.output import ScoreOutput, score_output
from gml.cli.shared.run import claim_input, was_given
from gml.cli.shared.score_options import ScoreRequest, score_options
from gml.errors import GraphError, UsageError, listing, place

if TYPE_CHECKING:
    from gml.counts.counter import Counter, Family
    from gml.data.dataset import Dataset
    from gml.formats.reports.scores import ScoredGraph
    from gml.graph.graph import Graph
    from gml.scores.base import FamilyScore


@click.command(
    "score",
    epilog="\b\nExamples:\n"
    "  gml score survey.csv graph.dot\n"
    "  gml score survey.csv a.dot b.dot --score bdeu,bic --ess 10\n"
    "  gml score survey.csv graph.json --per-node -f csv\n"
    "  gml score survey.csv new.dot --compare-to accepted.dot -o /dev/null || echo worse\n"
    "  gml score survey.csv a.dot b.dot --folds 10\n"
    "  gml score heights.csv graph.dot --score bge\n"
    "\n\b\n"
    "Exit codes with --fail-under or --compare-to: 0 as good, 1 worse.",
)
@fitting_data_options
@click.argument("graph_paths", metavar="GRAPH...", nargs=-1, required=True)
@score_options()
@click.option("--per-node", is_flag=True, help="The score of each node too.")
@click.option(
    "--explain", is_flag=True, help="The likelihood as n(ΣI(x;pa) − ΣH(x)), node by node."
)
@click.option(
    "--fail-under", type=Real(), metavar="X", help="Exit 1 if a graph's (first) score is below X."
)
@click.option("--compare-to", metavar="GRAPH", help="Exit 1 if a graph is worse than this one.")
@click.option("--holdout", metavar="FILE", help="Fit on DATA, and say how well FILE is predicted.")
@click.option(
    "--folds", type=WholeRange(min=2), metavar="K", help="The same by K-fold cross-validation."
)
@click.option(
    "--prior",
    type=click.Choice(["jeffreys", "k2", "uniform", "bdeu"]),
    default="jeffreys",
    show_default=True,
    help="Of the tables fitted for --holdout and --folds.",
)
@seed_option
@score_output
@common_options
def command(
    data: DataRequest,
    graph_paths: tuple[str, ...],
    scoring: ScoreRequest,
    per_node: bool,
    explain: bool,
    fail_under: float | None,
    compare_to: str | None,
    holdout: str | None,
    folds: int | None,
    prior: str,
    seed: int,
    out: ScoreOutput,
) -> int:
    """Score graphs on DATA, higher is better; several are ranked by the first score.

    A graph that stands for several DAGs (a CPDAG) is scored through one of them, by scores that
    give equivalent DAGs the same value. Differences are to the best graph by that score; log10_bf
    is the decimal logarithm of the Bayes factor against it (by bic: about; not with
    --edge-penalty). With --holdout or --folds, heldout is the mean −ln p of a row that was not
    fitted, in nats, lower is better, and ranks.
    """
    from gml.counts.counter import rows_counted

    _check(data, holdout, folds, fail_under)
    graphs = _read_graphs(graph_paths, compare_to, scoring)
    if holdout is not None:
        claim_input(holdout, "holdout")
    data = data.declaring(declared_levels((a.path, a.graph) for a in graphs))
    first = graphs[0]
    used = columns_of(first.graph, first.path)
    counter = data.open(
        used=used,
        undeclared="numbers" if scoring.numeric else "labels",
        offer_available=False,
    )
    scored = _score(graphs, counter, scoring, per_node=per_node or explain, explain=explain)
    if holdout is not None or folds is not None:
        splits = _splits(data, counter, holdout, folds, seed, first.graph)
        scored = _with_loss(scored, graphs, splits, data, prior, scoring.options["ess"])
    decisive = _decisive(scored, scoring)
    bounds = [] if fail_under is None else [fail_under]
    if compare_to is not None:
        bounds.append(decisive[-1])
        scored[-1] = replace(scored[-1], is_baseline=True)
    ranked = _ranked(scored, decisive, scoring)
    out.write(ranked, rows_counted(counter))
    asked = decisive[: len(graph_paths)]
    return 1 if any(value < bound for value in asked for bound in bounds) else 0


@dataclass(frozen=True)
class _Argument:
    path: str
    graph: Graph


def _check(
    data: DataRequest, holdout: str | None, folds: int | None, fail_under: float | None
) -> None:
    if holdout is not None and folds is not None:
        raise UsageError("--holdout and --folds exclude one another")
    apart = holdout is not None or folds is not None
    if fail_under is not None and apart:
        raise UsageError("--fail-under is for the score; with --holdout or --folds, --compare-to")
    if fail_under is not None and math.isnan(fail_under):
        raise UsageError("--fail-under is not a number")
    if not apart and was_given("prior"):
        raise UsageError("--prior is for --holdout and --folds")
    if folds is None and was_given("seed"):
        raise UsageError("--seed is for --folds")
    if data.options.weights_fractional is not None and folds is not None:
        raise UsageError("--folds splits whole rows; --weights-fractional contradicts")
    if data.options.missing == "available":
        raise UsageError(
            "--missing available: families on different rows cannot be compared; use drop or level"
        )


def _read_graphs(
    paths: Sequence[str], compare_to: str | None, scoring: ScoreRequest
) -> list[_Argument]:
    """Read graphs over the same nodes, each as a DAG; the one to compare to is the last."""
    found: list[_Argument] = []
    asked = [(path, "graph", True) for path in paths]
    if compare_to is not None:
        asked.append((compare_to, "compare_to", False))
    for path, role, several in asked:
        graph = read_graph_argument(path, role, several=several)
        if graph.kind != "dag" and scoring.not_equivalent:
            raise UsageError(
                f"{place(path)}: a graph of kind {graph.kind} has no score by "
                f"{', '.join(scoring.not_equivalent)}, which tells equivalent DAGs apart"
            )
        if found and set(graph.names) != set(found[0].graph.names):
            other = set(graph.names) ^ set(found[0].graph.names)
            raise GraphError(
                f"{place(path)} and {place(paths[0])} have different nodes: "
                f"{listing(sorted(other))}"
            )
        found.append(_Argument(place(path), extended(graph, path)))
    return found


def _score(
    graphs: Sequence[_Argument],
    counter: Counter,
    scoring: ScoreRequest,
    *,
    per_node: bool,
    explain: bool,
) -> list[ScoredGraph]:
    from gml.formats.reports.scores import ScoredGraph
    from gml.scores.base import add_up, families_of
    from gml.scores.registry import SCORES

    scores = scoring.make(counter)
    likelihood = SCORES[scoring.likelihood](counter)
    results = []
    for argument in graphs:
        names = argument.graph.names
        families = families_of(likelihood, argument.graph)
        values = {score.name: score.batch(families) for score in scores}
        dims = dict(zip(names, likelihood.dimensions(families).tolist(), strict=True))
        scored = ScoredGraph(
            argument.path,
            {name: add_up(likelihood.names, families, found) for name, found in values.items()},
            sum(dims.values()),
            {name: [names[i] for i in argument.graph.parents(j)] for j, name in enumerate(names)},
            dims,
        )
        if per_node:
            of_node = {
                name: {score: float(found[k]) for score, found in values.items()}
                for k, name in enumerate(names)
            }
            scored = replace(scored, nodes=of_node)
        if explain:
            scored = replace(scored, explained=_explained(likelihood, names, families))
        results.append(scored)
    return results


def _explained(
    likelihood: FamilyScore, names: Sequence[str], families: Sequence[Family]
) -> dict[str, tuple[float, float]]:
    """H(x) and I(x;pa) of each node: what the likelihood is without and gains by its parents."""
    alone = likelihood.batch([(child, ()) for child, _ in families])
    gain = likelihood.batch(families) - alone
    return {
        name: (float(-alone[k]) / likelihood.n, float(gain[k]) / likelihood.n)
        for k, name in enumerate(names)
    }


def _splits(
    data: DataRequest,
    counter: Counter,
    holdout: str | None,
    k: int | None,
    seed: int,
    graph: Graph,
) -> Callable[[], Iterable[tuple[Dataset | Counter, Dataset | Counter]]]:
    """What to fit on and what to predict, made anew for each graph rather than kept."""
    from gml.data.alignment import common_levels
    from gml.data.discretize import cuts_of_levels
    from gml.data.parquet import is_count_file
    from gml.data.resampling import folds

    if k is not None:
        rows = counter.require_rows("--folds")
        return lambda: folds(rows, k, seed=seed)
    assert holdout is not None
    # Intervals that were chosen on DATA hold for the other file too.
    options = data.options
    cut = {
        variable.name: variable.levels
        for variable in counter.variables
        if variable.levels is not None
        and (options.bins is not None or variable.name in options.cut)
        and cuts_of_levels(variable.levels) is not None
    }
    others = {name: how for name, how in options.cut.items() if name not in cut}
    # A count file refuses both.
    same = data if is_count_file(holdout) else data.saying(bins=None, cut=others or None)
    other = replace(same, path=holdout).declaring(cut)
    predicted = other.open(
        used=columns_of(graph, holdout),
        undeclared="numbers" if counter.variables[0].is_continuous else "labels",
        offer_available=False,
    )
    decimal = counter.decimal or data.options.decimal
    levels = common_levels(counter.variables, predicted.variables, decimal=decimal)
    split = counter.with_levels(levels), predicted.with_levels(levels)
    return lambda: [split]


def _with_loss(
    scored: Sequence[ScoredGraph],
    graphs: Sequence[_Argument],
    splits: Callable[[], Iterable[tuple[Dataset | Counter, Dataset | Counter]]],
    data: DataRequest,
    prior: str,
    ess: float,
) -> list[ScoredGraph]:
    from gml.model.heldout import held_out_loss

    return [
        replace(
            found,
            heldout=held_out_loss(
                argument.graph,
                splits(),
                prior=prior,
                ess=ess,
                threads=data.threads,
            ),
        )
        for found, argument in zip(scored, graphs, strict=True)
    ]


def _decisive(scored: Sequence[ScoredGraph], scoring: ScoreRequest) -> list[float]:
    """What ranks the graphs, rounded so that last bits never decide; higher is better."""
    from gml.scores.base import rounded

    return [
        rounded(found.scores[scoring.names[0]] if found.heldout is None else -found.heldout)
        for found in scored
    ]


def _ranked(
    scored: Sequence[ScoredGraph], decisive: Sequence[float], scoring: ScoreRequest
) -> list[ScoredGraph]:
    """The best first, ties in the order given, with the differences to the best by each score."""
    if len(scored) == 1:
        return list(scored)
    best = {name: max(found.scores[name] for found in scored) for name in scoring.names}
    ranked = []
    for k in sorted(range(len(scored)), key=lambda k: -decisive[k]):
        differences = {name: value - best[name] for name, value in scored[k].scores.items()}
        factors = {name: differences[name] / math.log(10) for name in scoring.with_bayes_factors}
        ranked.append(replace(scored[k], differences=differences, log10_bayes_factors=factors))
    return ranked

"""gml average DATA: how sure each edge is, over samples or over all graphs."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import click

from gml import __version__
from gml.cli.shared.averaging import average_samples, warn_of_contradictions
from gml.cli.shared.chain_options import CHAIN_OPTIONS, MOST_PARENTS, average_orders, chain_options
from gml.cli.shared.common_options import (
    OUT_OF_TIME,
    chosen_options,
    common_options,
    max_seconds_option,
    safe_csv_option,
    seed_option,
)
from gml.cli.shared.data_options import DataRequest, data_options
from gml.cli.shared.knowledge_options import KnowledgeRequest, knowledge_options
from gml.cli.shared.numbers import RealRange, WholeRange
from gml.cli.shared.output import GraphOutput, ReportOutput, graph_output
from gml.cli.shared.parameter_types import OutputFile
from gml.cli.shared.pc_options import PcRequest, pc_options
from gml.cli.shared.run import was_given
from gml.cli.shared.score_options import ScoreRequest, score_options
from gml.cli.shared.search_options import restart_options, tabu_option
from gml.errors import UsageError
from gml.independence.registry import TESTS
from gml.parameters import options_of
from gml.progress import Deadline, reporter
from gml.scores.registry import SCORES

if TYPE_CHECKING:
    from gml.counts.counter import Counter
    from gml.data.dataset import Dataset
    from gml.graph.graph import Graph
    from gml.graph.knowledge import Knowledge
    from gml.learners.averaging import Averaged
    from gml.learners.search import SearchResult

_BY_SAMPLES = ("hc", "ges", "pc")
_BY_ORDERS = ("exact", "order-mcmc")
_BY_SCORE = ("hc", "ges", *_BY_ORDERS)
# Not what both a score and a test have.
_OF_TESTS, _OF_SCORES = options_of(TESTS), options_of(SCORES)
_OPTIONS_OF = {
    "bootstrap": _BY_SAMPLES,
    "seed": (*_BY_SAMPLES, "order-mcmc"),
    **dict.fromkeys(["names", *(o for o in _OF_SCORES if o not in _OF_TESTS)], _BY_SCORE),
    **dict.fromkeys(("edge_penalty", "max_parents"), _BY_SCORE),
    **dict.fromkeys(CHAIN_OPTIONS, ("order-mcmc",)),
    "tabu": ("hc",),
    **dict.fromkeys(("restarts", "perturb"), ("hc", "ges")),
    **dict.fromkeys(("test", "alpha"), ("pc",)),
    **dict.fromkeys((o for o in _OF_TESTS if o not in (*_OF_SCORES, "seed")), ("pc",)),
    **dict.fromkeys(("max_cond", "colliders", "on_insufficient"), ("pc",)),
}


def _default_score() -> str:
    # A posterior is over marginal likelihoods, of which bic is but a rough approximation.
    by = click.get_current_context().params.get("by")
    return "bdeu" if by in _BY_ORDERS else "bic"


@click.command(
    "average",
    epilog="\b\nExamples:\n"
    "  gml average survey.csv --by hc                    # 200 bootstrap samples\n"
    "  gml average survey.csv --by ges --bootstrap 500 --seed 1 -f text\n"
    "  gml average survey.csv --by hc --score bdeu --ess 5 --threshold 0.85 -o graph.json\n"
    "  gml average survey.csv --by exact --max-parents 3 -f text  # to some 20 columns\n"
    "  gml average genes.csv --by order-mcmc --candidates 10 --chains 8 -o graph.json\n"
    "  gml average survey.csv --by pc --alpha 0.001 --probabilities pairs.csv -o graph.dot\n"
    "\n\b\n"
    "Exit code 5: stopped by --max-seconds; what was ready is averaged (4: nothing was).",
)
@data_options
@click.option(
    "--by",
    type=click.Choice((*_BY_SAMPLES, *_BY_ORDERS)),
    required=True,
    is_eager=True,
    help="What to average: the graphs that hc, ges or pc learn from samples of the rows, or all "
    "DAGs by their posterior probability: exact, or order-mcmc for many columns.",
)
@click.option(
    "--bootstrap",
    type=WholeRange(min=2),
    default=200,
    show_default=True,
    metavar="N",
    help="Samples: of as many rows with replacement by hc and ges, of half of them by pc.",
)
@click.option(
    "--threshold",
    type=RealRange(min=0, max=1, min_open=True),
    help="Least strength of an edge; found from the data, 0.5 of a posterior.",
)
@score_options(
    several=False,
    default=_default_score,
    show_default="bic; exact and order-mcmc: bdeu",
    checked=False,
    shared=TESTS,
)
@click.option(
    "--max-parents",
    type=WholeRange(min=0),
    help=f"Most parents of a node; {MOST_PARENTS} by order-mcmc.",
)
@tabu_option
@restart_options
@chain_options
@pc_options(without=("ess", "seed"))
@knowledge_options
@seed_option
@click.option("--dag", is_flag=True, help="Write a DAG of the equivalence class instead.")
@click.option(
    "--probabilities",
    type=OutputFile(),
    metavar="FILE",
    help="Write the shares of all pairs, edges or not; .csv .json .txt …",
)
@safe_csv_option
@max_seconds_option
@graph_output
@common_options
def command(
    data: DataRequest,
    by: str,
    bootstrap: int,
    threshold: float | None,
    scoring: ScoreRequest,
    max_parents: int | None,
    tabu: int,
    restarts: int,
    perturb: int | None,
    chain: dict[str, int | None],
    pc: PcRequest,
    knowledge: KnowledgeRequest,
    seed: int,
    dag: bool,
    probabilities: str | None,
    deadline: Deadline,
    out: GraphOutput,
) -> int:
    """Learn how sure each edge is from DATA: average many graphs instead of picking one.

    hc, ges and pc are run on many samples of the rows; `strength` is the share of the graphs that
    have an edge, `direction` of these the share with this direction, an undirected edge counting
    half. exact sums over all DAGs instead, and order-mcmc over those of many orders: `strength` is
    the posterior probability of an edge in either direction, under a prior that is uniform over
    orders and sets of parents. The averaged graph has the edges of at least the threshold, and is
    always a valid CPDAG or, with knowledge, the maximally oriented PDAG: arrows follow from its
    colliders, so that one may point against a weak majority.
    """
    from gml.formats.knowledge import as_json
    from gml.formats.reports.rows import MadeAnew

    pairs = _check_options(by, scoring, pc, probabilities)
    numeric = pc.testing.numeric if by == "pc" else scoring.numeric
    counter = data.open(
        undeclared="numbers" if numeric else "labels", offer_available=by not in _BY_SCORE
    )
    known = knowledge.resolve([variable.name for variable in counter.variables])
    if by == "order-mcmc" and max_parents is None:
        max_parents = MOST_PARENTS
    settings: dict[str, Any] = {"by": by}
    if by in _BY_SAMPLES:
        settings |= {"bootstrap": bootstrap, "seed": seed}
    if by == "order-mcmc":
        settings |= {"iterations": chain["iterations"], "chains": chain["chains"], "seed": seed}
    if by == "pc":
        settings |= pc.shown
    else:
        settings |= {"score": scoring.names[0], "max_parents": max_parents}
    if by == "hc":
        settings["tabu"] = tabu
    if by in ("hc", "ges"):
        settings["restarts"] = restarts
    learning: dict[str, Any] = {
        "command": "average",
        "options": chosen_options(),
        "settings": settings,
        "version": __version__,
        "rows": counter.n,
        "data": counter.digest,
    }
    if known:
        learning["knowledge"] = as_json(known)
    limits: dict[str, Any] = {"threshold": threshold, "knowledge": known, "deadline": deadline}
    if by in _BY_SAMPLES:
        search = _Search(by, scoring, max_parents, tabu, restarts, perturb, seed)
        learner = pc if by == "pc" else search
        averaged, found = _over_samples(counter, data.threads, learner, bootstrap, seed, **limits)
    else:
        sums = {
            "max_parents": max_parents,
            "threads": data.threads,
        }
        if by == "order-mcmc":
            sums |= {**chain, "seed": seed}
        averaged, found = average_orders(scoring.make(counter)[0], by, sums, **limits)
    warn_of_contradictions(averaged.triples, "replicates" if by in _BY_SAMPLES else "edges")
    graph = averaged.dag if dag else averaged.graph
    levels = {v.name: v.levels for v in counter.variables if v.levels is not None}
    # First: a format may refuse the names, and then the shares do not appear either.
    out.write(dataclasses.replace(graph, levels=levels), learning | found)
    if pairs is not None:
        shares = averaged.shares
        number = len(shares.names) * (len(shares.names) - 1) // 2
        pairs.write(MadeAnew(number, lambda: (pair._asdict() for pair in shares.pairs())))
    if found.get("complete", True):
        return 0
    ready = "the orders sampled so far are averaged"
    if by in _BY_SAMPLES:
        ready = f"{averaged.replicates} of {bootstrap} replicates are averaged"
    reporter().warn(f"stopped by --max-seconds: {ready}")
    return OUT_OF_TIME


def _check_options(
    by: str, scoring: ScoreRequest, pc: PcRequest, probabilities: str | None
) -> ReportOutput | None:
    """Refuse options that do not go together; returns where the shares of pairs go."""
    from gml.formats.suffixes import REPORT_SUFFIXES, format_of

    for option, learners in _OPTIONS_OF.items():
        if was_given(option) and by not in learners:
            flag = "--score" if option == "names" else "--" + option.replace("_", "-")
            raise UsageError(f"{flag} does not go with --by {by} (but {', '.join(learners)})")
    if by == "pc":
        pc.testing.check(seeded=True)
        pc.testing.require_reachable_level()
    else:
        scoring.check()
    if by == "ges":
        scoring.require_equivalent("ges")
    if by in _BY_ORDERS:
        scoring.require_likelihood(f"--by {by}")
    if probabilities is None:
        return None
    if probabilities == "-":
        raise UsageError("--probabilities needs a file; standard output is for the graph")
    format_ = format_of(probabilities, REPORT_SUFFIXES, or_option="")
    return ReportOutput(probabilities, format_)


@dataclasses.dataclass(frozen=True)
class _Search:
    """A search by a score, and its settings."""

    by: str
    scoring: ScoreRequest
    max_parents: int | None
    tabu: int
    restarts: int
    perturb: int | None
    seed: int

    def learn(
        self,
        counter: Counter,
        threads: int | None,
        *,
        knowledge: Knowledge,
        deadline: Deadline,
    ) -> SearchResult:
        """Search on what a counter counts."""
        from gml.graph.equivalence import equivalence_class
        from gml.learners.ges import ges
        from gml.learners.hillclimb import hill_climb

        settings: dict[str, Any] = {
            "max_parents": self.max_parents,
            "restarts": self.restarts,
            "perturb": self.perturb,
            "seed": self.seed,
            "knowledge": knowledge,
            "deadline": deadline,
        }
        score = self.scoring.make(counter)[0]
        if self.by == "ges":
            return ges(score, **settings)
        result = hill_climb(score, tabu=self.tabu, **settings)
        # Which DAG of a class a search ends in is up to the names, the same each time: averaged, it
        # would look like certainty.
        return dataclasses.replace(result, graph=equivalence_class(result.dag, knowledge))


def _over_samples(
    counter: Counter,
    threads: int | None,
    learner: PcRequest | _Search,
    replicates: int,
    seed: int,
    *,
    threshold: float | None,
    knowledge: Knowledge,
    deadline: Deadline,
) -> tuple[Averaged, dict[str, Any]]:
    """Average the graphs of half-samples or bootstrap samples."""
    from gml.counts.memory import MemoryCounter
    from gml.learners.bootstrap import bootstrap_samples, half_samples

    def learn(sample: Dataset) -> Graph | None:
        some = MemoryCounter(sample, threads=1)
        result = learner.learn(some, 1, knowledge=knowledge, deadline=deadline)
        return result.graph if result.complete else None

    draw = half_samples if isinstance(learner, PcRequest) else bootstrap_samples
    by = "pc" if isinstance(learner, PcRequest) else learner.by
    return average_samples(
        learn,
        draw(counter.require_rows(f"--by {by}"), replicates, seed=seed),
        replicates,
        threshold=threshold,
        knowledge=knowledge,
        threads=threads,
        deadline=deadline,
    )

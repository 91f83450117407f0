"""gml mrf DATA [GRAPH]: an undirected model."""

from __future__ import annotations

from typing import Any

import click

from gml import EDGE_PENALTY, PENALTY
from gml.cli.shared.command import Command
from gml.cli.shared.common_options import (
    alpha_option,
    chosen_options,
    common_options,
    exit_code,
    max_seconds_option,
    safe_csv_option,
    seed_option,
)
from gml.cli.shared.data_options import DataRequest, fitting_data_options
from gml.cli.shared.declared_options import click_option
from gml.cli.shared.keyword_options import keyword_options
from gml.cli.shared.numbers import RealRange, WholeRange
from gml.cli.shared.option_groups import CHAINS, OUTPUT, STRUCTURE
from gml.cli.shared.output import MarkovOutput
from gml.cli.shared.output_options import markov_output
from gml.cli.shared.parameter_types import NameList, OutputFile
from gml.cli.shared.run import claim_input
from gml.cli.shared.structure_options import structure_options
from gml.errors import UsageError
from gml.parameters import ESS
from gml.verbs.shared.structure_names import STRUCTURES

_factor_options = keyword_options(
    click.option(
        "--factors",
        type=click.Choice(["cliques", "pairs"]),
        default="cliques",
        show_default=True,
        help="Factors over the maximal cliques of the graph, or over its edges alone, which is the "
        "default of --structure l1 and complete.",
    ),
    click.option(
        "--clique",
        type=NameList(),
        multiple=True,
        metavar="A,B",
        help="A factor over these columns, instead of GRAPH (repeatable).",
    ),
    click.option(
        "--method",
        type=click.Choice(["auto", "exact", "pl", "pcd", "cd"]),
        default="auto",
        show_default=True,
        help="Maximum likelihood, pseudo-likelihood, or (persistent) contrastive divergence; auto: "
        "exact where its tables are small, else pl and then pcd.",
    ),
    click.option(
        "--coding",
        type=click.Choice(["sum-to-zero", "01"]),
        default="sum-to-zero",
        show_default=True,
        help="Terms that add up to 0 (±J for two levels), or θ where both levels are the second.",
    ),
    click.option(
        "--l1",
        type=RealRange(min=0),
        default=0.0,
        metavar="WEIGHT",
        help="Nats that a strength of 1 costs; weak terms become exactly 0.",
    ),
    click.option(
        "--l2",
        type=RealRange(min=0),
        default=0.0,
        metavar="WEIGHT",
        help="Nats that a squared strength of 1 costs.",
    ),
    click.option(
        "--smoothing",
        type=RealRange(min=0),
        default=0.0,
        metavar="ROWS",
        help="Add so many rows, spread evenly over the joint table.",
    ),
    click.option("--errors", is_flag=True, help="Add the standard error of every number."),
    click.option(
        "--intervals",
        type=RealRange(min=0, max=1, min_open=True, max_open=True),
        metavar="LEVEL",
        help="Add bounds that hold the truth with this probability: 0.95.",
    ),
    click.option(
        "--accept",
        is_flag=True,
        help="Accept what the model's own rows break, and keep that in the model, so that gml "
        "check reports only what is new.",
    ),
)

_chain_options = keyword_options(
    click.option(
        "--chains", type=WholeRange(min=2), metavar="N", help="Chains of samples, side by side."
    ),
    click.option(
        "--sweeps",
        type=WholeRange(min=1),
        metavar="N",
        help="Sweeps of the Gibbs sampler between two steps.",
    ),
    click.option(
        "--iterations", type=WholeRange(min=1), metavar="N", help="Steps of the estimate."
    ),
    click.option("--rate", type=RealRange(min=0, min_open=True), help="Size of the first steps."),
    heading=CHAINS,
)


@click.command(
    "mrf",
    cls=Command,
    epilog="\b\nExamples:\n"
    "  gml mrf survey.csv -f text                      # learn the structure, and report\n"
    "  gml mrf survey.csv graph.dot -o model.json      # factors over the cliques of a graph\n"
    "  gml mrf survey.csv --clique A,C --clique A,M --clique C,M -f text\n"
    "  gml mrf votes.csv --structure l1 --coding 01 -o ising.json\n"
    "  gml mrf votes.csv --structure complete --method pl --l2 1 -o model.json\n"
    "  gml mrf survey.csv graph.dot --intervals 0.95 -o model.svg\n"
    "\n\b\n"
    "Exit code 5: stopped by --max-seconds; the model as it was then was written.",
)
@fitting_data_options
@click.argument("graph_path", metavar="[GRAPH]", required=False)
@_factor_options
@structure_options(
    STRUCTURES,
    "Without GRAPH, learn it: greedy search over decomposable graphs, the Chow–Liu tree, "
    "neighbourhoods by penalised regressions, or all pairs.",
    with_criterion=True,
)
@keyword_options(alpha_option("Level of --prune g."), heading=STRUCTURE)
@keyword_options(
    click.option(
        "--score",
        type=click.Choice(["bic", "aic", "bdeu", "ebic", "qnml", "loglik"], case_sensitive=False),
        default="bic",
        show_default=True,
        help="What --structure forward raises (gml help scores).",
    ),
    click_option(ESS._replace(help="Equivalent sample size of --score bdeu")),
    click_option(PENALTY),
    click_option(EDGE_PENALTY),
    heading=STRUCTURE,
)
@_chain_options
@keyword_options(seed_option)
@max_seconds_option
@keyword_options(
    click.option(
        "--trace",
        type=OutputFile(),
        metavar="FILE.csv",
        help="Write the moments at every step of --method pcd or cd to this file: step, rate, gap, "
        "and a column per moment, 'A,B 2' being the second of the term of A and B.",
    ),
    heading=OUTPUT,
)
@keyword_options(safe_csv_option)
@markov_output
@common_options
def command(
    data: DataRequest,
    graph_path: str | None,
    keywords: dict[str, Any],
    out: MarkovOutput,
) -> int:
    """Fit an undirected model to DATA: p(x) = exp(Σ λ(x_c)) / Z, a Markov random field.

    The factors are over the cliques of GRAPH (a DAG is moralised), or as --clique lists them; else
    the structure is learned. Maximum likelihood then matches the margins of the factors: of all
    distributions with these margins, the model is the one of largest entropy.
    """
    from gml.verbs.mrf import mrf
    from gml.verbs.shared.graph_input import given_graph
    from gml.verbs.shared.swapped import answering_swapped

    graph = None
    if graph_path is not None:
        with answering_swapped(data.path, graph_path):
            graph = given_graph(claim_input(graph_path, "graph"))
    if keywords.get("trace") == "-":
        raise UsageError("--trace needs a file; standard output is for the model")
    net = mrf(
        data.path,
        graph,
        threads=data.threads,
        asked=chosen_options(),
        **keywords,
        **data.reading,
    )
    out.write(out.content_of(net))
    return exit_code(net)

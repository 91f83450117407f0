"""gml fit-params DATA GRAPH: the tables of a graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from gml.cli.shared.command import Command
from gml.cli.shared.common_options import (
    chosen_options,
    common_options,
    exit_code,
    max_seconds_option,
    safe_csv_option,
)
from gml.cli.shared.data_options import DataRequest, em_data_options
from gml.cli.shared.declared_options import click_option
from gml.cli.shared.em_options import em_options
from gml.cli.shared.keyword_options import keyword_options
from gml.cli.shared.numbers import RealRange, WholeRange
from gml.cli.shared.output import ModelOutput
from gml.cli.shared.output_options import model_output
from gml.cli.shared.parameter_types import OutputFile
from gml.cli.shared.planning import dry_run_option
from gml.cli.shared.run import claim_input, plan_output
from gml.errors import quote
from gml.parameters import ESS, PRIOR_ROWS
from gml.path_kinds import is_folder


@click.command(
    "fit-params",
    cls=Command,
    epilog="\b\nExamples:\n"
    "  gml fit-params survey.csv graph.dot -o model.json\n"
    "  gml fit-params survey.csv graph.json --accept -o model.json   # for gml check\n"
    "  gml pc survey.csv -f json | gml fit-params survey.csv - -f text\n"
    "  gml fit-params survey.csv graph.json --method bayes --ess 10 -o model.bif\n"
    "  gml fit-params survey.csv graph.dot --intervals 0.95 --cpt-dir tables -o model.json\n"
    "  gml fit-params heights.csv graph.dot --gaussian -f text\n"
    "  gml fit-params patients.csv graph.dot --numeric age,weight -o model.json\n"
    "  gml fit-params today.csv model.json --update -o model.json\n"
    "  gml fit-params holes.csv graph.dot --missing em -o model.json\n"
    "  gml fit-params survey.csv classes.dot --hidden Class=3 --missing em -f text\n"
    "\n\b\n"
    "Exit code 5: stopped by --max-seconds; the best model so far was written.",
)
@em_data_options
@click.argument("graph_path", metavar="GRAPH")
@keyword_options(
    click.option(
        "--method",
        type=click.Choice(["mle", "bayes"]),
        default="mle",
        show_default=True,
        help="Shares of rows and least squares, or the mean under conjugate priors.",
    ),
    click.option(
        "--prior",
        type=click.Choice(["bdeu", "k2", "jeffreys", "uniform"]),
        default="bdeu",
        show_default=True,
        help="Prior of --method bayes: ess rows over the table, 1 per cell (k2, uniform), or ½.",
    ),
    click_option(ESS._replace(help="Equivalent sample size of --prior bdeu")),
    click.option(
        "--number-prior",
        type=click.Choice(["pooled", "ridge"]),
        default="pooled",
        show_default=True,
        help="Prior of --method bayes for numbers: rows like all rows together, whatever their "
        "labels, or like them but uncorrelated.",
    ),
    click_option(PRIOR_ROWS),
    click.option(
        "--intervals",
        type=RealRange(min=0, max=1, min_open=True, max_open=True),
        metavar="LEVEL",
        help="Add bounds that hold the truth with this probability: 0.95.",
    ),
    click.option(
        "--bootstrap",
        type=WholeRange(min=2),
        metavar="N",
        help="Take --intervals of a fit by EM from N samples of the rows, not from the observed "
        "information.",
    ),
)
@em_options
@max_seconds_option
@click.option(
    "--cpt-dir",
    type=OutputFile(folder=True),
    metavar="DIR",
    help="Also write one CSV file per node, NODE.csv, to this folder.",
)
@safe_csv_option
@keyword_options(
    click.option(
        "--strict", is_flag=True, help="Exit 4 if a configuration of parents was never seen."
    ),
    click.option(
        "--gaussian",
        is_flag=True,
        help="Treat the columns as numbers: fit regressions (by default if GRAPH says so).",
    ),
    click.option(
        "--accept",
        is_flag=True,
        help="Accept what the model's own rows break, and keep that in the model, so that gml "
        "check reports only what is new.",
    ),
    click.option(
        "--update",
        is_flag=True,
        help="Add the rows of DATA to the counts of GRAPH, a model of labels, which -o may "
        "replace.",
    ),
    click.option(
        "--forget", is_flag=True, help="Take the rows of DATA away from the counts of GRAPH."
    ),
)
@model_output
@dry_run_option
@common_options
def command(
    data: DataRequest,
    graph_path: str,
    keywords: dict[str, Any],
    cpt_dir: str | None,
    safe_csv: bool,
    out: ModelOutput,
) -> int:
    """Fit the distributions of GRAPH to DATA: tables of labels, regressions of numbers.

    A number has one regression per configuration of the labels among its parents; a label has no
    parents that are numbers. A configuration of parents that occurs in no row gets a uniform
    distribution and counts of zero, or the regression on all rows.
    If GRAPH declares levels, the tables have those levels, and options that contradict them are
    refused. A CPDAG gets the tables of one of its DAGs.
    With --update or --forget, GRAPH is a model and DATA has the rows to add to it, or to take away
    from it: the tables become those of all rows, fitted at once as the model was; where weights are
    fractions, but for rounding. New rows may add the level NA, by --missing level.
    With --missing em, and for --hidden nodes, which are not columns of DATA, the parameters are
    those under which what was seen is most likely; values are assumed to be missing at random.
    """
    from gml.formats.losses import TABLES_ONLY, left_open, warn_of_loss
    from gml.formats.models import write_cpt_folder
    from gml.verbs.fit_params import fit_params
    from gml.verbs.shared.graph_input import given_graph
    from gml.verbs.shared.swapped import answering_swapped

    with answering_swapped(data.path, graph_path):
        changes = bool(keywords.get("update") or keywords.get("forget"))
        graph = given_graph(claim_input(graph_path, "graph", replaceable=changes))
    if cpt_dir is not None:
        _plan_tables(graph.graph.names, cpt_dir)
    net = fit_params(
        data.path, graph, threads=data.threads, asked=chosen_options(), **keywords, **data.reading
    )
    # A model that the format cannot hold is refused before anything is written.
    content = out.content_of(net)
    if cpt_dir is not None:
        write_cpt_folder(net, cpt_dir, safe_csv=safe_csv)
    if out.format in TABLES_ONLY:
        asked = ["the intervals"] * ("intervals" in keywords and cpt_dir is None)
        asked += ["the names"] * (out.format == "uai")
        asked += left_open(net)
        warn_of_loss(out.format, asked + ["the baseline"] * (net.baseline is not None))
    out.write(content)
    return exit_code(net)


def _plan_tables(names: Sequence[str], folder: str) -> None:
    """Refuse tables that would replace inputs or other outputs, before anything is written."""
    from gml.formats.models import table_paths

    # In a folder that does not exist yet there is nothing to replace.
    if is_folder(folder):
        for name, path in zip(names, table_paths(names, folder), strict=True):
            plan_output(path, f"--cpt-dir, the table of {quote(name)}")

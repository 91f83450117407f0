"""gml fit-params DATA GRAPH: the tables of a graph."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from gml import __version__
from gml.cli.shared.graph_arguments import columns_of, extended, read_graph_argument
from gml.cli.shared.numbers import RealRange
from gml.cli.shared.options import (
    DataRequest,
    OutputFile,
    chosen_options,
    common_options,
    ess_option,
    fitting_data_options,
    safe_csv_option,
    was_given,
)
from gml.cli.shared.output import ModelOutput, model_output, plan_output
from gml.errors import UsageError, listing, place, quote
from gml.formats.losses import TABLES_ONLY, warn_of_loss
from gml.progress import reporter

if TYPE_CHECKING:
    from gml.counts.counter import Counter
    from gml.graph.graph import Graph
    from gml.model.bayesnet import BayesNet

_ON_LEVELS_ONLY = ("bins", "discretize", "cut", "levels", "strict")


@click.command(
    "fit-params",
    epilog="\b\nExamples:\n"
    "  gml fit-params survey.csv graph.dot -o model.json\n"
    "  gml pc survey.csv -f json | gml fit-params survey.csv - -f text\n"
    "  gml fit-params survey.csv graph.json --method bayes --ess 10 -o model.bif\n"
    "  gml fit-params survey.csv graph.dot --intervals 0.95 --cpt-dir tables -o model.json\n"
    "  gml fit-params heights.csv graph.dot --gaussian -f text",
)
@fitting_data_options
@click.argument("graph_path", metavar="GRAPH")
@click.option(
    "--method",
    type=click.Choice(["mle", "bayes"]),
    default="mle",
    show_default=True,
    help="Shares of rows, or their mean under a Dirichlet prior.",
)
@click.option(
    "--prior",
    type=click.Choice(["bdeu", "k2", "jeffreys", "uniform"]),
    default="bdeu",
    show_default=True,
    help="Of --method bayes: ess rows over the table, 1 a cell (k2, uniform), or half a one.",
)
@ess_option("Equivalent sample size of --prior bdeu.")
@click.option(
    "--intervals",
    type=RealRange(min=0, max=1, min_open=True, max_open=True),
    metavar="LEVEL",
    help="Add bounds that hold the truth with this probability: 0.95.",
)
@click.option(
    "--cpt-dir",
    type=OutputFile(folder=True),
    metavar="DIR",
    help="Also write a CSV file for each node here, NODE.csv.",
)
@safe_csv_option
@click.option("--strict", is_flag=True, help="Exit 4 if a configuration of parents was never seen.")
@click.option(
    "--gaussian", is_flag=True, help="The columns are numbers: fit a linear regression each."
)
@model_output
@common_options
def command(
    data: DataRequest,
    graph_path: str,
    method: str,
    prior: str,
    ess: float,
    intervals: float | None,
    cpt_dir: str | None,
    strict: bool,
    gaussian: bool,
    out: ModelOutput,
) -> None:
    """Fit the conditional probability tables of GRAPH to DATA.

    A configuration of parents that no row has gets a uniform distribution, and counts of zero. The
    levels that GRAPH declares, if it does, are those of the tables. For a CPDAG the tables are
    those of one of its DAGs.
    """
    from gml.counts.counter import rows_counted
    from gml.model.fit import fit, require_all_seen

    _check(method, prior, gaussian)
    graph = read_graph_argument(graph_path, "graph")
    if cpt_dir is not None:
        _plan_tables(graph, cpt_dir)
    dag = _dag(graph, graph_path)
    data = data.declaring(graph.levels)
    counter = data.counter(used=columns_of(graph, graph_path), numeric=gaussian)
    net = fit(
        dag,
        counter,
        method=method,
        prior=prior,
        ess=ess,
        intervals=intervals,
    )
    if strict:
        require_all_seen(net)
    _warn_of_unseen(net)
    learning = {
        "command": "fit-params",
        "options": chosen_options(),
        "version": __version__,
        "rows": rows_counted(counter),
        "data": counter.digest,
    }
    learning |= _missing_cells(counter, data.options.missing)
    net = replace(net, learning=learning)
    # A model that the format cannot hold is refused before anything is written.
    text = out.text_of(net)
    if cpt_dir is not None:
        from gml.formats.models import write_cpt_folder

        write_cpt_folder(net, cpt_dir)
    if intervals is not None and cpt_dir is None and out.format in TABLES_ONLY:
        warn_of_loss(out.format, ["the intervals"])
    out.write(text)


def _check(method: str, prior: str, gaussian: bool) -> None:
    if method != "bayes":
        for name in ("prior", "ess"):
            if was_given(name):
                raise UsageError(f"--{name} belongs to --method bayes")
    if prior != "bdeu" and was_given("ess"):
        raise UsageError("--ess belongs to --prior bdeu")
    if gaussian:
        if method == "bayes":
            raise UsageError("--method bayes is for levels; numbers are fitted by mle")
        for name in _ON_LEVELS_ONLY:
            if was_given(name):
                raise UsageError(f"--{name} does not go with --gaussian")


def _plan_tables(graph: Graph, folder: str) -> None:
    """Refuse tables that would replace inputs or other outputs, before anything is written."""
    from gml.formats.models import table_paths

    # In a folder that is still to be made there is nothing to replace.
    if os.path.isdir(folder):  # noqa: PTH112
        for name, path in zip(graph.names, table_paths(graph.names, folder), strict=True):
            plan_output(path, f"--cpt-dir, the table of {quote(name)}")


def _dag(graph: Graph, path: str) -> Graph:
    dag = extended(graph, path)
    if graph.kind != "dag":
        reporter().warn(
            f"{place(path)}: a {graph.kind}; the tables are those of one of the DAGs it stands for"
        )
    return dag


def _missing_cells(counter: Counter, policy: str) -> dict[str, Any]:
    """How missing values were treated, and how many there were: what a check of new data needs."""
    from gml.counts.from_file import CountFileCounter
    from gml.counts.memory import MemoryCounter

    rows: int | float
    cells: Mapping[str, int | float]
    if isinstance(counter, CountFileCounter):
        policy, rows, cells = counter.treated_missing
    elif isinstance(counter, MemoryCounter) and counter.dataset.origin is not None:
        data, origin = counter.dataset, counter.dataset.origin
        rows = data.in_rows(origin.n)
        cells = {name: data.in_rows(units) for name, units in origin.missing.items()}
    else:
        return {}
    if policy == "error":
        return {}
    return {"missing": {"policy": policy, "rows": rows, "columns": cells}}


def _warn_of_unseen(net: BayesNet) -> None:
    from gml.model.fit import unseen_configurations

    unseen = unseen_configurations(net)
    if unseen:
        reporter().warn(
            f"{sum(map(len, unseen.values()))} configurations of parents were never seen, and are "
            f"uniform: for {listing(unseen)}"
        )

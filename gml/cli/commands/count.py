"""gml count DATA: tables and sums of sets of columns, in a file that stands for the data."""

from __future__ import annotations

import click

from gml.cli.shared.command import Command
from gml.cli.shared.common_options import common_options
from gml.cli.shared.data_options import DataRequest, data_options
from gml.cli.shared.output import CountFileOutput
from gml.cli.shared.output_options import count_file_output
from gml.cli.shared.planning import dry_run_option
from gml.cli.shared.run import claim_input


@click.command(
    "count",
    cls=Command,
    epilog="\b\nExamples:\n"
    "  gml count survey.csv --pairs -o pairs.parquet && gml chowliu pairs.parquet\n"
    "  gml count survey.csv --graph graph.dot -o counts.parquet\n"
    "  gml fit-params counts.parquet graph.dot -o model.json   # the same model, without the rows\n"
    "  gml count survey.csv --implied graph.dot -o counts.parquet\n"
    "  gml count survey.csv --sets sets.csv --min-cell 10 -o counts.parquet\n"
    "  gml count trial.csv --numeric dose,weight --pairs -o sums.parquet && gml hc sums.parquet\n"
    "  for f in part-*.csv; do gml count $f --pairs -o $f.parquet; done\n"
    "  gml merge part-*.parquet -o all.parquet",
)
@data_options
@click.option("--pairs", is_flag=True, help="Count every pair of columns.")
@click.option(
    "--triples", is_flag=True, help="Count all sets of three columns, which include all pairs."
)
@click.option(
    "--graph",
    "graphs",
    multiple=True,
    metavar="GRAPH",
    help="Count each node with its parents, for fit-params and score (repeatable); of a graph with "
    "numbers all pairs, too.",
)
@click.option(
    "--implied",
    multiple=True,
    metavar="GRAPH",
    help="Also count what indtest --implied GRAPH needs (repeatable).",
)
@click.option(
    "--sets",
    "sets_path",
    metavar="FILE",
    help="Count the sets listed in a file, one per line: A,B,C.",
)
@count_file_output
@dry_run_option
@common_options
def command(
    data: DataRequest,
    pairs: bool,
    triples: bool,
    graphs: tuple[str, ...],
    implied: tuple[str, ...],
    sets_path: str | None,
    min_cell: int | None,
    out: CountFileOutput,
) -> None:
    """Count sets of columns of DATA into a count file, which other commands take as DATA.

    They give the same graphs and numbers as on the rows, as long as the sets counted contain every
    table they need; if one is missing, they exit 4 and name it. With --missing available, each
    table has its own rows, so the exact sets are needed. The options above can be combined. Count
    files of parts of the data can be added up to that of the whole with gml merge.

    Columns of numbers (--numeric, or what a schema or graph declares) are added up within the
    configurations of the labels of a set, with all their digits: their sums, and those of products
    of two of them, from which correlations and regressions follow.

    If a graph or model declares levels, the tables have those levels.
    """
    from gml.verbs.count import count

    named = {
        path: claim_input(path, "graph", several=True)
        for path in dict.fromkeys([*graphs, *implied])
    }
    out.write(
        count(
            data.path,
            pairs=pairs,
            triples=triples,
            graph=[named[path] for path in graphs],
            implied=[named[path] for path in implied],
            sets=() if sets_path is None else claim_input(sets_path, "sets"),
            min_cell=min_cell,
            threads=data.threads,
            **data.reading,
        )
    )

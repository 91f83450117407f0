"""gml count DATA: tables of sets of columns, in a file that stands for the data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations
from math import comb
from typing import TYPE_CHECKING

import click

from gml.cli.shared.common_options import common_options
from gml.cli.shared.data_options import DataRequest, data_options
from gml.cli.shared.graph_arguments import declared_levels, extended, read_graph_argument
from gml.cli.shared.output import CountFileOutput, count_file_output
from gml.cli.shared.run import claim_input
from gml.errors import DataError, UsageError, place, unknown_name
from gml.progress import reporter

if TYPE_CHECKING:
    from gml.counts.countfile import CountedColumn
    from gml.data.dataset import Dataset
    from gml.data.options import ReadOptions
    from gml.formats.column_sets import ColumnSet
    from gml.graph.graph import Graph


@click.command(
    "count",
    epilog="\b\nExamples:\n"
    "  gml count survey.csv --pairs -o pairs.parquet && gml chowliu pairs.parquet\n"
    "  gml count survey.csv --graph graph.dot -o counts.parquet\n"
    "  gml fit-params counts.parquet graph.dot -o model.json   # the same model, without the rows\n"
    "  gml count survey.csv --implied graph.dot -o counts.parquet\n"
    "  gml count survey.csv --sets sets.csv --min-cell 10 -o counts.parquet\n"
    "  for f in part-*.csv; do gml count $f --pairs -o $f.parquet; done\n"
    "  gml merge part-*.parquet -o all.parquet",
)
@data_options
@click.option("--pairs", is_flag=True, help="Count every pair of columns.")
@click.option("--triples", is_flag=True, help="Count every three columns, and so pairs too.")
@click.option(
    "--graph",
    "graphs",
    multiple=True,
    metavar="GRAPH",
    help="Count each node with its parents, for fit-params and score (repeatable).",
)
@click.option(
    "--implied",
    multiple=True,
    metavar="GRAPH",
    help="Also what indtest --implied GRAPH asks for (repeatable).",
)
@click.option(
    "--sets", "sets_path", metavar="FILE", help="Count the sets of a file, one a line: A,B,C."
)
@count_file_output
@common_options
def command(
    data: DataRequest,
    pairs: bool,
    triples: bool,
    graphs: tuple[str, ...],
    implied: tuple[str, ...],
    sets_path: str | None,
    out: CountFileOutput,
) -> None:
    """Count sets of columns of DATA into a count file, which other commands take as DATA.

    They give the same graphs and numbers as on the rows, if they need no other tables than those of
    the sets counted and of parts of these; a table that is not there exits 4 and names the set.
    With --missing available, each table has rows of its own, and only the very sets counted are
    there. The choices add up. Count files of parts of the data add up to that of the whole: gml
    merge.

    Levels that a graph or model declares are those of the tables.
    """
    from gml.counts.countfile import CountOptions, count_sets
    from gml.counts.memory import MemoryCounter

    wanted = _Wanted.read(pairs, triples, graphs, implied, sets_path)
    data = data.declaring(wanted.levels)
    dataset, columns, dropped = _read(data, wanted)
    if dataset.n == 0:
        reporter().warn(f"{place(data.path)}: no rows to count")
    options = data.options
    counts = count_sets(
        MemoryCounter(dataset, threads=data.threads),
        wanted.sets(dataset.names),
        options=CountOptions(
            options.missing,
            options.decimal,
            tuple(sorted(options.na_tokens)),
            options.weights,
            options.bins,
        ),
        columns=columns,
        dropped=dropped,
    )
    out.write(counts)


@dataclass(frozen=True)
class _Wanted:
    """The sets to count, before the columns are known."""

    pairs: bool
    triples: bool
    graphs: Sequence[tuple[str, Graph]]
    named: Sequence[ColumnSet]

    @classmethod
    def read(
        cls,
        pairs: bool,
        triples: bool,
        graphs: Sequence[str],
        implied: Sequence[str],
        sets_path: str | None,
    ) -> _Wanted:
        """Read the files that name sets."""
        from gml.formats.column_sets import ColumnSet, read_column_sets
        from gml.independence.implied import implied_independences

        if not (pairs or triples or graphs or implied or sets_path is not None):
            raise UsageError(
                "say what to count: --pairs, --triples, --graph GRAPH, --implied GRAPH or --sets "
                "FILE"
            )
        read = {
            path: read_graph_argument(path, "graph", several=True)
            for path in dict.fromkeys([*graphs, *implied])
        }
        named: list[ColumnSet] = []
        for path, graph in read.items():
            names = graph.names
            dag = extended(graph, path)
            families = [(name, *(names[i] for i in dag.parents(j))) for j, name in enumerate(names)]
            if path in implied:
                # Of the graph itself, as indtest does: a CPDAG is refused there and here.
                families += [(u, v, *parents) for u, v, parents in implied_independences(graph)]
            named += [ColumnSet(family, place(path)) for family in families]
        if sets_path is not None:
            claim_input(sets_path, "sets")
            named += read_column_sets(sets_path)
        return cls(pairs, triples, list(read.items()), named)

    @property
    def levels(self) -> dict[str, tuple[str, ...]]:
        """The levels that the graphs declare."""
        return declared_levels(self.graphs)

    def columns(self, names: Sequence[str]) -> Sequence[str]:
        """Pick the columns used: all, or those of the sets that have a name."""
        there = set(names)
        for names_of_set, where in self.named:
            for name in names_of_set:
                if name not in there:
                    raise DataError(f"{where}: {unknown_name('column', name, names)}")
        if self.pairs or self.triples:
            return names
        used = {name for names_of_set, _ in self.named for name in names_of_set}
        return [name for name in names if name in used]

    def sets(self, names: Sequence[str]) -> Iterator[tuple[str, ...]]:
        """Return the sets over the columns used; all of some size are refused if too many."""
        from gml.counts.countfile import SET_BYTES
        from gml.resources import require_memory

        sets = [iter([found.names for found in self.named])]
        for asked, size in ((self.pairs, 2), (self.triples, 3)):
            if asked:
                number = comb(len(names), size)
                require_memory(
                    number * SET_BYTES,
                    None,
                    f"counting {number} sets of {size} columns",
                    "; name fewer columns (-c), or the sets that matter (--sets)",
                )
                sets.append(combinations(names, min(size, len(names))))
        return chain.from_iterable(sets)


def _read(data: DataRequest, wanted: _Wanted) -> tuple[Dataset, dict[str, CountedColumn], int]:
    """Return the rows, what is to be said of their columns, and how many rows were dropped."""
    from gml.counts.countfile import CountedColumn
    from gml.data.missing import apply_missing_policy
    from gml.data.reading import read_dataset

    # Missing cells are looked at before they are gone.
    options = replace(data.options, missing="available", digest=True)
    raw = read_dataset(data.path, options, used=wanted.columns)
    schema = options.levels
    dataset = apply_missing_policy(
        raw,
        data.options.missing,
        place(data.path),
        declared={*schema.levels, *schema.intervals},
    )
    columns = {}
    for before, after in zip(raw.variables, dataset.variables, strict=True):
        levels = after.levels or ()
        na = len(levels) > len(before.levels or ())
        columns[after.name] = CountedColumn(
            after.name, levels, _source(after.name, levels, options), na
        )
    return dataset, columns, raw.n - dataset.n


def _source(name: str, levels: Sequence[str], options: ReadOptions) -> str:
    """Say where the levels of a column come from."""
    from gml.counts.countfile import CUT, DECLARED, FROM_DATA
    from gml.data.discretize import cuts_of_levels

    binning = options.binning(name)
    if options.declared_levels(name) is not None or options.declared_intervals(name) is not None:
        return DECLARED
    if binning is not None:
        return DECLARED if binning.method == "cuts" else CUT
    return CUT if options.bins is not None and cuts_of_levels(levels) is not None else FROM_DATA

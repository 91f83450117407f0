"""Count: tables and sums of sets of columns, which stand for the data."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain, combinations
from math import comb
from typing import Any, Unpack

from gml.counts.answers import MissingTreatment
from gml.counts.count_parquet import encode_counts as encode_counts
from gml.counts.counter import Counter
from gml.counts.countfile import (
    CUT,
    DECLARED,
    FROM_DATA,
    RULE,
    SET_BYTES,
    CountedColumn,
    CountFile,
    CountOptions,
    count_sets,
)
from gml.counts.engine_over import engine_over
from gml.counts.open_rows import read_or_open
from gml.counts.small_cells import require_large_cells
from gml.data.dataset import Dataset, Variable
from gml.data.discretize import cuts_of_levels
from gml.data.options import MISSING_POLICIES, ReadingKeywords, ReadOptions
from gml.data.schema import NOMINAL, NUMERIC, ORDINAL
from gml.errors import DataError, GraphError, UsageError, parameter, place, unknown_name
from gml.formats.column_sets import ColumnSet, read_column_sets
from gml.graph.chordal import maximal_cliques
from gml.independence.implied import implied_independences
from gml.model.markovnet import MarkovNet
from gml.progress import reporter
from gml.resources import require_memory
from gml.verbs.shared.data_input import Data, is_path, name_of, options_for, rows_of
from gml.verbs.shared.declared_columns import DeclaredColumns
from gml.verbs.shared.dialects import declaring, with_policy
from gml.verbs.shared.front_door import front_door
from gml.verbs.shared.graph_input import GivenGraph, GraphLike, declared_columns, given_graph
from gml.verbs.shared.planned_call import plannable
from gml.verbs.shared.swapped import answers_swapped


@front_door()
@plannable("count")
@answers_swapped("graph", "implied")
def count(
    data: Data,
    *,
    pairs: bool = False,
    triples: bool = False,
    graph: GraphLike | Sequence[GraphLike] = (),
    implied: GraphLike | Sequence[GraphLike] = (),
    sets: str | os.PathLike[str] | Iterable[Sequence[str]] = (),
    min_cell: int | None = None,
    threads: int | None = None,
    **reading: Unpack[ReadingKeywords],
) -> CountFile:
    """Count sets of columns, for everything that needs only tables; the choices add up.

    Numbers (`numeric`, or what a schema or graph declares) are not counted, but added up with all
    their digits: their sums and those of products of two of them in a set, within each
    configuration of the labels of the set. So tests, scores and fits of numbers and of both kinds
    take count files.

    Parameters
    ----------
    data
        A path, a DataFrame, a Dataset or an engine over rows.
    pairs, triples
        Count all pairs of columns, or all sets of three, which include all pairs.
    graph
        Count each node with its parents, and all pairs of nodes where some are numbers: a path, a
        Graph, a model or a learner's result, or several. Levels that a graph declares are those of
        the tables, and its numbers are numbers.
    implied
        The same, and what testing the independences needs that the graph implies.
    sets
        A file of sets, one per line, or the sets themselves.
    min_cell
        Refuse if a non-empty cell, a number of missing values or a difference between two tables
        stands for fewer rows. The least and the greatest number of a cell, which are those of
        single rows, are left out.
    threads
        Threads; all cores by default.
    **reading
        How to read the data, as in `gml.read`; not with a Dataset or an engine.

    Returns
    -------
    CountFile
        `gml.write_counts` writes it, `gml.merge` adds several up, and `gml.CountFileCounter` is
        the engine over it.

    Examples
    --------
    >>> import gml
    >>> gml.count("sample_data/asia.csv", sets=[("smoke", "lung")])
    CountFile(5000 rows, 1 table of 2 columns, 4 cells)
    """
    wanted = _Wanted.of(pairs, triples, _several(graph), _several(implied), sets)
    if isinstance(data, Dataset | Counter):
        options = options_for(data, reading, threads=threads)
    else:
        declared = wanted.declared
        reading = with_policy(reading, declared.dialect, MISSING_POLICIES)
        options = options_for(data, declaring(reading, declared), threads=threads)
    counter = _opened(data, replace(options, digest=True), wanted, threads)
    if counter.n == 0:
        reporter().warn(f"{place(name_of(data, 'the data'))}: no rows to count")
    treated = counter.missing_treatment
    if treated is None:
        treated = MissingTreatment("available" if counter.missing else "error", counter.n, {})
    counts = count_sets(
        counter,
        wanted.sets([variable.name for variable in counter.variables]),
        options=CountOptions(
            treated.policy,
            options.decimal,
            tuple(sorted(options.na_tokens if treated.na is None else treated.na)),
            options.weights,
            options.bins,
        ),
        columns=_columns(counter, treated, options, is_read=isinstance(data, Dataset | Counter)),
        dropped=treated.rows - counter.n,
    )
    if min_cell is None:
        return counts
    require_large_cells(counts, min_cell)
    return counts.without_extremes()


def _opened(data: Data, options: ReadOptions, wanted: _Wanted, threads: int | None) -> Counter:
    """Open data for counting."""
    if isinstance(data, Dataset | Counter):
        found: Dataset | Counter = rows_of(data, options, used=wanted.columns)
    else:
        found = read_or_open(data, options, used=wanted.columns, threads=threads)
    return engine_over(found, data, threads=threads) if isinstance(found, Dataset) else found


def _tables_of(given: GivenGraph) -> list[tuple[str, ...]]:
    """The columns of each table that fitting and scoring take.

    These are families, cliques or the terms of a model, and all pairs where some are numbers.
    """
    graph, names, numeric = given.graph, given.graph.names, given.numeric()
    if isinstance(given.model, MarkovNet):
        terms = given.model.terms
        return [tuple(terms.names[k] for k in scope) for scope in terms.generators]
    if graph.kind == "undirected":
        return [tuple(names[k] for k in clique) for clique in maximal_cliques(graph)]
    dags = [given.dag()]
    if numeric:
        # What is fitted has no arrow from a number to a label, and so perhaps other families.
        kinds = [Variable(name, None if name in numeric else ()) for name in names]
        with suppress(GraphError):
            dags.append(given.dag_of_kinds(kinds, whole=dags[0]))
    families = [(name, *dag.parents(name)) for dag in dags for name in names]
    # Scores of numbers are of one matrix of all columns.
    return [*families, *(combinations(names, 2) if numeric else ())]


def _several(given: Any) -> tuple[Any, ...]:
    return tuple(given) if isinstance(given, list | tuple) else (given,)


def _columns(
    counter: Counter, treated: MissingTreatment, options: ReadOptions, *, is_read: bool
) -> dict[str, CountedColumn]:
    """What is known about columns, before and after missing values were treated.

    Rows that were read before say which of their numeric columns the rule settled.
    """
    columns = {}
    by_rule = {*counter.by_rule}
    if is_read:
        by_rule |= {v.name for v in counter.variables if not v.is_continuous}
    else:
        by_rule.update(filter(options.goes_by_rule, (v.name for v in counter.variables)))
    for variable in counter.variables:
        name, levels = variable.name, variable.levels or ()
        added = treated.policy == "level" and not options.declares_missing(name)
        columns[name] = CountedColumn(
            name,
            levels,
            _source(name, levels, options),
            added and name in treated.cells,
            _type(variable, options),
            RULE if name in by_rule else DECLARED,
        )
    return columns


def _type(variable: Variable, options: ReadOptions) -> str:
    """The kind of a column, as a schema has it."""
    if variable.is_continuous:
        return NUMERIC
    declared = options.levels.kinds.get(variable.name)
    return ORDINAL if declared == ORDINAL else NOMINAL


def _source(name: str, levels: Sequence[str], options: ReadOptions) -> str:
    """Say where the levels of a column come from."""
    binning = options.binning(name)
    if options.declared_levels(name) is not None or options.declared_intervals(name) is not None:
        return DECLARED
    if binning is not None:
        return DECLARED if binning.method == "cuts" else CUT
    return CUT if options.bins is not None and cuts_of_levels(levels) is not None else FROM_DATA


@dataclass(frozen=True)
class _Wanted:
    """The sets to count, before the columns are known."""

    pairs: bool
    triples: bool
    graphs: Sequence[GivenGraph]
    named: Sequence[ColumnSet]

    @classmethod
    def of(
        cls,
        pairs: bool,
        triples: bool,
        graphs: Sequence[GraphLike],
        implied: Sequence[GraphLike],
        sets: str | os.PathLike[str] | Iterable[Sequence[str]],
    ) -> _Wanted:
        """Read the files that name sets."""
        if isinstance(sets, str | os.PathLike):
            in_file, listed = sets, []
        else:
            in_file, listed = None, [ColumnSet(tuple(names), parameter("sets")) for names in sets]
        if not (pairs or triples or graphs or implied or in_file is not None or listed):
            ways = ", ".join(parameter(name) for name in ("pairs", "triples"))
            raise UsageError(
                f"say what to count: {ways}, {parameter('graph')} GRAPH, {parameter('implied')} "
                f"GRAPH or {parameter('sets')} FILE"
            )
        named: list[ColumnSet] = []
        read: list[GivenGraph] = []
        for number, source in enumerate(_each_once([*graphs, *implied])):
            given = given_graph(source, f"graph {number + 1}")
            graph = given.graph
            read.append(given)
            families = _tables_of(given)
            if any(source is other or source == other for other in implied):
                # For the graph itself, as indtest does: a CPDAG is refused both there and here.
                families += [(u, v, *others) for u, v, others in implied_independences(graph)]
            named += [ColumnSet(family, given.name) for family in families]
        named += listed if in_file is None else read_column_sets(in_file)
        return cls(pairs, triples, read, named)

    @property
    def declared(self) -> DeclaredColumns:
        """What the graphs declare about columns."""
        found = declared_columns(self.graphs)
        numeric = (name for some in self.graphs for name in some.numeric())
        return replace(found, numeric=[name for name in numeric if name not in found.levels])

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
        sets = [iter([found.names for found in self.named])]
        for asked, size in ((self.pairs, 2), (self.triples, 3)):
            if asked:
                number = comb(len(names), size)
                require_memory(
                    number * SET_BYTES,
                    None,
                    f"counting {number} sets of {size} columns",
                    f"; name fewer {parameter('columns')}, or the {parameter('sets')} that matter",
                )
                sets.append(combinations(names, min(size, len(names))))
        return chain.from_iterable(sets)


def _each_once(sources: Sequence[GraphLike]) -> list[GraphLike]:
    """The sources without repetitions, by path or by identity."""
    found: dict[Any, GraphLike] = {}
    for source in sources:
        found.setdefault(os.fspath(source) if is_path(source) else id(source), source)
    return list(found.values())

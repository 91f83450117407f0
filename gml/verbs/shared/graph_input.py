"""Graphs as a user has them: a file, a Graph, a model or a learner's result; and their columns."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, cast, runtime_checkable

from gml.data.columns import Choice
from gml.data.dialect import Dialect, Said, parse_dialect
from gml.data.text_file import read_text
from gml.errors import (
    DataError,
    GraphError,
    UsageError,
    agreeing,
    csv_record,
    listing,
    parameter,
    place,
    quote,
    unknown_name,
)
from gml.graph.extension import consistent_extension
from gml.graph.graph import Graph
from gml.progress import reporter
from gml.verbs.shared.declared_columns import DeclaredColumns

if TYPE_CHECKING:
    from gml.data.dataset import Variable
    from gml.model.bayesnet import BayesNet
    from gml.model.conditional_models import Conditional
    from gml.model.markovnet import MarkovNet


_LONGEST_TIERS = 120


@runtime_checkable
class HasGraph(Protocol):
    """What a learner returns, or a model."""

    @property
    def graph(self) -> Graph:
        """The graph."""


@dataclass(frozen=True)
class GivenGraph:
    """A graph, what messages and reports call it, and the model that it belongs to, if any."""

    graph: Graph
    name: str
    model: BayesNet | MarkovNet | None = None
    field: Conditional | None = None
    """The conditional random field that it belongs to, which is no joint distribution."""

    def dag(self) -> Graph:
        """Return a DAG for the graph; an error names a graph that stands for none."""
        try:
            return consistent_extension(self.graph)
        except GraphError as error:
            raise GraphError(f"{self.name}: {error}") from None

    def dag_of_kinds(
        self,
        variables: Sequence[Variable],
        problem: str | None = None,
        *,
        whole: Graph | None = None,
    ) -> Graph:
        """Return a DAG for the graph in which no arrow leads from a number to a label.

        Where there is none, an error names the arrows in the way, and says what the problem is.
        `whole` is any DAG for the graph, if one is known.
        """
        numbers = {variable.name for variable in variables if variable.is_continuous}
        labels = [name for name in self.graph.names if name not in numbers]
        whole = whole or self.dag()
        if not _into_labels(whole, numbers):
            return whole
        try:
            found = consistent_extension(self.graph, sources=labels)
        except (DataError, GraphError):
            found = whole
        arcs = _into_labels(found, numbers)
        if not arcs:
            return found
        every = "" if self.graph.kind == "dag" else "every DAG that it stands for has such arrows: "
        if problem is not None:
            leads = agreeing(len(arcs), "leads", "lead")
            problem = f"{listing(arcs)} {leads} from a number to a label, {problem}"
        else:
            then = [name for name in self.graph.names if name in numbers]
            problem = _numbers_before_labels(arcs, labels, then)
        raise GraphError(f"{self.name}: {every}{problem}")

    def declared_cuts(self) -> DeclaredColumns:
        """What the graph declares about the columns that it was learned from in intervals."""
        declared = DeclaredColumns.of(self.graph, self.name)
        levels = {name: declared.levels[name] for name in declared.cuts}
        return replace(declared, levels=levels, numeric=())

    def numeric(self) -> tuple[str, ...]:
        """The nodes that hold numbers, by the file or by the method that the graph was learned by.

        Files of earlier versions say so only in their provenance.
        """
        if self.graph.numeric or self.learned_by is None:
            return self.graph.numeric
        return tuple(name for name in self.graph.names if name not in self.graph.levels)

    @property
    def learned_by(self) -> str | None:
        """The test or score for numbers alone that the graph was learned by, if that is known."""
        settings = self.graph.learning.get("settings")
        if not isinstance(settings, dict):
            return None
        # Most graphs are read without their being asked for.
        from gml.independence.registry import TESTS
        from gml.parameters import LABELS
        from gml.scores.registry import SCORES

        for kind, known in (("score", SCORES), ("test", TESTS)):
            name = settings.get(kind)
            if isinstance(name, str) and name in known and LABELS not in known[name].columns:
                return name
        return None

    def columns(self, hidden: Collection[str] | None = None) -> Choice:
        """Pick the columns of the nodes; those without a node are ignored, with one warning.

        Nodes that are `hidden` may lack one; None says that there is no way to have such nodes.
        """

        def used(names: Sequence[str]) -> Sequence[str]:
            nodes = self._present(names, hidden)
            ignored = [name for name in names if name not in nodes]
            if ignored:
                reporter().warn(f"not in the graph, ignored: {listing(ignored)}")
            there = set(names)
            return [name for name in self.graph.names if name in there]

        return used

    def require_columns(self, names: Sequence[str]) -> None:
        """Check that the nodes of the graph are the columns used."""
        nodes = self._present(names)
        missing = [name for name in names if name not in nodes]
        if missing:
            raise GraphError(
                f"{self.name}: no node for the columns {listing(missing)}; leave them out with "
                + parameter("exclude")
            )

    def _present(self, names: Sequence[str], hidden: Collection[str] | None = None) -> set[str]:
        """Check that every node is one of the columns, or hidden, and return the nodes."""
        columns = {*names, *(hidden or ())}
        if names and not columns.intersection(self.graph.names):
            # Not a column that lacks, but another table.
            raise GraphError(
                f"{self.name}: none of its nodes is a column: the nodes are "
                f"{listing(self.graph.names)}, and the columns {listing(names)}"
            )
        for name in self.graph.names:
            if name not in columns:
                problem = unknown_name("column", name, names)
                if hidden is not None:
                    problem += f"; if nobody recorded it, name it with {parameter('hidden')} (H=2)"
                raise GraphError(f"{self.name}: {problem}")
        return set(self.graph.names)


def _into_labels(dag: Graph, numbers: Collection[str]) -> list[str]:
    """The arrows of a DAG from numbers to labels, in order."""
    ends = [(edge.source, edge.target) for edge in dag.edges]
    return [
        f"{source} -> {target}"
        for source, target in ends
        if source in numbers and target not in numbers
    ]


def _numbers_before_labels(
    arcs: Sequence[str], labels: Sequence[str], numbers: Sequence[str]
) -> str:
    """Say that arrows from numbers to labels have no distribution, and the way out."""
    tiers = f"{csv_record(labels)} < {csv_record(numbers)}"
    if len(tiers) > _LONGEST_TIERS or not tiers.isprintable():
        tiers = "LABELS < NUMBERS"
    return (
        f"{listing(arcs)}: a label has no distribution given numbers; learn a graph with "
        f"{parameter('score', 'bic-cg')} or {parameter('tiers')} '{tiers}', or cut the numbers "
        f"({parameter('bins')}, {parameter('cut')})"
    )


GraphLike = Graph | HasGraph | GivenGraph | str | os.PathLike[str]
"""What stands for a graph."""

GraphsLike = GraphLike | Sequence[GraphLike] | Mapping[str, GraphLike]
"""What stands for one or more of them; a dictionary gives them names."""


def given_graph(
    graph: GraphLike, name: str = "the graph", *, takes_fields: bool = False
) -> GivenGraph:
    """Return the graph that was given; `name` is what a graph without a path is called.

    Few verbs take the graph of a conditional random field: the others need a joint distribution.
    """
    if isinstance(graph, GivenGraph):
        if graph.field is not None and not takes_fields:
            raise no_joint_model(graph.name)
        return graph
    found: object = graph
    if isinstance(graph, str | os.PathLike):
        from gml.formats.models import parse_any

        name = place(os.fspath(graph))
        found = parse_any(read_text(graph, error=GraphError), name)
    if isinstance(found, Graph):
        return GivenGraph(found, name)
    if isinstance(found, HasGraph) and isinstance(found.graph, Graph):
        from gml.model.bayesnet import BayesNet
        from gml.model.conditional_models import Conditional
        from gml.model.markovnet import MarkovNet

        if isinstance(found, Conditional):
            return given_graph(
                GivenGraph(found.graph, name, field=found), takes_fields=takes_fields
            )
        model = found if isinstance(found, BayesNet | MarkovNet) else None
        return GivenGraph(found.graph, name, model)
    raise UsageError(
        "a graph must be a Graph, a path, a model or the result of a learner, not "
        f"{type(graph).__name__}"
    )


def named_graphs(graphs: object) -> list[GraphLike]:
    """Return graphs one by one; those of a dictionary go by its names, whatever they are.

    Examples
    --------
    >>> [one.name for one in named_graphs({"mine": "sample_data/asia.dot"})]
    ['mine']
    """
    if not isinstance(graphs, Mapping):
        return [*graphs] if isinstance(graphs, list | tuple) else [cast("GraphLike", graphs)]
    given = {str(name): given_graph(graph, str(name)) for name, graph in graphs.items()}
    return [replace(graph, name=name) for name, graph in given.items()]


def no_joint_model(name: str) -> GraphError:
    """Refuse a conditional random field where a joint distribution, or its graph, is wanted."""
    return GraphError(
        f"{name}: a conditional random field says p(y | x) and nothing about x, so it is no joint "
        "distribution; gml query, draw and crf take it"
    )


def declared_columns(graphs: Sequence[GivenGraph]) -> DeclaredColumns:
    """What graphs declare about columns; their levels may differ only in their order.

    A hidden node has levels, but no column.
    """
    levels: dict[str, tuple[str, ...]] = {}
    sources: dict[str, str] = {}
    for given in graphs:
        for name, declared in given.graph.levels.items():
            if name in given.graph.hidden:
                continue
            known = levels.setdefault(name, declared)
            if set(known) != set(declared):
                raise GraphError(
                    f"node {quote(name)} has the levels {listing(known)} in {sources[name]}, but "
                    f"{listing(declared)} in {given.name}"
                )
            sources.setdefault(name, given.name)
    recorded = [given.graph.learning.options for given in graphs]
    options = recorded[0] if recorded and all(one == recorded[0] for one in recorded) else {}
    source = graphs[0].name if len(graphs) == 1 else "the graphs"
    return DeclaredColumns(
        source,
        levels,
        options=options,
        sources=sources,
        dialect=common_dialect(graphs),
        nodes=frozenset(name for given in graphs for name in given.graph.names),
    )


def common_dialect(graphs: Sequence[GivenGraph]) -> Dialect:
    """How the tables were read that graphs were learned from, as far as none contradicts."""
    found: dict[str, Said] = {}
    contradicted = set()
    for given in graphs:
        for name, said in parse_dialect(given.graph.learning.reading, given.name).items():
            if found.setdefault(name, said).value != said.value:
                contradicted.add(name)
    return {name: said for name, said in found.items() if name not in contradicted}

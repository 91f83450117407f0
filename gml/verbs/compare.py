"""Compare: how graphs differ from a reference."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gml.errors import CannotAnswer, GraphError, UsageError, listing, require_one_of
from gml.formats.reports.comparisons import UNDIRECTED, ComparedPair, as_row
from gml.graph.comparison import compare_graphs, is_equivalence_class, require_same_nodes
from gml.model.compare import Divergence, kl_divergence
from gml.progress import reporter
from gml.verbs.shared.front_door import front_door
from gml.verbs.shared.graph_input import GivenGraph, GraphLike, given_graph, named_graphs
from gml.verbs.shared.result_frames import frame_of, html_of_rows, shown_rows

if TYPE_CHECKING:
    import pandas as pd

_VIEWS = ("cpdag", "dag")


@dataclass(frozen=True, repr=False)
class ComparedGraphs:
    """Each graph beside the reference, in their order."""

    pairs: tuple[ComparedPair, ...]

    def __len__(self) -> int:
        return len(self.pairs)

    def __iter__(self) -> Iterator[ComparedPair]:
        return iter(self.pairs)

    def __getitem__(self, k: int) -> ComparedPair:
        return self.pairs[k]

    @property
    def distance(self) -> int:
        """The largest SHD to the reference, of the view."""
        return max(pair.found.distance for pair in self.pairs)

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas DataFrame with one row per graph."""
        return frame_of([as_row(pair) for pair in self.pairs])

    def _shown(self) -> list[dict[str, Any]]:
        few = ("a", "b", "as", "shd", "dag_shd", "sid_lower", "sid_upper", "kl")
        rows = [as_row(pair) for pair in self.pairs]
        return [{key: row[key] for key in few} for row in rows]

    def __repr__(self) -> str:
        return shown_rows("ComparedGraphs", self._shown())

    def _repr_html_(self) -> str:
        return html_of_rows(self._shown(), ["a", "b"])


@front_door(reading=())
def compare(
    reference: GraphLike | Mapping[str, GraphLike],
    *graphs: GraphLike | Mapping[str, GraphLike],
    as_: str = "cpdag",
) -> ComparedGraphs:
    """Compare graphs with a reference; all must have the same nodes.

    Parameters
    ----------
    reference, *graphs
        Paths, Graphs, models or learners' results. For two models with the same levels, with
        arrows or without, the divergence of the second from the reference is computed too. In a
        dictionary they have names, and the first is the reference.
    as_
        "cpdag" to compare equivalence classes, "dag" for DAGs (of a class the first by name):
        what the rates, the differences and `distance` are about. Two undirected graphs are
        compared edge by edge, and are said to be.

    Examples
    --------
    >>> import gml
    >>> asia = gml.read_graph("sample_data/asia.dot")
    >>> tree = gml.chow_liu(gml.MemoryCounter(gml.read("sample_data/asia.csv")))
    >>> gml.compare(asia, tree)
    ComparedGraphs(1 row)
    a              b        as     shd  dag_shd  sid_lower  sid_upper
    the reference  graph 1  cpdag    7        4         15         15
    >>> found = gml.compare({"truth": asia, "tree": tree})
    >>> found[0].a, found[0].b
    ('truth', 'tree')
    """
    sources = [one for given in (reference, *graphs) for one in named_graphs(given)]
    if len(sources) < 2:
        raise UsageError("give a reference and at least one graph to compare with it")
    require_one_of("as_", as_, _VIEWS)
    first, *others = (
        given_graph(source, f"graph {k}" if k else "the reference")
        for k, source in enumerate(sources)
    )
    for argument in (first, *others):
        _warn_if_invalid(argument)
    return ComparedGraphs(tuple(_compared(first, other, as_) for other in others))


def _warn_if_invalid(given: GivenGraph) -> None:
    """Warn if a graph is not of the kind that it claims; it is compared all the same."""
    if given.graph.kind == "cpdag" and not is_equivalence_class(given.graph):
        reporter().warn(f"{given.name}: not the CPDAG of any DAG; compared as it is")


def _compared(a: GivenGraph, b: GivenGraph, view: str) -> ComparedPair:
    require_same_nodes(a.graph, b.graph, a.name, b.name)
    if view == "dag":
        # A graph that stands for no DAG is refused, and named.
        a.dag()
        b.dag()
    try:
        found = compare_graphs(a.graph, b.graph, view=view)
    except GraphError as error:
        raise GraphError(f"{a.name} and {b.name}: {error}") from None
    if found.sid is not None and not found.sid.exact:
        reporter().note(f"{b.name}: the bounds of the SID hold, but may be wide")
    if view == "cpdag" and a.graph.kind == b.graph.kind == "undirected":
        view = UNDIRECTED
    return ComparedPair(a.name, b.name, view, found, _divergence(a, b))


def _divergence(a: GivenGraph, b: GivenGraph) -> Divergence | None:
    """KL if both are models; None, with a warning, where levels differ or tables do not fit."""
    if a.model is None or b.model is None:
        return None
    try:
        found = kl_divergence(a.model, b.model)
    except (GraphError, CannotAnswer) as error:
        reporter().warn(f"no KL of {b.name}: {error}")
        return None
    infinite = [name for name, term in found.nodes.items() if term == float("inf")]
    infinite += found.excluded
    if infinite:
        reporter().warn(
            f"{b.name}: KL is infinite, as it excludes what {a.name} allows at {listing(infinite)}"
        )
    return found

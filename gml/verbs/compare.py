"""Compare: how graphs differ from a reference."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gml.errors import CannotAnswer, GraphError, UsageError, listing, parameter, place
from gml.formats.reports.comparisons import ComparedPair, as_row
from gml.graph.comparison import compare_graphs, is_equivalence_class, require_same_nodes
from gml.graph.graph import Graph
from gml.model.bayesnet import BayesNet
from gml.model.compare import Divergence, kl_divergence
from gml.progress import reporter
from gml.verbs.frames import frame_of, shown_rows
from gml.verbs.graphs import extended, graph_or_model
from gml.verbs.reading import name_of

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
        """Return a pandas DataFrame with a row per graph."""
        return frame_of([as_row(pair) for pair in self.pairs])

    def __repr__(self) -> str:
        few = ("a", "b", "as", "shd", "dag_shd", "sid_lower", "sid_upper", "kl")
        rows = [as_row(pair) for pair in self.pairs]
        return shown_rows("ComparedGraphs", [{key: row[key] for key in few} for row in rows])


def compare(
    reference: str | os.PathLike[str] | Graph | BayesNet | Any,
    *graphs: str | os.PathLike[str] | Graph | BayesNet | Any,
    view: str = "cpdag",
) -> ComparedGraphs:
    """Compare graphs with a reference; they have the same nodes.

    Parameters
    ----------
    reference, *graphs
        Paths, Graphs, models or learners' results. Of two models with the same levels, the
        divergence of the second from the reference is computed too.
    view
        "cpdag" to compare equivalence classes, "dag" for DAGs (of a class the first by name):
        what the rates, the differences and `distance` are about.

    Examples
    --------
    >>> import gml
    >>> asia = gml.read_graph("sample_data/asia.dot")
    >>> tree = gml.chow_liu(gml.MemoryCounter(gml.read("sample_data/asia.csv")))
    >>> gml.compare(asia, tree)
    ComparedGraphs(1 row)
    a              b        as     shd  dag_shd  sid_lower  sid_upper
    the reference  graph 1  cpdag    7        4         15         15
    """
    if not graphs:
        raise UsageError("give a reference and at least one graph to compare with it")
    if view not in _VIEWS:
        raise UsageError(f"{parameter('view')} must be 'cpdag' or 'dag', not {view!r}")
    first, *others = (
        _Argument.of(source, f"graph {k}" if k else "the reference")
        for k, source in enumerate((reference, *graphs))
    )
    for argument in (first, *others):
        argument.warn_if_invalid()
    return ComparedGraphs(tuple(_compared(first, other, view) for other in others))


@dataclass(frozen=True)
class _Argument:
    """A graph, with its tables if it has them."""

    path: str
    graph: Graph
    net: BayesNet | None

    @classmethod
    def of(cls, source: Any, name: str) -> _Argument:
        """Read a file, or take an object."""
        found, where = graph_or_model(source), place(name_of(source, name))
        if isinstance(found, BayesNet):
            return cls(where, found.graph, found)
        return cls(where, found, None)

    def warn_if_invalid(self) -> None:
        """Say that a graph is not what it is said to be; it is compared all the same."""
        if self.graph.kind == "cpdag" and not is_equivalence_class(self.graph):
            reporter().warn(f"{self.path}: not the CPDAG of any DAG; compared as it is")


def _compared(a: _Argument, b: _Argument, view: str) -> ComparedPair:
    require_same_nodes(a.graph, b.graph, a.path, b.path)
    if view == "dag":
        # A graph that stands for no DAG is refused by its own name.
        extended(a.graph, a.path)
        extended(b.graph, b.path)
    try:
        found = compare_graphs(a.graph, b.graph, view=view)
    except GraphError as error:
        raise GraphError(f"{a.path} and {b.path}: {error}") from None
    if found.sid is not None and not found.sid.exact:
        reporter().note(f"{b.path}: the bounds of the SID hold, but may be wide")
    return ComparedPair(a.path, b.path, view, found, _divergence(a, b))


def _divergence(a: _Argument, b: _Argument) -> Divergence | None:
    """KL if both are models; None, with a warning, where levels differ or tables do not fit."""
    if a.net is None or b.net is None:
        return None
    try:
        found = kl_divergence(a.net, b.net)
    except (GraphError, CannotAnswer) as error:
        reporter().warn(f"no KL of {b.path}: {error}")
        return None
    infinite = [name for name, term in found.nodes.items() if term == float("inf")]
    if infinite:
        reporter().warn(
            f"{b.path}: KL is infinite, as it excludes what {a.path} allows at {listing(infinite)}"
        )
    return found

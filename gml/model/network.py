"""Network: a directed acyclic graph and, for each node, its distribution given the parents.

A node with levels has a table (`CPT`): one row per configuration of the parents, the last parent
varying fastest, and one column per level. A node of numbers has a regression on its parents with
normal errors (`LinearGaussian`), or one such regression on the parents that are numbers for each
configuration of those with levels (`ConditionalGaussian`). A node with levels has no parents that
are numbers.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gml.calls import ends_at_caller
from gml.data.dataset import MAX_LEVELS, Variable
from gml.errors import GraphError, counted, listing, quote, unknown_name
from gml.graph.edges import COMPELLED
from gml.graph.graph import Graph
from gml.graph.knowledge import Arc
from gml.graph.order import topological_order
from gml.graph.provenance import Provenance
from gml.model.baseline import Baseline
from gml.model.configurations import configuration, described_row
from gml.model.factor import Factor
from gml.model.regressions import NumberCpd
from gml.model.training import Training
from gml.printable_text import printable
from gml.synonyms import AnswersSynonyms
from gml.text_table import aligned

if TYPE_CHECKING:
    import pandas as pd

_SUM_TOLERANCE = 1e-9
_SHOWN_ROWS = 20
_SHOWN_LEVELS = 8
NEVER_EXPECTED = 1e-8
"""So small a share of the rows is what is left of a configuration that EM has given up."""


@dataclass(frozen=True, repr=False)
class CPT:
    """P(variable | parents): `table` has one row per configuration and one column per level.

    `counts`, if known, are the rows seen behind each cell (a row of zeros: never seen), and
    `intervals` the bounds of each cell, of shape (configurations, levels, 2). A table fitted to
    incomplete rows has `expected_counts` too: how all rows would fall, if the model held; its
    `counts` are the rows that observe the whole family, and None
    where that has a hidden node; nobody saw the values of a node that is `hidden`.

    Examples
    --------
    >>> rain = Variable("rain", ("no", "yes"))
    >>> wet = Variable("wet", ("no", "yes"))
    >>> cpt = CPT(wet, (rain,), np.array([[0.9, 0.1], [0.2, 0.8]]))
    >>> cpt.configurations()
    [('no',), ('yes',)]
    >>> cpt
    CPT('wet' given 'rain': 2 x 2)
    rain   no  yes
    no    0.9  0.1
    yes   0.2  0.8
    """

    variable: Variable
    parents: tuple[Variable, ...]
    table: NDArray[np.float64]
    counts: NDArray[Any] | None = None
    intervals: NDArray[np.float64] | None = None
    expected_counts: NDArray[np.float64] | None = None
    hidden: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "table", np.ascontiguousarray(self.table, dtype=np.float64))
        _require_levels(self.variable, self.parents)
        shape = (math.prod(len(parent.levels or ()) for parent in self.parents), self.n_levels)
        where = f"the table of {quote(self.variable.name)}"
        if self.n_levels > MAX_LEVELS:
            raise GraphError(f"{where} has {self.n_levels} levels; the limit is {MAX_LEVELS}")
        if self.table.shape != shape:
            rows, columns = shape
            raise GraphError(f"{where} is not {rows} x {columns}, but {self.table.shape}")
        away = np.abs(self.table.sum(axis=1) - 1)
        worst = away.max(initial=np.nan if self.table.size == 0 else 0.0)
        if not (worst < np.inf and self.table.min() >= 0):
            raise GraphError(f"{where} has a number that is not a probability")
        if worst > _SUM_TOLERANCE:
            row = int(np.argmax(away > _SUM_TOLERANCE))
            raise GraphError(
                f"{where} has a row that adds up to {self.table[row].sum():.9g}, not 1"
                f"{described_row(self.parents, row)}"
            )

    def __repr__(self) -> str:
        given = listing(parent.name for parent in self.parents)
        family = quote(self.variable.name) + (f" given {given}" if given else "")
        title = f"CPT({family}: {len(self.table)} x {self.n_levels})"
        return "\n".join([title, *self._shown()])

    def _shown(self) -> list[str]:
        """The first rows and columns of the table, below the names of parents and levels."""
        levels = list((self.variable.levels or ())[:_SHOWN_LEVELS])
        cut = ["…"] * (self.n_levels > _SHOWN_LEVELS)
        table = [[*(parent.name for parent in self.parents), *levels, *cut]]
        for row, cells in enumerate(self.table[:_SHOWN_ROWS].tolist()):
            shares = [f"{cell:.6g}" for cell in cells[:_SHOWN_LEVELS]]
            table.append([*configuration(self.parents, row), *shares, *cut])
        right = set(range(len(self.parents), len(table[0])))
        more = len(self.table) - _SHOWN_ROWS
        lines = aligned([[printable(cell) for cell in line] for line in table], right=right)
        return [*lines, *([f"... {counted(more, 'more row')}"] if more > 0 else [])]

    @property
    def n_levels(self) -> int:
        """The number of levels of the variable."""
        return len(self.variable.levels or ())

    @property
    def n_parameters(self) -> int:
        """Free parameters."""
        return len(self.table) * (self.n_levels - 1)

    @property
    def seen(self) -> NDArray[np.bool_] | None:
        """Which configurations of the parents were seen in the data, if the counts are known.

        One that only incomplete rows may have had was seen if EM expects some of them in it, and
        they say something about it: else it stays uniform.
        """
        seen: NDArray[np.bool_]
        if self.expected_counts is not None:
            silent = (self.table == 1.0 / self.n_levels).all(axis=1) & (self.n_levels > 1)
            # Without parents the configuration is that of all rows: shares may well be equal.
            silent &= bool(self.parents)
            rows = self.expected_counts.sum(axis=1)
            seen = (rows > NEVER_EXPECTED * rows.sum()) & ~silent
            return seen if self.counts is None else seen | (self.counts != 0).any(axis=1)
        if self.counts is None:
            return None
        seen = (self.counts != 0).any(axis=1)
        return seen

    def configurations(self) -> list[tuple[str, ...]]:
        """The levels of the parents in each row of the table."""
        return [configuration(self.parents, row) for row in range(len(self.table))]

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas DataFrame: one index level per parent, one column per level."""
        import pandas as pd

        columns = pd.Index(self.variable.levels, name=self.variable.name)
        if not self.parents:
            return pd.DataFrame(self.table, columns=columns)
        index = pd.MultiIndex.from_product(
            [parent.levels for parent in self.parents],
            names=[parent.name for parent in self.parents],
        )
        return pd.DataFrame(self.table, index=index, columns=columns)


def _require_levels(variable: Variable, parents: Sequence[Variable]) -> None:
    numbers = [parent.name for parent in parents if parent.is_continuous]
    if numbers:
        raise GraphError(
            f"{quote(variable.name)} has levels, and its parent {quote(numbers[0])} numbers: a "
            "table has one row per configuration of levels"
        )


Cpd = CPT | NumberCpd
"""The distribution of a node given its parents."""


def _factor(cpt: CPT) -> Factor:
    # A parent of one level is a constant, and there may be more of them than axes.
    varying = [parent for parent in cpt.parents if len(parent.levels or ()) > 1]
    scope = (*varying, cpt.variable)
    shape = [len(variable.levels or ()) for variable in scope]
    return Factor(scope, cpt.table.reshape(shape), conditional=True)


@dataclass(frozen=True, repr=False)
class Network(AnswersSynonyms):
    """Nodes in order, each with its distribution given its parents; a BayesNet can be queried too.

    `learning` says how it was made, `training` what is kept of the rows that it was fitted on,
    `compelled` which arrows are more than a choice (`gml.graph.open_arrows`).

    Examples
    --------
    >>> rain = Variable("rain", ("no", "yes"))
    >>> wet = Variable("wet", ("no", "yes"))
    >>> net = Network(
    ...     (
    ...         CPT(rain, (), np.array([[0.8, 0.2]])),
    ...         CPT(wet, (rain,), np.array([[0.9, 0.1], [0.2, 0.8]])),
    ...     )
    ... )
    >>> net.graph.parents("wet"), net.n_parameters
    (['rain'], 3)
    >>> net
    Network(2 discrete nodes, 1 edge: 'rain', 'wet')
    >>> net["rain"].to_frame()
    rain   no  yes
    0     0.8  0.2
    """

    cpds: tuple[Cpd, ...]
    learning: Provenance = field(default_factory=Provenance)
    training: Training | None = None
    baseline: Baseline | None = None
    """What was accepted with the model, by which a check judges new data."""
    compelled: Mapping[Arc, bool] = field(default_factory=dict)
    """Of the arrows that were chosen from a class of graphs, whether the class leaves no choice."""
    graph: Graph = field(init=False, repr=False, compare=False)

    if TYPE_CHECKING:
        # The package adds it to the class: pictures are above this room.
        def _repr_html_(self) -> str | None: ...

    def __post_init__(self) -> None:
        known = {cpd.variable.name: cpd.variable for cpd in self.cpds}
        edges: dict[Arc, tuple[str, str, str, dict[str, bool]]] = {}
        for cpd in self.cpds:
            for parent in cpd.parents:
                if parent.name not in known:
                    raise GraphError(unknown_name("parent", parent.name, known))
                if known[parent.name] != parent:
                    raise GraphError(
                        f"the levels of {quote(parent.name)} are different where it is a parent of "
                        f"{quote(cpd.variable.name)}"
                    )
                if (cpd.variable.name, parent.name) in edges:
                    pair = f"{quote(parent.name)} -> {quote(cpd.variable.name)}"
                    raise GraphError(f"the graph has a cycle: {pair} -> {quote(parent.name)}")
                arc = parent.name, cpd.variable.name
                known_of = {COMPELLED: self.compelled[arc]} if arc in self.compelled else {}
                edges[arc] = (parent.name, "-->", cpd.variable.name, known_of)
        names = [cpd.variable.name for cpd in self.cpds]
        levels = {v.name: v.levels for v in known.values() if v.levels is not None}
        graph = Graph.from_edges(
            names,
            edges.values(),
            kind="dag",
            levels=levels,
            learning=self.learning,
            numeric=[v.name for v in known.values() if v.is_continuous],
            hidden=[cpd.variable.name for cpd in self.cpds if isinstance(cpd, CPT) and cpd.hidden],
        )
        object.__setattr__(self, "graph", graph)

    def __repr__(self) -> str:
        sort = "mixed" if self.is_mixed else "numeric" if self.is_gaussian else "discrete"
        size = f"{counted(len(self.cpds), f'{sort} node')}, {counted(self.graph.n_edges, 'edge')}"
        return f"{type(self).__name__}({size}: {listing(self.names)})"

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The nodes."""
        return tuple(cpd.variable for cpd in self.cpds)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the nodes, in order."""
        return self.graph.names

    @property
    def hidden(self) -> tuple[str, ...]:
        """The nodes whose values nobody saw, in order."""
        return self.graph.hidden

    @functools.cached_property
    def factors(self) -> tuple[Factor, ...]:
        """The tables as factors over the parents and, last, the node; for inference on tables."""
        if self.is_gaussian or self.is_mixed:
            raise GraphError("a network with numbers has no factors: these are tables over levels")
        return tuple(_factor(cpd) for cpd in self.cpds if isinstance(cpd, CPT))

    @property
    def is_gaussian(self) -> bool:
        """Whether the nodes are numbers, all of them."""
        return bool(self.cpds) and all(cpd.variable.is_continuous for cpd in self.cpds)

    @property
    def is_mixed(self) -> bool:
        """Whether some nodes are numbers and others have levels."""
        return len({cpd.variable.is_continuous for cpd in self.cpds}) > 1

    @property
    def n_parameters(self) -> int:
        """Free parameters."""
        return sum(cpd.n_parameters for cpd in self.cpds)

    @property
    def complete(self) -> bool:
        """Whether the fit came to its end; else a limit of time stopped it."""
        return self.learning.get("complete", True) is not False

    def order(self) -> list[int]:
        """Return the first order by name in which every node follows its parents."""
        return topological_order(self.graph)

    def index(self, name: str) -> int:
        """Return the position of a node."""
        return self.graph.index(name)

    @ends_at_caller
    def __getitem__(self, name: str) -> Cpd:
        """Return the distribution of a node given its parents, as `cpd` does."""
        if not isinstance(name, str):
            raise GraphError(unknown_name("node", name, self.names))
        return self.cpd(name)

    def __contains__(self, name: object) -> bool:
        """Whether there is a node of this name."""
        return name in self.names

    @ends_at_caller
    def cpd(self, name: str) -> Cpd:
        """Return the distribution of a node given its parents."""
        return self.cpds[self.index(name)]

    @ends_at_caller
    def cpt(self, name: str) -> CPT:
        """Return the table of a node."""
        cpd = self.cpd(name)
        if not isinstance(cpd, CPT):
            raise GraphError(f"node {quote(name)} has numbers, and so no table")
        return cpd

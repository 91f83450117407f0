"""MarkovNet: an undirected model of labels, p(x) = exp(Σ_c λ_c(x_c)) / Z.

Its terms are tables of logarithms over sets of variables (potential.py), in the gauge that `coding`
names.
Where the maximum of the likelihood lies at infinity, tables of zeros and −∞ besides (those with
`is_boundary`) say which cells are impossible; they are limits of models with the same terms, and so
make no edge.

The graph joins variables that a term has together, and carries on each edge its `coupling`: for two
levels each, without a larger term over both ends, the number J of the term ±J (with the coding 01,
θ); otherwise the root of the summed squares of the strengths of all terms over both, which has no
sign.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from gml.calls import ends_at_caller, public
from gml.data.dataset import Variable
from gml.errors import GraphError, UsageError, counted, listing, quote, unknown_name
from gml.graph.graph import Graph
from gml.graph.provenance import Provenance
from gml.model.baseline import Baseline
from gml.model.factor import Factor
from gml.model.training import Training
from gml.model.undirected.potential import Potential
from gml.model.undirected.quality.summary import FitSummary
from gml.model.undirected.terms import Terms
from gml.synonyms import AnswersSynonyms

if TYPE_CHECKING:
    import os

    import pandas as pd

    from gml.counts.counter import Counter
    from gml.data.dataset import Dataset
    from gml.model.answer import Answer
    from gml.model.row_answers import Predictions

COUPLING = "coupling"
"""The attribute of an edge that says how strong it is."""


@dataclass(frozen=True, repr=False)
class MarkovNet(AnswersSynonyms):
    """Variables, the terms over them, and how they were fitted.

    Examples
    --------
    >>> a, b = Variable("A", ("n", "y")), Variable("B", ("n", "y"))
    >>> net = MarkovNet((a, b), (Potential((a, b), np.array([[0.5, -0.5], [-0.5, 0.5]])),))
    >>> net
    MarkovNet(2 nodes, 1 edge: 'A', 'B')
    >>> [edge.attributes["coupling"] for edge in net.graph.edges]
    [0.5]
    """

    variables: tuple[Variable, ...]
    potentials: tuple[Potential, ...]
    coding: str = "sum-to-zero"
    summary: FitSummary | None = None
    learning: Provenance = field(default_factory=Provenance)
    training: Training | None = None
    baseline: Baseline | None = None
    """What was accepted with the model, by which a check judges new data."""
    graph: Graph = field(init=False, repr=False, compare=False)

    is_gaussian = False
    is_mixed = False
    """Whether the nodes are numbers, as in other models."""

    if TYPE_CHECKING:
        # The package adds these to the class: files and pictures are above this room.
        @staticmethod
        def from_file(path: str | os.PathLike[str]) -> MarkovNet: ...
        def to_file(self, path: str | os.PathLike[str], format: str | None = None) -> None: ...
        def _repr_html_(self) -> str | None: ...

    def __post_init__(self) -> None:
        known = {variable.name: variable for variable in self.variables}
        if len(known) != len(self.variables):
            raise GraphError("an undirected model lists a variable twice")
        for potential in self.potentials:
            for variable in potential.scope:
                if variable.name not in known:
                    raise GraphError(unknown_name("variable", variable.name, known))
                if known[variable.name] != variable:
                    raise GraphError(
                        f"the levels of {quote(variable.name)} are different in a factor than in "
                        "the model"
                    )
        object.__setattr__(self, "graph", self._graph())

    def __repr__(self) -> str:
        size = f"{counted(len(self.variables), 'node')}, {counted(self.graph.n_edges, 'edge')}"
        return f"{type(self).__name__}({size}: {listing(self.names)})"

    def _graph(self) -> Graph:
        together: dict[tuple[str, str], list[Potential]] = {}
        for potential in self._terms:
            for a, b in combinations(sorted(potential.names), 2):
                together.setdefault((a, b), []).append(potential)
        names = [variable.name for variable in self.variables]
        edges = [(a, "---", b, {COUPLING: _coupling(together[a, b])}) for a, b in sorted(together)]
        return Graph.from_edges(
            names,
            edges,
            kind="undirected",
            levels={v.name: v.levels for v in self.variables if v.levels is not None},
            learning=self.learning,
        )

    @property
    def _terms(self) -> list[Potential]:
        """The potentials that make the structure."""
        return [potential for potential in self.potentials if not potential.is_boundary]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the nodes, in order."""
        return self.graph.names

    def index(self, name: str) -> int:
        """Return the position of a node."""
        return self.graph.index(name)

    @ends_at_caller
    def __getitem__(self, name: str) -> NoReturn:
        """Refuse to name a table given parents, as there are none."""
        self.index(name)
        raise UsageError(
            f"an undirected model has no table of a node given its parents: query({name!r}) has "
            f"its distribution, and `potentials` the terms"
        )

    @functools.cached_property
    def terms(self) -> Terms:
        """The terms of the model as sets of variables, for questions of structure."""
        return Terms.of(self.variables, [potential.names for potential in self._terms])

    @property
    def complete(self) -> bool:
        """Whether there was time to learn and fit it to the end."""
        return self.learning.get("complete", True) is not False

    @property
    def n_parameters(self) -> int:
        """Free parameters: as the fit counted them, or else those of the terms."""
        return self.terms.dimension if self.summary is None else self.summary.dimension

    @functools.cached_property
    def factors(self) -> tuple[Factor, ...]:
        """The product of all terms as tables over the generators, each at most 1.

        What each was divided by is in `log_scale`. Where a number other than 0 is too small for a
        double, the factor has the logarithms besides.
        """
        return self._scaled[0]

    @property
    def log_scale(self) -> float:
        """ln of the constant by which the product of the terms exceeds that of `factors`."""
        return self._scaled[1]

    @functools.cached_property
    def log_tables(self) -> Mapping[tuple[str, ...], NDArray[np.float64]]:
        """The sum of all terms as tables over the largest scopes, by the names of their axes."""
        return {
            tuple(variable.name for variable in scope): table
            for scope, table in self._summed.items()
        }

    @functools.cached_property
    def _summed(self) -> dict[tuple[Variable, ...], NDArray[np.float64]]:
        terms = Terms.of(self.variables, [potential.names for potential in self.potentials])
        rank = {name: k for k, name in enumerate(terms.names)}
        tables = {scope: np.zeros(terms.shape(scope)) for scope in terms.generators}
        for potential in self.potentials:
            axes = [rank[name] for name in potential.names]
            order = sorted(range(len(axes)), key=axes.__getitem__)
            home = terms.generator_of(axes)
            shape = [terms.sizes[k] if k in axes else 1 for k in home]
            tables[home] += potential.table.transpose(order).reshape(shape)
        return {tuple(terms.variables[k] for k in s): table for s, table in tables.items()}

    @functools.cached_property
    def _scaled(self) -> tuple[tuple[Factor, ...], float]:
        factors, scales = [], []
        for scope, table in self._summed.items():
            largest = float(table.max(initial=-math.inf))
            scales.append(largest if math.isfinite(largest) else 0.0)
            logs = table - scales[-1]
            cells = np.exp(logs)
            # Below this a double loses digits, and then all of them.
            has_lost = bool(((cells < np.finfo(np.float64).tiny) & np.isfinite(logs)).any())
            factors.append(Factor(scope, cells, log_table=logs if has_lost else None))
        return tuple(factors), math.fsum(scales)

    @public
    def potential(self, *names: str) -> Potential:
        """Return the term over some variables."""
        for potential in self.potentials:
            if {*potential.names} == {*names}:
                return potential
        raise GraphError(f"no term over {listing(names)}")

    @public
    def query(
        self,
        target: str | Sequence[str] | None = None,
        evidence: Mapping[str, Any] | None = None,
        *,
        each: bool = False,
    ) -> Answer:
        """Return the distribution of a target given evidence; see `gml.model.query.query`."""
        from gml.model.query import query

        return query(self, target, evidence, each=each)

    @public
    def mpe(self, evidence: Mapping[str, Any] | None = None) -> Answer:
        """Return the most probable values of all unobserved nodes together."""
        from gml.model.query import best

        return best(self, None, evidence)

    @public
    def map(self, target: str | Sequence[str], evidence: Mapping[str, Any] | None = None) -> Answer:
        """Return the most probable values of the target, with the other nodes summed out."""
        from gml.model.query import best

        return best(self, target, evidence)

    @public
    def predict(
        self,
        data: str | os.PathLike[str] | Dataset | pd.DataFrame,
        target: str,
        *,
        evidence: Mapping[str, Any] | None = None,
        missing: str = "unobserved",
        ignore_unknown: bool = False,
    ) -> Predictions:
        """Predict a node from each row of a table; see `gml.model.predict.predict`."""
        from gml.model.predict import predict

        return predict(
            self, data, target, evidence=evidence, missing=missing, ignore_unknown=ignore_unknown
        )

    @public
    def sample(self, n: int, *, seed: int = 0) -> Dataset:
        """Draw n rows; `gml.sample` draws given evidence too."""
        from gml.model.undirected.chains.sampling import sample

        return sample(self, n, seed=seed)

    @public
    def log_likelihood(
        self, data: str | os.PathLike[str] | pd.DataFrame | Dataset | Counter
    ) -> float:
        """Return ln P(data); −infinity if a row has probability 0."""
        from gml.model.likelihood import log_likelihood

        return log_likelihood(self, data)


def _coupling(potentials: Sequence[Potential]) -> float:
    """How strongly two nodes are tied by the terms over both of them."""
    strong = [potential for potential in potentials if potential.is_finite]
    if len(strong) == 1 and strong[0].table.shape == (2, 2):
        return float(strong[0].table[1, 1])
    return math.sqrt(math.fsum(potential.strength**2 for potential in strong))

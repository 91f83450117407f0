"""What a model is: variables, a graph over them, and answers to questions.

A directed model is a `BayesNet`, an undirected one a `MarkovNet`. `factors` is for models of
tables, whatever their graph, and is all that inference on tables needs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from gml.data.dataset import Dataset, Variable
    from gml.graph.graph import Graph
    from gml.graph.provenance import Provenance
    from gml.model.answer import Answer
    from gml.model.bayesnet import BayesNet
    from gml.model.factor import Factor
    from gml.model.markovnet import MarkovNet
    from gml.model.row_answers import Predictions
    from gml.model.undirected.quality.summary import FitSummary


class TableModel(Protocol):
    """What exact inference needs: P(x) is the product of the factors, up to a constant."""

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The nodes, all with levels."""

    @property
    def factors(self) -> tuple[Factor, ...]:
        """Tables, each over some of the variables."""


class AskedModel(TableModel, Protocol):
    """What questions about nodes by name need, whether the graph has arrows or not."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the nodes, in order."""

    @property
    def learning(self) -> Provenance:
        """Where it comes from."""

    @property
    def is_gaussian(self) -> bool:
        """Whether the nodes are numbers."""

    @property
    def is_mixed(self) -> bool:
        """Whether some nodes are numbers and others have levels."""

    def index(self, name: str) -> int:
        """Return the position of a node."""


class LogLinearModel(AskedModel, Protocol):
    """An undirected model: ln P(x) is a sum of tables, less ln Z."""

    @property
    def log_tables(self) -> Mapping[tuple[str, ...], NDArray[np.float64]]:
        """Logarithms over sets of nodes, by the names of their axes; −∞ is impossible."""

    @property
    def log_scale(self) -> float:
        """ln of what the product of the tables was divided by to give that of the factors."""

    @property
    def summary(self) -> FitSummary | None:
        """What is known of the fit."""


class Model(TableModel, Protocol):
    """A distribution of some variables; one of numbers has no factors, and says so."""

    @property
    def graph(self) -> Graph:
        """The structure, and with it the independences that it implies."""

    def log_likelihood(self, data: Dataset) -> float:
        """Return ln P(data)."""

    def query(
        self, target: str | Sequence[str] | None = None, evidence: Mapping[str, Any] | None = None
    ) -> Answer:
        """Return what is known about the target given evidence."""

    def sample(self, n: int, *, seed: int = 0) -> Dataset:
        """Draw rows."""

    def predict(self, data: Dataset | pd.DataFrame, target: str) -> Predictions:
        """Return what each row says about the target."""


if TYPE_CHECKING:

    def _is_a_model(net: BayesNet | MarkovNet) -> Model:
        return net

    def _is_asked(net: BayesNet | MarkovNet) -> AskedModel:
        return net

    def _is_log_linear(net: MarkovNet) -> LogLinearModel:
        return net

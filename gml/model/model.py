"""What a model is: variables, a graph over them, and answers to questions.

A directed model is a `BayesNet`. `factors` is for models of tables, whatever their graph, and is
all that inference on tables needs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import pandas as pd

    from gml.data.dataset import Dataset, Variable
    from gml.graph.graph import Graph
    from gml.model.answer import Answer
    from gml.model.bayesnet import BayesNet
    from gml.model.factor import Factor
    from gml.model.row_answers import Predictions


class TableModel(Protocol):
    """What exact inference needs: P(x) is the product of the factors, up to a constant."""

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The nodes, all with levels."""

    @property
    def factors(self) -> tuple[Factor, ...]:
        """Tables, each over some of the variables."""


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

    def _is_a_model(net: BayesNet) -> Model:
        return net

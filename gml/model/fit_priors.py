"""How parameters are estimated: by maximum likelihood, or under conjugate priors of some size."""

from __future__ import annotations

import math
from dataclasses import dataclass

from gml.errors import GraphError, UsageError, parameter, require_one_of
from gml.graph.graph import Graph
from gml.model.regression_prior import RegressionPrior

METHODS = ("mle", "bayes")
PRIORS = ("bdeu", "k2", "jeffreys", "uniform")
JEFFREYS = 0.5


@dataclass(frozen=True)
class FitPriors:
    """The method of a fit and, for `bayes`, the priors of tables and of regressions.

    Examples
    --------
    >>> FitPriors("bayes", ess=6.0).of_tables, FitPriors().of_tables
    (('bdeu', 6.0), None)
    """

    method: str = "mle"
    prior: str = "bdeu"
    ess: float = 1.0
    number_prior: str = RegressionPrior.kind
    prior_rows: float = RegressionPrior.rows

    @property
    def of_tables(self) -> tuple[str, float] | None:
        """The prior of tables and its size; None without one."""
        return None if self.method == "mle" else (self.prior, self.ess)

    @property
    def of_regressions(self) -> RegressionPrior | None:
        """The prior of regressions, None without one; refused where there is no such prior."""
        if self.method == "mle":
            return None
        return RegressionPrior(self.number_prior, self.prior_rows)

    def require_fitting(self, graph: Graph) -> None:
        """Check what does not depend on data."""
        if graph.kind != "dag":
            raise GraphError(f"a DAG is needed, not a graph of kind {graph.kind}")
        require_one_of("method", self.method, METHODS)
        require_one_of("prior", self.prior, PRIORS)
        if not 0 < self.ess < math.inf:
            raise UsageError(f"{parameter('ess')} must be positive and finite, not {self.ess}")


def prior_count(prior: str, ess: float, cells: int) -> float:
    """Return the pseudo-count α of each cell of a table with so many."""
    return {"bdeu": ess / cells, "k2": 1.0, "uniform": 1.0, "jeffreys": JEFFREYS}[prior]

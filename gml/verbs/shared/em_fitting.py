"""A network fitted by EM, with what its file says about that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from gml.counts.counter import Counter
from gml.counts.memory import MemoryCounter
from gml.data.dataset import Dataset
from gml.data.missing import count_missing
from gml.data.options import EM
from gml.errors import UsageError, parameter
from gml.graph.graph import Graph
from gml.graph.provenance import Provenance
from gml.model.bayesnet import CPT, BayesNet
from gml.model.em.fitting import EmReport, fit_em
from gml.model.fit import fit
from gml.verbs.shared.em_report import AT_RANDOM, tell_assumption, tell_report, written
from gml.verbs.shared.em_request import EmRequest
from gml.verbs.shared.fitted_models import fitted_by


@dataclass(frozen=True)
class Incomplete:
    """Rows that EM is to be fitted to, and the nodes that they do not have."""

    rows: Dataset
    hidden: Mapping[str, int]
    request: EmRequest
    threads: int | None = None

    @classmethod
    def of(cls, counter: Counter, request: EmRequest, threads: int | None) -> Incomplete:
        """Take the rows of an engine; say what is assumed if values are missing."""
        rows = request.rows_of(counter)
        if request.keeps_missing and rows.missing:
            tell_assumption()
        return cls(rows, request.unseen(rows), request, threads)

    @property
    def is_complete(self) -> bool:
        """Whether nothing is missing after all, so that the ordinary fit is the answer."""
        return not self.hidden and not self.rows.missing

    def fitted(
        self, dag: Graph, *, intervals: float | None, bootstrap: int | None, **how: Any
    ) -> EmFitted:
        """Fit the distributions of a DAG; `how` are the method and its priors."""
        if intervals is not None and not 0 < intervals < 1:
            raise UsageError(f"{parameter('intervals')} must be between 0 and 1, not {intervals}")
        found = fit_em(
            dag,
            self.rows,
            hidden=self.hidden,
            settings=self.request.settings,
            threads=self.threads,
            **how,
        )
        if self.is_complete:
            counter = MemoryCounter(self.rows, threads=self.threads)
            return EmFitted(fit(dag, counter, intervals=intervals, **how), found.report)
        tell_report(found.report)
        net = _with_hidden(found.net, self.hidden)
        return EmFitted(net, found.report)

    def learning(
        self, command: str, counter: Counter, asked: Mapping[str, Any], fitted: EmFitted
    ) -> Provenance:
        """Say where a fitted model comes from, and how EM went."""
        learning = fitted_by(command, counter, asked)
        learning = learning.also(rows=self.rows.in_rows(self.rows.n))
        if self.request.keeps_missing:
            everything = counter.require_rows(parameter("missing", EM))
            cells = count_missing(everything, "available", ())
            learning = learning.also(
                missing={
                    "policy": EM,
                    "assumed": AT_RANDOM,
                    "rows": counter.in_rows(counter.n),
                    "columns": {
                        name: counter.in_rows(units)
                        for name, units in cells.items()
                        if name not in self.hidden
                    },
                }
            )
        learning = learning.also(em=written(fitted.report))
        return learning if fitted.report.in_time else learning.also(complete=False)


@dataclass(frozen=True)
class EmFitted:
    """A network, and how EM went."""

    net: BayesNet
    report: EmReport


def _with_hidden(net: BayesNet, hidden: Mapping[str, int]) -> BayesNet:
    """Mark the nodes that nobody saw."""
    return replace(
        net,
        cpds=tuple(
            replace(cpd, hidden=True)
            if isinstance(cpd, CPT) and cpd.variable.name in hidden
            else cpd
            for cpd in net.cpds
        ),
    )

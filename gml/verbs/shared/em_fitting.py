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
from gml.model.em.available_lines import with_available_lines
from gml.model.em.bootstrap import with_bootstrap_intervals
from gml.model.em.fitting import EmReport, fit_em
from gml.model.fit import fit
from gml.model.fit_priors import FitPriors
from gml.progress import reporter
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
        by_information = bootstrap is None and not self.is_complete
        found = fit_em(
            dag,
            self.rows,
            hidden=self.hidden,
            settings=self.request.settings,
            intervals=intervals if by_information else None,
            threads=self.threads,
            **how,
        )
        if self.is_complete:
            counter = MemoryCounter(self.rows, threads=self.threads)
            return EmFitted(fit(dag, counter, intervals=intervals, **how), found.report)
        tell_report(found.report)
        net = with_available_lines(found.net, self.rows, self.hidden, threads=self.threads)
        fitted = EmFitted(_with_hidden(net, self.hidden), found.report)
        if intervals is None:
            return fitted
        if bootstrap is None:
            return replace(fitted, intervals={"level": intervals, "by": "information"})
        return self._with_bootstrap(fitted, dag, intervals, bootstrap, how)

    def _with_bootstrap(
        self, fitted: EmFitted, dag: Graph, level: float, samples: int, how: Mapping[str, Any]
    ) -> EmFitted:
        settings = self.request.settings
        priors = FitPriors(**how)
        net, drawn = with_bootstrap_intervals(
            fitted.net,
            dag,
            self.rows,
            hidden=self.hidden,
            alpha=priors.of_tables,
            regression_prior=priors.of_regressions,
            level=level,
            samples=samples,
            seed=settings.seed,
            most_steps=settings.most_steps,
            deadline=settings.deadline,
            threads=self.threads,
        )
        if drawn < samples:
            reporter().warn(f"intervals are from {drawn} of {samples} samples of the rows")
        about = {"level": level, "by": "bootstrap", "samples": drawn}
        return replace(fitted, net=net, intervals=about, in_time=not settings.deadline.passed)

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
        em = written(fitted.report)
        if fitted.intervals is not None:
            em["intervals"] = dict(fitted.intervals)
        learning = learning.also(em=em)
        in_time = fitted.report.in_time and fitted.in_time
        return learning if in_time else learning.also(complete=False)


@dataclass(frozen=True)
class EmFitted:
    """A network, and how EM went."""

    net: BayesNet
    report: EmReport
    intervals: Mapping[str, Any] | None = None
    """Where they come from, if there are some."""
    in_time: bool = True


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

"""What a model fitted by EM keeps of its rows for a check: regressions of the available rows.

The regressions of EM are those of all rows, seen in part. New rows are compared by those of them
that have all values of a family, so the same has to be known of the old ones: the least-squares
regression of the rows that have them all, with what such a regression keeps of its rows. It may
differ from that of EM where values are missing at random, but not completely so; but then the
regression of the new rows differs likewise, as long as what makes values missing stays the same.
For tables this is what the counts of available rows are.

A family with a hidden node has no such rows. One whose rows leave no estimate, be it in a single
configuration of its labels, keeps none.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from gml.counts.memory import MemoryCounter
from gml.data.dataset import Dataset
from gml.errors import DataError
from gml.model.bayesnet import CPT, BayesNet
from gml.model.conditional_fit import NoEstimate, fit_number
from gml.model.kept.rows import with_rows
from gml.model.network import Cpd
from gml.model.regressions import NumberCpd


def with_available_lines(
    net: BayesNet, rows: Dataset, hidden: Collection[str], *, threads: int | None = None
) -> BayesNet:
    """Return a network whose regressions have beside them those of available rows."""
    counter = MemoryCounter(rows, threads=threads)
    # The codes of labels say which rows a regression is of.
    tables = [cpd for cpd in net.cpds if isinstance(cpd, CPT) and cpd.variable.name not in hidden]
    lines: list[NumberCpd] = []
    for cpd in net.cpds:
        if isinstance(cpd, CPT) or any(parent.name in hidden for parent in cpd.parents):
            continue
        parents = [rows.index(parent.name) for parent in cpd.parents]
        try:
            lines.append(fit_number(counter, rows.index(cpd.variable.name), parents))
        except (DataError, NoEstimate):
            continue
    if not lines:
        return net
    kept = {cpd.variable.name: cpd for cpd in with_rows([*tables, *lines], counter)}

    def beside(cpd: Cpd) -> Cpd:
        own = kept.get(cpd.variable.name)
        if isinstance(cpd, CPT) or own is None or isinstance(own, CPT):
            return cpd
        pairs = zip(cpd.regressions, own.regressions, strict=True)
        return cpd.with_regressions(
            [line if one.rows is None else replace(line, available=one) for line, one in pairs]
        )

    return replace(net, cpds=tuple(beside(cpd) for cpd in net.cpds))


def with_lines_of_available_rows(net: BayesNet) -> BayesNet:
    """Return a network with the regressions of available rows in the place of those of EM."""

    def instead(cpd: NumberCpd) -> NumberCpd:
        return cpd.with_regressions([line.available or line for line in cpd.regressions])

    return replace(
        net, cpds=tuple(cpd if isinstance(cpd, CPT) else instead(cpd) for cpd in net.cpds)
    )

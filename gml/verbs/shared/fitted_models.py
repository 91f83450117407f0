"""What verbs that fit a model record about its data, and warn of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gml.counts.counter import Counter, rows_counted
from gml.data.options import DEFAULT_NA
from gml.graph.provenance import Provenance
from gml.model.baseline import Baseline
from gml.model.training import Repeats
from gml.progress import reporter
from gml.verbs.shared.recording import recorded, with_kinds

if TYPE_CHECKING:
    from gml.model.bayesnet import BayesNet
    from gml.model.markovnet import MarkovNet


def fitted_by(command: str, counter: Counter, asked: Mapping[str, Any]) -> Provenance:
    """Say where a model comes from, and what a later check needs to know of missing values."""
    # The policy has an entry of its own.
    options = recorded(asked, counter, policy=False)
    learning = Provenance.of(
        command, options=options, rows=rows_counted(counter), data=counter.digest
    )
    learning = with_kinds(learning, counter)
    treated = counter.missing_treatment
    if treated is None:
        return learning
    tokens = treated.na
    if tokens is not None and {*tokens} != {*DEFAULT_NA} and "na" not in learning.options:
        learning = learning.also(na=list(tokens))
    if treated.policy == "error":
        return learning
    cells = {name: counter.in_rows(units) for name, units in treated.cells.items()}
    rows = counter.in_rows(treated.rows)
    return learning.also(missing={"policy": treated.policy, "rows": rows, "columns": cells})


def warn_of_deliveries(rows: Repeats) -> None:
    """Warn of rows that all occur several times: they look surer than they are, to every test."""
    times = rows.common_factor
    if times > 1 and rows.is_no_accident:
        reporter().warn(
            f"every row occurs a multiple of {times} times: were the data delivered {times} times? "
            "A check of this model would be too sure"
        )


def accepted(net: BayesNet | MarkovNet, counter: Counter, threads: int | None) -> Baseline:
    """Accept what fails on the very rows that a model was fitted on."""
    from gml.verbs.check import check

    return check(counter, net, baseline=Baseline(), unlikely_rows=0, threads=threads).accepted()

"""Draws of the parameters of a network given incomplete rows, for multiple imputation.

Imputations are proper only if they vary as the parameters do that they are drawn with (Rubin 1987,
ch. 4): with the parameters fixed, intervals cover less than they claim. Here the k-th draw is the
fit by EM to a bootstrap sample of the rows (Little & Rubin 2002, section 10.2.3). Cells have the
pseudo-counts of one row, spread evenly over each table (bdeu), and regressions those of one row
like all others: a sample may lack what another row has, which must not become impossible.
"""

from __future__ import annotations

from collections.abc import Iterator

from gml.data.dataset import Dataset
from gml.data.resampling import bootstrap_samples
from gml.data.row_groups import distinct_rows
from gml.errors import CannotAnswer, listing, parameter
from gml.model.bayesnet import BayesNet
from gml.model.em.fitting import EmSettings, fit_em
from gml.model.network import Network

# Starts of each fit, where there are hidden nodes.
_STARTS = 5


def parameter_draws(
    net: Network,
    rows: Dataset,
    n_draws: int,
    *,
    seed: int = 0,
    max_memory: int | None = None,
    threads: int | None = None,
) -> Iterator[BayesNet]:
    """Yield networks on the same graph, each fitted to a bootstrap sample of the rows.

    Labels of the network that are not columns are hidden; the scale of a number that nobody saw
    cannot be fitted. Draws are over the sorted distinct rows, and do not depend on their order.
    """
    unseen = [v.name for v in net.variables if v.is_continuous and v.name not in rows.names]
    if unseen:
        raise CannotAnswer(
            f"the data have no column {listing(unseen)}, so that the regressions of the model "
            f"cannot be drawn; {parameter('method', 'draw')} draws cells by the model as it is"
        )
    hidden = {
        variable.name: len(variable.levels or ())
        for variable in net.variables
        if variable.name not in rows.names
    }
    used = rows.select([name for name in net.names if name not in hidden])
    if not any(variable.is_continuous for variable in used.variables):
        # To sort all rows would take several times the memory of their codes.
        used = distinct_rows(used)
    settings = EmSettings(restarts=_STARTS if hidden else 1, seed=seed)
    for sample in bootstrap_samples(used, n_draws, seed=seed):
        yield fit_em(
            net.graph,
            sample,
            hidden=hidden,
            method="bayes",
            settings=settings,
            max_memory=max_memory,
            threads=threads,
        ).net

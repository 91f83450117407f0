"""Draws of the parameters of a network given incomplete rows, for multiple imputation.

Imputations are proper only if they vary as the parameters do that they are drawn with (Rubin 1987,
ch. 4): with the parameters fixed, intervals cover less than they claim. Here the k-th draw is the
fit by EM to a bootstrap sample of the rows (Little & Rubin 2002, section 10.2.3). Cells have the
pseudo-counts of one row, spread evenly over each table (bdeu), and regressions those of one row
like all others: a sample may lack what another row has, which must not become impossible. A sample
that cannot be fitted all the same, as one in which a number has a single value, is drawn again.
"""

from __future__ import annotations

from collections.abc import Iterator

from gml.data.dataset import Dataset
from gml.data.resampling import bootstrap_samples
from gml.data.row_groups import joined_rows
from gml.errors import CannotAnswer, DataError, agreeing, counted, listing, parameter
from gml.model.bayesnet import BayesNet
from gml.model.conditional_fit import NoEstimate
from gml.model.em.fitting import EmSettings, fit_em
from gml.model.network import Network
from gml.progress import reporter

# Starts of each fit, where there are hidden nodes.
_STARTS = 5
_SAMPLES_PER_DRAW = 10


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
        used = joined_rows(used)
    settings = EmSettings(restarts=_STARTS if hidden else 1, seed=seed)
    found, failed = 0, 0
    for sample in bootstrap_samples(used, _SAMPLES_PER_DRAW * n_draws, seed=seed):
        try:
            drawn = fit_em(
                net.graph,
                sample,
                hidden=hidden,
                method="bayes",
                settings=settings,
                max_memory=max_memory,
                threads=threads,
            ).net
        except (DataError, NoEstimate) as error:
            failed, why = failed + 1, str(error).split(";")[0]
            continue
        yield drawn
        found += 1
        if found == n_draws:
            break
    else:
        raise CannotAnswer(
            f"{failed} of {counted(found + failed, 'bootstrap sample')} of the rows could not be "
            f"fitted, too many for {parameter('draws')} (in the last: {why}); "
            f"{parameter('method', 'draw')} draws cells by the model as it is"
        )
    if failed:
        reporter().warn(
            f"{counted(failed, 'bootstrap sample')} of the rows could not be fitted, and "
            f"{agreeing(failed, 'was', 'were')} drawn again (in the last: {why})"
        )

"""Fit of an undirected model: are new rows as likely as those that it was fitted on?

A decomposable model with counts, and any model without them, is judged as a network of the same
distribution is (`fit_checks`). Otherwise no single row can be left out of the counts. What they
give is the mean of ln p over the old rows under the tables that were fitted on them,

    L₀ = Σ_c Σ λ_c · N_c/n₀ − ln Z,

which is too large as a forecast: by the free parameters over n₀, half of it because the old rows
were fitted and half because the new ones were not (Akaike 1974, IEEE Trans. Autom. Control 19:716).
For a cell with μ rows it is 1 + 1/2μ and at most 1.1, which is taken, over the parameters that the
old rows say something about; a penalty only lowers it. Everything else is as in `fit_checks`: the
variance, the draws from the model by which a loss that may decide is judged too, and the allowance
for the choice of the graph.

Cells that the old rows lacked may have probability 0, where the maximum lies at infinity. The rows
of a new delivery that are in one are left out, as the tables judge them; the old rows are kept
whole, which at most lowers L₀, as rows that are alone in a cell are the less likely ones.

All this needs the tables of the junction tree. Where they exceed the budget, the rows cannot tell.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gml.counts.counter import Counter
from gml.errors import CannotAnswer, agreeing, counted, listing
from gml.gate.check import INSUFFICIENT, LIKELIHOOD, NATS_PER_ROW, PASS, Check, UnlikelyRow
from gml.gate.check_ids import FIT_ID
from gml.gate.clique_tables import Margins, generator_counts
from gml.gate.enough_rows import enough_rows
from gml.gate.families import FamilyCounts, family_counts, table_of
from gml.gate.fit_checks import (
    LARGEST_ALLOWANCE,
    cannot_tell,
    dimension_of,
    fit_check,
    log_p_of_loss,
    moments_of_draws,
)
from gml.gate.likely_rows import LikelyRows, has_rows, likely_rows
from gml.gate.monte_carlo import MonteCarlo
from gml.gate.question import Question
from gml.gate.selection import Selection
from gml.gate.settings import CheckSettings
from gml.model.bayesnet import BayesNet
from gml.model.factor import margin_over
from gml.model.markovnet import MarkovNet
from gml.model.undirected.directed import Directed, directed

# The most by which a parameter flatters the old rows, over n₀.
_OPTIMISM = 1.1


def undirected_fit(
    net: MarkovNet,
    counter: Counter,
    families: Sequence[FamilyCounts],
    selection: Selection,
    settings: CheckSettings,
) -> tuple[Question, tuple[UnlikelyRow, ...]]:
    """Ask whether the new rows are less likely than the old ones, and which are least likely."""
    if not has_rows(counter):
        return Question(cannot_tell(net.names, "no rows to look at")), ()
    try:
        form = directed(net)
    except CannotAnswer as error:
        return Question(cannot_tell(net.names, f"no probability of a row: {error}")), ()
    counts = generator_counts(net)
    if counts is not None and not net.terms.is_decomposable:
        return _of_matched_margins(net, form, counts, counter, families, selection, settings)
    if counts is None:
        families = family_counts(form.net, counter)
    if not families:
        return fit_check(form.net, families, selection, None, 0), ()
    found = likely_rows(families, counter, settings)
    fit = fit_check(form.net, families, selection, found, counter.n)
    return fit, () if found is None else found.unlikely


def _of_matched_margins(
    net: MarkovNet,
    form: Directed,
    counts: Margins,
    counter: Counter,
    families: Sequence[FamilyCounts],
    selection: Selection,
    settings: CheckSettings,
) -> tuple[Question, tuple[UnlikelyRow, ...]]:
    present = {variable.name for variable in counter.variables}
    absent = [name for name in net.names if name not in present]
    if absent:
        return Question(cannot_tell(net.names, f"no column for {listing(absent)}")), ()
    found = likely_rows(_tables(form.net), counter, settings, with_mean=True)
    assert found is not None
    return _compared(net, form, counts, found, families, selection), found.unlikely


def _compared(
    net: MarkovNet,
    form: Directed,
    counts: Margins,
    found: LikelyRows,
    families: Sequence[FamilyCounts],
    selection: Selection,
) -> Question:
    moments = found.moments
    if found.mean is None or not enough_rows(moments.n):
        return Question(cannot_tell(net.names, f"{moments.n} complete rows are too few"))
    before = mean_log_p(net, counts, form.log_z)
    if not math.isfinite(before):
        return Question(cannot_tell(net.names, "the model excludes rows that it was fitted on"))
    rows_old = round(float(next(iter(counts.values())).sum()))
    dimension = min(net.terms.dimension, dimension_of(families))
    before -= _OPTIMISM * dimension / rows_old
    after = found.mean
    allowance = selection.allowance(families)
    excess = before - after - allowance
    log_p = log_p_of_loss(excess, moments, rows_old, dimension)

    def settle(monte_carlo: MonteCarlo) -> tuple[float, str]:
        drawn = moments_of_draws(form.net, found.tables.families, monte_carlo.seed)
        by_model = log_p_of_loss(excess, replace(drawn, n=moments.n), rows_old, dimension)
        return max(log_p, by_model), LIKELIHOOD

    check = Check(
        id=FIT_ID,
        family="fit",
        kind=LIKELIHOOD,
        variables=net.names,
        message=f"mean ln p of a row {before:.4g} → {after:.4g}{_left_out(found)}",
        test=LIKELIHOOD,
        statistic=after - before,
        log_p=log_p,
        effect=max(0.0, excess),
        effect_unit=NATS_PER_ROW,
        old={"mean ln p": before},
        new={"mean ln p": after, **({"allowance": allowance} if allowance else {})},
        rows_old=rows_old,
        rows_new=moments.n,
        status=INSUFFICIENT if allowance > LARGEST_ALLOWANCE * abs(before) else PASS,
    )
    return Question(check, settle)


def _left_out(found: LikelyRows) -> str:
    unknown, excluded = found.unknown, found.impossible
    said = []
    if unknown:
        said.append(f"{counted(unknown, 'row')} with missing or unknown values")
    if excluded:
        verb = agreeing(excluded, "is", "are")
        said.append(f"{counted(excluded, 'row')} that {verb} impossible under the model")
    return f" ({' and '.join(said)} left out)" if said else ""


def mean_log_p(net: MarkovNet, counts: Margins, log_z: float) -> float:
    """The mean of ln p over the rows that are behind the counts."""
    terms, found = net.terms, [-log_z]
    rank = {name: k for k, name in enumerate(terms.names)}
    for potential in net.potentials:
        # What is impossible only because the maximum lies at infinity has no rows.
        if potential.is_boundary:
            continue
        scope = [rank[name] for name in potential.names]
        generator = terms.generator_of(scope)
        margin = margin_over(counts[generator], [generator.index(k) for k in scope])
        seen = margin > 0
        found.append(float(np.sum(potential.table[seen] * margin[seen])) / float(margin.sum()))
    return math.fsum(found)


def _tables(net: BayesNet) -> list[FamilyCounts]:
    """The tables of a network, without new rows beside them."""
    nothing = np.zeros((0, 0), dtype=np.int64)
    return [
        FamilyCounts(c.variable, c.parents, c.variable.levels or (), None, nothing, c.table)
        for c in map(table_of, net.cpds)
    ]

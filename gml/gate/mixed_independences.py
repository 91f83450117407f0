"""Independences of a label and a number, or of two numbers given labels.

u ⟂ v | pa(v), as everywhere. The later of the two has the given set as its parents, and a label has
none that are numbers: two labels given a number are never asked about. Two labels are tested as in
a model of labels, and two numbers given numbers as in one of numbers; here are the rest.

Within each configuration of the given labels, both columns are regressed on the given numbers in
the new rows, a label as the indicators of its levels but one. With the errors e of a number and E
of the other column, S = Σ E e has the covariance V = Σ EE′(e/(1−h))², which needs neither normal
errors nor errors of one size, whether within a configuration or between them; S′V⁻¹S is compared
with the distribution of Hotelling. A p-value that may decide is settled by exchanging e between the
rows of each configuration: exact if nothing but labels is given and the two are independent given
these, and right in large samples otherwise (DiCiccio & Romano 2017, J. Am. Stat. Assoc. 112:1211).
The larger of both p-values counts. A baseline works as elsewhere: the dependence must have grown.

Only what differs between means can be seen: a label on which nothing but the spread of a number
depends shows in the regressions where it is a parent. Levels with fewer than ten rows are one level
here. Configurations with one row say nothing, nor do those with fewer than ten rows per coefficient
where numbers are given. Where one row has a leverage above 0.2 (and above ten times the average of
its configuration), the rows cannot tell. The effect is −½ ln(1−R²) in nats, less a/2n for a columns
of indicators.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from contextlib import nullcontext
from dataclasses import replace
from functools import partial

from gml.counts.row_sums import NumberTable, Steps
from gml.gate.check import NATS, PASS
from gml.gate.check_ids import independence_id
from gml.gate.error_products import error_products
from gml.gate.errors_within import errors_within, settled_within
from gml.gate.gaussian_families import Spread
from gml.gate.gaussian_structure import SANDWICH, number_independence
from gml.gate.monte_carlo import MonteCarlo
from gml.gate.pair_design import MOST_PAIRED, Pair
from gml.gate.question import Question
from gml.gate.relations import given_text, independence_check
from gml.gate.structure_checks import settled_against
from gml.gate.tails import chi2_quantile
from gml.kernel.blas import one_blas_thread
from gml.model.baseline import Reference


def mixed_independence(
    table: NumberTable,
    labels: Collection[str],
    asked: tuple[str, str, tuple[str, ...]],
    references: Mapping[str, Reference],
) -> Steps[Question]:
    """Ask whether two columns, one of them of numbers at least, are uncorrelated given others."""
    u, v, given = asked
    if not any(name in labels for name in (u, v, *given)):
        return (yield from number_independence(table, u, v, given, references))
    reference = references.get(independence_id(u, v, given))
    # A label cannot be the one that is exchanged; of two numbers the first by name is.
    number, other = sorted((u, v), key=lambda name: (name in labels, name))
    kinds = [name for name in sorted(given) if name in labels]
    numbers = [name for name in sorted(given) if name not in labels]
    is_label = other in labels
    sizes = {name: table.n_levels(name) for name in kinds}
    n_levels = table.n_levels(other) if is_label else 0
    n, products = yield from error_products(Pair(number, other, n_levels, sizes, tuple(numbers)))
    check = independence_check(u, v, given, reference, rows=n)
    if products is None:
        return Question(check)
    size = float(products.size)
    # Of few columns, no product of matrices has threads.
    with one_blas_thread() if products.size > MOST_PAIRED else nullcontext():
        _, log_p = Spread(products.spread, products.freedom - size).log_p(products.sums)
        nats = -0.5 * math.log1p(-min(products.explained, 1 - 1e-15))
    found = replace(
        check,
        message=f"{u} and {v}{given_text(given)}: the graph has no edge, and they share "
        f"{nats:.3g} nats",
        test=SANDWICH,
        statistic=chi2_quantile(log_p, size) if math.isfinite(log_p) else None,
        df=size,
        log_p=log_p,
        effect=max(0.0, nats - size / (2 * n)),
        effect_unit=NATS,
        new={"nats": nats},
        status=PASS,
    )

    def settled(monte_carlo: MonteCarlo) -> tuple[float, str]:
        names = [number, other, *kinds, *numbers]
        columns = table.columns(names, what=f"the independence of {u} and {v}")
        ordered = [columns[name] for name in names]
        errors = errors_within(ordered, len(kinds), is_label=is_label)
        # Rounding may decide otherwise here whether there are any.
        if errors is None:
            return log_p, SANDWICH
        return settled_within(found.id, log_p, errors, monte_carlo)

    return Question(found, partial(settled_against, reference, found, settled))

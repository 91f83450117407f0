"""Structure of a model of numbers: independences, and edges.

*Independences.* u ⟂ v | pa(v) for each pair without an edge. With the errors of u and of v in the
regressions on pa(v) in the new rows, t = Σ e_u e_v / √Σ (e_u e_v/(1−h))², which needs neither
normal errors nor errors of one size (a sandwich; the partial correlation itself would), against
Student's distribution. A p-value that may decide is settled by exchanging the errors of u between
rows, with the same t, which is exact if they are independent and right in large samples even if
they are only uncorrelated (DiCiccio & Romano 2017, J. Am. Stat. Assoc. 112:1211), and the larger of
both counts. Very many rows are put in one random order, in which errors are moved in a circle: that
takes a seventh of the time, and is as exact, as these exchanges are a group (Hemerik & Goeman 2018,
TEST 27:811). The reported statistic is the χ² with one degree of freedom that has the p-value of t.
With a baseline, the dependence must have grown, as for tables (`structure_checks`): t² is at most n
times the share of rows that a dependence hangs on, so that what hangs on few rows cannot deceive.
The effect is −½ ln(1−r²) in nats, less what is expected by chance, 1/2n. Where one row has a
leverage above 0.2 (and above ten times the average one) the rows cannot tell: a single wrong cell
may hide a dependence of all the others.

*Edges.* u → v is lost if its coefficient came nearer to 0, by the smaller of the two certainties of
`gaussian_families`, one-sided. Its information is that of a normal u whose variance given the other
parents is the old one, so that other parents alone are no loss. What is said of weak edges, and of
edges that the new rows show, is as for tables.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from gml.counts.row_sums import NumberTable, Steps
from gml.gate.check import INSUFFICIENT, NATS, PASS, Check
from gml.gate.check_ids import independence_id
from gml.gate.enough_rows import enough_rows
from gml.gate.error_products import error_products
from gml.gate.errors_within import orthonormal, standardised
from gml.gate.gaussian_families import GaussianFamily, spreads
from gml.gate.monte_carlo import Draw, MonteCarlo
from gml.gate.pair_design import NOTHING_LEFT, Pair
from gml.gate.question import Question
from gml.gate.relations import edge_check, given_text, independence_check, too_weak
from gml.gate.structure_checks import PERMUTATION, settled_against
from gml.gate.tails import chi2_quantile, log_chi2_tail, log_f_tail
from gml.model.baseline import Reference
from gml.model.regression_rows import Vector

SANDWICH = "sandwich"
# Draws whose permuted rows are held at once.
_CELLS_AT_ONCE = 1 << 20
SHIFTED_ROWS = 1 << 17
"""From so many rows on, errors are moved in a circle instead of exchanged at random."""

# ---------------------------------------------------------------------- independences


def number_independence(
    table: NumberTable,
    u: str,
    v: str,
    given: tuple[str, ...],
    references: Mapping[str, Reference],
) -> Steps[Question]:
    """Ask whether two columns of numbers are uncorrelated given others."""
    one, other, *others = [*sorted((u, v)), *sorted(given)]
    n, products = yield from error_products(Pair(one, other, 0, {}, tuple(others)))
    reference = references.get(independence_id(u, v, given))
    check = independence_check(u, v, given, reference, rows=n)
    if products is None or not enough_rows(n, len(given) + 2):
        return Question(check)
    product, spread = float(products.sums[0]), float(products.spread[0, 0])
    r = product / math.sqrt(products.square * float(products.shared[0, 0]))
    nats = -0.5 * math.log1p(-min(r * r, 1 - 1e-15))
    t_squared = product * product / spread if spread > 0 else 0.0
    log_p = log_f_tail(t_squared, 1.0, products.freedom - 1.0)
    check = replace(
        check,
        message=f"{u} and {v}{given_text(given)}: the graph has no edge, and they share {nats:.3g} "
        f"nats ({'partial ' if given else ''}correlation {r:.3g})",
        test=SANDWICH,
        statistic=chi2_quantile(log_p, 1.0) if math.isfinite(log_p) else None,
        df=1.0,
        log_p=log_p,
        effect=max(0.0, nats - 1 / (2 * n)),
        effect_unit=NATS,
        new={"nats": nats, "r": r},
        status=PASS,
    )

    def settled(monte_carlo: MonteCarlo) -> tuple[float, str]:
        names = [one, other, *others]
        columns = table.columns(names, what=f"the independence of {u} and {v}")
        errors = _errors([columns[name] for name in names])
        # Rounding may decide otherwise here whether there are any.
        return (log_p, SANDWICH) if errors is None else _settled(check, *errors, monte_carlo)

    return Question(check, partial(settled_against, reference, check, settled))


def _errors(columns: Sequence[Vector]) -> tuple[Vector, Vector] | None:
    """Errors of two columns in memory given the others; None if there are none."""
    scaled = [standardised(column) for column in columns]
    if scaled[0] is None or scaled[1] is None:
        return None
    varying = [column for column in scaled[2:] if column is not None]
    basis = orthonormal([np.ones(len(columns[0])), *varying])
    left = []
    for column in (scaled[0], scaled[1]):
        errors = column.copy()
        for _ in range(2):
            errors -= np.einsum("ni,i->n", basis, np.einsum("ni,n->i", basis, errors))
        if math.sqrt(float(np.mean(errors**2))) < NOTHING_LEFT:
            return None
        left.append(errors)
    return left[0], left[1]


def _t_squared(products: Vector) -> float:
    spread = float(np.sum(products**2))
    return float(np.sum(products)) ** 2 / spread if spread > 0 else 0.0


def _settled(check: Check, e_u: Vector, e_v: Vector, monte_carlo: MonteCarlo) -> tuple[float, str]:
    """The larger of the p-value of t and that of exchanging errors between rows."""
    assert check.log_p is not None
    n = len(e_u)
    draw = exchanges(e_u, e_v) if n < SHIFTED_ROWS else shifts(e_u, e_v)
    log_p, how = monte_carlo.log_p(check.id, draw, _t_squared(e_u * e_v), n, of_g=False)
    return max(log_p, check.log_p), f"{PERMUTATION}:{how}"


def exchanges(e_u: Vector, e_v: Vector) -> Draw:
    """Draw t² with the errors of u in another order of rows."""
    n = len(e_u)

    def draw(key: tuple[int, int], first: int, last: int) -> NDArray[np.float64]:
        rng = np.random.default_rng([*key, first])
        found = []
        step = max(1, _CELLS_AT_ONCE // n)
        for start in range(first, last, step):
            exchanged = np.tile(e_u, (min(step, last - start), 1))
            products = rng.permuted(exchanged, axis=1) * e_v
            found.append(products.sum(axis=1) ** 2 / (products**2).sum(axis=1))
        return np.concatenate(found)

    return draw


def shifts(e_u: Vector, e_v: Vector) -> Draw:
    """Draw t² with the errors of u moved on by some rows, all rows being in one random order.

    Examples
    --------
    >>> draw = shifts(np.array([1.0, 2.0, 4.0]), np.array([1.0, 0.0, 0.0]))
    >>> draw((1, 2), 0, 3)
    array([1., 1., 1.])
    """
    n = len(e_u)

    def draw(key: tuple[int, int], first: int, last: int) -> NDArray[np.float64]:
        # One order for all draws of a key: it takes that for the moves to be a group.
        order = np.random.default_rng(key).permutation(n)
        u, v = e_u[order], e_v[order]
        by = np.random.default_rng([*key, first]).integers(n, size=last - first)
        sums = np.array([_moved(u, v, k) for k in by.tolist()])
        u, v = u * u, v * v
        spread = np.array([_moved(u, v, k) for k in by.tolist()])
        found = np.zeros(len(sums))
        np.divide(sums**2, spread, out=found, where=spread > 0)
        return found

    return draw


def _moved(u: Vector, v: Vector, by: int) -> float:
    """The sum of the products of u and v, u moved on in a circle."""
    start = len(u) - by
    return float(np.einsum("i,i", u[:start], v[by:]) + np.einsum("i,i", u[start:], v[:by]))


# ---------------------------------------------------------------------- edges


def number_edge(family: GaussianFamily, k: int, alpha: float) -> Question:
    """Ask whether the coefficient of a parent came nearer to 0."""
    source, target = family.parents[k].name, family.name
    others = tuple(p.name for j, p in enumerate(family.parents) if j != k)
    check = replace(
        edge_check(source, target, others),
        rows_old=family.rows_old,
        rows_new=family.rows_new,
    )
    old, new = family.old, family.new
    if family.cpd.rows is None:
        return Question(
            replace(check, message=f"{source} -> {target}: the model keeps nothing to compare with")
        )
    if old is None or new is None or not new.has_all_terms:
        return Question(check)
    at = k + 1
    before, after = float(old.slopes[at]), float(old.slopes[at] + new.change[at])
    spread = new.bread @ new.meat @ new.bread / new.n
    shown = log_chi2_tail(after * after / float(spread[at, at]), 1.0) <= math.log(alpha)
    if k in family.weak:
        return Question(
            replace(
                check,
                message=too_weak(check),
                status=PASS if shown else INSUFFICIENT,
            )
        )
    # The variance of the parent given the others, in the old rows.
    free = 1 / float(old.bread[at, at])
    told, tells = (
        0.5 * math.log1p(slope * slope * free / max(variance, 1e-300))
        for slope, variance in ((before, 1.0), (after, new.variance))
    )
    loss = -math.copysign(1.0, before) * float(new.change[at])
    log_p = max(found.log_p_of_loss(at, loss) for found in spreads(old, new))
    return Question(
        replace(
            check,
            message=f"{source} -> {target}: {source} told {told:.3g} nats about "
            f"{target}{given_text(others)}, now {tells:.3g}",
            test=SANDWICH,
            statistic=loss,
            log_p=log_p if tells < told else 0.0,
            effect=max(0.0, told - tells),
            effect_unit=NATS,
            old={"nats": told, "coefficient": family.slopes[k]},
            new={"nats": tells, "coefficient": family.new_slopes[k]},
            status=PASS if shown else INSUFFICIENT,
        )
    )

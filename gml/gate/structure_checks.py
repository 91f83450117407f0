"""Structure: do the independences that the graph implies hold, and are its edges still there?

*Independences.* u ⟂ v | pa(v) for each pair without an edge (`gml.independence.implied`), by the
calibrated test; a p-value that may decide is settled by permutation. The effect is (G − df)₊/2n in
nats. No learned graph is quite true, so what a baseline recorded about an independence when the
model was accepted counts: the null hypothesis is then that the dependence is no greater than it
was. With statistic s₀ on n₀ rows at that time (one with the same p-value and today's degrees of
freedom, if these differ), the noncentrality is at most λ with confidence 1 − γ, where
P(χ²(λ) ≤ s₀) = γ, and so at most λn/n₀ on n rows: p = γ + P(χ²(λn/n₀) ≥ s) (Berger & Boos 1994,
J. Am. Stat. Assoc. 89:1012), γ a twentieth of the level that decides. Noncentral χ² is for
dependences that are spread over the table. One that hangs on a rare cell is a sum of few large
terms: with μ rows in it, R times as many as expected, λ is up to 2μ(1 + ln R), and a sample without
any such row has the probability exp(−μ), not the exp(−λ/2) of χ². So the excess of a statistic over
its degrees of freedom is divided on both sides by κ, the mean of 1 + ln O/E over the cells with
O > E, each weighted by its O ln O/E − O + E.

*Edges.* u → v is lost if u tells less about v in the new rows, given the other parents of v, than
in the model's own counts: I = Σ w H(mixture over u) − Σ w H(row) over the rows of v's table. Both
sides weigh the rows by the model's counts, so that a shift in the parents alone is not a loss, and
rows that either side lacks are left out. The null hypothesis is that nothing changed, under which
the rows of a configuration can be divided between both sides again: exact by drawing, one-sided;
the normal tail by the delta method must agree, as rows may have changed without such a loss. An
edge that is weak in the model's own rows (`selection`) cannot be lost. An edge that is not lost
passes if the new rows show it; otherwise they cannot tell. The effect
is the difference in nats, less the bias (r−1)(1−w_u)w/2n of either side. An undirected graph that
was learned holds the pairs that told most in the model's rows, and so more than they will tell:
its edges have the p-values of the best of all pairs, times pairs over edges.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.counts.counter import Counter, Triple, tables_of
from gml.errors import parameter
from gml.gate.check import INSUFFICIENT, NATS, PASS, Check
from gml.gate.check_ids import independence_id
from gml.gate.families import FamilyCounts
from gml.gate.monte_carlo import MonteCarlo
from gml.gate.question import Question, Settle
from gml.gate.relations import edge_check, edge_text, given_text, independence_check, too_weak
from gml.gate.selection import Selection
from gml.gate.tails import (
    chi2_quantile,
    log_chi2_tail,
    log_noncentral_tail,
    log_normal_tail,
    log_sum,
    noncentrality_bound,
)
from gml.gate.two_sample import MOST_ROWS, TRUSTED_EXPECTED
from gml.graph.graph import Graph
from gml.independence.base import ResultArrays
from gml.independence.implied import implied_independences
from gml.independence.registry import TESTS
from gml.model.baseline import Reference
from gml.resources import require_memory

PERMUTATION, INCREASE = "permutation", "increase"
INFORMATION = "information"
_CONFIDENCE_SHARE = 0.05
_ROUNDING = 1e-12
# A permutation with more cells than this takes too long.
_MOST_CELLS = 200_000
# A question, its test and its place in the report.
_PAIR_BYTES = 1300


def structure_checks(
    graph: Graph,
    counter: Counter,
    families: Sequence[FamilyCounts],
    selection: Selection,
    *,
    alpha: float,
    references: Mapping[str, Reference],
) -> list[Question]:
    """Ask about every pair of nodes: about its independence, or about its edge."""
    position = {variable.name: j for j, variable in enumerate(counter.variables)}
    n_pairs = len(graph.names) * (len(graph.names) - 1) // 2
    require_memory(
        _PAIR_BYTES * n_pairs,
        None,
        f"checks of {n_pairs} pairs",
        f"; leave the structure out with {parameter('families')} schema,tables,fit",
    )
    implied = [
        (u, v, given)
        for u, v, given in implied_independences(graph)
        if all(name in position for name in (u, v, *given))
    ]
    edges = _edges(families)
    triples: list[Triple] = [
        (position[u], position[v], tuple(position[name] for name in given))
        for u, v, given in implied
    ]
    for family, k in edges:
        parents = [position[parent.name] for parent in family.parents]
        others = (*parents[:k], *parents[k + 1 :])
        triples.append((parents[k], position[family.variable.name], others))
    results = TESTS["auto"](counter).batch(triples)
    questions = [
        _independence(counter, implied[k], triples[k], results, k, references)
        for k in range(len(implied))
    ]
    for at, (family, k) in enumerate(edges, start=len(implied)):
        result = results[at]
        shown = result.log_p is not None and result.log_p <= math.log(alpha)
        known = k not in selection.of(family)
        choices = math.log(n_pairs / len(edges)) if family.of_clique else 0.0
        questions.append(_edge(family, k, choices, shown=shown, known=known))
    return questions


def _edges(families: Sequence[FamilyCounts]) -> list[tuple[FamilyCounts, int]]:
    """Each edge once, as a family and the position of a parent; cliques may share one."""
    found: dict[frozenset[str], tuple[FamilyCounts, int]] = {}
    for family in families:
        if family.old is not None:
            for k, parent in enumerate(family.parents):
                found.setdefault(frozenset([parent.name, family.variable.name]), (family, k))
    return list(found.values())


# ---------------------------------------------------------------------- independences


def _independence(
    counter: Counter,
    asked: tuple[str, str, tuple[str, ...]],
    triple: Triple,
    results: ResultArrays,
    k: int,
    references: Mapping[str, Reference],
) -> Question:
    u, v, given = asked
    result = results[k]
    reference = references.get(independence_id(u, v, given))
    check = independence_check(u, v, given, reference, rows=result.n)
    # If u or v has only one value, nothing could differ.
    if result.log_p is None or not result.varies:
        return Question(check)
    mi = result.mi or 0.0
    effect = max(0.0, mi - (result.df or 0.0) / (2 * max(1, result.n)))
    check = replace(
        check,
        message=f"{u} and {v}{given_text(given)}: the graph has no edge, and they share {mi:.3g} "
        "nats",
        test="auto",
        statistic=result.statistic,
        df=result.df,
        log_p=result.log_p,
        effect=effect,
        effect_unit=NATS,
        new={"nats": mi},
        status=PASS,
    )

    def table() -> NDArray[np.int64]:
        counts = next(iter(counter.tables(tables_of(counter.order, [triple]))))
        return np.ascontiguousarray(counts.table)

    def settle(monte_carlo: MonteCarlo) -> tuple[float, str]:
        if reference is None:
            return _settled_independence(check, table(), monte_carlo)
        counted = table()
        # X² grows without bound where a cell is rare; G does not.
        g = float(kernel.active().table_statistics_of(counted).g[0])
        bounded = replace(check, statistic=min(check.statistic or 0.0, g))
        increase = log_p_of_increase(
            bounded, reference, monte_carlo.level, concentration_of(counted)
        )
        if increase > math.log(monte_carlo.bound):
            return increase, INCREASE
        log_p, how = _settled_independence(check, counted, monte_carlo)
        return max(log_p, increase), how

    return Question(check, settle)


def _settled_independence(
    check: Check, table: NDArray[np.int64], monte_carlo: MonteCarlo
) -> tuple[float, str]:
    """By permutation, unless the table is too large for that, or so full that χ² is right."""
    assert check.log_p is not None and check.test is not None and check.rows_new is not None
    full = _least_expected(table) >= TRUSTED_EXPECTED
    if full or table.size > _MOST_CELLS or check.rows_new > MOST_ROWS:
        return check.log_p, check.test
    found = kernel.active().table_statistics_of(table)
    draws = kernel.active().permutation_draws
    log_p, how = monte_carlo.log_p(
        check.id,
        lambda key, first, last: draws(table, key, first, last),
        float(found.g[0]),
        int(found.df_adjusted[0]) + 1,
    )
    return log_p, f"{PERMUTATION}:{how}"


def _expected(table: NDArray[np.int64]) -> NDArray[np.float64]:
    """The expected counts in the cells of each stratum, given its margins."""
    rows, columns = table.sum(axis=2, keepdims=True), table.sum(axis=1, keepdims=True)
    expected: NDArray[np.float64] = rows * (
        columns / np.maximum(rows.sum(axis=1, keepdims=True), 1)
    )
    return expected


def _least_expected(table: NDArray[np.int64]) -> float:
    """The smallest expected count of a cell whose margins have rows."""
    expected = _expected(table)
    return float(expected[expected > 0].min(initial=np.inf))


def log_p_of_increase(
    check: Check, reference: Reference, level: float, concentration: float = 1.0
) -> float:
    """ln of γ + P(χ²(λn/n₀) ≥ s), λ the upper bound of confidence 1 − γ at acceptance."""
    assert check.statistic is not None and check.df is not None and check.rows_new is not None
    share, df = _CONFIDENCE_SHARE * level, check.df
    if reference.n <= 0 or reference.df <= 0:
        return 0.0
    # The calibrated test may have used X² on one side and G on the other; p-values are comparable.
    before = chi2_quantile(log_chi2_tail(reference.statistic, reference.df), df)
    before, after = (
        s if s <= df else df + (s - df) / concentration for s in (before, check.statistic)
    )
    bound = noncentrality_bound(before, df, share)
    scaled = bound * check.rows_new / reference.n
    return log_sum([math.log(share), log_noncentral_tail(after, df, scaled)])


def settled_against(
    reference: Reference | None, check: Check, settled: Settle, monte_carlo: MonteCarlo
) -> tuple[float, str]:
    """Settle an independence, or, with a baseline, whether the dependence has grown."""
    if reference is None or check.statistic is None:
        return settled(monte_carlo)
    increase = log_p_of_increase(check, reference, monte_carlo.level)
    if increase > math.log(monte_carlo.bound):
        return increase, INCREASE
    log_p, how = settled(monte_carlo)
    return max(log_p, increase), how


def concentration_of(table: NDArray[np.int64]) -> float:
    """κ: 1 where a dependence is spread over the table, more where it hangs on rare cells."""
    expected = _expected(table)
    more = table > expected
    counts, nats = table[more], np.log(table[more] / expected[more])
    weights = counts * nats - counts + expected[more]
    total = float(weights.sum())
    return 1 + float(np.sum(weights * nats)) / total if total > 0 else 1.0


# ---------------------------------------------------------------------- edges


@dataclass(frozen=True)
class Comparable:
    """The rows of a table that both sides have, those with equal other parents side by side.

    `table` is rows × (old, new) × levels.
    """

    table: NDArray[np.int64]
    weights: NDArray[np.float64]
    groups: NDArray[np.int64]


def comparable_rows(family: FamilyCounts, k: int) -> Comparable:
    """Return the rows that both sides have, those that differ only in parent k side by side."""
    assert family.old is not None
    sizes = [len(parent.levels or ()) for parent in family.parents]
    rows = np.arange(math.prod(sizes)).reshape(sizes)
    # The other parents vary slowest, so rows that differ only in u are neighbours.
    order = np.moveaxis(rows, k, -1).reshape(-1)
    old, new = family.old[order], family.new[order]
    both = (old.sum(axis=1) > 0) & (new.sum(axis=1) > 0)
    groups = np.arange(len(order)) // sizes[k]
    levels = (old[both] + new[both]).any(axis=0)
    table = np.stack([old[both][:, levels], new[both][:, levels]], axis=1)
    behind = old[both].sum(axis=1)
    weights = behind / max(1, int(behind.sum()))
    return Comparable(np.ascontiguousarray(table), weights, groups[both])


def _edge(family: FamilyCounts, k: int, choices: float, *, shown: bool, known: bool) -> Question:
    source, target = family.parents[k].name, family.variable.name
    others = tuple(parent.name for parent in (*family.parents[:k], *family.parents[k + 1 :]))
    rows = comparable_rows(family, k)
    repeated = np.bincount(rows.groups) if len(rows.groups) else np.zeros(0)
    answered = bool((repeated > 1).any()) and rows.table.shape[2] > 1
    directed = not family.of_clique
    check = edge_check(source, target, others, directed=directed)
    if not known:
        return Question(
            replace(
                check,
                message=too_weak(check, directed=directed),
                status=PASS if shown else INSUFFICIENT,
            )
        )
    if not answered:
        return Question(check)
    figures = information_of(rows)
    before, after = figures.information
    counts = rows.table.sum(axis=(0, 2))
    check = replace(
        check,
        message=f"{edge_text(source, target, directed=directed)}: {source} told {before:.3g} nats "
        f"about {target}{given_text(others)}, now {after:.3g}",
        test=INFORMATION,
        statistic=figures.loss,
        log_p=min(0.0, log_normal_tail(figures.z) + choices),
        effect=max(0.0, figures.corrected_loss),
        effect_unit=NATS,
        old={"nats": before},
        new={"nats": after},
        rows_old=int(counts[0]),
        rows_new=int(counts[1]),
        status=PASS if shown else INSUFFICIENT,
    )
    draws = kernel.active().information_loss_draws

    def settle(monte_carlo: MonteCarlo) -> tuple[float, str]:
        log_p, how = monte_carlo.log_p(
            check.id,
            lambda key, first, last: draws(rows.table, rows.weights, rows.groups, key, first, last),
            figures.loss,
            rows.table.shape[0] * rows.table.shape[2],
            of_g=False,
        )
        # Where rows changed in other ways, as by swapped labels, the divided rows are a mixture
        # that says little about the spread of a loss; each side's own rows do.
        return max(log_p, log_normal_tail(figures.z)), how

    return Question(check, settle, log_choices=choices)


@dataclass(frozen=True)
class Figures:
    """Information of each side in nats, the loss, the loss without its bias, and that in sd."""

    information: tuple[float, float]
    loss: float
    corrected_loss: float
    z: float


def information_of(rows: Comparable) -> Figures:
    """By the delta method: dI/dp = w ln(p/mixture), and the second-order term for near-ties."""
    counts = rows.table.astype(np.float64)
    n = counts.sum(axis=2)
    shares = counts / n[:, :, None]
    in_group = np.zeros((int(rows.groups[-1]) + 1, *shares.shape[1:]))
    weight_of_group = np.bincount(rows.groups, rows.weights)
    np.add.at(in_group, rows.groups, rows.weights[:, None, None] * shares)
    mixture = in_group[rows.groups] / weight_of_group[rows.groups][:, None, None]
    seen = shares > 0
    logs = np.log(np.where(seen, shares / np.where(seen, mixture, 1.0), 1.0))
    per_row = (shares * logs).sum(axis=2)
    weights = rows.weights[:, None]
    information = (weights * per_row).sum(axis=0)
    variance = (shares * logs**2).sum(axis=2) - per_row**2
    apart = weights * (1 - weights / weight_of_group[rows.groups][:, None])
    freedom = np.maximum(np.count_nonzero(seen, axis=2) - 1, 0)
    bias = (apart * freedom / (2 * n)).sum(axis=0)
    spread = (weights**2 * variance / n + apart**2 * freedom / (2 * n**2)).sum()
    old, new = (float(value) for value in information)
    corrected = old - new - float(bias[0] - bias[1])
    # Without any spread a difference is certain, unless it is rounding.
    z = corrected / math.sqrt(max(float(spread), _ROUNDING**2))
    return Figures((old, new), old - new, corrected, z)

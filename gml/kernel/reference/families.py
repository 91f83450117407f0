"""Decomposable scores of a child given its parents, in NumPy; families.c has the derivations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml.kernel.layout import (
    DIRICHLET,
    JOINT,
    LIKELIHOOD,
    OF_CELL,
    OF_TABLE,
    FamilyRule,
    FamilyWorth,
)
from gml.kernel.reference.tail import stirling_error

_NEGLIGIBLE = 2.0**-60
_LARGE = 2.0**600


def log_regret(n: float, levels: float) -> float:
    """ln of the normaliser of the NML distribution of n rows over this many levels."""
    total = term = 1.0
    scale = 0.0
    k = 0.0
    while k < n:
        ratio = (n - k) / n * ((levels - 1 + k) / (k + 1))
        term *= ratio
        total += term
        if total > _LARGE:
            total /= _LARGE
            term /= _LARGE
            scale += math.log(_LARGE)
        if ratio < 1 and term < total * _NEGLIGIBLE * (1 - ratio):
            break
        k += 1
    return scale + math.log(total)


def family_value(table: NDArray[np.int64], cells: float, rule: FamilyRule) -> float:
    """Value of table[stratum, level], which has all seen strata; `cells` of the whole table."""
    table = table[table.any(axis=1)]
    if len(table) == 0:
        return 0.0
    totals = table.sum(axis=1)
    if rule.kind == LIKELIHOOD:
        seen = table > 0
        others = (totals[:, None] - table)[seen]
        return float(np.sum(table[seen] * _log_share(table[seen], others))) * rule.unit
    if rule.kind == JOINT:
        return _joint(table[table > 0], cells, rule)
    if rule.kind == DIRICHLET:
        return _marginal_likelihood(table, totals, _cell_prior(table, cells, rule), rule.unit)
    return math.fsum(log_regret(float(n) * rule.unit, float(table.shape[1])) for n in totals)


def family_ceiling(
    table: NDArray[np.int64], cells: float, rule: FamilyRule, cell_prior: float
) -> FamilyWorth:
    """The same with its ceiling, as if every cell were a stratum; −ln r each without a prior."""
    value = family_value(table, cells, rule)
    counts, r = table[table > 0], table.shape[1]
    if rule.kind == JOINT:
        return FamilyWorth(value, float(len(counts)))
    if cell_prior == 0:
        return FamilyWorth(value, -math.log(r) * len(counts))
    alone = np.zeros((len(counts), r), dtype=np.int64)
    alone[:, 0] = counts
    return FamilyWorth(value, _marginal_likelihood(alone, counts, cell_prior, rule.unit))


def _log_share(part: NDArray[Any], others: NDArray[Any]) -> NDArray[np.float64]:
    """ln of part / (part + others): a share near 1 keeps its digits."""
    whole = np.add(part, others, dtype=np.float64)
    logs: NDArray[np.float64] = np.where(
        others < part, np.log1p(-np.minimum(others, part) / whole), np.log(part / whole)
    )
    return logs


def _cell_prior(table: NDArray[np.int64], cells: float, rule: FamilyRule) -> float:
    if rule.share == OF_CELL:
        return rule.prior
    return rule.prior / (cells if rule.share == OF_TABLE else float(table.size))


def _marginal_likelihood(
    table: NDArray[np.int64], totals: NDArray[np.int64], a: float, unit: float
) -> float:
    levels = int(table.shape[1])
    z = table * unit + a
    n = totals[:, None] * unit
    others = (totals[:, None] - table) * unit + (levels - 1) * a
    by_prior = levels * a > n
    away = np.where(by_prior, (levels * table * unit - n) / (n + levels * a), 0.0)
    logs = np.where(by_prior, np.log1p(away), _log_share(z, others))
    value = float(np.sum(z * logs))
    value += math.log(levels) * float(np.sum(np.where(by_prior, -n, levels * a)))
    value -= math.fsum(_rest(float(n) * unit, levels * a) for n in totals)
    return value + math.fsum(_rest(float(n) * unit, a) for n in table[table > 0])


def _joint(counts: NDArray[np.int64], q: float, rule: FamilyRule) -> float:
    """One stratum with q levels, of which these have rows."""
    a = rule.prior / q
    n = float(counts.sum()) * rule.unit
    rows, by_prior = counts * rule.unit, rule.prior > n
    if by_prior:
        logs = np.log1p((q * rows - n) / (n + rule.prior))
        empty = math.log1p(-n / (n + rule.prior)) if len(counts) < q else 0.0
    else:
        logs = _log_share(rows + a, n - rows + (q - 1) * a)
        empty = math.log(a / (n + rule.prior))
    value = (-n if by_prior else rule.prior) * math.log(q) - _rest(n, rule.prior)
    value += float(np.sum((rows + a) * logs)) + (q - len(counts)) * a * empty
    return value + math.fsum(_rest(float(m), a) for m in rows)


def _rest(n: float, a: float) -> float:
    """What ln Γ(n+a) − ln Γ(a) has besides z ln z − z, z = n + a."""
    return stirling_error(n + a) - stirling_error(a) - 0.5 * math.log1p(n / a)

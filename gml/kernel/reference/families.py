"""Decomposable scores of a child given its parents, in NumPy; families.c has the derivations."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from gml.kernel.layout import DIRICHLET, LIKELIHOOD, OF_CELL, OF_TABLE, FamilyRule
from gml.kernel.reference.tail import stirling_error

_NEGLIGIBLE = 2.0**-60
_LARGE = 2.0**600


def log_regret(n: float, levels: float) -> float:
    """ln of the normaliser of the NML distribution of n rows over so many levels."""
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
    levels = table.shape[1]
    counts: NDArray[np.float64] = np.multiply(table, rule.unit, dtype=np.float64)
    totals: NDArray[np.float64] = np.multiply(table.sum(axis=1), rule.unit, dtype=np.float64)
    if rule.kind == LIKELIHOOD:
        ratio = np.where(counts > 0, counts / totals[:, None], 1.0)
        return float(np.sum(counts * np.log(ratio)))
    if rule.kind == DIRICHLET:
        return _marginal_likelihood(counts, totals, _cell_prior(table, cells, rule))
    return math.fsum(log_regret(float(n), float(levels)) for n in totals)


def _cell_prior(table: NDArray[np.int64], cells: float, rule: FamilyRule) -> float:
    if rule.share == OF_CELL:
        return rule.prior
    return rule.prior / (cells if rule.share == OF_TABLE else float(table.size))


def _marginal_likelihood(
    counts: NDArray[np.float64], totals: NDArray[np.float64], a: float
) -> float:
    levels = int(counts.shape[1])
    z = counts + a
    value = float(np.sum(z * np.log(z / (totals[:, None] + levels * a))))
    value += len(counts) * levels * a * math.log(levels)
    value -= math.fsum(_rest(float(n), levels * a) for n in totals)
    return value + math.fsum(_rest(float(n), a) for n in counts[counts > 0])


def _rest(n: float, a: float) -> float:
    """What ln Γ(n+a) − ln Γ(a) has beside z ln z − z, z = n + a."""
    return stirling_error(n + a) - stirling_error(a) - 0.5 * math.log1p(n / a)

"""Tests of x ⟂ y | Z on rows that stand for others too: rows with weights.

The weights w make up for rows that are not there, so that weighted sums are those of the whole
table. They are not counts: one row with weight 10 says less than ten rows.

**Labels.** In each stratum of Z the weights are scaled so that they sum to Kish's effective size
(Σw)²/Σw² (Kish 1965, Survey Sampling, section 11.7). X² of the weighted table is then about χ² with
the degrees of freedom of its seen rows and columns. Exactly, for many rows, it is Σ λ_k χ²₁, where
the λ are the eigenvalues of D^(−1/2) V D^(−1/2): D is diagonal with the expected counts, and

    V = Σ w² e eᵀ,  e_ab = (1{x=a} − p_a)(1{y=b} − q_b)

is the sum over rows, whatever the weights depend on (Rao & Scott 1984, Ann. Stat. 12:46). Their
second-order correction has the mean and variance of that:

    X²·S₁/S₂ ~ χ² with S₁²/S₂ degrees of freedom,  S_j = Σ λ_k^j.

S₂ is a sum over pairs of rows. The pairs of a row with itself, which alone would make it too large
in small tables, are left out, but S₂ is never less than S₁²/df, as no matrix of that rank has less.
V is too small where strata have few rows, since each is judged by its own margins. So there are two
p-values, by Kish and by Rao & Scott, and the larger counts.

**Numbers.** r is the weighted partial correlation, and z = √(n−|Z|−3)·atanh r as in Fisher's test,
with the smaller of two effective sizes as n: Kish's, and the size at which r would have the
variance that its terms show, Σwu²·Σwv²/Σ(wuv)², where u and v are the residuals of x and y. The
second is the labels' V for a single pair of columns.

Weights that were estimated are taken for known. The variance of weighted sums is smaller if they
are estimated (Hirano, Imbens & Ridder 2003, Econometrica 71:1161), so this errs towards larger p.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.independence.base import CIResult
from gml.kernel.blas import one_blas_thread
from gml.resources import require_memory

Floats = NDArray[np.float64]

# What is left of a variance when others explain it, up to rounding.
_NOTHING_LEFT = 1e-10
_NEARLY_ONE = 1 - 1e-15
_COPIES = 10


class WeightedTable(NamedTuple):
    """Sums of weights and of their powers by stratum, x and y, and the number of rows."""

    sums: Floats
    squares: Floats
    fourths: Floats
    n: int

    @classmethod
    def of(
        cls,
        cells: Sequence[NDArray[np.int64]],
        shape: tuple[int, int, int],
        counts: Floats,
        weights: Floats,
    ) -> WeightedTable:
        """Add up rows by the numbers of their strata, x and y."""
        require_memory(8 * _COPIES * math.prod(shape), None, f"a table of {math.prod(shape)} cells")
        flat = np.ravel_multi_index(tuple(cells), shape)

        def summed(values: Floats) -> Floats:
            # Without rows NumPy has whole numbers here.
            found = np.bincount(flat, weights=values, minlength=math.prod(shape))
            return found.astype(np.float64).reshape(shape)

        return cls(
            summed(counts * weights),
            summed(counts * weights**2),
            summed(counts * weights**4),
            round(float(counts.sum())),
        )


def weighted_table_test(table: WeightedTable, min_per_cell: float = 0.0) -> CIResult:
    """Test x ⟂ y given the strata of a table with weights."""
    # Scaled to the effective size of each stratum.
    scale = _ratio(table.sums.sum(axis=(1, 2)), table.squares.sum(axis=(1, 2)))[:, None, None]
    sums = table.sums * scale
    sizes = sums.sum(axis=(1, 2))
    p, q = _ratio(sums.sum(axis=2), sizes[:, None]), _ratio(sums.sum(axis=1), sizes[:, None])
    seen = [int(np.count_nonzero(sums.sum(axis=axes))) for axes in ((0, 2), (0, 1))]
    df = float(((_seen(p) - 1).clip(0) * (_seen(q) - 1).clip(0)).sum())
    cells = math.prod(seen) * int(np.count_nonzero(sizes))
    varies = min(seen) > 1
    found: dict[str, Any] = {
        "n": table.n,
        "mi": None,
        "varies": varies,
        "strata": int(np.count_nonzero(sizes)),
        "details": {"effective_n": float(sizes.sum())},
    }
    enough = table.n > 0 and table.n >= min_per_cell * cells
    if not enough or (varies and df == 0):
        return CIResult(0.0, 0.0, None, sufficient=False, **found)
    if not varies:
        return CIResult(0.0, 0.0, 0.0, **found)
    expected = sizes[:, None, None] * p[:, :, None] * q[:, None, :]
    x2 = float(_ratio((sums - expected) ** 2, expected).sum())
    powers = (table.squares * scale**2, table.fourths * scale**4)
    first, second = _power_sums(powers, sizes, p, q)
    second = max(second, first**2 / df)
    by_size = (x2, df)
    by_variance = (x2 * first / second, first**2 / second) if second > 0 else by_size
    log_p, statistic, used_df = max(
        (_log_tail(*by_size), *by_size), (_log_tail(*by_variance), *by_variance)
    )
    return CIResult(statistic, used_df, log_p, **found)


def _power_sums(
    powers: tuple[Floats, Floats], sizes: Floats, p: Floats, q: Floats
) -> tuple[float, float]:
    """S₁ and S₂: the trace of D^(−1/2) V D^(−1/2), and that of its square without the rows' own.

    With h(a, a') = 1{a=a'}/p_a − 1 and g likewise of q, e of a cell (a, b) times D⁻¹ times e of
    (a', b') is h(a, a')·g(b, b')/n, so that neither matrix is needed.
    """
    squares, fourths = powers
    over_p, over_q = _ratio(1.0, p) - 1, _ratio(1.0, q) - 1
    lengths = over_p[:, :, None] * over_q[:, None, :]
    first = _ratio(squares * lengths, sizes[:, None, None])
    # h² is 1 but on the diagonal, where it is over_p².
    by_x = squares.sum(axis=1, keepdims=True) + (over_p**2 - 1)[:, :, None] * squares
    by_both = by_x.sum(axis=2, keepdims=True) + (over_q**2 - 1)[:, None, :] * by_x
    second = _ratio(squares * by_both - fourths * lengths**2, sizes[:, None, None] ** 2)
    return float(first.sum()), float(second.sum())


def weighted_correlation_test(
    pair: Sequence[Floats], given: Sequence[Floats], counts: Floats, weights: Floats
) -> CIResult:
    """Test that two columns of numbers have no partial correlation given others."""
    masses = counts * weights
    n, total = round(float(counts.sum())), float(masses.sum())
    if n == 0:
        return CIResult(
            0.0, None, None, None, 0, sufficient=False, details={"effective_n": 0.0}, strata=1
        )
    kish = total**2 / float((masses * weights).sum())

    def centred(column: Floats) -> Floats:
        away: Floats = column - (masses * column).sum() / total
        spread = math.sqrt(float((masses * away * away).sum() / total))
        # A constant column is 0 up to rounding, which must not be blown up.
        small = spread <= _NOTHING_LEFT * (1 + float(np.abs(column).max()))
        return np.zeros_like(away) if small else away / spread

    x, y = centred(pair[0]), centred(pair[1])
    if not (x.any() and y.any()):
        details = {"effective_n": kish}
        return CIResult(0.0, None, 0.0, 0.0, n, varies=False, strata=1, details=details)
    varying = [column for column in map(centred, given) if column.any()]
    if varying:
        roots = np.sqrt(masses)[:, None]
        others = np.column_stack(varying)
        both = np.column_stack([x, y])
        with one_blas_thread():
            slopes = np.linalg.lstsq(roots * others, roots * both, rcond=_NOTHING_LEFT)[0]
            x, y = (both - others @ slopes).T
    left_x, left_y = float((masses * x * x).sum()), float((masses * y * y).sum())
    spread = float((masses * weights * (x * y) ** 2).sum())
    if min(left_x, left_y) <= _NOTHING_LEFT * total or spread <= 0:
        details = {"effective_n": kish}
        return CIResult(0.0, None, None, None, n, sufficient=False, strata=1, details=details)
    r = float((masses * x * y).sum()) / math.sqrt(left_x * left_y)
    r = max(-_NEARLY_ONE, min(_NEARLY_ONE, r))
    effective = min(kish, left_x * left_y / spread)
    details = {"effective_n": effective}
    spare = effective - len(given) - 3
    if spare <= 0:
        return CIResult(0.0, None, None, None, n, sufficient=False, strata=1, details=details)
    z = math.sqrt(spare) * math.atanh(r)
    mi = -0.5 * math.log1p(-r * r)
    return CIResult(z, None, _log_tail(z * z, 1.0), mi, n, strata=1, details=details)


def _log_tail(statistic: float, df: float) -> float:
    return float(kernel.active().log_chi2_upper(np.array([statistic]), np.array([df]))[0])


def _seen(shares: Floats) -> NDArray[np.int64]:
    return np.asarray(np.count_nonzero(shares, axis=1), dtype=np.int64)


def _ratio(above: Floats | float, below: Floats) -> Floats:
    """Divide, with 0 where there is nothing to divide by."""
    found: Floats = np.divide(
        above,
        below,
        out=np.zeros(np.broadcast_shapes(np.shape(above), below.shape)),
        where=below > 0,
    )
    return found

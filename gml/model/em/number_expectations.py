"""The E-step of networks with numbers: expected sums of products and counts, and the likelihood.

With the errors of the regressions in standard deviations, W x − c, the numbers x_M that a row lacks
have the precision Λ = W_Mᵀ W_M and the mean −Λ⁻¹ W_Mᵀ (W_O x_O − c) given the others (Little &
Rubin 2002, ch. 11.2; Lauritzen 1992 for each configuration of labels). No variances are subtracted
from one another, and Λ is as small as the holes are few; where some number nearly follows from
others, the least squares are solved with W_M itself, which keeps twice the digits. Where these
means are filled in, the squared errors are the smallest that there are, so that

    ln p(x_O) = Σ_families (−½ ln 2π − ln σ) − ½ ‖W x − c‖² + ½ |M| ln 2π − ½ ln |Λ|.

Configurations of labels that a row lacks are weighted by this density times their tables (Lauritzen
1995, Comput. Stat. Data Anal. 19:191). Rows are summed in blocks, and blocks in their order; within
`one_blas_thread`, where callers are, neither the order of rows nor the number of threads shows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.data.row_groups import configurations_at, rows_by_group
from gml.kernel.pool import in_order
from gml.model.em.climbing import Collapsed
from gml.model.em.number_blocks import Block, HoleClass
from gml.model.em.number_components import Work, work_of
from gml.model.em.number_families import Families, Parameters, Regressions, Statistics
from gml.model.em.number_rows import MISSING, NumberRows
from gml.resources import require_memory
from gml.stopping import check_stopped

Array = NDArray[np.float64]

LOG_TWO_PI = math.log(2 * math.pi)
# Figures that a thread works on before its sums are added up.
_TASK_CELLS = 1 << 22
_MOST_TASKS = 64
# Where the precision of a number is larger, on scales on which its variance is about 1, an inverse
# of Λ would lose too many of the digits of what is left.
_STEEP = 1e3


class Filled(NamedTuple):
    """A block with means in its holes, under one of its configurations of regressions."""

    x: Array
    log_density: Array
    covariances: tuple[Array, ...]
    """Of the numbers that rows lack, by hole class and pattern."""


class Expectation:
    """E-steps over some rows."""

    def __init__(
        self,
        families: Families,
        rows: NumberRows,
        *,
        keep_barren: bool = False,
        leaves_apart: bool = True,
        most_configs: int | None = None,
        threads: int = 1,
        max_memory: int | None = None,
    ) -> None:
        self._families = families
        self._rows = rows
        self._threads = threads
        work = work_of(
            families,
            rows,
            keep_barren=keep_barren,
            leaves_apart=leaves_apart,
            most_configs=most_configs,
            max_memory=max_memory,
        )
        self.blocks = work.blocks
        self.left_out = np.flatnonzero(work.left_out[work.of_row])
        """Rows with a component of too many configurations, which is in no block."""
        self.seen = _seen_sums(families, rows, work)
        """The sums over families that were seen whole."""
        self._tasks = _tasks(self.blocks)
        require_memory(
            (len(self._tasks) + 2) * self.seen.n_bytes, max_memory, "the sums of all families"
        )

    @property
    def n_cells(self) -> int:
        """The figures that an E-step works on, as a measure of its time."""
        return sum(_cells(block) for blocks in self._tasks for block in blocks)

    @property
    def is_complete(self) -> bool:
        """Whether no row has a hole."""
        return not self.blocks

    def __call__(self, at: Parameters) -> Statistics:
        """Return expected sums and the log-likelihood of what was seen, on the scales of rows."""
        total = self.seen.copy()
        total.log_likelihood = _whole_log_likelihood(self._families, self.seen, at)

        def summed(blocks: Sequence[Block]) -> Statistics:
            own = Statistics.zeros(self._families)
            with np.errstate(divide="ignore", over="ignore", under="ignore"):
                for block in blocks:
                    check_stopped()
                    self._add(block, at, own)
            return own

        for part in in_order(summed, self._tasks, self._threads):
            total.add(part)
        return total

    def _add(self, block: Block, at: Parameters, total: Statistics) -> None:
        weights = self._rows.weights[block.rows]
        filled = [self.filled(block, at, config) for config in block.regressions]
        logs = log_weights(block, at, [one.log_density for one in filled])
        largest = logs.max(axis=1, keepdims=True)
        lost = np.flatnonzero(~np.isfinite(largest[:, 0]))
        if len(lost):
            which = self._rows.name_of_row(int(block.rows[lost[0]]))
            raise Collapsed(f"what {which} holds has a density of 0 or no bound")
        shares = np.exp(logs - largest)
        sums = shares.sum(axis=1, keepdims=True)
        shares *= weights[:, None] / sums
        total.log_likelihood += float(np.sum(weights * (largest + np.log(sums))[:, 0]))
        each = shares.sum(axis=0)
        for j, row, level in block.tables:
            np.add.at(total.counts[j], (row, level), each)
        for j, row in block.leaves:
            np.add.at(total.counts[j], row, each[:, None] * at.tables[j][row])
        if not block.families:
            return
        for k, (config, one) in enumerate(zip(block.regressions, filled, strict=True)):
            products = _products(block, one, shares[:, block.of_config == k].sum(axis=1))
            for j, members, which in zip(block.families, block.members, config, strict=True):
                places = np.concatenate([[0], members + 1])
                total.products[j][which] += products[np.ix_(places, places)]

    def filled(self, block: Block, at: Parameters, config: NDArray[np.int64]) -> Filled:
        """Fill the holes of a block, given which regression each of its families has."""
        n_columns = len(block.columns)
        if not block.families:
            return Filled(np.zeros((len(block.rows), 0)), np.zeros(len(block.rows)), ())
        errors = np.zeros((len(block.families), n_columns))
        constants = np.zeros(len(block.families))
        log_sds = 0.0
        for i, (j, members, which) in enumerate(
            zip(block.families, block.members, config, strict=True)
        ):
            terms, log_sd = at.regressions[j].terms[which], at.regressions[j].log_sd[which]
            by = math.exp(-log_sd)
            errors[i, members[:-1]] = -terms[1:] * by
            errors[i, members[-1]] = by
            constants[i] = terms[0] * by
            log_sds += float(log_sd)
        z = self._rows.z
        if n_columns == z.shape[1]:
            # Whole rows are copied much faster than parts of them.
            x = z.take(block.rows, axis=0)
        else:
            x = z[np.ix_(block.rows, block.columns)]
        log_density = np.full(len(x), -0.5 * LOG_TWO_PI * len(block.families) - log_sds)
        covariances = []
        if block.holes:
            precision = errors.T @ errors
            is_steep = float(np.diag(precision).max()) > _STEEP
            away = x @ errors.T - constants if is_steep else x @ precision - constants @ errors
            solve = _by_reflections if is_steep else _by_inverses
            for holes in block.holes:
                rows, patterns, of_row = holes
                solved = solve(errors if is_steep else precision, away, holes)
                x[rows[:, None], patterns[of_row]] = solved.x
                log_density[rows] += (
                    0.5 * (patterns.shape[1] * LOG_TWO_PI - solved.log_determinant)[of_row]
                )
                covariances.append(solved.covariance)
        left = x @ errors.T - constants
        log_density -= 0.5 * np.einsum("ri,ri->r", left, left)
        return Filled(x, log_density, tuple(covariances))


def log_weights(block: Block, at: Parameters, densities: Sequence[Array]) -> Array:
    """ln of the weight of each configuration of the labels that rows lack: rows × these."""
    logs = np.zeros(len(block.of_config))
    for j, row, level in block.tables:
        logs = logs + np.log(at.tables[j][row, level])
    return np.column_stack(densities)[:, block.of_config] + logs


class _Solved(NamedTuple):
    """What rows lack: means by row, covariance and ln of the determinant of Λ by pattern."""

    x: Array
    covariance: Array
    log_determinant: Array


def _by_inverses(precision: Array, pull: Array, holes: HoleClass) -> _Solved:
    """Invert Λ for each pattern; `pull` is Wᵀ (W_O x_O − c)."""
    rows, patterns, of_row = holes
    inverse, log_determinant = _inverses(precision[patterns[:, :, None], patterns[:, None, :]])
    away = pull[rows[:, None], patterns[of_row]]
    x = -np.einsum("rij,rj->ri", inverse[of_row], away)
    return _Solved(x, inverse, log_determinant)


def _by_reflections(errors: Array, away: Array, holes: HoleClass) -> _Solved:
    """Solve the least squares with W_M = Q R for each pattern; `away` is W_O x_O − c."""
    rows, patterns, of_row = holes
    q, r = np.linalg.qr(errors.T[patterns].transpose(0, 2, 1))
    back = np.linalg.inv(r)
    turned = np.einsum("rqk,rq->rk", q[of_row], away[rows])
    x = -np.einsum("rij,rj->ri", back[of_row], turned)
    sizes = np.abs(np.einsum("pii->pi", r))
    return _Solved(x, back @ back.transpose(0, 2, 1), 2 * np.log(sizes).sum(axis=1))


def _inverses(matrices: Array) -> tuple[Array, Array]:
    """The inverses of positive definite matrices, and ln of their determinants."""
    if matrices.shape[1] == 1:
        return 1.0 / matrices, np.log(matrices[:, 0, 0])
    # With ones on the diagonal, which rounding then treats alike.
    sizes = np.sqrt(np.einsum("pii->pi", matrices))
    scaled = matrices / (sizes[:, :, None] * sizes[:, None, :])
    if matrices.shape[1] == 2:
        r = scaled[:, 0, 1]
        left = (1 - r) * (1 + r)
        inverse = np.empty_like(scaled)
        inverse[:, 0, 0] = inverse[:, 1, 1] = 1 / left
        inverse[:, 0, 1] = inverse[:, 1, 0] = -r / left
        log_determinant = np.log(left)
    else:
        try:
            factor = np.linalg.cholesky(scaled)
        except np.linalg.LinAlgError:
            raise Collapsed("some numbers follow from others, but for rounding") from None
        log_determinant = 2 * np.log(np.einsum("pii->pi", factor)).sum(axis=1)
        inverse = np.linalg.inv(scaled)
    inverse = inverse / (sizes[:, :, None] * sizes[:, None, :])
    return inverse, log_determinant + 2 * np.log(sizes).sum(axis=1)


def _products(block: Block, filled: Filled, shares: Array) -> Array:
    """The expected sums of products of 1 and the numbers of a block."""
    n = len(block.columns)
    products = np.empty((n + 1, n + 1))
    weighted = filled.x * shares[:, None]
    products[0, 0] = shares.sum()
    products[0, 1:] = products[1:, 0] = weighted.sum(axis=0)
    products[1:, 1:] = weighted.T @ filled.x
    for (rows, patterns, of_row), covariance in zip(block.holes, filled.covariances, strict=True):
        each = np.bincount(of_row, weights=shares[rows], minlength=len(patterns))
        places = patterns[:, :, None] * n + patterns[:, None, :]
        products[1:, 1:] += np.bincount(
            places.reshape(-1),
            weights=(covariance * each[:, None, None]).reshape(-1),
            minlength=n * n,
        ).reshape(n, n)
    return products


def _cells(block: Block) -> int:
    """A measure of the work on a block; calls take time even if there is one row."""
    wide = (len(block.columns) + 1) ** 2
    return len(block.rows) * (len(block.regressions) * wide + len(block.of_config)) + 1000


def _tasks(blocks: Sequence[Block]) -> list[list[Block]]:
    """Blocks in runs of similar work, the same for any number of threads."""
    sizes = list(map(_cells, blocks))
    most = max(_TASK_CELLS, sum(sizes) // _MOST_TASKS)
    tasks: list[list[Block]] = []
    filled = most
    for block, size in zip(blocks, sizes, strict=True):
        if filled >= most:
            tasks.append([])
            filled = 0
        tasks[-1].append(block)
        filled += size
    return tasks


def _seen_sums(families: Families, rows: NumberRows, work: Work) -> Statistics:
    """Sums over the rows in which a family was seen whole and is part of no component."""
    n_numbers = len(families.numbers)
    return family_sums(
        families,
        rows,
        (whole[work.of_row] for whole in work.whole[:n_numbers]),
        (whole[work.of_row] for whole in work.whole[n_numbers:]),
    )


def family_sums(
    families: Families,
    rows: NumberRows,
    number_rows: Iterable[NDArray[np.bool_]],
    label_rows: Iterable[NDArray[np.bool_]],
) -> Statistics:
    """Sums over some rows of each family, in which it was seen whole; parts of the rows in order.

    The rows of families are asked for one after the other.
    """
    total = Statistics.zeros(families)
    for j, (family, whole) in enumerate(zip(families.numbers, number_rows, strict=True)):
        for part in rows.parts():
            own = part.start + np.flatnonzero(whole[part])
            at = _config_of(rows, own, family.labels, family.sizes)
            for config, chosen in _by_config(at, own, family.n_configs):
                total.products[j][config] += _cross(
                    rows.z[chosen[:, None], family.members], rows.weights[chosen]
                )
    for j, (label, whole) in enumerate(zip(families.labels, label_rows, strict=True)):
        cells = total.counts[j].reshape(-1)
        for part in rows.parts():
            own = part.start + np.flatnonzero(whole[part])
            at = _config_of(rows, own, label.labels, label.sizes)
            cell = at * label.n_levels + rows.codes[own, label.child]
            cells += np.bincount(cell, weights=rows.weights[own], minlength=len(cells))
    return total


def available_sums(families: Families, rows: NumberRows) -> Statistics:
    """Sums over all rows in which a family was seen whole."""
    return family_sums(
        families,
        rows,
        (
            rows.seen_whole(f.members) & (rows.codes[:, f.labels] != MISSING).all(axis=1)
            for f in families.numbers
        ),
        ((rows.codes[:, (*f.labels, f.child)] != MISSING).all(axis=1) for f in families.labels),
    )


def _config_of(
    rows: NumberRows, chosen: NDArray[np.int64], labels: Sequence[int], sizes: Sequence[int]
) -> NDArray[np.int64]:
    return configurations_at(sizes, [rows.codes[chosen, k] for k in labels], len(chosen))


def _by_config(
    at: NDArray[np.int64], rows: NDArray[np.int64], n_configs: int
) -> list[tuple[int, NDArray[np.int64]]]:
    if n_configs == 1:
        return [(0, rows)]
    groups = rows_by_group(at, n_configs)
    return [(config, rows[own]) for config, own in enumerate(groups) if len(own)]


def _cross(z: Array, weights: Array) -> Array:
    """Sums of products of 1 and some columns."""
    products = np.empty((z.shape[1] + 1, z.shape[1] + 1))
    weighted = z * weights[:, None]
    products[0, 0] = weights.sum()
    products[0, 1:] = products[1:, 0] = weighted.sum(axis=0)
    products[1:, 1:] = weighted.T @ z
    return products


def squared_errors(products: Array, at: Regressions) -> Array:
    """Expected sums of squared errors of regressions, by configuration."""
    error = np.column_stack([-at.terms, np.ones(len(at.terms))])
    found: Array = np.einsum("ci,cij,cj->c", error, products, error)
    return np.maximum(found, 0.0)


def log_density_of(products: Array, at: Regressions) -> float:
    """ln of the density of rows with these sums, and as many as these say."""
    n = products[:, 0, 0]
    squares = squared_errors(products, at) * np.exp(-2 * at.log_sd)
    each = -n * (0.5 * LOG_TWO_PI + at.log_sd) - 0.5 * squares
    return math.fsum(np.where(n > 0, each, 0.0).tolist())


def log_probability_of(counts: Array, table: Array) -> float:
    """Σ n ln p, cells without rows left out."""
    used = counts > 0
    with np.errstate(divide="ignore"):
        return float(np.sum(counts[used] * np.log(table[used])))


def _whole_log_likelihood(families: Families, seen: Statistics, at: Parameters) -> float:
    return math.fsum(
        [
            *(log_density_of(p, one) for p, one in zip(seen.products, at.regressions, strict=True)),
            *(
                log_probability_of(n, table)
                for n, table in zip(seen.counts, at.tables, strict=True)
            ),
        ]
    )

"""A mixture as what EM maximises: one pass over the rows, and the parameters that it leads to.

E-step: the probability of each class given what a row holds,

    rᵢₖ ∝ πₖ · Π P(label | k) · N(numbers | μₖ, Σₖ),

where cells that are missing are left out of the product: they are integrated over, which is right
if they are missing at random. M-step: shares of expected counts, means, and what covariances.py
says of the model; the expectation of what is missing is part of the moments.

A regularisation λ is added to all variances in every M-step. That is the maximum, not for the rows
themselves, but for rows blurred by noise of variance λ: in expectation over the noise, ln of the
density of a class is less by ½ λ tr Σₖ⁻¹. With that factor in the E-step too, the objective

    Σᵢ ln Σₖ πₖ fₖ(xᵢ) exp(−½ λ tr Σₖ⁻¹)

never falls, and for λ > 0 it is bounded.

The likelihood is not, if a class may shrink to a point, a line or a plane that holds some rows. A
step to a class whose variance in some direction is below 1e-10 of that of all rows ends the climb.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.errors import counted
from gml.kernel.pool import in_order
from gml.model.em.climbing import Collapsed, Step
from gml.model.mixtures.covariances import CovarianceModel, Reference, variances_of
from gml.model.mixtures.densities import Densities, densities_of
from gml.model.mixtures.moments import Moments
from gml.model.mixtures.parameters import MixtureParameters, ParameterSpace
from gml.model.mixtures.rows import BLOCK_ROWS, MOST_NUMBERS, Block, MixtureRows
from gml.resources import require_memory
from gml.stopping import check_stopped

Vector = NDArray[np.float64]

VARIANCE_FLOOR = 1e-10
"""The least share of the variance of all rows, in any direction, that a class may have."""
# ln of a probability of 0; a row that has it is impossible for the class, and stays so.
_LEAST_PROBABILITY = 1e-300
_SHOWN = 4
_FEW_ROWS = 20_000
# Rows of labels that a thread looks at together.
_CLASS_ROWS = 1 << 14
# ln of the number of different rows that there may be, up to which probabilities are multiplied.
_MOST_LOG_CELLS = 300.0
# Arrays of a thread that exist at once, and results that wait for each thread.
_COPIES = 6
_AHEAD = 5


class _Part(NamedTuple):
    """What a block adds to the sums."""

    log_likelihood: float
    counts: Vector
    sizes: Vector
    moments: Moments | None


@dataclass(frozen=True)
class Expected:
    """The sums of an E-step: the objective, expected counts by class, and moments about means."""

    objective: float
    counts: Vector
    sizes: Vector
    moments: Moments | None


class MixtureProblem:
    """The likelihood of rows under mixtures of some number of classes, with a covariance model."""

    def __init__(
        self,
        rows: MixtureRows,
        n_classes: int,
        model: CovarianceModel,
        *,
        reference: Vector | None,
        regularise: float = 0.0,
        threads: int = 1,
    ) -> None:
        self.rows = rows
        self.n_classes = n_classes
        self.model = model
        self.space = ParameterSpace(rows, n_classes, model)
        self._extra = regularise
        self._reference = None if reference is None else Reference(reference)
        self._threads = threads
        self._require_room()
        self.blocks = rows.blocks_for(model.form, n_classes)
        # Where products of probabilities are likely to be numbers; otherwise logarithms are summed.
        levels = [len(variable.levels or ()) for variable in rows.labels]
        self._is_of_classes = not rows.numbers and 0 < np.log(levels).sum() < _MOST_LOG_CELLS
        self._table_offsets = np.append(rows.offsets, rows.n_table_rows)

    def _require_room(self) -> None:
        """Refuse before any matrix is made: sums, and what each thread works with."""
        size, n_classes = len(self.rows.numbers), self.n_classes
        sums = n_classes * (self.rows.n_table_rows + size * size)
        n = min(len(self.rows.weights), BLOCK_ROWS)
        at_work = n * n_classes * (size + 2)
        if self.model.form == "full":
            matrices = n_classes * size * size
            at_work = max(at_work, matrices, min(MOST_NUMBERS, n * matrices))
        require_memory(
            8 * self._threads * (_AHEAD * sums + _COPIES * at_work),
            None,
            "the sums of a mixture",
        )

    def step(self, at: Vector) -> Step:
        """Take one step of EM."""
        if self._is_of_classes:
            return self._step_of_classes(at)
        parameters = self.space.of(at)
        found = self.expected(parameters)
        return Step(found.objective, self.maximised(found, parameters).vector())

    def _step_of_classes(self, at: Vector) -> Step:
        """Take a step for labels alone, all of it in the kernel."""
        rows, before = self.rows, self.space.of(at)
        found = np.empty_like(at)
        after = self.space.of(found)
        active = kernel.active()

        def counted_rows(part: slice) -> tuple[float, Vector, Vector]:
            counts, totals = np.zeros_like(before.tables), np.zeros(self.n_classes)
            log_likelihood = active.latent_class_rows(
                rows.groups,
                rows.weights,
                part.start,
                part.stop,
                before.shares,
                before.tables,
                counts,
                totals,
            )
            return log_likelihood, counts, totals

        n = len(rows.weights)
        parts = [slice(k, min(k + _CLASS_ROWS, n)) for k in range(0, n, _CLASS_ROWS)]
        log_likelihood, counts, totals = counted_rows(parts[0])
        for more in in_order(counted_rows, parts[1:], self._threads) if parts[1:] else ():
            log_likelihood += more[0]
            counts += more[1]
            totals += more[2]
        active.latent_class_tables(
            self._table_offsets, counts, totals, before.tables, after.shares, after.tables
        )
        return Step(log_likelihood, found)

    def admitted(self, wanted: Vector, near: Vector) -> Vector | None:
        """Return legal parameters close to those wanted."""
        return self.space.admitted(wanted, near)

    def expected(self, parameters: MixtureParameters) -> Expected:
        """Take the E-step."""
        return _Pass(self, parameters, self._penalties(parameters)).sums()

    def plain(self, parameters: MixtureParameters) -> Expected:
        """Take the E-step without regularisation: the objective is the log-likelihood."""
        return _Pass(self, parameters, np.zeros(self.n_classes)).sums()

    def shares(self, parameters: MixtureParameters) -> tuple[Vector, Vector]:
        """Return the probabilities of classes, and ln of the density, of each distinct row."""
        return _Pass(self, parameters, np.zeros(self.n_classes)).rows()

    @property
    def threads(self) -> int:
        """How many threads a pass may use."""
        return self._threads

    def maximised(self, found: Expected, before: MixtureParameters) -> MixtureParameters:
        """Take the M-step."""
        rows = self.rows
        total = found.sizes.sum()
        shares = found.sizes / total
        tables = self._tables(found.counts, before.tables)
        if found.moments is None:
            return MixtureParameters(shares, tables, before.means, before.covariances)
        _, firsts, seconds = found.moments
        gone = found.sizes <= 0
        sizes = np.where(gone, 1.0, found.sizes)
        moved = firsts / sizes[:, None]
        means = before.means + moved
        if self.model.form == "full":
            scatters = seconds / sizes[:, None, None] - moved[:, :, None] * moved[:, None, :]
            scatters = (scatters + scatters.swapaxes(1, 2)) / 2
        else:
            scatters = seconds / sizes[:, None] - moved**2
        covariances = self.model.estimate(scatters, found.sizes, before.covariances, self._extra)
        after = MixtureParameters(shares, tables, means, covariances)
        if self._reference is not None:
            self._require_volume(after, rows)
        return after

    def _tables(self, counts: Vector, before: Vector) -> Vector:
        """Shares of expected counts, without those of missing labels."""
        starts, ends = self.rows.offsets, self.rows.table_ends
        if len(starts) == 0:
            return before
        tables = counts.copy()
        tables[ends] = 0.0
        totals = np.add.reduceat(tables, starts, axis=0)
        spread = np.repeat(totals, ends + 1 - starts, axis=0)
        if (totals > 0).all():
            tables /= spread
        else:
            tables = np.where(spread > 0, tables / np.where(spread > 0, spread, 1.0), before)
        tables[ends] = 1.0
        return tables

    def _penalties(self, parameters: MixtureParameters) -> Vector:
        """What the regularisation takes off ln of the density of each class."""
        size = len(self.rows.numbers)
        if not self._extra or not size:
            return np.zeros(self.n_classes)
        covariances = parameters.covariances
        if covariances.ndim == 3:
            traces = np.trace(np.linalg.inv(covariances), axis1=1, axis2=2)
        else:
            traces = (1 / variances_of(covariances, size)).sum(axis=1)
        return np.broadcast_to(-0.5 * self._extra * traces, (self.n_classes,))

    def _require_volume(self, parameters: MixtureParameters, rows: MixtureRows) -> None:
        """Raise if a class has collapsed, and say which."""
        assert self._reference is not None
        covariances = parameters.covariances
        if (
            np.isfinite(covariances).all()
            and self._reference.least_ratio(covariances) >= VARIANCE_FLOOR
        ):
            return
        ratios = [
            self._reference.least_ratio(np.nan_to_num(covariances[k : k + 1], posinf=0.0))
            for k in range(len(covariances))
        ]
        k = int(np.argmin(ratios))
        raise Collapsed(collapse_in_words(parameters, rows, k))


def collapse_in_words(parameters: MixtureParameters, rows: MixtureRows, k: int) -> str:
    """Say which class collapsed: how many rows it has, and where it is."""
    if len(parameters.covariances) < len(parameters.shares):
        return "classes that share a covariance without volume"
    held = parameters.shares[k] * rows.n
    size = counted(max(1, round(held)), "row")
    where = parameters.means[k] * rows.scale + rows.centre
    named = [f"{v.name}={x:.6g}" for v, x in zip(rows.numbers, where, strict=True)]
    more = len(named) - _SHOWN
    shown = ", ".join(named[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
    return f"a class of {size} without volume, at {shown}"


class _Pass:
    """One pass over the rows at some parameters."""

    def __init__(
        self, problem: MixtureProblem, parameters: MixtureParameters, penalties: Vector
    ) -> None:
        self._problem = problem
        self._rows = problem.rows
        self._parameters = parameters
        logs = np.log(np.maximum(parameters.shares, _LEAST_PROBABILITY))
        self._starting = logs + penalties
        self._log_tables = np.log(np.maximum(parameters.tables, _LEAST_PROBABILITY))

    def sums(self) -> Expected:
        """Add up what the blocks have, in order, as they come."""
        rows = self._rows
        log_likelihood, counts = 0.0, np.zeros_like(self._log_tables)
        if not rows.numbers and len(self._problem.blocks) == 1:
            # Few rows of labels take less than what blocks need around them.
            shares = np.empty((len(rows.weights), self._problem.n_classes))
            shares[:] = self._starting
            log_likelihood = kernel.active().mixture_rows(
                rows.codes, rows.offsets, self._log_tables, rows.weights, shares, counts
            )
            return Expected(log_likelihood - rows.log_scale, counts, shares.sum(axis=0), None)
        sizes = np.zeros(self._problem.n_classes)
        moments: Moments | None = None
        # Threads take longer to begin than few rows take.
        few = len(self._rows.weights) < _FEW_ROWS
        threads = 1 if few else self._problem.threads
        for part in in_order(self._part, self._problem.blocks, threads):
            log_likelihood += part.log_likelihood
            counts += part.counts
            sizes += part.sizes
            if part.moments is not None:
                moments = part.moments if moments is None else moments.plus(part.moments)
        return Expected(log_likelihood - self._rows.log_scale, counts, sizes, moments)

    def _densities(self, block: Block) -> Densities | None:
        if not self._rows.numbers:
            return None
        parameters = self._parameters
        try:
            return densities_of(parameters.means, parameters.covariances, block.observed)
        except np.linalg.LinAlgError:
            least = np.linalg.eigvalsh(parameters.covariances)[:, 0]
            which = int(np.argmin(least))
            raise Collapsed(collapse_in_words(parameters, self._rows, which)) from None

    def _part(self, block: Block) -> _Part:
        check_stopped()
        rows = self._rows
        found, densities, z = self._log_shares(block)
        counts = np.zeros_like(self._log_tables)
        log_likelihood = kernel.active().mixture_rows(
            rows.codes[block.rows],
            rows.offsets,
            self._log_tables,
            rows.weights[block.rows],
            found,
            counts,
        )
        moments = None
        if densities is not None and z is not None:
            moments = densities.restored(densities.moments(z, np.ascontiguousarray(found.T)))
        return _Part(log_likelihood, counts, found.sum(axis=0), moments)

    def _log_shares(self, block: Block) -> tuple[Vector, Densities | None, Vector | None]:
        """ln of the shares of classes and of the densities of numbers: rows × classes."""
        rows = self._rows
        found = np.empty((len(rows.weights[block.rows]), self._problem.n_classes))
        found[:] = self._starting
        densities, z = self._densities(block), None
        if densities is not None:
            z = densities.standardised(block.values_of(rows.values))
            found += densities.log_densities(z).T
        return found, densities, z

    def rows(self) -> tuple[Vector, Vector]:
        """The probabilities of classes, and ln of the density, of each distinct row."""
        rows = self._rows
        n = len(rows.weights)
        shares, logs = np.empty((n, self._problem.n_classes)), np.empty(n)
        for block in self._problem.blocks:
            check_stopped()
            before, _, _ = self._log_shares(block)
            places = rows.codes[block.rows].astype(np.int64) + rows.offsets
            for j in range(places.shape[1]):
                before += self._log_tables[places[:, j]]
            largest = before.max(axis=1, keepdims=True)
            np.exp(before - largest, out=before)
            totals = before.sum(axis=1, keepdims=True)
            shares[block.rows] = before / totals
            own = (largest + np.log(totals))[:, 0]
            logs[block.rows] = own - ~np.isnan(rows.values[block.rows]) @ np.log(rows.scale)
        return shares, logs

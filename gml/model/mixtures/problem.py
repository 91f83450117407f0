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
from itertools import groupby
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.errors import counted
from gml.kernel.pool import in_order
from gml.model.em.climbing import Collapsed, Step
from gml.model.mixtures.covariances import CovarianceModel, Reference, variances_of
from gml.model.mixtures.densities import Densities, Moments, densities_of
from gml.model.mixtures.parameters import MixtureParameters, ParameterSpace
from gml.model.mixtures.rows import Block, MixtureRows

Vector = NDArray[np.float64]

VARIANCE_FLOOR = 1e-10
"""The least share of the variance of all rows, in any direction, that a class may have."""
# ln of a probability of 0; a row that has it is impossible for the class, and stays so.
_LEAST_PROBABILITY = 1e-300
_SHOWN = 4
_FEW_ROWS = 20_000


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

    def step(self, at: Vector) -> Step:
        """Take one step of EM."""
        parameters = self.space.of(at)
        found = self.expected(parameters)
        return Step(found.objective, self.maximised(found, parameters).vector())

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
        starts = self.rows.offsets
        if len(starts) == 0:
            return before
        ends = np.append(starts[1:], len(counts)) - 1
        tables = counts.copy()
        tables[ends] = 0.0
        totals = np.add.reduceat(tables, starts, axis=0)
        spread = np.repeat(totals, ends + 1 - starts, axis=0)
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
        with np.errstate(divide="ignore"):
            logs = np.log(np.maximum(parameters.shares, _LEAST_PROBABILITY))
        self._starting = logs + penalties
        self._log_tables = np.log(np.maximum(parameters.tables, _LEAST_PROBABILITY))

    def sums(self) -> Expected:
        """Add up what the blocks have, in order."""
        log_likelihood, counts = 0.0, np.zeros_like(self._log_tables)
        sizes = np.zeros(self._problem.n_classes)
        moments: Moments | None = None
        for densities, parts in self._by_pattern():
            own: Moments | None = None
            for part in parts:
                log_likelihood += part.log_likelihood
                counts += part.counts
                sizes += part.sizes
                if part.moments is not None:
                    own = part.moments if own is None else own.plus(part.moments)
            if densities is not None and own is not None:
                whole = densities.restored(own)
                moments = whole if moments is None else moments.plus(whole)
        return Expected(log_likelihood - self._rows.log_scale, counts, sizes, moments)

    def _by_pattern(self) -> list[tuple[Densities | None, list[_Part]]]:
        """What each block adds, with the densities of its rows."""
        prepared = []
        for _, group in groupby(self._rows.blocks, lambda block: block.observed.tobytes()):
            blocks = list(group)
            prepared.append((self._densities(blocks[0]), blocks))
        work = [(densities, block) for densities, blocks in prepared for block in blocks]
        # Threads take longer to begin than few rows take.
        few = len(self._rows.weights) < _FEW_ROWS
        found = in_order(self._part, work, 1 if few else self._problem.threads)
        return [(d, [next(found) for _ in blocks]) for d, blocks in prepared]

    def _densities(self, block: Block) -> Densities | None:
        if not self._rows.numbers:
            return None
        parameters = self._parameters
        try:
            return densities_of(parameters.means, parameters.covariances, block.observed)
        except np.linalg.LinAlgError:
            raise Collapsed("a class whose covariance is that of no distribution") from None

    def _part(self, item: tuple[Densities | None, Block]) -> _Part:
        densities, block = item
        shares, z, counts, log_likelihood = self._shares(densities, block)
        moments = None
        if densities is not None and z is not None:
            moments = densities.moments(z, np.ascontiguousarray(shares.T))
        return _Part(log_likelihood, counts, shares.sum(axis=0), moments)

    def _shares(
        self, densities: Densities | None, block: Block
    ) -> tuple[Vector, Vector | None, Vector, float]:
        rows = self._rows
        part = slice(block.start, block.stop)
        found = np.empty((block.stop - block.start, self._problem.n_classes))
        found[:] = self._starting
        z = None
        if densities is not None:
            values = rows.values[part]
            if len(block.observed) < len(rows.numbers):
                values = np.ascontiguousarray(values[:, block.observed])
            z = densities.standardised(values)
            found += densities.log_densities(z).T
        counts = np.zeros_like(self._log_tables)
        log_likelihood = kernel.active().mixture_rows(
            rows.codes[part], rows.offsets, self._log_tables, rows.weights[part], found, counts
        )
        return found, z, counts, log_likelihood

    def rows(self) -> tuple[Vector, Vector]:
        """The probabilities of classes, and ln of the density, of each distinct row."""
        n = len(self._rows.weights)
        shares, logs = np.empty((n, self._problem.n_classes)), np.empty(n)
        rows = self._rows
        for block in rows.blocks:
            part = slice(block.start, block.stop)
            densities = self._densities(block)
            before = np.empty((block.stop - block.start, self._problem.n_classes))
            before[:] = self._starting
            if densities is not None:
                values = np.ascontiguousarray(rows.values[part][:, block.observed])
                before += densities.log_densities(densities.standardised(values)).T
            places = rows.codes[part].astype(np.int64) + rows.offsets
            for j in range(places.shape[1]):
                before += self._log_tables[places[:, j]]
            largest = before.max(axis=1, keepdims=True)
            np.exp(before - largest, out=before)
            totals = before.sum(axis=1, keepdims=True)
            shares[part] = before / totals
            logs[part] = (largest + np.log(totals))[:, 0]
        logs -= (~np.isnan(rows.values)) @ np.log(rows.scale)
        return shares, logs

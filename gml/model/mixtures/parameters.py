"""The parameters of a mixture, and the vector that a climb sees of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gml.model.mixtures.covariances import CovarianceModel
from gml.model.mixtures.rows import MixtureRows

Vector = NDArray[np.float64]

# How much of a probability an extrapolation leaves at least.
_LEAST_LEFT = 0.1


@dataclass(frozen=True)
class MixtureParameters:
    """Shares of classes; tables (levels of all labels × classes); means and covariances.

    The tables have a row after the last level of each label, for what is missing; it holds 1.
    """

    shares: Vector
    tables: Vector
    means: Vector
    covariances: Vector

    def vector(self) -> Vector:
        """All parameters, one after the other."""
        return np.concatenate(
            [part.ravel() for part in (self.shares, self.tables, self.means, self.covariances)]
        )

    def reordered(self, order: NDArray[np.intp]) -> MixtureParameters:
        """The same with the classes in another order."""
        covariances = self.covariances
        return MixtureParameters(
            self.shares[order],
            np.ascontiguousarray(self.tables[:, order]),
            self.means[order],
            covariances if len(covariances) != len(self.shares) else covariances[order],
        )


class ParameterSpace:
    """How the parameters of some rows, classes and a model of covariances lie in a vector."""

    def __init__(self, rows: MixtureRows, n_classes: int, model: CovarianceModel) -> None:
        size = len(rows.numbers)
        self._shapes = (
            (n_classes,),
            (rows.n_table_rows, n_classes),
            (n_classes, size),
            model.shape(n_classes, size) if size else (0,),
        )
        ends = np.cumsum([int(np.prod(shape)) for shape in self._shapes])
        self._starts, self._ends = [0, *ends[:-1].tolist()], ends.tolist()
        self._label_starts, self._label_ends = rows.offsets, rows.table_ends
        self._label_sizes = self._label_ends + 1 - self._label_starts
        self._n_probabilities = int(ends[1])

    def of(self, vector: Vector) -> MixtureParameters:
        """The parameters that a vector holds."""
        parts = [
            vector[start:end].reshape(shape)
            for start, end, shape in zip(self._starts, self._ends, self._shapes, strict=True)
        ]
        return MixtureParameters(*parts)

    def admitted(self, wanted: Vector, near: Vector) -> Vector | None:
        """Keep probabilities positive where they are `near`, and add them up to 1 again."""
        found = wanted.copy()
        count = self._n_probabilities
        np.maximum(wanted[:count], _LEAST_LEFT * near[:count], out=found[:count])
        parameters = self.of(found)
        parameters.shares[:] /= parameters.shares.sum()
        if len(self._label_starts):
            tables = parameters.tables
            tables[self._label_ends] = 0.0
            totals = np.add.reduceat(tables, self._label_starts, axis=0)
            tables /= np.repeat(totals, self._label_sizes, axis=0)
            tables[self._label_ends] = 1.0
        return found if _are_positive(parameters.covariances) else None


def _are_positive(covariances: Vector) -> bool:
    """Whether covariances are positive definite."""
    if covariances.ndim < 3:
        return bool((covariances > 0).all())
    try:
        np.linalg.cholesky(covariances)
    except np.linalg.LinAlgError:
        return False
    return True

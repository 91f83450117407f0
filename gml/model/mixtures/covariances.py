"""Six models of the covariances of classes, by the names of mclust, and what maximises each.

A letter each says whether the volume, the shape and the orientation of the covariance are equal
(E), vary among classes (V), or are those of the identity (I) (Banfield & Raftery 1993, Biometrics
49:803; Celeux & Govaert 1995, Pattern Recognit. 28:781):

    EII  σ²I       one variance             VII  σₖ²I      one per class
    EEI  diag      one per column           VVI  diagₖ     one per column and class
    EEE  Σ         one matrix               VVV  Σₖ        one per class

All have the maximum in closed form: with Wₖ the scatter of class k about its mean, divided by the
weight nₖ of the class, each is an average of the Wₖ, of their diagonals, or of the traces.

A covariance is an array of as many entries as classes (one where they share it), each a number, a
vector or a matrix.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Form = Literal["sphere", "diagonal", "full"]


@dataclass(frozen=True)
class CovarianceModel:
    """A model: what a covariance is made of, and whether classes share it."""

    name: str
    form: Form
    is_shared: bool

    def n_parameters(self, n_classes: int, size: int) -> int:
        """The free parameters of the covariances.

        Examples
        --------
        >>> [model.n_parameters(3, 4) for model in MODELS.values()]
        [1, 3, 4, 12, 10, 30]
        """
        own = {"sphere": 1, "diagonal": size, "full": size * (size + 1) // 2}[self.form]
        return own * (1 if self.is_shared else n_classes) if size else 0

    def shape(self, n_classes: int, size: int) -> tuple[int, ...]:
        """The shape of the array of covariances."""
        entries = 1 if self.is_shared else n_classes
        own = {"sphere": (), "diagonal": (size,), "full": (size, size)}[self.form]
        return (entries, *own)

    def same_for(self, n_classes: int, size: int) -> tuple[str, bool]:
        """What models have in common that are the same with so many classes and columns."""
        form = "sphere" if size == 1 else self.form
        return form, self.is_shared or n_classes == 1

    def estimate(self, scatters: Vector, sizes: Vector, before: Vector, extra: float) -> Vector:
        """Return the most likely covariances for scatters of the classes, divided by their sizes.

        Scatters are matrices, or vectors where only variances count. A class without rows keeps
        the covariance that it had `before`; `extra` is added to all variances.
        """
        found = scatters.mean(axis=1) if self.form == "sphere" else scatters
        if self.is_shared:
            found = np.tensordot(sizes, found, axes=1)[None] / sizes.sum()
        else:
            gone = sizes <= 0
            found = np.where(gone.reshape(-1, *[1] * (found.ndim - 1)), before, found)
        if not extra:
            return found
        return found + extra * (np.eye(found.shape[-1]) if self.form == "full" else 1.0)


MODELS = {
    model.name: model
    for model in (
        CovarianceModel("EII", "sphere", True),
        CovarianceModel("VII", "sphere", False),
        CovarianceModel("EEI", "diagonal", True),
        CovarianceModel("VVI", "diagonal", False),
        CovarianceModel("EEE", "full", True),
        CovarianceModel("VVV", "full", False),
    )
}
"""The models by name, those with fewer parameters first."""


def variances_of(covariances: Vector, size: int) -> Vector:
    """The variances of columns in each entry, whichever form the covariances have."""
    if covariances.ndim == 1:
        return np.repeat(covariances[:, None], size, axis=1)
    if covariances.ndim == 2:
        return covariances
    return np.diagonal(covariances, axis1=1, axis2=2)


def matrices_of(covariances: Vector, n_classes: int, size: int) -> Vector:
    """The covariance matrix of each class, whichever form the covariances have."""
    if covariances.ndim == 3:
        whole = covariances
    else:
        whole = variances_of(covariances, size)[:, :, None] * np.eye(size)
    return np.broadcast_to(whole, (n_classes, size, size))


class Reference:
    """The covariance of all rows, a positive definite matrix, that of classes are compared with.

    Examples
    --------
    >>> Reference(np.eye(2)).least_ratio(np.array([[[1.0, 0.99], [0.99, 1.0]]])).__round__(9)
    0.01
    """

    def __init__(self, covariance: Vector) -> None:
        self._variances = np.diagonal(covariance)
        self._whitening = np.linalg.inv(np.linalg.cholesky(covariance))

    def least_ratio(self, covariances: Vector) -> float:
        """The least variance in any direction, as a share of that which all rows have there."""
        if covariances.ndim < 3:
            variances = variances_of(covariances, len(self._variances))
            return float((variances / self._variances).min(initial=np.inf))
        relative = self._whitening @ covariances @ self._whitening.T
        return float(np.linalg.eigvalsh(relative).min(initial=np.inf))

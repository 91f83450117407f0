"""Faces: what is possible at a maximum at infinity, and which directions change it.

The supports of a fit leave a face of the polytope of moments. Along some directions every feature
is the same on all of its cells, so that data on it cannot tell anything about them: the null space
of the covariance of the features under the uniform distribution on the face.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gml.model.undirected.exact.clique_margins import CliqueMargins
from gml.model.undirected.fitting import Support
from gml.model.undirected.quality.information import feature_covariance
from gml.model.undirected.terms import Terms

Table = NDArray[np.float64]

_NOTHING_VARIES = 1e-10
_ROUNDED = 1e-14


def deviations(covariance: Table) -> Table:
    """Return standard deviations to divide by: 1 where a variance is the rounding of the others.

    Examples
    --------
    >>> deviations(np.diag([4.0, 1e-17, 0.0])).tolist()
    [2.0, 1.0, 1.0]
    """
    variances = np.diag(covariance)
    varies = variances > _ROUNDED * variances.max(initial=0.0)
    found: Table = np.sqrt(np.where(varies, variances, 1.0))
    return found


def directions_of(covariance: Table) -> tuple[Table, Table]:
    """Return bases, in columns, of the directions in which features vary, and of all others.

    Examples
    --------
    >>> varying, nothing = directions_of(np.array([[2.0, 0.0], [0.0, 0.0]]))
    >>> np.abs(varying).tolist(), np.abs(nothing).tolist()
    ([[1.0], [0.0]], [[0.0], [1.0]])
    """
    # Features that are rare vary little: what counts is whether others determine them.
    scale = deviations(covariance)
    values, vectors = np.linalg.eigh(covariance / np.outer(scale, scale))
    kept = values > _NOTHING_VARIES * values.max(initial=0.0)
    varying: Table = np.linalg.qr(scale[:, None] * vectors[:, kept])[0]
    nothing: Table = np.linalg.qr(vectors[:, ~kept] / scale[:, None])[0]
    return varying, nothing


def face_directions(
    terms: Terms, supports: Sequence[Support], *, max_memory: int | None = None
) -> Table:
    """Return a basis (coefficients × rank) of the directions that change what a face allows."""
    scopes = (*terms.generators, *(support.scope for support in supports))
    tables = _uniform(terms, supports)
    return directions_of(feature_covariance(terms, scopes, tables, max_memory=max_memory))[0]


def cells_of_face(
    terms: Terms, supports: Sequence[Support], *, max_memory: int | None = None
) -> int:
    """Return how many cells of the joint table the supports leave."""
    if not supports:
        return math.prod(terms.sizes)
    scopes = (*terms.generators, *(support.scope for support in supports))
    engine = CliqueMargins(terms, scopes, max_memory=max_memory)
    return round(math.exp(engine.of(_uniform(terms, supports)).log_z))


def _uniform(terms: Terms, supports: Sequence[Support]) -> list[Table]:
    zeros = [np.zeros(terms.shape(generator)) for generator in terms.generators]
    return [*zeros, *(support.wall for support in supports)]

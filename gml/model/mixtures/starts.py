"""Where climbs begin: classes about rows that lie far apart.

A row is drawn by its weight, and each further one by its weight times the squared distance to the
nearest before it, as k-means++ does (Arthur & Vassilvitskii 2007, SODA 1027): differences of
numbers in standard deviations, and 2 for labels that differ, which is what two random numbers
have on average. Cells that one of two rows lacks are left out, and the rest counts for more. Rows
go to the nearest, and what they have makes the classes, smoothed by what all rows have, so that
nothing is impossible.

At most some thousand rows are looked at, drawn by their weights. What is drawn depends on the seed,
the names of the columns and the number of classes; rows stand in an order of their content.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from gml.data.name_keys import joint_key
from gml.model.mixtures.covariances import CovarianceModel
from gml.model.mixtures.parameters import MixtureParameters
from gml.model.mixtures.rows import MixtureRows

Vector = NDArray[np.float64]

_MOST_ROWS = 2000
# Rows like all rows that each class has beside its own.
_SMOOTHING = 2.0
_LEAST_VARIANCE = 0.05


def starts(
    rows: MixtureRows, n_classes: int, model: CovarianceModel, *, seed: int, count: int
) -> Iterator[Vector]:
    """Yield the parameters that climbs begin with."""
    margins = _margins(rows)
    for number in range(count):
        rng = np.random.default_rng(joint_key(rows.names, seed, n_classes, number))
        yield _start(rows, n_classes, model, margins, rng).vector()


def _margins(rows: MixtureRows) -> Vector:
    """The share of each level among all rows, none of them 0; 1 for what is missing."""
    found = np.ones(rows.n_table_rows)
    for j, variable in enumerate(rows.labels):
        size = len(variable.levels or ())
        counts = np.bincount(rows.codes[:, j], rows.weights, size + 1)[:size] + 1.0
        found[rows.offsets[j] : rows.offsets[j] + size] = counts / counts.sum()
    return found


def _start(
    rows: MixtureRows,
    n_classes: int,
    model: CovarianceModel,
    margins: Vector,
    rng: np.random.Generator,
) -> MixtureParameters:
    chosen = _some_rows(rows, rng)
    codes, values, weights = rows.codes[chosen], rows.values[chosen], rows.weights[chosen]
    if len(chosen) == _MOST_ROWS < len(rows.weights):
        # Drawn by their weights, they count alike.
        weights = np.ones(len(chosen))
    nearest = _nearest(_Distances(rows, codes, values), weights, n_classes, rng)
    own = np.zeros((n_classes, len(chosen)))
    own[nearest, np.arange(len(chosen))] = weights
    sizes = own.sum(axis=1)
    shares = (sizes + weights.sum() / (4 * n_classes)) / (1.25 * weights.sum())
    tables = np.empty((rows.n_table_rows, n_classes))
    for j, variable in enumerate(rows.labels):
        size, at = len(variable.levels or ()), int(rows.offsets[j])
        places = codes[:, j] * np.intp(n_classes) + nearest
        counts = np.bincount(places, weights, (size + 1) * n_classes).reshape(-1, n_classes)
        part = _SMOOTHING * margins[at : at + size, None] + counts[:size]
        tables[at : at + size] = part / part.sum(axis=0)
        tables[at + size] = 1.0
    seen = ~np.isnan(values)
    filled = np.where(seen, values, 0.0)
    means = (own @ filled) / (own @ seen + _SMOOTHING / 2)
    # A class is as wide as classes are on average: what it has itself may be one row.
    away = np.where(seen, filled - means[nearest], 0.0) ** 2
    variances = (weights @ away) / np.maximum(weights @ seen, 1.0)
    variances = np.maximum(variances, _LEAST_VARIANCE * rows.variances)
    return MixtureParameters(shares, tables, means, _covariances(model, n_classes, variances))


def _covariances(model: CovarianceModel, n_classes: int, variances: Vector) -> Vector:
    """Covariances of classes that are all as wide, without correlations."""
    if len(variances) == 0:
        return np.zeros(0)
    entries = 1 if model.is_shared else n_classes
    if model.form == "sphere":
        return np.full(entries, variances.mean())
    if model.form == "diagonal":
        return np.tile(variances, (entries, 1))
    return np.tile(np.diag(variances), (entries, 1, 1))


def _some_rows(rows: MixtureRows, rng: np.random.Generator) -> NDArray[np.intp]:
    """Positions of distinct rows: all, or some drawn by their weights."""
    there = np.flatnonzero(rows.weights > 0)
    if len(there) <= _MOST_ROWS:
        return there
    # Without replacement, by exponential races (Efraimidis & Spirakis 2006, IPL 97:181).
    times = rng.standard_exponential(len(there)) / rows.weights[there]
    return there[np.sort(np.argpartition(times, _MOST_ROWS)[:_MOST_ROWS])]


class _Distances:
    """Squared distances of some rows."""

    def __init__(self, rows: MixtureRows, codes: NDArray[np.integer], values: Vector) -> None:
        self._codes, self._values = codes, values
        sizes = np.array([len(variable.levels or ()) for variable in rows.labels], dtype=np.int64)
        self._has_label = codes != sizes
        self._has_number = ~np.isnan(values)
        self._filled = np.where(self._has_number, values, 0.0)
        self._n_cells = len(rows.labels) + len(rows.numbers)

    def from_row(self, row: int) -> Vector:
        """The squared distances of all from one."""
        labels = self._has_label & self._has_label[row]
        numbers = self._has_number & self._has_number[row]
        away = 2.0 * ((self._codes != self._codes[row]) & labels).sum(axis=1)
        away += (((self._filled - self._filled[row]) ** 2) * numbers).sum(axis=1)
        both = labels.sum(axis=1) + numbers.sum(axis=1)
        found: Vector = away * self._n_cells / np.maximum(both, 1)
        return found


def _nearest(
    distances: _Distances, weights: Vector, n_classes: int, rng: np.random.Generator
) -> NDArray[np.intp]:
    """Draw rows far apart; for each row, the number of the one that it is nearest to."""
    least = np.full(len(weights), np.inf)
    nearest = np.zeros(len(weights), dtype=np.intp)
    chances = weights
    for k in range(n_classes):
        total = chances.sum()
        chances = chances if total > 0 else weights
        row = int(np.searchsorted(np.cumsum(chances), rng.random() * chances.sum(), side="right"))
        away = distances.from_row(min(row, len(weights) - 1))
        nearest[away < least] = k
        least = np.minimum(least, away)
        chances = weights * least
    return nearest

"""How many classes, and which model of covariances: every combination fitted, and the best chosen.

Models that are the same for a number of classes or columns are fitted once: with one class, or one
number, several are. Of equal values of the criterion, fewer parameters win, then the earlier model.

By folds, rows are put into parts at random, each part is left out in turn, and the criterion is ln
of the density of the rows left out, over all parts. A level that the other parts lack in some class
would be impossible; so for the rows left out, each table is that of its class and one row more,
shared out among the levels.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gml.data.name_keys import joint_key
from gml.data.resampling import fold_counts, require_splittable
from gml.kernel.processes import in_processes_if_long
from gml.model.mixtures.covariances import MODELS, CovarianceModel
from gml.model.mixtures.fitting import (
    MixtureData,
    MixtureFit,
    MixtureSettings,
    climb_mixture,
    fit_mixture,
)
from gml.model.mixtures.parameters import MixtureParameters
from gml.model.mixtures.problem import MixtureProblem
from gml.model.mixtures.rows import MixtureRows
from gml.progress import reporter
from gml.resources import require_memory

Vector = NDArray[np.float64]

CRITERIA = ("bic", "icl", "folds")
FOLDS = 10


@dataclass(frozen=True)
class Choice:
    """All mixtures that were fitted, and the best of them, if any counts."""

    fits: tuple[MixtureFit, ...]
    best: MixtureFit | None
    complete: bool


def combinations(
    counts: Sequence[int], names: Sequence[str], n_numbers: int
) -> Iterator[tuple[int, CovarianceModel]]:
    """Yield numbers of classes with models, without those that are the same.

    Examples
    --------
    >>> [(k, model.name) for k, model in combinations([1, 2], ["EII", "VII", "VVV"], 2)]
    [(1, 'EII'), (1, 'VVV'), (2, 'EII'), (2, 'VII'), (2, 'VVV')]
    """
    models = [model for name, model in MODELS.items() if name in names]
    for count in counts:
        known = set()
        for model in models if n_numbers else [MODELS["VVV"]]:
            same = model.same_for(count, n_numbers)
            if same not in known:
                known.add(same)
                yield count, model


def choose_mixture(
    data: MixtureData,
    counts: Sequence[int],
    names: Sequence[str],
    settings: MixtureSettings,
    *,
    criterion: str = "bic",
    folds: int = FOLDS,
) -> Choice:
    """Fit every combination, and choose the one with the highest criterion."""
    todo = list(combinations(counts, names, len(data.rows.numbers)))
    parts = _parts(data.rows, folds, settings.seed) if criterion == "folds" else None
    fits: list[MixtureFit] = []
    with reporter().counting("mixtures", len(todo)) as count:
        for n_classes, model in todo:
            fit = fit_mixture(data, n_classes, model, settings)
            if parts is not None and fit.parameters is not None and not settings.deadline.passed:
                held_out = _held_out(data, parts, n_classes, model, settings)
                fit = replace(fit, held_out=held_out)
            fits.append(fit)
            count(len(fits))
            if settings.deadline.passed:
                break
    in_time = len(fits) == len(todo) and all(fit.in_time for fit in fits)
    return Choice(tuple(fits), _best(fits, criterion), in_time and not settings.deadline.passed)


def _best(fits: Sequence[MixtureFit], criterion: str) -> MixtureFit | None:
    best: tuple[float, int] | None = None
    found = None
    # Where time ran out before the folds, the mixture that was fitted is better than none.
    names = (criterion,) if criterion == "bic" else (criterion, "bic")
    for name in names:
        for fit in fits:
            value = fit.criterion(name)
            if value is None or math.isnan(value):
                continue
            rank = (value, -fit.n_parameters)
            if best is None or rank > best:
                best, found = rank, fit
        if found is not None:
            return found
    return None


def _parts(rows: MixtureRows, folds: int, seed: int) -> list[Vector]:
    """The weights of distinct rows in each fold."""
    key = joint_key(rows.names, seed, folds)
    require_memory(8 * folds * len(rows.weights), None, f"{folds} folds")
    units = np.rint(rows.weights).astype(np.int64)
    if (units == rows.weights).all():
        return [part.astype(np.float64) for part in fold_counts(units, folds, seed=key)]
    # Rows that count in part go to a fold as they are.
    require_splittable(units, folds)
    of_group = np.random.default_rng(key).permutation(len(rows.weights)) % folds
    return [np.where(of_group == fold, rows.weights, 0.0) for fold in range(folds)]


def _held_out(
    data: MixtureData,
    parts: Sequence[Vector],
    n_classes: int,
    model: CovarianceModel,
    settings: MixtureSettings,
) -> float | None:
    """ln of the density of all rows, each under the mixture of the other folds.

    Folds are fitted in as many processes as there are threads, if they take long.
    """
    some = [part for part in parts if part.any()]

    def of_part(number: int) -> float | None:
        part = some[number]
        rest = data.weighing(data.rows.weights - part)
        if settings.deadline.passed or not rest.rows.weights.any():
            return None
        climbs, problem = climb_mixture(rest, n_classes, model, settings)
        if climbs.best.flaw is not None:
            return None
        parameters = _smoothed(problem.space.of(climbs.best.parameters), problem)
        left_out = MixtureProblem(
            problem.rows.weighing(part), n_classes, model, reference=None, threads=settings.threads
        )
        return float(left_out.plain(parameters).objective)

    total = 0.0
    for found in in_processes_if_long(of_part, len(some), settings.threads):
        if found is None:
            return None
        total += found
    return total


def _smoothed(parameters: MixtureParameters, problem: MixtureProblem) -> MixtureParameters:
    """Give each table one row more, shared out among its levels."""
    rows = problem.rows
    sizes = parameters.shares * rows.n
    tables = parameters.tables.copy()
    for j, variable in enumerate(rows.labels):
        n_levels, at = len(variable.levels or ()), int(rows.offsets[j])
        part = tables[at : at + n_levels] * sizes + 1 / n_levels
        tables[at : at + n_levels] = part / (sizes + 1)
    return replace(parameters, tables=tables)

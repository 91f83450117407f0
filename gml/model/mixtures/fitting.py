"""Fit a mixture of some number of classes: climbs from many starts, and what is known of the best.

Criteria are on the scale of the log-likelihood, and higher is better: bic = ll − ½ k ln n
(Schwarz 1978), and icl, which is bic less the uncertainty of the classes, Σ ln maxₖ rᵢₖ (Biernacki,
Celeux & Govaert 2000, IEEE PAMI 22:719). mclust's are twice these.

Classes are numbered as the levels of any hidden node are (`hidden_labels`): by decreasing size, and
those of one size by their means, then by their tables, that with the larger number first.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gml.data.problems import require_moderate
from gml.data.row_groups import row_parts
from gml.errors import DataError, parameter
from gml.kernel.blas import one_blas_thread
from gml.model.em.climbing import MOST_STEPS, Climbs, climb_from
from gml.model.em.dependent_columns import dependent_numbers
from gml.model.em.em_report import EmReport
from gml.model.em.hidden_labels import order_of_levels
from gml.model.em.normal import normal_em
from gml.model.mixtures.covariances import CovarianceModel
from gml.model.mixtures.identification import TableFit, generic_rank, table_fit
from gml.model.mixtures.parameters import MixtureParameters
from gml.model.mixtures.problem import MixtureProblem
from gml.model.mixtures.rows import MixtureRows
from gml.model.mixtures.starts import starts
from gml.progress import Deadline

Vector = NDArray[np.float64]

RESTARTS = 20
# Correlations closer to singular than this have no inverse worth the name.
_DEPENDENT = 1e-10


@dataclass(frozen=True)
class MixtureSettings:
    """How to climb: from how many starts, how far, and what is added to variances."""

    restarts: int = RESTARTS
    most_steps: int = MOST_STEPS
    seed: int = 0
    regularise: float = 0.0
    threads: int = 1
    deadline: Deadline = field(default_factory=Deadline)


@dataclass(frozen=True, repr=False)
class MixtureFit:
    """A mixture at its best end; criteria are None where it has none.

    `ends` are the objectives of all starts in their order, None for those that collapsed;
    `discarded` says how these did. Without an end that counts, there are no parameters.
    """

    n_classes: int
    covariance: str | None
    """The model of covariances; None without numbers."""
    n_parameters: int
    parameters: MixtureParameters | None = field(repr=False)
    expected_counts: Vector | None = field(repr=False)
    """How many rows of each class to expect with each level, as the tables have them."""
    log_likelihood: float | None
    objective: float | None
    bic: float | None
    icl: float | None
    entropy: float | None
    """1 − Σ −r ln r / (n ln K): 1 where every row tells its class. None for one class."""
    held_out: float | None
    """ln of the density of rows that each fold left out, if that was asked for."""
    table: TableFit | None
    rank: int | None
    """The dimension of a model of labels alone; below the parameters, it is not identified."""
    steps: int
    """Steps of EM from the start with the best end."""
    converged: bool
    remaining_gain: float
    remaining_change: float
    in_time: bool
    ends: tuple[float | None, ...]
    times_best: int
    discarded: tuple[str, ...]
    report: EmReport | None = field(repr=False)
    """How EM went, as other fits say it."""

    def __repr__(self) -> str:
        classes = f"{self.n_classes} class{'es'[: 2 * (self.n_classes != 1)]}"
        figures = {"log-likelihood": self.log_likelihood, "bic": self.bic, "icl": self.icl}
        known = [f"{name} {value:.6g}" for name, value in figures.items() if value is not None]
        model = [] if self.covariance is None else [self.covariance]
        return f"<MixtureFit: {' '.join([classes, *model])}{', ' * bool(known)}{', '.join(known)}>"

    @property
    def is_identified(self) -> bool:
        """Whether no other parameters give the same probabilities, as far as is known."""
        return self.rank is None or self.rank >= self.n_parameters

    def criterion(self, name: str) -> float | None:
        """The value of `bic`, `icl` or `folds`."""
        return {"bic": self.bic, "icl": self.icl, "folds": self.held_out}[name]


class MixtureData:
    """Rows, in the units that models need, and the covariance of all of them.

    Of the settings, what bounds a climb bounds that of the covariance, too. Rows that weigh only a
    part of the table are compared with the covariance of the whole.
    """

    def __init__(
        self,
        rows: MixtureRows,
        settings: MixtureSettings | None = None,
        *,
        whole: MixtureData | None = None,
    ) -> None:
        self.rows = rows
        self._settings = settings or MixtureSettings()
        self._whole = whole

    @functools.cached_property
    def _common(self) -> MixtureRows:
        return self.rows.in_common_units()

    def rows_for(self, model: CovarianceModel) -> MixtureRows:
        """The rows as a model needs them."""
        return self._common if model.form == "sphere" else self.rows

    def weighing(self, weights: Vector) -> MixtureData:
        """A part of the rows: the same with other weights."""
        return MixtureData(self.rows.weighing(weights), self._settings, whole=self._whole or self)

    @functools.cached_property
    def covariance(self) -> Vector | None:
        """The covariance of all rows, as one normal distribution has it, in scaled units.

        None where it has no inverse: numbers are functions of others, or so few rows have them
        together that the likelihood is highest where they would be.
        """
        settings = self._settings
        try:
            found = normal_em(
                self.rows.values,
                self.rows.weights,
                names=[variable.name for variable in self.rows.numbers],
                most_steps=settings.most_steps,
                deadline=settings.deadline,
                threads=settings.threads,
            ).covariance
        except DataError:
            return None
        if not np.isfinite(found).all() or float(np.linalg.eigvalsh(found).min()) <= _DEPENDENT:
            return None
        return found + settings.regularise * np.eye(len(found))

    @functools.cached_property
    def dependent(self) -> tuple[str, ...]:
        """Numbers that are linear functions of one another in all rows that have them."""
        if self.covariance is not None:
            return ()
        there = self.rows.weights > 0
        involved = dependent_numbers(self.rows.values[there])
        return tuple(self.rows.numbers[j].name for j in involved)

    def reference(self, model: CovarianceModel) -> Vector | None:
        """The covariance that those of classes are compared with."""
        if not self.rows.numbers:
            return None
        if self._whole is not None:
            return self._whole.reference(model)
        if model.form == "full" and self.covariance is not None:
            return self.covariance
        return np.diag(self.rows_for(model).variances + self._settings.regularise)


def require_varying(rows: MixtureRows) -> None:
    """Refuse columns that nothing can be fitted to: no number, or one only."""
    for j, variable in enumerate(rows.numbers):
        seen = ~np.isnan(rows.values[:, j]) & (rows.weights > 0)
        if not seen.any():
            raise DataError(f"the column {variable.name!r} is wholly missing; leave it out")
        if not rows.values[seen, j].any():
            raise DataError(
                f"the column {variable.name!r} has the same number in all rows, and so no density; "
                f"leave it out ({parameter('exclude')})"
            )
    numbers = [variable.name for variable in rows.numbers]
    require_moderate(numbers, rows.scale.tolist(), "a mixture")
    for j, variable in enumerate(rows.labels):
        seen = (rows.codes[:, j] < len(variable.levels or ())) & (rows.weights > 0)
        if not seen.any():
            raise DataError(f"the column {variable.name!r} is wholly missing; leave it out")


def fit_mixture(
    data: MixtureData, n_classes: int, model: CovarianceModel, settings: MixtureSettings
) -> MixtureFit:
    """Climb from all starts, and describe the best end."""
    climbs, problem = climb_mixture(data, n_classes, model, settings)
    return _described(data, problem, climbs)


def climb_mixture(
    data: MixtureData, n_classes: int, model: CovarianceModel, settings: MixtureSettings
) -> tuple[Climbs, MixtureProblem]:
    """Climb from all starts; one class has one maximum."""
    rows = data.rows_for(model)
    problem = MixtureProblem(
        rows,
        n_classes,
        model,
        reference=data.reference(model),
        regularise=settings.regularise,
        threads=settings.threads,
    )
    count = settings.restarts if n_classes > 1 else 1
    with one_blas_thread():
        climbs = climb_from(
            problem,
            starts(rows, n_classes, model, seed=settings.seed, count=count),
            count,
            most_steps=settings.most_steps,
            deadline=settings.deadline,
        )
    return climbs, problem


def n_parameters(rows: MixtureRows, n_classes: int, model: CovarianceModel) -> int:
    """The free parameters of a mixture."""
    levels = sum(len(variable.levels or ()) - 1 for variable in rows.labels)
    size = len(rows.numbers)
    return n_classes - 1 + n_classes * (levels + size) + model.n_parameters(n_classes, size)


def _described(data: MixtureData, problem: MixtureProblem, climbs: Climbs) -> MixtureFit:
    rows, best = problem.rows, climbs.best
    count = n_parameters(rows, problem.n_classes, problem.model)
    rank = None if rows.numbers else generic_rank(rows.labels, problem.n_classes)
    known: dict[str, object] = {
        "n_classes": problem.n_classes,
        "covariance": problem.model.name if rows.numbers else None,
        "n_parameters": count,
        "rank": rank,
        "held_out": None,
        "steps": best.steps,
        "converged": best.converged,
        "remaining_gain": best.remaining_gain,
        "remaining_change": best.remaining_change,
        "in_time": all(one.in_time for one in climbs.all),
        "ends": tuple(None if one.flaw else one.objective for one in climbs.all),
        "times_best": 0 if best.flaw else climbs.times_best,
        "discarded": tuple(str(one.flaw) for one in climbs.flawed),
        "report": None,
    }
    if best.flaw is not None:
        nothing = dict.fromkeys(
            (
                "parameters",
                "expected_counts",
                "log_likelihood",
                "objective",
                "bic",
                "icl",
                "entropy",
                "table",
            )
        )
        return MixtureFit(**known, **nothing)  # type: ignore[arg-type]
    parameters = _in_order(problem.space.of(best.parameters), rows)
    shares, logs = problem.shares(parameters)
    found = problem.plain(parameters)
    log_likelihood = found.objective
    bic = log_likelihood - 0.5 * count * math.log(rows.n)
    sure = _summed(rows, lambda part: np.log(shares[part].max(axis=1)))
    known["report"] = EmReport.of(
        climbs, log_likelihood=log_likelihood, n_parameters=count, rank=rank
    )
    return MixtureFit(
        parameters=parameters,
        expected_counts=found.counts,
        log_likelihood=log_likelihood,
        objective=best.objective,
        bic=bic,
        icl=bic + sure,
        entropy=_relative_entropy(shares, rows),
        table=None if rows.numbers else table_fit(rows, logs, rank),
        **known,  # type: ignore[arg-type]
    )


def _summed(rows: MixtureRows, terms: Callable[[slice], Vector]) -> float:
    """The sum of something over all rows, with their weights."""
    parts = ((rows.weights[p] * terms(p)).tolist() for p in row_parts(len(rows.weights)))
    return math.fsum(itertools.chain.from_iterable(parts))


def _relative_entropy(shares: Vector, rows: MixtureRows) -> float | None:
    n_classes = shares.shape[1]
    if n_classes == 1:
        return None

    def terms(part: slice) -> Vector:
        own = shares[part]
        found: Vector = -np.sum(own * np.log(np.maximum(own, 1e-300)), axis=1)
        return found

    whole = _summed(rows, terms)
    return 1 - whole / (rows.n * math.log(n_classes))


def _in_order(parameters: MixtureParameters, rows: MixtureRows) -> MixtureParameters:
    """Number the classes."""
    # What is missing has a 1 in all classes, which tells none apart.
    profiles = np.concatenate([parameters.means, parameters.tables.T], axis=1)
    order = order_of_levels(parameters.shares, profiles)
    return parameters.reordered(np.array(order, dtype=np.intp))

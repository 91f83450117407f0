"""Choose the penalty of a conditional field, and judge it, by folds: of rows, or of sequences.

For each penalty of the grid 10^-3, 10^-2.5, …, 10^2 a field is fitted without each fold and its log
loss is found on the fold; the smallest mean over all rows wins, ties going to the larger penalty.
Fits go from the largest penalty down, so that each may begin where the one before ended. How a
field is fitted and what its figures are, its `Trials` know: those of tables and of sequences.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from gml.kernel.processes import in_processes_if_long
from gml.model.conditional.fit import DEFAULT_L2
from gml.model.conditional.penalised_fit import F, Figures
from gml.progress import reporter

AUTO = "auto"
"""The penalty l2 that folds choose."""
L2_GRID = tuple(10.0 ** (exponent / 2) for exponent in range(-6, 5))
"""10^-3 to 10^2 in half decades."""
FOLDS = 10

R = TypeVar("R")
M = TypeVar("M")
R_contra = TypeVar("R_contra", contravariant=True)
M_contra = TypeVar("M_contra", contravariant=True)
F_co = TypeVar("F_co", bound=Figures, covariant=True)


class FoldTally(Protocol[R_contra, M_contra, F_co]):
    """Adds up how good fitted fields are on folds."""

    @property
    def log_loss(self) -> float:
        """The mean −ln p of what was true so far."""

    def add(self, fitted: M_contra, fold: R_contra, /) -> None:
        """Add what a field says of a fold."""

    def figures(self) -> F_co:
        """What was found so far."""


class Trials(Protocol[R, M, F_co]):
    """Folds of rows R, fields M that are fitted without them, and the figures F of those."""

    def folds(self, k: int) -> Iterator[tuple[R, R]]:
        """Yield the rest and the fold, k times."""

    def fit(self, rest: R, l2: float, start: M | None) -> M | None:
        """Fit a field, `start` being that of the penalty before; None if time was up."""

    def tally(self) -> FoldTally[R, M, F_co]:
        """Return a new tally."""


@dataclass(frozen=True)
class ByFolds(Generic[F]):
    """What the folds say: the best penalty, how good it is, and the log loss of each penalty."""

    l2: float
    figures: F
    path: tuple[tuple[float, float], ...]


def judged_by_folds(
    trials: Trials[R, M, F], grid: tuple[float, ...], k: int, *, threads: int = 1
) -> ByFolds[F] | None:
    """Judge each penalty of a grid by k folds; None if time was up before all were done.

    Folds are fitted in as many processes as there are threads, if they take long.
    """
    descending = sorted(grid, reverse=True)
    tallies = {l2: trials.tally() for l2 in descending}

    def fitted_without(number: int) -> list[M] | None:
        rest, _ = next(itertools.islice(trials.folds(k), number, None))
        fits: list[M] = []
        for l2 in descending:
            fitted = trials.fit(rest, l2, fits[-1] if fits else None)
            if fitted is None:
                return None
            fits.append(fitted)
        return fits

    found = in_processes_if_long(fitted_without, k, threads)
    for number, ((_, fold), fits) in enumerate(zip(trials.folds(k), found, strict=True)):
        if fits is None:
            return None
        for l2, fitted in zip(descending, fits, strict=True):
            tallies[l2].add(fitted, fold)
        reporter().advance("folds", number + 1, k)
    losses = {l2: tallies[l2].log_loss for l2 in descending}
    # The first of equal ones, and so the largest, as they descend.
    best = min(descending, key=losses.__getitem__)
    path = tuple((l2, losses[l2]) for l2 in sorted(grid))
    return ByFolds(best, tallies[best].figures(), path)


@dataclass(frozen=True)
class ChosenPenalty(Generic[F]):
    """The penalty l2 to fit with, and what folds said, if they were asked and had the time."""

    l2: float
    n_folds: int | None
    judged: ByFolds[F] | None
    is_auto: bool

    @property
    def in_time(self) -> bool:
        """Whether there was time for the folds that were asked for."""
        return self.n_folds is None or self.judged is not None

    def heldout(self, on_holdout: F | None) -> dict[str, Any]:
        """What a summary says of rows that were not fitted: those held out, or else the folds."""
        judged = self.judged
        figures = on_holdout if on_holdout is not None or judged is None else judged.figures
        by = "holdout" if on_holdout is not None else "folds"
        return {
            "heldout": figures,
            "heldout_by": None if figures is None else by,
            "folds": None if judged is None else self.n_folds,
            "path": judged.path if judged is not None and self.is_auto else (),
        }


def chosen_penalty(
    trials: Trials[R, M, F], l2: float | str, *, folds: int | None, threads: int = 1
) -> ChosenPenalty[F]:
    """Judge the penalty by folds, or choose it; without folds, it is what is asked for."""
    is_auto = l2 == AUTO
    first = DEFAULT_L2 if isinstance(l2, str) else l2
    k = FOLDS if folds is None and is_auto else folds
    if k is None:
        return ChosenPenalty(first, None, None, is_auto)
    judged = judged_by_folds(trials, L2_GRID if is_auto else (first,), k, threads=threads)
    return ChosenPenalty(first if judged is None else judged.l2, k, judged, is_auto)

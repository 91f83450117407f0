"""The regressions of a node side by side, one per configuration of labels, and what parents tell.

All are in common units: z = (1, parents about their means in standard deviations over all rows of
the model), the node about its mean in its standard deviation. A configuration c with the share w of
the model's rows has the coefficients β, the average A of zz′ and the variance s² of the errors.

*Information.* What some parents tell is what is lost without them. Configurations that differ only
in labels that are left out form a group, with shares π in it, which has one regression on the terms
that remain: b minimises σ² = Σ π (s² + (β−b)′A(β−b)), and I = Σ w ½ ln σ²/s². By the envelope
theorem, dI/dβ = w A(β−b)/σ² and dI/d ln s² = ½ w (s²/σ² − 1). Both sides of a comparison have the A
and w of the model's rows, so that parents which moved are no loss.

*Evidence.* Whether rows show that a parent tells anything is asked of the coefficients and
variances: those of a group are equal without a label, and a coefficient is 0 without a number. The
statistic of Wald with sandwich covariances, and the kurtosis of the errors for ln s², against F.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gml.gate.gaussian_families import GaussianFamily
from gml.gate.tails import log_f_tail
from gml.model.regression_rows import RegressionRows, Vector

# Variances and eigenvalues below this share of the largest are rounding.
_NOTHING = 1e-12


@dataclass(frozen=True)
class Information:
    """Nats that are lost without some parents, and how these change with each regression."""

    nats: float
    by_slopes: Vector
    """Configurations × terms."""
    by_variances: Vector
    """By ln s² of each configuration."""
    apart: Vector
    """w (1 − π)/σ² of each configuration."""


@dataclass(frozen=True)
class Lines:
    """The regressions of one side; `covariances` are those of the coefficients.

    `spreads` has the variance of ln s² of each.
    """

    weights: Vector
    grams: Vector
    slopes: Vector
    variances: Vector
    covariances: Vector
    spreads: Vector
    rows: Vector

    @property
    def n_terms(self) -> int:
        """The intercept and the parents that are numbers."""
        return int(self.slopes.shape[1])

    def information(self, groups: NDArray[np.int64], terms: Sequence[int]) -> Information:
        """What is lost if configurations of a group have one regression on some terms."""
        nats: list[float] = []
        slopes, variances = np.zeros_like(self.slopes), np.zeros(len(self.weights))
        apart = np.zeros(len(self.weights))
        kept = np.array(terms, dtype=np.int64)
        for group in range(int(groups.max(initial=-1)) + 1):
            at = np.flatnonzero(groups == group)
            weights = self.weights[at]
            shares = weights / weights.sum()
            gram = np.einsum("c,cij->ij", shares, self.grams[at])
            moment = np.einsum("c,cij,cj->i", shares, self.grams[at], self.slopes[at])
            common = np.zeros(self.n_terms)
            common[kept] = np.linalg.solve(gram[np.ix_(kept, kept)], moment[kept])
            away = self.slopes[at] - common
            pulled = np.einsum("cij,cj->ci", self.grams[at], away)
            between = np.maximum(np.einsum("ci,ci->c", away, pulled), 0.0)
            left = float(shares @ (self.variances[at] + between))
            ratios = self.variances[at] / left
            nats.extend((-0.5 * weights * np.log(ratios)).tolist())
            slopes[at] = weights[:, None] * pulled / left
            variances[at] = 0.5 * weights * (ratios - 1)
            apart[at] = weights * (1 - shares) / left
        return Information(math.fsum(nats), slopes, variances, apart)

    def bias(self, found: Information) -> float:
        """How many nats too many chance gives, by which groups look different."""
        by_slopes = np.einsum("cij,cji->c", self.grams, self.covariances)
        return float(0.5 * np.sum(found.apart * (by_slopes + 0.5 * self.variances * self.spreads)))

    def log_p_of_labels(self, groups: NDArray[np.int64]) -> float:
        """ln p of the hypothesis that the regressions of each group are all the same."""
        total: list[float] = []
        df = 0
        for group in range(int(groups.max(initial=-1)) + 1):
            at = np.flatnonzero(groups == group)
            if len(at) < 2:
                continue
            if not np.isfinite(self.covariances[at]).all():
                # Numbers near the ends of what floats can hold say nothing.
                return 0.0
            inverses = np.array([_inverse(self.covariances[c]) for c in at])
            summed = inverses.sum(axis=0)
            centre = np.linalg.pinv(summed) @ np.einsum("cij,cj->i", inverses, self.slopes[at])
            away = self.slopes[at] - centre
            total.append(float(np.einsum("ci,cij,cj->", away, inverses, away)))
            certain = 1 / np.maximum(self.spreads[at], _NOTHING)
            logs = np.log(self.variances[at])
            about = logs - float(certain @ logs) / float(certain.sum())
            total.append(float(certain @ about**2))
            df += (len(at) - 1) * (self.n_terms + 1)
        return self._log_p(math.fsum(total), df)

    def log_p_of_term(self, k: int) -> float:
        """ln p of the hypothesis that one coefficient is 0 in all configurations."""
        variances = np.maximum(self.covariances[:, k, k], _NOTHING)
        return self._log_p(float(np.sum(self.slopes[:, k] ** 2 / variances)), len(self.weights))

    def _log_p(self, statistic: float, df: int) -> float:
        left = float(np.sum(self.rows - self.n_terms))
        if df == 0 or left <= 0:
            return 0.0
        return log_f_tail(max(0.0, statistic) / df, float(df), left)


def _inverse(covariance: Vector) -> Vector:
    found: Vector = np.linalg.pinv(covariance, rcond=_NOTHING, hermitian=True).astype(np.float64)
    return found


@dataclass(frozen=True)
class LinesOfNode:
    """Both sides of some regressions of a node, all of which the model's rows can tell.

    `units` turn coefficients of z as `gaussian_families` has them, of each regression by itself,
    into common ones; `new` is None where not all have new rows that tell every coefficient.
    """

    families: tuple[GaussianFamily, ...]
    units: Vector
    old: Lines
    new: Lines | None


def lines_of_node(families: Sequence[GaussianFamily]) -> LinesOfNode | None:
    """Put the regressions side by side; None if there are none, or some lack old rows."""
    if not families or any(family.old is None for family in families):
        return None
    kept = [_in_order(family) for family in families]
    rows = np.array([family.rows_old or 0 for family in families], dtype=np.float64)
    weights = rows / rows.sum()
    means, sds = _over_all(kept, weights)
    units, grams, slopes, variances, covariances, spreads = [], [], [], [], [], []
    for family, one in zip(families, kept, strict=True):
        old = family.old
        assert old is not None
        unit = _unit(family, one, means, sds)
        from_own = unit * sds[-1] / family.cpd.sd
        own = old.slopes.copy()
        own[0] = (one.means[-1] - means[-1]) / family.cpd.sd
        by_freedom = old.n / (old.n - len(own))
        inverse = np.linalg.inv(from_own)
        units.append(unit)
        grams.append(inverse.T @ old.gram @ inverse)
        slopes.append(unit @ own)
        variances.append((family.cpd.sd / sds[-1]) ** 2 * by_freedom)
        covariances.append(unit @ old.covariance @ unit.T)
        spreads.append(max(0.0, old.fourth / by_freedom**2 - 1) / old.n)
    before = Lines(
        weights,
        np.array(grams),
        np.array(slopes),
        np.array(variances),
        np.array(covariances),
        np.array(spreads),
        rows,
    )
    found = LinesOfNode(tuple(families), np.array(units), before, None)
    return LinesOfNode(found.families, found.units, before, _new_lines(found))


def _new_lines(found: LinesOfNode) -> Lines | None:
    slopes, variances, covariances, spreads, rows = [], [], [], [], []
    for k, family in enumerate(found.families):
        new, unit = family.new, found.units[k]
        if new is None or not new.has_all_terms or new.variance <= 0:
            return None
        assert family.old is not None
        slopes.append(found.old.slopes[k] + unit @ new.change)
        by_freedom = family.old.n / (family.old.n - len(family.old.slopes))
        variances.append(found.old.variances[k] / by_freedom * new.variance)
        covariances.append(unit @ (new.bread @ new.meat @ new.bread / new.n) @ unit.T)
        spreads.append(max(0.0, new.fourth / new.variance**2 - 1) / new.n)
        rows.append(float(new.n))
    return Lines(
        found.old.weights,
        found.old.grams,
        np.array(slopes),
        np.array(variances),
        np.array(covariances),
        np.array(spreads),
        np.array(rows),
    )


def _in_order(family: GaussianFamily) -> RegressionRows:
    """What the model keeps, with the parents in the order of their names."""
    assert family.cpd.rows is not None
    names = [parent.name for parent in family.cpd.parents]
    return family.cpd.rows.in_order([names.index(parent.name) for parent in family.parents])


def _over_all(kept: Sequence[RegressionRows], weights: Vector) -> tuple[Vector, Vector]:
    """Means and standard deviations of the parents and the node over all configurations."""
    means = np.array([one.means for one in kept])
    centre = means[0] + weights @ (means - means[0])
    spread = weights @ (np.array([one.sds for one in kept]) ** 2 + (means - centre) ** 2)
    return centre, np.sqrt(spread)


def _unit(family: GaussianFamily, one: RegressionRows, means: Vector, sds: Vector) -> Vector:
    """The matrix that turns coefficients of a regression by itself into those in common units."""
    size = len(one.means)
    turned = np.zeros((size, size))
    turned[0, 0] = 1.0
    for k in range(size - 1):
        # (x − own mean)/own sd, where x = mean + sd · z.
        turned[0, k + 1] = (means[k] - one.means[k]) / one.sds[k]
        turned[k + 1, k + 1] = sds[k] / one.sds[k]
    found: Vector = turned * (family.cpd.sd / sds[-1])
    return found

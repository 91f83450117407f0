"""Regressions of a model beside those of new rows, in units of the model's own rows.

z = (1, parents less their old means in old standard deviations); the variable is measured from its
old prediction, in standard deviations of the old errors. So the old coefficients are 0, and those
of the new rows are the change. Terms that are a linear function of others in the new rows cannot be
told apart there: the coefficients of the remaining ones are compared with what the old regression
says about these, θ = T β.

Two covariances are in use. By its *own* errors, each side has the sandwich of its own rows. By
*common* errors, both have the average of errors and terms over all rows, each with its own terms.
In a small sample with skewed errors, either can be far too small: rows that by chance lack the
errors that vary most look more certain than they are, and rows with one huge error look as if it
were a change where only the other side knows no such error. A sample cannot do both, so that a
difference counts only if it does by both covariances. Measured at levels of 0.01 to 0.0002, this
rejects at most as often as it says, with errors of normal, Laplace's, Student's (3 and 5 degrees of
freedom) and lognormal distributions, constant or not, also of lognormal parents, from 60 new rows
on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gml.counts.answers import Moments
from gml.counts.float_sums import FloatSums
from gml.counts.orthogonal_terms import LARGEST, Basis, bases_from, symmetric
from gml.counts.row_sums import Sums
from gml.data.dataset import Variable
from gml.gate.enough_rows import enough_rows
from gml.gate.regression_sums import RegressionDesign, by_name
from gml.gate.selection import gain_of_choice, log_choices_of
from gml.gate.tails import log_chi2_tail, log_f_tail
from gml.model.bayesnet import LinearGaussian
from gml.model.regression_rows import Vector

# Beyond this, a covariance in floats says nothing.
_MOST_CONDITION = 1e10
# Share of the spread of the least certain direction below which there is none.
_NO_SPREAD = 1e-12
# Errors that are all alike vary by rounding, in standard deviations of the old ones.
_LEAST_VARIANCE = 1e-30
# How much larger M and the fourth moment of errors may be than by the model's rows, where single
# errors are not known (docs/check.md has the rates that follow).
_UNKNOWN_SPREAD, _UNKNOWN_TAILS = 1.25, 2.0
# Counts that floats can hold.
_MOST_ROWS = 2**53


@dataclass(frozen=True)
class OldRegression:
    """What the model's rows say: A⁻¹, M, fourth moment, in the order of names of the parents."""

    n: int
    gram: Vector
    bread: Vector
    meat: Vector
    fourth: float
    slopes: Vector
    """The coefficients of z, in standard deviations of the errors; the intercept is the first."""
    r_squared: float
    """Share of the variance that the parents explain."""

    @property
    def covariance(self) -> Vector:
        """The sandwich of the coefficients."""
        found: Vector = self.bread @ self.meat @ self.bread / self.n
        return found

    def log_p(self, k: int) -> float:
        """ln p of a parent (from 0) that is not needed."""
        variance = float(self.covariance[k + 1, k + 1])
        return log_chi2_tail(float(self.slopes[k + 1]) ** 2 / variance, 1.0) if variance else 0.0

    def gain(self, chosen: Sequence[int]) -> float:
        """ln of the residual variance without some parents over that with all of them."""
        rest = [0, *(k + 1 for k in range(len(self.slopes) - 1) if k not in set(chosen))]
        out = [k + 1 for k in chosen]
        across = self.gram[np.ix_(out, rest)]
        left = self.gram[np.ix_(out, out)] - across @ np.linalg.solve(
            self.gram[np.ix_(rest, rest)], across.T
        )
        slopes = self.slopes[out]
        return math.log1p(max(0.0, float(slopes @ left @ slopes)))


@dataclass(frozen=True)
class NewRegression:
    """The regression of new rows: the change of the coefficients of some terms, and its spread."""

    n: int
    terms: Vector
    """T, by which coefficients of all terms become those of the terms that are left."""
    kept: tuple[int, ...]
    change: Vector
    bread: Vector
    meat: Vector
    """Of all terms."""
    variance: float
    """Of the errors, in that of the old ones, by the degrees of freedom."""
    fourth: float
    """The average of e⁴, in the old standard deviations."""

    @property
    def has_all_terms(self) -> bool:
        """Whether every coefficient can be told."""
        return len(self.kept) == len(self.meat)


@dataclass(frozen=True)
class NodeChoice:
    """Of a node with several regressions: its weak parents, and nats that their choice may owe."""

    n_weak: int
    allowance: float


@dataclass(frozen=True)
class GaussianFamily:
    """A node and its parents, by name; sides that have too few rows, or kept nothing, are None."""

    cpd: LinearGaussian
    variable: Variable
    parents: tuple[Variable, ...]
    old: OldRegression | None
    new: NewRegression | None
    rows_new: int
    counts: tuple[int, ...]
    """How many errors of new rows, or values of a node without parents, lie between the cuts."""
    weak: tuple[int, ...] = ()
    """Parents that the model's own rows do not show beyond doubt."""
    labels: tuple[tuple[str, str], ...] = ()
    """The configuration of parents with levels that it is of, in a model of labels and numbers."""
    of_node: NodeChoice | None = None
    """What the choice of all parents of the node means, where this is one regression of several."""

    @property
    def name(self) -> str:
        """The name of the node."""
        return self.variable.name

    @property
    def title(self) -> str:
        """The node, and where it is looked at."""
        where = ", ".join(f"{name}={level}" for name, level in self.labels)
        return f"{self.name} where {where}" if where else self.name

    @property
    def rows_old(self) -> int | None:
        """The rows of the model behind it, if they are whole."""
        return self.cpd.n if isinstance(self.cpd.n, int) else None

    @property
    def slopes(self) -> list[float]:
        """The coefficients of the parents."""
        by_name = dict(zip((p.name for p in self.cpd.parents), self.cpd.coefficients, strict=True))
        return [by_name[parent.name] for parent in self.parents]

    @property
    def new_slopes(self) -> list[float | None]:
        """The coefficients of the parents in the new rows, as far as they can be told."""
        if self.new is None:
            return [None] * len(self.parents)
        sds = self._sds()
        found: list[float | None] = []
        for k, slope in enumerate(self.slopes):
            told = k + 1 in self.new.kept and self.new.has_all_terms
            change = float(self.new.change[self.new.kept.index(k + 1)]) if told else 0.0
            found.append(slope + change * self.cpd.sd / sds[k] if told else None)
        return found

    def _sds(self) -> list[float]:
        rows = self.cpd.rows
        assert rows is not None
        names = [parent.name for parent in self.cpd.parents]
        return [rows.sds[names.index(parent.name)] for parent in self.parents]


def gaussian_family(
    cpd: LinearGaussian,
    old: OldRegression | None,
    new: NewRegression | None,
    found: Sums | None,
    level: float,
    labels: tuple[tuple[str, str], ...] = (),
) -> GaussianFamily:
    """Put both sides together; `found` has the new rows of a configuration, if there are any.

    `level` is ln of the p-value up to which the model's own rows show an edge.
    """
    order = by_name(cpd)
    weak = () if old is None else tuple(k for k in range(len(order)) if old.log_p(k) > level)
    return GaussianFamily(
        cpd,
        cpd.variable,
        tuple(cpd.parents[k] for k in order),
        old,
        new,
        0 if found is None else found.n,
        () if found is None else tuple(found.counts.tolist()),
        weak,
        labels,
    )


def old_regression(cpd: LinearGaussian) -> OldRegression | None:
    """What a model keeps of the rows behind a regression; None if that says too little."""
    n, order = cpd.n, by_name(cpd)
    if (
        cpd.rows is None
        or not isinstance(n, int)
        or not enough_rows(n, len(order) + 1)
        or cpd.sd == 0
    ):
        return None
    kept = cpd.rows.in_order(order)
    size = len(order) + 1
    gram = np.eye(size)
    gram[1:, 1:] = np.array(kept.correlations)[:-1, :-1].reshape(size - 1, size - 1)
    figures = np.array([*np.ravel(kept.meat), *gram.ravel(), kept.fourth])
    if n > _MOST_ROWS or not (np.abs(figures) < LARGEST).all():
        return None
    values = np.linalg.eigvalsh(gram)
    if values[0] * _MOST_CONDITION < values[-1]:
        return None
    slopes = np.array([0.0, *(cpd.coefficients[k] for k in order)])
    slopes[1:] *= np.array(kept.sds[:-1]) / cpd.sd
    r_squared = max(0.0, 1 - (cpd.sd / kept.sds[-1]) ** 2)
    bread: Vector = np.linalg.inv(gram).astype(np.float64)
    return OldRegression(n, gram, bread, np.array(kept.meat), kept.fourth, slopes, r_squared)


def new_regression(basis: Basis, sums: Sums) -> NewRegression:
    """The regression of new rows, by a basis of its terms and the sums of its errors there."""
    n, size = basis.n, basis.triangle.shape[1]
    squares, fourths, *products = sums.rounded().tolist()
    inverse = np.linalg.inv(basis.square)
    # n (Z′Z)⁻¹, so that it is like the bread of the old rows.
    bread: Vector = n * (inverse @ inverse.T)
    change: Vector = inverse @ basis.shares[:, 0]
    return NewRegression(
        n,
        basis.terms,
        basis.kept,
        change,
        bread,
        symmetric(products, size) / n,
        max(squares / (n - len(basis.kept)), _LEAST_VARIANCE),
        fourths / n,
    )


def regression_of_sums(
    design: RegressionDesign, place: int, old: OldRegression, moments: Moments
) -> NewRegression | None:
    """The regression of new rows of which only sums are known; None if these tell too little.

    Coefficients and the variance of errors follow from sums. How the sizes of single errors depend
    on the terms does not: they are taken to do so as the model's rows do, which is what is tested,
    M = s² G^½ G₀^-½ M₀ G₀^-½ G^½ with G = Z′Z/n. The model's rows may lack the largest errors that
    there can be, and new rows with some of these spread more than sums can show. So M is taken to
    be larger by a quarter, and the fourth moment twice as large as by the model's kurtosis.
    """
    line, n, size = design.lines[place], moments.n, design.n_terms
    means, centred = means_and_products(moments)
    # From parents and child to the old units.
    units = np.diag([*(1 / sd for sd in line.sds), 1 / line.sd])
    units[-1, :-1] = -np.array(line.slopes) / line.sd
    shift = np.array([*(line.means or ()), line.intercept + np.dot(line.slopes, line.means or ())])
    at, products = units @ (means - shift), units @ centred @ units.T
    terms = np.array([1.0, *at[:-1]])
    whole = n * np.outer([*terms, at[-1]], [*terms, at[-1]])
    whole[1:, 1:] += products
    upper = [whole[i, j] for i in range(size) for j in range(i, size + 1)]
    sums = Sums(n, FloatSums.of([np.array([value]) for value in upper]))
    steps = bases_from(design, {place: sums})
    try:
        next(steps)
        return None
    except StopIteration as stop:
        basis: Basis | None = stop.value.get(place)
    if basis is None:
        return None
    left = max(0.0, float(whole[-1, -1]) - float(np.sum(basis.shares**2)))
    variance = max(left / (n - len(basis.kept)), _LEAST_VARIANCE)
    inverse = np.linalg.inv(basis.square)
    stretch = _root(whole[:-1, :-1] / n) @ np.linalg.inv(_root(old.gram))
    return NewRegression(
        n,
        basis.terms,
        basis.kept,
        inverse @ basis.shares[:, 0],
        n * (inverse @ inverse.T),
        _UNKNOWN_SPREAD * variance * (stretch @ old.meat @ stretch.T),
        variance,
        _UNKNOWN_TAILS * old.fourth * variance**2,
    )


def means_and_products(moments: Moments) -> tuple[Vector, Vector]:
    """The means of columns, and Σ(x−x̄)(y−ȳ)."""
    scales = moments.scales
    products = [
        [math.ldexp(value / moments.n, -scales[i] - scales[j]) for j, value in enumerate(row)]
        for i, row in enumerate(moments.cross)
    ]
    return np.array(moments.means), np.array(products)


def _root(matrix: Vector) -> Vector:
    """The symmetric root of a matrix without negative eigenvalues."""
    values, vectors = np.linalg.eigh(matrix)
    found: Vector = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    return found


# ---------------------------------------------------------------------- the two covariances


@dataclass(frozen=True)
class Spread:
    """Covariance of the change of coefficients, and its degrees of freedom."""

    covariance: Vector
    df: float

    def log_p(self, change: Vector) -> tuple[float, float]:
        """The statistic of Wald, and ln p by the distribution of Hotelling.

        Directions without any spread, as of errors that are all 0 somewhere, say nothing.
        """
        scale = np.sqrt(np.maximum(np.diag(self.covariance), 0.0))
        scale[scale == 0] = math.inf
        values, vectors = np.linalg.eigh(self.covariance / np.outer(scale, scale))
        seen = values > _NO_SPREAD
        parts = (vectors.T @ (change / scale))[seen]
        wald = float(np.sum(parts**2 / values[seen]))
        size = max(1, int(np.count_nonzero(seen)))
        left = self.df - size + 1
        return wald, log_f_tail(max(0.0, wald) * left / (self.df * size), float(size), left)

    def log_p_of_loss(self, k: int, loss: float) -> float:
        """ln P(T ≥ loss) of one coefficient, in its standard error, by Student's distribution."""
        variance = float(self.covariance[k, k])
        if loss <= 0 or variance <= 0:
            return 0.0
        return math.log(0.5) + log_f_tail(loss * loss / variance, 1.0, self.df)


def spreads(old: OldRegression, new: NewRegression) -> tuple[Spread, Spread]:
    """The covariance of the change by each side's own errors, and by common ones."""
    kept = np.ix_(new.kept, new.kept)
    before = new.terms @ old.covariance @ new.terms.T
    after: Vector = new.bread @ new.meat[kept] @ new.bread / new.n
    own: Vector = before + after
    size = len(new.kept)
    share = float(np.trace(np.linalg.pinv(own) @ before)) / size
    df = 1 / (share**2 / (old.n - size) + (1 - share) ** 2 / (new.n - size))
    meat = (old.n * old.meat + new.n * new.meat) / (old.n + new.n)
    common = new.terms @ (old.bread @ meat @ old.bread / old.n) @ new.terms.T
    common = common + new.bread @ meat[kept] @ new.bread / new.n
    return Spread(own, df), Spread(common, float(old.n + new.n - 2 * size))


# ---------------------------------------------------------------------- chosen graphs


def log_choices(family: GaussianFamily, n_nodes: int) -> float:
    """ln of the number of sets of nodes that might take the place of the weak parents."""
    weak = len(family.weak) if family.of_node is None else family.of_node.n_weak
    return log_choices_of(n_nodes, weak)


def allowance(family: GaussianFamily, n_nodes: int) -> float:
    """Nats per row that the node may owe to the choice of its parents (see `selection`).

    i = ln p(x | parents)/p(x) has variance R² if all is normal, and (κ−1)/2 times as much with
    errors of kurtosis κ.
    """
    if family.of_node is not None:
        return family.of_node.allowance
    old = family.old
    if old is None or not family.parents:
        return 0.0
    spurious = old.gain(family.weak) - len(family.weak) / old.n if family.weak else 0.0
    variance = old.r_squared * max(1.0, (old.fourth - 1) / 2)
    return max(spurious, gain_of_choice(n_nodes, len(family.parents), variance, old.n))

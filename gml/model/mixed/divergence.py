"""The Kullback–Leibler divergence of networks of labels and numbers: the terms of the numbers.

Labels have labels as parents alone, in P and in Q, so their terms are those of two networks of
tables (compare.py). Of a number x, with P's regression a + b·u + σε and Q's a' + b'·u' + τε',

    E_P[ln p(x | pa_P) − ln q(x | pa_Q)] = Σ P(c)·(½(E_P[(x − a' − b'·u')² | c]/τ² − 1) − ln(σ/τ))

over the configurations c of all labels among the parents in P or Q. Only the first two moments of
x and u' under P are needed, and so the divergence of two mixtures of normal distributions that are
networks over the same nodes is exact, though that of two mixtures in general has no closed form.

Where the labels that x and its ancestors among the numbers depend on have few configurations, all
numbers are normal in each of these, as x = μ + A ε, and the square is m² + r·r for the residual
m + r·ε, whose coefficients are differences of those of P and Q (as in compare.py): a network beside
itself has a divergence of 0 to the last bit. Otherwise moments given c are mixed label by label
(moments.py), which is exact too, but for digits that cancel in a variance of the residual. What
does not fit into memory either way is refused.

A number without error in some configuration has the term 0 there if it follows in Q in the same
way, otherwise infinity.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from gml.model.clique_marginals import CliqueMarginals
from gml.model.gaussian import ROUNDING
from gml.model.inference import PosteriorStep
from gml.model.mixed.lines import Array
from gml.model.mixed.moments import Steps, moments_given
from gml.model.mixed.ranked import RankedNetwork, Regression
from gml.model.mixed.steps import LineStep
from gml.model.network import Network
from gml.stopping import check_stopped

_MOST_FIGURES = 1 << 22
"""Configurations times numbers times errors that are written out."""


class NumberDivergence:
    """The terms of the numbers of two networks over the same nodes.

    `labels` has the distributions of the labels of P.
    """

    def __init__(
        self, p: Network, q: Network, labels: CliqueMarginals, *, max_memory: int | None = None
    ) -> None:
        self._p = RankedNetwork(p)
        self._q = _same_levels(RankedNetwork(q), self._p)
        self._labels = labels
        self._max_memory = max_memory

    def term(self, name: str) -> float:
        """Return the term of a number."""
        check_stopped()
        x = self._p.rank[name]
        needed = self._p.ancestors([x, *self._q[x].numbers])
        numbers = [k for k in self._p.order if k in needed and k in self._p.regressions]
        around = {j for k in numbers for j in self._p.regressions[k].labels}
        over = sorted(around.union(self._q[x].labels))
        cells = math.prod(self._p.sizes[k] for k in over)
        if cells * len(numbers) ** 2 <= _MOST_FIGURES:
            return self._written_out(x, numbers, over)
        return self._by_moments(x)

    # ------------------------------------------------------------------ all configurations

    def _written_out(self, x: int, numbers: Sequence[int], over: Sequence[int]) -> float:
        shape = [self._p.sizes[k] for k in over]
        weight = self._labels.of([self._p.names[k] for k in over]).reshape(shape)
        column = {k: at for at, k in enumerate(sorted(numbers))}
        mean: dict[int, Array] = {}
        factor: dict[int, Array] = {}
        for k in numbers:
            own = self._p.regressions[k]
            mean[k] = np.broadcast_to(_over(own.intercept, own.labels, over), shape).copy()
            factor[k] = np.zeros((*shape, len(numbers)))
            factor[k][..., column[k]] = _over(own.sd, own.labels, over)
            for parent, slopes in zip(own.numbers, own.slopes, strict=True):
                slope = _over(slopes, own.labels, over)
                mean[k] += slope * mean[parent]
                factor[k] += slope[..., None] * factor[parent]
        of_p, of_q = self._p.regressions[x], self._q[x]
        m = _over(of_p.intercept, of_p.labels, over) - _over(of_q.intercept, of_q.labels, over)
        size = np.abs(_over(of_p.intercept, of_p.labels, over))
        size = size + np.abs(_over(of_q.intercept, of_q.labels, over))
        r = np.zeros((*shape, len(numbers)))
        r[..., column[x]] = _over(of_p.sd, of_p.labels, over)
        for parent, by in sorted(_differences(of_p, of_q, over).items()):
            m = m + by * mean[parent]
            r += by[..., None] * factor[parent]
            reach = np.abs(mean[parent]) + np.abs(factor[parent]).max(axis=-1)
            size = size + np.abs(by) * reach
        # Squares of numbers of any size may be beyond floats; those of shares are not.
        largest = np.abs(r).max(axis=-1, initial=0.0)
        share = r / np.where(largest > 0, largest, 1.0)[..., None]
        length = largest * np.sqrt(np.square(share).sum(axis=-1))
        still = np.abs(m) + length <= ROUNDING * size
        sd_p, sd_q = (_over(own.sd, own.labels, over) for own in (of_p, of_q))
        return _expected(weight, m, length, sd_p, sd_q, still)

    # ------------------------------------------------------------------ moments

    def _by_moments(self, x: int) -> float:
        of_p, of_q = self._p.regressions[x], self._q[x]
        given = sorted({*of_p.labels, *of_q.labels})
        numbers = [x, *of_q.numbers]
        weight, mean, covariance = moments_given(
            self._p, self._steps(), numbers, given, self._max_memory
        )
        slopes = [-_over(slope, of_q.labels, given) for slope in of_q.slopes]
        by = np.stack(np.broadcast_arrays(np.ones(weight.shape), *slopes), axis=-1)
        m = (by * mean).sum(axis=-1) - _over(of_q.intercept, of_q.labels, given)
        square = np.einsum("...i,...ij,...j->...", by, covariance, by)
        length = np.sqrt(np.maximum(square, 0.0))
        size = np.abs(by * mean).sum(axis=-1)
        spread = np.sqrt(np.maximum(np.diagonal(covariance, axis1=-2, axis2=-1), 0.0))
        size = size + np.abs(by * spread).sum(axis=-1)
        # Cancelled squares leave the root of what cancelled sums do.
        still = np.abs(m) + length <= math.sqrt(ROUNDING) * size
        sd_p, sd_q = (_over(own.sd, own.labels, given) for own in (of_p, of_q))
        return _expected(weight, m, length, sd_p, sd_q, still)

    def _steps(self) -> Steps:
        """P itself, as steps from parents to children."""
        tables = [
            PosteriorStep(k, table.labels, table.table.reshape(-1, self._p.sizes[k]))
            for k in self._p.order
            if (table := self._p.tables.get(k)) is not None
        ]
        lines = [
            LineStep(
                k,
                own.labels,
                own.numbers,
                own.intercept.reshape(-1),
                np.stack([slope.reshape(-1) for slope in own.slopes], axis=-1)
                if own.slopes
                else np.empty((own.intercept.size, 0)),
                own.sd.reshape(-1),
            )
            for k in self._p.order
            if (own := self._p.regressions.get(k)) is not None
        ]
        return tables, lines


def _same_levels(q: RankedNetwork, p: RankedNetwork) -> dict[int, Regression]:
    """The regressions of Q, with the levels of labels in the order that they have in P."""
    found = {}
    for k, own in q.regressions.items():
        places = []
        for label in own.labels:
            at = {level: code for code, level in enumerate(q.variables[label].levels or ())}
            places.append([at[level] for level in p.variables[label].levels or ()])
        index = np.ix_(*places) if places else ()
        found[k] = own._replace(
            intercept=own.intercept[index],
            slopes=tuple(slope[index] for slope in own.slopes),
            sd=own.sd[index],
        )
    return found


def _over(figures: Array, labels: Sequence[int], over: Sequence[int]) -> Array:
    """Figures by configurations of labels, with an axis for each of more labels, by rank."""
    sizes = iter(figures.shape)
    return figures.reshape([next(sizes) if k in labels else 1 for k in over])


def _differences(p: Regression, q: Regression, over: Sequence[int]) -> Mapping[int, Array]:
    """The coefficients of P less those of Q, of all parents in either."""
    found: dict[int, Array] = {}
    for own, sign in ((p, 1.0), (q, -1.0)):
        for parent, slope in zip(own.numbers, own.slopes, strict=True):
            term = sign * _over(slope, own.labels, over)
            found[parent] = found[parent] + term if parent in found else term
    return found


def _expected(
    weight: Array,
    m: Array,
    length: Array,
    sd_p: Array,
    sd_q: Array,
    still: NDArray[np.bool_],
) -> float:
    """Σ weight · (½((m² + length²)/sd_q² − 1) − ln(sd_p/sd_q)) over cells with weight."""
    held = weight > 0
    follows = np.broadcast_to(still, weight.shape)[held]
    w, m, r, of_p, of_q = (
        np.broadcast_to(figures, weight.shape)[held] for figures in (weight, m, length, sd_p, sd_q)
    )
    exact = (of_p == 0) & (of_q == 0)
    if ((of_p == 0) != (of_q == 0)).any() or (exact & ~follows).any():
        return math.inf
    w, m, r, of_p, of_q = (figures[~exact] for figures in (w, m, r, of_p, of_q))
    with np.errstate(over="ignore"):
        squares = np.square(m / of_q) + np.square(r / of_q)
    terms = w * (0.5 * (squares - 1) - np.log(of_p / of_q))
    return math.fsum(terms.tolist())

"""Where EM for networks with numbers begins.

Without hidden nodes the first start is the estimate from the rows in which a family was seen whole
(tables have one row more, spread over all cells); others lie around it. With hidden nodes every
start is random: each level of a hidden node has a row of the data as its prototype, whose errors
move the intercepts of the node's children (so classes begin where rows are, as in k-means), and
tables are drawn. What is drawn depends on the seed and on names; rows are chosen in an order that
is their content's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from gml.data.name_keys import joint_key
from gml.model.conditional_fit import SPARE_ROWS
from gml.model.em.number_expectations import available_sums, family_sums
from gml.model.em.number_families import Families, NumberFamily, Parameters, Regressions
from gml.model.em.number_maximum import FLOOR, can_fit, least_squares, probabilities
from gml.model.em.number_rows import NumberRows

Array = NDArray[np.float64]

# How far starts lie from the estimate of whole families: in standard deviations, and as a share.
_AWAY = 0.5
_DRAWN = 0.4


def pooled_regressions(families: Families, rows: NumberRows) -> list[Regressions]:
    """The regression of each number on numbers in all rows that have these, whatever the labels.

    One that rows do not determine has no slopes.
    """
    bare = Families(
        tuple(NumberFamily(f.child, f.numbers, (), ()) for f in families.numbers),
        (),
        families.number_variables,
        (),
    )
    whole = (rows.seen_whole(f.members) for f in bare.numbers)
    found = []
    for family, products in zip(
        bare.numbers, family_sums(bare, rows, whole, ()).products, strict=True
    ):
        if can_fit(products, family.n_terms + SPARE_ROWS)[0]:
            found.append(least_squares(products))
            continue
        weights = rows.weights * rows.seen[:, family.child]
        z, n = rows.z[:, family.child], np.sum(weights)
        mean = np.sum(weights * z) / n
        variance = max(FLOOR, float(np.sum(weights * (z - mean) ** 2) / n))
        terms = np.zeros((1, family.n_terms))
        terms[0, 0] = mean
        found.append(Regressions(terms, np.array([0.5 * np.log(variance)])))
    return found


def available_estimate(
    families: Families, rows: NumberRows, pooled: Sequence[Regressions]
) -> Parameters:
    """What rows say in which a family was seen whole; elsewhere that of all rows together."""
    sums = available_sums(families, rows)
    regressions = []
    for family, products, whole in zip(families.numbers, sums.products, pooled, strict=True):
        terms = np.repeat(whole.terms, family.n_configs, axis=0)
        log_sd = np.repeat(whole.log_sd, family.n_configs)
        fits = can_fit(products, family.n_terms + SPARE_ROWS)
        if fits.any():
            own = least_squares(products[fits])
            terms[fits], log_sd[fits] = own.terms, own.log_sd
        regressions.append(Regressions(terms, log_sd))
    tables = [probabilities(counts, 1.0 / counts.shape[1]) for counts in sums.counts]
    return Parameters(tuple(regressions), tuple(tables))


def starts(
    families: Families,
    rows: NumberRows,
    estimate: Parameters,
    n_starts: int,
    seed: int,
) -> Iterator[Array]:
    """Yield vectors of parameters to climb from."""
    for number in range(n_starts):
        if number == 0 and not rows.hidden:
            yield estimate.vector()
        else:
            yield _Draw(families, rows, seed, number).around(estimate).vector()


class _Draw:
    """One random start."""

    def __init__(self, families: Families, rows: NumberRows, seed: int, number: int) -> None:
        self._families = families
        self._rows = rows
        self._seed = seed
        self._number = number
        self._prototypes = {k: self._chosen(k) for k in sorted(rows.hidden)}

    def _stream(self, name: str) -> np.random.Generator:
        return np.random.default_rng(joint_key([name, str(self._number)], self._seed))

    def _chosen(self, hidden: int) -> NDArray[np.int64]:
        """A row for each level of a hidden node, different ones as far as there are."""
        size = self._families.labels[hidden].n_levels
        n_rows = len(self._rows.weights)
        stream = self._stream(self._families.label_variables[hidden].name)
        weights = self._rows.weights / self._rows.weights.sum()
        return stream.choice(n_rows, size, replace=size > n_rows, p=weights).astype(np.int64)

    def around(self, estimate: Parameters) -> Parameters:
        """Draw parameters around an estimate."""
        families = self._families
        regressions = []
        for family, one in zip(families.numbers, estimate.regressions, strict=True):
            stream = self._stream(families.number_variables[family.child].name)
            noise = stream.standard_normal(len(one.log_sd))
            terms = one.terms.copy()
            hidden = [k for k in family.labels if k in self._rows.hidden]
            if not hidden:
                terms[:, 0] += _AWAY * np.exp(one.log_sd) * noise
            levels = _levels(family)
            for k in hidden:
                moved = self._errors(family, one.terms[0], self._prototypes[k])
                lost = np.isnan(moved)
                moved[lost] = np.exp(one.log_sd[0]) * stream.standard_normal(int(lost.sum()))
                terms[:, 0] += moved[levels[family.labels.index(k)]]
            regressions.append(Regressions(terms, one.log_sd.copy()))
        tables = []
        for label, table in zip(families.labels, estimate.tables, strict=True):
            stream = self._stream(families.label_variables[label.child].name)
            if label.child in self._prototypes:
                # Another stream than that of the prototypes.
                stream.standard_normal(1)
            drawn = stream.dirichlet(np.ones(label.n_levels), size=label.n_configs)
            drawn = (drawn + 0.1) / (1 + 0.1 * label.n_levels)
            tables.append((1 - _DRAWN) * table + _DRAWN * drawn)
        return Parameters(tuple(regressions), tuple(tables))

    def _errors(self, family: NumberFamily, terms: Array, rows: NDArray[np.int64]) -> Array:
        """How far rows are from a regression; NaN where one lacks a number of it."""
        z = self._rows.z[rows[:, None], family.members]
        away: Array = z[:, -1] - terms[0] - z[:, :-1] @ terms[1:]
        away[~self._rows.seen_whole(family.members)[rows]] = np.nan
        return away


def _levels(family: NumberFamily) -> NDArray[np.int64]:
    """The level of each label parent in each configuration: labels × configurations."""
    if not family.sizes:
        return np.zeros((0, 1), dtype=np.int64)
    return np.indices(family.sizes).reshape(len(family.sizes), -1).astype(np.int64)

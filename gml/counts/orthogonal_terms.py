"""Orthogonal bases of the terms of regressions, from sums over rows that need not be in memory.

The products of terms give a triangle R with Z = QR (Cholesky), so that Q = ZR⁻¹ is worked out again
on any chunk of rows. Where terms are nearly linear functions of others, what the products cannot
tell is hidden by rounding; then the products of the Q that they gave are added up by another pass,
and what is not orthogonal there is mended, until nothing is hidden any more: mostly that is once
(Yamamoto et al. 2015, ETNA 44:306). A term that leaves less than 1e-8 of its length beside the
others follows from these.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from gml.counts.float_sums import FloatSums
from gml.counts.number_rows import NumberRows
from gml.counts.row_sums import Found, RowSums, Steps, Sums

Vector = NDArray[np.float64]

MOST_LEVERAGE = 1 - 1e-9
"""Leverages this close to 1 leave no error to look at."""
INDEPENDENT = 1e-8
"""The share of a term's length that must not follow from the others."""
LARGEST = 1e60
"""Numbers whose fourth powers floats can hold are smaller."""
# Where a term leaves less than this share of its squared length, its products tell too little.
_PLAIN = 1e-2
# What is left of a term is no better known than this, as a share of its squared length.
_KNOWN = 1e-10
# Each makes what is hidden smaller by some powers of ten; of endless ones there is rounding.
_MOST_STAGES = 6


@dataclass(frozen=True)
class Group:
    """Rows of one configuration of labels: terms, what is regressed on them, how often they count.

    `rows` has the columns themselves.
    """

    place: int
    terms: Sequence[Vector]
    targets: Sequence[Vector]
    rows: NumberRows

    @property
    def times(self) -> NDArray[np.int64] | None:
        """How often each row counts, if not once."""
        return self.rows.times


class Design(RowSums):
    """Regressions by configuration of labels: how to make their terms and targets of rows.

    What it adds up by itself are the products of all terms with terms and targets.
    """

    @property
    @abstractmethod
    def n_terms(self) -> int:
        """The number of terms of a regression."""

    @property
    @abstractmethod
    def n_targets(self) -> int:
        """The number of columns that are regressed on them."""

    @abstractmethod
    def groups(self, rows: NumberRows) -> Iterator[Group]:
        """The rows of each configuration."""

    @property
    def n_sums(self) -> int:
        return self.n_groups * len(_pairs(self.n_terms, self.n_targets))

    def matrices(self, sums: Sums) -> tuple[Vector, Vector]:
        """The products of terms with terms, and with targets."""
        return _matrices(sums, self.n_terms, self.n_targets)

    def over(self, rows: NumberRows) -> Iterator[tuple[int, Sums]]:
        for group in self.groups(rows):
            yield group.place, products_of(group)


class Stage(NamedTuple):
    """A step towards a basis: the columns that go on, and the triangle that divides them."""

    kept: tuple[int, ...]
    square: Vector

    def columns(self, terms: Sequence[Vector]) -> list[Vector]:
        """The columns that go on at some rows, divided."""
        found: list[Vector] = []
        for j, k in enumerate(self.kept):
            left = terms[k].copy()
            for i, column in enumerate(found):
                left -= self.square[i, j] * column
            found.append(left / self.square[j, j])
        return found


@dataclass(frozen=True)
class Basis:
    """An orthonormal basis Q of the terms of some rows, of which `kept` do not follow from others.

    `triangle` (kept × terms) has the terms in this basis, `shares` (kept × targets) Q′ times the
    targets, `lengths` those of the terms; `stages` lead from the terms to Q.
    """

    n: int
    kept: tuple[int, ...]
    triangle: Vector
    shares: Vector
    lengths: Vector
    stages: tuple[Stage, ...]

    @property
    def square(self) -> Vector:
        """R of the terms that are kept."""
        return self.triangle[:, self.kept]

    @property
    def terms(self) -> Vector:
        """What makes all terms of those that are kept: Z = Z[:, kept] · terms."""
        found: Vector = np.linalg.solve(self.square, self.triangle).astype(np.float64)
        return found

    def columns(self, terms: Sequence[Vector]) -> list[Vector]:
        """Q at some rows."""
        found = list(terms)
        for stage in self.stages:
            found = stage.columns(found)
        return found

    def errors(self, columns: Sequence[Vector], targets: Sequence[Vector]) -> list[Vector]:
        """What Q leaves of the targets."""
        found = []
        for t, target in enumerate(targets):
            left = target.copy()
            for column, share in zip(columns, self.shares[:, t].tolist(), strict=True):
                left -= share * column
            found.append(left)
        return found


def basis_of_mean(n: int, means: Sequence[float]) -> Basis:
    """That of the term 1 alone, by the means of the targets."""
    root = math.sqrt(n)
    square = np.array([[root]])
    stage = Stage((0,), square)
    return Basis(n, (0,), square, np.array([means]) * root, np.array([root]), (stage,))


def leverage_of(columns: Sequence[Vector]) -> Vector:
    """How much each row determines its own prediction, short of 1, by an orthonormal basis."""
    found = np.zeros(len(columns[0]))
    for column in columns:
        found += column * column
    return np.minimum(found, MOST_LEVERAGE, out=found)


def bases_of(design: Design) -> Steps[dict[int, Basis]]:
    """Find the basis of each configuration, mostly in one pass or two."""
    (found,) = yield [design]
    return (yield from bases_from(design, found))


def bases_from(design: Design, found: Found) -> Steps[dict[int, Basis]]:
    """Find bases by what a design added up, perhaps of few configurations.

    There is none where numbers are too large to be squared.
    """
    bases: dict[int, Basis] = {}
    waiting: dict[int, Basis] = {}
    for place, sums in found.items():
        if (sums.largest < LARGEST).all():
            gram, across = design.matrices(sums)
            size = len(gram)
            lengths = np.sqrt(np.diag(gram))
            begun = Basis(sums.n, tuple(range(size)), np.eye(size), across, lengths, ())
            basis, is_known = _divided(begun, gram, across)
            (bases if is_known else waiting)[place] = basis
    for _ in range(_MOST_STAGES):
        if not waiting:
            break
        (found,) = yield [Refined(design, dict(waiting))]
        for place, basis in list(waiting.items()):
            matrices = _matrices(found[place], len(basis.kept), design.n_targets)
            bases[place], is_known = _divided(basis, *matrices)
            if is_known:
                del waiting[place]
            else:
                waiting[place] = bases[place]
    return {place: bases[place] for place in sorted(bases)}


AnyDesign = TypeVar("AnyDesign", bound=Design)


@dataclass(frozen=True)
class AtBases(RowSums, Generic[AnyDesign]):
    """Sums over the rows of a design for which there are bases of their terms."""

    design: AnyDesign
    bases: Mapping[int, Basis]

    @property
    def names(self) -> Sequence[str]:
        return self.design.names

    @property
    def n_groups(self) -> int:
        return len(self.bases)

    def at(self, rows: NumberRows) -> Iterator[tuple[Group, Basis]]:
        """The rows of each configuration that has a basis."""
        for group in self.design.groups(rows):
            basis = self.bases.get(group.place)
            if basis is not None:
                yield group, basis


@dataclass(frozen=True)
class Refined(AtBases[Design]):
    """The products of the columns of bases, with each other and with the targets."""

    @property
    def n_sums(self) -> int:
        return self.design.n_sums

    def over(self, rows: NumberRows) -> Iterator[tuple[int, Sums]]:
        for group, basis in self.at(rows):
            yield group.place, products_of(replace(group, terms=basis.columns(group.terms)))


def upper_half(size: int, first: int = 0) -> list[tuple[int, int]]:
    """The pairs of so many columns from one on, each once, row by row of a symmetric matrix."""
    return [(first + i, first + j) for i in range(size) for j in range(i, size)]


def symmetric(upper: Sequence[float] | Vector, size: int) -> Vector:
    """The matrix of which this is the upper half."""
    found = np.zeros((size, size))
    for (i, j), value in zip(upper_half(size), upper, strict=True):
        found[i, j] = found[j, i] = value
    return found


def _pairs(n_terms: int, n_targets: int) -> list[tuple[int, int]]:
    return [(i, j) for i in range(n_terms) for j in range(i, n_terms + n_targets)]


def products_of(group: Group, counts: NDArray[np.int64] | None = None) -> Sums:
    """The products of terms with terms and targets; other counts may go with them."""
    columns = [*group.terms, *group.targets]
    sums = FloatSums.of_products(columns, _pairs(len(group.terms), len(group.targets)), group.times)
    largest = np.array([np.abs(column).max(initial=0.0) for column in columns])
    if counts is None:
        return Sums(group.rows.n, sums, largest=largest)
    return Sums(group.rows.n, sums, counts, largest)


def _matrices(sums: Sums, n_terms: int, n_targets: int) -> tuple[Vector, Vector]:
    """Z′Z and Z′T."""
    whole = np.zeros((n_terms, n_terms + n_targets))
    for (i, j), total in zip(_pairs(n_terms, n_targets), sums.rounded().tolist(), strict=True):
        whole[i, j] = total
        if j < n_terms:
            whole[j, i] = total
    return whole[:, :n_terms], whole[:, n_terms:]


def _divided(basis: Basis, gram: Vector, across: Vector) -> tuple[Basis, bool]:
    """The next stage of a basis by the products of its columns, and whether it is the last.

    What a column leaves beside those before it is known but for a share of its own; as long as
    that may be more than what makes it follow from the others, it is kept.
    """
    size = len(gram)
    scales = np.array([basis.triangle[j, k] for j, k in enumerate(basis.kept)])
    # The least that may be left of each, in units of its own, squared.
    least = (INDEPENDENT * basis.lengths[list(basis.kept)] / scales) ** 2
    triangle = np.zeros((size, size))
    kept: list[int] = []
    is_last = True
    for k in range(size):
        whole = left = float(gram[k, k])
        for i in kept:
            above = float(gram[i, k]) - math.fsum(triangle[:i, i] * triangle[:i, k])
            triangle[i, k] = above / triangle[i, i]
            left -= triangle[i, k] ** 2
        is_last &= left >= _PLAIN * whole
        left = max(left, _KNOWN * whole)
        if left > least[k]:
            triangle[k, k] = math.sqrt(left)
            kept.append(k)
    chosen = triangle[kept]
    shares = np.zeros((len(kept), across.shape[1]))
    for j, k in enumerate(kept):
        for t in range(across.shape[1]):
            known = math.fsum(chosen[:j, k] * shares[:j, t])
            shares[j, t] = (float(across[k, t]) - known) / chosen[j, k]
    stage = Stage(tuple(kept), chosen[:, kept])
    found = Basis(
        basis.n,
        tuple(basis.kept[k] for k in kept),
        chosen @ basis.triangle,
        shares,
        basis.lengths,
        (*basis.stages, stage),
    )
    return found, is_last

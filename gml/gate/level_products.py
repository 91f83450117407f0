"""Products of the errors of a label with many columns, from sums by level.

As in `level_errors`, E = X − BC within a configuration, with B orthonormal and C = B′X. For errors
e of the number and D = diag(e²/(1−h)²), with U = B′DX and T = B′DB,

    E′e = X′e,    E′E = X′X − C′C,    E′DE = X′DX − K − K′,    K = (U − ½TC)′C,

each added up over configurations; X′X and X′DX are diagonal. So sums over the rows of each level in
each configuration do, where those of all pairs of columns would be squares of the number of levels.
A configuration with one column only has E = 0, which rounding would hide; where given numbers leave
less than 1e-6 of a column's own size, it does, and the column counts as one without errors.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from gml.counts.float_sums import FloatSums
from gml.counts.number_rows import NumberRows
from gml.counts.orthogonal_terms import AtBases, Basis, leverage_of, upper_half
from gml.counts.row_sums import Found, Sums
from gml.data.row_groups import rows_by_group
from gml.gate.pair_design import ErrorProducts, PairDesign, freedom_of

# Of the square of a column, what differences of sums can tell of its errors.
_TOLD = 1e-12


@dataclass(frozen=True)
class LevelSums(AtBases[PairDesign]):
    """Σ e, Σ e², Σ d, and of the columns b of B: Σ b, Σ db, Σ dbb′; by configuration and column.

    Rows of no column come last; `largest` has the excess of leverage.
    """

    @property
    def n_sums(self) -> int:
        terms = self.design.n_terms
        return self.n_groups * (3 + 2 * terms + len(upper_half(terms)))

    @property
    def n_groups(self) -> int:
        return len(self.bases) * (self.design.size + 1)

    def over(self, rows: NumberRows) -> Iterator[tuple[int, Sums]]:
        levels = self.design.levels
        assert levels is not None
        for group, basis in self.at(rows):
            columns = basis.columns(group.terms)
            (errors,) = basis.errors(columns, group.targets)
            leverage = leverage_of(columns)
            largest = np.array([self.design.excess(basis, leverage)])
            away = errors / (1 - leverage)
            whole = [errors, away, *columns, *(away * column for column in columns)]
            size = len(columns)
            pairs = [(0, -1), (0, 0), (1, 1)]
            pairs += [(2 + k, -1) for k in range(size)]
            pairs += [(1, 2 + size + k) for k in range(size)]
            pairs += upper_half(size, 2 + size)
            codes = levels.codes(group.rows.columns[self.design.pair.other])
            for k, at in enumerate(rows_by_group(codes, levels.size + 1)):
                if len(at) == 0:
                    continue
                times = None if group.times is None else group.times[at]
                sums = FloatSums.of_products([column[at] for column in whole], pairs, times)
                n = len(at) if times is None else int(times.sum())
                place = group.place * (levels.size + 1) + k
                yield place, Sums(n, sums, largest=largest)


def products_by_level(
    design: PairDesign, bases: Mapping[int, Basis], found: Found
) -> ErrorProducts:
    """Put sums by level together; columns without errors, as far as sums tell, have zeros."""
    size = design.size
    square, counts = 0.0, np.zeros(size + 1)
    sums, own = np.zeros(size + 1), np.zeros(size + 1)
    taken, halved = [], []
    cells: dict[int, dict[int, Sums]] = {}
    for place, sums_of in found.items():
        cells.setdefault(place // (size + 1), {})[place % (size + 1)] = sums_of
    for configuration, of_columns in cells.items():
        terms = len(bases[configuration].kept)
        by_column = {k: one.rounded() for k, one in of_columns.items()}
        square += sum(float(totals[1]) for totals in by_column.values())
        if len(by_column) == 1:
            continue
        shares, weighted = np.zeros((terms, size + 1)), np.zeros((terms, size + 1))
        within = np.zeros(len(upper_half(terms)))
        for k, totals in by_column.items():
            counts[k] += of_columns[k].n
            sums[k] += totals[0]
            own[k] += totals[2]
            shares[:, k] = totals[3 : 3 + terms]
            weighted[:, k] = totals[3 + terms : 3 + 2 * terms]
            within += totals[3 + 2 * terms :]
        between = np.zeros((terms, terms))
        for (i, j), total in zip(upper_half(terms), within.tolist(), strict=True):
            between[i, j] = between[j, i] = total
        taken.append(shares[:, :size])
        halved.append((weighted - 0.5 * np.einsum("ij,jk->ik", between, shares))[:, :size])
    whole = np.concatenate([np.zeros((0, size)), *taken])
    crossed = np.einsum("ak,al->kl", np.concatenate([np.zeros((0, size)), *halved]), whole)
    shared = np.diag(counts[:size]) - np.einsum("ak,al->kl", whole, whole)
    spread = np.diag(own[:size]) - crossed - crossed.T
    told = np.diag(shared) > _TOLD * counts[:size]
    shared[~told], shared[:, ~told] = 0.0, 0.0
    return ErrorProducts(square, sums[:size], shared, spread, freedom_of(bases))

"""The Hilbert–Schmidt independence criterion (Gretton et al. 2005, 2008).

With kernel matrices K and L (`gml.independence.gram_matrices`) and centred ones K̃ = HKH, L̃ = HLH,
HSIC = Σ K̃ L̃/n², the biased V-statistic, which is dHSIC of two columns (Pfister, Bühlmann, Schölkopf
& Peters 2018); the statistic is n·HSIC. Its null distribution is

- `gamma`, from 200 rows on: the gamma distribution with mean (1 − k̄)(1 − l̄), k̄ and l̄ the means of
  all entries of K and L, and variance 2n²(n−4)(n−5)/(n)₄·HSIC(x,x)·HSIC(y,y), as in dHSIC;
- `permutation`, with fewer: p = (1 + #{T* ≥ T(1 − 10⁻⁹)})/(B + 1) over B random permutations of y;
- `three-moment`: that of KCI without Z (`gml.independence.kci`). Far out in the tail, a gamma
  distribution falls too fast: 10⁻¹⁴ is 10⁻¹¹ here, on Sepal.Length and Sepal.Width of iris.

Both are exactly symmetric in x and y, but for the permutations, which are those of the column whose
name comes second.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gml import kernel
from gml.independence.gram_matrices import (
    centred,
    factor_of,
    gram_of,
    null_sums,
    total_product,
)
from gml.independence.row_columns import RowColumn
from gml.independence.row_test import PERMUTATION, THREE_MOMENT, Details, DrawnNullTest
from gml.independence.weighted_chi2 import log_gamma_upper, log_weighted_chi2_upper

_SLACK = 1e-9


class HsicTest(DrawnNullTest):
    """HSIC with Gaussian kernels for numbers and delta kernels for labels."""

    detail_names = ("hsic", "bandwidth_x", "bandwidth_y", "null", "permutations")

    def bytes_needed(self, n: int, given_points: int) -> int:
        """Two matrices, and the squared distances with a copy for their median, or a square."""
        return 24 * n * n

    def outcome(
        self, columns: Sequence[RowColumn], key: tuple[int, int], threads: int
    ) -> tuple[float, float, Details]:
        """n·HSIC, ln p and details."""
        (of_x, sigma_x), (of_y, sigma_y) = (gram_of(column) for column in columns)
        n = len(of_x)
        mean = (1 - float(of_x.mean())) * (1 - float(of_y.mean()))
        of_x, of_y = centred(of_x), centred(of_y)
        product = total_product(of_x, of_y)
        null = self.null_at(n)
        if null == PERMUTATION:
            least = product * (1 - _SLACK)

            def exceeds(first: int, last: int) -> int:
                drawn = kernel.active().permuted_products(of_x, of_y, key, first, last)
                return int(np.count_nonzero(drawn >= least))

            log_p = self.drawn_log_p(exceeds, threads)
        elif null == THREE_MOMENT:
            x, y = columns
            sums = null_sums(factor_of(x, sigma_x).traces(), factor_of(y, sigma_y).traces(), n)
            log_p = log_weighted_chi2_upper(product / n, sums)
        else:
            spread = 2 * (n - 4) * (n - 5) / (n * (n - 1) * (n - 2) * (n - 3))
            own = (total_product(of_x, of_x) / n) * (total_product(of_y, of_y) / n)
            log_p = log_gamma_upper(product / n, mean, spread * own)
        details = {"hsic": product / n**2, "bandwidth_x": sigma_x, "bandwidth_y": sigma_y}
        return product / n, log_p, details | self.about_null(null)

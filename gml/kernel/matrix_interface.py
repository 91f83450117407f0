"""What both kernels offer for numbers: regressions, penalties, kernels and distances.

What the functions do is said where they are written, in `_kernel.pyx` and `reference/`.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from gml.kernel.layout import GroupResiduals
from gml.kernel.penalty_paths import GroupedColumns, PathRule, PenaltyPath, Response

Numbers = NDArray[np.float64]
Integers = NDArray[np.int64]
Positions = NDArray[np.int32]


class MatrixKernel(Protocol):
    """The loops over matrices of numbers."""

    # ------------------------------------------------------------------ regressions

    def cholesky_pivots(
        self, correlation: Numbers, members: Positions, starts: Integers, floor: float
    ) -> Numbers: ...

    def family_pivots(
        self, correlation: Numbers, blocks: Positions, families: Positions
    ) -> tuple[Numbers, Positions, Numbers]: ...

    def write_limbs(self, values: Integers, out: Numbers) -> None: ...

    def centred_products(self, parts: Integers, n: int, bits: int) -> Numbers: ...

    def float_sums(
        self,
        columns: list[Numbers],
        first: Positions,
        second: Positions,
        times: Integers | None = None,
    ) -> Integers: ...

    def partial_slopes(self, correlation: Numbers, sets: Positions) -> tuple[Numbers, Numbers]: ...

    def residuals_within(
        self,
        group: Positions,
        n_groups: int,
        columns: list[Integers],
        weights: Integers | None,
        scale: int,
    ) -> GroupResiduals: ...

    def sums_within(
        self,
        group: Positions,
        n_groups: int,
        columns: list[Integers],
        weights: Integers | None,
    ) -> tuple[Integers, Integers]: ...

    def residuals_of_sums(
        self, counts: Integers, digits: Integers, n_columns: int, scale: int
    ) -> GroupResiduals: ...

    def penalty_path(
        self, columns: GroupedColumns, response: Response, rule: PathRule
    ) -> PenaltyPath: ...

    def precision_step(
        self,
        gradient: Numbers,
        covariance: Numbers,
        precision: Numbers,
        penalties: Numbers,
        starts: Integers,
        columns: Positions,
        accuracy: float,
        most_sweeps: int,
    ) -> tuple[Numbers, int]: ...

    # ------------------------------------------------------------------ kernels and distances

    def squared_distances(self, points: Numbers) -> Numbers: ...

    def median_square(self, ascending: Numbers) -> float: ...

    def gaussian_gram(self, points: Numbers, scale: float) -> Numbers: ...

    def centre_gram(self, gram: Numbers) -> None: ...

    def permuted_products(
        self, a: Numbers, b: Numbers, key: tuple[int, int], first: int, last: int
    ) -> Numbers: ...

    def gaussian_factor(
        self, points: Numbers, scale: float, tolerance: float, most: int
    ) -> Numbers: ...

    def fourier_features(
        self, points: Numbers, weights: Numbers, phases: Numbers, out: Numbers
    ) -> None: ...

    def distance_product(self, x: Numbers, y: Numbers) -> float: ...

    def permuted_distance_products(
        self, x: Numbers, y: Numbers, key: tuple[int, int], first: int, last: int
    ) -> Numbers: ...

"""What both kernels offer for incomplete rows and classes that nobody saw: expected counts.

What the functions do is said where they are written, in `_kernel.pyx` and `reference/`.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gml.kernel.family_layout import CompleteRows, Expectation, FamilyLayout, MissingParts
from gml.kernel.label_groups import LabelGroups

Numbers = NDArray[np.float64]
Integers = NDArray[np.int64]
Positions = NDArray[np.int32]
Codes = NDArray[Any]


class ExpectationKernel(Protocol):
    """The part of a kernel that fits by EM."""

    def missing_parts(
        self,
        layout: FamilyLayout,
        columns: list[Codes | None],
        weights: Integers | None,
        n_rows: int,
        keep_barren: bool,
        most_bytes: int,
    ) -> MissingParts | None: ...

    def expected_counts(
        self,
        layout: FamilyLayout,
        parts: MissingParts,
        first: int,
        last: int,
        tables: Numbers,
        counts: Numbers,
    ) -> Expectation: ...

    def count_covariances(
        self,
        layout: FamilyLayout,
        parts: MissingParts,
        first: int,
        last: int,
        tables: Numbers,
        places: Positions,
        matrix: Numbers,
    ) -> None: ...

    def complete_rows(
        self,
        layout: FamilyLayout,
        columns: list[Codes],
        first: int,
        last: int,
        tables: Numbers,
        key: NDArray[np.uint64],
        most_points: int,
        most_states: int,
    ) -> CompleteRows: ...

    def mixture_rows(
        self,
        codes: Codes,
        offsets: Integers,
        tables: Numbers,
        weights: Numbers,
        densities: Numbers,
        counts: Numbers,
    ) -> float: ...

    def latent_class_rows(
        self,
        groups: LabelGroups,
        weights: Numbers,
        first: int,
        last: int,
        shares: Numbers,
        tables: Numbers,
        counts: Numbers,
        totals: Numbers,
    ) -> float: ...

    def latent_class_tables(
        self,
        offsets: Integers,
        counts: Numbers,
        totals: Numbers,
        before: Numbers,
        shares: Numbers,
        tables: Numbers,
    ) -> None: ...

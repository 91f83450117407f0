"""What is said about tables that are too sparse for the test that was chosen."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gml.errors import agreeing, parameter
from gml.progress import reporter
from gml.verbs.shared.chosen_methods import DEFAULT_TEST


def warn_of_sparse_tables(test: str, strained: NDArray[np.bool_] | None) -> None:
    """Say of how many tests the p-values cannot be trusted, and which test has better ones."""
    sparse = 0 if strained is None else int(np.count_nonzero(strained))
    if sparse == 0 or strained is None:
        return
    tables = "the table" if len(strained) == 1 else f"{sparse} of {len(strained)} tables"
    are = agreeing(sparse, "is", "are")
    reporter().warn(
        f"{tables} {are} too sparse for {parameter('test', test)}: with so few rows per degree of "
        f"freedom, p is wrong, mostly too small; use {parameter('test', DEFAULT_TEST)}"
    )

"""Numbers of things as messages and reports write them."""

from __future__ import annotations

import numpy as np
import pytest

from gml.errors import counted
from gml.formats.reports.terms import row_count


@pytest.mark.parametrize(
    ("number", "said", "grouped"),
    [
        (0, "0 rows", "0"),
        (1, "1 row", "1"),
        (np.int64(12345678), "12345678 rows", "12,345,678"),
        (1.0, "1 row", "1"),
        (1.0000001, "1 row", "1"),
        (0.5, "0.5 rows", "0.5"),
        (5070.967741714, "5070.97 rows", "5,070.97"),
        (999999.4, "999999 rows", "999,999"),
        (999999.5, "1000000 rows", "1,000,000"),
        (999999.7, "1000000 rows", "1,000,000"),
        (1234567.4, "1234567 rows", "1,234,567"),
        (3e15, "3000000000000000 rows", "3,000,000,000,000,000"),
    ],
)
def test_rows_that_count_fractions_have_plain_digits(number, said, grouped):
    assert counted(number, "row") == said
    assert row_count(number) == grouped

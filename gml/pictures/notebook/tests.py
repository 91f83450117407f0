"""Independence tests in notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

from gml.independence.base import tiny_p
from gml.pictures.notebook.tables import MOST_ROWS, block, table

_LEFT_OUT = ("test", "df_rule", "log10_p", "alpha")


def tests_html(records: Iterable[Mapping[str, Any]], number: int) -> str:
    """Return the first of a number of tests; a p-value too small for a float is written in full."""
    rows = []
    for record in islice(records, MOST_ROWS):
        row = {key: value for key, value in record.items() if key not in _LEFT_OUT}
        if row["p_value"] == 0 and record["log10_p"] is not None:
            row["p_value"] = tiny_p(record["log10_p"], 6)
        rows.append(row)
    return block(table(rows, n_rows=number, headers=["x", "y", "given"]))

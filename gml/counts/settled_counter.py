"""What engines have in common whose rows were read once, so that columns are settled."""

from __future__ import annotations

from typing import Self

from gml.counts.answers import MissingTreatment
from gml.counts.passes import PassCounter, RowFacts
from gml.data.settled_columns import SettledTable


class SettledCounter(PassCounter):
    """Knows what reading found, missing values before they were treated included."""

    def __init__(
        self,
        table: SettledTable,
        where: str,
        *,
        unit: float = 1.0,
        digest: str | None = None,
        max_memory: int | None = None,
    ) -> None:
        super().__init__(
            RowFacts(
                table.variables,
                table.tally.n,
                table.tally.n_rows,
                table.gaps,
                unit,
                digest,
                MissingTreatment.of(table.origin),
                None if table.origin is None else table.origin.decimal,
                () if table.origin is None else table.origin.by_rule,
                where,
                table.extremes,
            ),
            max_memory=max_memory,
        )
        self.rows_before, self.dropped = table.tally.rows_weighed, table.tally.n_dropped
        """Rows, not weighted, and how many of them were dropped for missing values."""
        self.lacking = table.lacking
        """Their missing cells by column, weighted."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Give back what holds the rows."""

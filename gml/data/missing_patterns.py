"""Which columns are missing together, and how often."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from gml.data.dataset import Dataset, missing_mask
from gml.data.row_groups import distinct_patterns, group_sums
from gml.errors import counted, with_flags
from gml.name_order import NameOrder

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class MissingPattern:
    """The columns that lack a value in some rows, and the number of these rows."""

    missing: tuple[str, ...]
    rows: int | float


@dataclass(frozen=True)
class McarTest:
    """Little's test of whether values are missing completely at random.

    `why` says why there is no test, if there is none. `numbers` are columns of labels that were
    taken as the numbers that they spell, `left_out` those whose values were left out, and why.
    """

    statistic: float | None
    df: int
    p_value: float | None
    log10_p: float | None
    why: str | None = None
    numbers: tuple[str, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, repr=False)
class MissingPatterns:
    """The patterns of a table, the commonest first; of equally common ones that with fewer gaps."""

    rows: int | float
    patterns: tuple[MissingPattern, ...]
    mcar: McarTest | None = None

    def __repr__(self) -> str:
        return f"<MissingPatterns: {self.in_words()}>"

    if TYPE_CHECKING:
        # The package adds it to the class: pictures are above this room.
        def _repr_html_(self) -> str | None: ...

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas DataFrame with one row per pattern."""
        import pandas as pd

        return pd.DataFrame([vars(one) for one in self.patterns], columns=["missing", "rows"])

    @property
    def complete(self) -> int | float:
        """The number of rows in which nothing is missing."""
        return next((one.rows for one in self.patterns if not one.missing), 0)

    def in_words(self) -> str:
        """How many rows are complete, and how many patterns of gaps the others have."""
        gaps = sum(bool(one.missing) for one in self.patterns)
        said = (
            f"{self.complete:g} of {self.rows:g} rows complete, {counted(gaps, 'pattern')} of gaps"
        )
        if self.mcar is None:
            return said
        if self.mcar.p_value is None:
            return f"{said}, no test by Little: {self.mcar.why}"
        return f"{said}, Little's test p {self.mcar.p_value:.3g}"

    def written(self) -> dict[str, Any]:
        """What JSON has of them."""
        found: dict[str, Any] = {
            "rows": self.rows,
            "complete": self.complete,
            "patterns": [{"missing": list(one.missing), "rows": one.rows} for one in self.patterns],
        }
        if self.mcar is not None:
            why = None if self.mcar.why is None else with_flags(self.mcar.why)
            found["mcar"] = {
                "test": "little",
                **vars(self.mcar),
                "why": why,
                "numbers": list(self.mcar.numbers),
                "left_out": dict(self.mcar.left_out),
            }
        return found


def missing_patterns(dataset: Dataset) -> MissingPatterns:
    """Count the patterns of missing values of a table.

    Examples
    --------
    >>> import gml
    >>> table = gml.read("sample_data/survey_missing.csv", missing="available")
    >>> for one in missing_patterns(table.select(["Age", "Sex"])).patterns:
    ...     print(one.rows, *one.missing)
    898
    54 Sex
    47 Age
    1 Age Sex
    """
    order = NameOrder(dataset.names).positions.tolist()
    gaps = [j for j in order if missing_mask(dataset.columns[j]).any()]
    masks = np.zeros((dataset.n_rows, len(gaps)), dtype=bool)
    for k, j in enumerate(gaps):
        masks[:, k] = missing_mask(dataset.columns[j])
    distinct, of_row = distinct_patterns(masks)
    counts = group_sums(of_row, len(distinct), dataset.weights)
    found = [
        MissingPattern(
            tuple(dataset.names[gaps[k]] for k in np.flatnonzero(mask)), dataset.in_rows(count)
        )
        for mask, count in zip(distinct, counts.tolist(), strict=True)
        if count
    ]
    found.sort(key=lambda one: (-one.rows, len(one.missing), one.missing))
    return MissingPatterns(dataset.in_rows(dataset.n), tuple(found))

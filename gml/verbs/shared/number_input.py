"""Tables of numbers alone, for the verbs that can use nothing else."""

from __future__ import annotations

from typing import Any

from gml.counts.counter import Counter
from gml.data.column_kinds import require_kinds
from gml.errors import CannotAnswer, UsageError, parameter
from gml.parameters import NUMBERS
from gml.verbs.shared.data_input import Data, open_data


def open_numbers(data: Data, who: str, *, threads: int | None, **reading: Any) -> Counter:
    """Return an engine over numbers without missing values; undeclared columns are numbers."""
    policy = reading.get("missing")
    if policy in ("level", "available"):
        why = "is for labels" if policy == "level" else "gives columns different rows"
        raise UsageError(
            f"{parameter('missing', policy)} {why}, and {who} needs numbers in the same rows; use "
            "drop or error"
        )
    counter = open_data(
        data,
        undeclared="numbers",
        offer_available=False,
        refuses_constants=True,
        threads=threads,
        **reading,
    )
    require_kinds(who, (NUMBERS,), counter.variables)
    if counter.missing:
        raise UsageError(
            f"{who} needs numbers in the same rows of all columns: read the data with "
            f"{parameter('missing', 'drop')}"
        )
    if counter.n < 2:
        raise CannotAnswer("one row has no correlations")
    return counter

"""What a check found.

A check is one question: does this row of a table, this independence, this edge, this column still
look as the model says? Its `status` is

- pass          nothing speaks against it;
- fail          the adjusted p-value is at most α and the effect is large enough;
- warn          the same, in a family whose severity is only to warn;
- baselined     accepted before, so it is not part of this run;
- insufficient  the data cannot tell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gml.independence.base import probability

FAMILIES = ("schema", "tables", "structure", "fit")
SEVERITIES = ("fail", "warn")

PASS, FAIL, WARN = "pass", "fail", "warn"
BASELINED, INSUFFICIENT = "baselined", "insufficient"
STATUSES = (FAIL, WARN, BASELINED, INSUFFICIENT, PASS)
"""The most urgent first."""

COLUMNS, LEVELS, MISSING, NUMBERS = "columns", "levels", "missing", "numbers"
RANGE, SENTINEL, DRIFT = "range", "sentinel", "drift"
UNIQUE, REPEATS = "unique", "repeats"
ROW, TABLE, REGRESSION, SD, ERRORS = "row", "table", "regression", "sd", "errors"
INDEPENDENCE, EDGE = "independence", "edge"
LIKELIHOOD = "likelihood"
KINDS = {
    "schema": (COLUMNS, LEVELS, MISSING, NUMBERS, RANGE, SENTINEL, DRIFT, UNIQUE, REPEATS),
    "tables": (ROW, TABLE, REGRESSION, SD, ERRORS),
    "structure": (INDEPENDENCE, EDGE),
    "fit": (LIKELIHOOD,),
}
"""What the checks of each family are about."""

SHARE_OF_ROWS, TOTAL_VARIATION = "share of rows", "total variation"
NATS, NATS_PER_ROW = "nats", "nats per row"
SD_OF_ERRORS, LN_SD = "sd of the errors", "ln sd"
"""Units of effects."""

Figure = float | int | str | Sequence[float] | Sequence[int] | Sequence[str] | None


@dataclass(frozen=True)
class Check:
    """One question and its answer.

    `id` names the question and stays the same from run to run. `given` has the parents and their
    levels for a row of a table, only the names (level None) for a conditioning set. `old` and `new`
    are the figures that were compared, by name: what the model was fitted on, and the new data;
    `rows_old` and `rows_new` say how many rows are behind them. What does not apply is None.
    `log_p` is the natural logarithm of the p-value, −infinity for what could not have happened by
    chance; `log_p_adjusted` is adjusted by Holm's method and decides, `log_q` by that of Benjamini
    and Hochberg and ranks.
    """

    id: str
    family: str
    kind: str
    variables: tuple[str, ...]
    given: tuple[tuple[str, str | None], ...] = ()
    message: str = ""
    test: str | None = None
    statistic: float | None = None
    df: float | None = None
    log_p: float | None = None
    log_p_adjusted: float | None = None
    log_q: float | None = None
    effect: float | None = None
    effect_unit: str | None = None
    old: Mapping[str, Figure] = field(default_factory=dict)
    new: Mapping[str, Figure] = field(default_factory=dict)
    rows_old: int | None = None
    rows_new: int | None = None
    status: str = PASS
    row: int | None = None
    """A row of the data that shows it, if one does, from 1, and its line."""
    line: int | None = None

    @property
    def p_value(self) -> float | None:
        """The p-value, which may be too small for a float; `log_p` never is."""
        return probability(self.log_p)

    @property
    def p_adjusted(self) -> float | None:
        """The p-value adjusted by Holm's method, which decides."""
        return probability(self.log_p_adjusted)

    @property
    def q_value(self) -> float | None:
        """The p-value adjusted by the method of Benjamini and Hochberg, which ranks."""
        return probability(self.log_q)


@dataclass(frozen=True)
class UnlikelyRow:
    """A row that the model hardly expects: its line, or its number if lines are not known.

    `column` is the one that is least likely given its parents: it has `value`, whose `probability`
    is that where the parents are as `given` says.
    """

    line: int | None
    row: int
    log_probability: float
    column: str
    value: str
    given: tuple[tuple[str, str], ...]
    probability: float

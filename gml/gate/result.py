"""The report of a run: all its checks, and who is behind those that fail."""

from __future__ import annotations

import math
from collections import Counter as Multiset
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING

from gml.errors import GmlError, Note, counted, parameter
from gml.gate.check import (
    BASELINED,
    FAIL,
    INDEPENDENCE,
    PASS,
    STATUSES,
    WARN,
    Check,
    UnlikelyRow,
)
from gml.gate.culprits import Culprit, find_culprits
from gml.gate.margins import Margin
from gml.model.baseline import Baseline, Reference
from gml.printable_text import printable_lines

if TYPE_CHECKING:
    import pandas as pd


WITHOUT_BASELINE = Note(
    f"no baseline: fit the model with {parameter('accept')}, or accept it on its rows with "
    + parameter("write_baseline")
)
"""Without it, what the model's own rows break is taken for a change."""
_OTHER_ROWS = (
    "these are not the rows that the model was fitted on: what changed since then is accepted too"
)
_SHOWN = 20
_SHOWN_IN_REPR = 8


@dataclass(frozen=True)
class Rejection:
    """Why there is nothing to report on: an input that was rejected, or holds no answer.

    `file` is the input that the problem is in, where the message names one, and `line` the place in
    it.
    """

    cause: GmlError
    message: str
    file: str | None = None
    line: int | None = None

    @property
    def exit_code(self) -> int:
        """That of the error."""
        return self.cause.exit_code


@dataclass(frozen=True)
class CheckReport:
    """All checks of a delivery, in the order of the model, and what it was about.

    Examples
    --------
    >>> import gml
    >>> net = gml.fit("sample_data/asia.csv", "sample_data/asia.dot")
    >>> report = gml.check(net.sample(1000, seed=1), net)
    >>> report.failed, report.rows, [check.family for check in report.ranked("fail")]
    (False, 1000, [])
    """

    checks: tuple[Check, ...]
    alpha: float
    data: str
    model: str
    rows: int
    model_rows: int | None
    unlikely: tuple[UnlikelyRow, ...] = ()
    notes: tuple[str, ...] = ()
    settings: str | None = None
    """The file that the settings of the run come from."""
    fitted_on: bool | None = None
    """Whether the model was fitted on these very rows, if that is known."""
    baseline: Baseline = field(default_factory=Baseline)
    """What was accepted before the run."""
    error: Rejection | None = None
    """Why there are no checks, if the delivery could not be checked."""
    margins: Mapping[str, Margin] = field(default_factory=dict)
    """The columns by themselves, where the model has counts to compare with."""
    parents: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The graph of the model: the parents of each column."""

    @property
    def failed(self) -> bool:
        """Whether the answer is no; a delivery that could not be checked does not pass."""
        return self.error is not None or any(check.status == FAIL for check in self.checks)

    @property
    def exit_code(self) -> int:
        """What `gml check` returns: 0 for yes, 1 for no, 3 and 4 as an error says."""
        return int(self.failed) if self.error is None else self.error.exit_code

    @property
    def counts(self) -> dict[str, int]:
        """The number of checks per status, the most urgent first."""
        found = Multiset(check.status for check in self.checks)
        return {status: found[status] for status in STATUSES}

    @property
    def culprits(self) -> tuple[Culprit, ...]:
        """The columns behind what fails or warns, as few as possible, the most involved first.

        Examples
        --------
        >>> import gml
        >>> net = gml.fit("sample_data/asia.csv", "sample_data/asia.dot")
        >>> rows = net.sample(2000, seed=1).to_frame()
        >>> rows["bronc"] = rows["bronc"].sample(frac=1, random_state=1).to_numpy()
        >>> for culprit in gml.check(rows, net).culprits:
        ...     print(culprit.message)
        all 8 failures involve bronc; its own distribution is unchanged: shuffled or joined wrongly?
        """
        failures = self.ranked(FAIL, WARN)
        powered = [
            check
            for check in self.checks
            if check.log_p is not None and check.status in (PASS, FAIL, WARN)
        ]
        nouns = {frozenset({FAIL}): "failure", frozenset({WARN}): "warning"}
        noun = nouns.get(frozenset(check.status for check in failures), "finding")
        return find_culprits(
            failures, powered, self.margins, self.parents, alpha=self.alpha, noun=noun
        )

    def ranked(self, *statuses: str) -> list[Check]:
        """The checks of these statuses (default: all), the most urgent and most certain first."""
        chosen = [check for check in self.checks if not statuses or check.status in statuses]
        return sorted(chosen, key=_urgency)

    def accepted(self) -> Baseline:
        """Accept all that was found and what was accepted before; remember other independences.

        Examples
        --------
        >>> import gml
        >>> net = gml.fit("sample_data/asia.csv", "sample_data/asia.dot")
        >>> baseline = gml.check("sample_data/asia.csv", net).accepted()
        >>> gml.check("sample_data/asia.csv", net, baseline=baseline).failed
        False
        """
        if self.error is not None:
            raise self.error.cause
        known, found = self.baseline, baseline_of(self.checks, self.rows)
        return Baseline(
            known.accepted | found.accepted, {**known.references, **found.references}, self.rows
        )

    def known_in(self, baseline: Baseline) -> CheckReport:
        """Return the report after a baseline was made from it: what it accepts is known."""
        fresh = self.ranked(FAIL, WARN)
        n_accepted = len(baseline_of(self.checks, self.rows).accepted)
        notes = [note for note in self.notes if note != WITHOUT_BASELINE]
        if self.fitted_on is False:
            notes.append(_OTHER_ROWS)
        notes += [f"accepted: {check.message}" for check in fresh[:_SHOWN]]
        if len(fresh) > _SHOWN:
            notes.append(f"and {len(fresh) - _SHOWN} more are accepted")
        notes.append(f"{counted(n_accepted, 'violation')} accepted")
        checks = tuple(
            replace(check, status=BASELINED) if check.id in baseline.accepted else check
            for check in self.checks
        )
        return replace(self, checks=checks, notes=tuple(notes))

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas DataFrame with one row per check, in the order of `ranked`."""
        import pandas as pd

        figures = ("p_value", "p_adjusted", "q_value")
        return pd.DataFrame(
            [
                asdict(check) | {name: getattr(check, name) for name in figures}
                for check in self.ranked()
            ]
        )

    def __repr__(self) -> str:
        if self.error is not None:
            return printable_lines(f"CheckReport(error: {self.error.message})")
        found = ", ".join(f"{n} {status}" for status, n in self.counts.items() if n)
        lines = [f"CheckReport({'fail' if self.failed else 'pass'}: {found or 'no checks'})"]
        lines += [f"  culprit: {culprit.message}" for culprit in self.culprits]
        urgent = self.ranked(FAIL, WARN)
        lines += [f"  {check.status}: {check.message}" for check in urgent[:_SHOWN_IN_REPR]]
        if len(urgent) > _SHOWN_IN_REPR:
            lines.append(f"  and {len(urgent) - _SHOWN_IN_REPR} more")
        return printable_lines("\n".join(lines))


def baseline_of(checks: Iterable[Check], rows: int) -> Baseline:
    """Accept what fails, warns or was accepted before; remember the other independences."""
    checks = list(checks)
    accepted = frozenset(c.id for c in checks if c.status in (FAIL, WARN, BASELINED))
    references = {
        c.id: Reference(c.statistic or 0.0, c.df or 0.0, c.rows_new or 0)
        for c in checks
        if c.kind == INDEPENDENCE and c.id not in accepted
    }
    return Baseline(accepted, references, rows)


def _urgency(check: Check) -> tuple[int, int, float, float, str]:
    """The schema first, as it often explains the rest; the fit last, as it names nothing."""
    place = {"schema": 0, "fit": 2}.get(check.family, 1)
    log_q = math.inf if check.log_q is None else check.log_q
    log_p = math.inf if check.log_p is None else check.log_p
    return STATUSES.index(check.status), place, log_q, log_p, check.id
